"""The betting interval: its definition, its guarantee by simulation, and its indifference to row order."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pairstats.errors import PairstatsError
from pairstats.numeric import betting_interval, family_interval


def brute_low(x, alpha):
    """Lower limit by a grid of candidates and a loop over families, as in the paper."""
    grid = np.linspace(1e-4, 1 - 1e-4, 2000)
    stake, best = np.ones(grid.size), np.ones(grid.size)
    total, squares = 0.5, 0.25
    for t, value in enumerate(x, start=1):
        variance = squares / t
        bet = np.minimum(np.sqrt(2 * np.log(1 / alpha) / (len(x) * variance)), 0.5 / grid)
        stake = stake * (1 + bet * (value - grid))
        best = np.maximum(best, stake)
        total += value
        squares += (value - total / (t + 1)) ** 2
    accepted = grid[best < 1 / alpha]
    return accepted.min()


def test_it_is_the_hedged_capital_of_the_paper():
    x = np.random.default_rng(2).beta(5, 1, 40)
    found = betting_interval(x, order="given")
    assert_allclose(found.low, brute_low(x, 0.025), atol=6e-4)
    assert_allclose(found.high, 1 - brute_low(1 - x, 0.025), atol=6e-4)


@pytest.mark.parametrize("rate", [0.5, 0.9])
def test_it_covers_at_least_its_level(rate):
    rng = np.random.default_rng(4)
    missed = 0
    for _ in range(300):
        found = betting_interval(rng.binomial(2, rate, 30) / 2, confidence_level=0.9)
        missed += not found.low <= rate <= found.high
    assert missed / 300 <= 0.1  # the nominal error; measured about .02


def test_it_is_wider_than_family_cp_and_shrinks():
    rng = np.random.default_rng(5)
    widths = []
    for families in (20, 80, 320):
        x = rng.binomial(4, 0.8, families) / 4
        betting, cp = betting_interval(x), family_interval(x, kind="cp")
        assert betting.high - betting.low > cp.high - cp.low
        widths.append(betting.high - betting.low)
    assert widths[0] > widths[1] > widths[2]


def test_row_order_means_nothing_unless_it_is_given():
    x = np.random.default_rng(6).binomial(3, 0.7, 25) / 3
    first, again = betting_interval(x), betting_interval(x[::-1])
    assert (first.low, first.high, first.seed) == (again.low, again.high, again.seed)
    up, down = betting_interval(np.sort(x), order="given"), betting_interval(np.sort(x)[::-1], order="given")
    assert up.low != down.low
    assert up.seed is None


def test_mirrored_scores_mirror_the_limits():
    x = np.random.default_rng(7).random(30)
    up, down = betting_interval(x, order="given"), betting_interval(-x, bounds=(-1, 0), order="given")
    assert_allclose([down.low, down.high], [-up.high, -up.low], atol=1e-12)


def test_sizes_weigh_and_the_largest_can_be_planned():
    x, n = np.array([1.0, 0.5, 1.0, 0.75] * 8), np.array([1.0, 2.0, 1.0, 4.0] * 8)
    found, planned = betting_interval(x, sizes=n), betting_interval(x, sizes=n, largest_size=8)
    assert planned.high - planned.low >= found.high - found.low
    same = betting_interval(x, sizes=[3] * 32)
    plain = betting_interval(x, sizes=None)
    # Another size is other data for the digest, but not for the bets.
    assert_allclose(same.low, betting_interval(x, sizes=[3] * 32, rng=plain.seed).low, atol=0.02)
    with pytest.raises(PairstatsError, match="largest_size"):
        betting_interval(x, sizes=n, largest_size=2)


def test_edges():
    one = betting_interval([1.0])
    assert (one.low, one.high) == (0.0, 1.0)
    perfect = betting_interval([1.0] * 50)
    assert perfect.high == 1.0
    assert 0.8 < perfect.low < 0.025 ** (1 / 50)
    one_sided = betting_interval([1.0] * 50, alternative="less")
    assert one_sided.low == 0.0
    with pytest.raises(PairstatsError, match="empty"):
        betting_interval([])
