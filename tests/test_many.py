"""Several systems at once: step-down tests, all pairs, simultaneous intervals, ranks and groups."""

from __future__ import annotations

from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest
from conftest import reference

from pairstats.errors import PairstatsError
from pairstats.numeric.draws import bootstrap_replicates
from pairstats.numeric.exact import sign_flip
from pairstats.numeric.facing import facing_columns
from pairstats.numeric.family import family_interval
from pairstats.numeric.joint_sums import joint_permutations
from pairstats.numeric.many import PAIR_METHODS, all_pairs, shaffer
from pairstats.numeric.multiplicity import adjust, holm
from pairstats.numeric.rank_sets import group_letters, indistinguishable_groups, rank_bounds, rank_intervals
from pairstats.numeric.simultaneous import METHODS, simultaneous_intervals
from pairstats.numeric.stepdown import max_t, romano_wolf

SCORES = np.random.default_rng(1).binomial(4, [[0.9, 0.9, 0.5, 0.5]] * 30) / 4


# Step-down -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("vector", reference("sign_flip", "max_t"))
def test_max_t_equals_r(vector: dict[str, Any]) -> None:
    """R: all 2^10 joint flips, single step and Westfall-Young step-down."""
    expected, tolerance = vector["expected"], vector["tolerance"]
    found = max_t(vector["inputs"]["family_by_contrast"])
    assert found.method == "max-T, exact"
    assert found.p_values.tolist() == pytest.approx(expected["p_raw"], abs=tolerance)
    assert found.p_single_step.tolist() == pytest.approx(expected["p_single_step"], abs=tolerance)
    assert found.p_adjusted.tolist() == pytest.approx(expected["p_step_down"], abs=tolerance)


def brute_max_t(rows: np.ndarray, side: str) -> tuple[np.ndarray, np.ndarray]:
    scale = np.sqrt((rows**2).sum(axis=0))
    extreme = {"two-sided": np.abs, "greater": np.positive, "less": np.negative}[side]
    observed = extreme(rows.sum(axis=0) / scale)
    drawn = np.array([extreme(np.array(s) @ rows / scale) for s in product((1, -1), repeat=len(rows))])
    single = (drawn.max(axis=1)[:, None] >= observed - 1e-9).mean(axis=0)
    down, worst = np.empty_like(observed), 0.0
    for j in np.argsort(-observed, kind="stable"):
        left = observed <= observed[j] + 1e-9
        worst = max(worst, float((drawn[:, left].max(axis=1) >= observed[j] - 1e-9).mean()))
        down[j] = worst
    return single, down


@pytest.mark.parametrize("side", ["two-sided", "less", "greater"])
@pytest.mark.parametrize("seed", range(4))
def test_max_t_equals_enumeration(side: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = rng.integers(-2, 3, (9, 3)).astype(float) if seed < 3 else rng.normal(size=(9, 3))
    single, down = brute_max_t(rows, side)
    found = max_t(rows, alternative=side)
    assert found.p_single_step == pytest.approx(single, abs=1e-12)
    assert found.p_adjusted == pytest.approx(down, abs=1e-12)
    assert (found.p_values <= found.p_adjusted + 1e-12).all()


def test_one_contrast_is_the_sign_flip_test() -> None:
    row = np.array([1, 2, 1, 1, -1, 0, 3, 1])
    assert max_t(row[:, None]).p_adjusted[0] == pytest.approx(sign_flip(row).p_value, rel=1e-12)


def test_copies_of_one_contrast_cost_nothing() -> None:
    row = np.array([1, 2, 1, 1, 1, 0, 3, 1])
    found = max_t(np.column_stack([row, row, -row, 5 * row]))
    assert found.p_adjusted == pytest.approx(np.full(4, sign_flip(row).p_value), rel=1e-12)


def test_monte_carlo_max_t_is_near_the_exact_and_needs_no_seed() -> None:
    rows = np.random.default_rng(3).integers(-2, 4, (14, 3))
    exact, drawn = max_t(rows), max_t(rows, method="monte-carlo")
    assert drawn.p_adjusted == pytest.approx(exact.p_adjusted, abs=0.02)
    again = max_t(-rows[::-1], method="monte-carlo")
    assert again.p_adjusted.tolist() == drawn.p_adjusted.tolist()
    assert drawn.n_resamples == 9999


def test_contrasts_without_any_difference_have_p_one() -> None:
    rows = np.zeros((8, 2))
    rows[:, 0] = 1
    for found in (max_t(rows), romano_wolf(rows), max_t(np.zeros((8, 2))), romano_wolf(np.zeros((1, 2)))):
        assert found.p_adjusted[1] == 1.0
        assert found.statistics[1] == 0.0


def test_romano_wolf_equals_a_plain_implementation() -> None:
    """The same bootstrap replicates, step by step with explicit subsets."""
    rows = np.random.default_rng(4).integers(-1, 3, (40, 3)).astype(float)
    found = romano_wolf(rows, n_resamples=1999, rng=7)
    order, signs = facing_columns(rows, np.ones(40))
    with_size = np.column_stack([rows[:, order] * signs, np.ones(40)])
    means = np.empty((1999, 3))
    means[:, order] = bootstrap_replicates(with_size, n_resamples=1999, rng=7)[:, :3] / 40 * signs
    error = rows.std(axis=0) / np.sqrt(40)
    t, drawn = np.abs(rows.mean(axis=0)) / error, np.abs(means - rows.mean(axis=0)) / error
    worst = 0.0
    for j in np.argsort(-t):
        hits = int((drawn[:, t <= t[j]].max(axis=1) >= t[j] - 1e-9).sum())
        worst = max(worst, (hits + 1) / 2000, sign_flip(rows[:, j]).p_value)
        assert found.p_adjusted[j] == pytest.approx(worst, abs=1e-12)


def test_romano_wolf_never_undercuts_the_exact_test() -> None:
    """Three families that all agree: a bootstrap alone would call it certain."""
    found = romano_wolf(np.ones((3, 2)))
    assert found.p_adjusted.tolist() == [0.25, 0.25]


def test_romano_wolf_keeps_its_level() -> None:
    """No system differs, 40 families of unequal size: share of data sets with any rejection."""
    rng = np.random.default_rng(5)
    rejected = 0
    for _ in range(120):
        scores = rng.binomial(3, rng.beta(4, 2, (40, 1)), (40, 4)) / 3
        rejected += bool(
            (all_pairs(scores, method="romano-wolf", n_resamples=499, rng=rng).p_adjusted <= 0.05).any()
        )
    assert rejected / 120 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 120)


# All pairs -----------------------------------------------------------------------------------------


def equal_pairs(k: int) -> set[int]:
    """Numbers of equal pairs over all ways to give k systems a value."""
    return {
        sum(a == b for a, b in combinations(values, 2)) for values in product(range(k), repeat=k)
    }  # fmt: skip


@pytest.mark.parametrize("k", [2, 3, 4, 5, 6])
def test_shaffer_counts_what_can_still_be_true(k: int) -> None:
    pairs = k * (k - 1) // 2
    possible = equal_pairs(k)
    factors = [max(n for n in possible if n <= pairs - j) for j in range(pairs)]
    p = np.sort(np.random.default_rng(k).random(pairs)) / 20
    expected = np.maximum.accumulate(np.minimum(1, p * factors))
    order = np.random.default_rng(k).permutation(pairs)
    assert shaffer(p[order], k) == pytest.approx(expected[order], rel=1e-12)
    assert (shaffer(p, k) <= holm(p) + 1e-15).all()


def test_shaffer_factors_of_the_paper() -> None:
    """Shaffer (1986): 6, 3, 3, 3, 2, 1 for four systems; 10, 6, 6, 6, 6, 4, 4, 3, 2, 1 for five."""
    for k, factors in ((4, [6, 3, 3, 3, 2, 1]), (5, [10, 6, 6, 6, 6, 4, 4, 3, 2, 1])):
        p = 0.001 * np.geomspace(1, 20, len(factors))
        assert shaffer(p, k) == pytest.approx(np.maximum.accumulate(p * factors))


@pytest.mark.parametrize("method", PAIR_METHODS)
def test_all_pairs_are_exact_tests_with_one_adjustment(method: str) -> None:
    found = all_pairs(SCORES, method=method, n_resamples=499, rng=1)
    pairs = list(combinations(range(4), 2))
    assert list(zip(found.first, found.second, strict=True)) == pairs
    alone = [sign_flip(SCORES[:, a] - SCORES[:, b]).p_value for a, b in pairs]
    assert found.p_values == pytest.approx(alone)
    assert (found.p_adjusted >= found.p_values - 1e-12).all()
    assert (found.p_adjusted <= 1).all()
    assert found.differences == pytest.approx([SCORES[:, a].mean() - SCORES[:, b].mean() for a, b in pairs])
    if method not in ("shaffer", "romano-wolf", "max-t"):
        assert found.p_adjusted == pytest.approx(adjust(alone, method))


def test_sizes_weigh_the_items() -> None:
    sizes = np.arange(1, 31)
    found = all_pairs(SCORES, sizes=sizes)
    assert found.p_values[0] == sign_flip((SCORES[:, 0] - SCORES[:, 1]) * sizes).p_value
    assert found.differences[0] == pytest.approx(np.average(SCORES[:, 0] - SCORES[:, 1], weights=sizes))


@pytest.mark.parametrize("seed", range(3))
def test_label_permutation_equals_enumeration(seed: int) -> None:
    """All 6^5 orders of three labels; the largest difference of column totals."""
    rows = np.random.default_rng(seed).integers(0, 3, (5, 3))
    law = joint_permutations(rows.astype(float))
    sums = np.array([
        np.sum(orders, axis=0) for orders in product(*[list(permutations(row)) for row in rows.tolist()])
    ])  # fmt: skip
    for least in range(8):
        brute = np.mean(np.ptp(sums, axis=1) >= least)
        assert law.p_value(np.ptp(law.sums, axis=1), least) == pytest.approx(brute, abs=1e-12)
    found = all_pairs(rows, method="max-t")
    assert found.method == "max-t, exact"
    gap = abs(int(rows[:, 0].sum() - rows[:, 1].sum()))
    brute = float(np.mean(np.ptp(sums, axis=1) >= gap))
    assert found.p_adjusted[0] == pytest.approx(max(brute, found.p_values[0]), abs=1e-12)


def test_order_of_systems_and_families_does_not_matter() -> None:
    order = [2, 0, 3, 1]
    for method in ("holm", "shaffer", "max-t"):
        base = all_pairs(SCORES, method=method, n_resamples=999).better()
        moved = all_pairs(SCORES[::-1, order], method=method, n_resamples=999).better()
        assert (moved == base[np.ix_(order, order)]).all()


def test_better_names_winner_and_loser() -> None:
    found = all_pairs(SCORES)
    better = found.better(0.05)
    assert better[0, 2]
    assert not better[2, 0]
    assert not (better & better.T).any()
    assert not all_pairs(np.ones((10, 3))).better().any()


# Simultaneous intervals ----------------------------------------------------------------------------


def gaps_of(scores: np.ndarray) -> np.ndarray:
    first, second = np.triu_indices(scores.shape[1], 1)
    return scores[:, first] - scores[:, second]


@pytest.mark.parametrize("kind", ["jeffreys", "cp"])
def test_bonferroni_intervals_are_family_intervals(kind: Any) -> None:
    found = simultaneous_intervals(gaps_of(SCORES), method=f"bonferroni-{kind}")
    for j, column in enumerate(gaps_of(SCORES).T):
        one = family_interval(column, kind=kind, bounds=(-1, 1), confidence_level=1 - 0.05 / 6)
        assert (found.low[j], found.high[j]) == pytest.approx((one.low, one.high), abs=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_joint_level_lies_between_single_and_bonferroni(method: str) -> None:
    rows = gaps_of(SCORES)
    found = simultaneous_intervals(rows, method=method, n_resamples=4000)
    assert 0.95 < found.individual_level <= 1 - 0.05 / 6 + 1e-12
    assert (found.low <= found.estimate).all()
    assert (found.estimate <= found.high).all()
    again = simultaneous_intervals(rows[::-1], method=method, n_resamples=4000)
    assert again.low.tolist() == pytest.approx(found.low.tolist(), abs=1e-9)


@pytest.mark.parametrize("method", ["family-jeffreys", "family-cp", "percentile"])
def test_one_contrast_needs_no_correction(method: str) -> None:
    found = simultaneous_intervals(gaps_of(SCORES)[:, :1], method=method, n_resamples=4000)
    assert found.individual_level == pytest.approx(0.95, abs=0.01)


def test_copies_of_one_contrast_need_no_correction() -> None:
    rows = np.repeat(gaps_of(SCORES)[:, 1:2], 5, axis=1)
    found = simultaneous_intervals(rows, method="family-jeffreys", n_resamples=4000)
    assert found.individual_level == pytest.approx(0.95, abs=0.01)


def test_the_draw_lies_within_all_intervals_as_often_as_stated() -> None:
    """An independent draw of Dirichlet weights with half a pseudo-family at either end."""
    rows = gaps_of(SCORES)
    found = simultaneous_intervals(rows, method="family-jeffreys", n_resamples=20_000)
    alpha = np.concatenate([np.ones(30), [0.5, 0.5]])
    weights = np.random.default_rng(3).dirichlet(alpha, 20_000)
    values = weights @ np.concatenate([rows, -np.ones((1, 6)), np.ones((1, 6))])
    inside = ((values >= found.low) & (values <= found.high)).all(axis=1).mean()
    assert inside == pytest.approx(0.95, abs=0.006)


def test_percentile_intervals_are_quantiles_of_the_replicates() -> None:
    rows = gaps_of(SCORES)
    found = simultaneous_intervals(rows, method="percentile", n_resamples=2000, rng=5)
    replicates = (
        bootstrap_replicates(np.column_stack([rows, np.ones(30)]), n_resamples=2000, rng=5)[:, :6] / 30
    )
    inside = ((replicates >= found.low - 1e-12) & (replicates <= found.high + 1e-12)).all(axis=1).mean()
    assert 0.95 <= inside <= 0.97


def test_one_sided_limits_are_open_on_the_other_side() -> None:
    rows = gaps_of(SCORES)
    for method in METHODS:
        greater = simultaneous_intervals(rows, method=method, alternative="greater", n_resamples=2000)
        less = simultaneous_intervals(-rows, method=method, alternative="less", n_resamples=2000, rng=1)
        assert (greater.high == 1).all()
        assert (less.low == -1).all()
        assert less.high == pytest.approx(-greater.low, abs=0.03)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("value", [-1.0, 0.0, 1.0])
def test_constant_families(method: str, value: float) -> None:
    found = simultaneous_intervals(np.full((12, 3), value), method=method, n_resamples=500)
    assert (found.low <= value).all()
    assert (found.high >= value).all()
    if method != "percentile":
        assert (found.high > found.low).all()


def test_simultaneous_coverage_of_the_default() -> None:
    """Four equal systems, 30 families of 3 copies: all six differences covered at once."""
    rng = np.random.default_rng(6)
    held = 0
    for _ in range(60):
        scores = rng.binomial(3, rng.beta(6, 1.5, (30, 1)), (30, 4)) / 3
        found = simultaneous_intervals(gaps_of(scores))
        held += bool(((found.low <= 0) & (found.high >= 0)).all())
    assert held >= 52  # 57 expected, Monte-Carlo error 1.7


# Ranks and groups ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["holm", "shaffer", "hochberg", "romano-wolf", *METHODS])
def test_rank_intervals_hold_the_true_order(method: str) -> None:
    found = rank_intervals(SCORES, method=method, n_resamples=999)
    assert (found.best[:2] == 1).all()
    assert (found.worst[:2] == 2).all()
    assert (found.best[2:] == 3).all()
    assert (found.worst[2:] == 4).all()
    assert found.estimate == pytest.approx(SCORES.mean(axis=0))


def test_equal_systems_share_all_ranks() -> None:
    found = rank_intervals(np.ones((9, 4)))
    assert (found.best.tolist(), found.worst.tolist()) == ([1] * 4, [4] * 4)
    assert indistinguishable_groups(found.better) == ((0, 1, 2, 3),)
    assert group_letters(found.better) == ("a",) * 4


def test_ranks_count_better_and_worse() -> None:
    better = np.zeros((5, 5), dtype=bool)
    better[0, [2, 3, 4]] = better[1, 4] = True
    best, worst = rank_bounds(better)
    assert best.tolist() == [1, 1, 2, 2, 3]
    assert worst.tolist() == [2, 4, 5, 5, 5]
    # Every order that agrees with what was shown keeps each system within its ranks, and each end occurs.
    orders = [
        order for order in permutations(range(5))
        if all(order.index(a) < order.index(b) for a, b in np.argwhere(better))
    ]  # fmt: skip
    ranks = np.array([[order.index(i) + 1 for i in range(5)] for order in orders])
    assert (ranks.min(axis=0) == best).all()
    assert (ranks.max(axis=0) == worst).all()


@pytest.mark.parametrize("seed", range(8))
def test_groups_are_the_maximal_sets_that_do_not_differ(seed: int) -> None:
    """Every subset of six systems, tried one by one."""
    rng = np.random.default_rng(seed)
    upper = np.triu(rng.random((6, 6)) < 0.4, 1)
    better = np.where(rng.random((6, 6)) < 0.5, upper, upper.T)
    better = np.triu(better, 1) | np.tril(~better.T & upper.T, -1)
    alike = ~(better | better.T)
    sets = [
        set(group)
        for size in range(1, 7)
        for group in combinations(range(6), size)
        if all(alike[a, b] for a, b in combinations(group, 2))
    ]
    maximal = [group for group in sets if not any(group < other for other in sets)]
    groups = indistinguishable_groups(better)
    assert sorted(map(sorted, groups)) == sorted(map(sorted, maximal))
    letters = group_letters(better)
    for a, b in combinations(range(6), 2):
        assert bool(set(letters[a]) & set(letters[b])) == bool(alike[a, b])


def test_groups_follow_the_estimates() -> None:
    better = all_pairs(SCORES).better()
    groups = indistinguishable_groups(better, order=SCORES.mean(axis=0))
    assert sorted(map(sorted, groups)) == [[0, 1], [2, 3]]
    assert set(groups[0]) == {0, 1}
    assert group_letters(better, order=SCORES.mean(axis=0)) == ("a", "a", "b", "b")
    assert group_letters(better, order=-SCORES.mean(axis=0)) == ("b", "b", "a", "a")


def test_many_groups_get_two_letters() -> None:
    better = np.triu(np.ones((30, 30), dtype=bool), 1)
    letters = group_letters(better)
    assert (letters[0], letters[26], len(set(letters))) == ("aa", "ba", 30)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: max_t([1, 2]), "row a family"),
        (lambda: max_t([[1, np.nan]]), "row 0, column 1"),
        (lambda: romano_wolf(np.empty((0, 2))), "row a family"),
        (lambda: all_pairs([[1], [0]]), "at least two systems"),
        (lambda: all_pairs(SCORES, method="tukey"), "`method` must be one of"),
        (lambda: shaffer([0.1, 0.2], 3), "each of the 3 pairs of 3 systems"),
        (lambda: shaffer([], 1), "0 pairs of 1 systems"),
        (lambda: simultaneous_intervals([[0.0, 2.0]]), "must lie in"),
        (lambda: simultaneous_intervals([[0.0]], method="scheffe"), "`method` must be one of"),
        (lambda: rank_intervals(SCORES, method="bh"), "keep all comparisons right at once"),
        (lambda: rank_intervals(SCORES, confidence_level=95), "`confidence_level` must lie"),
        (lambda: rank_intervals([[1.0]], method="family-cp"), "at least two systems"),
        (lambda: rank_bounds([[True, False]]), "square table of booleans"),
        (lambda: rank_bounds([[0, 1], [0, 0]]), "square table of booleans"),
        (lambda: rank_bounds([[False, True], [True, False]]), "each better than the other"),
        (lambda: indistinguishable_groups([[False]], order=[1, 2]), "`order` must have one entry"),
    ],
)
def test_errors_say_what_must_hold(call: Any, message: str) -> None:
    with pytest.raises(PairstatsError, match=message):
        call()
