"""Draws: a seed from the sorted data where none is given, and the seed in every result that drew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from pairstats import Mean, Pairwise, Panel, Trend, contrast, omnibus, rank, simultaneous
from pairstats.numeric import (
    all_pairs,
    bayesian_bootstrap,
    betting_interval,
    bootstrap_interval,
    bowker,
    calibration_test,
    cochran_q,
    corp_band,
    dose_trend,
    expected_calibration_error,
    macro_average,
    max_t,
    paired_class_test,
    paired_family_power,
    paired_medians,
    post_stratify,
    rank_intervals,
    romano_wolf,
    sign_flip,
    simultaneous_intervals,
    smooth_ece,
    stuart_maxwell,
    swap_test,
    these_cases_difference,
    wild_cluster,
)
from pairstats.numeric.draws import seeded

RNG = np.random.default_rng(12)
G = 40
SCORES = RNG.random(G)
GAPS = RNG.integers(-3, 4, G) + RNG.random(G) / 7
TABLE = np.round(RNG.random((G, 3)), 1)  # on a lattice, where the exact test of each column is fast
STATED, RIGHT = np.round(RNG.random(G), 3), RNG.integers(0, 2, G)
CLASSES = RNG.choice(["x", "y", "z"], (2, G))
TOTALS, SIZES = RNG.integers(0, 3, (G, 2)).astype(float), np.full((G, 2), 3.0) + RNG.integers(0, 2, (G, 2))
COUNTS = np.array([[9, 4, 2], [1, 8, 5], [3, 0, 7]])

Draw = Callable[..., Any]
DRAWS: dict[str, Draw] = {
    "sign_flip": lambda o, **k: sign_flip(GAPS[o], method="monte-carlo", **k),
    "cochran_q": lambda o, **k: cochran_q(TABLE[o], method="monte-carlo", **k),
    "dose_trend": lambda o, **k: dose_trend(TABLE[o], [0, 1, 3], method="monte-carlo", **k),
    "max_t": lambda o, **k: max_t(TABLE[o] - 0.4, method="monte-carlo", **k),
    "romano_wolf": lambda o, **k: romano_wolf(TABLE[o] - 0.4, n_resamples=999, **k),
    "all_pairs": lambda o, **k: all_pairs(TABLE[o], method="romano-wolf", n_resamples=999, **k),
    "rank_intervals": lambda o, **k: rank_intervals(TABLE[o], method="family-cp", n_resamples=999, **k),
    "simultaneous": lambda o, **k: simultaneous_intervals(
        TABLE[o] - 0.4, method="family-jeffreys", n_resamples=999, **k
    ),
    "bootstrap": lambda o, **k: bootstrap_interval(SCORES[o], n_resamples=999, **k),
    "bootstrap_t": lambda o, **k: bootstrap_interval(SCORES[o], method="bootstrap-t", **k),
    "betting": lambda o, **k: betting_interval(SCORES[o], **k),
    "wild_cluster": lambda o, **k: wild_cluster(SCORES[o], n_resamples=499, **k),
    "swap_test": lambda o, **k: swap_test(TOTALS[o], SIZES[o], method="monte-carlo", n_resamples=999, **k),
    "bayesian": lambda o, **k: bayesian_bootstrap(TABLE[o], lambda t: t[:, 0], **k),
    "macro_average": lambda o, **k: macro_average(SCORES[o], np.arange(G)[o] % 2, **k),
    "post_stratify": lambda o, **k: post_stratify(SCORES[o], np.arange(G)[o] % 2, {0: 20, 1: 30}, **k),
    "paired_medians": lambda o, **k: paired_medians(SCORES[o] + 1, SCORES[::-1][o] + 1, **k),
    "ece": lambda o, **k: expected_calibration_error(STATED[o], RIGHT[o], **k),
    "smooth_ece": lambda o, **k: smooth_ece(STATED[o], RIGHT[o], n_resamples=99, **k),
    "calibration_test": lambda o, **k: calibration_test(STATED[o], RIGHT[o], n_resamples=99, **k),
    "corp_band": lambda o, **k: corp_band(STATED[o], RIGHT[o], n_resamples=99, **k),
    "classes": lambda o, **k: paired_class_test(*CLASSES[:, o].tolist(), method="monte-carlo", **k),
    "stuart_maxwell": lambda o, **k: stuart_maxwell(COUNTS, method="monte-carlo", **k),
    "bowker": lambda o, **k: bowker(COUNTS, method="monte-carlo", **k),
    "power": lambda o, **k: paired_family_power(10, 2, 0.3, 0.1, n_simulations=99, **k),
    "these_cases": lambda o, **k: these_cases_difference(
        np.arange(G)[o] % 5, 5, np.arange(G)[o] % 3, 5, weights=SCORES[o] + 0.1, **k
    ),
}
"""Functions that draw, as a function of the order of the families."""


def plain(found: Any) -> list[Any]:
    """Numbers of a result, for comparison."""
    fields = {name: getattr(found, name) for name in type(found).__dataclass_fields__}
    return [
        np.round(np.asarray(value, dtype=float), 10).tolist()
        if isinstance(value, float | np.ndarray)
        else value
        for name, value in fields.items()
        if isinstance(value, float | int | np.ndarray)
        and name not in ("differences", "estimates", "n_families", "strata", "weights", "n_items")
    ]


@pytest.mark.parametrize("name", DRAWS)
def test_the_seed_follows_from_the_data_whatever_their_order(name: str) -> None:
    draw = DRAWS[name]
    first, again = draw(np.arange(G)), draw(np.arange(G))
    other = draw(np.random.default_rng(1).permutation(G))
    assert isinstance(first.seed, int)
    assert 0 <= first.seed < 2**32
    assert first.seed == again.seed == other.seed
    assert plain(first) == plain(again)
    assert plain(first) == plain(other)


@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_that_is_given_is_in_the_result_and_a_generator_has_none(name: str) -> None:
    draw = DRAWS[name]
    order = np.arange(G)
    assert draw(order, rng=7).seed == 7
    derived = draw(order)
    assert plain(draw(order, rng=derived.seed)) == plain(derived)
    assert draw(order, rng=np.random.default_rng(7)).seed is None


OPPOSITE = {"two-sided": "two-sided", "less": "greater", "greater": "less"}
INTERVALS: dict[str, Draw] = {
    "percentile": lambda d, s, **k: bootstrap_interval(d, sizes=s, n_resamples=1000, **k),
    "bca": lambda d, s, **k: bootstrap_interval(d, sizes=s, method="bca", n_resamples=1000, **k),
    "bootstrap-t": lambda d, s, **k: bootstrap_interval(d, sizes=s, method="bootstrap-t", **k),
    "betting": lambda d, s, **k: betting_interval(d, sizes=s, bounds=(-1, 1), **k),
    "wild": lambda d, s, **k: wild_cluster(d, sizes=s, n_resamples=499, **k),
    "webb": lambda d, s, **k: wild_cluster(d, sizes=s, weights="webb", n_resamples=499, **k),
    "strata": lambda d, s, **k: macro_average(d, np.arange(d.size) % 2, sizes=s, bounds=(-1, 1), **k),
}
"""Drawn intervals of a difference."""


@pytest.mark.parametrize("alternative", OPPOSITE)
@pytest.mark.parametrize("name", INTERVALS)
def test_a_minus_b_and_b_minus_a_are_one_draw(name: str, alternative: str) -> None:
    rng = np.random.default_rng(8)
    for families in (5, 16, 30):
        gaps, sizes = rng.integers(-2, 3, families) / 2, rng.integers(1, 5, families).astype(float)
        gaps[0] -= sizes[1:] @ gaps[1:] / sizes[0] if families == 16 else 0  # a sum of 0 is no exception
        gaps = gaps / max(1, abs(gaps[0]))
        one = INTERVALS[name](gaps, sizes, alternative=alternative)
        two = INTERVALS[name](-gaps, sizes, alternative=OPPOSITE[alternative])
        assert (one.low, one.high) == pytest.approx((-two.high, -two.low), rel=1e-9, abs=1e-9)
        assert one.seed == two.seed
        assert one.alternative == alternative


def pairs_of(table: Any) -> Any:
    """Differences of systems one and two, one and three, two and three."""
    return np.column_stack([table[:, i] - table[:, j] for i, j in ((0, 1), (0, 2), (1, 2))])


@pytest.mark.parametrize("method", ["family-jeffreys", "family-cp", "percentile"])
def test_joint_intervals_do_not_depend_on_names_or_order(method: str) -> None:
    table, sizes, order = TABLE, np.arange(G) % 3 + 1.0, np.random.default_rng(1).permutation(G)
    for side, other in OPPOSITE.items():
        one = simultaneous_intervals(
            pairs_of(table), sizes=sizes, method=method, n_resamples=499, alternative=side
        )
        # The systems in reverse: three less two, three less one, two less one.
        two = simultaneous_intervals(
            pairs_of(table[order, ::-1]),
            sizes=sizes[order],
            method=method,
            n_resamples=499,
            alternative=other,
        )
        assert one.low == pytest.approx(-two.high[::-1])
        assert one.high == pytest.approx(-two.low[::-1])


def test_drawn_tests_of_several_systems_do_not_depend_on_names_or_order() -> None:
    order = np.random.default_rng(2).permutation(G)
    other = TABLE[order, ::-1]
    draws: list[Draw] = [
        lambda t, **k: romano_wolf(pairs_of(t), **k).p_adjusted,
        lambda t, **k: max_t(pairs_of(t), method="monte-carlo", **k).p_adjusted,
        lambda t, **k: all_pairs(t, method="romano-wolf", **k).p_adjusted,
        lambda t, **k: [cochran_q(t, method="monte-carlo", **k).p_value],
    ]
    for draw in draws:
        assert list(draw(TABLE, n_resamples=499)) == list(draw(other, n_resamples=499))[::-1]
    one, two = (
        dose_trend(scores, doses, method="monte-carlo", n_resamples=499)
        for scores, doses in ((TABLE, [0, 1, 3]), (other, [3, 1, 0]))
    )
    assert (one.p_value, one.seed) == (two.p_value, two.seed)


def test_medians_of_two_systems_do_not_depend_on_which_comes_first() -> None:
    rng = np.random.default_rng(9)
    first, second, families = rng.integers(1, 9, 21), rng.integers(2, 9, 21), rng.integers(0, 12, 21)
    one = paired_medians(first, second, families=families, n_resamples=1000)
    two = paired_medians(second, first, families=families, n_resamples=1000)
    assert (one.first, one.second, one.seed) == (two.second, two.first, two.seed)
    for name in ("difference", "median_difference"):
        here, there = getattr(one, name), getattr(two, name)
        assert (here.estimate, here.low, here.high) == (-there.estimate, -there.high, -there.low)


def test_what_does_not_draw_has_no_seed() -> None:
    order = np.arange(G)
    exact = [
        sign_flip(GAPS), cochran_q(TABLE > 0.5), max_t(TABLE[:6]), all_pairs(TABLE), rank_intervals(TABLE),
        simultaneous_intervals(TABLE), bootstrap_interval(SCORES), betting_interval(SCORES, order="given"),
        wild_cluster(SCORES[:8]), macro_average(SCORES, ["a"] * G), stuart_maxwell(COUNTS),
        these_cases_difference(order % 5, 5, order % 3, 5),
    ]  # fmt: skip
    assert [each.seed for each in exact] == [None] * len(exact)


def test_seeds_of_whole_numbers_and_sequences() -> None:
    assert seeded([1.0], np.int64(3))[1] == 3
    assert seeded([1.0], np.random.SeedSequence(3))[1] is None
    one, two = seeded([0.3, 1.0], None), seeded([1, 0.1 + 0.2], None)
    assert one[1] == two[1]
    assert one[0].random() == two[0].random()


def test_a_sign_flip_that_draws_turns_round_exactly() -> None:
    for side, other in (("two-sided", "two-sided"), ("greater", "less"), ("less", "greater")):
        first = sign_flip(GAPS, method="monte-carlo", alternative=side)
        back = sign_flip(-GAPS, method="monte-carlo", alternative=other)
        assert (first.p_value, first.seed) == (back.p_value, back.seed)


def test_seeds_reach_the_rows_of_the_verbs() -> None:
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(
        [
            {"family": f"f{f:02}", "item": "q", "model": m, "score": rng.integers(0, 11) / 10}
            for f in range(50)
            for m in ("a", "b", "c", "d", "e", "f", "g", "h", "i")
        ]
    )
    panel = Panel(frame)
    three = panel.where(model=["a", "b", "c"])
    found = [
        contrast(panel, Mean("score"), Trend("model", dict(zip("abcdefghi", range(9), strict=True)))),
        omnibus(panel, Mean("score"), n_resamples=199),
        rank(three, Mean("score"), method="family-jeffreys").where(estimand="rank(accuracy)"),
        simultaneous(three, Mean("score"), Pairwise("model"), method="family-jeffreys"),
        simultaneous(three, Mean("score"), Pairwise("model"), adjust="romano-wolf"),
    ]
    for result in found:
        assert result.frame["seed"].notna().all()
    assert contrast(three, Mean("score"), Pairwise("model")).frame["seed"].isna().all()
