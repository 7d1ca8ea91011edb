"""The policy language: seven kinds of requirements, their texts, and oracle A that decides from facts.

Posts, courses and thresholds are made up. A fact is a number, a level, a truth value or a date; a `Vague` one is
stated in part only.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

MEETS, FAILS, OPEN = "MEETS", "DOES_NOT_MEET", "INSUFFICIENT_EVIDENCE"
LEVELS = ("foundation", "standard", "advanced")


@dataclass(frozen=True, slots=True)
class Vague:
    """A fact that the application states in part; `recorded` is the part that a hasty reader writes down."""

    recorded: Any


@dataclass(frozen=True, slots=True)
class Requirement:
    """One requirement of a policy.

    Attributes
    ----------
    fact : str
    relation : {"at least", "at most", "is"}
    value : int, str or bool
        Dates are ISO texts.
    """

    fact: str
    relation: str
    value: Any

    def holds(self, stated: Any) -> bool:
        """Whether a known fact satisfies it."""
        if self.relation == "is":
            return bool(stated) == self.value
        mine, needed = (LEVELS.index(v) if v in LEVELS else v for v in (stated, self.value))
        return bool(mine >= needed if self.relation == "at least" else mine <= needed)


def decide(policy: Sequence[Requirement], facts: Mapping[str, Any]) -> str:
    """Oracle A: a known fact that misses a requirement decides; else a fact that is not known leaves it open."""
    known = {r: not isinstance(facts.get(r.fact), Vague | None) for r in policy}
    if any(known[r] and not r.holds(facts[r.fact]) for r in policy):
        return FAILS
    return MEETS if all(known.values()) else OPEN


@dataclass(frozen=True, slots=True)
class Post:
    """What is applied for."""

    title: str
    course: str


POSTS = (
    Post("tram conductor", "Safe Platforms"), Post("archive clerk", "Paper Care"),
    Post("pool attendant", "Water Watch"), Post("crane signaller", "Clear Signals"),
    Post("clinic receptionist", "First Contact"), Post("bakery shift lead", "Clean Hands"),
    Post("greenhouse technician", "Safe Sprays"), Post("museum guard", "Calm Rooms"),
    Post("ferry deckhand", "Lines and Knots"), Post("school caretaker", "Safe Buildings"),
    Post("parcel sorter", "Lifting Well"), Post("lift mechanic", "Locked and Tagged"),
    Post("call centre agent", "Plain Answers"), Post("stage electrician", "Power Off"),
    Post("kitchen porter", "Hot Surfaces"), Post("survey interviewer", "Fair Questions"),
    Post("night auditor", "Balanced Books"), Post("forklift driver", "Level Loads"),
    Post("dental assistant", "Sterile Trays"), Post("park ranger", "Fire Lines"),
    Post("bookbinder", "Sharp Tools"), Post("laundry supervisor", "Steam Safety"),
    Post("bus dispatcher", "Quiet Radio"), Post("lab courier", "Cold Chain"),
)  # fmt: skip

POLICY_LINES: dict[str, str] = {
    "experience_months": "at least {value} months of paid work as {title}",
    "certificate": "a trade certificate of level {value} or higher (of foundation, standard, advanced)",
    "course_completed": 'the course "{course}" is completed',
    "licence_until": "a work licence that runs to {value} or longer",
    "test_points": "at least {value} points in the entry test",
    "weekly_hours": "available for at least {value} hours a week",
    "late_reports": "no more than {value} late reports in the past year",
}
RULE = (
    "\nA stated fact that misses one of these decides: DOES_NOT_MEET. If none is missed but a fact is not stated "
    "in full, the decision is INSUFFICIENT_EVIDENCE. Otherwise it is MEETS."
)
PLAIN_LINES: dict[str, str] = {
    "experience_months": "Paid work as {title}: {value} months.",
    "certificate": "Trade certificate: level {value}.",
    "course_completed": 'Course "{course}": {value}.',
    "licence_until": "Work licence: runs to {value}.",
    "test_points": "Entry test: {value} points.",
    "weekly_hours": "Available: {value} hours a week.",
    "late_reports": "Late reports in the past year: {value}.",
}
CHANGED_LINES: dict[str, str] = {
    "experience_months": "I was paid for {value} months of work as {title}.",
    "certificate": "My trade certificate is of level {value}.",
    "course_completed": 'As to the course "{course}", it is {value}.',
    "licence_until": "You will find that my work licence runs to {value}.",
    "test_points": "In the entry test I got {value} points.",
    "weekly_hours": "I can work {value} hours a week.",
    "late_reports": "Over the past year I had this number of late reports: {value}.",
}
VAGUE_LINES: dict[str, tuple[str, str]] = {
    "experience_months": (
        "Paid work as {title}: more than {value} months, the rest is not on paper.",
        "I was paid for more than {value} months of work as {title}, how many more is not on paper.",
    ),
    "certificate": (
        "Trade certificate: level {value}, and a higher one under way, result not stated.",
        "My trade certificate is of level {value}, and I sat for a higher one, result not stated.",
    ),
    "course_completed": (
        'Course "{course}": attended, no word on whether it was completed.',
        'As to the course "{course}", it was attended, with no word on whether it was completed.',
    ),
    "licence_until": (
        "Work licence: runs past {value}, last day not readable.",
        "You will find that my work licence runs past {value}, though the last day is not readable.",
    ),
    "test_points": (
        "Entry test: {value} points or more, the sheet is torn.",
        "In the entry test I got {value} points or more, the sheet is torn.",
    ),
    "weekly_hours": (
        "Available: {value} hours a week or more, to be agreed.",
        "I can work {value} hours a week or more, to be agreed.",
    ),
    "late_reports": (
        "Late reports in the past year: {value} or more, the list is cut off.",
        "Over the past year I had this number of late reports: {value} or more, the list is cut off.",
    ),
}  # fmt: skip


def said(fact: str, value: Any, post: Post, *, changed: bool) -> str:
    """Write the sentence of an application that states a fact."""
    words = {"title": post.title, "course": post.course}
    if isinstance(value, Vague):
        return VAGUE_LINES[fact][changed].format(value=value.recorded, **words)
    if isinstance(value, bool):
        value = "completed" if value else "not completed"
    return (CHANGED_LINES if changed else PLAIN_LINES)[fact].format(value=value, **words)


def policy_text(policy: Sequence[Requirement], post: Post) -> str:
    """Write a policy as a model reads it."""
    lines = [f"Policy for the post of {post.title}. An applicant must have:"]
    for n, each in enumerate(policy, start=1):
        line = POLICY_LINES[each.fact].format(value=each.value, title=post.title, course=post.course)
        lines.append(f"{n}. {line}")
    return "\n".join(lines) + RULE


Drawn = tuple[Requirement, Any, Any, Vague]
"""A requirement with a fact that just satisfies it, one that just misses it, and one that leaves it open."""


def _counted(fact: str, needed: range, step: int) -> Callable[[random.Random], Drawn]:
    def draw(rng: random.Random) -> Drawn:
        value, gap = rng.choice(needed), rng.randint(1, step)
        return Requirement(fact, "at least", value), value + gap, value - gap, Vague(value - gap)

    return draw


def _certificate(rng: random.Random) -> Drawn:
    k = rng.choice((1, 2))
    return Requirement("certificate", "at least", LEVELS[k]), LEVELS[k], LEVELS[k - 1], Vague(LEVELS[k - 1])


def _course(rng: random.Random) -> Drawn:
    return Requirement("course_completed", "is", True), True, False, Vague("yes")


def _licence(rng: random.Random) -> Drawn:
    day, gap = date(2027, 1, 15) + timedelta(days=rng.randrange(300)), timedelta(days=rng.randint(1, 40))
    at, after, before = (each.isoformat() for each in (day, day + gap, day - gap))
    return Requirement("licence_until", "at least", at), after, before, Vague(before)


def _late(rng: random.Random) -> Drawn:
    value = rng.choice((2, 3, 4))
    return Requirement("late_reports", "at most", value), value - 1, value + 1, Vague(value - 1)


DRAWS: dict[str, Callable[[random.Random], Drawn]] = {
    "experience_months": _counted("experience_months", range(12, 49, 6), 4),
    "certificate": _certificate,
    "course_completed": _course,
    "licence_until": _licence,
    "test_points": _counted("test_points", range(50, 81, 5), 6),
    "weekly_hours": _counted("weekly_hours", range(16, 37, 4), 3),
    "late_reports": _late,
}
