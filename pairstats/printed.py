"""Estimates in a terminal and in a notebook: the columns a reader needs, notes below the table."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Iterable

import pandas as pd

from pairstats.result import LABELS, Estimates, interval, none_if_null, number, p_text
from pairstats.shown import called, level_text, plain

WIDTH = 79
"""Characters to which a note is wrapped."""

NAMES = frozenset((*LABELS, "verdict", "claim", "method", "note"))
"""Columns of words, which stand at the left as the names of cells do; numbers stand below each other."""


def as_text(estimates: Estimates) -> str:
    """Table of plain text, and below it every note once, with its number.

    Examples
    --------
    >>> row = {"estimand": "accuracy", "estimate": 0.5, "note": "one family: no interval; 2 without an answer"}
    >>> print(as_text(Estimates.from_rows([row, row | {"estimate": 0.25, "note": "2 without an answer"}])))
    estimand estimate [95 %] note
    accuracy 0.500           1, 2
    accuracy 0.250           2
    1: one family: no interval
    2: 2 without an answer
    """
    shown = columns(estimates)
    numbers: dict[str, int] = {}
    if "note" in shown:
        parts = [note.split("; ") if note else [] for note in shown["note"]]
        for part in (part for row in parts for part in row):
            numbers.setdefault(part, len(numbers) + 1)
        shown["note"] = [", ".join(str(numbers[part]) for part in dict.fromkeys(row)) for row in parts]
    words = NAMES | set(estimates.factors)
    table = [_column(name, values, name in words) for name, values in shown.items()]
    lines = [" ".join(cells).rstrip() for cells in zip(*table, strict=True)]
    return "\n".join([*lines, *(_footnote(number, note) for note, number in numbers.items())])


def as_html(estimates: Estimates) -> str:
    """Table of HTML; texts are escaped."""
    shown = columns(estimates)
    head = "".join(f"<th>{html.escape(name)}</th>" for name in shown)
    body = "".join(
        "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
        for row in zip(*shown.values(), strict=True)
    )
    return (
        f'<table class="pairstats"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
        f"<p>{html.escape(', '.join(_levels(estimates.frame)))} intervals over families</p>"
    )


def columns(estimates: Estimates) -> dict[str, list[str]]:
    """Columns a reader needs, as text; what is empty everywhere is left away."""
    frame = estimates.frame
    there = {str(name) for name in frame.columns if frame[name].notna().any()}
    shown = {name: _texts(frame[name]) for name in (*LABELS, *estimates.factors) if name in there}
    if "estimate" in there or "bound_low" not in there:
        shown["estimate"] = [number(value) for value in frame["estimate"]]
    shown[f"[{' / '.join(_levels(frame))}]"] = [
        interval(low, high) for low, high in zip(frame["conf_low"], frame["conf_high"], strict=True)
    ]
    for name in ("bound_low", "bound_high"):
        if name in there:
            shown[name] = [number(value) for value in frame[name]]
    for label, name in (("p", "p_value"), ("p adjusted", "p_adjusted")):
        if name in there:
            shown[label] = [p_text(value) for value in frame[name]]
    shown |= {name: _texts(frame[name]) for name in ("verdict", "claim", "margin") if name in there}
    if "n_first_only" in there:
        sides = zip(_texts(frame["n_first_only"]), _texts(frame["n_second_only"]), strict=True)
        shown["first:second"] = [":".join(pair) for pair in sides]
    counts = (("families", "n_families"), ("missing", "n_missing"), ("method", "method"), ("note", "note"))
    return shown | {label: _texts(frame[name]) for label, name in counts if name in there}


def _texts(values: Iterable[object]) -> list[str]:
    return ["" if none_if_null(value) is None else called(value) for value in values]


def _levels(frame: pd.DataFrame) -> list[str]:
    return [level_text(level) for level in sorted(frame["conf_level"].dropna().unique())] or ["95 %"]


def _column(name: str, values: list[str], words: bool) -> list[str]:
    """Cells of one width, the head first; numbers end below each other."""
    widest = max(map(len, values), default=0)
    width = max(len(plain(name)), widest)
    cells = values if words else [value.rjust(widest) for value in values]
    return [cell.ljust(width) for cell in (plain(name), *cells)]


def _footnote(number: int, note: str) -> str:
    mark = f"{number}: "
    return textwrap.fill(
        note, WIDTH, initial_indent=mark, subsequent_indent=" " * len(mark), break_on_hyphens=False,
        break_long_words=False,
    )  # fmt: skip
