"""Results folders are read back whole, and reports show them whole and load nothing."""

from __future__ import annotations

import base64
import html
import inspect
import json
import re
import shutil
from html.parser import HTMLParser

import nbformat
import pandas as pd
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from synthetic_results import (
    HOSTILE,
    MODELS,
    cells,
    contrasts,
    counts,
    curve,
    estimates,
    other_analyses,
    provenance,
    row,
    write_results,
)

from pairstats import __version__
from pairstats.errors import PairstatsError
from pairstats.figures import draw
from pairstats.report import execute_notebook, write_report
from pairstats.result import Estimates
from pairstats.results import Results
from pairstats.shown import Scale
from pairstats.templates import parts


class Page(HTMLParser):
    """Tags with their attributes, and the text that is shown."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.shown: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.shown.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.shown))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_results(tmp_path_factory.mktemp("results") / "hostile", HOSTILE)


@pytest.fixture(scope="module")
def report(folder):
    return write_report(folder, folder / "report.html").read_text(encoding="utf-8")


class TestResults:
    def test_what_was_written_is_read(self, folder):
        results = Results.load(folder)
        assert list(results.cells) == list(cells(HOSTILE))
        assert list(results.contrasts) == list(contrasts(HOSTILE))
        assert list(results.calibration) == list(curve(HOSTILE))
        assert results.completeness.to_dict("list") == counts(HOSTILE).to_dict("list")
        assert results.ledger["reader"].tolist() == ["inspect"]
        assert results.left_out["source"].tolist() == ["a.eval#3"]
        assert results.name == "made-by-hand"

    def test_completeness_may_be_csv(self, tmp_path):
        folder = write_results(tmp_path / "r")
        (folder / "completeness.parquet").unlink()
        pd.testing.assert_frame_equal(Results.load(folder).completeness, counts(), check_dtype=False)

    def test_optional_tables_may_be_absent(self, tmp_path):
        folder = write_results(tmp_path / "r", with_curve=False)
        for name in ("ledger.csv", "left_out.csv", "provenance.json"):
            (folder / name).unlink()
        results = Results.load(folder)
        assert (results.calibration, results.ledger, results.left_out) == (None, None, None)
        assert results.provenance["pairstats"] == "0.1.0"

    def test_an_empty_table_is_empty(self, tmp_path):
        folder = write_results(tmp_path / "r")
        (folder / "left_out.csv").write_text("\n", encoding="utf-8")
        assert Results.load(folder).left_out.empty

    def test_says_what_is_missing_and_who_writes_it(self, tmp_path):
        with pytest.raises(PairstatsError, match=r"does not exist.*`pairstats run"):
            Results.load(tmp_path / "nowhere")
        folder = write_results(tmp_path / "r")
        (folder / "estimates.parquet").unlink()
        with pytest.raises(PairstatsError, match=r"lacks 'estimates.parquet'"):
            Results.load(folder)

    def test_shows_itself_escaped(self, folder):
        results = Results.load(folder)
        assert "612 of 720 planned replies answered" in repr(results)
        assert "<script>" not in results._repr_html_()


class TestPage:
    def test_loads_nothing(self, report):
        page = Page(report)
        sources = [
            value for _, attrs in page.tags for name, value in attrs.items() if name in ("src", "href")
        ]
        assert sources
        assert all(value.startswith("data:") for value in sources)
        assert not re.search(r"mathjax|require\.js|@import|url\(\s*['\"]?http", report, re.IGNORECASE)
        assert not {"script", "link", "iframe", "object", "embed"} & {tag for tag, _ in page.tags}

    def test_reads_on_a_phone(self, report):
        page = Page(report)
        assert ("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}) in page.tags
        tables = len(re.findall("<table>", report))
        assert tables == len(re.findall('<div class="scroll"><table>', report)) > 5

    def test_headings_of_groups_stay_on_the_screen(self, report):
        heads = re.findall(r'<th class="group"[^>]*>(.*?)</th>', report)
        assert heads
        assert all(head.startswith("<span>") for head in heads)
        style = re.search(r"\.group span \{(.*?)\}", report)[1]
        assert "white-space: normal" in style
        assert "max-width: calc(100vw" in style

    def test_says_who_wrote_it(self, report):
        assert ("meta", {"name": "generator", "content": f"pairstats {__version__}"}) in Page(report).tags

    def test_every_number_of_the_results_is_shown(self, report):
        text = Page(report).text.replace("\N{NO-BREAK SPACE}", " ")
        for one in (*cells(HOSTILE), *contrasts(HOSTILE)):
            shown = Scale(True, 0, difference=one["contrast"] is not None)
            assert f"{shown.value(one['estimate'])} {shown.interval(one)}" in text, one
        for planned in counts(HOSTILE).itertuples():
            assert f" {planned.planned} {planned.answered} {planned.unparsed} " in text
        for one in curve(HOSTILE).frame["estimate"].dropna():
            assert f"{one:.3f}" in text

    def test_figures_are_embedded_with_a_text_beside(self, report):
        images = [attrs for tag, attrs in Page(report).tags if tag == "img"]
        assert len(images) == 5
        assert all(image["src"].startswith("data:image/svg+xml;base64,") and image["alt"] for image in images)

    def test_hostile_names_are_escaped_everywhere(self, report):
        assert "<script" not in report
        assert "&lt;script&gt;alert(1)&lt;/script&gt;" in report

    def test_code_is_folded_away_at_the_end(self, report):
        main, _, folded = report.partition("<details>")
        assert "show.findings(results)" not in main
        assert "show.findings(results)" in html.unescape(folded)
        assert 'class="input"' not in report

    def test_names_sources_and_versions(self, report):
        text = Page(report).text
        for part in (
            "ab" * 32,
            "a.eval#3",
            "inspect",
            "2026-10-05: thinking was off",
            "95 %",
            "made-by-hand",
        ):
            assert part in text.replace("\N{NO-BREAK SPACE}", " ")


class TestNotebook:
    def test_a_study_may_bring_its_own(self, folder, tmp_path):
        source = "from pairstats.templates.parts import Html\nHtml(f'<p>{len(results.cells)} cells</p>')"
        path = tmp_path / "own.ipynb"
        nbformat.write(new_notebook(cells=[new_markdown_cell("# Mine"), new_code_cell(source)]), path)
        page = write_report(folder, tmp_path / "new" / "own.html", notebook=path).read_text(encoding="utf-8")
        assert "<p>8 cells</p>" in page
        assert ">Mine</h1>" in page
        assert nbformat.read(path, as_version=4).cells[1].outputs == []  # the file itself stays clean

    def test_a_failing_cell_is_named(self, folder, tmp_path):
        path = tmp_path / "bad.ipynb"
        nbformat.write(
            new_notebook(cells=[new_code_cell("1"), new_code_cell("x = 1\nresults.nonsense")]), path
        )
        with pytest.raises(
            PairstatsError, match=r"Cell 3 \('x = 1'\) of .*bad.ipynb failed with AttributeError"
        ):
            write_report(folder, tmp_path / "bad.html", notebook=path)
        assert not (tmp_path / "bad.html").exists()

    def test_a_cell_that_takes_too_long(self, tmp_path):
        slow = new_notebook(cells=[new_code_cell("import time; time.sleep(60)")])
        with pytest.raises(PairstatsError, match="more than 1 seconds"):
            execute_notebook(slow, folder=tmp_path, timeout=1)

    def test_runs_this_interpreter_and_this_package_quietly(self, tmp_path, capfd):
        code = "import sys, pairstats\nprint(sys.executable)\nprint(pairstats.__file__)"
        done = execute_notebook(new_notebook(cells=[new_code_cell(code)]), folder=tmp_path)
        import sys

        import pairstats

        assert done.cells[0].outputs[0].text.split() == [sys.executable, pairstats.__file__]
        assert capfd.readouterr().err == ""

    def test_no_notebook(self, folder, tmp_path):
        with pytest.raises(PairstatsError, match="must be a file"):
            write_report(folder, tmp_path / "x.html", notebook=tmp_path / "none.ipynb")
        (tmp_path / "text.ipynb").write_text("no json", encoding="utf-8")
        with pytest.raises(PairstatsError, match="must be a notebook"):
            write_report(folder, tmp_path / "x.html", notebook=tmp_path / "text.ipynb")

    def test_no_results(self, tmp_path):
        with pytest.raises(PairstatsError, match="does not exist"):
            write_report(tmp_path / "nowhere", tmp_path / "x.html")


class TestParts:
    def results(self, tmp_path, **changes):
        folder = write_results(tmp_path / "r", with_curve=False)
        for name, made in changes.items():
            made.to_parquet(folder / f"{name}.parquet")
        return Results.load(folder)

    def test_without_results_each_part_says_so(self, tmp_path):
        results = self.results(tmp_path, estimates=estimates())
        assert parts.findings(results).text.count("Nothing was estimated") == 1
        assert parts.estimates(results).text == parts.comparisons(results).text == "<p>None.</p>"
        assert "No confidence was stated" in parts.calibration(results).text
        assert parts.figures(results).text.count("Not drawn") == 4

    def test_null_estimates_read_as_no_results(self, tmp_path):
        rows = estimates(
            row("accuracy", "a", 0.5, 0.4, 0.6), row("accuracy", "b", None, note="none of 180 counts")
        )
        text = parts.estimates(self.results(tmp_path, estimates=rows)).text
        assert "no results" in text
        assert "none of 180 counts" in text

    def test_long_tables_are_cut_and_counted(self):
        frame = pd.DataFrame({"source": [f"r{k}" for k in range(parts.MOST_ROWS + 7)]})
        assert "and 7 more rows in left_out.csv" in parts.source(frame, "left_out.csv").text

    def test_columns_without_any_value_are_left_away(self):
        text = parts.table([{"a": 1, "b": ""}, {"a": 0, "b": ""}]).text
        assert "<th>a</th>" in text
        assert "<th>b</th>" not in text

    def test_sensitivity_is_a_table_with_the_verdicts_first(self, tmp_path):
        results = self.results(tmp_path, sensitivity=other_analyses())
        text = parts.sensitivity(results).text
        assert "None of these was registered.</p>" in text
        assert re.findall("<th[^>]*>([^<]*)</th>", text)[:3] == ["analysis", "verdict", "difference"]
        assert "C1, Share of replies that are right: new - old" in text
        shown = Page(text).text.replace("\N{NO-BREAK SPACE}", " ")
        for name in (
            "as registered",
            "no answer is missing",
            *(f"without a category: c0{k}" for k in range(3)),
        ):
            assert f"{name} noninferior" in shown
        for part in ("+4 points [-1, +9] 95.4 %", "95.1 %"):
            assert part in shown
        many = self.results(tmp_path, sensitivity=other_analyses(9))
        assert "7 more are in sensitivity.csv" in parts.sensitivity(many).text

    def test_without_other_analyses_the_report_says_so(self, tmp_path):
        assert "asks for no other analysis" in parts.sensitivity(self.results(tmp_path)).text

    def test_every_part_of_the_report_is_in_the_notebook(self, report):
        shown = set(re.findall(r"show\.(\w+)\(", html.unescape(report)))
        public = {
            name for name, value in vars(parts).items()
            if inspect.isfunction(value) and value.__module__ == parts.__name__ and not name.startswith("_")
        }  # fmt: skip
        assert shown == public - {"escaped", "table", "figure"}

    def test_levels_are_listed_once_and_digests_as_tables(self, tmp_path):
        rows = [row("accuracy", f"m{k}", 0.5, 0.4, 0.6, conf_level=0.9 + k * 1e-9) for k in range(3)]
        results = self.results(tmp_path, estimates=estimates(*rows))
        assert "<dd>90\N{NO-BREAK SPACE}%</dd>" in parts.methods(results).text
        made = {**provenance(), "results_sha256": {"estimates.csv": "cd" * 32}}
        (results.folder / "provenance.json").write_text(json.dumps(made), encoding="utf-8")
        text = parts.provenance(Results.load(results.folder)).text
        assert "<td>estimates.csv</td>" in text
        assert "{&quot;estimates.csv" not in text

    def test_registration_is_said(self, tmp_path):
        folder = write_results(tmp_path / "r")
        (folder / "provenance.json").write_text('{"registered": false}', encoding="utf-8")
        assert "exploratory" in parts.header(Results.load(folder)).text


def test_the_report_is_the_same_wherever_the_results_lie(folder, report, tmp_path):
    moved = shutil.copytree(folder, tmp_path / "elsewhere")
    page = write_report(moved, tmp_path / "report.html").read_text(encoding="utf-8")
    assert page == report
    assert str(folder) not in report


def test_models_are_listed_in_order(report):
    text = Page(report).text
    assert text.index("alert(1)") < text.index("frac{a}{b}")
    assert MODELS[0] not in text


def test_figures_of_the_run_are_reused_only_where_they_are_of_these_numbers(folder, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    results = Results.load(copy)
    made = parts.figures(results).text
    draw(results, copy / "figures")
    marked = copy / "figures" / "completeness.svg"
    assert parts.figures(results).text == made, "drawn or embedded, the report is the same"
    marked.write_bytes(marked.read_bytes().replace(b"<svg ", b"<svg data-marked='yes' ", 1))
    assert parts.figures(results).text != made
    frame = pd.read_parquet(copy / "completeness.parquet")
    frame.assign(reasons="other").to_parquet(copy / "completeness.parquet")
    assert "data-marked" not in base64_texts(parts.figures(Results.load(copy)).text)


def base64_texts(page: str) -> str:
    return "".join(base64.b64decode(each).decode() for each in re.findall(r"base64,([^\"]+)", page))


def test_a_test_of_several_cells_is_a_result_although_it_has_no_estimate():
    rows = [
        {"estimand": "acc", "contrast": "any of 3", "p_value": 0.2},
        {"estimand": "acc", "contrast": "a - b"},
    ]
    shown = parts._estimates_table(Estimates.from_rows(rows, factors=()), paired=True).text
    assert shown.count("no results") == 1
