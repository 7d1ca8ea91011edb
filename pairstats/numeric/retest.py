"""Test-retest agreement of two runs on the same questions."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import PairstatsError
from pairstats.numeric.checks import plain_list
from pairstats.numeric.family import Kind
from pairstats.numeric.flips import is_missing
from pairstats.numeric.shares import Families, Share, family_codes, family_share, family_sums

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RetestAgreement:
    """Agreement of two runs on the same questions.

    Attributes
    ----------
    agreement : Share
        Share of the questions answered in both runs that have the same answer.
    change : Share or None
        Mean score of the second run less that of the first, on [-1, 1]; None without scores.
    n_items, n_families : int
        Questions answered in both runs, and their families.
    n_first_only, n_second_only, n_neither : int
        Questions answered in one run only, or in none: left out.
    """

    agreement: Share
    change: Share | None
    n_items: int
    n_families: int
    n_first_only: int
    n_second_only: int
    n_neither: int


def retest_agreement(
    first: Sequence[Hashable] | NDArray[np.generic],
    second: Sequence[Hashable] | NDArray[np.generic],
    *,
    families: Families = None,
    scores: tuple[ArrayLike, ArrayLike] | None = None,
    kind: Kind = "jeffreys",
    confidence_level: float = 0.95,
) -> RetestAgreement:
    """Test-retest agreement: how often a second run of the same questions gives the same answer.

    Use it to say how far one run stands for the model. Not for copies of a question, which
    `flip_rate` covers. The interval is over families.

    Parameters
    ----------
    first, second : sequence, shape (n,)
        Answers of the two runs to the same questions; None and NaN are missing.
    families : sequence, shape (n,), optional
        Family of each question; left out, each is its own.
    scores : pair of array_like of float, shape (n,), optional
        Scores of the two runs in [0, 1]; NaN where the answer is missing.
    kind : {"jeffreys", "cp"}
        As in `family_interval`.
    confidence_level : float, default 0.95

    Returns
    -------
    RetestAgreement

    Notes
    -----
    The share of answers that are equal in two runs, averaged over pairs of runs and then by family.

    References
    ----------
    Learned-Miller, E. & Thomas, P. S. (2019). A new confidence interval for the mean of a bounded random
    variable. arXiv:1905.06208

    Examples
    --------
    >>> found = retest_agreement(["A", "B", "C", None], ["A", "B", "B", "C"])
    >>> round(found.agreement.value, 4), found.n_second_only
    (0.6667, 1)
    """
    one, two = plain_list(first), plain_list(second)
    if len(one) != len(two) or not one:
        raise PairstatsError(
            f"`first` and `second` must hold the answers to the same questions, but have {len(one)} and "
            f"{len(two)}. Pass None where a run has no answer."
        )
    codes = family_codes(families, len(one))
    answered = np.array([not is_missing(a) for a in one]), np.array([not is_missing(b) for b in two])
    both = answered[0] & answered[1]
    same = np.array([bool(a == b) for a, b in zip(one, two, strict=True)]) & both
    sizes = family_sums(both, codes)
    change = None
    if scores is not None:
        gaps = _score_gaps(scores, both)
        change = family_share(
            family_sums(gaps, codes), sizes, kind=kind, bounds=(-1, 1), confidence_level=confidence_level
        )
    return RetestAgreement(
        agreement=family_share(family_sums(same, codes), sizes, kind=kind, confidence_level=confidence_level),
        change=change,
        n_items=int(both.sum()),
        n_families=int(np.sum(sizes > 0)),
        n_first_only=int(np.sum(answered[0] & ~answered[1])),
        n_second_only=int(np.sum(answered[1] & ~answered[0])),
        n_neither=int(np.sum(~answered[0] & ~answered[1])),
    )


def _score_gaps(scores: tuple[ArrayLike, ArrayLike], both: NDArray[np.bool_]) -> FloatArray:
    """Second score less first where both runs answered, else 0."""
    one, two = (np.asarray(each, dtype=np.float64) for each in scores)
    if one.shape != both.shape or two.shape != both.shape:
        raise PairstatsError(
            f"`scores` must be two arrays with one score for each of the {both.size} questions, but their "
            f"shapes are {one.shape} and {two.shape}. Pass NaN where a run has no answer."
        )
    wrong = np.flatnonzero(both & ~((one >= 0) & (one <= 1) & (two >= 0) & (two <= 1)))
    if wrong.size:
        raise PairstatsError(
            f"`scores` must lie in [0, 1] where both runs answered, but position {wrong[0]} has "
            f"{one[wrong[0]]:g} and {two[wrong[0]]:g}. Divide points by their maximum."
        )
    return np.where(both, two - one, 0.0)
