"""The paired long format: one row is one decision.

One model's answer to one item, in one presentation, under one condition, once. Everything that reads run
files ends here, and everything that computes begins here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pairstats.errors import SchemaError
from pairstats.threads import side_by_side

VERSION = "1"

_WORD = pa.dictionary(pa.int32(), pa.string())


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the format.

    Attributes
    ----------
    name : str
    type : pyarrow.DataType
    default : str or int or None
        What an absent value becomes; None means that the column may be null.
    meaning : str
    """

    name: str
    type: pa.DataType
    default: str | int | None
    meaning: str


COLUMNS: tuple[Column, ...] = (
    Column("study", _WORD, "", "benchmark and version"),
    Column("split", _WORD, None, "stratum"),
    Column("category", _WORD, None, "what the item tests"),
    Column("family", pa.string(), "", "resampling unit"),
    Column("item", pa.string(), "", "one question"),
    Column("variant", _WORD, "base", "presentation of the item"),
    Column("model", _WORD, "", "who answered, dated version"),
    Column("condition", _WORD, "default", "framing, thinking on or off, instruction, dose"),
    Column("repeat", pa.int16(), 0, "replicate call, counted from 0"),
    Column("run", _WORD, "", "which run or version of the benchmark"),
    Column("platform", _WORD, "", "who served the model or wrote the log"),
    Column("status", _WORD, "", "what became of the request"),
    Column("reason", _WORD, None, "why: rate_limit, timeout, max_tokens, content_filter ..."),
    Column("answer", pa.string(), None, "canonical answer, compared for flips"),
    Column("gold", pa.string(), None, "canonical key"),
    Column("score", pa.float64(), None, "primary score, in [0, 1] unless declared"),
    Column("confidence", pa.float64(), None, "stated probability in [0, 1]"),
    Column("outcome", _WORD, None, "behaviour class"),
    Column("input_tokens", pa.int64(), None, "tokens read"),
    Column("output_tokens", pa.int64(), None, "tokens written"),
    Column("latency_s", pa.float64(), None, "seconds"),
    Column("cost_usd", pa.float64(), None, "US dollars"),
    Column("response", pa.string(), None, "raw text, so that it can be scored again"),
    Column("source", pa.string(), "", "raw file and record"),
)

NAMES: tuple[str, ...] = tuple(column.name for column in COLUMNS)
KEY: tuple[str, ...] = (
    "study", "run", "platform", "family", "item", "variant", "model", "condition", "repeat",
)  # fmt: skip

ANSWERED = "answered"
NO_ANSWER: tuple[str, ...] = ("unparsed", "truncated", "refused", "empty")
"""The model's own doing: scored wrong or missing, as the user declares."""
MISSING: tuple[str, ...] = ("error", "absent")
"""Not the model's doing: coverage, never a wrong answer."""
STATUSES: tuple[str, ...] = (ANSWERED, *NO_ANSWER, *MISSING)

IDS: tuple[str, ...] = (*(name for name in KEY if name != "repeat"), "split", "category", "outcome")
"""Columns whose values name something, so that two spellings of one name are a fault."""

TOLERANCE = 1e-9
"""What a score or a probability may leave its range by, from rounding; it is then set to the limit."""


def arrow_schema() -> pa.Schema:
    """Arrow schema of the format's own columns.

    Returns
    -------
    pyarrow.Schema

    Examples
    --------
    >>> arrow_schema().field("repeat").type
    DataType(int16)
    """
    return pa.schema([pa.field(c.name, c.type, nullable=c.default is None) for c in COLUMNS])


def is_score(name: str) -> bool:
    """Whether a column holds a score: ``score`` itself or ``score_<name>``."""
    return name == "score" or name.startswith("score_")


def conform(table: pa.Table) -> pa.Table:
    """Bring a table to the format's column order, types and defaults; further columns follow, unchanged.

    Parameters
    ----------
    table : pyarrow.Table
        Any subset of the format's columns, and any others.

    Returns
    -------
    pyarrow.Table

    Raises
    ------
    SchemaError
        When a column cannot take its type; every such column is named.

    Examples
    --------
    >>> conform(pa.table({"item": ["q1"], "model": ["m"]})).column("variant").to_pylist()
    ['base']
    """
    found = side_by_side(partial(_conform_column, table), COLUMNS, table.num_rows)
    faults = [each for each in found if isinstance(each, str)]
    if faults:
        raise SchemaError("The records do not fit the paired long format: " + "; ".join(faults), faults)
    arrays: dict[str, Any] = {column.name: each for column, each in zip(COLUMNS, found, strict=True)}
    for name in table.column_names:
        if name not in arrays:
            arrays[name] = table.column(name).cast(pa.float64()) if is_score(name) else table.column(name)
    return pa.table(arrays).replace_schema_metadata(_metadata(table))


def _conform_column(table: pa.Table, column: Column) -> pa.ChunkedArray | str:
    """Give a column in its type, or say why it cannot take it."""
    try:
        return _in_its_type(table, column)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError) as error:
        return f"column '{column.name}' must be {column.type}: {error}"


def _in_its_type(table: pa.Table, column: Column) -> pa.ChunkedArray:
    rows = table.num_rows
    if column.name not in table.column_names or table.column(column.name).null_count == rows:
        default = pa.scalar(column.default, column.type)
        return pa.chunked_array([pa.repeat(default, rows) if rows else pa.array([], column.type)])
    values = decoded(table.column(column.name))
    target = pa.string() if pa.types.is_dictionary(column.type) else column.type
    values = values.cast(target)
    if column.default is not None:
        values = pc.fill_null(values, pa.scalar(column.default, target))
    return values.dictionary_encode() if pa.types.is_dictionary(column.type) else values


def undictionary(table: pa.Table) -> pa.Table:
    """Give the same table with every dictionary column as plain values."""
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(place, field.name, decoded(table.column(place)))
    return table


def decoded(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Column of plain values; Arrow decodes no views of text, which Polars has in its categories."""
    if not pa.types.is_dictionary(column.type):
        return column
    if not pa.types.is_string_view(column.type.value_type):
        return column.cast(column.type.value_type)
    chunks = [chunk.dictionary.cast(pa.string()).take(chunk.indices) for chunk in column.chunks]
    return pa.chunked_array(chunks, pa.string())


def _metadata(table: pa.Table) -> dict[bytes, bytes]:
    return {**(table.schema.metadata or {}), b"pairstats_schema": VERSION.encode()}


def within(value: float, limits: tuple[float, float]) -> float | None:
    """Give a value in its range, None outside it; what only rounding put outside is set to the limit.

    Examples
    --------
    >>> within(1 + 1e-12, (0, 1)), within(1.5, (0, 1)), within(float("nan"), (0, 1))
    (1.0, None, None)
    """
    low, high = limits
    slack = TOLERANCE * max(1.0, abs(low), abs(high))
    return float(min(max(value, low), high)) if low - slack <= value <= high + slack else None


def outside(name: str, limits: tuple[float, float], where: str, least: float, most: float) -> str:
    """Say that a column leaves its range, and what to do; percent are told by their size.

    Examples
    --------
    >>> outside("score", (0, 1), "2 rows", 45.0, 90.0)
    "'score' must lie in [0, 1], but does not in 2 rows: divide percent by 100, or declare score_range=(0, 100)"
    """
    low, high = limits
    percent = (low, high) == (0, 1) and 0 <= least <= most <= 100
    known = -math.inf < least <= most < math.inf
    remedies = (
        "divide percent by 100" if percent else "",
        f"declare score_range={'(0, 100)' if percent else '(low, high)'}" if known and is_score(name) else "",
        "" if known else "write null where there is no number",
    )
    todo = ", or ".join(filter(None, remedies)) or "it is a probability"
    return f"'{name}' must lie in [{low:g}, {high:g}], but does not in {where}: {todo}"
