"""The account of the files without what it quotes of the records: sources, reasons and notes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Any

import pandas as pd

from pairstats.records.masks import Mask
from pairstats.records.texts import CUT, digest, is_text, only_names_quoted, without_quotes


def new_source(source: str, files: Collection[str]) -> str:
    """Source with a digest in place of a record that is named by a text; the name of the file stays.

    Examples
    --------
    >>> new_source("a.jsonl:12", {"a.jsonl"})
    'a.jsonl:12'
    >>> new_source("a.jsonl:What is the capital of France?", {"a.jsonl"})
    'a.jsonl:sha256:115049a298532be2f181edb03f766770'
    """
    file, record = _parts(source, files)
    return source if not is_text(record) else f"{file}:{digest(record)}" if file else digest(record)


def _parts(source: str, files: Collection[str]) -> tuple[str, str]:
    """File and record of a source; either may be empty."""
    if source in files:
        return source, ""
    file = source
    while file and file not in files:
        file = file.rpartition(":")[0]
    return file, source.removeprefix(f"{file}:") if file else source


def new_reason(reason: str) -> str:
    """Reason up to where it begins to quote; one that is a text all the same becomes a digest.

    Examples
    --------
    >>> new_reason("rate_limit"), new_reason("its repeat is 'two'")
    ('rate_limit', 'its repeat is …')
    """
    cut = without_quotes(reason)
    return digest(reason) if is_text(Mask()(cut, Counter())) else cut


def new_left_out(left_out: pd.DataFrame, files: Collection[str]) -> pd.DataFrame:
    """Records left out, with sources and reasons that quote nothing."""
    if left_out.empty:
        return left_out
    return left_out.assign(
        source=[new_source(source, files) for source in left_out["source"]],
        reason=[
            without_quotes(_without_record(reason, _parts(source, files)[1]))
            for source, reason in zip(left_out["source"], left_out["reason"], strict=True)
        ],
    )


def _without_record(reason: str, record: str) -> str:
    """Reason that does not call its record by a text."""
    return reason.replace(record, digest(record)) if is_text(record) else reason


def new_ledger(
    ledger: pd.DataFrame, left_out: pd.DataFrame, now: pd.DataFrame, reasons: Mapping[str, str]
) -> pd.DataFrame:
    """Ledger of which reasons and notes quote nothing but names.

    Parameters
    ----------
    ledger, left_out : pandas.DataFrame
        As they were.
    now : pandas.DataFrame
        From `new_left_out`.
    reasons : mapping of str to str
        Reasons of rows that were changed, and what they are now.
    """
    told = ["note", "reasons", "left_out_reasons"]
    ledger = ledger.assign(**ledger[told].astype(object).fillna(""))  # of files of before these columns
    changed = now[now["reason"] != left_out["reason"]]["source"]
    return ledger.assign(
        note=[only_names_quoted(note) for note in ledger["note"]],
        reasons=[_replaced(told, reasons) for told in ledger["reasons"]],
        left_out_reasons=[
            _counted(line, now)
            if _of(line["file"], changed).any()
            else without_quotes(str(line["left_out_reasons"]))
            for line in ledger.to_dict("records")
        ],
    )


def _replaced(told: str, reasons: Mapping[str, str]) -> str:
    for old in sorted(reasons, key=len, reverse=True):
        told = told.replace(old, reasons[old])
    return told


def _of(file: Any, sources: pd.Series) -> pd.Series:
    """Which sources are of a file."""
    sources = sources.astype(str)
    return (sources == str(file)) | sources.str.startswith(f"{file}:")


def _counted(line: Mapping[Any, Any], left_out: pd.DataFrame) -> str:
    """Count the reasons of a file anew; nothing is told where its records cannot be told from others."""
    times = Counter(left_out.loc[_of(line["file"], left_out["source"]), "reason"])
    known = times.total() == int(line["left_out"])
    return ", ".join(f"{n} {reason}" for reason, n in times.most_common()) if known else CUT
