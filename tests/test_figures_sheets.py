"""Ranks, names that tell comparisons apart, one-sided limits, and figures that a results folder allows."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from drawn_parts import (
    all_text,
    assert_nothing_overlaps,
    assert_same_bytes_twice,
    figure_of,
    single_points,
)
from synthetic_results import (
    HOSTILE,
    LONG,
    cells,
    contrasts,
    counts,
    curve,
    estimates,
    provenance,
    row,
    write_results,
)

import pairstats as ps
from pairstats import figures
from pairstats.errors import PairstatsError
from pairstats.figures.sheets import told_by_question
from pairstats.result import Estimates, concat
from pairstats.results import Results

FOREIGN = ("نموذج-لغة", "מודל שפה", "通义千问-72b")


def flat(drawn) -> str:
    return " ".join(all_text(figure_of(drawn)).split())


def ranks(models=("a", "b", "c"), splits=(None,)) -> Estimates:
    """The k-th model may have the ranks from k - 1 to k + 1."""
    rows = []
    for split in splits:
        for k, model in enumerate(models, start=1):
            about = {"split": split, "model": model, "conf_level": 0.95, "n_families": 60}
            ends = {"conf_low": max(k - 1, 1), "conf_high": min(k + 1, len(models))}
            value = {
                "estimate": 1 / k,
                "conf_low": 0.9 / k,
                "conf_high": 1.0 / k,
                "method": "family-jeffreys",
            }
            note = f"group {'abcdefghijklmnopqrstuvwxyz'[k]}: not told apart from others"
            rows.append({"estimand": "accuracy", **about, **value})
            rows.append(
                {"estimand": "rank(accuracy)", **about, **ends, "method": "ranks by holm", "note": note}
            )
    return Estimates.from_rows(rows, factors=("split", "model"), provenance=provenance())


def reaches(ax) -> list[tuple[float, float]]:
    """Ends of the bars, without the dots at each rank."""
    return [tuple(map(float, line.get_xdata())) for line in ax.lines if line.get_marker() == "None"]


class TestRankIntervals:
    def test_bars_and_columns_are_the_given_ranks(self):
        ax = figures.rank_intervals(ranks())
        assert reaches(ax) == [(1, 2), (1, 3), (2, 3)]
        shown = all_text(figure_of(ax)).split("\n")
        assert [t for t in shown if " to " in t][:3] == ["1 to 2", "1 to 3", "2 to 3"]
        assert {"b", "c", "d", "50.0 [45.0, 50.0]"} <= set(shown)
        assert [t.get_text() for t in ax.get_xticklabels()] == ["1", "2", "3"]

    def test_of_a_panel(self):
        rows = [
            {"family": f"f{f}", "item": "q", "model": m, "score": float(m == "a" or f < 2)}
            for f in range(12) for m in "abc"
        ]  # fmt: skip
        found = ps.rank(ps.Panel(pd.DataFrame(rows)), ps.Mean("score"))
        ax = figures.rank_intervals(found)
        assert reaches(ax) == [(1, 1), (2, 3), (2, 3)]
        pd.testing.assert_frame_equal(figure_of(ax).drawn_from, found.frame)

    def test_strata_have_headings(self):
        ax = figures.rank_intervals(ranks(splits=("easy", "hard")))
        assert [t.get_text() for t in ax.texts if t.get_fontweight() == "bold"] == ["easy", "hard"]
        assert reaches(ax) == [(1, 2), (1, 3), (2, 3)] * 2

    def test_rows_of_strata_may_come_mixed(self):
        rows = sorted(ranks(splits=("easy", "hard")), key=lambda row: row["model"])
        ax = figures.rank_intervals(Estimates.from_rows(rows, factors=("split", "model")))
        assert reaches(ax) == [(1, 2), (1, 3), (2, 3)] * 2
        names = sorted(
            (t.xy[1], t.get_text()) for t in ax.texts if t.get_ha() == "left" and t.get_text() in "abc"
        )
        assert [name for _, name in names] == list("abcabc")

    def test_a_stratum_without_results_says_so(self):
        rows = [
            *ranks(splits=("easy",)),
            {"estimand": "accuracy", "split": "hard", "note": "no results: nothing shared"},
        ]
        ax = figures.rank_intervals(Estimates.from_rows(rows, factors=("split", "model")))
        assert "no results: nothing shared" in flat(ax)
        assert len(reaches(ax)) == 3

    def test_what_is_no_rank_is_refused(self):
        with pytest.raises(PairstatsError, match="the rows hold no rank"):
            figures.rank_intervals(cells())
        with pytest.raises(PairstatsError, match="one row a level, but 'a' has two"):
            figures.rank_intervals(concat([ranks(), ranks()]))

    @pytest.mark.parametrize(
        "models",
        [("m",), LONG, HOSTILE, FOREIGN, tuple(f"m{k}" for k in range(20))],
        ids=lambda m: f"{len(m)}{m[0][:3]}",
    )
    def test_nothing_overlaps(self, models):
        ax = figures.rank_intervals(ranks(models), title="A title", caption="Joint outcomes are fitted.")
        assert_nothing_overlaps(figure_of(ax))
        assert "Joint outcomes are fitted." in flat(ax)

    def test_same_bytes(self):
        assert_same_bytes_twice(lambda: figures.rank_intervals(ranks()))


POWER = pd.DataFrame(
    [
        {"contrast": "C1", "comparison": "b - a", "copies": 8, "repeats": 1, "families": n, "power": 0.5,
         "power_low": 0.4, "power_high": 0.6}
        for n in (50, 100)
    ]
)  # fmt: skip
ACCURACY, FLIPS = (cells().where(estimand=name) for name in ("accuracy", "flips"))


@pytest.mark.parametrize(
    ("make", "rows"),
    [
        (lambda **more: figures.forest(cells(), **more), cells().frame),
        (lambda **more: figures.completeness(counts(), **more), counts()),
        (lambda **more: figures.calibration(curve(), **more), curve().frame),
        (lambda **more: figures.power_curve(POWER, **more), POWER),
        (
            lambda **more: figures.flips_against_accuracy(ACCURACY, FLIPS, **more),
            concat([ACCURACY, FLIPS]).frame,
        ),
    ],
    ids=["forest", "completeness", "calibration", "power_curve", "flips_against_accuracy"],
)
def test_every_figure_knows_its_rows_and_takes_a_caption(make, rows):
    figure = figure_of(make(caption="Joint outcomes are fitted (seed 7)."))
    pd.testing.assert_frame_equal(figure.drawn_from, rows.reset_index(drop=True))
    assert "Joint outcomes are fitted (seed 7)." in flat(figure)
    assert_nothing_overlaps(figure)


def test_axes_of_a_plain_figure_know_their_rows_too():
    from matplotlib.figure import Figure

    figure = Figure(figsize=(14, 5), layout="constrained")
    first, second = figure.subplots(1, 2)
    figures.forest(ACCURACY, ax=first)
    figures.forest(FLIPS, ax=second)
    pd.testing.assert_frame_equal(figure.drawn_from, concat([ACCURACY, FLIPS]).frame)


class TestForestNames:
    def names(self, ax) -> list[str]:
        return [" ".join(t.get_text().split()) for t in ax.texts if t.get_text().startswith("a - b")]

    def test_two_claims_about_one_comparison_are_told_apart(self):
        about = {"contrast": "a - b", "estimate": 0.1, "conf_low": 0.0, "conf_high": 0.2}
        data = estimates(
            row("accuracy", None, 0.1) | about | {"claim": "noninferiority", "margin": 0.1},
            row("accuracy", None, 0.1) | about | {"claim": "superiority"},
        )
        assert self.names(figures.forest(data)) == [
            "a - b (noninferiority, margin 0.1)",
            "a - b (superiority)",
        ]

    def test_rows_that_nothing_tells_apart_are_numbered(self):
        one = row("accuracy", None, 0.1, 0.0, 0.2, contrast="a - b")
        assert self.names(figures.forest(estimates(one, one))) == ["a - b (1)", "a - b (2)"]
        assert self.names(figures.forest(estimates(one, one | {"estimand": "flips"}))) == ["a - b", "a - b"]

    def test_questions_of_a_protocol_name_what_they_share(self, tmp_path):
        folder = write_results(tmp_path / "results")
        rows = [*cells(), *contrasts(), next(iter(contrasts()))]
        n, last = len(cells()), len(cells()) + len(contrasts())
        asked = {"Q1": {"rows": list(range(n, last))}, "Q2": {"rows": [last]}}
        found = Estimates.from_rows(
            rows, factors=("run", "model"), provenance=provenance() | {"contrasts": asked}
        )
        found.to_parquet(folder / "estimates.parquet")
        told = told_by_question(Results.load(folder))
        assert told.frame["question"].tolist() == ["Q1", *[None] * (len(contrasts()) - 1), "Q2"]
        figures.draw(Results.load(folder), tmp_path / "out", formats=["svg"])
        assert len(pd.read_csv(tmp_path / "out" / "comparisons.csv")) == len(contrasts()) + 1

    def test_without_shared_comparisons_nothing_is_added(self, tmp_path):
        told = told_by_question(Results.load(write_results(tmp_path / "results")))
        assert told.factors == ("run", "model")

    def test_one_estimand_under_several_headings_has_one_number_of_decimals(self):
        rows = [
            row("flips", m, 0.1, 0.1 - width, 0.1 + width, contrast=c)
            for c, width in (("a - b", 0.02), ("a - c", 0.2)) for m in ("m", "n")
        ]  # fmt: skip
        shown = all_text(figure_of(figures.forest(estimates(*rows), group="contrast")))
        assert "+10.0 [+8.0, +12.0]" in shown
        assert "+10.0 [\N{MINUS SIGN}10.0, +30.0]" in shown


class TestOneSided:
    def data(self, alternative: str) -> Estimates:
        ends = {"greater": (0.05, 1.0), "less": (-1.0, 0.15)}[alternative]
        return estimates(row("flips", None, 0.1, *ends, contrast="a - b", alternative=alternative))

    @pytest.mark.parametrize(
        ("alternative", "text", "marker"),
        [("greater", "+10 [≥ +5]", ">"), ("less", "+10 [≤ +15]", "<")],
    )
    def test_the_open_end_is_an_arrow_and_prints_no_number(self, alternative, text, marker):
        ax = figures.forest(self.data(alternative))
        assert text in all_text(figure_of(ax))
        assert marker in [line.get_marker() for line in ax.lines]
        assert max(abs(edge) for edge in ax.get_xlim()) < 30

    def test_of_a_panel(self):
        rows = [
            {"family": f"f{f}", "item": "q", "model": m, "score": float(m == "a" or f < 5)}
            for f in range(20) for m in "ab"
        ]  # fmt: skip
        found = ps.contrast(
            ps.Panel(pd.DataFrame(rows)), ps.Mean("score"), ps.Pairwise("model"), alternative="greater"
        )
        assert found.frame["conf_high"].item() == 1
        shown = all_text(figure_of(figures.forest(found)))
        assert f"[≥ +{found.frame['conf_low'].item():.3f}]" in shown
        assert "+1.000" not in shown


def doses(estimand: str = "accuracy") -> list[dict]:
    return [
        {"estimand": estimand, "model": m, "dose": d, "estimate": d / 10, "conf_low": d / 20, "conf_high": d / 8}
        for m in "ab" for d in (0, 1, 3, 6)
    ]  # fmt: skip


class TestSheets:
    def folder(self, tmp_path, rows, name="results"):
        folder = write_results(tmp_path / name, with_curve=False)
        Estimates.from_rows(rows, factors=("model", "dose"), provenance=provenance()).to_parquet(
            folder / "estimates.parquet"
        )
        return folder

    def test_a_trend_brings_its_dose_curve(self, tmp_path):
        trend = {"estimand": "accuracy", "contrast": "trend over dose", "model": "a", "estimate": 0.1}
        folder = self.folder(tmp_path, [*doses(), *doses("flips"), trend])
        figures.draw(Results.load(folder), tmp_path / "out", formats=["svg"])
        drawn = pd.read_csv(tmp_path / "out" / "dose_response.csv")
        assert drawn["estimand"].unique().tolist() == ["accuracy"]
        assert drawn["estimate"].tolist() == pytest.approx([row["estimate"] for row in doses()])

    def test_without_a_trend_there_is_none(self, tmp_path):
        drawn = figures.draw(Results.load(self.folder(tmp_path, doses())), tmp_path / "out", formats=["svg"])
        assert not [path for path in drawn if path.stem.startswith("dose")]

    def test_a_trend_of_cells_without_doses_is_left_to_the_forest(self, tmp_path):
        trend = {"estimand": "accuracy", "contrast": "trend over rows", "estimate": 0.1}
        folder = self.folder(tmp_path, [*doses(), trend])
        drawn = figures.draw(Results.load(folder), tmp_path / "out", formats=["svg"])
        assert not [path for path in drawn if path.stem.startswith("dose")]

    def test_blocks_bring_their_completeness(self, tmp_path):
        folder = write_results(tmp_path / "results")
        blocks = pd.concat([counts().assign(block=b) for b in ("b1", "b2")], ignore_index=True)
        blocks = blocks[["run", "model", "block", *counts().columns[2:]]]
        blocks.to_parquet(folder / "completeness_by_block.parquet", index=False)
        drawn = figures.draw(Results.load(folder), tmp_path / "out", formats=["svg"])
        assert "completeness_by_block.svg" in {path.name for path in drawn}
        assert len(pd.read_csv(tmp_path / "out" / "completeness_by_block.csv")) == 2 * len(counts())
        listed = json.loads((tmp_path / "out" / "figures.json").read_text(encoding="utf-8"))
        assert "completeness_by_block" not in listed["not_drawn"]


def test_points_are_where_the_numbers_are_in_a_paired_forest_over_models():
    rows = [
        row("flips", m, v, v - 0.1, v + 0.1, contrast="code - direct") for m, v in (("a", 0.2), ("b", -0.05))
    ]
    pooled = row("flips", None, 0.07, 0.0, 0.14, contrast="code - direct")
    ax = figures.forest(estimates(*rows, pooled), group="contrast")
    assert [x for x, _ in single_points(ax)] == pytest.approx([20, -5, 7])
    assert [t.get_text() for t in ax.texts if t.get_text() in ("a", "b", "all")] == ["a", "b", "all"]
