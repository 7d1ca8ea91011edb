"""Where output may go: nothing that pairstats did not write is ever overwritten unasked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from pairstats.errors import PairstatsError, listed

FORCE = "Name another with -o, or overwrite it with --force (in Python, force=True)."


def check_file(path: Path, *, ours: Callable[[Path], bool], force: bool = False, ending: str = "") -> None:
    """Raise unless a file may be written.

    Parameters
    ----------
    path : Path
        Where it would be written; nothing is made or changed here.
    ours : callable
        Whether an existing file was written by pairstats.
    force : bool, default False
        Overwrite what is not ours.
    ending : str, optional
        What its name must end with.

    Raises
    ------
    PairstatsError
        When the name ends otherwise, a folder or another's file is there, or its folder cannot be written to.
    """
    if ending and path.suffix.lower() != ending:
        raise PairstatsError(f"The output must end with {ending}, but is {str(path)!r}. Name it with -o.")
    if path.is_dir():
        raise PairstatsError(
            f"The output must be a file, but {str(path)!r} is a folder. Name a file with -o."
        )
    if path.exists() and not force and not ours(path):
        raise PairstatsError(f"{str(path)!r} is there already, and pairstats did not write it. {FORCE}")
    check_parent(path)


def check_files(paths: Iterable[Path], *, ours: Callable[[Path], bool], force: bool = False) -> None:
    """Raise unless every one of several files in one folder may be written; the message names those in the way."""
    paths = list(paths)
    for folder in dict.fromkeys(path.parent for path in paths):
        if folder.exists() and not folder.is_dir():
            raise PairstatsError(
                f"The output must be a folder, but {str(folder)!r} is a file. Name a folder with -o."
            )
        check_parent(folder / "new")
    foreign = [path for path in paths if path.exists() and not ours(path)]
    if foreign and not force:
        raise PairstatsError(
            f"{listed([path.name for path in foreign])} in {str(foreign[0].parent)!r} would be overwritten, and "
            f"pairstats did not write it there. {FORCE}"
        )


def check_parent(path: Path) -> None:
    """Raise unless the folder of a path, or the nearest folder above it that exists, can be written to.

    Raises
    ------
    PairstatsError
        Naming what is in the way.
    """
    above = path.absolute().parent
    while not above.exists():
        above = above.parent
    if not above.is_dir():
        raise PairstatsError(f"{str(path)!r} cannot be written, because {str(above)!r} is a file.")
    if not os.access(above, os.W_OK | os.X_OK):
        raise PairstatsError(f"{str(path)!r} cannot be written, because {str(above)!r} is closed to you.")
