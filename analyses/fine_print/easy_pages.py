"""Easy packets about which page governs: one step of precedence, scope and amendments, no tie-break."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engine import Claim, Precedence, govern
from packets import Packet, Page

TITLES = {
    "rules": "Official Rules", "faq": "FAQ", "landing": "Landing Page", "blog": "Announcement Blog",
    "contest": "Contest Page", "track": "Track Page", "amendment": "Amendment 1", "guide": "Entrant Guide",
}  # fmt: skip
FILL = {
    "rules": "Entries must be the entrant's own work.",
    "faq": "Questions are answered on working days.",
    "landing": "Follow the organizer's newsletter for news.",
    "blog": "Last year's winners sent many kind letters.",
}


def page(name: str, **clauses: str) -> Page:
    """Make a page with its usual title."""
    return Page(name, TITLES[name], dict(clauses))


def decided(
    id: str, category: str, pages: Sequence[Page], question: str, kind: str, claims: Sequence[Claim],
    order: Sequence[Precedence] = (), *, track: str = "", **more: Any,
) -> Packet:  # fmt: skip
    """Make a packet about pages that disagree; the lures are what the beaten claims say."""
    ruling = govern(claims, order, track=track)
    beaten = [claim for claim in claims if repr(claim.value) != repr(ruling.value)]
    values = list({repr(claim.value): claim.value for claim in beaten}.values())
    lures = (*values, None) if ruling.value is not None else tuple(values)
    decoy = frozenset({beaten[0].clause}) if beaten else frozenset({claims[0].clause, claims[-1].clause})
    return Packet(
        id,
        category,
        tuple(pages),
        question,
        kind,
        ruling,
        more.pop("lures", lures),
        more.pop("decoy", decoy),
        **more,
    )


def explicit_authority() -> list[Packet]:
    """Rules against a friendlier page, with a sentence that says which governs."""
    made = []
    cases: list[tuple[str, str, str, str, str, Any, Any, str]] = [
        (
            "faq",
            "A team may have up to {} members.",
            "four",
            "five",
            "Is a team of five allowed?",
            False,
            True,
            "boolean",
        ),
        (
            "landing",
            "Entries close at {}.",
            "5:00 PM UTC on May 14, 2026",
            "11:59 PM UTC on May 14, 2026",
            "What is the controlling close instant in UTC?",
            "2026-05-14T17:00:00Z",
            "2026-05-14T23:59:00Z",
            "instant",
        ),
        (
            "blog",
            "The first prize is {} dollars.",
            "1,200",
            "1,500",
            "How many dollars is the first prize?",
            1200,
            1500,
            "number",
        ),
        (
            "faq",
            "Winners are named on {}.",
            "June 30, 2026",
            "July 15, 2026",
            "On which date are winners named?",
            "2026-06-30",
            "2026-07-15",
            "date",
        ),
        (
            "landing",
            "Each entrant may submit {}.",
            "one entry only",
            "as many entries as they like",
            "May an entrant submit two entries?",
            False,
            True,
            "boolean",
        ),
    ]
    for n, (other, text, ours, theirs, question, value, lure, kind) in enumerate(cases, start=1):
        rules = page(
            "rules",
            S1="Where any other page says something else, these Rules govern.",
            S2=text.format(ours),
            S3=FILL["rules"],
        )
        mark = other[0].upper()
        friendly = Page(other, TITLES[other], {f"{mark}1": FILL[other], f"{mark}2": text.format(theirs)})
        claims = [Claim("S2", "rules", value), Claim(f"{mark}2", other, lure)]
        order = [Precedence("S1", "rules", other)]
        made.append(
            decided(
                f"auth_{n:02}", "explicit_authority", (friendly, rules), question, kind, claims, order,
                twist="about" if n == 3 else "pages",
            )
        )  # fmt: skip
    return made


def scope_amendment() -> list[Packet]:
    """A page that is no amendment, and amendments that speak of one track."""
    only = "These Rules change by a numbered Amendment only, which then governs over them."
    made = []
    cases: list[tuple[str, str, str, str, str, Any, Any, str, bool]] = [
        (
            "A",
            "A reference letter is {}.",
            "required",
            "no longer required",
            "Is a reference letter required in Track A?",
            True,
            False,
            "boolean",
            False,
        ),
        (
            "B",
            "The entry fee is {} dollars.",
            "20",
            "35",
            "How many dollars is the entry fee in Track B?",
            20,
            35,
            "number",
            True,
        ),
        (
            "A",
            "The entry fee is {} dollars.",
            "15",
            "25",
            "How many dollars is the entry fee in Track A?",
            15,
            25,
            "number",
            True,
        ),
        (
            "A",
            "Late entries are {}.",
            "refused",
            "accepted for one more week",
            "Are late entries accepted in Track A?",
            False,
            True,
            "boolean",
            False,
        ),
        (
            "B",
            "Judging begins on {}.",
            "August 3, 2026",
            "August 17, 2026",
            "On which date does judging begin in Track B?",
            "2026-08-03",
            "2026-08-17",
            "date",
            True,
        ),
    ]
    for n, (track, text, ours, theirs, question, old, new, kind, amended) in enumerate(cases, start=1):
        rules = page("rules", S1=only, S2=text.format(ours), S3=FILL["rules"])
        if amended:
            second = page("amendment", A1=f"For Track B: {_lower(text.format(theirs))}")
            claims = [Claim("S2", "rules", old), Claim("A1", "amendment", new, scope="Track B")]
            order = [Precedence("S1", "amendment", "rules")]
        else:
            second = page("faq", F1=FILL["faq"], F2=f"Updated last week: {_lower(text.format(theirs))}")
            claims = [Claim("S2", "rules", old), Claim("F2", "faq", new)]
            order = [Precedence("S1", "rules", "faq")]
        lures = (old if amended and track == "B" else new, None)
        made.append(
            decided(
                f"scope_{n:02}",
                "scope_amendment",
                (rules, second),
                question,
                kind,
                claims,
                order,
                track=f"Track {track}",
                lures=lures,
                twist="pages",
                decoy=frozenset({next(reversed(second.clauses))}),
            )
        )
    return made


def unresolved_authority() -> list[Packet]:
    """Pages of equal standing without a tie-break, and controls in which they agree."""
    made = []
    cases: list[tuple[str, str, str, str, Any, Any, str]] = [
        (
            "Entries close at {}.",
            "8:00 AM UTC on March 2, 2026",
            "8:00 AM UTC on March 9, 2026",
            "What is the controlling close instant in UTC?",
            "2026-03-02T08:00:00Z",
            "2026-03-09T08:00:00Z",
            "instant",
        ),
        (
            "Entries in French are {}.",
            "welcome",
            "welcome",
            "May an entry be in French?",
            True,
            True,
            "boolean",
        ),
        (
            "A photograph may show {}.",
            "people",
            "no people",
            "May a photograph show people?",
            True,
            False,
            "boolean",
        ),
        ("The jury has {} members.", "seven", "seven", "How many members has the jury?", 7, 7, "number"),
        (
            "The runner-up gets {} dollars.",
            "300",
            "250",
            "How many dollars does the runner-up get?",
            300,
            250,
            "number",
        ),
    ]
    for n, (text, here, there, question, first, second, kind) in enumerate(cases, start=1):
        contest = page(
            "contest", C1="This page and the Entrant Guide have equal standing.", C2=text.format(here)
        )
        guide = page("guide", G1="Read this guide before you enter.", G2=text.format(there))
        claims = [Claim("C2", "contest", first), Claim("G2", "guide", second)]
        more: dict[str, Any] = (
            {"lures": (not first if kind == "boolean" else first - 1, None)} if first == second else {}
        )
        made.append(
            decided(
                f"open_{n:02}", "unresolved_authority", (contest, guide), question, kind, claims,
                twist="about" if n == 5 else "pages", decoy=frozenset({"C1"}), **more,
            )
        )  # fmt: skip
    return made


def _lower(text: str) -> str:
    return text[0].lower() + text[1:]
