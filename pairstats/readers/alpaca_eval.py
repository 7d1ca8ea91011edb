"""Annotations of AlpacaEval (``annotations.json``): a judge's preference between a model and a baseline.

The preference goes from 1 (the baseline wins) to 2 (the model wins); the score is the preference minus 1, whose
mean is the published win rate. A comparison without a preference was not judged. The data set of an instruction
is its category; ``family="category"`` takes it for the family. Price and time are those of the judge.
"""

from __future__ import annotations

from pairstats.readers.rowlog import RowLog, Scores, keys, score_of
from pairstats.readers.sheets import Row

BASELINE_WINS = 1.0


def _scores(row: Row) -> Scores:
    preference = score_of(row.get("preference"))
    return {"win": None if preference is None else preference - BASELINE_WINS}


READER = RowLog(
    name="alpaca_eval",
    detect=keys("annotations", ("instruction", "generator_1", "generator_2"), kinds=("array", "table")),
    looks_for="row has the keys 'instruction', 'generator_1' and 'generator_2'",
    fields={
        "model": ("generator_2",),
        "category": ("dataset",),
        "condition": ("generator_1",),
        "response": ("output_2",),
    },
    content=("instruction",),
    scores=_scores,
    note="condition is the baseline; items are named by a hash of the instruction",
)
