"""Figures draw the numbers they are given, and nothing covers anything else."""

from __future__ import annotations

import itertools
import subprocess
import sys

import matplotlib
import numpy as np
import pandas as pd
import pytest
from conftest import ROOT
from drawn_parts import all_text, assert_nothing_overlaps, bars, single_points, texts
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from synthetic_results import (
    HOSTILE,
    LONG,
    MODELS,
    cells,
    contrasts,
    counts,
    curve,
    estimates,
    other_analyses,
    row,
    write_results,
)

import pairstats as ps
from pairstats import figures
from pairstats.errors import PairstatsError
from pairstats.figures.labels import Box, Scene, place_labels
from pairstats.figures.style import (
    PALETTE,
    distinct,
    drawable,
    middle_cut,
    paper,
    short_names,
    spread,
    text_width,
)  # fmt: skip
from pairstats.result import Estimates
from pairstats.results import Results


@pytest.fixture(params=[MODELS, MODELS[:2], LONG, HOSTILE], ids=["three", "two", "long", "hostile"])
def models(request) -> tuple[str, ...]:
    return request.param


class TestForest:
    def test_draws_the_numbers_it_is_given(self):
        given_rows = cells()
        ax = figures.forest(given_rows)
        expected = 100 * given_rows.frame[["estimate", "conf_low", "conf_high"]].to_numpy()
        assert [x for x, _ in single_points(ax)] == pytest.approx(expected[:, 0])
        assert np.array(bars(ax)) == pytest.approx(expected[:, 1:])

    def test_draws_scores_unscaled_when_not_percent(self):
        ax = figures.forest(cells(), percent=False)
        assert [x for x, _ in single_points(ax)] == pytest.approx(cells().frame["estimate"])
        assert "0.450 [0.370, 0.530]" in all_text(ax.figure)

    def test_shows_numbers_families_level_and_method(self):
        shown = all_text(figures.forest(cells()).figure)
        for part in (
            "45 [37, 53]",
            "60 (180)",
            "% [95 % interval]",
            "95 % family-jeffreys interval over 60 families",
        ):
            assert part in shown

    def test_contrasts_have_a_line_at_zero_and_fill_what_was_detected(self):
        ax = figures.forest(contrasts())
        assert any(list(line.get_xdata()) == [0, 0] for line in ax.lines)
        faces = [to_rgb(line.get_markerfacecolor()) for line in ax.lines if line.get_marker() == "o"]
        assert faces == [to_rgb(PALETTE[0]), (1, 1, 1), (1, 1, 1)]
        assert "\N{MINUS SIGN}17 [\N{MINUS SIGN}25, \N{MINUS SIGN}9]" in all_text(ax.figure)

    def test_a_reference_is_drawn_where_asked(self):
        ax = figures.forest(cells(), reference=0.25)
        assert any(list(line.get_xdata()) == [25, 25] for line in ax.lines)

    def test_null_estimates_are_said_not_drawn(self):
        rows = estimates(
            row("accuracy", "a", 0.5, 0.4, 0.6), row("accuracy", "b", None, note="no results: none")
        )
        ax = figures.forest(rows)
        assert len(single_points(ax)) == 1
        assert all_text(ax.figure).count("no results") == 2

    @pytest.mark.parametrize("names", [("a", "b"), LONG[:5:4]], ids=["short", "long"])
    def test_the_reason_of_an_empty_row_is_whole(self, names):
        why = "no results: none of the 180 planned replies of this cell counts, because no unit is answered"
        rows = estimates(
            row("accuracy", names[0], 0.5, 0.4, 0.6), row("accuracy", names[1], None, note=f"{why}; and more")
        )
        ax = figures.forest(rows)
        [shown] = [t for t in ax.texts if t.get_text().startswith("no results:")]
        assert shown.get_text().replace("\n", " ") == why
        assert_nothing_overlaps(ax.figure)
        box, inside = shown.get_window_extent(), ax.get_window_extent()
        assert inside.x0 <= box.x0 < box.x1 <= inside.x1 + 1

    def test_a_reason_that_is_endless_is_cut_at_its_end(self):
        ax = figures.forest(estimates(row("accuracy", "a", None, note="word " * 90)))
        [shown] = [t for t in ax.texts if t.get_text().startswith("word")]
        assert shown.get_text().count("\n") == 2
        assert shown.get_text().endswith("…")
        assert_nothing_overlaps(ax.figure)

    def test_headings_stand_on_white_over_the_grid(self):
        rows = [
            row(e, None, 0.1, 0.0, 0.2, contrast="a - b", p_value=0.5)
            for e in ("accuracy", "a_long_name_of_an_estimand_that_reaches_into_the_plot")
        ]
        ax = figures.forest(estimates(*rows))
        headings = [t for t in ax.texts if t.get_fontweight() == "bold"]
        assert len(headings) == 2
        for heading in headings:
            assert to_rgb(heading.get_bbox_patch().get_facecolor()) == (1, 1, 1)
            assert heading.get_zorder() > max(line.get_zorder() for line in ax.get_xgridlines())
            assert heading.get_zorder() > min(line.get_zorder() for line in ax.lines)

    def test_it_is_said_where_bar_and_test_disagree(self):
        test = {"contrast": "a - b", "p_value": 0.06}
        said = "Where a bar and its filling disagree, the test decides."
        for low, expected in ((0.01, True), (-0.01, False)):
            ax = figures.forest(estimates(row("accuracy", None, 0.1, low, 0.2, **test)))
            assert (said in all_text(ax.figure).replace("\n", " ")) is expected

    def test_many_levels_have_a_column_and_leave_the_plot_its_room(self):
        rows = [
            row(
                "accuracy",
                None,
                0.1,
                0.0,
                0.2,
                contrast=f"{a} - {b}",
                conf_level=1 - 0.05 / k,
                p_adjusted=0.5,
            )
            for k, (a, b) in enumerate(itertools.combinations(LONG[:4], 2), start=2)
        ]
        ax = figures.forest(estimates(*rows))
        shown = all_text(ax.figure)
        for part in ("points [interval]", "level", "97.5 %", "98.33 %", "99.29 %", "97.5 % to 99.29 %"):
            assert part in shown
        assert_nothing_overlaps(ax.figure)
        assert ax.get_window_extent().width / ax.figure.dpi > 1.2
        assert "[95 % interval]" in all_text(figures.forest(contrasts()).figure)

    @pytest.mark.parametrize("count", [1, 2, 3])
    def test_rows_may_be_grouped_by_contrast(self, count):
        rows = [
            row("accuracy", model, 0.1, 0.0, 0.2, contrast=f"a - b{k}", p_value=0.5)
            for k in range(count)
            for model in ("first way", "second way")
        ]
        ax = figures.forest(estimates(*rows), group="contrast")
        assert [t.get_text() for t in ax.texts if t.get_fontweight() == "bold"] == [
            f"a - b{k}" for k in range(count)
        ]
        shown = all_text(ax.figure).split("\n")
        assert shown.count("first way") == shown.count("second way") == count
        assert_nothing_overlaps(ax.figure)
        with pytest.raises(PairstatsError, match="`group` must be one of"):
            figures.forest(estimates(*rows), group="model")

    def test_one_family_is_singular(self):
        ax = figures.forest(estimates(row("accuracy", "a", 0.5, 0.4, 0.6, n_families=1)))
        assert "over 1 family." in all_text(ax.figure)

    def test_all_null(self):
        ax = figures.forest(estimates(row("accuracy", "a", None)))
        assert single_points(ax) == []
        assert_nothing_overlaps(ax.figure)

    @pytest.mark.parametrize("value", [0.0, 1.0])
    def test_proportions_at_the_ends_are_whole(self, value):
        rows = estimates(
            row("accuracy", "a", value, min(value, 0.9), max(value, 0.1)), row("accuracy", "b", 0.5)
        )
        ax = figures.forest(rows)
        low, high = ax.get_xlim()
        assert low < min(0, 100 * value)
        assert high > 100

    def test_an_open_interval_ends_in_an_arrow(self):
        rows = estimates(row("tokens", "a", 12.0, 8.0, np.inf), row("tokens", "b", 9.0, 7.0, 11.0))
        ax = figures.forest(rows)
        assert [line.get_marker() for line in ax.lines].count(">") == 1
        assert np.isfinite(ax.get_xlim()).all()
        assert "\N{INFINITY}" in all_text(ax.figure)

    def test_a_margin_is_shown_whole(self):
        test = {"contrast": "a - b", "claim": "equivalence", "margin": 0.05}
        ax = figures.forest(estimates(row("accuracy", None, 0.0, -0.01, 0.01, **test)))
        low, high = ax.get_xlim()
        assert low < -5 < 5 < high
        assert "margin of equivalence, ±5.0 points" in all_text(ax.figure)

    def test_a_one_sided_margin_is_not_drawn_on_both_sides(self):
        test = {"contrast": "a - b", "claim": "noninferiority", "margin": 0.05}
        ax = figures.forest(estimates(row("accuracy", None, 0.0, -0.01, 0.01, **test)))
        assert "equivalence" not in all_text(ax.figure)
        assert ax.get_xlim()[1] < 5

    def test_cells_and_comparisons_do_not_mix(self):
        mixed = estimates(row("accuracy", "a", 0.5), row("accuracy", None, 0.1, contrast="a - b"))
        with pytest.raises(PairstatsError, match="1 of 2 rows are comparisons"):
            figures.forest(mixed)

    def test_empty(self):
        with pytest.raises(PairstatsError, match="at least one estimate"):
            figures.forest(estimates())

    @pytest.mark.parametrize("draw", [cells, contrasts])
    def test_nothing_overlaps(self, draw, models):
        assert_nothing_overlaps(figures.forest(draw(models), title="A title").figure)

    def test_eight_estimands(self):
        rows = [row(f"score_{e}", m, 0.1 * e, 0.09 * e, 0.1 * e + 0.1) for e in range(8) for m in MODELS]
        ax = figures.forest(estimates(*rows))
        assert len(single_points(ax)) == 24
        assert_nothing_overlaps(ax.figure)

    def test_draws_into_given_axes(self):
        ax = Figure(layout="constrained").add_subplot()
        assert figures.forest(cells(), ax=ax) is ax
        assert len(single_points(ax)) == 6

    def test_leaves_its_input_alone(self):
        given_rows = cells()
        before = given_rows.frame.copy()
        figures.forest(given_rows)
        pd.testing.assert_frame_equal(given_rows.frame, before)


class TestCalibration:
    def test_one_panel_a_cell_with_its_points(self):
        figure = figures.calibration(curve())
        assert [ax.get_title(loc="left") for ax in figure.axes] == list(MODELS)
        known = curve().where(model=MODELS[0]).frame.dropna(subset=["estimate"])
        drawn = np.vstack([np.asarray(points.get_offsets()) for points in figure.axes[0].collections])
        assert drawn == pytest.approx(known[["conf_mean", "estimate"]].to_numpy())

    def test_area_grows_with_n_and_empty_bins_are_counted(self):
        figure = figures.calibration(curve())
        known = curve().where(model=MODELS[0]).frame.dropna(subset=["estimate"])
        areas = [points.get_sizes()[0] for points in figure.axes[0].collections]
        assert np.corrcoef(areas, known["n_units"].astype(float))[0, 1] > 0.99
        counted = [t.get_text() for t in figure.axes[0].texts]
        assert counted.count("0") == 3  # ten bins, of which every fourth is empty
        assert "n: units in the bin" in all_text(figure)

    def test_a_histogram_of_stated_confidence_stands_above_on_one_scale(self):
        figure = figures.calibration(curve())
        for model, ax in zip(MODELS, figure.axes, strict=True):
            rows = curve().where(model=model).frame
            [strip] = ax.child_axes
            assert [bar.get_height() for bar in strip.patches] == rows["n_units"].fillna(0).tolist()
            middles = [bar.get_x() + bar.get_width() / 2 for bar in strip.patches]
            ends = rows[["conf_bin_low", "conf_bin_high"]].mean(axis=1)
            assert middles == pytest.approx(ends.tolist())
            assert strip.get_xlim() == ax.get_xlim()
            assert strip.get_ylim() == (0, curve().frame["n_units"].max())

    def test_n_counts_units_whose_repeats_in_the_bin_are_averaged(self):
        """Three calls of each of 8 items: two state .9 and agree in the bin, one states .2."""
        frame = pd.DataFrame([
            {"family": f"f{i}", "item": f"q{i}", "model": "m", "repeat": r, "score": float(i < 6),
             "confidence": 0.2 if r == 2 else 0.9}
            for i in range(8) for r in range(3)
        ])  # fmt: skip
        found = ps.calibration_curve(ps.Panel(frame), bins=10)
        assert found.frame[["conf_mean", "n_units", "n_families"]].values.tolist() == [
            [0.2, 8, 8],
            [0.9, 8, 8],
        ]
        figure = figures.calibration(found)
        counted = [t.get_text() for t in figure.axes[0].texts]
        assert counted[:2] == ["8", "8"]
        shown = all_text(figure).replace("\n", " ")
        assert "n: units in the bin (their repeats in it averaged)" in shown
        assert "replies" not in shown

    def test_proportions_are_the_given_ones(self):
        ax = figures.calibration(curve()).axes[0]
        known = curve().where(model=MODELS[0]).frame.dropna(subset=["estimate"])
        upright = [line.get_ydata() for line in ax.lines if len(set(line.get_xdata())) == 1]
        assert np.array(upright) == pytest.approx(known[["conf_low", "conf_high"]].to_numpy())

    def test_nothing_overlaps(self, models):
        assert_nothing_overlaps(figures.calibration(curve(models)))

    def test_given_axes_take_one_cell(self):
        ax = Figure(layout="constrained").add_subplot()
        figures.calibration(curve().where(model=MODELS[1]), ax=ax)
        assert ax.get_title(loc="left") == MODELS[1]
        with pytest.raises(PairstatsError, match="one cell, but there are 3"):
            figures.calibration(curve(), ax=ax)

    def test_a_bin_for_each_value_writes_no_counts(self):
        ends = [{"conf_bin_low": c, "conf_bin_high": c, "conf_mean": c} for c in np.linspace(0, 1, 60)]
        rows = [row("accuracy", "m", 0.5, 0.4, 0.6) | end for end in ends]
        factors = ("model", "conf_bin_low", "conf_bin_high", "conf_mean")
        rows = [{k: v for k, v in each.items() if k != "run"} for each in rows]
        figure = figures.calibration(Estimates.from_rows(rows, factors=factors))
        assert len(figure.axes[0].texts) == 0
        assert_nothing_overlaps(figure)

    def test_errors(self):
        with pytest.raises(PairstatsError, match="conf_bin_low"):
            figures.calibration(cells())
        with pytest.raises(PairstatsError, match="at least one bin"):
            figures.calibration(curve().where(model="nobody"))


class TestFlipsAgainstAccuracy:
    def drawn(self, models=MODELS):
        both = cells(models)
        return figures.flips_against_accuracy(both.where(estimand="accuracy"), both.where(estimand="flips"))

    def test_points_are_the_given_pairs(self):
        ax, both = self.drawn(), cells()
        values = [both.where(estimand=name).frame["estimate"] for name in ("accuracy", "flips")]
        expected = list(zip(*(100 * each for each in values), strict=True))
        assert np.array(single_points(ax)) == pytest.approx(np.array(expected))

    def test_rows_are_matched_by_cell_not_by_order(self):
        both = cells()
        flips = both.where(estimand="flips").frame.iloc[::-1].reset_index(drop=True)
        turned = Estimates(flips, both.factors, both.provenance)
        ax = figures.flips_against_accuracy(both.where(estimand="accuracy"), turned)
        assert sorted(single_points(ax)) == sorted(single_points(self.drawn()))

    def test_nothing_overlaps(self, models):
        ax = self.drawn(models)
        assert_nothing_overlaps(ax.figure)

    def test_every_cell_is_named(self, models):
        shown = all_text(self.drawn(models).figure)
        assert all(name in shown for name in short_names(models, 32))

    def test_equal_points_get_a_legend(self):
        rows = [row(e, f"model-{k}", 0.5, 0.3, 0.7) for e in ("accuracy", "flips") for k in range(6)]
        both = estimates(*rows)
        ax = figures.flips_against_accuracy(both.where(estimand="accuracy"), both.where(estimand="flips"))
        shown = all_text(ax.figure)
        assert all(f"model-{k}" in shown for k in range(6))
        assert_nothing_overlaps(ax.figure)

    @staticmethod
    def looks(ax) -> list[tuple[str, str, str]]:
        return [
            (line.get_color(), line.get_marker(), line.get_markerfacecolor())
            for line in ax.lines
            if len(line.get_xdata()) == 1
        ]

    def test_no_two_cells_look_alike(self):
        models = [f"m{k:03}" for k in range(128)]
        ax = self.drawn(models)
        assert len(set(self.looks(ax))) == 128
        legend = [
            (h.get_color(), h.get_marker(), h.get_markerfacecolor()) for h in ax.get_legend().legend_handles
        ]
        assert legend == self.looks(ax)

    def test_cells_with_equal_numbers_stand_side_by_side_and_are_named(self):
        values = {"a": (0.5, 0.2), "b": (0.5, 0.2), "c": (0.5, 0.2), "d": (0.9, 0.1)}
        rows = [
            row(e, m, v[k], v[k] - 0.1, v[k] + 0.1)
            for k, e in enumerate(("accuracy", "flips"))
            for m, v in values.items()
        ]
        both = estimates(*rows)
        ax = figures.flips_against_accuracy(both.where(estimand="accuracy"), both.where(estimand="flips"))
        expected = np.array([(100 * x, 100 * y) for x, y in values.values()])
        assert np.array(single_points(ax)) == pytest.approx(expected)
        ax.figure.draw_without_rendering()
        markers = [line for line in ax.lines if len(line.get_xdata()) == 1]
        places = [
            line.get_transform().transform(line.get_xydata()[0]) * 72 / ax.figure.dpi for line in markers
        ]
        nearest = min(np.hypot(*(one - other)) for one, other in itertools.combinations(places, 2))
        assert nearest > max(line.get_markersize() for line in markers)
        assert "Equal values, drawn side by side: a, b, c." in all_text(ax.figure).replace("\n", " ")
        for cell in range(4):  # bars move with their marker
            shifts = {
                tuple(np.round(line.get_transform().transform((0, 0)), 6))
                for line in ax.lines[3 * cell : 3 * cell + 3]
            }
            assert len(shifts) == 1
        assert_nothing_overlaps(ax.figure)

    def test_cells_without_a_number_are_named(self):
        accuracy = estimates(row("accuracy", "a", 0.5, 0.4, 0.6), row("accuracy", "b", None))
        flips = estimates(row("flips", "a", 0.2, 0.1, 0.3), row("flips", "b", 0.1, 0.0, 0.2))
        shown = all_text(figures.flips_against_accuracy(accuracy, flips).figure)
        assert "No results for b." in shown.replace("\n", " ")

    def test_errors(self):
        both = cells()
        accuracy = both.where(estimand="accuracy")
        with pytest.raises(PairstatsError, match="has another row"):
            figures.flips_against_accuracy(both, accuracy)
        with pytest.raises(PairstatsError, match="No cell has both"):
            figures.flips_against_accuracy(accuracy, estimates(row("flips", "other", 0.2)))


class TestCompleteness:
    def test_widths_are_shares_of_what_was_planned(self):
        ax = figures.completeness(counts())
        widths = {}
        for patch in ax.patches:
            widths.setdefault(round(patch.get_y() + patch.get_height() / 2), []).append(patch.get_width())
        assert [sum(parts) for parts in widths.values()] == pytest.approx([100, 100, 100])
        assert [parts[0] for parts in widths.values()] == pytest.approx(100 * counts()["completeness"])

    def test_counts_and_shares_are_written(self):
        shown = all_text(figures.completeness(counts()).figure)
        for part in ("180 / 180", "156 / 180", "87 %", "answered (480)", "error (24)", "rate_limit 20"):
            assert part in shown

    def test_nothing_overlaps(self, models):
        assert_nothing_overlaps(figures.completeness(counts(models)).figure)

    @pytest.mark.parametrize(
        ("answered", "planned", "share"),
        [
            (9999, 10000, "> 99.9 %"),
            (1, 10000, "< 0.1 %"),
            (999, 1000, "99.9 %"),
            (0, 10, "0 %"),
            (0, 0, "none planned"),
        ],
    )
    def test_only_all_is_100(self, answered, planned, share):
        frame = pd.DataFrame(
            {"m": ["a"], "planned": [planned], "answered": [answered], "error": [planned - answered]}
        )
        assert share in [t.get_text() for t in texts(figures.completeness(frame).figure)]

    def test_errors(self):
        with pytest.raises(PairstatsError, match="'planned'"):
            figures.completeness(counts().drop(columns="planned"))
        with pytest.raises(PairstatsError, match="at least one cell"):
            figures.completeness(counts().head(0))
        with pytest.raises(PairstatsError, match="in 1 cell they do not, the first in row 2"):
            figures.completeness(counts().assign(error=[0, 12, 99]))


class TestDraw:
    def test_writes_each_figure_with_its_numbers(self, tmp_path):
        results = Results.load(write_results(tmp_path / "results"))
        drawn = figures.draw(results, tmp_path / "out")
        names = {"estimates", "comparisons", "flips_against_accuracy", "calibration", "completeness"}
        assert {path.name for path in drawn} == {f"{n}.{e}" for n in names for e in ("png", "svg", "csv")}
        assert (drawn.skipped, len(drawn)) == ({}, 15)
        assert all(path.stat().st_size for path in drawn)
        written = pd.read_csv(tmp_path / "out" / "comparisons.csv")
        assert written["estimate"].tolist() == contrasts().frame["estimate"].tolist()

    def test_png_has_300_dots_an_inch(self, tmp_path):
        from PIL import Image

        results = Results.load(write_results(tmp_path / "results", with_curve=False))
        figures.draw(results, tmp_path, formats=["png"])
        with Image.open(tmp_path / "completeness.png") as image:
            assert image.info["dpi"] == pytest.approx((300, 300), rel=1e-3)

    def test_svg_is_the_same_each_time(self, tmp_path):
        results = Results.load(write_results(tmp_path / "results"))
        for folder in ("a", "b"):
            figures.draw(results, tmp_path / folder, formats=["svg"])
        for first in sorted((tmp_path / "a").glob("*.svg")):
            assert first.read_bytes() == (tmp_path / "b" / first.name).read_bytes()
            assert b"<dc:date>" not in first.read_bytes()

    def test_hostile_names(self, tmp_path):
        results = Results.load(write_results(tmp_path / "results", HOSTILE))
        drawn = figures.draw(results, tmp_path / "out", formats=["svg"])
        assert len(drawn) == 10
        assert all(b"<script" not in path.read_bytes() for path in drawn if path.suffix == ".svg")
        cells_written = (tmp_path / "out" / "completeness.csv").read_text(encoding="utf-8")
        assert "\"'=cmd" in cells_written or "'=cmd" in cells_written

    def test_what_cannot_be_drawn_is_named_with_its_reason(self, tmp_path):
        folder = write_results(tmp_path / "results", with_curve=False)
        cells().where(estimand="accuracy").to_parquet(folder / "estimates.parquet")
        drawn = figures.draw(Results.load(folder), tmp_path / "out", formats=["svg"])
        assert {path.stem for path in drawn} == {"estimates", "completeness"}
        assert drawn.skipped == {
            "comparisons": "the results hold no comparisons",
            "flips_against_accuracy": "the results hold no flip rate",
            "calibration": "the results hold no calibration curve (no stated confidence)",
        }

    def test_one_figure_that_fails_does_not_stop_the_others(self, tmp_path):
        folder = write_results(tmp_path / "results")
        counts().assign(error=999).to_parquet(folder / "completeness.parquet")
        drawn = figures.draw(Results.load(folder), tmp_path / "out", formats=["svg"])
        assert "add up" in drawn.skipped["completeness"]
        assert {path.stem for path in drawn} == {
            "estimates", "comparisons", "flips_against_accuracy", "calibration",
        }  # fmt: skip

    def test_long_forests_are_split_by_whole_estimands(self, tmp_path):
        folder = write_results(tmp_path / "results")
        rows = [row(f"score_{e}", f"m{k}", 0.5, 0.4, 0.6) for e in range(5) for k in range(12)]
        estimates(*rows).to_parquet(folder / "estimates.parquet")
        drawn = figures.draw(Results.load(folder), tmp_path / "out", formats=["svg"])
        sizes = [len(pd.read_csv(p)) for p in drawn if p.name in ("estimates_1.csv", "estimates_2.csv")]
        assert sizes == [36, 24]

    def test_what_is_left_out_one_at_a_time_is_all_shown_or_by_its_extremes(self, tmp_path):
        for levels, rows in ((6, 8), (7, 4)):
            folder = write_results(tmp_path / f"results{levels}", with_curve=False)
            other_analyses(levels).to_parquet(folder / "sensitivity.parquet")
            figures.draw(Results.load(folder), tmp_path / str(levels), formats=["svg"])
            drawn = pd.read_csv(tmp_path / str(levels) / "sensitivity_C1.csv")
            assert len(drawn) == rows
            kept = drawn.loc[drawn["analysis"].str.startswith("without"), "estimate"]
            assert (kept.min(), kept.max()) == pytest.approx((0.02, 0.01 * (levels + 1)))

    def test_half_a_figure_is_never_written(self, tmp_path, monkeypatch):
        monkeypatch.setattr("pairstats.figures.forest_plot._width", lambda beside: 2.0)
        drawn = figures.draw(Results.load(write_results(tmp_path / "r")), tmp_path / "out", formats=["svg"])
        assert "must have room for its plot" in drawn.skipped["comparisons"]
        assert not [path for path in (tmp_path / "out").iterdir() if path.stem == "comparisons"]

    def test_other_files_are_kept_and_stale_figures_removed(self, tmp_path):
        results = Results.load(write_results(tmp_path / "results"))
        out = tmp_path / "out"
        figures.draw(results, out, formats=["svg", "png"])
        (out / "mine.png").write_bytes(b"mine")
        (out / "estimates.pdf").write_bytes(b"mine")
        figures.draw(results, out, formats=["svg"])
        assert not list(out.glob("comparisons.png"))
        assert (out / "mine.png").read_bytes() == b"mine"
        with pytest.raises(PairstatsError, match=r"'estimates\.pdf' in .* would be overwritten"):
            figures.draw(results, out, formats=["pdf"])
        assert (out / "estimates.pdf").read_bytes() == b"mine"
        figures.draw(results, out, formats=["pdf"], force=True)
        assert (out / "estimates.pdf").read_bytes().startswith(b"%PDF")

    def test_unknown_format(self, tmp_path):
        results = Results.load(write_results(tmp_path / "results"))
        with pytest.raises(PairstatsError, match="'png', 'svg', 'pdf'"):
            figures.draw(results, tmp_path, formats=["gif"])


def test_no_global_setting_is_touched():
    before = dict(matplotlib.rcParams)
    figures.forest(cells())._repr_png_()
    figures.calibration(curve())
    figures.completeness(counts())
    assert dict(matplotlib.rcParams) == before


def test_pyplot_is_never_imported(tmp_path):
    code = (
        "import sys; sys.path[:0] = sys.argv[1:3]\n"
        "from synthetic_results import cells, curve\n"
        "from pairstats import figures\n"
        "figures.forest(cells()); figures.calibration(curve())\n"
        "assert 'matplotlib.pyplot' not in sys.modules and 'seaborn' not in sys.modules"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(ROOT), str(ROOT / "tests")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_figures_show_themselves_in_a_notebook():
    ax = figures.completeness(counts())
    data, size = ax._repr_png_()
    assert data.startswith(b"\x89PNG")
    assert size["width"] == round(96 * ax.figure.get_figwidth())
    assert figures.calibration(curve())._repr_png_()[0].startswith(b"\x89PNG")


class TestStyle:
    @given(st.lists(st.floats(0, 1), max_size=12), st.floats(0.01, 0.2))
    @settings(max_examples=60, deadline=None)
    def test_spread_keeps_order_and_gap(self, wanted, gap):
        placed = spread(wanted, gap)
        order = np.argsort(wanted, kind="stable")
        steps = np.diff(np.array(placed)[order])
        assert (steps >= gap - 1e-9).all()
        assert np.mean(placed) == pytest.approx(np.mean(wanted)) if wanted else placed == []

    def test_spread_moves_nothing_that_has_room(self):
        assert spread([0.9, 0.1, 0.5], 0.2) == [0.9, 0.1, 0.5]

    @given(st.lists(st.text(min_size=1, max_size=30), max_size=6, unique=True))
    @settings(max_examples=60, deadline=None)
    def test_names_that_differ_still_differ(self, names):
        shown = [drawable(name) for name in names]
        assert len(set(short_names(names, 9))) == len(set(shown))

    def test_middle_cut(self):
        assert middle_cut("abcdefgh", 5) == "ab…gh"
        assert middle_cut("abc", 5) == "abc"

    def test_distinct_numbers_only_what_became_alike(self):
        assert distinct(["a1", "b", "a2", "a3"], ["a", "b", "a", "a"]) == ["a", "b", "a (2)", "a (3)"]

    @pytest.mark.parametrize("text", ["smollm2-terse-t0", "45 [37, 53]", "WWW iii", "families (n)"])
    def test_text_width_is_what_matplotlib_draws(self, text):
        with paper():
            figure = Figure(dpi=720)
            canvas = FigureCanvasAgg(figure)
            drawn = figure.text(0, 0, text, fontsize=8)
            box = drawn.get_window_extent(canvas.get_renderer())
        assert text_width(text, 8) == pytest.approx(box.width / 10, rel=0.05)


class TestPower:
    def drawn(self, **changes):
        base = {"contrast": "C1", "comparison": "b - a", "power": 0.6, "power_low": 0.5, "power_high": 0.7}
        rows = [
            base | {"families": n, "copies": k, "repeats": 1} | changes for n in (50, 100) for k in (1, 2)
        ]
        return figures.power_curve(pd.DataFrame(rows))

    def test_counts_agree_with_their_nouns(self):
        shown = all_text(self.drawn()).replace("\n", " ")
        for part in ("1 copy", "2 copies", "Throughout: 1 repeat."):
            assert part in shown
        assert "1 copies" not in shown
        assert "Throughout: 2 copies, 3 repeats." in all_text(self.drawn(copies=2, repeats=3)).replace(
            "\n", " "
        )


class TestPlaceLabels:
    window = Box(0, 0, 300, 200)

    @given(st.lists(st.tuples(st.floats(60, 240), st.floats(40, 160)), min_size=1, max_size=5))
    @settings(max_examples=40, deadline=None)
    def test_clear_labels_are_clear(self, points):
        boxes, covered = place_labels(Scene(points, [(40, 9)] * len(points), [], self.window))
        if covered == 0:
            pairs = itertools.combinations(boxes, 2)
            assert all(a.overlap(b) == 0 for a, b in pairs)
            assert all(box.outside(self.window) == pytest.approx(0, abs=1e-6) for box in boxes)

    def test_says_when_there_is_no_room(self):
        _, covered = place_labels(Scene([(5, 5)] * 3, [(40, 9)] * 3, [], Box(0, 0, 10, 10)))
        assert covered > 100
