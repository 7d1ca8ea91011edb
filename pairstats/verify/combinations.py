"""Signed combinations of the levels of a factor, as a protocol's ``compare`` describes them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pairstats.errors import PairstatsError
from pairstats.verify.decisions import Key

Combination = tuple[str, dict[Key, float]]
Levels = Mapping[str, Sequence[str]]
Combinations = Callable[[Levels], list[Combination]]


def comparison_of(compare: Mapping[str, Any]) -> tuple[tuple[str, ...], Combinations]:
    """Factors of a comparison, and its signed combinations of their levels.

    Examples
    --------
    >>> factors, combine = comparison_of({"factor": "dose", "doses": {"0": 0, "2": 2}})
    >>> factors, combine({"dose": ["0", "2"]})
    (('dose',), [('trend over dose', {('0',): -0.5, ('2',): 0.5})])
    """
    unknown = sorted(set(compare) - {"factor", "level", "reference", "across", "doses"})
    if unknown:
        raise PairstatsError(f"comparisons with {', '.join(unknown)} have no second path")
    factor = compare["factor"]
    if "doses" in compare:
        return (factor,), lambda levels: [_slope(factor, compare["doses"])]
    if "across" not in compare:
        return (factor,), lambda levels: _differences(compare, levels[factor])
    across = compare["across"]
    return (factor, across["factor"]), lambda levels: [
        _crossed(label, weights, across) for label, weights in _differences(compare, levels[factor])
    ]


def _differences(compare: Mapping[str, Any], there: Sequence[str]) -> list[Combination]:
    reference, level = compare.get("reference"), compare.get("level", ())
    if reference is None:
        pairs = list(itertools.combinations(there, 2))
    else:
        others = [level] if isinstance(level, str) else list(level)
        pairs = [(name, reference) for name in others or there if name != reference]
    return [(f"{a} - {b}", {(a,): 1.0, (b,): -1.0}) for a, b in pairs]


def _crossed(label: str, weights: Mapping[Key, float], across: Mapping[str, str]) -> Combination:
    crossed = {(*key, across["level"]): weight for key, weight in weights.items()}
    crossed |= {(*key, across["reference"]): -weight for key, weight in weights.items()}
    return f"({label}) in {across['level']} - in {across['reference']}", crossed


def _slope(factor: str, doses: Mapping[str, float]) -> Combination:
    """Least-squares slope: centred doses over their sum of squares."""
    centre = sum(doses.values()) / len(doses)
    squares = sum((dose - centre) ** 2 for dose in doses.values())
    return f"trend over {factor}", {(name,): (dose - centre) / squares for name, dose in doses.items()}
