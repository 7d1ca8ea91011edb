"""Where the decisions of a plain table lie: one place a row, or in a wide table one a model."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pairstats import schema
from pairstats.errors import ReadError, listed
from pairstats.readers.base import LeftOut, ReadOptions, RunFile
from pairstats.readers.column_names import TOLD_BY, blocks_of, plain_of, roles_of, scores_of
from pairstats.readers.drafts import Word
from pairstats.readers.jsonlines import real_of
from pairstats.readers.sheets import Sheet

RIGHT = frozenset({"true", "yes", "y", "correct", "right", "c", "pass", "passed"})
WRONG = frozenset({"false", "no", "n", "incorrect", "wrong", "i", "fail", "failed"})
FLAG = re.compile(r"^(is|has|was|in|with|needs)_|_?flag$")
"""Names of properties of an item that look like scores."""
PROPERTY = re.compile(r"(^|_)(std|stderr|stdev|sem|ci|variance|p_?value|difficulty|agreement|weight)(_|$)")
"""Names of statistics and of shares that are no score of a model."""


@dataclass(frozen=True, slots=True)
class Slot:
    """Where one model's decision lies in a row.

    Attributes
    ----------
    model : str or None
        The model of a wide table's column; None where a column of the table tells it, or nothing does.
    roles : mapping of str to str
        Column of the format, column of the table.
    scores : mapping of str to str
        Name of the score, column of the table.
    """

    model: str | None
    roles: Mapping[str, str]
    scores: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Profile:
    """What the cells of a column look like, for telling models from properties of the item."""

    known: int = 0
    in_range: int = 0
    kinds: frozenset[str] = frozenset()
    first_other: str = ""

    def seen(self, cell: Any, where: str) -> Profile:
        """Profile with one more cell."""
        if cell is None:
            return self
        value = score_or_none(cell)
        if value is None or schema.within(value, (0.0, 1.0)) is None:
            other = self.first_other or f"{cell!r} ({where})"
            return replace(self, known=self.known + 1, first_other=other)
        word = isinstance(cell, bool) or (isinstance(cell, str) and cell.strip().lower() in RIGHT | WRONG)
        kind = "words" if word else "0 and 1" if value in (0, 1) else "fractions"
        return Profile(self.known + 1, self.in_range + 1, self.kinds | {kind}, self.first_other)

    @property
    def kind(self) -> str:
        """Kind of the whole column: one fraction makes a column of fractions."""
        return next((kind for kind in ("fractions", "words") if kind in self.kinds), "0 and 1")


def slots_of(file: RunFile, sheet: Sheet, options: ReadOptions) -> list[Slot]:
    """Find where decisions lie: one place a row, or one a model."""
    roles, scores = roles_of(sheet.names, options.score), scores_of(sheet.names, options.score)
    blocks = blocks_of(sheet.names)
    if options.models:
        return _named_slots(file, sheet.names, options.models, roles, blocks)
    if "model" in roles or scores:
        return [Slot(None, roles, scores)]
    if blocks:
        return [_block_slot(model, blocks[model], roles) for model in blocks]
    models = _model_columns(file, sheet, roles)
    return [_column_slot(name, name, roles) for name in models] or [Slot(None, roles, scores)]


def guess_of(file: RunFile, sheet: Sheet) -> str:
    """Which columns are taken for models by their cells alone."""
    roles, blocks = roles_of(sheet.names), blocks_of(sheet.names)
    if "model" in roles or scores_of(sheet.names, None) or blocks:
        return ""
    try:
        models = _model_columns(file, sheet, roles)
    except ReadError:  # which is raised where they are read
        return ""
    told = f"each of these columns is read as a model: {listed(models, 30)}; if not, name those that are: models="
    return told if models else ""


def _block_slot(model: str, parts: Mapping[str, str], roles: Mapping[str, str]) -> Slot:
    own = {role: parts[what] for role, what in roles_of(tuple(parts)).items()}
    scores = {name: parts[what] for name, what in scores_of(tuple(parts), None).items()}
    return Slot(model, _shared(roles) | own, scores)


def _column_slot(model: str, column: str, roles: Mapping[str, str]) -> Slot:
    return Slot(model, _shared(roles), {"score": column})


def _shared(roles: Mapping[str, str]) -> dict[str, str]:
    """Columns of the item in a wide table, where an answer can only be the key."""
    shared = {role: name for role, name in roles.items() if role != "answer"}
    return {"gold": roles["answer"], **shared} if "answer" in roles else shared


def _named_slots(
    file: RunFile, names: tuple[str, ...], models: tuple[str, ...], roles: Mapping[str, str],
    blocks: Mapping[str, Mapping[str, str]],
) -> list[Slot]:  # fmt: skip
    missing = [model for model in models if model not in names and model not in blocks]
    if missing:
        raise ReadError(
            f"{file.shown} must have the model columns that were named, but lacks {listed(missing)}. "
            f"Its columns are {listed(names, 30)}."
        )
    others = {role: name for role, name in roles.items() if name not in models}
    return [
        _column_slot(model, model, others) if model in names else _block_slot(model, blocks[model], others)
        for model in models
    ]


def _model_columns(file: RunFile, sheet: Sheet, roles: Mapping[str, str]) -> list[str]:
    """Columns that are models for certain: all cells scores of one kind, and names that are no flags."""
    likely = likely_scores(file, sheet, roles)
    if len(likely) < 2:
        return []
    broken = [f"{name!r} has {p.first_other}" for name, p in likely.items() if p.first_other]
    kinds = sorted({p.kind for p in likely.values()})
    flags = [name for name in likely if FLAG.search(plain_of(name)) or PROPERTY.search(plain_of(name))]
    doubt = [
        *broken[:3],
        *([f"they hold {' as well as '.join(kinds)}"] if len(kinds) > 1 else []),
        *([f"{listed(flags)} may be a property of the item"] if flags else []),
        *([] if "item" in roles else ["no column is an item by its name"]),
    ]
    if doubt:
        raise ReadError(
            f"The columns {listed(likely, 12)} of {file.shown} could each be a model, but not for certain: "
            f"{'; '.join(doubt)}. Name those that are: models=(...), or the one score: score=..."
        )
    return list(likely)


def likely_scores(file: RunFile, sheet: Sheet, roles: Mapping[str, str]) -> dict[str, Profile]:
    """Columns that are mostly scores: one with a broken cell may be a model too, and must not vanish."""
    profiles = {name: Profile() for name in sheet.names if name not in roles.values()}
    for number, row in sheet.rows():
        if not isinstance(row, LeftOut):
            for name in profiles:
                profiles[name] = profiles[name].seen(row.get(name), f"{file.shown}:{number}")
    return {name: p for name, p in profiles.items() if p.known and 2 * p.in_range > p.known}


def further_of(names: tuple[str, ...], slots: list[Slot]) -> list[str]:
    """Columns that have no role, and no name that the format gives a meaning."""
    used = {name for slot in slots for role, name in slot.roles.items() if role not in TOLD_BY[1:]}
    used |= {name for slot in slots for name in slot.scores.values()}
    own = (*used, *schema.NAMES)
    return [name for name in names if name not in own and not schema.is_score(name)]


def score_or_none(cell: Any) -> float | None:
    """Score in a cell: a truth value, one of the words for right and wrong, or a number."""
    word = cell.strip().lower() if isinstance(cell, str) else ""
    if word in RIGHT | WRONG:
        return Word(word in RIGHT, word)
    number = real_of(cell)
    return None if number is None or math.isinf(number) else number
