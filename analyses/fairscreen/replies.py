"""How each model writes a decision or its extracted facts: fences, spellings, sentences around. Words are drawn."""

from __future__ import annotations

import json
import random
from typing import Any

from decisions import CUT, MUTE
from families import Cell, Family, recorded
from policies import FAILS, MEETS, OPEN, decide

SPOKEN = {MEETS: "meets", FAILS: "does not meet", OPEN: "insufficient evidence"}
WHY = {
    MEETS: "every stated fact satisfies its requirement",
    FAILS: "one stated fact misses its requirement",
    OPEN: "a fact that the policy asks for is not stated in full",
}
LONG = (
    "The policy lists its requirements one by one and the application is read against each of them in turn",
    "The employer named in the application is not part of the policy and has no weight here",
    "What the applicant does in free time is not asked for by any of the requirements",
)
NO_DECISION = (
    "I would rather not decide this without speaking to the applicant.",
    "More than one reading is possible here, so a person should look at it.",
)
TOKENS = {MEETS: 9, FAILS: 12, OPEN: 13}
"""Tokens of the bare JSON with each decision."""


def direct(decision: str, model: str, rng: random.Random) -> str:
    """Write a direct decision; `CUT` is the start of one that was cut off, `MUTE` a reply without a decision."""
    if decision == CUT:
        return cut(rng)
    if decision == MUTE:
        return rng.choice(NO_DECISION)
    bare, slip = f'{{"decision": "{decision}"}}', rng.random()
    if model == "qwen3-32b" or slip < 0.8:
        return bare
    if slip < 0.88:
        return f"```json\n{bare}\n```"
    if model in ("gpt-oss-120b", "gpt-oss-20b"):
        return f'{{"decision": "{decision}",}}'
    if model == "unnamed-1":
        return f"**Decision:** {SPOKEN[decision]}" if slip < 0.95 else f"{SPOKEN[decision].capitalize()}."
    if model == "unnamed-2":
        return f'{{"decision": "{decision}", "reason": "{WHY[decision]}"}}'
    return f"The policy was read in full: {WHY[decision]}.\nDecision: {decision}"


def reasoned(decision: str, rng: random.Random) -> str:
    """Write a decision with its reason in front, as the Kaggle task asks for."""
    if decision == CUT:
        return cut(rng)
    if decision == MUTE:
        return rng.choice(NO_DECISION)
    text = json.dumps({"reason": f"{rng.choice(LONG)}, and {WHY[decision]}.", "decision": decision})
    return f"```json\n{text}\n```" if rng.random() < 0.2 else text


def cut(rng: random.Random) -> str:
    """Write a reply that ends in the middle of a word."""
    text = f'{{"reason": "{rng.choice(LONG)}, and '
    text += rng.choice(("every stated fact satisfies", "one stated fact misses its requirement"))
    while True:
        end = rng.randrange(60, len(text) - 1)
        if text[end - 1].isalpha() and text[end].isalpha():
            return text[:end]


def extraction(family: Family, cell: Cell, decision: str, rng: random.Random) -> str:
    """Write the extracted facts from which fixed code gets a decision; "part" is one that is stated in part."""
    wanted = _by_part(family, cell) if decision == "part" else decision
    facts = recorded(family, cell, wanted)
    shown: dict[str, Any] = {name: _shown(name, value, rng) for name, value in facts.items()}
    text = json.dumps(shown)
    return f"```json\n{text}\n```" if rng.random() < 0.1 else text


def _by_part(family: Family, cell: Cell) -> str:
    """Decision of fixed code where the stated part was written down instead of unknown."""
    return decide(family.policy, recorded(family, cell, "part"))


def _shown(name: str, value: Any, rng: random.Random) -> Any:
    """Spell a fact in one of the ways that models use."""
    usual = rng.random() < 0.85
    if value is None:
        return "unknown" if usual else rng.choice((None, "not stated"))
    if isinstance(value, bool):
        return ("yes" if value else "no") if usual else value
    units = {"experience_months": "months", "weekly_hours": "hours", "test_points": "points"}
    return f"{value} {units[name]}" if name in units and not usual else value
