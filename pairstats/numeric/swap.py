"""Label-swap test of two ratios that do not share a denominator."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.checks import OPPOSITE, as_count, check_alternative
from pairstats.numeric.draws import seeded
from pairstats.numeric.facing import canonical_sides
from pairstats.numeric.lattice import common_lattice, lattice_steps
from pairstats.numeric.signsum import as_p

Floats = NDArray[np.float64]
Law = tuple[Floats, Floats]

METHODS = ("exact", "monte-carlo")
EXACT_COST = 5e7
"""Additions that the exact law may take (about a tenth of a second)."""

MOST_LISTED = 16
"""Families whose exchanges are listed one by one."""

CHUNK = 500
TIE = 1e-9
"""Differences of ratios closer than this share of the ratio of all totals are equal."""


@dataclass(frozen=True, slots=True)
class SwapTest:
    """Permutation test of a difference of two ratios.

    Attributes
    ----------
    statistic : float
        First ratio minus second.
    p_value : float
        Never 0: the observed labels are one of the arrangements, drawn ones are ``(b + 1) / (B + 1)``.
    p_floor : float
        Smallest value it can take.
    mc_error : float or None
        Monte-Carlo standard error of the p-value; None where it is exact.
    method : str
        "label swap by family (exact)" or "... (Monte Carlo)".
    n_resamples : int or None
    seed : int or None
        Derived from the totals, or the one given; None where nothing was drawn or a generator was given.
    """

    statistic: float
    p_value: float
    p_floor: float
    mc_error: float | None
    method: str
    n_resamples: int | None = None
    seed: int | None = None


def swap_test(
    num: ArrayLike,
    den: ArrayLike,
    *,
    alternative: str = "two-sided",
    method: str | None = None,
    n_resamples: int = 9999,
    rng: Any = None,
) -> SwapTest:
    r"""Exchange the two systems' labels within whole families; compare the difference of their ratios.

    Use it for two ratios whose denominators differ (shares of a random subset). Not where both sides share a
    denominator, which `sign_flip` tests exactly.

    Parameters
    ----------
    num, den : array_like, shape (G, 2)
        Totals of each family for the first and the second system; the value of a system is
        :math:`\sum num / \sum den`. No denominator is negative.
    alternative : {"two-sided", "less", "greater"}
        "greater": the first ratio is larger.
    method : {"exact", "monte-carlo"}, optional
        "exact": all :math:`2^G` exchanges, by the joint law of the two totals that they move. Left out,
        "exact" for up to 16 families, or where totals lie on a lattice and it takes about a tenth of a second
        at most, otherwise "monte-carlo"; the result says which.
    n_resamples : int, default 9999
        Exchanges drawn by "monte-carlo".
    rng : int, Generator or SeedSequence, optional
        For "monte-carlo"; left out, the seed follows from the totals.

    Returns
    -------
    SwapTest

    Raises
    ------
    PairstatsError
        If totals are not two finite (G, 2) tables, a denominator is negative, or "exact" is asked and too
        large.

    Notes
    -----
    :math:`r_A - r_B` of ratios :math:`\sum a / \sum b`; labels are exchanged within families. An exchange that
    leaves a system without a denominator counts as no difference.

    References
    ----------
    Phipson & Smyth (2010), doi:10.2202/1544-6115.1585, for ``(b + 1) / (B + 1)``.

    Examples
    --------
    >>> found = swap_test([[1, 0], [2, 0], [1, 1]], [[2, 1], [2, 2], [1, 2]])
    >>> round(found.statistic, 3), found.p_value, found.p_floor, found.method
    (0.6, 0.25, 0.25, 'label swap by family (exact)')
    """
    side = check_alternative(alternative)
    top, below = _totals(num, den)
    top, below, swapped = canonical_sides(top, below)
    if method is not None:
        one_of("method", method, METHODS)
    gaps = top[:, 1] - top[:, 0], below[:, 1] - below[:, 0]
    law = None if method == "monte-carlo" else _moved_law(*gaps)
    if method == "exact" and law is None:
        raise PairstatsError(
            f"The exact law must be of at most {MOST_LISTED} families, or of totals on a lattice and take at most "
            f"{EXACT_COST:.0e} additions, but {len(top)} families here do not. Use method='monte-carlo'."
        )
    exchanges = _Exchanges(top, below, OPPOSITE[side] if swapped else side)
    sign = -1.0 if swapped else 1.0
    if law is not None:
        p, floor = exchanges.exact(*law)
        return SwapTest(sign * exchanges.observed + 0.0, p, floor, None, "label swap by family (exact)")
    drawn = as_count("n_resamples", n_resamples, minimum=1)
    generator, seed = seeded(np.hstack([top, below]), rng)
    p = (exchanges.hits(drawn, generator) + 1) / (drawn + 1)
    return SwapTest(
        statistic=sign * exchanges.observed + 0.0,
        p_value=p,
        p_floor=1 / (drawn + 1),
        mc_error=math.sqrt(p * (1 - p) / drawn),
        method="label swap by family (Monte Carlo)",
        n_resamples=drawn,
        seed=seed,
    )


@dataclass(frozen=True, slots=True)
class _Exchanges:
    """Totals of two systems, whose labels are exchanged within families."""

    num: Floats
    den: Floats
    side: str

    @property
    def observed(self) -> float:
        return float(_difference(self.num.sum(axis=0), self.den.sum(axis=0)))

    def differences(self, moved_num: Floats, moved_den: Floats) -> Floats:
        """Difference of the ratios after totals have moved from the second system to the first."""
        num, den = self.num.sum(axis=0), self.den.sum(axis=0)
        return _difference(
            np.stack([num[0] + moved_num, num[1] - moved_num], axis=-1),
            np.stack([den[0] + moved_den, den[1] - moved_den], axis=-1),
        )

    def reaching(self, differences: Floats, mark: float) -> NDArray[np.bool_]:
        """Which differences are as extreme as the mark, ties included."""
        total = float(self.den.sum())
        tie = TIE * float(np.abs(self.num).sum()) / total if total else 0.0
        if self.side == "two-sided":
            return np.abs(differences) >= abs(mark) - tie
        return differences >= mark - tie if self.side == "greater" else differences <= mark + tie

    def exact(self, moved: Floats, probability: Floats) -> tuple[float, float]:
        """P-value over all exchanges, and the smallest that any labels could have given."""
        differences = self.differences(moved[:, 0], moved[:, 1])
        ends = {
            "two-sided": np.abs(differences).max(),
            "greater": differences.max(),
            "less": differences.min(),
        }
        p, floor = (
            as_p(math.fsum(probability[self.reaching(differences, float(mark))]))
            for mark in (self.observed, ends[self.side])
        )
        return p, floor

    def hits(self, n_resamples: int, rng: np.random.Generator) -> int:
        """Drawn exchanges that are as extreme as the observed labels."""
        gaps = [each[:, 1] - each[:, 0] for each in (self.num, self.den)]
        found = 0
        for rows in _chunks(n_resamples):
            swaps = rng.integers(0, 2, (rows, len(self.num))).astype(np.float64)
            found += int(
                self.reaching(self.differences(swaps @ gaps[0], swaps @ gaps[1]), self.observed).sum()
            )
        return found


def _totals(num: ArrayLike, den: ArrayLike) -> tuple[Floats, Floats]:
    top, below = (np.array(each, dtype=np.float64) for each in (num, den))
    if top.shape != below.shape or top.ndim != 2 or top.shape[1] != 2 or not len(top):
        raise PairstatsError(
            f"`num` and `den` must each have two columns and a row for each of one or more families, but their "
            f"shapes are {top.shape} and {below.shape}. Pass the totals of both systems in every family."
        )
    wrong = np.flatnonzero(~(np.isfinite(top) & (below >= 0) & np.isfinite(below)).all(axis=1))
    if wrong.size:
        raise PairstatsError(
            f"`num` must be finite and `den` at least 0, but {wrong.size} families are not, the first at "
            f"position {wrong[0]}. Drop what is missing, and count it, before calling."
        )
    return top, below


def _moved_law(num: Floats, den: Floats) -> Law | None:
    """Totals that exchanges move to the first system, with their probabilities; None if too many."""
    moving = (num != 0) | (den != 0)
    num, den = num[moving], den[moving]
    if num.size <= MOST_LISTED:
        exchanged = (np.arange(2**num.size)[:, None] >> np.arange(num.size) & 1).astype(np.float64)
        return exchanged @ np.column_stack([num, den]), np.full(len(exchanged), 0.5**num.size)
    spacings = common_lattice(num), common_lattice(den)
    if spacings[0] is None or spacings[1] is None:
        return None
    steps = lattice_steps(num, spacings[0]), lattice_steps(den, spacings[1])
    shape = tuple(int(np.abs(own).sum()) + 1 for own in steps)
    if num.size * float(shape[0]) * shape[1] > EXACT_COST:
        return None
    origin = tuple(-int(own[own < 0].sum()) for own in steps)
    law = np.zeros(shape)
    law[origin] = 1.0
    for a, b in zip(*(own.tolist() for own in steps), strict=True):
        moved = np.zeros(shape)
        moved[_part(a, shape[0]), _part(b, shape[1])] = law[_part(-a, shape[0]), _part(-b, shape[1])]
        law = (law + moved) / 2
    places = np.argwhere(law) - np.array(origin)
    return places * np.array(spacings, dtype=np.float64), law[law > 0]


def _part(shift: int, size: int) -> slice:
    """Places that a shift fills."""
    return slice(max(shift, 0), size + min(shift, 0))


def _chunks(n_resamples: int) -> Iterator[int]:
    for done in range(0, n_resamples, CHUNK):
        yield min(CHUNK, n_resamples - done)


def _difference(num: Floats, den: Floats) -> Floats:
    """First ratio minus second; where one has no denominator there is no difference."""
    ratios = np.divide(num, den, out=np.full_like(num, np.nan), where=den > 0)
    return np.nan_to_num(ratios[..., 0] - ratios[..., 1])
