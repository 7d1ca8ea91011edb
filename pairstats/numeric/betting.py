"""The betting interval: for a mean of bounded scores where a proof of coverage is demanded.

A gambler bets against each candidate mean, family after family; a mean against which the stake grew
twenty-fold is rejected at .05. The stake against the true mean is a nonnegative martingale, so that Ville's
inequality gives the coverage in any sample size, for any distribution on the range.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.checks import Interval, as_scores, as_sizes, check_bounds, tails
from pairstats.numeric.draws import seeded
from pairstats.numeric.facing import points_down

Floats = NDArray[np.float64]

LARGEST_BET = 0.5
"""Share of the stake that one family can lose."""


@dataclass(frozen=True, slots=True, repr=False)
class BettingInterval(Interval):
    """A betting interval.

    Attributes
    ----------
    low, high, method, confidence_level, alternative
        As in `pairstats.numeric.checks.Interval`.
    order : str
        "derived" (permutation from the data's digest) or "given".
    seed : int or None
        Of the permutation; None where the order was given.
    """

    order: str
    seed: int | None


def betting_interval(
    scores: ArrayLike,
    *,
    sizes: ArrayLike | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    largest_size: float | None = None,
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    order: str = "derived",
    rng: Any = None,
) -> BettingInterval:
    r"""Interval for a mean of bounded family scores whose coverage is a theorem, by hedged betting.

    Use it where a referee demands a proof, and for data that arrive family by family (``order="given"``: the
    interval may then be looked at after each). Not otherwise: it is wider than
    `pairstats.numeric.family_interval`, whose "cp" kind has no known counter-example.

    Parameters
    ----------
    scores : array_like, shape (G,)
        Mean score of each family, within `bounds`.
    sizes : array_like, shape (G,), optional
        Decisions behind each score. The interval is then for the ratio of expected total and size.
    bounds : tuple of float
        Ends of the range a score can take.
    largest_size : float, optional
        Largest size that a family can have, by plan. Default: the largest of `sizes`.
    confidence_level : float, default 0.95
    alternative : {"two-sided", "less", "greater"}
    order : {"derived", "given"}
        Bets look back on the families before, so the limits depend on their order, and the proof needs an
        order that has nothing to do with the scores. "derived": the families are sorted and then permuted
        by a generator seeded from the digest of the data, so that row order means nothing and every reader
        gets the same numbers; never the sorted order itself, against which one could bet. "given": as
        passed, for families in the order of their arrival.
    rng : int, Generator or SeedSequence, optional
        Seed of the permutation in place of the derived one.

    Returns
    -------
    BettingInterval

    Raises
    ------
    PairstatsError
        If scores are empty, not finite or out of `bounds`, or a size is above `largest_size`.

    Notes
    -----
    With scores scaled to [0, 1], shares :math:`r_i = n_i / n_{max}` and a candidate m the stakes are
    :math:`K_t^\pm(m) = \prod_{i \le t} (1 \pm \lambda_i^\pm r_i (x_i - m))`, where
    :math:`\lambda_i = \sqrt{2 \log(1/\alpha) / (G \hat\sigma^2_{i-1})}` from the families before (half a
    prior family at mean 1/2 and variance 1/4), at most :math:`1/(2m)` upwards and :math:`1/(2(1-m))`
    downwards. The lower limit is the smallest m with :math:`\max_t K_t^+(m) < 1/\alpha`, where
    :math:`\alpha` is half the error probability of a two-sided interval; the upper one mirrors it.

    References
    ----------
    Waudby-Smith, I. & Ramdas, A. (2024). Estimating means of bounded random variables by betting. Journal
    of the Royal Statistical Society B 86, 1-27. doi:10.1093/jrsssb/qkad009

    Examples
    --------
    >>> found = betting_interval([1] * 48, confidence_level=0.975, alternative="greater")
    >>> found.low < 0.926 < found.high  # Clopper-Pearson is tighter
    True
    """
    one_of("order", order, ("derived", "given"))
    values = as_scores("scores", scores)
    counts = as_sizes(sizes, values.size)
    low, high = check_bounds(values, bounds)
    below, above = tails(confidence_level, alternative)
    unit = np.clip((values - low) / (high - low), 0.0, 1.0)
    share = counts / _largest(largest_size, counts)
    seed = None
    if order == "derived":
        # A difference and its opposite take the families in one order, so that their limits are opposite.
        facing = -values if low == -high and points_down(values, counts) else values
        arranged = np.lexsort((share, facing))
        generator, seed = seeded(np.column_stack([facing, counts]), rng)
        arranged = arranged[generator.permutation(unit.size)]
        unit, share = unit[arranged], share[arranged]
    lower = 0.0 if below is None else _lower_limit(unit, share, below)
    upper = 1.0 if above is None else 1.0 - _lower_limit(1.0 - unit, share, above)
    return BettingInterval(
        low + (high - low) * lower,
        low + (high - low) * upper,
        "betting",
        float(confidence_level),
        alternative,
        order,
        seed,
    )


def _largest(largest_size: float | None, counts: Floats) -> float:
    if largest_size is None:
        return float(counts.max())
    if not largest_size >= counts.max():
        raise PairstatsError(
            f"`largest_size` must be at least every size, but got {largest_size!r} and a family of "
            f"{counts.max():g}. Pass the number of decisions planned for the largest family."
        )
    return float(largest_size)


def _lower_limit(unit: Floats, share: Floats, alpha: float) -> float:
    """Smallest mean that the bets on a larger one do not reject; the stake falls in the candidate."""
    needed = -math.log(alpha)
    bets = _bets(unit, share, needed)

    def wealth(m: float) -> float:
        stake = np.minimum(bets, LARGEST_BET / m) * share * (unit - m)
        return float(np.max(np.cumsum(np.log1p(stake))))

    low, high = 0.0, 1.0
    if wealth(1e-15) < needed:
        return 0.0
    while high - low > 1e-13:
        middle = (low + high) / 2
        low, high = (middle, high) if wealth(middle) >= needed else (low, middle)
    # The rejected end of the bracket would cut too much off.
    return low


def _bets(unit: Floats, share: Floats, needed: float) -> Floats:
    """Size of each bet from the families before it (predictable plug-in)."""
    seen = np.arange(1, unit.size + 1)
    weight = 1.0 + np.cumsum(share)
    mean = (0.5 + np.cumsum(share * unit)) / weight
    variance = (0.25 + np.cumsum((share * (unit - mean)) ** 2)) / (seen + 1)
    before = np.concatenate([[0.25], variance[:-1]])
    return np.sqrt(2.0 * needed / (unit.size * before))
