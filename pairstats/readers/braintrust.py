"""Evaluations of Braintrust: the results of ``Eval(...)`` as a JSON array, one object a trial.

A result has no id, so an item is named by its input and expected output; ``item="metadata.<key>"`` names it
by your own. Trials of one item (``trial_count``) are numbered in the order of the results.
"""

from __future__ import annotations

from pairstats.readers.rowlog import RowLog, Scores, keys, score_of
from pairstats.readers.sheets import Row


def _scores(row: Row) -> Scores:
    scores = row.get("scores")
    return {str(name): score_of(value) for name, value in scores.items()} if isinstance(scores, dict) else {}


READER = RowLog(
    name="braintrust",
    detect=keys("EvalResult", ("input", "output", "scores", "expected"), kinds=("array", "object")),
    looks_for="result has the keys 'input', 'output', 'scores' and 'expected'",
    fields={"response": ("output",), "gold": ("expected",)},
    content=("input", "expected"),
    scores=_scores,
    numbered=True,
    note="items are named by a hash of input and expected output, trials numbered in order",
)
