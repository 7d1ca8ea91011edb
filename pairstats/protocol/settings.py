"""Faults of single tables that would stop a run: words, ranges, and values that do not fit together."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pairstats.conditions import Condition
from pairstats.errors import PairstatsError, listed
from pairstats.infer import MISSING_RULES
from pairstats.interval_names import SHARES_ONLY
from pairstats.numeric.checks import check_level
from pairstats.panel import NO_ANSWER_RULES, POPULATIONS
from pairstats.protocol import build
from pairstats.protocol.places import Fault
from pairstats.protocol.tables import Table, Tables
from pairstats.protocol.values import Design, IntervalRule, Sensitivity, Source
from pairstats.readers.mapping import ORDER
from pairstats.schema import NAMES

NOT_CONSTANT = ("item", "status", "source", "score")
"""Columns that differ by record, so that no source may set them."""


def settings_faults(tables: Tables) -> Iterator[Fault]:
    """Yield what is wrong with the settings of single tables, each apart from the others."""
    for table in tables.named("protocol"):
        if table.value.name is not None:
            yield from empty_names(table)
    for table in tables.named("records.source"):
        yield from _source(table, table.value, tables.value("answers") is not None)
    for section, check in (("design", _design), ("interval", _interval), ("calibration", _calibration)):
        for table in tables.named(section):
            yield from check(table, table.value)
    yield from _shares_only(tables)
    for table in tables.named("answers"):
        yield from tried(table, partial(build.build_answers, table.value))
    if tables.value("answers") is not None:
        for table in tables.named("scorer"):
            yield table.fault("Replies are scored in one way: write either [answers] or [scorer].", "file")
    for section in ("scorer", "script"):
        for table in tables.named(section):
            if not table.value.file.endswith(".py"):
                yield table.fault(
                    f"`file` in [{section}] must be a Python file, but is {table.value.file!r}.", "file"
                )
    named = [table.value.file for s in ("scorer", "script") for table in tables.named(s)]
    if len(set(named)) == 2 and len({name.rpartition("/")[2] for name in named}) == 1:
        for table in tables.named("script"):
            yield table.fault(
                "`file` must differ in name from that of [scorer]: both are kept side by side.", "file"
            )
    for table in tables.named("multiplicity"):
        yield from tried(table, partial(build.check_multiplicity, table.value))
    for table in tables.named("sensitivity"):
        yield from _sensitivity(table, table.value, tables.value("interval") or IntervalRule())
    for table in tables.named("deviation"):
        if not table.value.what.strip():
            yield table.fault("`what` of a [[deviation]] must say what was done, but is empty.", "what")


def tried(table: Table, make: Callable[[], object]) -> Iterator[Fault]:
    """Yield the error of making something from a table, if there is one."""
    try:
        make()
    except PairstatsError as error:
        yield from table.faults_of(error)


def empty_names(table: Table) -> Iterator[Fault]:
    """Yield a fault where a table has an empty name."""
    if not table.value.name.strip():
        yield table.fault(f"`name` in [{table.place.section}] must not be empty.", "name")


def where_faults(table: Table) -> Iterator[Fault]:
    """Yield a fault where rows are chosen by something that no cell of a table can hold."""
    for column, value in table.value.where.items():
        each = value if isinstance(value, list) else [value]
        if not each or not all(isinstance(one, str | int | float) for one in each):
            yield table.fault(
                f"`where.{column}` must be a word, a number or a list of these, but is {value!r}.", "where"
            )


def _word(table: Table, key: str, allowed: Sequence[str], told: str = "") -> Iterator[Fault]:
    value = getattr(table.value, key)
    if value is not None and value not in allowed:
        shown = ", ".join(repr(word) for word in allowed)
        yield table.fault(f"{told}`{key}` must be one of {shown}, but is {value!r}.", key)


def _twice(table: Table, key: str, values: Iterable[str]) -> Iterator[Fault]:
    listed_values = list(values)
    twice = sorted({value for value in listed_values if listed_values.count(value) > 1})
    if twice:
        yield table.fault(f"`{key}` must name each once, but names {listed(twice)} twice.", key)


def _source(table: Table, source: Source, parsed: bool) -> Iterator[Fault]:
    paths = [source.path] if isinstance(source.path, str) else source.path
    if not paths or not all(path.strip() for path in paths):
        yield table.fault("`path` must name a file, a folder or a pattern, but is empty.", "path")
    unknown = [name for name in source.map if name not in ORDER]
    if unknown:
        yield table.fault(
            f"`map` has the unknown column {listed(unknown, 10)}; it may have {', '.join(ORDER)}. Columns outside "
            "the format belong into `extra`.",
            "map",
        )
    own = [name for name in source.extra if name in (*NAMES, "options")]
    if own:
        yield table.fault(f"`extra` must name columns outside the format, but names {listed(own)}.", "extra")
    for key, mapped in (("map", source.map), ("extra", source.extra)):
        for name, value in mapped.items():
            yield from tried(table, partial(build.build_mapping, name, value, key))
    both = [name for name in source.set if name in source.map or name in source.extra]
    if both:
        yield table.fault(
            f"A column must be given in one way, but {listed(both)} is in `map` and `set`.", "set"
        )
    fixed = [name for name in source.set if name in NOT_CONSTANT]
    if fixed:
        yield table.fault(f"`set` must not set {listed(fixed)}: they differ by record.", "set")
    scale = source.confidence_scale
    for each in scale.values() if isinstance(scale, dict) else [scale]:
        if not (math.isfinite(each) and each > 0):
            yield table.fault(f"`confidence_scale` must be positive, but is {each!r}.", "confidence_scale")
    if source.options is not None and not parsed:
        yield table.fault("`options` are used by [answers] only, which the file does not have.", "options")
    if source.planned and source.items is None:
        yield table.fault("`planned` needs `items`, the table that holds the plan.", "planned")
    if source.reader is not None:
        from pairstats.readers.files import readers

        yield from _word(table, "reader", [reader.name for reader in readers()])


_EXPECTED = ("families", "items", "models", "variants", "conditions")


def _design(table: Table, design: Design) -> Iterator[Fault]:
    yield from _word(table, "missing", MISSING_RULES)
    yield from _word(table, "no_answer", NO_ANSWER_RULES)
    yield from _word(table, "population", POPULATIONS)
    roles = {"cells": design.cells, "unit": design.unit or (), "blocks": design.blocks}
    for key, names in {**roles, "family": [design.family]}.items():
        yield from _twice(table, key, names)
        if not all(name.strip() for name in names):
            yield table.fault(f"`{key}` must name columns, but a name is empty.", key)
    unknown = [name for name in design.expect if name not in _EXPECTED]
    if unknown:
        yield table.fault(
            f"`expect` has the unknown key {listed(unknown)}; it may have {', '.join(_EXPECTED)}.", "expect"
        )
    if any(number < 1 for number in design.expect.values()):
        yield table.fault(f"`expect` must hold counts of at least 1, but is {design.expect}.", "expect")
    if not 0 <= design.minimum <= 1:
        yield table.fault(f"`minimum` must be a share in [0, 1], but is {design.minimum}.", "minimum")
    if not is_range(design.score_range):
        yield table.fault(
            f"`score_range` must be two numbers, the lower first, but is {design.score_range}.", "score_range"
        )


def is_range(value: Any) -> bool:
    """Whether a value is a list of two finite numbers, the lower first."""
    if not isinstance(value, list) or len(value) != 2:
        return False
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) and math.isfinite(v) for v in value)
    return numbers and value[0] < value[1]


def _interval(table: Table, rule: IntervalRule) -> Iterator[Fault]:
    yield from tried(table, lambda: check_level(rule.confidence_level))
    yield from tried(table, lambda: build.build_interval(rule))
    if rule.n_resamples is not None and rule.n_resamples < 1:
        yield table.fault(f"`n_resamples` must be at least 1, but is {rule.n_resamples}.", "n_resamples")


def _shares_only(tables: Tables) -> Iterator[Fault]:
    """Yield a fault where contrasts shall have an interval that no difference has."""
    contrasts = [rule.name for rule in tables.values("contrast")]
    for section in ("interval", "sensitivity"):
        for table in tables.named(section):
            if contrasts and table.value.method in SHARES_ONLY:
                yield table.fault(
                    f"`method` {table.value.method!r} is for single shares and has no form for a difference, but "
                    f"the protocol has the contrast {listed(contrasts)}. Take family-jeffreys or family-cp, which "
                    "on 0/1 families are Jeffreys and Clopper-Pearson.",
                    "method",
                )


def _calibration(table: Table, rule: Any) -> Iterator[Fault]:
    counts = isinstance(rule.bins, int) and rule.bins >= 1
    if rule.bins != "distinct" and not counts:
        yield table.fault(
            f"`bins` must be a positive whole number or 'distinct', but is {rule.bins!r}.", "bins"
        )
    yield from where_faults(table)


def _sensitivity(table: Table, rule: Sensitivity, interval: IntervalRule) -> Iterator[Fault]:
    yield from empty_names(table)
    yield from where_faults(table)
    told = f"Sensitivity {rule.name!r}: "
    yield from _word(table, "no_answer", NO_ANSWER_RULES, told)
    yield from _word(table, "missing", MISSING_RULES, told)
    settings = (rule.no_answer, rule.missing, rule.method, rule.score, rule.drop, rule.leave_out)
    if table.clean and not rule.where and all(setting is None for setting in settings):
        yield table.fault(f"{told}it must change something, but changes nothing.", "name")
    for key, make in (
        ("method", lambda: build.build_interval(build.with_method(interval, str(rule.method)))),
        ("drop", lambda: Condition.parse(str(rule.drop))),
    ):
        if getattr(rule, key) is not None:
            yield from (replace(each, message=f"{told}{each.message}") for each in _at(table, key, make))


def _at(table: Table, key: str, make: Callable[[], object]) -> Iterator[Fault]:
    for fault in tried(table, make):
        yield table.fault(fault.message, key)
