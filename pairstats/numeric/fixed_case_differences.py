"""Difference of two systems over these very cases: only the repeats are random."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from pairstats.errors import PairstatsError
from pairstats.numeric.checks import Interval, as_count, as_sizes, check_alternative
from pairstats.numeric.draws import seeded
from pairstats.numeric.fixed_cases import Method, as_replies, these_cases_interval
from pairstats.numeric.joint_sums import RELATIVE_TIE, Support, joint_law
from pairstats.numeric.mover import mover_difference
from pairstats.numeric.signsum import as_p

Floats = NDArray[np.float64]

MIRRORED = {"two-sided": "two-sided", "greater": "less", "less": "greater"}


@dataclass(frozen=True, slots=True, repr=False)
class TheseCasesDifference(Interval):
    """Difference of two mean success probabilities over fixed cases.

    Attributes
    ----------
    low, high, method, confidence_level, alternative
        As in `pairstats.numeric.checks.Interval`.
    estimate : float
        First minus second.
    std_error : float
        Of the difference over repeats of these cases.
    p_value : float
        That in every case both systems succeed equally often; in (0, 1].
    p_floor : float
        Smallest p-value that these numbers of right replies could give.
    test : {"exact", "monte-carlo"}
    mc_error : float or None
        Standard error of a Monte-Carlo p-value, otherwise None.
    seed : int or None
        Of the arrangements that were drawn; None where none were.
    n_cases, n_replies : int
    """

    estimate: float
    std_error: float
    p_value: float
    p_floor: float
    test: str
    mc_error: float | None
    seed: int | None
    n_cases: int
    n_replies: int


def these_cases_difference(
    n_correct: ArrayLike,
    n_repeats: ArrayLike,
    other_correct: ArrayLike,
    other_repeats: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    method: Method = "wilson",
    confidence_level: float = 0.95,
    alternative: str = "two-sided",
    n_resamples: int = 9999,
    rng: Any = None,
) -> TheseCasesDifference:
    r"""Compare two systems over these very cases, from 0/1 replies that were repeated.

    Use it for a claim about the cases at hand: would endless repeats of them favour the first system? Not for
    a claim about other cases; there `sign_flip` and `family_interval` on the family differences cover it.

    Parameters
    ----------
    n_correct, n_repeats : array_like of int, shape (n,)
        Right replies of the first system, and its replies, to each case.
    other_correct, other_repeats : array_like of int, shape (n,)
        The same of the second system. Some case needs two replies from each.
    weights : array_like, shape (n,), optional
        Weight of each case; equal if left out.
    method : {"wilson", "clopper-pearson"}
        Of the two intervals that are joined, as in `these_cases_interval`.
    confidence_level : float, default 0.95
    alternative : {"two-sided", "less", "greater"}
        "greater": the first is better, and a lower limit only.
    n_resamples : int, default 9999
        Arrangements drawn where they are too many to list.
    rng : int, Generator or SeedSequence, optional
        For those; left out, the seed follows from the counts.

    Returns
    -------
    TheseCasesDifference

    Raises
    ------
    PairstatsError
        If the counts do not fit, or a system has no case with two replies.

    Notes
    -----
    The limits join the two intervals of `these_cases_interval` by MOVER: replies of the two systems are
    independent given the cases. The test exchanges the labels of the replies within each case: given
    the right replies :math:`m_i` of case i, those of the first system are hypergeometric, and :math:`T = \sum
    w_i (c_{1i}/K_{1i} - c_{2i}/K_{2i})` has an exact law, the convolution over the cases. With one reply of
    each to a case it is McNemar's exact test.

    References
    ----------
    Zou, G. Y. & Donner, A. (2008). Statistics in Medicine 27, 1693-1702. doi:10.1002/sim.3095
    Cox, D. R. & Snell, E. J. (1989). Analysis of Binary Data, 2nd ed., section 2.2. Chapman and Hall.

    Examples
    --------
    >>> found = these_cases_difference([9, 8, 6, 9], 9, [5, 7, 2, 8], 9)
    >>> round(found.estimate, 3), round(found.p_value, 4), round(found.low, 2), round(found.high, 2)
    (0.278, 0.0065, 0.09, 0.44)
    """
    side = check_alternative(alternative)
    first = as_replies("n_correct", n_correct, n_repeats)
    second = as_replies("other_correct", other_correct, other_repeats)
    if first[0].size != second[0].size:
        raise PairstatsError(
            f"Both systems must have counts for the same cases, but there are {first[0].size} and "
            f"{second[0].size}. Keep the cases that both answered, and count the others."
        )
    share = as_sizes(weights, first[0].size)
    share = share / share.sum()
    options: dict[str, Any] = {"weights": share, "method": method, "confidence_level": confidence_level}
    one = these_cases_interval(*first, alternative=side, **options)
    two = these_cases_interval(*second, alternative=MIRRORED[side], **options)
    limits = mover_difference(one.estimate, one, two.estimate, two)
    drawn = as_count("n_resamples", n_resamples, minimum=1)
    p, floor, seed = _exchange(first, second, share, side, drawn, rng)
    exact = floor is not None
    return TheseCasesDifference(
        low=limits.low,
        high=limits.high,
        method=f"MOVER of {one.method}",
        confidence_level=limits.confidence_level,
        alternative=side,
        estimate=one.estimate - two.estimate,
        std_error=math.hypot(one.std_error, two.std_error),
        p_value=p,
        p_floor=1 / (drawn + 1) if floor is None else floor,
        test="exact" if exact else "monte-carlo",
        mc_error=None if exact else math.sqrt(p * (1 - p) / drawn),
        seed=seed,
        n_cases=share.size,
        n_replies=one.n_replies + two.n_replies,
    )


def _exchange(
    first: tuple[Floats, Floats],
    second: tuple[Floats, Floats],
    share: Floats,
    side: str,
    n_resamples: int,
    rng: Any,
) -> tuple[float, float | None, int | None]:
    """P-value of exchanged labels, its floor where the law is exact, and the seed where it was drawn."""
    gaps = share * (first[0] / first[1] - second[0] / second[1])
    observed, scale = math.fsum(gaps), float(share.sum())
    right = first[0] + second[0]
    cases = np.column_stack([first[1], second[1], right, share])
    cases = cases[np.lexsort(cases.T)]
    law = joint_law([_case_law(*case) for case in cases.tolist()], 1)
    if law is not None:
        sums, probability = law[0][:, 0], law[1]

        def reached(at: float) -> float:
            return as_p(math.fsum(probability[_beyond(sums, at, side, scale)]))

        extreme = {"two-sided": float(np.abs(sums).max()), "greater": sums.max(), "less": sums.min()}[side]
        return reached(observed), reached(float(extreme)), None
    generator, seed = seeded(cases, rng)
    hits = 0
    for case in np.array_split(np.arange(n_resamples), max(1, n_resamples * len(cases) // 2**22)):
        size = (case.size, len(cases))
        own = generator.hypergeometric(
            cases[:, 0].astype(np.int64), cases[:, 1].astype(np.int64), cases[:, 2].astype(np.int64), size
        )
        drawn = (own / cases[:, 0] - (cases[:, 2] - own) / cases[:, 1]) @ cases[:, 3]
        hits += int(_beyond(drawn, observed, side, scale).sum())
    return (hits + 1) / (n_resamples + 1), None, seed


def _case_law(first: float, second: float, right: float, weight: float) -> Support:
    """Weighted difference of one case when its replies change labels: values and probabilities."""
    own = np.arange(max(0.0, right - second), min(first, right) + 1)
    logs = _log_choose(first, own) + _log_choose(second, right - own) - _log_choose(first + second, right)
    values = weight * (own / first - (right - own) / second)
    chances = np.exp(logs)
    return values[:, None], chances / chances.sum()


def _log_choose(n: float, k: Any) -> Any:
    return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)


def _beyond(sums: Floats, at: float, side: str, scale: float) -> NDArray[np.bool_]:
    near = RELATIVE_TIE * scale
    if side == "two-sided":
        return np.asarray(np.abs(sums) >= abs(at) - near)
    return np.asarray(sums >= at - near if side == "greater" else sums <= at + near)
