"""Differences of meaning between two parsed protocols: which setting was what, and is what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_NAMELESS = ("source", "deviation")


def meaning_diff(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Say what changed, setting by setting; order, white space and comments are no change.

    Parameters
    ----------
    old, new : mapping
        Parsed content (`Protocol.content`).

    Returns
    -------
    list of str
        One line a setting, in order of the paths.

    Examples
    --------
    >>> old = {"contrast": [{"name": "C1", "margin": 0.05}]}
    >>> meaning_diff(old, {"contrast": [{"name": "C1", "margin": 0.1, "alpha": 0.05}]})
    ['contrast C1.alpha: added, 0.05', 'contrast C1.margin: was 0.05, is 0.1']
    """
    was, is_ = dict(_flat("", old)), dict(_flat("", new))
    lines = []
    for path in sorted(was.keys() | is_.keys()):
        if path not in was:
            lines.append(f"{path}: added, {is_[path]}")
        elif path not in is_:
            lines.append(f"{path}: removed, was {was[path]}")
        elif was[path] != is_[path]:
            lines.append(f"{path}: was {was[path]}, is {is_[path]}")
    return lines


def _flat(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield every setting with its path; tables in lists go by their name, or else by their place."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _flat(f"{path}.{key}" if path else str(key), inner)
    elif isinstance(value, list) and value and all(isinstance(each, Mapping) for each in value):
        for place, each in enumerate(value, start=1):
            yield from _flat(
                f"{path} {each.get('name', place)}", {k: v for k, v in each.items() if k != "name"}
            )
        yield from ((f"{path} {each['name']}", "defined") for each in value if "name" in each)
    else:
        yield path, repr(value) if not isinstance(value, str) else value
