"""Which raw field is which column: dotted paths, patterns, and their resolution in every record."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pairstats import schema
from pairstats.arguments import checked
from pairstats.errors import PairingError, PairstatsError, listed, nearest
from pairstats.readers.dotted import lookup
from pairstats.readers.drafts import MISSING, Draft, Tally, as_text
from pairstats.readers.items import ItemTable
from pairstats.readers.likely import ready_line

SHOWN_PATHS = 12
KNOWN_PATHS = 2000
"""Paths of a file's first record that are kept for messages; an agent's log has many more."""
ORDER: tuple[str, ...] = (
    "item", "study", "split", "category", "run", "platform", "model", "condition", "repeat", "variant",
    "family", "gold", "answer", "outcome", "confidence",
)  # fmt: skip
"""Columns that may be mapped, in the order in which they are resolved: later ones may name earlier ones."""

OF_THE_ITEM = ("split", "category", "variant", "family", "gold")
"""Columns that belong to the item, whoever answers it, so that one record may tell them for another."""


class NowhereError(PairingError):
    """A name that none of the records read has; others may."""


@dataclass(frozen=True, slots=True)
class Extract:
    """A pattern on another column; see `extract`."""

    name: str
    pattern: str


Path = str | Extract


@checked
def extract(name: str, pattern: str) -> Extract:
    r"""Take a column from a part of another one.

    Parameters
    ----------
    name : str
        A dotted path, a column, an item-table column, ``"source"`` (file and record) or ``"file"``.
    pattern : str
        Regular expression; its first group is the value.

    Returns
    -------
    Extract

    Raises
    ------
    PairstatsError
        When the pattern is no regular expression, or has no group.

    Examples
    --------
    >>> extract("item", r"^(\w+)-")
    Extract(name='item', pattern='^(\\w+)-')
    """
    try:
        groups = re.compile(pattern).groups
    except re.error as error:
        raise PairstatsError(
            f"`pattern` must be a regular expression, but {pattern!r} is not: {error}."
        ) from error
    if groups < 1:
        raise PairstatsError(f"`pattern` must have a group, but {pattern!r} has none. Put (...) around it.")
    return Extract(name, pattern)


def path_of(text: str) -> Path:
    r"""Mapping that a text stands for: a dotted path, or ``column~pattern``.

    Raises
    ------
    PairstatsError
        When the text names no column, or its pattern is no regular expression with a group.

    Examples
    --------
    >>> path_of("metadata.family"), path_of(r"item~^(\w+)-")
    ('metadata.family', Extract(name='item', pattern='^(\\w+)-'))
    """
    column, separator, pattern = text.partition("~")
    if not column:
        raise PairstatsError(f"A mapping must be a dotted path or 'column~pattern', but is {text!r}.")
    return extract(column, pattern) if separator else column


def name_of(path: Path) -> str:
    """Name that a mapping looks up."""
    return path.name if isinstance(path, Extract) else path


def told_by(path: Path, raw: Any) -> str | None:
    r"""Give what a mapping says of a raw record by itself; None where it says nothing.

    Examples
    --------
    >>> told_by(extract("meta.id", r"^(\w+)-"), {"meta": {"id": "q1-base"}}), told_by("meta", {})
    ('q1', None)
    """
    value = lookup(raw, name_of(path).removeprefix("record."))
    text = None if value is MISSING else as_text(value)
    if text is None or not isinstance(path, Extract):
        return text
    match = re.search(path.pattern, text)
    return None if match is None else match[1]


@dataclass(frozen=True, slots=True)
class Context:
    """What a mapping may refer to besides the record itself."""

    items: ItemTable | None
    tallies: Sequence[Tally]

    def names(self) -> list[str]:
        """Names that a mapping may look up: columns of the item table, then paths, the likely ones first."""
        return [*(self.items.columns if self.items else ()), *paths_of(self.tallies)]

    def there_is(self, drafts: Sequence[Draft]) -> str:
        """Say what names there are, for an error message."""
        paths = paths_of(self.tallies)
        known = sorted({name for d in drafts for name, value in d.fields.items() if value not in (None, "")})
        told = [f"Paths there are: {names_shown(paths)}.", f"Columns known: {names_shown(known)}."]
        if scores_of(drafts):
            told.append(f"Scores: {names_shown(scores_of(drafts))}.")
        if self.items is not None:
            told.append(f"Columns of the item table: {names_shown(list(self.items.columns))}.")
        return " ".join(told)


def paths_of(tallies: Sequence[Tally]) -> list[str]:
    """Dotted paths of the records, the likely ones first: metadata, then the least nested."""
    paths = dict.fromkeys(path for tally in tallies for path in tally.paths)

    def rank(path: str) -> tuple[bool, bool, int]:
        in_list = any(part.isdecimal() for part in path.split("."))
        return in_list, "metadata" not in path, path.count(".")

    return sorted(paths, key=rank)


def scores_of(drafts: Sequence[Draft]) -> list[str]:
    """Names of the scores that records hold."""
    return list(dict.fromkeys(name for draft in drafts for name in draft.scores))


def names_shown(names: Sequence[str]) -> str:
    """First names of a list, and how many more there are."""
    rest = len(names) - SHOWN_PATHS
    return ", ".join(names[:SHOWN_PATHS]) + (f" and {rest} more" if rest > 0 else "") if names else "none"


def resolve(column: str, path: Path, drafts: Sequence[Draft], context: Context) -> list[Any]:
    """Find a mapping's value in every record.

    Parameters
    ----------
    column : str
        The column that is mapped.
    path : str or Extract
    drafts : sequence of Draft
    context : Context

    Returns
    -------
    list
        One value a draft, None where there is none.

    Raises
    ------
    PairingError
        When it is found in no record, when a pattern fits some records only, or when the record and the
        item table tell different things.
    """
    name = name_of(path)
    values = [_candidate(column, name, draft, context) for draft in drafts]
    if drafts and all(value is MISSING for value in values):
        known = context.names()
        raise NowhereError(
            f"{column}={name!r} must be found in the records, but is in none of {len(drafts)}: "
            f"{listed(draft.source for draft in drafts)}."
            + (nearest(name, [*known, *scores_of(drafts)]) or ready_line(column, known))
            + " "
            + context.there_is(drafts)
        )
    values = [None if value is MISSING else value for value in values]
    return _extracted(column, path, values, drafts) if isinstance(path, Extract) else values


def _candidate(column: str, name: str, draft: Draft, context: Context) -> Any:
    """Look a name up: a column already known, then item table and record, which must not differ, then scores."""
    own = draft.fields.get(name) if name in schema.NAMES or name in draft.fields else None
    if name == "source":
        return draft.source
    if own is not None and name != column:
        return own
    raw = draft.found.get(name, MISSING)
    joined = MISSING if context.items is None else context.items.value(draft.fields, name)
    if raw is not MISSING and joined is not MISSING:
        if as_text(raw) != as_text(joined):
            raise PairingError(
                f"{column}={name!r} must be one value, but {draft.source} has {raw!r} in the record and "
                f"{joined!r} in the item table. Write 'items.{name}' or 'record.{name}'."
            )
        return raw
    if joined is not MISSING:
        return joined
    if raw is not MISSING:
        return raw
    if own is not None:
        return own
    if name == "file":
        return context.tallies[draft.file].file
    return next((draft.scores[each] for each in names_meant(name) if each in draft.scores), MISSING)


def names_meant(name: str) -> list[str]:
    """Names of a score that a user may mean: as it is, or without what its column puts in front.

    Examples
    --------
    >>> names_meant("value_json_choice.confidence")
    ['value_json_choice.confidence', 'json_choice.confidence']
    """
    return [name, *(name.removeprefix(put) for put in ("score_", "value_") if name.startswith(put))]


def _extracted(column: str, path: Extract, values: list[Any], drafts: Sequence[Draft]) -> list[str | None]:
    texts = [as_text(value) for value in values]
    pattern = re.compile(path.pattern)
    found = [None if text is None else pattern.search(text) for text in texts]
    failed = [
        (draft.source, text)
        for draft, text, match in zip(drafts, texts, found, strict=True)
        if text is not None and match is None
    ]
    if failed:
        some = "no record" if not any(found) else f"only {len(drafts) - len(failed)} of {len(drafts)} records"
        examples = listed([f"{text} ({source})" for source, text in failed])
        raise PairingError(
            f"{column}=extract({path.name!r}, {path.pattern!r}) must fit every record, but fits {some}; "
            f"it does not fit {examples}. Change the pattern, or exclude these items."
        )
    return [None if match is None else match[1] for match in found]


def from_siblings(column: str, values: list[Any], drafts: Sequence[Draft]) -> list[Any]:
    """Fill what an item that never ran cannot tell from records of the same item that did, if they agree."""
    if column not in OF_THE_ITEM or all(draft.ran for draft in drafts):
        return values
    told: dict[tuple[Any, Any], set[str]] = {}
    for draft, value in zip(drafts, values, strict=True):
        text = as_text(value)
        if text is not None:
            told.setdefault(_question(draft), set()).add(text)
    filled = []
    for draft, value in zip(drafts, values, strict=True):
        candidates = told.get(_question(draft), set())
        lone = next(iter(candidates)) if len(candidates) == 1 else None
        filled.append(lone if value is None and not draft.ran else value)
    return filled


def _question(draft: Draft) -> tuple[Any, Any]:
    """Identify the item across models: ids are unique within a study only."""
    return draft.fields.get("study"), draft.fields.get("item")
