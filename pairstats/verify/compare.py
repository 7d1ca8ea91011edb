"""Compare every number of a results folder with the second path's."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pairstats.errors import PairstatsError
from pairstats.verify.decisions import decisions
from pairstats.verify.declared import Declared, read_declared
from pairstats.verify.files import file_checks
from pairstats.verify.judging import judge
from pairstats.verify.limits import DRAWN, EXACT, Span
from pairstats.verify.result import Check, Difference, Unchecked, Verification
from pairstats.verify.rows import Row, cell_rows, question_rows

Found = Mapping[str, Any]

TOLERANCE = {
    "estimate": 1e-12, "bound_low": 1e-12, "bound_high": 1e-12, "statistic": 1e-12, "std_error": 1e-10,
    "conf_low": 1e-9, "conf_high": 1e-9, "conf_level": 0.0, "p_value": 1e-8, "p_floor": 1e-12,
    "p_adjusted": 1e-8, "null": 0.0, "n_families": 0.0, "n_units": 0.0, "n_missing": 0.0,
    "n_first_only": 0.0, "n_second_only": 0.0, "margin": 0.0, "mdd": 1e-9,
}  # fmt: skip
"""Largest difference: relative for p-values, else relative to the larger of 1 and the number."""

RELATIVE = ("p_value", "p_floor", "p_adjusted")

HOW = {
    "estimate": "sums grouped by Arrow, families added up in dictionaries",
    "bound_low": "missing replies filled in at the ends of the range",
    "bound_high": "missing replies filled in at the ends of the range",
    "std_error": "CR2 variance from its matrices",
    "conf_low": "beta quantile, Gil-Pelaez integral or polynomial law, by method",
    "conf_high": "beta quantile, Gil-Pelaez integral or polynomial law, by method",
    "conf_level": "as declared, or as the adjustment leaves",
    "statistic": "sum of the family differences",
    "p_value": "sign arrangements counted in whole numbers; level that touches the margin",
    "p_floor": "one arrangement of the families that differ",
    "p_adjusted": "by hand from the p-values",
    "null": "0, or the margin",
    "n_families": "families with a value", "n_units": "units that count",
    "n_missing": "planned and not counted",
    "margin": "as declared", "mdd": "from the standard error and the level that the adjustment leaves",
    "n_first_only": "units above 0", "n_second_only": "units below 0",
}  # fmt: skip
WIDE = {
    DRAWN: "within five Monte-Carlo errors of our own {0:,} draws",
    "bracketed": "inside a proved bracket: the differences have no common fraction",
}

WORDS = {
    "method": "the declared interval in every row",
    "claim": "as declared",
    "verdict": "from the adjusted p-value, the deciding limits and the margin",
}

LEFT = ("tipping_point", "mc_error", "seed", "note")
"""Columns that are not recomputed."""


def verify_results(folder: str | Path) -> Verification:
    r"""Recompute the main table of a results folder by a second, independent path.

    Parameters
    ----------
    folder : str or Path
        What ``pairstats run`` wrote: ``estimates.parquet``, ``records.parquet``, ``protocol.toml``.

    Returns
    -------
    Verification
        ``ok`` is whether every check passes. Every check is named, with the rows compared, the largest
        difference and the tolerance; what could not be checked is listed with the reason.

    Raises
    ------
    PairstatsError
        When the folder lacks one of the three files, or they cannot be read.

    Notes
    -----
    Counts must be equal. Estimates, bounds and statistics may differ by 1e-12, limits by 1e-9, p-values by
    1e-8 of themselves. Numbers that the first path simulates, or that have no closed form, must lie within
    five Monte-Carlo errors, or inside a bracket that is proved to hold the exact value; the check says so.

    Examples
    --------
    >>> import tempfile
    >>> import pairstats as ps
    >>> protocol = '''
    ... [[records.source]]
    ... path = "rows.csv"
    ... [[estimand]]
    ... name = "accuracy"
    ... kind = "mean"
    ... '''
    >>> rows = [f"f{i},q{i},m,answered,{i % 3 > 0:d}" for i in range(12)]
    >>> with tempfile.TemporaryDirectory() as name:
    ...     folder = Path(name)
    ...     _ = (folder / "rows.csv").write_text("\n".join(["family,item,model,status,score", *rows]))
    ...     _ = (folder / "protocol.toml").write_text(protocol)
    ...     _ = ps.run_protocol(folder / "protocol.toml", folder / "results", report=False)
    ...     found = verify_results(folder / "results")
    >>> found.ok, found.rows
    (True, 1)
    """
    if not isinstance(folder, str | PathLike):
        raise PairstatsError(f"`folder` must be a path, but got a {type(folder).__name__}.")
    folder = Path(folder)
    declared = read_declared(folder / "protocol.toml")
    table, factors = _estimates(folder / "estimates.parquet")
    records = _parquet(folder / "records.parquet")
    expected, unchecked = _expected(declared, decisions(records, declared))
    named = [_named(row, factors) for row in table]
    pairs, checks = _matched(expected, table, named, unchecked)
    try:
        judge(declared, pairs)
    except PairstatsError as error:
        unchecked.append(Unchecked("columns p_adjusted, mdd and verdict", str(error)))
        for row, _, _ in pairs:
            row.unknown.update(dict.fromkeys(("p_adjusted", "mdd", "margin"), str(error)))
    checks += [*_numbers(pairs), *_words(pairs)]
    unchecked += _unknown(pairs)
    found, more = file_checks(folder, declared, records)
    left = [c for c in LEFT if any(row.get(c) is not None for row in table)]
    if left:
        more.append(Unchecked(f"columns {', '.join(left)}", "they have no second path"))
    return Verification(str(folder), len(table), (*checks, *found), (*unchecked, *more))


def _parquet(path: Path) -> pa.Table:
    try:
        return pq.read_table(path)
    except FileNotFoundError:
        raise PairstatsError(
            f"A results folder must hold {path.name}, but there is none in {path.parent}. Run the protocol "
            "again."
        ) from None
    except (pa.ArrowException, OSError) as error:
        raise PairstatsError(f"{path.name} must be a Parquet file, but cannot be read: {error}.") from error


def _estimates(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    table = _parquet(path)
    described = json.loads((table.schema.metadata or {}).get(b"pairstats_estimates", b"{}"))
    if "factors" not in described:
        raise PairstatsError(f"{path.name} must hold estimates of pairstats, but does not say so.")
    rows = [{name: _plain(value) for name, value in row.items()} for row in table.to_pylist()]
    return rows, list(described["factors"])


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value


def _expected(declared: Declared, rows: pa.Table) -> tuple[list[Row], list[Unchecked]]:
    expected: list[Row] = []
    unchecked: list[Unchecked] = []

    def attempt(what: str, make: Callable[[], list[Row]]) -> None:
        try:
            expected.extend(make())
        except (PairstatsError, pa.ArrowException, KeyError) as error:
            unchecked.append(Unchecked(what, f"the second path cannot make it: {error}"))

    for quantity in declared.quantities:
        attempt(f"estimand {quantity.name!r}", lambda q=quantity: cell_rows(declared, rows, q))  # type: ignore[misc]
    for question in declared.questions:
        attempt(f"contrast {question.name!r}", lambda q=question: question_rows(declared, rows, q))  # type: ignore[misc]
    return expected, unchecked


def _named(row: Found, factors: Sequence[str]) -> tuple[Any, ...]:
    levels = sorted((name, str(row[name])) for name in factors if row.get(name) is not None)
    return (row.get("contrast"), row["estimand"], *levels)


Pair = tuple[Row, Found, str]


def _matched(
    expected: Sequence[Row], table: Sequence[Found], named: Sequence[Any], unchecked: list[Unchecked]
) -> tuple[list[Pair], list[Check]]:
    """Pair rows that are about the same thing; rows on one side only are differences."""
    left = list(range(len(table)))
    pairs, differences = [], []
    for row in expected:
        place = next((i for i in left if named[i] == row.key), None)
        if place is None:
            differences.append(Difference(_shown(row.key), "row", "absent", "in the table"))
        else:
            left.remove(place)
            pairs.append((row, table[place], _shown(row.key)))
    skipped = {each.what for each in unchecked}
    for place in left:
        if not _excused(table[place], skipped):
            differences.append(
                Difference(_shown(named[place]), "row", "in the table", "asked for by the protocol")
            )
    if not pairs:
        differences.append(Difference("main table", "rows compared", "0", "at least 1"))
    told = "every row that the protocol asks for, and no other"
    return pairs, [Check("rows", told, len(pairs), None, None, tuple(differences))]


def _excused(row: Found, skipped: Iterable[str]) -> bool:
    """Whether a row belongs to an estimand or a contrast that is listed as not checked."""
    if row.get("contrast") is None:
        return f"estimand {row['estimand']!r}" in skipped
    return any(each.startswith("contrast ") for each in skipped)


def _shown(key: Sequence[Any]) -> str:
    contrast, estimand, *levels = key
    of = f" ({contrast})" if contrast else ""
    return " ".join([f"{estimand}{of}", *(f"{name}={level}" for name, level in levels)])


def _numbers(pairs: Sequence[Pair]) -> list[Check]:
    """One check for each column and way of finding it."""
    compared: dict[tuple[str, str], list[tuple[float, Difference | None]]] = {}
    for row, found, where in pairs:
        for column in TOLERANCE:
            if column in row.unknown:
                continue
            span, value = row.spans.get(column), found.get(column)
            if span is None and value is None:
                continue
            how = EXACT if span is None else span.how
            compared.setdefault((column, how), []).append(_compared(column, span, value, where))
    checks = []
    for column in TOLERANCE:
        for how in dict.fromkeys(h for c, h in compared if c == column):
            results = compared[column, how]
            largest = max(size for size, _ in results)
            different = tuple(each for _, each in results if each is not None)
            told = HOW[column] if how == EXACT else _wide(how)
            checks.append(Check(column, told, len(results), largest, TOLERANCE[column], different))
    return checks


def _wide(how: str) -> str:
    from pairstats.verify.laws import DRAWS

    return WIDE[how].format(DRAWS)


def _compared(column: str, span: Span | None, value: Any, where: str) -> tuple[float, Difference | None]:
    """Distance of a number from where it must lie, and the difference if that is too large."""
    if span is not None and math.isnan(span.low):
        span = None
    if span is None or value is None:
        if span is None and value is None:
            return 0.0, None
        return math.inf, Difference(where, column, _text(value), "empty" if span is None else _span(span))
    number = float(value)
    if span.low <= number <= span.high:
        return 0.0, None
    nearest = span.low if number < span.low else span.high
    scale = abs(nearest) if column in RELATIVE else max(1.0, abs(nearest))
    size = math.inf if math.isinf(nearest) or scale == 0 else abs(number - nearest) / scale
    if size <= TOLERANCE[column]:
        return size, None
    return size, Difference(where, column, _text(number), _span(span))


def _text(value: Any) -> str:
    return "empty" if value is None else f"{value:.12g}" if isinstance(value, float) else str(value)


def _span(span: Span) -> str:
    return _text(span.low) if span.low == span.high else f"in [{span.low:.6g}, {span.high:.6g}]"


def _words(pairs: Sequence[Pair]) -> list[Check]:
    """One check for each column of text that follows from the rest."""
    checks = []
    for column, how in WORDS.items():
        told = [(row.words[column], found.get(column), where) for row, found, where in pairs
                if column in row.words]  # fmt: skip
        different = tuple(
            Difference(where, column, _text(found), wanted)
            for wanted, found, where in told
            if found != wanted
        )
        if told:
            checks.append(Check(column, how, len(told), None, None, different))
    return checks


def _unknown(pairs: Sequence[Pair]) -> list[Unchecked]:
    """Columns of single rows that have no second path."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for row, found, where in pairs:
        for column, why in row.unknown.items():
            if found.get(column) is not None:
                reasons.setdefault((column, why), []).append(where)
    return [Unchecked(f"{column} of {', '.join(rows)}", why) for (column, why), rows in reasons.items()]
