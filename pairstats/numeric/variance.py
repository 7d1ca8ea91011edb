"""Variance components of nested and crossed designs: families, items, framings and repeats.

Estimates are those of the analysis of variance: unbiased, and printed negative where they are, which says
that a source of variation is too small to be told from 0. Nothing is clipped silently.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from pairstats.errors import PairstatsError
from pairstats.numeric.checks import as_scores

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RepeatVariance:
    """One model, n items, K repeats each: how much of the variance is the items', how much the repeats'.

    Attributes
    ----------
    mean : float
    var_item, var_repeat : float
        Components; `var_item` may be negative, and then cannot be told from 0.
    icc : float
        ``var_item / (var_item + var_repeat)``; NaN where nothing varies.
    std_error : float
        Of the mean for a sample of items: repeat noise is already in it.
    std_error_these_items : float
        Of the mean over repeats of these items only.
    std_error_one_repeat, std_error_many_repeats : float
        Of the mean for a sample of items, had there been one repeat, or endless ones.
    ms_between, ms_within : float
        Mean squares.
    n_items, n_repeats : int
    """

    mean: float
    var_item: float
    var_repeat: float
    icc: float
    std_error: float
    std_error_these_items: float
    std_error_one_repeat: float
    std_error_many_repeats: float
    ms_between: float
    ms_within: float
    n_items: int
    n_repeats: int


@dataclass(frozen=True, slots=True)
class VarianceComponents:
    """Components of a nested design, outermost level first, the residual (repeats) last.

    Attributes
    ----------
    components : ndarray of float, shape (L + 1,)
        Variances; negative ones cannot be told from 0.
    mean_squares : ndarray of float, shape (L + 1,)
        NaN where a level has no degrees of freedom.
    df : ndarray of int, shape (L + 1,)
    n_groups : ndarray of int, shape (L + 1,)
        Groups at each level; values at the last.
    """

    components: Floats
    mean_squares: Floats
    df: NDArray[np.int64]
    n_groups: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CrossedVariance:
    """Cases by framings by repeats: framing fixed, cases random.

    Attributes
    ----------
    f_statistic, p_value : float
        Test of the framings against case x framing, never against repeats; p is 1 where the framings differ
        by the same amount in every case, for without spread F says nothing.
    df : tuple of int
        Of cases, framings, their interaction, and repeats.
    ms_case, ms_framing, ms_interaction, ms_repeat : float
        Mean squares; NaN where there is one repeat only.
    var_case, var_interaction, var_repeat : float
        Components; with one repeat the interaction and the repeats cannot be told apart, and are NaN.
    framing_means : ndarray of float, shape (f,)
    """

    f_statistic: float
    p_value: float
    df: tuple[int, int, int, int]
    ms_case: float
    ms_framing: float
    ms_interaction: float
    ms_repeat: float
    var_case: float
    var_interaction: float
    var_repeat: float
    framing_means: Floats


def repeat_variance(items_by_repeats: ArrayLike) -> RepeatVariance:
    r"""Split the variance of scores into items and repeats (one-way analysis of variance).

    Use it to learn whether more repeats or more items would narrow the interval. Not with families, for it
    treats items as independent; `variance_components` covers them.

    Parameters
    ----------
    items_by_repeats : array_like, shape (n, K)
        Score of each item in each repeat; at least 2 of both. Unequal numbers of repeats:
        `variance_components`.

    Returns
    -------
    RepeatVariance

    Notes
    -----
    ``ms_between`` is K times the variance of the item means, ``ms_within`` the mean variance within items;
    :math:`\sigma^2_{item} = (MS_b - MS_w) / K` and the variance of the mean is
    :math:`(\sigma^2_{item} + \sigma^2_{rep} / K) / n`.

    References
    ----------
    Miller, E. (2024). Adding error bars to evals. arXiv:2411.00640.

    Examples
    --------
    >>> found = repeat_variance([[1, 1, 1], [0, 0, 1], [0, 1, 0], [1, 1, 0]])
    >>> print(round(found.var_item, 4), round(found.var_repeat, 4))
    0.0185 0.25
    """
    table = _table("items_by_repeats", items_by_repeats, ndim=2)
    n, k = table.shape
    if n < 2 or k < 2:
        raise PairstatsError(
            f"`items_by_repeats` must have at least 2 items and 2 repeats, but its shape is {table.shape}. "
            "Without both, the two sources of variation cannot be told apart."
        )
    within = float(table.var(axis=1, ddof=1).mean())
    between = k * float(table.mean(axis=1).var(ddof=1))
    item = (between - within) / k
    return RepeatVariance(
        mean=float(table.mean()),
        var_item=item,
        var_repeat=within,
        icc=item / (item + within) if item + within > 0 else math.nan,
        std_error=math.sqrt(between / (n * k)),
        std_error_these_items=math.sqrt(within / (n * k)),
        std_error_one_repeat=math.sqrt(max(item + within, 0.0) / n),
        std_error_many_repeats=math.sqrt(max(item, 0.0) / n),
        ms_between=between,
        ms_within=within,
        n_items=n,
        n_repeats=k,
    )


def variance_components(values: ArrayLike, levels: Sequence[ArrayLike]) -> VarianceComponents:
    r"""Variance components of a nested design of any sizes: families, items in families, repeats in items.

    Use it to split variance over families, items and repeats of any numbers. Not for a plain table of items by
    repeats, which `repeat_variance` reads, nor for crossed framings (`crossed_variance`).

    Parameters
    ----------
    values : array_like, shape (N,)
        One score a reply.
    levels : sequence of array_like, each shape (N,)
        Labels of the groups, outermost first: ``[family, item]``. A label is read within the group around
        it, so items may be numbered from 0 in each family.

    Returns
    -------
    VarianceComponents
        A component is NaN where its level, or a level inside it, has no degrees of freedom (one reply to
        each item: no repeat variance).

    Notes
    -----
    The sum of squares of level l has the expectation :math:`\sum_{k \ge l} \sigma_k^2 (\sum_h n_h^2 /
    n_{g_l(h)} - \sum_h n_h^2 / n_{g_{l-1}(h)})` over the groups h of level k, where :math:`g_l(h)` is the
    group of level l that holds h; the equations are solved from the inside out.

    References
    ----------
    Searle, S. R., Casella, G. & McCulloch, C. E. (1992). Variance Components. Wiley.
    doi:10.1002/9780470316856

    Examples
    --------
    >>> families, items = [0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 1, 0, 0, 1, 1]
    >>> found = variance_components([1, 1, 0, 1, 0, 0, 0, 1], [families, items])
    >>> found.df.tolist(), found.components.round(4).tolist()
    ([1, 2, 4], [0.0625, 0.0, 0.25])
    """
    scores = as_scores("values", values)
    groups = _nested_groups(levels, scores.size)
    sizes = [np.bincount(group) for group in groups]
    sums, df, coefficients = [], [], np.zeros((len(groups) - 1, len(groups) - 1))
    for level in range(1, len(groups)):
        inner, outer = groups[level], groups[level - 1]
        gap = _means(scores, inner)[inner] - _means(scores, outer)[outer]
        sums.append(float(gap @ gap))
        df.append(sizes[level].size - sizes[level - 1].size)
        for source in range(level, len(groups)):
            # n_h^2 summed over the groups h of the source is n_h summed over the values.
            own = sizes[source][groups[source]]
            coefficients[level - 1, source - 1] = np.sum(own / sizes[level][inner]) - np.sum(
                own / sizes[level - 1][outer]
            )
    return VarianceComponents(
        components=_solved(coefficients, np.array(sums), np.array(df)),
        mean_squares=np.array([s / f if f else math.nan for s, f in zip(sums, df, strict=True)]),
        df=np.array(df, dtype=np.int64),
        n_groups=np.array([size.size for size in sizes[1:]], dtype=np.int64),
    )


def crossed_variance(values: ArrayLike) -> CrossedVariance:
    r"""Analysis of variance of cases x framings x repeats, with framings fixed and cases random.

    Use it to ask whether a framing matters beyond the cases at hand. Not for these cases alone, which
    `these_cases_difference` covers: testing framings against repeats answers for these cases only, and is far
    too often significant for the others.

    Parameters
    ----------
    values : array_like, shape (c, f, r)
        Score of each case in each framing and repeat; at least 2 cases and framings.

    Returns
    -------
    CrossedVariance

    Notes
    -----
    :math:`F = MS_{framing} / MS_{case \times framing}` on (f - 1, (f - 1)(c - 1)) degrees of freedom. Normal
    theory: for few cases of 0/1 scores a permutation of the framings within cases is safer.

    References
    ----------
    Searle, S. R., Casella, G. & McCulloch, C. E. (1992). Variance Components. Wiley.
    doi:10.1002/9780470316856

    Examples
    --------
    >>> found = crossed_variance([[[0, 1], [1, 1]], [[0, 0], [1, 1]], [[0, 0], [0, 1]]])
    >>> round(found.f_statistic, 3), found.df
    (16.0, (2, 1, 2, 6))
    """
    table = _table("values", values, ndim=3)
    c, f, r = table.shape
    if c < 2 or f < 2:
        raise PairstatsError(
            f"`values` must have at least 2 cases and 2 framings, but its shape is {table.shape}. "
            "With one of either there is nothing to compare it with."
        )
    cells, mean = table.mean(axis=2), float(table.mean())
    case, framing = cells.mean(axis=1), cells.mean(axis=0)
    rest = cells - case[:, None] - framing + mean
    df = (c - 1, f - 1, (c - 1) * (f - 1), c * f * (r - 1))
    ms_case = f * r * float(((case - mean) ** 2).sum()) / df[0]
    ms_framing = c * r * float(((framing - mean) ** 2).sum()) / df[1]
    ms_interaction = r * float((rest**2).sum()) / df[2]
    repeat = float(((table - cells[:, :, None]) ** 2).sum()) / df[3] if df[3] else math.nan
    negligible = 1e-24 * max(float(np.abs(table).max()) ** 2, 1e-300)
    if ms_interaction > negligible:
        ratio = ms_framing / ms_interaction
        p = float(special.fdtrc(df[1], df[2], ratio))
    else:
        ratio, p = (0.0 if ms_framing <= negligible else math.inf), 1.0
    return CrossedVariance(
        f_statistic=ratio,
        p_value=max(p, float(np.finfo(float).tiny)),
        df=df,
        ms_case=ms_case,
        ms_framing=ms_framing,
        ms_interaction=ms_interaction,
        ms_repeat=repeat,
        var_case=(ms_case - ms_interaction) / (f * r),
        var_interaction=(ms_interaction - repeat) / r,
        var_repeat=repeat,
        framing_means=framing,
    )


def _table(name: str, values: ArrayLike, *, ndim: int) -> Floats:
    """Finite numbers in a block of `ndim` dimensions."""
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != ndim or table.size == 0:
        raise PairstatsError(
            f"`{name}` must have {ndim} dimensions and be complete, but its shape is {table.shape}. "
            "Pass one number for each combination."
        )
    wrong = np.argwhere(~np.isfinite(table))
    if wrong.size:
        raise PairstatsError(
            f"`{name}` must hold finite numbers, but {len(wrong)} are not, the first at {wrong[0].tolist()}. "
            "Leave out what is incomplete, and count it; unequal numbers: `variance_components`."
        )
    return table


def _nested_groups(levels: Sequence[ArrayLike], n: int) -> list[NDArray[np.int64]]:
    """Numbers of the groups: everything, each level within the ones before it, every value by itself."""
    groups = [np.zeros(n, dtype=np.int64)]
    for labels in levels:
        array = np.asarray(labels)
        if array.shape != (n,):
            raise PairstatsError(
                f"Each of `levels` must have one label for each of the {n} values, but one has shape "
                f"{array.shape}. Pass them in the same order, outermost level first."
            )
        own = np.unique(array, return_inverse=True)[1].reshape(-1)
        groups.append(np.unique(groups[-1] * n + own, return_inverse=True)[1].reshape(-1).astype(np.int64))
    return [*groups, np.arange(n, dtype=np.int64)]


def _means(values: Floats, group: NDArray[np.int64]) -> Floats:
    return np.bincount(group, weights=values) / np.bincount(group)


def _solved(coefficients: Floats, sums: Floats, df: NDArray[np.int64]) -> Floats:
    """Solve from the innermost level out; NaN from the first level without degrees of freedom."""
    found = np.zeros(sums.size)
    for level in range(sums.size - 1, -1, -1):
        inner = coefficients[level, level + 1 :] @ found[level + 1 :]
        found[level] = (sums[level] - inner) / coefficients[level, level] if df[level] > 0 else math.nan
    return found
