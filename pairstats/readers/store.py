"""A folder for what lies in no local file of its own: fetched files and members of archives.

It is made when first needed and removed when the process ends.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path, PurePosixPath

from pairstats.errors import ReadError

LONGEST_NAME = 200
"""Bytes of a file name; a longer one no file system takes."""


@cache
def folder() -> Path:
    """Return the folder of this process."""
    made = Path(tempfile.mkdtemp(prefix="pairstats-")).resolve()
    owner = os.getpid()
    # A forked worker inherits the hook, and must not remove what its parent still reads.
    atexit.register(_remove, made, owner)
    return made


def _remove(made: Path, owner: int) -> None:
    if os.getpid() == owner:
        shutil.rmtree(made, ignore_errors=True)


def holds(path: Path) -> bool:
    """Whether a path lies in the folder, as far as there is one."""
    return folder.cache_info().currsize > 0 and path.is_relative_to(folder())


def safe_parts(name: str, where: str) -> tuple[str, ...]:
    """Split a name into the parts of a path that cannot leave its folder.

    Raises
    ------
    ReadError
        When the name is absolute, climbs out of its folder, or holds what no file name may.

    Examples
    --------
    >>> safe_parts("runs/a.jsonl", "logs.zip")
    ('runs', 'a.jsonl')
    >>> safe_parts("../a.jsonl", "logs.zip")
    Traceback (most recent call last):
        ...
    pairstats.errors.ReadError: logs.zip must hold files within itself, but names '../a.jsonl'. It may be hostile...
    """
    flat = name.replace("\\", "/")
    parts = PurePosixPath(flat).parts
    bad = (
        not parts or flat.startswith("/") or ".." in parts or ":" in parts[0][:2] or "\0" in name
        or any(len(part.encode("utf-8", "surrogatepass")) > LONGEST_NAME for part in parts)
    )  # fmt: skip
    try:
        name.encode()
    except UnicodeEncodeError:
        bad = True
    if bad:
        shown = ascii(name if len(name) <= 80 else name[:77] + "...")
        raise ReadError(
            f"{where} must hold files within itself, but names {shown}. It may be hostile: unpack it by hand, and "
            "look."
        )
    return parts
