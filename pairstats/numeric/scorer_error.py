"""Rates and differences corrected for a scorer that errs at a known rate."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.checks import Interval, as_count, as_scores, as_sizes, tails
from pairstats.numeric.family import KINDS, Kind, family_interval
from pairstats.numeric.proportions import clopper_pearson, jeffreys

Accuracy = float | tuple[int, int]
"""A sensitivity or specificity: known, or right decisions and all decisions of a validation sample."""


@dataclass(frozen=True, slots=True, repr=False)
class CorrectedInterval(Interval):
    """A rate or difference without the scorer's error.

    Attributes
    ----------
    low, high, method, confidence_level, alternative
        As in `pairstats.numeric.checks.Interval`; cut to the range of the quantity.
    estimate : float
        Cut to the range of the quantity.
    raw_estimate : float
        Before it was cut; outside the range by chance, or where sensitivity and specificity do not fit.
    observed : float
        As scored.
    attenuation : float
        Sensitivity + specificity - 1: what is left of a difference after scoring.
    fits : bool
        False where even the limits lie outside the range: no true rate gives such scores, so that the
        sensitivity or the specificity is another one here.
    """

    estimate: float
    raw_estimate: float
    observed: float
    attenuation: float
    fits: bool


@dataclass(frozen=True, slots=True)
class _Part:
    """A parameter with its limits."""

    value: float
    low: float
    high: float


def corrected_rate(
    scores: ArrayLike,
    *,
    sensitivity: Accuracy,
    specificity: Accuracy,
    sizes: ArrayLike | None = None,
    kind: Kind = "jeffreys",
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
) -> CorrectedInterval:
    r"""Share of true successes, from the scores of a scorer with a known sensitivity and specificity.

    Use it where a keyword or judge decided what is a success and a hand-labelled sample says how often it errs.
    Not where the errors differ between the systems that are compared, or the sample is of other data; there
    only labels by hand help. Without a known error rate report the share as scored, by `family_interval`.

    Parameters
    ----------
    scores : array_like, shape (G,)
        Share of scored successes in each family, in [0, 1].
    sensitivity : float or (int, int)
        Share of true successes that the scorer marks as such; or (marked, true successes) of the sample.
    specificity : float or (int, int)
        Share of true failures that the scorer marks as such; or (marked, true failures).
    sizes : array_like, shape (G,), optional
        Decisions behind each score.
    kind : {"jeffreys", "cp"}
        "jeffreys": joins family-Jeffreys and Jeffreys limits. "cp": family-CP and Clopper-Pearson limits, all
        at their worst, which share the error probability; never below its level where these are not.
    confidence_level : float, default 0.95
    alternative : {"two-sided", "less", "greater"}

    Returns
    -------
    CorrectedInterval

    Raises
    ------
    PairstatsError
        If a sensitivity or specificity is no share, or they sum to 1 or less.

    Notes
    -----
    :math:`\pi = (p + sp - 1) / (se + sp - 1)` with the scored share p. It rises in p and sp and falls in se.
    Known se and sp move the limits of p alone. Else "jeffreys" recovers variances: the lower limit is
    :math:`\hat\pi - \sqrt{\sum_j (\hat\pi - \pi_j)^2}`, where :math:`\pi_j` has parameter j at its less
    favourable limit and the others at their estimates. Where se + sp may be 1 the limits are 0 and 1.

    References
    ----------
    Rogan, W. J. & Gladen, B. (1978). American Journal of Epidemiology 107, 71-76.
    doi:10.1093/oxfordjournals.aje.a112510
    Reiczigel, J., Foldi, J. & Ozsvari, L. (2010). Epidemiology and Infection 138, 1674-1678.
    doi:10.1017/S0950268810000385
    Zou, G. Y. & Donner, A. (2008). Statistics in Medicine 27, 1693-1702. doi:10.1002/sim.3095

    Examples
    --------
    >>> found = corrected_rate([1.0] * 23 + [0.0] * 127, sensitivity=0.96, specificity=0.89)
    >>> round(found.observed, 3), round(found.estimate, 3), round(found.high, 2)
    (0.153, 0.051, 0.13)
    >>> sample = corrected_rate([1.0] * 23 + [0.0] * 127, sensitivity=(96, 100), specificity=(89, 100))
    >>> sample.high > found.high
    True
    """
    one_of("kind", kind, KINDS)
    values = as_scores("scores", scores)
    counts = as_sizes(sizes, values.size)
    level = _shared_level(confidence_level, kind, sensitivity, specificity)
    below, above = tails(confidence_level, alternative)
    found = family_interval(values, sizes=counts, kind=kind, confidence_level=level, alternative=alternative)
    rate = _Part(float(counts @ values / counts.sum()), found.low, found.high)
    marked, cleared = (
        _accuracy(name, given, kind, level, alternative)
        for name, given in (("sensitivity", sensitivity), ("specificity", specificity))
    )
    attenuation = _attenuation(marked.value, cleared.value)
    undefined = marked.low + cleared.low <= 1
    raw = (rate.value + cleared.value - 1) / attenuation

    def true_rate(p: float, se: float, sp: float) -> float:
        return (p + sp - 1) / (se + sp - 1)

    def limit(upper: bool) -> float:
        p, sp = (part.high if upper else part.low for part in (rate, cleared))
        # Less favourable is the sensitivity that moves the rate towards the limit: it divides.
        ends = [true_rate(p, end, sp) for end in (marked.low, marked.high)]
        if kind == "cp":
            return max(ends) if upper else min(ends)
        alone = (
            true_rate(p, marked.value, cleared.value),
            true_rate(rate.value, marked.value, sp),
            *(true_rate(rate.value, end, cleared.value) for end in (marked.low, marked.high)),
        )
        away = [max(one - raw if upper else raw - one, 0.0) for one in alone]
        away[2:] = [max(away[2:])]
        return raw + (1 if upper else -1) * math.hypot(*away)

    low = 0.0 if below is None or undefined else limit(upper=False)
    high = 1.0 if above is None or undefined else limit(upper=True)
    return CorrectedInterval(
        low=min(max(low, 0.0), 1.0),
        high=min(max(high, 0.0), 1.0),
        method=f"{found.method}, corrected" + (", undefined" if undefined else ""),
        confidence_level=float(confidence_level),
        alternative=alternative,
        estimate=min(max(raw, 0.0), 1.0),
        raw_estimate=raw,
        observed=rate.value,
        attenuation=attenuation,
        fits=high >= 0 and low <= 1,
    )


def corrected_difference(
    differences: ArrayLike,
    *,
    sensitivity: Accuracy,
    specificity: Accuracy,
    sizes: ArrayLike | None = None,
    kind: Kind = "jeffreys",
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
) -> CorrectedInterval:
    r"""Difference of two true success rates, from the scores of a scorer that errs alike on both systems.

    Use it to say how much larger a difference is than it looks through a scorer that errs. Not for whether
    there is one: errors that are the same for both systems cannot make a difference, so `sign_flip` covers
    that. Where they differ, correct each rate with `corrected_rate` and join the two by `mover_difference`.

    Parameters
    ----------
    differences : array_like, shape (G,)
        Scored mean of the first system minus that of the second in each family, in [-1, 1].
    sensitivity, specificity
        Of the scorer, for both systems, as in `corrected_rate`.
    sizes : array_like, shape (G,), optional
    kind : {"jeffreys", "cp"}
    confidence_level : float, default 0.95
    alternative : {"two-sided", "less", "greater"}

    Returns
    -------
    CorrectedInterval

    Raises
    ------
    PairstatsError
        As in `corrected_rate`.

    Notes
    -----
    :math:`\delta = d / (se + sp - 1)`. Limits as in `corrected_rate`, of d and of the divisor.

    References
    ----------
    Rogan, W. J. & Gladen, B. (1978). American Journal of Epidemiology 107, 71-76.
    doi:10.1093/oxfordjournals.aje.a112510

    Examples
    --------
    >>> found = corrected_difference([0.5] * 8 + [0.0] * 30 + [-0.5] * 2, sensitivity=0.9, specificity=0.8)
    >>> round(found.observed, 3), round(found.estimate, 3), round(found.attenuation, 3)
    (0.075, 0.107, 0.7)
    """
    one_of("kind", kind, KINDS)
    values = as_scores("differences", differences)
    counts = as_sizes(sizes, values.size)
    level = _shared_level(confidence_level, kind, sensitivity, specificity)
    below, above = tails(confidence_level, alternative)
    found = family_interval(
        values, sizes=counts, kind=kind, bounds=(-1.0, 1.0), confidence_level=level, alternative=alternative
    )  # fmt: skip
    gap = _Part(float(counts @ values / counts.sum()), found.low, found.high)
    parts = [
        _accuracy(name, given, kind, level, alternative)
        for name, given in (("sensitivity", sensitivity), ("specificity", specificity))
    ]
    divisor = _Part(_attenuation(*(part.value for part in parts)), *_sum_limits(parts, kind))
    undefined = divisor.low <= 0
    raw = gap.value / divisor.value

    def limit(upper: bool) -> float:
        end = gap.high if upper else gap.low
        if kind == "cp":
            ends = (end / divisor.low, end / divisor.high)
            return max(ends) if upper else min(ends)
        sign = 1 if upper else -1
        turned = [sign * (gap.value / j - raw) for j in (divisor.low, divisor.high)]
        return raw + sign * math.hypot(end / divisor.value - raw, max(*turned, 0.0))

    low = -1.0 if below is None or undefined else limit(upper=False)
    high = 1.0 if above is None or undefined else limit(upper=True)
    return CorrectedInterval(
        low=min(max(low, -1.0), 1.0),
        high=min(max(high, -1.0), 1.0),
        method=f"{found.method}, corrected" + (", undefined" if undefined else ""),
        confidence_level=float(confidence_level),
        alternative=alternative,
        estimate=min(max(raw, -1.0), 1.0),
        raw_estimate=raw,
        observed=gap.value,
        attenuation=divisor.value,
        fits=high >= -1 and low <= 1,
    )


def _shared_level(level: float, kind: str, *given: Accuracy) -> float:
    """Level of each part: the whole, or what is left where several uncertain parts share the error."""
    parts = 1 + sum(isinstance(one, tuple) for one in given)
    return 1 - (1 - level) / parts if kind == "cp" else level


def _accuracy(name: str, given: Accuracy, kind: str, level: float, alternative: str) -> _Part:
    """Sensitivity or specificity with its limits: equal where it is known."""
    if not isinstance(given, tuple):
        number = isinstance(given, int | float | np.number) and not isinstance(given, bool)
        if not (number and 0 < given <= 1):
            raise PairstatsError(
                f"`{name}` must be a share in (0, 1], or (right, all) of a validation sample, but got {given!r}."
            )
        return _Part(float(given), float(given), float(given))
    if len(given) != 2:
        raise PairstatsError(f"`{name}` must be (right, all) of a validation sample, but got {given!r}.")
    nobs = as_count(f"all of {name}", given[1], minimum=1)
    right = as_count(f"right of {name}", given[0])
    if right > nobs:
        raise PairstatsError(f"`{name}` must be (right, all) with right <= all, but got {given!r}.")
    if kind == "cp":
        limits = clopper_pearson(right, nobs, confidence_level=level)
    else:
        # A one-sided limit at the same distance in standard errors as those of the rate.
        sides = 1 if alternative == "two-sided" else 2
        limits = jeffreys(right, nobs, confidence_level=max(1 - sides * (1 - level), 1e-9))
    return _Part(right / nobs, limits.low, limits.high)


def _attenuation(sensitivity: float, specificity: float) -> float:
    found = sensitivity + specificity - 1
    if found <= 0:
        raise PairstatsError(
            f"Sensitivity and specificity must sum to more than 1, but they are {sensitivity:g} and "
            f"{specificity:g}: such a scorer says nothing. Check which class counts as a success."
        )
    return found


def _sum_limits(parts: list[_Part], kind: str) -> tuple[float, float]:
    """Limits of the sum of both less 1."""
    value = sum(part.value for part in parts) - 1
    below = [part.value - part.low for part in parts]
    above = [part.high - part.value for part in parts]
    if kind == "cp":
        return value - sum(below), value + sum(above)
    return value - math.hypot(*below), value + math.hypot(*above)
