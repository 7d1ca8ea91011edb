"""Canonical spellings: two answers are the same answer exactly if their canonical text is equal."""

from __future__ import annotations

import math
import re
import unicodedata
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from decimal import Decimal, DecimalException
from typing import Any

CURRENCY_SIGNS = ("$", "€", "£")

_INVISIBLE = dict.fromkeys((0x200B, 0x2060, 0xFEFF))  # zero-width space, word joiner, byte order mark
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_MARKUP = " \t\r\n*_`"
# Thousands are grouped by one and the same mark. A leading zero ("0,500") shows a decimal comma, so
# it is no group; an ordinary space is no mark, because "3 400" may be two numbers.
_NUMBER = re.compile(
    r"(?P<whole>[1-9][0-9]{0,2}(?P<mark>[,_'\u00a0\u202f\u2009])[0-9]{3}(?:(?P=mark)[0-9]{3})*|[0-9]*)"
    r"(?P<rest>(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?)"
)
_INSTANT = re.compile(
    r"(?P<day>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:(?:[Tt]|\x20)(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,](?P<part>[0-9]+))?)?"
    r"(?:\x20?(?P<zone>[Zz]|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?))?)?"
)
_WIDEST_PLAIN = 30  # decimal places shifted before a number is written with an exponent


def storable(text: str) -> str:
    """Replace lone surrogates, which no UTF-8 file can hold."""
    return text if text.isascii() else _LONE_SURROGATE.sub("\ufffd", text)


def native(value: Any) -> Any:
    """Turn NumPy scalars and arrays into Python values; leave all else."""
    return value.tolist() if hasattr(value, "tolist") else value


def canonical_text(value: Any, *, case_sensitive: bool) -> str | None:
    """Write text with single spaces, composed characters and, unless case counts, folded case.

    Numbers are written as numbers and booleans as in JSON; None for empty text and all else.
    """
    value = native(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float | Decimal):
        return canonical_number(value)
    if not isinstance(value, str):
        return None
    if value.isascii():  # of which no letter has another form
        return " ".join((value if case_sensitive else value.lower()).split()) or None
    text = unicodedata.normalize("NFD", storable(value).translate(_INVISIBLE))
    if not case_sensitive:
        text = unicodedata.normalize("NFD", text.casefold())
    return " ".join(unicodedata.normalize("NFC", text).split()) or None


def decimal_of(text: str) -> Decimal | None:
    """Read a plain decimal literal exactly; None if its exponent is beyond what can be held."""
    try:
        value = Decimal(text)
    except (DecimalException, ValueError):
        return None
    return value if value.is_finite() else None


def read_number(value: Any, units: tuple[str, ...] = ()) -> Decimal | None:
    """Read a number exactly, or None where it is not clearly one number.

    Commas, thin spaces and the like count as thousands marks where they group by three. Decimal
    commas, fractions, superscripts, words, NaN and infinities are not read.
    """
    value = native(value)
    if isinstance(value, bool):
        return None
    if isinstance(value, int | Decimal):
        number = Decimal(value)
        return number if number.is_finite() else None
    if isinstance(value, float):
        return Decimal(float.__repr__(value)) if math.isfinite(value) else None
    return _number_in(value, units) if isinstance(value, str) else None


def _number_in(text: str, units: tuple[str, ...]) -> Decimal | None:
    text = text.translate(_INVISIBLE).replace("\u2212", "-").strip(_MARKUP).removesuffix(".").strip(_MARKUP)
    # The sign may stand before or after a currency sign, once.
    sign = text[:1] if text[:1] in ("+", "-") else ""
    text = text[len(sign) :]
    for unit in units:
        text = text.strip().removeprefix(unit).removesuffix(unit)
    text = text.strip()
    if not sign and text[:1] in ("+", "-"):
        sign, text = text[:1], text[1:]
    match = _NUMBER.fullmatch(text)
    if match is None or not (text[:1].isdecimal() or text[1:2].isdecimal()):
        return None
    whole = match["whole"].replace(match["mark"], "") if match["mark"] else match["whole"]
    return decimal_of(f"{sign}{whole}{match['rest']}")


def write_number(number: Decimal) -> str:
    """Write a finite number in one spelling: no trailing zeros, an exponent only where it is long."""
    sign, digits, exponent = number.as_tuple()
    assert isinstance(exponent, int), "only finite numbers are written"
    written = "".join(map(str, digits)).lstrip("0")
    significant = written.rstrip("0")
    if not significant:
        return "0"
    exponent += len(written) - len(significant)
    minus = "-" if sign else ""
    if abs(exponent) > _WIDEST_PLAIN:
        return f"{minus}{significant}e{exponent:+d}"
    if exponent >= 0:
        return f"{minus}{significant}{'0' * exponent}"
    padded = significant.rjust(1 - exponent, "0")
    return f"{minus}{padded[:exponent]}.{padded[exponent:]}"


def canonical_number(value: Any, units: tuple[str, ...] = ()) -> str | None:
    """Write a number in one spelling; None if it is not clearly one number."""
    number = read_number(value, units)
    return None if number is None else write_number(number)


def canonical_instant(value: Any) -> str | None:
    """Write an ISO 8601 date or time in one spelling: in UTC if it has an offset, else without one.

    A date stays a date and a local time stays local: neither equals an instant.
    """
    value = native(value) if not isinstance(value, date) else value.isoformat()
    if not isinstance(value, str):
        return None
    match = _INSTANT.fullmatch(value.replace("\u2212", "-").strip(_MARKUP).removesuffix("."))
    if match is None:
        return None
    try:
        return _written_instant(match)
    except (ValueError, OverflowError):  # no such day or hour, or beyond the years 1 to 9999
        return None


def _written_instant(match: re.Match[str]) -> str:
    day = datetime.fromisoformat(match["day"])
    if match["hour"] is None:
        return match["day"]
    hour, minute, second = int(match["hour"]), int(match["minute"]), int(match["second"] or 0)
    if (
        minute > 59
        or second > 59
        or hour > 24
        or (hour == 24 and (minute or second or int(match["part"] or 0)))
    ):
        raise ValueError("no such time of day")
    moment = day + timedelta(hours=hour, minutes=minute, seconds=second) - _offset(match["zone"])
    part = (match["part"] or "").rstrip("0")
    return moment.isoformat() + (f".{part}" if part else "") + ("Z" if match["zone"] else "")


def _offset(zone: str | None) -> timedelta:
    if zone is None or zone[0] not in "+-":
        return timedelta(0)
    hours, minutes = int(zone[1:3]), int(zone[-2:] if len(zone) > 3 else 0)
    if hours > 23 or minutes > 59:
        raise ValueError("no such offset")
    return timedelta(hours=hours, minutes=minutes) * (-1 if zone[0] == "-" else 1)


@dataclass(frozen=True, slots=True)
class StatedConfidence:
    """A confidence as a reply states it.

    Attributes
    ----------
    value : float or None
        The stated number, unscaled ("85%" is 85.0) and perhaps out of range; None if there is none.
    is_percent : bool
        Whether a percent sign was written. Which scale a bare number has is for the caller to declare.
    """

    value: float | None = None
    is_percent: bool = False


def parse_confidence(value: Any) -> StatedConfidence:
    """Read a stated confidence: a number, or text holding only a number or a percentage.

    Parameters
    ----------
    value : object
        What stands in the confidence field.

    Returns
    -------
    StatedConfidence
        Empty for words, ranges, booleans, NaN, infinities and anything else.

    Examples
    --------
    >>> parse_confidence("85%")
    StatedConfidence(value=85.0, is_percent=True)
    >>> parse_confidence(0.85)
    StatedConfidence(value=0.85, is_percent=False)
    >>> parse_confidence("eighty")
    StatedConfidence(value=None, is_percent=False)
    """
    percent = False
    if isinstance(value, str):
        text = value.strip(_MARKUP)
        percent = text.endswith("%")
        value = text.removesuffix("%")
    number = read_number(value)
    stated = None if number is None else float(number)
    return (
        StatedConfidence(stated, percent)
        if stated is not None and math.isfinite(stated)
        else StatedConfidence()
    )
