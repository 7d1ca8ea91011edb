"""Kinds of interval as frozen values: what a protocol names, and how limits come from family totals."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from pairstats.arguments import checked_value
from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.checks import tails
from pairstats.numeric.draws import derived_seed
from pairstats.numeric.family import dirichlet_weights, family_interval
from pairstats.numeric.limits import order_statistic, quantile_error
from pairstats.numeric.resample import bootstrap_interval
from pairstats.numeric.sandwich import cr2_interval

DRAWS = 20_000
"""Monte-Carlo draws of the family interval where no closed form exists."""

OFF_MODE = 10
"""Families that must differ from the commonest score before their spread can be trusted."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of one interval, how they were computed, and what must be said beside them."""

    low: float
    high: float
    method: str
    mc_error: float | None = None
    seed: int | str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Totals:
    """What an interval is made from: signed totals of each family and their counts, and the known range.

    Attributes
    ----------
    num, den : ndarray, shape (G,)
        The value is ``num.sum() / den.sum()``; every count is positive.
    bounds : tuple of float or None
        Range of ``num / den`` of one family.
    families : tuple of str
        Their names, where several comparisons must be laid beside each other.
    """

    num: np.ndarray
    den: np.ndarray
    bounds: tuple[float, float] | None
    families: tuple[str, ...] = ()

    @property
    def means(self) -> np.ndarray:
        """Family means, shape (G,)."""
        if not self.den.all():
            raise PairstatsError(
                f"Every family must have a denominator, but {int(np.sum(self.den == 0))} have a numerator only. "
                "Take a denominator that every family has, such as a count of replies."
            )
        return self.num / self.den

    def in_range(self, method: str) -> tuple[float, float]:
        """Range of the values; an error where there is none."""
        if self.bounds is None:
            raise PairstatsError(
                f"The {method} interval needs values in a known range, but this quantity has none. Give it "
                "bounds=(low, high), or use interval=CR2()."
            )
        return self.bounds


def near_one_value(totals: Totals) -> tuple[str, ...]:
    """Say that an interval from the spread of families is too short where nearly all have one score."""
    _, counts = np.unique(np.round(totals.means, 9), return_counts=True)
    off = int(counts.sum() - counts.max())
    if off >= OFF_MODE or counts.max() <= off:
        return ()
    return (
        f"only {off} families differ from the modal score: limits from the spread of families are too short",
    )


@checked_value
@dataclass(frozen=True, slots=True)
class FamilyInterval:
    """Quantiles of a Dirichlet-weighted mean of family scores with a pseudo-family added: the default.

    Use it for every value in a known range; kind "cp" for registered or one-sided claims and below 10 families.
    Not for values without a range, which `CR2` covers.

    Parameters
    ----------
    kind : {"jeffreys", "cp"}, default "jeffreys"
        On 0/1 families "cp" is Clopper-Pearson and "jeffreys" the Jeffreys interval.

    Notes
    -----
    Formula and sources: `family_interval` of `pairstats.numeric`.

    Examples
    --------
    >>> FamilyInterval("cp").name
    'family-cp'
    """

    kind: Literal["jeffreys", "cp"] = "jeffreys"

    def __post_init__(self) -> None:
        one_of("kind", self.kind, ("jeffreys", "cp"))

    @property
    def name(self) -> str:
        """Name in the ``method`` column and in protocol files."""
        return f"family-{self.kind}"

    def limits(self, totals: Totals, confidence_level: float, alternative: str) -> Limits:
        """Limits from one column of family totals."""
        bounds = totals.in_range(self.name)
        found = family_interval(
            totals.means, sizes=totals.den, kind=self.kind, bounds=bounds,
            confidence_level=confidence_level, alternative=alternative,
        )  # fmt: skip
        few = len(totals.den) < 10 and self.kind == "jeffreys"
        notes = (f"{len(totals.den)} families: family-cp is safer",) if few else ()
        return Limits(found.low, found.high, self.name, notes=notes)

    def limits_of(
        self,
        value: Callable[[np.ndarray, np.ndarray], np.ndarray],
        num: np.ndarray,
        den: np.ndarray,
        ends: tuple[np.ndarray, np.ndarray],
        confidence_level: float,
        alternative: str,
    ) -> Limits:
        """Limits of a functional of several ratios, by Monte Carlo over the same Dirichlet weights.

        Parameters
        ----------
        value : callable
            From weighted totals ``(num, den)``, each (B, C), to values (B,).
        num, den : ndarray, shape (G, C)
        ends : tuple of ndarray, shape (C,)
            Scores of the two pseudo-families in each cell: the worst case for `value`, then the best.
        confidence_level : float
        alternative : {"two-sided", "less", "greater"}
        """
        seed = derived_seed(np.hstack([num, den]))
        weights = dirichlet_weights(len(num), DRAWS, kind=self.kind, rng=seed)
        sizes = den.max(axis=0) if self.kind == "cp" else den.mean(axis=0)
        all_num = np.vstack([num, *(end * sizes for end in ends)])
        all_den = np.vstack([den, sizes, sizes])
        limits, errors = [], []
        worst, best = (float(value(end[None] * sizes, sizes[None])[0]) for end in ends)
        for side, tail, open_end in zip(
            ("low", "high"), tails(confidence_level, alternative), (worst, best), strict=True
        ):
            if tail is None:
                limits.append(open_end)
                continue
            rows = weights.rows(side)  # type: ignore[arg-type]
            ordered = np.sort(value(rows @ all_num, rows @ all_den))
            level = tail if side == "low" else 1 - tail
            quantile = functools.partial(order_statistic, ordered)
            limits.append(quantile(level))
            errors.append(quantile_error(level, quantile, DRAWS, "percentile", 0.0))
        return Limits(limits[0], limits[1], f"{self.name} (Monte Carlo)", max(errors), seed)


@checked_value
@dataclass(frozen=True, slots=True)
class Bootstrap:
    """Family bootstrap: exact law, or Monte Carlo when `n_resamples` is given.

    Use it to reproduce or check published intervals. Not near a ceiling, nor where fewer than 10 families differ
    from the commonest score: `FamilyInterval` covers both.

    Parameters
    ----------
    method : {"percentile", "basic", "bca", "bootstrap-t"}, default "percentile"
    n_resamples : int, optional
        Draws; by default the exact law of infinitely many.
    seed : int, optional
        By default derived from the data, and printed.
    at_collapse : {"family-cp", "null"}, optional
        What stands in a table when every resample gives one value: by default the true law (both limits
        equal, with a note), the family-CP limits, or nothing.

    Notes
    -----
    Formulas and sources: `bootstrap_interval` and `exact_law` of `pairstats.numeric`.

    Examples
    --------
    >>> Bootstrap("bca").name
    'bca'
    """

    method: Literal["percentile", "basic", "bca", "bootstrap-t"] = "percentile"
    n_resamples: int | None = None
    seed: int | None = None
    at_collapse: Literal["family-cp", "null"] | None = None

    def __post_init__(self) -> None:
        one_of("method", self.method, ("percentile", "basic", "bca", "bootstrap-t"))
        one_of("at_collapse", self.at_collapse, (None, "family-cp", "null"))

    @property
    def name(self) -> str:
        """Name in the ``method`` column and in protocol files."""
        return self.method

    def limits(self, totals: Totals, confidence_level: float, alternative: str) -> Limits:
        """Limits from one column of family totals."""
        found = bootstrap_interval(
            totals.means, sizes=totals.den, method=self.method, n_resamples=self.n_resamples, rng=self.seed,
            confidence_level=confidence_level, alternative=alternative, bounds=totals.bounds,
        )  # fmt: skip
        if found.collapsed:
            return self._collapsed(totals, found, confidence_level, alternative)
        few = (found.n_off_mode or 0) < OFF_MODE
        notes = (
            f"only {found.n_off_mode} families differ from the modal score: the bootstrap is not "
            f"trustworthy below {OFF_MODE}",
        )
        errors = [e for e in found.mc_error or () if e is not None and not math.isnan(e)]
        return Limits(
            found.low, found.high, found.method, max(errors, default=None), found.seed, notes if few else ()
        )

    def _collapsed(self, totals: Totals, found: Any, confidence_level: float, alternative: str) -> Limits:
        note = "every resample gives one value"
        if self.at_collapse == "family-cp":
            exact = FamilyInterval("cp").limits(totals, confidence_level, alternative)
            return Limits(
                exact.low, exact.high, exact.method, notes=(f"{note}: {self.method} replaced by family-cp",)
            )
        if self.at_collapse == "null":
            return Limits(math.nan, math.nan, found.method, notes=(f"{note}: no {self.method} interval",))
        return Limits(found.low, found.high, found.method, notes=(f"{note}: not an interval to quote",))


@checked_value
@dataclass(frozen=True, slots=True)
class CR2:
    """Cluster-robust t interval with Satterthwaite degrees of freedom.

    Use it for values without a known range: tokens, seconds, log loss. Not for scores in a range, which
    `FamilyInterval` covers, above all near a ceiling.

    Notes
    -----
    Formula and sources: `cr2_interval` of `pairstats.numeric`.

    Examples
    --------
    >>> CR2().name
    'cr2-t'
    """

    @property
    def name(self) -> str:
        """Name in the ``method`` column and in protocol files."""
        return "cr2-t"

    def limits(self, totals: Totals, confidence_level: float, alternative: str) -> Limits:
        """Limits from one column of family totals."""
        found = cr2_interval(
            totals.means, sizes=totals.den, confidence_level=confidence_level, alternative=alternative
        )
        return Limits(found.low, found.high, self.name, notes=near_one_value(totals))


class IntervalKind(Protocol):
    """Any kind of interval: those here, those of `pairstats.more_intervals`, or your own."""

    @property
    def name(self) -> str:
        """Name in the ``method`` column."""
        ...

    def limits(self, totals: Totals, confidence_level: float, alternative: str) -> Limits:
        """Limits from one column of family totals."""
        ...
