"""Correction for a scorer's error: published intervals, exact inversion, coverage, and records."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pairstats import Mean, Pairwise, Panel, Ratio, Trend, contrast, corrected, estimate
from pairstats.errors import PairstatsError
from pairstats.numeric import corrected_difference, corrected_rate, family_interval


def families(right, n):
    return [1.0] * right + [0.0] * (n - right)


@pytest.mark.parametrize(
    ("positive", "tested", "sensitivity", "specificity", "estimate", "limits", "digits"),
    [
        # Examples of epiR's epi.prev, the second of Moujaber et al. (2008) by Reiczigel et al. (2010).
        (23, 150, 0.96, 0.89, 0.051, (0.0, 0.13), 2),
        (6, 151, 0.964, 0.927, 0.0, (0.0, 0.013), 3),
    ],
)
def test_published_examples(positive, tested, sensitivity, specificity, estimate, limits, digits):
    found = corrected_rate(
        families(positive, tested), sensitivity=sensitivity, specificity=specificity, kind="cp"
    )
    assert round(found.estimate, 3) == estimate
    assert (round(found.low, digits), round(found.high, digits)) == limits
    exact = stats.binomtest(positive, tested).proportion_ci(0.95, "exact")
    moved = [(end + specificity - 1) / (sensitivity + specificity - 1) for end in (exact.low, exact.high)]
    assert (found.low, found.high) == pytest.approx((max(moved[0], 0), moved[1]), abs=1e-9)


@pytest.mark.parametrize("kind", ["jeffreys", "cp"])
def test_a_perfect_scorer_changes_nothing(kind):
    scores, sizes = [1, 0.5, 0.5, 0, 1, 1], [2, 2, 4, 1, 3, 2]
    plain = family_interval(scores, sizes=sizes, kind=kind)
    found = corrected_rate(scores, sizes=sizes, sensitivity=1.0, specificity=1, kind=kind)
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high), abs=1e-12)
    gaps = np.array(scores) - 0.5
    gap = family_interval(gaps, sizes=sizes, kind=kind, bounds=(-1, 1))
    moved = corrected_difference(gaps, sizes=sizes, sensitivity=1.0, specificity=1.0, kind=kind)
    assert (moved.low, moved.high) == pytest.approx((gap.low, gap.high), abs=1e-12)


@pytest.mark.parametrize("kind", ["jeffreys", "cp"])
def test_a_sample_widens_and_a_large_one_is_as_good_as_known(kind):
    scores = families(30, 60)
    known, small, large = (
        corrected_rate(scores, sensitivity=se, specificity=sp, kind=kind)
        for se, sp in ((0.9, 0.8), ((18, 20), (16, 20)), ((900_000, 1_000_000), (800_000, 1_000_000)))
    )
    assert small.low < known.low < known.high < small.high
    third = 0.95 if kind == "jeffreys" else 1 - 0.05 / 3
    alone = corrected_rate(scores, sensitivity=0.9, specificity=0.8, kind=kind, confidence_level=third)
    assert (large.low, large.high) == pytest.approx((alone.low, alone.high), abs=3e-3)
    for one in (known, small, large):
        assert one.estimate == pytest.approx((0.5 + 0.8 - 1) / 0.7)


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_one_sided_limits_are_those_of_a_two_sided_interval(alternative):
    scores, gaps = families(30, 60), np.repeat([0.5, 0.0, -0.5], [14, 20, 6])
    options = {"sensitivity": (45, 50), "specificity": (40, 50)}
    both = corrected_rate(scores, **options), corrected_difference(gaps, **options)
    one = [
        f(x, alternative=alternative, confidence_level=0.975, **options)
        for f, x in ((corrected_rate, scores), (corrected_difference, gaps))
    ]
    for single, double, ends in zip(one, both, ((0, 1), (-1, 1)), strict=True):
        if alternative == "greater":
            assert (single.low, single.high) == (pytest.approx(double.low), ends[1])
        else:
            assert (single.low, single.high) == (ends[0], pytest.approx(double.high))


def test_estimates_outside_the_range_are_cut_and_told():
    low = corrected_rate(families(1, 100), sensitivity=0.9, specificity=0.95)
    assert (low.estimate, low.low) == (0, 0)
    assert low.raw_estimate == pytest.approx((0.01 - 0.05) / 0.85)
    assert low.fits == (low.high > 0)
    wrong = corrected_rate(families(0, 200), sensitivity=0.9, specificity=0.7)
    assert not wrong.fits  # a scorer with 30 % false alarms does not stay silent 200 times
    assert (wrong.low, wrong.high) == (0, 0)
    chance = corrected_rate(families(30, 60), sensitivity=(6, 10), specificity=(6, 10))
    assert (chance.low, chance.high) == (0, 1)
    assert chance.method.endswith("undefined")


def test_differences_are_divided_and_turn_round():
    gaps = np.repeat([0.5, 0.0, -0.5], [10, 25, 5])
    plain = family_interval(gaps, bounds=(-1, 1))
    known = corrected_difference(gaps, sensitivity=0.9, specificity=0.8)
    assert (known.low, known.high) == pytest.approx((plain.low / 0.7, plain.high / 0.7))
    for kind in ("jeffreys", "cp"):
        one, back = (
            corrected_difference(sign * gaps, sensitivity=(45, 50), specificity=(40, 50), kind=kind)
            for sign in (1, -1)
        )
        assert (one.low, one.high) == pytest.approx((-back.high, -back.low))
        # Errors alike on both sides can make no difference, so 0 stays in or out.
        assert (one.low > 0) == (family_interval(gaps, bounds=(-1, 1), kind=kind).low > 0)
    chance = corrected_difference(gaps, sensitivity=(6, 10), specificity=(6, 10))
    assert (chance.low, chance.high) == (-1, 1)


@pytest.mark.parametrize(("kind", "least"), [("jeffreys", 0.925), ("cp", 0.95)])
def test_coverage_with_a_validation_sample(kind, least):
    rng = np.random.default_rng(8)
    covered = {"rate": 0, "difference": 0}
    draws, true, other, se, sp = 1200, 0.3, 0.5, 0.9, 0.85
    for _ in range(draws):
        truth, rival = rng.random((2, 60)) < np.array([[true], [other]])
        one, two = (np.where(t, rng.random(60) < se, rng.random(60) >= sp) * 1.0 for t in (truth, rival))
        sample = {
            "sensitivity": (int(rng.binomial(80, se)), 80), "specificity": (int(rng.binomial(80, sp)), 80),
            "kind": kind,
        }  # fmt: skip
        rate = corrected_rate(one, **sample)
        gap = corrected_difference(one - two, **sample)
        covered["rate"] += rate.low <= true <= rate.high
        covered["difference"] += gap.low <= true - other <= gap.high
    assert min(covered.values()) / draws >= least


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"sensitivity": 1.2, "specificity": 0.9}, r"share in \(0, 1\]"),
        ({"sensitivity": 0.5, "specificity": 0.5}, "sum to more than 1"),
        ({"sensitivity": (9, 8), "specificity": 0.9}, "right <= all"),
        ({"sensitivity": (9, 10, 11), "specificity": 0.9}, "validation sample"),
        ({"sensitivity": "high", "specificity": 0.9}, r"share in \(0, 1\]"),
        ({"sensitivity": 0.9, "specificity": 0.9, "kind": "wald"}, "kind"),
    ],
)
def test_error_rates_that_are_none(options, match):
    for function in (corrected_rate, corrected_difference):
        with pytest.raises(PairstatsError, match=match):
            function([0.0, 1.0], **options)


def records():
    rows = [
        {"family": f"f{i // 2}", "item": f"q{i}", "model": m, "score": float(i % 5 > (m == "n"))}
        for i in range(60) for m in ("m", "n")
    ]  # fmt: skip
    return pd.DataFrame(rows)


def test_records_give_the_same_as_arrays():
    panel, options = Panel(records()), {"sensitivity": (46, 50), "specificity": (44, 50)}
    found = corrected(panel, Mean("score"), **options)
    plain = estimate(panel, Mean("score")).frame
    for row, scored in zip(found, plain.itertuples(), strict=True):
        assert f"as scored {scored.estimate:.3f}" in row["note"]
        assert row["estimate"] == pytest.approx((scored.estimate + 0.88 - 1) / 0.8)
    means = records().groupby(["model", "family"])["score"].mean()
    oracle = corrected_rate(means["m"], sizes=np.full(30, 2.0), **options)
    assert found.frame["conf_low"].iloc[0] == pytest.approx(oracle.low)
    gap = next(iter(corrected(panel, Mean("score"), Pairwise("model"), **options)))
    observed = next(iter(contrast(panel, Mean("score"), Pairwise("model"))))["estimate"]
    assert gap["estimate"] == pytest.approx(observed / 0.8)
    wide = corrected_difference(
        means["m"].to_numpy() - means["n"].to_numpy(), sizes=np.full(30, 2.0), **options
    )
    assert (gap["conf_low"], gap["conf_high"]) == pytest.approx((wide.low, wide.high))
    misfit = corrected(panel, Mean("score"), sensitivity=0.6, specificity=0.99)
    assert misfit.frame["note"].str.contains("no true rate gives such scores").any()


def test_what_cannot_be_corrected_says_so():
    panel, options = Panel(records()), {"sensitivity": 0.9, "specificity": 0.9}
    with pytest.raises(PairstatsError, match="not for a Trend"):
        corrected(panel, Mean("score"), Trend("model", {"m": 0, "n": 1}), **options)
    with pytest.raises(PairstatsError, match=r"values in \[0, 1\]"):
        corrected(Panel(records().assign(output_tokens=5)), Ratio("output_tokens", "score"), **options)
