"""Variance components, design effects and repeats against R, and against their definitions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from conftest import reference
from numpy.testing import assert_allclose

from pairstats.errors import PairstatsError
from pairstats.numeric import (
    copied_repeats,
    crossed_variance,
    design_effect,
    effective_families,
    pass_at_k,
    pass_hat_k,
    repeat_variance,
    repeats_to_buy,
    variance_components,
)


@pytest.mark.parametrize("vector", reference("variance_components", "repeat_variance"))
def test_items_and_repeats_as_in_r(vector):
    table, expected = np.array(vector["inputs"]["items_by_repeats"]), vector["expected"]
    found = repeat_variance(table)
    names = {
        "mean": "mean",
        "ms_between": "ms_between",
        "ms_within": "ms_within",
        "var_repeat": "var_within_repeat",
        "var_item": "var_between_item",
        "icc": "icc",
        "std_error": "se_mean",
        "std_error_many_repeats": "se_infinite_repeats",
        "std_error_one_repeat": "se_one_repeat",
        "std_error_these_items": "fixed_item_se",
    }
    for ours, theirs in names.items():
        assert_allclose(getattr(found, ours), expected[theirs], rtol=1e-12, atol=1e-14, err_msg=ours)
    if expected["reml_between"] > 0:  # balanced and positive: REML agrees with the analysis of variance
        assert_allclose(
            [found.var_item, found.var_repeat],
            [expected["reml_between"], expected["reml_within"]],
            atol=vector["tolerance"],
        )
    n, k = table.shape
    nested = variance_components(table.ravel(), [np.repeat(np.arange(n), k)])
    assert_allclose(nested.components, [found.var_item, found.var_repeat], atol=1e-14)
    assert_allclose(nested.mean_squares, [found.ms_between, found.ms_within], atol=1e-14)


@pytest.mark.parametrize("vector", reference("variance_components", "paired_variance"))
def test_paired_items_as_in_r(vector):
    first, second = (np.array(vector["inputs"][m], dtype=float) for m in ("model_a", "model_b"))
    expected = vector["expected"]
    gap = repeat_variance(first - second)
    assert_allclose(gap.std_error, expected["se_paired"], rtol=1e-12)
    assert_allclose(abs(gap.mean), abs(expected["difference"]), atol=1e-12)
    alone = math.hypot(repeat_variance(first).std_error, repeat_variance(second).std_error)
    assert_allclose(alone, expected["se_unpaired"], rtol=1e-12)


@pytest.mark.parametrize("vector", reference("variance_components", "anova"))
def test_crossed_design_as_in_r(vector):
    inputs, expected = vector["inputs"], vector["expected"]
    table = np.zeros((4, 3, 3))
    seen: dict[tuple[int, int], int] = {}
    for y, item, framing in zip(inputs["y"], inputs["item"], inputs["framing"], strict=True):
        place = seen.get((item, framing), 0)
        table[item - 1, framing - 1, place] = y
        seen[item, framing] = place + 1
    found = crossed_variance(table)
    assert_allclose(
        [found.ms_case, found.ms_framing, found.ms_interaction, found.ms_repeat],
        [expected[f"ms_{name}"] for name in ("item", "framing", "item_framing", "repeat")],
        rtol=vector["tolerance"],
    )
    assert list(found.df) == expected["df"]
    assert_allclose(found.f_statistic, expected["F_framing_random_items"], rtol=vector["tolerance"])
    assert_allclose(found.p_value, expected["p_framing_random_items"], rtol=vector["tolerance"])


def test_nested_components_are_unbiased_with_unequal_sizes():
    rng = np.random.default_rng(11)
    family, item = [], []
    for f, items in enumerate((1, 2, 4, 3, 5, 2)):
        for i in range(items):
            repeats = (1, 3, 2, 4, 2)[i]
            family += [f] * repeats
            item += [i] * repeats
    truth, found = np.array([2.0, 1.0, 0.5]), []
    family, item = np.array(family), np.array(item)
    key = family * 10 + item
    for _ in range(3000):
        y = rng.normal(0, truth[0] ** 0.5, 6)[family] + rng.normal(0, truth[1] ** 0.5, 60)[key]
        found.append(
            variance_components(y + rng.normal(0, truth[2] ** 0.5, y.size), [family, item]).components
        )
    error = np.std(found, axis=0) / math.sqrt(len(found))
    assert (np.abs(np.mean(found, axis=0) - truth) < 4 * error).all()


def test_a_level_without_degrees_of_freedom_is_nan():
    found = variance_components([1, 0, 1, 1], [[0, 0, 1, 1], [0, 1, 0, 1]])
    assert found.df.tolist() == [1, 2, 0]
    assert np.isnan(found.components).all()
    assert math.isnan(found.mean_squares[2])
    with pytest.raises(PairstatsError, match="one label for each of the 4 values"):
        variance_components([1, 0, 1, 1], [[0, 1]])


def test_framings_without_interaction_give_no_evidence():
    found = crossed_variance([[[0.0], [1.0]], [[0.0], [1.0]]])
    assert found.p_value == 1.0
    assert math.isinf(found.f_statistic)
    assert math.isnan(found.ms_repeat)
    with pytest.raises(PairstatsError, match="2 cases"):
        crossed_variance([[[0.0, 1.0]]])


def test_repeat_variance_needs_both():
    for shape in ((1, 5), (5, 1)):
        with pytest.raises(PairstatsError, match="at least 2 items and 2 repeats"):
            repeat_variance(np.zeros(shape))
    with pytest.raises(PairstatsError, match="1 are not, the first at"):
        repeat_variance([[0, 1], [float("nan"), 1]])
    assert math.isnan(repeat_variance(np.ones((3, 2))).icc)


@pytest.mark.parametrize("vector", reference("sandwich_survey", "korn_graubard"))
def test_design_effect_as_in_survey(vector):
    y, family = np.array(vector["inputs"]["y"], dtype=float), np.array(vector["inputs"]["family"])
    sizes = np.array([np.sum(family == f) for f in np.unique(family)])
    means = np.array([y[family == f].mean() for f in np.unique(family)])
    found, expected = design_effect(means, sizes=sizes), vector["expected"]
    assert_allclose(found.design_effect, expected["deff"], rtol=1e-9)
    assert_allclose(found.n_effective, min(y.size, expected["n_eff"]), rtol=1e-9)


def test_design_effect_at_its_ends():
    # All-or-none families: every copy repeats the first, icc about 1.
    found = design_effect([1.0] * 50 + [0.0] * 50, sizes=[8] * 100)
    assert_allclose(found.design_effect, 8 * 100 / 99, rtol=1e-12)
    assert_allclose(found.icc, (8 * 100 / 99 - 1) / 7, rtol=1e-12)
    flat = design_effect([1.0] * 12, sizes=[8] * 12)
    assert math.isnan(flat.design_effect)
    assert flat.n_effective == 12
    assert effective_families([3, 3, 3]) == 3
    assert_allclose(effective_families([6, 1, 1]), 64 / 38)


def test_repeats_worth_buying():
    plan = repeats_to_buy(0.05, 0.2, cost_item=4)
    assert plan.best == 4
    assert 0.2 / plan.enough < 0.05 / 4 <= 0.2 / (plan.enough - 1)
    assert repeats_to_buy(-0.01, 0.2) == repeats_to_buy(0, 0.2)
    assert repeats_to_buy(0, 0.2).enough is None
    assert repeats_to_buy(0.2, 0.0).best == 1
    with pytest.raises(PairstatsError, match="cost_repeat"):
        repeats_to_buy(0.1, 0.2, cost_repeat=0)


def test_pass_rates_count_the_sets_of_replies():
    n, k = 7, 3
    for c in range(n + 1):
        right = [1] * c + [0] * (n - c)
        sets = list(itertools.combinations(right, k))
        assert_allclose(pass_at_k([c], [n], k=k).estimate, np.mean([max(s) for s in sets]), atol=1e-14)
        assert_allclose(pass_hat_k([c], n, k=k).estimate, np.mean([min(s) for s in sets]), atol=1e-14)


def test_pass_rates_are_unbiased_where_the_power_is_not():
    n, k, rate = 10, 4, 0.3
    c = np.arange(n + 1)
    mass = np.array([math.comb(n, int(i)) * rate**i * (1 - rate) ** (n - i) for i in c])
    at, hat = pass_at_k(c, n, k=k).scores, pass_hat_k(c, n, k=k).scores
    assert_allclose([mass @ at, mass @ hat], [1 - (1 - rate) ** k, rate**k], rtol=1e-12)
    assert pass_at_k([0], 10_000, k=5000).estimate == 0.0
    with pytest.raises(PairstatsError, match=r"at least k = 4 replies, but positions 1"):
        pass_at_k([1, 1], [4, 3], k=4)
    with pytest.raises(PairstatsError, match="0 <= n_correct <= n_repeats"):
        pass_hat_k([5], [4], k=1)


def test_copies_are_found_by_text_not_by_answer():
    replies = [["a", "a", "b"], ["c", "c", "c"], ["d", "d", None], [None, "e", None]]
    found = copied_repeats(replies)
    assert (found.n_items, found.n_identical) == (3, 2)
    assert found.copied_columns == ((0, 1),)
    assert found.distinct_repeats == 2
    assert_allclose(found.share_identical_pairs, (1 + 3 + 1) / (3 + 3 + 1))
    alone = copied_repeats([["x"], ["y"]])
    assert math.isnan(alone.share_identical_pairs)
    assert copied_repeats([["x"] * 4, ["y"] * 4]).distinct_repeats == 1
    with pytest.raises(PairstatsError, match="one entry for each repeat"):
        copied_repeats([["x", "y"], ["z"]])
