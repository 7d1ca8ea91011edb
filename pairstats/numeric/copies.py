"""Copies of each case: what each was answered, and whether that was right."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pairstats.errors import PairstatsError
from pairstats.numeric.checks import plain_list
from pairstats.numeric.flips import answer_tally, flip_rate, is_missing

Answers = Iterable[Sequence[Hashable]] | NDArray[np.generic]
Copy = tuple[Hashable, bool] | None


@dataclass(frozen=True, slots=True)
class FamilyMarks:
    """Families with at least two copies that have an answer and a score.

    Attributes
    ----------
    rows : list of lists, length G
        Answer, and whether it is right, of each copy that counts.
    wrong, disagreement : ndarray of float, shape (G,)
        Share of wrong copies, and pairwise disagreement, of each family.
    copies : ndarray of int
        Copies that count in every family given, those with fewer than two included.
    n_too_few, n_missing : int
        Families left out, and copies without an answer or a score.
    """

    rows: list[list[tuple[Hashable, bool]]]
    wrong: NDArray[np.float64]
    disagreement: NDArray[np.float64]
    copies: NDArray[np.int64]
    n_too_few: int
    n_missing: int


def family_marks(answers: Answers, correct: Answers) -> FamilyMarks:
    """Keep what can be compared: families of two or more answered and scored copies.

    Examples
    --------
    >>> found = family_marks([["A", "B"], ["A", None]], [[1, 0], [1, 1]])
    >>> found.wrong.tolist(), found.disagreement.tolist(), found.n_too_few, found.n_missing
    ([0.5], [1.0], 1, 1)
    """
    rows = marked_copies(answers, correct)
    kept = [[copy for copy in row if copy is not None] for row in rows]
    used = [row for row in kept if len(row) >= 2]
    copies = np.array([len(row) for row in kept], dtype=np.int64)
    flips = [[answer for answer, _ in row] for row in used]
    return FamilyMarks(
        rows=used,
        wrong=np.array([sum(not right for _, right in row) / len(row) for row in used]),
        disagreement=flip_rate(flips).per_family if used else np.empty(0),
        copies=copies,
        n_too_few=len(rows) - len(used),
        n_missing=sum(len(row) for row in rows) - int(copies.sum()),
    )


def marked_copies(answers: Answers, correct: Answers) -> list[list[Copy]]:
    """Answer of each copy and whether it is right; None where either is missing.

    Examples
    --------
    >>> marked_copies([["A", "B", None]], [[1, 0, 0]])
    [[('A', True), ('B', False), None]]
    """
    rows, marks = answer_rows("answers", answers), answer_rows("correct", correct)
    if len(rows) != len(marks):
        raise PairstatsError(
            f"`correct` must have a row for each of the {len(rows)} families of `answers`, but it has "
            f"{len(marks)}. Pass both for the same families, in the same order."
        )
    return [
        _one_family(row, mark, family) for family, (row, mark) in enumerate(zip(rows, marks, strict=True))
    ]


def _one_family(row: Sequence[Hashable], marks: Sequence[Hashable], family: int) -> list[Copy]:
    answer_tally(row, family)  # refuses what is no list of comparable answers
    if len(row) != len(marks):
        raise PairstatsError(
            f"`correct` must have one entry for each copy, but the family at position {family} has "
            f"{len(row)} answers and {len(marks)} scores. Use None where a score is missing."
        )
    copies: list[Copy] = []
    for answer, mark in zip(row, marks, strict=True):
        if is_missing(answer) or is_missing(mark):
            copies.append(None)
        elif mark in (0, 1):
            copies.append((answer, bool(mark)))
        else:
            raise PairstatsError(
                f"`correct` must hold 0 or 1, but the family at position {family} holds {mark!r}. "
                "Threshold partial credit, and say so."
            )
    return copies


def answer_rows(name: str, values: Answers) -> list[Sequence[Hashable]]:
    """Return the families as a list of rows, of which there is at least one."""
    rows = plain_list(values)
    if not rows:
        raise PairstatsError(f"`{name}` must hold at least one family, but it is empty. Check the filter.")
    return rows
