"""Estimates: one tidy row per answer, with fixed columns, and where the numbers come from."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from pairstats.arguments import checked
from pairstats.errors import PairstatsError, listed, nearest

VERSION = "1"

LABELS: tuple[str, ...] = ("contrast", "estimand")
"""Columns before the factors."""

TEXT: frozenset[str] = frozenset(
    ("contrast", "estimand", "alternative", "method", "claim", "verdict", "note", "population", "weight")
)
COUNTS: frozenset[str] = frozenset(
    ("n_families", "n_units", "n_missing", "n_first_only", "n_second_only", "tipping_point")
)

NUMBERS: tuple[str, ...] = (
    "estimate", "std_error", "conf_low", "conf_high", "conf_level", "statistic", "p_value", "p_adjusted",
    "null", "alternative", "method", "n_families", "n_units", "n_missing", "n_first_only", "n_second_only",
    "claim", "margin", "verdict", "registered", "note", "population", "weight", "mc_error", "p_floor",
    "bound_low", "bound_high", "tipping_point", "mdd", "seed",
)  # fmt: skip
"""Columns after the factors; `mc_error` is the larger Monte-Carlo error of the two limits."""


@dataclass(frozen=True, eq=False)
class Estimates:
    """Estimates with intervals and tests, one row each.

    Attributes
    ----------
    frame : pandas.DataFrame
        Columns ``contrast, estimand``, then the factors, then `NUMBERS`. Treat it as read-only.
    factors : tuple of str
        Names of the columns that say which cell a row is about.
    provenance : dict
        What made the numbers: package version, digest of the input, interval, settings.

    Examples
    --------
    >>> rows = [{"estimand": "accuracy", "model": "m", "estimate": 0.85, "conf_low": 0.75, "conf_high": 0.91}]
    >>> Estimates.from_rows(rows, factors=("model",))
    estimand model estimate [95 %]
    accuracy m     0.850    [0.750, 0.910]
    """

    frame: pd.DataFrame
    factors: tuple[str, ...] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[Mapping[str, Any]],
        *,
        factors: Sequence[str] = (),
        provenance: Mapping[str, Any] | None = None,
    ) -> Estimates:
        """Build from one mapping a row; columns that a row does not name are null."""
        rows = list(rows)
        known = {*LABELS, *factors, *NUMBERS}
        unknown = sorted({name for row in rows for name in row} - known)
        if unknown:
            raise PairstatsError(f"A row of estimates has unknown columns {listed(unknown, 10)}.")
        columns = [*LABELS, *factors, *NUMBERS]
        data = {name: _typed(name, [row.get(name) for row in rows], factors) for name in columns}
        return cls(pd.DataFrame(data, columns=columns), tuple(factors), dict(provenance or {}))

    def __len__(self) -> int:
        return len(self.frame)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield each row as a dictionary, nulls as None."""
        for row in self.frame.to_dict("records"):
            yield {str(name): none_if_null(value) for name, value in row.items()}

    def __getitem__(self, name: str) -> pd.Series:
        """Column of that name.

        Raises
        ------
        PairstatsError
            When a name is no column.
        """
        if name not in self.frame.columns:
            raise PairstatsError(
                f"There is no column {name!r}; there are {listed(self.frame.columns, 50)}."
                + nearest(name, self.frame.columns)
            )
        return self.frame[name]

    def where(self, **equal: object) -> Estimates:
        """Rows whose columns equal the given values (or are among them, for a list).

        Raises
        ------
        PairstatsError
            When a name is no column.
        """
        chosen = pd.Series(True, index=self.frame.index)
        for name, value in equal.items():
            wanted = value if isinstance(value, list | tuple | set) else [value]
            chosen &= self[name].isin(list(wanted))
        return Estimates(self.frame[chosen].reset_index(drop=True), self.factors, self.provenance)

    def to_arrow(self) -> pa.Table:
        """Arrow table with the provenance in its metadata."""
        table = pa.Table.from_pandas(self.frame, preserve_index=False)
        described = {"version": VERSION, "factors": list(self.factors), "provenance": dict(self.provenance)}
        text = json.dumps(described, default=str)
        return table.replace_schema_metadata({**(table.schema.metadata or {}), b"pairstats_estimates": text})

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def to_parquet(self, path: str | Path) -> None:
        """Write a Parquet file that `Estimates.load` reads back."""
        pq.write_table(self.to_arrow(), path)

    def to_csv(self, path: str | Path) -> None:
        """Write a CSV file, text cells guarded against being run as spreadsheet formulas."""
        guarded(self.frame).to_csv(path, index=False, lineterminator="\n")

    @classmethod
    def load(cls, path: str | Path) -> Estimates:
        """Read what `to_parquet` wrote."""
        table = pq.read_table(path)
        text = (table.schema.metadata or {}).get(b"pairstats_estimates")
        if text is None:
            raise PairstatsError(f"{path} holds no estimates of pairstats.")
        described = json.loads(text)
        return cls.from_rows(
            table.to_pylist(), factors=described["factors"], provenance=described["provenance"]
        )

    def __repr__(self) -> str:
        from pairstats.printed import as_text

        return "no estimates" if self.frame.empty else as_text(self)

    def _repr_html_(self) -> str:
        from pairstats.printed import as_html

        return as_html(self)


@checked
def concat(parts: Sequence[Estimates], provenance: Mapping[str, Any] | None = None) -> Estimates:
    """Stack estimates into one table, as a script does with several tables of one kind.

    Parameters
    ----------
    parts : sequence of Estimates
    provenance : mapping, optional
        What made the numbers.

    Returns
    -------
    Estimates
        All rows in order; factors that a part does not have are null in its rows.

    Examples
    --------
    >>> one, two = (Estimates.from_rows([{"estimand": n, "estimate": 0.5}], factors=()) for n in "ab")
    >>> concat([one, two]).frame["estimand"].tolist()
    ['a', 'b']
    """
    factors = tuple(dict.fromkeys(name for part in parts for name in part.factors))
    rows = [row for part in parts for row in part]
    return Estimates.from_rows(rows, factors=factors, provenance=provenance or {})


def none_if_null(value: Any) -> Any:
    """None for NaN, NaT and NA; any other value unchanged."""
    return None if value is None or (pd.api.types.is_scalar(value) and pd.isna(value)) else value


def number(value: object, digits: int = 3) -> str:
    """Show a number to `digits` decimals, or an empty text for a missing one."""
    value = none_if_null(value)
    if value is None:
        return ""
    return f"{float(value):.{digits}f}"  # type: ignore[arg-type]


def interval(low: object, high: object, digits: int = 3) -> str:
    """Show an interval as ``[low, high]``."""
    if none_if_null(low) is None and none_if_null(high) is None:
        return ""
    return f"[{number(low, digits)}, {number(high, digits)}]"


def p_text(value: object) -> str:
    """Show a p-value: three decimals, or powers of ten below .001; never 0.

    Examples
    --------
    >>> p_text(0.0312), p_text(3.1e-7)
    ('0.031', '3.1e-07')
    """
    value = none_if_null(value)
    if value is None:
        return ""
    p = float(value)  # type: ignore[arg-type]
    return f"{p:.3f}" if p >= 0.001 else f"{p:.1e}"


def guarded(frame: pd.DataFrame) -> pd.DataFrame:
    """Copy of a frame in which no text cell starts as a spreadsheet formula."""

    def guard(value: object) -> object:
        risky = isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r")
        return f"'{value}" if risky else value

    text = [name for name in frame.columns if not pd.api.types.is_numeric_dtype(frame[name])]
    copy = frame.assign(**{name: frame[name].astype(object).map(guard) for name in text})
    return copy.rename(columns={name: guard(name) for name in frame.columns})


def _typed(name: str, values: list[Any], factors: Sequence[str]) -> pd.Series:
    cleaned = [none_if_null(value) for value in values]
    if name in COUNTS:
        return pd.Series([None if v is None else int(v) for v in cleaned], dtype="Int64")
    if name == "registered":
        return pd.Series(cleaned, dtype="boolean")
    if name in TEXT or name == "seed":
        return pd.Series([None if v is None else str(v) for v in cleaned], dtype=object)
    if name in factors:
        numeric = all(isinstance(v, int | float) for v in cleaned if v is not None) and any(
            v is not None for v in cleaned
        )
        return pd.Series(cleaned, dtype=float if numeric else object)
    return pd.Series([math.nan if v is None else float(v) for v in cleaned], dtype=float)
