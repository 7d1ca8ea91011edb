"""A share of family totals with its family interval, and the families that items belong to."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import PairstatsError
from pairstats.numeric.checks import plain_list, tails
from pairstats.numeric.family import Kind, family_interval
from pairstats.numeric.flips import is_missing
from pairstats.numeric.sandwich import cr2_interval

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
Families = Sequence[Hashable] | NDArray[Any] | None


@dataclass(frozen=True, slots=True)
class Share:
    """A ratio of family totals, with its family interval.

    Attributes
    ----------
    value : float
        ``sum(numerator) / sum(denominator)``; NaN where no family has a denominator.
    low, high : float
        Limits; the whole range where no family has a denominator.
    numerator, denominator : float
        The totals.
    n_families : int
        Families with a denominator above 0; the others say nothing about the ratio.
    method : str
        "family-jeffreys" or "family-cp"; "undefined" where no family has a denominator.
    confidence_level : float
    std_error : float
        Cluster-robust (CR2) standard error; NaN with fewer than two families. The limits do not use it.
    """

    value: float
    low: float
    high: float
    numerator: float
    denominator: float
    n_families: int
    method: str
    confidence_level: float
    std_error: float

    def __repr__(self) -> str:
        found = f"{self.value:.6g} [{self.low:.6g}, {self.high:.6g}]"
        return f"Share({found}, {self.numerator:.6g} of {self.denominator:.6g}, {self.n_families} families)"


def family_share(
    numerator: ArrayLike,
    denominator: ArrayLike,
    *,
    kind: Kind = "jeffreys",
    bounds: tuple[float, float] = (0.0, 1.0),
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
) -> Share:
    r"""Ratio of family totals with a random denominator, and its family interval.

    Use it where the denominator is itself counted in each family: wrong answers among the confident ones,
    errors among the families that agree. Not where the denominator is fixed by design, for which
    `family_interval` is made. Families with a denominator of 0 are left out.

    Parameters
    ----------
    numerator, denominator : array_like, shape (G,)
        Totals of each family, finite; no denominator is negative. No families at all leave the share
        undefined.
    kind : {"jeffreys", "cp"}
        As in `family_interval`.
    bounds : tuple of float
        Range of one family's ratio.
    confidence_level : float, default 0.95
    alternative : {"two-sided", "less", "greater"}

    Returns
    -------
    Share

    Raises
    ------
    PairstatsError
        If totals are not finite or not paired, a denominator is negative, or a family has a numerator but no
        denominator.

    Notes
    -----
    :math:`\sum a_i / \sum b_i`, with the ratio form of `family_interval`: quantiles of :math:`\sum D_i a_i /
    \sum D_i b_i` with Dirichlet weights.

    References
    ----------
    Learned-Miller, E. & Thomas, P. S. (2019). A new confidence interval for the mean of a bounded random
    variable. arXiv:1905.06208

    Examples
    --------
    >>> family_share([0, 1, 0], [2, 2, 0])
    Share(0.25 [0.0383455, 0.748632], 1 of 4, 2 families)
    """
    top, below = _totals(numerator, denominator)
    used = below > 0
    if not used.any():
        tails(confidence_level, alternative)
        return Share(math.nan, *bounds, 0.0, 0.0, 0, "undefined", confidence_level, math.nan)
    means, sizes = top[used] / below[used], below[used]
    found = family_interval(
        means, sizes=sizes, kind=kind, bounds=bounds, confidence_level=confidence_level,
        alternative=alternative,
    )  # fmt: skip
    sums = float(top[used].sum()), float(sizes.sum())
    error = cr2_interval(means, sizes=sizes).std_error
    return Share(
        sums[0] / sums[1], found.low, found.high, *sums, means.size, found.method, confidence_level, error
    )


def _totals(numerator: ArrayLike, denominator: ArrayLike) -> tuple[FloatArray, FloatArray]:
    top, below = (np.asarray(each, dtype=np.float64) for each in (numerator, denominator))
    if top.ndim != 1 or top.shape != below.shape:
        raise PairstatsError(
            "`numerator` and `denominator` must be one-dimensional and of one length, but their shapes are "
            f"{top.shape} and {below.shape}. Pass both totals of each family."
        )
    wrong = np.flatnonzero(
        ~(np.isfinite(top) & np.isfinite(below) & (below >= 0)) | ((below == 0) & (top != 0))
    )
    if wrong.size:
        first = wrong[0]
        raise PairstatsError(
            "`numerator` and `denominator` must be finite, and no denominator negative, or 0 beside a numerator, "
            f"but {wrong.size} families are not so, the first at position {first}: {top[first]:g} of "
            f"{below[first]:g}. Drop what is missing, and count it, before calling."
        )
    return top, below


def family_codes(families: Families, n: int) -> IntArray:
    """Number the families of `n` items from 0, in order of appearance; None makes each item its own.

    Examples
    --------
    >>> family_codes(["b", "a", "b"], 3).tolist()
    [0, 1, 0]
    """
    if families is None:
        return np.arange(n)
    names = plain_list(families)
    if len(names) != n:
        raise PairstatsError(
            f"`families` must have one entry for each of the {n} items, but it has {len(names)}. "
            "Pass the family of each item, in the same order."
        )
    missing = [position for position, name in enumerate(names) if is_missing(name)]
    if missing:
        raise PairstatsError(
            f"`families` must name a family for each item, but {len(missing)} are missing, the first at "
            f"position {missing[0]}. Give every item its family."
        )
    code = {name: position for position, name in enumerate(dict.fromkeys(names))}
    return np.array([code[name] for name in names], dtype=np.int64)


def family_sums(values: ArrayLike, codes: IntArray) -> FloatArray:
    """Add up the values of each family.

    Examples
    --------
    >>> family_sums([1, 2, 4], np.array([0, 1, 0])).tolist()
    [5.0, 2.0]
    """
    return np.bincount(codes, weights=np.asarray(values, dtype=np.float64)).astype(np.float64)
