"""Records: the table of decisions, and the account of the files it came from."""

from __future__ import annotations

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pairstats import invariants, schema
from pairstats.arguments import checked
from pairstats.records import file as records_file
from pairstats.records import notes as records_notes
from pairstats.records.notes import plain, unscored_rows

LEDGER_COLUMNS: tuple[str, ...] = (
    "file", "sha256", "reader", "version", "records", "rows", *schema.STATUSES, "unscored", "left_out",
    "merged", "nan_to_null", "confidence_out_of_range", "score_ignored_on_error", "reasons",
    "left_out_reasons", "note",
)  # fmt: skip
SHOWN_FILES = 10


@dataclass(frozen=True, eq=False, repr=False)
class Records:
    """Decisions in the paired long format, and where they came from.

    Attributes
    ----------
    table : pyarrow.Table
        Valid rows of the format (see `pairstats.schema`).
    ledger : pandas.DataFrame
        One row a file: its checksum, reader and version, how many records it held and what became of them.
        In every row ``records = rows + left_out + merged``; ``unscored`` counts the answered replies that
        have no primary score.
    left_out : pandas.DataFrame
        One row a record that did not become a row: ``source`` and ``reason``.
    score_range : tuple of float
        Declared range of the scores.

    Examples
    --------
    >>> records = Records.from_frame({"family": ["f"], "item": ["q"], "model": ["m"], "status": ["answered"]})
    >>> len(records)
    1
    """

    table: pa.Table
    ledger: pd.DataFrame
    left_out: pd.DataFrame = field(default_factory=lambda: no_left_out())
    score_range: tuple[float, float] = (0.0, 1.0)

    @classmethod
    @checked
    def from_frame(cls, frame: Any, *, score_range: tuple[float, float] = (0.0, 1.0)) -> Records:
        """Take a frame that already is in the format.

        Parameters
        ----------
        frame : pandas, Polars, Arrow or DuckDB frame, or dict of lists
            With at least ``family``, ``item``, ``model`` and ``status``; other columns take their defaults.
        score_range : tuple of float, default (0, 1)
            Declared range of the scores.

        Returns
        -------
        Records

        Raises
        ------
        SchemaError
            When the frame is not in the format; lists every failure.
        """
        table = invariants.validate(records_file.to_arrow(frame), score_range=score_range)
        return cls(table, whole_ledger(table, "frame", "", "frame"), no_left_out(), score_range)

    @classmethod
    @checked
    def load(cls, path: str | Path) -> Records:
        """Read records that `save` wrote, or any Parquet or CSV file in the format.

        Parameters
        ----------
        path : str or pathlib.Path
            Parquet, or CSV (which holds the rows only, so that the ledger begins anew with the file itself).

        Returns
        -------
        Records

        Raises
        ------
        ReadError
            When there is no such file, or it is neither Parquet nor CSV.
        SchemaError
            When the rows break the format, or are of another version of it.
        """
        loaded = records_file.load(Path(path))
        table = invariants.validate(loaded.table, score_range=loaded.score_range)
        ledger = loaded.ledger
        if ledger is None:
            ledger = whole_ledger(table, Path(path).name, loaded.sha256, "records")
        left_out = no_left_out() if loaded.left_out is None else loaded.left_out
        return cls(table, ledger, left_out, loaded.score_range)

    @checked
    def save(self, path: str | Path, *, overwrite: bool = False, redact: bool = False) -> Path:
        """Write the records to a Parquet or CSV file.

        Parameters
        ----------
        path : str or pathlib.Path
            ``.parquet`` keeps everything: the ledger with its checksums and the records left out lie in the
            Arrow metadata. ``.csv`` keeps the rows; text that a spreadsheet would run as a formula gets an
            apostrophe in front, which `load` takes away again.
        overwrite : bool, default False
            Whether a file of that name may be written over whatever it holds. Records that pairstats wrote
            (and empty files) always may.
        redact : bool, default False
            Whether replies, prompts, keys and e-mail addresses are taken out first; see
            `redact_records`, which also says how many.

        Returns
        -------
        pathlib.Path
            The file written.

        Raises
        ------
        ReadError
            When the suffix is another, or the file exists and does not hold records that pairstats wrote.
        """
        if redact:
            from pairstats.records.redact import redact_records

            return redact_records(self).save(path, overwrite=overwrite)
        return records_file.save(
            self.table, self.ledger, self.left_out, self.score_range, Path(path), overwrite
        )

    @property
    def frame(self) -> pd.DataFrame:
        """The rows as a new pandas frame."""
        return self.table.to_pandas()

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Hand the rows to any frame library."""
        return self.table.__arrow_c_stream__(requested_schema)

    def counts(self) -> pd.DataFrame:
        """Rows per model and status.

        Returns
        -------
        pandas.DataFrame
            One row a model, one column for every status that occurs.
        """
        models, statuses = (plain(self.table, name).to_pandas() for name in ("model", "status"))
        counted = pd.crosstab(models, statuses)
        present = [status for status in schema.STATUSES if status in counted.columns]
        return counted[present].rename_axis(index="model", columns=None)

    def summary(self) -> str:
        """Describe every file: what it held, what became of it, and totals that add up.

        Returns
        -------
        str
        """
        lines = [self._heading(), ""]
        for _, row in self.ledger.iterrows():
            lines += _file_lines(row)
        total = self.ledger[["records", "rows", "left_out", "merged"]].sum()
        lines.append(
            f"in all: {total['records']} records = {total['rows']} rows + {total['left_out']} left out "
            f"+ {total['merged']} merged"
        )
        return "\n".join([*lines, *map(printable, self.notes)])

    @property
    def notes(self) -> tuple[str, ...]:
        """What may be meant, and would change the numbers if it is not: one sentence each.

        Replies without a score, and items that belong to several families of one study although most belong
        to one. (Where ids are unique within a family only, most items do, and nothing is said.)
        """
        return (*records_notes.unscored(self.table), *records_notes.in_several_families(self.table))

    def _heading(self) -> str:
        units = {"model": "models", "family": "families", "item": "items"}
        counted = [_plural(pc.count_distinct(plain(self.table, one)).as_py(), one, many)
                   for one, many in units.items()]  # fmt: skip
        return f"Records: {_plural(len(self), 'row', 'rows')}, {', '.join(counted)}"

    def _origin(self) -> list[str]:
        files = [
            f"{row['file']} ({' '.join(filter(None, [row['reader'], row['version']]))})"
            for row in self.ledger.to_dict("records")
            if row["records"]
        ]
        more = [f"and {len(files) - SHOWN_FILES} more"] if len(files) > SHOWN_FILES else []
        return files[:SHOWN_FILES] + more

    def __repr__(self) -> str:
        counts = self.counts()
        counts.index = pd.Index([printable(str(name)) for name in counts.index])
        from_ = [f"  {printable(file)}" for file in self._origin()]
        return "\n".join([self._heading(), *([counts.to_string()] if len(self) else []), "from", *from_])

    def _repr_html_(self) -> str:
        """Show the counts in a notebook; names from the data are escaped."""
        counts = self.counts()
        head = "".join(f"<th>{html.escape(str(name))}</th>" for name in ("model", *counts.columns))
        body = "".join(
            f"<tr><th>{html.escape(str(model))}</th>" + "".join(f"<td>{n}</td>" for n in row) + "</tr>"
            for model, row in zip(counts.index, counts.to_numpy().tolist(), strict=True)
        )
        files = "".join(f"<li>{html.escape(file)}</li>" for file in self._origin())
        return (
            f"<p>{html.escape(self._heading())}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table><ul>{files}</ul>"
        )


@checked
def load_records(path: str | Path) -> Records:
    """Read records that `Records.save` wrote; see `Records.load`."""
    return Records.load(path)


def concat_records(parts: Sequence[Records]) -> Records:
    """Stack records of several sources into one table; their ledgers follow each other.

    Raises
    ------
    SchemaError
        When the same decision occurs in two sources.
    """
    tables = [schema.undictionary(part.table) for part in parts]
    table = pa.concat_tables(tables, promote_options="permissive")
    return Records(
        invariants.validate(table, score_range=parts[0].score_range),
        pd.concat([part.ledger for part in parts], ignore_index=True),
        pd.concat([part.left_out for part in parts], ignore_index=True),
        parts[0].score_range,
    )


def no_left_out() -> pd.DataFrame:
    """Return an account of nothing left out."""
    return pd.DataFrame({"source": pd.Series(dtype=str), "reason": pd.Series(dtype=str)})


def whole_ledger(table: pa.Table, file: str, sha256: str, reader: str) -> pd.DataFrame:
    """Ledger of one source of which every row was taken."""
    counted = {item["values"]: item["counts"] for item in pc.value_counts(plain(table, "status")).to_pylist()}
    line = dict.fromkeys(LEDGER_COLUMNS, 0) | dict.fromkeys(
        ("version", "reasons", "left_out_reasons", "note"), ""
    )
    line |= {"file": file, "sha256": sha256, "reader": reader}
    line |= {"records": table.num_rows, "rows": table.num_rows, **counted}
    line["unscored"] = unscored_rows(table)
    return pd.DataFrame([line], columns=list(LEDGER_COLUMNS))


def printable(text: str) -> str:
    """Write control characters as escapes, so that a name cannot move the cursor."""
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def _plural(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _file_lines(row: Any) -> Sequence[str]:
    reader = " ".join(filter(None, [row["reader"], row["version"]])) or "no reader"
    lines = [f"{printable(row['file'])}: {reader}, {_plural(row['records'], 'record', 'records')}"]
    told = [f"{row[status]} {status}" for status in schema.STATUSES if row[status]]
    if told:
        lines.append(f"  {_plural(row['rows'], 'row', 'rows')}: {', '.join(told)}")
    if row["reasons"]:
        lines.append(f"  reasons: {printable(row['reasons'])}")
    if row["left_out"]:
        lines.append(f"  {row['left_out']} left out: {printable(row['left_out_reasons'])}")
    if row["merged"]:
        lines.append(f"  {row['merged']} merged: logged elsewhere too")
    for name, words in _COUNTED.items():
        if name in row and row[name] > 0:  # files of before this column have none
            lines.append(f"  {row[name]} {words}")
    return [*lines, f"  {printable(row['note'])}"] if row["note"] else lines


_COUNTED = {
    "unscored": "answered, without a score",
    "nan_to_null": "values NaN, now null",
    "confidence_out_of_range": "confidences out of range, now null",
    "score_ignored_on_error": "scores of failed calls, ignored",
}
