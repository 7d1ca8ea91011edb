"""Calendar of the rule engine: clock changes by rule, and business days one by one. No time zone library.

Changes are computed from the rules in force in 2026; `oracle.py` computes the same from the tz database.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, timedelta

LAST = 5


@dataclass(frozen=True, slots=True)
class Change:
    """A clock change: the n-th (5: last) Sunday of a month, at minutes after midnight of `clock` time."""

    month: int
    nth: int
    minutes: int
    clock: str = "wall"

    def day(self, year: int) -> date:
        """Date of the change in a year."""
        if self.nth == LAST:
            after = date(year + self.month // 12, self.month % 12 + 1, 1)
            return after - timedelta(days=(after.weekday() + 1) % 7 or 7)
        first = date(year, self.month, 1)
        return first + timedelta(days=(6 - first.weekday()) % 7 + 7 * (self.nth - 1))


@dataclass(frozen=True, slots=True)
class Zone:
    """Standard offset in minutes, and for zones with summer time its extra minutes, begin and end."""

    offset: int
    extra: int = 60
    begin: Change | None = None
    end: Change | None = None


_US = (Change(3, 2, 120), Change(11, 1, 120))
_EU = (Change(3, LAST, 60, "utc"), Change(10, LAST, 60, "utc"))
_AU = (Change(10, 1, 120), Change(4, 1, 180))
ZONES = {
    "America/New_York": Zone(-300, 60, *_US),
    "America/Los_Angeles": Zone(-480, 60, *_US),
    "Europe/London": Zone(0, 60, *_EU),
    "Europe/Berlin": Zone(60, 60, *_EU),
    "Australia/Sydney": Zone(600, 60, *_AU),
    "Australia/Lord_Howe": Zone(630, 30, Change(10, 1, 120), Change(4, 1, 120)),
    "Asia/Tokyo": Zone(540),
    "Asia/Kolkata": Zone(330),
    "Asia/Kathmandu": Zone(345),
    "Pacific/Kiritimati": Zone(840),
    "Pacific/Honolulu": Zone(-600),
}


def changes(zone: Zone, year: int) -> list[tuple[datetime, int, int]]:
    """Give the instants (UTC) at which the clock changes in a year, with the offsets before and after."""
    if zone.begin is None or zone.end is None:
        return []
    found = []
    for change, before, after in (
        (zone.begin, zone.offset, zone.offset + zone.extra),
        (zone.end, zone.offset + zone.extra, zone.offset),
    ):
        at = datetime.combine(change.day(year), datetime.min.time()) + timedelta(minutes=change.minutes)
        found.append((at if change.clock == "utc" else at - timedelta(minutes=before), before, after))
    return sorted(found)


def offset_at(name: str, instant: datetime) -> int:
    """Offset in minutes of a zone at an instant (UTC)."""
    zone = ZONES[name]
    moves = [move for year in (instant.year - 1, instant.year) for move in changes(zone, year)]
    past = [after for at, _, after in moves if at <= instant]
    return past[-1] if past else zone.offset


def instants(name: str, local: datetime) -> list[datetime]:
    """Give all instants (UTC) at which clocks in a zone show a local time: none in a gap, two in an overlap."""
    zone = ZONES[name]
    found = {
        local - timedelta(minutes=zone.offset + extra) for extra in ({0, zone.extra} if zone.begin else {0})
    }
    return sorted(i for i in found if i + timedelta(minutes=offset_at(name, i)) == local)


def after_gap(name: str, local: datetime) -> datetime:
    """Give the first instant (UTC) after the gap that swallows a local time."""
    zone = ZONES[name]
    for at, before, after in changes(zone, local.year):
        start, end = at + timedelta(minutes=before), at + timedelta(minutes=after)
        if start <= local < end:
            return at
    raise ValueError(f"{local} is in no gap of {name}")


def local_date(name: str, instant: datetime) -> date:
    """Date that clocks in a zone show at an instant (UTC)."""
    return (instant + timedelta(minutes=offset_at(name, instant))).date()


def business_day(
    start: date, days: int, holidays: Collection[date] = (), *, start_is_day_one: bool = False
) -> date:
    """Count business days: Monday to Friday, but no listed holiday."""
    day, left = start, days
    if start_is_day_one and _works(start, holidays):
        left -= 1
    while left:
        day += timedelta(days=1)
        left -= _works(day, holidays)
    return day


def _works(day: date, holidays: Collection[date]) -> bool:
    return day.weekday() < 5 and day not in holidays


def utc(instant: datetime) -> str:
    """Write an instant as keys do."""
    return instant.strftime("%Y-%m-%dT%H:%M:%SZ")


def spoken_date(day: date) -> str:
    """Write a date as pages do.

    Examples
    --------
    >>> spoken_date(date(2026, 10, 4))
    'October 4, 2026'
    """
    return f"{day:%B} {day.day}, {day.year}"


def spoken(local: datetime) -> str:
    """Write a local time as pages do.

    Examples
    --------
    >>> spoken(datetime(2026, 10, 4, 2, 30))
    '2:30 AM on October 4, 2026'
    """
    hour, half = local.hour % 12 or 12, "AM" if local.hour < 12 else "PM"
    return f"{hour}:{local.minute:02} {half} on {spoken_date(local.date())}"
