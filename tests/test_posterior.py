"""Bayesian bootstrap: beta laws, the family interval, Monte Carlo over the same weights."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from pairstats.errors import PairstatsError
from pairstats.numeric import (
    bayesian_bootstrap,
    dirichlet_weights,
    family_interval,
    family_posterior,
    probability_better,
)


def test_two_point_scores_have_a_beta_posterior():
    beta = stats.beta(38.5, 2.5)
    found = family_posterior([1] * 38 + [0] * 2)
    for x in (0.7, 0.9, 0.99):
        assert_allclose(found.cdf(x), beta.cdf(x), rtol=1e-10)
        assert_allclose(found.at_least(x), beta.sf(x), rtol=1e-10)
    assert_allclose([found.mean, found.std], [beta.mean(), beta.std()], rtol=1e-10)
    assert_allclose(found.quantile(0.1), beta.ppf(0.1), rtol=1e-10)
    tiny = family_posterior([1] * 380 + [0] * 20).at_least(0.999)
    assert_allclose(tiny, stats.beta(380.5, 20.5).sf(0.999), rtol=1e-8)


def test_its_interval_is_the_family_jeffreys_interval():
    scores, sizes = [1.0] * 9 + [0.5] * 8 + [0.25] * 3, [2] * 9 + [4] * 8 + [8] * 3
    exact = family_interval(scores, sizes=sizes)
    assert_allclose(family_posterior(scores, sizes=sizes).interval(), [exact.low, exact.high], atol=1e-9)


@pytest.mark.parametrize("prior", ["jeffreys", "none"])
def test_moments_and_tails_as_drawn(prior):
    rng = np.random.default_rng(2)
    sizes = rng.integers(1, 7, 12).astype(float)
    scores = rng.binomial(sizes.astype(int), 0.7) / sizes
    found = family_posterior(scores, sizes=sizes, prior=prior)
    ends = [[0, sizes.mean()], [sizes.mean(), sizes.mean()]] if prior == "jeffreys" else None
    draws = bayesian_bootstrap(
        np.column_stack([scores * sizes, sizes]), lambda t: t[:, 0] / t[:, 1], ends=ends, n_resamples=200_000
    )
    drawn = draws.values
    assert abs(drawn.mean() - found.mean) < 5 * found.std / math.sqrt(drawn.size)
    assert_allclose(drawn.std(), found.std, rtol=0.02)
    for x in (0.6, 0.7, 0.8):
        p = found.at_least(x)
        assert draws.at_least(x) == np.mean(drawn >= x)
        assert abs(draws.at_least(x) - p) < 5 * math.sqrt(p * (1 - p) / drawn.size)
        assert_allclose(found.cdf(x) + p, 1, rtol=1e-10)


def test_equal_sizes_have_closed_moments():
    scores = np.array([1, 0.5, 0.5, 0, 1, 1])
    found = family_posterior(scores, prior="none")
    variance = np.mean((scores - scores.mean()) ** 2) / (scores.size + 1)
    assert_allclose([found.mean, found.std], [scores.mean(), math.sqrt(variance)], rtol=1e-9)


def test_probability_better_adds_up_and_turns_round():
    gaps = [0.5] * 8 + [0] * 30 + [-0.5] * 2
    found, mirror = probability_better(gaps, delta=0.02), probability_better(np.negative(gaps), delta=0.02)
    assert_allclose(found.better + found.within + found.worse, 1, rtol=1e-12)
    assert_allclose([found.better, found.worse], [mirror.worse, mirror.better], rtol=1e-9)
    zero = probability_better(gaps)
    assert zero.within == 0
    assert zero.better > found.better
    smaller = [probability_better(gaps, delta=d).better for d in (0, 0.05, 0.1, 0.3)]
    assert smaller == sorted(smaller, reverse=True)


def test_probability_better_as_drawn_from_the_weights_of_the_interval():
    gaps = np.array([0.5] * 8 + [0] * 10 + [-1] * 2)
    weights = dirichlet_weights(20, 100_000, kind="jeffreys", rng=1)
    rows = np.column_stack([weights.families, weights.low, weights.high])
    drawn = rows @ np.concatenate([gaps, [-1, 1]])
    p = probability_better(gaps, delta=0.05).better
    assert abs(np.mean(drawn >= 0.05) - p) < 5 * math.sqrt(p * (1 - p) / drawn.size)


def test_without_a_prior_equal_families_are_a_point():
    found = family_posterior([0.3] * 5, prior="none")
    assert (found.cdf(0.3), found.at_least(0.3), found.at_least(0.31), found.quantile(0.5)) == (1, 1, 0, 0.3)
    assert found.std == 0
    assert family_posterior([1.0] * 5).at_least(0.99) < 1
    assert family_posterior([1.0]).mean == pytest.approx(0.75)


def test_draws_do_not_depend_on_row_order():
    table = np.random.default_rng(3).random((15, 2)) + 0.5
    order = np.random.default_rng(4).permutation(15)

    def ratio(t):
        return t[:, 0] / t[:, 1]

    first, again = (bayesian_bootstrap(t, ratio, n_resamples=50) for t in (table, table[order]))
    assert_allclose(first.values, again.values, rtol=1e-12)
    assert first.seed == again.seed is not None
    assert first.quantile(0.5) in first.values


def test_wrong_arguments():
    with pytest.raises(PairstatsError, match="prior"):
        family_posterior([1, 0], prior="flat")
    with pytest.raises(PairstatsError, match="delta"):
        probability_better([0.1], delta=-1)
    with pytest.raises(PairstatsError, match="two rows of 2"):
        bayesian_bootstrap([[1, 2], [2, 2]], lambda t: t[:, 0], ends=[0, 1])
    with pytest.raises(PairstatsError, match="strictly between"):
        family_posterior([1, 0]).quantile(1.0)
