"""Where the study fairscreen lies, and the modules of its generator, whose folder is a script's and no package."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from conftest import ROOT

HOME = ROOT / "analyses" / "fairscreen"
RECORDS = ROOT / "records" / "fairscreen"


@contextmanager
def generator_modules() -> Iterator[dict[str, Any]]:
    """Import the generator as its script does, and forget its modules afterwards: their names are plain."""
    names = [path.stem for path in HOME.glob("*.py") if path.stem != "study"]
    hidden = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    sys.path.insert(0, str(HOME))
    try:
        yield {name: importlib.import_module(name) for name in names}
    finally:
        sys.path.remove(str(HOME))
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(hidden)
