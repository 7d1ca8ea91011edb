"""Interval for the difference of two quantities that were estimated on different families."""

from __future__ import annotations

import math

from pairstats.errors import PairstatsError
from pairstats.numeric.checks import EstimateInterval, Interval, check_level

Limits = Interval | tuple[float, float]

COMBINED = {
    ("two-sided", "two-sided"): "two-sided",
    ("greater", "less"): "greater",
    ("less", "greater"): "less",
}
"""Direction of the difference from those of its two parts."""


def mover_difference(
    estimate1: float,
    interval1: Limits,
    estimate2: float,
    interval2: Limits,
    *,
    confidence_level: float | None = None,
) -> EstimateInterval:
    r"""Interval for a difference from two separate intervals (method of variance estimates recovery).

    Use it for rates on different families, such as a flip rate and that of a control arm. Not on the same
    families, whose pairing it ignores; `family_interval` on the family differences covers that.

    Parameters
    ----------
    estimate1, estimate2 : float
        The two independent estimates.
    interval1, interval2 : Interval or (float, float)
        Their intervals of equal confidence level. Two one-sided limits make a one-sided interval: a lower
        limit of the first and an upper one of the second make a lower limit of the difference.
    confidence_level : float, optional
        Of intervals that are plain pairs, default 0.95; results of our functions carry their own.

    Returns
    -------
    EstimateInterval
        `method` is "mover". A limit that a one-sided interval does not have is that of the range, where
        both intervals show it, as they do for shares.

    Raises
    ------
    PairstatsError
        If an estimate lies outside its interval, or levels or directions do not go together.

    Notes
    -----
    :math:`d - \sqrt{(p_1 - l_1)^2 + (u_2 - p_2)^2}` to :math:`d + \sqrt{(u_1 - p_1)^2 + (p_2 - l_2)^2}`. With
    Wilson intervals it is Newcombe's interval for two independent proportions.

    References
    ----------
    Zou, G. Y. & Donner, A. (2008). Statistics in Medicine 27, 1693-1702. doi:10.1002/sim.3095

    Examples
    --------
    >>> from pairstats.numeric import wilson
    >>> mover_difference(56 / 70, wilson(56, 70), 48 / 80, wilson(48, 80))
    EstimateInterval(0.2 [0.0524..., 0.3338...], mover, 95% two-sided)
    """
    low1, high1 = _limits("1", estimate1, interval1)
    low2, high2 = _limits("2", estimate2, interval2)
    level = _level(interval1, interval2, confidence_level)
    sides = tuple(
        one.alternative if isinstance(one, Interval) else "two-sided" for one in (interval1, interval2)
    )
    side = COMBINED.get((sides[0], sides[1]))
    if side is None:
        raise PairstatsError(
            f"The two intervals must be two-sided, or one-sided in opposite directions, but they are {sides[0]!r} "
            f"and {sides[1]!r}. A lower limit of a difference needs a lower limit of the first ('greater') and "
            "an upper one of the second ('less')."
        )
    difference = float(estimate1) - float(estimate2)
    low = difference - math.hypot(estimate1 - low1, high2 - estimate2)
    high = difference + math.hypot(high1 - estimate1, estimate2 - low2)
    return EstimateInterval(
        low=low1 - high2 if side == "less" else low,
        high=high1 - low2 if side == "greater" else high,
        method="mover",
        confidence_level=level,
        alternative=side,
        estimate=difference,
    )


def _limits(which: str, estimate: float, interval: Limits) -> tuple[float, float]:
    low, high = (interval.low, interval.high) if isinstance(interval, Interval) else interval
    slack = 1e-12 * max(1.0, abs(estimate))
    if not (math.isfinite(estimate) and low - slack <= estimate <= high + slack):
        raise PairstatsError(
            f"`estimate{which}` must lie within `interval{which}`, but {estimate!r} is not in [{low}, {high}]. "
            "Pass an estimate with its own interval."
        )
    return float(low), float(high)


def _level(interval1: Limits, interval2: Limits, given: float | None) -> float:
    levels = {one.confidence_level for one in (interval1, interval2) if isinstance(one, Interval)}
    levels |= set() if given is None else {check_level(given)}
    if len(levels) > 1:
        raise PairstatsError(
            f"Both intervals must have one confidence level, but got {sorted(levels)}. Compute them at the same."
        )
    return levels.pop() if levels else 0.95
