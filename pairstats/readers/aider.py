"""Results of aider's benchmark: one ``.aider.results.json`` an exercise.

An exercise occurs in several languages, so the item is language and exercise; the language is only in the path
(``<language>/exercises/practice/<exercise>/``). Its second try sees the errors of the first: both are scores of
one record, ``pass_1`` and ``pass_2``.
"""

from __future__ import annotations

from collections.abc import Iterator

from pairstats.readers.base import LeftOut, ReadOptions, RunFile
from pairstats.readers.each import id_of
from pairstats.readers.outline import document
from pairstats.readers.rowlog import RowLog, Scores, keys
from pairstats.readers.sheets import Row

TRIES = 2


def _rows(file: RunFile, options: ReadOptions) -> Iterator[tuple[int, Row | LeftOut]]:
    row, parts = document(file), file.path.parts
    language = parts[parts.index("exercises") - 1] if "exercises" in parts[1:] else None
    item = "/".join(filter(None, (language, id_of(row["testcase"], "testcase"))))
    yield 1, {**row, "item": item, "language": language}


def _scores(row: Row) -> Scores:
    outcomes = row.get("tests_outcomes")
    if not isinstance(outcomes, list):
        return {}
    return {f"pass_{tries}": float(any(outcomes[:tries])) for tries in range(1, TRIES + 1)}


READER = RowLog(
    name="aider",
    detect=keys("results", ("testcase", "tests_outcomes"), ("testcase", "exception"), kinds=("object",)),
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
