"""Experiments of LangSmith as ``evaluate(...).to_pandas()`` gives them, saved as CSV, Parquet or JSON.

Repetitions have the same ``example_id`` and no number; they are numbered in the order of the rows. The model
is in the file only where the target function put it there.
"""

from __future__ import annotations

from typing import Any

from pairstats.readers.rowlog import RowLog, Scores, first, keys, only, reply_or_unknown, score_of
from pairstats.readers.sheets import Row

_FEEDBACK = "feedback."
_REPLY = ("outputs.output", "outputs.answer", "outputs.response", "outputs.content", "outputs.text")
_KEY = ("reference.answer", "reference.output", "reference.label", "reference.expected")


def _scores(row: Row) -> Scores:
    return {
        name.removeprefix(_FEEDBACK): score_of(value)
        for name, value in row.items()
        if name.startswith(_FEEDBACK)
    }


def _reply(row: Row) -> Any:
    """The output by one of its usual names, or the only one; else it cannot be known which is the reply."""
    if any(name in row for name in _REPLY):
        return first(row, _REPLY)
    return reply_or_unknown(only(row, "outputs."))


def _gold(row: Row) -> Row:
    key = first(row, _KEY)
    return {**row, "gold": only(row, "reference.") if key is None else key}


READER = RowLog(
    name="langsmith",
    detect=keys("to_pandas", ("example_id", "execution_time")),
    looks_for="row has the keys 'example_id' and 'execution_time'",
    fields={"item": ("example_id",), "gold": ("gold",), "latency_s": ("execution_time",)},
    scores=_scores,
    reply=_reply,
    numbered=True,
    prepared=_gold,
    note="repetitions of an example have no number and are numbered in the order of the rows",
)
