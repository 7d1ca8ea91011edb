"""From what the user names to run files, and from run files to the readers that know them."""

from __future__ import annotations

import glob
import importlib
import importlib.metadata
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from pairstats.errors import PairstatsError, ReadError, listed
from pairstats.readers import store
from pairstats.readers.base import Declined, Reader, Recognized, RunFile
from pairstats.readers.each import UNFORESEEN
from pairstats.readers.promised import is_hidden
from pairstats.readers.remote import fetched, is_address
from pairstats.readers.sheets import form_of
from pairstats.readers.unpacked import files_in

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
TABLES = "table"
"""Name of the reader of plain tables."""
ENTRY_POINTS = "pairstats.readers"
FEW = 3
"""Reasons against a file that are shown, besides that of plain tables."""
LONGEST_REASON = 200
TABLE_SUFFIX = re.compile(r"\.(csv|tsv|txt|jsonl|ndjson|parquet|arrows?|feather|xlsx)(\.gz|\.zst)?$")
"""Names of files that are tables, whose fault the reader of plain tables knows best."""

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
    unread : str
        Why it is not opened: it lies in a folder and is no regular file.
    broken : str
        What is wrong with an archive whose files cannot be listed: an error, or with `keep_going` a file left
        out.
    """

    file: RunFile
    model: str | None
    named: bool
    unread: str = ""
    broken: str = ""


def find_files(paths: Paths) -> list[Given]:
    """List the files under paths, folders and patterns, each once, in the order given and sorted within.

    Parameters
    ----------
    paths : path, pattern, folder, address, list of these, or dict of model name to these
        Folders and zip archives are searched at every depth; names that begin with a dot are passed over.

    Raises
    ------
    ReadError
        When a path is empty, does not exist or is no regular file, a folder or pattern holds no file, or a
        file is given for two models.
    """
    if isinstance(paths, Mapping):
        named = [(str(model), path) for model, each in paths.items() for path in _each(each)]
    else:
        named = [(None, path) for path in _each(paths)]  # type: ignore[misc]
    if not named:
        raise ReadError("`paths` must name at least one file or folder, but is empty.")
    models: dict[Path, str | None] = {}
    direct: dict[Path, bool] = {}
    roots: dict[bool, list[Path]] = {}
    for model, path in named:
        root, files, is_direct = _expand(path)
        roots.setdefault(store.holds(root), []).append(root)
        for file in files:
            if models.setdefault(file, model) != model:
                raise ReadError(f"{file.name} must belong to one model, but is given for two: "
                                f"{models[file]!r} and {model!r}.")  # fmt: skip
            direct[file] = direct.get(file, False) or is_direct
    anchors = {fetched: Path(os.path.commonpath(each)) for fetched, each in roots.items()}
    return [
        given
        for file, model in models.items()
        for given in _opened(
            Given(
                RunFile(file, file.relative_to(anchors[store.holds(file)]).as_posix()), model, direct[file],
                _unread(file),
            )
        )
    ]  # fmt: skip


def _opened(given: Given) -> list[Given]:
    """Give the file, or the files in it, where it is an archive of run files."""
    if given.unread:
        return [given]
    try:
        inner = files_in(given.file)
    except ReadError as error:
        return [replace(given, broken=str(error))]
    except OSError:
        inner = None  # what cannot be opened is told where it is read
    if inner is None:
        return [given]
    if not inner:
        return [replace(given, unread="an archive without files", named=False)]
    alone = len(inner) == 1 and inner[0].shown == given.file.shown
    return [replace(given, file=file, named=given.named and alone) for file in inner]


def _each(paths: Any) -> list[str | os.PathLike[str]]:
    if isinstance(paths, str | os.PathLike):
        return [paths]
    if not isinstance(paths, Iterable):
        raise PairstatsError(f"`paths` must be paths, but got {type(paths).__name__}.")
    return list(paths)


def _expand(path: str | os.PathLike[str]) -> tuple[Path, list[Path], bool]:
    """Return the folder that shown names start from, the files, and whether the path is a file itself."""
    if not os.fspath(path).strip():
        raise ReadError(
            "A path must name a file, a folder or a pattern, but is empty. Write '.' for this folder."
        )
    if isinstance(path, str) and is_address(path):
        return fetched(path)
    place = Path(os.path.abspath(Path(path).expanduser()))
    if place.is_file():
        return place.parent, [place], True
    if place.is_dir():
        files = _walk(place)
        if not files:
            raise ReadError(f"Folder {os.fspath(path)!r} must hold run files, but holds no file at all.")
        return place, files, False
    if place.exists():
        raise ReadError(
            f"{os.fspath(path)!r} must be a regular file, but is {_unread(place)}. Write what it gives to a file."
        )
    if glob.has_magic(str(place)):
        found = [Path(match) for match in sorted(glob.glob(str(place), recursive=True))]
        files = [file for match in found for file in (_walk(match) if match.is_dir() else [match])]
        if not files:
            raise ReadError(f"Pattern {os.fspath(path)!r} must fit run files, but fits none.")
        return Path(os.path.commonpath([file.parent for file in files])), list(dict.fromkeys(files)), False
    raise ReadError(f"{os.fspath(path)!r} must be a file, a folder or a pattern, but there is none.")


def _walk(folder: Path) -> list[Path]:
    """Everything under a folder that is no folder itself; links to folders too, since they are not followed."""
    found = []
    for parent, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = sorted(name for name in folders if not is_hidden(name))
        links = [name for name in folders if Path(parent, name).is_symlink()]
        found += [Path(parent, name) for name in (*names, *links) if not is_hidden(name)]
    return sorted(found, key=lambda file: file.parts)


def _refuse(error: OSError) -> None:
    raise ReadError(
        f"Folder {error.filename!r} cannot be opened: {error.strerror}. May you read it?"
    ) from error


_KINDS: tuple[tuple[Callable[[int], bool], str], ...] = (
    (stat.S_ISFIFO, "a pipe (FIFO)"), (stat.S_ISSOCK, "a socket"), (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"), (stat.S_ISDIR, "a link to a folder, which is not followed"),
)  # fmt: skip


def _unread(file: Path) -> str:
    """Why something in a folder is not opened (to open a pipe would wait forever); empty for a regular file."""
    try:
        mode = file.stat().st_mode
    except OSError as error:
        return "a broken link" if file.is_symlink() else f"cannot be opened: {error.strerror}"
    return (
        "" if stat.S_ISREG(mode) else next((kind for is_it, kind in _KINDS if is_it(mode)), "no regular file")
    )


@contextmanager
def unforeseen(must: str) -> Iterator[None]:
    """Make content of an unforeseen shape an error that names the file, not a traceback."""
    try:
        yield
    except PairstatsError:
        raise
    except UNFORESEEN as error:
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
    others = [_loaded(point) for point in importlib.metadata.entry_points(group=ENTRY_POINTS)]
    return (*own[:-1], *others, *own[-1:])


def _loaded(point: importlib.metadata.EntryPoint) -> Reader:
    """Load a reader of another package; what is wrong with it must not look like a fault of ours."""
    try:
        found = point.load()
    except Exception as error:
        raise PairstatsError(
            f"The reader {point.name!r} of entry point {point.value!r} must load, but does not "
            f"({type(error).__name__}: {error}). Mend or uninstall its package."
        ) from error
    return _checked(found, f"entry point {point.value!r}")


def _checked(reader: Any, where: str) -> Reader:
    lacking = [name for name in ("name", "recognize", "read") if not hasattr(reader, name)]
    if lacking or isinstance(reader, type):
        what = "is a class, not a value of it" if isinstance(reader, type) else f"lacks {listed(lacking)}"
        raise PairstatsError(
            f"A reader must have `name`, `recognize(file)` and `read(file, options)`, but that of {where} {what}. "
            "See docs/custom_reader.md."
        )
    return reader


def recognize(given: Given, forced: str | Reader | None, table: str = "") -> tuple[Reader, Recognized] | str:
    """Ask each reader in turn.

    Parameters
    ----------
    given : Given
    forced : str, Reader or None
        The only reader to ask, or its name.
    table : str
        How the file is written, where it is known to be a plain table if no platform's reader knows it: then
        that of plain tables need not be asked, which would read all of it.

    Returns
    -------
    tuple or str
        The reader and what it saw, or the reasons against the file.
    """
    asked = list(_asked(forced))
    if not given.file.head.strip():
        return "the file is empty"
    reasons = []
    for reader in asked:
        if table and reader.name == TABLES:
            return reader, Recognized(table)
        if forced == TABLES and (form := form_of(given.file)):
            return reader, Recognized(form)  # the user says that it is one, and which column is what
        with unforeseen(f"{given.file.shown} must be told apart by the reader {reader.name}"):
            answer = reader.recognize(given.file)
        if not isinstance(answer, Declined):
            return reader, answer
        reasons.append((reader.name, answer.why))
    return _told(reasons, TABLE_SUFFIX.search(given.file.path.name.lower()) is not None)


def _told(reasons: list[tuple[str, str]], is_table: bool) -> str:
    """Reasons that matter: that of plain tables alone for what is a table by its name; else the first few too.

    Two dozen reasons would hide the one that helps.
    """
    shown = [f"{name}: {_short(why)}" for name, why in reasons]
    if is_table:
        first, rest = shown[-1:], len(shown) - 1
    else:
        first, rest = (
            (shown, 0) if len(shown) <= FEW + 1 else ([*shown[:FEW], shown[-1]], len(shown) - FEW - 1)
        )
    return "; ".join([*first, *([f"{rest} readers of platforms know none of it"] if rest else [])])


def _short(why: str) -> str:
    """One clause, without a full stop: the sentence around it has its own."""
    line = " ".join(why.split()).rstrip(". ")
    return line if len(line) <= LONGEST_REASON else line[: LONGEST_REASON - 1] + "…"


def _asked(forced: str | Reader | None) -> Iterator[Reader]:
    if forced is not None and not isinstance(forced, str):
        yield _checked(forced, "`reader`")
        return
    known = readers()
    if forced is not None and forced not in {reader.name for reader in known}:
        raise PairstatsError(
            f"`reader` must be one of {listed([r.name for r in known], 99)}, but got {forced!r}."
        )
    yield from (reader for reader in known if forced in (None, reader.name))
