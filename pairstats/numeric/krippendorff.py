"""Krippendorff's alpha, from the coincidence matrix of each family."""

from __future__ import annotations

import math
from collections.abc import Hashable

import numpy as np
from numpy.typing import NDArray

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.agreement import Agreement, beyond_chance, tabulate_ratings, with_jackknife
from pairstats.numeric.copies import Answers
from pairstats.numeric.shares import Families, family_codes

FloatArray = NDArray[np.float64]

LEVELS = ("nominal", "ordinal", "interval")


def krippendorff_alpha(
    ratings: Answers, *, level: str = "nominal", families: Families = None, confidence_level: float = 0.95
) -> Agreement:
    r"""Krippendorff's alpha for nominal, ordinal or interval ratings; rows may miss ratings.

    Use it for rubric scores (ordinal, interval) or with many missing ratings. Near full agreement on one
    category it is unstable, as kappa is.

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
    table, values = table[:, order], values[order]
    complete = table.sum(axis=1) >= 2
    weights = 1 / np.maximum(table.sum(axis=1) - 1, 1) * complete
    size = values.size

    def parts(totals: FloatArray) -> tuple[FloatArray, FloatArray]:
        pairs = totals.reshape(*totals.shape[:-1], size, size)
        margin = pairs.sum(axis=-1)
        n = margin.sum(axis=-1)
        apart = _squared_distance(values, margin, level)
        with np.errstate(invalid="ignore", divide="ignore"):
            observed = (pairs * apart).sum(axis=(-2, -1)) / n
            across = margin[..., :, None] * margin[..., None, :]
            return observed, (across * apart).sum(axis=(-2, -1)) / (n * (n - 1))

    totals = np.array([
        (np.einsum("u,ua,ub->ab", w, t, t) - np.diag(w @ t)).ravel()
        for w, t in ((weights[codes == f], table[codes == f]) for f in range(int(codes.max()) + 1))
    ])  # fmt: skip
    observed, expected = parts(totals.sum(axis=0))
    return with_jackknife(
        totals, lambda t: beyond_chance(*(1 - part for part in parts(t))), 1 - float(observed),
        1 - float(expected), confidence_level, table, tuple(categories[i] for i in order), missing, math.nan,
    )  # fmt: skip


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


def _squared_distance(values: FloatArray, margin: FloatArray, level: str) -> FloatArray:
    if level == "interval":
        return np.asarray((values[:, None] - values[None, :]) ** 2)
    if level == "nominal":
        return np.asarray(values[:, None] != values[None, :], dtype=np.float64)
    # Ratings up to the middle of each category; their difference counts those in between.
    middle = np.cumsum(margin, axis=-1) - margin / 2
    return np.asarray((middle[..., :, None] - middle[..., None, :]) ** 2)
