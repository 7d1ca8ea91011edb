"""Which results of promptfoo are one call tried again, and which are repeats; told of all results together.

A few numbers a result are kept, never the results themselves, of which there may be more than the memory holds.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pairstats.readers.drafts import as_text
from pairstats.readers.jsonlines import dig, whole
from pairstats.readers.rowlog import content_id

Json = dict[str, Any]

ERRORED = 2
"""Value of ``failureReason`` for a call that failed."""
_ALONE = -1
"""In place of a prompt: the result does not say which test it is of, so that no other is of the same."""


@dataclass(frozen=True, slots=True)
class Places:
    """What the results together say of each.

    Attributes
    ----------
    repeat : array of int
        Number of the repeat by the result's number; -1 for an attempt that another superseded.
    attempts : array of int
        Number of results for the same test and prompt, of which the last good one counts.
    ambiguous : frozenset of str
        Descriptions that several tests share, so that they name none of them.
    """

    repeat: NDArray[np.int64]
    attempts: NDArray[np.int64]
    ambiguous: frozenset[str]

    def item(self, result: Json) -> str:
        """Name the item of a result: by its description, or by its content."""
        name = description(result)
        return content_id(content(result)) if name is None or name in self.ambiguous else name


class Attempts:
    """Gathers what must be known of every result."""

    def __init__(self) -> None:
        self._tests, self._prompts, self._failed = array("q"), array("q"), array("b")
        self._questions = array("Q")
        self._codes: dict[Any, int] = {}
        self._described: dict[str, int] = {}
        self._ambiguous: set[str] = set()

    def add(self, result: Json) -> None:
        """Take note of the next result."""
        test = whole(result.get("testIdx"))
        asked = prompt(result)
        name, variables = description(result), content(result)
        question = int(content_id(asked, provider(result), name, variables), 16)
        # What may fail comes first, so that a result is known to all of these or to none.
        code = _ALONE if test is None else self._codes.setdefault(asked, len(self._codes))
        self._tests.append(len(self._tests) if test is None else test)
        self._prompts.append(code)
        self._failed.append(failed(result))
        self._questions.append(question)
        if name:
            identity = int(content_id(variables), 16)
            if self._described.setdefault(name, identity) != identity:
                self._ambiguous.add(name)

    def places(self) -> Places:
        """Number the results that become records: of a test that was tried again, the good ones or the last.

        Two good results in one place are two runs in one file: both are kept, to be told apart or refused.
        """
        tests, prompts = np.array(self._tests, np.int64), np.array(self._prompts, np.int64)
        questions, bad = np.array(self._questions, np.uint64), np.array(self._failed, bool)
        group, size = _groups(prompts, tests)
        good = np.bincount(group, ~bad, minlength=size).astype(np.int64)
        last = np.zeros(size, np.int64)
        np.maximum.at(last, group, np.arange(group.size))
        kept = ~bad
        kept[last[good == 0]] = True
        first = np.full(size, group.size)
        np.minimum.at(first, group[kept], np.flatnonzero(kept))
        repeat = _ranks(questions[first], tests[first])[group]
        attempts = (np.bincount(group, minlength=size) - np.maximum(good, 1) + 1)[group]
        return Places(np.where(kept, repeat, -1), attempts, frozenset(self._ambiguous))


def _groups(*columns: NDArray[Any]) -> tuple[NDArray[np.int64], int]:
    """Number of each row's group, equal for equal rows, in the order of the values; how many there are."""
    order = np.lexsort(columns)
    new = np.zeros(order.size, bool)
    for column in columns:
        new[1:] |= np.diff(column[order]) != 0
    found = np.empty(order.size, np.int64)
    found[order] = np.cumsum(new)
    return found, int(new.sum()) + (order.size > 0)


def _ranks(questions: NDArray[np.uint64], tests: NDArray[np.int64]) -> NDArray[np.int64]:
    """Place of each test among the tests of its question."""
    order = np.lexsort((tests, questions))
    new = np.ones(order.size, bool)
    new[1:] = np.diff(questions[order]) != 0
    start = np.maximum.accumulate(np.where(new, np.arange(order.size), 0))
    ranks = np.empty(order.size, np.int64)
    ranks[order] = np.arange(order.size) - start
    return ranks


def prompt(result: Json) -> Any:
    """Which column of the evaluation: a prompt with a provider."""
    place = whole(result.get("promptIdx"))
    return dig(result, "prompt", "label") if place is None else place


def provider(result: Json) -> str | None:
    """Name of the provider, which is the model."""
    found = result.get("provider")
    names = (dig(found, "label"), dig(found, "id"), found)
    return next((name for name in names if isinstance(name, str) and name), None)


def description(result: Json) -> str | None:
    """Description of the test; None where it has none."""
    found = dig(result, "testCase", "description") or result.get("description")
    return found if isinstance(found, str) and found else None


def content(result: Json) -> Json:
    """Variables as text, since a CSV holds nothing else."""
    return {name: as_text(value) for name, value in (result.get("vars") or {}).items()}


def failed(result: Json) -> bool:
    """Whether the call itself failed; versions before ``failureReason`` tell it by an error without output."""
    reason = result.get("failureReason")
    if reason is not None:
        return bool(reason == ERRORED)
    return bool(result.get("error")) and dig(result, "response", "output") is None
