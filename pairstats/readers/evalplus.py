"""Results of EvalPlus (``*_eval_results.json``), the present layout and the older one.

A solution passes the extra tests only where it passes the base tests too. The file has no model. Its ``hash``
is the data set's version, so it is part of the study: results of two versions are never paired.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from pairstats.readers.base import LeftOut, ReadOptions, RunFile
from pairstats.readers.outline import document
from pairstats.readers.rowlog import RowLog, Scores, keys
from pairstats.readers.sheets import Row

PASSED = ("pass", "success")


def _rows(file: RunFile, options: ReadOptions) -> Iterator[tuple[str, Row | LeftOut]]:
    """One row a solution; its place in a task's list is its repeat."""
    whole = document(file)
    version = str(whole.get("hash") or "")[:12]
    for task, found in whole["eval"].items():
        for repeat, solution in enumerate(found if isinstance(found, list) else _legacy(found)):
            study = " ".join(filter(None, (task.split("/")[0], version)))
            yield f"{task}.{repeat}", {**solution, "task_id": task, "repeat": repeat, "study": study}


def _legacy(found: dict[str, Any]) -> list[Row]:
    """Solutions of the older layout: lists ``base`` and ``plus`` of a status with its details."""
    base, plus = found.get("base") or [], found.get("plus") or []
    return [
        {"base_status": one[0] if one else None, "plus_status": more[0] if more else None}
        for one, more in zip_longest(base, plus)
    ]


def _scores(row: Row) -> Scores:
    base, plus = row.get("base_status"), row.get("plus_status")
    scores: Scores = {"base": None if base is None else float(base in PASSED)}
    if plus is not None:
        scores["plus"] = float(base in PASSED and plus in PASSED)
    return scores


READER = RowLog(
    name="evalplus",
    detect=keys("eval_results", ("date", "hash", "eval"), kinds=("object",)),
    looks_for="object has the keys 'date', 'hash' and 'eval'",
    fields={
        "item": ("task_id",),
        "study": ("study",),
        "repeat": ("repeat",),
        "response": ("solution",),
    },
    rows=_rows,
    scores=_scores,
    errors=(),
)
