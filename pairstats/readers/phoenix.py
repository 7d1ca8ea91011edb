"""Experiments of Arize Phoenix as its server gives them (``/v1/experiments/<id>/json`` and ``/csv``).

Phoenix scores a run that failed 0.0. Such a run is an error here, and its score is ignored and counted.
"""

from __future__ import annotations

import json
from typing import Any

from pairstats.readers.each import expect, id_of
from pairstats.readers.rowlog import RowLog, Scores, keys, score_of
from pairstats.readers.sheets import Row

_NESTED = ("input", "reference_output", "metadata")
_PREFIX, _SUFFIX = "annotation_", "_score"


def _scores(row: Row) -> Scores:
    """Scores of the annotations: a list in JSON, columns ``annotation_<name>_score`` in CSV."""
    if isinstance(row.get("annotations"), list):
        given = [each for each in row["annotations"] if isinstance(each, dict)]
        for each in given:
            expect(each, "annotation", {"name": str})
        return {id_of(each.get("name"), "annotation"): score_of(each.get("score")) for each in given}
    names = [name for name in row if name.startswith(_PREFIX) and name.endswith(_SUFFIX)]
    return {name.removeprefix(_PREFIX).removesuffix(_SUFFIX): score_of(row[name]) for name in names}


def _prepared(row: Row) -> Row:
    """Parse the objects that a CSV holds as text, so that paths reach into them."""
    return {name: _parsed(value) if name in _NESTED else value for name, value in row.items()}


def _parsed(value: Any) -> Any:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _gold(row: Row) -> Row:
    """Lift the only value of the reference output, which is its key."""
    row = _prepared(row)
    reference = row.get("reference_output")
    if isinstance(reference, dict) and len(reference) == 1:
        return {**row, "gold": next(iter(reference.values()))}
    return row


READER = RowLog(
    name="phoenix",
    detect=keys("experiment", ("example_id", "repetition_number")),
    looks_for="row has the keys 'example_id' and 'repetition_number'",
    fields={
        "item": ("example_id",),
        "repeat": ("repetition_number",),
        "response": ("output",),
        "gold": ("gold",),
        "input_tokens": ("prompt_token_count",),
        "output_tokens": ("completion_token_count",),
        "latency_s": ("latency_ms",),
    },
    scores=_scores,
    scale={"latency_s": 0.001},
    first_repeat=1,
    prepared=_gold,
)
