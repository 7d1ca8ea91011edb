"""Power, minimal detectable difference and coverage of a protocol's contrasts, by simulation."""

from __future__ import annotations

import hashlib
import html
import itertools
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pairstats.arguments import checked
from pairstats.errors import ProtocolError
from pairstats.intervals import IntervalKind
from pairstats.numeric.proportions import clopper_pearson
from pairstats.power.questions import Question, questions
from pairstats.power.search import Design, smallest_difference, smallest_margin
from pairstats.power.studies import covered_by, family_scores, reached
from pairstats.protocol import Protocol, build_interval
from pairstats.protocol.power_rule import PowerRule
from pairstats.result import guarded

Floats = np.ndarray
Progress = Callable[[str], None]

LABELS = ("contrast", "comparison", "estimand", "claim", "margin")
COLUMNS = (
    *LABELS, "families", "copies", "repeats", "difference", "power", "power_low", "power_high", "mdd",
    "smallest_margin", "coverage", "coverage_low", "coverage_high", "n_simulations", "seed", "method", "note",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Power:
    """What a design can be expected to find.

    Attributes
    ----------
    frame : pandas.DataFrame
        One row a contrast and design, columns `COLUMNS`. ``power`` is the chance that the claim is reached,
        after the protocol's adjustment, with its Monte-Carlo interval (95 %, Clopper-Pearson); ``mdd`` the
        smallest true difference from the reference level that is found with the target power, and
        ``smallest_margin`` the smallest margin that would be met with it; ``coverage`` the share of declared
        intervals that hold the true difference.
    assumptions : dict
        The assumptions as given, with the seed.
    """

    frame: pd.DataFrame
    assumptions: Mapping[str, Any]

    def sentences(self) -> list[str]:
        """One sentence a row, for a terminal."""
        return [_sentence(row, self.assumptions["target"]) for row in self.frame.to_dict("records")]

    def to_csv(self, path: str | Path) -> None:
        """Write the table, text cells guarded against being run as spreadsheet formulas."""
        guarded(self.frame).to_csv(path, index=False, lineterminator="\n")

    def __repr__(self) -> str:
        return "\n".join(self.sentences())

    def _repr_html_(self) -> str:
        shown = self.frame.drop(columns=["seed", "method"]).round(4)
        assumed = html.escape(json.dumps(dict(self.assumptions)))
        return f"{shown.to_html(index=False, border=0, escape=True, na_rep='')}<p>{assumed}</p>"


@checked
def power_of(
    protocol: Protocol,
    assumed: PowerRule | None = None,
    *,
    families: Sequence[int] | None = None,
    copies: Sequence[int] | None = None,
    repeats: Sequence[int] | None = None,
    n_simulations: int | None = None,
    rng: int | None = None,
    progress: Progress | None = None,
) -> Power:
    r"""Simulate a protocol before its data: power, detectable difference and coverage of every contrast.

    Use it before a protocol is frozen. Not on the data of the study itself, whose power says what its p-value
    says; for a quick number from a pilot see `families_plan` and `bound_plan`.

    Parameters
    ----------
    protocol : Protocol
    assumed : PowerRule, optional
        By default the protocol's own ``[power]`` section.
    families, copies, repeats : sequence of int, optional
        Designs to try, all combinations; they replace those of `assumed`.
    n_simulations : int, optional
    rng : int, optional
        Seed. Left out, that of `assumed`, or else one derived from the assumptions; it is in the table.
    progress : callable, optional
        Called with the words of each design as it begins.

    Returns
    -------
    Power

    Raises
    ------
    ProtocolError
        When nothing is assumed, or the rates do not fit the protocol.

    Notes
    -----
    Family scores are drawn from the Gaussian copula of `pairstats.numeric.copula`, jointly for all cells of
    one estimand; estimands are drawn apart from each other. The rates are values of the contrast's estimand:
    an all-correct family is one 0/1 decision, flips of k copies are k - 1 comparisons of one rate. Every
    planned reply is assumed to arrive.

    Claims are judged as `pairstats.verdicts` does: exact sign-flip p-values for differences, levels of the
    family-CP limits for margins, adjusted together in each simulation. The detectable difference is searched
    at the level alpha / k that the first step of Holm's procedure has for k rows, by moving the rates of the
    first level away from those of the reference on the same draws.

    Formulas and sources: `mcnemar_power`, `mcnemar_sample_size`, `minimal_detectable_difference`,
    `paired_family_power` of `pairstats.numeric`.

    Examples
    --------
    >>> from pairstats.protocol.power_rule import PowerRule
    >>> from pairstats.protocol import load_protocol
    >>> print(power_of(load_protocol("protocol.toml")))  # doctest: +SKIP
    C1 (code - direct): 60 families x 8 copies x 1 repeat: power 0.93 [0.91, 0.94] for a difference of +0.100
    """
    rule = assumed if assumed is not None else getattr(protocol, "power", None)
    if rule is None:
        raise ProtocolError(
            "Power needs assumptions, but the protocol has no [power] section. Write one with rates, "
            "families, icc and rho."
        )
    rule = rule.with_changes(
        families=_listed(families), copies=_listed(copies), repeats=_listed(repeats),
        n_simulations=n_simulations, seed=rng,
    )  # fmt: skip
    rule = rule.with_changes(seed=_derived_seed(rule) if rule.seed is None else rule.seed)
    asked, skipped = questions(protocol, rule)
    family = protocol.multiplicity.contrasts or [each.name for each in protocol.contrasts]
    never = sum(name in family for name in skipped)
    rows: list[dict[str, Any]] = []
    for design in itertools.product(rule.families, rule.copies, rule.repeats):
        if progress is not None:
            progress(_design_words(*design))
        rows += _design_rows(protocol, rule, asked, design, never)
    rows += [_skipped_row(protocol, name, why) for name, why in skipped.items()]
    return Power(pd.DataFrame(rows, columns=list(COLUMNS)), asdict(rule))


def _design_rows(
    protocol: Protocol, rule: PowerRule, asked: Sequence[Question], design: Design, never: int
) -> list[dict[str, Any]]:
    """Rows of one design: all questions on the same simulated studies.

    `never` counts the contrasts that share the error rate but cannot be simulated: as if never reached.
    """
    families, copies, repeats = design
    scores: dict[int, Floats] = {}
    sources = list(dict.fromkeys(id(question.assumed) for question in asked))
    differences: list[Floats | None] = []
    for question in asked:
        source = id(question.assumed)
        if question.assumed.units(copies) < 1:
            differences.append(None)
            continue
        if source not in scores:
            scores[source] = family_scores(
                question.assumed, rule, families, copies, repeats, sources.index(source)
            )
        # Rounded so that sums of thirds and sixths lie on their lattice.
        differences.append(np.round(scores[source][..., list(question.columns)] @ question.weights, 12))
    hits = reached(asked, differences, protocol.multiplicity.method, never)
    interval = build_interval(protocol.interval)
    return [
        _row(question, difference, hit, rule, interval, protocol.interval.confidence_level, shared)
        | {"families": families, "copies": copies, "repeats": repeats}
        | _searched(question, rule, design, shared, difference is None)
        for question, difference, hit in zip(asked, differences, hits, strict=True)
        for shared in [_sharing(question, asked, protocol, never)]
    ]


def _sharing(question: Question, asked: Sequence[Question], protocol: Protocol, never: int) -> int:
    """Rows among which the error rate is divided at the first step."""
    divides = protocol.multiplicity.method in ("holm", "hochberg", "bonferroni")
    if not divides:
        return 1
    if question.together:
        return sum(other.together for other in asked) + never
    return sum(not other.together and other.rule.name == question.rule.name for other in asked)


def _row(
    question: Question, differences: Floats | None, hit: np.ndarray | None, rule: PowerRule,
    interval: IntervalKind, level: float, shared: int,
) -> dict[str, Any]:  # fmt: skip
    row = _labels(question, rule)
    if differences is None or hit is None:
        return row | {"note": "flips need at least 2 copies"}
    covered = covered_by(interval, differences, question.difference, question.bounds, level)
    test = "family-cp limits" if question.claim.by_margin else f"exact sign-flip, {question.rule.side}"
    return row | {
        **_share("power", hit), **_share("coverage", covered),
        "method": f"{test}; {interval.name} at {level:g}" + (f"; {shared} share alpha" if shared > 1 else ""),
    }  # fmt: skip


def _labels(question: Question, rule: PowerRule) -> dict[str, Any]:
    return {
        "contrast": question.rule.name, "comparison": question.label, "estimand": question.rule.estimand,
        "claim": question.claim.kind, "margin": max(question.claim.margins) or math.nan,
        "difference": question.difference, "n_simulations": rule.n_simulations, "seed": rule.seed,
        "note": question.note or None,
    }  # fmt: skip


def _searched(
    question: Question, rule: PowerRule, design: Design, shared: int, impossible: bool
) -> dict[str, Any]:
    if impossible:
        return {}
    alpha = question.claim.alpha / shared
    return {
        "mdd": smallest_difference(question, rule, design, alpha),
        "smallest_margin": smallest_margin(question, rule, design, alpha),
    }


def _share(name: str, hits: np.ndarray) -> dict[str, float]:
    exact = clopper_pearson(int(hits.sum()), hits.size)
    return {name: float(hits.mean()), f"{name}_low": exact.low, f"{name}_high": exact.high}


def _skipped_row(protocol: Protocol, name: str, why: str) -> dict[str, Any]:
    rule = next(each for each in protocol.contrasts if each.name == name)
    return {"contrast": name, "estimand": rule.estimand, "claim": rule.claim, "note": f"not simulated: {why}"}


def _listed(values: Sequence[int] | None) -> list[int] | None:
    return None if values is None else [int(value) for value in values]


def _derived_seed(rule: PowerRule) -> int:
    text = json.dumps(asdict(rule), sort_keys=True)
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def _design_words(families: int, copies: int, repeats: int) -> str:
    counts = ((families, "families"), (copies, "copies"), (repeats, "repeats"))
    singular = {"families": "family", "copies": "copy", "repeats": "repeat"}
    return " x ".join(f"{n} {word if n != 1 else singular[word]}" for n, word in counts)


def _sentence(row: Mapping[Any, Any], target: float) -> str:
    name = f"{row['contrast']}" + (f" ({row['comparison']})" if isinstance(row["comparison"], str) else "")
    if math.isnan(row["power"]):
        return f"{name}: {row['note']}"
    parts = [
        f"{name}: {_design_words(int(row['families']), int(row['copies']), int(row['repeats']))}: power "
        f"{row['power']:.2f} [{row['power_low']:.2f}, {row['power_high']:.2f}] for a claim of {row['claim']} "
        f"at a difference of {row['difference']:+.3f}"
    ]
    if not math.isnan(row["margin"]):
        least = row["smallest_margin"]
        met = "no margin is met" if math.isnan(least) else f"the smallest margin met is {least:.3f}"
        parts.append(f"with {target:.0%} power {met}")
    mdd = row["mdd"]
    found = "no difference is found" if math.isnan(mdd) else f"the smallest difference found is {mdd:+.3f}"
    parts.append(f"with {target:.0%} power {found}")
    parts.append(f"coverage {row['coverage']:.3f}")
    return "; ".join(parts)
