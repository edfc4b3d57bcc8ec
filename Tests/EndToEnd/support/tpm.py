"""A TPM for one test: swtpm, on ports of the loopback interface; and tpm2-tools to inspect it.

swtpm has no resource manager, unlike /dev/tpmrm0: after a program was killed, `flush` unloads its objects and sessions.
"""

import os
import pathlib
import re
import socket
import subprocess

from support.authenticator import wait_for
from support.patience import PATIENCE


def free_ports() -> int:
    """Return a port that is free together with the next one: tpm2-tss needs both."""
    for _ in range(100):
        with socket.socket() as first, socket.socket() as second:
            first.bind(("127.0.0.1", 0))
            port = first.getsockname()[1]
            try:
                second.bind(("127.0.0.1", port + 1))
            except (OSError, OverflowError):
                continue
            return port
    raise OSError("no two ports in a row are free")


class TPM:
    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        folder.mkdir()
        self.port = free_ports()
        self.process = None
        self.start()

    @property
    def tcti(self):
        return f"swtpm:host=127.0.0.1,port={self.port}"

    def start(self):
        self.process = subprocess.Popen(
            ["swtpm", "socket", "--tpm2", "--tpmstate", f"dir={self.folder}", "--server",
             f"type=tcp,port={self.port},bindaddr=127.0.0.1", "--ctrl",
             f"type=tcp,port={self.port + 1},bindaddr=127.0.0.1", "--flags", "not-need-init,startup-clear"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for("TPM", lambda: self.tool("getrandom", "1", check=False).returncode == 0)

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def restart(self):
        """Shut the TPM down in order, and start it: the registers have their first values."""
        self.tool("shutdown")
        self.stop()
        self.start()

    def tool(self, name, *arguments, check=True):
        return subprocess.run(
            [f"tpm2_{name}", *map(str, arguments)], capture_output=True, check=check, timeout=60 * PATIENCE,
            env={**os.environ, "TPM2TOOLS_TCTI": self.tcti, "TSS2_LOG": "all+NONE"})

    def flush(self):
        for kind in "-t", "-l", "-s":
            self.tool("flushcontext", kind)

    def loaded(self):
        """Return the handles of loaded objects and sessions."""
        found = [self.tool("getcap", f"handles-{kind}").stdout.decode().split()
                 for kind in ("transient", "loaded-session", "saved-session")]
        return [handle for handles in found for handle in handles if handle != "-"]

    def indexes(self):
        """Return the NV indexes and their descriptions."""
        return re.findall(r"^(0x\w+):\n(.*?)\n\n", self.tool("nvreadpublic").stdout.decode() + "\n", re.M | re.S)

    def extend(self, register=7):
        self.tool("pcrextend", f"{register}:sha256={'11' * 32}")

    def properties(self):
        """Return the variable properties, {name: text}."""
        text = self.tool("getcap", "properties-variable").stdout.decode()
        return {line.split(":")[0].strip(): line.split(":")[1].strip() for line in text.splitlines() if ":" in line}
