"""What the columns of a flat table mean, by their names alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pairstats import schema
from pairstats.readers.column_names import FROM_ONE, alike, is_plain, plain_of, roles_of, scores_of
from pairstats.readers.columns import UnusualError
from pairstats.readers.files import TABLES
from pairstats.readers.mapping import name_of
from pairstats.readers.reading import Reading


@dataclass(frozen=True, slots=True)
class Layout:
    """Which column of a table is which of the format."""

    roles: Mapping[str, str]
    scores: Mapping[str, str]
    primary: str | None
    from_one: bool
    """Whether repeats are counted from 1 where their smallest number is 1."""


def layout_of(names: tuple[str, ...], form: str, reading: Reading) -> Layout:
    """Find what columns mean by their names.

    Raises
    ------
    UnusualError
        When names alone do not tell it.
    """
    roles, scores = roles_of(names, reading.score), scores_of(names, reading.score)
    said = reading.reader == TABLES and bool("model" in roles or scores)  # by the user
    if not (said or is_plain(names, form)):
        raise UnusualError("no plain table")
    if alike(names):
        raise UnusualError("names that differ in case alone")
    if len(scores) > 1 and reading.score is None and reading.answers is None:
        raise UnusualError("several scores")
    if reading.score is not None and reading.score not in scores:
        raise UnusualError("a score that is no column")
    primary = reading.score or (None if reading.answers else next(iter(scores), None))
    from_one = "repeat" in roles and plain_of(roles["repeat"]) in FROM_ONE
    if from_one and any(name_of(path) == "repeat" for path in reading.columns.values()):
        raise UnusualError("a mapping of repeats that may be counted from 1")
    check_mappings(reading)
    return Layout(roles, scores, primary, from_one and "repeat" not in reading.columns)


def check_mappings(reading: Reading) -> None:
    """Refuse mappings that depend on what each record holds.

    Raises
    ------
    UnusualError
        Naming what they depend on.
    """
    if any(map(schema.is_score, (*reading.constants, *reading.columns))):
        raise UnusualError("a further score that is mapped")
    asked = {name_of(path) for column, path in reading.columns.items() if name_of(path) != column}
    if asked & reading.columns.keys() - {"item"}:
        raise UnusualError("a mapping of a column that is mapped itself, which counts where it has a value")
