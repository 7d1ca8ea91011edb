"""Flips against correctness: which answers move where, and what agreement says about errors."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairstats.errors import PairstatsError
from pairstats.numeric.copies import Answers, Copy, FamilyMarks, answer_rows, family_marks, marked_copies
from pairstats.numeric.family import Kind
from pairstats.numeric.shares import Share, family_share

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

KINDS = ("right_to_right", "right_to_wrong", "wrong_to_right", "wrong_to_same", "wrong_to_other")
"""What can happen between two copies; the columns of `Transitions.per_family`."""


@dataclass(frozen=True, slots=True)
class Transitions:
    """What happens from one copy of a case to another; the five shares sum to 1.

    Attributes
    ----------
    right_to_right, right_to_wrong, wrong_to_right, wrong_to_same, wrong_to_other : Share
        Mean over families of the share of pairs of copies: both right; right, then wrong; wrong, then
        right; the same wrong answer twice; two different wrong answers. Without a reference both orders of
        a pair count, so that `right_to_wrong` equals `wrong_to_right`.
    lost, gained : Share
        Among pairs whose first copy is right, the share whose second is wrong; among pairs whose first is
        wrong, the share whose second is right. Ratios of family means.
    per_family : ndarray of float, shape (G, 5)
        The five shares of each family; NaN where it has no pair.
    pairs : ndarray of int, shape (G,)
        Pairs of copies compared in each family.
    n_families, n_too_few : int
        Families with a pair of answered copies, and those without.
    n_pairs, n_missing_pairs : int
        Pairs of copies compared, and those with a missing answer or score, which are left out.
    n_right_differ : int
        Pairs that are both right with different answers: none where the right answer is unique.
    n_same_differ : int
        Pairs of equal answers of which only one is right: none where one key serves all copies.
    """

    right_to_right: Share
    right_to_wrong: Share
    wrong_to_right: Share
    wrong_to_same: Share
    wrong_to_other: Share
    lost: Share
    gained: Share
    per_family: FloatArray
    pairs: IntArray
    n_families: int
    n_too_few: int
    n_pairs: int
    n_missing_pairs: int
    n_right_differ: int
    n_same_differ: int


def flip_transitions(
    answers: Answers,
    correct: Answers,
    *,
    variants: Answers | None = None,
    reference: Hashable | None = None,
    kind: Kind = "jeffreys",
    confidence_level: float = 0.95,
) -> Transitions:
    """Split flips by correctness: right to wrong, wrong to right, wrong to the same or another wrong answer.

    Use it to say what a flip costs. Not for how often answers flip (`flip_rate`), nor for what agreement
    says about errors (`flip_errors`).

    Parameters
    ----------
    answers : array or list of lists
        One row a family, one entry a copy; rows may differ in length. None and NaN are missing.
    correct : array or list of lists
        Of the same shape: 1 or True where the copy is right, 0 or False where wrong, None or NaN where not
        known. A pair with a missing answer or score is left out and counted.
    variants : array or list of lists, optional
        Of the same shape: which presentation each copy is. Two copies of one presentation are no pair. Left
        out, the position in the row, so that each copy is its own.
    reference : hashable, optional
        Base presentation (without `variants`, a position), which every other one is compared with, in this
        order. Left out, all pairs count in both orders. A family without it has no pair.
    kind : {"jeffreys", "cp"}
        As in `family_interval`.
    confidence_level : float, default 0.95

    Returns
    -------
    Transitions

    Raises
    ------
    PairstatsError
        If the shapes differ, a score is not 0 or 1, or no family has the reference.

    Notes
    -----
    Over pairs of copies, ordered or against one reference: shares of pairs by correctness of the two answers,
    averaged by family, with the limits of `family_share`.

    References
    ----------
    Learned-Miller, E. & Thomas, P. S. (2019). A new confidence interval for the mean of a bounded random
    variable. arXiv:1905.06208

    Examples
    --------
    >>> found = flip_transitions([["A", "A"], ["A", "B"], ["C", "B"], ["C", "C"]],
    ...                          [[1, 1], [1, 0], [0, 0], [0, 0]], reference=0)
    >>> [getattr(found, name).value for name in KINDS]
    [0.25, 0.25, 0.0, 0.25, 0.25]
    >>> found.lost.value
    0.5
    """
    rows = marked_copies(answers, correct)
    labels = _labels(rows, variants, reference)
    counts = np.zeros((len(rows), 5))
    missing, right_differ, same_differ = 0, 0, 0
    for family, copies in enumerate(rows):
        for first, second in _ordered_pairs(copies, labels[family], reference):
            if first is None or second is None:
                missing += 1
                continue
            counts[family, _transition(first, second)] += 1
            same = first[0] == second[0]
            right_differ += first[1] and second[1] and not same
            same_differ += same and first[1] != second[1]
    total = counts.sum(axis=1)
    shares = np.full(counts.shape, math.nan)
    shares[total > 0] = counts[total > 0] / total[total > 0, None]
    halve = 1 if reference is not None else 2  # without a reference each pair is seen in both orders
    found = {
        name: family_share(*parts, kind=kind, confidence_level=confidence_level)
        for name, parts in transition_totals(shares).items()
    }
    return Transitions(
        **found,
        per_family=shares,
        pairs=total.astype(np.int64) // halve,
        n_families=int(np.sum(total > 0)),
        n_too_few=int(np.sum(total == 0)),
        n_pairs=int(total.sum()) // halve,
        n_missing_pairs=missing // halve,
        n_right_differ=int(right_differ) // halve,
        n_same_differ=int(same_differ) // halve,
    )


def transition_totals(per_family: FloatArray) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Numerator and denominator in each family of every share in `Transitions`.

    Examples
    --------
    >>> top, below = transition_totals(np.array([[0.5, 0.5, 0, 0, 0]]))["lost"]
    >>> top.tolist(), below.tolist()
    ([0.5], [1.0])
    """
    among = per_family[~np.isnan(per_family[:, 0])]
    ones = np.ones(len(among))
    return {
        **{name: (among[:, column], ones) for column, name in enumerate(KINDS)},
        "lost": (among[:, 1], among[:, 0] + among[:, 1]),
        "gained": (among[:, 2], among[:, 2] + among[:, 3] + among[:, 4]),
    }


@dataclass(frozen=True, slots=True)
class FlipErrors:
    """What agreement of the copies says about errors.

    Attributes
    ----------
    flip_given_error : Share
        Sensitivity: among families with at least one wrong copy, the share whose copies do not all agree.
        It grows with the number of copies.
    pairwise_flip_given_error : Share
        Among the same families, the pairwise disagreement: comparable across numbers of copies.
    silent_error : Share
        P(wrong | copies agree): among families whose copies all agree, the share that is wrong.
    pairwise_silent_error : Share
        Among pairs of copies that agree, the share that is wrong; families with equal weight.
    accuracy_agree, accuracy_disagree : Share
        Share of right copies in families whose copies all agree, and in the others.
    copies : ndarray of int, shape (G,)
        Copies of each family that count.
    n_families, n_too_few, n_missing : int
        Families with two or more copies that count; families without, left out; copies without an answer or
        score, left out.
    n_inconsistent : int
        Families whose copies all agree but are not all scored alike; each counts by its wrong copies.
    """

    flip_given_error: Share
    pairwise_flip_given_error: Share
    silent_error: Share
    pairwise_silent_error: Share
    accuracy_agree: Share
    accuracy_disagree: Share
    copies: IntArray
    n_families: int
    n_too_few: int
    n_missing: int
    n_inconsistent: int


def flip_errors(
    answers: Answers, correct: Answers, *, kind: Kind = "jeffreys", confidence_level: float = 0.95
) -> FlipErrors:
    """Sensitivity of a flip for an error, silent error rate, and accuracy by agreement.

    Use it to say how far agreement of copies can be trusted. Not for what a flip costs, which
    `flip_transitions` tells. With one right answer a flip implies an error,
    so the predictive value of a flip for "some copy is wrong" is 1 by construction and is not given.

    Parameters
    ----------
    answers, correct : array or list of lists
        As in `flip_transitions`.
    kind : {"jeffreys", "cp"}
        As in `family_interval`.
    confidence_level : float, default 0.95

    Returns
    -------
    FlipErrors
        A share without any family in its denominator is NaN with the limits [0, 1].

    Notes
    -----
    P(flip | some copy wrong), P(wrong | copies agree), and accuracy given agreement or not: ratios of family
    totals with the limits of `family_share`.

    References
    ----------
    Learned-Miller, E. & Thomas, P. S. (2019). A new confidence interval for the mean of a bounded random
    variable. arXiv:1905.06208

    Examples
    --------
    >>> found = flip_errors([["A", "A"], ["A", "B"], ["C", "C"], ["A", "A"]],
    ...                     [[1, 1], [1, 0], [0, 0], [1, 1]])
    >>> found.flip_given_error.value, round(found.silent_error.value, 4)
    (0.5, 0.3333)
    """
    marks = family_marks(answers, correct)
    found = {
        name: family_share(*parts, kind=kind, confidence_level=confidence_level)
        for name, parts in error_totals(marks).items()
    }
    split = (marks.wrong > 0) & (marks.wrong < 1)
    return FlipErrors(
        **found,
        copies=marks.copies,
        n_families=marks.wrong.size,
        n_too_few=marks.n_too_few,
        n_missing=marks.n_missing,
        n_inconsistent=int(np.sum((marks.disagreement == 0) & split)),
    )


def error_totals(marks: FamilyMarks) -> dict[str, tuple[FloatArray, FloatArray]]:
    """Numerator and denominator in each family of every share in `FlipErrors`.

    Examples
    --------
    >>> top, below = error_totals(family_marks([["A", "A"]], [[0, 0]]))["silent_error"]
    >>> top.tolist(), below.tolist()
    ([1.0], [1.0])
    """
    wrong, disagree = marks.wrong, marks.disagreement
    agrees, any_wrong = (disagree == 0).astype(float), (wrong > 0).astype(float)
    return {
        "flip_given_error": (any_wrong * (1 - agrees), any_wrong),
        "pairwise_flip_given_error": (any_wrong * disagree, any_wrong),
        "silent_error": (agrees * wrong, agrees),
        "pairwise_silent_error": (np.array([_agreeing_wrong(row) for row in marks.rows]), 1 - disagree),
        "accuracy_agree": (agrees * (1 - wrong), agrees),
        "accuracy_disagree": ((1 - agrees) * (1 - wrong), 1 - agrees),
    }


def _labels(
    rows: list[list[Copy]], variants: Answers | None, reference: Hashable | None
) -> list[Sequence[Hashable]]:
    """Presentation of each copy, by position where none is given."""
    labels: list[Sequence[Hashable]] = [range(len(row)) for row in rows]
    if variants is not None:
        labels = answer_rows("variants", variants)
    if [len(row) for row in labels] != [len(row) for row in rows]:
        raise PairstatsError(
            "`variants` must name the presentation of each copy, but its rows do not have the lengths of "
            "those of `answers`. Pass one entry for each copy."
        )
    if reference is not None and not any(reference in row for row in labels):
        raise PairstatsError(
            f"`reference` must be the presentation of some copy, but no family has {reference!r}. Without "
            "`variants` it is a position in the row."
        )
    return labels


def _ordered_pairs(
    copies: list[Copy], labels: Sequence[Hashable], reference: Hashable | None
) -> Iterator[tuple[Copy, Copy]]:
    """Pairs of copies of different presentations; only those that begin with the reference, if any."""
    for first, base in zip(copies, labels, strict=True):
        if reference is None or base == reference:
            yield from (
                (first, second) for second, other in zip(copies, labels, strict=True) if other != base
            )


def _transition(first: tuple[Hashable, bool], second: tuple[Hashable, bool]) -> int:
    """Column of the pair in `KINDS`."""
    if first[1]:
        return 0 if second[1] else 1
    if second[1]:
        return 2
    return 3 if first[0] == second[0] else 4


def _agreeing_wrong(row: list[tuple[Hashable, bool]]) -> float:
    """Share of the pairs of copies that agree and are wrong; half a pair where only one copy is scored so."""
    k = len(row)
    pairs = [(a, b) for i, a in enumerate(row) for b in row[i + 1 :] if a[0] == b[0]]
    return sum((not a[1]) / 2 + (not b[1]) / 2 for a, b in pairs) * 2 / (k * (k - 1))
