"""Sums over families: the only thing that estimates, intervals and tests ever read."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from pairstats.errors import PairingError, PairstatsError, counted
from pairstats.estimands import SUMS, Estimand, Rows

Cell = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Units:
    """Values of every unit in every cell, repeats averaged.

    Attributes
    ----------
    families : tuple of str
        Families, sorted.
    family_of : ndarray of int, shape (U,)
        Position of each unit's family in `families`.
    cells : tuple of tuple of str
        Levels of the cell factors, sorted.
    num, den : ndarray, shape (U, C)
        Numerator and denominator of each unit: means over its valid repeats; 0 where there is none.
    n_valid, n_planned, n_blank : ndarray of int, shape (U, C)
        Replies that count, that were planned, and that count without holding an answer.
    """

    families: tuple[str, ...]
    family_of: np.ndarray
    cells: tuple[Cell, ...]
    num: np.ndarray
    den: np.ndarray
    n_valid: np.ndarray
    n_planned: np.ndarray
    n_blank: np.ndarray

    @classmethod
    def collect(
        cls, rows: Rows, estimand: Estimand, family: str, cells: Sequence[str], unit: Sequence[str]
    ) -> Units:
        """Run the estimand's reduction on whatever engine holds the rows and lay the result out densely."""
        keys = [family, *cells, *unit]
        reduced = estimand.reduce(rows, [family, *cells], unit).collect()
        frame = pd.DataFrame({name: reduced[name].to_numpy() for name in [*keys, *SUMS]})
        negative = np.flatnonzero(frame["den"].to_numpy() < 0)
        if negative.size:
            raise PairstatsError(
                f"The denominator of {estimand.name} must not be negative, but it is in "
                f"{counted(negative.size, 'unit')}, the first in family {frame[family].iloc[negative[0]]}. Check "
                "the column."
            )
        return cls._dense(frame, family, cells, unit)

    @classmethod
    def _dense(cls, frame: pd.DataFrame, family: str, cells: Sequence[str], unit: Sequence[str]) -> Units:
        row, first = _positions(frame, [family, *unit])
        column, cell_rows = _positions(frame, list(cells))
        levels = list(zip(*(frame[name].iloc[cell_rows] for name in cells), strict=True)) or [()]
        shape = (len(first), len(levels))
        arrays = {}
        for name in SUMS:
            dense = np.zeros(shape, dtype=float if name in ("num", "den") else np.int64)
            dense[row, column] = frame[name].to_numpy()
            arrays[name] = dense
        repeats = np.maximum(arrays["n_valid"], 1)
        names = frame[family].iloc[first].to_numpy(dtype=object)
        families, family_of = np.unique(names, return_inverse=True)
        return cls(
            tuple(families), family_of, tuple(levels),
            arrays["num"] / repeats, arrays["den"] / repeats,
            arrays["n_valid"], arrays["n_planned"], arrays["n_blank"],
        )  # fmt: skip

    def position(self, cell: Cell) -> int:
        """Column of a cell."""
        return self.cells.index(cell)

    def common(self, columns: Sequence[int]) -> np.ndarray:
        """Units that count in every one of the cells, as a mask of shape (U,)."""
        return np.all(self.n_valid[:, list(columns)] > 0, axis=1)

    def add_up(self, columns: Sequence[int], chosen: np.ndarray, weight: str) -> FamilySums:
        """Add the chosen units up by family; with family weights every family counts once."""
        num = _by_family(self.num[:, list(columns)][chosen], self.family_of[chosen], len(self.families))
        den = _by_family(self.den[:, list(columns)][chosen], self.family_of[chosen], len(self.families))
        if weight == "family":
            num = np.divide(num, den, out=np.zeros_like(num), where=den > 0)
            den = (den > 0).astype(float)
        kept = ((den > 0) | (num != 0)).any(axis=1)
        return FamilySums(tuple(np.asarray(self.families, dtype=object)[kept]), num[kept], den[kept])

    def bounds(self, column: int, ends: tuple[float, float], weight: str) -> tuple[float, float] | None:
        """Worst and best case of one cell: every missing reply at one end of the range, then at the other.

        Notes
        -----
        Manski's bounds: every planned reply counts. They are defined for estimands whose denominator is 1 a
        unit; for a share of a random subset they are None.
        """
        planned = self.n_planned[:, column]
        units = planned > 0
        valid = self.n_valid[units, column]
        if np.any(self.den[units, column][valid > 0] != 1) or not units.any():
            return None
        observed = self.num[units, column] * valid
        limits = []
        for end in ends:
            filled = (observed + end * (planned[units] - valid)) / planned[units]
            sums = _by_family(filled[:, None], self.family_of[units], len(self.families))[:, 0]
            count = _by_family(np.ones((units.sum(), 1)), self.family_of[units], len(self.families))[:, 0]
            has = count > 0
            by_item = sums.sum() / count.sum()
            limits.append(float(np.mean(sums[has] / count[has]) if weight == "family" else by_item))
        return limits[0], limits[1]

    def digest(self) -> str:
        """Digest of the values, whatever the order in which rows were read."""
        state = hashlib.sha256(repr((self.families, self.cells)).encode())
        for array in (self.family_of, self.num, self.den, self.n_valid, self.n_planned):
            state.update(np.ascontiguousarray(array).tobytes())
        return state.hexdigest()


@dataclass(frozen=True, eq=False)
class FamilySums:
    """Totals of each family in each cell.

    Attributes
    ----------
    families : tuple of str
        Families with any value, G of them.
    num, den : ndarray, shape (G, C)
        Totals of the numerator and of the denominator.
    """

    families: tuple[str, ...]
    num: np.ndarray
    den: np.ndarray

    def __len__(self) -> int:
        return len(self.families)

    @property
    def means(self) -> np.ndarray:
        """Ratio of each family in each cell; an error where a family has a numerator but no denominator."""
        if self.stray:
            raise PairstatsError(
                f"Every family must have a denominator, but of {counted(len(self.stray), 'family')} there is a "
                f"numerator only, the first {self.stray[0]}. Take a denominator that every family has, such as a "
                "count of replies."
            )
        ratios: np.ndarray = self.num / self.den
        return ratios

    @property
    def stray(self) -> list[str]:
        """Families with a numerator but no denominator: they count, but have no ratio of their own."""
        found = ((self.den == 0) & (self.num != 0)).any(axis=1)
        return [family for family, one in zip(self.families, found.tolist(), strict=True) if one]

    def strays(self) -> list[str]:
        """Note on the families that have no ratio."""
        found = self.stray
        have = f"{counted(len(found), 'family')} {'has' if len(found) == 1 else 'have'}"
        said = f"no interval: {have} a numerator but no denominator, the first "
        return [said + found[0]] if found else []

    def value(self, weights: np.ndarray | None = None) -> np.ndarray:
        """Ratio of totals in each cell, under weights of shape (..., G); all ones by default."""
        weights = np.ones(len(self)) if weights is None else weights
        num, den = weights @ self.num, weights @ self.den
        return np.divide(num, den, out=np.full_like(num, np.nan), where=den > 0)


def blank_note(n: int, scored: bool) -> list[str]:
    """Say how many replies without an answer count; a score is there for them only where they score wrong."""
    how = " as wrong" if scored else ""
    return [f"{n} without an answer are counted{how}"] if n else []


def _positions(frame: pd.DataFrame, keys: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Position of each row's key among the sorted distinct keys, and the first row of each key."""
    if not keys:
        return np.zeros(len(frame), dtype=np.intp), np.zeros(1, dtype=np.intp)
    combined = np.zeros(len(frame), dtype=np.int64)
    for key in keys:
        codes, size = _sorted_codes(frame[key], key)
        # Compressing after each key keeps the combined code far below the largest integer.
        combined = np.unique(combined * size + codes, return_inverse=True)[1].astype(np.int64)
    _, first, inverse = np.unique(combined, return_index=True, return_inverse=True)
    return inverse, first


def _sorted_codes(values: pd.Series, name: str) -> tuple[np.ndarray, int]:
    """Code of each value among the sorted distinct values; nulls are refused."""
    codes, distinct = pd.factorize(values, sort=False)
    missing = int((codes < 0).sum())
    if missing:
        raise PairingError(
            f"A column that makes cells or units must not be null, but {name!r} is in {missing} of "
            f"{counted(len(values), 'group')}. Fill it, or leave those rows out with panel.where()."
        )
    order = np.argsort(np.asarray([str(value) for value in distinct], dtype=object), kind="stable")
    rank = np.empty(len(distinct), dtype=np.int64)
    rank[order] = np.arange(len(distinct))
    return rank[codes], max(len(distinct), 1)


def _by_family(values: np.ndarray, family_of: np.ndarray, n_families: int) -> np.ndarray:
    """Sum rows of the same family; shape (F, C)."""
    sums = np.zeros((n_families, values.shape[1]))
    np.add.at(sums, family_of, values)
    return sums
