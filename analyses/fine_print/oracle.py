"""A second oracle for calendar and aggregation packets: it reads the text of a prompt and nothing else.

Time zones come from the tz database (`zoneinfo`), business days from NumPy, aggregation from the sentences of the
clauses. It shares no code with the rule engine; the tests hold every key against it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np

MONTHS = [
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
]  # fmt: skip
DATE = rf"({'|'.join(MONTHS)}) (\d{{1,2}}), (\d{{4}})"
CLOSE = re.compile(rf"close at (\d{{1,2}}):(\d\d) (AM|PM) on {DATE}, (\w+/\w+) local time")
STAMP = r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)"
WINDOW = re.compile(
    r"(\d+) business days after ([a-z ]+?); (that day itself|the next business day) is day one"
)
UNKNOWN = "insufficient_information"


def solve(prompt: str) -> str:
    """Answer a calendar or aggregation packet in the canonical spelling of the keys."""
    if "disqualified" in prompt:
        return aggregation(prompt)
    if "business days after" in prompt:
        return business_days(prompt)
    if "calendar days after" in prompt:
        return calendar_days(prompt)
    return deadline(prompt)


def deadline(prompt: str) -> str:
    """Instant of a close, or whether an entry arrived before it."""
    found = CLOSE.search(prompt)
    if found is None:
        return UNKNOWN  # a clock without a zone
    hour, minute, half, month, day, year, name = found.groups()
    local = datetime(
        int(year), MONTHS.index(month) + 1, int(day), int(hour) % 12 + 12 * (half == "PM"), int(minute)
    )
    zone = ZoneInfo(name)
    early, late = (local.replace(tzinfo=zone, fold=fold).astimezone(UTC) for fold in (0, 1))
    shown = early.astimezone(zone).replace(tzinfo=None)
    if shown != local:  # in a gap
        if "first local time that does" in prompt:
            while early.astimezone(zone).utcoffset() != local.replace(tzinfo=zone, fold=0).utcoffset():
                early -= timedelta(minutes=1)
            early += timedelta(minutes=1)
    elif early != late:
        return UNKNOWN  # twice, and no rule which
    received = re.search(rf"(?:received|arrived) at {STAMP}", prompt)
    if "on time" in prompt and received:
        return str(datetime.fromisoformat(received[1]) <= early).lower()
    return early.strftime("%Y-%m-%dT%H:%M:%SZ")


def business_days(prompt: str) -> str:
    """Date at the end of one or two windows of business days."""
    listed = re.search(r"Business days are .*? except (.*)\.", prompt)
    assert listed is not None
    calendar = np.busdaycalendar(holidays=[_date(each) for each in re.finditer(DATE, listed[1])])
    windows = WINDOW.findall(prompt)
    windows.sort(
        key=lambda window: "counts as received" in window[1]
    )  # the window that starts from a fact is first
    facts = prompt.split("Facts\n")[1]
    told, stamp = re.search(DATE, facts), re.search(STAMP, facts)
    if stamp:
        zone = re.search(r"Dates are those in (\w+/\w+)\.", prompt)
        assert zone is not None
        day = np.datetime64(datetime.fromisoformat(stamp[1]).astimezone(ZoneInfo(zone[1])).date())
    elif told and "nobody knows" not in prompt:
        day = np.datetime64(_date(told))
    else:
        return UNKNOWN
    for days, _, first in windows:
        if first.startswith("that day"):
            day = np.busday_offset(day, int(days) - 1, roll="forward", busdaycal=calendar)
        else:
            day = np.busday_offset(day, int(days), roll="backward", busdaycal=calendar)
    return str(day)


def calendar_days(prompt: str) -> str:
    """Date some calendar days after the first attempt; unknown where the clause starts from an undated event."""
    window = re.search(r"(\d+) calendar days after the (first attempt|tax form)", prompt)
    start = re.search(rf"first attempt to notify was on {DATE}", prompt)
    assert window is not None
    assert start is not None
    if window[2] == "tax form":
        return UNKNOWN
    return str(np.datetime64(_date(start)) + np.timedelta64(int(window[1]), "D"))


def aggregation(prompt: str) -> str:
    """Entries that the clauses disqualify, each clause read from its sentence."""
    after = re.search(rf"received after {STAMP} are disqualified", prompt)
    younger = re.search(r"younger than (\d+) years are disqualified", prompt)
    larger = re.search(r"Teams of more than (\d+) are disqualified", prompt)
    places = re.search(r"Entries from (\w+) or (\w+) are disqualified", prompt)
    assert after
    assert younger
    assert larger
    assert places
    entry = re.compile(
        rf"^(E\d\d) \| age (\d+|not stated) \| team of (\d+) \| (\w+|place not stated) \| received {STAMP}$"
    )
    out, n, is_open = set(), 0, False
    for line in prompt.splitlines():
        found = entry.match(line)
        if found is None:
            continue
        n += 1
        name, age, team, place, received = found.groups()
        if (
            received > after[1]  # one form of time stamp, which sorts as text
            or int(team) > int(larger[1])
            or place in places.groups()
            or (age.isdecimal() and int(age) < int(younger[1]))
        ):
            out.add(name.lower())
        elif "not stated" in (age, place[-10:]):
            is_open = True
    if is_open:
        return UNKNOWN
    if "How many entries are not disqualified?" in prompt:
        return str(n - len(out))
    return "{" + ", ".join(sorted(out)) + "}"


def _date(found: re.Match[str]) -> str:
    month, day, year = found.groups()[-3:]
    return f"{year}-{MONTHS.index(month) + 1:02}-{int(day):02}"
