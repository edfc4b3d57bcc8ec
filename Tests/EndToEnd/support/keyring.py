"""A session bus of the test's own, and on it GNOME Keyring, KeePassXC, KWallet or a double of a Secret Service.

Run as a program, this file is the double: https://specifications.freedesktop.org/secret-service-spec/. It needs
Debian's python3-dbus and python3-gi. Its control file, an object that it reads at each call, has these members:

  "locked"   whether the keyring is locked, false if absent
  "prompt"   what the person does in its prompt: "approve" (as if absent), "dismiss", or "never"
  "die"      the method at which the process ends without an answer
  "size"     the size of the secrets that it returns, in place of the stored ones
  "noAlias"  true: there is no default keyring
"""

import hashlib
import json
import os
import pathlib
import signal
import subprocess
import sys

from support.authenticator import wait_for

NAME, PATH = "org.freedesktop.secrets", "/org/freedesktop/secrets"
#: The reason why a slot in a locked keyring does not unlock.
LOCKED = "the keyring is locked, and was not unlocked; unlock it, and try again"
CONFIGURATION = """
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>session</type>
  <listen>unix:path={0}/bus</listen>
  <servicedir>{0}/services</servicedir>
  <policy context="default">
    <allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/>
  </policy>
  {1}
</busconfig>
"""
# The custom data of the database name the group that KeePassXC offers.
KEEPASSXC_DATABASE = """<?xml version="1.0" encoding="UTF-8" standalone="yes"?>
<KeePassFile>
  <Meta>
    <DatabaseName>Passwords</DatabaseName>
    <CustomData><Item>
      <Key>FDO_SECRETS_EXPOSED_GROUP</Key><Value>{00010203-0405-0607-0809-0a0b0c0d0e0f}</Value>
    </Item></CustomData>
  </Meta>
  <Root><Group><UUID>AAECAwQFBgcICQoLDA0ODw==</UUID><Name>Root</Name></Group></Root>
</KeePassFile>
"""
KEEPASSXC_SETTINGS = """
[General]
ConfigVersion=2
[GUI]
CheckForUpdates=false
[FdoSecrets]
Enabled=true
ShowNotification=false
ConfirmAccessItem=false
ConfirmDeleteItem=false
"""


class SessionBus:
    """A bus that starts only the services that a test adds with `add_service`."""

    def __init__(self, folder: pathlib.Path, limits=""):
        """`limits` are elements of the bus's configuration."""
        folder.mkdir(mode=0o700)
        (folder / "services").mkdir()
        self.folder = folder
        self.address = f"unix:path={folder}/bus"
        self.environment = {"DBUS_SESSION_BUS_ADDRESS": self.address, "XDG_RUNTIME_DIR": str(folder)}
        self.processes = []
        (folder / "bus.conf").write_text(CONFIGURATION.format(folder, limits))
        self.start("dbus-daemon", f"--config-file={folder / 'bus.conf'}", "--nofork")
        # Its socket is there before it listens.
        wait_for("session bus", lambda: self.has("org.freedesktop.DBus"), 60)

    @classmethod
    def of_session(cls):
        """Return the bus of the running session."""
        made = cls.__new__(cls)
        made.address, made.environment, made.processes = os.environ["DBUS_SESSION_BUS_ADDRESS"], {}, []
        return made

    def start(self, *command, typed=b"", **environment):
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, **self.environment, **environment})
        process.stdin.write(typed)
        process.stdin.close()
        self.processes.append(process)
        return process

    def add_service(self, name, command):
        """Make the bus start `command` at the first call to the name."""
        (self.folder / "services" / f"{name}.service").write_text(f"[D-BUS Service]\nName={name}\nExec={command}\n")
        subprocess.run(
            ["dbus-send", f"--bus={self.address}", "--print-reply", "--dest=org.freedesktop.DBus", "/",
             "org.freedesktop.DBus.ReloadConfig"], check=True, capture_output=True)

    def has(self, name):
        """Return whether a program owns the name."""
        done = subprocess.run(
            ["dbus-send", f"--bus={self.address}", "--print-reply", "--dest=org.freedesktop.DBus", "/",
             "org.freedesktop.DBus.NameHasOwner", f"string:{name}"], capture_output=True, text=True)
        return "boolean true" in done.stdout

    def gnome_keyring(self, password: str | None = "a password"):
        """Start GNOME Keyring with its login keyring open; or locked, with `None`."""
        data = self.folder / "data"
        data.mkdir(exist_ok=True)
        return self._serve(
            "gnome-keyring-daemon", "--foreground", "--components=secrets", *(["--unlock"] if password else []),
            typed=(password or "").encode(), XDG_DATA_HOME=str(data), HOME=str(data))

    def keepassxc(self, is_locked=False):
        """Start KeePassXC with a database that it offers as the default keyring, and does not ask before an access."""
        data = self.folder / "keepassxc"
        database, settings = data / "passwords.kdbx", data / "keepassxc.ini"
        if not database.exists():
            data.mkdir()
            (data / "import.xml").write_text(KEEPASSXC_DATABASE)
            settings.write_text(KEEPASSXC_SETTINGS)
            subprocess.run(
                ["keepassxc-cli", "import", "--quiet", "--set-password", "--decryption-time", "100",
                 str(data / "import.xml"), str(database)],
                input="a password\na password\n", text=True, capture_output=True, check=True)
        process = self._serve(
            "keepassxc", "--config", str(settings), "--localconfig", str(data / "local.ini"),
            *([] if is_locked else ["--pw-stdin"]), str(database), typed=b"" if is_locked else b"a password\n",
            HOME=str(data), XDG_CONFIG_HOME=str(data), TMPDIR=str(data), QT_QPA_PLATFORM="offscreen")
        if not is_locked:
            # It offers the database before it has opened it.
            wait_for("open database", self._is_open)
        return process

    def _is_open(self):
        """Return whether the default keyring is unlocked."""
        done = subprocess.run(
            ["gdbus", "call", "--address", self.address, "--dest", NAME, "--object-path",
             "/org/freedesktop/secrets/aliases/default", "--method", "org.freedesktop.DBus.Properties.Get",
             "org.freedesktop.Secret.Collection", "Locked"], capture_output=True, text=True)
        return done.stdout == "(<false>,)\n"

    def kwallet(self, is_locked=False):
        """Start KWallet with the wallet "kdewallet", opened as pam_kwallet5 opens it at a log-in; or closed."""
        data = self.folder / "kwallet"
        is_new = not data.exists()
        if is_new:
            (data / "kwalletd").mkdir(parents=True)
            (data / "kwalletrc").write_text("[Wallet]\nFirst Use=false\n")
            (data / "kwalletd/kdewallet.salt").write_bytes(bytes(56))
        process = self._serve(
            "kwalletd5", HOME=str(data), XDG_CONFIG_HOME=str(data), XDG_DATA_HOME=str(data), QT_QPA_PLATFORM="offscreen")
        if not is_locked:
            key = hashlib.pbkdf2_hmac("sha512", b"a password", bytes(56), 50_000, 56)
            subprocess.run(
                ["dbus-send", f"--bus={self.address}", "--print-reply", "--dest=org.kde.kwalletd5", "/modules/kwalletd5",
                 "org.kde.KWallet.pamOpen", "string:kdewallet", f"array:byte:{','.join(map(str, key))}", "int32:0"],
                capture_output=True, check=True)
            if is_new:
                # KWallet offers a wallet that was made in this way only after its next start.
                self.stop(process)
                return self.kwallet()
        return process

    def double(self):
        keyring = Double(self.folder)
        keyring.process = self._serve(
            "/usr/bin/python3", __file__, str(self.folder), PYTHONPATH=str(pathlib.Path(__file__).parents[1]))
        return keyring

    def _serve(self, *command, **settings):
        process = self.start(*command, **settings)
        wait_for("keyring", lambda: self.has(NAME))
        return process

    def stop(self, process):
        process.kill()
        process.wait()
        self.processes.remove(process)
        wait_for("end of the keyring", lambda: not self.has(NAME))

    def close(self):
        for process in reversed(self.processes):
            process.kill()
            process.wait()


class Double:
    """Controls the double, and reads what it was asked."""

    def __init__(self, folder):
        self.control, self.log, self.store = (folder / name for name in ("control.json", "calls.log", "items.json"))
        self.process = None
        self.log.touch()
        self.set()

    def set(self, **members):
        fresh = self.control.with_suffix(".new")
        fresh.write_text(json.dumps(members))
        fresh.replace(self.control)

    def calls(self):
        return self.log.read_text().split()

    @property
    def items(self):
        """Return {path: {"attributes": …, "secret": hex, "label": …}}."""
        return json.loads(self.store.read_text()) if self.store.exists() else {}

    def clear(self):
        self.store.unlink()


def serve(folder: pathlib.Path):
    import dbus
    import dbus.mainloop.glib
    import dbus.service
    from gi.repository import GLib

    dbus.mainloop.glib.DBusGMainLoop(set_as_default=True)
    bus = dbus.SessionBus()
    own = Double.__new__(Double)
    own.control, own.log, own.store = (folder / name for name in ("control.json", "calls.log", "items.json"))
    opened = []
    prompts = []

    def asked(method):
        settings = json.loads(own.control.read_text())
        with open(own.log, "a") as log:
            log.write(method + "\n")
        if settings.get("die") == method:
            os._exit(1)
        return settings

    def is_locked(settings):
        return settings.get("locked", False) and not opened

    def require_unlocked(settings):
        if is_locked(settings):
            raise dbus.DBusException("locked", name="org.freedesktop.Secret.Error.IsLocked")

    def write(items):
        own.store.write_text(json.dumps(items))

    class Prompt(dbus.service.Object):
        def __init__(self, objects):
            self.objects = objects
            super().__init__(bus, f"{PATH}/prompt/p{len(prompts)}")
            prompts.append(self)

        @dbus.service.method("org.freedesktop.Secret.Prompt", in_signature="s")
        def Prompt(self, window):
            does = asked("Prompt").get("prompt", "approve")
            if does != "never":
                GLib.timeout_add(20, self.answer, does == "approve")

        @dbus.service.method("org.freedesktop.Secret.Prompt")
        def Dismiss(self):
            asked("Dismiss")
            self.answer(False)

        def answer(self, approved):
            opened.extend([True] if approved else [])
            self.Completed(not approved, dbus.Array(self.objects, signature="o"))
            return False

        @dbus.service.signal("org.freedesktop.Secret.Prompt", signature="bv")
        def Completed(self, dismissed, result):
            pass

    class Item(dbus.service.Object):
        def __init__(self, path):
            self.path = path
            super().__init__(bus, path)

        @dbus.service.method("org.freedesktop.Secret.Item", in_signature="o", out_signature="(oayays)")
        def GetSecret(self, session):
            settings = asked("GetSecret")
            require_unlocked(settings)
            secret = bytes.fromhex(own.items[self.path]["secret"])
            secret = bytes(settings["size"]) if "size" in settings else secret
            return (session, dbus.ByteArray(b""), dbus.ByteArray(secret), "application/octet-stream")

        @dbus.service.method("org.freedesktop.Secret.Item", out_signature="o")
        def Delete(self):
            require_unlocked(asked("Delete"))
            write({path: item for path, item in own.items.items() if path != self.path})
            return dbus.ObjectPath("/")

    objects = {path: Item(path) for path in own.items}

    class Collection(dbus.service.Object):
        @dbus.service.method(
            "org.freedesktop.Secret.Collection", in_signature="a{sv}(oayays)b", out_signature="oo")
        def CreateItem(self, properties, secret, replace):
            require_unlocked(asked("CreateItem"))
            path = f"{PATH}/collection/double/i{os.urandom(4).hex()}"
            attributes = properties["org.freedesktop.Secret.Item.Attributes"]
            write({**own.items, path: {
                "attributes": {str(name): str(value) for name, value in attributes.items()},
                "label": str(properties["org.freedesktop.Secret.Item.Label"]),
                "secret": bytes(secret[2]).hex(), "replace": bool(replace)}})
            objects[path] = Item(path)
            return dbus.ObjectPath(path), dbus.ObjectPath("/")

    class Service(dbus.service.Object):
        @dbus.service.method("org.freedesktop.Secret.Service", in_signature="sv", out_signature="vo")
        def OpenSession(self, algorithm, value):
            asked("OpenSession")
            assert algorithm == "plain"
            return dbus.String("", variant_level=1), dbus.ObjectPath(f"{PATH}/session/s")

        @dbus.service.method("org.freedesktop.Secret.Service", in_signature="s", out_signature="o")
        def ReadAlias(self, name):
            settings = asked("ReadAlias")
            return dbus.ObjectPath("/" if settings.get("noAlias") else f"{PATH}/collection/double")

        @dbus.service.method("org.freedesktop.Secret.Service", in_signature="a{ss}", out_signature="aoao")
        def SearchItems(self, attributes):
            settings = asked("SearchItems")
            found = [path for path, item in own.items.items() if item["attributes"] == dict(attributes)]
            found, none = dbus.Array(found, signature="o"), dbus.Array([], signature="o")
            return (none, found) if is_locked(settings) else (found, none)

        @dbus.service.method("org.freedesktop.Secret.Service", in_signature="ao", out_signature="aoo")
        def Unlock(self, paths):
            if is_locked(asked("Unlock")):
                return dbus.Array([], signature="o"), dbus.ObjectPath(Prompt(paths)._object_path)
            return paths, dbus.ObjectPath("/")

    service, collection = Service(bus, PATH), Collection(bus, f"{PATH}/collection/double")
    name = dbus.service.BusName(NAME, bus)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    GLib.MainLoop().run()
    return service, collection, name


if __name__ == "__main__":
    serve(pathlib.Path(sys.argv[1]))
