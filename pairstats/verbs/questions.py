"""The copies of every question, cell by cell: replies to its variants and repeats, as lists."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from pairstats.estimands.families import lacking_variants
from pairstats.panel import Panel
from pairstats.schema import is_score
from pairstats.sums import blank_note
from pairstats.verbs.replies import refuse_several, replies_by_cell

NO_ANSWER = "\0no answer"
"""What a reply without an answer is compared as; no canonical answer begins with a null character."""


@dataclass(frozen=True, slots=True)
class Copies:
    """The copies of every question in one cell; a question is a row of each list.

    Attributes
    ----------
    cell : dict
        Levels of the panel's cells.
    families : list
        Family of each question.
    answers, correct, variants : list of lists
        Answer, score and variant of each copy; None where it is missing.
    n_blank : int
        Replies without an answer that count.
    scored : bool
        Whether a score is read, so that these replies count as wrong.
    """

    cell: dict[str, Any]
    families: list[Hashable]
    answers: list[list[Hashable]]
    correct: list[list[float | None]]
    variants: list[list[Hashable]]
    n_blank: int
    scored: bool

    def presentations(self) -> list[list[list[Hashable]]]:
        """Answers as questions x variants x repeats."""
        nested = []
        for answers, variants in zip(self.answers, self.variants, strict=True):
            by_variant: dict[Hashable, list[Hashable]] = {}
            for answer, variant in zip(answers, variants, strict=True):
                by_variant.setdefault(variant, []).append(answer)
            nested.append(list(by_variant.values()))
        return nested

    @property
    def notes(self) -> list[str]:
        """What must be said beside every number of these copies."""
        return blank_note(self.n_blank, self.scored)


TELL_APART = (
    'Say what tells the questions of a family apart, for example within="item", or map family= to the '
    "question."
)
ONE_QUESTION = "Give the panel family= a column that names one question, such as the item."
"""Remedy of verbs that take one question a family."""


def no_copies(panel: Panel, why: str, reference: str | None = None) -> str:
    """Note on a row without results: why, and that there are no variants to compare, where that is so."""
    lacking = lacking_variants(panel.levels("variant"), reference=reference)
    return "; ".join(filter(None, [f"no results: {why}", lacking]))


def copies_by_cell(
    panel: Panel,
    column: str,
    score: str | None = None,
    within: Sequence[str] | str = (),
    remedy: str = TELL_APART,
) -> Iterator[Copies]:
    """Copies of each question in each cell, in sorted order, so that the order of rows means nothing.

    Parameters
    ----------
    panel : Panel
    column : str
        Answers to compare.
    score : str, optional
        Whether each reply is right.
    within : sequence of str, default ()
        Columns that tell the questions of one family apart.
    remedy : str
        What to do about several questions in one family.

    Raises
    ------
    PairingError
        When several replies share a question, variant and repeat.
    """
    within = (within,) if isinstance(within, str) else tuple(within)
    question = [panel.family, *within]
    scores = [score] if score else []
    for replies in replies_by_cell(panel, *within, column, *scores, numbers=scores):
        frame = replies.frame
        refuse_several(
            frame.assign(**replies.labels), [*panel.cells, *question, "variant", "repeat"],
            "Copies are answers to one question", remedy,
        )  # fmt: skip
        frame = frame.sort_values([*question, "variant", "repeat"], kind="stable")
        frame = frame.assign(answer_=compared(frame, column), score_=frame[score] if score else None)
        groups = list(frame.groupby(question, sort=True, dropna=False))
        yield Copies(
            cell=replies.labels,
            families=[name[0] for name, _ in groups],
            answers=[group["answer_"].tolist() for _, group in groups],
            correct=[group["score_"].tolist() for _, group in groups],
            variants=[group["variant"].tolist() for _, group in groups],
            n_blank=int((frame["is_blank"] & frame["is_counted"]).sum()),
            scored=score is not None or is_score(column),
        )


def compared(frame: pd.DataFrame, column: str) -> pd.Series:
    """What each reply is compared by, as in `FlipRate`; None where it is missing.

    A score has followed the panel's rule already: a reply without an answer is wrong or missing there. In any
    other column all replies without an answer are one value of their own.
    """
    given = frame[column]
    if is_score(column):
        values = given.astype(float).round(9).astype(object)
    else:
        values = given.astype(object).where(~frame["is_blank"].astype(bool), NO_ANSWER)
    return values.where(frame["is_counted"].astype(bool) & values.notna(), None)
