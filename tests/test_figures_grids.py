"""Heat maps and squares of pairs: every tile holds the number it was given, and what is missing is seen."""

from __future__ import annotations

import itertools

import pandas as pd
import pytest
from drawn_parts import all_text, assert_nothing_overlaps, assert_same_bytes_twice, figure_of
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle
from synthetic_results import HOSTILE, LONG

import pairstats as ps
from pairstats import figures
from pairstats.errors import PairstatsError
from pairstats.figures.tiles import HATCH, ink_on, shade
from pairstats.result import Estimates

FOREIGN = ("نموذج-لغة", "מודל שפה", "通义千问-72b", "モデル")
MANY = tuple(f"model-{k}" for k in range(20))


def cells(models=("a", "b"), categories=("dates", "totals")) -> pd.DataFrame:
    """A share of each cell; the last cell has no answers, the first row of the last model is absent."""
    rows = []
    for i, category in enumerate(categories):
        for j, model in enumerate(models):
            right, n = (3 * i + j) % 10, 10
            rows.append(
                {"category": category, "model": model, "estimate": right / n, "n_units": n, "k": right}
            )
    rows[-1] |= {"estimate": None, "n_units": 0, "k": None, "note": "no results: rate limits; and more"}
    return pd.DataFrame(rows)


def tiles(ax) -> dict[tuple[int, int], Rectangle]:
    """Tiles by row and column."""
    found = [patch for patch in ax.patches if isinstance(patch, Rectangle)]
    return {(round(t.get_y() + 0.5), round(t.get_x() + 0.5)): t for t in found}


def written(ax) -> dict[tuple[int, int], list[str]]:
    """Lines in each tile by row and column, from top to bottom."""
    lines: dict[tuple[int, int], list[tuple[float, str]]] = {}
    for text in ax.texts:
        if text.xycoords == "data":
            x, y = text.xy
            lines.setdefault((round(y), round(x)), []).append((-text.xyann[1], text.get_text()))
    return {place: [text for _, text in sorted(found)] for place, found in lines.items()}


class TestHeatMap:
    def test_tiles_hold_the_numbers_and_counts_they_are_given(self):
        ax = figures.heat_map(cells(), rows="category", columns="model", percent=True)
        assert written(ax) == {
            (0, 0): ["0 %", "n 10"], (0, 1): ["10 %", "n 10"], (1, 0): ["30 %", "n 10"], (1, 1): ["a"],
        }  # fmt: skip
        assert tiles(ax)[1, 0].get_facecolor()[:3] == pytest.approx(to_rgb(shade(0.3, 0, 1)))

    def test_numerators_where_asked(self):
        ax = figures.heat_map(cells(), rows="category", columns="model", percent=True, events="k")
        assert written(ax)[1, 0] == ["30 %", "3 / 10"]

    def test_what_is_missing_is_hatched_with_its_reason_and_never_a_number(self):
        data = cells().drop(index=1)
        ax = figures.heat_map(data, rows="category", columns="model")
        hatched = {place for place, tile in tiles(ax).items() if tile.get_hatch()}
        assert hatched == {(0, 1), (1, 1)}
        assert written(ax)[0, 1] == ["\N{EN DASH}"]
        assert "Hatched: no number (a: rate limits; \N{EN DASH}: no row in the data)." in flat(ax)

    def test_reasons_are_listed_once_each(self):
        data = cells(("a", "b", "c")).assign(estimate=None, note=["x", "y", "x", "z", None, "y"])
        ax = figures.heat_map(data, rows="category", columns="model")
        assert [written(ax)[k, j][0] for k in (0, 1) for j in range(3)] == ["a", "b", "a", "c", "d", "b"]
        assert "a: x; b: y; c: z; d: no results" in flat(ax)

    def test_differences_are_coloured_by_their_sign(self):
        rows = [
            {"estimand": "accuracy", "contrast": "new - old", "model": m, "estimate": v, "n_units": 9}
            for m, v in (("a", 0.2), ("b", -0.1), ("c", 0.0))
        ]
        data = Estimates.from_rows(rows, factors=("model",))
        ax = figures.heat_map(data, rows="contrast", columns="model", percent=True)
        assert [written(ax)[0, k][0] for k in range(3)] == ["+20", "\N{MINUS SIGN}10", "0"]
        expected = [shade(v, -0.2, 0.2, diverging=True) for v in (0.2, -0.1, 0.0)]
        assert [tiles(ax)[0, k].get_facecolor()[:3] for k in range(3)] == [
            pytest.approx(to_rgb(colour)) for colour in expected
        ]
        assert "Blue: above 0; orange: below." in flat(ax)

    def test_of_a_panel(self):
        rows = [
            {"family": f"f{f}", "item": f"q{f}", "category": "xy"[f % 2], "model": m, "score": float(f % 3 > 0)}
            for f in range(12) for m in "ab"
        ]  # fmt: skip
        panel = ps.Panel(pd.DataFrame(rows))
        found = ps.estimate(panel.by(("category", "model")), ps.Mean("score"))
        ax = figures.heat_map(found, rows="category", columns="model", percent=True)
        assert {tuple(lines) for lines in written(ax).values()} == {("67 %", "n 6")}
        pd.testing.assert_frame_equal(figure_of(ax).drawn_from, found.frame)

    def test_order_is_kept_and_must_name_every_level(self):
        ax = figures.heat_map(
            cells(), rows="category", columns="model", percent=True, row_order=["totals", "dates", "new"]
        )
        assert written(ax)[0, 0] == ["30 %", "n 10"]
        assert [written(ax)[2, k] for k in (0, 1)] == [["\N{EN DASH}"], ["\N{EN DASH}"]]
        with pytest.raises(PairstatsError, match="must name all of its levels, but 'b' is not in it"):
            figures.heat_map(cells(), rows="category", columns="model", column_order=["a"])

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (cells().drop(columns="estimate"), "needs the columns 'estimate'"),
            (cells().iloc[:0], "needs at least one cell"),
            (pd.concat([cells(), cells()]), "category 'dates' and model 'a' have two"),
        ],
    )
    def test_errors(self, data, message):
        with pytest.raises(PairstatsError, match=message):
            figures.heat_map(data, rows="category", columns="model")

    @pytest.mark.parametrize(
        "models", [("m",), LONG, HOSTILE, FOREIGN, MANY], ids=lambda m: f"{len(m)}{m[0][:3]}"
    )
    def test_nothing_overlaps(self, models):
        ax = figures.heat_map(
            cells(models, HOSTILE[:2]), rows="category", columns="model", percent=True, title="A title",
            caption="Joint outcomes are fitted (seed 7).",
        )  # fmt: skip
        assert_nothing_overlaps(figure_of(ax))
        assert "Joint outcomes are fitted (seed 7)." in flat(ax)

    def test_twenty_columns_fit_a_page(self):
        ax = figures.heat_map(cells(MANY), rows="category", columns="model", percent=True)
        assert figure_of(ax).get_figwidth() <= 7
        assert written(ax)[1, 0] == ["30", "10"]
        assert "Percent, with n below." in flat(ax)

    def test_same_bytes(self):
        assert_same_bytes_twice(lambda: figures.heat_map(cells(), rows="category", columns="model"))


def pairs(models=("a", "b", "c")) -> pd.DataFrame:
    """All pairs: the first has k more than 2."""
    rows = [
        {
            "contrast": f"{a} - {b}",
            "n_first_only": 2 + k,
            "n_second_only": 5,
            "p_adjusted": 0.5 / (1 + 1000 * k),
        }
        for k, (a, b) in enumerate(itertools.combinations(models, 2))
    ]
    return pd.DataFrame(rows)


class TestDiscordance:
    def test_counts_above_and_p_below_the_diagonal(self):
        ax = figures.discordance(pairs())
        assert written(ax) == {
            (0, 1): ["2 : 5"], (0, 2): ["3 : 5"], (1, 2): ["4 : 5"],
            (1, 0): ["0.500"], (2, 0): ["5.0e-04"], (2, 1): ["2.5e-04"],
        }  # fmt: skip
        assert tiles(ax)[0, 1].get_facecolor()[:3] == pytest.approx(to_rgb(shade(-3, -3, 3, diverging=True)))

    def test_in_another_order_the_counts_change_sides(self):
        ax = figures.discordance(pairs(), levels=["c", "b", "a"])
        assert written(ax)[0, 1] == ["5 : 4"]
        assert written(ax)[1, 0] == ["2.5e-04"]

    def test_of_a_panel(self):
        scores = {"a": [1, 1, 1, 1, 0, 0, 1, 1], "b": [1, 0, 0, 1, 1, 0, 1, 0], "c": [0, 0, 0, 0, 0, 1, 0, 0]}
        rows = [
            {"family": f"f{k}", "item": "q", "model": m, "score": float(s)}
            for m, each in scores.items() for k, s in enumerate(each)
        ]  # fmt: skip
        found = ps.contrast(
            ps.Panel(pd.DataFrame(rows)), ps.Mean("score"), ps.Pairwise("model"), adjust="holm"
        )
        ax = figures.discordance(found)
        for i, first in enumerate("abc"):
            for j, second in enumerate("abc"):
                if i < j:
                    only = [
                        sum(x > y for x, y in zip(scores[one], scores[other], strict=True))
                        for one, other in ((first, second), (second, first))
                    ]
                    assert written(ax)[i, j] == [f"{only[0]} : {only[1]}"]
        assert len(figure_of(ax).drawn_from) == 3

    @pytest.mark.parametrize("empty", [False, True], ids=["no row", "no results"])
    def test_pairs_without_counts_are_hatched_and_counted(self, empty):
        data = pairs().astype({"n_first_only": "Int64"})
        if empty:
            data.loc[1, ["n_first_only", "p_adjusted"]] = None
        ax = figures.discordance(data if empty else data.drop(index=1))
        assert written(ax)[0, 2] == ["\N{EN DASH}"]
        assert [tiles(ax)[place].get_hatch() for place in ((0, 2), (2, 0))] == [HATCH, HATCH]
        assert "Hatched: no counts for 1 pair." in flat(ax)

    def test_names_that_hold_the_sign_need_levels(self):
        data = pairs(("a - 1", "b - 1", "c"))
        with pytest.raises(PairstatsError, match="can be split in several ways"):
            figures.discordance(data)
        ax = figures.discordance(data, levels=["a - 1", "b - 1", "c"])
        assert written(ax)[0, 1] == ["2 : 5"]

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (pairs().drop(columns="n_first_only"), "needs the columns 'n_first_only'"),
            (pairs().assign(contrast=None), "no row has a contrast"),
            (pd.concat([pairs(), pairs()]), "'a - b' has two"),
            (pairs().assign(contrast="trend over dose"), "'trend over dose' is not"),
        ],
    )
    def test_errors(self, data, message):
        with pytest.raises(PairstatsError, match=message):
            figures.discordance(data)

    def test_all_zeros(self):
        ax = figures.discordance(pairs().assign(n_first_only=0, n_second_only=0, p_adjusted=1.0))
        assert written(ax)[0, 1] == ["0 : 0"]
        assert tiles(ax)[0, 1].get_facecolor()[:3] == (1, 1, 1)

    @pytest.mark.parametrize(
        "models", [("a", "b"), LONG, HOSTILE, FOREIGN, MANY], ids=lambda m: f"{len(m)}{m[0][:3]}"
    )
    def test_nothing_overlaps(self, models):
        assert_nothing_overlaps(figure_of(figures.discordance(pairs(models), levels=models)))

    def test_same_bytes(self):
        assert_same_bytes_twice(lambda: figures.discordance(pairs()))


@pytest.mark.parametrize("share", [k / 20 for k in range(-20, 21)])
def test_text_on_tiles_is_readable(share):
    """At least 4.5 : 1, as WCAG asks of small text; linear light by its published formula."""
    fill = shade(share, -1, 1, diverging=True)
    light = [luminance(colour) for colour in (fill, ink_on(fill))]
    assert (max(light) + 0.05) / (min(light) + 0.05) >= 4.5


def luminance(colour: str) -> float:
    parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def flat(drawn) -> str:
    return " ".join(all_text(figure_of(drawn)).split())
