"""Verdicts of a judge on pairs of replies that it saw in both orders."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import PairstatsError
from pairstats.numeric.exact import SignFlipTest, sign_flip
from pairstats.numeric.family import Kind
from pairstats.numeric.shares import Share, family_codes, family_share, family_sums

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SwappedVerdicts:
    """What a judge prefers, and how far the order decides.

    Attributes
    ----------
    win_rate : Share
        Of system A: wins and half the ties, mean of both orders.
    win_test : SignFlipTest
        Exact test of a win rate of one half, by exchanging A and B within families.
    first_rate : Share
        Of the reply shown first, whichever system wrote it; one half without a position bias.
    position_test : SignFlipTest
        Exact test of a first rate of one half, by exchanging the orders within families.
    consistency : Share
        Pairs with the same verdict in both orders.
    consistent_win_rate : Share
        Wins of A among the pairs that one system wins in both orders.
    n_pairs : int
        Pairs with a verdict in both orders.
    n_wins, n_losses, n_ties : int
        Pairs that A wins, loses, or ties in both orders.
    n_first, n_second : int
        Pairs where the reply shown first, or second, wins both times.
    n_mixed : int
        Pairs with a tie in one order only.
    n_single, n_missing : int
        Pairs with a verdict in one order only, and in none: they do not count.
    """

    win_rate: Share
    win_test: SignFlipTest
    first_rate: Share
    position_test: SignFlipTest
    consistency: Share
    consistent_win_rate: Share
    n_pairs: int
    n_wins: int
    n_losses: int
    n_ties: int
    n_first: int
    n_second: int
    n_mixed: int
    n_single: int
    n_missing: int


def swapped_verdicts(
    a_first: ArrayLike,
    b_first: ArrayLike,
    *,
    families: Sequence[Hashable] | NDArray[Any] | None = None,
    kind: Kind = "jeffreys",
    confidence_level: float = 0.95,
) -> SwappedVerdicts:
    r"""Win rate, position bias and consistency of a judge that saw every pair of replies in both orders.

    Use it for pairwise preferences of a model judge or of people. Not for one order only: what is the system
    and what the position cannot be told apart then. For scores of single replies `family_interval` covers it.

    Parameters
    ----------
    a_first, b_first : array_like, shape (n,)
        Verdict on each pair with system A shown first, and with B shown first: 1 where A is preferred, 0
        where B is, 0.5 for a tie, NaN where the judge gave none.
    families : sequence, shape (n,), optional
        Family of each pair; each its own if left out.
    kind : {"jeffreys", "cp"}
        As in `family_interval`.
    confidence_level : float, default 0.95

    Returns
    -------
    SwappedVerdicts

    Raises
    ------
    PairstatsError
        If a verdict is not 0, 0.5, 1 or NaN, or no pair has both orders.

    Notes
    -----
    With verdicts :math:`v_{AB}, v_{BA}` on a pair, the win rate is the mean of :math:`(v_{AB} + v_{BA})/2`, in
    which a position bias cancels, and the first rate that of :math:`(v_{AB} + 1 - v_{BA})/2`. A judge who
    always takes the first has a win rate of one half, a first rate of 1 and a consistency of 0.

    References
    ----------
    Zheng, L. et al. (2023). Judging LLM-as-a-judge with MT-Bench and Chatbot Arena. arXiv:2306.05685.
    Wang, P. et al. (2023). Large language models are not fair evaluators. arXiv:2305.17926.

    Examples
    --------
    >>> found = swapped_verdicts([1, 1, 1, 0.5, 1], [1, 0, 1, 0.5, 0])
    >>> found.win_rate.value, found.first_rate.value, found.consistency.value, found.n_first
    (0.7, 0.7, 0.6, 2)
    """
    first, second = (_verdicts(name, given) for name, given in (("a_first", a_first), ("b_first", b_first)))
    if first.size != second.size:
        raise PairstatsError(
            f"`a_first` and `b_first` must judge the same pairs, but hold {first.size} and {second.size}. Put NaN "
            "where an order has no verdict."
        )
    codes = family_codes(families, first.size)
    has = ~np.isnan(first), ~np.isnan(second)
    both = has[0] & has[1]
    if not both.any():
        raise PairstatsError(
            f"Some pair must have a verdict in both orders, but of {first.size} none has. Ask the judge again with "
            "the replies exchanged."
        )
    one, two = first[both], second[both]
    inside = np.unique(codes[both], return_inverse=True)[1].reshape(-1).astype(np.int64)
    sizes = family_sums(np.ones(one.size), inside)

    def share(values: Floats, below: Floats | None = None) -> Share:
        return family_share(
            family_sums(values, inside), sizes if below is None else family_sums(below, inside), kind=kind,
            confidence_level=confidence_level,
        )  # fmt: skip

    decided = (one == two) & (one != 0.5)
    return SwappedVerdicts(
        win_rate=share((one + two) / 2),
        win_test=sign_flip(family_sums(one + two - 1, inside)),
        first_rate=share((one + 1 - two) / 2),
        position_test=sign_flip(family_sums(one - two, inside)),
        consistency=share((one == two).astype(float)),
        consistent_win_rate=share(decided * one, decided.astype(float)),
        n_pairs=one.size,
        n_wins=int(np.sum(decided & (one == 1))),
        n_losses=int(np.sum(decided & (one == 0))),
        n_ties=int(np.sum((one == two) & (one == 0.5))),
        n_first=int(np.sum((one == 1) & (two == 0))),
        n_second=int(np.sum((one == 0) & (two == 1))),
        n_mixed=int(np.sum((one == 0.5) != (two == 0.5))),
        n_single=int(np.sum(has[0] != has[1])),
        n_missing=int(np.sum(~has[0] & ~has[1])),
    )


def _verdicts(name: str, given: ArrayLike) -> Floats:
    try:
        values = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise PairstatsError(
            f"`{name}` must hold 1 (A), 0 (B), 0.5 (tie) or NaN, but holds what is no number. Map words to these "
            "three; judge_verdicts() reads words from records."
        ) from None
    if values.ndim != 1 or not values.size:
        raise PairstatsError(
            f"`{name}` must be one-dimensional with a verdict for each pair, but its shape is {values.shape}."
        )
    wrong = np.flatnonzero(~(np.isnan(values) | np.isin(values, (0.0, 0.5, 1.0))))
    if wrong.size:
        raise PairstatsError(
            f"`{name}` must hold 1 (A), 0 (B), 0.5 (tie) or NaN, but {wrong.size} entries do not, the first "
            f"{values[wrong[0]]:g} at position {wrong[0]}. Turn grades of preference into these three, and say so."
        )
    return values
