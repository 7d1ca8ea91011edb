"""Documents beside run files, from which a reader takes the model, the task or the data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pairstats.errors import ReadError
from pairstats.readers.base import RunFile
from pairstats.readers.jsonlines import parse


def beside(path: Path) -> tuple[Any, str]:
    """Read the document that a run file needs besides, and say what is wrong with it.

    Returns
    -------
    tuple of object and str
        None and an empty text where there is none.
    """
    if not path.is_file():
        return None, ""
    try:
        return parse(RunFile(path, path.name).read_bytes(), path.name), ""
    except ReadError as error:
        return None, str(error)


def refuse_broken(why: str, keep_going: bool) -> None:
    """Refuse to read a file whose companion is broken, unless `keep_going`: then the ledger says so.

    Raises
    ------
    ReadError
        Naming the companion.
    """
    if why and not keep_going:
        raise ReadError(f"{why} Mend or remove that file, or pass keep_going=True to read without it.")
