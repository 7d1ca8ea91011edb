"""Hard packets about lists of entries: which ones the rules keep out, of 6 to 12 and of 40."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from typing import Any

from clock import utc
from easy_pages import page
from engine import Bar, barred
from hard_pages import long
from packets import Packet

PLACES = ("Arden", "Boro", "Cale", "Delve", "Eddy")
CLOSE = datetime(2026, 4, 30, 21, 0)
Entry = dict[str, Any]


def aggregation() -> list[Packet]:
    """Lists of 6 to 12 entries; one lacks an age."""
    sizes = ((6, "set"), (8, "number"), (12, "set"), (9, "set"), (10, "set"))
    return [
        _packet(f"h_agg_{n:02}", "aggregation", size, kind, lacking="age" if n == 4 else "")
        for n, (size, kind) in enumerate(sizes, start=1)
    ]


def aggregation_xl() -> list[Packet]:
    """Lists of 40 entries; one lacks a place."""
    return [
        _packet(f"h_aggx_{n:02}", "aggregation_xl", 40, "set", lacking="place" if n == 5 else "")
        for n in range(1, 6)
    ]


def _packet(id: str, category: str, size: int, kind: str, *, lacking: str) -> Packet:
    rng = random.Random(f"entries {id}")
    least, most = rng.choice((16, 18)), rng.choice((3, 4, 5))
    outside = sorted(rng.sample(PLACES, 2))
    close = CLOSE + timedelta(days=rng.randrange(30))
    bars = [
        Bar("R1", "received", "above", close), Bar("R2", "age", "below", least), Bar("R3", "team", "above", most),
        Bar("R4", "place", "in", outside),
    ]  # fmt: skip
    entries = [_entry(rng, k, close, least, most, outside) for k in range(1, size + 1)]
    truth = barred(entries, bars, count_others=kind == "number")
    if lacking:
        fine = [e for e in entries if e["id"] not in truth.value]
        rng.choice(fine)[lacking] = None
        truth = barred(entries, bars)
    rules = page(
        "rules",
        R1=f"Entries received after {utc(close)} are disqualified.",
        R2=f"Entrants younger than {least} years are disqualified.",
        R3=f"Teams of more than {most} are disqualified.",
        R4=f"Entries from {outside[0]} or {outside[1]} are disqualified.",
    )
    faq = page("faq", F1="Nearly every entry is valid.", F2="Small mistakes are forgiven.")
    question = (
        "Which entries are disqualified?" if kind == "set" else "How many entries are not disqualified?"
    )
    lures = _lures(rng, entries, bars, truth.value, kind)
    return long(
        Packet(id, category, (rules, faq), question, kind, truth, lures, frozenset({"R1", "R2"}),
               records=tuple(map(_line, entries)), twist="records")
    )  # fmt: skip


def _entry(rng: random.Random, k: int, close: datetime, least: int, most: int, outside: list[str]) -> Entry:
    """Draw an entry: about a third breaks a rule, often by very little."""
    entry: Entry = {
        "id": f"E{k:02}", "age": rng.randrange(least, 70), "team": rng.randrange(1, most + 1),
        "place": rng.choice([place for place in PLACES if place not in outside]),
        "received": close - timedelta(seconds=rng.choice((0, 45, 3600, 90_000))),
    }  # fmt: skip
    if k == 2 or rng.random() < 0.3:
        broken: dict[str, Any] = {
            "age": least - rng.randrange(1, 3), "team": most + 1, "place": rng.choice(outside),
            "received": close + timedelta(seconds=rng.choice((30, 600))),
        }  # fmt: skip
        name = rng.choice(sorted(broken))
        entry[name] = broken[name]
    return entry


def _line(entry: Entry) -> str:
    age = "age not stated" if entry["age"] is None else f"age {entry['age']}"
    place = entry["place"] or "place not stated"
    return f"{entry['id']} | {age} | team of {entry['team']} | {place} | received {utc(entry['received'])}"


def _lures(
    rng: random.Random, entries: list[Entry], bars: list[Bar], value: Any, kind: str
) -> tuple[Any, ...]:
    """Give two wrong answers: an entry forgotten, one too many; or where nothing is settled, two that seem so."""
    if kind == "number":
        return value + 1, value - 1, None
    out = value if value is not None else [e["id"] for e in entries if any(bar.bars(e) for bar in bars)]
    others = [entry["id"] for entry in entries if entry["id"] not in out]
    more = sorted([*out, rng.choice(others)])
    if value is None:
        unknown = next(e["id"] for e in entries if None in e.values())
        return out, sorted([*out, unknown])
    forgotten = rng.choice(out)
    return [each for each in out if each != forgotten], more, None
