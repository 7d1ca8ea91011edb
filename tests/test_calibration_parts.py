"""Parts of calibration: R (SpecsVerification), uncertainty-calibration, relplot, enumeration, simulation."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from conftest import reference
from scipy import stats
from scipy.optimize import isotonic_regression

from pairstats.errors import PairstatsError
from pairstats.numeric import (
    brier_decomposition,
    brier_difference,
    calibration_curve,
    calibration_table,
    calibration_test,
    confident_wrong,
    corp_band,
    corp_decomposition,
    expected_calibration_error,
    family_interval,
    log_loss,
    overconfidence,
    sign_flip,
    smooth_ece,
)
from pairstats.numeric.calibration_null import family_correlation


def forecasts(v):
    return v["inputs"]["confidence"], v["inputs"]["correct"]


def simulated(n=120, seed=1):
    rng = np.random.default_rng(seed)
    stated = rng.choice([0.0, 0.3, 0.6, 0.9, 1.0], n)
    return stated, (rng.random(n) < np.clip(0.8 * stated + 0.1, 0, 1)).astype(float)


@pytest.mark.parametrize("v", reference("calibration", "murphy_decomposition"))
def test_murphy_equals_r(v):
    found, e = brier_decomposition(*forecasts(v), bins=v["inputs"]["bins"]), v["expected"]
    for name in ("reliability", "resolution", "uncertainty"):
        assert getattr(found.murphy, name) == pytest.approx(e[name], abs=v["tolerance"])
    for name in ("within_bin_variance", "within_bin_covariance", "brier"):
        assert getattr(found, name) == pytest.approx(e[name], abs=v["tolerance"])
    terms = found.murphy
    total = terms.reliability - terms.resolution + terms.uncertainty
    total += found.within_bin_variance - found.within_bin_covariance
    assert total == pytest.approx(found.brier, abs=1e-12)


@pytest.mark.parametrize("v", reference("calibration", "ferro_fricker"))
def test_truncated_terms_equal_r(v):
    found, e = brier_decomposition(*forecasts(v), bins=v["inputs"]["bins"]), v["expected"]
    for name in ("reliability", "resolution", "uncertainty"):
        assert getattr(found.truncated, name) == pytest.approx(e[name], abs=v["tolerance"])
    for terms in (found.corrected, found.truncated):
        change = terms.reliability - terms.resolution + terms.uncertainty
        murphy = found.murphy.reliability - found.murphy.resolution + found.murphy.uncertainty
        assert change == pytest.approx(murphy, abs=1e-12)


@pytest.mark.parametrize("v", reference("python_calibration", "squared_ece_debiased_distinct"))
def test_corrected_reliability_is_the_debiased_square_but_for_singletons(v):
    found = brier_decomposition(*forecasts(v))
    alone = found.curve.n == 1
    singles = (found.curve.mean_confidence - found.curve.accuracy)[alone] ** 2
    expected = v["expected"]["squared_ece"] + singles.sum() / found.curve.n.sum()
    assert found.corrected.reliability == pytest.approx(expected, abs=v["tolerance"])
    assert found.n_singletons == alone.sum()


def test_corrected_terms_are_unbiased():
    # Exact expectation over all outcomes of two bins of three answers, chances .2 and .7.
    stated, chances = [0.3] * 3 + [0.6] * 3, [0.2] * 3 + [0.7] * 3
    reliability = uncertainty = 0.0
    for outcome in itertools.product((0, 1), repeat=6):
        p = math.prod(c if y else 1 - c for c, y in zip(chances, outcome, strict=True))
        terms = brier_decomposition(stated, outcome).corrected
        reliability += p * terms.reliability
        uncertainty += p * terms.uncertainty
    assert reliability == pytest.approx((0.1**2 + 0.1**2) / 2, abs=1e-12)
    # For outcomes with fixed bin sizes: o (1 - o) less the spread of the chances over N - 1.
    assert uncertainty == pytest.approx(0.45 * 0.55 + (0.45 * 0.55 - 0.5 * (0.16 + 0.21)) / 5, abs=1e-12)


def test_constant_confidence_has_no_resolution():
    found = brier_decomposition([0.8] * 10, [1] * 6 + [0] * 4)
    gap = overconfidence([0.8] * 10, [1] * 6 + [0] * 4).gap
    assert found.murphy.resolution == pytest.approx(0, abs=1e-15)
    assert found.murphy.reliability == pytest.approx(gap.value**2)


@pytest.mark.parametrize("v", reference("calibration", "confident_wrong"))
def test_confident_errors_equal_r(v):
    found = overconfidence(*forecasts(v), confident=v["inputs"]["threshold"], kind="cp")
    e, plain = v["expected"], confident_wrong(*forecasts(v), threshold=v["inputs"]["threshold"])
    assert found.wrong_of_confident.value == pytest.approx(e["share_of_confident"], abs=v["tolerance"])
    assert found.wrong_of_all.value == pytest.approx(e["share_of_all"], abs=v["tolerance"])
    assert found.n_confident == plain.n_confident == e["confident"]
    exact = stats.binomtest(e["confident_and_wrong"], e["confident"]).proportion_ci(method="exact")
    limits = found.wrong_of_confident.low, found.wrong_of_confident.high
    assert limits == pytest.approx((exact.low, exact.high), abs=1e-8)


def test_gap_is_the_family_interval_of_the_mean_gap():
    stated, right = simulated()
    families = np.arange(120) // 4
    found = overconfidence(stated, right, families=families)
    gaps = (stated - right).reshape(30, 4).mean(axis=1)
    expected = family_interval(gaps, sizes=np.full(30, 4), bounds=(-1, 1))
    assert found.gap.value == pytest.approx(stated.mean() - right.mean())
    assert (found.gap.low, found.gap.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    mirrored = overconfidence(1 - stated, 1 - right, families=families).gap
    assert (mirrored.low, mirrored.high) == pytest.approx((-found.gap.high, -found.gap.low), abs=1e-9)
    assert found.n_unsure == np.sum(stated <= 0.5)


def test_no_confident_answer_is_undefined():
    found = overconfidence([0.5, 0.6], [1, 0])
    assert math.isnan(found.wrong_of_confident.value)
    assert (found.confident_gap.low, found.confident_gap.high) == (-1, 1)
    assert found.wrong_of_all.value == 0


@pytest.mark.parametrize("v", reference("calibration", "calibration_by_distinct_value"))
def test_table_by_distinct_value_equals_r(v):
    table, e = calibration_table(*forecasts(v), kind="cp"), v["expected"]
    assert table.curve.n.tolist() == e["count"]
    assert table.curve.n_correct.tolist() == e["correct"]
    np.testing.assert_allclose(table.curve.accuracy, e["accuracy"], atol=v["tolerance"])
    np.testing.assert_allclose(table.conf_low, e["cp_lower"], atol=1e-8)
    np.testing.assert_allclose(table.conf_high, e["cp_upper"], atol=1e-8)
    error = expected_calibration_error(
        *forecasts(v), bins="distinct", norm="l2", debiased=True, n_resamples=1
    )
    assert error.value == pytest.approx(e["squared_ece_debiased"], abs=v["tolerance"])


def test_brier_difference_is_paired_by_family():
    one, two = simulated(seed=2), simulated(seed=3)
    families = np.repeat(np.arange(30), 4)
    found = brier_difference(one, two, families=families)
    gaps = ((one[0] - one[1]) ** 2 - (two[0] - two[1]) ** 2).reshape(30, 4)
    expected = family_interval(gaps.mean(axis=1), bounds=(-1, 1), sizes=np.full(30, 4))
    assert found.estimate == pytest.approx(found.first - found.second)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)
    assert found.test.p_value == pytest.approx(sign_flip(gaps.sum(axis=1)).p_value)
    assert brier_difference(two, one, families=families).low == pytest.approx(-found.high, abs=1e-9)
    same = brier_difference(one, one)
    assert (same.estimate, same.test.p_value) == (0, 1)


@pytest.mark.parametrize("v", reference("python_calibration", "smooth_ece"))
def test_smooth_error_equals_relplot(v):
    found = smooth_ece(*forecasts(v), endpoints="half", n_resamples=1)
    assert found.value == pytest.approx(v["expected"]["smooth_ece"], abs=v["tolerance"])
    stated = np.array(v["inputs"]["confidence"])
    if not np.isin(stated, (0, 1)).any():
        assert smooth_ece(*forecasts(v), n_resamples=1).value == found.value


def test_smooth_error_equals_its_integral():
    stated, right = simulated(seed=4)
    sigma = smooth_ece(stated, right, n_resamples=1).value
    t = (np.arange(4000) + 0.5) / 4000
    images = np.concatenate([[2 * k + s * t for s in (1, -1)] for k in range(-3, 4)])
    kernel = stats.norm.pdf(images[:, :, None], stated, sigma).sum(axis=0)
    assert np.abs(kernel @ (right - stated) / stated.size).mean() == pytest.approx(sigma, abs=1e-3)


def test_smooth_error_of_errors_of_one_sign_is_the_gap():
    # The kernel keeps all mass, so nothing cancels: also for answers stated at exactly 1.
    assert smooth_ece([0.9, 1.0, 1.0, 0.7], [0] * 4, n_resamples=1).value == pytest.approx(0.9, abs=1e-5)
    assert smooth_ece([1.0, 0.0], [1, 0], n_resamples=1).value == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("statistic", ["miscalibration", "reliability", "debiased-square"])
def test_null_equals_enumeration(statistic):
    stated, right = np.array([0.2, 0.2, 0.6, 0.6, 0.9]), np.array([1.0, 0, 0, 1, 0])

    def measure(y):
        if statistic == "miscalibration":
            return corp_decomposition(stated, y).miscalibration
        if statistic == "reliability":
            return brier_decomposition(stated, y).murphy.reliability
        return expected_calibration_error(
            stated, y, bins="distinct", norm="l2", debiased=True, n_resamples=1
        ).value

    outcomes = [np.array(y, dtype=float) for y in itertools.product((0, 1), repeat=5)]
    chance = np.array([np.prod(np.where(y == 1, stated, 1 - stated)) for y in outcomes])
    values = np.array([measure(y) for y in outcomes])
    found = calibration_test(stated, right, statistic=statistic, n_resamples=20_000)
    assert found.value == pytest.approx(measure(right), abs=1e-12)
    spread = math.sqrt(chance @ values**2 - (chance @ values) ** 2)
    assert found.null_mean == pytest.approx(chance @ values, abs=4 * spread / math.sqrt(20_000))
    exact = float(chance[values >= found.value - 1e-12].sum())
    assert found.p_value.p_value == pytest.approx(exact, abs=4 * math.sqrt(exact / 20_000))


def test_the_draw_depends_on_the_data_alone():
    stated, right = simulated(60)
    families = np.arange(60) // 3
    order = np.random.default_rng(5).permutation(60)
    one = calibration_test(stated, right, families=families, n_resamples=99)
    two = calibration_test(
        stated[order], right[order], families=[f"n{-f}" for f in families[order]], n_resamples=99
    )
    assert one == two
    assert one.seed is not None
    assert calibration_test(stated, right, n_resamples=99, rng=np.random.default_rng(1)).seed is None


def test_family_correlation_is_recovered_and_zero_without_families():
    rng = np.random.default_rng(6)
    codes = np.repeat(np.arange(3000), 3)
    stated = rng.choice([0.3, 0.6, 0.8], codes.size)
    latent = math.sqrt(0.5) * rng.standard_normal(3000)[codes] + math.sqrt(0.5) * rng.standard_normal(
        codes.size
    )
    right = (latent < stats.norm.ppf(stated)).astype(float)
    assert family_correlation(stated, right, codes) == pytest.approx(0.5, abs=0.06)
    assert family_correlation(stated, right, np.arange(codes.size)) == 0
    assert family_correlation(stated, rng.permutation(right), codes) < 0.05


def test_with_families_the_test_holds_its_level_where_independence_would_not():
    rng = np.random.default_rng(7)
    codes = np.repeat(np.arange(30), 4)
    hits = np.zeros(2)
    for _ in range(100):
        stated = rng.choice([0.6, 0.8, 0.95], 30)[codes]
        latent = math.sqrt(0.6) * rng.standard_normal(30)[codes] + math.sqrt(0.4) * rng.standard_normal(120)
        right = (latent < stats.norm.ppf(stated)).astype(float)
        for position, families in enumerate((codes, None)):
            test = calibration_test(stated, right, families=families, n_resamples=199, rng=rng)
            hits[position] += test.p_value.p_value <= 0.05
    assert hits[0] <= 12  # .05 and two Monte-Carlo errors: 9.4; the correlation is estimated too
    assert hits[1] > hits[0]


def test_confidence_zero_and_one_are_certain_under_the_null():
    found = calibration_test([1.0] * 5 + [0.0] * 5, [1] * 5 + [0] * 5, n_resamples=99)
    assert (found.value, found.null_mean, found.p_value.p_value) == (0, 0, 1)
    missed = calibration_test([1.0] * 5 + [0.0] * 5, [1] * 4 + [0] * 6, n_resamples=99)
    assert missed.p_value.at_floor
    assert log_loss([1.0], [0]).n_infinite == 1


def test_consistency_band_covers_a_calibrated_curve_and_bootstrap_band_the_fit():
    rng = np.random.default_rng(8)
    codes = np.repeat(np.arange(100), 2)
    stated = rng.choice([0.2, 0.4, 0.6, 0.8], 200)
    right = (rng.random(200) < stated).astype(float)
    band = corp_band(stated, right, families=codes, kind="consistency", n_resamples=500)
    assert np.all((band.low <= band.confidence) & (band.confidence <= band.high))
    boot = corp_band(stated, right, families=codes, n_resamples=500)
    np.testing.assert_allclose(boot.fit, calibration_curve(stated, right, bins="corp").accuracy, atol=1e-12)
    assert np.all((boot.low <= boot.fit) & (boot.fit <= boot.high))
    assert np.all(np.diff(boot.low) >= 0)
    assert (boot.note, boot.n_families, boot.family_correlation) == ("", 100, 0)


def test_bootstrap_band_equals_families_drawn_one_by_one():
    stated, right = simulated(100, seed=9)
    codes = np.arange(100) // 2
    band = corp_band(stated, right, families=codes, n_resamples=4000)
    rng, levels = np.random.default_rng(10), np.unique(stated)
    fits = []
    for _ in range(4000):
        drawn = rng.integers(0, 50, 50)
        rows = np.concatenate([2 * drawn, 2 * drawn + 1])
        n = np.array([np.sum(stated[rows] == v) for v in levels])
        hits = np.array([right[rows][stated[rows] == v].sum() for v in levels])
        fits.append(isotonic_regression(hits / n, weights=n).x)
    low, high = np.quantile(fits, [0.025, 0.975], axis=0)
    np.testing.assert_allclose(band.low, low, atol=0.025)
    np.testing.assert_allclose(band.high, high, atol=0.025)


def test_few_families_are_noted_and_many_values_thinned():
    rng = np.random.default_rng(11)
    stated = rng.random(900)
    band = corp_band(stated, rng.random(900) < stated, families=np.arange(900) % 39, n_resamples=20)
    assert band.note == "only 39 families: a bootstrap band needs about 40"
    assert band.confidence.size == 400
    assert (band.confidence[0], band.confidence[-1]) == (stated.min(), stated.max())


def test_one_constant_confidence():
    band = corp_band([0.8] * 50, [1, 0] * 25, n_resamples=200)
    assert band.fit.tolist() == [0.5]
    assert band.low[0] < 0.5 < band.high[0]
    assert calibration_test([0.8] * 50, [1, 0] * 25, n_resamples=199).p_value.at_floor


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: brier_decomposition([0.5], [1], bins="corp"), "corp_decomposition"),
        (lambda: calibration_table([0.5], [1], bins="corp"), "corp_band"),
        (lambda: calibration_test([0.5], [1], statistic="reliability", bins="corp"), "miscalibration"),
        (lambda: calibration_test([0.5], [1], statistic="ece"), "ece"),
        (lambda: overconfidence([0.5, math.nan], [1, 1]), "position 1 is nan"),
        (lambda: overconfidence([0.5], [1], unsure=0.9), "below"),
        (lambda: smooth_ece([90], [1]), r"lie in \[0, 1\]"),
        (lambda: smooth_ece([0.5], [1], endpoints="none"), "endpoints"),
        (lambda: corp_band([0.5], [1], kind="normal"), "normal"),
        (lambda: corp_band([], []), "empty"),
        (lambda: brier_difference(([0.5], [1]), ([0.5, 0.6], [1, 1])), "same items"),
    ],
)
def test_refused_forecasts(call, message):
    with pytest.raises(PairstatsError, match=message):
        call()
