"""What platforms write of the end of a call, and what it is in the paired long format: one table for all readers.

State first, then score. A reader asks for the word that its platform wrote; what is more than a word (an answer
in a reply that was cut, the cause of a failure in prose) it, or `failed` and `cut`, decides. ``docs/states.md``
shows the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from pairstats.readers.reasons import error_reason, is_of_code
from pairstats.schema import ANSWERED

STOP, ERROR = "reason to stop", "error"
"""Fields that many platforms have, under this or that name."""
OTHER = "*"
"""Any other word; in a reason, the word itself."""
MESSAGE = "~"
"""Before a reason: the message tells it, and this one holds where the message tells none; see `failed`."""
ANY = "any platform"
OF_LENGTH = ("max_tokens", "context", "length")
"""Reasons of a cut that are the reply's length."""

_TABLE: Mapping[tuple[str, str], Mapping[str, str]] = {
    (ANY, STOP): {
        "length": "truncated max_tokens", "max_tokens": "truncated max_tokens",
        "max_output_tokens": "truncated max_tokens", "max_length": "truncated max_tokens",
        "model_length": "truncated context", "model_context_window_exceeded": "truncated context",
        "content_filter": "refused content_filter", "safety": "refused safety", "refusal": "refused refusal",
        "error": "error server_error", "cancelled": "error cancelled", "timeout": "error timeout",
    },
    (ANY, ERROR): {OTHER: "error ~task_error"},
    ("anthropic", STOP): {"refusal": "refused", "pause_turn": "truncated pause_turn"},
    ("anthropic", "result.type"): {"expired": "error batch_expired", "canceled": "error batch_cancelled"},
    ("anthropic", "result.error.type"): {
        "rate_limit_error": "error rate_limit", "overloaded_error": "error overloaded",
        "timeout_error": "error timeout", "api_error": "error server_error",
        "invalid_request_error": "error invalid_request", "request_too_large": "error invalid_request",
        "not_found_error": "error invalid_request", "permission_error": "error invalid_request",
        "authentication_error": "error invalid_request", "billing_error": "error invalid_request",
        OTHER: "error ~unknown",
    },
    ("bfcl", "part of error_type"): {
        "inference_error": "error inference_error", "force_terminated": "truncated force_terminated",
        "decoder_failed": "unparsed decoder", "wrong_output_format": "unparsed decoder",
    },
    ("bfcl", "result"): {"Error during inference": "error ~inference_error"},
    ("every_eval_ever", ERROR): {OTHER: "error ~sample_error"},
    ("helm", "result.success"): {"False": "error ~request_error"},
    ("inspect", ERROR): {OTHER: "error ~sample_error"},
    ("inspect", "invalidation"): {OTHER: "error invalidated"},
    ("inspect", "limit.type"): {"operator": "error operator", OTHER: "truncated *_limit"},
    ("inspect", "log.status, of a sample that never ran"): {
        "error": "absent run_error", "started": "absent unfinished", OTHER: "absent *",
    },
    ("kaggle", "state"): {
        "ERRORED": "error ~task_error", "QUEUED": "absent queued", "RUNNING": "error unfinished",
        "UNSPECIFIED": "error unspecified", OTHER: "error *",
    },
    ("kaggle", "last exception"): {"LengthFinishReasonError": "error max_tokens"},
    ("lighteval", "log-likelihood"): {"NaN": "error nan_loglikelihood"},
    ("lm_eval", "log-likelihood"): {"NaN": "error nan_loglikelihood"},
    ("metr", "fatal_error_from"): {"usageLimits": "truncated usage_limits", OTHER: "error ~*_error"},
    ("openai", STOP): {
        "length": "truncated length", "max_tokens": "truncated length", "max_output_tokens": "truncated length",
        "abort": "error cancelled", "incomplete": "truncated incomplete",
    },
    ("openai", "error.code"): {
        "batch_expired": "error batch_expired", "batch_cancelled": "error batch_cancelled",
        "content_filter": "refused content_filter",
    },
    ("openai", "status"): {
        "failed": "error unknown", "cancelled": "error cancelled", "in_progress": "error unfinished",
        "queued": "error unfinished",
    },
    ("openai", "status_code"): {
        "408": "error timeout", "429": "error rate_limit", "503": "error overloaded", "504": "error timeout",
        "529": "error overloaded", "4xx": "error invalid_request", "5xx": "error server_error",
    },
    ("openai", "message.refusal"): {OTHER: "refused"},
    ("promptfoo", "failureReason"): {"2": "error ~unknown"},
    ("promptfoo", "response.guardrails.flaggedOutput"): {"True": "refused content_filter"},
    ("promptfoo", "response.isRefusal"): {"True": "refused"},
    ("swe_bench", "list that names the instance"): {
        "no_generation": "empty no_patch", "empty_patch_ids": "empty no_patch", "no_logs": "error no_logs",
        "install_fail": "error install_fail", "error_ids": "error harness_error",
        "incomplete_ids": "absent not_run",
    },
    ("table", ERROR): {OTHER: "error ~unknown"},
    ("table", "status"): {
        "ok": "answered", "success": "answered", "completed": "answered", "no_answer": "unparsed",
        "filtered": "refused", "not_run": "absent",
        **dict.fromkeys((
            "error_api", "error_env", "error_rate_limit", "error_scorer", "error_timeout", "cancelled", "canceled",
            "expired", "rate_limited", "timeout", "timed_out",
        ), "error"),
    },
    ("tau_bench", "termination_reason"): {
        "max_steps": "truncated max_steps", "agent_error": "error agent_error", "user_error": "error user_error",
        "infrastructure_error": "error server_error", "unexpected_error": "error unexpected_error",
        "context_window_exceeded": "truncated context", "timeout": "truncated time_limit",
    },
}  # fmt: skip
"""By platform and field: what the platform writes, and status and reason for it."""
_REFUSED = re.compile(
    r"^\W*refusal\b|\b(?:stop|finish).?reason\W{0,4}refusal\b|\bmodel.?refusal\b"
    r"|\brefused to (?:answer|respond|reply|comply|help|assist|generate|complete|provide|produce|discuss|engage)\b"
    r"|\b(?:model|assistant|response) (?:has |was |has been )?refused\W*$",
    re.IGNORECASE,
)
"""What says that a model refused; servers, hosts and sandboxes refuse too: to connect, to start."""


class State(NamedTuple):
    """Status and reason of a call."""

    status: str
    reason: str | None


class Line(NamedTuple):
    """One line of the table."""

    platform: str
    field: str
    word: str
    state: State


def lines() -> Iterator[Line]:
    """Yield the table, line by line."""
    for (platform, field), words in _TABLE.items():
        for word, told in words.items():
            yield Line(platform, field, word, _state(told))


def told(platform: str, field: str, word: object, message: str | None = None) -> State | None:
    """Look up what a word means; None where the table does not have it.

    Parameters
    ----------
    platform : str
        Name of the reader. What it says of a field comes before what that means on any platform.
    field : str
    word : object
        What the platform wrote.
    message : str, optional
        What it wrote of the cause of a failure; by default the word.

    Examples
    --------
    >>> told("promptfoo", STOP, "length"), told("anthropic", STOP, "refusal")
    (State(status='truncated', reason='max_tokens'), State(status='refused', reason=None))
    >>> told("kaggle", "state", "ERRORED", "429 slow down"), told("openai", STOP, "stop")
    (State(status='error', reason='rate_limit'), None)
    """
    known, text = words(platform, field), str(word)
    found = known.get(text) or known.get(OTHER)
    if found is None or found.reason is None:
        return found
    reason = found.reason.replace(OTHER, text.lower())
    if reason.startswith(MESSAGE):
        return failed(text if message is None else message, reason.removeprefix(MESSAGE))
    return State(found.status, reason)


@cache
def words(platform: str, field: str) -> Mapping[str, State]:
    """Words of a field that say how a call ended, and what they mean."""
    told = {**_TABLE.get((ANY, field), {}), **_TABLE.get((platform, field), {})}
    return {word: _state(each) for word, each in told.items()}


def _state(text: str) -> State:
    status, _, reason = text.partition(" ")
    return State(status, reason or None)


def cut(state: State, holds_answer: object) -> State:
    """Let a reply that was cut count as answered while it holds an answer.

    Examples
    --------
    >>> cut(State("truncated", "max_tokens"), "so B"), cut(State("truncated", "time_limit"), "so B")
    (State(status='answered', reason='length'), State(status='answered', reason='time_limit'))
    """
    if state.status != "truncated" or not holds_answer:
        return state
    return State(ANSWERED, "length" if state.reason in OF_LENGTH else state.reason)


def broken(platform: str, message: str, field: str = ERROR) -> State:
    """State of a call that failed, as `failed` tells it, with the platform's own reason where that tells none.

    Parameters
    ----------
    platform : str
    message : str
        What the platform logged of the cause.
    field : str
        Where it says that the call failed.

    Examples
    --------
    >>> broken("inspect", "sandbox went away"), broken("phoenix", "sandbox went away")
    (State(status='error', reason='sample_error'), State(status='error', reason='task_error'))
    """
    reasons = (str(state.reason) for state in words(platform, field).values())
    return failed(message, next(each for each in reasons if each.startswith(MESSAGE)).removeprefix(MESSAGE))


def failed(message: str, default: str) -> State:
    """Say of a failed call from its message whether the model, or a filter before it, refused.

    Parameters
    ----------
    message : str
        What the platform logged.
    default : str
        Reason where the message tells none.

    Examples
    --------
    >>> failed("400 content_filter", "unknown"), failed("connection refused", "unknown")
    (State(status='refused', reason='content_filter'), State(status='error', reason='connection'))
    >>> failed("the model refused to answer", "unknown")
    State(status='refused', reason='refusal')
    """
    reason = error_reason(message, "")
    if reason == "content_filter":
        return State("refused", reason)
    if not reason and not is_of_code(message) and _REFUSED.search(message[:2000]):
        return State("refused", "refusal")
    return State("error", reason or default)
