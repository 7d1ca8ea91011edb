"""Bootstrap intervals against scipy for the same seed, R's boot for given indices, and the exact law."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from conftest import reference
from scipy import stats

from pairstats.errors import PairstatsError
from pairstats.numeric.draws import bootstrap_replicates, bootstrap_weights, derived_seed, family_types
from pairstats.numeric.limits import bca_level, jackknife_acceleration, order_statistic
from pairstats.numeric.pvalues import bootstrap_p_value, mc_p_value
from pairstats.numeric.resample import METHODS, bootstrap_interval, replicate_interval

GEMINI_HARD = [1.0] * 29 + [0.5] * 10 + [0.0]
GEMINI_EASY = [1.0] * 38 + [0.5] * 2


def ratio(totals, sizes, axis=-1):
    return totals.sum(axis=axis) / sizes.sum(axis=axis)


def by_scipy(data, statistic, seed, **options):
    """scipy took `random_state` before it took `rng`."""
    name = "rng" if "rng" in inspect.signature(stats.bootstrap).parameters else "random_state"
    generator = np.random.default_rng(seed)
    return stats.bootstrap(data, statistic, vectorized=True, axis=-1, **{name: generator}, **options)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("method", ["percentile", "basic", "bca"])
@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_oracle_mode_is_scipy(seed, method, alternative):
    rng = np.random.default_rng(100 + seed)
    families = int(rng.integers(5, 50))
    sizes = rng.integers(1, 5, families).astype(float)
    options = {"method": method, "alternative": alternative, "n_resamples": 599}
    for totals in (rng.integers(0, 6, families).astype(float), rng.random(families)):
        # To the bit on integer totals; elsewhere the order of summation may differ in the last digits.
        rel = 0 if np.all(totals == np.rint(totals)) else 1e-13
        pairs = (
            (
                by_scipy((totals,), np.mean, seed, **options),
                bootstrap_interval(totals, oracle=True, rng=seed, **options),
            ),
            (
                by_scipy((totals, sizes), ratio, seed, paired=True, **options),
                bootstrap_interval(totals / sizes, sizes=sizes, oracle=True, rng=seed, **options),
            ),
        )
        for theirs, ours in pairs:
            ends = theirs.confidence_interval
            assert (ours.low, ours.high) == pytest.approx((ends.low, ends.high), rel=rel, abs=0)
            assert ours.std_error == pytest.approx(theirs.standard_error, rel=rel, abs=0)


@pytest.mark.parametrize("seed", range(3))
def test_oracle_replicates_are_those_of_scipy(seed):
    rng = np.random.default_rng(seed)
    totals, sizes = rng.integers(0, 9, 30).astype(float), rng.integers(1, 9, 30).astype(float)
    theirs = by_scipy((totals, sizes), ratio, seed, paired=True, n_resamples=500).bootstrap_distribution
    ours = bootstrap_replicates(np.column_stack([totals, sizes]), n_resamples=500, rng=seed, oracle=True)
    assert ours.shape == (500, 2)
    assert np.array_equal(ours[:, 0] / ours[:, 1], theirs)


def test_blocks_do_not_change_the_draw(monkeypatch):
    totals = np.random.default_rng(1).integers(0, 3, (20, 2))
    for oracle in (True, False):
        whole = bootstrap_replicates(totals, n_resamples=101, rng=5, oracle=oracle)
        monkeypatch.setattr("pairstats.numeric.draws._BLOCK", 70)
        assert np.array_equal(bootstrap_replicates(totals, n_resamples=101, rng=5, oracle=oracle), whole)
        monkeypatch.undo()


@pytest.mark.parametrize("v", reference("bootstrap", "cluster_bootstrap_binary"))
def test_zero_one_families_equal_r(v):
    passes, families = v["inputs"]["passes"], v["inputs"]["families"]
    scores, e = [1] * passes + [0] * (families - passes), v["expected"]
    percentile, basic = (bootstrap_interval(scores, method=m) for m in ("percentile", "basic"))
    expected = (e["percentile_lower"], e["percentile_upper"], e["basic_lower"], e["basic_upper"])
    assert (percentile.low, percentile.high, basic.low, basic.high) == pytest.approx(
        expected, abs=v["tolerance"]
    )
    assert percentile.std_error == pytest.approx(e["boot_se"], abs=v["tolerance"])


@pytest.mark.parametrize("v", reference("bootstrap", "boot_ci_given_index_matrix"))
def test_limits_from_given_indices_equal_r_boot(v):
    s, n = (np.array(v["inputs"][k], dtype=float) for k in ("family_numerator", "family_denominator"))
    draws = np.array(v["inputs"]["index_matrix_1based"]) - 1
    replicates, estimate = s[draws].sum(1) / n[draws].sum(1), s.sum() / n.sum()
    e, tol = v["expected"], v["tolerance"]
    assert estimate == pytest.approx(e["t0"], abs=tol)
    np.testing.assert_allclose(replicates[:5], e["t_star_first5"], atol=tol)
    found = replicate_interval(replicates, estimate)
    linear = replicate_interval(replicates, estimate, oracle=True)
    basic = replicate_interval(replicates, estimate, method="basic")
    assert found.std_error == pytest.approx(e["sd"], abs=tol)
    assert (found.low, found.high) == pytest.approx(e["quantile_type1"], abs=tol)
    assert (found.low, found.high) == pytest.approx(e["percent"], abs=tol)
    assert (linear.low, linear.high) == pytest.approx(e["quantile_type7"], abs=tol)
    assert (basic.low, basic.high) == pytest.approx(e["basic"], abs=tol)
    assert bootstrap_p_value(replicates) == pytest.approx(e["p_two_sided_plus1"], abs=tol)
    # R counts only values strictly below the estimate, a trap on lattices; the rest of BCa is the same.
    strict = stats.norm.ppf(np.mean(replicates < estimate))
    acceleration = jackknife_acceleration(s, n)
    levels = [bca_level(z, strict, acceleration) for z in (-1.959963984540054, 1.959963984540054)]
    ends = [order_statistic(np.sort(replicates), level) for level in levels]
    assert ends == pytest.approx(e["bca"], abs=tol)


@pytest.mark.parametrize(
    ("scores", "low", "high"), [(GEMINI_HARD, 0.7625, 0.925), (GEMINI_EASY, 0.9375, 1.0)]
)
def test_published_rows_without_a_seed(scores, low, high):
    found = bootstrap_interval(scores, sizes=[2] * 40)
    assert (found.low, found.high) == (low, high)
    assert (found.n_resamples, found.seed, found.mc_error) == (None, None, None)


@pytest.mark.parametrize("method", ["percentile", "basic", "bca"])
@pytest.mark.parametrize("sizes", ["equal", "unequal"])
def test_drawn_limits_approach_the_exact_law(method, sizes):
    rng = np.random.default_rng(11)
    counts = np.ones(30) if sizes == "equal" else rng.integers(1, 4, 30)
    scores = rng.beta(4, 2, 30)
    exact = bootstrap_interval(scores, sizes=counts, method=method)
    drawn = bootstrap_interval(scores, sizes=counts, method=method, n_resamples=200_000, rng=2)
    assert abs(drawn.low - exact.low) < 4 * drawn.mc_error[0]
    assert abs(drawn.high - exact.high) < 4 * drawn.mc_error[1]
    # The standard error of a standard deviation of B near-normal values is sd / sqrt(2 B).
    assert drawn.std_error == pytest.approx(exact.std_error, rel=4 / np.sqrt(400_000))


@pytest.mark.parametrize("method", METHODS)
def test_monte_carlo_error_is_that_between_seeds(method):
    scores = np.random.default_rng(12).beta(4, 2, 40)
    found = [bootstrap_interval(scores, method=method, n_resamples=2000, rng=seed) for seed in range(60)]
    for end in (0, 1):
        limits = [(f.low, f.high)[end] for f in found]
        stated = np.mean([f.mc_error[end] for f in found])
        # A standard deviation from 60 seeds is right to about 9 %; that of BCa is an approximation.
        assert 0.6 < np.std(limits) / stated < 1.5


def test_bootstrap_t_by_hand():
    # The definition, resample by resample, on the same draw of families.
    rng = np.random.default_rng(13)
    s, n = rng.random(25) * 3, rng.integers(1, 4, 25).astype(float)
    found = bootstrap_interval(s / n, sizes=n, method="bootstrap-t", n_resamples=40_000, rng=1)
    estimate = s.sum() / n.sum()

    def error(weights, value):
        excess = s - np.reshape(value, (-1, 1)) * n
        return np.sqrt((weights * excess**2).sum(axis=1) * 25 / 24) / (weights @ n)

    weights = rng.multinomial(25, np.full(25, 1 / 25), size=40_000)
    values = weights @ s / (weights @ n)
    t = (values - estimate) / error(weights, values)
    own = float(error(np.ones((1, 25)), estimate)[0])
    by_hand = estimate - np.quantile(t, [0.975, 0.025]) * own
    assert found.low == pytest.approx(by_hand[0], abs=6 * found.mc_error[0])
    assert found.high == pytest.approx(by_hand[1], abs=6 * found.mc_error[1])


def test_bootstrap_t_near_a_ceiling_stays_in_bounds():
    scores = [1.0] * 38 + [0.5, 0.0]
    free = bootstrap_interval(scores, sizes=[2] * 40, method="bootstrap-t", rng=3)
    kept = bootstrap_interval(scores, sizes=[2] * 40, method="bootstrap-t", rng=3, bounds=(0, 1))
    # Resamples without an imperfect family have no standard error, so the limit they make is infinite.
    assert free.low == -np.inf
    assert free.mc_error[0] == np.inf
    assert (kept.low, kept.high) == (0.0, min(free.high, 1.0))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("options", [{}, {"n_resamples": 50}])
def test_collapse_is_the_true_law(method, options):
    for scores, sizes in (([1, 1], None), ([1.0], [3]), ([0, 0, 0], [1, 2, 3]), ([0.3, 0.1 + 0.2], [7, 3])):
        found = bootstrap_interval(scores, sizes=sizes, method=method, **options)
        assert (found.low, found.high) == (scores[0], scores[0])
        assert found.collapsed
        assert (found.std_error, found.n_off_mode) == (0, 0)


def test_one_sided_limits_are_two_sided_ones_at_twice_the_error():
    both = bootstrap_interval(GEMINI_HARD, confidence_level=0.9)
    lower = bootstrap_interval(GEMINI_HARD, alternative="greater")
    upper = bootstrap_interval(GEMINI_HARD, alternative="less", bounds=(0, 1))
    assert (lower.low, lower.high) == (both.low, np.inf)
    assert (upper.low, upper.high) == (0, both.high)


@pytest.mark.parametrize("method", METHODS[:3])
def test_mirrored_scores_give_mirrored_limits(method):
    scores = np.array([0.1, 0.25, 0.9, 0.35, 0.7, 0.62, 0.44, 0.8, 0.05, 0.58, 0.93, 0.77, 0.31])
    found, mirrored = (bootstrap_interval(x, method=method) for x in (scores, 1 - scores))
    # Type 1 quantiles lean to the low side by one atom at most, far below 1e-3 here.
    assert (mirrored.low, mirrored.high) == pytest.approx((1 - found.high, 1 - found.low), abs=1e-3)


def test_order_of_families_does_not_matter():
    rng = np.random.default_rng(14)
    scores, sizes = rng.random(20), rng.integers(1, 4, 20)
    turned = rng.permutation(20)
    for options in ({}, {"n_resamples": 300}, {"method": "bootstrap-t"}):
        one = bootstrap_interval(scores, sizes=sizes, **options)
        other = bootstrap_interval(scores[turned], sizes=sizes[turned], **options)
        assert (one.low, one.high, one.seed) == (
            pytest.approx(other.low),
            pytest.approx(other.high),
            other.seed,
        )


def test_families_off_the_mode_are_counted():
    assert bootstrap_interval(GEMINI_HARD).n_off_mode == 11
    assert bootstrap_interval([0.3, 0.1 + 0.2, 0.5]).n_off_mode == 1


def test_one_draw_serves_all_contrasts():
    totals = np.random.default_rng(15).integers(0, 3, (40, 3)).astype(float)
    types = family_types(totals)
    assert np.array_equal(types.totals[types.index], totals)
    weights = bootstrap_weights(types.counts, n_resamples=1000, rng=1)
    a, b, c = (weights @ types.totals).T
    assert np.array_equal((a - b) + (b - c), a - c)
    assert np.array_equal(weights @ types.totals, bootstrap_replicates(totals, n_resamples=1000, rng=1))


def test_types_have_the_moments_of_family_draws():
    totals = np.random.default_rng(16).integers(0, 3, (12, 2)).astype(float)
    by_type = bootstrap_replicates(totals, n_resamples=50_000, rng=1)
    centred = totals - totals.mean(0)
    expected = centred.T @ centred
    np.testing.assert_allclose(
        by_type.mean(0), totals.sum(0), atol=4 * np.sqrt(np.diag(expected).max() / 50_000)
    )
    np.testing.assert_allclose(np.cov(by_type.T), expected, atol=0.05 * expected.max())


def test_seed_depends_on_the_data_only():
    drawn = bootstrap_interval(GEMINI_HARD, n_resamples=100)
    again = bootstrap_interval(GEMINI_HARD[::-1], n_resamples=100)
    assert drawn == again
    assert drawn == bootstrap_interval(GEMINI_HARD, n_resamples=100, rng=drawn.seed)
    assert derived_seed([1.0, -0.0]) == derived_seed([0.0, 1.0]) != derived_seed([0.0, 2.0])
    assert bootstrap_interval(GEMINI_HARD, n_resamples=100, rng=np.random.default_rng(1)).seed is None


@pytest.mark.parametrize("v", reference("bootstrap", "mc_p_value"))
def test_monte_carlo_p_equals_r(v):
    found = mc_p_value(v["inputs"]["b"], v["inputs"]["B"])
    e = v["expected"]
    assert (found.p_value, found.low, found.high) == pytest.approx(
        (e["p_plus_one"], e["mc_lower"], e["mc_upper"]), abs=v["tolerance"]
    )
    assert found.at_floor == (v["inputs"]["b"] == 0)


def test_bootstrap_p_agrees_with_the_percentile_interval():
    replicates = np.random.default_rng(17).normal(0.3, 0.15, 1999)
    p = bootstrap_p_value(replicates)
    assert replicate_interval(replicates, 0.3, confidence_level=1 - p - 0.002).low > 0
    assert replicate_interval(replicates, 0.3, confidence_level=1 - p + 0.004).low < 0
    assert bootstrap_p_value([0.0] * 99) == 1
    assert bootstrap_p_value(-replicates) == p


def test_bca_at_its_edges():
    assert (bca_level(-1.96, np.inf, 0.1), bca_level(1.96, -np.inf, 0.1)) == (1, 0)
    found = replicate_interval([1.0, 2.0, 3.0], 5.0, method="bca")
    assert (found.low, found.high) == (3, 3)
    assert jackknife_acceleration(np.ones(4), np.ones(4)) == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "auto"}, "`method` must be one of"),
        ({"alternative": "bigger"}, "`alternative` must be one of"),
        ({"confidence_level": 95}, "`confidence_level` must lie strictly between"),
        ({"n_resamples": 0}, "`n_resamples` must be a whole number of at least 1"),
        ({"oracle": True}, "`oracle=True` must come with `n_resamples`"),
        ({"oracle": True, "n_resamples": 9, "method": "bootstrap-t"}, "a method that scipy has"),
        ({"bounds": (0, 0.5)}, r"`scores` must lie in \[0, 0.5\], but position 0 is 1"),
        ({"sizes": [1, 2]}, "`sizes` must have one entry for each of the 3 scores"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(PairstatsError, match=message):
        bootstrap_interval([1, 0.5, 0], **options)


def test_refused_data():
    with pytest.raises(PairstatsError, match="position 1 is nan"):
        bootstrap_interval([1, np.nan])
    with pytest.raises(PairstatsError, match="empty"):
        bootstrap_interval([])
    with pytest.raises(PairstatsError, match="1 families are not, the first at position 1"):
        bootstrap_replicates([[1, 2], [1, np.inf]], n_resamples=3)
    with pytest.raises(PairstatsError, match="has shape"):
        family_types(np.zeros((0, 2)))
    with pytest.raises(PairstatsError, match="`b` must be at most `n`"):
        mc_p_value(3, 2)
