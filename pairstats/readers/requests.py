"""Requests of a batch beside its answers: what was asked and never answered is a row, not a silence.

A batch has a file of requests and one or two of answers, joined by ``custom_id``. A request whose answer is a
row is left out and counted; one that no file answers becomes an ``absent`` row.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from pairstats import schema
from pairstats.errors import ReadError, listed
from pairstats.readers.drafts import Draft, Tally
from pairstats.readers.model_names import asked_as, is_dated
from pairstats.readers.prompts import PROMPT

ASKED = "asked_model"
"""Field of a request while it waits for its answer: the model that was asked for."""
UNSERVED = "unserved_model"
"""Field of a failed request whose file has no reply by the model that was asked for, which may be an alias."""
NO_ANSWER = "no_answer_line"
ANSWERED = "request; its answer is read from another file"
UNTOLD = "request of which nobody knows the file of answers: name the files alike (input, output, error)"
ALONE = "request without a reply (batch input)"
NOTE = "requests: those that no file answers are absent rows"
_ROLES = re.compile(r"(inputs?|requests?|outputs?|errors?|results?|responses?)", re.IGNORECASE)


def alias_note(asked: str, served: str) -> str:
    """Say that requests without a reply count for the model that answered by another name; empty for one name.

    Examples
    --------
    >>> alias_note("m", "m-2026")
    "'m' was asked for and 'm-2026' answered: requests without a reply count for it"
    """
    told = f"{asked!r} was asked for and {served!r} answered: requests without a reply count for it"
    return "" if asked == served else told


def only_ones(by_asked: Mapping[str, Collection[str]]) -> dict[str, str]:
    """By each model that was asked for, the one that answered, where there is but one."""
    return {asked: next(iter(names)) for asked, names in by_asked.items() if len(names) == 1}


def settle(drafts: Sequence[Draft], tallies: Sequence[Tally]) -> list[Draft]:
    """Join requests with their answers.

    Parameters
    ----------
    drafts : sequence of Draft
        With ``item`` still being the ``custom_id``.
    tallies : sequence of Tally

    Returns
    -------
    list of Draft
        The answers, which got the digest of their prompt and what their request alone says of them, and a row
        for every request without one.

    Raises
    ------
    ReadError
        When there are requests only.
    """
    asked: dict[int, list[Draft]] = defaultdict(list)
    answers: dict[int, list[Draft]] = defaultdict(list)
    for draft in drafts:
        (asked if ASKED in draft.fields else answers)[draft.file].append(draft)
    replied = {str(d.fields.get("model")) for d in drafts if ASKED not in d.fields and _is_reply(d)}
    for draft in drafts:
        if (name := draft.fields.pop(UNSERVED, None)) is not None:
            _name(draft, name, replied, tallies)
    if not asked:
        return list(drafts)
    readers = {tallies[file].reader for file in asked}
    pools = {file: rows for file, rows in answers.items() if tallies[file].reader in readers}
    kept = [draft for draft in drafts if ASKED not in draft.fields]
    for file, requests in asked.items():
        absent = _joined(requests, _answers_of(file, requests, asked, pools, tallies), tallies[file])
        for draft in absent:
            _name(draft, draft.fields.pop(ASKED), replied, tallies)
        kept += absent
    if not kept:
        shown = listed([tallies[file].file for file in asked])
        raise ReadError(f"{shown} must hold records, but none was read: {ALONE}. Read the answers with it.")
    return kept


def _answers_of(
    file: int, requests: Sequence[Draft], asked: dict[int, list[Draft]], pools: dict[int, list[Draft]],
    tallies: Sequence[Tally],
) -> list[Draft] | str:  # fmt: skip
    """Find the answers to a file of requests by the files' names, else by model, else as the only ones."""
    if not pools:
        return ALONE
    stem = _ROLES.sub("", tallies[file].file)
    named = [
        row for other, rows in pools.items() if _ROLES.sub("", tallies[other].file) == stem for row in rows
    ]
    if named:
        return named
    ids = {draft.fields.get("item") for draft in requests}
    hits = [row for rows in pools.values() for row in rows if row.fields.get("item") in ids]
    rivals = [
        other for other, rows in asked.items()
        if other != file and any(draft.fields.get("item") in ids for draft in rows)
    ]  # fmt: skip
    models, theirs = _models(requests), _models([draft for other in rivals for draft in asked[other]])
    if models & theirs:
        return UNTOLD
    owners = [asked_as(str(row.fields.get("model")), models | theirs) for row in hits]
    own = [row for row, owner in zip(hits, owners, strict=True) if owner in models]
    if own or None not in owners:
        return own
    return UNTOLD if rivals else hits  # served under a name that tells nothing


def _is_reply(draft: Draft) -> bool:
    return draft.fields.get("status") not in schema.MISSING


def _name(draft: Draft, asked: str, replied: Collection[str], tallies: Sequence[Tally]) -> None:
    """Name the model of a request without a reply as its replies to others do, where these leave no doubt."""
    served = [name for name in replied if is_dated(name, asked)]
    if draft.fields.get("model") == asked and asked not in replied and len(served) == 1:
        draft.fields["model"] = served[0]
    told, tally = str(draft.fields.get("model")), tallies[draft.file]
    note = alias_note(asked, told) if told in replied and asked not in tally.renamed else ""
    if note and note not in tally.notes:
        tally.notes.append(note)


def _models(requests: Iterable[Draft]) -> set[str]:
    """Names of the models that were asked for, the user's own included."""
    found = (draft.fields.get(name) for draft in requests for name in (ASKED, "model"))
    return {str(name) for name in found if name}


def _joined(requests: Sequence[Draft], answers: list[Draft] | str, tally: Tally) -> list[Draft]:
    """Rows for the requests without an answer; the others are left out and counted."""
    if isinstance(answers, str):
        tally.left_out += [(draft.source, answers) for draft in requests]
        return []
    by_id: dict[Any, list[Draft]] = defaultdict(list)
    for row in answers:
        by_id[row.fields.get("item")].append(row)
    served: dict[str, set[str]] = defaultdict(set)
    for draft in requests:
        for row in by_id[draft.fields.get("item")]:
            served[draft.fields[ASKED]].add(str(row.fields.get("model")))
            if draft.fields.get(PROMPT) is not None:
                row.fields.setdefault(PROMPT, draft.fields[PROMPT])
            row.found.update({name: told for name, told in draft.found.items() if name not in row.found})
    absent = []
    for draft in requests:
        if by_id[draft.fields.get("item")]:
            tally.left_out.append((draft.source, ANSWERED))
            continue
        names = served[draft.fields[ASKED]]
        if len(names) == 1:
            draft.fields["model"] = next(iter(names))
        absent.append(draft)
    if absent and len(absent) == len(requests):
        tally.notes.append(
            f"no file answers any of its requests; the first is {listed([absent[0].source], 1)}"
        )
    return absent
