"""The words of `read_runs` as the shell has them, for messages that end there."""

from __future__ import annotations

import re
import shlex
from functools import cache
from inspect import signature

_TEXT = r"""r?(?:"[^"]*"|'[^']*')"""
_VALUE = rf"""(?:ps\.)?extract\((?P<column>{_TEXT}),\ (?P<pattern>{_TEXT})\)
    | (?P<text>{_TEXT}) | \((?P<two>[\d.-]+,\ [\d.-]+)\) | (?P<gap>\(?\.\.\.\)?)
    | (?:True|(?P<number>\d+(?:\.\d+)?))?(?=[\s,;:)]|\.?$|\.\s)"""
"""How messages write a value: a pattern, a text, a truth value, two numbers, a gap, a number, or nothing."""
_OTHERWISE = {
    "answers=ps.AnswerFormat(...)": "--answers KIND",
    "{model name: path}": "MODEL=PATH",
    "models=(...)": "--models COLUMN, once for each",
}
"""What is no option with a value."""


def as_typed(message: str) -> str:
    r"""Write the words of a message as options.

    Parameters
    ----------
    message : str
        In the words of `read_runs`.

    Returns
    -------
    str

    Examples
    --------
    >>> as_typed("So many are no slip: declare their range, score_range=(0, 100).")
    'So many are no slip: declare their range, --score-range 0,100.'
    >>> print(as_typed(r'Write family=ps.extract("item", r"^(\w+)-"), or pass keep_going=True.'))
    Write --family 'item~^(\w+)-', or pass --keep-going.
    >>> as_typed("runs/gsm:model=a must be a file. Map model=.")
    'runs/gsm:model=a must be a file. Map --model.'
    """
    for written, typed in _OTHERWISE.items():
        message = message.replace(written, typed)
    return _words().sub(lambda match: _option(match), message)


@cache
def _words() -> re.Pattern[str]:
    from pairstats.readers.collect import _MAPPED, read_runs

    names = [name for name in signature(read_runs).parameters if name != "paths"]
    others = "|".join(name for name in names if name not in _MAPPED)
    named = rf"(?<![\w.,:/-])(?P<name>{'|'.join(names)})=(?:{_VALUE})"
    return re.compile(rf"{named} | `(?P<quoted>{others})`", re.VERBOSE)


def _option(match: re.Match[str]) -> str:
    name = "--" + (match["name"] or match["quoted"]).replace("_", "-")
    if match["pattern"]:
        return f"{name} {shlex.quote('~'.join(map(_read, match.group('column', 'pattern'))))}"
    if match["text"]:
        return f"{name} {shlex.quote(_read(match['text']))}"
    value = match["number"] or (match["gap"] and "...") or (match["two"] or "").replace(", ", ",")
    return f"{name} {value}" if value else name


def _read(text: str) -> str:
    """Take a text out of its quotes."""
    return text[2:-1] if text.startswith("r") else text[1:-1].replace("\\\\", "\\")
