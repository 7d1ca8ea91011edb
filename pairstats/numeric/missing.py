"""Missing answers: bounds that assume nothing about them, and whether they could overturn a conclusion.

Missing here is what no model is to blame for (rate limits, outages); what the model did itself is scored.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import ndtr

from pairstats.errors import PairstatsError, listed
from pairstats.numeric.checks import Interval, as_count, check_bounds, check_level

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ManskiBounds:
    """Worst and best case of a mean with answers missing.

    Attributes
    ----------
    observed : float
        Mean of what was answered; NaN where nothing was.
    low, high : float
        Mean over all planned items, were every missing answer worst, or best.
    completeness : float
        Share answered.
    n_answered, n_planned : int
    """

    observed: float
    low: float
    high: float
    completeness: float
    n_answered: int
    n_planned: int


@dataclass(frozen=True, slots=True)
class PairedBounds:
    """Worst and best case of a paired difference with answers missing on either side.

    Attributes
    ----------
    complete_pair : float
        Mean difference over the items that both answered (the default estimate); NaN without one.
    available_case : float
        Difference of the two means of what each answered; NaN where one answered nothing.
    low, high : float
        Difference over all planned items, were everything that the first misses worst and everything that
        the second misses best, and the reverse.
    n_complete, n_missing_first, n_missing_second, n_planned : int
        Items that both answered; that the first, or the second, did not; all.
    """

    complete_pair: float
    available_case: float
    low: float
    high: float
    n_complete: int
    n_missing_first: int
    n_missing_second: int
    n_planned: int


@dataclass(frozen=True, slots=True)
class Completeness:
    """Whether enough was answered for a headline number and a rank.

    Attributes
    ----------
    enough : bool
        False: print counts only.
    share_items, share_families : float
        Answered of planned; NaN where none was planned.
    minimum : float
        Share that was asked for.
    """

    enough: bool
    share_items: float
    share_families: float
    minimum: float


def manski_bounds(
    total: float, n_answered: int, n_planned: int, *, bounds: tuple[float, float] = (0.0, 1.0)
) -> ManskiBounds:
    """Bounds of a mean that assume nothing about missing answers.

    Use it beside every mean with missing answers. Not as an interval: it has no sampling error in it; for
    that see `imbens_manski`, and for what would change a conclusion `tipping_point`.

    Parameters
    ----------
    total : float
        Sum of the scores of what was answered (right answers, for 0/1 scores).
    n_answered, n_planned : int
        Items answered, and planned (at least 1).
    bounds : tuple of float
        Worst and best score.

    Returns
    -------
    ManskiBounds

    Notes
    -----
    :math:`(s + m a) / N` to :math:`(s + m b) / N` with m of N missing and scores in [a, b].

    References
    ----------
    Manski, C. F. (1989). Anatomy of the selection problem. Journal of Human Resources 24, 343-360.
    doi:10.2307/145818

    Examples
    --------
    >>> found = manski_bounds(65, 70, 80)
    >>> found.low, found.high, found.completeness
    (0.8125, 0.9375, 0.875)
    """
    planned = as_count("n_planned", n_planned, minimum=1)
    answered = as_count("n_answered", n_answered)
    if answered > planned:
        raise PairstatsError(
            f"`n_answered` must be at most `n_planned`, but got {answered} of {planned}. "
            "Pass the items answered first, then those planned."
        )
    if not math.isfinite(total):
        raise PairstatsError(f"`total` must be a finite number, but got {total!r}. Add up what was answered.")
    low, high = check_bounds(
        np.array([float(total) / max(answered, 1)]) if answered else np.array([]), bounds
    )
    if not answered and total != 0:
        raise PairstatsError(f"`total` must be 0 where nothing was answered, but got {total!r}.")
    missing = planned - answered
    return ManskiBounds(
        observed=total / answered if answered else math.nan,
        low=(total + low * missing) / planned,
        high=(total + high * missing) / planned,
        completeness=answered / planned,
        n_answered=answered,
        n_planned=planned,
    )


def paired_manski_bounds(
    first: ArrayLike, second: ArrayLike, *, bounds: tuple[float, float] = (0.0, 1.0)
) -> PairedBounds:
    """Bounds of a paired difference that assume nothing about missing answers.

    Use it beside a paired difference with missing answers. Not as an interval, since sampling error is not in
    it; `paired_tipping_point` says when a conclusion would fail.

    Parameters
    ----------
    first, second : array_like, shape (n,)
        Score of each planned item, NaN where the answer is missing.
    bounds : tuple of float
        Worst and best score.

    Returns
    -------
    PairedBounds

    Notes
    -----
    The missing answers of the first all at the worst and of the second all at the best score, and the reverse.

    References
    ----------
    Manski, C. F. (1989). Journal of Human Resources 24, 343-360. doi:10.2307/145818

    Examples
    --------
    >>> nan = float("nan")
    >>> found = paired_manski_bounds([1, 1, 0, nan], [1, 0, 0, 1])
    >>> round(found.complete_pair, 3), found.low, found.high
    (0.333, 0.0, 0.25)
    """
    one, other = _with_gaps("first", first), _with_gaps("second", second)
    if one.size != other.size:
        raise PairstatsError(
            f"`first` and `second` must have one entry for each planned item, but have {one.size} and "
            f"{other.size}. Put NaN where an answer is missing."
        )
    here, there = ~np.isnan(one), ~np.isnan(other)
    both = here & there
    for name, x in (("first", one[here]), ("second", other[there])):
        _in_range(name, x, bounds)
    a, b = (
        manski_bounds(float(x[k].sum()), int(k.sum()), x.size, bounds=bounds)
        for x, k in ((one, here), (other, there))
    )
    return PairedBounds(
        complete_pair=float((one[both] - other[both]).mean()) if both.any() else math.nan,
        available_case=a.observed - b.observed,
        low=a.low - b.high,
        high=a.high - b.low,
        n_complete=int(both.sum()),
        n_missing_first=int((~here).sum()),
        n_missing_second=int((~there).sum()),
        n_planned=one.size,
    )


def imbens_manski(
    low: float,
    high: float,
    std_error_low: float,
    std_error_high: float,
    *,
    confidence_level: float = 0.95,
    bounds: tuple[float, float] = (-math.inf, math.inf),
) -> Interval:
    r"""Interval that covers the value itself, which lies somewhere between two estimated bounds.

    Use it where an answer is bounded and its value, not the range, is asked for. Not near a ceiling or for few
    families, as it is normal theory; the limits of `manski_bounds` by `family_interval` cover that.

    Shorter than running from the lower limit of the lower to the upper limit of the upper bound, which
    covers the whole range.

    Parameters
    ----------
    low, high : float
        Estimated bounds, as from `manski_bounds`.
    std_error_low, std_error_high : float
        Their standard errors, by family.
    confidence_level : float, default 0.95
    bounds : tuple of float, optional
        Range of the quantity; limits are cut there.

    Returns
    -------
    Interval

    Notes
    -----
    ``[low - c se_low, high + c se_high]`` where :math:`\Phi(c + (high - low) / \max se) - \Phi(-c)` is the
    level: c falls from 1.96 for equal bounds to 1.645 for bounds far apart.

    References
    ----------
    Imbens, G. W. & Manski, C. F. (2004). Confidence intervals for partially identified parameters.
    Econometrica 72, 1845-1857. doi:10.1111/j.1468-0262.2004.00555.x

    Examples
    --------
    >>> imbens_manski(0.5, 0.5, 0.1, 0.1)
    Interval(0.304004, 0.695996, imbens-manski, 95% two-sided)
    """
    level = check_level(confidence_level)
    numbers = (low, high, std_error_low, std_error_high)
    if not (all(map(math.isfinite, numbers)) and low <= high and min(numbers[2:]) >= 0):
        raise PairstatsError(
            "`low` must be at most `high`, and the standard errors at least 0, but got "
            f"{low!r}, {high!r}, {std_error_low!r}, {std_error_high!r}."
        )
    largest = max(std_error_low, std_error_high)
    apart = min((high - low) / largest, 100.0) if largest else 100.0
    c = float(brentq(lambda c: ndtr(c + apart) - ndtr(-c) - level, 0.0, 40.0, xtol=1e-13))
    return Interval(
        max(low - c * std_error_low, bounds[0]),
        min(high + c * std_error_high, bounds[1]),
        "imbens-manski",
        level,
        "two-sided",
    )


def tipping_point(n_missing: int, holds: Callable[[int], bool]) -> int | None:
    """Smallest number of missing answers that must be wrong, the rest right, for a conclusion to fail.

    Use it for any conclusion that is a function of the number wrong. Not for a paired comparison, which
    `paired_tipping_point` covers.

    Parameters
    ----------
    n_missing : int
        Missing answers of the system that the conclusion favours.
    holds : callable
        ``holds(k)``: whether the conclusion stands with k of the missing answers wrong and the others right.

    Returns
    -------
    int or None
        None, the strongest statement, where the conclusion stands with all of them wrong; 0 where it does
        not stand even with all of them right. `paired_tipping_point` is the same for paired scores.

    Notes
    -----
    The smallest k at which ``holds(k)`` is false, by trying k = 0, 1, ...

    References
    ----------
    Manski, C. F. (1989). Journal of Human Resources 24, 343-360. doi:10.2307/145818

    Examples
    --------
    65 of 70 right, 10 missing; the conclusion is that the rate is above .85:

    >>> tipping_point(10, lambda wrong: (65 + 10 - wrong) / 80 > 0.85)
    7
    """
    missing = as_count("n_missing", n_missing)
    return next((wrong for wrong in range(missing + 1) if not holds(wrong)), None)


def enough_answered(
    n_answered: int,
    n_planned: int,
    *,
    families_answered: int | None = None,
    families_planned: int | None = None,
    minimum: float = 0.8,
) -> Completeness:
    """Whether enough items and families were answered for a headline number: the 80 % rule.

    Use it before a headline number or a rank is given. Not to correct for what is missing: `manski_bounds` and
    `tipping_point` say what that could change.

    Parameters
    ----------
    n_answered, n_planned : int
        Items.
    families_answered, families_planned : int, optional
        Families with an answer; left out, items decide alone.
    minimum : float, default 0.8
        Registered share, in [0, 1], that both must reach.

    Returns
    -------
    Completeness
        A model with no results is not enough, and not 0.

    Notes
    -----
    Answered over planned items, and families with an answer over planned families, both at least `minimum`.

    References
    ----------
    Manski, C. F. (1989). Journal of Human Resources 24, 343-360. doi:10.2307/145818

    Examples
    --------
    >>> enough_answered(70, 80, families_answered=35, families_planned=40).enough
    True
    >>> enough_answered(0, 80).enough
    False
    """
    if not 0 <= minimum <= 1:
        raise PairstatsError(f"`minimum` must lie in [0, 1], but got {minimum!r}. Write 0.8 for 80 %.")
    items = _share(n_answered, n_planned)
    families = items if families_planned is None else _share(families_answered, families_planned)
    some = as_count("n_answered", n_answered) > 0
    # Compared with a little slack, so that 80 of 100 is 80 %.
    enough = some and min(items, families) >= minimum - 1e-12
    return Completeness(enough, items, families, float(minimum))


def _share(answered: int | None, planned: int) -> float:
    part, whole = as_count("answered", answered), as_count("planned", planned)
    if part > whole:
        raise PairstatsError(f"Answered must be at most planned, but got {part} of {whole}.")
    return part / whole if whole else math.nan


def _with_gaps(name: str, values: ArrayLike) -> Floats:
    """One-dimensional scores in which NaN (or None) means missing, and infinity is an error."""
    array = np.array(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise PairstatsError(
            f"`{name}` must be one-dimensional and hold at least one planned item, but its shape is "
            f"{array.shape}. Pass one score for each planned item, NaN where it is missing."
        )
    infinite = np.flatnonzero(np.isinf(array))
    if infinite.size:
        raise PairstatsError(
            f"`{name}` must hold finite scores or NaN, but positions {listed(infinite.tolist())} are infinite."
        )
    return array


def _in_range(name: str, scores: Floats, bounds: tuple[float, float]) -> None:
    wrong = np.flatnonzero((scores < bounds[0]) | (scores > bounds[1]))
    if wrong.size:
        raise PairstatsError(
            f"`{name}` must lie in [{bounds[0]:g}, {bounds[1]:g}], but holds {scores[wrong[0]]:g}. "
            "Give the range that a score can take as `bounds`."
        )
