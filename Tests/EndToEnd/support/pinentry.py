#!/usr/bin/python3
"""A pinentry for tests: it answers according to a control file and logs what the person would have seen.

The daemon starts it for each dialog (`liquid-authenticator --pinentry Tests/EndToEnd/support/pinentry.py`). The test sets
these variables in the inherited environment:

  PINENTRY_CONTROL   a JSON file, read at each start, so it can change while the daemon runs; see below
  PINENTRY_LOG       a file to which each event is appended as one line of JSON; optional

Without PINENTRY_CONTROL these replace the members of the same name:

  PINENTRY_BEHAVIOUR, PINENTRY_PASSPHRASE, PINENTRY_DELAY, PINENTRY_WRONG, PINENTRY_HASTY, PINENTRY_CHILD,
  PINENTRY_FLAVOR

The control file is an object; every member is optional:

  "behaviour"   a word of the table, "approve" if absent; or an object with a word for each of "CONFIRM" and "GETPIN",
                and for dialogs with a given line, or whose button has a given text, which go before these;
                or a list of either: one a dialog, the last is repeated (which dialog it is, is kept beside the
                control file in CONTROL.count: remove it to begin again)
  "passphrase"  the answer to GETPIN, "" if absent
  "passphraseHex"  the same in hex, for bytes that are not UTF-8
  "wrong"       how many GETPINs of this dialog answer a wrong passphrase before the right one, 0 if absent
  "delay"       seconds before an answer to CONFIRM or GETPIN; if absent, 0, or 0.55 for a page that must be read first
  "hasty"       how many CONFIRMs of this dialog are answered at once, even if the page must be read first, 0 if absent
  "flavor"      the answer to GETINFO flavor, "never" for none; if absent, that command is not known
  "child"       true: start a child that sleeps, to check that the whole process group is ended

  behaviour          CONFIRM                          GETPIN
  approve            OK                               D passphrase, OK
  deny               ERR 83886194 Not confirmed       ERR 83886179 Operation cancelled
  cancel             ERR 83886179                     ERR 83886179       (Escape, or the window of some closed)
  close              S BUTTON_INFO close, ERR 83886179   the same        (the window of pinentry-gtk-2 closed)
  timeout            ERR 83886142 Timeout             ERR 83886142
  unable             ERR 83918950 Inappropriate ioctl  ERR 83918950      (pinentry-gnome3 without a prompter)
  never              no answer until it is killed     the same
  deaf               the same, and ignores SIGTERM    the same
  wait               none until the control file      the same              (not in a list)
                     has another word, then that
  die                exits with status 3, no answer   the same
  crash              ends itself by SIGABRT           the same
  garbage            bytes that are no Assuan line    the same
  overlong           a line of 5000 bytes             the same
  no-newline         "OK", no line end, then closes   "D …", no line end, then closes
  missing-ok         nothing more, but goes on        D passphrase, but never the OK
  empty              OK                               OK with no D line (what pinentries do for an empty entry)
  split              OK, a byte at a time             D passphrase over several D lines, a byte at a time
  escape-all         OK                               D passphrase with every byte percent-escaped
  bad-escape         OK                               D with "%G1", OK
  old                OK                               D passphrase, OK; every OPTION and SETTIMEOUT is an ERR
  comments           a # line and an S line, OK       the same lines, D passphrase, OK

  and, before the greeting:
  silent             never a greeting                 die-first          exits with status 3
  garbage-first      bytes that are no Assuan line    refuse             ERR instead of the greeting

Log lines: {"event": …, "pid": …, "time": CLOCK_MONOTONIC seconds, …} with the events
  start   behaviour, options of the environment {"DISPLAY": …, "WAYLAND_DISPLAY": …, "GPG_TTY": …}, openFiles
          (numbers of the inherited descriptors)
  ask     command (CONFIRM or GETPIN) and the texts of the dialog: title, description, prompt, ok, notok, cancel,
          error, timeout, and options (the OPTIONs received)
  answer  command, answer ("OK", "ERR 83886194", …); a passphrase is never logged
  signal  the signal's number, when a signal that it can catch ends it
  eof     the other side closed standard input
  bye     BYE was received
"""

import json
import os
import signal
import sys
import time

CANCELLED = "ERR 83886179 Operation cancelled <Pinentry>"
NOT_CONFIRMED = "ERR 83886194 Not confirmed <Pinentry>"
TIMED_OUT = "ERR 83886142 Timeout <Pinentry>"
UNABLE = "ERR 83918950 Inappropriate ioctl for device <Pinentry>"
UNKNOWN = "ERR 83886254 Unknown option <Pinentry>"
GARBAGE = b"\xff\xfe\x00HTTP/1.1 400 Bad Request\r\n\x01\x02\n"

# The daemon ignores an OK within half a second if something is destroyed, set, signed or passed on. It accepts an early
# OK on pages with these buttons, unless they have one of these lines; every other page must be read first.
AT_ONCE = {"Sign in", "Make passkey", "Make second factor", "Use this one", "OK", "Show"}
EXTRAS = (
    "The site also gets a ", "Other sites may start payments ", "This may confirm a payment ", "This is not: ")
READING = 0.55

TEXTS = {
    "SETTITLE": "title", "SETDESC": "description", "SETPROMPT": "prompt", "SETOK": "ok", "SETNOTOK": "notok",
    "SETCANCEL": "cancel", "SETERROR": "error", "SETTIMEOUT": "timeout",
}


def log(event, **members):
    path = os.environ.get("PINENTRY_LOG")
    if not path:
        return
    line = {"event": event, "pid": os.getpid(), "time": time.monotonic(), **members}
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(descriptor, (json.dumps(line, ensure_ascii=False) + "\n").encode())
    os.close(descriptor)


def dialog_number(control):
    """Return the number of dialogs before this one."""
    import fcntl
    descriptor = os.open(control + ".count", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    number = int(os.read(descriptor, 32) or b"0")
    os.pwrite(descriptor, str(number + 1).encode(), 0)
    os.close(descriptor)
    return number


def control():
    path = os.environ.get("PINENTRY_CONTROL")
    if path:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    names = ("behaviour", "passphrase", "delay", "wrong", "hasty", "child", "flavor")
    return {name: os.environ["PINENTRY_" + name.upper()] for name in names if "PINENTRY_" + name.upper() in os.environ}


def settings():
    found = control()
    behaviour = found.get("behaviour", "approve")
    if isinstance(behaviour, list):
        behaviour = behaviour[min(dialog_number(os.environ["PINENTRY_CONTROL"]), len(behaviour) - 1)]
    if "passphraseHex" in found:
        passphrase = bytes.fromhex(found["passphraseHex"])
    else:
        passphrase = found.get("passphrase", "").encode()
    delay = float(found["delay"]) if "delay" in found else None
    counts = int(found.get("wrong", 0)), int(found.get("hasty", 0))
    return behaviour, passphrase, delay, *counts, bool(found.get("child"))


def write(data):
    while data:
        data = data[os.write(1, data):]


def say(line):
    write(line.encode() + b"\n")


def unescape(text):
    out, rest = bytearray(), text.encode("utf-8", "surrogateescape")
    while rest:
        if rest[:1] == b"%" and len(rest) >= 3:
            out.append(int(rest[1:3], 16))
            rest = rest[3:]
        else:
            out += rest[:1]
            rest = rest[1:]
    return out.decode("utf-8", "backslashreplace")


def escape(data, every=False):
    return b"".join(b"%%%02X" % byte if every or byte in b"%\r\n\\" else bytes([byte]) for byte in data)


def wait_for_ever():
    while True:
        signal.pause()


def word_for(command, behaviour, texts):
    if isinstance(behaviour, dict):
        names = [*texts.get("description", "").split("\n"), texts.get("ok"), command]
        return next((behaviour[name] for name in names if name in behaviour), "approve")
    return behaviour


class Dialog:
    """The texts of a dialog and its answer."""

    def __init__(self, behaviour, passphrase, delay, wrong, hasty):
        self.behaviours, self.passphrase, self.delay, self.wrong = behaviour, passphrase, delay, wrong
        self.hasty = hasty
        self.behaviour = behaviour
        self.texts, self.options = {}, {}

    def answer(self, command, line):
        log("answer", command=command, answer=line.split(" <")[0])
        say(line)

    def ask(self, command):
        self.behaviour = word_for(command, self.behaviours, self.texts)
        log("ask", command=command, options=self.options, behaviour=self.behaviour, **self.texts)
        # An error text is for one try only, as in the real programs.
        self.texts.pop("error", None)
        time.sleep(self.seconds(command) if self.delay is None else self.delay)
        while self.behaviour == "wait":
            time.sleep(0.02)
            self.behaviour = word_for(command, settings()[0], self.texts)
        special = {
            "never": wait_for_ever, "deaf": wait_for_ever,
            "die": lambda: os._exit(3), "crash": os.abort,
            "garbage": lambda: write(GARBAGE * 20), "overlong": lambda: write(b"S " + b"x" * 5000 + b"\nOK\n"),
        }.get(self.behaviour)
        if special:
            special()
        elif self.behaviour in ("cancel", "close"):
            if self.behaviour == "close":
                say("S BUTTON_INFO close")
            self.answer(command, CANCELLED)
        elif self.behaviour == "timeout":
            self.answer(command, TIMED_OUT)
        elif self.behaviour == "unable":
            self.answer(command, UNABLE)
        elif self.behaviour == "deny":
            self.answer(command, CANCELLED if command == "GETPIN" else NOT_CONFIRMED)
        elif command == "GETPIN":
            self.pin()
        else:
            self.confirm()

    def seconds(self, command):
        has_extras = any(line in self.texts.get("description", "") for line in EXTRAS)
        if command == "GETPIN" or self.behaviour == "deny" or self.texts.get("ok") in AT_ONCE and not has_extras:
            return 0
        self.hasty -= 1
        return 0 if self.hasty >= 0 else READING

    def confirm(self):
        if self.behaviour == "no-newline":
            write(b"OK")
            os._exit(0)
        if self.behaviour == "missing-ok":
            return
        if self.behaviour == "comments":
            say("# a comment")
            say("S BUTTON_INFO close")
        if self.behaviour == "split":
            for byte in b"OK\n":
                write(bytes([byte]))
                time.sleep(0.005)
            log("answer", command="CONFIRM", answer="OK")
            return
        self.answer("CONFIRM", "OK")

    def pin(self):
        passphrase = self.passphrase
        if self.wrong > 0:
            self.wrong -= 1
            passphrase += b" (wrong)"
        if self.behaviour == "no-newline":
            write(b"D " + escape(passphrase))
            os._exit(0)
        if self.behaviour == "comments":
            say("# a comment")
            say("S PASSPHRASE_FROM_NOWHERE")
        if self.behaviour == "split":
            for byte in passphrase:
                for piece in b"D " + escape(bytes([byte]), every=True) + b"\n":
                    write(bytes([piece]))
        elif self.behaviour == "bad-escape":
            write(b"D abc%G1\n")
        elif self.behaviour != "empty" and passphrase:
            write(b"D " + escape(passphrase, every=self.behaviour == "escape-all") + b"\n")
        if self.behaviour != "missing-ok":
            self.answer("GETPIN", "OK")

    def command(self, line):
        word, _, rest = line.partition(" ")
        if word in ("CONFIRM", "GETPIN"):
            self.ask(word)
        elif word in TEXTS:
            if word == "SETTIMEOUT" and self.behaviour == "old":
                return say(UNKNOWN)
            self.texts[TEXTS[word]] = unescape(rest)
            say("OK")
        elif word == "OPTION":
            if self.behaviour == "old":
                return say(UNKNOWN)
            name, _, value = rest.partition("=")
            self.options[name.strip()] = value
            say("OK")
        elif line == "GETINFO flavor" and (flavor := control().get("flavor")):
            if flavor != "never":
                say("D " + flavor)
                say("OK")
        elif word == "BYE":
            log("bye")
            say("OK closing connection")
            sys.exit(0)
        elif word in ("RESET", "NOP"):
            say("OK")
        else:
            say("ERR 83886355 Unknown IPC command <Pinentry>")


def on_signal(number, _frame):
    log("signal", number=number)
    os._exit(128 + number)


def main():
    if len(sys.argv) > 1 and sys.argv[1] in ("-h", "--help"):
        print(__doc__)
        return
    open_files = sorted(int(name) for name in os.listdir("/proc/self/fd") if os.path.exists("/proc/self/fd/" + name))
    behaviour, passphrase, delay, wrong, hasty, child = settings()
    deaf = behaviour.values() if isinstance(behaviour, dict) else [behaviour]
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN if "deaf" in deaf else on_signal)
    names = ("DISPLAY", "WAYLAND_DISPLAY", "GPG_TTY", "TERM", "LANG")
    log("start", behaviour=behaviour, openFiles=open_files,
        environment={name: os.environ[name] for name in names if name in os.environ})
    if child and os.fork() == 0:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_DFL)
        log("child")
        time.sleep(600)
        os._exit(0)
    if behaviour == "silent":
        wait_for_ever()
    if behaviour == "die-first":
        os._exit(3)
    if behaviour == "garbage-first":
        write(GARBAGE)
        wait_for_ever()
    if behaviour == "refuse":
        say("ERR 83886340 no display <Pinentry>")
        return
    say("OK Pleased to meet you, process %d" % os.getppid())
    dialog = Dialog(behaviour, passphrase, delay, wrong, hasty)
    for line in open(0, encoding="utf-8", errors="surrogateescape", newline="\n", closefd=False):
        dialog.command(line.rstrip("\n"))
    log("eof")
    if behaviour == "deaf":
        wait_for_ever()


if __name__ == "__main__":
    main()
