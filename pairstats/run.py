"""Run a protocol: from raw files to a results folder with tables, figures and a report."""

from __future__ import annotations

import json
import platform
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from pairstats._version import __version__
from pairstats.answers import AnswerFormat
from pairstats.calibration import calibration_curve
from pairstats.errors import PairstatsError, ProtocolError, listed
from pairstats.infer import adjusted, contrast, estimate
from pairstats.panel import Panel
from pairstats.protocol import (
    Protocol,
    build_answers,
    build_comparison,
    build_estimand,
    build_interval,
    load_protocol,
)
from pairstats.protocol.values import ContrastRule, Source
from pairstats.readers import extract, read_runs
from pairstats.records import Records, concat_records
from pairstats.result import Estimates, concat, guarded

if TYPE_CHECKING:
    from pairstats.results import Results

Progress = Callable[[str], None]

STEPS = ("reading", "estimating", "comparing", "drawing", "reporting")


@dataclass(frozen=True)
class Analysis:
    """What a protocol's records say, before anything is written.

    Attributes
    ----------
    protocol : Protocol
    records : Records
    estimates : Estimates
        Single cells first, then contrasts.
    calibration : Estimates or None
    completeness : pandas.DataFrame
    deviations : tuple of str
        Where the records differ from what the protocol expects.
    """

    protocol: Protocol
    records: Records
    estimates: Estimates
    calibration: Estimates | None
    completeness: pd.DataFrame
    deviations: tuple[str, ...]


def run_protocol(
    path: str | Path, output: str | Path, *, report: bool = True, progress: Progress | None = None
) -> Results:
    """Read, estimate, compare, draw and report what a protocol asks for.

    Parameters
    ----------
    path : str or Path
        The protocol file.
    output : str or Path
        Folder for the results; what an earlier run wrote there is replaced.
    report : bool, default True
        Whether to draw figures and write ``report.html``.
    progress : callable, optional
        Called with the name of each step as it begins.

    Returns
    -------
    Results

    Raises
    ------
    ProtocolError
        When the protocol cannot be run as written.
    ReadError, SchemaError, PairingError
        When its records cannot be read or paired.
    """
    from pairstats.results import Results

    protocol, output = load_protocol(path), Path(output)
    analysis = analyse(protocol, progress=progress)
    write_analysis(analysis, output)
    if report:
        from pairstats.figures import draw
        from pairstats.report import write_report

        _step(progress, "drawing")
        draw(Results.load(output), output / "figures")
        _step(progress, "reporting")
        write_report(output, output / "report.html")
    return Results.load(output)


def check_protocol(path: str | Path) -> dict[str, Any]:
    """Check a protocol without running it: its own words, and whether its records lie where it says.

    Returns
    -------
    dict
        ``name``, counts of ``estimands`` and ``contrasts``, and ``findings``: what would stop a run.

    Raises
    ------
    ProtocolError
        When the file contradicts itself.
    """
    protocol = load_protocol(path)
    build_interval(protocol.interval)
    build_answers(protocol.answers)
    for rule in protocol.estimands:
        build_estimand(rule)
    for source in protocol.sources:
        for name, value in source.map.items():
            _mapping(name, value)
    named = [
        each
        for source in protocol.sources
        for each in (*_listed(source.path), *_listed(source.items))
        if not any(protocol.path.parent.glob(each))
    ]
    return {
        "name": protocol.name,
        "estimands": len(protocol.estimands),
        "contrasts": len(protocol.contrasts),
        "findings": [f"there is no file or folder {each}" for each in named],
    }


def _listed(value: str | list[str] | None) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else value


def analyse(protocol: Protocol, *, progress: Progress | None = None) -> Analysis:
    """Compute everything a protocol asks for; nothing is written."""
    _step(progress, "reading")
    records = read_sources(protocol)
    design = protocol.design
    if design.missing != "common":
        raise ProtocolError(
            f"[design] `missing` must be 'common' in this version, but is {design.missing!r}."
        )
    panel = Panel(
        records, design.cells, family=design.family, unit=design.unit, no_answer=design.no_answer,
        population=design.population, score_range=(design.score_range[0], design.score_range[1]),
    )  # fmt: skip
    _step(progress, "estimating")
    cells = _estimates(protocol, panel)
    _step(progress, "comparing")
    pairs = _contrasts(protocol, panel)
    deviations = tuple(_unexpected(protocol, panel))
    estimates = concat([*cells, *pairs], provenance=_provenance(protocol, records, deviations))
    return Analysis(
        protocol, records, estimates, _calibration(protocol, panel), panel.completeness(), deviations
    )


def read_sources(protocol: Protocol) -> Records:
    """Read all sources of a protocol into one table; paths are relative to the protocol's folder."""
    answers = build_answers(protocol.answers)
    parts = []
    for number, source in enumerate(protocol.sources, start=1):
        try:
            parts.append(_read(source, protocol.path.parent, answers, protocol.design.score_range))
        except TypeError as error:
            raise ProtocolError(f"[[records.source]] number {number}: {error}") from error
    return concat_records(parts)


def _read(
    source: Source, folder: Path, answers: AnswerFormat | None, score_range: Sequence[float]
) -> Records:
    return read_runs(
        [folder / path for path in _listed(source.path)],
        **{name: _mapping(name, value) for name, value in source.map.items()},
        set=source.set, score=source.score, filter=source.filter, reader=source.reader,
        confidence_scale=source.confidence_scale, answers=answers, options=source.options,
        items=None if source.items is None else folder / source.items, planned=source.planned,
        exclude=source.exclude, score_range=(score_range[0], score_range[1]), progress=False,
    )  # fmt: skip


def _mapping(name: str, value: Any) -> Any:
    """Mapping of one column: a dotted path, or ``{ from = "item", pattern = "..." }``."""
    if isinstance(value, str):
        return value
    if isinstance(value, dict) and set(value) == {"from", "pattern"}:
        return extract(value["from"], value["pattern"])
    raise ProtocolError(
        f"`map.{name}` must be a dotted path or {{ from = ..., pattern = ... }}, but is {value!r}."
    )


def _estimates(protocol: Protocol, panel: Panel) -> list[Estimates]:
    interval, level = build_interval(protocol.interval), protocol.interval.confidence_level
    return [
        estimate(panel.where(**rule.where), build_estimand(rule), interval=interval, confidence_level=level)
        for rule in protocol.estimands
    ]


def _contrasts(protocol: Protocol, panel: Panel) -> list[Estimates]:
    """All contrasts; those that share an error rate are adjusted together."""
    rules = {rule.name: rule for rule in protocol.estimands}
    family = protocol.multiplicity.contrasts or [rule.name for rule in protocol.contrasts]
    found = {
        rule.name: _contrast(protocol, panel, rule, rules[rule.estimand].where) for rule in protocol.contrasts
    }
    together = adjusted([found[name] for name in found if name in family], protocol.multiplicity.method)
    return [*together, *(found[name] for name in found if name not in family)]


def _contrast(protocol: Protocol, panel: Panel, rule: ContrastRule, where: dict[str, Any]) -> Estimates:
    asked = next(e for e in protocol.estimands if e.name == rule.estimand)
    try:
        return contrast(
            panel.where(**{**where, **rule.where}), build_estimand(asked), build_comparison(rule),
            average=rule.average, interval=build_interval(protocol.interval),
            confidence_level=protocol.interval.confidence_level, adjust=None,
        )  # fmt: skip
    except PairstatsError as error:
        raise type(error)(f"Contrast {rule.name!r}: {error}") from error


def _calibration(protocol: Protocol, panel: Panel) -> Estimates | None:
    rule = protocol.calibration
    if rule is None:
        return None
    return calibration_curve(
        panel.where(**rule.where), rule.confidence, rule.score, bins=rule.bins,
        interval=build_interval(protocol.interval), confidence_level=protocol.interval.confidence_level,
    )  # fmt: skip


def _unexpected(protocol: Protocol, panel: Panel) -> list[str]:
    """Compare the records with the counts that the design expects."""
    expect = protocol.design.expect
    known = {"families": protocol.design.family, "items": "item", "models": "model", "variants": "variant"}
    unknown = [name for name in expect if name not in known]
    if unknown:
        raise ProtocolError(
            f"[design] `expect` has the unknown key {listed(unknown)}; it may have {', '.join(known)}."
        )
    counts = {name: len(panel.levels(known[name])) for name in expect}
    return [f"expected {n} {name}, found {counts[name]}" for name, n in expect.items() if counts[name] != n]


def _provenance(protocol: Protocol, records: Records, deviations: Sequence[str]) -> dict[str, Any]:
    declared = [
        f"{d.date}: {d.what}" + (f" (contrast {d.contrast})" if d.contrast else "")
        for d in protocol.deviations
    ]
    return {
        "pairstats": __version__,
        "python": platform.python_version(),
        "protocol": {"name": protocol.name, "questions": protocol.questions, "sha256": protocol.digest},
        "registered": False,
        "interval": build_interval(protocol.interval).name,
        "confidence_level": protocol.interval.confidence_level,
        "multiplicity": protocol.multiplicity.method,
        "design": asdict(protocol.design),
        "estimands": {
            rule.name: {"label": rule.label or rule.name, "says": rule.says, "percent": rule.percent}
            for rule in protocol.estimands
        },
        "contrasts": {
            rule.name: {"question": rule.question, "estimand": rule.estimand} for rule in protocol.contrasts
        },
        "deviations": [*declared, *deviations],
        "input_sha256": dict(zip(records.ledger["file"], records.ledger["sha256"], strict=True)),
    }


def write_analysis(analysis: Analysis, output: Path) -> None:
    """Write the tables of an analysis into a folder, which is made where it is absent.

    Raises
    ------
    PairstatsError
        When the folder holds files that no run of pairstats wrote.
    """
    if output.exists() and (not output.is_dir() or (any(output.iterdir()) and not _is_results(output))):
        raise PairstatsError(
            f"{output} must be a new folder or hold the results of an earlier run, but holds something else. "
            "Name another folder with -o."
        )
    output.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(output / "figures", ignore_errors=True)
    for stale in (output / "calibration.parquet", output / "calibration.csv", output / "report.html"):
        stale.unlink(missing_ok=True)
    provenance = json.dumps(dict(analysis.estimates.provenance), indent=2, default=str)
    (output / "provenance.json").write_text(provenance + "\n", encoding="utf-8")
    _both(analysis.estimates, output / "estimates")
    if analysis.calibration is not None:
        _both(analysis.calibration, output / "calibration")
    records = analysis.records
    for name, frame in (
        ("completeness", analysis.completeness), ("ledger", records.ledger), ("left_out", records.left_out),
    ):  # fmt: skip
        frame.to_parquet(output / f"{name}.parquet", index=False)
        guarded(frame).to_csv(output / f"{name}.csv", index=False, lineterminator="\n")
    records.save(output / "records.parquet")
    shutil.copyfile(analysis.protocol.path, output / "protocol.toml")


def _is_results(folder: Path) -> bool:
    return (folder / "provenance.json").is_file()


def _both(estimates: Estimates, stem: Path) -> None:
    estimates.to_parquet(stem.with_suffix(".parquet"))
    estimates.to_csv(stem.with_suffix(".csv"))


def _step(progress: Progress | None, name: str) -> None:
    if progress is not None:
        progress(name)
