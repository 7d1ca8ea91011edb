"""Whom a claim is about: the request for a population, the other weights, and the cases at hand alone."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pairstats import (
    AllCorrect,
    Interaction,
    Mean,
    Pairwise,
    Panel,
    Trend,
    Versus,
    contrast,
    estimate,
    flip_table,
    rank,
)
from pairstats.errors import PairstatsError
from pairstats.numeric import mcnemar, these_cases_difference, these_cases_interval
from pairstats.verdicts import Claim, judge


def records(right, repeats, families=None, model="m"):
    """One case a row of `right`: so many right replies of so many repeats."""
    repeats = np.broadcast_to(repeats, len(right))
    names = [f"f{i}" for i in range(len(right))] if families is None else families
    return pd.DataFrame(
        [
            {"family": f, "item": f"q{i}", "model": model, "repeat": r, "score": float(r < n)}
            for i, (f, n, k) in enumerate(zip(names, right, repeats, strict=True))
            for r in range(k)
        ]
    )


def row(frame, estimand=None, **panel):
    interval = panel.pop("interval", None)
    return next(iter(estimate(Panel(frame, **panel), estimand or Mean("score"), interval=interval)))


@pytest.mark.parametrize("right", [[3, 2, 0, 3], [3, 3, 3, 3], [0, 0, 0, 0], [1, 2, 1, 2]])
def test_the_standard_error_is_that_of_the_repeats(right):
    found = these_cases_interval(right, 3)
    table = np.array([[1.0] * n + [0.0] * (3 - n) for n in right])
    within = table.var(axis=1, ddof=1).mean()
    assert found.std_error == pytest.approx(np.sqrt(within / table.size), abs=1e-15)
    assert found.estimate == pytest.approx(table.mean())
    assert 0 <= found.low <= found.estimate <= found.high <= 1
    assert found.low < found.high  # never a point, also where no two replies differ


def test_clopper_pearson_is_scipys_and_wilson_too_where_cases_do_not_differ():
    exact = these_cases_interval([9, 8, 2, 9], 9, method="clopper-pearson", confidence_level=0.9)
    oracle = stats.binomtest(28, 36).proportion_ci(0.9, method="exact")
    assert (exact.low, exact.high) == pytest.approx((oracle.low, oracle.high), abs=1e-12)
    alike = these_cases_interval([6, 6, 6, 6], 9)  # no case differs: as many replies as there are
    oracle = stats.binomtest(24, 36).proportion_ci(0.95, method="wilson")
    assert alike.n_effective == pytest.approx(36)
    assert (alike.low, alike.high) == pytest.approx((oracle.low, oracle.high), abs=1e-12)


def test_one_sided_limits_weights_and_unequal_repeats():
    lower = these_cases_interval([3, 2, 1], [3, 3, 4], alternative="greater", confidence_level=0.975)
    both = these_cases_interval([3, 2, 1], [3, 3, 4])
    assert (lower.low, lower.high) == (pytest.approx(both.low), 1)
    weighted = these_cases_interval([3, 0], [3, 3], weights=[3, 1])
    assert weighted.estimate == 0.75
    assert these_cases_interval([1, 0], [2, 1]).n_replies == 3


@pytest.mark.parametrize(
    ("right", "repeats", "match"),
    [([1, 0], 1, "at least two replies"), ([1.5], 3, "whole numbers"), ([4], 3, "whole numbers")],
)
def test_counts_that_are_none_are_refused(right, repeats, match):
    with pytest.raises(PairstatsError, match=match):
        these_cases_interval(right, repeats)


def test_exact_coverage_of_clopper_pearson_by_enumeration():
    rates, repeats = [0.95, 0.6, 0.2], 3
    laws = [stats.binom.pmf(np.arange(repeats + 1), repeats, p) for p in rates]
    covered = 0.0
    for counts in np.ndindex(*(repeats + 1,) * 3):
        chance = np.prod([law[n] for law, n in zip(laws, counts, strict=True)])
        found = these_cases_interval(counts, repeats, method="clopper-pearson")
        covered += chance * (found.low <= np.mean(rates) <= found.high)
    assert covered >= 0.95


def test_estimate_conditions_on_the_cases():
    found = row(records([9, 8, 2, 9], 9), population="these_cases")
    oracle = these_cases_interval([9, 8, 2, 9], 9)
    assert (found["conf_low"], found["conf_high"]) == (oracle.low, oracle.high)
    assert found["population"] == "these_cases"
    assert found["note"].startswith("conditional on these 4 cases, 9 replies")
    families = row(records([9, 8, 2, 9], 9), population="families")
    assert families["conf_high"] - families["conf_low"] > found["conf_high"] - found["conf_low"]
    exact = row(records([9, 8, 2, 9], 9), population="these_cases", interval="family-cp")
    assert exact["method"] == "clopper-pearson on replies"


def test_family_weights_reach_the_cases():
    frame = records([3, 3, 0], 3, families=["f", "f", "g"])
    assert row(frame, Mean("score", weight="family"), population="these_cases")["estimate"] == 0.5
    assert row(frame, population="these_cases")["estimate"] == pytest.approx(2 / 3)


def test_what_has_no_interval_for_these_cases_says_so():
    panel = Panel(records([3, 2], 3), population="these_cases")
    with pytest.raises(PairstatsError, match="not for all_correct"):
        estimate(panel, AllCorrect())
    with pytest.raises(PairstatsError, match="resamples families"):
        estimate(panel, Mean("score"), interval="percentile")
    with pytest.raises(PairstatsError, match="hold 0 or 1"):
        estimate(Panel(records([3, 2], 3).assign(score=0.5), population="these_cases"), Mean("score"))
    both = Panel(pd.concat([records([3, 2], 3), records([1, 2], 3, model="n")]), population="these_cases")
    with pytest.raises(PairstatsError, match=r"declares 'these_cases'.*contrast\(\) with Pairwise"):
        rank(both, Mean("score"))
    with pytest.raises(PairstatsError, match="not for all_correct"):
        contrast(both, AllCorrect(), Pairwise("model"))
    with pytest.raises(PairstatsError, match="declares 'these_cases'"):
        flip_table(Panel(records([3, 2], 3).assign(answer="A"), population="these_cases"))
    with pytest.raises(PairstatsError, match="population"):
        Panel(records([1], 1), population="cases")


def test_a_population_is_asked_for_below_ten_families_unless_declared():
    asked = "read as a claim about families beyond these 7"
    assert asked in row(records([1] * 6 + [0], 1))["note"]
    assert asked not in row(records([1] * 6 + [0], 1), population="families")["note"]
    assert row(records([1] * 9 + [0], 1))["note"] is None
    both = pd.concat([records([1] * 6 + [0], 1), records([0] * 7, 1, model="n")])
    assert asked in contrast(Panel(both), Mean("score"), Pairwise("model")).frame["note"].item()
    assert Panel(both).where(model="n").by(()).population_declared is False


def test_both_weights_are_printed_where_they_part():
    sizes = [1] * 12 + [20]
    rows = [
        {"family": f"f{f}", "item": f"{f}.{i}", "model": "m", "score": float(f == 12 or f < 4)}
        for f, n in enumerate(sizes)
        for i in range(n)
    ]
    frame = pd.DataFrame(rows)
    assert "family-weighted: 0.385" in row(frame)["note"]  # 5 of 13 families against 24 of 32 items
    assert "item-weighted: 0.750" in row(frame, Mean("score", weight="family"))["note"]
    both = pd.concat([frame, frame.assign(model="n", score=0.0)])
    note = contrast(Panel(both), Mean("score"), Pairwise("model")).frame["note"].item()
    assert "family-weighted: 0.385" in note
    near = frame.assign(score=[float(i % 2) for i in range(len(frame))])
    gap = abs(near["score"].mean() - near.groupby("family")["score"].mean().mean())
    found = row(near)
    assert ("family-weighted" in (found["note"] or "")) == (gap > 0.25 * found["std_error"])


# Differences -------------------------------------------------------------------------------------------


def exchanged(first, second, weights):
    """P-values by listing every way to share the replies to each case out to the two systems."""
    scale = np.asarray(weights, dtype=float) / np.sum(weights)
    values = [0.0]
    observed = 0.0
    for (a, k), (b, m), w in zip(first, second, scale, strict=True):
        replies = [1] * (a + b) + [0] * (k + m - a - b)
        gaps = [
            w * (sum(replies[i] for i in own) / k - (sum(replies) - sum(replies[i] for i in own)) / m)
            for own in itertools.combinations(range(k + m), k)
        ]
        values = [v + g for v in values for g in gaps]
        observed += w * (a / k - b / m)
    drawn = np.array(values)
    return {
        "two-sided": np.mean(np.abs(drawn) >= abs(observed) - 1e-9),
        "greater": np.mean(drawn >= observed - 1e-9),
        "less": np.mean(drawn <= observed + 1e-9),
    }


@pytest.mark.parametrize("weights", [[1, 1, 1], [2, 1, 3]])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_the_exact_p_is_that_of_all_exchanges(weights, alternative):
    first, second = [(3, 3), (2, 3), (2, 2)], [(1, 3), (0, 2), (1, 3)]
    found = these_cases_difference(
        *zip(*first, strict=True), *zip(*second, strict=True), weights=weights, alternative=alternative
    )
    assert found.test == "exact"
    assert found.p_value == pytest.approx(exchanged(first, second, weights)[alternative], rel=1e-12)
    assert found.p_floor <= found.p_value
    drawn = these_cases_difference(
        [9] * 40, 10, [8] * 40, 10, weights=np.sqrt(np.arange(1, 41)), alternative=alternative
    )
    assert (drawn.test, drawn.seed is None, drawn.mc_error > 0) == ("monte-carlo", False, True)
    normal = stats.norm.sf(
        (0.1 / math.sqrt(2 * 0.85 * 0.15 / 10)) / math.sqrt(np.sum(np.arange(1, 41)))
        * np.sum(np.sqrt(np.arange(1, 41)))
    )  # fmt: skip
    expected = {"two-sided": 2 * normal, "greater": normal, "less": 1 - normal}[alternative]
    assert drawn.p_value == pytest.approx(expected, abs=0.002)


def test_one_reply_to_each_case_is_mcnemar():
    both, first, second, neither = 5, 7, 2, 3
    a = [1] * (both + first) + [0] * (second + neither) + [1, 0]
    b = [1] * both + [0] * first + [1] * second + [0] * neither + [1, 0]
    # The last two cases have two replies of each that agree: they add nothing to the test.
    repeats = [1] * (len(a) - 2) + [2, 2]
    found = these_cases_difference([*a[:-2], 2, 0], repeats, [*b[:-2], 2, 0], repeats)
    assert found.p_value == pytest.approx(mcnemar(first, second).p_value, rel=1e-12)


def test_the_difference_turns_round_and_has_the_variance_of_both():
    one, two = these_cases_interval([9, 8, 6], 9), these_cases_interval([5, 7, 2], 9)
    found, back = (
        these_cases_difference(a, 9, b, 9) for a, b in (([9, 8, 6], [5, 7, 2]), ([5, 7, 2], [9, 8, 6]))
    )
    assert found.std_error == pytest.approx(math.hypot(one.std_error, two.std_error))
    assert (found.low, found.high) == (pytest.approx(-back.high), pytest.approx(-back.low))
    assert found.p_value == pytest.approx(back.p_value, rel=1e-12)
    assert found.estimate == pytest.approx(one.estimate - two.estimate)
    lower = these_cases_difference([9, 8, 6], 9, [5, 7, 2], 9, alternative="greater", confidence_level=0.975)
    assert lower.low == pytest.approx(found.low)


@pytest.mark.parametrize("method", ["wilson", "clopper-pearson"])
def test_coverage_of_the_difference_by_enumeration(method):
    rates, others, repeats = [0.9, 0.5], [0.7, 0.2], 4
    laws = [stats.binom.pmf(np.arange(repeats + 1), repeats, p) for p in (*rates, *others)]
    covered = 0.0
    for counts in np.ndindex(*(repeats + 1,) * 4):
        chance = math.prod(law[n] for law, n in zip(laws, counts, strict=True))
        found = these_cases_difference(counts[:2], repeats, counts[2:], repeats, method=method)
        covered += chance * (found.low <= np.mean(rates) - np.mean(others) <= found.high)
    assert covered >= (0.95 if method == "clopper-pearson" else 0.93)


def test_size_of_the_exact_test_by_enumeration():
    rates, repeats = [0.8, 0.3], 4
    laws = [stats.binom.pmf(np.arange(repeats + 1), repeats, p) for p in (*rates, *rates)]
    rejected = 0.0
    for counts in np.ndindex(*(repeats + 1,) * 4):
        chance = math.prod(law[n] for law, n in zip(laws, counts, strict=True))
        rejected += chance * (
            these_cases_difference(counts[:2], repeats, counts[2:], repeats).p_value <= 0.05
        )
    assert 0 < rejected <= 0.05


def pair(**panel):
    frame = pd.concat([records([9, 8, 6, 9], 9), records([5, 7, 2, 8], 9, model="n")])
    return Panel(frame, population="these_cases", **panel)


def test_contrast_conditions_on_the_cases():
    oracle = these_cases_difference([9, 8, 6, 9], 9, [5, 7, 2, 8], 9)
    found = next(iter(contrast(pair(), Mean("score"), Pairwise("model"))))
    assert (found["conf_low"], found["conf_high"]) == (oracle.low, oracle.high)
    assert (found["p_value"], found["p_floor"]) == (oracle.p_value, oracle.p_floor)
    assert (found["n_units"], found["n_families"], found["population"]) == (4, 4, "these_cases")
    assert "conditional on these 4 cases, 9 replies" in found["note"]
    back = next(iter(contrast(pair(), Mean("score"), Versus("model", "m", "n"))))
    assert back["estimate"] == -found["estimate"]
    assert back["p_value"] == found["p_value"]
    plain = next(iter(contrast(Panel(pair().rows().collect().to_pandas()), Mean("score"), Pairwise("model"))))
    assert plain["p_value"] >= 0.125  # four families cannot tell, these cases can


def test_averages_over_models_are_of_these_cases_too():
    frames = [
        records(right, 9, model=model).assign(condition=condition)
        for model, condition, right in (
            ("m", "new", [9, 8]), ("m", "old", [5, 7]), ("n", "new", [9, 9]), ("n", "old", [8, 3]),
        )
    ]  # fmt: skip
    panel = Panel(pd.concat(frames), cells=("model", "condition"), population="these_cases")
    found = next(iter(contrast(panel, Mean("score"), Versus("condition", "old", "new"), average="model")))
    oracle = these_cases_difference([9, 8, 9, 9], 9, [5, 7, 8, 3], 9)
    assert found["estimate"] == pytest.approx(oracle.estimate)
    assert (found["conf_low"], found["p_value"]) == (pytest.approx(oracle.low), pytest.approx(oracle.p_value))
    doses = Trend("condition", {"new": 0, "old": 1, "mid": 3})
    three = pd.concat(
        [
            *frames,
            records([1, 2], 9).assign(condition="mid"),
            records([1, 2], 9, model="n").assign(condition="mid"),
        ]
    )
    with pytest.raises(PairstatsError, match="not a Trend"):
        contrast(Panel(three, cells=("model", "condition"), population="these_cases"), Mean("score"), doses)


CELLS = (("m", "new"), ("m", "old"), ("n", "new"), ("n", "old"))


def crossed(counts, repeats, **panel):
    """Right replies of every cell to every case, as a panel of two models by two conditions."""
    frames = [
        records(right, repeats, model=model).assign(condition=condition)
        for (model, condition), right in zip(CELLS, counts, strict=True)
    ]
    return Panel(pd.concat(frames), cells=("model", "condition"), population="these_cases", **panel)


def interaction(counts, repeats, **options):
    asked = Interaction(Versus("condition", "old", "new"), "model", "m", "n")
    return next(iter(contrast(crossed(counts, repeats), Mean("score"), asked, **options)))


def listed_interaction(counts, k):
    """P-values by listing every way in which each model's replies to each case are shared out to its conditions."""
    signs, values, observed, n = (1, -1), [0.0], 0.0, len(counts[0])
    for case in range(n):
        for sign, (new, old) in zip(signs, (counts[:2], counts[2:]), strict=True):
            total = new[case] + old[case]
            replies = [1] * total + [0] * (2 * k - total)
            gaps = [
                sign * (2 * sum(replies[i] for i in own) - total) / k / n
                for own in itertools.combinations(range(2 * k), k)
            ]
            values = [v + g for v in values for g in gaps]
            observed += sign * (new[case] - old[case]) / k / n
    drawn = np.array(values)
    return observed, {
        "two-sided": np.mean(np.abs(drawn) >= abs(observed) - 1e-9),
        "greater": np.mean(drawn >= observed - 1e-9),
        "less": np.mean(drawn <= observed + 1e-9),
    }


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize(
    "counts",
    [([3, 2], [0, 1], [1, 1], [2, 1]), ([3, 3], [3, 3], [0, 1], [3, 2]), ([1, 2], [1, 2], [2, 1], [2, 1])],
)
def test_an_interaction_is_tested_by_all_exchanges_within_each_model(counts, alternative):
    found = interaction(counts, 3, alternative=alternative)
    observed, oracle = listed_interaction(counts, 3)
    assert found["estimate"] == pytest.approx(observed)
    assert found["p_value"] == pytest.approx(oracle[alternative], rel=1e-12)
    mirrored = {"less": "greater", "greater": "less"}.get(alternative, alternative)
    back = interaction([counts[2], counts[3], counts[0], counts[1]], 3, alternative=mirrored)
    assert (back["estimate"], back["p_value"]) == pytest.approx((-observed, found["p_value"]))
    assert (back["conf_low"], back["conf_high"]) == pytest.approx((-found["conf_high"], -found["conf_low"]))


def test_limits_of_an_interaction_are_twice_those_of_its_two_sides():
    counts = [9, 8, 6], [5, 7, 2], [4, 9, 3], [6, 9, 9]
    found = interaction(counts, 9)
    sides = [*counts[0], *counts[3]], [*counts[1], *counts[2]]
    oracle = these_cases_difference(sides[0], 9, sides[1], 9)
    assert (found["conf_low"], found["conf_high"]) == pytest.approx((2 * oracle.low, 2 * oracle.high))
    spread = sum(np.sum(np.array(c) * (9 - np.array(c))) / 81 / 8 for c in counts) / 9
    assert found["std_error"] == pytest.approx(math.sqrt(spread))
    assert "conservative where both groups show one effect" in found["note"]
    assert (found["n_units"], found["population"]) == (3, "these_cases")


@pytest.mark.parametrize(
    "chances",
    [
        (0.5, 0.5, 0.5, 0.5),
        (0.9, 0.5, 0.9, 0.5),
        (0.8, 0.4, 0.6, 0.2),
        (0.95, 0.55, 0.5, 0.1),
        (1, 0.6, 0.4, 0),
    ],
)
def test_size_and_coverage_of_an_interaction_by_enumeration(chances):
    k, alpha = 4, 0.1
    laws = [stats.binom.pmf(np.arange(k + 1), k, p) for p in chances]
    rejected = covered = 0.0
    for counts in itertools.product(range(k + 1), repeat=4):
        chance = math.prod(law[n] for law, n in zip(laws, counts, strict=True))
        if chance == 0:
            continue
        (m_new, m_old, n_new, n_old) = counts
        found = these_cases_difference([m_new, n_old], k, [m_old, n_new], k, confidence_level=0.9)
        rejected += chance * (found.p_value <= alpha)
        covered += chance * (2 * found.low - 1e-9 <= 0 <= 2 * found.high + 1e-9)
    assert rejected <= alpha + 1e-9
    assert covered >= 0.88


def test_a_slope_over_two_doses_is_their_scaled_difference():
    counts = [9, 8], [5, 7], [9, 9], [8, 3]
    panel = crossed(counts, 9).where(model="m")
    slope = next(iter(contrast(panel, Mean("score"), Trend("condition", {"old": 0, "new": 4}))))
    pair = next(iter(contrast(panel, Mean("score"), Versus("condition", "old", "new"))))
    for name in ("estimate", "conf_low", "conf_high", "std_error"):
        assert slope[name] == pytest.approx(pair[name] / 4)
    assert slope["p_value"] == pair["p_value"]


def test_claims_about_an_interaction_are_judged_at_its_scale():
    from pairstats.infer import compared

    asked = Interaction(Versus("condition", "old", "new"), "model", "m", "n")
    counts = [9, 9, 9], [9, 9, 9], [9, 9, 9], [9, 9, 9]
    rows = compared(crossed(counts, 9), Mean("score"), asked).compared
    limit = these_cases_difference(
        [9] * 6, 9, [9] * 6, 9, method="clopper-pearson", confidence_level=0.9
    ).high
    for margin, verdict in ((2 * limit + 0.01, "equivalent"), (2 * limit - 0.01, "inconclusive")):
        [found] = judge(rows, [Claim("equivalence", margin)])
        assert found.compared.row["verdict"] == verdict


def test_claims_about_these_cases_are_judged_by_replies():
    from pairstats.infer import compared

    found = compared(pair(), Mean("score"), Pairwise("model")).compared
    [better] = judge(found, [Claim("superiority")])
    assert better.compared.row["verdict"] == "superior"
    [worse] = judge(found, [Claim("noninferiority", 0.1)])
    exact = these_cases_difference([9, 8, 6, 9], 9, [5, 7, 2, 8], 9, method="clopper-pearson")
    assert worse.compared.row["verdict"] == "noninferior"
    assert worse.compared.row["conf_low"] == pytest.approx(exact.low)
    assert "Clopper-Pearson limits on replies" in worse.compared.row["method"]
    few = pd.concat([records([2], 2), records([0], 2, model="n")])
    one = compared(Panel(few, population="these_cases"), Mean("score"), Pairwise("model")).compared
    [vain] = judge(one, [Claim("superiority")])
    assert vain.compared.row["verdict"] == "not estimable"
    assert "these replies cannot give a p below 0.333" in vain.compared.row["note"]


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (([3, 2], 3, [1], 3), "same cases"),
        (([3, 2], 3, [1, 4], 3), "0 <= other_correct"),
        (([1, 0], 1, [1, 0], 1), "at least two replies"),
        (([1, 0], [2, 2, 2], [1, 0], 2), "one for each of the 2 cases"),
    ],
)
def test_counts_of_two_systems_that_do_not_fit(arguments, match):
    with pytest.raises(PairstatsError, match=match):
        these_cases_difference(*arguments)
