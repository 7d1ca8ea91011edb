"""Tipping point of a paired comparison: how many missing answers would have to be wrong."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.checks import check_bounds
from pairstats.numeric.exact import sign_flip
from pairstats.numeric.family import family_interval
from pairstats.numeric.missing import paired_manski_bounds
from pairstats.numeric.shares import family_codes

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

DECISIONS = ("sign-flip", "family-cp", "family-jeffreys")


@dataclass(frozen=True, slots=True)
class TippingPoint:
    """How many of the first system's missing answers must be wrong for the conclusion to fail.

    Attributes
    ----------
    n_wrong : int or None
        None: the conclusion stands with all of them wrong. 0: it does not stand even with all right.
    n_missing : int
        Missing answers of the first system, to items that the second answered.
    worst : float
        What decides (p-value, or lower limit) with all of them wrong.
    best : float
        The same with all of them right.
    decision : str
    """

    n_wrong: int | None
    n_missing: int
    worst: float
    best: float
    decision: str


def paired_tipping_point(
    first: ArrayLike,
    second: ArrayLike,
    *,
    families: Sequence[Hashable] | None = None,
    decision: str = "sign-flip",
    alpha: float = 0.05,
    margin: float = 0.0,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> TippingPoint:
    r"""Smallest number of the first system's missing answers that must be wrong to undo its advantage.

    For the conclusion that the first system is better (or, with a margin, not worse). Exchange the systems
    to ask about the second. Items that the second system misses are left out: they have no pair.

    Parameters
    ----------
    first, second : array_like, shape (n,)
        Score of each planned item, NaN where the answer is missing.
    families : sequence, shape (n,), optional
        Family of each item; each item its own if left out.
    decision : {"sign-flip", "family-cp", "family-jeffreys"}
        What is concluded: two-sided sign-flip p at most `alpha` in favour of the first system (for items of
        their own, exact McNemar); or the lower limit of the two-sided interval of level ``1 - alpha`` for
        the item-weighted difference above ``-margin``.
    alpha : float, default 0.05
    margin : float, default 0
        Non-inferiority margin, for the interval decisions.
    bounds : tuple of float
        Worst (wrong) and best (right) score.

    Returns
    -------
    TippingPoint
        Answers are turned wrong one at a time, always the one that harms the conclusion most. For items of
        their own this finds the smallest number; with families it can, rarely, be one more than that.

    Examples
    --------
    >>> nan = float("nan")
    >>> found = paired_tipping_point([1] * 9 + [nan] * 3, [0] * 8 + [1] * 4)
    >>> found.n_wrong, round(found.best, 4), round(found.worst, 4)
    (2, 0.0078, 0.2266)
    """
    one_of("decision", decision, DECISIONS)
    check_bounds(np.array([]), bounds)
    paired_manski_bounds(first, second, bounds=bounds)  # refuses what is not a pair of scores
    one, other = np.array(first, dtype=np.float64), np.array(second, dtype=np.float64)
    used = ~np.isnan(other)
    if not used.any():
        raise PairstatsError("`second` must hold at least one answer, but all are missing. Check the filter.")
    codes = family_codes(families, one.size)[used]
    codes = np.unique(codes, return_inverse=True)[1].reshape(-1).astype(np.int64)
    gone = np.isnan(one[used])
    gaps = np.where(gone, bounds[1], one[used]) - other[used]
    question = _Question(
        sizes=np.bincount(codes).astype(np.float64),
        loss=bounds[1] - bounds[0],
        decision=decision,
        alpha=alpha,
        margin=margin,
    )
    totals = np.bincount(codes, weights=gaps).astype(np.float64)
    missing = np.bincount(codes[gone], minlength=totals.size).astype(np.int64)
    return TippingPoint(
        n_wrong=_turned_when_it_fails(question, totals, missing),
        n_missing=int(gone.sum()),
        worst=question.answer(totals - missing * question.loss),
        best=question.answer(totals),
        decision=decision,
    )


@dataclass(frozen=True, slots=True)
class _Question:
    """What is concluded from the family totals of the differences."""

    sizes: Floats
    loss: float
    decision: str
    alpha: float
    margin: float

    def answer(self, totals: Floats) -> float:
        """P-value or lower limit."""
        if self.decision == "sign-flip":
            return sign_flip(totals).p_value
        return family_interval(
            totals / self.sizes,
            sizes=self.sizes,
            kind="cp" if self.decision == "family-cp" else "jeffreys",
            bounds=(-self.loss, self.loss),
            confidence_level=1 - self.alpha,
        ).low

    def room(self, totals: Floats) -> float:
        """How far the conclusion is from failing; it stands where this is positive."""
        found = self.answer(totals)
        if self.decision != "sign-flip":
            return found + self.margin
        in_favour = float(totals.sum()) > 1e-9 * self.loss
        return self.alpha * (1 + 1e-12) - found if in_favour else -1.0


def _turned_when_it_fails(question: _Question, totals: Floats, missing: Ints) -> int | None:
    """Number of answers turned wrong when the conclusion first fails; None if it never does."""
    totals, left = totals.copy(), missing.copy()
    if question.room(totals) <= 0:
        return 0
    for turned in range(1, int(missing.sum()) + 1):
        # Families that look alike do alike, so one of each kind is tried.
        able = np.flatnonzero(left)
        look = np.column_stack([totals[able].round(9), question.sizes[able]])
        rooms = {}
        for family in able[np.unique(look, axis=0, return_index=True)[1]].tolist():
            tried = totals.copy()
            tried[family] -= question.loss
            rooms[family] = question.room(tried)
        worst = min(rooms, key=rooms.__getitem__)
        totals[worst] -= question.loss
        left[worst] -= 1
        if rooms[worst] <= 0:
            return turned
    return None
