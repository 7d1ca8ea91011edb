"""Replies that seem to have run into a limit, where the platform keeps no reason for their end."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

LENGTH_SUSPECTED = "length_suspected"
"""Reason of an answered reply that seems to be cut; nobody knows, so it stays answered."""
LONG_REPLY, LONG_LINE = 400, 100
"""Characters from which a reply, and its last line, are prose that should end like a sentence."""
_OPEN_END = re.compile(r"[a-z][a-z'-]*$|[,;(\[{]$")


def suspected(text: str | None, stops: Iterable[str] = ()) -> str | None:
    """Reason `LENGTH_SUSPECTED` where a reply seems to be cut, else None.

    Parameters
    ----------
    text : str or None
    stops : iterable of str
        Texts that end a reply and are taken off it: a block of code that lost its last fence so is whole.
    """
    fenced = any("`" in stop for stop in stops)
    return (
        LENGTH_SUSPECTED if text and looks_cut(text + "\n```" * (fenced and text.count("```") % 2)) else None
    )


def looks_cut(text: str) -> bool:
    r"""Whether a reply seems to have run into a limit, which the platform does not store.

    Only what a whole reply hardly does counts: JSON or a code block that is never closed, or long prose
    whose long last line stops inside a sentence.

    Examples
    --------
    >>> looks_cut('{"status": "determinate", "value": "2026-10-03T16:0')
    True
    >>> looks_cut("A. three"), looks_cut('{"answer": "A"}'), looks_cut("```py\nprint(1)\n```")
    (False, False, False)
    """
    reply = text.strip()
    if reply.count("```") % 2:
        return True
    if reply[:1] in ("{", "["):
        return _never_closed(reply)
    last_line = reply.rsplit("\n", 1)[-1]
    return len(reply) >= LONG_REPLY and len(last_line) >= LONG_LINE and bool(_OPEN_END.search(reply))


def _never_closed(text: str) -> bool:
    try:
        json.JSONDecoder().raw_decode(text)
    except (ValueError, RecursionError):
        bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", text)
        return '"' in bare or bare.count("{") > bare.count("}") or bare.count("[") > bare.count("]")
    return False
