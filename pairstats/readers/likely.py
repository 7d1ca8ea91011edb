"""Which path a column is likely to be, told by names alone: for a message, never to be taken unasked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

ALSO_CALLED: Mapping[str, frozenset[str]] = {
    "family": frozenset(("families", "group", "cluster", "template", "passage", "parent")),
    "variant": frozenset(("perturbation", "paraphrase", "variation")),
    "model": frozenset(("system",)),
    "repeat": frozenset(("epoch", "trial", "attempt")),
}
"""Other words for a column, in the names that benchmarks give their fields."""

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")


def ready_line(column: str, names: Iterable[str]) -> str:
    """Offer the mapping that is likeliest by its name, ready to be written; empty where no name fits.

    Parameters
    ----------
    column : str
    names : iterable of str
        Dotted paths and columns of an item table; among equals the first wins.

    Returns
    -------
    str

    Examples
    --------
    >>> ready_line("family", ["id", "metadata.group", "metadata.family_id"])
    ' By its name family="metadata.family_id" is likely.'
    >>> ready_line("family", ["id", "target"])
    ''
    """
    ranked = [(rank, name) for name in names if (rank := _rank(column, name)) is not None]
    best = min(ranked, key=lambda pair: pair[0], default=None)
    return f' By its name {column}="{best[1]}" is likely.' if best else ""


def _rank(column: str, name: str) -> int | None:
    """How well a name fits: the column itself, with an id behind it, among its words, or another word for it."""
    leaf = name.rpartition(".")[2]
    words = [word.lower() for word in _WORD.findall(leaf)]
    if words == [column]:
        return 0
    if words[:1] == [column] and words[1:] in (["id"], ["name"], ["key"]):
        return 1
    if column in words:
        return 2
    return 3 if ALSO_CALLED.get(column, frozenset()) & set(words) else None
