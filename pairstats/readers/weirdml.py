"""Published results of WeirdML: one object with every model, its tasks, and the score of each run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pairstats.readers.base import LeftOut, ReadOptions, RunFile
from pairstats.readers.each import expect, made
from pairstats.readers.outline import document
from pairstats.readers.rowlog import RowLog, keys, score_of
from pairstats.readers.sheets import Row


def _rows(file: RunFile, options: ReadOptions) -> Iterator[tuple[str, Row | LeftOut]]:
    """One row a run; its place in a task's list is its repeat."""
    for model, about in document(file)["models"].items():
        tasks = _inside(f"{file.shown}:{model}", about, "tasks", dict, options)
        if isinstance(tasks, LeftOut):
            yield model, tasks
            continue
        for task, found in tasks.items():
            runs = _inside(f"{file.shown}:{model}.{task}", found, "runs", list, options)
            if isinstance(runs, LeftOut):
                yield f"{model}.{task}", runs
                continue
            for repeat, run in enumerate(runs):
                place = {"model": model, "task": task, "repeat": repeat}
                yield f"{model}.{task}.{repeat}", {**run, **place} if isinstance(run, dict) else run


def _inside(source: str, value: Any, key: str, kind: type, options: ReadOptions) -> Any:
    """What an object holds under a key; a `LeftOut` for the whole object where it is not of its kind."""

    def found() -> Any:
        expect(value, "part", {key: kind})
        return kind(value[key])

    return made(source, f"an object with {key!r}", options.keep_going, found)


READER = RowLog(
    name="weirdml",
    detect=keys("results", ("methodology", "tasks", "models"), kinds=("object",), evidence=b'"runs"'),
    looks_for="object has 'methodology', 'tasks' and 'models' with runs",
    fields={"item": ("task",), "model": ("model",), "repeat": ("repeat",)},
    rows=_rows,
    scores=lambda row: {"score": score_of(row.get("score"))},
)
