"""Verdicts: by hand-made totals, by properties, and at their edges."""

from __future__ import annotations

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import pairstats as ps
from pairstats.infer import compared
from pairstats.intervals import Totals
from pairstats.numeric import family_interval, sign_flip
from pairstats.pairs import Combined, Compared
from pairstats.panel import PairstatsError
from pairstats.tipping import tipping_point
from pairstats.verdicts import Claim, could_decide, judge, margin_p

NOTHING = Combined({}, (), np.zeros(0))


def made(differences: list[float]) -> Compared:
    """A comparison of one unit a family."""
    d = np.asarray(differences, dtype=float)
    row = {
        "estimate": float(d.mean()), "p_value": sign_flip(d).p_value, "n_families": len(d), "n_units": len(d),
        "n_missing": 0, "std_error": float(d.std(ddof=1) / np.sqrt(len(d))) if len(d) > 1 else None,
    }  # fmt: skip
    return Compared(row, NOTHING, Totals(d, np.ones(len(d)), (-1.0, 1.0)))


def verdict(differences: list[float], claim: Claim, **settings: object) -> str:
    return judge([made(differences)], [claim], **settings)[0].compared.row["verdict"]


@pytest.mark.parametrize(
    ("differences", "claim", "expected"),
    [
        ([1] * 8 + [0] * 12, Claim(), "superior"),
        ([-1] * 8 + [0] * 12, Claim("superiority"), "inferior"),
        ([1] * 3 + [-1] * 3 + [0] * 14, Claim(), "inconclusive"),
        ([1] * 4, Claim(), "not estimable"),
        ([1, -1] * 4 + [0] * 192, Claim("equivalence", 0.05), "equivalent"),
        ([1, -1] * 4 + [0] * 32, Claim("equivalence", 0.05), "not estimable"),
        ([1] * 30 + [0] * 10, Claim("equivalence", 0.2), "superior"),
        ([-1] * 30 + [0] * 10, Claim("equivalence", 0.2), "inferior"),
        ([1, -1] * 10 + [0] * 20, Claim("equivalence", 0.2), "inconclusive"),
        ([1] * 6 + [0] * 94, Claim("noninferiority", 0.05), "noninferior"),
        ([-1] * 40 + [0] * 60, Claim("noninferiority", 0.05), "inferior"),
        ([1, -1] * 20 + [0] * 60, Claim("noninferiority", 0.05), "inconclusive"),
    ],
)
def test_each_verdict(differences: list[float], claim: Claim, expected: str) -> None:
    assert verdict(differences, claim) == expected


def test_asymmetric_margins() -> None:
    drift = [1] * 12 + [0] * 188
    assert verdict(drift, Claim("equivalence", (0.05, 0.15))) == "equivalent"
    assert verdict(drift, Claim("equivalence", (0.15, 0.05))) == "inconclusive"


def test_too_few_units_are_not_estimable() -> None:
    each = made([1] * 10 + [0] * 10)
    each.row["n_missing"] = 10
    found = judge([each], [Claim()], minimum=0.8)[0].compared.row
    assert found["verdict"] == "not estimable"
    assert "20 of 30 planned units, below the minimum of 80%" in found["note"]


def test_no_results_is_not_estimable() -> None:
    empty = Compared(
        {"estimate": None, "p_value": None, "n_families": 0, "n_units": 0, "n_missing": 4}, NOTHING
    )
    found = judge([empty, made([1] * 8)], [Claim("equivalence", 0.1), Claim()])
    assert [j.compared.row["verdict"] for j in found] == ["not estimable", "superior"]
    assert found[1].compared.row["p_adjusted"] == found[1].compared.row["p_value"], "it is no test"


differences = st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.0, 0.0, 0.5, 1.0]), min_size=6, max_size=60)
margins = st.sampled_from([0.05, 0.1, 0.2, 0.3])


@settings(max_examples=40, deadline=None, derandomize=True)
@given(
    st.lists(differences, min_size=1, max_size=4),
    margins,
    st.sampled_from(["holm", "hochberg", "bonferroni", "fixed-sequence"]),
)
def test_equivalent_if_and_only_if_the_interval_at_the_adjusted_level_lies_inside(
    families: list[list[float]], margin: float, method: str
) -> None:
    claims = [Claim("equivalence", margin)] * len(families)
    for judged, d in zip(judge([made(f) for f in families], claims, method=method), families, strict=True):
        row = judged.compared.row
        level = 1 - 2 * judged.alpha
        limits = family_interval(d, kind="cp", bounds=(-1, 1), confidence_level=level)
        assert row["conf_low"] == pytest.approx(limits.low, abs=1e-9)
        if abs(row["p_adjusted"] - 0.05) > 1e-9:
            assert (row["verdict"] == "equivalent") == (-margin < limits.low and limits.high < margin)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(st.lists(differences, min_size=1, max_size=4))
def test_superior_if_and_only_if_the_adjusted_p_is_at_most_alpha(families: list[list[float]]) -> None:
    for judged in judge([made(f) for f in families], [Claim()] * len(families)):
        row = judged.compared.row
        assert (row["verdict"] in ("superior", "inferior")) == (row["p_adjusted"] <= 0.05)
        if row["verdict"] in ("superior", "inferior"):
            assert (row["verdict"] == "superior") == (row["estimate"] > 0)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(differences, margins)
def test_the_margin_p_is_the_level_at_which_the_limit_touches(d: list[float], margin: float) -> None:
    totals = made(d).totals
    p = margin_p(totals, Claim("noninferiority", margin))
    if 1e-6 < p < 0.9:
        limits = family_interval(d, kind="cp", bounds=(-1, 1), confidence_level=1 - p)
        assert limits.low == pytest.approx(-margin, abs=1e-6)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(differences, margins)
def test_a_mirrored_comparison_has_the_mirrored_verdict(d: list[float], margin: float) -> None:
    mirror = {"superior": "inferior", "inferior": "superior"}
    for claim in (Claim(), Claim("equivalence", margin)):
        there, back = verdict(d, claim), verdict([-x for x in d], claim)
        assert back == mirror.get(there, there)


def test_a_fixed_sequence_stops_at_the_first_failure() -> None:
    strong, weak = [1] * 10 + [0] * 5, [1, -1] * 5
    found = judge([made(strong), made(weak), made(strong)], [Claim()] * 3, method="fixed-sequence")
    assert [j.compared.row["verdict"] for j in found] == ["superior", "inconclusive", "inconclusive"]
    assert found[0].compared.row["p_adjusted"] == found[0].compared.row["p_value"]


def test_a_gate_opens_only_when_everything_before_it_succeeded() -> None:
    strong, weak = [1] * 10 + [0] * 5, [1, -1] * 5
    claims = [Claim(group=0), Claim(group=0), Claim(group=1)]
    shut = judge([made(strong), made(weak), made(strong)], claims, method="gatekeeping")
    assert [j.compared.row["verdict"] for j in shut] == ["superior", "inconclusive", "inconclusive"]
    opened = judge([made(strong), made(strong), made(strong)], claims, method="gatekeeping")
    assert [j.compared.row["verdict"] for j in opened] == ["superior"] * 3
    p = made(strong).row["p_value"]
    assert [j.compared.row["p_adjusted"] for j in opened] == pytest.approx([2 * p, 2 * p, 2 * p])


def test_every_verdict_carries_a_detectable_difference() -> None:
    found = judge([made([1] * 6 + [-1] * 6 + [0] * 28)], [Claim()])[0].compared.row
    se = found["std_error"]
    assert found["mdd"] == pytest.approx((1.959964 + 0.841621) * se, abs=1e-5)
    flat = judge([made([0.0] * 40)], [Claim()])[0].compared.row
    assert binom.sf(5, 40, flat["mdd"]) == pytest.approx(0.8), "six of 40 families must differ for a p of .05"
    margin = judge([made([0.0] * 40)], [Claim("equivalence", 0.2)])[0].compared.row
    assert margin["mdd"] == pytest.approx(1 - 0.05 ** (1 / 40)), (
        "limits and a margin decide, no sign-flip test"
    )


@pytest.mark.parametrize(
    ("families", "claim", "can"),
    [(5, Claim(), False), (6, Claim(), True), (0, Claim(), False), (35, Claim("equivalence", 0.1), True),
     (20, Claim("equivalence", 0.1), False), (20, Claim("noninferiority", 0.1), True),
     (3, Claim("noninferiority", 0.1), False)],
)  # fmt: skip
def test_what_a_design_can_decide(families: int, claim: Claim, can: bool) -> None:
    assert could_decide(families, claim) == can


@pytest.mark.parametrize(
    ("kind", "margin", "message"),
    [
        ("equivalence", None, "needs margin"),
        ("difference", 0.1, "takes no margin"),
        ("noninferiority", (0.1, 0.2), "one margin"),
        ("equivalence", -0.1, "must be a positive number"),
        ("better", None, "`claim` must be one of"),
    ],
)
def test_claims_that_make_no_sense(kind: str, margin: object, message: str) -> None:
    with pytest.raises(PairstatsError, match=message):
        Claim(kind, margin)  # type: ignore[arg-type]
    with pytest.raises(PairstatsError, match="alpha"):
        Claim(alpha=0.7)


def test_a_margin_beyond_the_range_is_refused() -> None:
    with pytest.raises(PairstatsError, match="inside the range of the quantity, -1 to 1"):
        judge([made([0.0] * 10)], [Claim("noninferiority", 1.5)])


def panel(first: str, second: str) -> ps.Panel:
    """Two models, one item a family; a dash is a lost reply."""
    rows = [
        {"family": f"f{i:02}", "item": f"q{i:02}", "model": model, "score": None if mark == "-" else float(mark),
         "status": "error" if mark == "-" else "answered"}
        for model, marks in (("a", first), ("b", second))
        for i, mark in enumerate(marks)
    ]  # fmt: skip
    return ps.Panel(pd.DataFrame(rows))


def tipped(first: str, second: str, claim: Claim = Claim()) -> tuple[int | None, str]:  # noqa: B008
    found = compared(panel(first, second), ps.Mean(), ps.Pairwise("model"))
    [judged] = judge(found.compared, [claim])
    return tipping_point(judged, found.units, (0.0, 1.0), "item")


def test_even_if_it_had_missed_all_ten_it_would_still_be_ahead() -> None:
    assert tipped("1" * 65 + "0" * 5 + "-" * 10, "1" * 25 + "0" * 55) == (
        None, "superior even if all 10 missing answers went against it",
    )  # fmt: skip


def test_the_tipping_point_is_the_smallest_number_that_turns_the_verdict() -> None:
    first, second = "1" * 12 + "0" * 8 + "-" * 10, "0" * 20 + "1" * 10
    turned, said = tipped(first, second)
    assert said == f"superior unless {turned} of the 10 missing answers went against it"
    for k, still in ((turned - 1, True), (turned, False)):
        filled = first.replace("-", "0", k).replace("-", "1")
        pair = next(iter(ps.contrast(panel(filled, second), ps.Mean(), ps.Pairwise("model"))))
        assert (pair["p_value"] <= 0.05 and pair["estimate"] > 0) == still


@pytest.mark.parametrize("weight", ["item", "family"])
@pytest.mark.parametrize("claim", [Claim(), Claim("noninferiority", 0.35)])
def test_the_tipping_point_of_families_is_that_of_all_ways_to_fill_the_gaps(
    weight: str, claim: Claim
) -> None:
    rng = np.random.default_rng(4)
    rows = [
        {"family": f"f{i // 2 if i < 8 else i}", "item": f"q{i:02}", "model": model, "status": "answered",
         "score": float(rng.random() < (0.98 if model == "a" else 0.15))}
        for i in range(16) for model in "ab"
    ]  # fmt: skip
    frame = pd.DataFrame(rows)
    lost = [0, 3, 10, 21, 30]
    frame.loc[lost, ["score", "status"]] = [None, "error"]
    mean = ps.Mean("score", weight=weight)
    found = compared(ps.Panel(frame), mean, ps.Pairwise("model"))
    [judged] = judge(found.compared, [claim])
    turned, _ = tipping_point(judged, found.units, (0.0, 1.0), weight)
    fallen = []
    for harmed in itertools.product((False, True), repeat=len(lost)):
        filled = frame.assign(status="answered")
        for row, bad in zip(lost, harmed, strict=True):
            filled.loc[row, "score"] = float((filled.loc[row, "model"] == "b") == bad)
        again = compared(ps.Panel(filled), mean, ps.Pairwise("model")).compared
        [other] = judge(again, [claim])
        if other.compared.row["verdict"] != judged.compared.row["verdict"]:
            fallen.append(sum(harmed))
    assert judged.compared.row["verdict"] in ("superior", "noninferior")
    assert turned == (min(fallen) if fallen else None)


def test_nothing_missing_or_nothing_claimed_has_no_tipping_point() -> None:
    assert tipped("1" * 10, "0" * 10) == (None, "")
    assert tipped("10" * 5 + "-", "01" * 5 + "1") == (None, "")


def test_an_equivalence_may_fall_to_either_side() -> None:
    same = "1" * 100 + "0" * 100
    turned, said = tipped(same + "-" * 30, same + "1" * 30, Claim("equivalence", 0.1))
    assert turned is not None
    assert "equivalent unless" in said


def test_max_t_uses_the_joint_law_of_endpoints_on_the_same_families() -> None:
    rng = np.random.default_rng(3)
    base = rng.choice([-1, 0, 1], 12, p=[0.1, 0.4, 0.5])
    endpoints = [base.tolist(), np.clip(base + rng.choice([0, 1], 12), -1, 1).tolist()]
    names = tuple(f"f{i}" for i in range(12))
    totals = [Totals(np.array(d, float), np.ones(12), (-1.0, 1.0), names) for d in endpoints]
    rows = [{**made(d).row, "alternative": "two-sided"} for d in endpoints]
    each = [Compared(row, NOTHING, total) for row, total in zip(rows, totals, strict=True)]
    found = [j.compared.row["p_adjusted"] for j in judge(each, [Claim()] * 2, method="max-t")]
    # By enumeration of all sign vectors: the largest standardized sum, stepping down.
    table = np.array(endpoints, float).T
    signs = np.array(np.meshgrid(*[[1, -1]] * 12)).reshape(12, -1).T
    t = np.abs(signs @ table) / np.sqrt((table**2).sum(axis=0))
    observed = np.abs(table.sum(axis=0)) / np.sqrt((table**2).sum(axis=0))
    first, second = np.argsort(-observed)
    p_first = np.mean(t.max(axis=1) >= observed[first] - 1e-9)
    p_second = max(p_first, np.mean(t[:, second] >= observed[second] - 1e-9))
    assert found[first] == pytest.approx(p_first)
    assert found[second] == pytest.approx(p_second)
    with pytest.raises(PairstatsError, match="Take holm"):
        judge([*each, made([1.0] * 9)], [Claim()] * 3, method="max-t")


def test_a_loss_beyond_the_margin_has_a_tipping_point_of_its_own() -> None:
    first, second = "0" * 60 + "1" * 20 + "-" * 6, "1" * 80 + "1" * 6
    turned, said = tipped(first, second, Claim("noninferiority", 0.1))
    assert (turned, said) == (None, "inferior even if all 6 missing answers went against it")


def test_a_level_is_not_compared_with_itself() -> None:
    with pytest.raises(PairstatsError, match="compared with itself"):
        ps.contrast(panel("10", "01"), ps.Mean(), ps.Versus("model", "a", "a"))


def test_a_lower_flip_rate_is_lower_and_not_inferior() -> None:
    """Of flips and Brier scores the lower value is the better one; a measurement has no better side."""
    rows = pd.DataFrame(
        [
            {"family": f"f{f:02}", "item": f"q{f}", "variant": v, "model": m, "tokens": 5.0 + 3 * (m == "b"),
             "answer": "x" if m == "a" or v == "base" else "y", "score": 1.0 if m == "b" else 0.0}
            for f in range(12) for v in ("base", "new") for m in "ab"
        ]
    )  # fmt: skip
    panel = ps.Panel(rows)
    asked = {
        "flips": (ps.FlipRate("answer"), "higher"), "score": (ps.Mean("score"), "superior"),
        "tokens": (ps.Mean("tokens", bounds=(0, 10)), "higher"),
    }  # fmt: skip
    for estimand, verdict in asked.values():
        found = compared(panel, estimand, ps.Versus("model", "a")).compared
        [judged] = judge(found, [Claim()])
        assert judged.compared.row["verdict"] == verdict
    flips = compared(panel, ps.FlipRate("answer"), ps.Versus("model", "a")).compared
    told = "second side is no worse"
    [judged] = judge(flips, [Claim("noninferiority", 0.05)])
    assert (judged.compared.row["verdict"], told in judged.compared.row["note"]) == ("noninferior", True)
    for estimand, said in ((ps.FlipRate("answer"), True), (ps.Mean("score"), False)):
        row = ps.margin_test(
            panel, estimand, ps.Versus("model", "a"), claim="noninferiority", margin=0.05
        ).frame
        assert (told in row["note"].item()) == said
