"""The family interval: limits for a mean of bounded family scores that hold near a ceiling.

A pseudo-family is added to the observed families, all families get Dirichlet weights, and the limits
are quantiles of the weighted mean. On 0/1 families this is exactly the Clopper-Pearson or the Jeffreys
interval; it does not change, jump or fall back when the last failing family disappears.

Status: for two-point (such as 0/1) families the coverage of family-CP is a theorem. For other scores in
a known range it is a conjecture without a known counter-example. Unequal sizes and the Jeffreys kind
rest on simulation: family-Jeffreys covers about its level on average, and less at single proportions, as
the Jeffreys interval does. Family-CP is the one to register.

References
----------
Gaffke, N. (2005). Mathematical Methods of Statistics 14, 451-467.
Learned-Miller, E. & Thomas, P. S. (2019). arXiv:1905.06208.
Rubin, D. B. (1981). The Bayesian bootstrap. Annals of Statistics 9, 130-134. doi:10.1214/aos/1176345338
Brown, L. D., Cai, T. T. & DasGupta, A. (2001). Statistical Science 16, 101-133. doi:10.1214/ss/1009213286
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.checks import Interval, as_count, as_scores, as_sizes, check_bounds, tails
from pairstats.numeric.dirichlet import dirichlet_mean_quantile, merged
from pairstats.numeric.kinds import FamilyKinds, family_kinds

Floats = NDArray[np.float64]
Kind = Literal["jeffreys", "cp"]

KINDS = ("jeffreys", "cp")
PSEUDO_WEIGHT = {"jeffreys": 0.5, "cp": 1.0}
"""Dirichlet weight of a pseudo-family; an observed family has weight 1."""


def family_interval(
    scores: ArrayLike,
    *,
    sizes: ArrayLike | None = None,
    kind: Kind = "jeffreys",
    bounds: tuple[float, float] = (0.0, 1.0),
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    pseudo_size: float | None = None,
) -> Interval:
    r"""Interval for a mean of family scores in a known range.

    Use it for every mean of scores in a known range: accuracy, flips, Brier, paired differences. Kind "cp"
    for a registered or one-sided claim and below 10 families. Not for unbounded scores, which `cr2_interval`
    covers.

    Parameters
    ----------
    scores : array_like, shape (G,)
        Mean score of each family (not its total), within `bounds`.
    sizes : array_like, shape (G,), optional
        Number of decisions behind each score. The interval is then for the item-weighted mean
        ``sum(sizes * scores) / sum(sizes)``; without sizes for the plain mean of the families.
    kind : {"jeffreys", "cp"}
        "jeffreys": half a pseudo-family at each end of the range. "cp": one whole pseudo-family, at
        the lower end for the lower limit and at the upper end for the upper limit.
    bounds : tuple of float
        Ends of the range a score can take: (0, 1) for shares, (-1, 1) for differences of shares.
    confidence_level : float
        In (0, 1).
    alternative : {"two-sided", "less", "greater"}
        "greater" gives a lower limit only, "less" an upper limit only, at the full level.
    pseudo_size : float, optional
        Number of decisions of the pseudo-family: the largest planned size for a registered "cp"
        interval. Default: the largest of `sizes` for "cp", their mean for "jeffreys".

    Returns
    -------
    Interval
        `method` is "family-jeffreys" or "family-cp".

    Raises
    ------
    PairstatsError
        If scores are empty, not finite or outside `bounds`, or another argument is out of its range.

    Notes
    -----
    With :math:`D \sim \mathrm{Dirichlet}(1, \dots, 1, w)` the lower "cp" limit at level
    :math:`1-\alpha` is the :math:`\alpha/2` quantile of
    :math:`\sum_i D_i n_i x_i + D_0 n_0 a` over :math:`\sum_i D_i n_i + D_0 n_0`, where :math:`a` is the
    lower end of the range and :math:`w = 1`. In the "jeffreys" kind both limits are quantiles of one
    distribution with :math:`w = 1/2` at either end; the lower limit is the lower end of the range if
    every family is there, and likewise above. See the module docstring for sources and status.

    Computed by `pairstats.numeric.dirichlet` without random numbers, in a few milliseconds. Above 1,000
    different scores (of families of one size) they are moved to two points in each of 500 cells of the
    range, which keep the mean, variance and skewness in each cell: limits of 2,000 to 100,000 families moved
    by less than 1e-9 of their distance.

    References
    ----------
    Gaffke, N. (2005). Three test statistics for a nonparametric one-sided hypothesis on the mean of a
    nonnegative variable. Mathematical Methods of Statistics 14, 451-467.
    Learned-Miller, E. & Thomas, P. S. (2019). A new confidence interval for the mean of a bounded random
    variable. arXiv:1905.06208
    Brown, L. D., Cai, T. T. & DasGupta, A. (2001). Statistical Science 16, 101-133. doi:10.1214/ss/1009213286

    Examples
    --------
    29 families with both copies right, 10 with one, 1 with none:

    >>> scores = [1.0] * 29 + [0.5] * 10 + [0.0]
    >>> family_interval(scores)
    Interval(0.751915, 0.913812, family-jeffreys, 95% two-sided)
    >>> family_interval(scores, kind="cp")
    Interval(0.734879, 0.921641, family-cp, 95% two-sided)

    All of 48 families right, a one-sided 97.5 % lower limit:

    >>> family_interval([1] * 48, kind="cp", confidence_level=0.975, alternative="greater")
    Interval(0.926027, 1, family-cp, 97.5% greater)
    """
    one_of("kind", kind, KINDS)
    values = as_scores("scores", scores)
    counts = as_sizes(sizes, values.size)
    low, high = check_bounds(values, bounds)
    below, above = tails(confidence_level, alternative)
    pseudo = _pseudo_size(pseudo_size, counts, kind)
    types = family_kinds(_unit_scores(values, low, high), counts)

    lower, upper = 0.0, 1.0
    if below is not None:
        lower = _lower_limit(types, pseudo, kind, below)
    if above is not None:
        upper = 1.0 - _lower_limit(types.mirrored(), pseudo, kind, above)
    return Interval(
        low=_from_unit(lower, low, high),
        high=_from_unit(upper, low, high),
        method=f"family-{kind}",
        confidence_level=float(confidence_level),
        alternative=alternative,
    )


@dataclass(frozen=True, slots=True)
class DirichletWeights:
    """Random weights of families and of the two pseudo-families.

    Attributes
    ----------
    families : ndarray, shape (n_resamples, n_families)
        Weights of the observed families.
    low, high : ndarray, shape (n_resamples,)
        Weights of the pseudo-family at the lower and at the upper end of the range. "jeffreys": both are
        used at once, and a row of `families`, `low` and `high` together sums to 1. "cp": `low` is used
        for lower limits, `high` for upper limits, never both; they hold the same numbers, and a row of
        `families` and one of them sums to 1.
    kind : {"jeffreys", "cp"}
        Kind of family interval.
    """

    families: Floats
    low: Floats
    high: Floats
    kind: str

    def rows(self, limit: Literal["low", "high"]) -> Floats:
        """Weights for one limit, shape (n_resamples, n_families + 2): families, low, high pseudo-family.

        Multiply with totals to which two rows, those of the pseudo-families, were appended.
        """
        one_of("limit", limit, ("low", "high"))
        low, high = self.low, self.high
        if self.kind == "cp":
            unused = np.zeros_like(self.low)
            low, high = (low, unused) if limit == "low" else (unused, high)
        return np.column_stack([self.families, low, high])


def dirichlet_weights(
    n_families: int, n_resamples: int, *, kind: Kind, rng: np.random.Generator | int
) -> DirichletWeights:
    r"""Draw the weights of the family interval, for functionals without a closed form.

    Use it for functionals of several ratios. Not for one mean or ratio, where `family_interval` has the exact
    law.

    Parameters
    ----------
    n_families, n_resamples : int
        At least 1.
    kind : {"jeffreys", "cp"}
        As in `family_interval`.
    rng : Generator or int
        Source of randomness, or its seed.

    Returns
    -------
    DirichletWeights
        The quantile of a functional over the rows estimates a limit; over `rows("low")` for the lower,
        over `rows("high")` for the upper one.

    Notes
    -----
    Weights :math:`D \sim \mathrm{Dirichlet}(1, \dots, 1, w)` with the pseudo-families of `family_interval`.

    References
    ----------
    Rubin, D. B. (1981). Annals of Statistics 9, 130-134. doi:10.1214/aos/1176345338

    Examples
    --------
    >>> weights = dirichlet_weights(40, 20_000, kind="cp", rng=1)
    >>> scores = np.array([1.0] * 29 + [0.5] * 10 + [0.0] + [0.0, 1.0])  # with the pseudo-families
    >>> print(np.quantile(weights.rows("low") @ scores, 0.025).round(3))  # exact: 0.735
    0.73...
    """
    one_of("kind", kind, KINDS)
    families = as_count("n_families", n_families, minimum=1)
    resamples = as_count("n_resamples", n_resamples, minimum=1)
    generator = np.random.default_rng(rng)
    observed = generator.standard_exponential((resamples, families))
    n_pseudo = 2 if kind == "jeffreys" else 1
    pseudo = generator.standard_gamma(PSEUDO_WEIGHT[kind], (resamples, n_pseudo))
    total = observed.sum(axis=1) + pseudo.sum(axis=1)
    return DirichletWeights(
        families=observed / total[:, None],
        low=pseudo[:, 0] / total,
        high=pseudo[:, -1] / total,
        kind=kind,
    )


def _pseudo_size(pseudo_size: float | None, sizes: Floats, kind: Kind) -> float:
    if pseudo_size is None:
        return float(sizes.max() if kind == "cp" else sizes.mean())
    if not (math.isfinite(pseudo_size) and pseudo_size > 0):
        raise PairstatsError(
            f"`pseudo_size` must be a positive number, but got {pseudo_size!r}. "
            "Pass the number of decisions planned for the largest family."
        )
    return float(pseudo_size)


def _unit_scores(values: Floats, low: float, high: float) -> Floats:
    """Scores as shares of the range; equal up to rounding becomes equal, so that equal ones merge."""
    return np.clip(np.round((values - low) / (high - low), 13), 0.0, 1.0)


def _from_unit(share: float, low: float, high: float) -> float:
    return low if share == 0.0 else high if share == 1.0 else low + share * (high - low)


def _lower_limit(types: FamilyKinds, pseudo: float, kind: Kind, tail: float) -> float:
    """Lower limit on [0, 1]; the upper one is the lower one of the mirrored scores."""
    if not types.unit.any():
        return 0.0
    ends = [0.0, 1.0] if kind == "jeffreys" else [0.0]
    values = np.concatenate([types.unit, ends])
    counts = np.concatenate([types.sizes, [pseudo] * len(ends)])
    weights = np.concatenate([types.weights, [PSEUDO_WEIGHT[kind]] * len(ends)])
    return dirichlet_mean_quantile(tail, *merged(values, weights, counts))
