"""Pieces of a report as HTML: every text that comes from outside is escaped, every number is a result's."""

from __future__ import annotations

import base64
import html
import io
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pandas as pd

from pairstats.errors import PairstatsError, counted
from pairstats.result import Estimates, number, p_text
from pairstats.shown import (
    Scale,
    as_rows,
    by_estimand,
    cell_names,
    cells_of,
    contrast_names,
    contrasts_of,
    level_text,
    meaning,
    plain,
    scale,
)  # fmt: skip
from pairstats.words import Finding, about_missing, in_parts

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from pairstats.results import Results

RIGHT = ("estimate", "difference", "interval", "level", "p", "adjusted p", "families", "n", "missing")
"""Columns of numbers."""

DRAWN_WIDTH = 672
"""Pixels of a drawing that does not tell its width."""

MOST_ROWS = 200
"""Rows of a source table that a report shows; the file in the results folder has them all."""


@dataclass(frozen=True, slots=True)
class Html:
    """HTML that a notebook shows as it is."""

    text: str

    def _repr_html_(self) -> str:
        return self.text

    def __add__(self, other: Html) -> Html:
        return Html(self.text + other.text)


def escaped(value: object) -> str:
    """Text of any value on one line, safe in HTML."""
    return html.escape(plain(value)).replace(" %", "\N{NO-BREAK SPACE}%")


def table(
    rows: Sequence[Mapping[str, object]], *, numeric: Iterable[str] = (), group: str | None = None
) -> Html:
    """Show rows as a table that scrolls sideways on a narrow screen; columns that are empty are left away.

    Examples
    --------
    >>> table([{"cell": "<b>", "n": 3, "note": ""}], numeric=("n",)).text.count("<td")
    2
    """
    names = [name for name in rows[0] if any(str(row[name]) for row in rows)] if rows else []
    names = [name for name in names if name != group]
    if not names:
        return Html("<p>None.</p>")
    right = set(numeric)
    kinds = {name: ' class="number"' if name in right else "" for name in names}
    head = "".join(f"<th{kinds[name]}>{escaped(name)}</th>" for name in names)
    body, heading = [], None
    for row in rows:
        if group is not None and row[group] != heading:
            heading = row[group]
            body.append(
                f'<tr><th class="group" colspan="{len(names)}"><span>{escaped(heading)}</span></th></tr>'
            )
        cells = "".join(f"<td{kinds[name]}>{escaped(row[name])}</td>" for name in names)
        body.append(f"<tr>{cells}</tr>")
    rows_html = "".join(body)
    return Html(
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{rows_html}</tbody></table></div>'
    )


def header(results: Results) -> Html:
    """Name and question of the analysis, and whether anything was registered."""
    protocol = results.provenance.get("protocol") or {}
    question = protocol.get("questions") if isinstance(protocol, Mapping) else None
    parts = [f"<h1>{escaped(results.name)}</h1>"]
    if question:
        parts.append(f'<p class="question">{escaped(question)}</p>')
    if results.provenance.get("registered") is False:
        parts.append("<p>Nothing here was registered in advance: read it as exploratory.</p>")
    elif seen := results.provenance.get("records_when_frozen"):
        parts.append(
            f"<p>{counted(seen, 'record file')} lay there when the protocol was frozen: the lock does not show "
            "that it was written before the data.</p>"
        )
    return Html("".join(parts))


def findings(results: Results) -> Html:
    """What was found, in words."""
    said = "".join(_finding(each) for each in in_parts(results.estimates))
    return Html(f'<div class="findings">{said or "<p>Nothing was estimated.</p>"}</div>')


def _finding(finding: Finding) -> str:
    if len(finding.items) < 2:
        return f"<p>{escaped(finding)}</p>"
    items = "".join(f"<li>{escaped(item)}</li>" for item in finding.items)
    remark = f'<p class="remark">{escaped(finding.remark)}</p>' if finding.remark else ""
    return f"<p>{escaped(finding.lead)}</p><ul>{items}</ul>{remark}"


def deviations(results: Results) -> Html:
    """Where the analysis departs from its protocol."""
    listed = results.provenance.get("deviations") or []
    if not listed:
        return Html("<p>None was recorded.</p>")
    return Html("<ul>" + "".join(f"<li>{escaped(each)}</li>" for each in listed) + "</ul>")


def completeness(results: Results) -> Html:
    """What became of the planned replies of each cell."""
    frame = results.completeness
    factors = list(frame.columns[: list(frame.columns).index("planned")])
    counts = [name for name in frame.columns if name not in (*factors, "completeness", "reasons")]
    rows = []
    for name, row in zip(cell_names(frame, factors), as_rows(frame), strict=True):
        share = {"answered share": number(row["completeness"])} if "completeness" in frame.columns else {}
        reasons = {"reasons": row["reasons"] or ""} if "reasons" in frame.columns else {}
        rows.append({"cell": name, **{count: row[count] for count in counts}, **share, **reasons})
    said = Html(f"<p>{escaped(about_missing(frame))}</p>")
    return said + table(rows, numeric=(*counts, "answered share"))


def estimates(results: Results) -> Html:
    """Every estimate of a cell."""
    return _estimates_table(results.cells, paired=False)


def comparisons(results: Results) -> Html:
    """Every comparison: first minus second."""
    return _estimates_table(results.contrasts, paired=True)


def calibration(results: Results) -> Html:
    """Accuracy in each bin of stated confidence."""
    curve = results.calibration
    if curve is None or not len(curve):
        return Html("<p>No confidence was stated.</p>")
    cells = [name for name in curve.factors if not name.startswith("conf_")]
    rows = [
        {
            "of": name,
            "stated confidence": f"{row['conf_bin_low']:.2f} to {row['conf_bin_high']:.2f}",
            "mean": number(row["conf_mean"]),
            "right": number(row["estimate"]),
            "interval": _interval(row),
            "families": _count(row["n_families"]),
            "n": _count(row["n_units"]),
        }
        for name, row in zip(cell_names(curve.frame, cells), as_rows(curve.frame), strict=True)
    ]
    return table(rows, numeric=("mean", "right", "interval", "families", "n"), group="of")


def sensitivity(results: Results) -> Html:
    """Every comparison under every other way to analyse it, beside the registered one."""
    others = results.sensitivity
    if others is None or not len(others):
        return Html("<p>The protocol asks for no other analysis.</p>")
    from pairstats.figures.drawing import extremes

    factors = [name for name in others.factors if name != "question"]
    rows = []
    for (question, contrast), every in others.frame.groupby(["question", "contrast"], sort=False):
        part = extremes(every)
        what = meaning(results.estimates, str(part["estimand"].iloc[0]))
        shown = scale(part, what.percent, difference=True)
        rows += [
            {
                "of": f"{question}, {what.label}: {contrast}",
                "analysis": name,
                "verdict": "",  # stands here; the cells fill it
                **_cells(shown, row, paired=True),
            }
            for name, row in zip(cell_names(part, factors), as_rows(part), strict=True)
        ]
    more = len(others) - len(rows)
    left = "" if not more else (
        f" Of analyses that leave out one of many levels, the two that move a difference most are shown; {more} "
        "more are in sensitivity.csv."
    )  # fmt: skip
    return Html(f"<p>None of these was registered.{left}</p>") + table(rows, numeric=RIGHT, group="of")


def figures(results: Results) -> Html:
    """Every figure that the results allow, and why others are missing."""
    from pairstats.figures.drawing import drawn_already, sheets

    planned, skipped = sheets(results)
    ready = drawn_already(results)
    shown = []
    for sheet in planned:
        if sheet.name in ready:
            shown.append(_embedded(ready[sheet.name].read_bytes(), sheet.title))
            continue
        try:
            shown.append(figure(sheet.make(), sheet.title))
        except PairstatsError as error:
            skipped[sheet.name] = str(error)
    missing = "".join(f"<p>Not drawn: {escaped(name)} ({escaped(why)}).</p>" for name, why in skipped.items())
    return Html("".join(part.text for part in shown) + missing)


def exploratory(results: Results) -> Html:
    """What was computed beside the protocol: cells, then comparisons."""
    if results.exploratory is None:
        return Html("<p>The protocol asks for nothing beside its plan.</p>")
    return Html(
        "<p>None of these was registered.</p>" + "".join(p.text for p in _either(results.exploratory, ""))
    )


def study(results: Results) -> Html:
    """What the protocol's own script added: its figures, as they lie in the results folder, and its tables."""
    from pairstats.figures.drawing import scripted_in

    folder = results.folder / "figures"
    shown = [
        _embedded((folder / f"{name}.svg").read_bytes(), name.replace("_", " "))
        for name in scripted_in(folder)
    ]
    for name, each in results.tables.items():
        shown.append(Html(f"<h3>{escaped(name.replace('_', ' '))}</h3>"))
        shown += _either(each, f"study/{name}.csv")
    return Html("".join(part.text for part in shown) or "<p>The protocol has no script.</p>")


def _either(table: Estimates | pd.DataFrame, name: str) -> list[Html]:
    """Show a table of a script: rows of cells and of comparisons apart."""
    if not isinstance(table, Estimates):
        return [source(table, name)]
    parts = ((cells_of(table), False), (contrasts_of(table), True))
    return [_estimates_table(part, paired=paired) for part, paired in parts if len(part)]


def figure(drawn: Figure, title: str) -> Html:
    """Show a figure as an embedded SVG that keeps a readable size on a narrow screen."""
    from pairstats.figures.style import save

    data = io.BytesIO()
    save(drawn, data, ending="svg")
    return _embedded(data.getvalue(), title)


def _embedded(svg: bytes, title: str) -> Html:
    data = base64.b64encode(svg).decode("ascii")
    points = re.search(rb'<svg [^>]*?width="([\d.]+)pt"', svg[:2000])
    width = round(float(points[1]) * 96 / 72) if points else DRAWN_WIDTH
    return Html(
        f'<figure><figcaption>{escaped(title)}</figcaption><div class="scroll">'
        f'<img alt="{escaped(title)}: the table below holds the same numbers" style="--width:{width}px" '
        f'src="data:image/svg+xml;base64,{data}"></div></figure>'
    )


def methods(results: Results) -> Html:
    """How the numbers were made: intervals, tests, missing replies, seeds."""
    frame, made = results.estimates.frame, results.provenance
    design = made.get("design") or {}
    tests = results.contrasts.frame
    notes = {
        "Intervals": _unique(frame["method"]),
        "Confidence level": ", ".join(
            dict.fromkeys(level_text(level) for level in _unique_numbers(frame["conf_level"]))
        ),
        "Resampled unit": f"family ({design['family']})" if design.get("family") else "family",
        "Paired in a family by": ", ".join(map(str, design.get("unit") or [])),
        "Tests": "exact sign-flip test over families, unless the note says otherwise" if len(tests) else "",
        "Multiplicity": made.get("multiplicity") or "",
        "A reply without an answer": f"scores {design['no_answer']}" if design.get("no_answer") else "",
        "Missing replies": _missing_rule(design.get("missing")),
        "Claims are about": design.get("population") or _unique(frame["population"]),
        "Largest Monte-Carlo error of a limit": number(frame["mc_error"].max(), 5),
        "Seeds": _unique(frame["seed"]),
    }
    return _described(notes)


def provenance(results: Results) -> Html:
    """Versions and digests: what to compare when a number differs."""
    made = dict(results.provenance)
    inputs, written = made.pop("input_sha256", None), made.pop("results_sha256", None)
    for shown_elsewhere in ("estimands", "contrasts", "deviations", "design"):
        made.pop(shown_elsewhere, None)
    pairs = {
        name: value if isinstance(value, str) else json.dumps(value, default=str)
        for name, value in made.items()
    }
    shown = _described(pairs)
    for head, digests in (("file that was read", inputs), ("file that was written", written)):
        if isinstance(digests, Mapping):
            shown += table([{head: name, "sha256": digest} for name, digest in digests.items()])
        elif digests:
            shown += _described({f"{head}, sha256": digests})
    return shown


def source(frame: pd.DataFrame | None, name: str) -> Html:
    """Show a table of the results folder, as long as it is short."""
    if frame is None:
        return Html(f"<p>The results hold no {escaped(name)}.</p>")
    if frame.empty:
        return Html("<p>None.</p>")
    rows = [
        {key: "" if value is None else value for key, value in row.items()}
        for row in as_rows(frame.head(MOST_ROWS))
    ]
    more = len(frame) - len(rows)
    rest = (
        Html(f"<p>and {more} more {'row' if more == 1 else 'rows'} in {escaped(name)}</p>")
        if more
        else Html("")
    )
    return table(rows) + rest


def _estimates_table(estimates: Estimates, *, paired: bool) -> Html:
    rows = []
    named = contrast_names if paired else cell_names
    names = pd.Series(named(estimates.frame, estimates.factors), index=estimates.frame.index, dtype=object)
    for estimand, part in by_estimand(estimates):
        what = meaning(estimates, estimand)
        shown = scale(part, what.percent, difference=paired)
        rows += [
            {
                "estimand": what.label, "comparison" if paired else "cell": names[index],
                **_cells(shown, row, paired=paired),
            }
            for index, row in zip(part.index, as_rows(part), strict=True)
        ]  # fmt: skip
    return table(rows, numeric=RIGHT, group="estimand")


def _cells(shown: Scale, row: Mapping[str, Any], *, paired: bool) -> dict[str, str]:
    """What a table shows of one row of estimates, besides its name."""
    first, second = row["n_first_only"], row["n_second_only"]
    return {
        "difference" if paired else "estimate": _estimate(shown, row),
        "interval": shown.interval(dict(row)),
        "level": "" if row["conf_level"] is None else level_text(row["conf_level"]),
        "p": p_text(row["p_value"]),
        "adjusted p": p_text(row["p_adjusted"]),
        "first : second": "" if first is None else f"{first} : {second}",
        "families": _count(row["n_families"]),
        "n": _count(row["n_units"]),
        "missing": _count(row["n_missing"]),
        "bounds of the missing": _bounds(shown, row),
        "claim": row["claim"] or "",
        "margin": "" if row["margin"] is None else shown.value(row["margin"]).lstrip("+"),
        "verdict": row["verdict"] or "",
        "registered": {True: "yes", False: "no"}.get(row["registered"], ""),
        "method": row["method"] or "",
        "note": row["note"] or "",
    }  # fmt: skip


def _estimate(shown: Scale, row: Mapping[str, Any]) -> str:
    """Show an estimate; a row without one may be a test of several cells, or bounds alone."""
    if row["estimate"] is not None:
        return shown.value(row["estimate"])
    return (
        "" if any(row[name] is not None for name in ("p_value", "statistic", "bound_low")) else "no results"
    )


def _bounds(shown: Scale, row: Mapping[str, Any]) -> str:
    worst, best = row["bound_low"], row["bound_high"]
    return "" if worst is None else f"{shown.number(worst)} to {shown.number(best)}"


def _interval(row: Mapping[str, Any]) -> str:
    return "" if row["conf_low"] is None else f"[{number(row['conf_low'])}, {number(row['conf_high'])}]"


def _count(value: object) -> str:
    return "" if value is None else f"{value}"


def _unique(column: pd.Series) -> str:
    return ", ".join(str(value) for value in column.dropna().unique())


def _unique_numbers(column: pd.Series) -> list[float]:
    return sorted(float(value) for value in column.dropna().unique())


def _missing_rule(rule: object) -> str:
    common = "comparisons use the units that both sides answered; the others are counted and bounded"
    return {"common": common}.get(str(rule), str(rule)) if rule else ""


def _described(pairs: Mapping[str, object]) -> Html:
    items = "".join(
        f"<dt>{escaped(name)}</dt><dd>{escaped(value)}</dd>" for name, value in pairs.items() if str(value)
    )
    return Html(f"<dl>{items}</dl>")
