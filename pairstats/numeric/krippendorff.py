"""Krippendorff's alpha, from sums over the units of each family."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable

import numpy as np
from numpy.typing import NDArray

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.agreement import Agreement, beyond_chance, tabulate_ratings, with_jackknife
from pairstats.numeric.copies import Answers
from pairstats.numeric.shares import Families, family_codes

FloatArray = NDArray[np.float64]

LEVELS = ("nominal", "ordinal", "interval")
Parts = Callable[[FloatArray], tuple[FloatArray, FloatArray]]
"""Observed and expected disagreement as a function of sums over units."""

MOST_ORDERED = 50
"""Distinct ordinal ratings; a rubric has far fewer, and memory grows with their square."""


def krippendorff_alpha(
    ratings: Answers, *, level: str = "nominal", families: Families = None, confidence_level: float = 0.95
) -> Agreement:
    r"""Krippendorff's alpha for nominal, ordinal or interval ratings; rows may miss ratings.

    Use it for rubric scores (ordinal, interval) or with many missing ratings. Not near full
    agreement on one category, where it is unstable, as kappa is, and `gwet_ac1` is not.

    Parameters
    ----------
    ratings, families, confidence_level
        As in `fleiss_kappa`. For "ordinal" and "interval" the ratings are numbers.
    level : {"nominal", "ordinal", "interval"}
        What counts as disagreement: any difference, the ratings between the two, or the squared difference.

    Returns
    -------
    Agreement

    Notes
    -----
    :math:`\alpha = 1 - D_o / D_e`, both from the coincidence matrix of units with two or more ratings.

    References
    ----------
    Krippendorff K (2004). Content Analysis: An Introduction to Its Methodology, 2nd ed. Sage.
    Hayes AF, Krippendorff K (2007). Answering the call for a standard reliability measure for coding data.
    Commun Methods Meas 1:77-89. doi:10.1080/19312450709336664.

    Examples
    --------
    >>> round(krippendorff_alpha([[1, 1], [2, 3], [3, 3], [4, 4]], level="interval").value, 4)
    0.9114
    """
    one_of("level", level, LEVELS)
    table, categories, missing = tabulate_ratings(ratings)
    codes = family_codes(families, len(table))
    values = _as_values(categories, level)
    order = np.argsort(values, kind="stable")
    complete = table.sum(axis=1) >= 2
    used, values = table[complete][:, order], values[order]
    columns, parts = {"nominal": _nominal, "ordinal": _ordinal, "interval": _interval}[level](used, values)
    totals = np.zeros((int(codes.max()) + 1, columns.shape[1]))
    np.add.at(totals, codes[complete], columns)
    observed, expected = parts(totals.sum(axis=0))
    return with_jackknife(
        totals, lambda t: beyond_chance(*(1 - part for part in parts(t))), 1 - float(observed),
        1 - float(expected), confidence_level, table, tuple(categories[i] for i in order), missing, math.nan,
    )  # fmt: skip


def _nominal(table: FloatArray, values: FloatArray) -> tuple[FloatArray, Parts]:
    """Disagreeing pairs of each unit, and its ratings of each category."""
    k = table.sum(axis=1, keepdims=True)
    pairs = (k**2 - (table**2).sum(axis=1, keepdims=True)) / np.maximum(k - 1, 1)

    def parts(totals: FloatArray) -> tuple[FloatArray, FloatArray]:
        n = totals[..., 1:].sum(axis=-1)
        return _ratios(totals[..., 0], n, n**2 - (totals[..., 1:] ** 2).sum(axis=-1))

    return np.hstack([pairs, table]), parts


def _interval(table: FloatArray, values: FloatArray) -> tuple[FloatArray, Parts]:
    """Squared differences within each unit, and number, sum and sum of squares of its ratings."""
    centred = values - (table.sum(axis=0) @ values / max(table.sum(), 1.0))
    k, sums, squares = table.sum(axis=1), table @ centred, table @ centred**2
    apart = 2 * (k * squares - sums**2) / np.maximum(k - 1, 1)

    def parts(totals: FloatArray) -> tuple[FloatArray, FloatArray]:
        n = totals[..., 1]
        return _ratios(totals[..., 0], n, 2 * (n * totals[..., 3] - totals[..., 2] ** 2))

    return np.column_stack([apart, k, sums, squares]), parts


def _ordinal(table: FloatArray, values: FloatArray) -> tuple[FloatArray, Parts]:
    """Coincidences of each unit: the distance of two categories depends on the ratings in between."""
    size = values.size
    if size > MOST_ORDERED:
        raise PairstatsError(
            f"`ratings` must have at most {MOST_ORDERED} distinct values for level='ordinal', but have {size}. "
            "Use level='interval', or group them."
        )
    pairs = table[:, :, None] * table[:, None, :]
    pairs[:, np.arange(size), np.arange(size)] -= table
    pairs /= np.maximum(table.sum(axis=1) - 1, 1)[:, None, None]

    def parts(totals: FloatArray) -> tuple[FloatArray, FloatArray]:
        together = totals.reshape(*totals.shape[:-1], size, size)
        margin = together.sum(axis=-1)
        # Ratings up to the middle of each category; their difference counts those in between.
        middle = np.cumsum(margin, axis=-1) - margin / 2
        apart = (middle[..., :, None] - middle[..., None, :]) ** 2
        across = margin[..., :, None] * margin[..., None, :]
        return _ratios(
            (together * apart).sum(axis=(-2, -1)), margin.sum(axis=-1), (across * apart).sum(axis=(-2, -1))
        )

    return pairs.reshape(len(table), -1), parts


def _ratios(observed: FloatArray, n: FloatArray, expected: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Observed and expected disagreement from sums over pairs of n ratings."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return observed / n, expected / (n * (n - 1))


def _as_values(categories: tuple[Hashable, ...], level: str) -> FloatArray:
    if level == "nominal":
        return np.arange(len(categories), dtype=np.float64)
    try:
        values = np.array(categories, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array([math.nan])
    if not np.isfinite(values).all():
        raise PairstatsError(
            f"`ratings` must be finite numbers for level={level!r}, but hold {categories[0]!r} and others. "
            "Code the ratings as numbers, or use level='nominal'."
        )
    return values
