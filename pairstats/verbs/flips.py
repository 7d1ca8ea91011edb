"""Flips against correctness, by cell: where answers move, and the errors that agreement hides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from pairstats.arguments import checked
from pairstats.estimands import Mean
from pairstats.infer import asked_for
from pairstats.intervals import IntervalKind, Totals
from pairstats.numeric.copies import family_marks
from pairstats.numeric.shares import family_codes, family_sums
from pairstats.numeric.transitions import error_totals, flip_transitions, transition_totals
from pairstats.panel import Panel
from pairstats.result import Estimates
from pairstats.rows import Asked, families_only, joined, numbers
from pairstats.verbs.questions import Copies, copies_by_cell, no_copies
from pairstats.verbs.replies import provenance

DIRECTED = ("right_to_wrong", "wrong_to_right")
NO_DIRECTION = "right_to_wrong equals wrong_to_right by construction without reference="

Parts = dict[str, tuple[np.ndarray, np.ndarray]]


@checked
def flip_table(
    panel: Panel,
    column: str = "answer",
    *,
    score: str = "score",
    reference: str | None = None,
    within: Sequence[str] | str = (),
    interval: IntervalKind | str | None = None,
    confidence_level: float = 0.95,
) -> Estimates:
    """Split flips by correctness in every cell: right to wrong, wrong to right, to the same or another wrong.

    Use it to say what flips cost. Not for how many there are; `estimate` with `FlipRate` covers that.
    Replies of different variants are compared, over all repeats, inside a question.

    Parameters
    ----------
    panel : Panel
    column : str, default "answer"
        Canonical answers to compare.
    score : str, default "score"
        0 or 1: whether a reply is right.
    reference : str, optional
        Compare every other variant with this one, in this order; left out, both orders of each pair count, so
        that ``right_to_wrong`` equals ``wrong_to_right`` by construction and has no direction.
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

    Notes
    -----
    Formula and sources: `flip_transitions` of `pairstats.numeric`.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"family": ["f", "f", "g", "g"], "item": ["f", "f", "g", "g"], "model": "m",
    ...                      "variant": ["base", "moved"] * 2, "answer": ["A", "B", "C", "C"],
    ...                      "score": [1.0, 0.0, 1.0, 1.0]})
    >>> flip_table(Panel(rows), reference="base").where(estimand="lost").frame["estimate"].tolist()
    [0.5]
    """
    asked = _asked(panel, column, score, interval, confidence_level, weight="family")
    rows: list[dict[str, Any]] = []
    for copies in copies_by_cell(panel, column, score, within):
        found = flip_transitions(
            copies.answers, copies.correct, variants=copies.variants, reference=reference
        )
        codes = family_codes(copies.families, len(copies.families))
        mean = _family_means(found.per_family, found.pairs, codes)
        shared = {"n_units": found.n_families, "n_missing": found.n_missing_pairs}
        either = dict.fromkeys(DIRECTED, NO_DIRECTION) if reference is None else {}
        rows += _rows(asked, copies, transition_totals(mean), shared, either, reference)
    return Estimates.from_rows(rows, factors=panel.cells, provenance=_settings(asked))


@checked
def silent_errors(
    panel: Panel,
    column: str = "answer",
    *,
    score: str = "score",
    within: Sequence[str] | str = (),
    interval: IntervalKind | str | None = None,
    confidence_level: float = 0.95,
) -> Estimates:
    """What agreement of the copies says about errors, in every cell.

    Use it to say how far agreement can be trusted. Not for how often copies disagree, or what sending those to a
    person buys; `estimate` with `FlipRate` and `review_curve` cover that. All replies to a question are its
    copies: variants, and repeats where there are any.

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

    Notes
    -----
    Formula and sources: `flip_errors` of `pairstats.numeric`.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = pd.DataFrame({"family": ["f", "f", "g", "g"], "item": ["f", "f", "g", "g"], "model": "m",
    ...                      "variant": ["base", "moved"] * 2, "answer": ["A", "A", "C", "C"],
    ...                      "score": [0.0, 0.0, 1.0, 1.0]})
    >>> silent_errors(Panel(rows)).where(estimand="silent_error").frame["estimate"].tolist()
    [0.5]
    """
    asked = _asked(panel, column, score, interval, confidence_level, weight="item")
    rows: list[dict[str, Any]] = []
    for copies in copies_by_cell(panel, column, score, within):
        marks = family_marks(copies.answers, copies.correct)
        used = [family for family, k in zip(copies.families, marks.copies, strict=True) if k >= 2]
        codes = family_codes(used, len(used))
        parts = {
            name: (family_sums(top, codes), family_sums(below, codes)) if used else (top, below)
            for name, (top, below) in error_totals(marks).items()
        }
        shared = {"n_units": len(used), "n_missing": marks.n_missing}
        copied = dict.fromkeys(parts, _number_of_copies(marks.copies))
        rows += _rows(asked, copies, parts, shared, copied)
    return Estimates.from_rows(rows, factors=panel.cells, provenance=_settings(asked))


def _asked(
    panel: Panel, column: str, score: str, interval: IntervalKind | str | None, level: float, *, weight: str
) -> Asked:
    panel.require(column, score)
    families_only(panel, "A table of flips and errors")
    return asked_for(panel, Mean(score, weight=weight), interval, level)


def _family_means(per_question: np.ndarray, pairs: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Shares of all pairs of each family, those of its questions pooled; NaN where it has none."""
    counts = np.where(pairs[:, None] > 0, per_question * pairs[:, None], 0.0)
    sums = np.column_stack([family_sums(column, codes) for column in counts.T])
    total = family_sums(pairs, codes)[:, None]
    return np.divide(sums, total, out=np.full(sums.shape, np.nan), where=total > 0)


def _rows(
    asked: Asked,
    copies: Copies,
    parts: Parts,
    shared: dict[str, int],
    beside: Mapping[str, str],
    reference: str | None = None,
) -> Iterator[dict[str, Any]]:
    """Rows of one cell, a note beside some; a share without a denominator keeps its row and says why."""
    for name, (top, below) in parts.items():
        row = {**copies.cell, **asked.described(), "estimand": name, **shared}
        used = below > 0
        notes = [beside.get(name, ""), *copies.notes]
        if used.any():
            totals = Totals(top[used], below[used], (0.0, 1.0))
            yield row | numbers(asked, totals, notes)
        else:
            why = no_copies(asked.panel, "no family is in the denominator", reference)
            yield row | {"n_families": 0, "note": joined([why, *notes])}


def _number_of_copies(copies: np.ndarray) -> str:
    numbers_used = sorted(set(copies[copies >= 2].tolist()))
    if not numbers_used:
        return "no question has two copies"
    low, high = numbers_used[0], numbers_used[-1]
    return f"{low} copies a question" if low == high else f"{low} to {high} copies a question"


def _settings(asked: Asked) -> dict[str, Any]:
    name = asked.interval.name if asked.interval else "family-jeffreys"
    return provenance(asked.panel, interval=name, confidence_level=asked.level)
