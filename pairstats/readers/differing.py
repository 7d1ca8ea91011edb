"""What tells records apart that share a key: paths with different values, for the message that refuses them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from pairstats.errors import listed
from pairstats.readers.mapping import KNOWN_PATHS, lookup, paths_in

PROBED_KEYS = 5
"""Keys whose records are looked at."""
PROBED_RECORDS = 12
"""Records of one key that are looked at."""
MOST_PATHS = 3
LONGEST = 60
"""Characters of a value that may be a name."""

_OF_THE_REPLY = re.compile(
    r"(^|[._])(output|outputs|choices|response|responses|completion|messages?|answers?|prediction|reply|usage|"
    r"scores?|metrics?|tokens|latency|cost|time|timestamp|created|started|completed|uuid|hash|sha\d*|seed)([._]|$)"
)
"""Names of what differs between any two calls, or any two runs, whatever was asked."""
_NO_NAME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d|(?=[A-Za-z]*\d)[A-Za-z0-9]{16}|[0-9a-f]{8}-[0-9a-f]{4}-")
"""Instants and random ids."""


def differing(groups: Sequence[Sequence[Any]]) -> list[tuple[str, list[Any], bool]]:
    """Find paths by which records of one key differ: those first that tell all of them apart.

    Parameters
    ----------
    groups : sequence of sequence
        Raw contents of the records of one key, for a few keys.

    Returns
    -------
    list of tuple
        Path, its different values in the first group, and whether it tells all records of every group apart;
        at most `MOST_PATHS`, among equals those with the fewest values in all first.

    Examples
    --------
    >>> differing([[{"log": {"system": "terse"}, "x": 1}, {"log": {"system": "2shot"}, "x": 1}]])
    [('log.system', ['terse', '2shot'], True)]
    """
    if not groups:
        return []
    found = []
    for path in islice(paths_in(groups[0][0]), KNOWN_PATHS):
        values = [[lookup(raw, path) for raw in group] for group in groups]
        if _OF_THE_REPLY.search(path) or not all(_is_name(value) for group in values for value in group):
            continue
        apart = [len(set(map(str, group))) for group in values]
        if min(apart) > 1:
            lost = sum(len(group) - kinds for group, kinds in zip(values, apart, strict=True))
            in_all = len({str(value) for group in values for value in group})
            rank = (lost, in_all, "metadata" not in path, path.count("."))
            found.append((rank, path, list(dict.fromkeys(values[0])), lost == 0))
    return [(path, kinds, whole) for _, path, kinds, whole in sorted(found, key=lambda e: e[0])[:MOST_PATHS]]


def _is_name(value: Any) -> bool:
    if isinstance(value, str):
        return 0 < len(value) <= LONGEST and not _NO_NAME.search(value)
    return isinstance(value, bool | int)


def suggestion(groups: Sequence[Sequence[Any]], one_model: bool) -> str:
    """Say how records of one key differ, and which column would tell them apart; empty where nothing does."""
    whole = [[raw for raw in group if isinstance(raw, Mapping)] for group in groups]
    found = differing([group for group in whole if len(group) > 1])
    if not found:
        return ""
    shown = ", ".join(f"{path!r} ({listed(kinds)})" for path, kinds, _ in found)
    column = "model" if one_model else "condition"
    rest = "" if found[0][2] else ", though not all of them"
    return f' They differ in {shown}: {column}="{found[0][0]}" would tell them apart{rest}.'
