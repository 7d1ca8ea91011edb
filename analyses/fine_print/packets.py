"""A packet: pages of clauses, facts, one question, and the answer that a rule engine found."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

from clock import utc

COPIES = ("base", "variant")

FORMATS = {
    "instant": "an instant in UTC, ISO 8601",
    "local_instant": "an instant in ISO 8601, with the offset that the question asks for",
    "date": "a date, YYYY-MM-DD",
    "boolean": "true or false",
    "number": "a number",
    "set": "a list of ids or names, in any order",
}
INSTRUCTIONS = """You read the rules of a fictional contest. Pages may disagree. Answer from the packet alone.
Reply with one JSON object and these keys:
"status": "determinate", or "insufficient_information" where the packet leaves more than one answer open;
"value": the answer, null where information is insufficient;
"evidence": the ids of the fewest clauses that settle it;
"reason": null, or a short label of what is missing;
"confidence": a number from 0 to 1."""
ABOUT = (
    "The organizer is a small society of hobbyists that was founded in a library.",
    "Its members meet on the second Thursday of the month and keep a shared garden.",
    "Past contests were about kites, bread and letterpress printing.",
)
"""An irrelevant page that some variants get."""


@dataclass(frozen=True, slots=True)
class Page:
    """A source: its short name, which may stand in front of a clause id, its title, and its clauses by id."""

    name: str
    title: str
    clauses: dict[str, str]


@dataclass(frozen=True, slots=True)
class Ruling:
    """What the rule engine found: a value, or None where no answer is settled, and what settles it.

    Attributes
    ----------
    value : object
        None where the packet leaves more than one answer open.
    evidence : tuple of frozenset of str
        Sets of clause ids, each of which is enough and has nothing to spare.
    """

    value: Any
    evidence: tuple[frozenset[str], ...]


@dataclass(frozen=True, slots=True)
class Packet:
    """One family: two copies of it are asked.

    Attributes
    ----------
    lures : tuple
        Wrong answers that the packet tempts to, the most tempting first; None is an abstention.
    decoy : frozenset of str
        Clauses that a careless reader would cite.
    twist : str
        What differs in the second copy: order of pages, clauses, facts or records, or a page more.
    turns : tuple of str
        Later messages of the user, which correct the packet.
    keys_as_run : tuple of frozenset of str
        Evidence that the scorer accepted at first, where that was changed.
    earlier : dict of str to str
        Clauses as they read before they were revised.
    late : dict of str to str
        Clauses that a later message brings, and their pages.
    """

    id: str
    category: str
    pages: tuple[Page, ...]
    question: str
    kind: str
    ruling: Ruling
    lures: tuple[Any, ...]
    decoy: frozenset[str]
    facts: tuple[str, ...] = ()
    records: tuple[str, ...] = ()
    twist: str = "pages"
    turns: tuple[str, ...] = ()
    offset: str = ""
    keys_as_run: tuple[frozenset[str], ...] = ()
    earlier: dict[str, str] = field(default_factory=dict)
    late: dict[str, str] = field(default_factory=dict)

    @property
    def split(self) -> str:
        return "hard" if self.id.startswith("h_") else "easy"

    @property
    def resolved(self) -> bool:
        return self.ruling.value is not None


def rendered(packet: Packet, copy: str, *, earlier: bool = False) -> list[str]:
    """Write the messages of the user for one copy; `earlier` takes the wording before it was revised."""
    shown = packet if copy == "base" else twisted(packet)
    pages = [_page(page, packet.earlier if earlier else {}) for page in shown.pages]
    parts = [INSTRUCTIONS, f"Packet {packet.id}-{copy}", *pages]
    if shown.facts:
        parts.append("Facts\n" + "\n".join(f"- {fact}" for fact in shown.facts))
    if shown.records:
        parts.append("Entries\n" + "\n".join(shown.records))
    question = f"Question: {packet.question}\nValue: {FORMATS[packet.kind]}."
    if not packet.turns:
        return ["\n\n".join([*parts, question])]
    later = [
        f"Packet {packet.id}-{copy}, correction: {turn} Answer the question again." for turn in packet.turns
    ]
    return ["\n\n".join([*parts, question]), *later]


def twisted(packet: Packet) -> Packet:
    """Make the second copy, which says the same."""
    if packet.twist == "about":
        about = {f"X{n}": text for n, text in enumerate(ABOUT, start=1)}
        return replace(packet, pages=(*packet.pages, Page("about", "About the organizer", about)))
    if packet.twist == "clauses":
        pages = tuple(replace(page, clauses=_reversed(page.clauses)) for page in packet.pages)
        return replace(packet, pages=pages)
    if packet.twist not in ("pages", "facts", "records") or len(getattr(packet, packet.twist)) < 2:
        raise ValueError(f"{packet.id} must have two {packet.twist} to put in another order")
    return replace(packet, **{packet.twist: tuple(reversed(getattr(packet, packet.twist)))})


def item_rows(packet: Packet) -> list[dict[str, Any]]:
    """Write the item table's rows: what was planned, and the key that the scorer reads."""
    sources = {
        clause: page.name for page in twisted(packet).pages for clause in page.clauses if clause[0] != "Z"
    }
    key = {
        "kind": packet.kind, "value": packet.ruling.value, "offset": packet.offset,
        "evidence": _sorted(packet.ruling.evidence), "sources": sources | packet.late,
    }  # fmt: skip
    return [
        {
            "item": f"{packet.id}-{copy}", "family": packet.id, "split": packet.split,
            "category": packet.category, "variant": copy, "twist": packet.twist, "kind": packet.kind,
            "truth": "determinate" if packet.resolved else "unresolved",
            "gold": canonical(packet.ruling.value, packet.kind),
            "revised": "wording" if packet.earlier else "key" if packet.keys_as_run else "no",
            "key": json.dumps(key, sort_keys=True),
        }
        for copy in COPIES
    ]  # fmt: skip


def canonical(value: Any, kind: str) -> str:
    """Write an answer so that equal answers have equal texts."""
    if value is None:
        return "insufficient_information"
    if kind == "set":
        return "{" + ", ".join(sorted(str(each).lower() for each in value)) + "}"
    if kind == "local_instant":
        return utc(datetime.fromisoformat(value).astimezone(UTC))
    return str(value).lower() if kind == "boolean" else str(value)


def _page(page: Page, earlier: dict[str, str]) -> str:
    lines = [f"{name}. {earlier.get(name, text)}" for name, text in page.clauses.items()]
    return f"== {page.title} [{page.name}] ==\n" + "\n".join(lines)


def _reversed(clauses: dict[str, str]) -> dict[str, str]:
    return dict(reversed(clauses.items()))


def _sorted(sets: tuple[frozenset[str], ...]) -> list[list[str]]:
    return sorted(sorted(each) for each in sets)
