"""Interval for the mean over these very cases: only the repeats are random."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import betaincinv, ndtri

from pairstats.errors import PairstatsError, listed, one_of
from pairstats.numeric.checks import Interval, as_scores, as_sizes, tails

Floats = NDArray[np.float64]
Method = Literal["wilson", "clopper-pearson"]
METHODS = ("wilson", "clopper-pearson")

MOST_GAIN = 2.0
"""Largest factor by which stable cases may raise the number of replies; few repeats cannot show more."""


@dataclass(frozen=True, slots=True, repr=False)
class TheseCasesInterval(Interval):
    """Interval for the mean success probability of fixed cases.

    Attributes
    ----------
    low, high, method, confidence_level, alternative
        As in `pairstats.numeric.checks.Interval`.
    estimate : float
    std_error : float
        Of the mean over repeats of these cases; 0 where no two replies to a case differ, which is no proof
        that they never would.
    var_repeat : float
        Variance between replies to one case, pooled over the cases.
    n_effective : float
        Independent replies that the interval was made with.
    n_cases, n_replies : int
    """

    estimate: float
    std_error: float
    var_repeat: float
    n_effective: float
    n_cases: int
    n_replies: int


def these_cases_interval(
    n_correct: ArrayLike,
    n_repeats: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    method: Method = "wilson",
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
) -> TheseCasesInterval:
    r"""Interval for the mean over these very cases, from 0/1 replies that were repeated.

    Use it for a claim about the cases at hand ("conditional on these 4 cases"): what endless repeats of them
    would give. Not for a claim about other cases: there the families are the sample, and `family_interval`
    covers it. The replies to a case must be independent (see `copied_repeats`).

    Parameters
    ----------
    n_correct, n_repeats : array_like of int, shape (n,)
        Right replies, and replies, of each case. Some case needs at least two replies.
    weights : array_like, shape (n,), optional
        Weight of each case in the mean; equal if left out.
    method : {"wilson", "clopper-pearson"}
        "wilson": Wilson's interval with as many replies as the noise of the repeats stands for.
        "clopper-pearson": on the replies as they are; never below its level, and wide where cases differ.
    confidence_level : float, default 0.95
    alternative : {"two-sided", "less", "greater"}

    Returns
    -------
    TheseCasesInterval

    Raises
    ------
    PairstatsError
        If the counts do not fit, or no case has two replies.

    Notes
    -----
    The variance of the mean is :math:`V = \sigma^2_{rep} \sum w_i^2 / K_i`, for equal weights and repeats
    :math:`\sigma^2_{rep} / (nK)`. "wilson" takes :math:`n_e = p (1 - p) / V` replies, but between the number
    there are and twice as many. A plain normal interval with V covered .05 to .94 in the worst cells of 4 to
    40 cases of 2 to 10 repeats at a nominal .95, this one .93 to .98 on average with a worst case of .84,
    "clopper-pearson" .96 to 1.00 and .94. That the latter holds follows from Hoeffding for equal weights and
    repeats: of all sums of independent 0/1 replies with one mean the binomial one spreads most.

    References
    ----------
    Wilson, E. B. (1927). Journal of the American Statistical Association 22, 209-212.
    Hoeffding, W. (1956). Annals of Mathematical Statistics 27, 713-721. doi:10.1214/aoms/1177728178

    Examples
    --------
    >>> found = these_cases_interval([9, 8, 2, 9], 9)
    >>> round(found.estimate, 3), round(found.std_error, 4), round(found.low, 2), round(found.high, 2)
    (0.778, 0.0461, 0.67, 0.86)
    """
    one_of("method", method, METHODS)
    correct, repeats = as_replies("n_correct", n_correct, n_repeats)
    share = as_sizes(weights, correct.size)
    share = share / share.sum()
    spare = float(np.sum(repeats - 1))
    if spare == 0:
        raise PairstatsError(
            f"Some case must have at least two replies, but each of the {correct.size} has one. Without "
            "repeats nothing is known about their noise: repeat the cases, or claim something about families."
        )
    rates = correct / repeats
    p = min(max(float(share @ rates), 0.0), 1.0)
    noise = float(np.sum(repeats * rates * (1 - rates))) / spare
    scale = float(share**2 @ (1 / repeats))
    variance, replies = noise * scale, 1 / scale
    effective = replies
    if method == "wilson" and variance > 0:
        effective = min(max(p * (1 - p) / variance, replies), MOST_GAIN * replies)
    limit = _wilson if method == "wilson" else _clopper_pearson
    below, above = tails(confidence_level, alternative)
    return TheseCasesInterval(
        low=0.0 if below is None else limit(p, effective, below),
        high=1.0 if above is None else 1 - limit(1 - p, effective, above),
        method=f"{method} on replies",
        confidence_level=float(confidence_level),
        alternative=alternative,
        estimate=p,
        std_error=math.sqrt(variance),
        var_repeat=noise,
        n_effective=effective,
        n_cases=correct.size,
        n_replies=int(repeats.sum()),
    )


def as_replies(name: str, n_correct: ArrayLike, n_repeats: ArrayLike) -> tuple[Floats, Floats]:
    """Right replies and replies of each case, checked.

    Examples
    --------
    >>> [counts.tolist() for counts in as_replies("n_correct", [3, 0], 4)]
    [[3.0, 0.0], [4.0, 4.0]]
    """
    correct = as_scores(name, n_correct)
    repeats = np.asarray(n_repeats)
    if repeats.ndim and repeats.shape != correct.shape:
        raise PairstatsError(
            f"Repeats must be one number, or one for each of the {correct.size} cases, but their shape is "
            f"{repeats.shape}. Pass the replies to each case, in the same order."
        )
    repeats = as_scores("n_repeats", np.broadcast_to(repeats, correct.shape))
    whole = (correct == np.rint(correct)) & (repeats == np.rint(repeats))
    wrong = np.flatnonzero(~whole | (repeats < 1) | (correct < 0) | (correct > repeats))
    if wrong.size:
        raise PairstatsError(
            f"Each case must have whole numbers with 0 <= {name} <= repeats and a reply, but positions "
            f"{listed(wrong.tolist())} have not. Pass counts of right replies, then of replies."
        )
    return correct, repeats


def _wilson(p: float, n: float, tail: float) -> float:
    """Lower limit of Wilson's score interval."""
    z = float(ndtri(1 - tail))
    centre = p + z * z / (2 * n)
    reach = z * math.sqrt(p * (1 - p) / n + (z / (2 * n)) ** 2)
    return max(0.0, (centre - reach) / (1 + z * z / n)) if p > 0 else 0.0


def _clopper_pearson(p: float, n: float, tail: float) -> float:
    return float(betaincinv(p * n, n - p * n + 1, tail)) if p > 0 else 0.0
