"""Where in a protocol file something is written, so that a message can name the line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """A key of a table of the file.

    Attributes
    ----------
    section : str
        Dotted name of the table, ``records.source``; empty for the file itself.
    number : int
        Which of the tables of that name, counted from 1.
    key : str
        Empty for the table as a whole.
    """

    section: str
    number: int = 1
    key: str = ""


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, and where."""

    message: str
    place: Place


def line_of(text: str, place: Place) -> int | None:
    r"""Find the line of a place in a TOML text: its key, or else the head of its table.

    Examples
    --------
    >>> line_of('[design]\nmissing = "impute"\n', Place("design", key="missing"))
    2
    """
    numbered = enumerate(text.splitlines(), start=1)
    lines = [(number, line) for number, line in numbered if not line.lstrip().startswith("#")]
    heads = [number for number, line in lines if _is_head(line, place.section)]
    if place.section and len(heads) >= place.number:
        head = heads[place.number - 1]
        below = [(number, line) for number, line in lines if number > head]
        inside = list(_until_next(below, place.section, heads))
        found = _first(inside, _ways_to_write(place.key)) if place.key else None
        return head if found is None else found
    for word in filter(None, (place.key, *reversed(place.section.split(".")))):
        if (found := _first(lines, _ways_to_write(word))) is not None:
            return found
    return None


def _is_head(line: str, section: str) -> bool:
    return re.match(rf"\s*\[{{1,2}}\s*{_dotted(section)}\s*\]", line) is not None


def _until_next(
    lines: Iterable[tuple[int, str]], section: str, heads: Iterable[int]
) -> Iterator[tuple[int, str]]:
    """Yield the lines that belong to a table, those of its inner tables too."""
    others = set(heads)
    for number, line in lines:
        other = re.match(r"\s*\[{1,2}[^\[\]=]+\]{1,2}\s*(#.*)?$", line)
        inner = re.match(rf"\s*\[{{1,2}}\s*{_dotted(section)}\s*\.", line)
        if number in others or (other and not inner):
            return
        yield number, line


def _ways_to_write(key: str) -> tuple[str, ...]:
    """Patterns of a key: at the start of a line, as a head, inside an inline table, as any word."""
    word = rf"[\"']?{re.escape(key)}[\"']?"
    return (
        rf"^\s*(?:[\w-]+\s*\.\s*)*{word}\s*[.=]", rf"^\s*\[.*?{word}\s*[.\]]", rf"[{{,]\s*{word}\s*[.=]",
        rf"(?<![\w-]){re.escape(key)}(?![\w-])",
    )  # fmt: skip


def _first(lines: list[tuple[int, str]], patterns: Iterable[str]) -> int | None:
    for pattern in patterns:
        for number, line in lines:
            if re.search(pattern, line):
                return number
    return None


def _dotted(section: str) -> str:
    return r"\s*\.\s*".join(rf"[\"']?{re.escape(part)}[\"']?" for part in section.split("."))
