"""One Inspect sample: what became of it, what was answered, and how it was scored."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from pairstats.readers.base import digest
from pairstats.readers.prompts import identified
from pairstats.readers.states import OTHER, STOP, broken, cut, told, words

Json = Mapping[str, Any]

_NO_ANSWER = "N"
_UNMATCHED = "Scoring pattern not matched in output"
"""How the scorers `pattern` and `answer` explain that they found no answer, which they do not write else."""
_WORDS = {"C": 1.0, "I": 0.0, "P": 0.5, "yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
"""Inspect's letters for correct, incorrect and partial, and the words its own metrics take for numbers."""


def scores_of(sample: Json) -> dict[str, float | None]:
    """Flatten a sample's scores to numbers by name.

    Parameters
    ----------
    sample : mapping

    Returns
    -------
    dict of str to float or None
        ``"scorer"``, or ``"scorer.key"`` where the value is an object or a list. NaN is kept, for the
        caller to count; None where the scorer found no answer. Text that is no number is no score.
    """
    found: dict[str, float | None] = {}
    for scorer, score in _scores(sample).items():
        for name, value in _flat(scorer, score.get("value")):
            number = _number(value)
            if number is not None or value is None or value == _NO_ANSWER:
                found[name] = number
    return found


def _scores(sample: Json) -> dict[str, Json]:
    scores = sample.get("scores") or {}
    if not scores and isinstance(sample.get("score"), Mapping):  # before several scorers were possible
        scores = {"score": sample["score"]}
    return {name: score for name, score in scores.items() if isinstance(score, Mapping)}


def _flat(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _flat(f"{name}.{key}", part)
    elif isinstance(value, list):
        for position, part in enumerate(value):
            yield from _flat(f"{name}.{position}", part)
    else:
        yield name, value


def _number(value: Any) -> float | None:
    if isinstance(value, bool | int | float):
        return float(value)
    if isinstance(value, str) and value != _NO_ANSWER:
        word = _WORDS.get(value, _WORDS.get(value.lower()))
        if word is not None:
            return word
        try:
            return float(value)
        except ValueError:
            return None
    return None


def fields_of(sample: Json, eval_: Json, score: str | None) -> dict[str, Any]:
    """Give the schema columns that a sample determines.

    Parameters
    ----------
    sample, eval_ : mapping
        The sample, and the ``eval`` part of the log's header.
    score : str or None
        Name of the primary score; its scorer says what the answer is. Without it the first scorer does.

    Returns
    -------
    dict
    """
    text = _response(sample)
    primary = _primary(_scores(sample), score)
    answer = primary.get("answer")
    status, reason = _status(sample, text, primary)
    retries = len(failures_of(sample))
    return {
        "item": str(sample["id"]),
        "repeat": epoch_of(sample) - 1,
        "model": eval_.get("model"),
        "status": status,
        "reason": reason,
        "response": text,
        "answer": _text(answer),
        "gold": _text(sample.get("target")),
        "latency_s": sample.get("total_time"),
        "attempts": retries + 1 if retries else None,
        **identified(_prompt(sample), (sample.get("output") or {}).get("response_id")),
        **_usage(sample, eval_),
    }


def epoch_of(sample: Json) -> int:
    """Give the number of a sample's epoch, from 1.

    Raises
    ------
    ValueError
        When there is one that is no whole number.

    Examples
    --------
    >>> epoch_of({"epoch": 2}), epoch_of({})
    (2, 1)
    """
    epoch = sample.get("epoch") or 1
    number = int(epoch)
    if isinstance(epoch, float) and number != epoch:
        raise ValueError(f"its epoch is {epoch!r}")
    return number


def failures_of(sample: Json, failed: bool = False) -> tuple[str, ...]:
    """Digests of the errors after which a sample was tried again, and with `failed` of its last one.

    A log that ``inspect eval-retry`` wrote keeps the errors of the logs before it.

    Examples
    --------
    >>> len(failures_of({"error_retries": [{"message": "429"}], "error": {"message": "429"}}, failed=True))
    2
    """
    last = [sample.get("error") or "invalidated"] if failed else []
    errors = [*(sample.get("error_retries") or ()), *last]
    told = [error if isinstance(error, Mapping) else {"message": error} for error in errors]
    return tuple(digest(error.get("message"), error.get("traceback")) for error in told)


def when_of(sample: Json, eval_: Json) -> float | None:
    """Give the end of a sample, else its start or that of its run, in seconds since 1970.

    Examples
    --------
    >>> when_of({"completed_at": "1970-01-01T00:01:00+00:00"}, {})
    60.0
    """
    for stamp in (sample.get("completed_at"), sample.get("started_at"), eval_.get("created")):
        try:
            instant = datetime.fromisoformat(stamp)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            continue
        return (instant if instant.tzinfo else instant.replace(tzinfo=UTC)).timestamp()
    return None


def _prompt(sample: Json) -> Any:
    """Messages before the first that the model made (worked examples are none), else the sample's input."""
    messages = sample.get("messages")
    if not isinstance(messages, list) or not messages:
        return sample.get("input")
    spoken = [n for n, message in enumerate(messages) if message.get("role") == "assistant"]
    made = [n for n in spoken if messages[n].get("source") == "generate" or messages[n].get("model")]
    end = (made[:1] or spoken[-1:] or [len(messages)])[0]
    attached = sample.get("attachments") or {}
    return [
        {"role": each.get("role"), "content": _unattached(each.get("content"), attached)}
        for each in messages[:end]
    ]


def _unattached(content: Any, attached: Json) -> Any:
    return (
        attached.get(content.removeprefix("attachment://"), content) if isinstance(content, str) else content
    )


def _primary(scores: Mapping[str, Json], wanted: str | None) -> Json:
    if wanted is not None:
        for scorer, score in scores.items():
            if wanted == scorer or wanted.startswith(scorer + "."):
                return score
    return next(iter(scores.values()), {})


def _choice(sample: Json) -> Json:
    choices = (sample.get("output") or {}).get("choices") or [{}]
    return choices[0] or {}


def _response(sample: Json) -> str | None:
    """Text of the reply without reasoning blocks; None where the model gave none."""
    choice, output = _choice(sample), sample.get("output") or {}
    if choice.get("stop_reason") == "model_length" and not output.get("usage"):
        return None  # the host's own words on why it refused the call, logged as if they were a reply
    message = choice.get("message")
    if message is None and "output" not in sample:
        spoken = [m for m in sample.get("messages") or [] if m.get("role") == "assistant"]
        message = spoken[-1] if spoken else None
    if message is None:
        return None
    content = message.get("content")
    if isinstance(content, list):
        blocks = [block for block in content if block.get("type", "text") == "text"]
        content = "\n".join(str(block.get("text", "")) for block in blocks)
    text = "" if content is None else str(content)
    return str((sample.get("attachments") or {}).get(text.removeprefix("attachment://"), text))


def _status(sample: Json, text: str | None, primary: Json) -> tuple[str, str | None]:
    """Say what became of a sample; the order of the questions is the rule (design, section 8)."""
    if sample.get("error"):
        error = sample["error"]
        message = str(error.get("message", "") if isinstance(error, Mapping) else error)
        return broken("inspect", message)
    if sample.get("invalidation"):
        return words("inspect", "invalidation")[OTHER]
    ended = told("inspect", STOP, _choice(sample).get("stop_reason"))
    if ended and ended.status != "truncated":
        return ended
    held = _holds_answer(text, primary)
    limit = (sample.get("limit") or {}).get("type")
    if limit == "operator" and held:
        return "answered", "operator_limit"
    if limit:
        ended = told("inspect", "limit.type", limit)
    if ended:
        return cut(ended, held)
    return ("answered" if held else "unparsed" if text and text.strip() else "empty"), None


def _holds_answer(text: str | None, primary: Json) -> bool:
    """Whether the reply holds an answer, as far as the scorer says; without a scorer any text does."""
    value, answer = primary.get("value"), primary.get("answer")
    if value == _NO_ANSWER or (not answer and str(primary.get("explanation")).startswith(_UNMATCHED)):
        return False
    if answer is not None and answer != "":
        return True
    if _is_credit(value):
        return True  # an agent that solved its task need not end on words
    return answer is None and bool(text and text.strip())


def _is_credit(value: Any) -> bool:
    number = _number(value)
    return number is not None and not math.isnan(number) and number > 0


def _text(value: Any) -> str | None:
    """Write an answer or target: a list of one is that one, an empty one is none; longer lists are JSON."""
    if value is None or isinstance(value, str):
        return value
    if value == []:
        return None
    if isinstance(value, list) and len(value) == 1:
        return _text(value[0])
    return json.dumps(value, ensure_ascii=False, allow_nan=True)


def _usage(sample: Json, eval_: Json) -> dict[str, Any]:
    """Tokens and cost of the model under test; of all models where it has no entry of its own.

    A model that grades has its own entry, and its tokens are not the answer's.
    """
    by_model = sample.get("model_usage") or {}
    own = by_model.get(eval_.get("model"))
    parts = [own] if own else list(by_model.values())
    return {
        "input_tokens": _total(parts, "input_tokens"),
        "output_tokens": _total(parts, "output_tokens"),
        "cost_usd": _total(parts, "total_cost"),
    }


def _total(parts: list[Json], name: str) -> float | None:
    known = [part[name] for part in parts if part.get(name) is not None]
    return sum(known) if known else None
