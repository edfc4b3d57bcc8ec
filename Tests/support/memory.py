"""The memory of a running process, read as root."""

import re


def found(process, secrets):
    """Return where each secret is: {name: [(line of smaps, whether the page is locked)]}, without absent ones."""
    places = {}
    for line, start, end, flags in regions(process):
        with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
            memory.seek(start)
            content = b""
            while piece := memory.read(end - start - len(content)):
                content += piece
        for name, secret in secrets.items():
            if secret in content:
                places.setdefault(name, []).append((line, "lo" in flags))
    return places


def regions(process):
    """Return the regions that can be read: (line of smaps, start, end, VmFlags)."""
    with open(f"/proc/{process}/smaps") as file:
        text = file.read()
    for header, rest in re.findall(r"^([0-9a-f]+-[0-9a-f]+ .*)\n((?:[A-Z].*\n)+)", text, re.M):
        start, end = (int(number, 16) for number in header.split()[0].split("-"))
        # The kernel's own pages are not read: [vvar], [vsyscall].
        if header.split()[1][0] == "r" and "[v" not in header:
            yield header, start, end, re.search(r"^VmFlags:(.*)$", rest, re.M)[1].split()
