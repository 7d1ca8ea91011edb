"""Faults of a protocol that no single table shows: names, references, questions that cannot be asked."""

from __future__ import annotations

import typing
from collections.abc import Iterator, Sequence

from pairstats.errors import PairstatsError, listed
from pairstats.estimands import KINDS
from pairstats.protocol import build
from pairstats.protocol.places import Fault, Place
from pairstats.protocol.settings import empty_names, is_range, settings_faults, tried, where_faults
from pairstats.protocol.tables import Table, Tables, fits
from pairstats.protocol.values import ContrastRule, EstimandRule

ESTIMANDS = ("estimand", "exploratory.estimand")
CONTRASTS = ("contrast", "exploratory.contrast")


def faults(tables: Tables) -> Iterator[Fault]:
    """Yield every way in which the tables of a protocol contradict themselves or each other."""
    yield from tables.faults
    if not tables.sections.get("records.source"):
        yield Fault(
            "The protocol must name its records: write [[records.source]] with a path.",
            Place("", key="records"),
        )
    if not tables.sections.get("estimand"):
        yield Fault("The protocol must define at least one [[estimand]].", Place("protocol"))
    for sections in (ESTIMANDS, CONTRASTS, ("sensitivity",)):
        yield from _names_twice(tables, sections)
    yield from settings_faults(tables)
    for section in ESTIMANDS:
        for table in tables.named(section):
            yield from _estimand(table, table.value)
    for section in CONTRASTS:
        defined = tables.names(*(ESTIMANDS if section.startswith("exploratory") else ESTIMANDS[:1]))
        for table in tables.named(section):
            yield from _contrast(table, table.value, defined)
    yield from _references(tables)
    yield from _together(tables)


def _names_twice(tables: Tables, sections: Sequence[str]) -> Iterator[Fault]:
    """Yield a fault at every table whose name an earlier one has."""
    seen = set()
    for section in sections:
        for table in tables.named(section):
            name = table.value.name
            if name in seen:
                yield table.fault(
                    f"Every {section.rpartition('.')[2]} must have its own name, but {name!r} occurs twice.",
                    "name",
                )
            seen.add(name)


def _references(tables: Tables) -> Iterator[Fault]:
    known = tables.names("contrast")
    for section, key in (
        ("multiplicity", "contrasts"),
        ("sensitivity", "contrasts"),
        ("deviation", "contrast"),
    ):
        for table in tables.named(section):
            asked = getattr(table.value, key)
            names = [asked] if isinstance(asked, str) else asked
            foreign = [name for name in names if name and name not in known]
            if foreign:
                told = f"[{section}]" if section != "sensitivity" else f"[sensitivity {table.value.name!r}]"
                yield table.fault(f"{told} names {listed(foreign)}, which is no contrast of the file.", key)
            if len(set(names)) < len(names):
                yield table.fault(f"`{key}` in [{section}] must name each contrast once.", key)


def _together(tables: Tables) -> Iterator[Fault]:
    """Yield a fault where max-T shall adjust what has no joint law of differences."""
    for table in tables.named("multiplicity"):
        chosen = table.value.contrasts
        rules = [rule for rule in tables.values("contrast") if not chosen or rule.name in chosen]
        by_margin = [rule.name for rule in rules if rule.margin is not None]
        if table.value.method == "max-t" and (by_margin or len({rule.side for rule in rules}) > 1):
            yield table.fault(
                "`method` max-t adjusts differences without margins, all with one side; the contrasts are not. "
                "Take holm.", "method",
            )  # fmt: skip


def _estimand(table: Table, rule: EstimandRule) -> Iterator[Fault]:
    yield from empty_names(table)
    yield from where_faults(table)
    found = list(_arguments(table, rule))
    yield from found or tried(table, lambda: build.build_estimand(rule))


def _arguments(table: Table, rule: EstimandRule) -> Iterator[Fault]:
    """Yield the arguments whose type would only show when they are used."""
    hints = typing.get_type_hints(KINDS[rule.kind]) if rule.kind in KINDS else {}
    for name, value in rule.args.items():
        if name == "bounds" and not is_range(value):
            wanted = "two numbers, the lower first"
        elif hints.get(name) in (str, str | None) and not fits(value, str):
            wanted = "a name"
        else:
            continue
        yield table.fault(
            f"Estimand {rule.name!r}: `args.{name}` must be {wanted}, but is {value!r}.", "args"
        )


def _contrast(table: Table, rule: ContrastRule, defined: Sequence[str]) -> Iterator[Fault]:
    yield from empty_names(table)
    yield from where_faults(table)
    for key in ("estimand", "minus"):
        name = getattr(rule, key)
        if name is not None and name not in defined:
            yield table.fault(
                f"Contrast {rule.name!r} asks for the estimand {name!r}, which is not defined; "
                f"there are {listed(sorted(set(defined)), 20)}.", key,
            )  # fmt: skip
    if not table.clean:
        return  # what is left of it would only be blamed for what is missing
    yield from tried(table, lambda: build.build_claim(rule))
    if rule.minus is not None:
        if rule.compare:
            yield table.fault(f"Contrast {rule.name!r} takes either `compare` or `minus`, not both.", "minus")
        return
    yield from _comparison(table, rule)


def _comparison(table: Table, rule: ContrastRule) -> Iterator[Fault]:
    try:
        comparison = build.build_comparison(rule)
    except PairstatsError as error:
        yield table.fault(str(error), "compare" if rule.compare else "name")
        return
    averaged = [rule.average] if isinstance(rule.average, str) else rule.average
    both = [name for name in averaged if name in comparison.factors]
    if both:
        yield table.fault(
            f"Contrast {rule.name!r} must not average over what it compares, but `average` names "
            f"{listed(both)}.", "average",
        )  # fmt: skip
