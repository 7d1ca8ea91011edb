"""McNemar's test of paired 0/1 scores, and the odds ratio that goes with it, from discordant counts.

A p-value is never 0, never above 1 and never NaN; the smallest one a design can reach is in `p_floor`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betainc, betaincinv, gammaln, ndtr, xlog1py, xlogy

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.checks import EstimateInterval, as_count, check_alternative, tails
from pairstats.numeric.proportions import clopper_pearson, mid_p_interval, wilson
from pairstats.numeric.signsum import SignSum, as_p, side_p

MCNEMAR_METHODS = ("exact", "mid-p", "chi2", "chi2-corrected", "unconditional")
ODDS_RATIO_METHODS = {"exact": clopper_pearson, "mid-p": mid_p_interval, "wilson": wilson}

BERGER_BOOS = 1e-4
"""Error of the interval for the share of discordant pairs over which the unconditional p is maximised."""

MOST_UNCONDITIONAL = 5000
"""Pairs up to which the unconditional test is computed."""


@dataclass(frozen=True, slots=True)
class McNemarTest:
    """Test of equal success on paired items.

    Attributes
    ----------
    statistic : float
        "exact" and "mid-p": `n_first_only` - `n_second_only`. "chi2" and "chi2-corrected": the
        chi-square with one degree of freedom. "unconditional": the signed root of the chi-square.
    p_value : float
        In (0, 1]; 1 where no pair is discordant.
    n_first_only, n_second_only : int
        Discordant pairs.
    p_floor : float
        Smallest p-value that this number of discordant pairs can give.
    method : str
        As asked.
    alternative : {"two-sided", "less", "greater"}
        "greater": the first succeeds more often.
    """

    statistic: float
    p_value: float
    n_first_only: int
    n_second_only: int
    p_floor: float
    method: str
    alternative: str


def mcnemar(
    n_first_only: int,
    n_second_only: int,
    *,
    method: str = "exact",
    alternative: str = "two-sided",
    n: int | None = None,
) -> McNemarTest:
    r"""Test whether two systems are right equally often on the same independent items.

    Use it for two systems on independent single items. Not with copies, variants or repeats, where the items
    of a family are no independent pairs and `sign_flip` is the test.

    Parameters
    ----------
    n_first_only, n_second_only : int
        Pairs that only the first, only the second got right.
    method : {"exact", "mid-p", "chi2", "chi2-corrected", "unconditional"}
        "exact": binomial test of the discordant pairs, never above its level. "mid-p": the exact
        p-value less the chance of the observed split; close to its level, for description. "chi2":
        without, "chi2-corrected": with continuity correction. "unconditional": exact over the number of
        discordant pairs as well.
    alternative : {"two-sided", "less", "greater"}
        "greater": the first is right more often.
    n : int, optional
        All pairs, needed by "unconditional" (at most 5000).

    Returns
    -------
    McNemarTest

    Raises
    ------
    PairstatsError
        If a count is not a whole number, or `n` is missing or too small for "unconditional".

    Notes
    -----
    With b and c discordant pairs the exact p-value is
    :math:`\min(1, 2 P(\mathrm{Bin}(b+c, 1/2) \le \min(b, c)))`. Mid-p subtracts
    :math:`P(\mathrm{Bin} = \min(b, c))`; where b = c it is :math:`1 - P(\mathrm{Bin} = b)`. The unconditional
    p-value is the largest chance of a :math:`|b-c|/\sqrt{b+c}` as large, over the shares of discordant pairs
    in a 99.99 % interval, plus 0.0001. The items must be independent: with copies, use `sign_flip` on
    family totals.

    References
    ----------
    McNemar, Q. (1947). Psychometrika 12, 153-157. doi:10.1007/BF02295996
    Fagerland, M. W., Lydersen, S. & Laake, P. (2013). BMC Medical Research Methodology 13, 91.
    doi:10.1186/1471-2288-13-91
    Suissa, S. & Shuster, J. J. (1991). Biometrics 47, 361-372.

    Examples
    --------
    >>> test = mcnemar(6, 16)
    >>> test.statistic, round(test.p_value, 4)
    (-10.0, 0.0525)
    >>> mcnemar(0, 0).p_value
    1.0
    """
    one_of("method", method, MCNEMAR_METHODS)
    side = check_alternative(alternative)
    b = as_count("n_first_only", n_first_only)
    c = as_count("n_second_only", n_second_only)
    pairs = _pairs(n, b + c) if method == "unconditional" else 0
    extreme = (0, b + c) if side == "less" else (b + c, 0)
    statistic, p_value = _mcnemar_p(b, c, method, side, pairs)
    return McNemarTest(
        statistic=statistic,
        p_value=p_value,
        n_first_only=b,
        n_second_only=c,
        p_floor=_mcnemar_p(*extreme, method, side, pairs)[1],
        method=method,
        alternative=side,
    )


def mcnemar_odds_ratio(
    n_first_only: int,
    n_second_only: int,
    *,
    method: str = "exact",
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
) -> EstimateInterval:
    """Conditional odds ratio of paired items, with limits that go with McNemar's test.

    Use it where a paper asks for an odds ratio on independent items. Not with families, for which
    `clustered_odds_ratio` is; nor as the effect of choice, since `paired_difference_interval` needs no
    conditioning.

    Parameters
    ----------
    n_first_only, n_second_only : int
        Pairs that only the first, only the second got right.
    method : {"exact", "mid-p", "wilson"}
        Interval for the first's share of the discordant pairs: Clopper-Pearson, mid-p or Wilson.
    confidence_level : float
        In (0, 1).
    alternative : {"two-sided", "less", "greater"}
        "greater" gives a lower limit only (the other is infinite), "less" an upper limit only.

    Returns
    -------
    EstimateInterval
        `estimate` is ``n_first_only / n_second_only``; infinite where the second is 0, NaN where both
        are (nothing is known, and the limits are 0 and infinity).

    Notes
    -----
    b / c; with the limits :math:`(l, u)` of the share b / (b + c), :math:`l / (1 - l)` to :math:`u / (1 - u)`.

    References
    ----------
    Fagerland, M. W., Lydersen, S. & Laake, P. (2014). Statistics in Medicine 33, 2850-2875.
    doi:10.1002/sim.6148

    Examples
    --------
    >>> mcnemar_odds_ratio(6, 16)
    EstimateInterval(0.375 [0.120184, 1.00892], odds-ratio-exact, 95% two-sided)
    """
    one_of("method", method, ODDS_RATIO_METHODS)
    b = as_count("n_first_only", n_first_only)
    c = as_count("n_second_only", n_second_only)
    tails(confidence_level, alternative)  # checks both
    rule, share = ODDS_RATIO_METHODS[method], {"confidence_level": confidence_level}
    low = rule(b, b + c, alternative=alternative, **share).low if b else 0.0
    # The upper limit from the other's share, which keeps its digits where the first's is near 1.
    mirrored = {"two-sided": "two-sided", "less": "greater", "greater": "less"}[alternative]
    other = rule(c, b + c, alternative=mirrored, **share).low if c else 0.0
    return EstimateInterval(
        low=_odds(low),
        high=1 / _odds(other) if other > 0 else math.inf,
        method=f"odds-ratio-{method}",
        confidence_level=float(confidence_level),
        alternative=alternative,
        estimate=b / c if c else (math.inf if b else math.nan),
    )


def _odds(share: float) -> float:
    return share / (1 - share) if share < 1 else math.inf


def _pairs(n: int | None, discordant: int) -> int:
    if n is None:
        raise PairstatsError(
            "`n` must be given for the unconditional test, but it is missing. Pass the number of all pairs."
        )
    pairs = as_count("n", n, minimum=max(discordant, 1))
    if pairs > MOST_UNCONDITIONAL:
        raise PairstatsError(
            f"`n` must be at most {MOST_UNCONDITIONAL} for the unconditional test, but got {pairs}. "
            "Use method='mid-p', which it hardly differs from at this size."
        )
    return pairs


def _mcnemar_p(b: int, c: int, method: str, side: str, n: int) -> tuple[float, float]:
    """Statistic and p-value for the discordant counts b and c."""
    if method == "unconditional":
        return _unconditional(b, c, side, n)
    if method in ("exact", "mid-p"):
        if b + c == 0:
            return 0.0, 1.0
        tail, atom = _binomial_tail(max(b, c), min(b, c))
        found = SignSum(tail, atom, (b > c) - (b < c), exact=True)
        return float(b - c), as_p(side_p(found, side, mid=method == "mid-p"))
    distance = max(abs(b - c) - (method == "chi2-corrected"), 0)
    z = distance / math.sqrt(b + c) if b + c else 0.0
    return z * z, _normal_p(math.copysign(z, b - c), side) if b + c else 1.0


def _binomial_tail(more: int, less: int) -> tuple[float, float]:
    """P(X >= more) and P(X = more) for X of more + less fair coins."""
    n = more + less
    tail = float(betainc(more, less + 1, 0.5))
    if n <= 1000:
        return tail, math.comb(n, more) / 2**n
    return tail, tail - float(betainc(more + 1, less, 0.5)) if less else tail


def _normal_p(z: float, side: str) -> float:
    tail = {"two-sided": 2 * float(ndtr(-abs(z))), "greater": float(ndtr(-z)), "less": float(ndtr(z))}
    return as_p(tail[side])


def _unconditional(b: int, c: int, side: str, n: int) -> tuple[float, float]:
    """Suissa and Shuster's test, maximised over a Berger-Boos interval for the discordant share."""
    if b + c == 0:
        return 0.0, 1.0
    root = (b - c) / math.sqrt(b + c)
    reached = -root if side == "less" else abs(root) if side == "two-sided" else root
    k = np.arange(n + 1)
    # Smallest count of k discordant pairs whose statistic is as large; a hair lower, so that ties count.
    least = np.ceil((k + reached * np.sqrt(k)) / 2 - 1e-9)
    reaching = np.where(least <= 0, 1.0, 0.0)
    inside = (least > 0) & (least <= k)
    reaching[inside] = betainc(least[inside], k[inside] - least[inside] + 1, 0.5)
    if side == "two-sided":
        reaching = np.minimum(2 * reaching, 1.0)
    reaching[0] = float(reached <= 0)

    low = float(betaincinv(b + c, n - b - c + 1, BERGER_BOOS / 2))
    high = float(betaincinv(b + c + 1, n - b - c, 1 - BERGER_BOOS / 2)) if b + c < n else 1.0
    ways = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    worst = max(
        float(np.exp(ways + xlogy(k, share) + xlog1py(n - k, -share)) @ reaching)
        for share in np.linspace(low, high, 1000)
    )
    return root, as_p(worst + BERGER_BOOS)
