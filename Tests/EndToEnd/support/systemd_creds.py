#!/usr/bin/python3
"""A double of systemd-creds: it stores what it encrypts in a file, and returns a name for it.

It reads SYSTEMD_CREDS_CONTROL at each start, a JSON file with these members, all optional:

  "version"   the first line of --version, "systemd 257 (257.8-1)" if absent
  "fail"      true: it writes a reason to standard error, and ends with 1
  "size"      how many bytes it writes in place of the right ones
  "hang"      the command at which it starts a child, and waits with it without end: "--version", "encrypt" or "decrypt"; or
              "end": after it has written its output and closed it
  "alone"     true: it waits without a child
"""

import json
import os
import pathlib
import sys
import time

OPTIONS = ["--user", "--name=liquid-auth-vault", "-", "-"]


def main():
    control = pathlib.Path(os.environ["SYSTEMD_CREDS_CONTROL"])
    settings = json.loads(control.read_text())
    if settings.get("hang") == sys.argv[1]:
        hang(settings)
    if sys.argv[1:] == ["--version"]:
        print(settings.get("version", "systemd 257 (257.8-1)"), "+PAM -SELINUX", sep="\n")
        return 0
    verb, *options = sys.argv[1:]
    if verb not in ("encrypt", "decrypt") or options != OPTIONS:
        return 64
    if settings.get("fail"):
        print("Failed to decrypt: the credential belongs to another user", file=sys.stderr)
        return 1
    given, store = sys.stdin.buffer.read(), control.with_suffix(".store")
    kept = json.loads(store.read_text()) if store.exists() else {}
    if verb == "encrypt":
        name = f"credential {len(kept)}\n"
        store.write_text(json.dumps({**kept, name: given.hex()}))
        output = name.encode()
    else:
        output = bytes.fromhex(kept[given.decode()])
    sys.stdout.buffer.write(bytes(settings["size"]) if "size" in settings else output)
    if settings.get("hang") == "end":
        sys.stdout.flush()
        os.close(1)
        hang(settings)
    return 0


def hang(settings):
    if not settings.get("alone"):
        os.fork()
    while True:
        time.sleep(600)


if __name__ == "__main__":
    sys.exit(main())
