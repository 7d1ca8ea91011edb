"""Power and planning against R, against enumeration of McNemar's test, and against methods.md's table."""

from __future__ import annotations

import math
import time

import numpy as np
import pytest
from conftest import reference
from numpy.testing import assert_allclose
from scipy import stats

from pairstats.errors import PairstatsError
from pairstats.numeric import (
    families_for_bound,
    families_needed,
    mcnemar,
    mcnemar_power,
    mcnemar_sample_size,
    minimal_detectable_difference,
    paired_family_power,
    sign_flip,
    smallest_sign_flip_p,
)

METHODS = {
    "exact": "power_exact",
    "mid-p": "power_midp",
    "chi2": "power_chi2",
    "chi2-corrected": "power_cc",
}


@pytest.mark.parametrize("vector", reference("power", "mcnemar_exact_power"))
def test_power_as_in_r(vector):
    i = vector["inputs"]
    for method, name in METHODS.items():
        found = mcnemar_power(i["n"], i["p10"], i["p01"], alpha=i["alpha"], method=method)
        assert_allclose(found, vector["expected"][name], atol=vector["tolerance"])


@pytest.mark.parametrize("vector", reference("power", "mcnemar_sample_size"))
def test_sample_sizes_as_in_r(vector):
    i, expected = vector["inputs"], vector["expected"]
    share = {"power": i["power"], "alpha": i["alpha"]}
    connor = mcnemar_sample_size(i["p10"], i["p01"], method="connor", **share)
    assert_allclose(connor.unrounded, expected["connor_unrounded"], rtol=vector["tolerance"])
    assert_allclose(connor.unrounded, expected["trialsize_unrounded"], rtol=vector["tolerance"])
    assert connor.n == expected["connor_pairs"]
    miettinen = mcnemar_sample_size(i["p10"], i["p01"], method="miettinen", **share)
    assert_allclose(miettinen.unrounded, expected["miettinen_unrounded"], rtol=vector["tolerance"])
    mid_p = mcnemar_sample_size(i["p10"], i["p01"], method="mid-p", **share)
    assert mid_p.first_reach == expected["smallest_n_midp_first_reach"]
    assert mid_p.n >= mid_p.first_reach
    for n in range(mid_p.n, mid_p.n + 60):
        assert mcnemar_power(n, i["p10"], i["p01"], alpha=i["alpha"], method="mid-p") >= i["power"]
    assert mcnemar_power(mid_p.n - 1, i["p10"], i["p01"], alpha=i["alpha"], method="mid-p") < i["power"] or (
        mid_p.n == 1
    )


@pytest.mark.parametrize(
    ("shares", "power", "method"),
    [
        ((0.001, 0), 0.8, "mid-p"),
        ((0.001, 0), 0.5, "exact"),
        ((0.001, 0), 0.5, "chi2"),
        ((0.12, 0.1), 0.8, "exact"),
    ],
)
def test_sample_sizes_are_right_where_the_formula_is_far_from_the_truth(shares, power, method):
    found = mcnemar_sample_size(*shares, power=power, method=method)
    at = [mcnemar_power(found.first_reach - before, *shares, method=method) for before in (1, 0)]
    assert at[0] < power <= at[1]
    beyond = [mcnemar_power(found.n + more, *shares, method=method) for more in (0, 1, 7, 50, found.n // 2)]
    assert min(beyond) >= power


def test_a_large_exact_sample_size_takes_seconds():
    begun = time.perf_counter()
    found = mcnemar_sample_size(0.115, 0.1)  # 90 s where every number of pairs is worked out anew
    assert time.perf_counter() - begun < 20
    assert mcnemar_power(found.n - 1, 0.115, 0.1) < 0.8 <= mcnemar_power(found.n, 0.115, 0.1)
    with pytest.raises(
        PairstatsError, match=r"at most 100,000 pairs, but about 306,104.*Use method='connor'"
    ):
        mcnemar_sample_size(0.02, 0.019)


@pytest.mark.parametrize("vector", reference("power", "clustered_sample_size"))
def test_families_by_the_design_effect(vector):
    i, expected = vector["inputs"], vector["expected"]
    found = families_needed(i["pairs_unclustered"], copies=i["copies"], icc=i["icc_of_difference"])
    assert_allclose(found.design_effect, expected["design_effect"], rtol=vector["tolerance"])
    assert found.families == expected["families"]


@pytest.mark.parametrize("vector", reference("power", "smallest_attainable"))
def test_smallest_p(vector):
    found = [smallest_sign_flip_p(g) for g in vector["inputs"]["G"]]
    assert_allclose(found, vector["expected"]["p"], rtol=vector["tolerance"])
    for g in vector["inputs"]["G"]:
        assert smallest_sign_flip_p(g) == sign_flip([1.0] * g).p_value
    assert smallest_sign_flip_p(0) == 1.0
    assert smallest_sign_flip_p(1, alternative="greater") == 0.5


@pytest.mark.parametrize("alpha", [0.05, 0.001, 1e-7, 0.5])
@pytest.mark.parametrize("method", METHODS)
def test_power_is_the_sum_over_all_tables(method, alpha):
    n, first, second = 30, 0.5, 0.1
    expected = 0.0
    for b in range(n + 1):
        for c in range(n - b + 1):
            test = mcnemar(b, c, method=method)
            if test.p_value <= alpha * (1 + 1e-12):
                expected += stats.multinomial.pmf([b, c, n - b - c], n, [first, second, 1 - first - second])
    assert_allclose(mcnemar_power(n, first, second, alpha=alpha, method=method), expected, atol=1e-11)


@pytest.mark.parametrize(
    ("n", "psi", "mid_p", "exact"),
    [(40, 0.2, 0.182, 0.197), (80, 0.1, 0.092, 0.100), (160, 0.2, 0.097, 0.102), (320, 0.3, 0.087, 0.090)],
)
def test_smallest_difference_of_the_methods_table(n, psi, mid_p, exact):
    # methods.md, section b; the table is on a grid of .0025, rounded up.
    assert -0.001 < mid_p - minimal_detectable_difference(n, psi, method="mid-p") < 0.0035
    assert -0.001 < exact - minimal_detectable_difference(n, psi) < 0.0035


def test_smallest_difference_has_the_power_and_may_not_exist():
    found = minimal_detectable_difference(120, 0.25, power=0.9)
    assert_allclose(mcnemar_power(120, (0.25 + found) / 2, (0.25 - found) / 2), 0.9, atol=1e-6)
    assert minimal_detectable_difference(40, 0.1) is None
    clustered = minimal_detectable_difference(120, 0.25, power=0.9, copies=2, icc=0.5)
    assert clustered == minimal_detectable_difference(80, 0.25, power=0.9)


def test_families_for_a_bound_when_nothing_fails():
    # methods.md, section a.
    assert [families_for_bound(b, confidence_level=0.975) for b in (0.95, 0.98, 0.99)] == [72, 183, 368]
    assert [families_for_bound(b) for b in (0.95, 0.98, 0.99)] == [59, 149, 299]


def test_simulated_power_of_single_items_is_the_exact_one():
    found = paired_family_power(60, 1, 0.25, 0.08, n_simulations=4000, rng=3)
    assert abs(found.power - mcnemar_power(60, 0.25, 0.08)) < 4 * found.mc_error
    assert found.low < found.power < found.high
    middle = paired_family_power(60, 1, 0.25, 0.08, decision="mid-p", n_simulations=4000, rng=3)
    assert abs(middle.power - mcnemar_power(60, 0.25, 0.08, method="mid-p")) < 4 * middle.mc_error


@pytest.mark.parametrize("model", ["dirichlet", "all-or-none"])
def test_simulated_families_have_the_correlation_asked_for(model):
    from pairstats.numeric.planning import _draw_families

    m, icc, shares = 4, 0.4, np.array([0.3, 0.1, 0.6])
    drawn = _draw_families(40_000, m, shares, icc, model, np.random.default_rng(1))
    assert (drawn.sum(axis=1) == m).all()
    assert_allclose(drawn.mean(axis=0) / m, shares, atol=0.01)
    first = drawn[:, 0]
    pairs = (first * (first - 1)).mean() / (m * (m - 1))  # P(two items are both first-only)
    assert_allclose((pairs - 0.3**2) / (0.3 * 0.7), icc, atol=0.02)


def test_simulated_size_stays_at_its_level_and_power_falls_with_the_correlation():
    size = paired_family_power(20, 4, 0.15, 0.15, icc=0.5, n_simulations=800, rng=5)
    assert size.power <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / 800)
    powers = [
        paired_family_power(30, 4, 0.2, 0.08, icc=icc, n_simulations=400, rng=6).power for icc in (0, 0.4, 1)
    ]
    assert powers[0] > powers[1] > powers[2]


def test_simulation_takes_margins_and_own_rules_and_needs_no_seed():
    sure = paired_family_power(
        30, 2, 0.05, 0.05, decision="family-cp", margin=0.4, alpha=0.1, n_simulations=50
    )
    again = paired_family_power(
        30, 2, 0.05, 0.05, decision="family-cp", margin=0.4, alpha=0.1, n_simulations=50
    )
    assert sure == again
    assert sure.power == 1
    never = paired_family_power(5, 2, 0.5, 0.0, decision=lambda means: False, n_simulations=20)
    assert (never.power, never.low) == (0.0, 0.0)


def test_wrong_plans_are_refused():
    with pytest.raises(PairstatsError, match="sum of at most 1"):
        mcnemar_power(10, 0.7, 0.5)
    with pytest.raises(PairstatsError, match="must differ"):
        mcnemar_sample_size(0.1, 0.1)
    with pytest.raises(PairstatsError, match="method='connor'"):
        mcnemar_sample_size(0.1001, 0.1)
    with pytest.raises(PairstatsError, match="icc"):
        families_needed(10, copies=4, icc=-0.5)
    with pytest.raises(PairstatsError, match="decision"):
        paired_family_power(5, 2, 0.5, 0.0, decision="t")
    assert mcnemar_power(10, 0.0, 0.0) == 0.0
