"""Sheets of Excel workbooks (``.xlsx``), through the optional package openpyxl."""

from __future__ import annotations

import datetime
import io
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from pairstats.errors import ReadError, listed
from pairstats.readers.base import RunFile
from pairstats.readers.zipped import is_zip, lists_all

LARGEST = 1 << 29
"""Bytes of a workbook after unpacking."""
_MARKS = (b"[Content_Types].xml", b"xl/", b"docProps/")
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    KeyError,
    ValueError,
    TypeError,
    OSError,
    IndexError,
    AttributeError,
    SyntaxError,
    EOFError,
    RuntimeError,
)

Numbered = Iterator[tuple[int, dict[str, Any]]]


def is_workbook(head: bytes) -> bool:
    """Whether the first bytes are those of a zip archive with the parts of a workbook."""
    return is_zip(head) and any(mark in head for mark in _MARKS)


def open_workbook(file: RunFile) -> tuple[list[str], Callable[[], Numbered]]:
    """Give the columns of the only sheet that holds anything, and its rows by their number in Excel.

    Ids that are numbers in Excel are numbers here: ``007`` and ``1.10`` survive only in cells of text.

    Raises
    ------
    ReadError
        When openpyxl is not there, the workbook is damaged or too large, several sheets hold something, or a
        column that is not empty has no name.
    """
    filled = {name: rows for name, rows in _sheets(file).items() if rows}
    if len(filled) != 1:
        found = f"has {listed(filled, 8)}" if filled else "has none"
        raise ReadError(
            f"{file.shown} must have one sheet that is not empty, but {found}. Save each sheet as its own file."
        )
    [(name, rows)] = filled.items()
    (_, header), *body = rows
    places = [place for place in range(max(map(len, (cells for _, cells in rows)))) if _filled(rows, place)]
    nameless = [place + 1 for place in places if place >= len(header) or header[place] in (None, "")]
    if nameless:
        raise ReadError(
            f"Every column of sheet {name!r} of {file.shown} must have a name in its first row, but column "
            f"{nameless[0]} has none. Write one, or delete what stands below."
        )
    names = [str(header[place]) for place in places]
    return names, partial(_named, names, places, body)


def _filled(rows: list[tuple[int, tuple[Any, ...]]], place: int) -> bool:
    return any(len(cells) > place and cells[place] is not None for _, cells in rows)


def _named(names: list[str], places: list[int], body: list[tuple[int, tuple[Any, ...]]]) -> Numbered:
    for number, cells in body:
        values = (cells[place] if place < len(cells) else None for place in places)
        yield number, dict(zip(names, values, strict=True))


def _sheets(file: RunFile) -> dict[str, list[tuple[int, tuple[Any, ...]]]]:
    """Rows that hold anything, by sheet, with their numbers."""
    try:
        import openpyxl
    except ImportError as error:
        raise ReadError(
            f"{file.shown} is an Excel workbook, which needs the package openpyxl. Install it with "
            "pip install 'pairstats[excel]', or save the sheet as CSV."
        ) from error
    content = file.read_bytes()
    try:
        with io.BytesIO(content) as stream, zipfile.ZipFile(stream) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
            if unpacked > LARGEST:
                raise ReadError(
                    f"{file.shown} would unpack to more than {LARGEST >> 20} MiB. Save it as CSV."
                )
            # What openpyxl does not find by its name, or does not read to its end, it passes over.
            if damaged := archive.testzip():
                raise zipfile.BadZipFile(f"the checksum of {damaged} does not fit")
            if not lists_all(archive, stream):
                raise zipfile.BadZipFile("its directory does not list all of its parts")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of styles and extensions that hold no data
            book = openpyxl.load_workbook(io.BytesIO(content), read_only=True, data_only=True)
            return {sheet.title: _rows(sheet) for sheet in book.worksheets}
    except ReadError:
        raise
    except _BROKEN as error:
        raise ReadError(f"{file.shown} is a damaged Excel workbook: {error}. Is it whole?") from error


def _rows(sheet: Any) -> list[tuple[int, tuple[Any, ...]]]:
    rows = (
        (number, tuple(map(_cell, cells)))
        for number, cells in enumerate(sheet.iter_rows(values_only=True), start=1)
    )
    return [(number, cells) for number, cells in rows if any(cell is not None for cell in cells)]


def _cell(value: Any) -> Any:
    if isinstance(value, str):
        return value if value.strip() else None
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        return value.isoformat()
    return value
