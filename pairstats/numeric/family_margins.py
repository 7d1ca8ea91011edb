"""Family differences held against a margin: limits, and one-sided p-values, by one rule."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtr

from pairstats.errors import PairstatsError
from pairstats.numeric.dirichlet import dirichlet_mean_cdf
from pairstats.numeric.family import family_interval
from pairstats.numeric.sandwich import cr2_interval

Floats = NDArray[np.float64]

SCORES = ("obuchowski", "durkalski", "yang")
"""Chi-square forms of two systems on families, with the difference under the null in place of 0."""

FAMILY_METHODS = ("family-cp", "family-jeffreys", "t", *SCORES)


@dataclass(frozen=True, slots=True)
class FamilyGaps:
    """Family differences with the rule that makes limits and tails from them.

    Attributes
    ----------
    values : ndarray, shape (G,)
        Mean difference of each family.
    sizes : ndarray, shape (G,)
        Decisions behind each.
    method : str
        One of `FAMILY_METHODS`.
    bounds : (float, float)
        Range of a difference.
    pseudo_size : float or None
        Size of the pseudo-family of the family intervals.
    """

    values: Floats
    sizes: Floats
    method: str
    bounds: tuple[float, float]
    pseudo_size: float | None

    @property
    def estimate(self) -> float:
        """Mean difference: family-weighted for "durkalski", otherwise item-weighted."""
        weights = np.ones_like(self.sizes) if self.method == "durkalski" else self.sizes
        return float(weights @ self.values / weights.sum())

    def limits(self, level: float) -> tuple[float, float]:
        """Two-sided limits at a confidence level."""
        if self.method == "t":
            found = cr2_interval(self.values, sizes=self.sizes, confidence_level=level)
            return found.low, found.high
        if self.method in SCORES:
            return self._score_limits(level)
        interval = family_interval(
            self.values,
            sizes=self.sizes,
            kind="cp" if self.method == "family-cp" else "jeffreys",
            bounds=self.bounds,
            confidence_level=level,
            pseudo_size=self.pseudo_size,
        )
        return interval.low, interval.high

    def t(self, end: float) -> tuple[float, float]:
        """Statistic t against an end, and its degrees of freedom."""
        found = cr2_interval(self.values, sizes=self.sizes)
        if not found.std_error > 1e-12 * max(1.0, float(np.abs(self.values).max())):
            raise PairstatsError(
                "The families must differ from each other for a t test, but all have the same difference "
                f"({self.values[0]:g}). Use method='family-cp', which needs the range of a difference."
            )
        return (self.estimate - end) / found.std_error, found.df

    def z(self, end: float) -> float:
        """Score statistic against an end; 0 where the families lie on it without spread."""
        totals, sizes, factor = self._parts()
        away = totals - sizes * end
        square = away @ away
        if self.method == "yang":
            square = (square + np.sum((totals - sizes * self.estimate) ** 2)) / 2
        total = float(away.sum())
        return (
            total / math.sqrt(factor * square) if square > 0 else math.copysign(math.inf, total) * bool(total)
        )

    def tail(self, end: float, *, below: bool) -> float:
        """One-sided p-value against an end: the level at which the limit reaches it."""
        if not math.isfinite(end):
            return 1.0
        if self.method == "t":
            t, df = self.t(end)
            return float(stdtr(df, -t if below else t))
        if self.method in SCORES:
            z = self.z(end)
            return float(ndtr(-z if below else z))
        values, weights, sizes = self._with_pseudo(below=below)
        return float(dirichlet_mean_cdf(end if below else -end, values, weights, sizes))

    def _parts(self) -> tuple[Floats, Floats, float]:
        """Family totals and sizes as the form weights them, and the factor of their variance."""
        if self.method == "durkalski":
            return self.values, np.ones_like(self.values), 1.0
        families = self.values.size
        if families < 2:
            raise PairstatsError(f"A {self.method} test needs at least two families, but there is 1.")
        return self.values * self.sizes, self.sizes, families / (families - 1)

    def _score_limits(self, level: float) -> tuple[float, float]:
        """Differences at which the statistic reaches the normal quantile: roots of a quadratic."""
        totals, sizes, factor = self._parts()
        k = factor * float(ndtri((1 + level) / 2)) ** 2
        square, cross, own = totals @ totals, totals @ sizes, sizes @ sizes
        if self.method == "yang":
            spread = np.sum((totals - sizes * self.estimate) ** 2)
            square, cross, own = (square + spread) / 2, cross / 2, own / 2
        a = float(sizes.sum() ** 2 - k * own)
        b = float(totals.sum() * sizes.sum() - k * cross)
        c = float(totals.sum() ** 2 - k * square)
        if a <= 0:
            return self.bounds  # fewer families than the squared quantile reject nothing
        root = math.sqrt(max(b * b - a * c, 0.0))
        low, high = ((b + sign * root) / a for sign in (-1, 1))
        return max(low, self.bounds[0]), min(high, self.bounds[1])

    def _with_pseudo(self, *, below: bool) -> tuple[Floats, Floats, Floats]:
        """Families and pseudo-families for the lower limit; mirrored for the upper one."""
        cp = self.method == "family-cp"
        pseudo = self.pseudo_size or float(self.sizes.max() if cp else self.sizes.mean())
        worst, best = self.bounds if below else (-self.bounds[1], -self.bounds[0])
        ends: list[Any] = [worst] if cp else [worst, best]
        weight = 1.0 if cp else 0.5
        return (
            np.concatenate([self.values if below else -self.values, ends]),
            np.concatenate([np.ones(self.values.size), [weight] * len(ends)]),
            np.concatenate([self.sizes, [pseudo] * len(ends)]),
        )
