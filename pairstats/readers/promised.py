"""Names that promise a log: a file in a folder that is nothing of the kind is damaged, and no clutter."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable
from functools import partial

from pairstats.errors import ReadError
from pairstats.readers import arrow_files
from pairstats.readers.base import HEAD_BYTES, RunFile
from pairstats.readers.jsonlines import LONGEST_PROBED, parse
from pairstats.readers.zipped import is_zip

HIDDEN_LOGS = (".aider.results.json", ".deepeval", ".latest_test_run.json")
"""Logs, and a folder of logs, whose names begin with a dot."""
_SHOWN_BYTES = 8
_PACKED = re.compile(r"\.(eval|parquet|arrows?|feather|jsonl|ndjson|json|csv|tsv|xlsx)\.(gz|zst)$")
_BLANKS = b"\xef\xbb\xbf \t\r\n"
_PARQUET = (b"PAR1", b"PARE")  # the second where the footer is encrypted
_UTF_8 = codecs.getincrementaldecoder("utf-8")  # which takes a last character that is cut


def is_hidden(name: str) -> bool:
    """Whether a name of a file or folder begins with a dot and is not that of a log.

    Examples
    --------
    >>> is_hidden(".git"), is_hidden(".aider.results.json.gz"), is_hidden("a.csv")
    (True, False, False)
    """
    return name.startswith(".") and re.sub(r"\.(gz|zst)$", "", name) not in HIDDEN_LOGS


def check_promise(file: RunFile) -> None:
    """Refuse a file that no reader knows and that cannot be what the end of its name says.

    An empty file is none, and one that is well-formed may serve another purpose: neither is refused.

    Raises
    ------
    ReadError
        Naming the file, what it should be, and what it begins with.
    """
    name = file.path.name.lower()
    if not file.head.strip() or name.startswith("~$"):  # the second marks a workbook that is open in Excel
        return
    if _PACKED.search(name) and not file.packed and _no_text(file):  # some tools unpack and keep the name
        raise _broken(file, "packed by gzip or zstandard", _begin(file))
    for ending, what, why_not in _KINDS:
        if re.search(rf"\.({ending})(\.gz|\.zst)?$", name) and (why := why_not(file)):
            raise _broken(file, what, why)


def _broken(file: RunFile, what: str, why: str) -> ReadError:
    return ReadError(
        f"{file.shown} must be {what}, as its name says, but is damaged or something else: {why}. Fetch it again, "
        "or rename or remove it if it is no log, or pass keep_going=True to leave it out and count it."
    )


def _begin(file: RunFile) -> str:
    return f"it begins with {file.head[:_SHOWN_BYTES]!r}"


def _no_magic(file: RunFile, magics: tuple[bytes, ...]) -> str:
    return "" if file.head.startswith(magics) else _begin(file)


def _no_zip(file: RunFile) -> str:
    return "" if is_zip(file.head) else _begin(file)


def _no_text(file: RunFile) -> str:
    try:
        text = _UTF_8().decode(file.head)
    except UnicodeDecodeError as error:
        return f"byte {file.head[error.start]:#04x} at offset {error.start} is not UTF-8"
    return "it holds a NUL, as binary files do" if "\0" in text else ""


def _no_lines(file: RunFile) -> str:
    """Judge by the first line; a short document over several lines is well-formed too."""
    if why := _no_text(file):
        return why
    number, line = next(file.lines(LONGEST_PROBED))
    why = _no_json(line, f"{file.shown}:{number}")
    return why and ("" if len(file.head) < HEAD_BYTES and not _no_json(file.head, file.shown) else why)


def _no_document(file: RunFile) -> str:
    """Judge a long one by its begin, a short one by all of it; lines of JSON are well-formed too."""
    if why := _no_text(file):
        return why
    if len(file.head) == HEAD_BYTES:
        return "" if file.head.lstrip(_BLANKS).startswith((b"{", b"[")) else _begin(file)
    return _no_json(file.head, file.shown) and _no_lines(file)


def _no_json(text: bytes, where: str) -> str:
    try:
        parse(text, where)
    except ReadError as error:
        return str(error).rstrip(".")
    return ""


_ZIP = "a zip archive"
_KINDS: tuple[tuple[str, str, Callable[[RunFile], str]], ...] = (
    ("eval", f"an Inspect log, {_ZIP}", _no_zip),
    ("xlsx", f"an Excel workbook, {_ZIP}", _no_zip),
    ("parquet", "a Parquet file", partial(_no_magic, magics=_PARQUET)),
    ("arrows?|feather", "an Arrow file", partial(_no_magic, magics=tuple(arrow_files.FORMS))),
    ("jsonl|ndjson", "JSON Lines", _no_lines),
    ("json", "JSON", _no_document),
    ("csv|tsv", "text in UTF-8", _no_text),
)
"""Ending, what it promises, and what says why a file is nothing of the kind, or gives an empty text."""
