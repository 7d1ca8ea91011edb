"""All the figures that a results folder allows, each with the numbers that it was drawn from."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from pairstats._version import __version__
from pairstats.errors import PairstatsError, one_of
from pairstats.figures.bars import completeness
from pairstats.figures.forest_plot import forest
from pairstats.figures.reliability import calibration
from pairstats.figures.scatter import flips_against_accuracy
from pairstats.figures.sheets import Sheet, plan_blocks, plan_doses, told_by_question
from pairstats.figures.style import save
from pairstats.outputs import check_files
from pairstats.result import Estimates, concat, guarded
from pairstats.shown import Labels, by_estimand, meaning

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pairstats.results import Results

FORMATS = ("png", "svg", "pdf")
FEW_LEVELS = 6
"""Levels left out one at a time that are all shown; of more, the two that move an estimate most."""

FOLDER = "figures"
LIST = "figures.json"
"""File beside the figures that lists them, so that nothing else is ever overwritten or removed."""

_SELF = f"pairstats {__version__}"

MOST_ROWS = 36
"""Rows that one forest holds; more go on into another."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Files that were written, and figures that were not, with the reason."""

    paths: tuple[Path, ...]
    skipped: Mapping[str, str] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Path]:
        return iter(self.paths)

    def __len__(self) -> int:
        return len(self.paths)


def draw(
    results: Results,
    out_folder: str | Path,
    formats: Sequence[str] = ("png", "svg"),
    *,
    labels: Labels | None = None,
    more: Mapping[str, Figure] | None = None,
    usual: bool = True,
    force: bool = False,
) -> Drawn:
    """Write every figure that the results allow, each with the CSV it was drawn from.

    ``figures.json`` lists what was written; figures of an earlier drawing that are not drawn again are removed.

    Parameters
    ----------
    results : Results
    out_folder : str or pathlib.Path
        Made where it does not exist; files that it does not list as figures are kept.
    formats : sequence of {"png", "svg", "pdf"}
        PNG has 300 dots an inch; the same results give the same bytes.
    labels : mapping, optional
        What estimands and cells are called.
    more : mapping of str to Figure, optional
        Further figures by name, such as those of a protocol's script; put before the others.
    usual : bool, default True
        Whether to draw what the results allow, besides `more`.
    force : bool, default False
        Overwrite files of these names that are no earlier figures.

    Returns
    -------
    Drawn
        The paths, in order, and for each figure without data the reason.

    Raises
    ------
    PairstatsError
        When files of these names are there that were not drawn by pairstats.
    """
    for ending in formats:
        one_of("formats", ending, FORMATS)
    folder = Path(out_folder)
    planned, skipped = sheets(results, labels=labels) if usual else ([], {})
    twice = sorted({sheet.name for sheet in planned} & set(more or ()))
    if twice:
        raise PairstatsError(
            f"Figures of a script must have names of their own, but {twice[0]!r} is a usual one."
        )
    planned = [*_given(more or {}), *planned]
    earlier = _listed_in(folder)
    kept = scripted_in(folder) if more is None else []  # only a run can draw these again
    names = [f"{sheet.name}.{ending}" for sheet in planned for ending in (*formats, "csv")]
    check_files([folder / name for name in names], ours=lambda path: path.name in earlier, force=force)
    folder.mkdir(parents=True, exist_ok=True)
    paths: list[Path] = []
    for sheet in planned:
        drawn = [folder / f"{sheet.name}.{ending}" for ending in formats]
        try:
            _save_all(sheet.make(), drawn)
        except Exception as error:
            for path in drawn:
                path.unlink(missing_ok=True)
            if sheet.name in (more or {}):  # made by the user, of whom nothing may be lost without a word
                raise PairstatsError(_not_drawable(sheet.name, error)) from error
            if not isinstance(error, PairstatsError):
                raise
            skipped[sheet.name] = str(error)  # one figure without data must not take the others along
            continue
        paths += drawn
        if sheet.source is not None:
            paths.append(folder / f"{sheet.name}.csv")
            _write_csv(sheet.source, paths[-1])
    of = "" if labels or not usual else _digest(results)
    names = [*(path.name for path in paths), *(n for n in sorted(earlier) if Path(n).stem in kept)]
    _list_in(folder, of, names, skipped, kept if more is None else list(more))
    for name in earlier.difference(names):
        (folder / name).unlink(missing_ok=True)
    return Drawn(tuple(paths), skipped)


def _not_drawable(name: str, error: Exception) -> str:
    """Say why a figure of a script cannot be written; matplotlib draws marks into its messages on several lines."""
    why = (
        error
        if isinstance(error, PairstatsError)
        else f"{type(error).__name__}: {' '.join(str(error).split())}"
    )
    hint = (
        r" A plain $ in a title or label is written \$."
        if "$" in str(error) or "math" in str(error).lower()
        else ""
    )
    return f"Figure {name!r} of the script must be drawable, but is not: {why}{hint}"


def _save_all(figure: Figure, paths: Sequence[Path]) -> None:
    """Save one figure in several formats, laid out once: SVG first, so that a report holds the same."""
    for path in sorted(paths, key=lambda path: path.suffix != ".svg"):
        save(figure, path, ending=path.suffix[1:])
        figure.set_layout_engine("none")


def drawn_already(results: Results) -> dict[str, Path]:
    """SVG files by name that were drawn from these very estimates into the folder of the results."""
    folder = results.folder / FOLDER
    try:
        listed = json.loads((folder / LIST).read_text(encoding="utf-8"))
        same = listed["drawn_by"] == _SELF and listed["of"] == _digest(results)
    except (OSError, ValueError, KeyError, TypeError):
        return {}
    names = [name for name in _listed_in(folder) if name.endswith(".svg")] if same else []
    return {name.removesuffix(".svg"): folder / name for name in names if (folder / name).is_file()}


def _digest(results: Results) -> str:
    """Digest of the tables that figures are drawn from; empty where the results lie in no folder."""
    content = hashlib.sha256()
    for name in ("estimates", "calibration", "sensitivity", "completeness", "completeness_by_block"):
        path = results.folder / f"{name}.parquet"
        content.update(path.read_bytes() if path.is_file() else b"absent")
    return content.hexdigest()


def _given(figures: Mapping[str, Figure]) -> list[Sheet]:
    """Sheets of figures that are drawn already."""
    return [
        Sheet(name, name.replace("_", " "), getattr(figure, "drawn_from", None), partial(_itself, figure))
        for name, figure in figures.items()
    ]


def _itself(figure: Figure) -> Figure:
    return figure


def _listed_in(folder: Path) -> set[str]:
    """Names of the files that an earlier drawing wrote into a folder."""
    try:
        listed = json.loads((folder / LIST).read_text(encoding="utf-8"))["files"]
        return {
            name for name in listed if Path(name).name == name and Path(name).suffix[1:] in (*FORMATS, "csv")
        }
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def scripted_in(folder: Path) -> list[str]:
    """Names of the figures of a protocol's script that were drawn into a folder."""
    try:
        listed = json.loads((folder / LIST).read_text(encoding="utf-8"))["script"]
        return [name for name in listed if (folder / f"{name}.svg").is_file() and Path(name).name == name]
    except (OSError, ValueError, KeyError, TypeError):
        return []


def _list_in(
    folder: Path, of: str, names: Sequence[str], skipped: Mapping[str, str], script: Sequence[str]
) -> None:
    content = {
        "drawn_by": _SELF, "of": of, "files": list(names), "script": list(script),
        "not_drawn": dict(skipped),
    }  # fmt: skip
    (folder / LIST).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def sheets(results: Results, *, labels: Labels | None = None) -> tuple[list[Sheet], dict[str, str]]:
    """Plan the figures of a results folder; second, what cannot be drawn and why."""
    planned: list[Sheet] = []
    skipped: dict[str, str] = {}
    for name, title, estimates in (
        ("estimates", "Estimates", results.cells),
        ("comparisons", "Comparisons", told_by_question(results)),
    ):
        parts = _parts(estimates, labels)
        if not parts:
            skipped[name] = f"the results hold no {name}"
        for k, part in enumerate(parts):
            suffix = f"_{k + 1}" if len(parts) > 1 else ""
            number = f" ({k + 1} of {len(parts)})" if len(parts) > 1 else ""
            planned.append(Sheet(f"{name}{suffix}", f"{title}{number}", part, _forest_of(part, labels)))
    _plan_flips(results, labels, planned, skipped)
    planned += plan_doses(results, labels)
    curve = results.calibration
    if curve is None or not len(curve):
        skipped["calibration"] = "the results hold no calibration curve (no stated confidence)"
    else:
        planned.append(Sheet("calibration", "Calibration", curve, lambda: calibration(curve, labels=labels)))
    _plan_sensitivity(results, labels, planned)
    counts = results.completeness
    planned.append(
        Sheet("completeness", "Completeness", counts, lambda: _figure(completeness(counts, labels=labels)))
    )
    planned += plan_blocks(results, labels)
    return planned, skipped


def _plan_sensitivity(results: Results, labels: Labels | None, planned: list[Sheet]) -> None:
    """Plan one forest for each question that was analysed in several ways."""
    if results.sensitivity is None:
        return
    frame = results.sensitivity.frame
    for question in frame["question"].drop_duplicates():
        rows = frame[frame["question"] == question]
        if rows["analysis"].nunique() < 2:
            continue  # analysed in one way only: the registered one, which other figures show
        factors = tuple(f for f in results.sensitivity.factors if f != "question" and rows[f].notna().any())
        part = Estimates(
            extremes(rows).drop(columns="question").reset_index(drop=True), factors, results.provenance
        )
        name = "".join(c if c.isalnum() else "_" for c in str(question))
        planned.append(
            Sheet(
                f"sensitivity_{name}",
                f"Sensitivity of {question}",
                part,
                _forest_of(part, labels, "contrast"),
            )
        )


def extremes(rows: pd.DataFrame) -> pd.DataFrame:
    """Choose the rows of one question that a reader can take in.

    Where an analysis leaves out one of many levels at a time, the two that move each estimate most stand for
    the others.
    """
    groups = rows["analysis"].str.extract(r"^(.*): [^:]*$")[0]
    keep = groups.isna()
    for _, part in rows[~keep].groupby([groups[~keep], rows.loc[~keep, "contrast"]]):
        known = part["estimate"].dropna()
        chosen = [known.idxmin(), known.idxmax()] if len(known) else part.index[:1]
        keep |= rows.index.isin(part.index if len(part) <= FEW_LEVELS else chosen)
    return rows[keep]


def _plan_flips(
    results: Results, labels: Labels | None, planned: list[Sheet], skipped: dict[str, str]
) -> None:
    """Plan a scatter of the first accuracy against each flip rate."""
    names = [name for name, _ in by_estimand(results.cells)]
    flipping = [name for name in names if _kind(results, name) == "flip_rate" or "flip" in name.lower()]
    right = [name for name in names if "accuracy" in name.lower() and name not in flipping]
    right = right or [name for name in names if name not in flipping]
    if not flipping or not right:
        skipped["flips_against_accuracy"] = f"the results hold no {'accuracy' if flipping else 'flip rate'}"
        return
    accuracy = results.cells.where(estimand=right[0])
    for k, name in enumerate(flipping, start=1):
        flips = results.cells.where(estimand=name)
        planned.append(
            Sheet(
                f"flips_against_accuracy{f'_{k}' if len(flipping) > 1 else ''}",
                f"{meaning(flips, name, labels).label} against {meaning(accuracy, right[0], labels).label}",
                concat([accuracy, flips], results.estimates.provenance),
                _scatter_of(accuracy, flips, labels),
            )
        )


def _kind(results: Results, name: str) -> str | None:
    """Kind of an estimand, where the protocol wrote it down."""
    described = (results.estimates.provenance.get("estimands") or {}).get(name)
    return described.get("kind") if isinstance(described, Mapping) else None


def _parts(estimates: Estimates, labels: Labels | None) -> list[Estimates]:
    """Split estimates into forests: one unit each, whole estimands, at most `MOST_ROWS` where that can be."""
    parts: list[tuple[bool, list[str], int]] = []
    for name, rows in by_estimand(estimates):
        percent = meaning(estimates, name, labels).percent
        last = next((part for part in reversed(parts) if part[0] == percent), None)
        if last is not None and last[2] + len(rows) <= MOST_ROWS:
            parts[parts.index(last)] = (percent, [*last[1], name], last[2] + len(rows))
        else:
            parts.append((percent, [name], len(rows)))
    return [estimates.where(estimand=names) for _, names, _ in parts]


def _forest_of(part: Estimates, labels: Labels | None, group: str = "estimand") -> Callable[[], Figure]:
    return lambda: _figure(forest(part, labels=labels, group=group))


def _scatter_of(accuracy: Estimates, flips: Estimates, labels: Labels | None) -> Callable[[], Figure]:
    return lambda: _figure(flips_against_accuracy(accuracy, flips, labels=labels))


def _figure(ax: object) -> Figure:
    figure = ax.get_figure(root=True)  # type: ignore[attr-defined]
    assert figure is not None, "axes that were just made have a figure"
    return figure


def _write_csv(source: Estimates | pd.DataFrame, path: Path) -> None:
    if isinstance(source, Estimates):
        source.to_csv(path)
    else:
        guarded(source).to_csv(path, index=False, lineterminator="\n")
