"""Tables that are one JSON array of rows: held in memory where they are small, else read again each time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

from pairstats.errors import ReadError
from pairstats.readers.documents import Document
from pairstats.readers.jsonlines import parse, parse_rows

HELD_BYTES = 1 << 24
"""Text of an array whose rows are parsed once."""


def rows_of(opened: Document) -> tuple[dict[str, None], Callable[[], Iterable[Any]]]:
    """Give the names in the rows of an array, in order, and a way to go through the rows.

    Parameters
    ----------
    opened : Document
        A document that is a list.

    Returns
    -------
    tuple
        The names; and what gives the rows each time it is called: one that breaks a rule of ours, though its
        syntax is right, is a `Broken`.
    """
    names: dict[str, None] = {}
    held: list[Any] = []
    size = 0
    for row, length in _rows(opened):
        names.update(dict.fromkeys(row if isinstance(row, dict) else ()))
        size += length
        if size <= HELD_BYTES:
            held.append(row)
        else:
            held.clear()
    return names, partial(iter, held) if size <= HELD_BYTES else partial(_again, opened)


def _again(opened: Document) -> Iterator[Any]:
    return (row for row, _ in _rows(opened))


def _rows(opened: Document) -> Iterator[tuple[Any, int]]:
    """Yield every row, and the length of its text."""
    for element in opened.elements(()):
        try:
            row = parse(element.text, f"{opened.file.shown}:{element.number + 1}")
        except ReadError:
            found = parse_rows(b"[" + element.text + b"]")
            if found is None:  # nobody knows where the next row begins
                raise
            [row] = found
        yield row, len(element.text)
