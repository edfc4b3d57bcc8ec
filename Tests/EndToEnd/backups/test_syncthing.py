"""Machines in sync through real instances of Syncthing, which use the loopback interface only."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import time
import urllib.request
import xml.etree.ElementTree as ElementTree

import pytest
from support import figures
from support.authenticator import wait_for
from support.ceremonies import OWN, client, register
from support.patience import PATIENCE

from .test_follow import begin, entries, machines, passkeys, status, without_user_name  # noqa: F401: a fixture

FOLDER = "passkeys"


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


class Syncthing:
    """One instance, with one folder: no discovery, no relays, no NAT traversal, no upgrades, no reports."""

    def __init__(self, home):
        self.home, self.folder = home, home / "folder"
        self.folder.mkdir(parents=True)
        self.port, self.api = free_port(), free_port()
        self.environment = {**os.environ, "HOME": str(home), "STNODEFAULTFOLDER": "1", "STNOUPGRADE": "1"}
        subprocess.run(["syncthing", "generate", f"--home={home}/config", "--no-default-folder", "--skip-port-probing"],
                       env=self.environment, check=True, capture_output=True)
        self.config = home / "config" / "config.xml"
        root = ElementTree.parse(self.config).getroot()
        self.device = root.find("device").get("id")
        self.key = root.find("gui/apikey").text
        self.process = None

    def write(self, instances):
        """Set the addresses of the others, and share the folder with them."""
        root = ElementTree.parse(self.config).getroot()
        for old in [*root.findall("device"), *root.findall("folder")]:
            root.remove(old)
        folder = ElementTree.SubElement(root, "folder", id=FOLDER, label=FOLDER, path=str(self.folder), type="sendreceive",
                                        rescanIntervalS="5", fsWatcherEnabled="true", fsWatcherDelayS="1")
        ElementTree.SubElement(folder, "maxConflicts").text = "-1"
        for one in instances:
            ElementTree.SubElement(folder, "device", id=one.device)
            device = ElementTree.SubElement(root, "device", id=one.device, name=one.home.name, compression="never")
            ElementTree.SubElement(device, "address").text = f"tcp://127.0.0.1:{one.port}"
        root.find("gui").find("address").text = f"127.0.0.1:{self.api}"
        options = root.find("options")
        settings = {
            "listenAddress": f"tcp://127.0.0.1:{self.port}", "globalAnnounceEnabled": "false",
            "localAnnounceEnabled": "false", "relaysEnabled": "false", "natEnabled": "false", "urAccepted": "-1",
            "startBrowser": "false", "crashReportingEnabled": "false", "autoUpgradeIntervalH": "0",
            "reconnectionIntervalS": "1", "stunKeepaliveStartS": "0", "announceLANAddresses": "false",
        }
        for name, value in settings.items():
            for old in options.findall(name):
                options.remove(old)
            ElementTree.SubElement(options, name).text = value
        ElementTree.ElementTree(root).write(self.config)

    def start(self):
        with open(self.home / "log", "ab") as log:
            self.process = subprocess.Popen(
                ["syncthing", "serve", f"--home={self.home}/config", "--no-browser", "--no-restart"],
                env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        wait_for("Syncthing", self.answers, seconds=60)
        return self

    def answers(self):
        assert self.process.poll() is None, (self.home / "log").read_text()
        try:
            return self.ask("system/ping") == {"ping": "pong"}
        except OSError:
            return False

    def ask(self, path):
        request = urllib.request.Request(f"http://127.0.0.1:{self.api}/rest/{path}", headers={"X-API-Key": self.key})
        with urllib.request.urlopen(request, timeout=10 * PATIENCE) as answer:
            return json.load(answer)

    def connections(self):
        return sum(one["connected"] for one in self.ask("system/connections")["connections"].values())

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(30 * PATIENCE)
            self.process = None


@pytest.fixture
def syncthing(tmp_path):
    if not shutil.which("syncthing"):
        assert not os.environ.get("CI"), "Syncthing is not installed"
        pytest.skip("needs Syncthing")
    with contextlib.ExitStack() as running:
        def make(number):
            one = Syncthing(tmp_path / f"syncthing{number}")
            running.callback(one.stop)
            return one
        yield make


# Holds: FOLLOW-14
@pytest.mark.whole("three Syncthings take minutes; test_follow.py has one folder for two machines")
def test_three_machines(machines, syncthing):  # noqa: F811
    machine, follow = machines
    instances = [syncthing(number) for number in range(2)]
    for one in instances:
        one.write(instances)
        one.start()
    wait_for("the connection of both", lambda: all(one.connections() for one in instances), seconds=60)
    first, second = machine(0), machine(1)
    begin(first, instances[0].folder)
    begin(second, instances[1].folder)
    for key in first, second:
        follow(key)
    wait_for("both files on both machines", lambda: all(len(files(one)) == 2 for one in instances), seconds=90)

    with client(first) as ctap:
        made = register(ctap, OWN, "a.example", b"alice", rk=True, uv=True)
    start = time.monotonic()
    wait_for("the passkey on the second machine", lambda: passkeys(second) == 1, seconds=90)
    figures.note("a passkey on the other machine, over Syncthing", f"{time.monotonic() - start:.1f} s")
    without_user_name(second, made)

    # A conflict: while the two are apart, a file is changed on both sides, each time to another valid backup.
    own = name_of(first, instances[0])
    for one in instances:
        one.stop()
    with client(first) as ctap:
        register(ctap, OWN, "b.example", b"bob", rk=True, uv=True)
    wait_for("the file", lambda: len(entries(instances[0].folder / own)) == 2)
    with client(second) as ctap:
        other = register(ctap, OWN, "c.example", b"carol", rk=True, uv=True)
    theirs = name_of(second, instances[1])
    wait_for("the file", lambda: len(entries(instances[1].folder / theirs)) == 2)
    shutil.copy(instances[1].folder / theirs, instances[1].folder / "copy")
    os.rename(instances[1].folder / "copy", instances[1].folder / own)
    for one in instances:
        one.start()
    wait_for("the copy of the conflict",
             lambda: any(".sync-conflict-" in name for one in instances for name in files(one)), seconds=90)
    wait_for("the passkeys of both on both", lambda: passkeys(first) == 3 and passkeys(second) == 3, seconds=90)
    without_user_name(first, other)

    # A third machine joins, which only the first one knows.
    third = syncthing(2)
    instances[0].stop()
    instances[0].write([*instances, third])
    third.write([instances[0], third])
    instances[0].start()
    third.start()
    wait_for("the files on the third machine", lambda: len(files(third)) >= 2, seconds=90)
    newest = machine(2)
    begin(newest, third.folder)
    follow(newest)
    wait_for("the passkeys on the third machine", lambda: passkeys(newest) == 3, seconds=90)
    without_user_name(newest, made)
    with client(newest) as ctap:
        last = register(ctap, OWN, "d.example", b"dora", rk=True, uv=True)
    wait_for("its passkey on the second", lambda: passkeys(second) == 4, seconds=90)
    without_user_name(second, last)
    wait_for("rest", lambda: len({(one.folder / name_of(key, one)).read_bytes() for key, one in
                                  zip((first, second, newest), (*instances, third), strict=True)}) == 1, seconds=30)
    # Also those of Syncthing, which writes each file that it receives beside the old one.
    wait_for("the removal of the temporary files",
             lambda: not [name for one in (*instances, third) for name in os.listdir(one.folder)
                          if name.endswith((".tmp", ".new"))], seconds=30)


def files(instance):
    return [name for name in os.listdir(instance.folder) if re.fullmatch(r"[0-9a-f]{8}-.*\.liquid", name)]


def name_of(key, instance):
    """Return the name of the machine's own file: the only one that its status does not list, once it lists the others."""
    def unlisted():
        listed = {one["name"] for one in status(key)["backupFiles"] or []}
        names = [name for name in files(instance) if name not in listed]
        return names if len(names) == 1 else None

    [own] = wait_for(lambda: f"status of all files but one: {files(instance)}, {status(key)['backupFiles']}", unlisted,
                     seconds=60)
    return own
