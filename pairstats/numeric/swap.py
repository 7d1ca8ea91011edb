"""Label-swap test of two ratios that do not share a denominator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pairstats.errors import one_of
from pairstats.numeric.checks import ALTERNATIVES, as_count
from pairstats.numeric.draws import seeded

CHUNK = 500


@dataclass(frozen=True, slots=True)
class SwapTest:
    """Monte-Carlo permutation test.

    Attributes
    ----------
    statistic : float
        First ratio minus second.
    p_value : float
        ``(b + 1) / (B + 1)``, never 0.
    p_floor : float
        Smallest value it can take.
    mc_error : float
        Monte-Carlo standard error of the p-value.
    method : str
    n_resamples : int
    seed : int or None
        Derived from the totals, or the one given; None where a generator was given.
    """

    statistic: float
    p_value: float
    p_floor: float
    mc_error: float
    method: str = "label swap by family (Monte Carlo)"
    n_resamples: int = 9999
    seed: int | None = None


def swap_test(
    num: ArrayLike,
    den: ArrayLike,
    *,
    alternative: str = "two-sided",
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
        :math:`\sum num / \sum den`.
    alternative : {"two-sided", "less", "greater"}
    n_resamples : int, default 9999
    rng : int, Generator or SeedSequence, optional
        Left out, the seed follows from the totals.

    Returns
    -------
    SwapTest

    Notes
    -----
    :math:`r_A - r_B` of ratios :math:`\sum a / \sum b`; labels are exchanged within families at random, B
    times.

    References
    ----------
    Phipson & Smyth (2010), doi:10.2202/1544-6115.1585, for ``(b + 1) / (B + 1)``.

    Examples
    --------
    >>> found = swap_test([[1, 0], [2, 0], [1, 1]], [[2, 1], [2, 2], [1, 2]], rng=1)
    >>> round(found.statistic, 3)
    0.6
    """
    one_of("alternative", alternative, ALTERNATIVES)
    num, den = np.asarray(num, dtype=float), np.asarray(den, dtype=float)
    drawn_in_all = as_count("n_resamples", n_resamples, minimum=1)
    generator, seed = seeded(np.hstack([num, den]), rng)
    observed = float(_difference(num.sum(axis=0), den.sum(axis=0)))
    total_num, total_den = num.sum(axis=0), den.sum(axis=0)
    gap_num, gap_den = num[:, 1] - num[:, 0], den[:, 1] - den[:, 0]
    beyond, left = 0, drawn_in_all
    while left:
        rows = min(CHUNK, left)
        swapped = generator.integers(0, 2, (rows, len(num))).astype(float)
        moved_num, moved_den = swapped @ gap_num, swapped @ gap_den
        drawn = _difference(
            np.stack([total_num[0] + moved_num, total_num[1] - moved_num], axis=-1),
            np.stack([total_den[0] + moved_den, total_den[1] - moved_den], axis=-1),
        )
        beyond += int(_as_extreme(drawn, observed, alternative).sum())
        left -= rows
    p = (beyond + 1) / (drawn_in_all + 1)
    error = float(np.sqrt(p * (1 - p) / drawn_in_all))
    return SwapTest(observed, p, 1 / (drawn_in_all + 1), error, n_resamples=drawn_in_all, seed=seed)


def _difference(num: np.ndarray, den: np.ndarray) -> np.ndarray:
    """First ratio minus second; a draw in which one has no denominator counts as no difference."""
    ratios = np.divide(num, den, out=np.full_like(num, np.nan), where=den > 0)
    return np.nan_to_num(ratios[..., 0] - ratios[..., 1])


def _as_extreme(drawn: np.ndarray, observed: float, alternative: str) -> np.ndarray:
    tolerance = 1e-9
    if alternative == "greater":
        return drawn >= observed - tolerance
    if alternative == "less":
        return drawn <= observed + tolerance
    return np.abs(drawn) >= abs(observed) - tolerance
