"""Dose curves and slopes: lines run through the given numbers, and never over a place without one."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from drawn_parts import all_text, assert_nothing_overlaps, assert_same_bytes_twice, single_points
from synthetic_results import HOSTILE, LONG

import pairstats as ps
from pairstats import figures
from pairstats.errors import PairstatsError
from pairstats.result import Estimates

FOREIGN = ("نموذج-لغة", "מודל שפה", "通义千问-72b")
PROVENANCE = {"estimands": {"defected": {"label": "Share that defects", "percent": True}}}


def estimates(models=("a", "b"), doses=("0", "1", "3", "6"), absent=(), **more) -> Estimates:
    """A share that grows with the dose and falls with the model; no results at the `absent` places."""
    rows = []
    for i, model in enumerate(models):
        for j, dose in enumerate(doses):
            value = round(j / (len(doses) + i), 3)
            row = {
                "estimand": "defected",
                "model": model,
                "dose": dose,
                "n_units": 36,
                "n_families": 6,
                **more,
            }
            limits = {"conf_low": max(value - 0.1, 0), "conf_high": min(value + 0.2, 1), "conf_level": 0.95}
            there = {"estimate": value, **limits}
            rows.append(row | ({} if (i, j) in absent else there))
    return Estimates.from_rows(rows, factors=("model", "dose"), provenance=PROVENANCE)


def lines(ax) -> list[list[tuple[float, float]]]:
    """Lines that join several points and are not upright, with their points."""
    found = [line.get_xydata() for line in ax.lines if len(line.get_xdata()) > 1]
    return [[tuple(map(float, point)) for point in line] for line in found if line[0][0] != line[1][0]]


def bands(ax) -> list[np.ndarray]:
    return [band.get_paths()[0].vertices for band in ax.collections]


def uprights(ax) -> list[tuple[float, float]]:
    found = [
        line for line in ax.lines if len(line.get_xdata()) == 2 and line.get_xdata()[0] == line.get_xdata()[1]
    ]
    return [tuple(map(float, line.get_ydata())) for line in found]


def flat(figure) -> str:
    return " ".join(all_text(figure).split())


class TestDoseResponse:
    def test_lines_and_bands_are_the_given_numbers_at_the_given_doses(self):
        data = estimates()
        ax = figures.dose_response(data, dose="dose").axes[0]
        for k, model in enumerate(("a", "b")):
            frame = data.where(model=model).frame
            expected = list(zip([0, 1, 3, 6], 100 * frame["estimate"], strict=True))
            assert lines(ax)[k] == [pytest.approx(point) for point in expected]
            edges = {(round(x, 6), round(y, 6)) for x, y in bands(ax)[k]}
            for x, low, high in zip([0, 1, 3, 6], frame["conf_low"], frame["conf_high"], strict=True):
                assert {(x, round(100 * low, 6)), (x, round(100 * high, 6))} <= edges
        assert len(single_points(ax)) == 8

    def test_a_line_stops_where_there_is_no_estimate(self):
        ax = figures.dose_response(estimates(absent=[(0, 2)]), dose="dose").axes[0]
        first = next(line for line in lines(ax) if line[0] == (0, 0))
        assert [x for x, _ in first] == [0, 1]
        assert len(single_points(ax)) == 7
        assert "No results: 1 of 8 points." in flat(ax.figure)

    def test_what_is_no_dose_stands_apart_and_is_not_joined(self):
        figure = figures.dose_response(estimates(doses=("0", "1", "3", "6", "6 correct")), dose="dose")
        ax = figure.axes[0]
        assert max(x for line in lines(ax) for x, _ in line) == 6
        assert sum(x > 6 for x, _ in single_points(ax)) == 2
        assert len(uprights(ax)) == 2
        assert "Not joined: no dose, or a control." in flat(figure)
        assert [t.get_text() for t in ax.get_xticklabels()] == ["0", "1", "3", "6", "6 correct"]

    def test_of_a_panel(self):
        rows = [
            {"family": f"f{f}", "item": f"q{d}", "model": m, "dose": d, "score": float(f < d)}
            for f in range(12) for d in range(0, 7, 2) for m in "ab"
        ]  # fmt: skip
        panel = ps.Panel(pd.DataFrame(rows), cells=("model", "dose"))
        found = ps.estimate(panel, ps.Mean("score"))
        ax = figures.dose_response(found, dose="dose", percent=True).axes[0]
        assert lines(ax)[0] == [pytest.approx((d, 100 * d / 12)) for d in range(0, 7, 2)]

    def test_more_than_four_lines_get_a_panel_each(self):
        data = estimates(tuple("abcdef"))
        figure = figures.dose_response(data, dose="dose", order=list("fedcba"), by="model")
        assert [ax.get_title(loc="left") for ax in figure.axes] == list("fedcba")
        for ax, model in zip(figure.axes, "fedcba", strict=True):
            assert [y for _, y in single_points(ax)] == pytest.approx(
                100 * data.where(model=model).frame["estimate"]
            )
            assert len(lines(ax)) == 7  # six faint ones and its own
        assert "Grey: the other lines." in flat(figure)

    def test_of_twenty_models_fits_a_page(self):
        figure = figures.dose_response(estimates([f"m{k}" for k in range(20)]), dose="dose")
        assert len(figure.axes) == 20
        assert figure.get_figwidth() <= 7
        assert figure.get_figheight() <= 9.5

    def test_all_zeros_have_a_band_and_a_wide_axis(self):
        ax = figures.dose_response(estimates(("a",), ("0", "1")).where(dose="0"), dose="dose").axes[0]
        assert single_points(ax) == [(0, 0)]
        assert ax.get_ylim() == (-2, 102)

    def test_it_knows_its_rows(self):
        data = estimates()
        pd.testing.assert_frame_equal(figures.dose_response(data, dose="dose").drawn_from, data.frame)

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (estimates(contrast="a - b"), "there are comparisons among the rows"),
            (estimates().where(model="none"), "at least one estimate"),
            (estimates(("a", "a")), "'a' has two at dose '0'"),
            (estimates(doses=("0", None)), "must have a level of 'dose', but 2 have none"),
        ],
    )
    def test_errors(self, data, message):
        with pytest.raises(PairstatsError, match=message):
            figures.dose_response(data, dose="dose")

    def test_unknown_factors_are_named(self):
        with pytest.raises(PairstatsError, match="no factor 'rows'; there are 'model', 'dose'"):
            figures.dose_response(estimates(), dose="rows")
        with pytest.raises(PairstatsError, match="no factor 'who'"):
            figures.dose_response(estimates(), dose="dose", by="who")

    def test_several_estimands_are_refused(self):
        rows = [*estimates(), *({**row, "estimand": "other"} for row in estimates())]
        both = Estimates.from_rows(rows, factors=("model", "dose"))
        with pytest.raises(PairstatsError, match="one estimand, but there are 'defected', 'other'"):
            figures.dose_response(both, dose="dose")

    @pytest.mark.parametrize(
        "models", [("m",), LONG[:4], LONG, HOSTILE, FOREIGN], ids=lambda m: f"{len(m)}{m[0][:3]}"
    )
    def test_nothing_overlaps(self, models):
        figure = figures.dose_response(
            estimates(models), dose="dose", title="A title", caption="Joint outcomes are fitted (seed 7)."
        )
        assert_nothing_overlaps(figure)
        assert "Joint outcomes are fitted (seed 7)." in flat(figure)

    def test_same_bytes(self):
        assert_same_bytes_twice(lambda: figures.dose_response(estimates(), dose="dose"))


class TestSlopes:
    def test_points_and_bars_are_the_given_numbers_in_the_given_order(self):
        data = estimates(doses=("neutral", "pressure", "agentic"))
        order = ["agentic", "pressure", "neutral"]
        ax = figures.slopes(data, x="dose", order=order).axes[0]
        assert [t.get_text() for t in ax.get_xticklabels()] == order
        for k, model in enumerate(("a", "b")):
            frame = data.where(model=model).frame.set_index("dose").loc[order]
            assert [y for _, y in lines(ax)[k]] == pytest.approx(100 * frame["estimate"])
            assert uprights(ax)[3 * k : 3 * k + 3] == [
                pytest.approx((100 * low, 100 * high))
                for low, high in zip(frame["conf_low"], frame["conf_high"], strict=True)
            ]

    def test_bars_of_several_lines_stand_side_by_side(self):
        ax = figures.slopes(estimates(doses=("x", "y")), x="dose").axes[0]
        places = [x for x, _ in single_points(ax)]
        assert len(set(places)) == 4
        assert [round(x) for x in places] == [0, 1, 0, 1]

    def test_no_point_lies_outside_the_axes(self):
        ax = figures.slopes(estimates("abcd", ("neutral", "pressure", "agentic")), x="dose").axes[0]
        left, right = ax.get_xlim()
        places = [x for x, _ in single_points(ax)]
        assert len(places) == 12
        assert all(left < x < right for x in places)

    def test_a_level_out_of_order_is_refused(self):
        with pytest.raises(PairstatsError, match="must name all of its levels, but '6' is not in it"):
            figures.slopes(estimates(), x="dose", order=["0", "1", "3"])

    def test_a_line_without_results_is_named(self):
        figure = figures.slopes(estimates(doses=("x", "y"), absent=[(1, 0), (1, 1)]), x="dose")
        assert "b: no results" in flat(figure)

    @pytest.mark.parametrize(
        "models", [("m",), LONG[:4], LONG, HOSTILE, FOREIGN], ids=lambda m: f"{len(m)}{m[0][:3]}"
    )
    def test_nothing_overlaps(self, models):
        assert_nothing_overlaps(
            figures.slopes(estimates(models, ("neutral", "pressure", "agentic")), x="dose")
        )
