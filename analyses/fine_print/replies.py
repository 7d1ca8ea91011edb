"""How each model writes: fences, reasoning blocks, spellings. What is said is the plan's; the words are drawn."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from packets import Packet

LABELS = ("missing_fact", "no_tie_break", "not_stated", "conflict")
TOLD_LABEL = {("google/gemini-2.5-flash", "h_tz_01"): "missing_fact"}
"""Label of an abstention that the write-up quotes; the others are drawn."""

OPENINGS = (
    "Here is the answer.", "The pages settle it as follows.", "I compared the clauses that speak of the question.",
    "Result:",
)  # fmt: skip
THOUGHTS = (
    "Let me list the clauses that matter.",
    "The question asks for one thing only.",
    "Most clauses are about other matters.",
    "I should check whether another page is above this one.",
    "The facts must be read against each clause.",
    "Wait, I should look at that date again.",
    'The form of the answer would be {"status": "determinate", "value": null}.',
)


@dataclass(frozen=True, slots=True)
class Style:
    """Habits of one model.

    Attributes
    ----------
    fence, opening, slips : float
        Share of replies in a code fence, with a sentence in front, with a spelling of their own.
    thinks : int
        Sentences of a reasoning block in front of the answer; 0 for none.
    """

    fence: float
    opening: float
    slips: float
    thinks: int = 0


STYLES = {
    "google/gemini-3.7-flash": Style(1.0, 0.0, 0.1),
    "google/gemini-2.5-flash": Style(0.9, 0.3, 0.3),
    "google/gemma-4-31b": Style(0.5, 0.1, 0.3),
    "qwen/qwen3-235b-a22b-instruct-2507": Style(0.3, 0.5, 0.5),
    "deepseek-ai/deepseek-r1-0528": Style(0.6, 0.2, 0.4, thinks=12),
}


def said(packet: Packet, letter: str) -> tuple[Any, frozenset[str]]:
    """Value and clauses that a letter of the plan stands for."""
    value, evidence = packet.ruling.value, (packet.keys_as_run or packet.ruling.evidence)[0]
    if letter == "C":
        return value, packet.decoy
    if letter == "K":
        return value, frozenset({"R2"})
    if letter in "12":
        lure = packet.lures[int(letter) - 1]
        return lure, evidence if lure is None else packet.decoy
    if letter == "A":
        if value is None:
            raise ValueError(f"{packet.id}: an abstention is right here")
        return None, evidence
    return value, evidence


def reply(packet: Packet, letter: str, confidence: float, model: str, rng: random.Random) -> str:
    """Write the text of a reply."""
    style = STYLES[model]
    value, evidence = said(packet, letter)
    slips = rng.random() < style.slips
    ids = sorted(evidence)
    if slips:
        rng.shuffle(ids)
    if letter == "Q":
        ids = [f"rules:{each}" if each.startswith("S") else each for each in ids]
    answer = {
        "status": _status(value, slips, rng), "value": _spelled(value, packet.kind, slips, rng),
        "evidence": ", ".join(ids) if slips and letter != "Q" and rng.random() < 0.2 else ids,
        "reason": _label(packet, value, model, rng), "confidence": _sure(confidence, slips, rng),
    }  # fmt: skip
    text = json.dumps(answer, indent=rng.choice((None, 2)))
    if slips and rng.random() < 0.15:
        text = f"{text[:-1].rstrip()},}}"  # a comma too many, which a tolerant parser forgives
    if rng.random() < style.fence:
        text = f"```json\n{text}\n```"
    if rng.random() < style.opening:
        text = f"{rng.choice(OPENINGS)}\n\n{text}"
    if style.thinks:
        text = f"<think>\n{thoughts(packet, style.thinks, rng)}\n</think>\n\n{text}"
    return text


def _label(packet: Packet, value: Any, model: str, rng: random.Random) -> str | None:
    """Give a short reason to an abstention."""
    if value is not None:
        return None
    drawn = rng.choice(LABELS)
    return TOLD_LABEL.get((model, packet.id), drawn)


def thoughts(packet: Packet, most: int, rng: random.Random) -> str:
    """Write a reasoning block, which may hold braces and half an answer."""
    count = rng.randrange(most // 2, most) * (2 if packet.split == "hard" else 1)
    return " ".join(rng.choice(THOUGHTS) for _ in range(count))


def _status(value: Any, slips: bool, rng: random.Random) -> str:
    if value is not None:
        return rng.choice(("determinate", "Determinate")) if slips else "determinate"
    return (
        rng.choice(("insufficient information", "INSUFFICIENT_INFORMATION"))
        if slips
        else "insufficient_information"
    )


def _sure(confidence: float, slips: bool, rng: random.Random) -> float | str:
    return f"{confidence:.0%}" if slips and rng.random() < 0.1 else confidence


def _spelled(value: Any, kind: str, slips: bool, rng: random.Random) -> Any:
    """Spell a value in one of the ways that mean the same."""
    if value is None or not slips:
        return value
    spell = {"instant": _instant, "boolean": _boolean, "number": _number, "set": _set}.get(kind)
    return spell(value, rng) if spell else value


def _instant(value: str, rng: random.Random) -> str:
    moment = datetime.fromisoformat(value).astimezone(UTC)
    hours = rng.choice((0, 0, 2, -5, 11))
    return moment.astimezone(timezone(timedelta(hours=hours))).isoformat()


def _boolean(value: bool, rng: random.Random) -> Any:
    return rng.choice(("yes", "Yes", "true") if value else ("no", "No", "false"))


def _number(value: float, rng: random.Random) -> str:
    return rng.choice((f"{value}", f"{value:,}", f"{value:.2f}", f"{value} dollars"))


def _set(value: Sequence[str], rng: random.Random) -> Any:
    mixed = sorted(value, key=lambda _: rng.random())
    return mixed if rng.random() < 0.7 else ", ".join(mixed)
