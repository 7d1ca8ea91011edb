"""Bayesian bootstrap: the posterior of a mean of family scores, and P(A is better than B by at least delta).

The Dirichlet weights are those of the family interval, so that a posterior interval of the "jeffreys" kind
is the family-Jeffreys interval. Tail probabilities come from a contour integral, not from draws.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.checks import as_count, as_scores, as_sizes, check_bounds, check_level
from pairstats.numeric.dirichlet import dirichlet_mean_cdf, dirichlet_mean_quantile, merged
from pairstats.numeric.draws import seeded
from pairstats.numeric.family import PSEUDO_WEIGHT

Floats = NDArray[np.float64]

PRIORS = ("jeffreys", "none")


@dataclass(frozen=True, slots=True)
class FamilyPosterior:
    """Posterior law of an item-weighted mean.

    Attributes
    ----------
    values, weights, sizes : ndarray of float, shape (K,)
        Distinct family scores, ascending; their Dirichlet weights, and sizes. Pseudo-families are included.
    prior : {"jeffreys", "none"}
    """

    values: Floats
    weights: Floats
    sizes: Floats
    prior: str

    def cdf(self, x: float) -> float:
        """Probability that the mean is at most `x`."""
        if self.values[0] == self.values[-1]:
            return float(x >= self.values[0])
        return float(dirichlet_mean_cdf(x, self.values, self.weights, self.sizes))

    def at_least(self, x: float) -> float:
        """Probability that the mean is at least `x`; small ones are right relative to themselves."""
        if self.values[0] == self.values[-1]:
            return float(x <= self.values[0])
        # The mirrored law gives the upper tail without a subtraction from 1.
        return float(dirichlet_mean_cdf(-x, -self.values[::-1], self.weights[::-1], self.sizes[::-1]))

    def quantile(self, q: float) -> float:
        """Value that the mean is below with probability `q`, in (0, 1)."""
        level, low, high = check_level(q), float(self.values[0]), float(self.values[-1])
        if low == high:
            return low
        unit = (self.values - low) / (high - low)
        return low + (high - low) * dirichlet_mean_quantile(level, unit, self.weights, self.sizes)

    def interval(self, confidence_level: float = 0.95) -> tuple[float, float]:
        """Equal-tailed credible interval."""
        tail = (1 - check_level(confidence_level)) / 2
        return self.quantile(tail), self.quantile(1 - tail)

    @property
    def mean(self) -> float:
        """Posterior mean."""
        return self._moments()[0]

    @property
    def std(self) -> float:
        """Posterior standard deviation."""
        return math.sqrt(max(self._moments()[1], 0.0))

    def _moments(self) -> tuple[float, float]:
        r"""Mean and variance, from :math:`E[(Z/N)^k] = \int t^{k-1} E[Z^k e^{-tN}] dt` for Gamma sums Z, N."""
        centre = float(self.weights * self.sizes @ self.values / (self.weights @ self.sizes))
        gaps = self.sizes * (self.values - centre)
        step = 0.1
        scale = float(self.weights @ self.sizes)
        # The integrand falls as a power of t with the total weight as exponent.
        last = math.log(float(self.sizes.max() / self.sizes.min())) + 45.0 * max(
            1.0, 2.0 / self.weights.sum()
        )
        t = np.exp(np.arange(-45.0, last, step)) / scale
        first, second = np.zeros(t.size), np.zeros(t.size)
        log = np.zeros(t.size)
        for gap, weight, size in zip(gaps, self.weights, self.sizes, strict=True):
            shrunk = gap / (1 + t * size)
            first += weight * shrunk
            second += weight * shrunk**2
            log -= weight * np.log1p(t * size)
        damping = np.exp(log)
        shift = step * float((first * damping) @ t)
        return centre + shift, step * float(((first**2 + second) * damping) @ t**2) - shift**2


@dataclass(frozen=True, slots=True)
class ProbabilityBetter:
    """Posterior probabilities of a difference.

    Attributes
    ----------
    better : float
        P(A - B >= delta).
    within : float
        P(-delta < A - B < delta); with delta 0, 0.
    worse : float
        P(A - B <= -delta); with delta 0, P(A - B <= 0).
    delta : float
    posterior : FamilyPosterior
        Of the difference.
    method : str
    """

    better: float
    within: float
    worse: float
    delta: float
    posterior: FamilyPosterior
    method: str


def family_posterior(
    scores: ArrayLike,
    *,
    sizes: ArrayLike | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    prior: str = "jeffreys",
) -> FamilyPosterior:
    r"""Bayesian bootstrap posterior of a mean of family scores.

    Use it for a posterior without a model of the scores. Not for a guarantee on repetition, which
    `family_interval` gives from the same weights.

    Parameters
    ----------
    scores : array_like, shape (G,)
        Mean score of each family, within `bounds`.
    sizes : array_like, shape (G,), optional
        Decisions behind each score; the posterior is then that of the item-weighted mean.
    bounds : tuple of float
        Range of a score.
    prior : {"jeffreys", "none"}
        "jeffreys": half a pseudo-family at either end of the range. "none": Rubin's, whose posterior is a
        single point where all families are equal; not to be used near a ceiling.

    Returns
    -------
    FamilyPosterior
        With ``cdf(x)``, ``at_least(x)``, ``quantile(q)``, ``interval(level)``, ``mean``, ``std``.

    Notes
    -----
    The law of :math:`\sum D_i n_i x_i / \sum D_i n_i` with Dirichlet weights, 1 for each family. Two-point
    scores have a beta posterior.

    References
    ----------
    Rubin, D. B. (1981). The Bayesian bootstrap. Annals of Statistics 9, 130-134.
    doi:10.1214/aos/1176345338

    Examples
    --------
    >>> posterior = family_posterior([1.0] * 29 + [0.5] * 10 + [0.0])
    >>> round(posterior.at_least(0.8), 4), round(posterior.mean, 4)
    (0.8427, 0.8415)
    """
    one_of("prior", prior, PRIORS)
    values = as_scores("scores", scores)
    counts = as_sizes(sizes, values.size)
    low, high = check_bounds(values, bounds)
    values = np.clip(np.round(values, 13), low, high)
    weights = np.ones(values.size)
    if prior == "jeffreys":
        values = np.append(values, [low, high])
        weights = np.append(weights, [PSEUDO_WEIGHT["jeffreys"]] * 2)
        counts = np.append(counts, [counts.mean()] * 2)
    return FamilyPosterior(*merged(values, weights, counts), prior=prior)


def probability_better(
    differences: ArrayLike,
    *,
    delta: float = 0.0,
    sizes: ArrayLike | None = None,
    bounds: tuple[float, float] = (-1.0, 1.0),
    prior: str = "jeffreys",
) -> ProbabilityBetter:
    r"""Posterior probability that A is better than B by at least delta.

    Use it to describe a comparison to readers who ask how sure. Not for a registered claim: near .975 it says
    about what a one-sided p of .025 does, without a guarantee on repetition; `pairstats.numeric.sign_flip` and
    `pairstats.numeric.family_interval` cover that.

    Parameters
    ----------
    differences : array_like, shape (G,)
        Mean of A minus mean of B in each family.
    delta : float, default 0
        Smallest difference that matters; at least 0.
    sizes : array_like, shape (G,), optional
        Decisions behind each difference.
    bounds : tuple of float
        Range of a difference.
    prior : {"jeffreys", "none"}

    Returns
    -------
    ProbabilityBetter

    Notes
    -----
    :math:`P(\sum D_i n_i d_i / \sum D_i n_i \ge \delta)` with the Dirichlet weights of `family_posterior`,
    exact.

    References
    ----------
    Rubin, D. B. (1981). Annals of Statistics 9, 130-134. doi:10.1214/aos/1176345338

    Examples
    --------
    >>> found = probability_better([0.5] * 8 + [0] * 30 + [-0.5] * 2, delta=0.01)
    >>> round(found.better, 3), round(found.worse, 3)
    (0.931, 0.029)
    """
    if not (math.isfinite(delta) and delta >= 0):
        raise PairstatsError(f"`delta` must be a number of at least 0, but got {delta!r}. Write 0.02.")
    posterior = family_posterior(differences, sizes=sizes, bounds=bounds, prior=prior)
    better, worse = posterior.at_least(float(delta)), posterior.cdf(-float(delta))
    return ProbabilityBetter(
        better=better,
        within=max(0.0, 1.0 - better - worse) if delta else 0.0,
        worse=worse,
        delta=float(delta),
        posterior=posterior,
        method=f"Bayesian bootstrap, {prior} prior, exact",
    )


@dataclass(frozen=True, slots=True)
class PosteriorDraws:
    """Draws from a posterior.

    Attributes
    ----------
    values : ndarray, shape (B,) or (B, ...)
        The statistic under each draw of the weights.
    n_resamples : int
    seed : int or None
        Derived from the totals, or the one given; None where a generator was given.
    """

    values: Floats
    n_resamples: int
    seed: int | None

    def quantile(self, q: float) -> Floats:
        """Quantile of the statistic; a limit of a credible interval."""
        return np.quantile(self.values, q, axis=0, method="inverted_cdf")

    def at_least(self, value: float) -> Floats:
        """Share of draws in which the statistic is at least a value."""
        share: Floats = np.mean(self.values >= value, axis=0)
        return share


def bayesian_bootstrap(
    totals: ArrayLike,
    statistic: Callable[[Floats], ArrayLike],
    *,
    ends: ArrayLike | None = None,
    n_resamples: int = 10_000,
    rng: Any = None,
) -> PosteriorDraws:
    r"""Draws from the posterior of any function of weighted family totals.

    Use it for quantities without a closed form: a difference of two ratios, a smaller-of-two, a rank. Not for a
    mean of family scores, whose law `family_posterior` has exactly.

    Parameters
    ----------
    totals : array_like, shape (G,) or (G, M)
        Totals of each family.
    statistic : callable
        From weighted totals, shape (B, M), to values, shape (B,) or (B, ...). The weights of a draw sum to
        1: use ratios.
    ends : array_like, shape (2, M), optional
        Totals of the two pseudo-families of weight 1/2, worst and best; without them the prior is "none".
    n_resamples : int, default 10000
    rng : int, Generator or SeedSequence, optional
        Left out, the seed follows from the data.

    Returns
    -------
    PosteriorDraws
        ``values`` with one row a draw; ``quantile(q)`` gives limits, ``at_least(x)`` probabilities.

    Notes
    -----
    Weights are Dirichlet: 1 for each family and 1/2 for each of the pseudo-families in `ends`; the statistic is
    taken of :math:`\sum_i D_i s_i` for every draw.

    References
    ----------
    Rubin, D. B. (1981). Annals of Statistics 9, 130-134. doi:10.1214/aos/1176345338

    Examples
    --------
    >>> draws = bayesian_bootstrap([[1, 2], [2, 2], [2, 2], [0, 2]], lambda t: t[:, 0] / t[:, 1], rng=1)
    >>> draws.values.shape, bool(0.6 < draws.values.mean() < 0.65)
    ((10000,), True)
    """
    table = np.asarray(totals, dtype=np.float64)
    table = table[:, None] if table.ndim == 1 else table
    if table.ndim != 2 or table.size == 0:
        raise PairstatsError(
            f"`totals` must have a row for each of one or more families, but has shape {np.shape(totals)}."
        )
    as_scores("totals", table.ravel())
    draws = as_count("n_resamples", n_resamples, minimum=1)
    shapes = np.ones(len(table))
    if ends is not None:
        pair = np.asarray(ends, dtype=np.float64).reshape(2, -1)
        if pair.shape[1] != table.shape[1]:
            raise PairstatsError(
                f"`ends` must have two rows of {table.shape[1]} totals, but its shape is {np.shape(ends)}."
            )
        table = np.vstack([table, pair])
        shapes = np.append(shapes, [PSEUDO_WEIGHT["jeffreys"]] * 2)
    order = np.lexsort(table.T)  # so that the order of the families does not matter
    generator, seed = seeded(table, rng)
    weights = generator.standard_gamma(shapes[order], (draws, len(table)))
    weights /= weights.sum(axis=1, keepdims=True)
    values = np.asarray(statistic(weights @ table[order]), dtype=np.float64)
    return PosteriorDraws(values, draws, seed)
