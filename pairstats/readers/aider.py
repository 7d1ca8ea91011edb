"""Results of aider's benchmark: one ``.aider.results.json`` an exercise.

An exercise occurs in several languages, so the item is language and exercise; the language is only in the path
(``<language>/exercises/practice/<exercise>/``). Its second try sees the errors of the first: both are scores of
one record, ``pass_1`` and ``pass_2``. Of an exercise that failed the file holds the exception only; the exercise
is then the folder, and the model that of the run's other exercises.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from pairstats.readers.base import LeftOut, ReadOptions, RunFile
from pairstats.readers.companions import beside
from pairstats.readers.each import id_of
from pairstats.readers.jsonlines import dig
from pairstats.readers.outline import Outline, document
from pairstats.readers.rowlog import RowLog, Scores, keys
from pairstats.readers.sheets import Row

TRIES = 2
NAME = ".aider.results.json"
_FINISHED = keys("results", ("testcase", "tests_outcomes"), ("testcase", "exception"), kinds=("object",))


def _detect(file: RunFile, seen: Outline) -> str:
    failed = file.path.name == NAME and seen.kind == "object" and "exception" in seen.keys
    return "results" if failed else _FINISHED(file, seen)


def _rows(file: RunFile, options: ReadOptions) -> Iterator[tuple[int, Row | LeftOut]]:
    row, parts = document(file), file.path.parts
    place = parts.index("exercises") if "exercises" in parts[1:] else 0
    language, failed = parts[place - 1] if place else None, "testcase" not in row
    name = file.path.parent.name if failed else id_of(row["testcase"], "testcase")
    item = "/".join(filter(None, (language, name)))
    model = _model(Path(*parts[: place - 1])) if failed and place else row.get("model")
    yield 1, {**row, "item": item, "language": language, "model": model}


def _model(run: Path) -> str | None:
    """Model of a run's exercises, as the first that did not fail tells it."""
    others = sorted(run.glob(f"*/exercises/practice/*/{NAME}"))
    return next((name for other in others if isinstance(name := dig(beside(other)[0], "model"), str)), None)


def _scores(row: Row) -> Scores:
    outcomes = row.get("tests_outcomes")
    if not isinstance(outcomes, list):
        return {}
    return {f"pass_{tries}": float(any(outcomes[:tries])) for tries in range(1, TRIES + 1)}


READER = RowLog(
    name="aider",
    detect=_detect,
    looks_for="object has the keys 'testcase' and 'tests_outcomes'",
    fields={
        "item": ("item",),
        "model": ("model",),
        "category": ("language",),
        "cost_usd": ("cost",),
        "latency_s": ("duration",),
        "input_tokens": ("prompt_tokens",),
        "output_tokens": ("completion_tokens",),
    },
    rows=_rows,
    scores=_scores,
    errors=("exception",),
)
