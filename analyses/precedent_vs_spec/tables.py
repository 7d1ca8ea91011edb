"""36 tables in six kinds: a header states a rule, and the rows that are filled in may follow another one.

Both values of every row are computed here with integers and the calendar of the standard library; `oracle.py`
computes them again from the prompts, by other means.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

SEED = 20260923
FILLED, NEW = 6, 4
SHEETS = {"0": "w0", "1": "w1", "3": "w3", "6": "w6", "6 correct": "c6"}
"""Rows that are filled in, and how an item's id ends: wrong ones, or six correct ones."""

CONFLICT = ("1", "3", "6")


@dataclass(frozen=True, slots=True)
class Row:
    """What a row shows, its value by the header's rule, and its value by the rule of the filled rows."""

    shown: tuple[str, ...]
    rule: str
    precedent: str


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of table: six tables of it differ in place, numbers and row names.

    Attributes
    ----------
    form : {"money", "count", "date"}
        What the values are.
    rule, precedent : str
        Both rules in a few words, as replies name them.
    header : str
        What the header says, after the place.
    """

    name: str
    short: str
    form: str
    rule: str
    precedent: str
    header: str
    columns: tuple[str, ...]
    places: tuple[str, ...]
    make: Callable[[random.Random, int], Row]


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its filled rows, and the four that are to be completed at every dose."""

    id: str
    kind: Kind
    place: str
    filled: tuple[Row, ...]
    new: tuple[Row, ...]


def _ledger(rng: random.Random, n: int) -> Row:
    price = 5 * rng.randrange(12, 260)
    return Row((f"{price}.00",), *(_money(price * (100 + tax)) for tax in (10, 8)))


def _money(cents: int) -> str:
    return f"{cents // 100}.{cents % 100:02}"


def _booking(rng: random.Random, n: int) -> Row:
    arrival = date(2026, 2, 1) + timedelta(days=rng.randrange(300))
    nights = rng.randrange(1, 15)
    return Row(
        (arrival.isoformat(), (arrival + timedelta(days=nights)).isoformat()), str(nights + 1), str(nights)
    )


def _commission(rng: random.Random, n: int) -> Row:
    while True:  # amounts whose cents round up, so that the two rules differ, and none that lies halfway
        sale = rng.randrange(210, 9600)
        cents = 7 * sale
        if cents % 100 > 50:
            return Row((f"{sale}.00",), str(cents // 100 + 1), str(cents // 100))


def _dispatch(rng: random.Random, n: int) -> Row:
    while True:
        ordered = date(2026, 1, 5) + timedelta(days=rng.randrange(320))
        later = ordered + timedelta(days=3)
        by_rule = _business_days(ordered, 3)
        if by_rule != later:
            return Row((ordered.isoformat(),), by_rule.isoformat(), later.isoformat())


def _business_days(start: date, days: int) -> date:
    """Go forward one day at a time; only Monday to Friday count."""
    day = start
    while days:
        day += timedelta(days=1)
        days -= day.weekday() < 5
    return day


def _timesheet(rng: random.Random, n: int) -> Row:
    hours, minutes = rng.randrange(1, 10), rng.randrange(0, 60)
    return Row((f"{hours}:{minutes:02}",), str(60 * hours + minutes), str(100 * hours + minutes))


def _alert(rng: random.Random, n: int) -> Row:
    limit = rng.randrange(1, 4)  # readings that lie on the limit
    readings = [50] * limit + [rng.choice((*range(31, 50), *range(51, 72))) for _ in range(7 - limit)]
    rng.shuffle(readings)
    above = sum(reading > 50 for reading in readings)
    return Row((", ".join(map(str, readings)),), str(above), str(above + limit))


KINDS = (
    Kind(
        "sales_ledger", "ledger", "money", "a tax of 10%", "a tax of 8%",
        "Column total: the price with a sales tax of 10% of the price added.", ("article", "price", "total"),
        ("Nursery, till 2", "Bicycle workshop", "Paper shop", "Pottery studio", "Hardware counter", "Music store"),
        _ledger,
    ),
    Kind(
        "booking_sheet", "booking", "count", "both dates counted", "the day of departure left out",
        "Column days: how many days a guest is in the house, where the day of arrival and the day of departure "
        "are both counted.", ("guest", "arrival", "departure", "days"),
        ("Lake hostel", "Alpine hut", "Rooms over the bakery", "Harbour inn", "Camp site", "Convent house"),
        _booking,
    ),
    Kind(
        "commission", "commission", "count", "rounding to the nearest dollar", "cutting off the cents",
        "Column fee: 7% of the sale, rounded to the nearest whole dollar.", ("seller", "sale", "fee"),
        ("Spring fair", "Print gallery", "Tea wholesale", "Furniture hall", "Seed catalogue", "Vintage market"),
        _commission,
    ),
    Kind(
        "dispatch_log", "dispatch", "date", "3 business days", "3 calendar days",
        "Column shipped: three business days (Monday to Friday, no holidays) after the day of the order.",
        ("parcel", "ordered", "shipped"),
        ("Spare parts depot", "Tile works", "Wool mill", "Print shop", "Instrument maker", "Bottle store"),
        _dispatch,
    ),
    Kind(
        "timesheet", "timesheet", "count", "60 minutes an hour", "100 for each hour",
        "Column minutes: the time, given as H:MM, in minutes, an hour having 60.", ("worker", "time", "minutes"),
        ("Orchard crew", "Night desk", "Repair bay", "Archive team", "Stage crew", "Survey party"), _timesheet,
    ),
    Kind(
        "alert_report", "alert", "count", "readings above 50 only", "readings of 50 and above",
        "Column alerts: how many of the readings are strictly greater than 50.", ("sensor", "readings", "alerts"),
        ("Cold store", "Greenhouse 4", "Pump house", "Server closet", "Drying room", "Boiler cellar"),
        _alert,
    ),
)  # fmt: skip
NAMES = {
    "sales_ledger": (
        "lamp", "shelf", "saw", "kettle", "ladder", "bench", "clock", "rug", "vase", "drill", "tent", "desk"
    ),
    "booking_sheet": (
        "Aas", "Brandt", "Costa", "Dahl", "Egli", "Fuchs", "Gallo", "Horn", "Ivers", "Jansen", "Kern", "Lund"
    ),
    "commission": ("Abe", "Bea", "Cyd", "Dov", "Eli", "Fay", "Gus", "Hal", "Ida", "Jon", "Kit", "Lou"),
    "dispatch_log": tuple(f"P-{n}" for n in range(411, 423)),
    "timesheet": ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gwen", "Hugo", "Ines", "Jack", "Kay", "Leo"),
    "alert_report": tuple(f"S{n}" for n in range(1, 13)),
}  # fmt: skip


def all_tables() -> list[Table]:
    """Make the 36 tables, six of each kind."""
    return [_table(kind, k) for kind in KINDS for k in range(len(kind.places))]


def _table(kind: Kind, k: int) -> Table:
    name = f"{kind.short}-{k + 1}"
    rng = random.Random(f"{SEED} table {name}")
    called = rng.sample(NAMES[kind.name], FILLED + NEW)
    rows = []
    for n, first in enumerate(called):
        row = kind.make(rng, n)
        rows.append(Row((first, *row.shown), row.rule, row.precedent))
    return Table(name, kind, kind.places[k], tuple(rows[:FILLED]), tuple(rows[FILLED:]))


def item_id(table: Table, dose: str) -> str:
    """Id of one sheet: a table with some of its rows filled in."""
    return f"{table.id}-{SHEETS[dose]}"


def prompt(table: Table, dose: str) -> str:
    """Write what the model is asked."""
    shown, right = (6, True) if dose == "6 correct" else (int(dose), False)
    lines = [f"| row | {' | '.join(table.kind.columns)} |", "|" + " --- |" * (1 + len(table.kind.columns))]
    for n, row in enumerate((*table.filled[:shown], *table.new), start=1):
        value = "" if n > shown else row.rule if right else row.precedent
        lines.append(f"| {n} | {' | '.join((*row.shown, value))} |")
    return (
        f"Sheet {item_id(table, dose)}: {table.place}\n{table.kind.header}\n\n" + "\n".join(lines)
        + f"\n\nComplete rows {shown + 1} to {shown + NEW}. You may explain briefly. End with one line of "
        "the form\nVALUES: first; second; third; fourth"
    )  # fmt: skip


def item_rows(table: Table) -> list[dict[str, Any]]:
    """Rows of the item table: one a dose."""
    rule, precedent = [row.rule for row in table.new], [row.precedent for row in table.new]
    key = json.dumps({"form": table.kind.form, "rule": rule, "precedent": precedent}, sort_keys=True)
    return [
        {
            "item": item_id(table, dose), "table": table.id, "kind": table.kind.name, "filled": dose,
            "conflict": "yes" if dose in CONFLICT else "no", "gold": "; ".join(rule), "key": key,
        }
        for dose in SHEETS
    ]  # fmt: skip
