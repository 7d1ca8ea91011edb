"""Zip archives of run files: each member is a file, whatever its reader; Inspect's logs and Excel stay whole."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from pairstats.errors import ReadError
from pairstats.readers import store
from pairstats.readers.base import CHUNK, DAMAGED, MOST_UNPACKED, RunFile, state_of
from pairstats.readers.excel import is_workbook
from pairstats.readers.promised import is_hidden
from pairstats.readers.zipped import Archive, Member, check_ratio, is_zip

MOST_MEMBERS = 100_000
_OF_INSPECT = ("header.json", "_journal/start.json")


def files_in(file: RunFile) -> list[RunFile] | None:
    """Give the members of a zip archive as files of their own.

    Parameters
    ----------
    file : RunFile

    Returns
    -------
    list of RunFile or None
        None for what is no archive of files: another file, or an Excel workbook.
        An Inspect log is the one file itself; where it was packed once more, it is unpacked.

    Raises
    ------
    ReadError
        When a member's name leaves the archive, its directory or a member is damaged, one is encrypted, or the
        archive would unpack to more than may be.
    """
    if file.packed:
        if not is_zip(file.head):
            return None
        place = _place(file) / file.path.name.removesuffix(".gz").removesuffix(".zst")
        if not place.exists():
            _copy(file, place)
        inner = RunFile(place, file.shown)
        return files_in(inner) or [inner]
    if not is_zip(file.head) or is_workbook(file.head):
        return None
    with Archive(file.path, file.shown) as archive:
        listing = archive.directory
        if any(name in archive or name in listing.lost for name in _OF_INSPECT):
            return None
        if not listing.whole:
            raise ReadError(
                f"{file.shown} must end with a directory of its files, but has none that can be read. "
                "Fetch it again, or unpack what can be saved."
            )
        return list(_members(file, archive))


def _place(file: RunFile) -> Path:
    """Folder for what is unpacked from a file as it is now."""
    key = "\x1f".join(map(str, (file.path, *state_of(file.path))))
    return store.folder() / "unpacked" / hashlib.sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _copy(file: RunFile, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    written = 0
    part = place.with_name(place.name + ".part")
    try:
        with file.open() as source, part.open("wb") as target:
            while chunk := source.read(CHUNK):
                written += len(chunk)
                if written > MOST_UNPACKED:
                    raise ReadError(_too_large(file.shown, MOST_UNPACKED))
                target.write(chunk)
    except DAMAGED as error:
        raise ReadError(f"{file.shown} ends too early or is damaged: {error}.") from error
    part.rename(place)


def _too_large(shown: str, limit: int) -> str:
    return f"{shown} would unpack to more than {limit >> 20} MiB. Unpack it by hand, and read its folder."


def _members(file: RunFile, archive: Archive) -> Iterator[RunFile]:
    members = list(_wanted(archive.directory.members))
    if len(members) > MOST_MEMBERS:
        raise ReadError(
            f"{file.shown} must hold at most {MOST_MEMBERS} files, but lists {len(members)}. Unpack it by hand."
        )
    if sum(member.unpacked for member in members) > MOST_UNPACKED:
        raise ReadError(_too_large(file.shown, MOST_UNPACKED))
    places: dict[tuple[str, ...], Member] = {}
    for member in members:
        check_ratio(f"{file.shown}/{member.name}", member)
        first = places.setdefault(store.safe_parts(member.name, file.shown), member)
        if first is not member:
            raise ReadError(
                f"{file.shown} must hold each file once, but {first.name!r} and {member.name!r} are one name. "
                "Unpack it by hand, and read the folder with the one that counts."
            )
    root = _place(file)
    for parts, member in sorted(places.items()):
        place = root.joinpath(*parts)
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            part = place.with_name(place.name + ".part")
            with part.open("wb") as target:
                target.writelines(archive.chunks(member))
            part.rename(place)
        yield RunFile(place, f"{file.shown}/{'/'.join(parts)}")


def _wanted(members: Iterable[Member]) -> Iterator[Member]:
    """Yield files without folders, and without what begins with a dot, as in folders on disk."""
    for member in members:
        parts = [part for part in re.split(r"[/\\]", member.name) if part not in ("", ".")]
        hidden = any(is_hidden(part) and part != ".." for part in parts) or parts[:1] == ["__MACOSX"]
        if not member.name.endswith("/") and not hidden:
            yield member
