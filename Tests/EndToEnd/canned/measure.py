"""Compare our authenticator with a key of fixed answers ("canned") on one /dev/uhid: how much longer ours takes.

The fixed answers are recorded from ours, so both send the same number of reports. `canned.c` reads only the command
of a request, and signs only with `--sign`.

A sign-in in a browser requires presence, so the time that the page measures includes a dialog: `agree.c` is a
pinentry that agrees at once. The canned key runs once with that program and the same number of lines, and once
without a dialog: the difference is the cost of a prompt.
"""

import argparse
import collections
import contextlib
import http.server
import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import threading
import time

from browsers.browsers import BrowserError, Chromium
from fido2 import cbor
from fido2.ctap2 import AssertionResponse, Ctap2
from fido2.hid import CTAPHID, CtapHidDevice
from fido2.hid.linux import get_descriptor, open_connection
from judges.relying_parties import b64
from support.authenticator import Authenticator, wait_for
from support.ceremonies import OWN, check_assertion, client_data_hash, register

GET_ASSERTION, GET_INFO = b"\x02", b"\x04"
RP_ID = "localhost"
# Milliseconds after which a traced key is idle, in an emulated guest.
IDLE = 50
WORK = pathlib.Path(os.environ["BROWSERS_WORK"])
PAGE = b"""<!doctype html>
<title>Sign in</title>
<button id="go">Go</button>
<script>
document.getElementById("go").addEventListener("click", async () => {
  const {id, count} = window.request;
  const taken = [];
  try {
    for (let number = 0; number < count; number++) {
      const publicKey = {
        challenge: crypto.getRandomValues(new Uint8Array(32)), rpId: "localhost", userVerification: "discouraged",
        allowCredentials: [{
          type: "public-key", id: Uint8Array.fromBase64(id, {alphabet: "base64url"}), transports: ["usb"],
        }],
      };
      const began = performance.now();
      await navigator.credentials.get({publicKey});
      taken.push(performance.now() - began);
    }
    window.outcome = {taken};
  } catch (error) {
    window.outcome = {error: `${error.name}: ${error.message}`};
  }
});
</script>
"""


def table(title, rows):
    """Print a table in the format of Benchmarks."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    print(f"{title}\n")
    for number, row in enumerate(rows):
        cells = [f"{cell:{'<' if column == 0 else '>'}{widths[column]}}" for column, cell in enumerate(row)]
        print("| " + " | ".join(cells) + " |")
        if number == 0:
            rules = ["-" * (width + 1) for width in widths]
            print("|" + "|".join([rules[0] + "-", *(rule + ":" for rule in rules[1:])]) + "|")
    print(flush=True)


def microseconds(nanoseconds):
    return f"{nanoseconds / 1000:.0f} µs"


def ratio(ours, theirs):
    return f"{ours / theirs:.2f} ×"


class Ours:
    """The daemon with a vault made from the phrase, without verification; every prompt is approved."""

    def __init__(self, folder, programs, wrapper=()):
        self.authenticator = Authenticator(WORK / folder, transport="uhid", verification="none", wrapper=wrapper)
        self.authenticator.pinentry_program = programs / "agree"
        self.authenticator.start(wait=False)
        wait_for(lambda: "device; " + self.authenticator.said(), self.authenticator.attached, 120)
        self.authenticator.unlock()

    @property
    def node(self):
        return re.findall(r"the device is (/dev/hidraw\d+)", self.authenticator.said())[-1]

    @contextlib.contextmanager
    def client(self):
        device = CtapHidDevice(get_descriptor(self.node), open_connection(get_descriptor(self.node)))
        yield device
        device.close()

    @contextlib.contextmanager
    def plugged_in(self):
        """Attach the device while a program uses every key it finds."""
        known = self.authenticator.said().count("the device is ")
        self.authenticator.ask("device", "attach")
        wait_for("device", lambda: self.authenticator.said().count("the device is ") > known, 60)
        yield
        self.pull_out()

    def pull_out(self):
        self.authenticator.ask("device", "detach")

    def stop(self):
        assert self.authenticator.stop(seconds=60) == 0


class Canned:
    """The key with fixed answers; attached until it is stopped."""

    def __init__(self, programs, *options):
        self.serial = f"canned{time.monotonic_ns()}"
        self.process = subprocess.Popen([programs / "canned", self.serial, WORK / "info", WORK / "assertion", *options])
        self.node = wait_for("node of the canned key", self.find, 60)

    def find(self):
        assert self.process.poll() is None, "the canned key has ended"
        for device in pathlib.Path("/sys/class/hidraw").iterdir():
            with contextlib.suppress(OSError):
                node = f"/dev/{device.name}"
                is_it = f"HID_UNIQ={self.serial}\n" in (device / "device/uevent").read_text()
                if is_it and os.access(node, os.R_OK | os.W_OK):
                    return node
        return None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()


def record(ours):
    """Register, sign in, and record our answers for the canned key: WORK/info and WORK/assertion.

    WORK/request is the sign-in without presence, WORK/asking the one with a dialog; WORK/nothing is empty.
    """
    with ours.client() as device:
        made = register(Ctap2(device), OWN, RP_ID)
        challenge = client_data_hash()
        request = {1: RP_ID, 2: challenge, 3: [made.descriptor]}
        answer = device.call(CTAPHID.CBOR, GET_ASSERTION + cbor.encode(request))
        # Check the signature first: a wrong answer is not worth measuring.
        check_assertion(AssertionResponse.from_dict(cbor.decode(answer[1:])), made, challenge)
        (WORK / "info").write_bytes(device.call(CTAPHID.CBOR, GET_INFO))
    (WORK / "assertion").write_bytes(answer)
    (WORK / "request").write_bytes(GET_ASSERTION + cbor.encode({**request, 5: {"up": False}}))
    (WORK / "asking").write_bytes(GET_ASSERTION + cbor.encode(request))
    (WORK / "nothing").write_bytes(b"")
    return made.id


def round_trips(programs, count, nodes, request="request", pause=0):
    """Return median and 99th percentile in nanoseconds, by node and kind of request."""
    done = subprocess.run(
        [programs / "roundtrips", str(count), str(pause), WORK / request, *nodes], check=True, stdout=subprocess.PIPE,
        text=True)
    lines = [line.split() for line in done.stdout.splitlines()]
    return {(node, kind): (int(median), int(p99)) for node, kind, median, p99 in lines}


def over_hidraw(programs, ours, count):
    with Canned(programs) as canned, Canned(programs, "--sign") as signing:
        round_trips(programs, 20, [ours.node, canned.node, signing.node])
        found = round_trips(programs, count, [ours.node, canned.node, signing.node])
    with Canned(programs, "--pinentry", programs / "agree") as asking:
        asked = round_trips(programs, count // 10, [ours.node, asking.node], "asking")
    rows = [["", "ours", "canned", "ratio", "p99", "canned", "ratio"]]
    for name, kind, times, floor in (
        ("PING", "ping", found, canned), ("getAssertion", "assertion", found, canned),
        ("getAssertion, the canned one signs once", "assertion", found, signing),
        (f"getAssertion, both open a dialog ({count // 10})", "assertion", asked, asking),
    ):
        row = [name]
        for own, other in zip(times[ours.node, kind], times[floor.node, kind], strict=True):
            row += [microseconds(own), microseconds(other), ratio(own, other)]
        rows.append(row)
    table(f"Over hidraw, {count} of each, in turns. A PING is one report; getAssertion has one id, and up=false but in "
          "the last line.", rows)


def calls_in(trace):
    """Count each system call, once the process sleeps."""
    size = None
    while size != (size := trace.stat().st_size):
        time.sleep(2)
    names = re.findall(r"^\d+ +[\d.]+ (\w+)\(", trace.read_text(errors="replace"), re.M)
    return collections.Counter(names)


def system_calls(programs, count):
    """Count the system calls of one PING and one sign-in over uhid.

    strace runs from the start, because it may not attach later.
    """
    trace = WORK / "strace.log"
    # -D: the daemon is a direct child and gets the signals.
    ours = Ours("second", programs, wrapper=["strace", "-D", "-f", "-ttt", "-o", str(trace)])
    try:
        round_trips(programs, 20, [ours.node])
        before = calls_in(trace)
        round_trips(programs, count, [ours.node], "nothing", pause=IDLE)
        pings = calls_in(trace) - before
        before = calls_in(trace)
        round_trips(programs, count, [ours.node], pause=IDLE)
        both = calls_in(trace) - before
    finally:
        ours.stop()
    rows = [["", "in all", "of which"]]
    for name, calls in (("PING", pings), ("getAssertion", both - pings)):
        each = ", ".join(f"{call} {number / count:.1f}" for call, number in calls.most_common() if number > count / 20)
        rows.append([name, f"{calls.total() / count:.1f}", each])
    out, back = ((WORK / name).stat().st_size for name in ("request", "assertion"))
    reports = [1 + max(0, -(-(size - 57) // 59)) for size in (out, back)]
    table(f"System calls of ours over uhid, {count} of each, by strace. getAssertion is {reports[0]} reports, "
          f"its answer {reports[1]}.", rows)


class Site:
    """A site on http://localhost, which browsers treat as secure."""

    def __init__(self):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(PAGE)))
                self.end_headers()
                self.wfile.write(PAGE)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://{RP_ID}:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()


def sign_in(browser, site, credential, count):
    """Time `count` sign-ins in a row, in milliseconds. Meanwhile the browser is rarely polled."""
    browser.open(site.origin)
    browser.script(f"window.request = {json.dumps({'id': credential, 'count': count})}; window.outcome = null")
    browser.click("#go")
    end = time.monotonic() + 600
    while not (outcome := browser.script("return window.outcome")):
        if time.monotonic() > end:
            raise BrowserError("no outcome within 600 s")
        time.sleep(3)
    if "error" in outcome:
        raise BrowserError(outcome["error"])
    return outcome["taken"]


def in_chromium(programs, ours, credential, rounds, each):
    ours.pull_out()
    site, browser = Site(), Chromium(WORK)
    keys = {
        "ours": ours.plugged_in,
        "canned, the same dialog": lambda: Canned(programs, "--pinentry", programs / "agree"),
        "canned, no dialog": lambda: Canned(programs),
    }
    taken = collections.defaultdict(list)
    try:
        for number in range(rounds):
            for name, plug_in in keys.items():
                with plug_in():
                    try:
                        new = sign_in(browser, site, b64(credential), each)
                    except BrowserError as error:
                        # An emulated guest on a busy machine can stall for seconds.
                        print(f"{name} is tried once more: {error}", file=sys.stderr, flush=True)
                        new = sign_in(browser, site, b64(credential), each)
                print(f"{name}: {' '.join(f'{value:.0f}' for value in new)} ms", file=sys.stderr, flush=True)
                # The first round warms up the browser.
                if number > 0:
                    taken[name] += new
    except BrowserError:
        shutil.move(browser.picture(), WORK / "failed.png")
        raise
    finally:
        browser.close()
    own = statistics.median(taken["ours"])
    rows = [["", "median", "quartiles", "ours to it"]]
    for name, values in taken.items():
        low, median, high = statistics.quantiles(values, n=4)
        rows.append([name, f"{median:.1f} ms", f"{low:.1f} to {high:.1f} ms", ratio(own, median)])
    table(f"navigator.credentials.get() in Chromium: the last {(rounds - 1) * each} of {rounds * each} for each key, "
          f"in turns of {each}.", rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", type=pathlib.Path)
    parser.add_argument("--samples", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--each", type=int, default=10)
    options = parser.parse_args()
    options.programs = options.programs.resolve()
    ours = Ours("first", options.programs)
    credential = record(ours)
    over_hidraw(options.programs, ours, options.samples)
    if options.rounds > 1:
        in_chromium(options.programs, ours, credential, options.rounds, options.each)
    ours.stop()
    system_calls(options.programs, 200)


if __name__ == "__main__":
    main()
