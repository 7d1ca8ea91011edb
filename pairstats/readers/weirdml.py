"""Published results of WeirdML: one object with every model, its tasks, and the score of each run."""

from __future__ import annotations

from collections.abc import Iterator

from pairstats.readers.base import LeftOut, ReadOptions, RunFile
from pairstats.readers.outline import document
from pairstats.readers.rowlog import RowLog, keys, score_of
from pairstats.readers.sheets import Row


def _rows(file: RunFile, options: ReadOptions) -> Iterator[tuple[str, Row | LeftOut]]:
    """One row a run; its place in a task's list is its repeat."""
    for model, about in document(file)["models"].items():
        for task, found in about["tasks"].items():
            for repeat, run in enumerate(found["runs"]):
                place = {"model": model, "task": task, "repeat": repeat}
                yield f"{model}.{task}.{repeat}", {**run, **place} if isinstance(run, dict) else run


READER = RowLog(
    name="weirdml",
    detect=keys("results", ("methodology", "tasks", "models"), kinds=("object",), evidence=b'"runs"'),
    looks_for="object has 'methodology', 'tasks' and 'models' with runs",
    fields={"item": ("task",), "model": ("model",), "repeat": ("repeat",)},
    rows=_rows,
    scores=lambda row: {"score": score_of(row.get("score"))},
)
