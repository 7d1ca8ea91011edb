"""Label swaps of ratios by family, and the family jackknife, against enumeration and the plain formula."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from pairstats.errors import PairstatsError
from pairstats.numeric import jackknife_interval, swap_test


def families(seed=1, size=7):
    rng = np.random.default_rng(seed)
    den = rng.integers(1, 6, (size, 2))
    return rng.binomial(den, [0.8, 0.5]), den


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_the_drawn_p_value_is_near_that_of_all_swaps(alternative):
    num, den = families()
    values = []
    for swaps in itertools.product([0, 1], repeat=len(num)):
        order = np.array([[s, 1 - s] for s in swaps])
        one, two = (np.take_along_axis(part, order, axis=1).sum(axis=0) for part in (num, den))
        values.append(one[0] / two[0] - one[1] / two[1])
    observed = values[0]
    extreme = {
        "two-sided": np.abs(values) >= abs(observed) - 1e-12,
        "less": np.array(values) <= observed + 1e-12,
        "greater": np.array(values) >= observed - 1e-12,
    }[alternative]
    found = swap_test(num, den, alternative=alternative, n_resamples=20_000, rng=1)
    assert found.statistic == pytest.approx(observed)
    assert found.p_value == pytest.approx(np.mean(extreme), abs=4 * found.mc_error + found.p_floor)


def test_swapped_systems_mirror_and_equal_ones_have_p_one():
    num, den = families()
    one, two = swap_test(num, den, rng=1), swap_test(num[:, ::-1], den[:, ::-1], rng=1)
    assert one.statistic == pytest.approx(-two.statistic)
    assert one.p_value == pytest.approx(two.p_value, abs=4 * (one.mc_error + two.mc_error))
    same = np.column_stack([num[:, 0]] * 2), np.column_stack([den[:, 0]] * 2)
    assert swap_test(*same, n_resamples=99).p_value == 1
    with pytest.raises(PairstatsError, match="alternative"):
        swap_test(num, den, alternative="both")


def test_the_jackknife_of_a_mean_is_its_t_interval():
    values = np.array([0.2, 0.5, 0.9, 0.4, 0.7])
    without = (values.sum() - values) / 4
    found = jackknife_interval(values.mean(), without, bounds=(0.0, 1.0))
    oracle = stats.t.interval(0.95, 4, values.mean(), stats.sem(values))
    assert (found.low, found.high) == pytest.approx(oracle)
    assert found.std_error == pytest.approx(stats.sem(values))


def test_on_the_logit_scale_limits_stay_inside_and_no_variation_gives_the_whole_range():
    without = np.array([0.97, 0.99, 0.98, 0.96])
    found = jackknife_interval(0.975, without, scale="logit")
    logits = np.log(without / (1 - without))
    error = math.sqrt(3 / 4 * np.sum((logits - logits.mean()) ** 2))
    reach = stats.t.ppf(0.975, 3) * error
    centre = math.log(0.975 / 0.025)
    oracle = [1 / (1 + math.exp(-(centre + side * reach))) for side in (-1, 1)]
    assert (found.low, found.high) == pytest.approx(oracle)
    flat = jackknife_interval(1.0, [1.0, 1.0, 1.0], scale="logit")
    assert (flat.low, flat.high) == (0, 1)
