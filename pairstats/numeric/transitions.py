"""Flips against correctness: which answers move where, and what agreement says about errors."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairstats.errors import PairstatsError
from pairstats.numeric.checks import as_count
from pairstats.numeric.copies import Answers, Copy, family_marks, marked_copies
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
    reference: int | None = None,
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
    reference : int, optional
        Position in each row of the base copy, with which every other copy is compared, in this order.
        Left out, all pairs of copies count in both orders.
    kind : {"jeffreys", "cp"}
        As in `family_interval`.
    confidence_level : float, default 0.95

    Returns
    -------
    Transitions

    Raises
    ------
    PairstatsError
        If the shapes differ, a score is not 0 or 1, or a row has no copy at the position of the reference.

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
    counts = np.zeros((len(rows), 5))
    pairs, missing, right_differ, same_differ = 0, 0, 0, 0
    for family, copies in enumerate(rows):
        for first, second in _ordered_pairs(copies, reference, family):
            if first is None or second is None:
                missing += 1
                continue
            pairs += 1
            counts[family, _transition(first, second)] += 1
            same = first[0] == second[0]
            right_differ += first[1] and second[1] and not same
            same_differ += same and first[1] != second[1]
    total = counts.sum(axis=1)
    used = total > 0
    shares = np.full(counts.shape, math.nan)
    shares[used] = counts[used] / total[used, None]
    among, ones = shares[used], np.ones(int(used.sum()))
    halve = 1 if reference is not None else 2  # without a reference each pair is seen in both orders

    def share(top: FloatArray, below: FloatArray) -> Share:
        return family_share(top, below, kind=kind, confidence_level=confidence_level)

    return Transitions(
        **{name: share(among[:, column], ones) for column, name in enumerate(KINDS)},
        lost=share(among[:, 1], among[:, 0] + among[:, 1]),
        gained=share(among[:, 2], among[:, 2] + among[:, 3] + among[:, 4]),
        per_family=shares,
        n_families=ones.size,
        n_too_few=len(rows) - ones.size,
        n_pairs=pairs // halve,
        n_missing_pairs=missing // halve,
        n_right_differ=int(right_differ) // halve,
        n_same_differ=int(same_differ) // halve,
    )


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

    Use it to say how far agreement of copies can be trusted. With one right answer a flip implies an error,
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

    Examples
    --------
    >>> found = flip_errors([["A", "A"], ["A", "B"], ["C", "C"], ["A", "A"]],
    ...                     [[1, 1], [1, 0], [0, 0], [1, 1]])
    >>> found.flip_given_error.value, round(found.silent_error.value, 4)
    (0.5, 0.3333)
    """
    found = family_marks(answers, correct)
    wrong, disagree = found.wrong, found.disagreement
    agrees = disagree == 0
    ones, any_wrong = np.ones(wrong.size), (wrong > 0).astype(float)
    agreed = agrees.astype(float)

    def share(top: FloatArray, below: FloatArray) -> Share:
        return family_share(top, below, kind=kind, confidence_level=confidence_level)

    return FlipErrors(
        flip_given_error=share(any_wrong * ~agrees, any_wrong),
        pairwise_flip_given_error=share(any_wrong * disagree, any_wrong),
        silent_error=share(agreed * wrong, agreed),
        pairwise_silent_error=share(np.array([_agreeing_wrong(row) for row in found.rows]), ones - disagree),
        accuracy_agree=share(agreed * (1 - wrong), agreed),
        accuracy_disagree=share((ones - agreed) * (1 - wrong), ones - agreed),
        copies=found.copies,
        n_families=wrong.size,
        n_too_few=found.n_too_few,
        n_missing=found.n_missing,
        n_inconsistent=int(np.sum(agrees & (wrong > 0) & (wrong < 1))),
    )


def _ordered_pairs(copies: list[Copy], reference: int | None, family: int) -> list[tuple[Copy, Copy]]:
    if reference is None:
        return [(a, b) for i, a in enumerate(copies) for j, b in enumerate(copies) if i != j]
    base = as_count("reference", reference)
    if base >= len(copies):
        raise PairstatsError(
            f"`reference` must be a position in every row, but the family at position {family} has "
            f"{len(copies)} copies and `reference` is {base}. Use None for a copy that is missing."
        )
    return [(copies[base], b) for j, b in enumerate(copies) if j != base]


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
