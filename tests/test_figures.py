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
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text
from synthetic_results import (
    HOSTILE,
    LONG,
    MODELS,
    cells,
    contrasts,
    counts,
    curve,
    estimates,
    row,
    write_results,
)

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


def texts(figure: Figure) -> list[Text]:
    """Texts that show something, once the layout is settled."""
    figure.draw_without_rendering()
    unseen = set()  # tick labels beyond the limits exist but are never drawn
    for ax in figure.axes:
        for axis, k in ((ax.xaxis, 0), (ax.yaxis, 1)):
            low, high = sorted(axis.get_view_interval())
            unseen |= {t for t in axis.get_ticklabels() if not low <= t.get_position()[k] <= high}
    shown = [t for t in figure.findobj(Text) if t.get_text().strip() and t.get_visible()]
    return [t for t in shown if t not in unseen]


def assert_nothing_overlaps(figure: Figure) -> None:
    """No two texts share room, and none leaves the figure."""
    # of an annotation, the text alone, without its line
    found = [(t.get_text(), Text.get_window_extent(t)) for t in texts(figure)]
    width, height = figure.get_size_inches() * figure.dpi
    for (one, a), (other, b) in itertools.combinations(found, 2):
        shared = Box(a.x0, a.y0, a.x1, a.y1).overlap(Box(b.x0, b.y0, b.x1, b.y1))
        assert shared < 2, (one, other, shared)  # square pixels at 100 dots an inch
    for text, box in found:
        assert min(box.x0, box.y0, width - box.x1, height - box.y1) > -1, text


def all_text(figure: Figure) -> str:
    return "\n".join(t.get_text() for t in texts(figure))


def single_points(ax) -> list[tuple[float, float]]:
    """Markers of one point each, without the end ticks of intervals."""
    return [
        (line.get_xdata()[0], line.get_ydata()[0])
        for line in ax.lines
        if len(line.get_xdata()) == 1 and line.get_marker() not in ("|", "<", ">")
    ]


def bars(ax) -> list[tuple[float, float]]:
    """Ends of horizontal bars."""
    lines = [line for line in ax.lines if len(line.get_xdata()) == 2]
    return [tuple(line.get_xdata()) for line in lines if line.get_ydata()[0] == line.get_ydata()[1]]


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

    def test_all_null(self):
        ax = figures.forest(estimates(row("accuracy", "a", None)))
        assert single_points(ax) == []
        assert_nothing_overlaps(ax.figure)

    @pytest.mark.parametrize("value", [0.0, 1.0])
    def test_intervals_at_the_ends_are_whole(self, value):
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

    def test_intervals_are_the_given_ones(self):
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
        for part in ("180 / 180", "156 / 180", "87 %", "answered (480)", "error (24)", "rate_limit: 20"):
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
        with pytest.raises(PairstatsError, match="1 cells do not, the first in row 2"):
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
