"""Many contrasts at once equal one contrast at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pairstats.errors import PairstatsError
from pairstats.numeric.exact import sign_flip
from pairstats.numeric.family import family_interval
from pairstats.numeric.fast_contrasts import many_contrasts


def copies(seed: int, contrasts: int, families: int = 40) -> np.ndarray:
    """Differences of means of two copies, from near 0 to near the ceiling."""
    rng = np.random.default_rng(seed)
    rate = np.linspace(0.5, 0.99, contrasts)[:, None, None]
    first, second = (rng.random((contrasts, families, 2)) < rate - gap for gap in (0.0, 0.05))
    return np.asarray((first.mean(axis=2) - second.mean(axis=2)).T)


@pytest.mark.parametrize("kind", ["jeffreys", "cp"])
@pytest.mark.parametrize("side", ["two-sided", "less", "greater"])
@pytest.mark.parametrize("sizes", [None, "unequal"])
def test_equals_the_single_functions(kind: Any, side: str, sizes: str | None) -> None:
    """Limits to 1e-8 of the range, p-values to 1e-9 of themselves."""
    table = copies(1, 12, 20)
    counts = None if sizes is None else np.tile([2.0, 3.0, 5.0, 1.0], 5)
    found = many_contrasts(table, sizes=counts, kind=kind, alternative=side, confidence_level=0.9)
    for j, column in enumerate(table.T):
        one = family_interval(
            column, sizes=counts, kind=kind, bounds=(-1, 1), confidence_level=0.9, alternative=side
        )
        assert (found.low[j], found.high[j]) == pytest.approx((one.low, one.high), abs=1e-8)
        test = sign_flip(column if counts is None else column * counts, alternative=side)
        assert found.p_value[j] == pytest.approx(test.p_value, rel=1e-9)
        assert found.n_nonzero[j] == test.n_nonzero


@pytest.mark.parametrize("kind", ["jeffreys", "cp"])
def test_scores_without_a_lattice_and_tiny_levels(kind: Any) -> None:
    table = np.random.default_rng(2).uniform(-0.9, 1, (15, 5))
    found = many_contrasts(table, kind=kind, confidence_level=1 - 1e-6)
    for j, column in enumerate(table.T):
        one = family_interval(column, kind=kind, bounds=(-1, 1), confidence_level=1 - 1e-6)
        assert (found.low[j], found.high[j]) == pytest.approx((one.low, one.high), abs=1e-8)
        assert found.p_value[j] == pytest.approx(sign_flip(column).p_value, rel=1e-9)


def test_small_p_values_keep_their_digits() -> None:
    found = many_contrasts(np.column_stack([np.ones(100), np.tile([1.0, 1.0, 1.0, -0.5], 25)]))
    assert found.p_value[0] == pytest.approx(2.0**-99, rel=1e-12)
    assert found.p_value[1] == pytest.approx(sign_flip([2, 2, 2, -1] * 25).p_value, rel=1e-9)


@pytest.mark.parametrize("kind", ["jeffreys", "cp"])
@pytest.mark.parametrize("families", [1, 7])
def test_constant_contrasts(kind: Any, families: int) -> None:
    table = np.repeat([[-1.0, 0.0, 0.25, 1.0]], families, axis=0)
    found = many_contrasts(table, kind=kind)
    for j, column in enumerate(table.T):
        one = family_interval(column, kind=kind, bounds=(-1, 1))
        assert (found.low[j], found.high[j]) == pytest.approx((one.low, one.high), abs=1e-8)
    assert (found.low[0], found.high[3], found.p_value[1]) == (-1.0, 1.0, 1.0)


def test_contrasts_do_not_depend_on_their_company() -> None:
    table = copies(3, 30)
    together, alone = many_contrasts(table), many_contrasts(table[:, 4:5])
    assert together.low[4] == pytest.approx(alone.low[0], abs=1e-12)
    mirrored = many_contrasts(-table[::-1])
    assert mirrored.low == pytest.approx(-together.high, abs=1e-9)
    assert mirrored.p_value == pytest.approx(together.p_value, rel=1e-9)


def test_errors_say_what_must_hold() -> None:
    with pytest.raises(PairstatsError, match="row a family"):
        many_contrasts([0.5, 0.0])
    with pytest.raises(PairstatsError, match="must lie in"):
        many_contrasts([[0.5, 2.0]])
    with pytest.raises(PairstatsError, match="`kind` must be one of"):
        many_contrasts([[0.5]], kind="wilson")
    with pytest.raises(PairstatsError, match="row 0, column 1"):
        many_contrasts([[0.5, np.nan]])
