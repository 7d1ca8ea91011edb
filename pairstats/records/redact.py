"""Records that may be shared: without replies and prompts, and without what looks like a key or an address."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pairstats import invariants, schema
from pairstats.arguments import checked
from pairstats.errors import counted
from pairstats.records.account import new_ledger, new_left_out, new_reason, new_source
from pairstats.records.dropping import DIGESTS, holds_texts, plain_texts, why_dropped
from pairstats.records.masks import MASKED, Mask
from pairstats.records.table import LEDGER_COLUMNS, Records
from pairstats.records.texts import ANSWERS, CUT, digest, is_text, said_whole, texts_of


@dataclass(frozen=True, eq=False, repr=False)
class Redacted(Records):
    """Records that may be shared.

    Attributes
    ----------
    redactions : pandas.DataFrame
        One row a column and deed: ``column``, ``what`` (``dropped``, ``binary``, ``digest``, ``quote``,
        ``e-mail``, ``key``), and how many values; a name of a column that was masked counts too.
    """

    redactions: pd.DataFrame = field(default_factory=pd.DataFrame)

    def summary(self) -> str:
        """Describe every file, and what was taken out."""
        return "\n".join([super().summary(), *told(self.redactions)])


@checked
def redact_records(records: Records) -> Redacted:
    """Take out of records what should not be shared.

    Use it before records leave the house. Replies and prompts are dropped: the column ``response``, further
    columns that are named like a reply or a prompt (also in part: ``doc.body``) or hold long texts, nested values
    or bytes, in which anything may be. What may be a part of one becomes the digest of its text:

    * an answer or key of 30 characters or more, and a shorter one that is its whole reply unless it is a label: a
      number, a single letter, or one word that is the answer or key of two items or more;
    * an id or a value of a further column that has 30 characters or more and not the form of an id (128 visible
      ASCII characters at most, no space). A name of many rows (model, study, run, platform, split, category)
      stays below 200 characters, if it stands with ten items or more.

    Equal texts have equal digests in every column, so that ids pair, flips can be counted and answers held against
    keys as before. Reasons, also of records left out, end where they begin to quote, and notes of the ledger quote
    single words only. In every text that stays (ids, names of columns, sources, reasons, notes), what looks like a
    key or an e-mail address becomes ``[key 1]``, ``[e-mail 1]``: equal ones get equal numbers. A text that looks
    like a mask stays as it is, and its number is given to nothing else. The numbers are those of one call: redact
    records together that shall be paired, never file by file.

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
    short answers before they are shared. Who can guess a text can see from its digest that it was that one.
    Scores are kept, but without replies they cannot be made again. Names of files stay. A test of classes that
    draws at random draws anew where the names of the classes are others.

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
    files = frozenset(map(str, records.ledger["file"]))
    columns, reasons = _columns(table, files, mask, deeds)
    left_out = new_left_out(records.left_out, files)
    ledger = new_ledger(records.ledger, records.left_out, left_out, reasons)
    ledger = _clean(records.ledger, ledger, "ledger", mask, deeds)
    left_out = _clean(records.left_out, left_out, "left_out", mask, deeds)
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


def _columns(
    table: pa.Table, files: Collection[str], mask: Mask, deeds: Counter[tuple[str, str]]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Columns that may be shared, and the reasons that were changed, with what they are now."""
    dropped = {name: why_dropped(name, table.column(name)) for name in table.column_names}
    kept = [name for name, what in dropped.items() if what is None and holds_texts(table.column(name))]
    texts = plain_texts(table)
    said = said_whole(texts, [name for name in kept if name in ANSWERS or name not in schema.NAMES])
    columns: dict[str, Any] = {}
    reasons: dict[str, str] = {}
    for given, column in zip(table.column_names, table.columns, strict=True):
        name, what = _new_name(given, mask, deeds), dropped[given]
        if what is not None:
            deeds[name, what] += len(column) - column.null_count
            if given == "response":
                columns[name] = pa.nulls(len(column), pa.string())
            continue
        columns[name] = column
        if given in kept:
            new = _new_values(given, texts, said, files)
            columns[name] = _changed(name, column, new, mask, deeds)
        if given == "reason":
            reasons = {old: now for old, (now, _) in new.items()}
    return columns, reasons


def _taken(table: pa.Table, *frames: pd.DataFrame) -> set[str]:
    """Masks that stand in the records already: new ones must be told from them."""
    texts: set[Any] = set(table.column_names)
    for column in table.columns:
        if holds_texts(column):
            texts.update(pc.unique(column).to_pylist())
    for frame in frames:
        texts.update(value for column in frame.columns for value in frame[column] if isinstance(value, str))
    return {mask for text in texts if text and "[" in text for mask in MASKED.findall(text)}


def _new_name(name: str, mask: Mask, deeds: Counter[tuple[str, str]]) -> str:
    """Name of a column without keys, addresses and texts; that of a score stays one."""
    if name in schema.NAMES:
        return name
    met: Counter[str] = Counter()
    put = next((each for each in ("score_", "value_") if name.startswith(each)), "")
    rest = name.removeprefix(put)
    if is_text(rest):
        new, met["digest"] = put + digest(rest), 1
    else:
        new = mask(name, met)
    for what, n in met.items():
        deeds[new, what] += n
    return new


def _new_values(
    name: str, table: pa.Table, said: Collection[str], files: Collection[str]
) -> dict[str, tuple[str, str]]:
    """Values of a column that cannot stay, what each becomes, and what that is called."""
    if name == "status":
        return {}
    if name not in ("reason", "source"):
        return {text: (digest(text), "digest") for text in texts_of(table, name, said)}
    values = pc.unique(table.column(name)).drop_null().to_pylist()
    new = {each: new_reason(each) if name == "reason" else new_source(each, files) for each in values}
    cut = {old: now for old, now in new.items() if now != old}
    return {old: (now, "quote" if now.endswith(CUT) else "digest") for old, now in cut.items()}


def _changed(
    name: str, column: pa.ChunkedArray, new: Mapping[str, tuple[str, str]], mask: Mask,
    deeds: Counter[tuple[str, str]],
) -> pa.Array:  # fmt: skip
    """Column with new values, and without keys and addresses; each different text is looked at once."""
    made: dict[str, tuple[str, Counter[str]]] = {}
    values: list[str | None] = column.to_pylist()
    for text in dict.fromkeys(values):
        if text is not None:
            met: Counter[str] = Counter()
            now, what = new.get(text, (text, ""))
            if what:
                met[what] += 1
            if what != "digest":
                now = mask(now, met, digests=DIGESTS.search(name) is not None)
            if met:
                made[text] = now, met
    if not made:
        return column
    for text, times in Counter(value for value in values if value in made).items():
        for what, n in made[text][1].items():
            deeds[name, what] += n * times
    return pa.array([made[value][0] if value in made else value for value in values], pa.string())


def _clean(
    old: pd.DataFrame, new: pd.DataFrame, name: str, mask: Mask, deeds: Counter[tuple[str, str]]
) -> pd.DataFrame:
    """Frame of texts about the files without keys and addresses; what it no longer quotes is counted."""
    met: Counter[str] = Counter()
    cleaned = new.copy()
    for column in new.columns:
        if column != "sha256":
            pairs = zip(old[column], new[column], strict=True)
            met["quote"] += sum(isinstance(was, str) and was != now for was, now in pairs)
            cleaned[column] = [mask(v, met) if isinstance(v, str) else v for v in new[column]]
    for what, n in met.items():
        deeds[name, what] += n
    return cleaned


_WORDS = {"dropped": ("reply or prompt", "dropped"), "binary": ("binary value", "dropped"),
          "digest": ("text", "replaced by a digest"), "quote": ("quotation", "cut off"),
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
        "note": "; ".join([*told(redactions), *_where(redactions)]),
    }
    return pd.DataFrame([line], columns=list(LEDGER_COLUMNS))


def _where(redactions: pd.DataFrame) -> Iterable[str]:
    if len(redactions):
        yield "in " + ", ".join(dict.fromkeys(redactions["column"]))
