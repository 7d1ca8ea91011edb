"""Score one reply: read the decision, or apply the policy by fixed code to the facts that the model wrote down.

A pure function on one row, standard library only. It needs ``response``, ``condition``, ``gold``, ``key`` (the
policy as JSON: fact, relation, value), ``status``, ``reason`` and ``platform``. It returns ``score``,
``answer``, ``status``, ``reason``, and as ``outcome`` the direction of an error:

``right``, ``too_strict``, ``too_lenient``, ``evasive`` (evidence called insufficient though it is not),
``no_answer``, ``cut_off``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date
from typing import Any

MEETS, FAILS, OPEN = "MEETS", "DOES_NOT_MEET", "INSUFFICIENT_EVIDENCE"
LADDER = {FAILS: 0, OPEN: 1, MEETS: 2}
SPELLINGS = {
    "MEET": MEETS, "MEETS": MEETS, "ELIGIBLE": MEETS,
    "DOES_NOT_MEET": FAILS, "DOESN_T_MEET": FAILS, "NOT_MEET": FAILS, "NOT_ELIGIBLE": FAILS, "INELIGIBLE": FAILS,
    "INSUFFICIENT_EVIDENCE": OPEN, "INSUFFICIENT": OPEN,
}  # fmt: skip
UNKNOWN = frozenset(("", "unknown", "not stated", "not given", "n/a", "none", "null"))
LEVELS = ("foundation", "standard", "advanced")
SAID = re.compile(r"\bdecision\b[\s\"'*_:=-]*[\"'*_]*([A-Za-z][A-Za-z' _-]*)", re.IGNORECASE)
Json = dict[str, Any]


def score(row: Mapping[str, Any]) -> Json:
    """Score the reply of one row."""
    text = visible(row["response"])
    read = applied(text, json.loads(row["key"])) if row["condition"] == "extraction" else said_decision(text)
    if read is None:
        status, reason = unread(row, text)
        outcome = "cut_off" if status == "truncated" else "no_answer"
        return {"score": 0.0, "answer": None, "outcome": outcome, "status": status, "reason": reason}
    right = read == row["gold"]
    # A reply that hit its limit but holds an answer keeps its reason.
    return {
        "score": float(right), "answer": read, "outcome": "right" if right else direction(read, row["gold"]),
        "status": "answered", "reason": "length" if row["status"] == "truncated" else None,
    }  # fmt: skip


def direction(answer: str, gold: str) -> str:
    """Name the direction of a wrong decision; calling clear evidence insufficient is evading."""
    if answer == OPEN:
        return "evasive"
    return "too_lenient" if LADDER[answer] > LADDER[gold] else "too_strict"


def unread(row: Mapping[str, Any], text: str) -> tuple[str, str | None]:
    """Status and reason of a reply without a readable answer; Kaggle stores no finish reason."""
    if row["status"] in ("refused", "truncated"):
        return row["status"], row["reason"]
    if cut_mid_word(text):
        return "truncated", "host_cutoff" if row["platform"] == "kaggle" else "length"
    return ("unparsed", None) if text else ("empty", None)


def cut_mid_word(text: str) -> bool:
    """Whether a text is JSON that was opened and never closed, and ends inside a word or a string."""
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
    opened = bare.count("{") > bare.count("}")
    return opened and bool(re.search(r"[\w'-]$", text))


def visible(text: str) -> str:
    """Reply without reasoning blocks: one without an end hides what follows, one without a start what is before."""
    said = re.sub(r"<think>.*?(</think>|\Z)", "", text, flags=re.DOTALL | re.IGNORECASE)
    return re.split(r"</think>", said, flags=re.IGNORECASE)[-1].strip()


def said_decision(text: str) -> str | None:
    """Decision of a direct reply: of its JSON, else the last one that is named so, else all that it says."""
    found = json_object(text)
    if found is not None:
        return spelled(found.get("decision"))
    if text.count("{") > text.count("}"):  # cut off: what stands there may be half a word
        return None
    named = [spelled(each) for each in SAID.findall(text)]
    known = [each for each in named if each is not None]
    if known:
        return known[-1]
    return spelled(text)


def spelled(value: Any) -> str | None:
    """Put a decision into its one spelling; None for anything else."""
    word = re.sub(r"[^A-Za-z]+", "_", str(value or "")).strip("_").upper()
    return SPELLINGS.get(word)


def json_object(text: str) -> Json | None:
    """Last JSON object of a text, with its names in lower case; a comma before the bracket is forgiven."""
    for part in reversed(re.findall(r"\{[^{}]*\}", text)):
        try:
            value = json.loads(re.sub(r",\s*\}", "}", part))
        except ValueError:
            continue
        return {str(name).strip().lower(): each for name, each in value.items()}
    return None


def applied(text: str, policy: list[list[Any]]) -> str | None:
    """Apply a policy to the facts of an extraction; None where no fact of it can be read."""
    facts = json_object(text)
    if facts is None or not any(name in facts for name, _, _ in policy):
        return None
    verdicts = [holds(facts.get(name), relation, value) for name, relation, value in policy]
    if False in verdicts:
        return FAILS
    return OPEN if None in verdicts else MEETS


def holds(stated: Any, relation: str, needed: Any) -> bool | None:
    """Whether a stated fact satisfies a requirement; None where it is unknown or of another kind."""
    mine = typed(stated, needed)
    if mine is None:
        return None
    if relation == "is":
        return bool(mine == needed)
    wanted = typed(needed, needed)
    return bool(mine >= wanted if relation == "at least" else mine <= wanted)


def typed(value: Any, like: Any) -> Any:
    """Read a value as the kind that a requirement needs: truth value, number, level or ISO date."""
    text = str("" if value is None else value).strip().strip(".").lower()
    if text in UNKNOWN:
        return None
    if isinstance(like, bool):
        known = {
            "true": True,
            "yes": True,
            "completed": True,
            "false": False,
            "no": False,
            "not completed": False,
        }
        return known.get(text)
    if isinstance(like, int):
        number = re.fullmatch(r"(-?\d+)(?:\.0+)?(?: [a-z]+)*", text)
        return None if number is None or isinstance(value, bool) else int(number[1])
    if like in LEVELS:
        level = re.sub(r"^level ", "", text)
        return LEVELS.index(level) if level in LEVELS else None
    try:
        return date.fromisoformat(text) if re.fullmatch(r"\d{4}-\d\d-\d\d", text) else None
    except ValueError:  # no day of the calendar
        return None
