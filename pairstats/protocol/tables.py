"""The tables of a protocol file as typed values, with the place of each, and what is wrong with any key."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pairstats.errors import ProtocolError, listed
from pairstats.protocol.places import Fault, Place
from pairstats.protocol.power_rule import PowerRule
from pairstats.protocol.values import (
    Answers,
    Calibration,
    ContrastRule,
    Design,
    Deviation,
    EstimandRule,
    Head,
    IntervalRule,
    Multiplicity,
    ScorerRule,
    ScriptRule,
    Sensitivity,
    Source,
)

Section = Mapping[str, Any]

SINGLE: Mapping[str, type[Any]] = {
    "protocol": Head, "answers": Answers, "scorer": ScorerRule, "script": ScriptRule, "design": Design,
    "interval": IntervalRule, "multiplicity": Multiplicity, "calibration": Calibration, "power": PowerRule,
}  # fmt: skip
"""Sections that are one table, and the value that each becomes."""

SEVERAL: Mapping[str, type[Any]] = {
    "records.source": Source, "estimand": EstimandRule, "contrast": ContrastRule, "sensitivity": Sensitivity,
    "exploratory.estimand": EstimandRule, "exploratory.contrast": ContrastRule, "deviation": Deviation,
}  # fmt: skip
"""Sections that are lists of tables."""

ALWAYS_THERE = ("protocol", "design", "interval", "multiplicity")
"""Sections whose defaults hold where they are left out."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table of the file.

    Attributes
    ----------
    place : Place
    content : mapping
        As written.
    value : object or None
        What it becomes; None where it cannot be read.
    clean : bool
        Whether every key of it was read; of others only single keys can be judged.
    """

    place: Place
    content: Section
    value: Any
    clean: bool

    def fault(self, message: str, key: str = "") -> Fault:
        """Put a message at a key of this table."""
        return Fault(message, replace(self.place, key=key if key in self.content else ""))

    def faults_of(self, error: Exception) -> Iterator[Fault]:
        """Put an error of what the table becomes at the key that its message names first in backticks."""
        for message in getattr(error, "findings", ()) or (str(error),):
            words = [word.partition(".")[0] for word in message.split("`")[1::2]]
            named = [word for word in words if word in self.content]
            yield self.fault(message, named[0] if named else "name")


@dataclass(frozen=True, slots=True)
class Tables:
    """All tables of a file by section, and what was wrong with their keys."""

    sections: Mapping[str, tuple[Table, ...]]
    faults: tuple[Fault, ...]

    def named(self, section: str) -> tuple[Table, ...]:
        """Tables of a section, those that cannot be read left out."""
        return tuple(table for table in self.sections.get(section, ()) if table.value is not None)

    def value(self, section: str) -> Any:
        """Value of a section that is one table, or None."""
        return next((table.value for table in self.named(section)), None)

    def values(self, section: str) -> tuple[Any, ...]:
        """Values of a section that is a list of tables."""
        return tuple(table.value for table in self.named(section))

    def names(self, *sections: str) -> list[str]:
        """Names that tables give themselves, even where the rest of a table cannot be read."""
        written = [table.content.get("name") for s in sections for table in self.sections.get(s, ())]
        return [name for name in written if isinstance(name, str)]


def read_tables(content: Section) -> Tables:
    """Read every table of a parsed file; each key that is unknown or of a wrong type becomes a fault."""
    faults = list(_unknown("the file", content, _roots(), Place("")))
    sections: dict[str, tuple[Table, ...]] = {}
    for section, kind in {**SINGLE, **SEVERAL}.items():
        root, _, leaf = section.partition(".")
        inside = content.get(root)
        if leaf and inside is not None and not isinstance(inside, dict):
            faults.append(Fault(f"`{root}` must be a table.", Place("", key=root)))
        found = inside.get(leaf) if leaf and isinstance(inside, dict) else None if leaf else inside
        if section == "records.source":
            found = _with_shared(inside, found)
        if found is None:
            found = {} if section in ALWAYS_THERE else [] if section in SEVERAL else None
        sections[section] = tuple(_read_section(section, kind, found, faults))
    for root in ("records", "exploratory"):
        known = tuple(s.partition(".")[2] for s in SEVERAL if s.startswith(f"{root}."))
        known += tuple(typing.get_type_hints(Source)) if root == "records" else ()
        if isinstance(content.get(root), dict):
            faults += _unknown(f"[{root}]", content[root], known, Place(root))
    return Tables(sections, tuple(dict.fromkeys(faults)))


def _with_shared(records: Any, sources: Any) -> Any:
    """Sources that also have what `[records]` says for all of them; what a source says itself comes first."""
    if not (isinstance(records, dict) and isinstance(sources, list)):
        return sources
    shared = {key: value for key, value in records.items() if key != "source"}
    return [_merged(shared, each) if isinstance(each, dict) else each for each in sources]


def _merged(shared: Section, own: Section) -> Section:
    both = {
        key: {**value, **own[key]}
        for key, value in shared.items()
        if isinstance(value, dict) and isinstance(own.get(key), dict)
    }
    return {**shared, **own, **both}


def _roots() -> tuple[str, ...]:
    return tuple(dict.fromkeys(section.partition(".")[0] for section in (*SINGLE, *SEVERAL)))


def _read_section(section: str, kind: type[Any], found: Any, faults: list[Fault]) -> Iterator[Table]:
    key = section.rpartition(".")[2]
    if section in SINGLE:
        if isinstance(found, dict):
            yield _read_table(section, kind, found, Place(section), faults)
        elif found is not None:
            faults.append(Fault(f"`{section}` must be a table.", Place("", key=key)))
        return
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        faults.append(
            Fault(f"`{section}` must be a list of tables; write [[{section}]].", Place(section, key=key))
        )
        return
    for number, each in enumerate(found, start=1):
        yield _read_table(section, kind, each, Place(section, number), faults)


def _read_table(section: str, kind: type[Any], content: Section, place: Place, faults: list[Fault]) -> Table:
    """Build a frozen value from the keys that can be read, where the required ones are among them."""
    hints = typing.get_type_hints(kind)
    table = Table(place, content, None, clean=False)
    before = len(faults)
    faults += _unknown(f"[{section}]", content, tuple(hints), place)
    good = {name: value for name, value in content.items() if name in hints and fits(value, hints[name])}
    faults += [
        table.fault(f"`{name}` in [{section}] must be {wanted(hints[name])}, but is {value!r}.", name)
        for name, value in content.items()
        if name in hints and name not in good
    ]
    required = [
        f.name
        for f in dataclasses.fields(kind)
        if f.default is dataclasses.MISSING and f.default_factory is dataclasses.MISSING
    ]
    absent = [name for name in required if name not in content]
    if absent:
        faults.append(table.fault(f"[{section}] must have {listed(absent, 10)}."))
    if not set(required) <= good.keys():
        return table
    try:
        return Table(place, content, kind(**good), clean=len(faults) == before)
    except ProtocolError as error:
        faults += table.faults_of(error)
        return table


def _unknown(where: str, content: Section, known: Sequence[str], place: Place) -> Iterable[Fault]:
    for key in content:
        if key not in known:
            yield Fault(
                f"{where} has the unknown key {key!r}; it may have {', '.join(known)}.",
                replace(place, key=key),
            )


def fits(value: Any, hint: Any) -> bool:
    """Whether a TOML value is of an annotated type; whole numbers pass as decimals, booleans do not.

    Examples
    --------
    >>> fits(1, float | None), fits(True, float), fits(["a"], list[str])
    (True, False, True)
    """
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if origin in (types.UnionType, typing.Union):
        return any(fits(value, argument) for argument in arguments)
    if origin is list:
        return isinstance(value, list) and all(fits(each, arguments[0]) for each in value)
    if origin is dict:
        return isinstance(value, dict) and all(fits(each, arguments[1]) for each in value.values())
    if isinstance(value, bool):
        return hint is bool
    return isinstance(value, int | float if hint is float else hint)


def wanted(hint: Any) -> str:
    """Name a type in a message, as a reader of TOML knows it.

    Examples
    --------
    >>> wanted(str | list[str] | None), wanted(float)
    ('str | list[str]', 'float')
    """
    text = str(hint).replace("typing.", "").removeprefix("<class '").removesuffix("'>")
    return text.replace("datetime.date", "a date (without quotes)").removesuffix(" | None")
