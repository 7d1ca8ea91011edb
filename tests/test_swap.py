"""Label swaps of ratios by family, and the family jackknife, against enumeration and the plain formula."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from pairstats.errors import PairstatsError
from pairstats.numeric import jackknife_interval, swap, swap_test


def families(seed=1, size=7):
    rng = np.random.default_rng(seed)
    den = rng.integers(1, 6, (size, 2))
    return rng.binomial(den, [0.8, 0.5]), den


OPPOSITE = {"two-sided": "two-sided", "less": "greater", "greater": "less"}


def all_swaps(num, den):
    """Difference of the ratios under every exchange of labels, the observed one first."""
    values = []
    for swaps in itertools.product([0, 1], repeat=len(num)):
        order = np.array([[s, 1 - s] for s in swaps])
        one, two = (np.take_along_axis(np.asarray(part), order, axis=1).sum(axis=0) for part in (num, den))
        values.append(one[0] / two[0] - one[1] / two[1] if min(two) > 0 else 0.0)
    return np.array(values)


def share_as_extreme(values, mark, alternative):
    if alternative == "two-sided":
        return np.mean(np.abs(values) >= abs(mark) - 1e-12)
    return np.mean(values >= mark - 1e-12 if alternative == "greater" else values <= mark + 1e-12)


@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("scale", [1, 0.1, 1e-9])
@pytest.mark.parametrize("listed", [16, 0])
def test_the_exact_p_value_is_that_of_all_swaps(monkeypatch, alternative, seed, scale, listed):
    monkeypatch.setattr(swap, "MOST_LISTED", listed)  # 0: the law on the lattice
    num, den = families(seed, size=10 if seed == 2 else 7)
    if seed == 3:  # families without a denominator on one side, and on both
        den[:3], num[:3] = [[0, 2], [1, 0], [0, 0]], [[0, 1], [1, 0], [0, 0]]
    values = all_swaps(num, den)
    farthest = {"two-sided": np.abs(values).max(), "greater": values.max(), "less": values.min()}[alternative]
    found = swap_test(num * scale, den * scale * 3, alternative=alternative)
    assert found.statistic == pytest.approx(values[0] / 3)
    assert found.p_value == pytest.approx(share_as_extreme(values, values[0], alternative), abs=1e-12)
    assert found.p_floor == pytest.approx(share_as_extreme(values, farthest, alternative), abs=1e-12)
    assert (found.seed, found.mc_error, found.method) == (None, None, "label swap by family (exact)")
    drawn = swap_test(num, den, alternative=alternative, method="monte-carlo", n_resamples=20_000)
    assert drawn.p_value == pytest.approx(found.p_value, abs=4 * drawn.mc_error + drawn.p_floor)


@pytest.mark.parametrize("method", ["exact", "monte-carlo"])
@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_other_sides_and_other_orders_give_the_same_p_value(method, alternative):
    num, den = families()
    order = np.random.default_rng(3).permutation(len(num))
    one = swap_test(num, den, alternative=alternative, method=method)
    two = swap_test(num[order, ::-1], den[order, ::-1], alternative=OPPOSITE[alternative], method=method)
    assert one.statistic == pytest.approx(-two.statistic)
    assert (one.p_value, one.p_floor, one.seed) == (two.p_value, two.p_floor, two.seed)


def test_equal_systems_have_p_one_and_totals_without_a_lattice_are_drawn():
    num, den = families()
    same = np.column_stack([num[:, 0]] * 2), np.column_stack([den[:, 0]] * 2)
    assert swap_test(*same).p_value == swap_test(*same).p_floor == 1
    loose = den + np.random.default_rng(4).random(den.shape)
    values = all_swaps(num, loose)
    assert swap_test(num, loose).p_value == pytest.approx(share_as_extreme(values, values[0], "two-sided"))
    many = np.tile(num, (3, 1)), np.tile(den, (3, 1)) + np.random.default_rng(4).random((21, 2))
    assert "Monte Carlo" in swap_test(*many).method


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda n, d: swap_test(n, d, alternative="both"), "alternative"),
        (lambda n, d: swap_test(n, d, method="mid-p"), "method"),
        (lambda n, d: swap_test(n, d[:3]), "two columns"),
        (lambda n, d: swap_test(n[:, 0], d[:, 0]), "two columns"),
        (lambda n, d: swap_test(n[:0], d[:0]), "two columns"),
        (lambda n, d: swap_test(n, -d), "at least 0"),
        (lambda n, d: swap_test(n * math.nan, d), "finite"),
        (
            lambda n, d: swap_test(
                *(np.tile(x, (9, 1)) * np.pi ** np.arange(63)[:, None] for x in (n, d)), method="exact"
            ),
            "monte-carlo",
        ),
    ],
)
def test_what_is_no_table_of_totals_is_refused(call, message):
    with pytest.raises(PairstatsError, match=message):
        call(*families())


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
