"""The place of an item in its data set, by which some platforms name it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Place:
    """Which question a record is of, where the platform names it by its place in a data set.

    Attributes
    ----------
    name : str
        The place in words: ``"doc_id 3 of gsm8k"``.
    content : str
        What tells the questions at one place apart (a hash); empty where the platform keeps none.
    path : str
        Dotted path to an id that does not depend on the place, for the message about two questions at one.
    """

    name: str
    content: str
    path: str


def place_of(kind: str, item: str, task: str | None, content: str, path: str) -> Place:
    """Name an item's place for a person.

    Examples
    --------
    >>> place_of("doc_id", "3", "gsm8k", "2f1c", "doc_hash").name
    'doc_id 3 of gsm8k'
    """
    return Place(f"{kind} {item}" + (f" of {task}" if task else ""), content, path)
