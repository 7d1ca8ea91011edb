"""Evaluation tables of MLflow: ``eval_results_table.json``, and ``result_df`` of ``mlflow.genai.evaluate``.

Both lie outside the run that names the model. In ``result_df`` an expectation looks like a score
(``answer/value``); the row's assessments tell them apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from pairstats.readers.base import Declined, LeftOut, ReadOptions, Recognized, Record, RunFile, digest
from pairstats.readers.column_names import ALIASES
from pairstats.readers.drafts import MISSING, as_text
from pairstats.readers.each import expect, made
from pairstats.readers.jsonlines import dig, real, whole
from pairstats.readers.outline import outline
from pairstats.readers.rowlog import Scores, content_id, first, present, score_of, state
from pairstats.readers.sheets import Row, open_sheet

CLASSIC, GENAI = "evaluate", "genai.evaluate"
FIELDS: dict[str, tuple[str, ...]] = {
    "item": ("client_request_id", *ALIASES["item"]),
    "response": ("response", "outputs", "predictions", "prediction"),
    "gold": ("ground_truth", "targets", "target"),
    "input_tokens": ("input_tokens",),
    "output_tokens": ("output_tokens",),
}
ASKED = ("request", "inputs", "input")
SUFFIXES = ("/score", "/value")
MILLISECONDS = 0.001


@dataclass(frozen=True, slots=True)
class MlflowReader:
    """Reader of MLflow evaluation tables."""

    name: str = "mlflow"

    def recognize(self, file: RunFile) -> Recognized | Declined:
        """Look for columns ``<metric>/score``, or rows with a trace and ``<scorer>/value``."""
        seen = outline(file)
        is_split = seen.kind == "object" and seen.keys[:1] == ("columns",) and b'"data"' in file.head
        if is_split and b'/score"' in file.head.split(b'"data"')[0]:
            return Recognized(CLASSIC)
        if any(name.endswith("/score") for name in seen.keys):
            return Recognized(CLASSIC)
        if "trace_id" in seen.keys and any(name.endswith("/value") for name in seen.keys):
            return Recognized(GENAI)
        return Declined("no column is '<metric>/score', or '<scorer>/value' beside a 'trace_id'")

    def read(self, file: RunFile, options: ReadOptions) -> Iterator[Record | LeftOut]:
        """Yield one record a row."""
        sheet = open_sheet(file, keep_going=options.keep_going)
        rows = (row for _, row in sheet.rows() if not isinstance(row, LeftOut))
        expected = frozenset(name for row in rows for name in _expectations(row))
        for number, row in sheet.rows():
            if isinstance(row, LeftOut):
                yield row
            else:
                make = partial(_record, file, number, row, expected, options)
                yield made(f"{file.shown}:{number}", "a row", options.keep_going, make)


READER = MlflowReader()


def _record(
    file: RunFile, number: int, row: Row, expectations: frozenset[str], options: ReadOptions
) -> Record:
    for each in row.get("assessments") or () if isinstance(row.get("assessments"), list | None) else [None]:
        expect(each, "assessments", {"assessment_name": str, "expectation": dict, "feedback": dict})
    expected = _expectations(row)
    scores = _scores(row, expectations)
    fields: dict[str, Any] = {name: as_text(first(row, paths)) for name, paths in FIELDS.items()}
    if fields["gold"] is None and len(expected) == 1:
        fields["gold"] = as_text(next(iter(expected.values())))
    if fields["item"] is None:
        fields["item"] = content_id(first(row, ASKED), fields["gold"])
    for name in ("input_tokens", "output_tokens"):
        fields[name] = whole(score_of(first(row, FIELDS[name])))
    duration = real(row.get("execution_duration"))
    fields["latency_s"] = None if duration is None else duration * MILLISECONDS
    kept = any(name in row for name in FIELDS["response"])
    status, reason = state(_failure(row), fields["response"] if kept else MISSING, scores, options.rescored)
    fields |= {"status": status, "reason": reason, "response": fields["response"] or None}
    return Record(
        f"{file.shown}:{number}", present(fields), scores, row, digest(file.content_sha256, number, row)
    )


def _assessments(row: Row) -> list[dict[str, Any]]:
    given = row.get("assessments")
    return [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []


def _expectations(row: Row) -> dict[str, Any]:
    return {
        str(each.get("assessment_name")): dig(each, "expectation", "value")
        for each in _assessments(row)
        if isinstance(each.get("expectation"), dict)
    }


def _scores(row: Row, expected: frozenset[str]) -> Scores:
    """Columns of metrics that hold numbers or words for right and wrong; a scorer that failed has none."""
    failed = {
        str(each.get("assessment_name"))
        for each in _assessments(row)
        if dig(each, "feedback", "error") or each.get("error")
    }
    named = {
        name.rsplit("/", 1)[0]: value
        for name, value in row.items()
        if name.endswith(SUFFIXES) and name.rsplit("/", 1)[0] not in expected
    }
    scores = {name: None if name in failed else score_of(value) for name, value in named.items()}
    return {name: v for name, v in scores.items() if v is not None or named[name] is None or name in failed}


def _failure(row: Row) -> str:
    """Message of a call that failed, of the trace's state where there is no message."""
    message = first(row, ("error", "error_message"))
    state_of_trace = str(row.get("state") or "OK").rsplit(".", 1)[-1]
    return str(message) if message else "" if state_of_trace in ("OK", "IN_PROGRESS") else state_of_trace
