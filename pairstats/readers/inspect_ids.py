"""Ids of Inspect samples, which are texts or numbers: ``1`` and ``"1"`` are two samples where a log has both."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from pairstats.errors import ReadError
from pairstats.readers.each import UNFORESEEN, id_of
from pairstats.readers.inspect_sample import epoch_of
from pairstats.readers.jsonlines import parse
from pairstats.readers.zipped import Archive, Member

Id = str | int | float
Key = tuple[Id, int]
"""Id as it is written, and epoch."""
_NAMED = re.compile(r"(.*)_epoch_(\d{1,9})\.json", re.DOTALL)
"""How a zip names a sample."""
_WHOLE = re.compile(r"-?[1-9]\d{0,18}|0")


def key_of(sample: Any) -> Key | None:
    """Id and epoch of a sample; None where it does not tell both."""
    try:
        id_of(sample["id"])
        return sample["id"], epoch_of(sample)
    except UNFORESEEN:
        return None


def keys_in(name: str) -> list[Key]:
    """Ids that a sample may have by its name in a zip, which does not tell a number from a text, and its epoch.

    Examples
    --------
    >>> keys_in("7_epoch_1.json"), keys_in("q_epoch_2.json"), keys_in("other.json")
    ([('7', 1), (7, 1)], [('q', 2)], [])
    """
    named = _NAMED.fullmatch(name)
    if named is None:
        return []
    ids: list[Id] = [named[1], *([int(named[1])] if _WHOLE.fullmatch(named[1]) else [])]
    return [(id_, int(named[2])) for id_ in ids]


def alike(ids: Iterable[Id]) -> frozenset[str]:
    """Find the ids that are there as text and as number.

    Examples
    --------
    >>> alike([1, "1", "2", 3])
    frozenset({'1'})
    """
    kinds = set(ids)
    return frozenset(str(each) for each in kinds if not isinstance(each, str) and str(each) in kinds)


def item_of(id_: Id, twins: frozenset[str]) -> str:
    """Name the item of an id; a text that is a number's twin keeps its quotes.

    Examples
    --------
    >>> item_of("1", frozenset()), item_of("1", frozenset({"1"})), item_of(1, frozenset({"1"}))
    ('1', '"1"', '1')
    """
    return json.dumps(id_) if isinstance(id_, str) and id_ in twins else id_of(id_)


def planned_ids(eval_: Mapping[str, Any]) -> list[Id]:
    """Ids of the data set that a log was to run through."""
    ids = (eval_.get("dataset") or {}).get("sample_ids") or []
    for each in ids:
        id_of(each)
    return list(ids)


def last_by_kind(archive: Archive, prefix: str) -> dict[str, list[Member]]:
    """Find the members of one name that hold samples of two ids: a zip names both alike.

    Returns
    -------
    dict of str to list of Member
        By name, the last member of each kind of id.
    """
    members = [member for member, _ in archive.members(prefix)]
    times = Counter(member.name for member in members)
    found: dict[str, dict[bool, Member]] = {}
    for member in members:
        if times[member.name] > 1:
            try:
                id_ = parse(archive.read(member), member.name)["id"]
            except (ReadError, *UNFORESEEN):
                continue  # which is told where it is read
            found.setdefault(member.name, {})[isinstance(id_, str)] = member
    return {name: list(last.values()) for name, last in found.items() if len(last) > 1}
