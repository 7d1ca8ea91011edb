"""AUROC by family and DeLong's variance, against pROC and by leaving families out."""

from __future__ import annotations

import math

import numpy as np
import pytest
from conftest import reference
from scipy import special, stats

from pairstats.errors import PairstatsError
from pairstats.numeric import aurc, auroc, auroc_difference, auroc_interval, delong_test, delong_variance


def simulated(families=25, size=3, seed=1):
    rng = np.random.default_rng(seed)
    codes = np.repeat(np.arange(families), size)
    skill = rng.standard_normal(families)[codes]
    right = (skill + rng.standard_normal(codes.size) > -0.5).astype(float)
    stated = np.round(special.expit(1 + skill + rng.standard_normal(codes.size)), 1)
    return stated, right, codes


@pytest.mark.parametrize("v", reference("auroc", "auroc_delong"))
def test_delong_variance_equals_proc(v):
    found, e = delong_variance(v["inputs"]["confidence"], v["inputs"]["correct"]), v["expected"]
    assert found.auroc == pytest.approx(e["auc"], abs=v["tolerance"])
    assert found.variance == pytest.approx(e["delong_variance"], abs=v["tolerance"])
    half = stats.norm.ppf(0.975) * math.sqrt(found.variance)
    assert (found.auroc - half, found.auroc + half) == pytest.approx((e["lower"], e["upper"]), abs=1e-8)


@pytest.mark.parametrize("v", reference("auroc", "auroc_paired"))
def test_paired_delong_equals_proc(v):
    i, e = v["inputs"], v["expected"]
    found = delong_test(i["confidence_1"], i["confidence_2"], i["correct"])
    assert (found.first, found.second) == pytest.approx((e["auc1"], e["auc2"]), abs=v["tolerance"])
    assert (found.statistic, found.p_value) == pytest.approx((e["z"], e["p"]), abs=v["tolerance"])
    back = delong_test(i["confidence_2"], i["confidence_1"], i["correct"])
    assert back.statistic == pytest.approx(-found.statistic, abs=1e-12)


@pytest.mark.parametrize(
    "v", reference("auroc", "auroc_delong") + reference("python_calibration", "sklearn_auroc")
)
def test_estimate_equals_proc_and_scikit_learn(v):
    found = auroc_interval(v["inputs"]["confidence"], v["inputs"]["correct"])
    assert found.value == pytest.approx(v["expected"]["auc"], abs=v["tolerance"])
    assert found.low < found.value < found.high


def test_interval_equals_the_jackknife_written_out():
    stated, right, codes = simulated()
    found = auroc_interval(stated, right, families=codes)
    without = special.logit([auroc(stated[codes != f], right[codes != f]).value for f in range(25)])
    error = math.sqrt(24 / 25 * np.sum((without - without.mean()) ** 2))
    half = stats.t.ppf(0.975, 24) * error
    centre = special.logit(auroc(stated, right).value)
    assert found.std_error == pytest.approx(error, abs=1e-10)
    assert (found.low, found.high) == pytest.approx(special.expit([centre - half, centre + half]), abs=1e-10)
    lower = auroc_interval(stated, right, families=codes, alternative="greater", confidence_level=0.975)
    assert (lower.low, lower.high) == (pytest.approx(found.low), 1)


def test_difference_equals_the_jackknife_written_out():
    (f, y, codes), (g, z, _) = simulated(), simulated(seed=2)
    found = auroc_difference((f, y), (g, z), families=codes)
    without = np.array([
        auroc(f[codes != c], y[codes != c]).value - auroc(g[codes != c], z[codes != c]).value
        for c in range(25)
    ])  # fmt: skip
    error = math.sqrt(24 / 25 * np.sum((without - without.mean()) ** 2))
    assert found.value == pytest.approx(auroc(f, y).value - auroc(g, z).value)
    assert found.std_error == pytest.approx(error, abs=1e-12)
    back = auroc_difference((g, z), (f, y), families=codes)
    assert (back.low, back.high) == pytest.approx((-found.high, -found.low), abs=1e-12)


def test_aurc_limits_equal_the_jackknife_written_out():
    stated, right, codes = simulated()
    found = aurc(stated, right, families=codes)
    without = special.logit([aurc(stated[codes != f], right[codes != f]).value for f in range(25)])
    half = stats.t.ppf(0.975, 24) * math.sqrt(24 / 25 * np.sum((without - without.mean()) ** 2))
    expected = special.expit(special.logit(found.value) + np.array([-half, half]))
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-10)


def test_family_names_and_row_order_do_not_matter():
    stated, right, codes = simulated()
    order = np.random.default_rng(3).permutation(stated.size)
    one = auroc_interval(stated, right, families=codes)
    two = auroc_interval(stated[order], right[order], families=[f"f{c}" for c in codes[order]])
    assert (one.low, one.high) == pytest.approx((two.low, two.high), abs=1e-12)
    mirrored = auroc_interval(1 - stated, right, families=codes)
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - one.high, 1 - one.low), abs=1e-10)
    assert aurc(stated, right, families=codes).n_families == 25


@pytest.mark.parametrize(
    ("stated", "right", "families", "value"),
    [
        ([0.9, 0.8], [1, 1], None, math.nan),  # nothing wrong
        ([0.9, 0.8], [0, 0], None, math.nan),  # nothing right
        ([0.9, 0.8, 0.2, 0.1], [1, 1, 0, 0], None, 1.0),  # a perfect ranking
        ([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 0], ["f"] * 4, 0.75),  # one family
        ([0.9, 0.8, 0.7, 0.6], [1, 0, 1, 1], None, 2 / 3 - 1 / 3),  # one wrong answer: undefined without it
        ([0.8] * 6, [1, 0] * 3, None, 0.5),  # one constant confidence
    ],
)
def test_undefined_limits_are_the_whole_range(stated, right, families, value):
    found = auroc_interval(stated, right, families=families)
    assert found.value == pytest.approx(value, nan_ok=True)
    assert (found.low, found.high) == (0, 1)
    assert found.method == "logit jackknife-t, undefined"
    assert math.isnan(found.std_error)


def test_one_answer_of_a_kind_has_no_delong_variance():
    assert math.isnan(delong_variance([0.9, 0.5], [1, 0]).variance)
    assert math.isnan(delong_variance([0.9, 0.5], [1, 1]).auroc)


def test_equal_confidences_give_p_of_one():
    test = delong_test([0.9, 0.2, 0.4, 0.5], [0.8, 0.1, 0.3, 0.4], [1, 0, 1, 0])
    assert (test.statistic, test.p_value) == (0, 1)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: delong_test([0.9, 0.5], [0.8, 0.5], [1, 0]), "two right and two wrong"),
        (lambda: delong_test([0.9, 0.9, 0.1, 0.1], [0.5] * 4, [1, 1, 0, 0]), "variation"),
        (lambda: auroc_difference(([0.9], [1]), ([0.9, 0.8], [1, 0])), "same items"),
        (lambda: auroc_interval([0.9], [2]), "0 or 1"),
        (lambda: auroc_interval([0.9, math.nan], [1, 0]), "position 1"),
    ],
)
def test_refused_rankings(call, message):
    with pytest.raises(PairstatsError, match=message):
        call()
