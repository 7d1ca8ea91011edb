"""What must hold for every interval and every test, whatever the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pairstats import Mean, Pairwise, Panel, Share, contrast, estimate
from pairstats.interval_names import NAMED, SHARES_ONLY
from pairstats.intervals import Limits, Totals
from pairstats.numeric import (
    all_pairs,
    clustered_mcnemar,
    cochran_q,
    dirichlet_mean_cdf,
    dose_trend,
    exact_law,
    family_interval,
    family_margin_test,
    interaction_test,
    macro_average,
    max_t,
    mcnemar,
    paired_difference_interval,
    paired_tipping_point,
    sign_flip,
    these_cases_interval,
    wild_cluster,
)

few = settings(max_examples=20, deadline=None, derandomize=True)
FAMILIES = st.lists(st.tuples(st.integers(0, 4), st.integers(1, 4)), min_size=3, max_size=10).filter(
    lambda given: len({min(a, b) / b for a, b in given}) > 1
)
"""Right decisions and decisions of each family, not all alike."""

COUNTS = st.tuples(st.integers(0, 9), st.integers(1, 9)).filter(lambda pair: pair[0] <= pair[1])

ANY_SCORES = [name for name in NAMED if name not in SHARES_ONLY]
DRAWN = ("bootstrap-t",)
"""Drawn anew for other data, so that their limits agree within Monte-Carlo error only."""
STEPPED = ("percentile", "bca", "basic")
"""Quantiles of a law with steps: mirrored they may lie one step apart where the law hits the level exactly."""
ORDERED = ("betting",)
"""Depends on an order that is drawn from the digest of the data."""
MONOTONE = ("family-jeffreys", "family-cp")


def totals(families: list[tuple[int, int]], bounds: tuple[float, float] = (0.0, 1.0)) -> Totals:
    """Totals of families, scores cut to their sizes and moved into the range."""
    right, sizes = np.array(families, dtype=float).T
    width = bounds[1] - bounds[0]
    return Totals(bounds[0] * sizes + width * np.minimum(right, sizes), sizes, bounds)


def limits(name: str, data: Totals, level: float = 0.9) -> Limits:
    found: Limits = NAMED[name].limits(data, level, "two-sided")
    return found


def close(one: tuple[float, float], two: tuple[float, float], slack: float = 1e-7) -> bool:
    return one == pytest.approx(two, abs=slack)


# Intervals ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ANY_SCORES)
@few
@given(families=FAMILIES, seed=st.integers(0, 99))
def test_the_order_of_the_families_means_nothing(name: str, families: Any, seed: int) -> None:
    data = totals(families)
    order = np.random.default_rng(seed).permutation(len(families))
    first = limits(name, data)
    again = limits(name, Totals(data.num[order], data.den[order], data.bounds))
    assert close((first.low, first.high), (again.low, again.high))


@pytest.mark.parametrize("name", ANY_SCORES)
@few
@given(families=FAMILIES)
def test_exchanging_the_systems_turns_the_limits_round(name: str, families: Any) -> None:
    data = totals(families, (-1.0, 1.0))
    rows = zip(data.num.tolist(), data.den.tolist(), strict=True)
    if name in (*DRAWN, *ORDERED) and sorted(rows) == sorted(zip(-data.num, data.den, strict=True)):
        return  # its own opposite: one draw, whose two limits differ by the Monte-Carlo error
    first, back = limits(name, data), limits(name, Totals(-data.num, data.den, (-1.0, 1.0)))
    step = 2.0 / data.den.sum() if name in STEPPED else 0.0
    if name in STEPPED and np.ptp(data.den):
        step = 1.0  # ratios of unequal families have no common step
    assert close((first.low, first.high), (-back.high, -back.low), 1e-6 + step)


@pytest.mark.parametrize("name", [n for n in ANY_SCORES if n not in (*DRAWN, *ORDERED, "korn-graubard")])
@few
@given(families=FAMILIES, scale=st.sampled_from([0.5, 2.0, 3.0]))
def test_limits_scale_with_the_scores(name: str, families: Any, scale: float) -> None:
    data = totals(families)
    first = limits(name, data)
    scaled = limits(name, Totals(scale * data.num, data.den, (0.0, scale)))
    assert close((scale * first.low, scale * first.high), (scaled.low, scaled.high), 1e-6)


@pytest.mark.parametrize("name", MONOTONE)
@few
@given(families=FAMILIES, place=st.integers(0, 9))
def test_a_better_family_never_lowers_a_limit(name: str, families: Any, place: int) -> None:
    place %= len(families)
    better = list(families)
    better[place] = (families[place][1], families[place][1])
    first, higher = limits(name, totals(families)), limits(name, totals(better))
    assert higher.low >= first.low - 1e-9
    assert higher.high >= first.high - 1e-9


@pytest.mark.parametrize("name", SHARES_ONLY[1:])
@few
@given(counts=COUNTS)
def test_one_success_more_never_lowers_a_limit(name: str, counts: tuple[int, int]) -> None:
    x, n = counts
    scores = np.repeat([1.0, 0.0], [x, n - x])
    first = limits(name, Totals(scores, np.ones(n), (0.0, 1.0)))
    mirror = limits(name, Totals(1 - scores, np.ones(n), (0.0, 1.0)))
    assert close((first.low, first.high), (1 - mirror.high, 1 - mirror.low))
    if x < n:
        more = np.repeat([1.0, 0.0], [x + 1, n - x - 1])
        higher = limits(name, Totals(more, np.ones(n), (0.0, 1.0)))
        assert higher.low >= first.low - 1e-9
        assert higher.high >= first.high - 1e-9


@pytest.mark.parametrize("name", ANY_SCORES)
def test_more_families_are_narrower_on_average(name: str) -> None:
    rng, width = np.random.default_rng(2), []
    draws = 6 if name in (*DRAWN, "wild-cluster") else 15
    for size in (12, 48):
        found = []
        for _ in range(draws):
            data = Totals(rng.binomial(4, 0.6, size).astype(float), np.full(size, 4.0), (0.0, 1.0))
            one = limits(name, data)
            found.append(one.high - one.low)
        width.append(np.mean(found))
    assert width[1] < 0.75 * width[0]


@few
@given(families=FAMILIES, point=st.floats(0.05, 0.95))
def test_two_equal_families_are_one_of_weight_two(families: Any, point: float) -> None:
    data = totals(families)
    values, sizes = data.means, data.den
    weights = np.ones(values.size)
    twice = dirichlet_mean_cdf(
        point, np.append(values, values[0]), np.append(weights, 1.0), np.append(sizes, sizes[0])
    )
    weights[0] = 2.0
    assert twice == pytest.approx(dirichlet_mean_cdf(point, values, weights, sizes), abs=1e-9)


@few
@given(families=FAMILIES)
def test_the_bootstrap_law_of_a_doubled_sample_is_that_of_doubled_counts(families: Any) -> None:
    data = totals(families)
    law = exact_law(np.tile(data.num, 2), sizes=np.tile(data.den, 2))
    again = exact_law(np.repeat(data.num, 2), sizes=np.repeat(data.den, 2))
    assert law.std == pytest.approx(again.std, rel=1e-9)
    assert law.quantile(0.3) == pytest.approx(again.quantile(0.3))


def test_a_family_without_weight_changes_nothing() -> None:
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {"family": [f"f{i}" for i in range(12)], "item": "q", "model": "m", "status": "answered",
         "score": rng.integers(0, 2, 12).astype(float), "output_tokens": 10}
    )  # fmt: skip
    more = pd.concat([frame, frame.head(1).assign(family="z", output_tokens=1, score=1.0)])
    share = Share("score == 1", given="output_tokens >= 5")
    [one], [two] = (estimate(Panel(each), share) for each in (frame, more))
    assert (one["conf_low"], one["conf_high"]) == (two["conf_low"], two["conf_high"])
    lost = pd.concat([frame, frame.head(1).assign(family="z", status="error", score=None)])
    [one], [two] = (estimate(Panel(each), Mean("score")) for each in (frame, lost))
    assert (one["conf_low"], one["conf_high"]) == (two["conf_low"], two["conf_high"])
    plain = macro_average([1, 0, 1, 1, 0, 1], list("aaabbb"))
    extra = macro_average([1, 0, 1, 1, 0, 1, 0], list("aaabbbc"), weights={"a": 1, "b": 1, "c": 0})
    assert extra.estimate == pytest.approx(plain.estimate)


@few
@given(counts=st.lists(st.integers(0, 5), min_size=2, max_size=6).filter(lambda c: max(c) > 0))
def test_proportions_for_these_cases(counts: list[int]) -> None:
    first, back = these_cases_interval(counts, 5), these_cases_interval([5 - c for c in counts], 5)
    again = these_cases_interval(counts[::-1], 5)
    assert close((first.low, first.high), (1 - back.high, 1 - back.low))
    assert close((first.low, first.high), (again.low, again.high))
    raised = these_cases_interval([5, *counts[1:]], 5, method="clopper-pearson")
    plain = these_cases_interval(counts, 5, method="clopper-pearson")
    assert (raised.low, raised.high) >= (plain.low, plain.high)


@pytest.mark.parametrize("method", ["tango", "newcombe", "bonett-price", "agresti-min"])
@few
@given(table=st.tuples(*[st.integers(0, 12)] * 4).filter(lambda t: sum(t) > 0))
def test_differences_of_single_pairs_turn_round(method: str, table: tuple[int, ...]) -> None:
    both, first, second, neither = table
    one = paired_difference_interval(both, first, second, neither, method=method)
    back = paired_difference_interval(both, second, first, neither, method=method)
    assert close((one.low, one.high), (-back.high, -back.low))
    other = paired_difference_interval(neither, first, second, both, method=method)
    assert close((one.low, one.high), (other.low, other.high))


# Tests -------------------------------------------------------------------------------------------------

GAPS = st.lists(st.integers(-4, 4), min_size=2, max_size=10)
Sided = Callable[[np.ndarray, str], float]
PAIRED: dict[str, Sided] = {
    "sign_flip": lambda d, side: sign_flip(d, alternative=side).p_value,
    "mid-p": lambda d, side: sign_flip(d, alternative=side, method="mid-p").p_value,
    "monte-carlo": lambda d, side: (
        sign_flip(d, alternative=side, method="monte-carlo", n_resamples=499).p_value
    ),
    "wild_cluster": lambda d, side: wild_cluster(d, alternative=side).p_value,
    "max_t": lambda d, side: float(max_t(d[:, None], alternative=side).p_adjusted[0]),
}
OTHER = {"two-sided": "two-sided", "greater": "less", "less": "greater"}


@pytest.mark.parametrize("name", PAIRED)
@pytest.mark.parametrize("side", OTHER)
@few
@given(gaps=GAPS, scale=st.sampled_from([0.25, 1 / 3, 7.0]))
def test_paired_tests(name: str, side: str, gaps: list[int], scale: float) -> None:
    d, test = np.array(gaps, dtype=float), PAIRED[name]
    p = test(d, side)
    assert 0 < p <= 1
    assert test(d[::-1], side) == pytest.approx(p, abs=1e-12)
    assert test(-d, OTHER[side]) == pytest.approx(p, abs=1e-12)
    if name != "monte-carlo":  # another scale is another draw
        assert test(scale * d, side) == pytest.approx(p, abs=1e-12)
    if name in ("sign_flip", "mid-p", "max_t"):
        assert test(np.append(d, 0.0), side) == pytest.approx(p, abs=1e-12)


@few
@given(gaps=GAPS, place=st.integers(0, 9), more=st.integers(1, 3))
def test_a_larger_difference_never_speaks_less_for_the_first(gaps: list[int], place: int, more: int) -> None:
    d = np.array(gaps, dtype=float)
    higher = d.copy()
    higher[place % d.size] += more
    assert (
        sign_flip(higher, alternative="greater").p_value
        <= sign_flip(d, alternative="greater").p_value + 1e-12
    )


@few
@given(counts=st.tuples(st.integers(0, 20), st.integers(0, 20)))
@pytest.mark.parametrize("method", ["exact", "mid-p", "chi2", "chi2-corrected", "unconditional"])
def test_mcnemar(method: str, counts: tuple[int, int]) -> None:
    b, c = counts
    found = {side: mcnemar(b, c, method=method, alternative=side, n=60).p_value for side in OTHER}
    for side, other in OTHER.items():
        back = mcnemar(c, b, method=method, alternative=other, n=60).p_value
        assert 0 < found[side] <= 1
        assert found[side] == pytest.approx(back, rel=1e-9)
    if method in ("exact", "mid-p"):
        more = mcnemar(b + 1, c, method=method, alternative="greater").p_value
        assert more <= found["greater"] + 1e-12


@few
@given(seed=st.integers(0, 999), families=st.integers(2, 7))
def test_tests_of_several_systems(seed: int, families: int) -> None:
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 4, (families, 3)).astype(float)
    order, relabel = rng.permutation(families), rng.permutation(3)
    q = cochran_q(table).p_value
    assert cochran_q(table[order]).p_value == pytest.approx(q)
    assert cochran_q(table[:, relabel]).p_value == pytest.approx(q)
    assert cochran_q(2.5 * table).p_value == pytest.approx(q)
    assert cochran_q(np.vstack([table, [2, 2, 2]])).p_value == pytest.approx(q)
    pairs, again = all_pairs(table), all_pairs(table[order][:, relabel])
    assert sorted(pairs.p_adjusted) == pytest.approx(sorted(again.p_adjusted))
    trend, back = dose_trend(table, [0, 1, 3]), dose_trend(table, [3, 2, 0])
    assert trend.p_value == pytest.approx(back.p_value)
    assert dose_trend(table, [5, 7, 11]).p_value == pytest.approx(trend.p_value)
    up, down = (dose_trend(table, [0, 1, 3], alternative=side).p_value for side in ("greater", "less"))
    assert dose_trend(-table, [0, 1, 3], alternative="less").p_value == pytest.approx(up)
    assert up + down >= 1 - 1e-12


@few
@given(families=FAMILIES, margin=st.sampled_from([0.2, 0.4]))
@pytest.mark.parametrize("method", ["family-cp", "family-jeffreys", "t", "obuchowski", "durkalski", "yang"])
def test_claims_against_a_margin(method: str, families: Any, margin: float) -> None:
    data = totals(families, (-1.0, 1.0))
    options: dict[str, Any] = {"claim": "equivalence", "margin": margin, "sizes": data.den, "method": method}
    one, back = family_margin_test(data.means, **options), family_margin_test(-data.means, **options)
    assert one.established == back.established
    assert one.p_value == pytest.approx(back.p_value, abs=1e-9)
    wider = family_margin_test(data.means, **{**options, "margin": margin + 0.3})
    assert wider.p_value <= one.p_value + 1e-9


@few
@given(
    table=st.lists(
        st.tuples(*[st.integers(0, 3)] * 4).filter(lambda t: sum(t) > 0), min_size=4, max_size=8
    ).filter(lambda rows: any(b != c for _, b, c, _ in rows))
)
@pytest.mark.parametrize("method", ["obuchowski", "durkalski", "yang"])
def test_chi_square_forms(method: str, table: list[tuple[int, ...]]) -> None:
    counts = np.array(table).T
    plain = clustered_mcnemar(*counts, method=method).statistic
    assert clustered_mcnemar(*counts[[0, 2, 1, 3]], method=method).statistic == pytest.approx(plain)
    assert clustered_mcnemar(*counts[:, ::-1], method=method).statistic == pytest.approx(plain)


def test_interactions_turn_round() -> None:
    rng = np.random.default_rng(4)
    scores = rng.integers(0, 3, (9, 2, 2)) / 2
    one, back = interaction_test(scores), interaction_test(scores[:, ::-1])
    both = interaction_test(scores[::-1, ::-1, ::-1])
    assert [back.p_value, both.p_value] == pytest.approx([one.p_value] * 2)
    assert (-back.high, -back.low) == pytest.approx((one.low, one.high))
    assert (both.low, both.high) == pytest.approx((one.low, one.high))


def test_a_tipping_point_falls_with_the_level() -> None:
    nan = float("nan")
    first, second = [1.0] * 12 + [nan] * 6, [0.0] * 10 + [1.0] * 8
    loose, strict = (paired_tipping_point(first, second, alpha=alpha).n_wrong for alpha in (0.2, 0.01))
    assert strict is not None
    assert loose is None or loose >= strict


# Through a panel ---------------------------------------------------------------------------------------


@settings(max_examples=8, deadline=None, derandomize=True)
@given(seed=st.integers(0, 999))
def test_rows_and_names_mean_nothing_in_a_contrast(seed: int) -> None:
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        [
            {"family": f"f{f}", "item": f"q{f}.{i}", "model": m, "score": float(rng.integers(0, 2))}
            for f in range(8) for i in range(1 + f % 2) for m in "ab"
        ]
    )  # fmt: skip
    shuffled = frame.sample(frac=1, random_state=seed)
    renamed = frame.assign(model=frame["model"].map({"a": "z", "b": "a"}), family="x" + frame["family"])
    [one], [two], [back] = (
        contrast(Panel(each), Mean("score"), Pairwise("model")) for each in (frame, shuffled, renamed)
    )
    assert dict(one) == dict(two)
    assert back["estimate"] == pytest.approx(-one["estimate"])
    assert (back["conf_low"], back["conf_high"]) == pytest.approx((-one["conf_high"], -one["conf_low"]))
    assert back["p_value"] == one["p_value"]


@few
@given(families=FAMILIES)
def test_family_cp_holds_family_jeffreys(families: Any) -> None:
    data = totals(families)
    wide, narrow = (family_interval(data.means, sizes=data.den, kind=kind) for kind in ("cp", "jeffreys"))
    assert wide.low <= narrow.low + 1e-9
    assert wide.high >= narrow.high - 1e-9
