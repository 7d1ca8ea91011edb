"""Estimands against plain-Python counts over the same rows."""

from __future__ import annotations

import itertools
import random

import pandas as pd
import pytest

from pairstats import (
    AllCorrect,
    Brier,
    Condition,
    FlipRate,
    Mean,
    PairingError,
    PairstatsError,
    Pairwise,
    Panel,
    Ratio,
    Share,
    contrast,
    estimate,
)
from pairstats.estimands import Estimand
from pairstats.sums import Units


def value(panel: Panel, estimand: Estimand) -> list[float]:
    unit = panel.unit_of(estimand)
    units = Units.collect(panel.rows(), estimand, panel.family, panel.cells, unit)
    sums = (units.add_up([c], units.n_valid[:, c] > 0, estimand.weight) for c in range(len(units.cells)))
    return [float(s.value()[0]) for s in sums]


def made(seed: int, families: int = 12) -> pd.DataFrame:
    """Random replies: unequal variants and repeats, some errors and blanks."""
    rng = random.Random(seed)
    rows = []
    for f in range(families):
        for variant in ["base", "a", "b"][: rng.choice([2, 3])]:
            for repeat in range(rng.choice([1, 2, 3])):
                status = rng.choices(["answered", "unparsed", "error"], [8, 1, 1])[0]
                known = status == "answered"
                score = rng.choice([0.0, 1.0]) if known else None
                answer = rng.choice("xyz") if known else None
                rows.append(
                    {
                        "family": f"f{f}", "item": "q", "variant": variant, "model": "m", "repeat": repeat,
                        "status": status, "score": score, "answer": answer,
                        "confidence": rng.choice([0.5, 0.9, 1.0]) if known and rng.random() < 0.9 else None,
                        "tokens": rng.randint(1, 9),
                    }
                )  # fmt: skip
    return pd.DataFrame(rows)


def scored(rows: pd.DataFrame) -> pd.DataFrame:
    """Rows that count when no answer is wrong."""
    kept = rows[rows["status"] != "error"].copy()
    kept.loc[kept["status"] == "unparsed", "score"] = 0.0
    return kept


@pytest.mark.parametrize("seed", range(8))
def test_mean_averages_repeats_then_units_then_families(seed: int) -> None:
    rows = made(seed)
    units = scored(rows).groupby(["family", "variant"])["score"].mean()
    assert value(Panel(rows), Mean()) == pytest.approx([units.mean()], abs=1e-12)
    by_family = units.groupby("family").mean().mean()
    assert value(Panel(rows), Mean(weight="family")) == pytest.approx([by_family], abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_brier_and_share_count_the_rows_they_can(seed: int) -> None:
    rows = made(seed)
    kept = scored(rows).dropna(subset=["confidence", "score"])
    error = (kept["confidence"] - kept["score"]) ** 2
    brier = error.groupby([kept["family"], kept["variant"]]).mean().mean()
    assert value(Panel(rows), Brier()) == pytest.approx([brier], abs=1e-12)
    sure = (kept["confidence"] >= 0.9).astype(float)
    wrong = sure * (kept["score"] < 1)
    groups = [kept["family"], kept["variant"]]
    share = wrong.groupby(groups).mean().sum() / sure.groupby(groups).mean().sum()
    assert value(Panel(rows), Share("score < 1", given="confidence >= 0.9")) == pytest.approx(
        [share], abs=1e-12
    )


def flips(rows: pd.DataFrame, column: str, reference: str | None) -> float:
    """All pairs of replies of different variants, family by family, in plain loops."""
    kept = scored(rows)
    rates = []
    for _, family in kept.groupby("family"):
        pairs = differing = 0
        for one, two in itertools.combinations(family.to_dict("records"), 2):
            if one["variant"] == two["variant"]:
                continue
            if reference is not None and reference not in (one["variant"], two["variant"]):
                continue
            pairs += 1
            values = [
                r[column] if r["status"] == "answered" or column == "score" else "none" for r in (one, two)
            ]
            differing += values[0] != values[1]
        if pairs:
            rates.append(differing / pairs)
    return sum(rates) / len(rates)


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("column", ["answer", "score"])
@pytest.mark.parametrize("reference", [None, "base"])
def test_flip_rate_is_the_mean_over_families_of_all_pairs(
    seed: int, column: str, reference: str | None
) -> None:
    rows = made(seed)
    expected = flips(rows, column, reference)
    assert value(Panel(rows), FlipRate(column, reference=reference)) == pytest.approx([expected], abs=1e-12)


def test_flip_rate_of_chosen_variants_only() -> None:
    rows = made(3)
    expected = flips(rows[rows["variant"].isin(["base", "a"])], "answer", None)
    assert value(Panel(rows), FlipRate(variants=("base", "a"))) == pytest.approx([expected])


def test_a_family_with_one_copy_has_no_flip() -> None:
    rows = pd.DataFrame(
        {
            "family": ["f", "f", "g"], "item": "q", "model": "m", "variant": ["base", "moved", "base"],
            "answer": ["x", "y", "x"],
        }
    )  # fmt: skip
    panel = Panel(rows)
    units = Units.collect(panel.rows(), FlipRate(), "family", panel.cells, ())
    assert (units.n_valid[:, 0] > 0).tolist() == [True, False]
    assert value(panel, FlipRate()) == [1.0]


def test_flips_of_several_questions_in_one_family_need_within() -> None:
    rows = pd.DataFrame(
        {
            "family": "f", "item": ["q1", "q2"] * 2, "model": "m", "variant": ["base"] * 2 + ["moved"] * 2,
            "answer": ["x", "y", "x", "z"],
        }
    )  # fmt: skip
    with pytest.raises(
        PairingError,
        match=r"2 items share family='f', model='m', condition='default', variant='base'.*within",
    ):
        value(Panel(rows), FlipRate())
    assert value(Panel(rows), FlipRate(within="item")) == [0.5]


@pytest.mark.parametrize(("rule", "expected"), [("wrong", 0.5), ("missing", 0.0)])
def test_two_replies_without_an_answer_are_no_flip(rule: str, expected: float) -> None:
    rows = pd.DataFrame(
        {
            "family": ["f", "f", "g", "g", "h", "h"], "item": "q", "model": "m",
            "variant": ["base", "moved"] * 3, "answer": [None, None, "x", None, "x", "x"],
            "status": ["unparsed", "empty", "answered", "unparsed", "answered", "answered"],
        }
    )  # fmt: skip
    panel = Panel(rows, no_answer=rule)
    units = Units.collect(panel.rows(), FlipRate(), "family", panel.cells, ())
    if rule == "wrong":
        assert units.n_blank[:, 0].tolist() == [2, 1, 0]  # replies, whether they agree or flip
        assert value(panel, FlipRate()) == [pytest.approx(1 / 3)]
    else:
        assert (units.n_valid[:, 0] > 0).tolist() == [False, False, True]
        assert value(panel, FlipRate()) == [expected]


def test_all_correct_needs_every_decision_of_a_pass() -> None:
    rows = pd.DataFrame(
        {
            "family": ["f"] * 4 + ["g"] * 4 + ["h"] * 3,
            "item": ["a", "b"] * 4 + ["a", "b", "a"],
            "repeat": [0, 0, 1, 1] * 2 + [0, 0, 1],
            "model": "m",
            "score": [1, 1, 1, 0, 1, 1, 1, 1, 1, 0, 1.0],
        }
    )
    # f: one of two passes; g: both; h: one complete pass, wrong; its second pass lacks a decision.
    assert value(Panel(rows), AllCorrect()) == [pytest.approx((0.5 + 1 + 0) / 3)]
    panel = Panel(rows)
    units = Units.collect(panel.rows(), AllCorrect(), "family", panel.cells, ())
    assert units.n_valid[:, 0].tolist() == [2, 2, 1]
    assert units.n_planned[:, 0].tolist() == [2, 2, 2]


def test_all_correct_with_a_declared_size() -> None:
    rows = pd.DataFrame({"family": "f", "item": ["a", "b"], "model": "m", "score": [1.0, 1.0]})
    assert value(Panel(rows), AllCorrect(size=2)) == [1.0]
    assert pd.isna(value(Panel(rows), AllCorrect(size=8))[0])


def test_ratio_of_two_columns() -> None:
    rows = made(1).assign(used=lambda t: t["tokens"] * 0.5)
    assert value(Panel(rows), Ratio("used", "tokens")) == [pytest.approx(0.5)]


def test_a_user_may_write_an_estimand_of_its_own() -> None:
    class Longest:
        name, weight, bounds, columns = "tokens", "item", None, ("tokens",)

        def unit(self, unit: tuple[str, ...], apart: tuple[str, ...]) -> tuple[str, ...]:
            return tuple(unit)

        def reduce(self, rows: object, by: list[str], unit: list[str]) -> object:
            return Mean("tokens").reduce(rows, by, unit)

    rows = made(2)
    expected = rows.groupby(["family", "variant"])["tokens"].mean().mean()
    assert value(Panel(rows), Longest()) == [pytest.approx(expected)]


@pytest.mark.parametrize("text", ["score", "score <", "score ~ 1", "", "score < 1 or score > 2", "a < [1]"])
def test_a_condition_that_cannot_be_read_says_how(text: str) -> None:
    with pytest.raises(PairstatsError, match="condition"):
        Condition.parse(text)


def test_conditions_take_words_and_numbers() -> None:
    assert str(Condition.parse("outcome == followed_spec and score >= 0.5")) == (
        'outcome == "followed_spec" and score >= 0.5'
    )
    assert Condition.parse("flag == true").comparisons[0].value is True


def test_estimands_are_values() -> None:
    assert FlipRate("answer", variants=["a", "b"]) == FlipRate("answer", variants=("a", "b"))
    assert hash(Share("score < 1")) == hash(Share("score<1"))
    with pytest.raises(PairstatsError, match="must be among the variants"):
        FlipRate(reference="base", variants=["a", "b"])
    with pytest.raises(PairstatsError, match="`weight` must be one of"):
        Mean(weight="size")


def test_replies_of_different_conditions_or_runs_are_never_a_pair() -> None:
    rows = pd.DataFrame(
        [
            {
                "family": "f",
                "item": "q",
                "model": "m",
                "variant": v,
                "condition": c,
                "run": r,
                "answer": f"{c}{r}",
            }
            for v in ("base", "moved")
            for c in ("plain", "told")
            for r in ("1", "2")
        ]
    )
    # Inside one condition and run the two copies agree; across them nothing is comparable.
    assert value(Panel(rows), FlipRate()) == [0.0]
    assert value(Panel(rows, cells=("condition",)), FlipRate()) == [0.0, 0.0]


def test_conditions_are_units_and_not_repeats() -> None:
    rows = pd.DataFrame(
        {
            "family": "f", "item": "q", "model": "m", "condition": ["x", "x", "x", "y"], "repeat": [0, 1, 2, 0],
            "score": [1.0, 1.0, 1.0, 0.0],
        }
    )  # fmt: skip
    assert value(Panel(rows), Mean()) == [0.5], (
        "three repeats of one condition weigh as much as one of the other"
    )
    assert value(Panel(rows, unit=("item", "variant")), Mean()) == [0.75]


def test_all_correct_takes_one_condition_at_a_time() -> None:
    rows = pd.DataFrame(
        {
            "family": "f", "item": ["a", "b", "a", "b"], "model": "m", "condition": ["x", "x", "y", "y"],
            "score": [1.0, 1.0, 1.0, 0.0],
        }
    )  # fmt: skip
    assert value(Panel(rows), AllCorrect()) == [0.5]


def test_null_ids_with_a_default_take_it() -> None:
    rows = pd.DataFrame({"family": ["f", "g"], "item": ["a", "b"], "model": "m", "run": [None, "1"], "answer": "x",
                         "variant": [None, "moved"]})  # fmt: skip
    assert Panel(rows).levels("run") == ["", "1"]
    assert Panel(rows).levels("variant") == ["base", "moved"]


def test_families_without_a_denominator_count_in_a_ratio() -> None:
    """Cost per right answer: what was spent on families without one is spent too."""
    rows = pd.DataFrame(
        {
            "family": [f"f{i:02}" for i in range(12)] * 2,
            "item": "q",
            "model": ["a"] * 12 + ["b"] * 12,
            "score": [1.0] * 8 + [0.0] * 4 + [1.0] * 12,
            "cost_usd": [1.0] * 8 + [10.0] * 4 + [2.0] * 12,
        }
    )
    found = estimate(Panel(rows), Ratio("cost_usd", "score")).frame.set_index("model")
    assert found["estimate"].tolist() == [48 / 8, 2.0]
    assert found["n_families"].tolist() == [12, 12]
    assert found.loc["a", ["conf_low", "conf_high"]].isna().all()
    assert found.loc["a", "note"].startswith("no interval: 4 families have a numerator but no denominator")
    assert found.loc["b", "conf_low"] == 2.0
    pair = contrast(Panel(rows), Ratio("cost_usd", "score", bounds=(0, 20)), Pairwise("model")).frame.iloc[0]
    assert (pair["estimate"], pd.isna(pair["p_value"])) == (4.0, True)
    assert "no interval" in pair["note"]
    with pytest.raises(
        PairstatsError, match=r"ratio\(cost_usd/seconds\) must not be negative.* 12 units.* f00"
    ):
        estimate(Panel(rows[:12].assign(seconds=-1.0)), Ratio("cost_usd", "seconds"))
