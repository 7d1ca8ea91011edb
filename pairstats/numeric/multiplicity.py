"""P-values adjusted for the number of questions asked."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import PairstatsError, listed, one_of

Floats = NDArray[np.float64]

METHODS = {
    "none": None,
    "holm": "holm",
    "bonferroni": "bonferroni",
    "hochberg": "simes-hochberg",
    "hommel": "hommel",
    "sidak": "sidak",
    "holm-sidak": "holm-sidak",
    "bh": "fdr_bh",
    "by": "fdr_by",
}
"""Our names, and what statsmodels calls them. "bh" and "by" control the false discovery rate."""


def holm(p_values: ArrayLike) -> Floats:
    r"""Holm's step-down adjustment: strong control of the familywise error, whatever the dependence.

    Use it for a registered family of contrasts: it needs no assumption. Not for a screen of many categories,
    where `adjust` with "bh" says how many finds may be false; for all pairs of systems `shaffer` finds more.

    Parameters
    ----------
    p_values : array_like, shape (k,)
        In [0, 1], without NaN.

    Returns
    -------
    ndarray, shape (k,)
        In the order given: :math:`\max_{j \le i} \min(1, (k - j + 1) p_{(j)})` for the i-th smallest.

    Raises
    ------
    PairstatsError
        As in `adjust`.

    Notes
    -----
    Sorted p-values times m, m - 1, ..., 1, then the running maximum, at most 1.

    References
    ----------
    Holm, S. (1979). Scandinavian Journal of Statistics 6, 65-70.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03, 0.005, 0.2]).round(3).tolist()
    [0.04, 0.09, 0.09, 0.025, 0.2]
    """
    p = _checked(p_values)
    order = np.argsort(p, kind="stable")
    stepped = np.maximum.accumulate(np.minimum(1.0, p[order] * np.arange(p.size, 0, -1)))
    adjusted = np.empty_like(p)
    adjusted[order] = stepped
    return adjusted


def adjust(p_values: ArrayLike, method: str = "holm") -> Floats:
    r"""Adjust p-values by a named method of `statsmodels.stats.multitest.multipletests`.

    Use it for several tests that share one error rate, registered together. Not for all pairs of systems at
    once, where `shaffer` and `all_pairs` use more; nor for confidence limits, which `simultaneous_intervals`
    covers.

    Parameters
    ----------
    p_values : array_like, shape (k,)
        In [0, 1], without NaN: a contrast that could not be tested is no part of the family, and leaving
        it in or out must be the caller's decision. May be empty.
    method : {"holm", "bonferroni", "hochberg", "hommel", "sidak", "holm-sidak", "bh", "by", "none"}
        "holm" needs no assumption. "hochberg" and "hommel" need independence or positive dependence.

    Returns
    -------
    ndarray, shape (k,)
        In the order given.

    Raises
    ------
    PairstatsError
        If a p-value is NaN or outside [0, 1] (positions are named), or the method is unknown.

    Notes
    -----
    With sorted p-values :math:`p_{(1)} \le \dots \le p_{(m)}`: "holm" :math:`\max_{j \le i} (m - j + 1)
    p_{(j)}`, "hochberg" :math:`\min_{j \ge i} (m - j + 1) p_{(j)}`, "bonferroni" :math:`m p`, "bh"
    :math:`\min_{j \ge i} m p_{(j)} / j`; at most 1. The first three keep the familywise error, "bh" the false
    discovery rate.

    References
    ----------
    Hochberg, Y. (1988). Biometrika 75, 800-802. doi:10.1093/biomet/75.4.800
    Benjamini, Y. & Hochberg, Y. (1995). Journal of the Royal Statistical Society B 57, 289-300.
    doi:10.1111/j.2517-6161.1995.tb02031.x

    Examples
    --------
    >>> adjust([0.0004, 0.02, 0.03], "bonferroni").round(4).tolist()
    [0.0012, 0.06, 0.09]
    """
    one_of("method", method, METHODS)
    p = _checked(p_values)
    if method == "none" or p.size == 0:
        return p
    if method == "holm":
        return holm(p)
    from statsmodels.stats.multitest import multipletests

    with np.errstate(divide="ignore"):  # the logarithm of 1 - p at p = 1, which comes out right
        adjusted: Floats = np.asarray(multipletests(p, method=METHODS[method])[1], dtype=np.float64)
    return np.minimum(adjusted, 1.0)


def _checked(p_values: ArrayLike) -> Floats:
    p = np.array(p_values, dtype=np.float64)
    if p.ndim != 1:
        raise PairstatsError(
            f"`p_values` must be one-dimensional, but its shape is {p.shape}. Pass one p-value a contrast."
        )
    wrong = np.flatnonzero(~((p >= 0) & (p <= 1)))
    if wrong.size:
        raise PairstatsError(
            f"`p_values` must lie in [0, 1], but positions {listed(wrong.tolist())} do not "
            f"(the first is {p[wrong[0]]}). Leave out contrasts that were not tested, and say so."
        )
    return p
