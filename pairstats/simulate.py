"""Records with known truth: to try a declared analysis before the data, and to test this package."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, ndtr, ndtri

from pairstats.arguments import checked, checked_value
from pairstats.errors import PairstatsError, listed
from pairstats.invariants import validate
from pairstats.numeric.checks import as_count
from pairstats.numeric.copula import LATENT, FamilyCopula, normal_expectation
from pairstats.records.table import Records, no_left_out, whole_ledger

Cell = tuple[str, ...]
Rates = Mapping[str, Any]

GOLD = "A"
MOST_CERTAIN = 1 - 1e-6


@checked_value
@dataclass(frozen=True, slots=True)
class StatedConfidence:
    r"""How a simulated model states its confidence.

    The model sees a noisy signal of the latent variable Z behind its decision,
    :math:`X = \sqrt{q} Z + \sqrt{1-q} N`, and states the probability of being right given that signal,
    :math:`\Phi\{(\Phi^{-1}(p) - \sqrt{q} X) / \sqrt{1-q}\}`, moved by `overconfidence` on the log-odds scale.

    Parameters
    ----------
    discrimination : float, default 0.5
        Share q of the latent variance that the model sees, in [0, 1): 0 states the same for every item.
    overconfidence : float, default 0
        Log-odds added; 0 is calibrated.
    """

    discrimination: float = 0.5
    overconfidence: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.discrimination < 1 or not math.isfinite(self.overconfidence):
            raise PairstatsError(
                "`discrimination` must lie in [0, 1) and `overconfidence` be finite, but got "
                f"{self.discrimination} and {self.overconfidence}."
            )

    def stated(self, rates: ArrayLike, signal: NDArray[np.float64]) -> NDArray[np.float64]:
        """Stated confidence for a signal X."""
        return self._moved(self._calibrated(rates, signal))

    def truth(self, rate: float) -> dict[str, float]:
        """Mean stated confidence minus accuracy, and the expected Brier score, of a cell."""
        right = self._calibrated(rate, LATENT)
        stated = self._moved(right)
        brier = normal_expectation(stated**2 - 2 * stated * right + right)
        return {"calibration_gap": normal_expectation(stated) - rate, "brier": brier}

    def _calibrated(self, rates: ArrayLike, signal: NDArray[np.float64]) -> NDArray[np.float64]:
        q = self.discrimination
        threshold = ndtri(np.asarray(rates, dtype=np.float64))
        return ndtr((threshold - math.sqrt(q) * signal) / math.sqrt(1 - q))

    def _moved(self, right: NDArray[np.float64]) -> NDArray[np.float64]:
        certain = np.clip(right, 1 - MOST_CERTAIN, MOST_CERTAIN)
        return expit(logit(certain) + self.overconfidence)


@dataclass(frozen=True, eq=False)
class Design:
    """What was simulated.

    Attributes
    ----------
    factors : tuple of str
        Columns that make cells: ``model``, ``condition`` ...
    cells : tuple of tuple of str
        Levels of the factors.
    copula : FamilyCopula
        Rates of the cells, and all correlations.
    families, copies, repeats : int
    missing : float
        Share of the calls that fail, at random.
    wrong_answers : int
        Number of wrong answers a wrong reply falls on with equal chances.
    confidence : StatedConfidence or None
    """

    factors: tuple[str, ...]
    cells: tuple[Cell, ...]
    copula: FamilyCopula
    families: int
    copies: int
    repeats: int
    missing: float
    wrong_answers: int
    confidence: StatedConfidence | None

    def position(self, cell: Cell | str) -> int:
        """Column of a cell."""
        wanted = (cell,) if isinstance(cell, str) else tuple(cell)
        if wanted not in self.cells:
            raise PairstatsError(f"There is no cell {wanted}; there are {listed(self.cells, 20)}.")
        return self.cells.index(wanted)

    def truth_of(self, cell: Cell | str) -> dict[str, float]:
        r"""True value of every estimand in one cell.

        Notes
        -----
        Copies of a family differ in being right with probability :math:`2p(1-p)(1-\mathrm{icc})`. Two wrong
        replies differ in answer with probability :math:`1 - 1/k`, which flips of the answer add.
        """
        at = self.position(cell)
        p, icc = float(self.copula.rates[at]), self.copula.icc
        by_score = 2 * p * (1 - p) * (1 - icc)
        both_wrong = (1 - p) ** 2 + icc * p * (1 - p)
        return {
            "accuracy": p,
            "all_correct": self.copula.all_right(at, self.copies),
            "flip_rate(score)": by_score,
            "flip_rate(answer)": by_score + both_wrong * (1 - 1 / self.wrong_answers),
            **({} if self.confidence is None else self.confidence.truth(p)),
        }

    def difference(self, estimand: str, first: Cell | str, second: Cell | str) -> float:
        """True value of an estimand in the first cell minus the second."""
        values = [self.truth_of(cell) for cell in (first, second)]
        if estimand not in values[0]:
            raise PairstatsError(f"There is no truth of {estimand!r}; there is {listed(values[0], 10)}.")
        return values[0][estimand] - values[1][estimand]


@dataclass(frozen=True, eq=False)
class Simulation:
    """Simulated records and the truth behind them.

    Attributes
    ----------
    records : Records
        Valid in the paired long format; ``source`` says that they are simulated.
    design : Design
    truth : pandas.DataFrame
        One row a cell and estimand: ``estimand``, the factors, ``truth``.
    """

    records: Records
    design: Design
    truth: pd.DataFrame

    def __repr__(self) -> str:
        made = self.design
        return (
            f"Simulation of {len(self.records)} rows: {made.families} families x {made.copies} copies x "
            f"{made.repeats} repeats in {len(made.cells)} cells by {' and '.join(made.factors)}"
        )


@checked
def simulate_records(
    *,
    rates: Rates,
    families: int,
    copies: int = 1,
    repeats: int = 1,
    factors: Sequence[str] | str = ("model",),
    icc: float = 0.0,
    rho: float | Mapping[str, float] = 0.0,
    instability: float = 0.0,
    missing: float = 0.0,
    wrong_answers: int = 3,
    confidence: StatedConfidence | None = None,
    rng: np.random.Generator | int,
) -> Simulation:
    """Simulate right and wrong decisions of families of copies, in every cell.

    Parameters
    ----------
    rates : mapping
        Chance of a right decision in [0, 1], by level of the first factor, then of the next:
        ``{"a": 0.8, "b": 0.9}``, or ``{"a": {"direct": 0.6, "code": 0.8}}`` for two factors.
    families, copies, repeats : int
        Families, presentations of each (variants ``base``, ``v1`` ...), and calls of each presentation.
    factors : sequence of str, default ("model",)
        Columns that the levels of `rates` belong to; without ``model`` there is one model, ``"simulated"``.
    icc : float, default 0
        Correlation of the 0/1 scores of two copies of a family, in [0, 1].
    rho : float or mapping, default 0
        Latent (tetrachoric) correlation between cells on the same copy: one number, or one a factor; cells
        that differ in several factors have the product.
    instability : float, default 0
        0: repeats of a call agree. 1: they differ as often as copies do.
    missing : float, default 0
        Share of calls that fail (``error``, rate limit), at random.
    wrong_answers : int, default 3
        Different wrong answers there are.
    confidence : StatedConfidence, optional
        How confidence is stated; left out, it is null.
    rng : Generator or int
        Source of randomness, or its seed. The same seed gives the same records.

    Returns
    -------
    Simulation

    Raises
    ------
    PairstatsError
        When a number is out of its range or the rates do not fit the factors.

    Notes
    -----
    The Gaussian copula of `pairstats.numeric.copula`: rates, `icc` and the agreement of repeats are exact,
    and so is the truth given for every estimand.

    Examples
    --------
    >>> made = simulate_records(rates={"a": 0.9, "b": 0.7}, families=40, copies=2, icc=0.4, rho=0.5, rng=1)
    >>> made
    Simulation of 160 rows: 40 families x 2 copies x 1 repeats in 2 cells by model
    >>> round(made.design.difference("accuracy", "a", "b"), 3)
    0.2
    """
    names = (factors,) if isinstance(factors, str) else tuple(factors)
    cells, values = cell_rates(rates, names)
    if not 0 <= missing <= 1:
        raise PairstatsError(f"`missing` must lie in [0, 1], but got {missing}.")
    copula = FamilyCopula(values, icc=icc, rho=cell_correlations(cells, names, rho), instability=instability)
    design = Design(
        names, cells, copula, as_count("families", families, minimum=1), as_count("copies", copies, minimum=1),
        as_count("repeats", repeats, minimum=1), float(missing),
        as_count("wrong_answers", wrong_answers, minimum=1), confidence,
    )  # fmt: skip
    table = validate(pa.table(_columns(design, np.random.default_rng(rng))))
    records = Records(table, whole_ledger(table, "simulation", "", "simulation"), no_left_out())
    truth = [
        {"estimand": name, **dict(zip(names, cell, strict=True)), "truth": value}
        for cell in cells
        for name, value in design.truth_of(cell).items()
    ]
    return Simulation(records, design, pd.DataFrame(truth))


def cell_rates(rates: Rates, factors: Sequence[str]) -> tuple[tuple[Cell, ...], NDArray[np.float64]]:
    """Cells and their rates from nested tables, one level a factor.

    Raises
    ------
    PairstatsError
        When the tables are not as deep as there are factors, or a rate is no number in [0, 1].

    Examples
    --------
    >>> cell_rates({"a": {"x": 0.5, "y": 0.6}}, ("model", "condition"))[0]
    (('a', 'x'), ('a', 'y'))
    """
    flat: dict[Cell, float] = {}

    def walk(table: Any, path: Cell) -> None:
        if len(path) == len(factors):
            number = isinstance(table, int | float) and not isinstance(table, bool)
            if not number or not 0 <= table <= 1:
                raise PairstatsError(
                    f"The rate of {' / '.join(path)} must be a number in [0, 1], but is {table!r}."
                )
            flat[path] = float(table)
            return
        if not isinstance(table, Mapping) or not table:
            where = " / ".join(path) or "the rates"
            raise PairstatsError(
                f"Rates must be given for each level of {' and '.join(factors)}, but {where} holds {table!r}. "
                f"Write a table of the levels of {factors[len(path)]!r} there."
            )
        for level, inner in table.items():
            walk(inner, (*path, str(level)))

    walk(rates, ())
    return tuple(flat), np.array(list(flat.values()))


def cell_correlations(
    cells: Sequence[Cell], factors: Sequence[str], rho: float | Mapping[str, float]
) -> NDArray[np.float64]:
    """Latent correlations between cells: one number, or the product over the factors in which they differ."""
    if isinstance(rho, Mapping):
        foreign = [name for name in rho if name not in factors]
        absent = [name for name in factors if name not in rho]
        if foreign or absent:
            raise PairstatsError(
                f"`rho` must have one number for each of {listed(factors, 10)}, but has {listed(rho, 10)}."
            )
    matrix = np.eye(len(cells))
    for i, j in itertools.combinations(range(len(cells)), 2):
        apart = [name for name, a, b in zip(factors, cells[i], cells[j], strict=True) if a != b]
        value = math.prod(rho[name] for name in apart) if isinstance(rho, Mapping) else rho
        matrix[i, j] = matrix[j, i] = value
    return matrix


def _columns(design: Design, rng: np.random.Generator) -> dict[str, Any]:
    """Columns of the records; every draw is made whatever the settings, so that they share their luck."""
    shape = (design.families, len(design.cells), design.copies, design.repeats)
    copula = design.copula
    latent = copula.latent_values(
        copula.draw(design.families, design.copies, design.repeats, rng), design.repeats
    )
    right = (latent <= ndtri(copula.rates)[:, None, None]).ravel()
    wrong = rng.integers(1, design.wrong_answers + 1, shape).ravel()
    failed = (rng.random(shape) < design.missing).ravel()
    family, cell, copy, repeat = (index.ravel() for index in np.indices(shape))
    names = np.array([f"f{i:0{len(str(design.families))}d}" for i in range(design.families)], dtype=object)
    variants = np.array(["base", *(f"v{i}" for i in range(1, design.copies))], dtype=object)
    answers = np.array([GOLD, *(f"wrong-{i}" for i in range(1, design.wrong_answers + 1))], dtype=object)
    columns: dict[str, Any] = {
        "study": np.full(family.size, "simulation", dtype=object),
        "family": names[family], "item": names[family], "variant": variants[copy], "repeat": repeat,
        "model": np.full(family.size, "simulated", dtype=object),
        "status": np.where(failed, "error", "answered").astype(object),
        "reason": pa.array(np.where(failed, "rate_limit", "").astype(object), mask=~failed),
        "answer": pa.array(answers[np.where(right, 0, wrong)], mask=failed),
        "gold": np.full(family.size, GOLD, dtype=object),
        "score": pa.array(right.astype(float), mask=failed),
        "source": np.array([f"simulation row {i}" for i in range(family.size)], dtype=object),
    }  # fmt: skip
    if design.confidence is not None:
        q = design.confidence.discrimination
        signal = math.sqrt(q) * latent + math.sqrt(1 - q) * rng.standard_normal(shape)
        stated = design.confidence.stated(copula.rates[:, None, None], signal)
        columns["confidence"] = pa.array(stated.ravel(), mask=failed)
    levels = np.array(design.cells, dtype=object).reshape(len(design.cells), len(design.factors))
    return columns | {name: levels[cell, k] for k, name in enumerate(design.factors)}
