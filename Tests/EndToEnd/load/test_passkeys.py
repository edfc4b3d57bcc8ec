"""Very many passkeys in one store: the costs of start, sign-in and lists."""

import contextlib
import hashlib
import pathlib
import re
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass

import pytest
from fido2 import cbor
from fido2.cose import CoseKey
from fido2.ctap2 import ClientPin, Ctap2
from load.measures import at_rest, needs_root
from load.quick_client import QuickClient, SilentSignIn
from support import figures, wire
from support.authenticator import BIN, Authenticator
from support.ceremonies import check_assertion, client_data_hash
from support.patience import PATIENCE
from support.whole import IS_LONG

pytestmark = needs_root
FEW, MANY = 1000, 1_000_000 if IS_LONG else 20_000
SAMPLES = 200
ENUMERATE_RPS, NEXT_RP, ENUMERATE_CREDENTIALS = 2, 3, 4
# What SQLite keeps of a file at most (its default cache_size), and as much again for everything else.
MOST_MEMORY = 2 * 2_048_000


@dataclass
class Passkey:
    """Like `ceremonies.Made`, but of a phrase that the test does not know."""

    rp_id: str
    id: bytes
    key: CoseKey

    @property
    def descriptor(self):
        return {"type": "public-key", "id": self.id}


def site(number) -> str:
    """As KeyInUse.registration of Tests/Swift/Benchmarks names it; the first site has the oldest passkey."""
    return f"site-{1_000_000 + number}.example.com"


class Store:
    """A daemon whose store has so many passkeys."""

    def __init__(self, folder, count):
        self.count = count
        began = time.monotonic()
        subprocess.run([BIN / "Benchmarks", "fill", f"--folder={folder}", f"--credentials={count}"], check=True)
        self.key = Authenticator(folder)
        self.key.extra = ["--max-passkeys", str(2 * MANY)]
        filled = time.monotonic()
        self.key.start()
        started = time.monotonic()
        self.key.unlock()
        self.pid = self.key.process.pid
        self.note("made, started, opened", f"{filled - began:.1f} s, {(started - filled) * 1000:.0f} ms, "
                  f"{time.monotonic() - started:.2f} s; the file has {self.file.stat().st_size / 1e6:.1f} MB")
        self.device = wire.fido2_device(self.key.socket)
        self.ctap = Ctap2(self.device)
        self.client = QuickClient(self.key.socket)
        self.opened = at_rest(self.pid)
        self.note("memory once it is open", f"{self.opened}; at most {self.status('VmHWM') / 1e6:.0f} MB before")
        self.pin = ClientPin(self.ctap)

    @property
    def file(self) -> pathlib.Path:
        return self.key.state / "credentials.sqlite"

    def note(self, what, value):
        figures.note(f"{self.count:,} passkeys: {what}", value)

    def status(self, name) -> int:
        return 1024 * int(re.search(rf"^{name}:\s+(\d+)", pathlib.Path(f"/proc/{self.pid}/status").read_text(), re.M)[1])

    def bytes_read(self) -> int:
        """Return how many bytes the daemon has read, from files and sockets."""
        return int(re.search(r"^rchar: (\d+)", pathlib.Path(f"/proc/{self.pid}/io").read_text(), re.M)[1])

    def begin(self, token, number, parameters=None) -> dict:
        """Begin an enumeration of credentialManagement; return the members of the answer."""
        said = bytes([number]) + (cbor.encode(parameters) if parameters else b"")
        members = {1: number, 2: parameters, 3: self.pin.protocol.VERSION, 4: self.pin.protocol.authenticate(token, said)}
        answer = self.client.ask(b"\x0a" + cbor.encode({key: value for key, value in members.items() if value}))
        assert answer[0] == 0, f"status {answer[0]:02x}"
        return cbor.decode(answer[1:])

    def passkeys(self, token, numbers) -> list[Passkey]:
        found = []
        for number in numbers:
            answer = self.begin(token, ENUMERATE_CREDENTIALS, {1: hashlib.sha256(site(number).encode()).digest()})
            assert answer[9] == 1 and answer[6]["id"] == f"user-{number}".encode()
            found.append(Passkey(site(number), answer[7]["id"], CoseKey.parse(answer[8])))
        return found

    def stop(self):
        self.client.close()
        self.device.close()
        self.key.stop()
        # 1,000,000 passkeys take some hundred megabytes, and pytest keeps the directories of three runs.
        shutil.rmtree(self.key.folder)


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    with contextlib.ExitStack() as files:
        made = []
        for count in (FEW, MANY):
            made.append(Store(tmp_path_factory.mktemp("passkeys") / str(count), count))
            files.callback(made[-1].stop)
        yield made


def management(store):
    return store.pin.get_uv_token(ClientPin.PERMISSION.CREDENTIAL_MGMT)


def traced(pid, work) -> dict[str, int]:
    """Return how often the process makes each system call during `work`."""
    tracer = subprocess.Popen(["strace", "-c", "-f", "-o", "/dev/stdout", "-p", str(pid)], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True)
    while "attached" not in tracer.stderr.readline():
        assert tracer.poll() is None
    time.sleep(0.5)
    work()
    tracer.send_signal(signal.SIGINT)
    table, _ = tracer.communicate(timeout=20 * PATIENCE)
    return {name: int(count) for count, name in re.findall(
        r"^\s*[\d.]+\s+[\d.]+\s+\d+\s+(\d+)\s+(?:\d+\s+)?(?!total)(\w+)$", table, re.M)}


def test_a_sign_in_costs_the_same(stores):
    """Besides waiting for reports, a sign-in among many makes the calls of one among few, and reads a few pages more."""
    costs = []
    for store in stores:
        step = store.count // SAMPLES
        found = store.passkeys(management(store), range(step // 2, store.count, step))
        requests = [SilentSignIn(passkey) for passkey in found]

        def sign_in():
            for request in requests:
                request.check(store.client.ask(request.message(1)))

        sign_in()
        store.key.pinentry.wait_for_no_dialog()
        calls = traced(store.pid, sign_in)
        store.note(f"system calls of {len(requests)} sign-ins, each at another site", ", ".join(
            f"{name} {count / len(requests):.2f}" for name, count in sorted(calls.items(), key=lambda call: -call[1])))
        # These depend on when the threads run; files are read and written by pread64 and pwrite64.
        for name in ("poll", "recvmmsg", "futex", "sendmmsg", "restart_syscall", "read", "write"):
            calls.pop(name, None)
        costs.append((calls.pop("pread64", 0) / len(requests), sum(calls.values()) / len(requests)))
        # With presence and a valid signature, too.
        challenge = client_data_hash()
        response = store.ctap.get_assertion(found[0].rp_id, challenge, [found[0].descriptor])
        check_assertion(response, found[0], challenge)
    (_, few), (pages, many) = costs
    # A search in the tree of the index, and one in that of the table, of at most 4 pages of 4096 bytes each.
    assert pages <= 8, costs
    assert many <= few + 0.1, costs


def test_the_list_reads_each_passkey_once(stores):
    """`liquid-auth credentials list` prints each passkey once, the newest first; the daemon reads the file about once."""
    ratios = []
    for store in stores:
        before, began = store.bytes_read(), time.monotonic()
        output = store.key.folder / "list"
        with output.open("wb") as file:
            child = subprocess.Popen(
                store.key.command("credentials", "list", "--control", store.key.control_socket), stdin=subprocess.PIPE,
                stdout=file, env=store.key.environment)
            child.stdin.write(b"correct horse battery staple\n")
            child.stdin.close()
            assert child.wait(600 * PATIENCE) == 0
        ratios.append((store.bytes_read() - before) / store.file.stat().st_size)
        store.note("liquid-auth credentials list", f"{time.monotonic() - began:.1f} s; "
                   f"the daemon reads {ratios[-1]:.2f} times the size of its file")
        with output.open() as lines:
            assert next(lines).startswith("ID ")
            listed = [int(line.split()[1][5:12]) - 1_000_000 for line in lines]
        assert listed == list(range(store.count - 1, -1, -1))
    assert max(ratios) <= 3, ratios


def test_enumeration_by_credential_management(stores):
    """enumerateRPs finds each site once, the oldest first; enumerateCredentials finds the passkey of any site."""
    for store in stores:
        token = management(store)
        began, before = time.monotonic(), store.bytes_read()
        first = store.begin(token, ENUMERATE_RPS)
        assert first[5] == store.count and first[3]["id"] == site(0)
        request = b"\x0a" + cbor.encode({1: NEXT_RP})
        for number in range(1, store.count):
            answer = store.client.ask(request)
            assert answer[0] == 0 and site(number).encode() in answer, number
        assert store.client.ask(request)[0] == 0x30, "NOT_ALLOWED after the last one"
        each = (time.monotonic() - began) / store.count
        store.note("enumerateRPs", f"{each * 1e6:.0f} µs for each site, "
                   f"{(store.bytes_read() - before) / store.count:.0f} bytes read")
        store.passkeys(management(store), range(0, store.count, store.count // SAMPLES))


def test_a_registration_beside_many(stores):
    """A new passkey is stored and signs in; the store knows that there is one more."""
    for store in stores:
        challenge = client_data_hash()
        made = store.ctap.make_credential(
            challenge, {"id": "new.example", "name": "new"}, {"id": b"new", "name": "new", "displayName": "New"},
            [{"type": "public-key", "alg": -7}], options={"rk": True, "uv": True})
        data = made.auth_data.credential_data
        request = SilentSignIn(Passkey("new.example", data.credential_id, CoseKey.parse(data.public_key)), listed=False)
        request.check(store.client.ask(request.message(1)))
        assert store.begin(management(store), 1)[1] == store.count + 1
        store.count += 1


def test_the_memory_does_not_depend_on_the_number(stores):
    """After the other tests, the daemon with many passkeys has little more memory of its own than the one with few."""
    few, many = (at_rest(store.pid) for store in stores)
    for store, usage in zip(stores, (few, many)):
        figures.note(f"{store.count:,} passkeys: memory at the end", str(usage))
    assert many.anonymous - few.anonymous <= MOST_MEMORY
    assert many.counts[:3] == few.counts[:3]
