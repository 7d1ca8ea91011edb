"""A function in a Python file of the user's: loaded by path, alone, with errors that name file and line."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pairstats.errors import PairstatsError, listed


def load_function(path: str | Path, name: str) -> Callable[..., Any]:
    """Load one function of a Python file.

    The file is run, as `import` would run it, so only load files that you trust. What it imports must be
    installed: other files of its folder are not found, so that its checksum tells all of it.

    Parameters
    ----------
    path : str or pathlib.Path
        The file (``.py``).
    name : str
        A function that it defines.

    Returns
    -------
    callable

    Raises
    ------
    PairstatsError
        When there is no such file or function, or the file fails as it runs.
    """
    function = getattr(load_module(path), name, None)
    if not callable(function):
        there = sorted(key for key, value in vars(load_module(path)).items() if _own(key, value))
        raise PairstatsError(f"{path} must define the function {name!r}, but defines {listed(there, 10)}.")
    return function


def has_function(path: str | Path, name: str) -> bool:
    """Whether a Python file defines a function of that name."""
    return callable(getattr(load_module(path), name, None))


def load_module(path: str | Path) -> Any:
    """Run a Python file as a module of its own name, once for its content."""
    path = Path(path)
    if path.suffix != ".py" or not path.is_file():
        raise PairstatsError(f"A script must be a Python file, but there is none at {str(path)!r}.")
    content = path.read_bytes()
    key = f"{path.resolve()}\n".encode() + content
    name = f"pairstats_script_{hashlib.sha256(key).hexdigest()[:16]}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_loader(name, loader=None, origin=str(path))
    assert spec is not None, "a name alone makes a spec"
    module = importlib.util.module_from_spec(spec)
    module.__file__ = str(path)
    sys.modules[name] = module  # dataclasses of the script look their module up
    try:
        exec(compile(content, str(path), "exec", dont_inherit=True), module.__dict__)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise PairstatsError(f"{path} must run as a Python file, but {told(error, path)}") from error
    return module


def told(error: BaseException, path: str | Path) -> str:
    """Say what went wrong in a script, with its last line that took part."""
    if isinstance(error, SyntaxError) and error.filename == str(path):
        return f"line {error.lineno} is no Python: {error.msg}."
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)
    ]
    where = f" in line {lines[-1]}" if lines else ""
    return f"raised {type(error).__name__}{where}: {error}"


def _own(key: str, value: object) -> bool:
    return callable(value) and not key.startswith("_")
