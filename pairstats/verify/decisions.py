"""From records to sums of each unit, grouped and joined by Arrow compute."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from pairstats.errors import PairstatsError
from pairstats.verify.declared import Declared, Quantity, is_score

NO_ANSWER = ("unparsed", "truncated", "refused", "empty")
LOST = ("error", "absent")
IDS = ("study", "run", "platform", "family", "item", "variant", "model", "condition", "status")
COMPARE = {
    "==": pc.equal, "!=": pc.not_equal, ">=": pc.greater_equal, "<=": pc.less_equal, ">": pc.greater,
    "<": pc.less,
}  # fmt: skip

Key = tuple[Any, ...]


class Sums(NamedTuple):
    """Mean numerator and denominator of one unit over its replies that count, and how many were planned."""

    num: float
    den: float
    valid: int
    planned: int


Units = dict[tuple[Key, Key], Sums]
"""Sums by (family and unit) and cell."""


def decisions(records: pa.Table, declared: Declared) -> pa.Table:
    """Rows as the declared rules see them: plain columns, scores after the no-answer rule, two flags."""
    columns: dict[str, Any] = {}
    roles = {declared.family, *declared.cells, *(declared.unit or ()), *IDS}
    for name in records.column_names:
        column = records.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        if name in roles and name != "repeat":
            column = column.cast(pa.string())
        if pa.types.is_floating(column.type):
            column = pc.if_else(pc.is_nan(column), pa.scalar(None, column.type), column)
        columns[name] = column
    blank = pc.is_in(columns["status"], value_set=pa.array(NO_ANSWER))
    lost = pc.is_in(columns["status"], value_set=pa.array(LOST))
    nothing = pa.scalar(None, pa.float64())
    said = pa.scalar(declared.score_range[0]) if declared.no_answer == "wrong" else nothing
    for name in filter(is_score, records.column_names):
        columns[name] = pc.if_else(lost, nothing, pc.if_else(blank, said, columns[name].cast(pa.float64())))
    counted = pc.invert(lost) if declared.no_answer == "wrong" else pc.invert(pc.or_(lost, blank))
    return pa.table({**columns, "_blank": blank, "_counted": counted})


def chosen(rows: pa.Table, where: Mapping[str, Any]) -> pa.Table:
    """Rows whose columns are among the values given."""
    for name, value in where.items():
        column = rows.column(name)
        wanted = value if isinstance(value, list) else [value]
        rows = rows.filter(pc.is_in(column, value_set=pa.array(wanted, column.type)))
    return rows


def units_of(
    quantity: Quantity, rows: pa.Table, family: str, cells: Sequence[str], unit: Sequence[str]
) -> Units:
    """Sums of every unit in every cell.

    Raises
    ------
    PairstatsError
        When the kind of estimand is not known here.
    """
    if quantity.kind == "flip_rate":
        return _flips(quantity, rows, family, cells, unit)
    if quantity.kind == "all_correct":
        return _passes(quantity, rows, family, cells, unit)
    valid, num, den = _per_reply(quantity, rows)
    zero = pa.scalar(0.0)
    counted = pa.table({
        "num": pc.if_else(valid, num, zero), "den": pc.if_else(valid, den, zero),
        "valid": valid.cast(pa.int64()), "planned": pa.array([1] * rows.num_rows, pa.int64()),
    })  # fmt: skip
    found: Units = {}
    for key, sums in _grouped(rows, [family, *unit], cells, counted):
        replies = max(sums["valid"], 1)
        found[key] = Sums(
            sums["num"] / replies, sums["den"] / replies, int(sums["valid"]), int(sums["planned"])
        )
    return found


def _grouped(rows: pa.Table, unit: Sequence[str], cells: Sequence[str], measures: pa.Table) -> list[Any]:
    """Sum of each measure by unit and cell."""
    keys = list(dict.fromkeys([*unit, *cells]))
    table = pa.table({
        **{f"k{i}": rows.column(name) for i, name in enumerate(keys)},
        **{name: measures.column(name) for name in measures.column_names},
    })  # fmt: skip
    sums = table.group_by([f"k{i}" for i in range(len(keys))], use_threads=False).aggregate(
        [(name, "sum") for name in measures.column_names]
    )
    return [
        (
            (
                tuple(row[f"k{keys.index(name)}"] for name in unit),
                tuple(row[f"k{keys.index(name)}"] for name in cells),
            ),
            {name: row[f"{name}_sum"] for name in measures.column_names},
        )
        for row in sums.to_pylist()
    ]


def _per_reply(quantity: Quantity, rows: pa.Table) -> tuple[Any, Any, Any]:
    """Whether a reply counts, its numerator and its denominator."""
    args = quantity.args
    one = pa.array([1.0] * rows.num_rows)
    if quantity.kind == "mean":
        value = _number(rows, args.get("column", "score"))
        return pc.is_valid(value), value, one
    if quantity.kind == "brier":
        stated = _number(rows, args.get("confidence", "confidence"))
        score = _number(rows, args.get("score", "score"))
        both = pc.and_(pc.is_valid(stated), pc.is_valid(score))
        return both, pc.power(pc.subtract(stated, score), 2), one
    if quantity.kind == "ratio":
        top, bottom = _number(rows, args["numerator"]), _number(rows, args["denominator"])
        return pc.and_(pc.is_valid(top), pc.is_valid(bottom)), top, bottom
    if quantity.kind == "share":
        event, seen = condition(rows, args["event"])
        given, also = condition(rows, args["given"]) if args.get("given") else (pc.is_valid(one), seen)
        meets = pc.and_(event, given)
        return pc.and_(seen, also), meets.cast(pa.float64()), given.cast(pa.float64())
    raise PairstatsError(f"estimands of kind {quantity.kind!r} have no second path")


def condition(rows: pa.Table, text: str) -> tuple[Any, Any]:
    """Where a condition such as ``confidence >= 0.9`` holds, and where its columns are not null."""
    holds = seen = pc.is_valid(rows.column("status"))
    for part in re.split(r"\s+and\s+", text):
        match = re.fullmatch(r"\s*(\w+)\s*(==|!=|>=|<=|>|<)\s*(.+?)\s*", part)
        if match is None:
            raise PairstatsError(f"the condition {part!r} cannot be read")
        column, symbol, word = match.groups()
        try:
            value = json.loads(word)
        except json.JSONDecodeError:
            value = word
        compared = COMPARE[symbol](rows.column(column), pa.scalar(value))
        holds = pc.and_(holds, pc.fill_null(compared, False))
        seen = pc.and_(seen, pc.is_valid(rows.column(column)))
    return holds, seen


def _number(rows: pa.Table, column: str) -> Any:
    return rows.column(column).cast(pa.float64())


def _flips(
    quantity: Quantity, rows: pa.Table, family: str, cells: Sequence[str], unit: Sequence[str]
) -> Units:
    """Every pair of replies from two variants, by a join of the table with itself."""
    args, column = quantity.args, quantity.args.get("column", "answer")
    variants = args.get("variants") or ()
    if variants:
        rows = chosen(rows, {"variant": [variants] if isinstance(variants, str) else list(variants)})
    answer = rows.column(column)
    silent = pc.and_(rows.column("_blank"), pa.scalar(not is_score(column)))
    text = (pc.round(answer, 9) if is_score(column) else answer).cast(pa.string())
    keys = list(dict.fromkeys([family, *unit, *cells]))
    table = pa.table({
        **{f"k{i}": rows.column(name) for i, name in enumerate(keys)},
        "variant": rows.column("variant"),
        "value": pc.if_else(silent, pa.scalar("(no answer)\0"), text),
        "valid": pc.and_(rows.column("_counted"), pc.or_(silent, pc.is_valid(answer))),
    })  # fmt: skip
    names = [f"k{i}" for i in range(len(keys))]
    pairs = table.join(table, keys=names, join_type="inner", right_suffix="_2", use_threads=False)
    pairs = pairs.filter(pc.less(pairs.column("variant"), pairs.column("variant_2")))
    reference = args.get("reference")
    if reference is not None:
        either = pc.or_(*(pc.equal(pairs.column(v), reference) for v in ("variant", "variant_2")))
        pairs = pairs.filter(either)
    valid = pc.and_(pairs.column("valid"), pairs.column("valid_2"))
    differs = pc.fill_null(pc.not_equal(pairs.column("value"), pairs.column("value_2")), False)
    renamed = pairs.select(names).rename_columns(keys)
    measures = pa.table({
        "planned": pa.array([1] * pairs.num_rows, pa.int64()), "valid": valid.cast(pa.int64()),
        "differ": pc.and_(valid, differs).cast(pa.int64()),
    })  # fmt: skip
    found = _empty_units(rows, [family, *unit], cells)
    for key, sums in _grouped(renamed, [family, *unit], cells, measures):
        compared = int(sums["valid"])
        value = sums["differ"] / compared if compared else 0.0
        found[key] = Sums(value, 1.0 if compared else 0.0, compared, int(sums["planned"]))
    return found


def _empty_units(rows: pa.Table, unit: Sequence[str], cells: Sequence[str]) -> Units:
    nothing = pa.table({"none": pa.array([0] * rows.num_rows, pa.int64())})
    return {key: Sums(0.0, 0.0, 0, 0) for key, _ in _grouped(rows, unit, cells, nothing)}


def _passes(
    quantity: Quantity, rows: pa.Table, family: str, cells: Sequence[str], unit: Sequence[str]
) -> Units:
    """One repeat of all units of a family is one pass; it counts when no decision is missing."""
    score = _number(rows, quantity.args.get("column", "score"))
    right = pc.fill_null(pc.greater_equal(score, quantity.args.get("full", 1.0) - 1e-9), False)
    measures = pa.table({"n": pc.is_valid(score).cast(pa.int64()), "right": right.cast(pa.int64())})
    sizes: dict[Any, int] = {}
    for (key, _), _ in _grouped(rows, [family, "item", "variant"], [], measures):
        sizes[key[0]] = sizes.get(key[0], 0) + 1
    totals: dict[tuple[Key, Key], list[int]] = {}
    for (key, cell), sums in _grouped(rows, [family, *unit, "repeat"], cells, measures):
        size = quantity.args.get("size") or sizes[key[0]]
        total = totals.setdefault((key[:-1], cell), [0, 0, 0])
        total[0] += int(sums["n"] == size and sums["right"] == size)
        total[1] += int(sums["n"] == size)
        total[2] += 1
    return {
        key: Sums(right / max(complete, 1), float(complete > 0), complete, planned)
        for key, (right, complete, planned) in totals.items()
    }
