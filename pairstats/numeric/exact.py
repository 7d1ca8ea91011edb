"""Exact paired tests: the sign-flip test on family differences, and McNemar's on discordant counts.

A p-value is never 0, never above 1 and never NaN; the smallest one a design can reach is in `p_floor`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import one_of
from pairstats.numeric.checks import as_count, as_scores, check_alternative
from pairstats.numeric.discordant import McNemarTest, mcnemar, mcnemar_odds_ratio
from pairstats.numeric.draws import seeded
from pairstats.numeric.lattice import common_lattice, lattice_steps
from pairstats.numeric.signsum import TIE, SignSum, as_p, side_p, sign_sum

__all__ = ["McNemarTest", "SignFlipTest", "mcnemar", "mcnemar_odds_ratio", "sign_flip"]

Floats = NDArray[np.float64]

SIGN_FLIP_METHODS = ("exact", "mid-p", "monte-carlo")


@dataclass(frozen=True, slots=True)
class SignFlipTest:
    """Test that the two labels are exchangeable within each family.

    Attributes
    ----------
    statistic : float
        Sum of the differences.
    p_value : float
        In (0, 1].
    n_nonzero : int
        Families with a difference; only these carry information. A difference below 1e-9 of the largest
        is rounding.
    p_floor : float
        Smallest p-value that this number of families, or of resamples, can give. At least 6 families
        that differ are needed for a two-sided p of .05.
    method : str
        "exact" or "mid-p"; with ", smoothed" where more than 40 differences lie on no common lattice, or
        on one too fine; or "monte-carlo".
    alternative : {"two-sided", "less", "greater"}
        "greater": the sum is larger than under exchange.
    mc_error : float or None
        Standard error of a Monte-Carlo p-value, otherwise None.
    n_resamples : int or None
        Arrangements drawn, otherwise None.
    seed : int or None
        Of the draw: derived from the differences, or the one given; None where nothing was drawn.
    """

    statistic: float
    p_value: float
    n_nonzero: int
    p_floor: float
    method: str
    alternative: str
    mc_error: float | None = None
    n_resamples: int | None = None
    seed: int | None = None


def sign_flip(
    differences: ArrayLike,
    *,
    alternative: str = "two-sided",
    method: str = "exact",
    n_resamples: int | None = None,
    rng: Any = None,
) -> SignFlipTest:
    r"""Test of exchangeable labels: the sign of each family's difference is flipped at random.

    Use it as the paired test, registered or not, for any score and any number of families. Not to show that two
    systems are the same, which `family_margin_test` covers; below 6 families that differ no p reaches .05.

    Parameters
    ----------
    differences : array_like, shape (G,)
        Difference of the two systems in each family: totals for the item-weighted question, means for the
        family-weighted one. Copies, variants and repeats are summed first; a family flips as a whole.
    alternative : {"two-sided", "less", "greater"}
        "greater": the first system is better.
    method : {"exact", "mid-p", "monte-carlo"}
        "exact": all :math:`2^G` arrangements, whatever G. "mid-p": the exact p-value less the chance of
        the observed sum (half of it if one-sided), as in `mcnemar`. "monte-carlo": random arrangements,
        (b + 1) / (B + 1).
    n_resamples : int, optional
        Arrangements drawn by "monte-carlo" (default 9999); not used otherwise.
    rng : int, Generator or SeedSequence, optional
        For "monte-carlo". Left out, the seed follows from the differences, so that the same data give
        the same number.

    Returns
    -------
    SignFlipTest
        Where the differences have a common lattice (totals, halves, thirds ...) or at most 40 differ, the
        p-value is exact to rounding, however small. More than 40 without a lattice, or on an extremely
        fine one, are "smoothed" over a distance far below the spread of the sum: relative errors of 1e-10
        to 1e-8 were measured for 300 differences rounded to four places, p from .05 down to 1e-32.

    Raises
    ------
    PairstatsError
        If differences are empty or not finite.

    Notes
    -----
    :math:`p = 2^{-G} \#\{ |\sum_i \varepsilon_i d_i| \ge |\sum_i d_i| \}`; sums that differ by less than 1e-9
    of :math:`\sum |d_i|` are equal. On differences of -1, 0 and 1 it is exact McNemar. Under exchangeability
    it is exact; as a test of equal means alone it is so for large G only.

    References
    ----------
    Canay, I. A., Romano, J. P. & Shaikh, A. M. (2017). Econometrica 85, 1013-1030. doi:10.3982/ECTA13081
    Phipson, B. & Smyth, G. K. (2010). Statistical Applications in Genetics and Molecular Biology 9, 39.
    doi:10.2202/1544-6115.1585

    Examples
    --------
    >>> sign_flip([3, 3, 2, 1])
    SignFlipTest(statistic=9.0, p_value=0.125, n_nonzero=4, p_floor=0.125, method='exact', ...)
    """
    one_of("method", method, SIGN_FLIP_METHODS)
    side = check_alternative(alternative)
    values = as_scores("differences", differences)
    # A difference that is only rounding (0.1 + 0.2 - 0.3) is none.
    nonzero = np.sort(values[np.abs(values) > TIE * np.abs(values).max()])
    statistic = math.fsum(values)
    floor = min(1.0, (2 if side == "two-sided" else 1) * 0.5**nonzero.size)
    if method == "monte-carlo":
        drawn = as_count("n_resamples", 9999 if n_resamples is None else n_resamples, minimum=1)
        # Signs are random in any case: with magnitudes in a fixed order A - B and B - A are one draw.
        generator, seed = seeded(np.abs(values), rng)
        hits = _random_hits(nonzero, side, drawn, generator)
        p = (hits + 1) / (drawn + 1)
        return SignFlipTest(
            statistic=statistic,
            p_value=p,
            n_nonzero=nonzero.size,
            p_floor=max(floor, 1 / (drawn + 1)),
            method=method,
            alternative=side,
            mc_error=math.sqrt(p * (1 - p) / drawn),
            n_resamples=drawn,
            seed=seed,
        )
    found = sign_sum(nonzero) if nonzero.size else SignSum(1.0, 1.0, 0, exact=True)
    halved = method == "mid-p"
    return SignFlipTest(
        statistic=statistic,
        p_value=as_p(side_p(found, side, mid=halved)),
        n_nonzero=nonzero.size,
        p_floor=as_p(floor / 2 if halved else floor),
        method=method if found.exact else f"{method}, smoothed",
        alternative=side,
    )


def _random_hits(nonzero: Floats, side: str, n_resamples: int, rng: np.random.Generator) -> int:
    """Random arrangements whose sum is as extreme as the observed one."""
    spacing = common_lattice(nonzero)
    values = nonzero if spacing is None else lattice_steps(nonzero, spacing).astype(np.float64)
    observed = float(values.sum()) * (-1.0 if side == "less" else 1.0)
    values = np.sort(np.abs(values))
    near = 0.25 if spacing is not None else TIE * float(np.abs(values).sum())
    hits, block = 0, max(1, 2**22 // max(values.size, 1))
    for start in range(0, n_resamples, block):
        rows = min(block, n_resamples - start)
        signs = rng.integers(0, 2, (rows, values.size), dtype=np.int8)
        sums = (2.0 * signs - 1.0) @ values
        reach = np.abs(sums) >= abs(observed) - near if side == "two-sided" else sums >= observed - near
        hits += int(reach.sum())
    return hits
