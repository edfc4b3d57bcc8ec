"""The memory of a running process, read as root."""

import mmap
import re

PAGE = mmap.PAGESIZE
ZEROS = bytes(PAGE)


def pieces(name, secret):
    """Return each 16 bytes of a secret, and the same in reverse order; a shorter secret as it is."""
    found = {}
    for start in range(0, max(len(secret) - 15, 1), 16):
        piece = secret[start:start + 16]
        found[f"{name} from byte {start}"] = piece
        if len(piece) == 16:
            found[f"{name} from byte {start}, reversed"] = piece[::-1]
    return found


def found(process, secrets):
    """Return where each secret is, without absent ones: {name: [(line of smaps, whether the page is protected)]}.

    A protected page is locked, and left out of core dumps.
    """
    places = {}
    for line, start, end, flags in regions(process):
        with open(f"/proc/{process}/mem", "rb", buffering=0) as memory:
            memory.seek(start)
            content = b""
            while piece := memory.read(end - start - len(content)):
                content += piece
        # Most of a stack is zeros.
        pages = (content[place:place + PAGE] for place in range(0, len(content), PAGE))
        content = b"".join(page for page in pages if page != ZEROS)
        for name, secret in secrets.items():
            if secret in content:
                places.setdefault(name, []).append((line, {"lo", "dd"} <= set(flags)))
    return places


def regions(process):
    """Return the regions that can be read: (line of smaps, start, end, VmFlags).

    Regions without a page in memory are left out, and those of files whose pages the process has not changed.
    """
    with open(f"/proc/{process}/smaps") as file:
        text = file.read()
    for header, rest in re.findall(r"^([0-9a-f]+-[0-9a-f]+ .*)\n((?:[A-Z].*\n)+)", text, re.M):
        start, end = (int(number, 16) for number in header.split()[0].split("-"))
        # The kernel's own pages are not read: [vvar], [vsyscall].
        sizes = {name: int(size) for name, size in re.findall(r"^(\w+): +(\d+) kB$", rest, re.M)}
        is_unchanged = header.split()[4] != "0" and "w" not in header.split()[1] and not sizes["Anonymous"]
        if header.split()[1][0] == "r" and "[v" not in header and sizes["Rss"] + sizes["Swap"] and not is_unchanged:
            yield header, start, end, re.search(r"^VmFlags:(.*)$", rest, re.M)[1].split()
