"""Evaluations of a file that are metrics of one data set: they score the same replies to the same samples."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations
from typing import NamedTuple


class Scored(NamedTuple):
    """A line that scores a reply.

    Attributes
    ----------
    evaluation : str
        Name of the evaluation.
    place : int
        Hash of what names the reply: run, model, sample, repeat.
    content : int
        Hash of what was asked and replied.
    data : str
        Name of the data, where the evaluation turns out to be a metric only.
    """

    evaluation: str
    place: int
    content: int
    data: str


def same_data(lines: Iterable[Scored]) -> dict[str, str]:
    """Name the data of evaluations that share it.

    Two evaluations are metrics of one data set where, of the replies that both score, all are the same.

    Parameters
    ----------
    lines : iterable of Scored

    Returns
    -------
    dict of str to str
        Name of the data by evaluation, for those that share it with another.

    Examples
    --------
    >>> same_data([Scored("em", 1, 7, "gsm8k"), Scored("f1", 1, 7, "gsm8k"), Scored("x", 1, 8, "gsm8k")])
    {'em': 'gsm8k', 'f1': 'gsm8k'}
    """
    found: dict[int, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    names: dict[str, str] = {}
    for line in lines:
        found[line.place][line.evaluation].add(line.content)
        names.setdefault(line.evaluation, line.data)
    together, apart = set[tuple[str, str]](), set[tuple[str, str]]()
    for contents in found.values():
        for one, other in combinations(sorted(contents), 2):
            (together if contents[one] & contents[other] else apart).add((one, other))
    return {name: names[first] for first, name in _linked(names, together - apart)}


def _linked(names: Iterable[str], pairs: set[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Yield the first name of each set of linked names with every name of it; a name by itself is none."""
    home = {name: name for name in names}
    for one, other in pairs:
        mine, theirs = home[one], home[other]
        for name, where in home.items():
            home[name] = mine if where == theirs else where
    for place in dict.fromkeys(home.values()):
        members = [name for name, where in home.items() if where == place]
        if len(members) > 1:
            yield from ((members[0], name) for name in members)
