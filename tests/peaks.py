"""How much memory a process takes at its peak."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import ROOT

STATUS = Path("/proc/self/status")
needs_status = pytest.mark.skipif(not STATUS.exists(), reason="only Linux tells a process's own peak")


def peak_of(code: str) -> int:
    """Bytes resident at the peak of a process that runs some code; `resource` would tell the parent's too."""
    told = f"import re; print(re.search(r'VmHWM:\\s+(\\d+)', open({str(STATUS)!r}).read())[1])"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{told}"], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr[-500:]
    return 1024 * int(done.stdout.splitlines()[-1])
