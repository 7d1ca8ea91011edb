"""Whom a claim is about: the request for a population, the other weights, and the cases at hand alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from pairstats import AllCorrect, Mean, Pairwise, Panel, contrast, estimate, flip_table
from pairstats.errors import PairstatsError
from pairstats.numeric import these_cases_interval


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
    both = pd.concat([records([3, 2], 3), records([1, 2], 3, model="n")])
    with pytest.raises(PairstatsError, match="declares 'these_cases'"):
        contrast(Panel(both, population="these_cases"), Mean("score"), Pairwise("model"))
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
