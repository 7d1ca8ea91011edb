"""Records that may be shared: without replies and prompts, and without what looks like a key or an address."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pairstats import invariants, schema
from pairstats.errors import counted
from pairstats.records.masks import MASKED, Mask
from pairstats.records.table import LEDGER_COLUMNS, Records

LONG = 200
"""Characters from which a text is no short answer any more, but may be a reply or a prompt."""
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


@dataclass(frozen=True, eq=False, repr=False)
class Redacted(Records):
    """Records that may be shared.

    Attributes
    ----------
    redactions : pandas.DataFrame
        One row a column and deed: ``column``, ``what`` (``dropped``, ``binary``, ``digest``, ``e-mail``,
        ``key``), and how many values; a name of a column that was masked counts too.
    """

    redactions: pd.DataFrame = field(default_factory=pd.DataFrame)

    def summary(self) -> str:
        """Describe every file, and what was taken out."""
        return "\n".join([super().summary(), *told(self.redactions)])


def redact_records(records: Records) -> Redacted:
    """Take out of records what should not be shared.

    Use it before records leave the house. Replies and prompts are dropped: the column ``response``, further
    columns that are named like a reply or a prompt (also in part: ``doc.body``) or hold long texts, nested values
    or bytes, in which anything may be. An answer or key of 200 characters or more becomes the digest of its text,
    so that flips can still be counted. In every text that stays (ids, names of columns, sources, reasons, notes
    of the ledger, reasons of records left out), what looks like a key or an e-mail address becomes ``[key 1]``,
    ``[e-mail 1]``: equal ones get equal numbers, so that ids still pair. A text that looks like a mask stays as
    it is, and its number is given to nothing else. The numbers are those of one call: redact records together
    that shall be paired, never file by file.

    Parameters
    ----------
    records : Records

    Returns
    -------
    Redacted
        `Records` with ``redactions``; the ledger has a line that says what was done.

    Notes
    -----
    A pattern finds what looks like a key; a name, an address or a secret in plain words it does not, nor a key
    of hexadecimal digits alone, which looks like a digest, unless a word for a key stands before it. Look at
    short answers before they are shared. Scores are kept, but without replies they cannot be made again.

    Examples
    --------
    >>> rows = {"family": ["f"], "item": ["ann@example.org/1"], "model": ["m"], "status": ["answered"],
    ...         "response": ["It is four."], "score": [1.0]}
    >>> safe = redact_records(Records.from_frame(rows))
    >>> safe.table.select(["item", "response"]).to_pylist()
    [{'item': '[e-mail 1]/1', 'response': None}]
    >>> print(*told(safe.redactions), sep="; ")
    redacted: 1 reply or prompt dropped, 1 e-mail address masked
    """
    table = schema.undictionary(records.table)
    mask = Mask(_taken(table, records.ledger, records.left_out))
    deeds: Counter[tuple[str, str]] = Counter()
    columns: dict[str, Any] = {}
    for given, column in zip(table.column_names, table.columns, strict=True):
        name = _masked_name(given, mask, deeds)
        what = _to_drop(given, column)
        if what is not None:
            deeds[name, what] += len(column) - column.null_count
            if given == "response":
                columns[name] = pa.nulls(len(column), pa.string())
        else:
            columns[name] = _masked(name, column, mask, deeds) if _is_text(column) else column
    ledger, left_out = (
        _clean(records.ledger, "ledger", mask, deeds),
        _clean(records.left_out, "left_out", mask, deeds),
    )
    redactions = pd.DataFrame(
        [{"column": name, "what": what, "values": n} for (name, what), n in deeds.items() if n],
        columns=["column", "what", "values"],
    )
    return Redacted(
        table=invariants.validate(pa.table(columns), score_range=records.score_range),
        ledger=pd.concat([ledger, _line(redactions)], ignore_index=True),
        left_out=left_out,
        score_range=records.score_range,
        redactions=redactions,
    )


def _taken(table: pa.Table, *frames: pd.DataFrame) -> set[str]:
    """Masks that stand in the records already: new ones must be told from them."""
    texts: set[Any] = set(table.column_names)
    for column in table.columns:
        if _is_text(column):
            texts.update(pc.unique(column).to_pylist())
    for frame in frames:
        texts.update(value for column in frame.columns for value in frame[column] if isinstance(value, str))
    return {mask for text in texts if text and "[" in text for mask in MASKED.findall(text)}


def _is_text(column: pa.ChunkedArray) -> bool:
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(is_kind(column.type) for is_kind in kinds)


def _is_plain(column: pa.ChunkedArray) -> bool:
    """Whether a column holds numbers, truth values, times or nothing, in which nothing can hide."""
    kinds = (pa.types.is_primitive, pa.types.is_decimal, pa.types.is_null)
    return any(is_kind(column.type) for is_kind in kinds)


def _to_drop(name: str, column: pa.ChunkedArray) -> str | None:
    """Why a column must go: it holds what was asked or said, or what cannot be looked at; None if it stays."""
    if name == "response":
        return "dropped"
    if name in schema.NAMES or _is_plain(column):
        return None
    if not _is_text(column) and not pa.types.is_nested(column.type):
        return "binary"
    if not _is_text(column) or (TEXTS.search(HUMP.sub("_", name)) and not _holds_digests(name, column)):
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


def _masked_name(name: str, mask: Mask, deeds: Counter[tuple[str, str]]) -> str:
    met: Counter[str] = Counter()
    masked = name if name in schema.NAMES else mask(name, met)
    for what, n in met.items():
        deeds[masked, what] += n
    return masked


def _masked(name: str, column: pa.ChunkedArray, mask: Mask, deeds: Counter[tuple[str, str]]) -> pa.Array:
    """Column without keys, addresses and long texts; each different text is looked at once."""
    made: dict[str, tuple[str, Counter[str]]] = {}
    values: list[str | None] = column.to_pylist()
    for text in dict.fromkeys(values):
        if text is not None:
            met: Counter[str] = Counter()
            new = text
            if name in ("answer", "gold") and len(text) >= LONG:
                new, met["digest"] = _digest(text), 1
            else:
                new = mask(text, met, digests=DIGESTS.search(name) is not None)
            if met:
                made[text] = new, met
    if not made:
        return column
    for text, times in Counter(value for value in values if value in made).items():
        for what, n in made[text][1].items():
            deeds[name, what] += n * times
    return pa.array([made[value][0] if value in made else value for value in values], pa.string())


def _digest(text: str) -> str:
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _clean(frame: pd.DataFrame, name: str, mask: Mask, deeds: Counter[tuple[str, str]]) -> pd.DataFrame:
    """Frame of texts about the files without keys and addresses."""
    met: Counter[str] = Counter()
    cleaned = frame.copy()
    for column in frame.columns:
        if column != "sha256":
            cleaned[column] = [mask(v, met) if isinstance(v, str) else v for v in frame[column]]
    for what, n in met.items():
        deeds[name, what] += n
    return cleaned


_WORDS = {"dropped": ("reply or prompt", "dropped"), "binary": ("binary value", "dropped"),
          "digest": ("long answer", "replaced by a digest"),
          "key": ("key", "masked"), "e-mail": ("e-mail address", "masked")}  # fmt: skip
_PLURAL = {"reply or prompt": "replies or prompts", "e-mail address": "e-mail addresses"}


def told(redactions: pd.DataFrame) -> list[str]:
    """Say what was taken out, in one sentence; where it was nothing, that too."""
    parts = []
    for what, (noun, deed) in _WORDS.items():
        n = int(redactions.loc[redactions["what"] == what, "values"].sum()) if len(redactions) else 0
        if n:
            parts.append(
                f"{n} {_PLURAL.get(noun, noun + 's')} {deed}" if n > 1 else f"{counted(1, noun)} {deed}"
            )
    return ["redacted: " + (", ".join(parts) or "there was nothing to take out")]


def _line(redactions: pd.DataFrame) -> pd.DataFrame:
    """Line of the ledger; it read no record, so its counts are zero."""
    line: dict[str, Any] = dict.fromkeys(LEDGER_COLUMNS, 0) | dict.fromkeys(
        ("sha256", "version", "reasons", "left_out_reasons"), ""
    )
    line |= {
        "file": "redaction",
        "reader": "redact",
        "note": "; ".join([*told(redactions), *_columns(redactions)]),
    }
    return pd.DataFrame([line], columns=list(LEDGER_COLUMNS))


def _columns(redactions: pd.DataFrame) -> Iterable[str]:
    if len(redactions):
        yield "in " + ", ".join(dict.fromkeys(redactions["column"]))
