"""Repeats of a model: how many to buy, pass@k and pass^k, and repeats that are copies of one reply."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pairstats.errors import PairstatsError, listed
from pairstats.numeric.checks import as_count, as_scores, plain_list
from pairstats.numeric.flips import is_missing

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RepeatPlan:
    """How many repeats are worth their price.

    Attributes
    ----------
    best : float
        Repeats of each item that narrow the interval most for the money, where items can be bought too;
        infinite where the items do not differ.
    enough : int or None
        Fewest repeats at which repeat noise is below a quarter of the variance between items; beyond them
        only more families help. None where the items do not differ.
    """

    best: float
    enough: int | None


@dataclass(frozen=True, slots=True)
class PassRate:
    """Estimate of pass@k or pass^k.

    Attributes
    ----------
    estimate : float
        Mean over the items.
    scores : ndarray of float, shape (n,)
        Unbiased estimate for each item, in [0, 1]: average them in families for `family_interval`.
    k : int
    """

    estimate: float
    scores: Floats
    k: int


@dataclass(frozen=True, slots=True)
class CopiedRepeats:
    """Repeats whose text is the same.

    Attributes
    ----------
    n_items : int
        Items with at least two replies.
    n_identical : int
        Items all replies of which are the same text.
    share_identical_pairs : float
        Pairs of replies to one item that are the same text, over all pairs; NaN without a pair.
    copied_columns : tuple of (int, int)
        Pairs of repeats that are the same text in every item that has both (two items at least): one run
        under two numbers, or a cache.
    distinct_repeats : int
        Repeats left when copied ones are counted once.
    """

    n_items: int
    n_identical: int
    share_identical_pairs: float
    copied_columns: tuple[tuple[int, int], ...]
    distinct_repeats: int


def repeats_to_buy(
    var_item: float, var_repeat: float, *, cost_item: float = 1.0, cost_repeat: float = 1.0
) -> RepeatPlan:
    r"""How many repeats of each item to buy, from the variance components of a pilot.

    Use it with a pilot of two or more repeats. Not to narrow a claim about other items beyond them: only more
    families do, as `repeat_variance` shows.

    Parameters
    ----------
    var_item, var_repeat : float
        Components, as from `repeat_variance`; a negative `var_item` counts as 0.
    cost_item, cost_repeat : float
        Price of a new item, and of one more reply to an item. Positive.

    Returns
    -------
    RepeatPlan

    Notes
    -----
    :math:`K^* = \sqrt{(c_{item} / c_{rep})\, \sigma^2_{rep} / \sigma^2_{item}}`. For a set of items that is
    fixed, the smallest K with :math:`\sigma^2_{rep} / K < \sigma^2_{item} / 4`.

    References
    ----------
    Miller, E. (2024). Adding error bars to evals. arXiv:2411.00640.

    Examples
    --------
    >>> repeats_to_buy(0.05, 0.2, cost_item=9)
    RepeatPlan(best=6.0, enough=17)
    """
    for name, price in (("cost_item", cost_item), ("cost_repeat", cost_repeat)):
        if not (math.isfinite(price) and price > 0):
            raise PairstatsError(f"`{name}` must be a positive number, but got {price!r}. Pass a price.")
    if not (math.isfinite(var_item) and var_repeat >= 0):
        raise PairstatsError(
            f"`var_item` must be a number and `var_repeat` at least 0, but got {var_item!r} and "
            f"{var_repeat!r}. Pass the components of `repeat_variance`."
        )
    if var_repeat == 0:
        return RepeatPlan(1.0, 1)
    if var_item <= 0:
        return RepeatPlan(math.inf, None)
    best = math.sqrt(cost_item / cost_repeat * var_repeat / var_item)
    # Strictly below a quarter, in spite of rounding.
    return RepeatPlan(max(1.0, best), math.floor(4 * var_repeat / var_item * (1 + 1e-12)) + 1)


def pass_at_k(n_correct: ArrayLike, n_repeats: ArrayLike, *, k: int) -> PassRate:
    r"""Probability that at least one of k replies is right, unbiased.

    Use it where one of k replies may be picked by a check that knows the answer. Not for one reply, nor for
    all k (`pass_hat_k`).

    Raising the success rate to a power instead, ``1 - (1 - c/n)^k``, is biased.

    Parameters
    ----------
    n_correct, n_repeats : array_like of int, shape (n,)
        Right replies, and replies, of each item; one number for all `n_repeats` will do.
    k : int
        At most the number of replies of every item.

    Returns
    -------
    PassRate

    Notes
    -----
    :math:`1 - \binom{n-c}{k} / \binom{n}{k}` for each item: the share of the sets of k of its n replies in
    which one is right.

    References
    ----------
    Chen, M. et al. (2021). Evaluating large language models trained on code. arXiv:2107.03374.

    Examples
    --------
    >>> pass_at_k([3, 0, 10], 10, k=2).scores.round(4).tolist()
    [0.5333, 0.0, 1.0]
    """
    correct, repeats = _counts(n_correct, n_repeats, k)
    return _rate(1.0 - _share_of_sets(repeats - correct, repeats, k), k)


def pass_hat_k(n_correct: ArrayLike, n_repeats: ArrayLike, *, k: int) -> PassRate:
    r"""Probability that all of k replies are right (pass^k), unbiased.

    Use it where every one of k replies must be right. Not for the best of k (`pass_at_k`), nor for copies of
    an item, which `number_correct` covers.

    Parameters
    ----------
    n_correct, n_repeats, k
        As in `pass_at_k`.

    Returns
    -------
    ndarray of float
        As in `pass_at_k`.

    Notes
    -----
    :math:`\binom{c}{k} / \binom{n}{k}` for each item.

    References
    ----------
    Yao, S. et al. (2024). tau-bench. arXiv:2406.12045.

    Examples
    --------
    >>> pass_hat_k([3, 0, 10], 10, k=2).scores.round(4).tolist()
    [0.0667, 0.0, 1.0]
    """
    correct, repeats = _counts(n_correct, n_repeats, k)
    return _rate(_share_of_sets(correct, repeats, k), k)


def copied_repeats(replies: Sequence[Sequence[object]]) -> CopiedRepeats:
    """Find repeats that are copies of one reply, which say nothing about noise.

    Use it before repeats are used as a noise estimate: a cache, or a fixed seed, gives the same text again.
    Not on parsed answers, for equal answers alone are no copy; for how often they agree see
    `retest_agreement`.

    Parameters
    ----------
    replies : sequence of sequences, shape (n, K)
        Text of each item in each repeat; None or NaN where there is none.

    Returns
    -------
    CopiedRepeats

    Notes
    -----
    An item counts where all its texts are equal, character by character.

    References
    ----------
    Miller, E. (2024). Adding error bars to evals. arXiv:2411.00640.

    Examples
    --------
    >>> found = copied_repeats([["Paris.", "Paris.", "It is Paris."], ["4", "4", "4"]])
    >>> found.n_identical, found.copied_columns, found.distinct_repeats
    (1, ((0, 1),), 2)
    """
    rows = [[None if is_missing(text) else text for text in row] for row in plain_list(replies)]
    width = len(rows[0]) if rows else 0
    uneven = [i for i, row in enumerate(rows) if len(row) != width]
    if uneven or width == 0:
        raise PairstatsError(
            f"`replies` must have one entry for each repeat of every item, but items {listed(uneven)} "
            f"differ from the first, which has {width}. Put None where there is no reply."
        )
    pairs = [(a, b) for a in range(width) for b in range(a + 1, width)]
    both = {pair: [(row[pair[0]], row[pair[1]]) for row in rows] for pair in pairs}
    both = {pair: [t for t in texts if None not in t] for pair, texts in both.items()}
    equal = {pair: sum(a == b for a, b in texts) for pair, texts in both.items()}
    n_pairs = sum(map(len, both.values()))
    copied = tuple(pair for pair in pairs if equal[pair] == len(both[pair]) >= 2)
    present = [[text for text in row if text is not None] for row in rows]
    several = [row for row in present if len(row) >= 2]
    return CopiedRepeats(
        n_items=len(several),
        n_identical=sum(all(text == row[0] for text in row) for row in several),
        share_identical_pairs=sum(equal.values()) / n_pairs if n_pairs else math.nan,
        copied_columns=copied,
        distinct_repeats=width - len({b for _, b in copied}),
    )


def _counts(n_correct: ArrayLike, n_repeats: ArrayLike, k: int) -> tuple[Floats, Floats]:
    correct = as_scores("n_correct", n_correct)
    repeats = as_scores("n_repeats", np.broadcast_to(np.asarray(n_repeats), correct.shape))
    size = as_count("k", k, minimum=1)
    whole = (correct == np.rint(correct)) & (repeats == np.rint(repeats))
    wrong = np.flatnonzero(~whole | (correct < 0) | (correct > repeats))
    if wrong.size:
        raise PairstatsError(
            "Each item must have whole numbers with 0 <= n_correct <= n_repeats, but positions "
            f"{listed(wrong.tolist())} have not. Pass counts of right replies, then of replies."
        )
    few = np.flatnonzero(repeats < size)
    if few.size:
        raise PairstatsError(
            f"Every item must have at least k = {size} replies, but positions {listed(few.tolist())} have "
            "fewer. Lower `k`, or leave these items out and count them."
        )
    return correct, repeats


def _share_of_sets(chosen: Floats, repeats: Floats, k: int) -> Floats:
    """Share of the sets of k of n replies that hold chosen ones only; a product, free of overflow."""
    share = np.ones(chosen.size)
    for drawn in range(int(k)):
        share *= np.maximum(chosen - drawn, 0.0) / (repeats - drawn)
    return share


def _rate(scores: Floats, k: int) -> PassRate:
    return PassRate(float(scores.mean()), scores, int(k))
