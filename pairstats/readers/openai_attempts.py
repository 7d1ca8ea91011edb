"""Which lines of a client log are attempts of one call, and which of them becomes the record.

A call is named by everything on its line that does not change from one attempt to the next, the request included,
so that two conditions of an item never pass for attempts.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from pairstats.readers.base import digest
from pairstats.readers.drafts import as_text
from pairstats.readers.jsonlines import whole
from pairstats.readers.mapping import Path, name_of, told_by

Json = dict[str, Any]

ITEM_FIELDS = ("item", "item_id", "question_id", "custom_id")
_MOMENT = (
    r"(time|timestamp|ts|date|datetime|clock|latency|elapsed|duration|took|ttft|created|sent|received|submitted|"
    r"queued|start|started|finish|finished|end|ended|completed|at|backoff|slept|waited|seconds|secs?|ms)"
)
PER_ATTEMPT = re.compile(
    "|".join(
        (
            r"((request|req|response|call|attempt|trace|span|generation|completion|log|event)_)?(uu|gu)?id|body",
            r"((n|num|number|total|is)_)?(of_)?(attempts?|retry|retries|retried|tries)(_(count|number|no|num|index))?",
            r"((is|http|api|last|finish|stop|response)_)?(response|error|exception|traceback|status|success|ok|failed|"
            r"score|correct|finish|reason)(_(code|type|message|text|body|headers|reason|details))?",
            r"usage|((total|prompt|completion|input|output|cached)_)*(tokens(_used)?|cost(_usd)?|price(_usd)?)",
            r"tokens_(in|out|used|total|prompt|completion|input|output)",
            rf"((request|response|call|attempt|api|http|wall|total)_)*{_MOMENT}(_{_MOMENT}|_(s|ns|us|utc|iso|unix|epoch))*",
        )
    )
)
"""Whole names of fields that are the bookkeeping of one attempt. All others tell calls apart, as each may be a
parameter of the request: ``token_budget`` and ``time_limit`` do, ``total_tokens`` and ``start_time`` do not."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What one line says that decides which lines of a call become records.

    Attributes
    ----------
    number : int
        Number of the line.
    attempt : int or None
        Running number that the log gives it.
    item : str
        What names the item on the line.
    good : bool
        Whether there is a reply.
    told : tuple of str or None
        The model that replied, and what the user takes from the reply to tell records apart.
    """

    number: int
    attempt: int | None
    item: str
    good: bool
    told: tuple[str | None, ...]


def name_of_call(number: int, line: Json, apart: Iterable[Path]) -> str:
    """Name a call by all that is no bookkeeping of an attempt, and by whatever the user tells records apart by."""
    if not any(name in line for name in ITEM_FIELDS):
        return str(number)
    lasting = {key: value for key, value in line.items() if not _changes(key)}
    told = [
        number if name_of(path) == "source" else told_by(path, line) for path in apart if not _of_reply(path)
    ]
    return digest(json.dumps(lasting, sort_keys=True), told)


def attempt_of(number: int, line: Json, body: Json, failed: bool, apart: Iterable[Path]) -> Attempt:
    """Give one attempt; a failed one cannot say what the user takes from the reply."""
    running, item = whole(line.get("attempt")), digest(*(line.get(name) for name in ITEM_FIELDS))
    if failed:
        return Attempt(number, running, item, False, ())
    raw = {**line, "body": body}
    told = (as_text(body.get("model")), *(told_by(path, raw) for path in apart if _of_reply(path)))
    return Attempt(number, running, item, True, told)


def records_of(calls: Collection[list[Attempt]], one_model: bool) -> dict[int, int]:
    """Lines that become records, with the number of attempts behind each.

    Parameters
    ----------
    calls : collection of list of Attempt
        Attempts of every call of a file.
    one_model : bool
        Whether all replies are of one model.
    """
    seen: dict[str, set[int]] = defaultdict(set)
    for each in (each for call in calls for each in call if each.attempt is not None):
        seen[each.item].add(each.attempt or 0)
    found: dict[int, int] = {}
    for call in calls:
        found |= _kept(call, one_model, seen[call[0].item])
    return found


def _of_reply(path: Path) -> bool:
    return name_of(path).removeprefix("record.").split(".")[0] in ("response", "body")


@cache
def _changes(name: str) -> bool:
    """Whether a field of this name changes from one attempt to the next."""
    snake_case = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return PER_ATTEMPT.fullmatch(snake_case) is not None


def _kept(group: list[Attempt], one_model: bool, of_item: set[int]) -> dict[int, int]:
    """Lines of one call that become records, with the number of attempts behind each.

    Without attempt numbers a failure before a reply is an earlier attempt, but two replies are two records:
    they are told apart, or refused, where the keys of all records are known. So are, with them, two replies of
    different models, or that differ in what the user tells records apart by. A number tells of attempts that the
    log has lost, unless other calls of the item (`of_item`) have those before it: then it runs through all of them.
    """
    numbers = [each.attempt for each in group]
    numbered = None not in numbers and len(set(numbers)) == len(numbers)
    good = [each for each in group if each.good]
    doubtful = not numbered and (len(good) > 1 or not one_model)
    if len(group) > 1 and (doubtful or len({each.told for each in good}) > 1):
        return {each.number: 1 for each in group}
    last = max(good or group, key=lambda each: (each.attempt or 0, each.number))
    highest = max((n for n in numbers if n is not None), default=0)
    before = set(range(1, highest)) - {n for n in numbers if n is not None}
    running = bool(before) and before <= of_item
    return {last.number: len(group) if running else max(len(group), highest)}
