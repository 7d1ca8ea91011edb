"""The modules of a study's generator, whose folder is a script's and no package: their names are plain."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType


@contextmanager
def generator_modules(home: Path) -> Iterator[dict[str, ModuleType]]:
    """Import a generator as its script does, beside modules of the same names that others have imported."""
    names = [path.stem for path in home.glob("*.py") if path.stem != "study"]
    hidden = {name: sys.modules.pop(name) for name in names if name in sys.modules}
    sys.path.insert(0, str(home))
    try:
        yield {name: importlib.import_module(name) for name in names}
    finally:
        sys.path.remove(str(home))
        for name in names:
            sys.modules.pop(name, None)
        sys.modules.update(hidden)
