"""What a JSON file looks like from its first bytes: an array or an object, and the keys it begins with.

Readers are asked in turn, so recognition must not parse a file of a gigabyte a dozen times.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pairstats.errors import ReadError
from pairstats.readers.base import RunFile, state_of
from pairstats.readers.jsonlines import parse
from pairstats.readers.sheets import form_of, open_sheet

_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:]', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Outline:
    """The beginning of a file.

    Attributes
    ----------
    kind : str
        ``"array"`` of objects, ``"object"`` (one, or one a line), ``"table"``, or empty for anything else.
    keys : tuple of str
        Keys of the first object as far as the first 64 KiB tell them, or the columns of the table.
    """

    kind: str
    keys: tuple[str, ...]


def outline(file: RunFile) -> Outline:
    """Look at the first bytes of a file.

    Parameters
    ----------
    file : RunFile

    Returns
    -------
    Outline
    """
    found = outline_of(file.head)
    return found if found.kind else _table(file)


@lru_cache(maxsize=8)
def outline_of(head: bytes) -> Outline:
    """Find kind and first keys of JSON text that may be cut anywhere.

    Examples
    --------
    >>> outline_of(b'[{"a": {"b": 1}, "c": [2')
    Outline(kind='array', keys=('a', 'c'))
    >>> outline_of(b'item,score').kind
    ''
    """
    text = head.decode("utf-8-sig", "replace").lstrip()
    if text[:1] not in ("[", "{"):
        return Outline("", ())
    wanted = 1 if text[0] == "{" else 2
    depth, keys, last = 0, [], ""
    for match in _TOKEN.finditer(text):
        token = match[0]
        if token in ("{", "["):
            depth += 1
            if depth == wanted and token == "[":
                break  # an array of arrays has no keys
        elif token in ("}", "]"):
            depth -= 1
            if depth < wanted:
                break
        elif token == ":" and depth == wanted and last:
            keys.append(last[1:-1])
        last = token if token[0] == '"' else ""
    return Outline("array" if text[0] == "[" else "object", tuple(keys))


def _table(file: RunFile) -> Outline:
    names = _columns(file, state_of(file.path))
    return Outline("table" if names else "", names)


@lru_cache(maxsize=8)
def _columns(file: RunFile, state: tuple[int, ...]) -> tuple[str, ...]:
    """Columns of a table as it is since it was changed; Excel is written by hand, not by a platform."""
    if form_of(file) in ("", "excel"):
        return ()
    try:
        return open_sheet(file).names
    except ReadError:  # the reader of plain tables says what is wrong with it
        return ()


def document(file: RunFile) -> dict[str, Any]:
    """Parse a file that is one JSON object.

    Raises
    ------
    ReadError
        Naming the file, when it is anything else.
    """
    value = parse(file.read_bytes(), file.shown)
    if not isinstance(value, dict):
        raise ReadError(f"{file.shown} must be one JSON object, but holds a {type(value).__name__}.")
    return value
