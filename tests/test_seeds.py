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
DRAWS: dict[str, tuple[Draw, bool]] = {
    "sign_flip": (lambda o, **k: sign_flip(GAPS[o], method="monte-carlo", **k), True),
    "cochran_q": (lambda o, **k: cochran_q(TABLE[o], method="monte-carlo", **k), True),
    "dose_trend": (lambda o, **k: dose_trend(TABLE[o], [0, 1, 3], method="monte-carlo", **k), True),
    "max_t": (lambda o, **k: max_t(TABLE[o] - 0.4, method="monte-carlo", **k), True),
    "romano_wolf": (lambda o, **k: romano_wolf(TABLE[o] - 0.4, n_resamples=999, **k), True),
    "all_pairs": (lambda o, **k: all_pairs(TABLE[o], method="romano-wolf", n_resamples=999, **k), True),
    "rank_intervals": (
        lambda o, **k: rank_intervals(TABLE[o], method="family-cp", n_resamples=999, **k),
        True,
    ),
    "simultaneous": (
        lambda o, **k: simultaneous_intervals(TABLE[o] - 0.4, method="family-jeffreys", n_resamples=999, **k),
        True,
    ),
    "bootstrap": (lambda o, **k: bootstrap_interval(SCORES[o], n_resamples=999, **k), True),
    "bootstrap_t": (lambda o, **k: bootstrap_interval(SCORES[o], method="bootstrap-t", **k), True),
    "betting": (lambda o, **k: betting_interval(SCORES[o], **k), True),
    "wild_cluster": (lambda o, **k: wild_cluster(SCORES[o], n_resamples=499, **k), True),
    "swap_test": (lambda o, **k: swap_test(TOTALS[o], SIZES[o], n_resamples=999, **k), False),
    "bayesian": (lambda o, **k: bayesian_bootstrap(TABLE[o], lambda t: t[:, 0], **k), True),
    "macro_average": (lambda o, **k: macro_average(SCORES[o], np.arange(G)[o] % 2, **k), True),
    "post_stratify": (
        lambda o, **k: post_stratify(SCORES[o], np.arange(G)[o] % 2, {0: 20, 1: 30}, **k),
        True,
    ),
    "paired_medians": (lambda o, **k: paired_medians(SCORES[o] + 1, SCORES[::-1][o] + 1, **k), False),
    "ece": (lambda o, **k: expected_calibration_error(STATED[o], RIGHT[o], **k), False),
    "smooth_ece": (lambda o, **k: smooth_ece(STATED[o], RIGHT[o], n_resamples=99, **k), False),
    "calibration_test": (lambda o, **k: calibration_test(STATED[o], RIGHT[o], n_resamples=99, **k), False),
    "corp_band": (lambda o, **k: corp_band(STATED[o], RIGHT[o], n_resamples=99, **k), False),
    "classes": (
        lambda o, **k: paired_class_test(*CLASSES[:, o].tolist(), method="monte-carlo", **k),
        True,
    ),
    "stuart_maxwell": (lambda o, **k: stuart_maxwell(COUNTS, method="monte-carlo", **k), True),
    "bowker": (lambda o, **k: bowker(COUNTS, method="monte-carlo", **k), True),
    "power": (lambda o, **k: paired_family_power(10, 2, 0.3, 0.1, n_simulations=99, **k), True),
    "these_cases": (
        lambda o, **k: these_cases_difference(
            np.arange(G)[o] % 5, 5, np.arange(G)[o] % 3, 5, weights=SCORES[o] + 0.1, **k
        ),
        True,
    ),
}
"""Functions that draw, as a function of the order of the families; and whether the draw is the same too."""


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
    draw, same = DRAWS[name]
    first, again = draw(np.arange(G)), draw(np.arange(G))
    other = draw(np.random.default_rng(1).permutation(G))
    assert isinstance(first.seed, int)
    assert 0 <= first.seed < 2**32
    assert first.seed == again.seed == other.seed
    assert plain(first) == plain(again)
    if same:
        assert plain(first) == plain(other)


@pytest.mark.parametrize("name", DRAWS)
def test_a_seed_that_is_given_is_in_the_result_and_a_generator_has_none(name: str) -> None:
    draw, _ = DRAWS[name]
    order = np.arange(G)
    assert draw(order, rng=7).seed == 7
    derived = draw(order)
    assert plain(draw(order, rng=derived.seed)) == plain(derived)
    assert draw(order, rng=np.random.default_rng(7)).seed is None


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
