"""`liquid-auth answer` with bluetoothd itself: an ordinary user advertises on one controller, and another one hears it.

The controllers are those of BlueZ's btvirt, which sends an advert once, when it is turned on, to each controller that scans.
bluetoothd's own scans pause, so the tests scan by HCI, which also shows the advert byte for byte: Bluetooth Core Specification,
volume 4, part E. The tunnel and the browser are those of Tests/EndToEnd/wallet.
"""

import contextlib
import ctypes
import json
import os
import pathlib
import select
import shutil
import socket
import struct
import subprocess
import tempfile

import cbor2
import pytest
from judges import hybrid
from support import stacks
from support.authenticator import Authenticator, wait_for
from support.patience import PATIENCE
from wallet.doubles import tunnels
from wallet.doubles.certificates import Authority
from wallet.doubles.hybrid_chromium import Chromium, Site
from wallet.doubles.hybrid_client import Browser, RadioBrowser, credential, get_assertion, make_credential, verify
from wallet.doubles.loop import Loop

WORK = pathlib.Path(os.environ.get("TOOLS_WORK", "/tmp"))
PERSON = "person"
AS_PERSON = ["setpriv", f"--reuid={PERSON}", f"--regid={PERSON}", "--clear-groups"]
CONTROLLERS = (0, 1)
SWITCHES = pathlib.Path("/sys/class/rfkill")
LIBC = ctypes.CDLL(None, use_errno=True)

# Types of packets, events, and commands.
COMMAND, EVENT = 0x01, 0x04
COMMAND_COMPLETE, LE_META, EXTENDED_REPORT = 0x0E, 0x3E, 0x0D
SET_ADVERT, SET_SCAN_PARAMETERS, SET_SCAN = 0x2039, 0x2041, 0x2042
SUCCESS, DISALLOWED, UNKNOWN_ADVERT = 0x00, 0x0C, 0x42
#: The types of a legacy advert that nobody can connect to or ask for more, and of one that everybody can.
BROADCAST, CONNECTABLE = 0x0010, 0x0013
#: The kernel's type of a public address of Bluetooth Low Energy; a random one has the next number.
LE_PUBLIC = 1


def ask(*words):
    """Ask the system bus; return the answer as busctl prints it, or None after an error."""
    done = subprocess.run(["busctl", *words], capture_output=True, text=True, timeout=60 * PATIENCE)
    return done.stdout.strip() if done.returncode == 0 else None


class Radio:
    """bluetoothd on the system bus, and two controllers that hear each other."""

    #: What programs need to find this bus.
    environment = {}

    def __init__(self):
        self.processes = []
        pathlib.Path("/run/dbus").mkdir(exist_ok=True)
        self.start("dbus-daemon", "--system", "--nofork", "--nopidfile")
        bus = ["org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus"]
        wait_for("system bus", lambda: ask("call", *bus, "GetId"), 60)
        self.start("/usr/libexec/bluetooth/bluetoothd", "--nodetach")
        wait_for("bluetoothd", lambda: ask("call", *bus, "GetNameOwner", "s", "org.bluez"), 60)
        self.plug_in()
        for number in CONTROLLERS:
            self.turn(number, True)

    def plug_in(self):
        """Start the controllers, and again if the kernel has left one out.

        It gives a controller two seconds for each command. In a guest that waits for a processor, HCI_Reset can take longer.
        """
        for _ in range(5):
            self.start("btvirt", "-l2")
            with contextlib.suppress(AssertionError):
                wait_for("two adapters", lambda: all(
                    self.adapter(number, "get-property", "Adapter1", "Powered") for number in CONTROLLERS), 15)
                return
            controllers = self.processes.pop()
            controllers.kill()
            controllers.wait()
        raise AssertionError("the kernel has no two adapters")

    def start(self, *command):
        name = command[0].rpartition("/")[2]
        with open(WORK / f"{name}.log", "wb") as log:
            self.processes.append(subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log))

    @staticmethod
    def adapter(number, method, interface, *words):
        return ask(method, "org.bluez", f"/org/bluez/hci{number}", f"org.bluez.{interface}", *words)

    def is_on(self, number):
        return self.adapter(number, "get-property", "Adapter1", "Powered") == "b true"

    def turn(self, number, on):
        """Turn an adapter on or off. While it is busy, bluetoothd refuses to."""

        def turned():
            self.adapter(number, "set-property", "Adapter1", "Powered", "b", str(on).lower())
            return self.is_on(number) == on

        wait_for(f"adapter {number} {'on' if on else 'off'}", turned, 60)

    def adverts(self):
        """Return how many adverts bluetoothd has on the air."""
        found = [self.adapter(number, "get-property", "LEAdvertisingManager1", "ActiveInstances") for number in CONTROLLERS]
        return sum(int(text.removeprefix("y ")) for text in found)

    def connector(self, number, kind, address):
        """Return a function that connects from a controller to a PSM of this address, by L2CAP."""
        text = self.adapter(number, "get-property", "Adapter1", "Address").removeprefix("s ").strip('"')
        own = bytes.fromhex(text.replace(":", ""))[::-1]

        def connect(psm):
            made = socket.socket(socket.AF_BLUETOOTH, socket.SOCK_SEQPACKET, socket.BTPROTO_L2CAP)
            for call, one in (
                    (LIBC.bind, (0, own, 0, LE_PUBLIC)), (LIBC.connect, (psm, address, 0, LE_PUBLIC + kind))):
                # Older versions of Python know no type of address here.
                packed = struct.pack("<HH6sHBx", socket.AF_BLUETOOTH, *one)
                if call(made.fileno(), packed, len(packed)) != 0:
                    raise OSError(ctypes.get_errno(), f"{call.__name__} for L2CAP")
            return made

        return connect

    def repeat_advert(self):
        """Turn the advert off and on, where it is: btvirt sends it again then, as a controller does all the time."""
        for number in CONTROLLERS:
            with contextlib.closing(Controller(number)) as controller:
                for is_on in (False, True):
                    advert = struct.pack("<BBBHB", is_on, 1, 1, 0, 0)
                    controller.command(SET_ADVERT, advert, SUCCESS, DISALLOWED, UNKNOWN_ADVERT)

    def __str__(self):
        """For a failure: which adapters scan, and which advertise."""
        return "; ".join(
            f"hci{number}: discovering {self.adapter(number, 'get-property', 'Adapter1', 'Discovering')}, adverts "
            f"{self.adapter(number, 'get-property', 'LEAdvertisingManager1', 'ActiveInstances')}" for number in CONTROLLERS)

    def close(self):
        for process in reversed(self.processes):
            process.terminate()
            process.wait(30 * PATIENCE)


class Controller:
    """Commands for a controller, below bluetoothd, and its events."""

    def __init__(self, number):
        self.number = number
        self.socket = socket.socket(socket.AF_BLUETOOTH, socket.SOCK_RAW, socket.BTPROTO_HCI)
        # Python before 3.13 leaves a member of the address as it is (python/cpython#132075): the channel.
        address = struct.pack("<HHH", socket.AF_BLUETOOTH, number, 0)
        if LIBC.bind(self.socket.fileno(), address, len(address)) != 0:
            raise OSError(ctypes.get_errno(), f"cannot use controller {number}")
        events = 1 << COMMAND_COMPLETE | 1 << LE_META
        self.socket.setsockopt(socket.SOL_HCI, socket.HCI_FILTER, struct.pack("<IQH2x", 1 << EVENT, events, 0))
        self.socket.settimeout(60 * PATIENCE)

    def command(self, code, parameters, *statuses):
        """Send a command; wait until it has one of these statuses."""
        self.socket.send(struct.pack("<BHB", COMMAND, code, len(parameters)) + parameters)
        while True:
            packet = self.socket.recv(512)
            if packet[1] == COMMAND_COMPLETE and packet[4:6] == struct.pack("<H", code):
                assert packet[6] in statuses, f"command {code:#06x} has the status {packet[6]:#04x}"
                return

    def fileno(self):
        return self.socket.fileno()

    def close(self):
        self.socket.close()


class Scan(Controller):
    """A scan of one controller, until it is closed."""

    def __init__(self, number):
        super().__init__(number)
        self.set(False, SUCCESS, DISALLOWED)
        # It listens all the time, on the ordinary channels, and asks for nothing.
        self.command(SET_SCAN_PARAMETERS, struct.pack("<BBBBHH", 0, 0, 1, 0, 16, 16), SUCCESS)
        self.set(True, SUCCESS)

    def set(self, is_on, *statuses):
        self.command(SET_SCAN, struct.pack("<BBHH", is_on, 0, 0, 0), *statuses)

    def report(self):
        """Read a packet; return type and data of the advert in it, and type and bytes of its address; None without an advert."""
        packet = self.socket.recv(512)
        if packet[1] != LE_META or packet[3] != EXTENDED_REPORT:
            return None
        assert packet[4] == 1, "more than one report"
        return int.from_bytes(packet[5:7], "little"), packet[29:29 + packet[28]], packet[7], packet[8:14]

    def close(self):
        self.set(False, SUCCESS, DISALLOWED)
        super().close()


class Key(Authenticator):
    """An authenticator of an ordinary user, unlocked."""

    def __init__(self, folder):
        super().__init__(folder, wrapper=AS_PERSON)
        shutil.copytree(WORK / "first/state", self.state)
        subprocess.run(["chown", "-R", f"{PERSON}:{PERSON}", folder], check=True)
        subprocess.run(["chmod", "-R", "go=", self.state], check=True)

    @property
    def environment(self):
        return {**super().environment, "HOME": str(self.folder)}

    def run(self, *arguments, **settings):
        return super().run(*arguments, wrapper=self.wrapper, **settings)

    def found(self, *arguments):
        """Return the JSON of a command that ends with 1 if something is missing."""
        command = self.command(*arguments, "--json", "--control", self.control_socket)
        done = stacks.run([*self.wrapper, *command], seconds=120, env=self.environment)
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)

    def adapter(self):
        """Return the state that `doctor` finds, the command that repairs it, and what `status` says."""
        (check,) = [check for check in self.found("doctor")["checks"] if check["name"] == "bluetooth"]
        return check["state"], check["repair"], self.found("status")["bluetooth"]


@pytest.fixture(scope="module")
def radio():
    made = Radio()
    yield made
    made.close()


@pytest.fixture(scope="module")
def key():
    with Key(WORK / "bluetooth") as made:
        made.unlock()
        yield made


@pytest.fixture(scope="module")
def loop():
    made = Loop()
    yield made
    made.close()


@pytest.fixture(scope="module")
def authority():
    folder = WORK / "authority"
    folder.mkdir()
    return Authority(folder, ["localhost"])


@pytest.fixture(scope="module")
def tunnel(authority):
    made = tunnels.Tunnel(authority)
    yield made
    made.close()


@pytest.fixture
def answer(key, tunnel, authority):
    """Return a function that starts the command with a code; kill those that still run after the test."""
    started = []

    def start(code, *options):
        options = options or ("--tunnel", f"wss://localhost:{tunnel.port}", "--tunnel-number", "0")
        with tempfile.TemporaryFile("w+") as link:
            link.write(code.link + "\n")
            link.seek(0)
            started.append(subprocess.Popen(
                [*key.wrapper, *key.command(
                    "answer", "-", "--yes", *options, "--control", key.control_socket, "--ca-file", authority.root_file)],
                stdin=link, stderr=subprocess.PIPE, text=True, env=key.environment, start_new_session=True))
        return started[-1]

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
            process.wait()


@pytest.fixture
def heard(radio, answer):
    """Return a function that starts the command; it returns the process, the controller that hears its advert, and the report."""

    def start(code, *options):
        with contextlib.ExitStack() as scans:
            # The advert comes to the controller that does not send it.
            listening = [scans.enter_context(contextlib.closing(Scan(number))) for number in CONTROLLERS]
            process = answer(code, *options)

            def report():
                assert process.poll() is None, process.stderr.read()
                ready, _, _ = select.select(listening, [], [], 0)
                return next(((scan.number, found) for scan in ready if (found := scan.report())), None)

            number, found = wait_for("advert", report, 60, process.pid)
        assert radio.adverts() == 1
        return process, number, found

    return start


def content(radio, process, answered):
    """Wait for the end of the command; return the map of the answer."""
    said = process.communicate(timeout=60 * PATIENCE)[1]
    assert process.returncode == 0 and answered[0] == 0, said
    wait_for("end of the advert", lambda: radio.adverts() == 0, 60)
    return cbor2.loads(answered[1:])


@pytest.fixture
def sign(radio, heard, loop, tunnel, authority):
    """Return a function that lets a browser ask, with a code of this hint; it returns the map of the answer."""

    def ask_by_radio(hint, request):
        code = hybrid.Code(hint)
        process, _, (kind, advert, *_) = heard(code)
        # Service data, of 0xFFF9, and nothing else: no flags and no name.
        assert kind == BROADCAST and len(advert) == 24 and advert[:4] == b"\x17\x16\xf9\xff", advert.hex()
        browser = Browser(code, tunnel.port, authority.client_context())
        return content(radio, process, loop.run(browser.ask(advert[4:], request)))

    return ask_by_radio


@pytest.fixture
def sign_without_tunnel(radio, heard, loop):
    """The same, over L2CAP from the controller that hears the advert."""

    def ask_by_radio(hint, request):
        code = hybrid.Code(hint, key6=[1])
        process, number, (kind, advert, *address) = heard(code, "--no-tunnel")
        # The same with four bytes more, which name the PSM.
        assert kind == CONNECTABLE and len(advert) == 28 and advert[:4] == b"\x1b\x16\xf9\xff", advert.hex()
        browser = RadioBrowser(code, radio.connector(number, *address), size=512)
        asked = loop.start(browser.ask(advert[4:], request))
        # The kernel connects once it hears an advert again; the command withdraws it at the browser's first message.
        wait_for("connection", lambda: asked.done() or radio.adverts() == 0 or radio.repeat_advert(), 60, process.pid)
        return content(radio, process, asked.result(60 * PATIENCE))

    return ask_by_radio


# Holds: HYBRID-11
def test_an_ordinary_user_advertises_by_bluetoothd(key, sign):
    assert key.adapter() == ("ok", None, "present")
    identity, public_key = credential(sign("mc", make_credential()))
    for listed in ([{"type": "public-key", "id": identity}], None):
        verify(sign("ga", get_assertion(member3=listed)), public_key)
    assert key.pinentry.asked() == 3


# Holds: HYBRID-12
def test_a_browser_connects_by_bluetooth_without_a_tunnel(sign_without_tunnel):
    """An ordinary user listens, and the other controller connects: no pairing, no service, no network."""
    identity, public_key = credential(sign_without_tunnel("mc", make_credential(user=b"user-2", name="grace")))
    verify(sign_without_tunnel("ga", get_assertion(member3=[{"type": "public-key", "id": identity}])), public_key)


@pytest.fixture
def chromium(radio, authority, tunnel):
    made = Chromium(WORK / "chromium", authority, radio, tunnel)
    yield made
    made.close()


# Holds: HYBRID-11
def test_chromium_hears_it_from_bluetoothd(radio, key, chromium, answer):
    """Chromium scans with the first adapter by name; `answer` advertises with the newest, which bluetoothd names first."""

    def outcome():
        for _ in range(60):
            if radio.adverts():
                radio.repeat_advert()
            with contextlib.suppress(AssertionError):
                return chromium.outcome(1)
        raise AssertionError(f"the page got nothing; {radio}")

    with contextlib.closing(Site("login.localhost")) as site:
        for request in ({"ceremony": "register", "account": "ada", "rk": "required"}, {"ceremony": "authenticate"}):
            chromium.begin(site, **request, uv="required")
            process = answer(hybrid.SeenCode(chromium.code()[1]))
            # bluetoothd has taken the advert then.
            assert any("looking for the browser" in line for line in process.stderr), "it ended before the advert"
            found = outcome()
            assert "error" not in found and process.wait(60 * PATIENCE) == 0, (found, process.stderr.read())


# Holds: HYBRID-6
def test_adapters_that_are_off_or_blocked(radio, key, answer):
    def refusal():
        process = answer(hybrid.Code())
        said = process.communicate(timeout=60 * PATIENCE)[1]
        assert process.returncode == 1, said
        return said

    switches = [path / "soft" for path in SWITCHES.iterdir() if (path / "type").read_text() == "bluetooth\n"]
    assert len(switches) == len(CONTROLLERS)
    try:
        for number in CONTROLLERS:
            radio.turn(number, False)
        assert "the Bluetooth adapter is off" in refusal()
        assert key.adapter() == ("note", "bluetoothctl power on", "present")
        switches[0].write_text("1")
        assert "the Bluetooth adapter is off" in refusal(), "only one is blocked"
        assert key.adapter() == ("note", "bluetoothctl power on", "present")
        for switch in switches:
            switch.write_text("1")
        assert "Bluetooth is blocked" in refusal()
        assert key.adapter() == ("note", "rfkill unblock bluetooth", "blocked")
    finally:
        for switch in switches:
            switch.write_text("0")
        for number in CONTROLLERS:
            radio.turn(number, True)
    assert key.adapter() == ("ok", None, "present")
