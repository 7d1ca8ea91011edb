"""What JSON text would weigh in memory, told before it is parsed."""

from __future__ import annotations

from pairstats.errors import ReadError

MOST_RESIDENT = 1 << 29
"""Bytes that the values of one record may take in memory, besides their text."""
_WEIGHTS = ((b"{", 250), (b"[", 80), (b",", 40))
"""Bytes that a value takes at most, without its text, by the mark that it shows by."""

_LIGHT = MOST_RESIDENT // max(weight for _, weight in _WEIGHTS)
"""Length of a text that cannot weigh too much."""


def check_weight(text: bytes, where: str) -> None:
    """Refuse what is not long but would fill the memory: millions of empty lists.

    Raises
    ------
    ReadError
        Naming `where`.

    Examples
    --------
    >>> check_weight(b'{"a": [1, 2]}', "a.json")
    >>> check_weight(b"{}," * 3_000_000, "a.json:[0]")
    Traceback (most recent call last):
        ...
    pairstats.errors.ReadError: a.json:[0] must be a record, but holds millions of values. It may be...
    """
    if len(text) > _LIGHT:
        resident = sum(weight * text.count(mark) for mark, weight in _WEIGHTS)
        if resident > MOST_RESIDENT:
            raise ReadError(
                f"{where} must be a record, but holds millions of values. It may be hostile: look at it."
            )
