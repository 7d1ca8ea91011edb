"""How much families of copies cost: effective families, effective items, design effect."""

from __future__ import annotations

import math
from dataclasses import dataclass

from numpy.typing import ArrayLike

from pairstats.numeric.checks import as_scores, as_sizes, check_bounds
from pairstats.numeric.sandwich import cluster_robust


@dataclass(frozen=True, slots=True)
class DesignEffect:
    """What the families do to the variance of an item-weighted mean.

    Attributes
    ----------
    design_effect : float
        Variance over that of as many independent items; NaN where families do not differ.
    icc : float
        Intra-family correlation that the design effect stands for; NaN for families of one item.
    n_effective : float
        Independent items that would be as good; never above the number of items, and the number of
        families where they do not differ.
    effective_families : float
        Families of equal size that would be as good, from the sizes alone.
    n_families : int
    """

    design_effect: float
    icc: float
    n_effective: float
    effective_families: float
    n_families: int


def effective_families(sizes: ArrayLike) -> float:
    r"""Number of families of equal size that would be as good, :math:`1 / \sum (n_i / N)^2`.

    Use it to see whether one or two families carry the mean: below half the number of families take the "cp"
    kind of `family_interval`, or the family-weighted mean. Not for how far copies repeat each other, which
    `design_effect` gives.

    Parameters
    ----------
    sizes : array_like, shape (G,)
        Decisions of each family.

    Returns
    -------
    float
        From 1 to G.

    Notes
    -----
    :math:`(\sum n_i)^2 / \sum n_i^2`.

    References
    ----------
    Rao, J. N. K. & Scott, A. J. (1992). Biometrics 48, 577-585. doi:10.2307/2532311

    Examples
    --------
    >>> effective_families([2, 2, 2, 2]), round(effective_families([20, 1, 1, 2, 2, 1]), 2)
    (4.0, 1.77)
    """
    counts = as_sizes(sizes, as_scores("sizes", sizes).size)
    return float(counts.sum() ** 2 / (counts @ counts))


def design_effect(scores: ArrayLike, *, sizes: ArrayLike | None = None) -> DesignEffect:
    r"""Design effect, intra-family correlation and effective number of items of a share.

    Use it to say how far copies repeat each other, and to plan. Not to widen an interval by hand, since those
    of `family_interval` are over families already. An estimate below 1 is luck and no reason for a larger n.

    Parameters
    ----------
    scores : array_like, shape (G,)
        Family means of 0/1 decisions.
    sizes : array_like, shape (G,), optional
        Decisions behind each mean; ones by default.

    Returns
    -------
    DesignEffect

    Notes
    -----
    The CR1 variance over ``p (1 - p) / N``. With :math:`\bar n = \sum n_i^2 / N` it stands for
    :math:`1 + (\bar n - 1) \mathrm{icc}`.

    References
    ----------
    Rao, J. N. K. & Scott, A. J. (1992). Biometrics 48, 577-585. doi:10.2307/2532311

    Examples
    --------
    >>> found = design_effect([1, 1, 0, 0.5, 0.5, 1, 1, 1, 0.5, 0.5], sizes=[2] * 10)
    >>> round(found.design_effect, 3), round(found.n_effective, 2), found.effective_families
    (1.164, 17.18, 10.0)
    """
    means = as_scores("scores", scores)
    counts = as_sizes(sizes, means.size)
    check_bounds(means, (0.0, 1.0))
    total = float(counts.sum())
    families = effective_families(counts)
    robust = cluster_robust(means, sizes=counts, kind="CR1")
    if means.size == 1 or robust.std_error == 0:
        return DesignEffect(math.nan, math.nan, float(means.size), families, means.size)
    effect = total * robust.std_error**2 / (robust.estimate * (1 - robust.estimate))
    mean_size = float(counts @ counts) / total
    icc = (effect - 1) / (mean_size - 1) if mean_size > 1 else math.nan
    return DesignEffect(effect, icc, min(total, total / effect), families, means.size)
