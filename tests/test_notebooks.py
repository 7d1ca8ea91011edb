"""The notebooks run from a clean start, say nothing on stderr, and show the numbers of the records."""

from __future__ import annotations

import re

import nbformat
import pytest
from conftest import ROOT

from pairstats.report import execute_notebook, read_notebook

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def quickstart() -> nbformat.NotebookNode:
    path = ROOT / "notebooks" / "quickstart.ipynb"
    return execute_notebook(read_notebook(path), folder=path.parent, name=path.name)


def shown(notebook: nbformat.NotebookNode, source: str) -> str:
    """All text that the cell with a piece of source shows."""
    (cell,) = [c for c in notebook.cells if c.cell_type == "code" and source in c.source]
    texts = [o.get("text", "") + "".join(map(str, o.get("data", {}).values())) for o in cell.outputs]
    return re.sub(r"<[^>]+>|\s+", " ", " ".join(texts))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.name)
def test_committed_without_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)


def test_there_is_a_test_for_every_notebook():
    """That of a study stands beside the study's other tests."""
    for path in NOTEBOOKS:
        tests = ROOT / "tests" / f"test_study_{path.stem}.py"
        assert path.stem == "quickstart" or f"{path.stem}.ipynb" in tests.read_text(encoding="utf-8")


class TestQuickstart:
    def test_nothing_on_stderr(self, quickstart):
        outputs = [output for cell in quickstart.cells for output in cell.get("outputs", [])]
        assert outputs
        assert [output.text for output in outputs if output.get("name") == "stderr"] == []

    def test_every_record_is_accounted_for(self, quickstart):
        text = shown(quickstart, "records.ledger")
        assert len(re.findall(r"inspect +0\.3\.285 +360", text)) == 3

    def test_accuracy(self, quickstart):
        text = shown(quickstart, 'accuracy = ps.estimate(panel, ps.Mean("score"))')
        for model, estimate in (("terse-t0", "0.450"), ("2shot-t0", "0.444"), ("2shot-t1", "0.389")):
            assert re.search(rf"smollm2-{model} +{estimate} ", text), text

    def test_flips(self, quickstart):
        text = shown(quickstart, "flips = ps.estimate")
        for model, estimate in (("terse-t0", "0.433"), ("2shot-t0", "0.450"), ("2shot-t1", "0.467")):
            assert re.search(rf"smollm2-{model} +{estimate} ", text), text

    def test_comparisons_are_paired_and_adjusted(self, quickstart):
        text = shown(quickstart, "pairs = ps.contrast")
        assert "p adjusted" in text
        assert re.search(r"smollm2-2shot-t0 - smollm2-terse-t0 .*?-0\.006 .*?1\.000 +1\.000 +1:2 ", text), (
            text
        )

    def test_figures_are_shown_inline(self, quickstart):
        cells = [
            cell for cell in quickstart.cells if "ps.figures." in cell.source and cell.cell_type == "code"
        ]
        assert len(cells) == 5
        assert all("image/png" in cell.outputs[-1].data for cell in cells)

    def test_findings_in_words(self, quickstart):
        text = shown(quickstart, "ps.findings")
        assert "0.450 [0.355, 0.549] for smollm2-terse-t0" in text
        assert "difference not detected in 3 of 3 comparisons at 0.05" in text
