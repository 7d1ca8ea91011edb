"""What is said in a reply: reasoning removed, JSON objects found in any text around them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from decimal import Decimal
from typing import Any

from pairstats.answers.canonical import decimal_of

REASONING_TAGS = ("think", "thinking", "reasoning")
MAX_STARTS = 2_000
"""Opening braces tried in one reply; each failed try may cost a pass over the text before it."""

_TAG = re.compile(rf"<(/?)(?:{'|'.join(REASONING_TAGS)})\s{{0,9}}>", re.IGNORECASE)
_OBJECT_START = re.compile(r'\{(?=\s*["}])')
_FENCED = re.compile(r"\s*```[^\n`]*\n(.*)```\s*", re.DOTALL)
_LONGEST_INT = 300  # digits; Python refuses to read very long ones as int


def strip_reasoning(text: str) -> str | None:
    """Return what a reply says outside its reasoning blocks.

    Parameters
    ----------
    text : str
        A reply, perhaps with ``<think>``, ``<thinking>`` or ``<reasoning>`` blocks in any letter case.

    Returns
    -------
    str or None
        The remaining text, stripped. A closing tag without an opening one ends reasoning that began
        with the reply. None if a block is never closed: the reply broke off before its answer.

    Examples
    --------
    >>> strip_reasoning("<think>B? No.</think> A")
    'A'
    >>> strip_reasoning("<think>B? No.") is None
    True
    """
    if "<" not in text:
        return text.strip()
    said: list[str] = []
    since, reasoning = 0, False
    for tag in _TAG.finditer(text):
        closing = bool(tag[1])
        if closing and not reasoning:
            said.clear()
        elif not closing and not reasoning:
            said.append(text[since : tag.start()])
        # An opening tag inside a block is talk about tags: the next closing tag ends the block.
        reasoning = not closing
        since = tag.end()
    if reasoning:
        return None
    return " ".join([*said, text[since:]]).strip()


def unfenced(text: str) -> str:
    """Return the content of a reply that is one code fence, or else the reply itself."""
    if "```" not in text:
        return text
    fence = _FENCED.fullmatch(text)
    return fence[1].strip() if fence and "```" not in fence[1] else text


def _integer(digits: str) -> int | Decimal | float:
    return int(digits) if len(digits) <= _LONGEST_INT else _real(digits)


def _real(digits: str) -> Decimal | float:
    value = decimal_of(digits)
    return float("nan") if value is None else value


# Raw line breaks inside strings are let through: the strings end where they say they end.
_DECODER = json.JSONDecoder(parse_int=_integer, parse_float=_real, strict=False)


def read_json(text: str) -> Any:
    """Read a whole text as JSON with exact numbers; raises ValueError if it is not JSON."""
    try:
        return _DECODER.decode(text)
    except RecursionError:
        raise ValueError("the JSON is nested too deeply to be read") from None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield complete outermost objects from left to right.

    After a failure the search goes on where decoding stopped, not inside the broken object: an
    object inside a truncated one is not an answer. That also keeps the scan linear.
    """
    position = 0
    for _ in range(MAX_STARTS):
        start = _OBJECT_START.search(text, position)
        if start is None:
            return
        try:
            found, position = _DECODER.raw_decode(text, start.start())
        except json.JSONDecodeError as error:
            position = max(error.pos, start.end())
        except RecursionError:
            return
        else:
            yield found


def _nested(value: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield all objects inside an object, at any depth, in no promised order."""
    waiting: list[Any] = list(value.values())
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, dict):
            yield inner
            waiting.extend(inner.values())
        elif isinstance(inner, list):
            waiting.extend(inner)


def key_of(record: dict[str, Any], field: str) -> str | None:
    """Return the key that is the field: the exact one, or the only one equal up to case and spaces."""
    if field in record:
        return field
    alike = [key for key in record if key.strip().casefold() == field.strip().casefold()]
    return alike[0] if len(alike) == 1 else None


def find_json(text: str, field: str | None = None) -> dict[str, Any] | None:
    """Find the first complete JSON object of a text, in a code fence or in prose.

    Parameters
    ----------
    text : str
        Any text. A text that is itself one JSON string literal is decoded first.
    field : str, optional
        The object has to hold this key (exactly, or as the only key equal up to letter case). If a
        complete object does not, but a single object inside it does, that one is returned.

    Returns
    -------
    dict or None
        The object; numbers are `int` or `decimal.Decimal`, so that they are exact; of duplicate keys
        the last one counts. None if there is no such object. Truncated, malformed and too deeply
        nested objects are never repaired, and nothing inside them is used.

    Examples
    --------
    >>> find_json('I say {"answer": "{A}", "confidence": 0.5}.', "answer")
    {'answer': '{A}', 'confidence': Decimal('0.5')}
    >>> find_json('{"answer": "A", "confi') is None
    True
    """
    if text.lstrip().startswith('"'):
        with suppress(ValueError):  # only its first words may be quoted
            text = str(read_json(text))
    for found in _objects(text):
        if field is None or key_of(found, field) is not None:
            return found
        inside = [inner for inner in _nested(found) if key_of(inner, field) is not None]
        if len(inside) == 1:
            return inside[0]
    return None
