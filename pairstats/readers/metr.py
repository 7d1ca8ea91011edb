"""Runs of METR (``runs.jsonl``): one run of one agent on one task a line, humans included.

Runs of a task have no number; they are numbered in the order of the file. A run that used up its limits is
``truncated`` and keeps its score; one that broke for another reason is an error.
"""

from __future__ import annotations

from collections.abc import Iterator

from pairstats.readers.base import LeftOut, ReadOptions, RunFile
from pairstats.readers.jsonlines import objects, real
from pairstats.readers.rowlog import RowLog, Scores, keys, score_of
from pairstats.readers.sheets import Row
from pairstats.readers.states import told

SCORES = ("score_binarized", "score", "score_cont")


def _scores(row: Row) -> Scores:
    return {name: score_of(row[name]) for name in SCORES if name in row}


def _outcome(row: Row) -> tuple[str, str | None] | None:
    broke = row.get("fatal_error_from")
    if not broke or str(broke).lower() == "nan":
        return None
    return told("metr", "fatal_error_from", broke)


def _rows(file: RunFile, options: ReadOptions) -> Iterator[tuple[int, Row | LeftOut]]:
    """Lines with how long each run took; the times are milliseconds since 1970."""
    for number, row in objects(file, keep_going=options.keep_going):
        if isinstance(row, dict):
            start, end = (real(row.get(name)) for name in ("started_at", "completed_at"))
            row = row if start is None or end is None else {**row, "milliseconds": end - start}
        yield number, row


READER = RowLog(
    name="metr",
    detect=keys("runs", ("task_id", "task_family", "alias", "score_binarized"), kinds=("object",)),
    looks_for="line has the keys 'task_id', 'task_family', 'alias' and 'score_binarized'",
    fields={
        "item": ("task_id",),
        "model": ("alias", "model"),
        "cost_usd": ("generation_cost",),
        "latency_s": ("milliseconds",),
    },
    rows=_rows,
    scores=_scores,
    outcome=_outcome,
    errors=(),
    scale={"latency_s": 0.001},
    numbered=True,
    note="runs of a task have no number and are numbered in the order of the file; humans are a model too",
)
