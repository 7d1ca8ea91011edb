"""Outcome bars, distributions of usage, and platforms side by side: every row is drawn, or counted and named."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from drawn_parts import all_text, assert_nothing_overlaps, assert_same_bytes_twice, figure_of
from matplotlib.patches import Rectangle
from synthetic_results import HOSTILE, LONG

import pairstats as ps
from pairstats import figures
from pairstats.errors import PairstatsError
from pairstats.figures.outcomes import COLOURS
from pairstats.result import Estimates

FOREIGN = ("نموذج-لغة", "מודל שפה", "通义千问-72b")
NAMES = [("m",), LONG, HOSTILE, FOREIGN, tuple(f"model-{k}" for k in range(20))]
by_name = pytest.mark.parametrize("models", NAMES, ids=lambda m: f"{len(m)}{m[0][:3]}")


def flat(drawn) -> str:
    return " ".join(all_text(figure_of(drawn)).split())


def segments(ax) -> dict[float, list[float]]:
    """Widths of the segments of each bar by its height, from left to right."""
    found: dict[float, list[tuple[float, float]]] = {}
    for patch in ax.patches:
        y = round(patch.get_y() + patch.get_height() / 2, 6)
        found.setdefault(y, []).append((patch.get_x(), patch.get_width()))
    return {y: [width for _, width in sorted(parts)] for y, parts in found.items()}


def replies(models=("a", "b"), conditions=("plain",)) -> pd.DataFrame:
    """Per model and condition: 5 follow, 3 go silent, 1 is cut off, 1 has no class, 2 are errors."""
    parts = [*["followed"] * 5, *["silent"] * 3, None, None, "followed", None]
    statuses = [*["answered"] * 8, "truncated", "answered", "error", "absent"]
    rows = [
        {"model": m, "condition": c, "outcome": outcome, "status": status}
        for m in models for c in conditions for outcome, status in zip(parts, statuses, strict=True)
    ]  # fmt: skip
    return pd.DataFrame(rows)


class TestOutcomeBars:
    def test_segments_are_the_counted_shares(self):
        ax = figures.outcome_bars(replies())
        assert segments(ax) == {0: [50, 30, 10, 10], 1: [50, 30, 10, 10]}
        assert "followed (10)" in flat(ax)
        assert "truncated (2)" in flat(ax)
        assert "no class (2)" in flat(ax)

    def test_errors_and_absent_replies_are_in_no_bar_but_counted(self):
        ax = figures.outcome_bars(replies())
        assert "Missing: 4 replies (errors, absent), in no bar" in flat(ax)
        rows = figure_of(ax).drawn_from
        assert rows["n"].sum() == len(replies())
        assert rows.loc[rows["outcome"] == "error", "n"].sum() == 2

    def test_counts_give_the_same_bars_as_replies(self):
        data = replies().drop(columns="condition")
        counts = data.value_counts(["model", "outcome", "status"], dropna=False, sort=False).reset_index(
            name="k"
        )
        order = ["followed", "silent", "truncated", "no class"]
        assert segments(figures.outcome_bars(counts, count="k", order=order))[1] == [50, 30, 10, 10]

    def test_an_index_with_repeats_changes_nothing(self):
        data = pd.concat([replies(("a",)), replies(("b",)).iloc[:4]])
        assert segments(figures.outcome_bars(data))[1] == [100]

    def test_split_by_a_second_factor_has_headings_and_one_order(self):
        data = replies(("a", "b"), ("plain", "pressed"))
        shuffled = pd.concat([data[data["model"] == "a"], data[data["model"] == "b"].iloc[::-1]])
        ax = figures.outcome_bars(shuffled, rows="condition", split="model")
        assert list(segments(ax)) == pytest.approx([1, 2, 4.35, 5.35])
        written = [t.get_text() for t in ax.texts]
        assert [t for t in written if t in ("plain", "pressed")] == ["plain", "pressed"] * 2

    def test_the_order_is_kept_and_nothing_is_left_out_silently(self):
        order = ["silent", "followed", "truncated", "no class"]
        assert segments(figures.outcome_bars(replies(), order=order))[0] == [30, 50, 10, 10]
        with pytest.raises(PairstatsError, match="lacks 'truncated', 'no class'"):
            figures.outcome_bars(replies(), order=["silent", "followed"])

    def test_shares_that_were_estimated_are_drawn_as_they_are(self):
        rows = [
            {"estimand": e, "model": "m", "estimate": v, "n_units": 36, "n_missing": 2}
            for e, v in (("followed", 0.6), ("silent", 0.3), ("other", 0.1))
        ]
        data = Estimates.from_rows(rows, factors=("model",))
        ax = figures.outcome_bars(data, order=["other", "silent", "followed"])
        assert segments(ax)[0] == pytest.approx([10, 30, 60])
        assert "36" in flat(ax)
        with pytest.raises(PairstatsError, match=r"must add up to 1, but those of 'm' add up to 0\.9000"):
            figures.outcome_bars(data.where(estimand=["followed", "silent"]))

    def test_shares_of_a_panel(self):
        data = replies().query("status == 'answered'").dropna().reset_index(drop=True)
        panel = ps.Panel(data.assign(family=[f"f{k}" for k in range(len(data))], item="q", score=1.0))
        shares = [ps.Share(f"outcome == {name}") for name in ("followed", "silent")]
        ax = figures.outcome_bars(ps.estimate(panel, shares))
        assert segments(ax)[0] == pytest.approx([62.5, 37.5])
        assert list(figure_of(ax).drawn_from["outcome"].unique()) == ["followed", "silent"]

    def test_a_model_without_replies_says_so(self):
        data = replies()
        data.loc[data["model"] == "b", "status"] = "error"
        ax = figures.outcome_bars(data)
        assert list(segments(ax)) == [0]
        assert "no results" in flat(ax)

    @pytest.mark.parametrize(
        ("data", "options", "message"),
        [
            (replies().drop(columns="outcome"), {}, "need the columns 'outcome'"),
            (replies().iloc[:0], {}, "at least one reply"),
            (replies().assign(n=-1), {"count": "n"}, "must hold counts"),
            (replies().assign(n=0.5), {"count": "n"}, "must hold counts"),
        ],
    )
    def test_errors(self, data, options, message):
        with pytest.raises(PairstatsError, match=message):
            figures.outcome_bars(data, **options)

    @by_name
    def test_nothing_overlaps(self, models):
        ax = figures.outcome_bars(
            replies(models), title="A title", caption="Joint outcomes are fitted (seed 7)."
        )
        assert_nothing_overlaps(figure_of(ax))
        assert "Joint outcomes are fitted (seed 7)." in flat(ax)

    def test_neighbours_differ_in_grey(self):
        """Lightness (CIE L*) of neighbouring colours differs by 10 at least."""
        lightness = [116 * luminance(colour) ** (1 / 3) - 16 for colour in COLOURS]
        assert min(abs(np.diff(lightness))) >= 10

    def test_same_bytes(self):
        assert_same_bytes_twice(lambda: figures.outcome_bars(replies()))


def luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def lengths(models=("a", "b")) -> pd.DataFrame:
    """101 replies a model of 10, 20, .. tokens; one of each is cut off, one has no count."""
    parts = [
        pd.DataFrame(
            {
                "model": m,
                "output_tokens": [10.0 * k for k in range(1, 102)] + [None],
                "status": ["answered"] * 100 + ["truncated", "error"],
            }
        )
        for m in models
    ]
    return pd.concat(parts)


class TestUsageDistribution:
    def test_boxes_are_the_percentiles_of_the_given_values(self):
        ax = figures.usage_distribution(lengths())
        boxes = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
        assert [(b.get_x(), b.get_x() + b.get_width()) for b in boxes] == [(260, 760)] * 2
        medians = [line.get_xdata()[0] for line in ax.lines if list(line.get_xdata()) == [510, 510]]
        assert len(medians) == 2
        whiskers = [
            tuple(line.get_xdata())
            for line in ax.lines
            if len(line.get_xdata()) == 2 and line.get_marker() == "None"
        ]
        assert (60, 260) in whiskers
        assert (760, 960) in whiskers

    def test_every_reply_beyond_the_whiskers_is_drawn(self):
        ax = figures.usage_distribution(lengths(("a",)))
        (dots,) = [line for line in ax.lines if line.get_marker() == "o"]
        assert sorted(dots.get_xdata()) == [10, 20, 30, 40, 50, 970, 980, 990, 1000]
        (ticks,) = [line for line in ax.lines if line.get_marker() == "|"]
        assert list(ticks.get_xdata()) == [1010]

    def test_truncated_and_valueless_replies_are_named(self):
        shown = flat(figures.usage_distribution(lengths()))
        assert "1 (1 %)" in shown
        assert "replies that were cut off" in shown
        assert "Not drawn: 2 rows without a value." in shown

    def test_steps_reach_the_share_of_replies_up_to_each_value(self):
        data = pd.DataFrame({"model": "a", "output_tokens": [4, 1, 2, 2]})
        (line,) = figures.usage_distribution(data, kind="ecdf").lines
        x, y = (np.asarray(values, dtype=float) for values in line.get_data())
        for value, share in ((1, 25), (2, 75), (4, 100)):
            assert y[x == value].max() == share
        assert y.min() == 0

    def test_zeros_have_a_place_on_the_axis(self):
        data = pd.DataFrame({"model": ["a", "a", "b"], "output_tokens": [0, 100, 0]})
        ax = figures.usage_distribution(data)
        assert ax.get_xscale() == "symlog"
        assert ax.get_xlim()[0] == 0

    def test_short_ranges_have_ticks_that_can_be_read(self):
        ax = figures.usage_distribution(pd.DataFrame({"model": "a", "output_tokens": [11, 24]}))
        figure_of(ax).draw_without_rendering()
        assert [t.get_text() for t in ax.get_xticklabels() if t.get_text()] == ["10", "20"]
        assert not [t for t in ax.get_xticklabels(minor=True) if t.get_text()]

    def test_it_knows_its_rows(self):
        kept = figure_of(figures.usage_distribution(lengths())).drawn_from
        assert list(kept.columns) == ["model", "output_tokens", "status"]
        assert len(kept) == len(lengths())

    @pytest.mark.parametrize(
        ("data", "options", "message"),
        [
            (lengths().drop(columns="model"), {}, "needs the columns 'model'"),
            (lengths().assign(output_tokens=-1), {}, "numbers from 0 up"),
            (lengths().assign(output_tokens="many"), {}, "numbers from 0 up"),
            (lengths().assign(output_tokens=None), {}, "at least one value in 'output_tokens'"),
            (lengths([f"m{k}" for k in range(9)]), {"kind": "ecdf"}, "there are 9"),
            (lengths(), {"kind": "violin"}, "`kind` must be one of"),
        ],
    )
    def test_errors(self, data, options, message):
        with pytest.raises(PairstatsError, match=message):
            figures.usage_distribution(data, **options)

    @by_name
    def test_nothing_overlaps(self, models):
        ax = figures.usage_distribution(lengths(models), title="A title", caption="Lengths are fitted.")
        assert_nothing_overlaps(figure_of(ax))
        assert "Lengths are fitted." in flat(ax)

    @pytest.mark.parametrize("kind", ["box", "ecdf"])
    def test_same_bytes(self, kind):
        assert_same_bytes_twice(lambda: figures.usage_distribution(lengths(), kind=kind))


def families(models=("m",)) -> pd.DataFrame:
    """Of 10 shared families 4 are right on both, 3 on the first only, 1 on the second only; 2 are not shared."""
    first, second = [1] * 7 + [0] * 3 + [1], [1] * 4 + [0] * 3 + [1] + [0] * 2 + [None]
    rows = [
        {"model": m, "family": f"f{k}", "platform": name, "score": value}
        for m in models for name, each in (("cluster", first), ("kaggle", second)) for k, value in enumerate(each)
    ]  # fmt: skip
    rows += [{"model": m, "family": "other", "platform": "kaggle", "score": 1.0} for m in models]
    return pd.DataFrame(rows).astype({"score": float})


def tiles(ax) -> dict[tuple[int, int], str]:
    """Count in each tile by row and column."""
    return {
        (int(t.get_position()[1]), int(t.get_position()[0])): t.get_text()
        for t in ax.texts if 0 < t.get_position()[0] < 2 and t.get_position()[1] > 0
    }  # fmt: skip


class TestCrossPlatform:
    def test_counts_of_the_shared_families(self):
        figure = figures.cross_platform(families(), platforms=("cluster", "kaggle"))
        assert tiles(figure.axes[0]) == {(0, 0): "4", (0, 1): "3", (1, 0): "1", (1, 1): "2"}
        assert "10 families that both platforms have." in flat(figure)
        assert "Not drawn: 1 only on cluster, 1 only on kaggle." in flat(figure)

    def test_the_order_of_the_platforms_turns_the_table(self):
        figure = figures.cross_platform(families(), platforms=("kaggle", "cluster"))
        assert tiles(figure.axes[0]) == {(0, 0): "4", (0, 1): "1", (1, 0): "3", (1, 1): "2"}
        assert figure.axes[0].get_ylabel() == "kaggle"

    def test_a_family_is_right_where_all_of_its_rows_are(self):
        twice = pd.concat([families(), families().assign(score=lambda f: f["score"] * (f["family"] != "f0"))])
        with pytest.raises(PairstatsError, match=r"'f0' has several\. Say with `reduce=`"):
            figures.cross_platform(twice)
        figure = figures.cross_platform(twice, reduce="all", platforms=("cluster", "kaggle"))
        assert tiles(figure.axes[0]) == {(0, 0): "3", (0, 1): "3", (1, 0): "1", (1, 1): "3"}

    def test_other_values_are_points_and_their_number_is_their_area(self):
        means = families().assign(score=lambda f: f["score"] / 2 + 0.25)
        ax = figures.cross_platform(means, platforms=("cluster", "kaggle")).axes[0]
        (points,) = ax.collections
        found = {
            tuple(map(float, p)): size
            for p, size in zip(points.get_offsets(), points.get_sizes(), strict=True)
        }
        assert {place: round(4 * size / 90) for place, size in found.items()} == {
            (0.75, 0.75): 4, (0.25, 0.75): 3, (0.75, 0.25): 1, (0.25, 0.25): 2,
        }  # fmt: skip

    def test_the_given_difference_is_printed_with_its_interval(self):
        row = {"estimand": "all right", "contrast": "cluster - kaggle", "conf_level": 0.95}
        limits = [("a", 0.2, -0.05, 0.43), ("b", 0.3, 0.1, 0.52)]
        found = Estimates.from_rows(
            [row | {"model": m, "estimate": e, "conf_low": low, "conf_high": high} for m, e, low, high in limits],
            factors=("model",), provenance={"estimands": {"all right": {"percent": True}}},
        )  # fmt: skip
        figure = figures.cross_platform(families(("a", "b")), difference=found)
        labels = [ax.get_xlabel() for ax in figure.axes]
        assert labels[0].endswith("cluster - kaggle:\n+20 points [\N{MINUS SIGN}5, +43] (95 %)")
        assert labels[1].endswith("+30 points [+10, +52] (95 %)")

    def test_it_knows_the_shared_families(self):
        rows = figures.cross_platform(families()).drawn_from
        assert list(rows.columns) == ["family", "cluster", "kaggle", "model"]
        assert len(rows) == 10

    @pytest.mark.parametrize(
        ("data", "options", "message"),
        [
            (families().drop(columns="family"), {}, "needs the columns 'family'"),
            (families().query("platform == 'kaggle'"), {}, "the choice is 'kaggle' of 'kaggle'"),
            (families(), {"platforms": ("cluster", "cloud")}, "'cluster', 'cloud' of 'cluster', 'kaggle'"),
            (families().assign(score=None), {}, "there is no such family"),
            (families().assign(score=0.5), {"reduce": "all"}, "needs values of 0 and 1"),
        ],
    )
    def test_errors(self, data, options, message):
        with pytest.raises(PairstatsError, match=message):
            figures.cross_platform(data, **options)

    @by_name
    def test_nothing_overlaps(self, models):
        figure = figures.cross_platform(
            families(models), title="A title", caption="Joint outcomes are fitted."
        )
        assert_nothing_overlaps(figure)
        assert "Joint outcomes are fitted." in flat(figure)

    def test_same_bytes(self):
        assert_same_bytes_twice(lambda: figures.cross_platform(families()))
