"""Power, sample size and smallest difference found, for McNemar's test on independent pairs."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import bdtr, bdtrc, chdtrc, chdtri, ndtri

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.checks import as_count, check_level
from pairstats.numeric.convolution import binomial_pmf
from pairstats.numeric.planning import copies_effect

Floats = NDArray[np.float64]

TESTS = ("exact", "mid-p", "chi2", "chi2-corrected")
SIZE_METHODS = ("exact", "mid-p", "chi2", "connor", "miettinen")
MOST_PAIRS = 100_000
"""Largest number of pairs that is tried."""


@dataclass(frozen=True, slots=True)
class SampleSize:
    """Pairs needed for a power.

    Attributes
    ----------
    n : int
        Pairs from which on the power stays at or above the target.
    first_reach : int
        Fewest pairs with the target power; exact power is saw-toothed, and may fall again up to `n`.
    unrounded : float
        What the formula gives; NaN where power is exact.
    method : str
    """

    n: int
    first_reach: int
    unrounded: float
    method: str


def mcnemar_power(
    n: int, p_first_only: float, p_second_only: float, *, alpha: float = 0.05, method: str = "exact"
) -> float:
    r"""Power of McNemar's two-sided test, over all numbers of discordant pairs.

    Use it for independent pairs. Not with families as it is: divide `n` by the design effect
    (`families_needed`), or simulate (`paired_family_power`). With equal probabilities it is the size of the
    test.

    Parameters
    ----------
    n : int
        Pairs, at least 1.
    p_first_only, p_second_only : float
        Probability that only the first, or only the second system is right; their sum at most 1.
    alpha : float, default 0.05
    method : {"exact", "mid-p", "chi2", "chi2-corrected"}
        Test that is planned; the default, "exact", is the one that verdicts use.

    Returns
    -------
    float

    Notes
    -----
    :math:`\sum_k \mathrm{Bin}(k; n, \psi) P(\text{reject} \mid k)` with :math:`\psi` the sum of both.

    References
    ----------
    Connor, R. J. (1987). Sample size for testing differences in proportions for the paired-sample design.
    Biometrics 43, 207-211. doi:10.2307/2531961

    Examples
    --------
    >>> round(mcnemar_power(160, 0.10, 0.05), 4), round(mcnemar_power(160, 0.10, 0.05, method="mid-p"), 4)
    (0.2952, 0.3567)
    """
    one_of("method", method, TESTS)
    pairs = as_count("n", n, minimum=1)
    psi, _ = _discordance(p_first_only, p_second_only)
    if psi == 0:
        return 0.0
    level = _check_alpha(alpha)
    discordant = np.arange(pairs + 1)
    critical = _critical_counts(pairs, level, method)
    rejecting = _tail_probability(critical, discordant, p_first_only / psi)
    return min(1.0, float(binomial_pmf(discordant, pairs, psi) @ rejecting))


def mcnemar_sample_size(
    p_first_only: float,
    p_second_only: float,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    method: str = "exact",
) -> SampleSize:
    r"""Independent pairs needed to find a difference with McNemar's two-sided test.

    Use it to plan a comparison on independent items. Not with families of copies, for which `families_needed`
    converts it and `paired_family_power` simulates.

    Parameters
    ----------
    p_first_only, p_second_only : float
        Probability that only the first, or only the second system is right; not equal.
    power : float, default 0.8
    alpha : float, default 0.05
    method : {"exact", "mid-p", "chi2", "connor", "miettinen"}
        A test, the power of which is then exact; or a formula of large samples.

    Returns
    -------
    SampleSize

    Notes
    -----
    With :math:`\psi = p_{10} + p_{01}` and :math:`\delta = p_{10} - p_{01}`. Connor:
    :math:`[z_{\alpha/2} \sqrt\psi + z_\beta \sqrt{\psi - \delta^2}]^2 / \delta^2`. Miettinen:
    :math:`[z_{\alpha/2} \psi + z_\beta \sqrt{\psi^2 - \delta^2 (3 + \psi) / 4}]^2 / (\psi \delta^2)`.

    References
    ----------
    Connor, R. J. (1987). Biometrics 43, 207-211. doi:10.2307/2531961
    Miettinen, O. S. (1968). Biometrics 24, 339-352. doi:10.2307/2528039

    Examples
    --------
    >>> mcnemar_sample_size(0.15, 0.05, method="connor").n
    155
    >>> mcnemar_sample_size(0.15, 0.05, method="mid-p").first_reach
    152
    """
    one_of("method", method, SIZE_METHODS)
    psi, delta = _discordance(p_first_only, p_second_only)
    if delta == 0:
        raise PairstatsError(
            "`p_first_only` and `p_second_only` must differ, but both are "
            f"{p_first_only!r}. No number of pairs finds a difference that is not there."
        )
    target, level = check_level(power), _check_alpha(alpha)
    normal = "connor" if method in TESTS else method
    formula = _formula(psi, delta, float(-ndtri(level / 2)), float(ndtri(target)), normal)
    if method not in TESTS:
        rounded = max(1, math.ceil(formula - 1e-9))
        return SampleSize(rounded, rounded, formula, method)
    if formula > MOST_PAIRS:
        raise PairstatsError(
            f"Exact power is computed for at most {MOST_PAIRS:,} pairs, but about {formula:,.0f} are needed. "
            "Use method='connor', which is right at this size."
        )
    share = float(p_first_only) / psi
    first, last = _search(formula, lambda pairs: _powers(pairs, psi, share, level, method) >= target)
    return SampleSize(last, first, math.nan, method)


def minimal_detectable_difference(
    n: int,
    discordance: float,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
    method: str = "exact",
    copies: int = 1,
    icc: float = 0.0,
) -> float | None:
    r"""Smallest difference of two paired shares that n pairs find with the wanted power.

    Use it before ranking systems: what is smaller cannot be told apart. Not as a margin, which is a matter of
    what matters; `noninferiority_nobs` covers that.

    Parameters
    ----------
    n : int
        Pairs in all (families times copies).
    discordance : float
        Share of pairs that differ, :math:`p_{10} + p_{01}`; in (0, 1].
    power, alpha : float
    method : {"exact", "mid-p", "chi2", "chi2-corrected"}
    copies : int, default 1
        Copies in a family.
    icc : float, default 0
        Correlation of the *differences* of two copies of a family; `n` is divided by the design effect.

    Returns
    -------
    float or None
        None where even the largest difference, the discordance itself, is not found.

    Notes
    -----
    The smallest :math:`\delta` at which `mcnemar_power` with shares :math:`(\psi \pm \delta) / 2` reaches the
    wanted power, with n divided by the design effect.

    References
    ----------
    Connor, R. J. (1987). Biometrics 43, 207-211. doi:10.2307/2531961

    Examples
    --------
    >>> print(round(minimal_detectable_difference(80, 0.2, method="mid-p"), 3))
    0.133
    >>> minimal_detectable_difference(40, 0.1) is None
    True
    """
    one_of("method", method, TESTS)
    target = check_level(power)
    if not 0 < discordance <= 1:
        raise PairstatsError(
            f"`discordance` must lie in (0, 1], but got {discordance!r}. Pass the share of pairs that differ."
        )
    pairs = as_count("n", n, minimum=1)
    effective = max(1, math.floor(pairs / copies_effect(copies, icc) + 1e-9))

    def lacking(difference: float) -> float:
        first = min((discordance + difference) / 2, discordance)
        return mcnemar_power(effective, first, discordance - first, alpha=alpha, method=method) - target

    if lacking(discordance) < 0:
        return None
    return float(brentq(lacking, 0.0, discordance, xtol=1e-10)) if lacking(0.0) < 0 else 0.0


def _discordance(p_first_only: float, p_second_only: float) -> tuple[float, float]:
    """Sum and difference of the two discordant probabilities."""
    first, second = float(p_first_only), float(p_second_only)
    if not (0 <= first <= 1 and 0 <= second <= 1 and first + second <= 1 + 1e-12):
        raise PairstatsError(
            "`p_first_only` and `p_second_only` must be probabilities with a sum of at most 1, but got "
            f"{p_first_only!r} and {p_second_only!r}. Pass shares of all pairs."
        )
    return min(first + second, 1.0), first - second


def _check_alpha(alpha: float) -> float:
    if not 0 < alpha < 1:
        raise PairstatsError(f"`alpha` must lie strictly between 0 and 1, but got {alpha!r}. Write 0.05.")
    return float(alpha)


def _formula(psi: float, delta: float, z_alpha: float, z_beta: float, method: str) -> float:
    if method == "connor":
        root = math.sqrt(max(psi - delta**2, 0.0))
        return (z_alpha * math.sqrt(psi) + z_beta * root) ** 2 / delta**2
    root = math.sqrt(max(psi**2 - delta**2 * (3 + psi) / 4, 0.0))
    return (z_alpha * psi + z_beta * root) ** 2 / (psi * delta**2)


def _critical_counts(most: int, alpha: float, method: str) -> NDArray[np.int64]:
    """Largest smaller count of k discordant pairs that is rejected, -1 where none is, for k = 0..most.

    The p-value rises by one step of the count, so only the counts next to a start value are tried.
    """
    k = np.arange(most + 1)
    if method in ("chi2", "chi2-corrected"):
        away = np.sqrt(float(chdtri(1, alpha)) * k) + (method == "chi2-corrected")
        start = np.floor((k - away) / 2).astype(np.int64) + 1
    else:
        start = np.floor(_binomial_quantile(k, alpha / 2)).astype(np.int64) + 2
    found = np.full(k.size, -1, dtype=np.int64)
    for down in range(6, -1, -1):
        count = np.minimum(start - down, (k - 1) // 2)
        rejected = (count >= 0) & (_p_values(np.maximum(count, 0), k, method) <= alpha * (1 + 1e-12))
        found = np.where(rejected, np.maximum(found, count), found)
    return found


def _search(formula: float, reaches: Callable[[range], NDArray[np.bool_]]) -> tuple[int, int]:
    """Fewest pairs that reach the target, and those from which on all do, near what a formula gives.

    Power is saw-toothed, but far beyond the last tooth that falls short none does. Where hardly any pairs
    differ the formula is far from the truth, and the search goes on below or above.
    """
    most = math.ceil(1.3 * formula) + 60
    start = 1 if most <= 1200 else max(1, math.floor(0.9 * formula) - 60)
    reached = reaches(range(start, most + 1))
    while start > 1 and reached[0]:
        start, before = max(1, start // 2), start
        reached = np.concatenate([reaches(range(start, before)), reached])
    while True:
        short = np.flatnonzero(~reached)
        last = start + int(short[-1]) + 1 if short.size else start
        if 1.15 * last <= most:
            return start + int(np.argmax(reached)), last
        if most > 2 * MOST_PAIRS:
            raise PairstatsError(
                f"Exact power is computed for at most {2 * MOST_PAIRS:,} pairs, which do not reach the target. "
                "Use method='connor'."
            )
        reached = np.concatenate([reached, reaches(range(most + 1, 2 * most + 1))])
        most *= 2


def _powers(pairs: range, psi: float, share: float, alpha: float, method: str) -> Floats:
    """Power at each of many numbers of pairs.

    Whether k discordant pairs are rejected does not depend on the number of all pairs, and is worked out once;
    of the numbers of discordant pairs those are left out that have a probability below 1e-17 in all (Bernstein).
    """
    most = pairs[-1]
    discordant = np.arange(most + 1)
    rejecting = _tail_probability(_critical_counts(most, alpha, method), discordant, share)
    found = np.empty(len(pairs))
    for at, n in enumerate(pairs):
        far = 9 * math.sqrt(n * psi * (1 - psi)) + 40
        near = slice(max(0, math.floor(n * psi - far)), min(n, math.ceil(n * psi + far)) + 1)
        found[at] = binomial_pmf(discordant[near], n, psi) @ rejecting[near]
    return np.minimum(found, 1.0)


def _binomial_quantile(k: NDArray[np.int64], level: float) -> Floats:
    """Normal approximation of the quantile of Bin(k, 1/2)."""
    return k / 2 + float(ndtri(level)) * np.sqrt(k) / 2


def _p_values(count: NDArray[np.int64], k: NDArray[np.int64], method: str) -> Floats:
    """Two-sided p-value of `count` of `k`, below half of it."""
    if method in ("chi2", "chi2-corrected"):
        gap = np.maximum(k - 2.0 * count - (method == "chi2-corrected"), 0.0)
        return np.asarray(chdtrc(1, gap**2 / np.maximum(k, 1)))
    tail = np.where(count < k, bdtr(np.minimum(count, k).astype(float), k, 0.5), 1.0)
    p = 2.0 * tail
    if method == "mid-p":
        p = p - binomial_pmf(count, k, 0.5)
    return np.minimum(p, 1.0)


def _tail_probability(critical: NDArray[np.int64], k: NDArray[np.int64], share: float) -> Floats:
    """Probability that the smaller count is at most the critical one, either way round."""
    reaches = critical >= 0
    at = np.maximum(critical, 0)
    upper = np.maximum(k - at - 1, 0)
    low = bdtr(at.astype(float), np.maximum(k, 1), share)
    high = bdtrc(upper.astype(float), np.maximum(k, 1), share)
    return np.where(reaches, low + high, 0.0)
