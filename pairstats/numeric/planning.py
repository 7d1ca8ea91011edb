"""Planning with families of copies: how many families, and the power that a design of them has."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.checks import as_count, check_alternative
from pairstats.numeric.draws import seeded
from pairstats.numeric.exact import sign_flip
from pairstats.numeric.family import family_interval
from pairstats.numeric.proportions import clopper_pearson, zero_event_nobs

Ints = NDArray[np.int64]
Decision = Callable[[NDArray[np.float64]], bool]
"""From the mean difference of each family to whether the claim is made."""

MODELS = ("dirichlet", "all-or-none")
DECISIONS = ("sign-flip", "mid-p", "family-cp", "family-jeffreys")


@dataclass(frozen=True, slots=True)
class FamilyCount:
    """Families that stand for a number of independent pairs.

    Attributes
    ----------
    families : int
    design_effect : float
        ``1 + (copies - 1) icc``.
    """

    families: int
    design_effect: float


@dataclass(frozen=True, slots=True)
class SimulatedPower:
    """Power of a design, by simulation.

    Attributes
    ----------
    power : float
        Share of the simulated studies that made the claim.
    low, high : float
        Clopper-Pearson interval (95 %) for the power that endless simulation would give.
    mc_error : float
        Monte-Carlo standard error.
    n_simulations : int
    seed : int or None
        Derived from the numbers of the design, or the one given; None where a generator was given.
    """

    power: float
    low: float
    high: float
    mc_error: float
    n_simulations: int
    seed: int | None = None


def paired_family_power(
    n_families: int,
    copies: int,
    p_first_only: float,
    p_second_only: float,
    *,
    icc: float = 0.0,
    model: str = "dirichlet",
    decision: str | Decision = "sign-flip",
    margin: float = 0.0,
    alpha: float = 0.05,
    n_simulations: int = 2000,
    rng: Any = None,
) -> SimulatedPower:
    r"""Power of a comparison of two systems on families of copies, by simulation.

    Use it for designs with families of copies. Not for single items, whose power `mcnemar_power` has exactly.

    With equal probabilities and no margin it is the size of the test.

    Parameters
    ----------
    n_families, copies : int
        Families, and items in each that both systems answer.
    p_first_only, p_second_only : float
        Probability of an item that only the first, or only the second system gets right.
    icc : float, default 0
        Correlation of the outcomes of two items of a family, in [0, 1].
    model : {"dirichlet", "all-or-none"}
        How a family differs from another: its three probabilities (first only, second only, neither of
        these) are drawn from a Dirichlet law; or all its items share one outcome with probability `icc`,
        and are independent otherwise. Both give the correlation `icc`.
    decision : str or callable
        "sign-flip" and "mid-p": two-sided p at most `alpha`. "family-cp" and "family-jeffreys": the lower
        limit of the two-sided interval of level ``1 - alpha`` is above ``-margin``. Or a function from the
        mean difference of each family, shape (G,), to a bool.
    margin : float, default 0
        Non-inferiority margin, for the interval decisions.
    alpha : float, default 0.05
    n_simulations : int, default 2000
    rng : int, Generator or SeedSequence, optional
        Handed to `numpy.random.default_rng`. Left out, the seed follows from the numbers of the design.

    Returns
    -------
    SimulatedPower

    Notes
    -----
    The share of simulated studies in which the claim is made; families from a Dirichlet-multinomial law with
    correlation `icc`, or all-or-none.

    References
    ----------
    Gonen, M. (2004). Statistics in Medicine 23, 2283-2294. doi:10.1002/sim.1768

    Examples
    --------
    >>> found = paired_family_power(40, 2, 0.25, 0.05, icc=0.3, n_simulations=200)
    >>> 0.6 < found.power < 0.9
    True
    """
    one_of("model", model, MODELS)
    families, m = as_count("n_families", n_families, minimum=1), as_count("copies", copies, minimum=1)
    studies = as_count("n_simulations", n_simulations, minimum=1)
    shares = _outcome_shares(p_first_only, p_second_only)
    if not 0 <= icc <= 1:
        raise PairstatsError(f"`icc` must lie in [0, 1], but got {icc!r}. Pass a correlation.")
    decide = decision if callable(decision) else _decision(decision, margin, alpha)
    design = [families, m, *shares, icc, margin, alpha]
    generator, seed = seeded([design], rng)
    known: dict[bytes, bool] = {}  # studies with the same families of each kind have one answer
    claims = 0
    for _ in range(studies):
        counts = _draw_families(families, m, shares, float(icc), model, generator)
        gaps = np.sort(counts[:, 0] - counts[:, 1])
        key = gaps.tobytes()
        if key not in known:
            known[key] = bool(decide(gaps / m))
        claims += known[key]
    share = claims / studies
    limits = clopper_pearson(claims, studies)
    error = math.sqrt(share * (1 - share) / studies)
    return SimulatedPower(share, limits.low, limits.high, error, studies, seed)


def families_needed(n_pairs: int, *, copies: int, icc: float) -> FamilyCount:
    r"""Families of copies that are worth a number of independent pairs.

    Use it to turn a number of independent pairs into families of copies. Not for power itself, which
    `paired_family_power` simulates.

    Parameters
    ----------
    n_pairs : int
        Independent pairs needed, as from `mcnemar_sample_size`.
    copies : int
        Copies in a family.
    icc : float
        Correlation of the *differences* of two copies of a family, in [-1, 1].

    Returns
    -------
    FamilyCount

    Notes
    -----
    :math:`\lceil n (1 + (m - 1) \rho) / m \rceil` for m copies with correlation :math:`\rho` of their
    differences.

    References
    ----------
    Gonen, M. (2004). Sample size and power for McNemar's test with clustered data. Statistics in Medicine
    23, 2283-2294. doi:10.1002/sim.1768

    Examples
    --------
    >>> families_needed(100, copies=2, icc=0.3)
    FamilyCount(families=65, design_effect=1.3)
    """
    effect = copies_effect(copies, icc)
    pairs = as_count("n_pairs", n_pairs, minimum=1)
    return FamilyCount(math.ceil(pairs * effect / copies - 1e-9), effect)


def families_for_bound(bound: float, *, confidence_level: float = 0.95) -> int:
    r"""Families that must all pass for the lower limit of the success rate to reach a bound.

    Use it to plan a claim such as "at least 98 %". Not where some may fail: then simulate, or see
    `family_interval` for what a result would give.

    Parameters
    ----------
    bound : float
        Lower limit that is wanted, in (0, 1).
    confidence_level : float
        Of the one-sided limit; 0.975 for the limit that stands beside two-sided 95 % intervals.

    Returns
    -------
    int

    Notes
    -----
    :math:`\lceil \log \alpha / \log b \rceil`, since G passes of G have the lower limit :math:`\alpha^{1/G}`.

    References
    ----------
    Hanley, J. A. & Lippman-Hand, A. (1983). JAMA 249, 1743-1745. doi:10.1001/jama.1983.03330370053031

    Examples
    --------
    >>> [families_for_bound(bound, confidence_level=0.975) for bound in (0.95, 0.98, 0.99)]
    [72, 183, 368]
    """
    if not 0 < bound < 1:
        raise PairstatsError(f"`bound` must lie strictly between 0 and 1, but got {bound!r}. Write 0.95.")
    return zero_event_nobs(1.0 - bound, confidence_level=confidence_level)


def smallest_sign_flip_p(n_families: int, *, alternative: str = "two-sided") -> float:
    """Smallest p-value that the exact sign-flip test can give: all families in one direction.

    Use it before a test is planned on few families. Not for what was found, where `sign_flip` gives the floor
    of the families that differ.

    Below 6 families that differ no two-sided p of .05 exists, whatever the data.

    Parameters
    ----------
    n_families : int
    alternative : {"two-sided", "less", "greater"}

    Returns
    -------
    float

    Notes
    -----
    :math:`2^{1 - G}` two-sided, :math:`2^{-G}` one-sided.

    References
    ----------
    Canay, I. A., Romano, J. P. & Shaikh, A. M. (2017). Econometrica 85, 1013-1030. doi:10.3982/ECTA13081

    Examples
    --------
    >>> smallest_sign_flip_p(4), smallest_sign_flip_p(6)
    (0.125, 0.03125)
    """
    families = as_count("n_families", n_families)
    sides = 2 if check_alternative(alternative) == "two-sided" else 1
    return min(1.0, max(sides * 0.5**families, float(np.finfo(float).tiny)))


def copies_effect(copies: int, icc: float) -> float:
    """Design effect of families of equal size, ``1 + (copies - 1) icc``.

    Examples
    --------
    >>> copies_effect(8, 0.5)
    4.5
    """
    m = as_count("copies", copies, minimum=1)
    if not -1 <= icc <= 1:
        raise PairstatsError(f"`icc` must lie in [-1, 1], but got {icc!r}. Pass a correlation.")
    effect = 1.0 + (m - 1) * float(icc)
    if effect <= 0:
        raise PairstatsError(
            f"`icc` must be above -1/(copies - 1), but got {icc!r} with {m} copies. Families of copies "
            "cannot be so different inside."
        )
    return effect


def _outcome_shares(p_first_only: float, p_second_only: float) -> NDArray[np.float64]:
    shares = np.array([p_first_only, p_second_only, 1.0 - p_first_only - p_second_only])
    if not (np.isfinite(shares).all() and (shares >= -1e-12).all()):
        raise PairstatsError(
            "`p_first_only` and `p_second_only` must be probabilities with a sum of at most 1, but got "
            f"{p_first_only!r} and {p_second_only!r}. Pass shares of all pairs."
        )
    shares = np.maximum(shares, 0.0)
    return shares / shares.sum()


def _decision(name: str, margin: float, alpha: float) -> Decision:
    one_of("decision", name, DECISIONS)
    if name in ("sign-flip", "mid-p"):
        method = "exact" if name == "sign-flip" else "mid-p"
        return lambda means: sign_flip(means, method=method).p_value <= alpha * (1 + 1e-12)
    kind: Any = name.removeprefix("family-")

    def above_margin(means: NDArray[np.float64]) -> bool:
        found = family_interval(means, kind=kind, bounds=(-1.0, 1.0), confidence_level=1 - alpha)
        return found.low > -margin

    return above_margin


def _draw_families(
    families: int,
    copies: int,
    shares: NDArray[np.float64],
    icc: float,
    model: str,
    rng: np.random.Generator,
) -> Ints:
    """Items with each outcome in each family, shape (G, 3)."""
    if model == "all-or-none" or icc in (0.0, 1.0):
        drawn = rng.multinomial(copies, shares, size=families)
        together = rng.random(families) < icc
        drawn[together] = copies * rng.multinomial(1, shares, size=int(together.sum()))
        return drawn
    possible = shares > 0
    own = np.zeros((families, shares.size))
    own[:, possible] = rng.dirichlet(shares[possible] * (1 - icc) / icc, size=families)
    return rng.multinomial(copies, own)
