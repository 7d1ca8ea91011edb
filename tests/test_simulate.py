"""Simulated records: their rates, correlations and truths against theory and against the estimators."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from pairstats import AllCorrect, Brier, FlipRate, Mean, Panel, estimate
from pairstats.errors import PairstatsError
from pairstats.numeric.copula import FamilyCopula, both_right, latent_correlation
from pairstats.simulate import StatedConfidence, cell_correlations, cell_rates, simulate_records

RATES = {"a": {"x": 0.9, "y": 0.7}, "b": {"x": 0.5, "y": 0.6}}
DESIGN = {
    "rates": RATES, "factors": ("model", "condition"), "families": 4000, "copies": 3, "repeats": 2, "icc": 0.3,
    "rho": {"model": 0.3, "condition": 0.8}, "instability": 0.4,
}  # fmt: skip


@pytest.mark.parametrize(
    ("p", "q", "latent"), [(0.6, 0.9, 0.5), (0.6, 0.9, 0.97), (0.5, 0.2, 0.1), (0.7, 0.7, 0.6)]
)
def test_both_right_is_the_bivariate_normal(p: float, q: float, latent: float) -> None:
    # Oracle: scipy's bivariate normal distribution function, to 1e-7 (its own error).
    oracle = stats.multivariate_normal([0, 0], [[1, latent], [latent, 1]]).cdf(stats.norm.ppf([p, q]))
    assert both_right(p, q, latent) == pytest.approx(oracle, abs=1e-7)


@pytest.mark.parametrize("correlation", [0.0, 0.05, 0.4, 0.9, 1.0])
@pytest.mark.parametrize("rate", [0.02, 0.5, 0.97])
def test_latent_correlation_gives_the_binary_one(rate: float, correlation: float) -> None:
    both = both_right(rate, rate, latent_correlation(rate, correlation))
    assert (both - rate**2) / (rate * (1 - rate)) == pytest.approx(correlation, abs=1e-8)


@pytest.mark.parametrize(("instability", "repeats"), [(0.0, 1), (0.5, 2), (1.0, 2)])
def test_rates_and_correlations_come_out(instability: float, repeats: int) -> None:
    # 40,000 families: the standard error of a rate is below .0025, of a correlation below about .01.
    copula = FamilyCopula([0.6, 0.9], icc=0.3, rho=0.7, instability=instability)
    y = copula.scores(copula.draw(40_000, 2, repeats, np.random.default_rng(5)), repeats).astype(float)
    assert y.mean(axis=(0, 2, 3)) == pytest.approx([0.6, 0.9], abs=0.008)
    for cell in (0, 1):
        assert np.corrcoef(y[:, cell, 0, 0], y[:, cell, 1, 0])[0, 1] == pytest.approx(0.3, abs=0.03)
        assert (y[:, cell, :, 0].all(axis=1).mean()) == pytest.approx(copula.all_right(cell, 2), abs=0.01)
        if repeats > 1:
            seen = np.corrcoef(y[:, cell, 0, 0], y[:, cell, 0, 1])[0, 1]
            assert seen == pytest.approx(1 - 0.7 * instability, abs=0.03)
    seen = np.corrcoef(y[:, 0, 0, 0], y[:, 1, 0, 0])[0, 1]
    assert seen == pytest.approx(copula.pair_correlation(0, 1), abs=0.03)


def test_all_right_against_pairs() -> None:
    # Two copies: p^2 + icc p (1 - p), by definition of the correlation.
    copula = FamilyCopula([0.8], icc=0.25)
    assert copula.all_right(0, 2) == pytest.approx(0.64 + 0.25 * 0.16, abs=1e-8)
    assert copula.all_right(0, 1) == pytest.approx(0.8, abs=1e-8)
    assert FamilyCopula([0.8], icc=1.0).all_right(0, 9) == 0.8
    assert FamilyCopula([0.8], icc=0.0).all_right(0, 3) == pytest.approx(0.8**3, abs=1e-8)


def test_estimators_find_the_truth() -> None:
    # Every estimand, every cell: within 4.5 standard errors (24 comparisons).
    made = simulate_records(**DESIGN, missing=0.03, confidence=StatedConfidence(0.5, 0.7), rng=11)
    panel = Panel(made.records, ("model", "condition"))
    estimands = (Mean("score"), AllCorrect(size=3), FlipRate("answer"), FlipRate("score"), Brier())
    for row in itertools.chain(*(estimate(panel, one) for one in estimands)):
        truth = made.design.truth_of((row["model"], row["condition"]))[row["estimand"]]
        assert abs(row["estimate"] - truth) < 4.5 * row["std_error"], (row["estimand"], truth)


def test_missing_calls_are_errors() -> None:
    made = simulate_records(rates={"a": 0.5}, families=2000, missing=0.1, rng=3)
    frame = made.records.frame
    failed = frame["status"] == "error"
    assert failed.mean() == pytest.approx(0.1, abs=0.03)
    assert frame.loc[failed, ["score", "answer"]].isna().all(axis=None)
    assert (frame.loc[failed, "reason"] == "rate_limit").all()
    assert made.records.ledger["error"].item() == failed.sum()


def test_calibrated_confidence() -> None:
    # Stated confidence without overconfidence is right as often as it says, in every tenth: to 4.5 errors.
    made = simulate_records(rates={"a": 0.7}, families=30_000, confidence=StatedConfidence(0.6), rng=4)
    frame = made.records.frame
    bins = (frame["confidence"] * 10).astype(int)
    for _, part in frame.groupby(bins):
        p = part["confidence"].mean()
        error = math.sqrt(p * (1 - p) / len(part)) + 1e-9
        assert abs(part["score"].mean() - p) < 4.5 * error
    assert made.design.truth_of("a")["calibration_gap"] == pytest.approx(0, abs=1e-5)


def test_the_same_seed_gives_the_same_records() -> None:
    small = {"rates": {"a": 0.6, "b": 0.8}, "families": 20, "copies": 2, "icc": 0.4, "rho": 0.5}
    first, second, other = (simulate_records(**small, rng=seed) for seed in (1, 1, 2))
    assert first.records.table.equals(second.records.table)
    assert not first.records.table.equals(other.records.table)


def test_settings_share_their_luck() -> None:
    small = {"rates": {"a": 0.6}, "families": 200, "rng": 1}
    whole = simulate_records(**small).records.frame["score"]
    holed = simulate_records(**small, missing=0.3).records.frame["score"]
    assert (whole[holed.notna()] == holed.dropna()).all()


@pytest.mark.parametrize(("rate", "score"), [(0.0, 0.0), (1.0, 1.0)])
def test_certain_rates(rate: float, score: float) -> None:
    made = simulate_records(
        rates={"a": rate}, families=5, copies=2, icc=0.5, confidence=StatedConfidence(), rng=1
    )
    assert (made.records.frame["score"] == score).all()
    assert made.design.truth_of("a")["flip_rate(score)"] == 0


def test_families_alike_when_icc_is_one() -> None:
    made = simulate_records(rates={"a": 0.5}, families=50, copies=4, icc=1.0, rng=1)
    assert (made.records.frame.groupby("family")["score"].nunique() == 1).all()


def test_differences_and_what_is_not_there() -> None:
    made = simulate_records(rates={"a": 0.9, "b": 0.7}, families=2, rng=1)
    assert made.design.difference("accuracy", "a", "b") == pytest.approx(0.2)
    with pytest.raises(PairstatsError, match="no cell"):
        made.design.truth_of("c")
    with pytest.raises(PairstatsError, match="no truth of 'auroc'"):
        made.design.difference("auroc", "a", "b")


def test_correlations_of_cells_multiply() -> None:
    cells, rates = cell_rates(RATES, ("model", "condition"))
    assert rates.tolist() == [0.9, 0.7, 0.5, 0.6]
    matrix = cell_correlations(cells, ("model", "condition"), {"model": 0.5, "condition": 0.8})
    assert matrix[0].tolist() == [1, 0.8, 0.5, 0.4]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"rates": {"a": 1.2}}, r"rate of a must be a number in \[0, 1\]"),
        ({"rates": {"a": {"x": 0.5}}}, "rate of a must be a number"),
        ({"rates": {}}, "Rates must be given for each level"),
        (
            {"rates": {"a": 0.5}, "factors": ("model", "condition")},
            "Write a table of the levels of 'condition'",
        ),
        ({"icc": 1.5}, "`icc` must lie in"),
        ({"rho": -0.1}, "`rho` must lie in"),
        ({"rho": {"colour": 0.5}}, "one number for each of 'model'"),
        ({"instability": 2}, "`instability` must lie in"),
        ({"missing": 2}, "`missing` must lie in"),
        ({"families": 0}, "`families` must be a whole number"),
    ],
)
def test_wrong_designs_are_refused(change: dict, message: str) -> None:
    right = {"rates": {"a": 0.5, "b": 0.6}, "families": 3, "rng": 1}
    with pytest.raises(PairstatsError, match=message):
        simulate_records(**{**right, **change})


def test_confidence_cannot_know_everything() -> None:
    with pytest.raises(PairstatsError, match="discrimination"):
        StatedConfidence(discrimination=1.0)
