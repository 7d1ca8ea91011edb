"""Names that look alike and are two: spellings that differ in what nobody sees."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence

_UNSEEN = "".join(filter(str.isspace, map(chr, range(0x3001)))) + "\u200b\u200c\u200d\u2060\ufeff"
"""Characters that do not show at the end of a name: white space, and what has no width."""

EXACT = 2**53
"""Size below which every whole number is a float."""


def plain_name(name: str) -> str:
    """Write a name in its one spelling: Unicode form C, and nothing invisible at its ends.

    Examples
    --------
    >>> plain_name(" f1 ") == plain_name("f1"), plain_name("F1") == plain_name("f1")
    (True, False)
    """
    if name.isascii() and name[:1].isalnum() and name[-1:].isalnum():
        return name
    return unicodedata.normalize("NFC", name).strip(_UNSEEN)


def of_number(value: object) -> str:
    """Write a number as a name: 7 and 7.0 are one number, and so one name.

    Examples
    --------
    >>> of_number(7.0), of_number(7), of_number(7.5), of_number(1e300)
    ('7', '7', '7.5', '1e+300')
    """
    exact = isinstance(value, float) and value.is_integer() and abs(value) < EXACT
    return str(int(value)) if exact else str(value)  # type: ignore[call-overload]


def twins(names: Iterable[str | None]) -> list[list[str]]:
    """Find names with more than one spelling.

    Parameters
    ----------
    names : iterable of str or None
        Different names.

    Returns
    -------
    list of list of str
        The spellings of every such name, sorted.

    Examples
    --------
    >>> twins(["f1", "f2", "f1 ", None])
    [['f1', 'f1 ']]
    """
    spellings: dict[str, list[str]] = {}
    for name in names:
        if name is not None:
            spellings.setdefault(plain_name(name), []).append(name)
    return [sorted(each) for each in spellings.values() if len(each) > 1]


def told(column: str, found: Sequence[Sequence[str]], where: str) -> str:
    """Say what the twins of a column are, where the first lie, and what to do about them."""
    shown = " and ".join(repr(name) if name.isascii() else ascii(name) for name in found[0])
    more = f", and {len(found) - 1} more names so," if len(found) > 1 else ""
    trimmed = {re.sub(r"^\s+|\s+$", "", name) for each in found for name in each}
    ends = len(trimmed) == len(found)
    differ = "white space at the ends" if ends else "invisible characters or their Unicode form (NFC, NFD)"
    remedy = (
        rf"strip it where it is mapped: {column}=ps.extract(path, r'^\s*(.*?)\s*$')"
        if ends
        else "write them alike in the raw files"
    )
    return f"has {shown}{more} in {where}, which differ only by {differ}; {remedy}"
