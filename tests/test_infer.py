"""Estimates and contrasts: against brute force and closed forms, by properties, and on the awkward paths."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import pairstats as ps
from pairstats import (
    CR2,
    AllCorrect,
    Bootstrap,
    FamilyInterval,
    FlipRate,
    Mean,
    PairingError,
    PairstatsError,
    Pairwise,
    Panel,
    Share,
    Versus,
)


def copies(*families: str, model: str = "m") -> pd.DataFrame:
    """Rows of families written as strings of scores: ``"10"`` is right in the first copy only."""
    return pd.DataFrame(
        [
            {
                "family": f"f{f:03}", "item": f"q{f:03}", "variant": f"v{v}", "model": model,
                "score": None if mark == "-" else float(mark),
                "status": "error" if mark == "-" else "answered",
            }
            for f, marks in enumerate(families)
            for v, mark in enumerate(marks)
        ]
    )  # fmt: skip


def row(rows: pd.DataFrame, estimand: object = None, **settings: object) -> dict[str, object]:
    return next(iter(ps.estimate(Panel(rows), estimand or Mean(), **settings)))


HARD = ["11"] * 29 + ["10"] * 10 + ["00"]
EASY = ["11"] * 38 + ["10"] * 2


@pytest.mark.parametrize(
    ("families", "value", "interval", "low", "high"),
    [
        (HARD, 0.850, "percentile", 0.7625, 0.925),
        (HARD, 0.850, "family-jeffreys", 0.752, 0.914),
        (HARD, 0.850, "family-cp", 0.735, 0.922),
        (EASY, 0.975, "percentile", 0.9375, 1.0),
        (EASY, 0.975, "family-jeffreys", 0.905, 0.994),
        (["11"] * 48, 1.0, "family-cp", 0.926, 1.0),
    ],
)
def test_numbers_of_the_first_write_up(
    families: list[str], value: float, interval: str, low: float, high: float
) -> None:
    found = row(copies(*families), interval=interval)
    assert found["estimate"] == pytest.approx(value, abs=1e-12)
    assert found["conf_low"] == pytest.approx(low, abs=5e-4)
    assert found["conf_high"] == pytest.approx(high, abs=5e-4)
    assert found["method"] == interval
    assert (found["n_families"], found["n_units"], found["n_missing"]) == (
        len(families),
        2 * len(families),
        0,
    )


def test_family_cp_of_all_right_is_the_clopper_pearson_limit_on_families_not_items() -> None:
    found = row(copies(*["11"] * 48), interval="family-cp")
    assert found["conf_low"] == pytest.approx(stats.binomtest(48, 48).proportion_ci(0.95).low, abs=1e-9)


def test_order_labels_and_seed_change_nothing() -> None:
    rows = copies(*HARD)
    names = {f: f"z{i}" for i, f in enumerate(sorted(rows["family"].unique(), reverse=True))}
    renamed = rows.assign(family=rows["family"].map(names)).sample(frac=1, random_state=3)
    for interval in (FamilyInterval(), Bootstrap("bca"), Bootstrap(n_resamples=500)):
        one, two = row(rows, interval=interval), row(renamed, interval=interval)
        for name in ("estimate", "std_error", "conf_low", "conf_high", "seed"):
            assert one[name] == two[name]


def test_an_error_is_missing_not_wrong_and_bounds_stand_beside_it() -> None:
    found = row(copies("11", "1-", "00", *["11"] * 17))
    assert found["estimate"] == pytest.approx(37 / 39)
    assert (found["n_units"], found["n_missing"]) == (39, 1)
    assert found["bound_low"] == pytest.approx(37 / 40)
    assert found["bound_high"] == pytest.approx(38 / 40)


def test_a_model_without_results_keeps_its_row() -> None:
    rows = pd.concat([copies("11", "10"), copies("--", "--", model="lost")])
    found = list(ps.estimate(Panel(rows), Mean()))
    assert [r["model"] for r in found] == ["lost", "m"]
    assert found[0]["estimate"] is None
    assert found[0]["note"] == "no results: none of 4 planned replies counts"
    assert (found[0]["bound_low"], found[0]["bound_high"]) == (0.0, 1.0)
    pair = next(iter(ps.contrast(Panel(rows), Mean(), Pairwise("model"))))
    assert pair["estimate"] is None
    assert pair["p_value"] is None
    assert pair["p_adjusted"] is None
    assert "no unit is answered on both sides" in pair["note"]


def test_one_family() -> None:
    found = row(copies("10"))
    assert found["estimate"] == 0.5
    assert found["std_error"] is None
    assert 0 < found["conf_low"] < found["conf_high"] < 1
    assert "one family" in found["note"]


@pytest.mark.parametrize("mark", ["1", "0"])
def test_all_or_none_correct(mark: str) -> None:
    found = row(copies(*[mark * 2] * 12))
    end = float(mark)
    assert found["estimate"] == end
    assert found["conf_high" if mark == "1" else "conf_low"] == end
    assert 0 < found["conf_low" if mark == "1" else "conf_high"] < 1


def test_a_collapsed_bootstrap_says_so_and_does_as_told() -> None:
    rows = copies(*["11"] * 12)
    plain = row(rows, interval=Bootstrap())
    assert (plain["conf_low"], plain["conf_high"]) == (1.0, 1.0)
    assert "every resample gives one value" in plain["note"]
    bound = row(rows, interval=Bootstrap(at_collapse="family-cp"))
    assert bound["method"] == "family-cp"
    assert bound["conf_low"] == pytest.approx(stats.binomtest(12, 12).proportion_ci(0.95).low, abs=1e-9)
    empty = row(rows, interval=Bootstrap(at_collapse="null"))
    assert empty["conf_low"] is None
    assert "no percentile interval" in empty["note"]


def test_few_families_off_the_mode_warn_for_a_bootstrap() -> None:
    assert "only 2 families differ" in row(copies(*EASY), interval="percentile")["note"]
    assert row(copies(*EASY))["note"] is None
    for name in ("cr2-t", "cr1-t", "wild-cluster"):
        assert "only 2 families differ from the modal score" in row(copies(*EASY), interval=name)["note"]
    spread = copies(*["1"] * 12, *["0"] * 12)
    assert row(spread, interval="cr2-t")["note"] is None


def test_very_unequal_families_warn() -> None:
    rows = copies("1" * 40, *["1"] * 8, "0")
    assert "effective families of 10" in row(rows)["note"]
    assert row(rows, Mean(weight="family"))["note"] == "item-weighted: 0.980"


def test_values_without_a_range_take_the_robust_t() -> None:
    rows = copies(*["1"] * 6).assign(tokens=[3.0, 5, 8, 13, 21, 34])
    found = row(rows, Mean("tokens"))
    sample = stats.ttest_1samp([3.0, 5, 8, 13, 21, 34], 0).confidence_interval()
    assert found["method"] == "cr2-t"
    assert (found["conf_low"], found["conf_high"]) == (pytest.approx(sample.low), pytest.approx(sample.high))
    with pytest.raises(PairstatsError, match="known range"):
        row(rows, Mean("tokens"), interval=FamilyInterval())
    assert row(rows, Mean("tokens", bounds=(0, 100)), interval="family-cp")["method"] == "family-cp"
    assert row(copies("11", "10"), interval=CR2())["method"] == "cr2-t"


def two(first: list[str], second: list[str]) -> Panel:
    return Panel(pd.concat([copies(*first, model="a"), copies(*second, model="b")]))


def pair(
    panel: Panel, estimand: object = None, comparison: object = None, **settings: object
) -> dict[str, object]:
    return next(iter(ps.contrast(panel, estimand or Mean(), comparison or Pairwise("model"), **settings)))


def brute_sign_flip(differences: list[float]) -> float:
    total = abs(sum(differences))
    signs = list(itertools.product([1, -1], repeat=len(differences)))
    return sum(abs(np.dot(s, differences)) >= total - 1e-9 for s in signs) / len(signs)


def test_the_paired_test_moves_whole_families() -> None:
    first = ["11", "11", "10", "11", "01", "11", "11", "00"]
    second = ["00", "10", "10", "00", "00", "10", "11", "11"]
    found = pair(two(first, second))
    differences = [sum(map(int, a)) - sum(map(int, b)) for a, b in zip(first, second, strict=True)]
    assert found["contrast"] == "a - b"
    assert found["estimate"] == pytest.approx(sum(differences) / 16)
    assert found["statistic"] == sum(differences)
    assert found["p_value"] == pytest.approx(brute_sign_flip(differences), abs=1e-12)
    items = [(int(x), int(y)) for a, b in zip(first, second, strict=True) for x, y in zip(a, b, strict=True)]
    assert found["n_first_only"] == sum(x > y for x, y in items)
    assert found["n_second_only"] == sum(y > x for x, y in items)


def test_one_unit_a_family_is_exact_mcnemar() -> None:
    found = pair(two([*"1" * 9, *"0" * 3, *"1" * 8], [*"0" * 9, *"1" * 3, *"1" * 8]))
    assert (found["n_first_only"], found["n_second_only"]) == (9, 3)
    assert found["p_value"] == pytest.approx(stats.binomtest(3, 12).pvalue, abs=1e-12)


def test_a_minus_b_is_minus_b_minus_a() -> None:
    panel = two(HARD, EASY)
    there, back = (pair(panel, comparison=Versus("model", r)) for r in ("b", "a"))
    assert there["estimate"] == -back["estimate"]
    assert there["conf_low"] == pytest.approx(-back["conf_high"], abs=1e-9)
    assert there["p_value"] == back["p_value"]
    assert there["n_first_only"] == back["n_second_only"]


def test_identical_models_have_p_one() -> None:
    found = pair(two(HARD, HARD))
    assert (found["estimate"], found["p_value"]) == (0.0, 1.0)
    assert found["conf_low"] < 0 < found["conf_high"]


def test_only_common_units_are_compared_and_the_lost_are_counted() -> None:
    found = pair(two(["11", "1-", "10", "11"], ["10", "00", "-1", "00"]))
    assert found["n_units"] == 6
    assert found["n_missing"] == 2
    assert "1 unit only the first answered, 1 only the second" in found["note"]
    assert found["estimate"] == pytest.approx((5 - 2) / 6)
    assert found["bound_low"] <= found["estimate"] <= found["bound_high"]
    # First: 6 right of 7 answered of 8; second: 2 right of 7. Worst: 6/8 - 3/8; best: 7/8 - 2/8.
    assert (found["bound_low"], found["bound_high"]) == (pytest.approx(3 / 8), pytest.approx(5 / 8))


def test_published_bounds_of_a_pair() -> None:
    # methods.md, h: 65 right of 70 answered of 80 against 52 of 80: bounds [.1625, .2875].
    first = ["1"] * 65 + ["0"] * 5 + ["-"] * 10
    second = ["1"] * 52 + ["0"] * 28
    found = pair(two(first, second))
    assert (found["bound_low"], found["bound_high"]) == (pytest.approx(0.1625), pytest.approx(0.2875))
    single = row(copies(*first))
    assert (single["bound_low"], single["bound_high"]) == (pytest.approx(0.8125), pytest.approx(0.9375))


def test_holm_over_all_pairs_and_none_on_request() -> None:
    panel = Panel(
        pd.concat(
            [copies(*["1"] * n + ["0"] * (20 - n), model=m) for m, n in (("a", 18), ("b", 9), ("c", 8))]
        )
    )
    found = ps.contrast(panel, Mean(), Pairwise("model")).frame
    assert found["contrast"].tolist() == ["a - b", "a - c", "b - c"]
    ranked = np.sort(found["p_value"])
    holm = np.maximum.accumulate(np.minimum(1, ranked * [3, 2, 1]))
    assert np.sort(found["p_adjusted"]) == pytest.approx(holm)
    assert ps.contrast(panel, Mean(), Pairwise("model"), adjust=None).frame["p_adjusted"].isna().all()


def test_flip_rates_are_compared_by_family() -> None:
    def replies(model: str, moved: list[str]) -> pd.DataFrame:
        return pd.DataFrame(
            [
                {"family": f"f{f}", "item": "q", "variant": v, "model": model, "answer": a}
                for f, other in enumerate(moved)
                for v, a in (("base", "x"), ("moved", other))
            ]
        )

    panel = Panel(pd.concat([replies("a", ["y"] * 8 + ["x"] * 2), replies("b", ["x"] * 10)]))
    found = pair(panel, FlipRate())
    assert found["estimate"] == pytest.approx(0.8)
    assert found["p_value"] == pytest.approx(2 / 2**8)
    assert (found["n_first_only"], found["n_second_only"], found["n_families"]) == (8, 0, 10)


def test_variants_with_items_of_their_own_are_paired_by_family() -> None:
    rows = copies(*HARD).assign(item=lambda t: t["item"] + t["variant"])
    found = pair(Panel(rows), comparison=Versus("variant", "v0"))
    assert found["contrast"] == "v1 - v0"
    assert "paired by family" in found["note"]
    assert found["estimate"] == pytest.approx(-10 / 40)
    assert found["p_value"] == pytest.approx(stats.binomtest(0, 10).pvalue)
    shared = pair(Panel(copies(*HARD)), comparison=Versus("variant", "v0"))
    assert shared["estimate"] == found["estimate"]
    assert shared["note"] is None


def test_what_crosses_models_and_variants_is_paired_by_family_too() -> None:
    """Items are shared by the models, but not by the variants: as if the variants shared them."""
    rows = pd.concat(
        [copies(*HARD, model="a"), copies(*(text[::-1] for text in HARD), model="b")], ignore_index=True
    )
    apart = rows.assign(item=lambda t: t["item"] + t["variant"])
    cells = ("model", "variant")
    asked: list[tuple[ps.Versus | ps.Interaction, str | tuple[()]]] = [
        (ps.Interaction(Versus("variant", "v0"), "model", "a", "b"), ()),
        (Versus("variant", "v0"), "model"),
        (Versus("model", "b"), "variant"),
    ]
    for comparison, average in asked:
        one, other = (
            ps.contrast(Panel(table, cells=cells), Mean(), comparison, average=average).frame.iloc[0]
            for table in (rows, apart)
        )
        names = ["estimate", "conf_low", "conf_high", "p_value", "n_families"]
        assert one[names].tolist() == pytest.approx(other[names].tolist()), comparison
        assert other["n_families"] == len(HARD)
        assert "paired by family" in other["note"]


def test_several_items_that_cannot_be_paired_are_refused() -> None:
    rows = copies(*["1111"] * 3)
    rows["item"] = rows["item"] + rows["variant"]
    rows["variant"] = rows["variant"].map({"v0": "base", "v1": "base", "v2": "moved", "v3": "moved"})
    with pytest.raises(PairingError, match="unit=\\(\\) to compare family totals"):
        pair(Panel(rows), comparison=Versus("variant", "base"))
    assert pair(Panel(rows, unit=()), comparison=Versus("variant", "base"))["estimate"] == 0.0


def test_strata_are_compared_apart_and_averages_move_together() -> None:
    rows = pd.concat(
        [
            copies(*families, model=model).assign(condition=condition)
            for model, condition, families in (
                ("a", "plain", ["1"] * 10 + ["0"] * 10),
                ("a", "told", ["1"] * 16 + ["0"] * 4),
                ("b", "plain", ["1"] * 8 + ["0"] * 12),
                ("b", "told", ["1"] * 10 + ["0"] * 10),
            )
        ]
    )
    panel = Panel(rows, cells=("model",))
    apart = ps.contrast(panel, Mean(), Versus("condition", "plain"))
    assert apart.factors == ("model",)
    assert apart.frame["estimate"].tolist() == [pytest.approx(0.3), pytest.approx(0.1)]
    pooled = ps.contrast(panel, Mean(), Versus("condition", "plain"), average="model")
    assert pooled.frame["estimate"].item() == pytest.approx(0.2)
    differences = [0.0] * 8 + [0.5] * 2 + [0.5] * 6 + [0.0] * 4
    nonzero = [d for d in differences if d]
    assert pooled.frame["p_value"].item() == pytest.approx(brute_sign_flip(nonzero), abs=1e-12)


def test_shares_with_their_own_denominators() -> None:
    rng = np.random.default_rng(5)
    rows = pd.concat([copies(*["11"] * 30, model=m) for m in "ab"], ignore_index=True)
    rows["confidence"] = rng.choice([0.5, 0.95], len(rows))
    rows["score"] = rng.choice([0.0, 1.0], len(rows))
    found = pair(Panel(rows), Share("score < 1", given="confidence >= 0.9"))
    sure = rows[rows["confidence"] >= 0.9]
    shares = (sure["score"] < 1).groupby(sure["model"]).mean()
    assert found["estimate"] == pytest.approx(shares["a"] - shares["b"])
    assert found["conf_low"] < found["estimate"] < found["conf_high"]
    assert "Monte Carlo" in found["method"]
    assert 0 < found["mc_error"] < 0.02
    assert found["p_value"] >= 1e-4
    assert found["seed"] is not None
    back = pair(Panel(rows), Share("score < 1", given="confidence >= 0.9"), Versus("model", "a"))
    assert back["estimate"] == -found["estimate"]


def test_one_sided() -> None:
    panel = two(["1"] * 10 + ["0"] * 2, ["0"] * 10 + ["0"] * 2)
    greater = pair(panel, alternative="greater")
    assert greater["p_value"] == pytest.approx(2**-10)
    assert greater["conf_high"] == 1.0
    assert pair(panel, alternative="less")["p_value"] == 1.0


def test_few_families_say_that_no_test_is_possible() -> None:
    found = pair(two(["1"] * 4, ["0"] * 4))
    assert found["p_value"] == 0.125
    assert found["p_floor"] == 0.125
    assert "smallest possible p is 0.125" in found["note"]
    assert "only 4 families" in found["note"]


def test_wrong_levels_and_factors_are_named() -> None:
    panel = two(["1"], ["0"])
    with pytest.raises(PairstatsError, match="'model' has no level 'c'; its levels are 'a', 'b'"):
        pair(panel, comparison=Versus("model", "c"))
    with pytest.raises(PairstatsError, match="needs at least 2 levels"):
        pair(panel.where(model="a"))
    with pytest.raises(PairstatsError, match="no column 'prompt'"):
        pair(panel, comparison=Pairwise("prompt"))
    with pytest.raises(PairstatsError, match="`interval` must be one of"):
        pair(panel, interval="exact")
    with pytest.raises(PairstatsError, match="confidence_level"):
        pair(panel, confidence_level=95)


def test_doubling_the_families_narrows_the_interval_by_root_two() -> None:
    single = row(copies(*HARD * 2), interval=CR2())
    double = row(copies(*HARD * 8), interval=CR2())
    assert double["estimate"] == pytest.approx(single["estimate"])
    assert single["std_error"] / double["std_error"] == pytest.approx(2, abs=0.02)


def test_every_repeat_counts_inside_its_unit() -> None:
    rows = pd.concat([copies(*HARD).assign(repeat=r) for r in range(3)])
    assert row(rows)["conf_low"] == pytest.approx(row(copies(*HARD))["conf_low"], abs=1e-12)
    assert row(rows, AllCorrect())["estimate"] == pytest.approx(29 / 40)


def test_provenance_says_what_made_the_numbers() -> None:
    made = ps.estimate(Panel(copies(*HARD)), Mean(), confidence_level=0.9)
    assert made.provenance["interval"] == "family-jeffreys"
    assert made.provenance["confidence_level"] == 0.9
    assert len(made.provenance["input_digest"]) == 64
    assert math.isclose(made.frame["conf_level"].item(), 0.9)
    assert not made.frame["registered"].any()


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda p: ps.estimate(p, "score"), r"must be a value such as Mean\('score'\).*'score'"),
        (lambda p: ps.estimate(p, Mean), "but got the class Mean"),
        (lambda p: ps.contrast(p, Mean, Pairwise("model")), "but got the class Mean"),
        (lambda p: ps.contrast(p, Mean(), "model"), r"such as Pairwise\('model'\), but got 'model'"),
        (lambda p: ps.contrast(p, Mean(), Pairwise), "`comparison` must be a value"),
        (lambda p: ps.estimate(copies("11"), Mean()), "must be a Panel, but got a DataFrame"),
        (lambda p: ps.estimate(p, Mean(3)), "`column` must be a text, but got 3"),
        (lambda p: ps.estimate(p, Mean("item")), "adds up 'item', which must hold numbers"),
        (lambda p: Panel(copies("11").head(0)), "at least one row"),
        (lambda p: Panel(copies("11"), cells=("model", "model")), "'model' is named twice"),
        (lambda p: Panel(copies("11").assign(score="good")), "'score' must hold numbers"),
        (lambda p: Panel(pd.concat([copies("11"), copies("11")], axis=1)), "own name"),
    ],
)  # fmt: skip
def test_wrong_questions_say_what_to_do(ask: object, message: str) -> None:
    with pytest.raises(PairstatsError, match=message):
        ask(Panel(copies("11", "10")))


def test_a_cell_that_holds_only_part_of_the_units_says_so() -> None:
    rows = pd.concat([copies(*["1"] * 10, model="a"), copies(*["1"] * 10, *["0"] * 10, model="b")])
    first, second = ps.estimate(Panel(rows), Mean())
    assert "holds 10 of the 20 units of the cells it shares units with" in first["note"]
    assert second["note"] is None
    split = rows.assign(split=np.where(rows["family"] < "f010", "easy", "hard"))
    notes = [row["note"] for row in ps.estimate(Panel(split, cells=("split", "model")), Mean())]
    assert notes == [None, None, None], "easy and hard items are different units by design"


def test_a_name_that_several_studies_share_is_told_to_be_one_family() -> None:
    rows = copies("11", "10")
    both = pd.concat([rows.assign(study=name) for name in ("a", "b")])
    assert "pooled over study (2); 2 of 2 families have one name in several studies" in row(both)["note"]
    own = both.assign(family=both["study"] + both["family"])
    assert "one name" not in row(own)["note"]
    assert (row(both)["n_families"], row(own)["n_families"]) == (2, 4)


def test_items_of_two_studies_are_not_one_question_by_name() -> None:
    sides = [copies("10", "01", model=m).assign(study=s) for m, s in (("a", "v1"), ("b", "v2"))]
    rows = pd.concat(sides)
    told = r"in different studies.*set=\{\"study\": ...\}.*unit=\('item', 'variant'"
    with pytest.raises(PairstatsError, match=told):
        ps.contrast(Panel(rows), Mean(), ps.Pairwise("model"))
    [said] = ps.contrast(Panel(rows, unit=("item", "variant")), Mean(), ps.Pairwise("model"))
    assert (said["n_units"], said["n_families"]) == (4, 2)


def test_units_of_two_studies_stay_apart() -> None:
    rows = pd.concat([copies("11", model=m).assign(study=s) for m in "ab" for s in ("v1", "v2")])
    [both] = ps.contrast(Panel(rows), Mean(), ps.Pairwise("model"))
    assert (both["n_units"], both["n_families"]) == (4, 1)


def test_pooled_conditions_are_named() -> None:
    rows = pd.concat([copies("11", "10").assign(condition=c) for c in ("direct", "cot")])
    assert "pooled over condition (2)" in row(rows)["note"]
    apart = next(iter(ps.estimate(Panel(rows, cells=("condition",)), Mean())))
    assert "pooled" not in (apart["note"] or "")


def test_option_labels_that_are_compared_for_flips_are_pointed_out() -> None:
    rows = copies("11", "10", "11").assign(answer=["A", "B", "A", "A", "B", "B"])
    assert "option labels are compared" in row(rows, FlipRate())["note"]
    assert "option labels" not in (row(rows, FlipRate("score"))["note"] or "")
    assert "option labels" not in (row(rows.assign(answer=rows["answer"] + "x"), FlipRate())["note"] or "")


def test_interval_and_test_may_part_and_the_row_says_so() -> None:
    found = pair(two([*"1" * 5, *"0" * 7], ["0"] * 12))
    assert found["p_value"] == 0.0625
    assert found["conf_low"] > 0
    assert "interval and test disagree: the test decides" in found["note"]


@pytest.mark.parametrize("seed", range(4))
def test_shares_compared_by_monte_carlo_are_exactly_antisymmetric(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = pd.concat([copies(*["11"] * 20, model=m) for m in "ab"], ignore_index=True)
    rows = rows.assign(confidence=rng.choice([0.5, 0.95], 80), score=rng.choice([0.0, 1.0], 80))
    asked = Share("score < 1", given="confidence >= 0.9")
    there, back = (pair(Panel(rows), asked, Versus("model", r)) for r in "ba")
    renamed = rows.assign(family=rows["family"].map(lambda f: f"z{999 - int(f[1:])}"))
    again = pair(Panel(renamed), asked, Versus("model", "b"))
    assert there["conf_low"] == -back["conf_high"]
    assert there["conf_high"] == -back["conf_low"]
    assert there["p_value"] == back["p_value"] == again["p_value"]
    assert (there["conf_low"], there["seed"]) == (again["conf_low"], again["seed"])
    one_sided = [
        pair(Panel(rows), asked, Versus("model", r), alternative=a)
        for r, a in (("b", "less"), ("a", "greater"))
    ]
    assert one_sided[0]["p_value"] == one_sided[1]["p_value"]
    assert one_sided[0]["conf_high"] == -one_sided[1]["conf_low"]


@pytest.mark.parametrize("cells", ["model", ()])
def test_replies_that_nobody_scored_are_not_wrong(cells) -> None:
    """One refusal among unscored answers is no accuracy of 0."""
    rows = pd.DataFrame(
        {"family": list("abcd"), "item": list("abcd"), "model": "m", "score": np.nan,
         "status": ["refused", "answered", "answered", "answered"]}
    )  # fmt: skip
    for ask in (ps.estimate, lambda p, e: ps.contrast(p, e, ps.Pairwise("item"))):
        with pytest.raises(ps.PairstatsError, match=r"None of the 3 answered replies of .* has a 'score'"):
            ask(ps.Panel(rows, cells=cells), ps.Mean("score"))
    lenient = ps.estimate(ps.Panel(rows, cells=cells, no_answer="missing"), ps.Mean("score")).frame
    assert "no results" in lenient["note"].item()
    scored = rows.assign(score=[np.nan, 1.0, np.nan, np.nan])
    assert ps.estimate(ps.Panel(scored, cells=cells), ps.Mean("score")).frame["estimate"].item() == 0.5
