"""What the scripts say where something cannot be had; the whole of scripts/run is walked in Tests/tools."""

import os
import pathlib
import subprocess

import pytest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"


@pytest.mark.skipif(os.path.exists("/dev/uhid"), reason="uhid is there, and nothing need be loaded")
@pytest.mark.parametrize("says, fault", [("FATAL: Module uhid not found", "FATAL: Module uhid not found"), ("", "")])
def test_uhid_that_cannot_be_loaded_ends_no_script(tmp_path, says, fault):
    for name in ("modprobe", "sudo"):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho 'something else'\necho '{says}' >&2\nexit 1\n")
        program.chmod(0o755)
    script = '. "$1/lib.sh"; load_uhid; echo "goes on: $uhid_fault"'
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", script, "test", SCRIPTS], capture_output=True, text=True,
                          env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}, timeout=60)
    assert (done.returncode, done.stdout) == (0, f"goes on: {fault}\n"), done.stderr
