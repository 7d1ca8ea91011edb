"""Several contrasts tested at once from one joint law: max-T by sign flips, Romano-Wolf by bootstrap."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import PairstatsError
from pairstats.numeric.checks import as_count, as_sizes, check_alternative
from pairstats.numeric.draws import bootstrap_weights, family_types, seeded
from pairstats.numeric.exact import sign_flip
from pairstats.numeric.facing import facing_columns
from pairstats.numeric.joint_sums import RELATIVE_TIE, joint_flips

Floats = NDArray[np.float64]

LARGEST_T = 1e9
"""Statistic of families that all agree, and so have no spread of their own."""


@dataclass(frozen=True, slots=True)
class JointTest:
    """Several contrasts tested together.

    Attributes
    ----------
    statistics : ndarray, shape (M,)
        Standardised contrasts; 0 where no family differs, at most 1e9.
    p_values : ndarray, shape (M,)
        Exact sign-flip p-value of each contrast alone.
    p_single_step : ndarray, shape (M,)
        Adjusted by the law of the largest statistic of all.
    p_adjusted : ndarray, shape (M,)
        Adjusted step by step: by the largest of those not yet rejected. Never above the single step, never
        below the p-value alone.
    method : str
    n_resamples : int or None
        Arrangements or resamples drawn; None where the law is exact.
    seed : int or None
        Of the draw: derived from the differences, or the one given; None where nothing was drawn.
    """

    statistics: Floats
    p_values: Floats
    p_single_step: Floats
    p_adjusted: Floats
    method: str
    n_resamples: int | None
    seed: int | None = None


def max_t(
    differences: ArrayLike,
    *,
    alternative: str = "two-sided",
    method: str | None = None,
    n_resamples: int = 9999,
    rng: Any = None,
) -> JointTest:
    r"""Westfall-Young max-T for several contrasts of one pair of systems (endpoints, conditions).

    Use it where several outcomes of one pair share an error rate and are correlated. The two labels exchange
    within each family for all contrasts at once, so that their correlation is used. Not for all pairs of more
    than two systems: those share no group of exchanges; take `all_pairs`.

    Parameters
    ----------
    differences : array_like, shape (G, M)
        Difference of each family (total or mean) in each contrast.
    alternative : {"two-sided", "less", "greater"}
        "greater": the first system is better.
    method : {"exact", "monte-carlo"}, optional
        Left out, "exact" where it takes about a second at most, otherwise "monte-carlo".
    n_resamples : int
        Arrangements drawn by "monte-carlo".
    rng : int, Generator or SeedSequence, optional
        For "monte-carlo"; left out, the seed follows from the differences.

    Returns
    -------
    JointTest

    Raises
    ------
    PairstatsError
        If the table is empty or not finite.

    Notes
    -----
    :math:`t_j = |\sum_f d_{fj}| / (\sum_f d_{fj}^2)^{1/2}`, whose scale no exchange changes. Single step:
    :math:`P(\max_k t^*_k \ge t_j)`; step down: the maximum over the contrasts with :math:`t_k \le t_j`,
    then made monotone. It controls the familywise error for any set of contrasts in which the labels are
    exchangeable.

    References
    ----------
    Westfall, P. H. & Young, S. S. (1993). Resampling-Based Multiple Testing. Wiley.

    Examples
    --------
    >>> found = max_t([[2, 1], [1, 1], [1, -1], [2, 0], [1, 1], [1, 1]])
    >>> found.p_values.tolist(), found.p_adjusted.round(5).tolist()
    ([0.03125, 0.375], [0.03125, 0.375])
    """
    side = check_alternative(alternative)
    rows = as_table("differences", differences)
    scale = np.sqrt((rows**2).sum(axis=0))
    alone = np.array([sign_flip(column, alternative=side).p_value for column in rows.T])

    order, signs = facing_columns(rows, np.ones(len(rows)))
    flips = joint_flips(rows[:, order] * signs, method=method, n_resamples=n_resamples, rng=rng)
    sums = np.empty_like(flips.sums)
    sums[:, order] = flips.sums * signs
    observed, drawn = _over(rows.sum(axis=0), scale), _over(sums, scale)
    single, adjusted = stepped_down(
        _extremeness(observed, side), _extremeness(drawn, side), flips.p_value, alone
    )
    return JointTest(
        statistics=observed,
        p_values=alone,
        p_single_step=single,
        p_adjusted=adjusted,
        method=f"max-T, {flips.method}",
        n_resamples=flips.n_resamples,
        seed=flips.seed,
    )


def romano_wolf(
    differences: ArrayLike,
    *,
    sizes: ArrayLike | None = None,
    alternative: str = "two-sided",
    n_resamples: int = 9999,
    rng: Any = None,
) -> JointTest:
    r"""Romano-Wolf step-down for any set of contrasts, all pairs of systems included.

    Use it for many correlated contrasts over 40 families and more. Not with fewer, or families that hardly
    differ, where `holm` on exact sign-flip p-values holds.

    Families are resampled, the same for every contrast. It is asymptotic. As a guard no adjusted p-value is
    below the exact one of its contrast alone.

    Parameters
    ----------
    differences : array_like, shape (G, M)
        Mean difference of each family in each contrast.
    sizes : array_like, shape (G,), optional
        Decisions behind the differences of each family; ones by default.
    alternative : {"two-sided", "less", "greater"}
    n_resamples : int
    rng : int, Generator or SeedSequence, optional
        Left out, the seed follows from the differences.

    Returns
    -------
    JointTest

    Notes
    -----
    :math:`t_j = |\hat\theta_j| / s_j` and :math:`t^*_j = |\hat\theta^*_j - \hat\theta_j| / s_j` with the
    linearised family standard error :math:`s_j`; p-values are (b + 1) / (B + 1), step by step over the
    maximum of the contrasts not yet rejected.

    References
    ----------
    Romano, J. P. & Wolf, M. (2005). Econometrica 73, 1237-1282. doi:10.1111/j.1468-0262.2005.00615.x
    Romano, J. P. & Wolf, M. (2016). Statistics & Probability Letters 113, 38-40.
    doi:10.1016/j.spl.2016.02.012

    Examples
    --------
    >>> table = [[1, 0], [0, 1], [1, 0], [1, -1], [0, 0]] * 10
    >>> (romano_wolf(table, rng=1).p_adjusted < 0.05).tolist()
    [True, False]
    """
    side = check_alternative(alternative)
    rows = as_table("differences", differences)
    counts = as_sizes(sizes, len(rows))
    drawn = as_count("n_resamples", n_resamples, minimum=1)
    totals = rows * counts[:, None]
    estimate = totals.sum(axis=0) / counts.sum()
    spread = totals - counts[:, None] * estimate
    error = np.sqrt((spread**2).sum(axis=0)) / counts.sum()
    # Families that all agree have no spread: their contrast counts as larger than any draw.
    error = np.maximum(error, np.abs(estimate) / LARGEST_T)
    alone = np.array([sign_flip(column, alternative=side).p_value for column in totals.T])

    order, signs = facing_columns(totals, np.ones(len(totals)))
    types = family_types(np.column_stack([totals[:, order] * signs, counts]))
    generator, seed = seeded(types.totals[types.index], rng)
    weights = bootstrap_weights(types.counts, n_resamples=drawn, rng=generator)
    replicates = weights.astype(np.float64) @ types.totals
    away = np.empty((drawn, estimate.size))
    away[:, order] = replicates[:, :-1] / replicates[:, -1:] * signs
    away -= estimate

    def p_value(statistics: Floats, observed: Floats) -> Floats:
        reaching = statistics >= observed - RELATIVE_TIE * np.abs(observed)
        p: Floats = (reaching.sum(axis=0) + 1.0) / (drawn + 1)
        return p

    observed = _over(estimate, error)
    single, adjusted = stepped_down(
        _extremeness(observed, side), _extremeness(_over(away, error), side), p_value, alone
    )
    return JointTest(observed, alone, single, adjusted, "romano-wolf", drawn, seed)


def _over(values: Floats, scale: Floats) -> Floats:
    """Values by scale; 0 where there is no scale."""
    return np.divide(values, scale, out=np.zeros_like(values), where=scale > 0)


def _extremeness(t: Floats, side: str) -> Floats:
    return np.abs(t) if side == "two-sided" else t if side == "greater" else -t


def stepped_down(
    observed: Floats,
    drawn: Floats,
    p_value: Callable[[Floats, Floats], Floats],
    alone: Floats,
) -> tuple[Floats, Floats]:
    """Single-step and step-down p-values from the joint law of the statistics.

    Parameters
    ----------
    observed : ndarray, shape (M,)
    drawn : ndarray, shape (A, M)
        Statistics under the null, larger is more extreme.
    p_value : callable
        Share of columns of statistics that reach the observed.
    alone : ndarray, shape (M,)
        Unadjusted p-values, which are never undercut.

    Examples
    --------
    >>> share = lambda statistics, least: (statistics >= least).mean(axis=0)
    >>> draws = np.array([[3.0, 0.0], [0.0, 1.0], [0.0, 2.0], [0.0, 0.0]])
    >>> [p.tolist() for p in stepped_down(np.array([2.0, 1.0]), draws, share, np.zeros(2))]
    [[0.5, 0.75], [0.5, 0.5]]
    """
    order = np.argsort(-observed, kind="stable")
    # Largest of each contrast and all below it: the running maximum from the last one.
    largest = np.maximum.accumulate(drawn[:, order[::-1]], axis=1)[:, ::-1]
    steps = np.maximum(p_value(largest, observed[order]), alone[order])
    adjusted = np.empty_like(observed)
    adjusted[order] = np.maximum.accumulate(steps)
    overall = drawn.max(axis=1)[:, None]
    single = np.maximum(p_value(np.broadcast_to(overall, drawn.shape), observed), alone)
    return np.maximum(single, adjusted), adjusted


def as_table(name: str, values: ArrayLike) -> Floats:
    """Finite table with at least one row and one column.

    Examples
    --------
    >>> as_table("differences", [1, 2])
    Traceback (most recent call last):
        ...
    pairstats.errors.PairstatsError: `differences` must be a table with a row a family and a column ...
    """
    table = np.array(values, dtype=np.float64)
    if table.ndim != 2 or table.size == 0:
        raise PairstatsError(
            f"`{name}` must be a table with a row a family and a column a contrast or system, but its shape "
            f"is {table.shape}. Pass an array of shape (families, columns)."
        )
    wrong = np.argwhere(~np.isfinite(table))
    if wrong.size:
        raise PairstatsError(
            f"`{name}` must be finite, but {len(wrong)} entries are not, the first at row {wrong[0][0]}, "
            f"column {wrong[0][1]}. Keep the families that every system answered, and count the others."
        )
    return table
