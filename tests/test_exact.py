"""Exact paired tests against R, scipy, statsmodels, published tables, enumeration and exact integers."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from conftest import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pairstats.errors import PairstatsError
from pairstats.numeric import signsum
from pairstats.numeric.exact import mcnemar, mcnemar_odds_ratio, sign_flip

SIDES = ("two-sided", "greater", "less")


# McNemar -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", reference("mcnemar", "mcnemar_"))
def test_mcnemar_equals_r(vector: dict[str, Any]) -> None:
    cells, expected, name = vector["inputs"], vector["expected"], vector["name"]
    b, c, n = cells["b"], cells["c"], sum(cells[cell] for cell in "abcd")
    tolerance = vector["tolerance"]
    if "odds_ratio" in expected:
        found = mcnemar_odds_ratio(b, c)
        assert found.estimate == pytest.approx(_number(expected["odds_ratio"]), abs=1e-12)
        assert found.low == pytest.approx(expected["lower"], abs=tolerance)
        assert found.high == pytest.approx(_number(expected["upper"]), rel=tolerance)
        return
    methods = {
        "mcnemar_exact_unconditional": "unconditional",
        "mcnemar_exact": "exact",
        "mcnemar_midp": "mid-p",
        "mcnemar_chi2_cc": "chi2-corrected",
        "mcnemar_chi2": "chi2",
    }
    method = next(ours for prefix, ours in methods.items() if name.startswith(prefix))
    test = mcnemar(b, c, method=method, n=n)
    assert test.p_value == pytest.approx(expected.get("p_two_sided", expected.get("p")), abs=tolerance)
    if "statistic" in expected:
        assert test.statistic == pytest.approx(expected["statistic"], abs=tolerance)
    if "p_greater_b" in expected:
        greater, less = (mcnemar(b, c, alternative=side).p_value for side in ("greater", "less"))
        assert (greater, less) == pytest.approx(
            (expected["p_greater_b"], expected["p_less_b"]), abs=tolerance
        )


@pytest.mark.parametrize("vector", reference("mcnemar", "published"))
def test_mcnemar_equals_published_table(vector: dict[str, Any]) -> None:
    b, c, expected = vector["inputs"]["b"], vector["inputs"]["c"], vector["expected"]
    names = {"p_asymptotic": "chi2", "p_asymptotic_cc": "chi2-corrected", "p_exact_conditional": "exact"}
    for key, method in (names | {"p_midp": "mid-p"}).items():
        assert mcnemar(b, c, method=method).p_value == pytest.approx(expected[key], abs=vector["tolerance"])


@pytest.mark.parametrize("vector", reference("python_misc", "statsmodels_mcnemar"))
def test_mcnemar_equals_statsmodels(vector: dict[str, Any]) -> None:
    b, c, expected = vector["inputs"]["b"], vector["inputs"]["c"], vector["expected"]
    assert mcnemar(b, c).p_value == pytest.approx(expected["p_exact"], abs=1e-12)
    plain = mcnemar(b, c, method="chi2")
    assert (plain.statistic, plain.p_value) == pytest.approx(
        (expected["chi2"], expected["p_chi2"]), abs=1e-10
    )
    if b != c:  # at b = c statsmodels corrects a difference of 0 to -1: a known trap
        corrected = mcnemar(b, c, method="chi2-corrected")
        assert corrected.statistic == pytest.approx(expected["chi2_cc"], abs=1e-10)
        assert corrected.p_value == pytest.approx(expected["p_chi2_cc"], abs=1e-10)


@pytest.mark.parametrize("vector", reference("paired_difference_ci", "or_"))
def test_odds_ratio_limits_equal_r(vector: dict[str, Any]) -> None:
    methods = {"or_clopper_pearson": "exact", "or_midp": "mid-p", "or_wilson": "wilson"}
    method = next(ours for prefix, ours in methods.items() if vector["name"].startswith(prefix))
    found = mcnemar_odds_ratio(vector["inputs"]["b"], vector["inputs"]["c"], method=method)
    expected = vector["expected"]
    assert found.estimate == pytest.approx(expected["estimate"], abs=1e-12)
    # R solves the mid-p limits of the share to about 1e-7 only.
    assert (found.low, found.high) == pytest.approx(
        (expected["lower"], _number(expected["upper"])), rel=1e-5 if method == "mid-p" else 1e-7
    )


@pytest.mark.parametrize(("b", "c"), [(0, 60), (3, 180), (17, 200), (400, 700), (0, 1000)])
def test_mcnemar_is_right_far_in_the_tail(b: int, c: int) -> None:
    exact = Fraction(2 * sum(math.comb(b + c, i) for i in range(b + 1)), 2 ** (b + c))
    assert mcnemar(b, c).p_value == pytest.approx(float(exact), rel=1e-12)
    atom = Fraction(math.comb(b + c, b), 2 ** (b + c))
    assert mcnemar(b, c, method="mid-p").p_value == pytest.approx(float(exact - atom), rel=1e-10)


@pytest.mark.parametrize("method", ["exact", "mid-p", "chi2", "chi2-corrected", "unconditional"])
@pytest.mark.parametrize("side", SIDES)
def test_p_stays_a_p(method: str, side: str) -> None:
    for b, c in product(range(5), repeat=2):
        test = mcnemar(b, c, method=method, alternative=side, n=12)
        assert 0 < test.p_value <= 1
        assert test.p_floor <= test.p_value + 1e-12
        mirror = {"two-sided": "two-sided", "greater": "less", "less": "greater"}[side]
        swapped = mcnemar(c, b, method=method, alternative=mirror, n=12)
        assert swapped.p_value == pytest.approx(test.p_value, abs=1e-14)
    assert mcnemar(0, 0, method=method, alternative=side, n=12).p_value == 1
    assert mcnemar(4, 4, method=method, n=12).p_value <= 1


@pytest.mark.parametrize("method", ["exact", "mid-p", "chi2", "chi2-corrected"])
def test_counts_of_any_size(method: str) -> None:
    assert mcnemar(10**12, 10**12, method=method).p_value > 0.99
    assert 0 < mcnemar(0, 10**6, method=method).p_value < 1e-300
    big = mcnemar(5 * 10**9 + 10**5, 5 * 10**9 - 10**5, method=method)
    assert big.p_value == pytest.approx(math.erfc(math.sqrt(2)), rel=1e-3)  # a z of 2


def test_floor_of_mcnemar() -> None:
    assert mcnemar(3, 2).p_floor == pytest.approx(0.0625)
    assert mcnemar(3, 2, alternative="less").p_floor == pytest.approx(0.03125)
    assert mcnemar(3, 2, method="mid-p").p_floor == pytest.approx(0.03125)


def test_unconditional_against_enumeration() -> None:
    # Every table of 12 pairs, weight of each at one share, maximised on the same kind of grid.
    b, c, n = 1, 6, 12
    observed = abs(b - c) / math.sqrt(b + c)
    low, high = stats.binomtest(b + c, n).proportion_ci(1 - 1e-4, method="exact")
    worst = 0.0
    for share in np.linspace(low, high, 200):
        chance = 0.0
        for i, j in product(range(n + 1), repeat=2):
            if i + j <= n and i + j > 0 and abs(i - j) / math.sqrt(i + j) >= observed - 1e-9:
                ways = math.comb(n, i) * math.comb(n - i, j)
                chance += ways * (share / 2) ** (i + j) * (1 - share) ** (n - i - j)
        worst = max(worst, chance)
    assert mcnemar(b, c, method="unconditional", n=n).p_value == pytest.approx(worst + 1e-4, abs=1e-5)


@pytest.mark.parametrize(("b", "c"), [(6, 16), (0, 5), (5, 0), (7, 7)])
def test_odds_ratio_turns_over_with_the_labels(b: int, c: int) -> None:
    found, turned = mcnemar_odds_ratio(b, c), mcnemar_odds_ratio(c, b)
    assert found.low == pytest.approx(1 / turned.high if turned.high < math.inf else 0, rel=1e-12)
    lower = mcnemar_odds_ratio(b, c, confidence_level=0.975, alternative="greater")
    assert (lower.low, lower.high) == (pytest.approx(found.low, rel=1e-12), math.inf)
    upper = mcnemar_odds_ratio(b, c, confidence_level=0.975, alternative="less")
    assert (upper.low, upper.high) == (0, pytest.approx(found.high, rel=1e-12))


def test_odds_ratio_without_discordant_pairs_knows_nothing() -> None:
    found = mcnemar_odds_ratio(0, 0)
    assert (found.low, found.high) == (0, math.inf)
    assert math.isnan(found.estimate)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: mcnemar(-1, 2), "`n_first_only` must be a whole number"),
        (lambda: mcnemar(1, 2.5), "`n_second_only`"),
        (lambda: mcnemar(1, 2, method="fisher"), "`method` must be one of 'exact'"),
        (lambda: mcnemar(1, 2, alternative="larger"), "`alternative`"),
        (lambda: mcnemar(1, 2, method="unconditional"), "`n` must be given"),
        (lambda: mcnemar(1, 2, method="unconditional", n=2), "`n` must be a whole number of at least 3"),
        (lambda: mcnemar(1, 2, method="unconditional", n=9999), "at most 5000"),
        (lambda: mcnemar_odds_ratio(1, 2, method="wald"), "`method` must be one of"),
        (lambda: mcnemar_odds_ratio(0, 0, alternative="more"), "`alternative`"),
        (lambda: sign_flip([]), "at least one number"),
        (lambda: sign_flip([1, float("nan")]), "position 1 is nan"),
        (lambda: sign_flip([1], method="bootstrap"), "`method` must be one of"),
        (lambda: sign_flip([1], method="monte-carlo", n_resamples=0), "`n_resamples`"),
    ],
)
def test_errors_say_what_must_hold(call: Any, message: str) -> None:
    with pytest.raises(PairstatsError, match=message):
        call()


# Sign-flip -----------------------------------------------------------------------------------------


def brute_force(differences: Any) -> dict[str, float]:
    """Every arrangement of exact fractions."""
    exact = [Fraction(d).limit_denominator(10**6) for d in differences]
    observed = sum(exact)
    sums = [
        sum(sign * d for sign, d in zip(signs, exact, strict=True))
        for signs in product((-1, 1), repeat=len(exact))
    ]
    return {
        "two-sided": sum(abs(s) >= abs(observed) for s in sums) / len(sums),
        "greater": sum(s >= observed for s in sums) / len(sums),
        "less": sum(s <= observed for s in sums) / len(sums),
        # Exact p less the chance of the observed sum; half of a law with one point.
        "mid": (
            sum(abs(s) >= abs(observed) for s in sums)
            - (sum(s == observed for s in sums) if any(exact) else len(sums) / 2)
        )
        / len(sums),
        "mid-greater": (sum(s > observed for s in sums) + sum(s >= observed for s in sums)) / (2 * len(sums)),
    }


@pytest.mark.parametrize("vector", reference("sign_flip", "sign_flip"))
def test_sign_flip_equals_r(vector: dict[str, Any]) -> None:
    d, expected = vector["inputs"]["family_totals"], vector["expected"]
    test = sign_flip(d)
    assert test.method == "exact"
    assert test.p_value == pytest.approx(expected["p_two_sided"], abs=1e-12)
    if "p_greater" in expected:
        assert test.statistic == pytest.approx(expected["statistic"])
        assert sign_flip(d, alternative="greater").p_value == pytest.approx(expected["p_greater"], abs=1e-12)
        assert sign_flip(d, alternative="less").p_value == pytest.approx(expected["p_less"], abs=1e-12)
        assert sign_flip(d, method="mid-p").p_value == pytest.approx(expected["midp_two_sided"], abs=1e-12)


@pytest.mark.parametrize("vector", reference("python_misc", "scipy_sign_flip"))
def test_sign_flip_equals_scipy_reference(vector: dict[str, Any]) -> None:
    given_ = vector["inputs"]
    found = sign_flip(given_["family_totals"], alternative=given_["alternative"])
    assert found.p_value == pytest.approx(vector["expected"]["p"], abs=1e-12)


@pytest.mark.parametrize("vector", reference("clustered_mcnemar", "clustered_mcnemar", "clustered_durkalski"))
def test_sign_flip_of_clustered_tables_by_polynomials(vector: dict[str, Any]) -> None:
    # Law of the sum as exact integer coefficients of prod (x^-d + x^d).
    b, c = np.array(vector["inputs"]["b"]), np.array(vector["inputs"]["c"])
    coefficients = {0: 1}
    for d in (b - c).tolist():
        grown: dict[int, int] = {}
        for total, ways in coefficients.items():
            for moved in (total - d, total + d):
                grown[moved] = grown.get(moved, 0) + ways
        coefficients = grown
    observed = abs(int((b - c).sum()))
    exact = Fraction(sum(w for t, w in coefficients.items() if abs(t) >= observed), 2**b.size)
    assert sign_flip(b - c).p_value == pytest.approx(float(exact), rel=1e-12)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    steps=st.lists(st.integers(-4, 4), min_size=1, max_size=9),
    unit=st.sampled_from([1.0, 0.5, 1 / 3, 1 / 6, 0.1, 1 / 7, 2.5e-9]),
)
def test_sign_flip_equals_brute_force_on_any_lattice(steps: list[int], unit: float) -> None:
    expected = brute_force(steps)
    d = [step * unit for step in steps]
    for side in SIDES:
        assert sign_flip(d, alternative=side).p_value == pytest.approx(expected[side], abs=1e-12)
    assert sign_flip(d, method="mid-p").p_value == pytest.approx(expected["mid"], abs=1e-12)
    greater = sign_flip(d, method="mid-p", alternative="greater").p_value
    assert greater == pytest.approx(expected["mid-greater"], abs=1e-12)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(d=st.lists(st.floats(-1, 1).map(lambda x: round(x, 6) + 1e-7 * math.pi), min_size=1, max_size=9))
def test_sign_flip_equals_scipy_without_a_lattice(d: list[float]) -> None:
    for side in SIDES:
        if len(d) > 1:
            scipy_test = stats.permutation_test(
                (d,),
                lambda x, axis: x.sum(axis=axis),
                permutation_type="samples",
                alternative=side,
                n_resamples=np.inf,
                vectorized=True,
            )
            # scipy's tie tolerance is 1e-14 of the sum, ours 1e-9: equal where no sums are that close
            assert sign_flip(d, alternative=side).p_value == pytest.approx(scipy_test.pvalue, abs=1e-12)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(b=st.integers(0, 40), c=st.integers(0, 40), zeros=st.integers(0, 3))
def test_sign_flip_of_units_is_mcnemar(b: int, c: int, zeros: int) -> None:
    d = [1] * b + [-1] * c + [0] * zeros
    for side in SIDES if d else ():
        expected = mcnemar(b, c, alternative=side)
        found = sign_flip(d, alternative=side)
        assert found.p_value == pytest.approx(expected.p_value, rel=1e-12)
        assert found.p_floor == pytest.approx(expected.p_floor, rel=1e-12)
        assert found.statistic == expected.statistic
        assert found.n_nonzero == b + c


def test_ties_of_thirds_are_counted() -> None:
    # 0.1 + 0.2 and 0.3 are one value: comparing floats with >= would lose arrangements.
    assert sign_flip([0.1 + 0.2, 0.3, -0.3]).p_value == 1.0
    assert sign_flip([1 / 3, 1 / 3, 1 / 3, -2 / 3, 1 / 3]).p_value == sign_flip([1, 1, 1, -2, 1]).p_value


def test_a_difference_that_is_only_rounding_is_none() -> None:
    noisy = sign_flip([0.1 + 0.2 - 0.3, 0.5, 0.5, -0.25])
    assert noisy.n_nonzero == 3
    assert noisy.p_value == sign_flip([0, 2, 2, -1]).p_value
    assert noisy.p_floor == 0.25


@pytest.mark.parametrize("copies", [140, 1500])
def test_tiny_p_values_are_right_relative_to_themselves(copies: int) -> None:
    # All but a few families agree: exact sums of binomial coefficients, p about 1e-40 and below.
    agree, differ = copies - 2, 2
    exact = Fraction(2 * sum(math.comb(copies, i) for i in range(differ + 1)), 2**copies)
    found = sign_flip([0.5] * agree + [-0.5] * differ).p_value
    assert found == pytest.approx(max(float(exact), signsum.SMALLEST_P), rel=1e-9)


def test_contour_equals_convolution() -> None:
    # Two ways to the same exact law: they share no code but the data.
    rng = np.random.default_rng(4)
    for families, most, lean in [(12, 3, 0.6), (60, 5, 0.7), (400, 8, 0.6), (400, 8, 0.9), (900, 30, 0.5)]:
        steps = rng.integers(1, most + 1, families)
        at = abs(int((steps * np.where(rng.random(families) < lean, 1, -1)).sum()))
        if at == steps.sum():
            continue
        sizes, counts = np.unique(steps, return_counts=True)
        tail, atom = signsum._convolved(steps, (int(steps.sum()) + at) // 2)
        found = signsum._contour(sizes.astype(float), counts, at, lattice=True)
        assert found[:2] == (pytest.approx(tail, rel=1e-11), pytest.approx(atom, rel=1e-11))
        assert found[2]


def test_enumeration_equals_convolution() -> None:
    steps = np.array([5, 3, 8, 1, 1, 7, 2, 9, 4, 4, 6])
    tail, atom = signsum._convolved(steps, (int(steps.sum()) + 20) // 2)
    assert signsum._enumerated(steps.astype(float), 20.0, 1e-9) == (tail, atom)


def test_smoothed_law_is_close_to_the_exact_one() -> None:
    d = np.random.default_rng(8).normal(0.3, 1, 36)
    exact = sign_flip(d)
    assert exact.method == "exact"
    tail, _, whole = signsum._contour(np.abs(d), np.ones(36, int), abs(d.sum()), lattice=False)
    assert not whole
    assert 2 * tail == pytest.approx(exact.p_value, rel=1e-5)


def test_fine_lattice_is_smoothed_with_little_error(monkeypatch: pytest.MonkeyPatch) -> None:
    d = np.round(np.random.default_rng(9).normal(0.05, 0.3, 120).clip(-1, 1), 3)
    exact = {side: sign_flip(d, alternative=side).p_value for side in SIDES}
    monkeypatch.setattr(signsum, "CONVOLUTION_COST", 0)
    monkeypatch.setattr(signsum, "CONTOUR_COST", 1e5)
    for side in SIDES:
        found = sign_flip(d, alternative=side)
        assert found.method == "exact, smoothed"
        assert found.p_value == pytest.approx(exact[side], rel=2e-3)


def test_many_families_without_a_lattice() -> None:
    d = np.random.default_rng(10).normal(0.1, 1, 500)
    found = sign_flip(d)
    assert found.method == "exact, smoothed"
    z = abs(d.sum()) / math.sqrt((d**2).sum())
    assert found.p_value == pytest.approx(math.erfc(z / math.sqrt(2)), rel=0.02)  # normal, error O(1/G)
    assert sign_flip(np.abs(d)).p_value == pytest.approx(2 * 0.5**500, rel=1e-12)


def test_large_designs_are_exact_and_normal_in_the_middle() -> None:
    d = np.random.default_rng(11).integers(-8, 9, 20_000)
    found = sign_flip(d)
    assert found.method == "exact"
    z = (abs(int(d.sum())) - 1) / math.sqrt(float((d.astype(float) ** 2).sum()))
    assert found.p_value == pytest.approx(math.erfc(z / math.sqrt(2)), rel=1e-3)


@pytest.mark.parametrize("side", SIDES)
def test_monte_carlo_estimates_the_exact_p(side: str) -> None:
    d = [0.5, -0.25, 0.125, 0.75, 0, 0.5, 0.5, -0.5, 0.25, 1, 0.375, -0.125]
    exact = sign_flip(d, alternative=side).p_value
    found = sign_flip(d, alternative=side, method="monte-carlo", n_resamples=20_000, rng=3)
    assert found.mc_error is not None
    assert found.p_value == pytest.approx(exact, abs=4 * found.mc_error)
    assert (found.method, found.n_resamples) == ("monte-carlo", 20_000)
    assert found == sign_flip(d, alternative=side, method="monte-carlo", n_resamples=20_000, rng=3)
    # Without a seed the same data give the same number, in any order.
    assert sign_flip(d, method="monte-carlo") == sign_flip(d[::-1], method="monte-carlo")


def test_monte_carlo_p_is_never_zero() -> None:
    found = sign_flip([1.0] * 40, method="monte-carlo", n_resamples=999, rng=1)
    assert found.p_value == found.p_floor == 0.001


@pytest.mark.parametrize("method", ["exact", "mid-p"])
@pytest.mark.parametrize("side", SIDES)
def test_sign_flip_of_single_items_is_mcnemar(method: str, side: str) -> None:
    # One rule for both, equal counts included: 1 - P(Bin = b) of Fagerland et al. (2013).
    for b, c in product(range(8), repeat=2):
        if b + c:
            flipped = sign_flip([1.0] * b + [-1.0] * c + [0.0], method=method, alternative=side)
            counted = mcnemar(b, c, method=method, alternative=side)
            assert flipped.p_value == pytest.approx(counted.p_value, rel=1e-12)
            assert flipped.p_floor == pytest.approx(counted.p_floor, rel=1e-12)


@pytest.mark.parametrize("method", ["exact", "mid-p", "monte-carlo"])
def test_no_family_differs(method: str) -> None:
    found = sign_flip([0.0, 0.0, -0.0], method=method)
    assert (found.statistic, found.n_nonzero) == (0, 0)
    # Two-sided mid-p of a law with one atom is one half by its definition, as in R.
    assert found.p_value == (0.5 if method == "mid-p" else 1.0)
    assert found.p_floor <= found.p_value


@pytest.mark.parametrize(("families", "floor"), [(1, 1.0), (4, 0.125), (5, 0.0625), (6, 0.03125)])
def test_floor_of_few_families(families: int, floor: float) -> None:
    found = sign_flip([0.3] * families)
    assert found.p_value == found.p_floor == floor
    assert sign_flip([0.3] * families, alternative="greater").p_floor == 0.5**families


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e12, 1e300])
def test_scale_does_not_matter(scale: float) -> None:
    d = np.array([3, -1, 2, 2, 1, 1])
    assert sign_flip(d * scale).p_value == sign_flip(d).p_value


def test_order_sign_and_zeros_do_not_matter() -> None:
    d = np.array([3, -1, 2, 2, 0.5, 1, 1])
    p = sign_flip(d).p_value
    assert sign_flip(d[::-1]).p_value == sign_flip(-d).p_value == sign_flip([*d, 0, 0]).p_value == p
    greater, less = (sign_flip(x, alternative="greater").p_value for x in (d, -d))
    assert (greater, less) == (p / 2, sign_flip(d, alternative="less").p_value)


def _number(value: Any) -> float:
    """R's Inf is written as a list of one word in JSON."""
    return float(value[0] if isinstance(value, list) else value)
