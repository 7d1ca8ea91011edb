"""From scores and replies to one primary score, an answer and a confidence per row."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pairstats import schema
from pairstats.errors import PairingError, ReadError, listed
from pairstats.readers.drafts import MISSING, Draft, Tally, as_text, is_nan, leave_out
from pairstats.readers.mapping import NowhereError, names_meant, names_shown, paths_of, scores_of

RESCORED = "score_answers"
"""Column of the score by `answers=`, where `score=` names another as the primary one."""
JUDGED = "primary score"
SHORT_REPLY = 40
"""Characters of a reply that others may have given too, word for word."""
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


def choose_score(
    drafts: Sequence[Draft],
    wanted: str | None,
    tallies: list[Tally],
    rescored: bool,
    keep_going: bool = False,
) -> list[Draft]:
    """Put scores in their columns as `place_scores` does, those that leave [0, 1] in ``value_<name>``."""
    kept, primary, names = place_scores(drafts, wanted, tallies, rescored, keep_going)
    _rename_unbounded(kept, [column_of(name) for name in names if name != primary])
    return kept


def place_scores(
    drafts: Sequence[Draft],
    wanted: str | None,
    tallies: list[Tally],
    rescored: bool,
    keep_going: bool = False,
) -> tuple[list[Draft], str | None, list[str]]:
    """Put the primary score in ``score`` and the others in ``score_<name>``, as numbers or null.

    Parameters
    ----------
    drafts : sequence of Draft
    wanted : str or None
        Name of the primary score, or a dotted path to it.
    tallies : list of Tally
    rescored : bool
        Whether `answers=` will score the replies, so that no primary score need be named.
    keep_going : bool, default False
        Whether records whose score is no number are left out, and counted.

    Returns
    -------
    tuple of list of Draft, str or None, list of str
        The drafts kept, the primary score, and the names of all.

    Raises
    ------
    PairingError
        When records hold several scores, none is named and the platform judges by none of them, or when the
        one named is not there.
    ReadError
        When a score is no number.
    """
    names = scores_of(drafts)
    if wanted is not None and all(draft.found.get(wanted, MISSING) is MISSING for draft in drafts):
        wanted = next((name for name in names_meant(wanted) if name in names), wanted)
    if wanted is None and len(names) > 1 and not rescored:
        wanted = _judged_by(drafts, names, tallies)
    if wanted is None and len(names) > 1 and not rescored:
        raise PairingError(
            f"`score` must name the primary score, since the records hold {len(names)}: {', '.join(names)}. "
            f"Write score={names[0]!r}; the others stay as further columns."
        )
    if wanted is not None and wanted not in names:
        if all(draft.found.get(wanted, MISSING) is MISSING for draft in drafts):
            raise NowhereError(
                f"score={wanted!r} must be a score or path of the records, but they hold "
                f"{', '.join(names) or 'no score'}. Paths: {names_shown(paths_of(tallies))}."
            )
        for draft in drafts:
            draft.scores[wanted] = None if (v := draft.found.get(wanted)) is MISSING else v
        names.append(wanted)
    primary = wanted if wanted is not None or rescored else (names[0] if names else None)
    faults = [_place_scores(draft, primary, tallies[draft.file]) for draft in drafts]
    if any(faults) and not keep_going:
        raise ReadError(next(filter(None, faults)) + f". {_LEAVE_OUT}")
    return leave_out(zip(drafts, faults, strict=True), tallies), primary, names


def _judged_by(drafts: Sequence[Draft], names: Sequence[str], tallies: list[Tally]) -> str | None:
    """Score by which the platform of every record judges it, where all say the same one; it is noted."""
    told = {tallies[draft.file].primary for draft in drafts if draft.ran}
    primary = told.pop() if len(told) == 1 else ""
    if not primary or any(primary not in draft.scores for draft in drafts if draft.ran):
        return None
    others = ", ".join(name for name in names if name != primary)
    for place in dict.fromkeys(draft.file for draft in drafts if draft.ran):
        tallies[place].notes.append(f"{JUDGED} {primary!r}, the platform's verdict; further: {others}")
    return primary


_LEAVE_OUT = "Correct it, or pass keep_going=True to leave such records out and count them."


def leave_out_of_range(
    drafts: Sequence[Draft], score_range: tuple[float, float], tallies: list[Tally]
) -> list[Draft]:
    """Leave out, and count, the records with a score outside its range.

    Parameters
    ----------
    drafts : sequence of Draft
        With their scores in place.
    score_range : tuple of float
    tallies : list of Tally

    Raises
    ------
    ReadError
        When these are most of the records with that score: then the range is wrong, not the records.
    """
    low, high = score_range
    why: dict[int, str] = {}
    for name in dict.fromkeys(name for draft in drafts for name in draft.fields if schema.is_score(name)):
        scored = [(place, v) for place, d in enumerate(drafts) if (v := d.fields.get(name)) is not None]
        outside = {place: value for place, value in scored if schema.within(value, score_range) is None}
        if 2 * len(outside) > len(scored):
            raise ReadError(
                f"{name!r} must lie in [{low:g}, {high:g}], but {len(outside)} of {len(scored)} do not: "
                f"{listed(list(outside.values()))}. So many are no slip: declare their range, score_range=(0, 100)."
            )
        why |= {p: f"{name} outside [{low:g}, {high:g}]: {value:g}" for p, value in outside.items()}
    return leave_out(((draft, why.get(place)) for place, draft in enumerate(drafts)), tallies)


def column_of(name: str) -> str:
    """Column of a score that is not the primary one."""
    return name if name.startswith("score_") else f"score_{name}"


def _place_scores(draft: Draft, primary: str | None, tally: Tally) -> str | None:
    """Write the scores of a record into its columns; give a reason where one is no number."""
    mapped = {name: value for name, value in draft.fields.items() if schema.is_score(name)}
    broken = next(((n, v) for n, v in (draft.scores | mapped).items() if not _is_number(v)), None)
    if broken is not None:
        return f"score {broken[0]!r} of {draft.source} must be a number, but is {str(broken[1])[:60]!r}"
    scored = {name: _number(value, tally) for name, value in draft.scores.items()}
    mapped = {name: _number(value, tally) for name, value in mapped.items()}
    if draft.fields["status"] in schema.MISSING:
        # A platform that scores a failed call 0 has not measured the model.
        tally.score_ignored_on_error += any(
            value is not None for value in (*scored.values(), *mapped.values())
        )
        scored, mapped = dict.fromkeys(scored), dict.fromkeys(mapped)
    for name, value in scored.items():
        draft.fields["score" if name == primary else column_of(name)] = value
    draft.fields |= mapped  # by `extra`, which says so
    return None


def _is_number(value: Any) -> bool:
    if value is None or isinstance(value, bool):
        return True
    try:
        return isinstance(value, str | int | float) and float(value) is not None
    except (ValueError, OverflowError):
        return False


def _number(value: Any, tally: Tally) -> float | None:
    """Score as a number; NaN is null, and counted."""
    number = None if value is None else float(value)
    if number is not None and is_nan(number):
        tally.nan_to_null += 1
        return None
    return number


def _rename_unbounded(drafts: Sequence[Draft], columns: Sequence[str]) -> None:
    """Call a further score ``value_<name>`` where it leaves [0, 1]: it is a measurement, not a score."""
    for column in columns:
        values = [v for draft in drafts if (v := draft.fields.get(column)) is not None]
        if any(schema.within(value, (0.0, 1.0)) is None for value in values):
            for draft in drafts:
                if column in draft.fields:
                    draft.fields["value_" + column.removeprefix("score_")] = draft.fields.pop(column)


def rescore(drafts: Sequence[Draft], answers: Format, keep_score: bool) -> None:
    """Read every reply again, and score it against its key.

    Parameters
    ----------
    drafts : sequence of Draft
        With ``response``, and ``gold`` and ``options`` where they are known.
    answers : AnswerFormat
    keep_score : bool
        Whether the platform's score stays the primary one; ours is then `RESCORED`.

    Raises
    ------
    PairingError
        When a reply has no key and the platform's score is not kept.
    """
    keyless = []
    known = _Known(answers)
    for draft in drafts:
        fields = draft.fields
        options = options_of(fields.pop("options", None), draft.source)
        raw_gold = fields.get("gold")
        gold = None if raw_gold is None else known.canonical(raw_gold, options)
        if raw_gold is not None and gold is None:
            raise PairingError(
                f"The key of {draft.source} must be an answer of the declared format, but is {raw_gold!r}."
            )
        fields["gold"] = gold
        if fields["status"] not in schema.MISSING:
            _reparse(draft, known, options)
            if fields["status"] == schema.ANSWERED and gold is None:
                keyless.append(draft.source)
        scored = fields["status"] == schema.ANSWERED and gold is not None
        # The key as it was written: of the options {"1": "2", "2": "4"} the canonical key "2" is a label too.
        right = float(known.matches(fields["answer"], raw_gold, options)) if scored else None
        fields[RESCORED if keep_score else "score"] = right
    if keyless and not keep_score:
        raise PairingError(
            f"Every reply that is scored again needs its key, but {len(keyless)} have none: "
            f"{listed(keyless)}. Map gold=, or give an item table with it, or name a score= to keep."
        )


class _Known:
    """What an answer format said of keys and answers that are texts: few of them are different."""

    def __init__(self, answers: Format) -> None:
        self._answers = answers
        self._keys: dict[str, str | None] = {}
        self._matches: dict[tuple[str | None, str], bool] = {}
        self._replies: dict[str, Any] = {}

    def parse(self, text: str | None, options: Mapping[Any, Any] | None) -> Any:
        if options is not None or text is None or len(text) > SHORT_REPLY:
            return self._answers.parse(text, options)
        if text not in self._replies:
            self._replies[text] = self._answers.parse(text, None)
        return self._replies[text]

    def canonical(self, gold: Any, options: Mapping[Any, Any] | None) -> str | None:
        if options is not None or type(gold) is not str:
            return self._answers.canonical(gold, options)
        if gold not in self._keys:
            self._keys[gold] = self._answers.canonical(gold, None)
        return self._keys[gold]

    def matches(self, answer: str | None, gold: Any, options: Mapping[Any, Any] | None) -> bool:
        if options is not None or type(gold) is not str:
            return self._answers.matches(answer, gold, options)
        if (answer, gold) not in self._matches:
            self._matches[answer, gold] = self._answers.matches(answer, gold, None)
        return self._matches[answer, gold]


def _reparse(draft: Draft, answers: _Known, options: Mapping[Any, Any] | None) -> None:
    """Let the reply itself say whether it was answered; refusals stay what the platform says they are."""
    fields = draft.fields
    status, reason = fields["status"], fields.get("reason")
    text = fields.get("answer") if fields.get("response") is None else fields["response"]
    parsed = answers.parse(None if text is None else as_text(text), options)
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


def scale_confidence(
    drafts: Sequence[Draft], scale: float | Mapping[str, float], tallies: Sequence[Tally]
) -> None:
    """Bring stated confidences to [0, 1]; what is no probability then is null, and counted.

    A file that holds numbers between 0 and 1 and numbers above 1 under one scale is noted: no scale fits both.

    Parameters
    ----------
    drafts : sequence of Draft
    scale : float or mapping of model to float
        What stands for certainty: 100 where percentages were asked for. A percent sign wins over it.
    tallies : sequence of Tally
    """
    for draft in drafts:
        stated = draft.fields.get("confidence")
        percent = draft.fields.pop("confidence_is_percent", False)
        if stated is None:
            continue
        if is_nan(stated):
            tallies[draft.file].nan_to_null += 1
            draft.fields["confidence"] = None
            continue
        if isinstance(stated, str) and stated.strip().endswith("%"):
            stated, percent = stated.strip()[:-1], True
        try:
            value = math.nan if isinstance(stated, bool) else float(stated)
        except (TypeError, ValueError):
            value = math.nan
        if not percent:
            tallies[draft.file].count_stated(_scale_of(draft, scale), int(0 < value < 1), int(value > 1))
        value /= 100.0 if percent else _scale_of(draft, scale)
        probability = schema.within(value, (0.0, 1.0))
        tallies[draft.file].confidence_out_of_range += probability is None
        draft.fields["confidence"] = probability


def _scale_of(draft: Draft, scale: float | Mapping[str, float]) -> float:
    if not isinstance(scale, Mapping):
        return float(scale)
    model = draft.fields["model"]
    if model not in scale:
        raise PairingError(
            f"`confidence_scale` must give a scale for every model, but has none for {model!r}; "
            f"it has {listed(scale, 20)}."
        )
    return float(scale[model])
