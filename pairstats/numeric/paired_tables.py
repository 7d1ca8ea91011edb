"""Tests of two systems that put the same items into classes: equal shares of the classes, equal moves."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import chdtrc

from pairstats.errors import PairstatsError, one_of
from pairstats.numeric.checks import plain_list
from pairstats.numeric.flips import is_missing
from pairstats.numeric.joint_sums import joint_flips
from pairstats.numeric.shares import family_codes
from pairstats.numeric.signsum import as_p

Floats = NDArray[np.float64]

METHODS = ("chi2", "exact", "monte-carlo")
QUESTIONS = ("marginal", "symmetry")


@dataclass(frozen=True, slots=True)
class TableTest:
    """Test of a square table of paired classes.

    Attributes
    ----------
    statistic : float
        0 where the systems never differ.
    df : int
        Independent comparisons that the data hold: classes that no pair tells apart have none.
    p_value : float
        In (0, 1]; 1 where the systems never differ.
    n_informative : int
        Pairs, or families, that tell the systems apart.
    method : {"chi2", "exact", "monte-carlo"}
    mc_error : float or None
        Standard error of a Monte-Carlo p-value, otherwise None.
    seed : int or None
        Of the exchanges that were drawn; None where none were.
    """

    statistic: float
    df: int
    p_value: float
    n_informative: int
    method: str
    mc_error: float | None = None
    seed: int | None = None


@dataclass(frozen=True, slots=True)
class ClassTest(TableTest):
    """Test of paired classes, with what it was computed from.

    Attributes
    ----------
    classes : tuple
        Every class that either system used, sorted.
    table : tuple of tuple of int
        Pairs by class of the first (rows) and of the second (columns).
    shift : tuple of float
        Share of each class, first minus second.
    """

    classes: tuple[Any, ...] = ()
    table: tuple[tuple[int, ...], ...] = ()
    shift: tuple[float, ...] = ()


def stuart_maxwell(
    table: ArrayLike,
    *,
    method: str = "chi2",
    empty_cell: float = 0.0,
    n_resamples: int = 9999,
    rng: Any = None,
) -> TableTest:
    r"""Test whether two systems use each of k classes equally often on the same items.

    Use it for independent pairs. Not with copies of an item, which `paired_class_test` covers with families
    named.

    Parameters
    ----------
    table : array_like of int, shape (k, k)
        Pairs by class of the first (rows) and of the second system (columns), in the same order.
    method : {"chi2", "exact", "monte-carlo"}
        "chi2": for 25 and more pairs off the diagonal. "exact": both labels of each pair exchange at
        random. "monte-carlo": random exchanges, (b + 1) / (B + 1).
    empty_cell : float
        What an empty cell counts, for "chi2" only. statsmodels takes 0.5 by default, which makes
        evidence out of nothing; here it is 0.
    n_resamples : int
        Exchanges drawn by "monte-carlo".
    rng : int, Generator or SeedSequence, optional
        For "monte-carlo"; left out, the seed follows from the table.

    Returns
    -------
    TableTest

    Raises
    ------
    PairstatsError
        If the table is not square or its counts are no whole numbers of at least 0.

    Notes
    -----
    With :math:`d_i = n_{i\cdot} - n_{\cdot i}` and :math:`V = \mathrm{diag}(n_{i\cdot} + n_{\cdot i}) - N -
    N^\top`, :math:`\chi^2 = d^\top V^- d` with as many degrees of freedom as V has rank: k - 1, or fewer
    where a class is not used, or used by both on the same items only. For two classes it is McNemar's.

    References
    ----------
    Stuart, A. (1955). Biometrika 42, 412-416. doi:10.1093/biomet/42.3-4.412
    Maxwell, A. E. (1970). British Journal of Psychiatry 116, 651-655. doi:10.1192/bjp.116.535.651

    Examples
    --------
    >>> test = stuart_maxwell([[20, 10, 5], [3, 30, 15], [0, 5, 40]])
    >>> round(test.statistic, 3), test.df, round(test.p_value, 5)
    (13.765, 2, 0.00103)
    """
    return _table_test(_class_gaps, table, method, empty_cell, n_resamples, rng)


def bowker(
    table: ArrayLike,
    *,
    method: str = "chi2",
    empty_cell: float = 0.0,
    n_resamples: int = 9999,
    rng: Any = None,
) -> TableTest:
    r"""Test whether two systems move items between each two classes equally often in both directions.

    Use it to ask which moves are lopsided: the classes may be used equally often and yet differ here. Not with
    copies of an item, which `paired_class_test` covers, nor for equal use alone (`stuart_maxwell`).

    Parameters
    ----------
    table, method, empty_cell, n_resamples, rng
        As in `stuart_maxwell`.

    Returns
    -------
    TableTest

    Notes
    -----
    :math:`\chi^2 = \sum_{i<j} (n_{ij} - n_{ji})^2 / (n_{ij} + n_{ji})` over the cells that are not both
    empty, which are counted as degrees of freedom. (Other programs count k (k - 1) / 2 also where cells are
    empty.)

    References
    ----------
    Bowker, A. H. (1948). Journal of the American Statistical Association 43, 572-574.
    doi:10.1080/01621459.1948.10483284

    Examples
    --------
    >>> test = bowker([[20, 10, 5], [3, 30, 15], [0, 5, 40]])
    >>> round(test.statistic, 3), test.df, round(test.p_value, 5)
    (13.769, 3, 0.00324)
    """
    return _table_test(_cell_gaps, table, method, empty_cell, n_resamples, rng)


def paired_class_test(
    first: Sequence[Hashable] | NDArray[Any],
    second: Sequence[Hashable] | NDArray[Any],
    *,
    families: Sequence[Hashable] | NDArray[Any] | None = None,
    question: str = "marginal",
    method: str | None = None,
    n_resamples: int = 9999,
    rng: Any = None,
) -> ClassTest:
    r"""Compare the classes that two systems gave to the same items, with families exchanged whole.

    Use it for behaviour classes of two systems, with or without copies. Not for right and wrong, which
    `sign_flip` covers; for more than two systems adjust the pairs by `holm`.

    Parameters
    ----------
    first, second : sequence, shape (n_items,)
        Class of each item's answer (a behaviour, an option), in the same order.
    families : sequence, shape (n_items,), optional
        Family of each item: the two systems exchange labels for a family as a whole. Left out, every item
        is its own family.
    question : {"marginal", "symmetry"}
        "marginal": is each class used equally often (`stuart_maxwell`)? "symmetry": are moves between
        each two classes as frequent in both directions (`bowker`)?
    method : {"exact", "monte-carlo", "chi2"}, optional
        Left out, "exact" where it takes about a second at most, otherwise "monte-carlo".
    n_resamples, rng
        As in `stuart_maxwell`.

    Returns
    -------
    ClassTest

    Raises
    ------
    PairstatsError
        If the sequences differ in length, are empty, or hold a missing class.

    Notes
    -----
    With :math:`d_f` the vector of differences of family f, the statistic is :math:`(\sum d_f)^\top (\sum d_f
    d_f^\top)^- (\sum d_f)`, whose covariance is that of exchanged labels. On families of one item it is the
    chi-square of `stuart_maxwell` or `bowker`.

    References
    ----------
    Stuart, A. (1955). Biometrika 42, 412-416. doi:10.1093/biomet/42.3-4.412
    Bowker, A. H. (1948). Journal of the American Statistical Association 43, 572-574.
    doi:10.1080/01621459.1948.10483284

    Examples
    --------
    >>> test = paired_class_test(["ask", "ask", "guess", "ask", "ask"], ["guess"] * 4 + ["refuse"])
    >>> test.classes, test.df, round(test.p_value, 3)
    (('ask', 'guess', 'refuse'), 2, 0.25)
    """
    one_of("question", question, QUESTIONS)
    labels, codes, groups = _coded(first, second, families)
    k = len(labels)
    table = np.zeros((k, k), dtype=np.int64)
    np.add.at(table, (codes[0], codes[1]), 1)
    features = (_class_gaps if question == "marginal" else _cell_gaps)(k)
    rows = np.zeros((groups.max() + 1, features.shape[2]))
    np.add.at(rows, groups, features[codes[0], codes[1]])
    found = _flip_test(rows, method, n_resamples, rng)
    shares = (table.sum(axis=1) - table.sum(axis=0)) / len(groups)
    return ClassTest(
        statistic=found.statistic,
        df=found.df,
        p_value=found.p_value,
        n_informative=found.n_informative,
        method=found.method,
        mc_error=found.mc_error,
        seed=found.seed,
        classes=labels,
        table=tuple(map(tuple, table.tolist())),
        shift=tuple(shares.tolist()),
    )


def _class_gaps(k: int) -> Floats:
    """What a pair of classes (i, j) adds to the class totals, first minus second; the last class follows."""
    unit = np.eye(k)
    return (unit[:, None, :] - unit[None, :, :])[:, :, : k - 1]


def _cell_gaps(k: int) -> Floats:
    """What a pair of classes (i, j) adds to the moves between each two classes, signed by direction."""
    pairs = list(combinations(range(k), 2))
    gaps = np.zeros((k, k, len(pairs)))
    for column, (i, j) in enumerate(pairs):
        gaps[i, j, column], gaps[j, i, column] = 1.0, -1.0
    return gaps


def _table_test(
    gaps: Any, table: ArrayLike, method: str, empty_cell: float, n_resamples: int, rng: Any
) -> TableTest:
    one_of("method", method, METHODS)
    counts = _square(table)
    k = len(counts)
    features = gaps(k).reshape(k * k, -1)
    if method != "chi2":
        return _flip_test(
            np.repeat(features, counts.ravel().astype(np.int64), axis=0), method, n_resamples, rng
        )
    if not 0 <= empty_cell <= 1:
        raise PairstatsError(f"`empty_cell` must lie in [0, 1], but got {empty_cell!r}. Leave it at 0.")
    weights = np.where(counts == 0, empty_cell, counts).ravel()
    statistic, df = _quadratic(weights @ features, (features.T * weights) @ features)
    off = int((counts - np.diag(np.diag(counts))).sum())
    return TableTest(statistic, df, as_p(float(chdtrc(df, statistic))) if df else 1.0, off, "chi2")


def _flip_test(rows: Floats, method: str | None, n_resamples: int, rng: Any) -> TableTest:
    """Quadratic form of the sum of rows, against random signs of the rows."""
    if method is not None:
        one_of("method", method, METHODS)
    informative = rows[np.abs(rows).max(axis=1, initial=0.0) > 0]
    covariance = informative.T @ informative
    statistic, df = _quadratic(informative.sum(axis=0), covariance)
    if df == 0:
        return TableTest(0.0, 0, 1.0, len(informative), method or "exact")
    if method == "chi2":
        return TableTest(statistic, df, as_p(float(chdtrc(df, statistic))), len(informative), "chi2")
    flips = joint_flips(informative, method=method, n_resamples=n_resamples, rng=rng)
    root = _root_inverse(covariance)[0]
    values = ((flips.sums @ root) ** 2).sum(axis=1)
    p = as_p(float(flips.p_value(values, statistic)))
    return TableTest(statistic, df, p, len(informative), flips.method, flips.mc_error(p), flips.seed)


def _quadratic(total: Floats, covariance: Floats) -> tuple[float, int]:
    root, rank = _root_inverse(covariance)
    return float(((total @ root) ** 2).sum()), rank


def _root_inverse(covariance: Floats) -> tuple[Floats, int]:
    """Square root of the generalised inverse, and the rank."""
    if covariance.size == 0:
        return covariance, 0
    values, vectors = np.linalg.eigh(covariance)
    kept = values > 1e-9 * max(float(values[-1]), 1e-300)
    return vectors[:, kept] / np.sqrt(values[kept]), int(kept.sum())


def _square(table: ArrayLike) -> Floats:
    counts = np.asarray(table, dtype=np.float64)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1] or counts.shape[0] < 2:
        raise PairstatsError(
            f"`table` must be square with at least two classes, but its shape is {counts.shape}. "
            "Give both systems all classes, in the same order."
        )
    wrong = np.argwhere(~(np.isfinite(counts) & (counts >= 0) & (counts == np.rint(counts))))
    if wrong.size:
        raise PairstatsError(
            f"`table` must hold whole numbers of at least 0, but {len(wrong)} cells do not, the first at row "
            f"{wrong[0][0]}, column {wrong[0][1]}. Pass counts of pairs, not shares."
        )
    return counts


def _coded(
    first: Sequence[Hashable] | NDArray[Any],
    second: Sequence[Hashable] | NDArray[Any],
    families: Sequence[Hashable] | NDArray[Any] | None,
) -> tuple[tuple[Any, ...], tuple[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]:
    """Classes, and the number of the class of each item for both systems, and of its family."""
    answers = [plain_list(side) for side in (first, second)]
    if not answers[0] or len(answers[0]) != len(answers[1]):
        raise PairstatsError(
            "`first` and `second` must have one entry for each of one or more items, but their lengths are "
            f"{len(answers[0])} and {len(answers[1])}. Pass the same items."
        )
    groups = family_codes(families, len(answers[0]))
    missing = [i for i, pair in enumerate(zip(*answers, strict=True)) if any(map(is_missing, pair))]
    if missing:
        raise PairstatsError(
            f"Every item must have a class from both systems, but {len(missing)} lack one, the first at "
            f"position {missing[0]}. Make 'no answer' a class of its own, or drop and count these items."
        )
    used = set(answers[0]) | set(answers[1])
    try:
        labels = tuple(sorted(used))
    except TypeError:
        labels = tuple(sorted(used, key=lambda label: (type(label).__name__, str(label))))
    code = {label: number for number, label in enumerate(labels)}
    coded = [np.array([code[x] for x in side], dtype=np.int64) for side in answers]
    return labels, (coded[0], coded[1]), groups
