"""Canonical spellings of answers with parts: sets and JSON values."""

from __future__ import annotations

import ast
import json
import re
from contextlib import suppress
from decimal import Decimal
from typing import Any

from pairstats.answers.canonical import canonical_number, canonical_text, native, storable
from pairstats.answers.scan import find_json, read_json
from pairstats.errors import PairstatsError

_SEPARATOR = re.compile(r"[,;\n]")
_BULLET = re.compile(r"^(?:[-*•]|[0-9]{1,3}[.)])\s+")
_NUMPY_TEXTS = re.compile(r"""\s*(?:array\(\[\s*['"].*|\[\s*(['"]).*\1\s+(['"]).*\2\s*\])""", re.DOTALL)
"""A list of texts as NumPy writes it: without commas, so that Python would take it for one text."""
_LONGEST_LITERAL = 1 << 16
_BRACKETS = {"{": "}", "[": "]", "(": ")"}
_QUOTES = "\"'`"


def _elements(text: str) -> list[Any] | None:
    """Read the elements of a set written as a JSON array or separated by commas, semicolons or lines."""
    try:
        value = read_json(text)
    except ValueError:
        value = python_list(text)
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        return None
    text = text.strip()
    if text and _BRACKETS.get(text[0]) == text[-1]:
        text = text[1:-1]
    bare = [
        _BULLET.sub("", piece.strip(), count=1).strip().strip(_QUOTES) for piece in _SEPARATOR.split(text)
    ]
    return [piece for piece in bare if piece.strip()]


def python_list(text: str) -> list[Any] | None:
    """Read a list as Python writes it, and so a frame with lists that was saved as CSV; None for other text.

    Examples
    --------
    >>> python_list("['a, b', 'c']"), python_list("['a' 'b']"), python_list("[a]")
    (['a, b', 'c'], None, None)
    """
    value = _python_value(text)
    return value if isinstance(value, list) else None


def _python_value(text: str) -> list[Any] | dict[Any, Any] | None:
    text = text.strip()
    if not text.startswith(("[", "{")) or len(text) > _LONGEST_LITERAL:
        return None
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return None
    return value if isinstance(value, list | dict) and repr(value) == text else None


def read_key(value: Any, kind: str) -> Any:
    """Give a key with parts: for "json", a list or dict written as Python does is read; else it is as it stands.

    Raises
    ------
    PairstatsError
        For a list of texts as NumPy writes it.

    Examples
    --------
    >>> read_key("{'a': [1, None]}", "json"), read_key('["a"]', "json"), read_key("a, b", "set")
    ({'a': [1, None]}, '["a"]', 'a, b')
    """
    if not isinstance(value, str):
        return value
    with suppress(ValueError):
        read_json(value)
        return value
    found = _python_value(value)
    if found is None:
        _refuse_numpy(value)
    return value if found is None or kind != "json" else found


def _refuse_numpy(text: str) -> None:
    if _NUMPY_TEXTS.fullmatch(text):
        raise PairstatsError(
            f"A key must be one answer or a list of them, but {text[:60]!r} is a list as NumPy prints it, "
            "whose elements cannot be told apart. Write such lists as JSON."
        )


def list_of(value: Any) -> list[Any]:
    """Give the texts and numbers of a list, or the texts of one written as JSON or Python does; else none.

    An array of numbers may as well be the one answer, written out. Null is no element.

    Raises
    ------
    PairstatsError
        For a list of texts as NumPy writes it, which would else be one text that no answer is.

    Examples
    --------
    >>> list_of('["a", "b", null]'), list_of("['a', 'b']"), list_of([1, 2.5]), list_of("a, b"), list_of("[1, 2]")
    (['a', 'b'], ['a', 'b'], [1, 2.5], [], [])
    """
    value, kinds = native(value), str | int | float | Decimal
    if isinstance(value, str) and value.lstrip().startswith(("[", "array(")):
        text = value
        try:
            value, kinds = read_json(text), str
        except ValueError:
            value, kinds = python_list(text), str
        if value is None:
            _refuse_numpy(text)
    if not isinstance(value, list | tuple):
        return []
    there = [each for each in value if each is not None]
    plain = all(isinstance(each, kinds) and not isinstance(each, bool) for each in there)
    return there if plain else []


def canonical_set(value: Any, *, case_sensitive: bool) -> str | None:
    """Write a set as a sorted JSON array of distinct texts; None if an element has no text.

    Numbers among the elements count as their canonical text, so that 1, 1.0 and "1" are one element
    and the identifiers "007" and "7" are two.
    """
    value = native(value)
    if isinstance(value, str):
        if not value.strip():
            return None
        value = _elements(value)
    if not isinstance(value, list | tuple | set | frozenset):
        return None
    texts = [canonical_text(element, case_sensitive=case_sensitive) for element in value]
    if any(text is None for text in texts):
        return None
    return json.dumps(sorted({text for text in texts if text is not None}), ensure_ascii=False)


def canonical_json(value: Any, *, case_sensitive: bool) -> str | None:
    """Write a JSON value with sorted keys, exact numbers and canonical strings.

    A string that is itself JSON is read as JSON, once. The order of arrays counts, and so does the
    letter case of keys. None for null, NaN, infinities and values that JSON cannot hold.
    """
    value = native(value)
    if isinstance(value, str):
        with suppress(ValueError):  # what is not JSON stays a string
            value = read_json(value)
    if value is None:
        return None
    try:
        written = _written(value, case_sensitive)
    except (RecursionError, ValueError):
        return None
    return None if written == '""' else written


def _written(value: Any, case_sensitive: bool) -> str:
    value = native(value)
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | Decimal):
        number = canonical_number(value)
        if number is None:
            raise ValueError("JSON holds no NaN and no infinity")
        return number
    if isinstance(value, str):
        text = canonical_text(value, case_sensitive=case_sensitive) or ""
        return json.dumps(text, ensure_ascii=False)
    if isinstance(value, dict):
        named = {storable(str(key)): inner for key, inner in value.items()}
        if len(named) < len(value):
            raise ValueError("two keys cannot be told apart")
        pairs = (
            f"{json.dumps(key, ensure_ascii=False)}: {_written(named[key], case_sensitive)}"
            for key in sorted(named)
        )
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_written(inner, case_sensitive) for inner in value) + "]"
    raise ValueError(f"JSON holds no {type(value).__name__}")


def as_text(value: Any) -> str:
    """Show a JSON value as text, for the record of what a reply said."""
    if isinstance(value, Decimal):
        return str(value)
    try:
        return json.dumps(value, default=float, ensure_ascii=False)
    except RecursionError:
        return "(a value nested too deeply to be shown)"


def json_in(text: str) -> Any:
    """Return the JSON value of a reply without a field: the whole reply, or its first complete object."""
    try:
        return read_json(text)
    except ValueError:
        return find_json(text)
