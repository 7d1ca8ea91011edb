"""Which columns of records hold what was asked or said, whatever stands in them."""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

from pairstats import schema
from pairstats.records.masks import MASKED
from pairstats.records.texts import LONG

TEXTS = re.compile(
    r"prompt|repl(y|ies)|response|message|completion|transcript|question|passage|context|instruction|input$|"
    r"output$|reasoning|thinking|request|system$|conversation|traceback|error|rationale|explanation|"
    r"(?<![a-z])(resp|content|text|query|chat|dialog|dialogue|doc|document|generated|generation|pred|predicted|"
    r"prediction|solution|argument|output|queries)s?(?![a-z])",
    re.IGNORECASE,
)
"""Names of further columns that hold what was asked or said; the short words must stand alone (``doc.body``)."""
HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
"""Where a word ends in a name such as ``outputText``."""
DIGESTS = re.compile(r"(sha256|hash|[._]id|tokens)$")
"""Names of further columns that hold no text, whatever the rest of their name says, if their values agree."""
DIGEST = re.compile(
    r"(?:[A-Za-z0-9-]{1,16}[:$])?(?:-?\d{1,20}|(?:0x)?[0-9A-Fa-f]{8,128}|(?=[^0-9]*[0-9])[A-Za-z0-9+/_-]{16,128}={0,2})"
)
ID = re.compile(r"[!-~]{0,128}")
"""What an id or a number of tokens may look like: no space, and no script that does without spaces."""


def why_dropped(name: str, column: pa.ChunkedArray) -> str | None:
    """Why a column must go: it holds what was asked or said, or what cannot be looked at; None if it stays."""
    if name == "response":
        return "dropped"
    if name in schema.NAMES or _is_plain(column):
        return None
    if not holds_texts(column) and not pa.types.is_nested(column.type):
        return "binary"
    if not holds_texts(column) or (TEXTS.search(HUMP.sub("_", name)) and not _holds_digests(name, column)):
        return "dropped"
    longest = pc.max(pc.utf8_length(column.cast(pa.large_string()))).as_py()
    return "dropped" if longest is not None and longest >= LONG else None


def _holds_digests(name: str, column: pa.ChunkedArray) -> bool:
    """Whether a column is named like digests or ids, and holds nothing else."""
    if DIGESTS.search(name) is None:
        return False
    form = DIGEST if name.endswith(("sha256", "hash")) else ID
    texts = (MASKED.sub("", text) for text in pc.unique(column).to_pylist() if text)
    return all(not text or form.fullmatch(text) for text in texts)


def holds_texts(column: pa.ChunkedArray) -> bool:
    """Whether the values of a column are texts, of whatever type."""
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(is_kind(column.type) for is_kind in kinds)


def _is_plain(column: pa.ChunkedArray) -> bool:
    """Whether a column holds numbers, truth values, times or nothing, in which nothing can hide."""
    kinds = (pa.types.is_primitive, pa.types.is_decimal, pa.types.is_null)
    return any(is_kind(column.type) for is_kind in kinds)


def plain_texts(table: pa.Table) -> pa.Table:
    """Table in which every text is of one type, for which Arrow has all it needs."""
    for place, name in enumerate(table.column_names):
        if holds_texts(table.column(name)):
            table = table.set_column(place, name, table.column(name).cast(pa.large_string()))
    return table
