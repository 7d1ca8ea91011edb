"""Hard packets about which page governs: two steps of precedence, long pages, corrections in later messages."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from typing import Any

from boilerplate import padded
from clock import business_day, spoken_date
from easy_pages import decided, page
from engine import Claim, Need, Precedence, Test, all_met, missing
from packets import Packet, Page, Ruling


def long(packet: Packet) -> Packet:
    """Put the usual mass of clauses around those of the rules page."""
    pages = tuple(padded(p, packet.id) if p.name == "rules" else p for p in packet.pages)
    return replace(packet, pages=pages)


def two_hop_precedence() -> list[Packet]:
    """Amendment over contest or track page over rules; one is withdrawn, one round of deference has no end."""
    up = "The Contest Page governs over these Rules."
    above = "An Amendment governs over this page."
    ask_close = "What is the controlling close instant in UTC?"
    closes = [f"2026-04-{day}T12:00:00Z" for day in (10, 17, 24)]
    text = "Entries close at 12:00 PM UTC on April {}, 2026."
    pages = (
        page("rules", R1=up, R2=text.format(10)), page("contest", C1=above, C2=text.format(17)),
        page("amendment", A1=text.format(24)),
    )  # fmt: skip
    claims = [
        Claim("R2", "rules", closes[0]),
        Claim("C2", "contest", closes[1]),
        Claim("A1", "amendment", closes[2]),
    ]
    order = [Precedence("R1", "contest", "rules"), Precedence("C1", "amendment", "contest")]
    made = [
        decided(
            "h_hop_01",
            "two_hop_precedence",
            pages,
            ask_close,
            "instant",
            claims,
            order,
            lures=(closes[1], closes[0], None),
            decoy=frozenset({"R1", "C2"}),
        )
    ]
    text = "The jury decides by {}."
    pages = (
        page("rules", R1=up, R2=text.format("May 5, 2026")),
        page("contest", C1=above, C2=text.format("May 12, 2026")),
        page("amendment", A1=text.format("May 19, 2026")),
        Page("notice", "Amendment 2", {"W1": "Amendment 1 is withdrawn as if it had never been made."}),
    )
    claims = [
        Claim("R2", "rules", "2026-05-05"), Claim("C2", "contest", "2026-05-12"),
        Claim("A1", "amendment", "2026-05-19", withdrawn_by="W1"),
    ]  # fmt: skip
    made.append(
        decided(
            "h_hop_02", "two_hop_precedence", pages, "By which date does the jury decide?", "date", claims, order,
            lures=("2026-05-19", "2026-05-05", None), decoy=frozenset({"A1", "C1"}),
        )
    )  # fmt: skip
    text = "The first prize is {} dollars."
    pages = (
        page("rules", R1=up, R2=text.format(700)),
        page("contest", C1="The Official Rules govern over this page.", C2=text.format(900)),
        page("faq", F1="Prizes are paid by bank transfer."),
    )
    claims = [Claim("R2", "rules", 700), Claim("C2", "contest", 900)]
    circle = [Precedence("R1", "contest", "rules"), Precedence("C1", "rules", "contest")]
    made.append(
        decided(
            "h_hop_03",
            "two_hop_precedence",
            pages,
            "How many dollars is the first prize?",
            "number",
            claims,
            circle,
            decoy=frozenset({"C2"}),
        )
    )
    tracks: list[tuple[str, str, Any, Any, Any, str]] = [
        ("A team may have at most {} members.", "How many members may a team have?", 3, 4, 6, "number"),
        (
            "Entries by proxy are {}.",
            "Are entries by proxy allowed?",
            "not allowed",
            "not allowed",
            "allowed",
            "boolean",
        ),
    ]
    for n, (text, question, low, middle, top, kind) in enumerate(tracks, start=4):
        pages = (
            page("rules", R1="A Track Page governs over these Rules.", R2=text.format(low)),
            page("track", T1=above, T2=text.format(middle)), page("amendment", A1=text.format(top)),
        )  # fmt: skip
        low, middle, top = (v == "allowed" if kind == "boolean" else v for v in (low, middle, top))
        claims = [Claim("R2", "rules", low), Claim("T2", "track", middle), Claim("A1", "amendment", top)]
        order = [Precedence("R1", "track", "rules"), Precedence("T1", "amendment", "track")]
        made.append(
            decided(
                f"h_hop_{n:02}", "two_hop_precedence", pages, question, kind, claims, order, lures=(middle, None),
                decoy=frozenset({"R1", "T2"}),
            )
        )  # fmt: skip
    return [long(packet) for packet in made]


def long_distractors() -> list[Packet]:
    """One step of precedence, with the deciding clauses lost among many."""
    above = "Where a page for readers says something else, these Rules govern."
    cases: list[tuple[str, str, str, str, Any, Any, str]] = [
        (
            "Entries close at {}.",
            "6:00 AM UTC on May 2, 2026",
            "6:00 PM UTC on May 2, 2026",
            "What is the controlling close instant in UTC?",
            "2026-05-02T06:00:00Z",
            "2026-05-02T18:00:00Z",
            "instant",
        ),
        (
            "Work that was shown before is {}.",
            "not accepted",
            "accepted",
            "Is work that was shown before accepted?",
            False,
            True,
            "boolean",
        ),
        (
            "The travel grant is {} dollars.",
            "450",
            "600",
            "How many dollars is the travel grant?",
            450,
            600,
            "number",
        ),
        (
            "Results appear on {}.",
            "July 1, 2026",
            "July 8, 2026",
            "On which date do results appear?",
            "2026-07-01",
            "2026-07-08",
            "date",
        ),
        (
            "A description may have {} words.",
            "300",
            "500",
            "How many words may a description have?",
            300,
            500,
            "number",
        ),
    ]
    made = []
    for n, (text, ours, theirs, question, value, lure, kind) in enumerate(cases, start=1):
        equal = n == 4
        rules = page(
            "rules",
            R1="This page and the Contest Page have equal standing." if equal else above,
            R2=text.format(ours),
        )
        other = page("contest" if equal else "faq", **{"C1" if equal else "F1": "We keep it short.",
                                                       "C2" if equal else "F2": text.format(theirs)})  # fmt: skip
        second = "C2" if equal else "F2"
        claims = [Claim("R2", "rules", value), Claim(second, other.name, lure)]
        order = [] if equal else [Precedence("R1", "rules", "faq")]
        lures = (value, lure) if equal else (lure, None)
        made.append(
            decided(
                f"h_long_{n:02}",
                "long_distractors",
                (other, rules),
                question,
                kind,
                claims,
                order,
                lures=lures,
                twist="about" if n == 2 else "pages",
                decoy=frozenset({second, "R1"}),
            )
        )
    return [long(packet) for packet in made]


def multi_turn() -> list[Packet]:
    """A later message corrects the packet, and with it the answer."""
    above = "An Amendment governs over these Rules."
    faq = page("faq", F1="Corrections are announced in the forum.")
    rules = page("rules", R1=above, R2="Entries close at 3:00 PM UTC on June 12, 2026.")
    claims = [Claim("R2", "rules", "2026-06-12T15:00:00Z"), Claim("A2", "amendment", "2026-06-19T15:00:00Z")]
    order = [Precedence("R1", "amendment", "rules")]
    ask = "What is the controlling close instant in UTC?"
    made = [
        decided(
            "h_turn_01",
            "multi_turn",
            (rules, faq),
            ask,
            "instant",
            claims,
            order,
            decoy=frozenset({"R2"}),
            turns=(
                'the page Amendment 1 [amendment] was published meanwhile and reads: "A2. Entries close at 3:00 PM '
                'UTC on June 19, 2026."',
            ),
            late={"A2": "amendment"},
        )
    ]
    rules = page("rules", R1="An entrant must live in Arden or Boro.", R2="An entrant must be at least 18.")
    ruling = all_met([Test("R1", False), Test("R2", True)])
    made.append(
        Packet("h_turn_02", "multi_turn", (rules, faq), "May Rolf enter?", "boolean", ruling, (True, None),
               frozenset({"R2"}), ("Rolf lives in Boro.", "Rolf is 31."), twist="facts",
               turns=("Rolf lives in Delve; the fact above was wrong.",))
    )  # fmt: skip
    rules = page("rules", R1=above, R2="The entry fee is 12 dollars.")
    amendment = page("amendment", A1="The entry fee is 18 dollars.")
    claims = [Claim("R2", "rules", 12), Claim("A1", "amendment", 18, withdrawn_by="W1")]
    made.append(
        decided(
            "h_turn_03",
            "multi_turn",
            (rules, amendment, faq),
            "How many dollars is the entry fee?",
            "number",
            claims,
            order,
            lures=(18, None),
            decoy=frozenset({"A1"}),
            late={"W1": "notice"},
            turns=(
                'the page Notice [notice] was published meanwhile and reads: "W1. Amendment 1 is withdrawn."',
            ),
        )
    )
    start, holidays = date(2026, 4, 1), (date(2026, 4, 3), date(2026, 4, 6))
    due = business_day(start, 4, holidays)
    rules = page(
        "rules", R1="The form is due 4 business days after the notice was sent; the next business day is day one.",
        R2=f"Business days are Monday to Friday except {' and '.join(map(spoken_date, holidays))}.",
    )  # fmt: skip
    made.append(
        Packet(
            "h_turn_04",
            "multi_turn",
            (rules, faq),
            "On which date is the form due?",
            "date",
            Ruling(None, (frozenset({"R1"}),)),
            (due.isoformat(), business_day(start, 4).isoformat()),
            frozenset({"R1", "R2"}),
            (f"The notice was sent on {spoken_date(start)}.", "The form has two pages."),
            twist="facts",
            turns=("the day in the facts was a mistake; nobody knows when the notice was sent.",),
        )
    )
    rules = page(
        "rules", R1="Every entry needs a repository that anyone can open.", R2="Every entry needs a video."
    )
    ruling = missing([Need("R1", "repository", True, False), Need("R2", "video", True, False)])
    made.append(
        Packet(
            "h_turn_05",
            "multi_turn",
            (rules, faq),
            "Which required artifacts are missing? Choose among repository, video.",
            "set",
            ruling,
            (["video"], []),
            frozenset({"R2"}),
            ("Anyone can open the repository.", "There is no video."),
            twist="facts",
            turns=("the repository was set to private before the close.",),
        )
    )
    return [long(packet) for packet in made]
