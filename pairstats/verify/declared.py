"""What the protocol of a results folder declares, read without the package's own parser."""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pairstats.errors import PairstatsError

Ends = tuple[float, float]

APART = ("study", "run", "platform", "model", "condition")
"""Columns of the key in which replies to one question may differ."""


@dataclass(frozen=True, slots=True)
class Quantity:
    """One estimand: what is measured, and what the family totals of it mean.

    Attributes
    ----------
    name, kind : str
    args : mapping
        As the protocol writes them.
    where : mapping
        Rows that it is about.
    weight : {"item", "family"}
    ends : tuple of float or None
        Range of the value.
    """

    name: str
    kind: str
    args: Mapping[str, Any]
    where: Mapping[str, Any]
    weight: str
    ends: Ends | None

    def unit(self, unit: Sequence[str], apart: Sequence[str]) -> tuple[str, ...]:
        """Columns that tell its units apart inside a family; replies that differ in ``apart`` never meet."""
        if self.kind == "all_correct":
            return tuple(apart)
        if self.kind == "flip_rate":
            within = self.args.get("within", ())
            return tuple(
                dict.fromkeys(((within,) if isinstance(within, str) else tuple(within)) + tuple(apart))
            )
        return tuple(unit)


@dataclass(frozen=True, slots=True)
class Question:
    """One contrast of the protocol, and what it claims.

    Attributes
    ----------
    name : str
    quantity : Quantity
    minus : Quantity or None
        Where two quantities are compared instead of two levels.
    compare : mapping
        Factor, level, reference, across, doses.
    average : tuple of str
    where : mapping
        Rows of the contrast, besides those of the quantity.
    side : str
    claim : str
    margins : tuple of float or None
        Below and above zero, positive.
    alpha : float
    gate : int
    """

    name: str
    quantity: Quantity
    minus: Quantity | None
    compare: Mapping[str, Any]
    average: tuple[str, ...]
    where: Mapping[str, Any]
    side: str
    claim: str
    margins: Ends | None
    alpha: float
    gate: int


@dataclass(frozen=True, slots=True)
class Declared:
    """Everything in a protocol that the numbers depend on."""

    family: str
    unit: tuple[str, ...] | None
    cells: tuple[str, ...]
    missing: str
    no_answer: str
    population: str
    score_range: Ends
    interval: Mapping[str, Any]
    quantities: tuple[Quantity, ...]
    questions: tuple[Question, ...]
    multiplicity: Mapping[str, Any]
    minimum: float
    digest: str
    raw: Mapping[str, Any] = field(repr=False)

    def unit_of(
        self, quantity: Quantity, columns: Sequence[str], cells: Sequence[str], factors: Sequence[str] = ()
    ) -> tuple[str, ...]:
        """Columns that tell the units of a family apart, those that are compared left out."""
        apart = [name for name in APART if name in columns and name not in (*cells, *factors)]
        asked = [name for name in apart if name in ("study", "model", "condition")]
        unit = ("item", "variant", *asked) if self.unit is None else self.unit
        return tuple(name for name in quantity.unit(unit, apart) if name not in factors)

    @property
    def method(self) -> str:
        """Name of the interval."""
        return str(self.interval.get("method", "family-jeffreys"))

    @property
    def level(self) -> float:
        """Confidence level."""
        return float(self.interval.get("confidence_level", 0.95))


def read_declared(path: Path) -> Declared:
    """Read a protocol file for what its numbers depend on.

    Raises
    ------
    PairstatsError
        When there is no such file, or it is no protocol.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PairstatsError(
            f"A results folder must hold {path.name}, but there is none. Run the protocol again."
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise PairstatsError(f"{path.name} must be TOML, but is not: {error}.") from error
    try:
        return _declared(content)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PairstatsError(
            f"{path.name} must be a protocol that was run, but cannot be one: {error!r}. Run it again."
        ) from error


def _declared(content: Mapping[str, Any]) -> Declared:
    design = content.get("design", {})
    quantities = tuple(_quantity(rule) for rule in content.get("estimand", []))
    by_name = {each.name: each for each in quantities}
    low, high = design.get("score_range", (0.0, 1.0))
    return Declared(
        family=design.get("family", "family"),
        unit=tuple(design["unit"]) if "unit" in design else None,
        cells=tuple(design.get("cells", ("model",))),
        missing=design.get("missing", "common"),
        no_answer=design.get("no_answer", "wrong"),
        population=design.get("population") or "families",
        score_range=(float(low), float(high)),
        interval=content.get("interval", {}),
        quantities=quantities,
        questions=tuple(_question(rule, by_name) for rule in content.get("contrast", [])),
        multiplicity=content.get("multiplicity", {}),
        minimum=float(design.get("minimum", 0.8)),
        digest=digest_of(
            {k: v for k, v in content.items() if k not in ("deviation", "exploratory", "power")}
        ),
        raw=content,
    )


def is_score(column: str) -> bool:
    """Whether the no-answer rule applies to a column."""
    return column == "score" or column.startswith("score_")


def _quantity(rule: Mapping[str, Any]) -> Quantity:
    kind, args = rule["kind"], rule.get("args", {})
    column = args.get("column", "score")
    ends: Ends | None = (0.0, 1.0)
    if kind == "ratio" or (kind == "mean" and not is_score(column) and column != "confidence"):
        ends = None
    if args.get("bounds") is not None:
        ends = (float(args["bounds"][0]), float(args["bounds"][1]))
    family = kind in ("flip_rate", "all_correct")
    weight = "family" if family else args.get("weight", "item") if kind == "mean" else "item"
    return Quantity(rule["name"], kind, args, rule.get("where", {}), weight, ends)


def _question(rule: Mapping[str, Any], quantities: Mapping[str, Quantity]) -> Question:
    average, margin = rule.get("average", ()), rule.get("margin")
    if margin is not None:
        margin = tuple(map(float, margin)) if isinstance(margin, list) else (float(margin), float(margin))
    return Question(
        name=rule["name"],
        quantity=quantities[rule["estimand"]],
        minus=None if rule.get("minus") is None else quantities[rule["minus"]],
        compare=rule.get("compare", {}),
        average=(average,) if isinstance(average, str) else tuple(average),
        where=rule.get("where", {}),
        side=rule.get("side", "two-sided"),
        claim=rule.get("claim", "difference"),
        margins=margin,
        alpha=float(rule.get("alpha", 0.05)),
        gate=int(rule.get("group", 0)),
    )


def digest_of(content: Any) -> str:
    """SHA-256 of parsed content, whatever its order, white space and comments."""
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()
