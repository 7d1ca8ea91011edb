"""How far the answers of a family spread: any disagreement, and entropy."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairstats.numeric.copies import Answers, answer_rows
from pairstats.numeric.family import Kind, family_interval
from pairstats.numeric.flips import answer_tally, flip_rate
from pairstats.numeric.shares import Share, family_share

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class AnyDisagreement:
    """Families in which not all copies agree, for each number of copies.

    Attributes
    ----------
    copies : ndarray of int, shape (K,)
        Number of answered copies k, at least 2, increasing.
    share : tuple of Share
        Share of the families with k answered copies in which they do not all agree.
    n_too_few, n_missing : int
        Families with fewer than two answered copies, and missing answers.
    """

    copies: IntArray
    share: tuple[Share, ...]
    n_too_few: int
    n_missing: int


def any_disagreement(
    answers: Answers, *, kind: Kind = "jeffreys", confidence_level: float = 0.95
) -> AnyDisagreement:
    r"""Share of families in which not all copies agree, apart for each number of copies.

    Use it where one flip among the copies is what counts, and say how many copies there were. Not to compare
    numbers of copies, for which `flip_rate` is made.

    It grows with the number of copies, so families with different numbers are never pooled. Use `flip_rate`
    for a rate that is comparable across numbers.

    Parameters
    ----------
    answers : array or list of lists
        As in `flip_rate`.
    kind : {"jeffreys", "cp"}
        On these 0/1 families the Jeffreys or the Clopper-Pearson interval.
    confidence_level : float, default 0.95

    Returns
    -------
    AnyDisagreement

    Notes
    -----
    The share of families of k copies with :math:`\max_a t_a < k`. With two copies it is the flip rate.

    References
    ----------
    Learned-Miller, E. & Thomas, P. S. (2019). A new confidence interval for the mean of a bounded random
    variable. arXiv:1905.06208

    Examples
    --------
    >>> found = any_disagreement([["A", "A"], ["A", "B"], ["A", "B", "C"]])
    >>> found.copies.tolist(), [one.value for one in found.share]
    ([2, 3], [0.5, 1.0])
    """
    flips = flip_rate(answers)
    numbers = np.unique(flips.copies[flips.copies >= 2])
    differs = [(flips.per_family[flips.copies == k] > 0).astype(float) for k in numbers]
    return AnyDisagreement(
        copies=numbers,
        share=tuple(
            family_share(one, np.ones(one.size), kind=kind, confidence_level=confidence_level)
            for one in differs
        ),
        n_too_few=flips.n_too_few,
        n_missing=flips.n_missing,
    )


@dataclass(frozen=True, slots=True)
class AnswerEntropy:
    """Shannon entropy of the answers of a family, in bits.

    Attributes
    ----------
    value, low, high : float
        Mean over families, with its family interval on [0, log2 of the largest number of copies].
    per_family : ndarray of float, shape (G,)
        NaN where fewer than two copies are answered.
    copies : ndarray of int, shape (G,)
        Answered copies of each family.
    n_families, n_too_few, n_missing : int
        As in `FlipRate`.
    """

    value: float
    low: float
    high: float
    per_family: FloatArray
    copies: IntArray
    n_families: int
    n_too_few: int
    n_missing: int


def answer_entropy(
    answers: Answers, *, kind: Kind = "jeffreys", confidence_level: float = 0.95
) -> AnswerEntropy:
    r"""Mean entropy of the answers given to the copies of a family: :math:`-\sum_a (t_a/k) \log_2 (t_a/k)`.

    Use it where answers are of more than two kinds and how they scatter matters. Not for a rate of flips; it is
    biased down at few copies, and `flip_rate` is not.

    It is biased down at few copies and at most :math:`\log_2 k`: compare it at equal numbers of copies only,
    else use `flip_rate`, which is unbiased.

    Parameters
    ----------
    answers : array or list of lists
        As in `flip_rate`.
    kind : {"jeffreys", "cp"}
        As in `family_interval`.
    confidence_level : float, default 0.95

    Returns
    -------
    AnswerEntropy

    Notes
    -----
    The mean over families of :math:`-\sum_a (t_a/k) \log_2 (t_a/k)`, with :math:`t_a` of k copies giving
    answer a.

    References
    ----------
    Shannon, C. E. (1948). Bell System Technical Journal 27, 379-423. doi:10.1002/j.1538-7305.1948.tb01338.x

    Examples
    --------
    >>> answer_entropy([["A", "B"], ["A", "A"]]).value
    0.5
    """
    flips = flip_rate(rows := answer_rows("answers", answers))
    per_family = np.full(len(rows), math.nan)
    for position in np.flatnonzero(flips.copies >= 2).tolist():
        part = np.array(list(answer_tally(rows[position], position).values())) / flips.copies[position]
        per_family[position] = abs(float(part @ np.log2(part)))
    used = per_family[flips.copies >= 2]
    value, low, high = math.nan, 0.0, math.inf
    if used.size:
        most = math.log2(int(flips.copies.max()))
        found = family_interval(
            np.minimum(used, most), kind=kind, bounds=(0.0, most), confidence_level=confidence_level
        )
        value, low, high = float(used.mean()), found.low, found.high
    return AnswerEntropy(
        value, low, high, per_family, flips.copies, flips.n_families, flips.n_too_few, flips.n_missing
    )
