"""Flips against correctness, by cell: where answers move, and the errors that agreement hides."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from pairstats._version import __version__
from pairstats.errors import PairingError, listed
from pairstats.estimands import Mean
from pairstats.infer import asked_for
from pairstats.intervals import IntervalKind, Totals
from pairstats.numeric.copies import family_marks
from pairstats.numeric.shares import family_codes, family_sums
from pairstats.numeric.transitions import error_totals, flip_transitions, transition_totals
from pairstats.panel import Panel
from pairstats.result import Estimates
from pairstats.rows import Asked, joined, numbers

NO_ANSWER = "\0no answer"
"""What a reply without an answer is compared as; no canonical answer begins with a null character."""

Parts = dict[str, tuple[np.ndarray, np.ndarray]]


def flip_table(
    panel: Panel,
    column: str = "answer",
    *,
    score: str = "score",
    reference: str | None = None,
    within: Sequence[str] = (),
    interval: IntervalKind | str | None = None,
    confidence_level: float = 0.95,
) -> Estimates:
    """Split flips by correctness in every cell: right to wrong, wrong to right, to the same or another wrong.

    Use it to say what flips cost; `estimate` with `FlipRate` says how many there are. Replies of different
    variants are compared, over all repeats, inside a question.

    Parameters
    ----------
    panel : Panel
    column : str, default "answer"
        Canonical answers to compare.
    score : str, default "score"
        0 or 1: whether a reply is right.
    reference : str, optional
        Compare every other variant with this one, in this order; left out, both orders of each pair count.
    within : sequence of str, default ()
        Columns that tell the questions of one family apart.
    interval : FamilyInterval, Bootstrap, CR2 or str, optional
        As in `estimate`.
    confidence_level : float, default 0.95

    Returns
    -------
    Estimates
        Seven rows a cell: ``right_to_right``, ``right_to_wrong``, ``wrong_to_right``, ``wrong_to_same``,
        ``wrong_to_other`` are means over families and sum to 1; ``lost`` and ``gained`` are their shares of
        the pairs that begin right, and wrong. ``n_units`` counts questions with a pair, ``n_missing`` pairs
        left out.

    Raises
    ------
    PairingError
        When several replies share a question, variant and repeat.
    PairstatsError
        When a score is neither 0 nor 1, or no question has the reference.

    Examples
    --------
    >>> rows = pd.DataFrame({"family": ["f", "f", "g", "g"], "item": ["f", "f", "g", "g"], "model": "m",
    ...                      "variant": ["base", "moved"] * 2, "answer": ["A", "B", "C", "C"],
    ...                      "score": [1.0, 0.0, 1.0, 1.0]})
    >>> flip_table(Panel(rows), reference="base").where(estimand="lost").frame["estimate"].tolist()
    [0.5]
    """
    asked = _asked(panel, column, score, interval, confidence_level, weight="family")
    rows: list[dict[str, Any]] = []
    for copies in _cells(panel, column, score, within):
        found = flip_transitions(
            copies.answers, copies.correct, variants=copies.variants, reference=reference
        )
        codes = family_codes(copies.families, len(copies.families))
        mean = _family_means(found.per_family, found.pairs, codes)
        shared = {"n_units": found.n_families, "n_missing": found.n_missing_pairs}
        rows += _rows(asked, copies, transition_totals(mean), shared)
    return Estimates.from_rows(rows, factors=panel.cells, provenance=_provenance(asked))


def silent_errors(
    panel: Panel,
    column: str = "answer",
    *,
    score: str = "score",
    within: Sequence[str] = (),
    interval: IntervalKind | str | None = None,
    confidence_level: float = 0.95,
) -> Estimates:
    """What agreement of the copies says about errors, in every cell.

    Use it to say how far agreement can be trusted. All replies to a question are its copies: variants, and
    repeats where there are any.

    Parameters
    ----------
    panel : Panel
    column, score, within, interval, confidence_level
        As in `flip_table`.

    Returns
    -------
    Estimates
        Six rows a cell: ``flip_given_error`` (sensitivity of a flip for an error), ``silent_error``
        (P(wrong | copies agree)), the same two over pairs of copies (``pairwise_``, comparable across numbers
        of copies), ``accuracy_agree`` and ``accuracy_disagree``. ``note`` gives the number of copies.
        ``n_units`` counts questions with two or more copies, ``n_missing`` copies left out.

    Raises
    ------
    PairingError, PairstatsError
        As `flip_table`.

    Examples
    --------
    >>> rows = pd.DataFrame({"family": ["f", "f", "g", "g"], "item": ["f", "f", "g", "g"], "model": "m",
    ...                      "variant": ["base", "moved"] * 2, "answer": ["A", "A", "C", "C"],
    ...                      "score": [0.0, 0.0, 1.0, 1.0]})
    >>> silent_errors(Panel(rows)).where(estimand="silent_error").frame["estimate"].tolist()
    [0.5]
    """
    asked = _asked(panel, column, score, interval, confidence_level, weight="item")
    rows: list[dict[str, Any]] = []
    for copies in _cells(panel, column, score, within):
        marks = family_marks(copies.answers, copies.correct)
        used = [family for family, k in zip(copies.families, marks.copies, strict=True) if k >= 2]
        codes = family_codes(used, len(used))
        parts = {
            name: (family_sums(top, codes), family_sums(below, codes)) if used else (top, below)
            for name, (top, below) in error_totals(marks).items()
        }
        shared = {"n_units": len(used), "n_missing": marks.n_missing}
        rows += _rows(asked, copies, parts, shared, [_number_of_copies(marks.copies)])
    return Estimates.from_rows(rows, factors=panel.cells, provenance=_provenance(asked))


@dataclass(frozen=True, slots=True)
class _Copies:
    """The copies of every question in one cell; a question is a row of each list."""

    cell: dict[str, Any]
    families: list[Hashable]
    answers: list[list[Hashable]]
    correct: list[list[float | None]]
    variants: list[list[Hashable]]
    n_blank: int


def _asked(
    panel: Panel, column: str, score: str, interval: IntervalKind | str | None, level: float, *, weight: str
) -> Asked:
    panel.require(column, score)
    return asked_for(panel, Mean(score, weight=weight), interval, level)


def _cells(panel: Panel, column: str, score: str, within: Sequence[str]) -> Iterator[_Copies]:
    """Copies of each cell, in sorted order, so that the order of rows means nothing."""
    within = (within,) if isinstance(within, str) else tuple(within)
    panel.require(*within)
    flags = ["is_blank", "is_counted"]
    names = dict.fromkeys([*panel.cells, panel.family, *within, "variant", "repeat", column, score, *flags])
    frame = panel.rows().select(*names).collect().to_pandas()
    question = [panel.family, *within]
    _refuse_several(frame, [*panel.cells, *question, "variant", "repeat"])
    frame = frame.sort_values([*panel.cells, *question, "variant", "repeat"], kind="stable")
    answers = frame[column].astype(object).where(~frame["is_blank"].astype(bool), NO_ANSWER)
    answers = answers.where(frame["is_counted"].astype(bool) & answers.notna(), None)
    frame = frame.assign(answer_=answers, score_=frame[score].astype(float))
    for key, part in frame.groupby(list(panel.cells), dropna=False) if panel.cells else [((), frame)]:
        groups = list(part.groupby(question, sort=True, dropna=False))
        yield _Copies(
            cell=dict(zip(panel.cells, key, strict=True)),
            families=[name[0] for name, _ in groups],
            answers=[group["answer_"].tolist() for _, group in groups],
            correct=[group["score_"].tolist() for _, group in groups],
            variants=[group["variant"].tolist() for _, group in groups],
            n_blank=int((part["is_blank"] & part["is_counted"]).sum()),
        )


def _refuse_several(frame: pd.DataFrame, keys: list[str]) -> None:
    twice = frame[frame.duplicated(keys, keep=False)]
    if len(twice):
        first = twice.iloc[0]
        shown = listed([f"{key}={first[key]!r}" for key in keys], 20)
        raise PairingError(
            f"A flip compares answers to one question, but {len(twice)} replies share their question with "
            f"another, the first {shown}. Say what tells the questions of a family apart, for example "
            'within="item", or map family= to the question.'
        )


def _family_means(per_question: np.ndarray, pairs: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Shares of all pairs of each family, those of its questions pooled; NaN where it has none."""
    counts = np.where(pairs[:, None] > 0, per_question * pairs[:, None], 0.0)
    sums = np.column_stack([family_sums(column, codes) for column in counts.T])
    total = family_sums(pairs, codes)[:, None]
    return np.divide(sums, total, out=np.full(sums.shape, np.nan), where=total > 0)


def _rows(
    asked: Asked, copies: _Copies, parts: Parts, shared: dict[str, int], notes: Sequence[str] = ()
) -> Iterator[dict[str, Any]]:
    """Rows of one cell; a share without a denominator keeps its row and says why."""
    blank = [f"{copies.n_blank} without an answer are counted"] if copies.n_blank else []
    for name, (top, below) in parts.items():
        row = {**copies.cell, **asked.described(), "estimand": name, **shared}
        used = below > 0
        if used.any():
            totals = Totals(top[used], below[used], (0.0, 1.0))
            yield row | numbers(asked, totals, [*notes, *blank])
        else:
            why = "no results: no family is in the denominator"
            yield row | {"n_families": 0, "note": joined([why, *notes, *blank])}


def _number_of_copies(copies: np.ndarray) -> str:
    numbers_used = sorted(set(copies[copies >= 2].tolist()))
    if not numbers_used:
        return "no question has two copies"
    low, high = numbers_used[0], numbers_used[-1]
    return f"{low} copies a question" if low == high else f"{low} to {high} copies a question"


def _provenance(asked: Asked) -> dict[str, Any]:
    return {
        "pairstats": __version__,
        "interval": asked.interval.name if asked.interval else "family-jeffreys",
        "confidence_level": asked.level,
        "no_answer": asked.panel.no_answer,
        "population": asked.panel.population,
    }
