"""P-values from random resamples and arrangements, with their Monte-Carlo error."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pairstats.errors import PairstatsError
from pairstats.numeric.checks import as_count, as_scores
from pairstats.numeric.proportions import clopper_pearson

_TIE = 1e-12
"""Values closer than this share of the largest are equal."""


@dataclass(frozen=True, slots=True)
class MonteCarloP:
    """A p-value from random arrangements, with its Monte-Carlo error.

    Attributes
    ----------
    p_value : float
        ``(b + 1) / (B + 1)``; never 0.
    low, high : float
        Clopper-Pearson interval of the p-value that all arrangements would give.
    floor : float
        Smallest p-value that B arrangements can give, ``1 / (B + 1)``.
    at_floor : bool
        Whether no arrangement was as extreme: print "<=" the floor.
    """

    p_value: float
    low: float
    high: float
    floor: float
    at_floor: bool


def mc_p_value(b: int, n: int, *, confidence_level: float = 0.95) -> MonteCarloP:
    """P-value from `b` of `n` random arrangements at least as extreme as the data.

    Use it for a test of your own with random arrangements. Not where all arrangements can be listed: then count
    them, as `sign_flip` does.

    Parameters
    ----------
    b : int
        Arrangements at least as extreme as the data.
    n : int
        Arrangements drawn.
    confidence_level : float, default 0.95
        Of the interval for the p-value that all arrangements would give.

    Returns
    -------
    MonteCarloP

    Notes
    -----
    :math:`(b + 1) / (n + 1)`, never 0.

    References
    ----------
    Phipson B, Smyth GK (2010). Permutation p-values should never be zero. Stat Appl Genet Mol Biol
    9(1):39. doi:10.2202/1544-6115.1585.

    Examples
    --------
    >>> p = mc_p_value(0, 1999)
    >>> p.p_value, p.at_floor
    (0.0005, True)
    """
    drawn = as_count("n", n, minimum=1)
    extreme = as_count("b", b)
    if extreme > drawn:
        raise PairstatsError(f"`b` must be at most `n`, but got {b} of {n}. Pass the count first.")
    exact = clopper_pearson(extreme, drawn, confidence_level=confidence_level)
    return MonteCarloP(
        p_value=(extreme + 1) / (drawn + 1),
        low=exact.low,
        high=exact.high,
        floor=1 / (drawn + 1),
        at_floor=extreme == 0,
    )


def bootstrap_p_value(replicates: ArrayLike, *, null: float = 0.0) -> float:
    r"""Two-sided p-value by inversion: the smallest alpha whose percentile interval excludes `null`.

    Use it only to say what a percentile interval says, in the words of a test. Not for a registered claim;
    `sign_flip` is exact there.

    It inherits the faults of the percentile interval (measured size .11 at 10 families).

    Parameters
    ----------
    replicates : array_like of float, shape (B,)
        The statistic on each resample.
    null : float, default 0
        Value that is tested.

    Returns
    -------
    float
        In (0, 1].

    Notes
    -----
    :math:`\min(1, 2 \min(\#\{t^* \le t_0\} + 1, \#\{t^* \ge t_0\} + 1) / (B + 1))`.

    References
    ----------
    Davison, A. C. & Hinkley, D. V. (1997). Bootstrap Methods and their Application.
    doi:10.1017/CBO9780511802843

    Examples
    --------
    >>> bootstrap_p_value([1.0] * 1999)
    0.001
    """
    values = as_scores("replicates", replicates)
    slack = _TIE * max(float(np.max(np.abs(values))), abs(null))
    below, above = int(np.sum(values <= null + slack)), int(np.sum(values >= null - slack))
    return min(1.0, 2 * (min(below, above) + 1) / (values.size + 1))
