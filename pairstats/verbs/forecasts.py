"""Stated confidences and outcomes of each cell as arrays, what lacks either left out and counted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from pairstats.panel import Panel
from pairstats.verbs.replies import refuse_partial, replies_by_cell

NOTHING = "no results: no reply has both a confidence and a score"


@dataclass(frozen=True, slots=True, eq=False)
class Forecasts:
    """Confidences and outcomes of one cell.

    Attributes
    ----------
    labels : dict
        Levels of the panel's cells.
    stated, right : ndarray, shape (n,)
        Confidence and score of the replies that have both.
    families : ndarray, shape (n,)
    n_missing : int
        Replies that lack either.
    """

    labels: dict[str, Any]
    stated: np.ndarray
    right: np.ndarray
    families: np.ndarray
    n_missing: int

    @property
    def empty(self) -> bool:
        """Whether no reply has both."""
        return not self.stated.size

    @property
    def values(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Confidences, outcomes and families."""
        return self.stated, self.right, self.families

    def row(self, shared: dict[str, Any]) -> dict[str, Any]:
        """Labels, shared columns and counts of a row."""
        return {**self.labels, **shared, "n_units": self.stated.size, "n_missing": self.n_missing}


def forecasts_by_cell(panel: Panel, confidence: str, score: str) -> Iterator[Forecasts]:
    """Confidences and 0/1 outcomes of every cell.

    Raises
    ------
    PairstatsError
        When a score is neither 0 nor 1, or a column holds no numbers.
    """
    for replies in replies_by_cell(panel, confidence, score, numbers=(confidence, score)):
        frame = replies.frame
        stated, right = frame[confidence], frame[score]
        used = (stated.notna() & right.notna()).to_numpy()
        outcome = right.to_numpy()[used]
        refuse_partial(score, outcome)
        families = frame[panel.family].to_numpy()[used]
        yield Forecasts(replies.labels, stated.to_numpy()[used], outcome, families, int((~used).sum()))
