"""A finding about records, and the rows as the checks look at them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from pairstats import schema
from pairstats.records.table import Records

SUBJECT = ("study", "run", "platform", "model", "condition")
"""Columns that make who answered: one run of one model in one setting."""
DECISION = ("study", "family", "item", "variant", "repeat")
"""Columns that make what was asked."""
MIN_COMMON = 10
"""Decisions below which an agreement says nothing."""
MOST_SUBJECTS = 400
"""Subjects above which pairs are not compared: there would be more than 80,000."""


class LackingError(Exception):
    """A check that needs what the records do not hold."""


@dataclass(frozen=True, slots=True)
class Flag:
    """One finding.

    Attributes
    ----------
    kind : str
        ``identical_runs``, ``near_copies``, ``ceiling``, ``floor``, ``constant_shift``, ``key_repeats``,
        ``response_id_repeats``, ``items_missing``, ``constant_answer``, ``identical_answers``,
        ``cached_repeats``, ``two_scales``, ``wrong_scale``, ``confidence_lost``, ``two_splits``,
        ``prompt_differs`` or ``gold_differs``.
    red : bool
        Whether it makes estimates meaningless unless it is explained.
    finding : str
        A sentence with its counts.
    count, of : int
        How many rows, decisions, units, items or families it is about, and of how many.
    examples : tuple of str
        The first of them.
    """

    kind: str
    red: bool
    finding: str
    count: int
    of: int
    examples: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain values that JSON can write."""
        return {
            "kind": self.kind, "red": self.red, "finding": self.finding, "count": self.count, "of": self.of,
            "examples": list(self.examples),
        }  # fmt: skip

    def __str__(self) -> str:
        shown = f" (first: {', '.join(self.examples)})" if self.examples else ""
        return f"{self.kind.replace('_', ' ')}: {self.finding}{shown}"


@dataclass(frozen=True, eq=False)
class Rows:
    """Records as a frame, with numbers for who answered and what was asked.

    Attributes
    ----------
    frame : pandas.DataFrame
        All columns, replies without the blanks around them, and ``subject_`` and ``decision_``: numbers of the
        combinations of `SUBJECT` and `DECISION`.
    names : list of str
        What each subject is called: the model, and what else tells it from others.
    ledger : pandas.DataFrame
    score_range : tuple of float
    """

    frame: pd.DataFrame
    names: Sequence[str]
    ledger: pd.DataFrame
    score_range: tuple[float, float]

    def has(self, name: str) -> bool:
        """Whether a column is there and holds anything."""
        return name in self.frame.columns and bool(self.frame[name].notna().any())

    @property
    def answered(self) -> pd.DataFrame:
        """Rows with an answer."""
        return self.frame[self.frame["status"] == schema.ANSWERED]

    def grid(self, values: pd.Series) -> np.ndarray[Any, Any]:
        """Values as decisions by subjects, NaN where there is none."""
        rows = self.frame.loc[values.index]
        shape = (int(self.frame["decision_"].max()) + 1, len(self.names))
        grid = np.full(shape, np.nan)
        grid[rows["decision_"].to_numpy(), rows["subject_"].to_numpy()] = values.to_numpy(float)
        return grid

    def pairs(self) -> Iterator[tuple[int, int]]:
        """Pairs of subjects of one study."""
        if len(self.names) > MOST_SUBJECTS:
            raise LackingError(
                f"pairs of runs: there are {len(self.names)}, more than {MOST_SUBJECTS}; check parts of the records"
            )
        study = self.frame.groupby("subject_")["study"].first()
        yield from ((a, b) for a, b in combinations(range(len(self.names)), 2) if study[a] == study[b])


Check = Callable[[Rows], Iterable[Flag]]


def rows_of(records: Records) -> Rows:
    """Lay records out for the checks."""
    frame = schema.undictionary(records.table).to_pandas()
    subjects = frame.groupby(list(SUBJECT), sort=True, dropna=False).ngroup()
    decisions = frame.groupby(list(DECISION), sort=False, dropna=False).ngroup()
    # Whether a platform keeps the blanks around a reply makes no other reply of it.
    frame = frame.assign(subject_=subjects, decision_=decisions, response=frame["response"].str.strip())
    return Rows(frame, _names(frame), records.ledger, records.score_range)


def _names(frame: pd.DataFrame) -> list[str]:
    """Call each subject by its model, and by the other columns that differ between subjects."""
    first = frame.drop_duplicates("subject_").sort_values("subject_")
    differ = [name for name in SUBJECT if name != "model" and first[name].nunique() > 1]
    return [
        repr(row["model"]) + "".join(f" {name}={row[name]!r}" for name in differ)
        for _, row in first.iterrows()
    ]


def codes(values: pd.Series) -> pd.Series:
    """Numbers of the different values, as floats; missing ones are NaN."""
    numbers, _ = pd.factorize(values)
    return pd.Series(numbers, index=values.index, dtype=float).where(numbers >= 0)


def first_of(values: Iterable[Any], limit: int = 3) -> tuple[str, ...]:
    """First different values as texts."""
    return tuple(str(value) for value in list(dict.fromkeys(values))[:limit])
