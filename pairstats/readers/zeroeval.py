"""Results of ZeroEval: an array with one object an item, ``output`` the list of its replies.

No scores are stored: the replies are scored by ``answers=``.
"""

from __future__ import annotations

from collections.abc import Iterator

from pairstats.readers.base import LeftOut, ReadOptions, RunFile
from pairstats.readers.rowlog import RowLog, keys, sheet_rows
from pairstats.readers.sheets import Row

KEY_MARK = "# "
"""What stands before a key that is a number."""


def _rows(file: RunFile, options: ReadOptions) -> Iterator[tuple[int | str, Row | LeftOut]]:
    """One row a reply."""
    for number, row in sheet_rows(file, options):
        if isinstance(row, LeftOut) or not isinstance(row.get("output"), list):
            yield number, row
            continue
        for place, text in enumerate(row["output"] or [None]):
            where = number if len(row["output"]) < 2 else f"{number}:reply {place}"
            yield where, {**row, "output": text}


def _prepared(row: Row) -> Row:
    key = row.get("answer")
    return {**row, "answer": key.removeprefix(KEY_MARK)} if isinstance(key, str) else row


READER = RowLog(
    name="zeroeval",
    detect=keys("results", ("session_id", "chat_history", "output"), kinds=("array",)),
    looks_for="result has the keys 'session_id', 'chat_history' and 'output'",
    fields={
        "item": ("id", "session_id"),
        "model": ("generator",),
        "study": ("dataset",),
        "response": ("output",),
        "gold": ("answer",),
    },
    rows=_rows,
    numbered=True,
    prepared=_prepared,
    note="no scores: the replies are scored by answers=",
)
