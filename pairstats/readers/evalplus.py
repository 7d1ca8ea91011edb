"""Results of EvalPlus (``*_eval_results.json``), the present layout and the older one.

A solution passes the extra tests only where it passes the base tests too. The file has no model. Its ``hash``
is the data set's version, so it is part of the study: results of two versions are never paired.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import zip_longest
from typing import Any

from pairstats.readers.base import LeftOut, ReadOptions, RunFile
from pairstats.readers.each import expect, made
from pairstats.readers.outline import document
from pairstats.readers.rowlog import RowLog, Scores, keys
from pairstats.readers.sheets import Row

PASSED = ("pass", "success")


def _rows(file: RunFile, options: ReadOptions) -> Iterator[tuple[str, Row | LeftOut]]:
    """One row a solution; its place in a task's list is its repeat."""
    whole = document(file)
    version = str(whole.get("hash") or "")[:12]
    for task, found in whole["eval"].items():
        solutions = made(f"{file.shown}:{task}", "a task", options.keep_going, partial(_solutions, found))
        if isinstance(solutions, LeftOut):
            yield task, solutions
            continue
        for repeat, solution in enumerate(solutions):
            study = " ".join(filter(None, (task.split("/")[0], version)))
            place = {"task_id": task, "repeat": repeat, "study": study}
            yield f"{task}.{repeat}", {**solution, **place} if isinstance(solution, dict) else solution


def _solutions(found: Any) -> list[Any]:
    """Solutions of a task; in the older layout lists ``base`` and ``plus`` of a status with its details."""
    if isinstance(found, list) and found:
        return found
    expect(found, "task", {"base": list, "plus": list})
    base, plus = found["base"], found.get("plus") or []
    return [
        {"base_status": one[0] if one else None, "plus_status": more[0] if more else None}
        for one, more in zip_longest(base, plus)
    ]


def _scores(row: Row) -> Scores:
    expect(row, "solution", {"base_status": str, "plus_status": str})
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
