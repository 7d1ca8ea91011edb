"""Dotted paths into nested values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pairstats.readers.drafts import MISSING


def lookup(raw: Any, path: str) -> Any:
    """Follow a dotted path; keys that contain dots are found too, numbers index lists.

    Examples
    --------
    >>> lookup({"metadata": {"id": 7, "v1.2": [3, 4]}}, "metadata.v1.2.1")
    4
    >>> lookup({"a": 1}, "b")
    <Missing.MISSING: 'missing'>
    """
    if path == "":
        return raw
    if isinstance(raw, list):
        head, _, rest = path.partition(".")
        known = head.isdecimal() and int(head) < len(raw)
        return lookup(raw[int(head)], rest) if known else MISSING
    if not isinstance(raw, Mapping):
        return MISSING
    if path in raw:
        return raw[path]
    parts = path.split(".")
    for length in range(len(parts) - 1, 0, -1):
        key = ".".join(parts[:length])
        if key in raw:
            value = lookup(raw[key], ".".join(parts[length:]))
            if value is not MISSING:
                return value
    return MISSING


def paths_in(raw: Any, prefix: str = "") -> Iterator[str]:
    """Yield the dotted paths to every plain value of a record."""
    if isinstance(raw, Mapping) and raw:
        for key, value in raw.items():
            yield from paths_in(value, f"{prefix}{key}.")
    elif isinstance(raw, list) and raw and isinstance(raw[0], Mapping | list):
        yield from paths_in(raw[0], f"{prefix}0.")
    elif prefix:
        yield prefix[:-1]
