"""Easy packets about dates: clock changes, the date line, business days, and what nobody tells."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from clock import business_day, instants, spoken, spoken_date, utc
from easy_pages import FILL, page
from packets import Packet, Ruling

ON_TIME = "An entry counts as late from the first second after the close."
Sets = tuple[frozenset[str], ...]


def exact_deadlines() -> list[Packet]:
    """Clock changes on the day, the date line, half a minute, and a clock without a zone."""
    faq = page("faq", F1=FILL["faq"], F2="Plan ahead: the last hour is always busy.")
    made = []

    def add(text: str, question: str, kind: str, value: Any, lures: tuple[Any, ...], **more: Any) -> None:
        cited: Sets = more.pop("cited", (frozenset({"S1"}),))
        rules = page("rules", S1=text, S2=ON_TIME, S3=FILL["rules"])
        made.append(
            Packet(
                f"dead_{len(made) + 1:02}",
                "exact_deadlines",
                (rules, faq),
                question,
                kind,
                Ruling(value, cited),
                lures,
                frozenset({"S3"}),
                **more,
            )
        )

    def closes(local: datetime, zone: str) -> str:
        return f"Entries close at {spoken(local)}, {zone} local time."

    asked = "What is the controlling close instant in UTC?"
    local = datetime(2026, 11, 1, 23, 30)
    [close] = instants("America/New_York", local)
    add(
        closes(local, "America/New_York"),
        asked,
        "instant",
        utc(close),
        (utc(close - timedelta(hours=1)), None),
    )
    local = datetime(2026, 12, 31, 18, 0)
    [close] = instants("Pacific/Kiritimati", local)
    wrong = (utc(local + timedelta(hours=14)), utc(local + timedelta(hours=10)), None)
    add(closes(local, "Pacific/Kiritimati"), asked, "instant", utc(close), wrong, twist="about")
    local = datetime(2026, 3, 29, 17, 0)
    [close] = instants("Europe/London", local)
    sent = close + timedelta(seconds=30)
    facts = (f"The entry was received at {utc(sent)}.", "The entry has 40 pages.")
    add(closes(local, "Europe/London"), "Was the entry received on time?", "boolean", sent <= close, (True, None),
        cited=(frozenset({"S1", "S2"}),), facts=facts, twist="facts")  # fmt: skip
    add("Entries close at 9:00 PM on June 30, 2026.", asked, "instant", None,
        ("2026-06-30T21:00:00Z", "2026-07-01T01:00:00Z"))  # fmt: skip
    local = datetime(2026, 3, 8, 9, 0)
    [close] = instants("America/Los_Angeles", local)
    there = [f"{(close + timedelta(minutes=330, hours=h)):%Y-%m-%dT%H:%M:%S}+05:30" for h in (0, 1)]
    add(closes(local, "America/Los_Angeles"), "When is the close in Asia/Kolkata local time, with its offset?",
        "local_instant", there[0], (there[1], None), offset="+05:30")  # fmt: skip
    return made


def business_days() -> list[Packet]:
    """Holidays, which day is day one, and a day that nobody tells."""
    made = []
    cases: list[tuple[int, str, date | None, tuple[date, ...], bool]] = [
        (5, "the notice was sent", date(2026, 5, 20), (date(2026, 5, 25),), False),
        (3, "the decision was made", date(2026, 6, 17), (date(2026, 6, 19),), True),
        (4, "the notice was sent", None, (date(2026, 9, 7),), False),
        (2, "the complaint was received", date(2026, 10, 9), (date(2026, 10, 12),), False),
        (10, "the notice was sent", date(2026, 12, 18), (date(2026, 12, 25), date(2027, 1, 1)), False),
    ]
    for n, (days, event, start, holidays, first) in enumerate(cases, start=1):
        how = "that day itself is day one" if first else "the next business day is day one"
        rules = page(
            "rules",
            S1=f"The reply is due {days} business days after {event}; {how}.",
            S2="Business days are Monday to Friday except the holidays "
            f"{' and '.join(spoken_date(day) for day in holidays)}.",
            S3=FILL["rules"],
        )
        day = start or date(2026, 9, 3)
        right = business_day(day, days, holidays, start_is_day_one=first)
        off = (
            business_day(day, days, (), start_is_day_one=first),
            business_day(day, days, holidays, start_is_day_one=not first),
        )
        facts = (
            f"{event[0].upper()}{event[1:]} on {spoken_date(start)}."
            if start
            else "Nobody knows on which day the notice was sent.",
            "The reply was written by hand.",
        )
        value = right.isoformat() if start else None
        lures = tuple(d.isoformat() for d in dict.fromkeys(off) if d != right) or (right.isoformat(),)
        lures = (*lures, None) if start else (right.isoformat(), off[1].isoformat())
        cited: Sets = (frozenset({"S1", "S2"}) if start else frozenset({"S1"}),)
        faq = page("faq", F1=FILL["faq"])
        made.append(
            Packet(
                f"bday_{n:02}", "business_days", (rules, faq), "On which date is the reply due?", "date",
                Ruling(value, cited), lures, frozenset({"S3"}), facts, twist="facts" if n % 2 else "pages",
            )
        )  # fmt: skip
    return made
