"""The exact bootstrap law against complete enumeration, R, and itself in other ways of computing it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from conftest import reference
from scipy import stats

from pairstats.errors import PairstatsError
from pairstats.numeric import law as law_module
from pairstats.numeric.convolution import enumerated_sums, lattice_power, lattice_power_2d, smooth_power
from pairstats.numeric.draws import family_types
from pairstats.numeric.lattice import common_lattice, lattice_steps, snapped
from pairstats.numeric.law import Law, RatioLaw, exact_law


def enumerated_law(totals, sizes):
    """All G**G resamples, one by one: values of S / N rounded to 12 digits and their probabilities."""
    s, n = np.asarray(totals, dtype=float), np.asarray(sizes, dtype=float)
    draws = np.array(list(itertools.product(range(s.size), repeat=s.size)))
    value, counts = np.unique(np.round(s[draws].sum(1) / n[draws].sum(1), 12), return_counts=True)
    return value, counts / len(draws)


def fine_law(totals, sizes=None):
    """The law by fine lattice, which is otherwise used only where enumeration is too long."""
    sizes = np.ones(len(totals)) if sizes is None else np.asarray(sizes)
    types = family_types(np.column_stack([totals, sizes]))
    share = types.counts / len(totals)
    if np.ptp(sizes) == 0:
        points, mass, spacing = smooth_power(types.totals[:, 0], share, len(totals))
        return Law(points / sizes.sum(), mass, "fine lattice", spacing / sizes.sum())
    return RatioLaw(types.totals[:, 0], types.totals[:, 1], share, len(totals))


RNG = np.random.default_rng(20)
SMALL = {
    "integers": [1, 0, 2, 2, 1, 0],
    "signed": [1, -1, 0, 2, 1, 0],
    "thirds": [1 / 3, 2 / 3, 1.0, 0.0, 1 / 3],
    "sum-of-tenths": [0.1 + 0.2, 0.3, 0.0, 1.0, 0.7],
    "arbitrary": list(RNG.random(6)),
    "two-families": [0.3, 0.9],
    "negative": [-1.5, -2.0, -0.25],
}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("equal", [True, False])
def test_law_equals_enumeration_of_all_resamples(name, equal):
    totals = SMALL[name]
    sizes = [2] * len(totals) if equal else [1, 2, 2, 3, 1, 4][: len(totals)]
    value, probability = enumerated_law(totals, sizes)
    law = exact_law(totals, sizes=sizes)
    np.testing.assert_allclose(law.support, value, rtol=0, atol=2e-12)
    np.testing.assert_allclose(law.probability, probability, rtol=0, atol=1e-12)
    for a in (0.001, 0.025, 0.05, 0.5, 0.95, 0.975, 1.0):
        below = np.cumsum(probability)
        assert law.quantile(a) == pytest.approx(value[np.searchsorted(below, a - 1e-12)], abs=1e-11)


@pytest.mark.parametrize("v", reference("bootstrap", "cluster_bootstrap_exact"))
def test_law_equals_r_enumeration(v):
    law = exact_law(v["inputs"]["family_numerator"], sizes=v["inputs"]["family_denominator"])
    e, tol = v["expected"], v["tolerance"]
    np.testing.assert_allclose(law.support, np.atleast_1d(e["value"]), atol=1e-10)
    np.testing.assert_allclose(law.probability, np.atleast_1d(e["prob"]), atol=tol)
    assert law.mean == pytest.approx(e["mean"], abs=tol)
    assert law.std == pytest.approx(e["sd"], abs=tol)
    for key, a in (("q025", 0.025), ("q05", 0.05), ("q50", 0.5), ("q95", 0.95), ("q975", 0.975)):
        assert law.quantile(a) == pytest.approx(e[key], abs=1e-10)
    assert law.cdf(0) == pytest.approx(e["p_le_0"], abs=tol)
    assert 1 - 2 * law.mid_cdf(0) + law.cdf(0) == pytest.approx(e["p_ge_0"], abs=tol)


@pytest.mark.parametrize("v", reference("bootstrap", "cluster_bootstrap_convolution"))
def test_law_equals_r_convolution(v):
    counts, copies, e = v["inputs"]["families_with_j_correct"], v["inputs"]["copies"], v["expected"]
    totals = np.repeat(np.arange(copies + 1), counts)
    law = exact_law(totals, sizes=[copies] * totals.size)
    assert law.mean == pytest.approx(e["estimate"], abs=1e-12)
    for key, a in (("lower", 0.025), ("upper", 0.975), ("lower90", 0.05), ("upper90", 0.95)):
        assert law.quantile(a) == pytest.approx(e[key], abs=1e-12)
    assert law.cdf(e["lower"]) == pytest.approx(e["cdf_at_lower"], abs=v["tolerance"])


@pytest.mark.parametrize(("passed", "families"), [(30, 48), (1, 40), (47, 48), (1990, 4000), (3999, 4000)])
def test_zero_one_families_are_binomial(passed, families):
    law = exact_law([1] * passed + [0] * (families - passed))
    binomial = stats.binom(families, passed / families)
    for a in (1e-9, 0.025, 0.3, 0.975):
        assert law.quantile(a) == pytest.approx(binomial.ppf(a) / families, abs=1e-12)
    # Relative accuracy in the tails: log-gammas of 4000 families are right to about 1e-11.
    counts = np.rint(law.support * families)
    np.testing.assert_allclose(law.probability, binomial.pmf(counts), rtol=1e-9, atol=1e-300)


@pytest.mark.parametrize("families", [12, 200, 3000])
def test_fourier_and_repeated_squaring_agree(families, monkeypatch):
    steps, share = np.array([0, 1, 3, 8]), np.array([0.1, 0.3, 0.35, 0.25])
    monkeypatch.setattr("pairstats.numeric.convolution._DIRECT_LENGTH", 10**9)
    _, squared = lattice_power(steps, share, families, 2**20)
    monkeypatch.setattr("pairstats.numeric.convolution._DIRECT_LENGTH", 0)
    start, fourier = lattice_power(steps, share, families, 2**20)
    window = squared[start : start + fourier.size]
    np.testing.assert_allclose(fourier[: window.size], window, rtol=0, atol=1e-14)
    assert squared.sum() - window.sum() < 1e-14


def test_ratio_by_convolution_of_pairs_equals_enumeration():
    pairs, counts = np.array([[0.0, 1], [1, 1], [1, 2], [2, 3]]), np.array([3, 6, 5, 4])
    sums, mass = enumerated_sums(pairs, counts, 10**6)
    by_list = law_module._merged(sums[:, 0] / sums[:, 1], mass, "")
    # Steps count from the smallest of each column, so one is taken off every size and added again.
    cells, mass = lattice_power_2d((pairs - [0, 1]).astype(int), counts / 18, 18, 10**6)
    by_fft = law_module._merged(cells[:, 0] / (18 + cells[:, 1]), mass, "")
    for x in np.linspace(0.3, 1.0, 30):
        assert by_fft.cdf(x) == pytest.approx(by_list.cdf(x), abs=1e-12)


def test_pruned_enumeration_keeps_all_visible_mass():
    counts = np.array([1, 1, 2, 396])
    values = np.array([[0.0], [0.3141], [0.7182], [1.0]])
    sums, mass = enumerated_sums(values, counts, 200_000)
    assert mass.sum() == pytest.approx(1, abs=1e-12)
    assert mass @ sums[:, 0] == pytest.approx(values[:, 0] @ counts, rel=1e-12)
    assert enumerated_sums(values, counts, 1000) is None
    assert enumerated_sums(np.arange(60.0)[:, None] ** 0.5, np.ones(60, dtype=int), 10**6) is None


@pytest.mark.parametrize("families", [6, 7])
@pytest.mark.parametrize("equal", [True, False])
def test_few_arbitrary_totals_are_within_1e4_standard_errors_of_enumeration(families, equal):
    rng = np.random.default_rng(families)
    totals = rng.random(families)
    sizes = np.ones(families) if equal else rng.integers(1, 4, families)
    value, probability = enumerated_law(totals, sizes)
    law = exact_law(totals, sizes=sizes)
    for a in (0.025, 0.05, 0.5, 0.975):
        true = value[np.searchsorted(np.cumsum(probability), a)]
        assert abs(law.quantile(a) - true) < 1e-4 * law.std


@pytest.mark.parametrize("kind", ["mean", "ratio"])
def test_fine_lattice_agrees_with_enumeration(kind):
    # 11 families have 352,716 compositions: no value carries visible mass, but gaps of some 1e-4 remain.
    rng = np.random.default_rng(3)
    totals = rng.random(11)
    sizes = None if kind == "mean" else rng.integers(1, 4, 11)
    exact, fine = exact_law(totals, sizes=sizes), fine_law(totals, sizes)
    assert exact.method == "enumeration"
    for a in (0.01, 0.025, 0.5, 0.975, 0.99):
        assert abs(fine.quantile(a) - exact.quantile(a)) < 4e-4 * exact.std
        assert fine.cdf(exact.quantile(a)) == pytest.approx(a, abs=2e-4)
    assert fine.std == pytest.approx(exact.std, rel=1e-10)
    assert fine.mean == pytest.approx(exact.mean, abs=1e-10)


def test_fine_lattice_quantiles_agree_with_a_lattice_law():
    # 400 totals on multiples of 1e-3: the lattice law is exact and its steps are 2e-4 standard errors.
    totals = np.round(np.random.default_rng(4).beta(5, 2, 400), 3)
    exact, fine = exact_law(totals), fine_law(totals)
    assert exact.method == "convolution"
    for a in (0.001, 0.025, 0.5, 0.975):
        step = 1e-3 / 400
        # The lattice quantile lies within half a step above the smooth one, on average.
        assert abs(fine.quantile(a) - exact.quantile(a)) < step
        assert fine.cdf(exact.quantile(a) + step / 2) == pytest.approx(exact.cdf(exact.quantile(a)), abs=1e-6)


def test_large_arbitrary_means_follow_the_edgeworth_expansion():
    # Two terms of the Cornish-Fisher expansion leave an error of order G**-1.5, here below 1e-4.
    totals = np.random.default_rng(5).gamma(2.0, size=4000)
    law = exact_law(totals)
    assert law.method == "fine lattice"
    assert law.mean == pytest.approx(totals.mean(), rel=1e-12)
    assert law.std == pytest.approx(totals.std() / np.sqrt(4000), rel=1e-9)
    skew, excess = stats.skew(totals) / np.sqrt(4000), stats.kurtosis(totals) / 4000
    for a in (0.001, 0.025, 0.975, 0.999):
        z = stats.norm.ppf(a)
        w = z + (z**2 - 1) * skew / 6 + (z**3 - 3 * z) * excess / 24 - (2 * z**3 - 5 * z) * skew**2 / 36
        assert (law.quantile(a) - law.mean) / law.std == pytest.approx(w, abs=1e-4)


def test_ratio_law_inverts_itself_and_has_its_moments():
    rng = np.random.default_rng(6)
    sizes = rng.integers(1, 4, 60)
    totals = rng.random(60) * sizes
    law = exact_law(totals, sizes=sizes)
    assert isinstance(law, RatioLaw)
    for a in (0.025, 0.5, 0.975):
        assert law.cdf(law.quantile(a)) == pytest.approx(a, abs=1e-8)
    weights = rng.multinomial(60, np.full(60, 1 / 60), size=200_000)
    drawn = weights @ totals / (weights @ sizes)
    assert law.mean == pytest.approx(drawn.mean(), abs=4 * law.std / np.sqrt(200_000))
    assert law.std == pytest.approx(drawn.std(), rel=4 / np.sqrt(400_000))
    assert (law.quantile(0.0), law.quantile(1.0)) == (min(totals / sizes), max(totals / sizes))


@pytest.mark.parametrize("sizes", [None, [1, 3, 2, 1, 4, 2, 2, 3]])
def test_order_shift_scale_and_sign(sizes):
    totals = np.array([3, 0, 1, 2, 2, 1, 4, 0], dtype=float)
    law = exact_law(totals, sizes=sizes)
    n = np.ones(8) if sizes is None else np.array(sizes, dtype=float)
    turned = exact_law(totals[::-1], sizes=n[::-1])
    assert turned.quantile(0.025) == law.quantile(0.025)
    moved = exact_law(0.1 * totals + 7 * n, sizes=n)
    assert moved.quantile(0.025) == pytest.approx(0.1 * law.quantile(0.025) + 7, rel=1e-12)
    flipped = exact_law(-totals, sizes=n)
    assert flipped.mid_cdf(-law.mean) == pytest.approx(1 - law.mid_cdf(law.mean), abs=1e-12)
    assert flipped.std == pytest.approx(law.std, rel=1e-12)


def test_collapsed_laws_are_one_point():
    for totals, sizes in (([2, 2, 2], [2, 2, 2]), ([1, 2, 3], [1, 2, 3]), ([0.0], None), ([0, 0], [5, 1])):
        law = exact_law(totals, sizes=sizes)
        assert law.collapsed
        assert law.std == 0
        assert law.quantile(0.025) == law.quantile(0.975) == totals[0] / (1 if sizes is None else sizes[0])
    assert exact_law([0.1 + 0.2, 0.3]).collapsed


def test_ends_of_the_law():
    law = exact_law([0, 1, 1, 2])
    assert (law.quantile(0), law.quantile(1)) == (0, 2)
    assert (law.cdf(-0.1), law.cdf(2)) == (0, 1)
    with pytest.raises(PairstatsError, match=r"`a` must lie in \[0, 1\]"):
        law.quantile(float("nan"))
    fine = fine_law(np.random.default_rng(1).random(30))
    assert (fine.cdf(-1), fine.cdf(2)) == (0, 1)


def test_a_large_offset_does_not_hide_the_spread():
    law = exact_law(1e9 + np.array([0.0, 1, 2, 3]))
    assert not law.collapsed
    assert law.std == pytest.approx(np.std([0, 1, 2, 3]) / 2, rel=1e-6)


@pytest.mark.parametrize("outlier", [10.0, 1e4, 1e6])
def test_one_family_far_from_the_rest(outlier):
    # Without it the law would be smooth; with it, it is a Poisson ladder with 60-family clusters as steps.
    totals = np.append(np.random.default_rng(7).random(59), outlier)
    law = exact_law(totals)
    assert law.method == "fine lattice"
    assert law.mean == pytest.approx(totals.mean(), rel=1e-9)
    assert law.std == pytest.approx(totals.std() / np.sqrt(60), rel=1e-9)
    drawn = np.random.default_rng(1).multinomial(60, np.full(60, 1 / 60), size=100_000) @ totals / 60
    for x in (outlier * (np.arange(5) + 0.8)) / 60:
        below = np.mean(drawn <= x)
        assert law.cdf(x) == pytest.approx(below, abs=1e-3 + 4 * np.sqrt(below * (1 - below) / 100_000))
    for a in (0.025, 0.975):
        assert abs(law.quantile(a) - np.quantile(drawn, a)) < 0.03 * law.std


def test_one_constant_column_is_no_obstacle():
    law = exact_law([1.0] * 60, sizes=np.random.default_rng(1).integers(1, 9, 60))
    assert law.method == "convolution"
    assert law.cdf(1.0) == 1


def test_refusals_name_the_position():
    with pytest.raises(PairstatsError, match="`totals` must hold finite numbers, but position 1 is nan"):
        exact_law([1, np.nan])
    with pytest.raises(PairstatsError, match="empty"):
        exact_law([])
    for totals in ([1e60, 0], [1e-60, 0]):
        with pytest.raises(PairstatsError, match="at most 1e50"):
            exact_law(totals)
    with pytest.raises(PairstatsError, match="`sizes` must be positive"):
        exact_law([1, 2], sizes=[1, 0])


@pytest.mark.parametrize(
    ("values", "spacing"),
    [
        ([0.1 + 0.2, 0.3, 1.0], 0.1),
        ([1 / 3, 1 / 7], 1 / 21),
        ([-4, 6], 2),
        ([0, 0], 1),
        ([], 1),
        ([1e-300], 1e-300),
    ],
)
def test_common_lattice(values, spacing):
    assert common_lattice(values) == pytest.approx(spacing, rel=1e-12)
    assert np.array_equal(lattice_steps(values, spacing), np.rint(np.array(values) / spacing))


def test_no_lattice_is_invented():
    rng = np.random.default_rng(8)
    assert all(common_lattice(rng.random(3)) is None for _ in range(200))
    assert common_lattice([1.0, 1e-7]) is None  # more than 100,000 steps


def test_snapped_merges_rounding_only():
    assert len(set(snapped([0.3, 0.1 + 0.2]))) == 1
    assert len(set(snapped([1e9, 1e9 + 1]))) == 2
    assert snapped([]).size == 0
