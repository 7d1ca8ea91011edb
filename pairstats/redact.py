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

from pairstats import schema
from pairstats.errors import counted
from pairstats.records import LEDGER_COLUMNS, Records

LONG = 200
"""Characters from which a text is no short answer any more, but may be a reply or a prompt."""
TEXTS = re.compile(
    r"prompt|repl(y|ies)|response|message|completion|transcript|question|passage|context|instruction|input$|"
    r"output$|reasoning|thinking|request|system$|conversation|traceback|error",
    re.IGNORECASE,
)
"""Names of further columns that hold what was asked or said."""
DIGESTS = re.compile(r"(sha256|hash|_id|tokens)$")
"""Names of further columns that hold no text, whatever the rest of their name says."""
EMAIL = re.compile(r"[A-Za-z0-9][A-Za-z0-9._%+-]*@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)*\.[A-Za-z]{2,}")
KEYS: tuple[re.Pattern[str], ...] = tuple(map(re.compile, (
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}",
    r"\b(?:gh[pousr]_|github_pat_|glpat-|hf_|gsk_|r8_|npm_|pypi-|xox[abprs]-|xai-|pplx-|lsv2_|dop_v1_)[A-Za-z0-9_-]{12,}",
    r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    r"\bAIza[A-Za-z0-9_-]{30,}",
    r"(?i:\bbearer\s+)[A-Za-z0-9._~+/-]{16,}=*",
    r"(?i:\b(?:api[-_ ]?key|secret|token|password|passwd|authorization)\b[\"']?\s*[:=]\s*[\"']?)"
    r"[^\s\"',;]{8,}[\"']?",
)))  # fmt: skip
"""What providers' keys look like, and what stands behind a word for one."""
MASKED = re.compile(r"\[(?:key|e-mail) (\d{1,9})\]")
UNBROKEN = re.compile(r"[A-Za-z0-9]{32,}")
"""A long word without a break is a key where it mixes capitals, small letters and digits."""


@dataclass(frozen=True, eq=False, repr=False)
class Redacted(Records):
    """Records that may be shared.

    Attributes
    ----------
    redactions : pandas.DataFrame
        One row a column and deed: ``column``, ``what`` (``dropped``, ``digest``, ``e-mail``, ``key``), and how
        many values.
    """

    redactions: pd.DataFrame = field(default_factory=pd.DataFrame)

    def summary(self) -> str:
        """Describe every file, and what was taken out."""
        return "\n".join([super().summary(), *told(self.redactions)])


def redact_records(records: Records) -> Redacted:
    """Take out of records what should not be shared.

    Use it before records leave the house. Replies and prompts are dropped: the column ``response``, further
    columns that are named like a reply or a prompt or hold long texts. An answer or key of 200 characters or
    more becomes the digest of its text, so that flips can still be counted. In every text that stays (ids,
    sources, reasons, notes of the ledger, reasons of records left out), what looks like a key or an e-mail
    address becomes ``[key 1]``, ``[e-mail 1]``: equal ones get equal numbers, so that ids still pair. The numbers
    are those of one call: redact records together that shall be paired, never file by file.

    Parameters
    ----------
    records : Records

    Returns
    -------
    Redacted
        `Records` with ``redactions``; the ledger has a line that says what was done.

    Notes
    -----
    A pattern finds what looks like a key; a name, an address or a secret in plain words it does not. Look at
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
    mask = Mask(_highest(records))
    deeds: Counter[tuple[str, str]] = Counter()
    columns: dict[str, Any] = {}
    table = schema.undictionary(records.table)
    for name in table.column_names:
        column = table.column(name)
        if name != "response" and not _is_text(column):
            columns[name] = column
        elif name == "response" or _holds_texts(name, column):
            deeds[name, "dropped"] += len(column) - column.null_count
            if name == "response":
                columns[name] = pa.nulls(len(column), pa.string())
        else:
            columns[name] = _masked(name, column, mask, deeds)
    ledger, left_out = (
        _clean(records.ledger, "ledger", mask, deeds),
        _clean(records.left_out, "left_out", mask, deeds),
    )
    redactions = pd.DataFrame(
        [{"column": name, "what": what, "values": n} for (name, what), n in deeds.items() if n],
        columns=["column", "what", "values"],
    )
    return Redacted(
        table=schema.validate(pa.table(columns), score_range=records.score_range),
        ledger=pd.concat([ledger, _line(redactions)], ignore_index=True),
        left_out=left_out,
        score_range=records.score_range,
        redactions=redactions,
    )


class Mask:
    """Numbers of the keys and addresses met so far, counted on from those that a text holds already."""

    def __init__(self, first: int = 0) -> None:
        self._first = first
        self._known: dict[tuple[str, str], str] = {}

    def __call__(self, text: str, met: Counter[str], *, digests: bool = False) -> str:
        """Give a text without keys and addresses, and count them; a digest is a long word, and no key."""
        for pattern in KEYS:
            text = pattern.sub(lambda match: self._named("key", match[0], met), text)
        if not digests:
            text = UNBROKEN.sub(lambda m: self._named("key", m[0], met) if _is_mixed(m[0]) else m[0], text)
        return EMAIL.sub(lambda match: self._named("e-mail", match[0], met), text)

    def _named(self, kind: str, value: str, met: Counter[str]) -> str:
        met[kind] += 1
        number = self._first + sum(each == kind for each, _ in self._known) + 1
        return self._known.setdefault((kind, value), f"[{kind} {number}]")


def _highest(records: Records) -> int:
    """Highest number of a mask that the records hold already: new ones must be told from it."""
    texts = [records.table.column(name) for name in records.table.column_names]
    words = {word for column in texts if _is_text(column) and not pa.types.is_nested(column.type)
             for word in pc.unique(column).to_pylist() if word and "[" in word}  # fmt: skip
    return max((int(n) for word in words for n in MASKED.findall(word)), default=0)


def _is_mixed(word: str) -> bool:
    kinds = (str.isupper, str.islower, str.isdigit)
    return all(any(kind(char) for char in word) for kind in kinds)


def _is_text(column: pa.ChunkedArray) -> bool:
    return (
        pa.types.is_string(column.type)
        or pa.types.is_large_string(column.type)
        or pa.types.is_nested(column.type)
    )


def _holds_texts(name: str, column: pa.ChunkedArray) -> bool:
    """Whether a further column holds what was asked or said."""
    if name in schema.NAMES:
        return False
    if pa.types.is_nested(column.type) or (TEXTS.search(name) and not DIGESTS.search(name)):
        return True
    longest = pc.max(pc.utf8_length(column)).as_py()
    return longest is not None and longest >= LONG


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


_WORDS = {"dropped": ("reply or prompt", "dropped"), "digest": ("long answer", "replaced by a digest"),
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
