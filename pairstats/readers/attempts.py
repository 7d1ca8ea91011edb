"""A request that was sent again, and logged in another file: the reply counts, what failed before is an attempt."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence

from pairstats import schema
from pairstats.errors import counted
from pairstats.readers.drafts import Draft, Tally

ATTEMPTS = "attempts"
SUPERSEDED = "superseded attempt"
NOT_HERE = "planned, never ran here: another file has it"


def is_reply(draft: Draft) -> bool:
    """Whether a model replied, whatever the reply is worth."""
    return draft.fields["status"] not in schema.MISSING


def last_good(group: Sequence[Draft]) -> Draft | None:
    """Tell which record of one key is the row, where all of them are attempts of one request.

    Parameters
    ----------
    group : sequence of Draft
        No two of them copies of each other.

    Returns
    -------
    Draft or None
        The only reply; without one the last failure, by the platform's own time or else the order of the files.
        None where there are two replies, or two records of one file, whose reader knows its attempts.
    """
    replies = [draft for draft in group if is_reply(draft)]
    if len(replies) > 1 or len({draft.file for draft in group}) < len(group):
        return None
    if replies:
        return replies[0]
    ran = [draft for draft in group if draft.ran] or group
    return max(ran, key=_order(ran))


def supersede(rows: Sequence[tuple[Draft, Sequence[Draft]]], tallies: list[Tally]) -> None:
    """Count the attempts behind rows, and account for those that are none.

    Parameters
    ----------
    rows : sequence of tuple of Draft, sequence of Draft
        Each row, and all records of its key.
    tallies : list of Tally
    """
    times: Counter[tuple[int, int]] = Counter()
    for row, group in rows:
        attempts = len(_failures(group)) + is_reply(row)
        if attempts > 1:
            row.fields[ATTEMPTS] = attempts
        for draft in group:
            if draft is not row:
                tallies[draft.file].left_out.append((draft.source, SUPERSEDED if draft.ran else NOT_HERE))
                times[draft.file, row.file] += 1
    for (file, other), n in times.items():
        tallies[file].notes.append(f"{counted(n, 'record')} superseded by {tallies[other].file}")


def _failures(group: Sequence[Draft]) -> list[str]:
    """Failures behind the records of one request, each once, though a later log may keep those of the earlier."""
    known: list[str] = []
    ran = [draft for draft in group if draft.ran]
    for draft in sorted(ran, key=_order(ran)):
        own = list(draft.tried) or [f"{draft.source} {number}" for number in range(_failed(draft))]
        carried = known and own[: len(known)] == known
        known = own if carried else known + own
    return known


def _failed(draft: Draft) -> int:
    """Failures that a record itself counts; what is no number of attempts is one."""
    number = draft.fields.get(ATTEMPTS)
    told = int(number) if isinstance(number, int | float) and math.isfinite(number) else 1
    return max(told, 1) - is_reply(draft)


def _order(group: Sequence[Draft]) -> Callable[[Draft], tuple[float, int]]:
    """Order of records: by the platform's own time where all tell it, else by that of the files."""
    timed = all(draft.when is not None for draft in group)
    return lambda draft: ((draft.when or 0.0) if timed else 0.0, draft.file)
