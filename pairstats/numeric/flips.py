"""Flips: how often copies of one case get different answers."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.checks import check_level, plain_list
from pairstats.numeric.family import KINDS, Kind, family_interval

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FlipRate:
    """How often copies of one case get different answers.

    Attributes
    ----------
    rate : float
        Mean over families of the pairwise disagreement: the probability that two different copies of
        a family disagree. NaN if no family has two answered copies.
    any_rate : float
        Share of families in which not all copies agree. It grows with the number of copies: give it
        only with `copies`, and compare it only at equal numbers.
    per_family : ndarray of float, shape (G,)
        Pairwise disagreement of each family; NaN where fewer than two copies are answered.
    copies : ndarray of int, shape (G,)
        Answered copies of each family.
    n_families : int
        Families in the denominator.
    n_too_few : int
        Families left out of it because fewer than two copies are answered.
    n_missing : int
        Missing answers.
    low, high : float
        Family limits of `rate`; the whole range if no family has two answered copies.
    method : str
        "family-jeffreys" or "family-cp"; "undefined" if no family has two answered copies.
    """

    rate: float
    any_rate: float
    per_family: FloatArray
    copies: IntArray
    n_families: int
    n_too_few: int
    n_missing: int
    low: float
    high: float
    method: str


def flip_rate(
    answers: Iterable[Sequence[Hashable]] | NDArray[np.generic],
    *,
    kind: Kind = "jeffreys",
    confidence_level: float = 0.95,
) -> FlipRate:
    r"""Flip rate by pairwise disagreement.

    Use it as the flip rate, for any number of copies. Not to say whether flips harm, which `flip_transitions`
    and `flip_errors` do, nor without a noise floor (`excess_disagreement`).

    For a family with :math:`k` answered copies of which :math:`t_a` give answer :math:`a`:
    :math:`1 - \sum_a t_a (t_a - 1) / (k (k - 1))`. Unbiased for the probability that two random
    presentations disagree, so comparable across k.

    Parameters
    ----------
    answers : array or list of lists
        One row a family, one entry a copy; rows may differ in length. Answers are compared by equality;
        None and NaN are missing.
    kind : {"jeffreys", "cp"}
        As in `family_interval`; on two copies "cp" is Clopper-Pearson on pairs.
    confidence_level : float, default 0.95

    Returns
    -------
    FlipRate

    Raises
    ------
    PairstatsError
        If there is no family, a row is not a list of copies, or an answer cannot be compared.

    Notes
    -----
    The mean over families of the share of pairs of copies that differ, with the limits of `family_interval`.

    References
    ----------
    Learned-Miller, E. & Thomas, P. S. (2019). A new confidence interval for the mean of a bounded random
    variable. arXiv:1905.06208

    Examples
    --------
    >>> flips = flip_rate([["A", "A", "A"], ["A", "B", "A"], ["A", "B", "C"], ["B", None, None]])
    >>> round(flips.rate, 4), flips.n_families, flips.n_too_few, flips.n_missing
    (0.5556, 3, 1, 2)
    >>> pairs = flip_rate([["A", "B"]] * 11 + [["A", "A"]] * 29, kind="cp")
    >>> round(pairs.low, 3), round(pairs.high, 3)
    (0.146, 0.439)
    """
    rows = plain_list(answers)
    if not rows:
        raise PairstatsError("`answers` must hold at least one family, but it is empty. Check the filter.")
    tallies = [answer_tally(row, position) for position, row in enumerate(rows)]
    copies = np.array([sum(tally.values()) for tally in tallies], dtype=np.int64)
    agreeing = np.array([sum(t * (t - 1) for t in tally.values()) for tally in tallies], dtype=np.float64)
    enough = copies >= 2
    per_family = np.full(copies.size, math.nan)
    per_family[enough] = 1 - agreeing[enough] / (copies[enough] * (copies[enough] - 1))
    used = per_family[enough]
    low, high, method = 0.0, 1.0, "undefined"
    if used.size:
        found = family_interval(used, kind=kind, confidence_level=confidence_level)
        low, high, method = found.low, found.high, found.method
    else:
        one_of("kind", kind, KINDS)
        check_level(confidence_level)
    return FlipRate(
        rate=float(used.mean()) if used.size else math.nan,
        any_rate=float(np.mean(used > 0)) if used.size else math.nan,
        per_family=per_family,
        copies=copies,
        n_families=used.size,
        n_too_few=int(np.sum(~enough)),
        n_missing=sum(len(row) for row in rows) - int(copies.sum()),
        low=low,
        high=high,
        method=method,
    )


def answer_tally(row: Sequence[Hashable], position: int) -> Counter[Hashable]:
    """Count equal answers of one family, missing ones left out."""
    if isinstance(row, str | bytes) or not isinstance(row, Sequence | np.ndarray):
        raise PairstatsError(
            f"Each family in `answers` must be a list of its copies, but position {position} is {row!r}. "
            "Pass one row for each family, one entry for each copy."
        )
    try:
        return Counter(answer for answer in row if not is_missing(answer))
    except TypeError:
        raise PairstatsError(
            f"Answers must be comparable values (text, numbers, tuples, frozensets), but the family at "
            f"position {position} holds {row!r}. Turn lists into tuples and sets into frozensets."
        ) from None


def is_missing(answer: Hashable) -> bool:
    """Recognise None, and values that are not equal to themselves: NaN, NaT, and NA, whose answer is NA."""
    if answer is None:
        return True
    unequal = answer != answer
    return bool(unequal) if isinstance(unequal, bool | np.bool_) else True
