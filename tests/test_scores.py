"""Scores, calibration and flips against R, scikit-learn, uncertainty-calibration, and enumeration."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from conftest import reference
from scipy import stats

from pairstats.errors import PairstatsError
from pairstats.numeric.calibration import calibration_curve, corp_decomposition
from pairstats.numeric.calibration_error import expected_calibration_error
from pairstats.numeric.flips import flip_rate
from pairstats.numeric.scores import auroc, brier, confident_wrong, log_loss


def forecasts(v):
    return v["inputs"]["confidence"], v["inputs"]["correct"]


def error(v, bins, edges="right-closed", **options):
    return expected_calibration_error(*forecasts(v), bins=bins, edges=edges, n_resamples=1, **options).value


@pytest.mark.parametrize(
    "v", reference("calibration", "brier_") + reference("python_calibration", "sklearn_brier")
)
def test_brier(v):
    found = brier(*forecasts(v))
    assert found.value == pytest.approx(v["expected"]["brier"], abs=v["tolerance"])
    assert found.per_item.mean() == found.value
    swapped = brier(1 - np.array(forecasts(v)[0]), 1 - np.array(forecasts(v)[1]))
    assert swapped.value == pytest.approx(found.value, rel=1e-12)


@pytest.mark.parametrize(
    "v", reference("calibration", "log_loss_clipped") + reference("python_calibration", "sklearn_log_loss")
)
def test_log_loss(v):
    assert log_loss(*forecasts(v), eps=1e-15).value == pytest.approx(
        v["expected"]["log_loss"], abs=v["tolerance"]
    )


def test_log_loss_counts_what_clipping_hides():
    found = log_loss([1.0, 0.0, 1.0, 0.5], [0, 1, 1, 1], eps=0.01)
    assert found.n_infinite == 2
    np.testing.assert_allclose(found.per_item, -np.log([0.01, 0.01, 0.99, 0.5]))


@pytest.mark.parametrize("v", reference("calibration", "confident_wrong"))
def test_confident_wrong(v):
    found, e = confident_wrong(*forecasts(v), threshold=v["inputs"]["threshold"]), v["expected"]
    assert (found.n_confident, found.n_wrong) == (e["confident"], e["confident_and_wrong"])
    assert found.share_of_confident == pytest.approx(e["share_of_confident"], abs=v["tolerance"])
    assert found.share_of_all == pytest.approx(e["share_of_all"], abs=v["tolerance"])


def test_confident_wrong_at_the_threshold_and_with_no_confident_answer():
    assert confident_wrong([0.1 + 0.2], [0], threshold=0.3).n_confident == 1
    assert confident_wrong([1 - 0.1], [0], threshold=0.9).n_wrong == 1
    assert math.isnan(confident_wrong([0.2], [0]).share_of_confident)


@pytest.mark.parametrize(
    "v", reference("auroc", "auroc_delong") + reference("python_calibration", "sklearn_auroc")
)
def test_auroc(v):
    f, y = map(np.array, forecasts(v))
    found = auroc(f, y)
    assert found.value == pytest.approx(v["expected"]["auc"], abs=v["tolerance"])
    assert auroc(f, 1 - y).value == pytest.approx(1 - found.value, abs=1e-12)
    assert auroc(f**3, y).value == pytest.approx(found.value, abs=1e-12)


def test_auroc_without_a_wrong_answer_is_undefined():
    found = auroc([0.5, 0.9], [1, 1])
    assert math.isnan(found.value)
    assert (found.n_correct, found.n_wrong) == (2, 0)
    assert auroc([0.3, 0.1 + 0.2], [1, 0]).value == 0.5


@pytest.mark.parametrize("v", reference("calibration", "ece_equal_width"))
def test_ece_equals_r(v):
    bins, e, tol = v["inputs"]["bins"], v["expected"], v["tolerance"]
    edges = "left-closed" if "left_closed" in v["name"] else "right-closed"
    for key, norm in (("ece_l1", "l1"), ("ece_l2", "l2"), ("mce", "max")):
        if key in e:
            assert error(v, bins, edges, norm=norm) == pytest.approx(e[key], abs=tol)
    if "bin_count" in e:
        curve = calibration_curve(*forecasts(v), bins=bins, edges=edges)
        assert curve.n.tolist() == list(np.atleast_1d(e["bin_count"]))
        np.testing.assert_allclose(curve.high * bins, np.atleast_1d(e["bin_index"]), rtol=1e-12)
        np.testing.assert_allclose(curve.mean_confidence, np.atleast_1d(e["bin_conf"]), atol=tol)
        np.testing.assert_allclose(curve.accuracy, np.atleast_1d(e["bin_acc"]), atol=tol)
        assert curve.n_empty == bins - curve.n.size


@pytest.mark.parametrize("v", reference("python_calibration", "ece_l1_plugin", "squared_ece_debiased"))
def test_ece_equals_uncertainty_calibration(v):
    bins, e, tol = v["inputs"].get("bins", "distinct"), v["expected"], v["tolerance"]
    for key in {"ece_l1", "ece_l1_plugin"} & e.keys():
        assert error(v, bins) == pytest.approx(e[key], abs=tol)
    if "squared_ece" in e:
        assert error(v, bins, norm="l2", debiased=True) == pytest.approx(e["squared_ece"], abs=tol)
    if "plugin_squared_ece" in e:
        assert error(v, bins, norm="l2") ** 2 == pytest.approx(e["plugin_squared_ece"], abs=tol)


@pytest.mark.parametrize("v", reference("calibration", "calibration_by_distinct_value"))
def test_curve_by_distinct_value_equals_r(v):
    curve, e, tol = calibration_curve(*forecasts(v)), v["expected"], v["tolerance"]
    for ours, key in (
        (curve.low, "value"),
        (curve.n, "count"),
        (curve.n_correct, "correct"),
        (curve.accuracy, "accuracy"),
    ):
        np.testing.assert_allclose(ours, np.atleast_1d(e[key]), atol=tol)
    assert error(v, "distinct") == pytest.approx(e["ece_l1"], abs=tol)
    assert error(v, "distinct", norm="l2") ** 2 == pytest.approx(e["squared_ece_plugin"], abs=tol)
    assert error(v, "distinct", norm="l2", debiased=True) == pytest.approx(e["squared_ece_debiased"], abs=tol)


@pytest.mark.parametrize("v", reference("python_calibration", "sklearn_calibration_curve"))
def test_curve_equals_scikit_learn(v):
    # scikit-learn's searchsorted on the inner edges puts an edge into the bin below: right-closed.
    curve, e = calibration_curve(*forecasts(v), bins=v["inputs"]["bins"]), v["expected"]
    np.testing.assert_allclose(curve.accuracy, e["accuracy"], atol=v["tolerance"])
    np.testing.assert_allclose(curve.mean_confidence, e["mean_confidence"], atol=v["tolerance"])


@pytest.mark.parametrize(
    "v", reference("calibration", "isotonic_corp") + reference("python_calibration", "sklearn_isotonic")
)
def test_corp_equals_r_and_scikit_learn(v):
    (f, y), e, tol = forecasts(v), v["expected"], v["tolerance"]
    found = corp_decomposition(f, y)
    _, first = np.unique(f, return_index=True)
    np.testing.assert_allclose(found.recalibrated[first], np.atleast_1d(e["recalibrated"]), atol=tol)
    for key, ours in (
        ("MCB", found.miscalibration),
        ("DSC", found.discrimination),
        ("UNC", found.uncertainty),
    ):
        if key in e:
            assert ours == pytest.approx(e[key], abs=tol)
    assert found.brier == pytest.approx(
        found.miscalibration - found.discrimination + found.uncertainty, abs=1e-12
    )
    curve = calibration_curve(f, y, bins="corp")
    assert np.all(np.diff(curve.accuracy) > 0)
    np.testing.assert_allclose(curve.accuracy, np.unique(found.recalibrated.round(12)), atol=1e-11)
    assert curve.n.sum() == len(f)


@pytest.mark.parametrize("v", reference("isotonic"))
def test_corp_pools_like_isoreg(v):
    # Outcomes are 0 or 1 here, so R's values are made shares of many answers at rising confidence.
    y, top = np.array(v["inputs"]["y"]), max(v["inputs"]["y"])
    f = np.repeat(np.linspace(0.1, 0.9, y.size), top)
    outcome = np.concatenate([np.arange(top) < k for k in y])
    fitted = corp_decomposition(f, outcome).recalibrated[::top] * top
    np.testing.assert_allclose(fitted, v["expected"]["fitted"], atol=1e-10)


def test_edges_are_what_they_say_in_spite_of_rounding():
    on_edges = [0.1 + 0.2, 0.7000000000000001, 0.9, 0.6]
    right = calibration_curve(on_edges, [1, 1, 1, 1], bins=10)
    left = calibration_curve(on_edges, [1, 1, 1, 1], bins=10, edges="left-closed")
    np.testing.assert_allclose(right.high, [0.3, 0.6, 0.7, 0.9])
    np.testing.assert_allclose(left.low, [0.3, 0.6, 0.7, 0.9])
    assert calibration_curve([0.3, 0.1 + 0.2], [1, 0]).n.tolist() == [2]


@pytest.mark.parametrize("edges", ["right-closed", "left-closed"])
def test_confidence_zero_and_one_lie_in_the_end_bins(edges):
    curve = calibration_curve([0.0, 1.0, 1.0], [0, 1, 0], bins=5, edges=edges)
    assert curve.low.tolist() == [0.0, 0.8]
    assert curve.n.tolist() == [1, 2]
    own = calibration_curve([0.0, 1.0, 1.0], [0, 1, 0], bins=[0, 0.5, 1], edges=edges)
    assert own.n.tolist() == [1, 2]
    assert own.bins == "2"


@pytest.mark.parametrize("bins", ["distinct", 10])
def test_null_mean_equals_the_binomial_mean_deviation(bins):
    # E|k - n p| of each bin by summing over the binomial law; 20,000 draws leave about .3 % of it.
    f = np.repeat([0.65, 0.85, 0.95], [10, 30, 40])
    y = np.random.default_rng(1).random(80) < f
    found = expected_calibration_error(f, y, bins=bins, n_resamples=20_000, rng=1)
    law = [(k, n, p) for n, p in ((10, 0.65), (30, 0.85), (40, 0.95)) for k in range(n + 1)]
    expected = sum(stats.binom.pmf(k, n, p) * abs(k - n * p) for k, n, p in law) / 80
    assert found.null_mean == pytest.approx(expected, rel=0.02)
    debiased = expected_calibration_error(
        f, y, bins=bins, norm="l2", debiased=True, n_resamples=20_000, rng=1
    )
    assert debiased.null_mean == pytest.approx(0, abs=1e-4)


def test_a_calibrated_model_shows_its_null_and_the_test_holds_its_level():
    # methods.md: 80 answers, uniform confidence, 10 bins: plug-in ECE .111 on average.
    rng = np.random.default_rng(2)
    found = []
    for _ in range(200):
        f = rng.random(80)
        found.append(expected_calibration_error(f, rng.random(80) < f, n_resamples=199, rng=rng))
    assert np.mean([e.null_mean for e in found]) == pytest.approx(0.111, abs=0.002)
    assert np.mean([e.value for e in found]) == pytest.approx(0.111, abs=0.01)
    assert 5 <= sum(e.p_value.p_value <= 0.1 for e in found) <= 35  # 20 expected, 4.2 standard deviations
    assert found[0].seed is None


def test_ece_is_reproducible_and_counts_singletons():
    f, y = [0.9, 0.9, 0.5, 0.7], [1, 0, 1, 1]
    one, other = (expected_calibration_error(a, b, bins="distinct") for a, b in ((f, y), (f[::-1], y[::-1])))
    assert (one.value, one.seed, one.n_singletons) == (pytest.approx(other.value), other.seed, 2)
    assert one.null_mean == expected_calibration_error(f, y, bins="distinct", rng=one.seed).null_mean


def test_the_null_does_not_depend_on_the_order_of_rows_nor_on_names():
    rng = np.random.default_rng(4)
    f, names = rng.random(60), np.repeat(np.arange(20), 3)
    y = (rng.random(60) < f).astype(float)
    order = rng.permutation(60)
    for families in (None, names):
        one = expected_calibration_error(f, y, families=families, n_resamples=200)
        again = None if families is None else [f"family {name}" for name in families[order]]
        two = expected_calibration_error(f[order], y[order], families=again, n_resamples=200)
        assert two.null_mean == pytest.approx(one.null_mean, rel=1e-12)
        assert (two.p_value, two.seed) == (one.p_value, one.seed)


def test_the_null_of_families_is_that_of_answers_that_are_alike():
    # Copies that all agree, stated at one value: a bin of G families, each k times, so the deviation is that of
    # G answers and not of kG. The mean of |X/G - p| by the binomial law.
    families, copies, p = 12, 5, 0.7
    y = np.repeat((np.random.default_rng(5).random(families) < p).astype(float), copies)
    found = expected_calibration_error(
        np.full(y.size, p), y, families=np.repeat(np.arange(families), copies), n_resamples=20_000
    )
    own = expected_calibration_error(np.full(y.size, p), y, n_resamples=20_000)
    alike, apart = (
        sum(stats.binom.pmf(k, n, p) * abs(k / n - p) for k in range(n + 1)) for n in (families, y.size)
    )
    assert found.family_correlation == pytest.approx(0.99)
    assert found.null_mean == pytest.approx(alike, rel=0.05)  # the correlation stops at .99
    assert own.null_mean == pytest.approx(apart, rel=0.02)
    assert found.p_value.p_value > own.p_value.p_value


def test_flip_rate_equals_r():
    for p in reference("agreement_flips", "binary_agreement", "flip_nominal"):
        v = p.values[0]
        if v is None:
            pytest.skip("the shared reference folder is not beside this checkout")
        found, e = flip_rate(v["inputs"]["families_by_copies"]), v["expected"]
        assert found.rate == pytest.approx(e["pairwise_disagreement"], abs=1e-12)
        assert found.any_rate == pytest.approx(e["any_disagreement"], abs=1e-12)
        if "family_pairwise" in e:
            np.testing.assert_allclose(found.per_family, e["family_pairwise"], atol=1e-12)


def test_flip_rate_is_the_share_of_unequal_pairs():
    rng = np.random.default_rng(3)
    answers = rng.integers(0, 3, (20, 5))
    pairs = [[a != b for a, b in itertools.combinations(row, 2)] for row in answers.tolist()]
    found = flip_rate(answers)
    np.testing.assert_allclose(found.per_family, np.mean(pairs, axis=1))
    relabelled = flip_rate(np.array(["x", "y", "z"])[answers[:, ::-1]])
    assert relabelled.rate == pytest.approx(found.rate, rel=1e-12)


def test_missing_copies_leave_the_denominator_and_are_counted():
    found = flip_rate([["A", "B"], ["A", None], [None, float("nan")], [], [0, 0, 1]])
    assert (found.n_families, found.n_too_few, found.n_missing) == (2, 3, 3)
    assert found.copies.tolist() == [2, 1, 0, 0, 3]
    assert found.rate == pytest.approx((1 + 2 / 3) / 2)
    assert found.any_rate == 1
    assert np.isnan(found.per_family).tolist() == [False, True, True, True, False]
    assert math.isnan(flip_rate([["A"]]).rate)
    assert flip_rate([["A", "A"]]).rate == 0
    assert (flip_rate([["A"]]).low, flip_rate([["A"]]).high) == (0, 1)


def test_limits_of_a_flip_rate_are_clopper_pearson_on_pairs():
    # methods.md, section g: 11/40, 2/35, 16/40, 8/40.
    for flips, pairs in ((11, 40), (2, 35), (16, 40), (8, 40), (0, 12), (12, 12)):
        found = flip_rate(
            [["A", "B"]] * flips + [["A", "A"]] * (pairs - flips), kind="cp", confidence_level=0.9
        )
        oracle = stats.binomtest(flips, pairs).proportion_ci(0.9, method="exact")
        assert (found.low, found.high) == pytest.approx((oracle.low, oracle.high), abs=1e-9)
        assert found.method == "family-cp"
    with pytest.raises(PairstatsError, match="kind"):
        flip_rate([["A"]], kind="exact")


def test_flip_rate_refuses_what_is_not_a_table_of_answers():
    with pytest.raises(PairstatsError, match="at least one family"):
        flip_rate([])
    with pytest.raises(PairstatsError, match="position 0 is 'AB'"):
        flip_rate(["AB", "AA"])
    with pytest.raises(PairstatsError, match="position 1 holds"):
        flip_rate([["A"], [["A"], ["B"]]])


def test_all_right_all_wrong_and_one_answer():
    assert brier([1.0, 1.0], [1, 1]).value == 0
    assert brier([1.0], [0]).value == 1
    found = corp_decomposition([0.5, 0.9], [1, 1])
    assert (found.uncertainty, found.discrimination) == (0, 0)
    assert found.miscalibration == pytest.approx(0.13)
    assert expected_calibration_error([1.0, 1.0], [1, 1]).value == 0
    sure = expected_calibration_error([1.0, 1.0], [0, 0])
    assert (sure.value, sure.null_upper, sure.p_value.at_floor) == (1, 0, True)


@pytest.mark.parametrize(
    ("confidence", "correct", "message"),
    [
        ([90, 0.5], [1, 0], r"`confidence` must lie in \[0, 1\], but position 0 is 90"),
        ([0.9, math.nan], [1, 0], "position 1 is nan"),
        ([0.9], [1, 0], "but have 1 and 2"),
        ([], [], "empty"),
        ([0.9], [0.5], "`correct` must hold 0 or 1, but position 0 is 0.5"),
    ],
)
def test_refused_forecasts(confidence, correct, message):
    for verb in (
        calibration_curve,
        expected_calibration_error,
        corp_decomposition,
        auroc,
        log_loss,
        confident_wrong,
    ):
        with pytest.raises(PairstatsError, match=message):
            verb(confidence, correct)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bins": "quantile"}, "`bins` must be one of 'distinct', 'corp'"),
        ({"bins": 0}, "`bins` must be a whole number of at least 1"),
        ({"bins": [0, 0.5, 0.5, 1]}, "must increase"),
        ({"bins": [0, 0.5]}, "1 lie outside, the first at position 0"),
        ({"edges": "closed"}, "`edges` must be one of"),
    ],
)
def test_refused_bins(options, message):
    for verb in (calibration_curve, expected_calibration_error):
        with pytest.raises(PairstatsError, match=message):
            verb([0.9, 0.2], [1, 0], **options)


def test_refused_errors():
    for options in ({"bins": "corp"}, {"debiased": True}, {"debiased": True, "norm": "l1"}):
        with pytest.raises(PairstatsError, match="must not be fitted to the outcomes"):
            expected_calibration_error([0.9], [1], **options)
    with pytest.raises(PairstatsError, match="`norm` must be one of"):
        expected_calibration_error([0.9], [1], norm="l3")
    with pytest.raises(PairstatsError, match=r"`correct` must lie in \[0, 1\]"):
        brier([0.5], [2])
    for threshold in (90, -0.1, math.nan):
        with pytest.raises(PairstatsError, match="`threshold`"):
            confident_wrong([0.9], [1], threshold=threshold)
    with pytest.raises(PairstatsError, match="`eps`"):
        log_loss([0.5], [1], eps=0)
