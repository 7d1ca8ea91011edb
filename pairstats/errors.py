"""Errors that say what must hold, what was found, and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class PairstatsError(ValueError):
    """Base of every error that pairstats raises on purpose."""


class ReadError(PairstatsError):
    """A run file cannot be read as what it seems to be; names file and record."""


class SchemaError(PairstatsError):
    """Records that break the paired long format.

    Attributes
    ----------
    findings : tuple of str
        Every failure found, not only the first.
    """

    def __init__(self, message: str, findings: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.findings = tuple(findings)


class PairingError(PairstatsError):
    """Records that cannot be paired as asked."""


class ProtocolError(PairstatsError):
    """A protocol file that cannot be run as written.

    Attributes
    ----------
    findings : tuple of str
        Every fault of the file with its line, where the file was read; empty otherwise.
    """

    def __init__(self, message: str, findings: Iterable[str] = ()) -> None:
        super().__init__(message)
        self.findings = tuple(findings)


def listed(values: Iterable[object], limit: int = 3) -> str:
    """Show the first few values and say how many there are in all.

    Examples
    --------
    >>> listed(["a", "b", "c", "d"])
    "'a', 'b', 'c' and 1 more"
    """
    shown = [repr(value) for value in values]
    rest = len(shown) - limit
    return ", ".join(shown[:limit]) + (f" and {rest} more" if rest > 0 else "")


def nearest(name: object, known: Iterable[str]) -> str:
    """Ask for the name that is nearly the same, where there is one.

    Examples
    --------
    >>> nearest("scor", ["model", "score"]), nearest("x", ["score"])
    (" Did you mean 'score'?", '')
    """
    near = get_close_matches(name, list(known), n=1, cutoff=0.8) if isinstance(name, str) else []
    return f" Did you mean {near[0]!r}?" if near else ""


def one_of(name: str, value: object, allowed: Iterable[object]) -> None:
    """Raise unless `value` is among `allowed`; the message lists all of them.

    Examples
    --------
    >>> one_of("kind", "exact", ["jeffreys", "cp"])
    Traceback (most recent call last):
        ...
    pairstats.errors.PairstatsError: `kind` must be one of 'jeffreys', 'cp', but got 'exact'.
    """
    options = list(allowed)
    if value not in options:
        shown = ", ".join(repr(option) for option in options)
        raise PairstatsError(f"`{name}` must be one of {shown}, but got {value!r}.")


def counted(number: int, what: str) -> str:
    """Show a count with its noun, which is given in the singular.

    Examples
    --------
    >>> counted(1, "family"), counted(2, "family"), counted(0, "reply"), counted(3, "repeat")
    ('1 family', '2 families', '0 replies', '3 repeats')
    """
    return f"{number} {what}" if number == 1 else f"{number} {plural(what)}"


def plural(noun: str) -> str:
    """Plural of an English noun that this package counts."""
    if noun.endswith("y") and noun[-2:-1] not in tuple("aeiou"):
        return f"{noun[:-1]}ies"
    return f"{noun}s"
