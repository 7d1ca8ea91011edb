"""From replies to an answer, a stated confidence and a score per row."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from pairstats import schema
from pairstats.answers import AnswerFormat
from pairstats.errors import PairingError, PairstatsError, listed
from pairstats.readers.drafts import Draft, as_text

RESCORED = "score_answers"
"""Column of the score by `answers=`, where `score=` names another as the primary one."""
REPLY = ("response", "answer")
"""Columns that a reply is read from."""
SHORT_REPLY = 60
"""Characters of a reply, or of what decides it, that others may have given too, word for word."""
_TOO_LONG = {"length": "max_tokens", "max_tokens": "max_tokens", "context": "context",
             "host_cutoff": "host_cutoff"}  # fmt: skip


class Format(Protocol):
    """What is used of an answer format."""

    def parse(self, text: str | None, options: Mapping[Any, Any] | None = None) -> Any:
        """Read one reply."""
        ...

    def canonical(self, value: Any, options: Mapping[Any, Any] | None = None) -> str | None:
        """Write a key in its canonical form."""
        ...

    def matches(self, answer: str | None, gold: Any, options: Mapping[Any, Any] | None = None) -> bool:
        """Say whether an answer is the key."""
        ...


def rescore(drafts: Sequence[Draft], answers: Format, keep_score: bool, with_options: bool) -> None:
    """Read every reply again, and score it against its key.

    Parameters
    ----------
    drafts : sequence of Draft
        With ``response``, and ``gold`` and ``options`` where they are known.
    answers : AnswerFormat
    keep_score : bool
        Whether the platform's score stays the primary one; ours is then `RESCORED`.
    with_options : bool
        Whether ``options`` were mapped, and are none of a table's further columns.

    Raises
    ------
    PairingError
        When a reply has no key and the platform's score is not kept.
    """
    keyless = []
    known = _Known(answers)
    for draft in drafts:
        fields = draft.fields
        asked = _Asked.of(options_of(fields.pop("options", None), draft.source) if with_options else None)
        raw_gold = fields.get("gold")
        try:
            gold = None if raw_gold is None else known.canonical(raw_gold, asked)
        except PairstatsError as error:
            raise PairingError(f"The key of {draft.source} cannot be used. {error}") from error
        if raw_gold is not None and gold is None:
            raise PairingError(
                f"The key of {draft.source} must be an answer of the declared format, but is {raw_gold!r}."
            )
        fields["gold"] = gold
        if fields["status"] not in schema.MISSING:
            _reparse(draft, known, asked)
            if fields["status"] == schema.ANSWERED and gold is None:
                keyless.append(draft.source)
        scored = fields["status"] == schema.ANSWERED and gold is not None
        # The key as it was written: of the options {"1": "2", "2": "4"} the canonical key "2" is a label too.
        right = float(known.matches(fields["answer"], raw_gold, asked)) if scored else None
        fields[RESCORED if keep_score else "score"] = right
    if keyless and not keep_score:
        raise PairingError(
            f"Every reply that is scored again needs its key, but {len(keyless)} have none: "
            f"{listed(keyless)}. Map gold= to a path or to a column of the item table, or name a score= to keep."
        )


def check_replies(drafts: Sequence[Draft]) -> None:
    """Make sure that there are replies to read: else every one would pass for empty.

    Raises
    ------
    PairingError
        When no record of a request that was answered holds any.
    """
    ran = [draft for draft in drafts if draft.fields["status"] not in schema.MISSING]
    if ran and not any(draft.fields.get(name) is not None for draft in ran for name in REPLY):
        raise PairingError(
            f"`answers` reads replies, but none of {len(ran)} records holds one, the first of them "
            f"{ran[0].source}. Map response= to the field that does."
        )


def deciding_part(answers: Format) -> Callable[[str], str]:
    """Function that gives of a reply what decides how a format reads it; the whole reply, unless that is known."""
    return answers.deciding if type(answers) is AnswerFormat else str


def what_it_says(answers: Format, reply: str) -> Hashable:
    """Give of a reply to an item without options what tells it from replies that say something else."""
    part = deciding_part(answers)(reply)
    if len(part) <= SHORT_REPLY or type(answers) is not AnswerFormat:
        return part
    parsed = answers.parse(part)
    return parsed.status, parsed.answer, parsed.confidence, parsed.confidence_is_percent


class _Asked(NamedTuple):
    """Options of an item, and a key that they share with equal ones; None where they cannot be told to be equal."""

    options: Mapping[Any, Any] | None
    key: tuple[tuple[str, str], ...] | None

    @classmethod
    def of(cls, options: Mapping[Any, Any] | None) -> _Asked:
        if options is None:
            return _NO_OPTIONS
        # The numbers 1 and 1.0 are equal, and yet two texts.
        plain = all(type(text) is str for text in (*options, *options.values()))
        return cls(options, tuple(options.items()) if plain else None)


_NO_OPTIONS = _Asked(None, ())


class _Known:
    """What an answer format said of keys and replies: few of them are different."""

    def __init__(self, answers: Format) -> None:
        self._answers = answers
        self._deciding = deciding_part(answers)
        self._keys: dict[Hashable, str | None] = {}
        self._matches: dict[Hashable, bool] = {}
        self._replies: dict[Hashable, Any] = {}

    def parse(self, text: str | None, asked: _Asked) -> Any:
        part = "" if text is None else self._deciding(text)
        if text is None or asked.key is None or len(part) > SHORT_REPLY:
            return self._answers.parse(text, asked.options)
        key = part, asked.key
        if key not in self._replies:
            self._replies[key] = self._answers.parse(part, asked.options)
        return self._replies[key]

    def canonical(self, gold: Any, asked: _Asked) -> str | None:
        """Canonical key; of several that are accepted, a JSON list."""
        several = self._answers.accepted(gold) if isinstance(self._answers, AnswerFormat) else (gold,)
        if len(several) == 1:
            return self._canonical(several[0], asked)
        keys = [self._canonical(each, asked) for each in several]
        return None if None in keys else json.dumps(list(dict.fromkeys(keys)), ensure_ascii=False)

    def _canonical(self, gold: Any, asked: _Asked) -> str | None:
        if type(gold) is not str or asked.key is None:
            return self._answers.canonical(gold, asked.options)
        key = gold, asked.key
        if key not in self._keys:
            self._keys[key] = self._answers.canonical(gold, asked.options)
        return self._keys[key]

    def matches(self, answer: str | None, gold: Any, asked: _Asked) -> bool:
        if type(gold) is not str or asked.key is None:
            return self._answers.matches(answer, gold, asked.options)
        key = answer, gold, asked.key
        if key not in self._matches:
            self._matches[key] = self._answers.matches(answer, gold, asked.options)
        return self._matches[key]


def _reparse(draft: Draft, known: _Known, asked: _Asked) -> None:
    """Let the reply itself say whether it was answered; refusals stay what the platform says they are."""
    fields = draft.fields
    status, reason = fields["status"], fields.get("reason")
    text = fields.get("answer") if fields.get("response") is None else fields["response"]
    parsed = known.parse(None if text is None else as_text(text), asked)
    if status == "refused":
        fields["answer"] = None
        return
    fields["answer"] = parsed.answer
    if fields.get("confidence") is None and parsed.confidence is not None:
        fields["confidence"] = parsed.confidence
        fields["confidence_is_percent"] = parsed.confidence_is_percent
    too_long = reason is not None and (reason in _TOO_LONG or reason.endswith("_limit"))
    if parsed.status == schema.ANSWERED:
        fields["status"] = schema.ANSWERED
        fields["reason"] = "length" if reason in ("max_tokens", "context") else reason
    elif too_long:
        fields["status"], fields["reason"] = "truncated", _TOO_LONG.get(reason, reason)  # type: ignore[arg-type]
    else:
        fields["status"] = parsed.status


def options_of(value: Any, source: str) -> Mapping[Any, Any] | None:
    """Read an option map: an object, a list (labelled A, B, ...), or either as JSON text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise PairingError(
                f"The options of {source} must be a map or JSON, but are {value!r}."
            ) from error
    if isinstance(value, list | tuple):
        return {chr(ord("A") + place): text for place, text in enumerate(value)}
    if value is None or isinstance(value, Mapping):
        # A frame of items with different options fills the others' labels with null.
        return None if value is None else {k: v for k, v in value.items() if v is not None}
    raise PairingError(f"The options of {source} must be a map from label to text, but are {value!r}.")
