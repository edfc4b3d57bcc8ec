"""The command `liquid-auth demo --browser`, and its page without a browser: python-fido2's client, and HTTP as the script does it."""

import contextlib
import hashlib
import http.client
import json
import subprocess

from fido2.client import ClientError, DefaultClientDataCollector, Fido2Client, UserInteraction
from judges.relying_parties import b64, unb64

from . import wire
from .authenticator import BIN, wait_for
from .patience import PATIENCE


class Demo:
    """`liquid-auth demo --browser`, or with another option, and what it printed."""

    def __init__(self, folder, *options, page="--browser"):
        self.output, self.errors = folder / "demo.out", folder / "demo.err"
        command = [BIN / "liquid-auth", "demo", page, "--no-open", *options]
        with open(self.output, "wb") as output, open(self.errors, "wb") as errors:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=errors)
        line = wait_for("address", lambda: self.lines()[:1])[0]
        self.address = json.loads(line)["url"] if "--json" in options else line.split()[-1]
        self.origin = self.address.rpartition("/")[0]
        self.port = int(self.origin.rpartition(":")[2])

    def lines(self):
        text = self.output.read_text("utf-8")
        return text[: text.rfind("\n") + 1].splitlines()

    def events(self):
        return [json.loads(line) for line in self.lines()]

    def end(self, number=None):
        """Return the exit status."""
        if number:
            self.process.send_signal(number)
        return self.process.wait(20 * PATIENCE)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Page:
    """A browser at the page: a cookie, and requests with the headers of the script.

    `address` is the one that the command prints; `socket` is the path of a key's socket; `origin` replaces the origin
    in the client data.
    """

    def __init__(self, address, socket=None, origin=None):
        self.address, _, path = address.rpartition("/")
        self.cookie = None
        status, headers, self.html = self.ask("GET", f"/{path}")
        assert status == 200
        self.cookie = headers["set-cookie"].partition(";")[0]
        self.attributes = headers["set-cookie"].partition(";")[2]
        if socket:
            self.device = wire.fido2_device(socket)
            collector = DefaultClientDataCollector(origin or self.address)
            self.client = Fido2Client(self.device, collector, user_interaction=Willing())
            self.made = {}

    def ask(self, method, path, body=None, **headers):
        connection = http.client.HTTPConnection("localhost", int(self.address.rpartition(":")[2]), timeout=20 * PATIENCE)
        sent = {"Cookie": self.cookie} if self.cookie else {}
        if method == "POST":
            sent |= {"Origin": self.address, "Content-Type": "application/json", "Sec-Fetch-Site": "same-origin"}
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        with contextlib.closing(connection):
            connection.request(method, path, body, {name: value for name, value in sent.items() if value is not None})
            answer = connection.getresponse()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()

    def post(self, path, content, **headers):
        status, _, body = self.ask("POST", path, json.dumps(content), **headers)
        return status, json.loads(body)

    def begin(self, ceremony):
        status, options = self.post("/begin", {"ceremony": ceremony})
        assert status == 200, options
        return options

    def credential(self, ceremony, options):
        """Return what the script sends, or the name of the browser's error."""
        try:
            if "rp" in options:
                return self.registered(ceremony, self.client.make_credential(options))
            return self.signed_in(self.client.get_assertion(options).get_response(0))
        except ClientError as error:
            assert error.code == ClientError.ERR.DEVICE_INELIGIBLE, error
            return "InvalidStateError"

    def registered(self, ceremony, made):
        self.made[ceremony] = made
        return {
            "id": b64(made.raw_id), "clientDataJSON": b64(made.response.client_data),
            "attestationObject": b64(bytes(made.response.attestation_object)), "transports": ["usb"],
        }

    @staticmethod
    def signed_in(answer):
        members = {
            "id": b64(answer.raw_id), "clientDataJSON": b64(answer.response.client_data),
            "authenticatorData": b64(bytes(answer.response.authenticator_data)),
            "signature": b64(answer.response.signature),
        }
        if answer.response.user_handle:
            members["userHandle"] = b64(answer.response.user_handle)
        members["prf"] = "prf" in answer.client_extension_results
        secrets = (answer.client_extension_results.get("prf") or {}).get("results")
        if secrets:
            members["prfHashes"] = {
                name: b64(hashlib.sha256(unb64(secrets[name])).digest())
                for name in ("first", "second") if secrets.get(name)}
        return members

    def run(self, ceremony):
        """Return the status and the verdict."""
        credential = self.credential(ceremony, self.begin(ceremony))
        if isinstance(credential, str):
            return self.post("/failed", {"ceremony": ceremony, "error": credential})
        return self.post("/finish", {"ceremony": ceremony, "credential": credential})

    def close(self):
        self.device.close()


class Willing(UserInteraction):
    def request_uv(self, permissions, rp_id):
        return True


def failed(verdict):
    return [check["check"] for check in verdict["checks"] if not check["holds"]]
