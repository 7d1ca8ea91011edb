"""Items that a platform names by their place in a data set: one place must be one question in every file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from pairstats.errors import PairingError
from pairstats.readers.base import digest
from pairstats.readers.columns import UnusualError
from pairstats.readers.drafts import Draft, Tally
from pairstats.readers.place import Place
from pairstats.readers.reading import Reading

TASK_FIRST = "several tasks have items at one place: a family is named task/item"
Marks = NDArray[np.uint64]
"""A row a place: digests of its name and of what is there."""


def keep_while_own(draft: Draft, own: str | None) -> None:
    """Forget the place of a draft whose item the user names: what is one question is then the user's word.

    Parameters
    ----------
    draft : Draft
        With its item.
    own : str or None
        The item as the platform names it.
    """
    if draft.place is None or draft.fields["item"] == own:
        return
    draft.place = None
    if draft.fields.get("family") == own:  # a family of its own is that of the item, however it is named
        draft.fields["family"] = draft.fields["item"]


def check_places(drafts: Sequence[Draft], tallies: Sequence[Tally]) -> None:
    """Refuse records of two questions that lie at one place, in whichever files.

    Raises
    ------
    PairingError
        Names both records, and what to pair by instead.
    """
    first: dict[tuple[str, str], tuple[Place, Draft]] = {}
    items: dict[tuple[str, ...], tuple[Place, Draft]] = {}
    for draft in drafts:
        if (place := _told(draft)) is None:
            continue
        key = tuple(str(draft.fields[name]) for name in ("study", "item", "variant"))
        at, one = items.setdefault(key, (place, draft))
        if at.name != place.name:
            raise PairingError(
                f"Item {key[1]!r} must be one question, but is {at.name} in {one.source} and {place.name} in "
                f"{draft.source}. Keep the tasks apart (study=), or give the items ids of your own with item=."
            )
        known, other = first.setdefault((tallies[draft.file].reader, place.name), (place, draft))
        if known.content != place.content:
            raise PairingError(
                f"{place.name} must be one question, but {other.source} and {draft.source} hold different ones: "
                "a place names nothing where a file holds a part, or another order. Pair by content with "
                f'item="{place.path}", or by an id of your own with item=.'
            )


def stand_alone(reading: Reading) -> bool:
    """Whether items are families of their own, by the user's word or for want of one."""
    return reading.columns.get("family") in (None, "item") and "family" not in reading.constants


def tell_tasks_apart(drafts: Sequence[Draft], tallies: Sequence[Tally]) -> None:
    """Name the family of an item that stands alone after its task too, where other tasks have one at that place.

    Document 7 of one task and document 7 of another are two families; a panel goes by the name of a family.
    """
    tasks: dict[str, set[str]] = {}
    alone = [draft for draft in drafts if _stands_alone(draft)]
    for draft in alone:
        tasks.setdefault(draft.fields["item"], set()).add(draft.fields["study"])
    for draft in alone:
        if len(tasks[draft.fields["item"]]) > 1:
            draft.fields["family"] = f"{draft.fields['study']}/{draft.fields['item']}"
            if TASK_FIRST not in tallies[draft.file].notes:
                tallies[draft.file].notes.append(TASK_FIRST)


def tasks_of(drafts: Sequence[Draft]) -> set[str]:
    """Tasks of which items stand alone at their place."""
    return {draft.fields["study"] for draft in drafts if _stands_alone(draft)}


def _stands_alone(draft: Draft) -> bool:
    return draft.place is not None and draft.fields["family"] == draft.fields["item"]


def marks_of(drafts: Sequence[Draft], tally: Tally) -> Marks:
    """Digests of the places in some drafts of a file, 16 bytes each."""
    places = dict.fromkeys(place for draft in drafts if (place := _told(draft)) is not None)
    marks = [[_mark(tally.reader, place.name), _mark(place.content)] for place in places]
    return np.array(marks, dtype=np.uint64).reshape(-1, 2)


def _told(draft: Draft) -> Place | None:
    return draft.place if draft.place is not None and draft.place.content else None


def _mark(*words: str) -> int:
    return int(digest(*words)[:16], 16)


def check_marks(marks: Sequence[Marks]) -> None:
    """Make sure that every place holds one question.

    Raises
    ------
    UnusualError
        When one seems to hold two, which takes the records to tell.

    Examples
    --------
    >>> check_marks([np.array([[1, 7], [2, 8]], np.uint64), np.array([[1, 7]], np.uint64)])
    """
    if marks:
        kinds = np.unique(np.concatenate(marks), axis=0)
        if np.unique(kinds[:, 0]).size < len(kinds):
            raise UnusualError("two questions at one place")
