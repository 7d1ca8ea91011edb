"""The choice that a model found likeliest."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Sequence

_OF_ANOTHER_CHOICE = re.compile(r"norm|mutual|pmi|bytes", re.IGNORECASE)
"""Names of scores that judge the choice by something else than its log-likelihood as it is."""


def other_choice(wanted: str | None, scores: Collection[str]) -> str:
    """Say why the likeliest choice is not told beside a score that judges another one; empty where it is.

    Examples
    --------
    >>> other_choice("acc", ["acc", "acc_norm"])
    ''
    >>> other_choice(None, ["acc_norm"])
    "'acc_norm' judges another choice than the likeliest, so that no answer and no confidence are given"
    """
    name = wanted or next(iter(scores), "")
    if (wanted is None and len(scores) > 1) or not _OF_ANOTHER_CHOICE.search(name):
        return ""
    return f"{name!r} judges another choice than the likeliest, so that no answer and no confidence are given"


def likeliest(log_likelihoods: Sequence[float]) -> tuple[int, float | None]:
    """Position of the largest log-likelihood l, and its softmax ``exp(l_i) / sum_j exp(l_j)``.

    Of the log-likelihoods as they are, not divided by the length of a choice. There is no probability where
    there is one choice only, or none is possible. None of them may be NaN.

    Examples
    --------
    >>> likeliest([-2.0, -1.0, -2.0])[0], likeliest([-5.0])
    (1, (0, None))
    """
    best = max(range(len(log_likelihoods)), key=log_likelihoods.__getitem__)
    if len(log_likelihoods) < 2 or log_likelihoods[best] == -math.inf:
        return best, None
    return best, 1.0 / math.fsum(math.exp(value - log_likelihoods[best]) for value in log_likelihoods)
