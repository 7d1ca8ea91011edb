"""Adjusted p-values against R and statsmodels, and at the edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import reference
from hypothesis import given, settings
from hypothesis import strategies as st

from pairstats.errors import PairstatsError
from pairstats.numeric.multiplicity import METHODS, adjust, holm

P = st.lists(st.floats(0, 1), min_size=1, max_size=12)


@pytest.mark.parametrize("vector", reference("multiplicity", "p_adjust"))
def test_equals_r(vector: dict[str, Any]) -> None:
    found = adjust(vector["inputs"]["p"], vector["inputs"]["method"].lower())
    np.testing.assert_allclose(found, vector["expected"]["p_adjusted"], atol=1e-12)


@pytest.mark.parametrize("vector", reference("python_misc", "multipletests"))
def test_equals_statsmodels(vector: dict[str, Any]) -> None:
    ours = next(name for name, theirs in METHODS.items() if theirs == vector["inputs"]["method"])
    np.testing.assert_allclose(
        adjust(vector["inputs"]["p"], ours), vector["expected"]["p_adjusted"], atol=1e-10
    )


@settings(max_examples=40, deadline=None, derandomize=True)
@given(p=P, method=st.sampled_from(sorted(METHODS)))
def test_adjusted_values_are_ordered_p_values(p: list[float], method: str) -> None:
    found = adjust(p, method)
    order = np.argsort(p, kind="stable")
    assert (np.diff(found[order]) >= -1e-12).all()
    assert ((found >= np.array(p) - 1e-12) & (found <= 1)).all()
    np.testing.assert_allclose(adjust(p[::-1], method), found[::-1], atol=1e-12)


@settings(max_examples=30, deadline=None, derandomize=True)
@given(p=P)
def test_holm_is_the_closed_bonferroni_test(p: list[float]) -> None:
    # By definition: the largest Bonferroni p of all sets of hypotheses that hold this one.
    k = min(len(p), 7)
    p = p[:k]
    found = holm(p)
    for i in range(k):
        sets = [[j for j in range(k) if mask >> j & 1] for mask in range(1, 2**k) if mask >> i & 1]
        closed = max(min(1.0, len(group) * min(p[j] for j in group)) for group in sets)
        assert found[i] == pytest.approx(closed, abs=1e-12)


@pytest.mark.parametrize("method", sorted(METHODS))
def test_edges(method: str) -> None:
    assert adjust([], method).shape == (0,)
    assert adjust([0.03], method) == pytest.approx([0.03])
    assert adjust([0.0, 1.0, 1.0], method)[1:] == pytest.approx([1, 1])


def test_input_is_left_alone() -> None:
    p = np.array([0.04, 0.01])
    adjust(p, "none")[0] = 9
    holm(p)
    assert p.tolist() == [0.04, 0.01]


@pytest.mark.parametrize(
    ("p", "method", "message"),
    [
        ([0.1, float("nan"), 0.2, float("nan")], "holm", "positions 1, 3 do not"),
        ([0.1, 1.2], "bh", "positions 1 do not"),
        ([-0.1], "none", "positions 0 do not"),
        ([[0.1]], "holm", "one-dimensional"),
        ([0.1], "tukey", "`method` must be one of"),
    ],
)
def test_errors_name_the_positions(p: Any, method: str, message: str) -> None:
    with pytest.raises(PairstatsError, match=message):
        adjust(p, method)
