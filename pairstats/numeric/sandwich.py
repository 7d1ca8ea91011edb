"""Cluster-robust t interval for a ratio of family totals: for values whose range is not known."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from pairstats.numeric.checks import as_scores, as_sizes, check_alternative, tails


@dataclass(frozen=True, slots=True)
class RobustInterval:
    """Cluster-robust (CR2) interval of a mean.

    Attributes
    ----------
    low, high : float
        Limits; infinite on the side that a one-sided interval leaves open, and on both with one family.
    std_error : float
        CR2 standard error; NaN with one family.
    df : float
        Satterthwaite degrees of freedom; 0 with one family.
    method : str
    """

    low: float
    high: float
    std_error: float
    df: float
    method: str = "cr2-t"


def cr2_interval(
    scores: ArrayLike,
    *,
    sizes: ArrayLike | None = None,
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
) -> RobustInterval:
    r"""Bias-reduced cluster-robust t interval for :math:`p = \sum n_f x_f / \sum n_f`.

    With :math:`e_f = n_f (x_f - p)` and :math:`\pi_f = n_f / N` the variance is
    :math:`\sum e_f^2 / (1 - \pi_f) / N^2`, with Satterthwaite degrees of freedom. For equal sizes it is the
    one-sample t interval of the family means.

    Parameters
    ----------
    scores : array_like, shape (G,)
        Family means, in any unit.
    sizes : array_like, shape (G,), optional
        Decisions behind each mean.
    confidence_level : float, default 0.95
    alternative : {"two-sided", "less", "greater"}

    Returns
    -------
    RobustInterval

    References
    ----------
    Bell & McCaffrey (2002), Survey Methodology 28, 169-181. Pustejovsky & Tipton (2018),
    doi:10.1080/07350015.2016.1247004.

    Examples
    --------
    >>> found = cr2_interval([1.0, 2.0, 4.0, 5.0])
    >>> round(found.low, 3), round(found.high, 3), found.df
    (0.095, 5.905, 3.0)
    """
    means = as_scores("scores", scores)
    counts = as_sizes(sizes, means.size)
    below, above = tails(confidence_level, check_alternative(alternative))
    if means.size == 1:
        return RobustInterval(-math.inf, math.inf, math.nan, 0.0)
    share = counts / counts.sum()
    value = float(share @ means)
    variance = float(np.sum((share * (means - value)) ** 2 / (1 - share)))
    df = _satterthwaite(share)
    error = math.sqrt(variance)
    low = -math.inf if below is None else value + error * float(special.stdtrit(df, below))
    high = math.inf if above is None else value - error * float(special.stdtrit(df, above))
    return RobustInterval(low, high, error, df)


def _satterthwaite(share: np.ndarray) -> float:
    odds = share**2 / (1 - share)
    cross = odds.sum() ** 2 - np.sum(odds**2)
    return round(float(1 / (np.sum(share**2) + cross)), 9)
