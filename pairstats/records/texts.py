"""What in records is a text, of which something may have been asked or said, and what only names something."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pairstats import schema
from pairstats.records.masks import MASK, MASKED

SHORT = 30
"""Characters below which a value is no text."""
LONG = 200
"""Characters from which a value is one wherever it stands."""
ANSWERS = ("answer", "gold", "outcome")
"""Columns of the format whose values may be a whole reply."""
GROUPS = ("study", "split", "category", "model", "run", "platform")
"""Columns whose values name many rows ..."""
MANY = 10
"""... so that what stands with fewer items than this may be a text all the same."""
_NAME = re.compile(r"[!-~]{1,128}")
"""What a long id looks like: no space, and no script that does without spaces."""
_DIGEST = re.compile("sha256:[0-9a-f]{32}")
_EDGES = " \t\r\n.,:;!?\"'`*_()[]{}<>#"
_NUMBER = re.compile(r"[-+]?[$€£]?\d[\d.,:/]*%?")
_QUOTED = re.compile(
    rf"(?<![A-Za-z0-9])['\"`‘“«{{]|(?<![A-Za-z0-9])\[(?!{MASK[2:]})|\((?=\w*(?:Error|Exception|Invalid)\b)"
)
"""Where a message begins to quote: at a quotation mark, a bracket, or another error in parentheses."""
_PAIR = re.compile(r"(?<![A-Za-z0-9])('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")")
_LEFT = re.compile(r"(?<![A-Za-z0-9])['\"]|\((?=\w*(?:Error|Exception|Invalid)\b)")
CUT = "…"


def is_text(value: str) -> bool:
    """Whether a value may be a part of a prompt or reply: 30 characters or more, and not the form of an id.

    Examples
    --------
    >>> is_text("rul01-base"), is_text("What is the capital of France?"), is_text("a" * 64)
    (False, True, False)
    """
    if len(value) < SHORT:
        return False
    bare = MASKED.sub("", value)
    return len(bare) >= SHORT and _NAME.fullmatch(bare) is None


def is_digest(value: str) -> bool:
    """Whether a value is what `digest` makes."""
    return _DIGEST.fullmatch(value) is not None


def digest(text: str) -> str:
    """Name a text without telling it; equal texts have equal digests.

    Examples
    --------
    >>> digest("What is the capital of France?")
    'sha256:115049a298532be2f181edb03f766770'
    """
    return "sha256:" + hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def without_quotes(message: str) -> str:
    """Message up to where it begins to quote.

    Examples
    --------
    >>> without_quotes("its score must be a number, but is 'John Smith has cancer'")
    'its score must be a number, but is …'
    >>> without_quotes("the platform's other filter")
    "the platform's other filter"
    """
    found = _QUOTED.search(message)
    return message if found is None else f"{message[: found.start()].rstrip()} {CUT}".lstrip()


def only_names_quoted(note: str) -> str:
    """Note in which what is quoted and has a space is left out; names stay.

    Examples
    --------
    >>> only_names_quoted("its own name of the model, 'gpt-4', gave way to 'my model of May'")
    "its own name of the model, 'gpt-4', gave way to '…'"
    """

    def named(match: re.Match[str]) -> str:
        word = match[0][1:-1]
        return match[0] if _NAME.fullmatch(word) or not word else f"'{CUT}'"

    parts = _PAIR.split(note)
    for place, part in enumerate(parts):
        if place % 2:
            parts[place] = _PAIR.sub(named, part)
        elif _LEFT.search(part):  # a quotation without an end was cut, nobody knows where it would end
            return "".join([*parts[:place], without_quotes(part)])
    return "".join(parts)


def core(text: str) -> str:
    """Words of a text, without regard to capitals, blanks and the marks around it.

    Examples
    --------
    >>> core(" (A)."), core("Olive")
    ('a', 'olive')
    """
    return " ".join(text.split()).strip(_EDGES).casefold()


def said_whole(table: pa.Table, names: Iterable[str]) -> frozenset[str]:
    """Cores of the values of columns that are their whole reply, and no label.

    A label is a number, a single letter, or one word that is the answer or key of two items or more.

    Parameters
    ----------
    table : pyarrow.Table
        Rows of the format, no column a dictionary.
    names : iterable of str
        Columns of texts.
    """
    replies = table.column("response")
    brief = pc.less(pc.utf8_length(pc.utf8_trim_whitespace(replies)), 4 * SHORT)
    rows = table.filter(pc.fill_null(brief, False))
    replied = [core(text) for text in rows.column("response").to_pylist()]
    found = {
        reply
        for name in names
        for reply, value in zip(replied, rows.column(name).to_pylist(), strict=True)
        if value and len(value) < SHORT and reply and core(value) == reply
    }
    found = {each for each in found if len(each) > 1 and not _NUMBER.fullmatch(each)}
    return frozenset(found - set(_words(table))) if found else frozenset()


def _words(table: pa.Table) -> Iterator[str]:
    """Words that are the answer or key of two items or more."""
    homes: dict[str, str] = {}
    for name in ("answer", "gold"):
        pairs = table.select([name, "item"]).group_by([name, "item"], use_threads=False).aggregate([])
        for text, item in zip(*(pairs.column(each).to_pylist() for each in (name, "item")), strict=True):
            word = core(text) if text and len(text) < SHORT else ""
            if word and " " not in word and homes.setdefault(word, item) != item:
                yield word


def _of_few_items(table: pa.Table, name: str) -> Collection[str]:
    """Values of a column that stand with less than `MANY` items."""
    pairs = table.select([name, "item"]).group_by([name, "item"], use_threads=False).aggregate([])
    times = pairs.group_by(name, use_threads=False).aggregate([("item", "count")])
    return set(times.filter(pc.less(times.column("item_count"), MANY)).column(name).to_pylist())


def texts_of(table: pa.Table, name: str, said: Collection[str]) -> set[str]:
    """Values of a column that are to be digested.

    Parameters
    ----------
    table : pyarrow.Table
    name : str
        A column of texts, none of ``status``, ``reason``, ``source``.
    said : collection of str
        From `said_whole`.
    """
    values: Sequence[str] = pc.unique(table.column(name)).drop_null().to_pylist()
    if name in ("answer", "gold"):
        return {v for v in values if (len(v) >= SHORT and not is_digest(v)) or core(v) in said}
    found = {value for value in values if is_text(value)}
    if name in GROUPS:
        rare = _of_few_items(table, name) if found else ()
        return {value for value in found if len(value) >= LONG or value in rare}
    if name in schema.IDS and name != "outcome":
        return found
    return found | {value for value in values if core(value) in said}
