"""Chance-corrected agreement: Fleiss and Cohen kappa, Krippendorff alpha, Gwet AC1, by family.

Give the pairwise disagreement (`flip_rate`) first. Kappa and alpha are near 0 where almost all answers agree
on one category (prevalence paradox); AC1 is stable there. Do not average kappas over questions with different
answer sets. Limits measured .90 to .95 at 20 to 80 families of 4 copies, lowest where nearly all agree. Each
statistic is a function of family totals, so leaving a family out is a subtraction.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairstats.errors import PairstatsError
from pairstats.numeric.checks import as_count, plain_list
from pairstats.numeric.copies import Answers, answer_rows
from pairstats.numeric.flips import answer_tally, is_missing
from pairstats.numeric.jackknife import jackknife_interval
from pairstats.numeric.shares import Families, family_codes

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Chance-corrected agreement ``(observed - expected) / (1 - expected)``.

    Attributes
    ----------
    value : float
        1: full agreement; 0: as by chance. NaN where chance agreement is 1 (one category only).
    observed, expected : float
        Observed agreement, and agreement by chance. For alpha: 1 less the observed and expected disagreement
        (on interval levels in squared units).
    low, high : float
        Delete-one-family jackknife t limits, cut at [-1, 1]; [-1, 1] where the error is not estimable, as in
        full agreement.
    std_error : float
        Jackknife standard error; NaN where not estimable.
    linear_std_error : float
        Linearised standard error (Fleiss kappa and AC1, else NaN), for comparison with packages.
    n_units, n_single : int
        Units with two or more ratings, and with fewer.
    n_families, n_missing : int
        Families, and missing ratings.
    categories : tuple
        Answers that occur, in the order used.
    method : str
    """

    value: float
    observed: float
    expected: float
    low: float
    high: float
    std_error: float
    linear_std_error: float
    n_units: int
    n_single: int
    n_families: int
    n_missing: int
    categories: tuple[Hashable, ...]
    method: str


def fleiss_kappa(ratings: Answers, *, families: Families = None, confidence_level: float = 0.95) -> Agreement:
    r"""Fleiss' kappa of two or more exchangeable raters or copies; rows may miss ratings.

    Use it to compare with published kappas. Not where nearly all answers fall into one category: it is near 0
    there whatever the agreement, and `flip_rate` or `gwet_ac1` are not.

    Parameters
    ----------
    ratings : array or list of lists
        One row a unit (an item, or a family of copies), one entry a rating. None and NaN are missing.
    families : sequence, shape (n_units,), optional
        Family of each unit; left out, each unit is a family.
    confidence_level : float, default 0.95

    Returns
    -------
    Agreement

    Raises
    ------
    PairstatsError
        If there is no unit, or a rating cannot be compared.

    Notes
    -----
    :math:`p_a` is the mean over units with two or more ratings of the share of agreeing pairs,
    :math:`p_e = \sum_q \pi_q^2` with :math:`\pi_q` the mean share of category q over all rated units. With
    equal numbers of ratings this is Fleiss (1971).

    References
    ----------
    Fleiss JL (1971). Measuring nominal scale agreement among many raters. Psychol Bull 76:378-382.
    doi:10.1037/h0031619.

    Examples
    --------
    >>> round(fleiss_kappa([["A", "A", "A"], ["A", "B", "A"], ["B", "B", "B"]]).value, 4)
    0.55
    """
    return _kappa_like(ratings, families, confidence_level)


def gwet_ac1(
    ratings: Answers,
    *,
    n_categories: int | None = None,
    families: Families = None,
    confidence_level: float = 0.95,
) -> Agreement:
    r"""Gwet's AC1 of two or more exchangeable raters or copies: stable where one category dominates.

    Use it where a chance-corrected figure is asked for near full agreement. Not to compare with a kappa
    (`fleiss_kappa`): its chance term assumes guessing that gets rarer as categories get unequal.

    Parameters
    ----------
    ratings, families, confidence_level
        As in `fleiss_kappa`.
    n_categories : int, optional
        Number of answers that could be given (such as 4 options); by default those that occur, at least 2.

    Returns
    -------
    Agreement

    Notes
    -----
    As Fleiss' kappa with :math:`p_e = \sum_q \pi_q (1 - \pi_q) / (Q - 1)`.

    References
    ----------
    Gwet KL (2008). Computing inter-rater reliability and its variance in the presence of high agreement. Br J
    Math Stat Psychol 61:29-48. doi:10.1348/000711006X126600.

    Examples
    --------
    >>> round(gwet_ac1([["A", "A", "A"], ["A", "A", "A"], ["A", "B", "A"]]).value, 4)
    0.7231
    """
    if n_categories is not None:
        as_count("n_categories", n_categories, minimum=2)
    return _kappa_like(ratings, families, confidence_level, ac1=True, n_categories=n_categories)


def _kappa_like(
    ratings: Answers, families: Families, level: float, *, ac1: bool = False, n_categories: int | None = None
) -> Agreement:
    """Kappa of exchangeable raters, with chance agreement sum pi^2, or that of AC1."""
    table, categories, missing = tabulate_ratings(ratings)
    codes = family_codes(families, len(table))
    k, complete = table.sum(axis=1), table.sum(axis=1) >= 2
    agree = np.where(complete, (table * (table - 1)).sum(axis=1) / np.maximum(k * (k - 1), 1), 0.0)
    shares = table / np.maximum(k, 1)[:, None]
    if n_categories is not None and n_categories < len(categories):
        raise PairstatsError(
            f"`n_categories` must be at least the {len(categories)} answers that occur, but got "
            f"{n_categories}. Count every answer that could be given."
        )
    scale = 1 / (max(n_categories or len(categories), 2) - 1) if ac1 else 1.0

    def chance(pi: FloatArray) -> FloatArray:
        return scale * (1 - pi if ac1 else pi)

    def parts(totals: FloatArray) -> tuple[FloatArray, FloatArray]:
        with np.errstate(invalid="ignore"):
            pi = totals[..., 3:] / totals[..., 2:3]
            return totals[..., 0] / totals[..., 1], (pi * chance(pi)).sum(axis=-1)

    totals = _by_family(np.column_stack([agree, complete, k > 0, shares]), codes)
    observed, expected = parts(totals.sum(axis=0))
    units = _linear_units(agree, complete, k > 0, shares @ chance(_mean_shares(shares, k)), expected)
    return with_jackknife(
        totals, lambda t: beyond_chance(*parts(t)), float(observed), float(expected), level, table,
        categories, missing, _linear_error(units, codes[k > 0]),
    )  # fmt: skip


def _mean_shares(shares: FloatArray, k: FloatArray) -> FloatArray:
    return np.asarray(shares[k > 0].mean(axis=0) if (k > 0).any() else shares.sum(axis=0))


def _linear_units(
    agree: FloatArray,
    complete: NDArray[np.bool_],
    rated: NDArray[np.bool_],
    chance: FloatArray,
    expected: Any,
) -> FloatArray:
    """Linearised contribution of each rated unit; their mean is the statistic (Gwet 2008)."""
    expected = float(expected)
    n_complete = int(complete.sum())
    if not n_complete or not expected < 1:
        return np.full(int(rated.sum()), math.nan)
    value = (float(agree.sum()) / n_complete - expected) / (1 - expected)
    own = int(rated.sum()) / n_complete * np.where(complete, agree - expected, 0.0) / (1 - expected)
    drift = 2 * (1 - value) * (chance - expected) / (1 - expected)
    return np.asarray((own - drift)[rated])


def _linear_error(units: FloatArray, codes: IntArray) -> float:
    """Standard error of a mean of units that move together by family."""
    names, where = np.unique(codes, return_inverse=True)
    if names.size < 2:
        return math.nan
    sums = np.bincount(where, weights=units - units.mean())
    return math.sqrt(names.size / (names.size - 1) * float(sums @ sums)) / units.size


def cohen_kappa(
    first: Sequence[Hashable] | NDArray[np.generic],
    second: Sequence[Hashable] | NDArray[np.generic],
    *,
    families: Families = None,
    confidence_level: float = 0.95,
) -> Agreement:
    r"""Cohen's kappa of two raters who are not exchangeable, such as a judge and a person.

    Use it for a judge against a person, whose roles differ. Not for exchangeable copies or repeats, which
    `fleiss_kappa` and `flip_rate` cover, nor near full agreement, where `gwet_ac1` is stable.

    Parameters
    ----------
    first, second : sequence, shape (n,)
        Ratings of the same units; None and NaN are missing, and their units are left out and counted.
    families : sequence, shape (n,), optional
        Family of each unit; left out, each is its own.
    confidence_level : float, default 0.95

    Returns
    -------
    Agreement

    Notes
    -----
    :math:`p_e = \sum_q p_{q+} p_{+q}` from the margins of the two raters.

    References
    ----------
    Cohen J (1960). A coefficient of agreement for nominal scales. Educ Psychol Meas 20:37-46.
    doi:10.1177/001316446002000104.

    Examples
    --------
    >>> round(cohen_kappa(["A", "A", "B", "B"], ["A", "A", "B", "A"]).value, 4)
    0.5
    """
    one, two = plain_list(first), plain_list(second)
    if len(one) != len(two):
        raise PairstatsError(
            f"`first` and `second` must rate the same units, but have {len(one)} and {len(two)}. "
            "Pass None where a rating is missing."
        )
    table, categories, missing = tabulate_ratings([list(pair) for pair in zip(one, two, strict=True)])
    codes, size = family_codes(families, len(table)), len(categories)
    place = {category: position for position, category in enumerate(categories)}
    totals = np.zeros((int(codes.max()) + 1, size * size))
    for a, b, family in zip(one, two, codes, strict=True):
        if not is_missing(a) and not is_missing(b):
            totals[family, place[a] * size + place[b]] += 1

    def parts(sums: FloatArray) -> tuple[FloatArray, FloatArray]:
        pairs = sums.reshape(*sums.shape[:-1], size, size)
        n = pairs.sum(axis=(-2, -1))
        by_chance = (pairs.sum(axis=-1) * pairs.sum(axis=-2)).sum(axis=-1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.trace(pairs, axis1=-2, axis2=-1) / n, by_chance / n**2

    observed, expected = parts(totals.sum(axis=0))
    return with_jackknife(
        totals, lambda t: beyond_chance(*parts(t)), float(observed), float(expected), confidence_level, table,
        categories, missing, math.nan,
    )  # fmt: skip


def beyond_chance(observed: FloatArray, expected: FloatArray) -> FloatArray:
    """Agreement beyond chance; NaN where chance agreement is full."""
    room = 1 - expected
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(room > 1e-12, (observed - expected) / room, math.nan)


def with_jackknife(
    totals: FloatArray, statistic: Callable[[FloatArray], FloatArray], observed: float, expected: float,
    level: float, table: FloatArray, categories: tuple[Hashable, ...], missing: int, linear: float,
) -> Agreement:  # fmt: skip
    """Put together the result of a statistic of family totals, with its jackknife interval."""
    whole = totals.sum(axis=0)
    value = float(statistic(whole))
    kinds, kind = np.unique(totals, axis=0, return_inverse=True)  # equal families give equal values
    without = np.array([float(statistic(whole - one)) for one in kinds])[kind.ravel()]
    found = jackknife_interval(value, without, bounds=(-1.0, 1.0), confidence_level=level)
    n_units = int(np.sum(table.sum(axis=1) >= 2))
    return Agreement(
        value, observed, expected, found.low, found.high, found.std_error, linear, n_units,
        len(table) - n_units, len(totals), missing, categories, found.method,
    )  # fmt: skip


def tabulate_ratings(ratings: Answers) -> tuple[FloatArray, tuple[Hashable, ...], int]:
    """Ratings of each category by unit, the categories in order of appearance, and the missing ratings."""
    rows = answer_rows("ratings", ratings)
    tallies = [answer_tally(row, position) for position, row in enumerate(rows)]
    categories = tuple(dict.fromkeys(answer for tally in tallies for answer in tally))
    if not categories:
        raise PairstatsError(
            "`ratings` must hold at least one rating, but all are missing. Check the filter."
        )
    table = np.array([[float(tally[category]) for category in categories] for tally in tallies])
    return table, categories, sum(len(row) for row in rows) - int(table.sum())


def _by_family(columns: FloatArray, codes: IntArray) -> FloatArray:
    totals = np.zeros((int(codes.max()) + 1, columns.shape[1]))
    np.add.at(totals, codes, columns)
    return totals
