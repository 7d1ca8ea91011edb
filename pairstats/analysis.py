"""Everything a protocol asks for, computed from its records; nothing is written here."""

from __future__ import annotations

import dataclasses
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from pairstats._version import __version__
from pairstats.answers import AnswerFormat
from pairstats.errors import PairstatsError, ProtocolError, counted, listed
from pairstats.infer import Comparisons, compared, estimate
from pairstats.panel import Panel
from pairstats.protocol import (
    Protocol,
    build_answers,
    build_claim,
    build_comparison,
    build_estimand,
    build_interval,
    build_mapping,
)
from pairstats.protocol.values import ContrastRule, EstimandRule, Source
from pairstats.readers import read_runs
from pairstats.records.rescoring import rescore
from pairstats.records.table import Records, concat_records
from pairstats.result import Estimates, concat
from pairstats.rows import joined
from pairstats.study import Table, study_tables
from pairstats.tipping import tipping_point
from pairstats.two_rates import two_rates
from pairstats.verbs.calibration_curve import calibration_curve
from pairstats.verdicts import Judged, judge

Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Analysis:
    """What a protocol's records say.

    Attributes
    ----------
    protocol : Protocol
    records : Records
        `Rescored` where the protocol has a scorer.
    estimates : Estimates
        Single cells first, then contrasts.
    exploratory : Estimates or None
        The same for what stands beside the protocol.
    calibration : Estimates or None
    sensitivity : Estimates or None
        Every contrast under every other way to analyse it, with the factor ``analysis``.
    completeness : pandas.DataFrame
    blocks : pandas.DataFrame or None
        Completeness of every cell in every block, where the design has blocks.
    tables : mapping of str to Estimates or DataFrame
        What the script of the protocol adds; never registered.
    deviations : tuple of str
        Declared, and where the records differ from what the protocol expects.
    """

    protocol: Protocol
    records: Records
    estimates: Estimates
    exploratory: Estimates | None
    calibration: Estimates | None
    sensitivity: Estimates | None
    completeness: pd.DataFrame
    blocks: pd.DataFrame | None
    tables: Mapping[str, Table]
    deviations: tuple[str, ...]


def analyse(protocol: Protocol, *, registered: bool = False, progress: Progress | None = None) -> Analysis:
    """Compute everything a protocol asks for.

    Parameters
    ----------
    protocol : Protocol
    registered : bool, default False
        Whether a lock holds, so that its rows are registered.
    progress : callable, optional
        Called with the name of each step as it begins.
    """
    from pairstats.sensitivity import sensitivity

    _step(progress, "reading")
    records = read_sources(protocol)
    panel = make_panel(protocol, records)
    _step(progress, "estimating")
    deviations = (*_declared(protocol), *_unexpected(protocol, panel))
    cells = [_estimate(protocol, panel, rule, registered) for rule in protocol.estimands]
    calibration = _calibration(protocol, panel)
    _step(progress, "comparing")
    pairs = contrasts(protocol, panel, registered=registered)
    others = sensitivity(protocol, panel, pairs)
    before = sum(len(each) for each in cells)
    provenance = _provenance(protocol, records, deviations, registered) | {
        "contrasts": described_contrasts(protocol.contrasts, pairs, before)
    }
    return Analysis(
        protocol=protocol,
        records=records,
        estimates=concat([*cells, *pairs.values()], provenance=provenance),
        exploratory=_exploratory(protocol, panel, provenance),
        calibration=calibration,
        sensitivity=others,
        completeness=panel.completeness(),
        blocks=_blocks(protocol, panel),
        tables=_scripted(protocol, panel, progress),
        deviations=deviations,
    )


def read_sources(protocol: Protocol) -> Records:
    """Read all sources of a protocol into one table, and score it again where the protocol has a scorer.

    Paths are relative to the protocol's folder.
    """
    answers = build_answers(protocol.answers)
    folder, score_range = protocol.path.parent, protocol.design.score_range
    records = concat_records([_read(source, folder, answers, score_range) for source in protocol.sources])
    scorer = protocol.scorer
    return records if scorer is None else rescore(records, folder / scorer.file, function=scorer.function)


def _read(
    source: Source, folder: Path, answers: AnswerFormat | None, score_range: Sequence[float]
) -> Records:
    paths = [source.path] if isinstance(source.path, str) else source.path
    columns: dict[str, Any] = {name: build_mapping(name, value) for name, value in source.map.items()}
    extra = {name: build_mapping(name, value, "extra") for name, value in source.extra.items()}
    return read_runs(
        [folder / path for path in paths],
        **columns, extra=extra,
        set=source.set, score=source.score, filter=source.filter, reader=source.reader,
        confidence_scale=source.confidence_scale, answers=answers,
        options=None if source.options is None else build_mapping("options", source.options),
        items=None if source.items is None else folder / source.items, planned=source.planned,
        exclude=source.exclude, score_range=(score_range[0], score_range[1]), progress=False,
    )  # fmt: skip


def _scripted(protocol: Protocol, panel: Panel, progress: Progress | None) -> dict[str, Table]:
    if protocol.script is not None:
        _step(progress, "running the script")
    return study_tables(protocol, panel)


def make_panel(protocol: Protocol, records: Any) -> Panel:
    """Panel of records under the rules of a design."""
    design = protocol.design
    return Panel(
        records, design.cells, family=design.family, unit=design.unit, no_answer=design.no_answer,
        population=design.population, score_range=(design.score_range[0], design.score_range[1]),
    )  # fmt: skip


def _estimate(protocol: Protocol, panel: Panel, rule: EstimandRule, registered: bool) -> Estimates:
    found = estimate(
        panel.where(**rule.where), build_estimand(rule), interval=build_interval(protocol.interval),
        confidence_level=protocol.interval.confidence_level,
    )  # fmt: skip
    return dataclasses.replace(
        found, frame=found.frame.assign(registered=registered).astype(found.frame.dtypes)
    )


def contrasts(
    protocol: Protocol,
    panel: Panel,
    *,
    rules: Sequence[ContrastRule] | None = None,
    estimands: Sequence[EstimandRule] = (),
    registered: bool = False,
) -> dict[str, Estimates]:
    """Compare, adjust together and judge the contrasts of a protocol, each under its name.

    Those that share an error rate are adjusted together; the others within themselves.
    """
    rules = protocol.contrasts if rules is None else rules
    known = {rule.name: rule for rule in (*protocol.estimands, *estimands)}
    found = {rule.name: _compared(protocol, panel, rule, known) for rule in rules}
    family = protocol.multiplicity.contrasts or [rule.name for rule in protocol.contrasts]
    together = [rule for rule in rules if rule.name in family]
    alone = [[rule] for rule in rules if rule.name not in family]
    judged: dict[str, list[Judged]] = {}
    for group in filter(None, (together, *alone)):
        judged |= _judged(protocol, group, found)
    return {
        rule.name: _rows(protocol, rule, found[rule.name], judged[rule.name], registered) for rule in rules
    }


def _compared(
    protocol: Protocol, panel: Panel, rule: ContrastRule, known: Mapping[str, EstimandRule]
) -> Comparisons:
    asked = known[rule.estimand]
    settings: dict[str, Any] = {
        "interval": build_interval(protocol.interval),
        "confidence_level": protocol.interval.confidence_level,
    }
    inside = panel.where(**{**asked.where, **rule.where})
    try:
        if rule.minus is not None:
            other = known[rule.minus]
            beside = panel.where(**{**other.where, **rule.where})
            pooled = _pooled(panel, rule)
            return two_rates(
                inside.by(pooled), build_estimand(asked), beside.by(pooled), build_estimand(other), **settings
            )
        return compared(
            inside, build_estimand(asked), build_comparison(rule), average=rule.average,
            alternative=rule.side, missing=protocol.design.missing, **settings,
        )  # fmt: skip
    except PairstatsError as error:
        raise type(error)(f"Contrast {rule.name!r}: {error}") from error


def _pooled(panel: Panel, rule: ContrastRule) -> list[str]:
    """Cells that stay apart when the others are pooled inside each family."""
    averaged = [rule.average] if isinstance(rule.average, str) else rule.average
    panel.require(*averaged)
    return [name for name in panel.cells if name not in averaged]


def _judged(
    protocol: Protocol, rules: Sequence[ContrastRule], found: Mapping[str, Comparisons]
) -> dict[str, list[Judged]]:
    flat = [(rule, each) for rule in rules for each in found[rule.name].compared]
    judged = judge(
        [each for _, each in flat],
        [build_claim(rule) for rule, _ in flat],
        method=protocol.multiplicity.method,
        minimum=protocol.design.minimum,
    )
    split: dict[str, list[Judged]] = {rule.name: [] for rule in rules}
    for (rule, _), each in zip(flat, judged, strict=True):
        split[rule.name].append(each)
    return split


def _rows(
    protocol: Protocol, rule: ContrastRule, found: Comparisons, judged: Sequence[Judged], registered: bool
) -> Estimates:
    departed = [f"deviation of {d.date}: {d.what}" for d in protocol.deviations if d.contrast == rule.name]
    rows = []
    for each in judged:
        turned, said = tipping_point(
            each, found.units, found.asked.estimand.bounds, found.asked.estimand.weight
        )
        note = joined([each.compared.row.get("note"), said, *departed])
        rows.append({**each.compared.row, "tipping_point": turned, "note": note, "registered": registered})
    return replace(
        found, compared=tuple(replace(j.compared, row=r) for j, r in zip(judged, rows, strict=True))
    ).estimates()


def _exploratory(protocol: Protocol, panel: Panel, provenance: Mapping[str, Any]) -> Estimates | None:
    beside = protocol.exploratory
    if not (beside.estimands or beside.contrasts):
        return None
    cells = [_estimate(protocol, panel, rule, False) for rule in beside.estimands]
    pairs = contrasts(protocol, panel, rules=beside.contrasts, estimands=beside.estimands)
    described = {
        **provenance, "registered": False, "estimands": described_estimands(beside.estimands),
        "contrasts": described_contrasts(beside.contrasts, pairs, sum(len(each) for each in cells)),
    }  # fmt: skip
    return concat([*cells, *pairs.values()], provenance=described)


def _calibration(protocol: Protocol, panel: Panel) -> Estimates | None:
    rule = protocol.calibration
    if rule is None:
        return None
    return calibration_curve(
        panel.where(**rule.where), rule.confidence, rule.score, bins=rule.bins,
        interval=build_interval(protocol.interval), confidence_level=protocol.interval.confidence_level,
    )  # fmt: skip


def _blocks(protocol: Protocol, panel: Panel) -> pd.DataFrame | None:
    """Completeness by block; every family must lie in one block."""
    blocks = protocol.design.blocks
    if not blocks:
        return None
    counts = panel.completeness([protocol.design.family, *blocks])
    twice = counts[protocol.design.family][counts[protocol.design.family].duplicated()]
    if len(twice):
        raise ProtocolError(
            f"[design] `blocks` must split the families, but family {listed(twice.unique())} lies in several "
            f"levels of {' and '.join(blocks)}."
        )
    return panel.completeness([*protocol.design.cells, *blocks])


def _declared(protocol: Protocol) -> list[str]:
    return [
        f"{d.date}: {d.what}" + (f" (contrast {d.contrast})" if d.contrast else "")
        for d in protocol.deviations
    ]


def _unexpected(protocol: Protocol, panel: Panel) -> list[str]:
    """Compare the records with the counts that the design expects."""
    expect = protocol.design.expect
    known = {
        "families": ("family", protocol.design.family), "items": ("item", "item"), "models": ("model", "model"),
        "variants": ("variant", "variant"), "conditions": ("condition", "condition"),
    }  # fmt: skip
    counts = {name: len(panel.levels(known[name][1])) for name in expect}
    return [
        f"expected {counted(n, known[name][0])}, found {counts[name]}"
        for name, n in expect.items()
        if counts[name] != n
    ]


def described_estimands(rules: Sequence[EstimandRule]) -> dict[str, Any]:
    """How a report speaks of estimands."""
    return {
        rule.name: {
            "label": rule.label or rule.name,
            "says": rule.says,
            "kind": rule.kind,
            "percent": rule.percent,
        }
        for rule in rules
    }


def described_contrasts(
    rules: Sequence[ContrastRule], found: Mapping[str, Estimates], before: int
) -> dict[str, Any]:
    """Questions of contrasts, and the positions of the rows that answer them, after `before` others."""
    described: dict[str, Any] = {}
    for rule in rules:
        rows = list(range(before, before + len(found[rule.name])))
        before += len(rows)
        described[rule.name] = {
            "question": rule.question, "estimand": rule.estimand, "claim": rule.claim, "margin": rule.margin,
            "labels": found[rule.name].frame["contrast"].drop_duplicates().tolist(), "rows": rows,
        }  # fmt: skip
    return described


def _provenance(
    protocol: Protocol, records: Records, deviations: Sequence[str], registered: bool
) -> dict[str, Any]:
    return {
        "pairstats": __version__,
        "python": platform.python_version(),
        "protocol": {"name": protocol.name, "questions": protocol.questions, "sha256": protocol.digest},
        "registered": registered,
        "interval": build_interval(protocol.interval).name,
        "confidence_level": protocol.interval.confidence_level,
        "multiplicity": protocol.multiplicity.method,
        "design": asdict(protocol.design),
        "estimands": described_estimands(protocol.estimands),
        "deviations": list(deviations),
        "input_sha256": _input_digests(records),
    }


def _input_digests(records: Records) -> dict[str, str]:
    """Checksum of every file by its name; a further file of one name, in another source, gets a number."""
    digests: dict[str, str] = {}
    for name, digest in zip(records.ledger["file"], records.ledger["sha256"], strict=True):
        number, key = 1, name
        while digests.get(key, digest) != digest:
            number += 1
            key = f"{name} [{number}]"
        digests[key] = digest
    return digests


def _step(progress: Progress | None, name: str) -> None:
    if progress is not None:
        progress(name)
