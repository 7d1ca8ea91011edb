"""Which path or pattern a column is likely to be, told by names alone: for a message, never to be taken unasked."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from pairstats.errors import counted, listed

ALSO_CALLED: Mapping[str, frozenset[str]] = {
    "family": frozenset(("families", "group", "cluster", "template", "passage", "parent")),
    "variant": frozenset(("perturbation", "paraphrase", "variation")),
    "model": frozenset(("system",)),
    "repeat": frozenset(("epoch", "trial", "attempt")),
}
"""Other words for a column, in the names that benchmarks give their fields."""

_OF_A_JUDGE = frozenset(("evaluation", "evaluator", "grader", "judge", "judging", "scorer"))
"""Words by which a name is that of another model than the one under test."""
_OF_A_REPLY = frozenset((
    "answer", "answers", "completion", "completions", "correct", "cost", "generation", "latency", "output",
    "outputs", "pred", "prediction", "predictions", "reply", "response", "responses", "score", "text", "tokens",
))  # fmt: skip
"""Words by which a name is that of something a model gave, as in ``model_outputs``."""

SEPARATORS = "-_.:/|#@ "
ALIKE = 0.8
"""Share of the families that must have the same variants for ids to be offered as families and variants."""

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
    >>> ready_line("family", ["id", "target"]), ready_line("model", ["model_outputs", "judge_model"])
    ('', '')
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
    foreign = _OF_A_JUDGE if column in _OF_A_REPLY else _OF_A_JUDGE | _OF_A_REPLY
    if not foreign.isdisjoint(words):
        return None
    if column in words:
        return 2
    return 3 if ALSO_CALLED.get(column, frozenset()) & set(words) else None


@dataclass(frozen=True, slots=True)
class Grid:
    """Patterns by which ids are families of several items in the same variants.

    Attributes
    ----------
    family, variant : str
        Regular expressions whose first group is the part of the id.
    families : int
    whole : int
        Families that have just these variants.
    variants : tuple of str
    """

    family: str
    variant: str
    families: int
    whole: int
    variants: tuple[str, ...]


def grid_of(items: Iterable[str]) -> Grid | None:
    r"""Find patterns that make ids families of several items, nearly all of them in the same variants.

    Numbers alone are no variants, and neither are more variants than families: ids such as ``math-17`` are a
    category and a running number.

    Examples
    --------
    >>> grid_of(["q1-base", "q1-new", "q2-base", "q2-new"])
    Grid(family='^(\\w+)-', variant='-(\\w+)$', families=2, whole=2, variants=('base', 'new'))
    >>> grid_of(["math-1", "math-2", "code-1", "code-2"])
    """
    ids = list(dict.fromkeys(items))
    return next((grid for patterns in _patterns() if (grid := _grid(ids, *patterns)) is not None), None)


def _patterns() -> Iterator[tuple[str, str]]:
    """Pairs of patterns: a word and a word, then all before the last separator, then all behind the first."""
    for separator in SEPARATORS:
        s = rf"\{separator}" if separator in ".|" else separator
        if separator != "_":
            yield rf"^(\w+){s}", rf"{s}(\w+)$"
        yield rf"^(.+){s}[^{s}]+$", rf"{s}([^{s}]+)$"
        yield rf"^([^{s}]+){s}", rf"^[^{s}]+{s}(.+)$"


def _grid(ids: list[str], family: str, variant: str) -> Grid | None:
    parts: dict[str, set[str]] = {}
    first, second = re.compile(family), re.compile(variant)
    for text in ids:
        one, other = first.search(text), second.search(text)
        if one is None or other is None or len(one[1]) + len(other[1]) + 1 != len(text):
            return None
        parts.setdefault(one[1], set()).add(other[1])
    if len(parts) < 2:
        return None
    variants, whole = Counter(map(frozenset, parts.values())).most_common(1)[0]
    named = 2 <= len(variants) <= len(parts) and not all(map(str.isdecimal, variants))
    return Grid(family, variant, len(parts), whole, tuple(sorted(variants))) if (
        named and whole >= 2 and whole >= ALIKE * len(parts)
    ) else None  # fmt: skip


def pattern_line(items: Iterable[str], variant_too: bool = True) -> str:
    r"""Offer the patterns that make families of the ids, ready to be written; empty where none do.

    Parameters
    ----------
    items : iterable of str
    variant_too : bool, default True
        Whether the variant is not told either.

    Examples
    --------
    >>> print(pattern_line(["q1-base", "q1-new", "q2-base", "q2-new"]).strip())  # doctest: +NORMALIZE_WHITESPACE
    By their ids the 4 items are 2 families, each of 'base', 'new':
    family=ps.extract("item", r"^(\w+)-") with variant=ps.extract("item", r"-(\w+)$").
    """
    ids = list(dict.fromkeys(items))
    grid = grid_of(ids)
    if grid is None:
        return ""
    told = {"family": grid.family} | ({"variant": grid.variant} if variant_too else {})
    words = " with ".join(f'{name}=ps.extract("item", r"{pattern}")' for name, pattern in told.items())
    share = "each" if grid.whole == grid.families else f"{grid.whole} of them each"
    return (
        f" By their ids the {counted(len(ids), 'item')} are {counted(grid.families, 'family')}, {share} of "
        f"{listed(grid.variants, 9)}: {words}."
    )
