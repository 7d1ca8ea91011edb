"""Hard packets about dates and several rules at once: clock changes, business days in a zone, compounds."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

from clock import after_gap, business_day, instants, local_date, spoken, spoken_date, utc
from easy_pages import page
from engine import Test, all_met
from hard_pages import long
from packets import Packet, Ruling

GAP = "If that local time does not exist because clocks move forward, the close is "


def tz_dst() -> list[Packet]:
    """Local times that do not exist or occur twice, quarter-hour offsets, and the date line."""
    faq = page("faq", F1="Do not wait for the last minute.")
    made = []

    def add(
        local: datetime, zone: str, question: str, kind: str, value: Any, lures: tuple[Any, ...], **more: Any
    ) -> None:
        clauses = {"R1": f"Entries close at {spoken(local)}, {zone} local time."}
        policy = more.pop("policy", "")
        clauses |= {"R2": policy} if policy else {}
        packet = Packet(
            f"h_tz_{len(made) + 1:02}", "tz_dst", (page("rules", **clauses), faq), question, kind,
            Ruling(value, (frozenset(clauses),)), lures, frozenset({"F1"}), **more,
        )  # fmt: skip
        made.append(long(packet))

    ask = "What is the controlling close instant in UTC?"
    first = f"{GAP}the first local time that does."
    before = f"{GAP}found with the offset in force before the change."
    local = datetime(2026, 10, 4, 2, 30)
    close = after_gap("Australia/Sydney", local)
    add(
        local,
        "Australia/Sydney",
        ask,
        "instant",
        utc(close),
        (utc(close + timedelta(minutes=30)), None),
        policy=first,
        twist="about",
    )
    local = datetime(2026, 10, 31, 23, 15)
    [close] = instants("Pacific/Honolulu", local)
    there = [f"{close + timedelta(minutes=345 + m):%Y-%m-%dT%H:%M:%S}+05:45" for m in (0, -15, -1440)]
    add(
        local,
        "Pacific/Honolulu",
        "When is the close in Asia/Kathmandu local time, with its offset?",
        "local_instant",
        there[0],
        (there[1], there[2], None),
        offset="+05:45",
        twist="clauses",
    )
    local = datetime(2026, 3, 8, 2, 15)
    close = after_gap("America/New_York", local)
    add(
        local,
        "America/New_York",
        ask,
        "instant",
        utc(close),
        (utc(close + timedelta(minutes=15)), None),
        policy=first,
    )
    local = datetime(2026, 10, 25, 2, 30)
    twice = [utc(each) for each in instants("Europe/Berlin", local)]
    add(local, "Europe/Berlin", ask, "instant", None, tuple(reversed(twice)), twist="about")
    local = datetime(2026, 10, 4, 2, 10)
    close = after_gap("Australia/Lord_Howe", local) + timedelta(minutes=10)
    add(
        local,
        "Australia/Lord_Howe",
        ask,
        "instant",
        utc(close),
        (utc(close - timedelta(minutes=10)), None),
        policy=before,
    )
    return made


def business_day_chains() -> list[Packet]:
    """Business days that are counted in a named zone, one window after another."""
    cases: list[tuple[str, tuple[int, ...], datetime | None, tuple[date, ...]]] = [
        ("Asia/Tokyo", (3,), datetime(2026, 10, 29, 23, 30), (date(2026, 11, 3),)),
        ("Australia/Sydney", (2, 5), datetime(2026, 10, 1, 15, 0), (date(2026, 10, 5),)),
        ("America/New_York", (1, 3), datetime(2026, 11, 24, 2, 0), (date(2026, 11, 26),)),
        ("Europe/London", (4,), datetime(2026, 4, 1, 23, 20), (date(2026, 4, 3), date(2026, 4, 6))),
        ("America/Los_Angeles", (2, 4), None, (date(2026, 7, 3),)),
    ]
    faq = page("faq", F1="Most winners answer within a day.")
    made = []
    for n, (zone, windows, attempt, holidays) in enumerate(cases, start=1):
        text = "The paperwork is due {} business days after the first attempted notification"
        if len(windows) == 2:
            text = "A notice counts as received {} business days after the first attempted notification"
        clauses = {"R1": text.format(windows[0]) + "; the next business day is day one."}
        if len(windows) == 2:
            clauses["R3"] = (
                f"The paperwork is due {windows[1]} business days after the notice counts as received; the next "
                "business day is day one."
            )
        listed = " and ".join(map(spoken_date, holidays))
        clauses["R2"] = f"Dates are those in {zone}. Business days are Monday to Friday except {listed}."
        right, lures = _due(zone, windows, attempt or datetime(2026, 7, 1, 18, 0), holidays)
        told = f"The first attempted notification was at {utc(attempt)}." if attempt else \
            "The time of the first attempted notification was not recorded."  # fmt: skip
        packet = Packet(
            f"h_bday_{n:02}",
            "business_day_chains",
            (page("rules", **clauses), faq),
            "On which date is the paperwork due?",
            "date",
            Ruling(right if attempt else None, (frozenset(clauses) if attempt else frozenset({"R1"}),)),
            (*lures, None) if attempt else (right, *lures),
            frozenset({"R1", "F1"}),
            (told, "The paperwork is a single form."),
            twist="clauses" if n in (1, 4) else "facts",
        )
        made.append(long(packet))
    return made


def _due(
    zone: str, windows: tuple[int, ...], attempt: datetime, holidays: tuple[date, ...]
) -> tuple[str, tuple[str, ...]]:
    """Due date, and what comes out without the holidays or on the UTC date."""
    found = []
    for start, kept in (
        (local_date(zone, attempt), holidays),
        (local_date(zone, attempt), ()),
        (attempt.date(), holidays),
    ):
        day = start
        for days in windows:
            day = business_day(day, days, kept)
        found.append(day.isoformat())
    lures = dict.fromkeys(day for day in found[1:] if day != found[0])
    return found[0], tuple(lures)


def compound() -> list[Packet]:
    """Several rules at once."""
    faq = page("faq", F1="When in doubt, enter anyway.")
    made = []
    close = datetime(2026, 5, 31, 23, 59)
    [instant] = instants("Europe/Berlin", close)
    late = {"R1": f"Entries close at {spoken(close)}, Europe/Berlin local time; what arrives later is out."}

    def add(clauses: dict[str, str], question: str, kind: str, ruling: Ruling, lures: tuple[Any, ...],
            facts: tuple[str, ...], **more: Any) -> None:  # fmt: skip
        made.append(
            long(
                Packet(
                    f"h_mix_{len(made) + 1:02}",
                    "compound",
                    (page("rules", **clauses), faq),
                    question,
                    kind,
                    ruling,
                    lures,
                    frozenset({"F1"}),
                    facts,
                    **{"twist": "facts", **more},
                )
            )
        )

    sent = instant + timedelta(minutes=40)
    tests = [Test("R1", sent <= instant + timedelta(seconds=59)), Test("R2", True), Test("R3", True)]
    ruling = all_met(tests)
    add({**late, "R2": "An entrant must live in Arden or Boro.", "R3": "A team may have up to four members."},
        "May Ada's team take part?", "boolean", ruling, (True, None),
        ("Ada's team lives in Boro.", "It has four members.", f"Its entry arrived at {utc(sent)}."))  # fmt: skip
    marks = {"R2": "age", "R3": "team", "R4": "license"}
    add({**late, "R2": "Everyone in a team must be at least 16.", "R3": "A team may have up to three members.",
         "R4": "Licensed material needs a license file."},
        "Which conditions fail? Choose among close (R1), age (R2), team (R3), license (R4).", "set",
        _failing({"R1": True, "R2": False, "R3": False, "R4": True}, {"R1": "close", **marks}),
        (["team"], ["age", "license", "team"]),
        ("The team has four members of 15, 17, 18 and 20 years.", "No licensed material is used.",
         f"The entry arrived at {utc(instant - timedelta(hours=2))}."))  # fmt: skip
    tests = [Test("R2", True), Test("R3", False)]
    add(
        {
            **late,
            "R2": "An entrant must be at least 18.",
            "R3": "Nobody who sold goods to a judge in the twelve months before the close may enter.",
        },
        "May Pia enter?",
        "boolean",
        all_met(tests),
        (True, None),
        (
            "Pia is 45.",
            "Pia's shop sold paper to a judge two months before the close.",
            "The jury knows of it and said nothing.",
        ),
        earlier={
            "R3": "Whoever sold goods to a judge in the twelve months before the close enters with the "
            "consent of the jury only, which may be silent."
        },
    )
    prize, days, step, share = 3000, 3, 100, 20
    left = prize - days * step
    add(
        {
            "R1": f"The prize is {prize} dollars.",
            "R2": f"Each day that the paperwork is late takes {step} dollars from it.",
            "R3": f"From what is left, {share} percent are withheld.",
            "R4": "Prizes below 500 dollars are free of deductions.",
        },
        "How many dollars are paid out?",
        "number",
        Ruling(left - left * share // 100, (frozenset({"R1", "R2", "R3"}),)),
        (prize - prize * share // 100 - days * step, left, None),
        (f"The paperwork was {days} days late.", "The winner lives in Cale."),
    )
    tests = [Test("R1", True), Test("R2", None), Test("R3", True)]
    add(
        {**late, "R2": "An entrant must live in Arden or Boro.", "R3": "An entrant must be at least 18."},
        "May Sven enter?",
        "boolean",
        all_met(tests),
        (True, False),
        (
            "Sven is 22.",
            "Sven's address was left blank.",
            f"Sven's entry arrived at {utc(instant - timedelta(days=1))}.",
        ),
    )
    return made


def _failing(met: dict[str, bool], names: dict[str, str]) -> Ruling:
    out = [clause for clause, holds in met.items() if not holds]
    return Ruling(sorted(names[clause] for clause in out), (frozenset(out),))
