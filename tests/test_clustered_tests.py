"""Clustered McNemar tests, clustered differences and effective pairs against R, algebra and edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import reference

from pairstats.errors import PairstatsError
from pairstats.numeric.clustered_tests import METHODS, clustered_difference, clustered_mcnemar
from pairstats.numeric.discordant import mcnemar
from pairstats.numeric.effective import METHODS as EFFECTIVE
from pairstats.numeric.effective import clustered_difference_interval, effective_pairs
from pairstats.numeric.effective import family_counts as counts_of
from pairstats.numeric.exact import sign_flip
from pairstats.numeric.paired_differences import paired_difference_interval
from pairstats.numeric.sandwich import cr2_interval

NAMES = {"eliasziw": "eliasziw-donner"}


def columns(vector: dict[str, Any]) -> list[list[int]]:
    return [vector["inputs"][name] for name in "abcd"]


def tables(seed: int, families: int = 12) -> np.ndarray:
    """Four rows of counts; every family has a pair."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 4, (4, families))
    counts[0] += 1
    return counts


@pytest.mark.parametrize(
    "vector",
    reference(
        "clustered_mcnemar", *(f"clustered_{m}" for m in ("yang", "durkalski", "obuchowski", "eliasziw"))
    ),
)
def test_chi_square_equals_clust_bin_pair(vector: dict[str, Any]) -> None:
    """R clust.bin.pair 0.1.2; tolerance 1e-9 on the statistic, relative to 1."""
    method, expected = vector["inputs"]["method"], vector["expected"]
    test = clustered_mcnemar(*columns(vector), method=NAMES.get(method, method))
    assert test.statistic == pytest.approx(expected["statistic"], abs=vector["tolerance"])
    assert (test.p_value, test.df) == (pytest.approx(expected["p"], abs=vector["tolerance"]), expected["df"])


@pytest.mark.parametrize("vector", reference("clustered_mcnemar", "clustered_mcnemar"))
def test_ignoring_families_is_mcnemar(vector: dict[str, Any]) -> None:
    _, b, c, _ = columns(vector)
    test = mcnemar(sum(b), sum(c), method="chi2")
    assert test.statistic == pytest.approx(vector["expected"]["statistic"], abs=vector["tolerance"])
    assert test.p_value == pytest.approx(vector["expected"]["p"], abs=vector["tolerance"])


@pytest.mark.parametrize("vector", reference("clustered_mcnemar", "clustered_difference"))
def test_difference_equals_r(vector: dict[str, Any]) -> None:
    expected, tolerance = vector["expected"], vector["tolerance"]
    counts = columns(vector)
    pooled = clustered_difference(*counts)
    assert pooled.estimate == pytest.approx(expected["difference_pooled"], abs=tolerance)
    assert pooled.std_error == pytest.approx(expected["se_cr1"], abs=tolerance)
    assert clustered_difference(*counts, variance="cr0").std_error == pytest.approx(
        expected["se_cr0"], abs=tolerance
    )
    mean = clustered_difference(*counts, weight="families")
    assert mean.estimate == pytest.approx(expected["difference_family_mean"], abs=tolerance)
    assert mean.std_error == pytest.approx(expected["se_family_mean"], abs=tolerance)
    assert mean.p_value == pytest.approx(expected["t_p_family_mean"], abs=tolerance)
    assert [mean.low, mean.high] == pytest.approx(expected["ci_family_mean"], abs=tolerance)


def test_family_mean_is_the_one_sample_t_interval() -> None:
    from scipy.stats import ttest_1samp

    counts = tables(1)
    scores = (counts[1] - counts[2]) / counts.sum(axis=0)
    for side in ("two-sided", "less", "greater"):
        found = clustered_difference(*counts, weight="families", alternative=side)
        assert found.p_value == pytest.approx(ttest_1samp(scores, 0, alternative=side).pvalue, abs=1e-12)
    plain = cr2_interval(scores)
    both = clustered_difference(*counts, weight="families")
    assert (both.low, both.high) == pytest.approx((plain.low, plain.high), abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_single_pairs_give_mcnemar(method: str) -> None:
    """Families of one pair: all but Yang's are McNemar's chi-square, Obuchowski's by (G - 1) / G."""
    kinds = np.repeat(np.eye(4, dtype=int), [9, 6, 2, 5], axis=0).T
    plain = mcnemar(6, 2, method="chi2").statistic
    factor = {"obuchowski": 21 / 22, "durkalski": 1.0, "eliasziw-donner": 1.0}
    found = clustered_mcnemar(*kinds, method=method)
    if method == "yang":
        away = 8 - 16 / 22
        assert found.statistic == pytest.approx(21 / 22 * 16 / (0.5 * (away + 8)))
    else:
        assert found.statistic == pytest.approx(plain * factor[method], rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_symmetries(method: str) -> None:
    counts = tables(2)
    found = clustered_mcnemar(*counts, method=method)
    swapped = clustered_mcnemar(*counts[[0, 2, 1, 3]], method=method)
    assert swapped.statistic == pytest.approx(found.statistic, rel=1e-12)
    assert swapped.difference == pytest.approx(-found.difference)
    assert clustered_mcnemar(*counts[:, ::-1], method=method).p_value == pytest.approx(found.p_value)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "counts",
    [
        ([3], [0], [0], [1]),
        ([3, 1, 2], [0, 0, 0], [0, 0, 0], [1, 1, 0]),
        ([0, 0], [2, 1], [2, 1], [0, 0]),
    ],
)
def test_nothing_tells_the_systems_apart(method: str, counts: tuple[list[int], ...]) -> None:
    found = clustered_mcnemar(*counts, method=method)
    assert (found.statistic, found.p_value, found.n_informative) == (0.0, 1.0, 0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "counts",
    [([1], [3], [0], [0]), ([0, 0, 0], [2, 2, 2], [0, 0, 0], [0, 0, 0]), ([0, 1], [1, 0], [0, 0], [0, 0])],
)
def test_p_stays_a_p_at_the_edge(method: str, counts: tuple[list[int], ...]) -> None:
    found = clustered_mcnemar(*counts, method=method)
    assert 0 < found.p_value <= 1
    assert np.isfinite(found.statistic)
    assert found.statistic >= 0


@pytest.mark.parametrize(
    "counts", [([1], [3], [0], [0]), ([1, 1], [1, 1], [0, 0], [0, 0]), ([2, 1], [0, 0], [0, 0], [0, 1])]
)
def test_without_spread_nothing_is_claimed(counts: tuple[list[int], ...]) -> None:
    found = clustered_difference(*counts)
    assert (found.p_value, found.low, found.high) == (1.0, -1.0, 1.0)
    assert found.method == "cr1-t, items, no spread"


def test_one_sided_limits_leave_the_other_end_open() -> None:
    counts = tables(3)
    both = clustered_difference(*counts, confidence_level=0.9)
    greater = clustered_difference(*counts, confidence_level=0.95, alternative="greater")
    less = clustered_difference(*counts, confidence_level=0.95, alternative="less")
    assert (greater.low, greater.high) == (pytest.approx(both.low), 1.0)
    assert (less.low, less.high) == (-1.0, pytest.approx(both.high))


# Effective pairs -----------------------------------------------------------------------------------


def test_single_pairs_are_worth_themselves() -> None:
    """V of G single pairs is V_iid times G / (G - 1)."""
    kinds = np.repeat(np.eye(4, dtype=int), [9, 6, 2, 5], axis=0).T
    assert effective_pairs(counts_of(*kinds)) == pytest.approx(21, rel=1e-12)


def test_copies_of_one_pair_are_worth_one() -> None:
    kinds = np.repeat(np.eye(4, dtype=int), [9, 6, 2, 5], axis=0).T
    once = effective_pairs(counts_of(*kinds))
    assert effective_pairs(counts_of(*(5 * kinds))) == pytest.approx(once)
    narrow = clustered_difference_interval(*kinds)
    copied = clustered_difference_interval(*(5 * kinds))
    assert (copied.low, copied.high) == pytest.approx((narrow.low, narrow.high))


def test_effective_pairs_never_exceed_the_pairs() -> None:
    """Families that balance exactly have a design effect below 1."""
    counts = counts_of([1, 1, 1, 1], [2, 2, 2, 1], [1, 1, 1, 1], [0, 0, 0, 1])
    assert effective_pairs(counts) == 16


@pytest.mark.parametrize("method", EFFECTIVE)
@pytest.mark.parametrize(
    ("counts", "families"),
    [(([2] * 8, [0] * 8, [0] * 8, [0] * 8), 8), (([0] * 8, [2] * 8, [0] * 8, [0] * 8), 8)],
)
def test_collapse_counts_families(method: str, counts: tuple[list[int], ...], families: int) -> None:
    found = clustered_difference_interval(*counts, method=method)
    assert found.n_effective == families
    assert -1 <= found.low < found.high <= 1


def test_many_families_of_single_pairs_approach_tango() -> None:
    kinds = np.repeat(np.eye(4, dtype=int), [9000, 600, 200, 500], axis=0).T
    plain = paired_difference_interval(9000, 600, 200, 500)
    found = clustered_difference_interval(*kinds)
    assert (found.low, found.high) == pytest.approx((plain.low, plain.high), abs=1e-5)


@pytest.mark.parametrize("method", EFFECTIVE)
def test_interval_mirrors_and_one_family_says_nothing(method: str) -> None:
    counts = tables(5)
    found = clustered_difference_interval(*counts, method=method)
    mirrored = clustered_difference_interval(*counts[[0, 2, 1, 3]], method=method)
    assert (mirrored.low, mirrored.high) == pytest.approx((-found.high, -found.low), abs=1e-9)
    single = clustered_difference_interval([1], [3], [0], [0], method=method)
    assert (single.low, single.high, single.n_effective) == (-1.0, 1.0, 1.0)


def test_the_exact_test_agrees_about_a_clear_difference() -> None:
    counts = tables(6)
    counts[1] += 4
    flip = sign_flip(counts[1] - counts[2])
    for method in METHODS:
        assert (clustered_mcnemar(*counts, method=method).p_value < 0.01) == (flip.p_value < 0.01)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        (([1], [0], [0, 1], [0]), "their lengths are"),
        (([1, 0.5], [0, 0], [0, 0], [0, 0]), "`n_both` must hold whole numbers"),
        (([1, 1], [0, 0], [0, -1], [0, 0]), "`n_second_only`.*positions 1 do not"),
        (([1, 0], [0, 0], [0, 0], [0, 0]), "positions 1 have none"),
        (([], [], [], []), "it is empty"),
        (([1, np.nan], [0, 0], [0, 0], [0, 0]), "position 1 is nan"),
    ],
)
def test_errors_say_what_must_hold(counts: Any, message: str) -> None:
    for function in (clustered_mcnemar, clustered_difference, clustered_difference_interval):
        with pytest.raises(PairstatsError, match=message):
            function(*counts)


def test_unknown_methods_are_named() -> None:
    with pytest.raises(PairstatsError, match="'eliasziw-donner'"):
        clustered_mcnemar([1], [0], [0], [0], method="mcnemar")
    with pytest.raises(PairstatsError, match="`method` must be one of 'tango-neff'"):
        clustered_difference_interval([1], [0], [0], [0], method="tango")
    with pytest.raises(PairstatsError, match="`weight` must be one of"):
        clustered_difference([1], [0], [0], [0], weight="pairs")
    with pytest.raises(PairstatsError, match="`variance` must be one of"):
        clustered_difference([1], [0], [0], [0], variance="cr2")
