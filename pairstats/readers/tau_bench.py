"""Results of tau-bench (a list of trials) and tau2-bench (an object with ``simulations``).

A trial whose simulation broke has an ``error`` in ``info`` and a reward of 0.0: it is an error, and its reward
is ignored and counted. The first version names no model.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pairstats.readers.base import LeftOut, ReadOptions, RunFile
from pairstats.readers.documents import open_object
from pairstats.readers.each import expect
from pairstats.readers.jsonlines import dig
from pairstats.readers.outline import Outline
from pairstats.readers.rowlog import RowLog, first, keys, reply_or_unknown, score_of, sheet_rows
from pairstats.readers.sheets import Row
from pairstats.readers.states import State, told

_FIRST = keys("tau-bench", ("task_id", "trial", "reward"), kinds=("array",))
_SECOND = keys("tau2-bench", ("info", "tasks"), kinds=("object",), evidence=b'"agent_info"')

_SIMULATIONS = ("simulations",)


def _detect(file: RunFile, seen: Outline) -> str:
    return _FIRST(file, seen) or _SECOND(file, seen)


def _rows(file: RunFile, options: ReadOptions) -> Iterator[tuple[int | str, Row | LeftOut]]:
    if file.head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"["):
        yield from sheet_rows(file, options)
        return
    opened = open_object(file, _SIMULATIONS)
    whole = opened.head
    model = dig(whole, "info", "agent_info", "llm")
    domain = dig(whole, "info", "environment_info", "domain_name")
    for number, row in opened.listed(_SIMULATIONS):
        about = {"model": model, "study": domain}
        yield f"simulations.{number + 1}", {**row, **about} if isinstance(row, dict) else row


def _outcome(row: Row) -> State | None:
    """State of a simulation that did not end by itself; ``too_many_errors`` is the agent's doing."""
    ending = "termination_reason"
    return told("tau_bench", ending, str(row.get(ending)).rsplit(".", 1)[-1])


def _reply(row: Row) -> Any:
    """What the agent said last; `MISSING` where it only acted, or the trajectory is not there."""
    expect(row, "trial", {"traj": list, "messages": list})
    turns = row.get("traj") or row.get("messages") or []
    said = [turn.get("content") for turn in turns if dig(turn, "role") == "assistant"]
    return reply_or_unknown(said[-1] if said else None)


READER = RowLog(
    name="tau_bench",
    detect=_detect,
    looks_for="list of trials with a reward, and no object with simulations",
    fields={
        "item": ("task_id",),
        "repeat": ("trial",),
        "model": ("model",),
        "study": ("study",),
        "cost_usd": ("agent_cost",),
        "latency_s": ("duration",),
    },
    question="info.task.instruction",
    rows=_rows,
    scores=lambda row: {"reward": score_of(first(row, ("reward", "reward_info.reward")))},
    errors=("info.error",),
    outcome=_outcome,
    reply=_reply,
)
