"""Delete-one-family jackknife t interval, for statistics that are not ratios of family totals."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, stdtrit

from pairstats.errors import one_of
from pairstats.numeric.checks import tails

SCALES = ("identity", "logit")


@dataclass(frozen=True, slots=True)
class JackknifeInterval:
    """Delete-one-family jackknife t interval.

    Attributes
    ----------
    low, high : float
        Limits, cut at the range of the statistic; the whole range where the error is not estimable.
    std_error : float
        Standard error on the scale that was used; NaN where it is not estimable.
    df : int
        Families less one.
    method : str
        "jackknife-t" or "logit jackknife-t"; followed by ", undefined" where the limits are the whole range.
    """

    low: float
    high: float
    std_error: float
    df: int
    method: str


def jackknife_interval(
    value: float,
    leave_one_out: ArrayLike,
    *,
    scale: str = "identity",
    bounds: tuple[float, float] = (0.0, 1.0),
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
) -> JackknifeInterval:
    r"""Interval from the values of a statistic with one family left out at a time.

    Use it for statistics without a family interval (AUROC, kappa). Not for means or ratios, which
    `family_interval` covers near a ceiling as well. It needs variation: with fewer than two
    families, an undefined value, or replicates that are all equal (perfect agreement, no error) a standard
    error would be 0 or unknown, and the limits are the whole range.

    Parameters
    ----------
    value : float
        The statistic of all families.
    leave_one_out : array_like, shape (G,)
        The statistic without each family.
    scale : {"identity", "logit"}
        Scale of the t interval; "logit" only for statistics in [0, 1].
    bounds : tuple of float
        Range of the statistic.
    confidence_level : float, default 0.95
    alternative : {"two-sided", "less", "greater"}

    Returns
    -------
    JackknifeInterval

    Notes
    -----
    :math:`g(\hat\theta) \pm t_{G-1} \sqrt{(G-1) / G \sum_f (g(\hat\theta_{-f}) - \bar g)^2}`.

    References
    ----------
    Efron B, Stein C (1981). The jackknife estimate of variance. Ann Stat 9:586-596.
    doi:10.1214/aos/1176345462.

    Examples
    --------
    For a mean it is the t interval:

    >>> x = np.array([1.0, 2.0, 4.0, 5.0])
    >>> found = jackknife_interval(x.mean(), (x.sum() - x) / 3, bounds=(-np.inf, np.inf))
    >>> round(found.low, 3), round(found.high, 3)
    (0.095, 5.905)
    """
    one_of("scale", scale, SCALES)
    below, above = tails(confidence_level, alternative)
    without = np.asarray(leave_one_out, dtype=np.float64)
    df = without.size - 1
    method = "jackknife-t" if scale == "identity" else "logit jackknife-t"
    if scale == "logit":
        inside = bool(0 < value < 1 and np.all((without > 0) & (without < 1)))
        value, without = (float(logit(value)), logit(without)) if inside else (math.nan, without)
    value, error = float(value), math.nan
    if df > 0 and math.isfinite(value) and np.isfinite(without).all():
        error = math.sqrt(df / (df + 1) * float(np.sum((without - without.mean()) ** 2)))
    if not error > 1e-12 * max(1.0, abs(value)):
        return JackknifeInterval(*bounds, math.nan, df, f"{method}, undefined")
    low = -math.inf if below is None else value + error * float(stdtrit(df, below))
    high = math.inf if above is None else value - error * float(stdtrit(df, above))
    if scale == "logit":
        low, high = float(expit(low)), float(expit(high))
    return JackknifeInterval(max(low, float(bounds[0])), min(high, float(bounds[1])), error, df, method)
