"""What a protocol says, as frozen values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from pairstats.errors import counted
from pairstats.protocol.power_rule import PowerRule


@dataclass(frozen=True, slots=True)
class Head:
    """What the analysis is called and asks; `registered` is as the author states it."""

    name: str | None = None
    registered: date | None = None
    questions: str = ""


@dataclass(frozen=True, slots=True)
class Source:
    """One set of run files and how their fields are named."""

    path: str | list[str]
    map: dict[str, Any] = field(default_factory=dict)
    set: dict[str, str] = field(default_factory=dict)
    score: str | None = None
    filter: str | None = None
    reader: str | None = None
    extra: dict[str, Any] = field(default_factory=dict)
    confidence_scale: float | dict[str, float] = 1.0
    items: str | None = None
    options: str | None = None
    exclude: list[str] = field(default_factory=list)
    planned: bool = False


@dataclass(frozen=True, slots=True)
class Answers:
    """How replies are parsed and scored again; left out, the platform's own scores stand."""

    kind: str = "choice"
    field: str | None = "answer"
    confidence: str | None = "confidence"
    pattern: str | None = None
    case_sensitive: bool = False
    option_text: bool = False
    units: list[str] = dataclasses.field(default_factory=lambda: ["$", "€", "£"])
    relative_tolerance: float = 0.0


@dataclass(frozen=True, slots=True)
class ScorerRule:
    """A function in a Python file beside the protocol that scores every reply; see `pairstats.rescore`."""

    file: str
    function: str = "score"


@dataclass(frozen=True, slots=True)
class ScriptRule:
    """A Python file beside the protocol whose functions make further tables and figures of the panel."""

    file: str
    tables: str = "tables"
    figures: str = "figures"


@dataclass(frozen=True, slots=True)
class Design:
    """Families, units and cells, the declared rules, and what was expected."""

    family: str = "family"
    unit: list[str] | None = None
    cells: list[str] = field(default_factory=lambda: ["model"])
    blocks: list[str] = field(default_factory=list)
    expect: dict[str, int] = field(default_factory=dict)
    population: str | None = None
    missing: str = "common"
    no_answer: str = "wrong"
    minimum: float = 0.8
    stopping: str = ""
    score_range: list[float] = field(default_factory=lambda: [0.0, 1.0])


@dataclass(frozen=True, slots=True)
class IntervalRule:
    """The one kind of interval that every row uses."""

    method: str = "family-jeffreys"
    confidence_level: float = 0.95
    n_resamples: int | None = None
    seed: int | None = None
    at_collapse: str | None = None


@dataclass(frozen=True, slots=True)
class EstimandRule:
    """A quantity, and how a report speaks of it."""

    name: str
    kind: str
    args: dict[str, Any] = field(default_factory=dict)
    where: dict[str, Any] = field(default_factory=dict)
    label: str = ""
    says: str = ""
    percent: bool = False


@dataclass(frozen=True, slots=True)
class ContrastRule:
    """A question about a difference.

    ``compare`` names a factor with ``level`` and ``reference`` (or neither: all pairs), with ``across`` for
    an interaction, or with ``doses`` for a trend. ``minus`` names a second estimand instead: the difference
    of two rates on different families, where ``average`` pools cells.
    """

    name: str
    estimand: str
    compare: dict[str, Any] = field(default_factory=dict)
    minus: str | None = None
    question: str = ""
    average: str | list[str] = field(default_factory=list)
    where: dict[str, Any] = field(default_factory=dict)
    claim: str = "difference"
    margin: float | list[float] | None = None
    side: str = "two-sided"
    alpha: float = 0.05
    group: int = 0


@dataclass(frozen=True, slots=True)
class Multiplicity:
    """Which contrasts share one error rate; none named means all."""

    method: str = "holm"
    contrasts: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """One other way to analyse the same contrasts; left out, a setting stays as registered.

    ``leave_out`` names a column (``family``, ``category`` ...) whose levels are left out one at a time.
    """

    name: str
    contrasts: list[str] = field(default_factory=list)
    no_answer: str | None = None
    missing: str | None = None
    method: str | None = None
    score: str | None = None
    where: dict[str, Any] = field(default_factory=dict)
    drop: str | None = None
    leave_out: str | None = None


@dataclass(frozen=True, slots=True)
class Exploratory:
    """Estimands and contrasts beside the registered ones: computed apart, never registered."""

    estimands: tuple[EstimandRule, ...] = ()
    contrasts: tuple[ContrastRule, ...] = ()


@dataclass(frozen=True, slots=True)
class Calibration:
    """Columns and bins of the calibration curve."""

    confidence: str = "confidence"
    score: str = "score"
    bins: int | str = 10
    where: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Deviation:
    """A departure from the protocol, declared by hand."""

    date: date
    what: str
    contrast: str = ""


@dataclass(frozen=True, slots=True)
class Protocol:
    """A protocol file as frozen values.

    Attributes
    ----------
    path : Path
        Where it lies; the paths in it are relative to its folder.
    name, questions : str
    registered : date or None
        As stated by the author; nothing is registered without a lock.
    sources : tuple of Source
    answers : Answers or None
    scorer : ScorerRule or None
    script : ScriptRule or None
    design : Design
    interval : IntervalRule
    estimands : tuple of EstimandRule
    contrasts : tuple of ContrastRule
    multiplicity : Multiplicity
    calibration : Calibration or None
    sensitivity : tuple of Sensitivity
    exploratory : Exploratory
    power : PowerRule or None
    deviations : tuple of Deviation
    content : mapping
        What is registered, as parsed: everything but the deviations and the exploratory part.
    digest : str
        Of that content: white space and comments do not change it.
    """

    path: Path
    name: str
    questions: str
    registered: date | None
    sources: tuple[Source, ...]
    answers: Answers | None
    scorer: ScorerRule | None
    script: ScriptRule | None
    design: Design
    interval: IntervalRule
    estimands: tuple[EstimandRule, ...]
    contrasts: tuple[ContrastRule, ...]
    multiplicity: Multiplicity
    calibration: Calibration | None
    sensitivity: tuple[Sensitivity, ...]
    exploratory: Exploratory
    power: PowerRule | None
    deviations: tuple[Deviation, ...]
    content: Mapping[str, Any]
    digest: str

    def __repr__(self) -> str:
        counts = (
            counted(len(self.sources), "source"), counted(len(self.estimands), "estimand"),
            counted(len(self.contrasts), "contrast"),
        )  # fmt: skip
        return f"Protocol {self.name!r} ({self.path}): {', '.join(counts)}; sha256 {self.digest[:12]}"
