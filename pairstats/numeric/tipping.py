"""Tipping point of a paired comparison: how many missing answers would have to be wrong."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
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

MOST_TRIED = 3000
"""Conclusions that may be drawn to turn each time the answer that harms most."""


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
    n_left_out : int
        Items that the second system did not answer.
    """

    n_wrong: int | None
    n_missing: int
    worst: float
    best: float
    decision: str
    n_left_out: int


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

    Use it for the conclusion that the first system is better (or, with a margin, not worse). Exchange the
    systems to ask about the second. Items that the second system misses are left out and counted: they have no
    pair. Not for how wide the uncertainty is, which `paired_manski_bounds` gives.

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

    Notes
    -----
    The smallest k with the conclusion failing on :math:`d` less k losses, each in the family where it harms
    most.

    References
    ----------
    Manski, C. F. (1989). Journal of Human Resources 24, 343-360. doi:10.2307/145818

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
    turns = Turns(np.arange(totals.size), np.full(totals.size, -question.loss), missing)
    return TippingPoint(
        n_wrong=fewest_turned(question.room, totals, question.sizes, turns),
        n_missing=int(gone.sum()),
        worst=question.answer(totals - missing * question.loss),
        best=question.answer(totals),
        decision=decision,
        n_left_out=int(np.sum(~used)),
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


@dataclass(frozen=True, slots=True)
class Turns:
    """Missing answers that may be turned from the best case to the worst.

    Attributes
    ----------
    family : ndarray of int, shape (T,)
        Family whose total they change.
    change : ndarray of float, shape (T,)
        What one of them adds to it.
    count : ndarray of int, shape (T,)
        How many there are.
    """

    family: Ints
    change: Floats
    count: Ints


def fewest_turned(room: Callable[[Floats], float], totals: Floats, sizes: Floats, turns: Turns) -> int | None:
    """Number of missing answers turned wrong when a conclusion first fails; None if it never does.

    Answers are turned one at a time, always the one that leaves the least room. Where that means too many
    trials they are turned in two orders, those of the families that support the conclusion most first or
    last, and the smaller number is found by bisection; it can then be a little too large.

    Parameters
    ----------
    room : callable
        From family totals to how far the conclusion is from failing; it stands where this is positive.
    totals : ndarray, shape (G,)
        With all missing answers at their best.
    sizes : ndarray, shape (G,)
    turns : Turns

    Examples
    --------
    >>> turns = Turns(np.array([0, 1]), np.array([-1.0, -1.0]), np.array([2, 1]))
    >>> fewest_turned(lambda totals: float(totals.sum()) - 1.5, np.array([3.0, 1.0]), np.ones(2), turns)
    3
    """
    if room(totals) <= 0:
        return 0
    missing = int(turns.count.sum())
    kinds = np.unique(_look(totals, sizes, turns, np.arange(turns.family.size)), axis=0)
    if missing * len(kinds) > MOST_TRIED:
        orders = [_in_order(room, totals, turns, sign) for sign in (-1, 1)]
        return min((n for n in orders if n is not None), default=None)
    totals, left = totals.copy(), turns.count.copy()
    for turned in range(1, missing + 1):
        # Families that look alike do alike, so one of each kind is tried.
        able = np.flatnonzero(left)
        rooms = {}
        for place in able[
            np.unique(_look(totals, sizes, turns, able), axis=0, return_index=True)[1]
        ].tolist():
            tried = totals.copy()
            tried[turns.family[place]] += turns.change[place]
            rooms[place] = room(tried)
        worst = min(rooms, key=rooms.__getitem__)
        totals[turns.family[worst]] += turns.change[worst]
        left[worst] -= 1
        if rooms[worst] <= 0:
            return turned
    return None


def _look(totals: Floats, sizes: Floats, turns: Turns, places: Ints) -> Floats:
    """What tells kinds of missing answers apart."""
    family = turns.family[places]
    return np.column_stack([totals[family], sizes[family], turns.change[places]]).round(9)


def _in_order(room: Callable[[Floats], float], totals: Floats, turns: Turns, sign: int) -> int | None:
    """Number turned when it first fails, with the families of most (sign -1) or least support first."""
    order = np.repeat(np.arange(turns.family.size), turns.count)
    support = totals[turns.family] * -np.sign(turns.change)
    order = order[np.argsort(sign * support[order], kind="stable")]

    def fails(turned: int) -> bool:
        gone = totals.copy()
        np.add.at(gone, turns.family[order[:turned]], turns.change[order[:turned]])
        return room(gone) <= 0

    low, high = 0, order.size
    if not fails(high):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if fails(middle) else (middle, high)
    return high
