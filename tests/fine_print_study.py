"""Where the study fine_print lies, and the modules of its generator, whose folder is a script's and no package."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conftest import ROOT

HOME = ROOT / "analyses" / "fine_print"
RECORDS = ROOT / "records" / "fine_print"


@contextmanager
def generator_modules(home: Path = HOME) -> Iterator[Any]:
    """Import a study's generator as its script does, and forget its modules afterwards: their names are plain."""
    before = set(sys.modules)
    sys.path.insert(0, str(home))
    try:
        yield importlib.import_module("make_records")
    finally:
        sys.path.remove(str(home))
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(home)):
                del sys.modules[name]
