"""When two names mean one model: a provider before it or a date behind it may be left out, and nothing else.

``gpt-4o`` is served as ``gpt-4o-2024-08-06``, but ``gpt-4o-mini`` is another model, whose name only begins alike.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_DATE = re.compile(r"(-\d{2,})+")
_FEWEST_DIGITS = 3
"""Digits of a date or a release (``0613``, ``001``); fewer are a model's own number."""
_NEWEST = "-latest"


def is_dated(served: str, asked: str) -> bool:
    """Whether a name is another one, perhaps with its provider and a date.

    Parameters
    ----------
    served : str
        Name that may be dated.
    asked : str
        Name that may be an alias.

    Returns
    -------
    bool

    Examples
    --------
    >>> is_dated("gpt-4o-2024-08-06", "openai/gpt-4o"), is_dated("gpt-4o-mini-2024-07-18", "gpt-4o")
    (True, False)
    >>> is_dated("claude-sonnet-4-20250514", "claude-sonnet-4"), is_dated("claude-opus-4-1", "claude-opus-4")
    (True, False)
    """
    name, alias = _bare(served), _bare(asked).removesuffix(_NEWEST)
    rest = name.removeprefix(alias) if name.startswith(alias) else "another"
    if rest in ("", _NEWEST):
        return True
    return bool(_DATE.fullmatch(rest)) and sum(map(str.isdigit, rest)) >= _FEWEST_DIGITS


def asked_as(served: str, names: Iterable[str]) -> str | None:
    """Find under which of several names a model was asked for; the longest that fits says most.

    Examples
    --------
    >>> asked_as("gpt-4-0613", ["gpt-4", "gpt-4-0613", "gpt-4-turbo"])
    'gpt-4-0613'
    """
    return max((name for name in names if is_dated(served, name)), key=len, default=None)


def _bare(name: str) -> str:
    """Name without its provider; Google's ``@`` before a date is a hyphen in others' names."""
    return name.rsplit("/", 1)[-1].replace("@", "-")
