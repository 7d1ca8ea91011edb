"""Files at an address: ``s3://``, ``https://``, ``memory://`` and all else that fsspec knows, fetched once."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pairstats.errors import ReadError
from pairstats.readers import store
from pairstats.readers.promised import is_hidden

_ADDRESS = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]+(::|://)")
_WEB = ("http", "https")
_MAGIC = re.compile(r"[*?\[]")
_SECRET = re.compile(r"//[^/@\s]*@|\?.*$")
"""Parts of an address that may hold a password or a signature."""
_INSTALL = "Install it with pip install 'pairstats[remote]'."


def is_address(path: str | os.PathLike[str]) -> bool:
    """Whether a path is an address of a file system that fsspec knows.

    Examples
    --------
    >>> is_address("s3://bucket/a.jsonl"), is_address("zip://a.jsonl::logs.zip"), is_address("C:/logs")
    (True, True, False)
    """
    return isinstance(path, str) and _ADDRESS.match(path) is not None


def shown(address: str) -> str:
    """Address without what may be secret in it.

    Examples
    --------
    >>> shown("https://me:pw@host/a.jsonl?sig=abc")
    'https://host/a.jsonl'
    """
    return _SECRET.sub(lambda match: "//" if match[0].startswith("//") else "", address)


def fetched(address: str) -> tuple[Path, list[Path], bool]:
    """Fetch what lies at an address.

    Parameters
    ----------
    address : str
        A file, a folder (with everything in it) or a pattern.

    Returns
    -------
    tuple
        The local folder that shown names start from, the local files, and whether the address is one file.

    Raises
    ------
    ReadError
        When fsspec, or the package that it needs for this protocol, is not installed, when nothing lies there,
        or when it cannot be fetched.
    """
    system, path = _system(address)
    try:
        names, base, single = _listed(system, path, address)
        places = [_place(system, name, address) for name in names]
        for name, place in zip(names, places, strict=True):
            place.parent.mkdir(parents=True, exist_ok=True)
            system.get_file(name, str(place))
    except ReadError:
        raise
    except Exception as error:  # each file system has errors of its own
        why = _SECRET.sub("", f"{type(error).__name__}: {error}")
        raise ReadError(
            f"{shown(address)!r} cannot be fetched: {why}. Is it there, and may you read it?"
        ) from error
    root = places[0].parent if single else _place(system, base, address, folder=True)
    return root, places, single


def _system(address: str) -> tuple[Any, str]:
    try:
        from fsspec.core import url_to_fs
    except ImportError as error:
        raise ReadError(
            f"To read {shown(address)!r} the package fsspec must be installed, but it is not. {_INSTALL}"
        ) from error
    try:
        system, path = url_to_fs(address)
    except ImportError as error:
        raise ReadError(
            f"To read {shown(address)!r} fsspec needs a package of its own, which is not installed: {error}."
        ) from error
    except Exception as error:  # each file system has errors of its own
        raise ReadError(
            f"{shown(address)!r} must be an address that fsspec knows, but is not: {error}."
        ) from error
    return system, path


def _protocol(system: Any) -> str:
    protocol = system.protocol
    return str(protocol if isinstance(protocol, str) else protocol[0])


def _listed(system: Any, path: str, address: str) -> tuple[list[str], str, bool]:
    """Names of the files, the folder they lie in, and whether the address is one file."""
    if _protocol(system) in _WEB:  # a server lists no folders, and its addresses may hold question marks
        return [path], path, True
    if _MAGIC.search(path) and not system.exists(path):
        names = sorted(name for match in system.glob(path) for name in _within(system, match))
        if not names:
            raise ReadError(f"Pattern {shown(address)!r} must fit run files, but fits none.")
        return names, _MAGIC.split(path)[0].rpartition("/")[0], False
    if system.isdir(path):
        names = sorted(_within(system, path))
        if not names:
            raise ReadError(f"Folder {shown(address)!r} must hold run files, but holds no file at all.")
        return names, path, False
    if not system.exists(path):
        raise ReadError(f"{shown(address)!r} must be a file, a folder or a pattern, but there is none.")
    return [path], path, True


def _within(system: Any, path: str) -> Iterator[str]:
    """Files at and below a path, without what begins with a dot."""
    if not system.isdir(path):
        yield path
        return
    below = path.rstrip("/") + "/" if path else ""
    for name in system.find(path):
        if not any(is_hidden(part) for part in name.removeprefix(below).split("/")):
            yield name


def _place(system: Any, name: str, address: str, *, folder: bool = False) -> Path:
    """Local place of a remote name; names of the web are taken without query and password."""
    if _protocol(system) in _WEB:
        parts = urlsplit(name)
        name = f"{parts.hostname or 'host'}/{parts.path.lstrip('/') or 'index'}"
    root = store.folder() / "fetched" / re.sub(r"\W", "_", _protocol(system))
    flat = name.strip("/")
    return root if folder and not flat else root.joinpath(*store.safe_parts(flat, shown(address)))
