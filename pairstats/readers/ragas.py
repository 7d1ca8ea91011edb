"""Evaluations of Ragas as ``EvaluationResult.to_pandas()`` gives them, saved as CSV, JSON Lines or Parquet.

Rows have neither an id nor a model: an item is named by its input and reference, never by its place. A metric
that failed is NaN, and is missing here.
"""

from __future__ import annotations

from pairstats.readers.base import RunFile
from pairstats.readers.outline import Outline
from pairstats.readers.rowlog import RowLog, Scores, keys, score_of
from pairstats.readers.sheets import Row

_NOT_METRICS = frozenset({
    "user_input", "response", "reference", "retrieved_contexts", "reference_contexts", "rubrics",
    "multi_responses", "retrieved_context_ids", "reference_context_ids", "reference_tool_calls",
    "reference_topics", "persona_name", "query_style", "query_length", "synthesizer_name", "error",
})  # fmt: skip
"""Columns of Ragas' own samples; every other numeric column is a metric."""


_HAS = keys("to_pandas", ("user_input", "response"), ("user_input", "reference"))


def _scores(row: Row) -> Scores:
    found = {name: score_of(value) for name, value in row.items() if name not in _NOT_METRICS}
    return {name: value for name, value in found.items() if value is not None or row[name] is None}


def _detect(file: RunFile, seen: Outline) -> str:
    """Rows that name their model or item belong to a plain table with these columns."""
    found = _HAS(file, seen)
    return "" if {"model", "item", "item_id", "id"} & set(seen.keys) else found


READER = RowLog(
    name="ragas",
    detect=_detect,
    looks_for="row has a 'user_input' and a 'response' or 'reference', and names neither model nor item",
    fields={"response": ("response",), "gold": ("reference",)},
    content=("user_input", "reference"),
    scores=_scores,
    note="rows have no id: items are named by a hash of input and reference",
)
