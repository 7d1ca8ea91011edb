"""From what the user names to run files, and from run files to the readers that know them."""

from __future__ import annotations

import glob
import importlib
import importlib.metadata
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pairstats.errors import PairstatsError, ReadError, listed
from pairstats.readers.base import Declined, Reader, Recognized, RunFile

MODULES: tuple[str, ...] = (
    "inspect",
    "lm_eval",
    "kaggle",
    "helm",
    "promptfoo",
    "anthropic",
    "openai",
    "every_eval_ever",
    "lighteval",
    "deepeval",
    "mlflow",
    "oaieval",
    "phoenix",
    "langsmith",
    "braintrust",
    "ragas",
    "swe_bench",
    "metr",
    "evalplus",
    "bfcl",
    "tau_bench",
    "bbh",
    "zeroeval",
    "aider",
    "weirdml",
    "alpaca_eval",
    "tables",
)
"""Readers in the order in which they are asked; plain tables last, since they take what others decline."""
ENTRY_POINTS = "pairstats.readers"
FEW = 3
"""Reasons against a file that are shown, besides that of plain tables."""
_UNFORESEEN = (AttributeError, KeyError, IndexError, TypeError, ValueError, RecursionError, OSError)

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Given:
    """A file to read.

    Attributes
    ----------
    file : RunFile
    model : str or None
        The model that the user named for it.
    named : bool
        Whether the file itself was named, rather than a folder or pattern that holds it.
    """

    file: RunFile
    model: str | None
    named: bool


def find_files(paths: Paths) -> list[Given]:
    """List the files under paths, folders and patterns, each once, in the order given and sorted within.

    Parameters
    ----------
    paths : path, pattern, folder, list of these, or dict of model name to these
        Folders are searched at every depth; names that begin with a dot are passed over.

    Raises
    ------
    ReadError
        When a path does not exist, a folder or pattern holds no file, or a file is given for two models.
    """
    if isinstance(paths, Mapping):
        named = [(str(model), path) for model, each in paths.items() for path in _each(each)]
    else:
        named = [(None, path) for path in _each(paths)]  # type: ignore[misc]
    if not named:
        raise ReadError("`paths` must name at least one file or folder, but is empty.")
    models: dict[Path, str | None] = {}
    direct: dict[Path, bool] = {}
    roots = []
    for model, path in named:
        root, files, is_direct = _expand(path)
        roots.append(root)
        for file in files:
            if models.setdefault(file, model) != model:
                raise ReadError(f"{file.name} must belong to one model, but is given for two: "
                                f"{models[file]!r} and {model!r}.")  # fmt: skip
            direct[file] = direct.get(file, False) or is_direct
    anchor = Path(os.path.commonpath(roots))
    return [
        Given(RunFile(file, file.relative_to(anchor).as_posix()), model, direct[file])
        for file, model in models.items()
    ]


def _each(paths: Any) -> list[str | os.PathLike[str]]:
    if isinstance(paths, str | os.PathLike):
        return [paths]
    if not isinstance(paths, Iterable):
        raise PairstatsError(f"`paths` must be paths, but got {type(paths).__name__}.")
    return list(paths)


def _expand(path: str | os.PathLike[str]) -> tuple[Path, list[Path], bool]:
    """Return the folder that shown names start from, the files, and whether the path is a file itself."""
    place = Path(os.path.abspath(Path(path).expanduser()))
    if place.is_file():
        return place.parent, [place], True
    if place.is_dir():
        files = _walk(place)
        if not files:
            raise ReadError(f"Folder {os.fspath(path)!r} must hold run files, but holds no file at all.")
        return place, files, False
    if glob.has_magic(str(place)):
        found = [Path(match) for match in sorted(glob.glob(str(place), recursive=True))]
        files = [file for match in found for file in (_walk(match) if match.is_dir() else [match])]
        if not files:
            raise ReadError(f"Pattern {os.fspath(path)!r} must fit run files, but fits none.")
        return Path(os.path.commonpath([file.parent for file in files])), list(dict.fromkeys(files)), False
    raise ReadError(f"{os.fspath(path)!r} must be a file, a folder or a pattern, but there is none.")


def _walk(folder: Path) -> list[Path]:
    found = []
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        found += [Path(parent, name) for name in names if not name.startswith(".")]
    return sorted(found, key=lambda file: file.parts)


@contextmanager
def unforeseen(must: str) -> Iterator[None]:
    """Make content of an unforeseen shape an error that names the file, not a traceback."""
    try:
        yield
    except PairstatsError:
        raise
    except _UNFORESEEN as error:
        raise ReadError(f"{must}, but is not ({type(error).__name__}: {error}). Is it damaged?") from error


@cache
def readers() -> tuple[Reader, ...]:
    """Load the readers: our own, and those of installed packages that offer one."""
    own = []
    for name in MODULES:
        module = f"pairstats.readers.{name}"
        try:
            own.append(importlib.import_module(module).READER)
        except ModuleNotFoundError as error:
            if error.name != module:
                raise
    others = [point.load() for point in importlib.metadata.entry_points(group=ENTRY_POINTS)]
    return (*own[:-1], *others, *own[-1:])


def recognize(given: Given, forced: str | None) -> tuple[Reader, Recognized] | str:
    """Ask each reader in turn.

    Parameters
    ----------
    given : Given
    forced : str or None
        Name of the only reader to ask.

    Returns
    -------
    tuple or str
        The reader and what it saw, or every reader's reason against the file.
    """
    asked = list(_asked(forced))
    if not given.file.head.strip():
        return "the file is empty"
    reasons = []
    for reader in asked:
        with unforeseen(f"{given.file.shown} must be told apart by the reader {reader.name}"):
            answer = reader.recognize(given.file)
        if not isinstance(answer, Declined):
            return reader, answer
        reasons.append(f"{reader.name}: {answer.why}")
    return "; ".join(_few(reasons))


def _few(reasons: list[str]) -> list[str]:
    """First reasons and that of plain tables; two dozen would hide what matters."""
    rest = len(reasons) - FEW - 1
    return reasons if rest < 2 else [*reasons[:FEW], f"{rest} more readers know none of it", reasons[-1]]


def _asked(forced: str | None) -> Iterator[Reader]:
    known = readers()
    if forced is not None and forced not in {reader.name for reader in known}:
        raise PairstatsError(
            f"`reader` must be one of {listed([r.name for r in known], 99)}, but got {forced!r}."
        )
    yield from (reader for reader in known if forced in (None, reader.name))
