"""Dose trends by permutation of the doses, and interactions as differences of differences."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import permutations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.checks import as_count, as_scores, as_sizes, check_alternative, check_bounds
from pairstats.numeric.cochran import family_totals as family_totals
from pairstats.numeric.draws import seeded
from pairstats.numeric.exact import sign_flip
from pairstats.numeric.facing import nameless_rows
from pairstats.numeric.family import family_interval
from pairstats.numeric.lattice import common_lattice, lattice_steps
from pairstats.numeric.signsum import as_p

Floats = NDArray[np.float64]
Steps = NDArray[np.int64]

METHODS = ("exact", "monte-carlo", "normal")

LONGEST_LAW = 60_000
"""Lattice points of the exact law; its time grows with their square (about half a second for this one)."""

MOST_DOSES = 8
"""Doses of which all orders, up to 40,320, are listed."""


@dataclass(frozen=True, slots=True)
class TrendTest:
    """Test of a trend over doses.

    Attributes
    ----------
    statistic : float
        Sum over items and doses of dose times score.
    mean, std_dev : float
        Of the statistic, where doses change places at random.
    z : float
        (statistic - mean) / std_dev: the stratified Cochran-Armitage, or Page, trend; 0 without spread.
    p_value : float
        In (0, 1].
    n_informative : int
        Items, or families, whose scores differ between doses.
    p_floor : float or None
        Smallest p-value that these items could give, in any order of their scores; None for "normal".
    method : {"exact", "monte-carlo", "normal"}
    alternative : {"two-sided", "less", "greater"}
        "greater": scores grow with the dose.
    mc_error : float or None
        Standard error of a Monte-Carlo p-value, otherwise None.
    seed : int or None
        Of the orders that were drawn; None where none were.
    """

    statistic: float
    mean: float
    std_dev: float
    z: float
    p_value: float
    n_informative: int
    p_floor: float | None
    method: str
    alternative: str
    mc_error: float | None = None
    seed: int | None = None


def dose_trend(
    scores: ArrayLike,
    doses: ArrayLike,
    *,
    families: Sequence[Hashable] | NDArray[Any] | None = None,
    alternative: str = "two-sided",
    method: str | None = None,
    n_resamples: int = 9999,
    rng: Any = None,
) -> TrendTest:
    r"""Test whether scores rise or fall with a dose that was varied within each item.

    Use it for a dose that was registered before the outcomes. Not for one dose against a control, which
    `sign_flip` covers; nor as proof of a steady rise.

    It says nothing about the shape: a jump at the first dose is a trend too, so show the shares by dose.

    Parameters
    ----------
    scores : array_like, shape (n_items, k)
        One row an item, one column a dose; 0 and 1, or any finite scores.
    doses : array_like, shape (k,)
        Registered dose or rank of each column, not all equal.
    families : sequence, shape (n_items,), optional
        Family of each item: the doses of a whole family change places together, which is the claim about
        families. Left out, those of each item do: the claim about these items.
    alternative : {"two-sided", "less", "greater"}
    method : {"exact", "monte-carlo", "normal"}, optional
        "exact": all k! orders of the doses in each row. "monte-carlo": random orders,
        (b + 1) / (B + 1). "normal": the large-sample approximation. Left out, "exact" where it takes
        about a second at most, otherwise "monte-carlo".
    n_resamples : int
        Orders drawn by "monte-carlo".
    rng : int, Generator or SeedSequence, optional
        For "monte-carlo"; left out, the seed follows from the scores.

    Returns
    -------
    TrendTest

    Raises
    ------
    PairstatsError
        If the scores are no finite table, the doses do not fit, or "exact" is asked and too large.

    Notes
    -----
    :math:`T = \sum_i \sum_k w_k y_{ik}`; under the null each row's doses are in random order. Two-sided p is
    the chance of a T as far from its mean, which is not twice the smaller tail. The exact law is
    the convolution of the laws of the rows, on the lattice of doses and scores.

    References
    ----------
    Mantel, N. (1963). Journal of the American Statistical Association 58, 690-700.
    doi:10.1080/01621459.1963.10500879
    Page, E. B. (1963). Journal of the American Statistical Association 58, 216-230.
    doi:10.1080/01621459.1963.10500843

    Examples
    --------
    >>> found = dose_trend([[0, 0, 1], [0, 1, 1], [0, 0, 1], [1, 0, 1]], [1, 3, 6])
    >>> found.statistic, round(found.p_value, 4), found.method
    (28.0, 0.0741, 'exact')
    """
    side = check_alternative(alternative)
    if method is not None:
        one_of("method", method, METHODS)
    table = family_totals(scores, families)
    weights = _doses(doses, table.shape[1])
    spread = np.ptp(table, axis=1) > 1e-12 * max(1.0, float(np.abs(table).max()))
    statistic, mean = float((table @ weights).sum()), float(table.sum() * weights.mean())
    if not spread.any():
        return TrendTest(statistic, mean, 0.0, 0.0, 1.0, 0, 1.0, method or "exact", side)
    rows = table[spread] - table[spread].mean(axis=1, keepdims=True)
    centred = weights - weights.mean()
    variance = float(centred @ centred) * float((rows**2).sum()) / (weights.size - 1)
    away, deviation = float((rows @ centred).sum()), math.sqrt(variance)
    law = None if method in ("monte-carlo", "normal") else _exact_law(table[spread], weights)
    if method == "exact" and law is None:
        raise PairstatsError(
            f"The exact law must have at most {LONGEST_LAW} points on a lattice of doses and scores and at "
            f"most {MOST_DOSES} doses, but these {len(rows)} rows with {weights.size} doses do not. "
            "Use method='monte-carlo'."
        )
    error: float | None = None
    seed: int | None = None
    floor: float | None = None
    if law is not None:
        chosen, p, floor = "exact", _law_p(law, side, law.observed), _law_p(law, side, law.extreme(side))
    elif method == "normal":
        chosen, p = "normal", _normal_p(away / deviation, side)
    else:
        chosen, drawn = "monte-carlo", as_count("n_resamples", n_resamples, minimum=1)
        generator, seed = seeded(np.sort(table, axis=1), rng)
        p = (_random_hits(rows, centred, away, side, drawn, generator) + 1) / (drawn + 1)
        floor = 1 / (drawn + 1)
        error = math.sqrt(p * (1 - p) / drawn)
    return TrendTest(
        statistic, mean, deviation, away / deviation, as_p(p), len(rows), floor, chosen, side, error, seed
    )


@dataclass(frozen=True, slots=True)
class _Law:
    """Law of the trend statistic, in whole steps from its smallest value; all compared numbers are whole."""

    probability: Floats
    observed: int
    mean: tuple[int, int]
    """As a fraction: numerator and denominator."""

    def extreme(self, side: str) -> int:
        top = self.probability.size - 1
        numerator, denominator = self.mean
        if side == "two-sided":
            return top if denominator * top - numerator >= numerator else 0
        return top if side == "greater" else 0


def _law_p(law: _Law, side: str, at: int) -> float:
    if side == "greater":
        return math.fsum(law.probability[at:])
    if side == "less":
        return math.fsum(law.probability[: at + 1])
    numerator, denominator = law.mean
    distance = np.abs(denominator * np.arange(law.probability.size, dtype=np.int64) - numerator)
    return math.fsum(law.probability[distance >= abs(denominator * at - numerator)])


def _exact_law(table: Floats, weights: Floats) -> _Law | None:
    """Convolution of the laws of the rows, all terms positive; None where too long or off every lattice."""
    k = weights.size
    above = table - table.min(axis=1, keepdims=True)
    spacings = common_lattice(above.ravel()), common_lattice(weights - weights.min())
    if k > MOST_DOSES or spacings[0] is None or spacings[1] is None:
        return None
    steps, doses = lattice_steps(above, spacings[0]), lattice_steps(weights - weights.min(), spacings[1])
    ordered = np.sort(steps, axis=1)
    rising, falling = ordered @ np.sort(doses), ordered @ np.sort(doses)[::-1]
    if int((rising - falling).sum()) + 1 > LONGEST_LAW:
        return None
    law = np.ones(1)
    for row, count in zip(*np.unique(ordered, axis=0, return_counts=True), strict=True):
        law = np.convolve(law, _power(_row_law(row, doses), int(count)))
    start = int(falling.sum())
    return _Law(law, int((steps @ doses).sum()) - start, (int(steps.sum()) * int(doses.sum()) - k * start, k))


def _row_law(row: Steps, doses: Steps) -> Floats:
    """Law of one row's sum of dose times score over all orders, from its smallest value."""
    orders = np.array(sorted(set(permutations(row.tolist()))), dtype=np.int64)
    sums = orders @ doses
    return np.bincount(sums - sums.min()) / len(orders)


def _power(law: Floats, n: int) -> Floats:
    """Law of the sum of n independent draws, by repeated squaring."""
    power = np.ones(1)
    while n:
        if n & 1:
            power = np.convolve(power, law)
        n >>= 1
        if n:
            law = np.convolve(law, law)
    return power


def _random_hits(
    rows: Floats, centred: Floats, away: float, side: str, n_resamples: int, rng: np.random.Generator
) -> int:
    ordered, centred = nameless_rows(rows), np.sort(centred)
    near = 1e-9 * float(np.abs(rows).sum() * np.abs(centred).max())
    hits, block = 0, max(1, 2**22 // rows.size)
    for start in range(0, n_resamples, block):
        size = min(block, n_resamples - start)
        shuffled = rng.permuted(np.broadcast_to(ordered, (size, *ordered.shape)), axis=2)
        sums = shuffled.sum(axis=1) @ centred
        if side == "two-sided":
            hits += int((np.abs(sums) >= abs(away) - near).sum())
        else:
            hits += int((sums >= away - near if side == "greater" else sums <= away + near).sum())
    return hits


def _normal_p(z: float, side: str) -> float:
    tail = {"two-sided": 2 * ndtr(-abs(z)), "greater": ndtr(-z), "less": ndtr(z)}
    return float(tail[side])


def _doses(doses: ArrayLike, k: int) -> Floats:
    weights = as_scores("doses", doses)
    if weights.size != k:
        raise PairstatsError(
            f"`doses` must have one entry for each of the {k} columns of scores, but it has {weights.size}. "
            "Pass the dose of each column, in the same order."
        )
    if np.ptp(weights) == 0:
        raise PairstatsError(
            f"`doses` must differ, but all are {weights[0]:g}. Pass the registered doses, or their ranks."
        )
    return weights


@dataclass(frozen=True, slots=True)
class InteractionTest:
    """Difference of two differences over families.

    Attributes
    ----------
    estimate, low, high : float
        (first - second at the first level) - (first - second at the second level), with its limits.
    p_value : float
        Exact sign-flip, in (0, 1].
    p_floor : float
        Smallest p-value that this number of families can give.
    n_nonzero : int
        Families with an interaction of their own.
    confidence_level : float
    alternative : {"two-sided", "less", "greater"}
    method : str
    """

    estimate: float
    low: float
    high: float
    p_value: float
    p_floor: float
    n_nonzero: int
    confidence_level: float
    alternative: str
    method: str


def interaction_test(
    scores: ArrayLike,
    *,
    sizes: ArrayLike | None = None,
    kind: Literal["jeffreys", "cp"] = "jeffreys",
    bounds: tuple[float, float] = (0.0, 1.0),
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
) -> InteractionTest:
    r"""Whether the difference of two systems is itself different at two levels of a second factor.

    Use it to ask whether an effect differs between two settings. Not by comparing two p-values, one of which is
    small; for the effect itself `sign_flip` is the test.

    Parameters
    ----------
    scores : array_like, shape (G, 2, 2)
        Mean score of each family: systems by levels.
    sizes : array_like, shape (G,), optional
        Decisions behind the scores of a family, equal in its four cells; ones by default.
    kind : {"jeffreys", "cp"}
        Family interval for the difference of differences.
    bounds : (float, float)
        Range of a score; a difference of differences reaches twice its width either way.
    confidence_level : float
        In (0, 1).
    alternative : {"two-sided", "less", "greater"}

    Returns
    -------
    InteractionTest

    Raises
    ------
    PairstatsError
        If the scores are not a finite table of that shape, or outside `bounds`.

    Notes
    -----
    With :math:`d_f = (y_{f11} - y_{f21}) - (y_{f12} - y_{f22})` the test flips the signs of :math:`d_f`. It is
    exact where they are symmetric without interaction, as when the two differences of a family exchange.

    References
    ----------
    Canay, I. A., Romano, J. P. & Shaikh, A. M. (2017). Econometrica 85, 1013-1030. doi:10.3982/ECTA13081

    Examples
    --------
    >>> found = interaction_test([[[1, 0], [0, 0]]] * 6 + [[[1, 1], [0, 0]]] * 4)
    >>> found.estimate, found.p_value
    (0.6, 0.03125)
    """
    cells = np.array(scores, dtype=np.float64)
    if cells.ndim != 3 or cells.shape[1:] != (2, 2) or len(cells) == 0:
        raise PairstatsError(
            "`scores` must hold two systems by two levels for each family, but its shape is "
            f"{cells.shape}. Pass an array of shape (families, 2, 2)."
        )
    low, high = check_bounds(as_scores("scores", cells.ravel()), bounds)
    counts = as_sizes(sizes, len(cells))
    gaps = (cells[:, 0, 0] - cells[:, 1, 0]) - (cells[:, 0, 1] - cells[:, 1, 1])
    flip = sign_flip(gaps * counts, alternative=alternative)
    reach = 2 * (high - low)
    interval = family_interval(
        gaps,
        sizes=counts,
        kind=kind,
        bounds=(-reach, reach),
        confidence_level=confidence_level,
        alternative=alternative,
    )
    return InteractionTest(
        estimate=float(counts @ gaps / counts.sum()),
        low=interval.low,
        high=interval.high,
        p_value=flip.p_value,
        p_floor=flip.p_floor,
        n_nonzero=flip.n_nonzero,
        confidence_level=interval.confidence_level,
        alternative=alternative,
        method=f"sign-flip {flip.method}, {interval.method}",
    )
