"""Zstandard files, unpacked piece by piece; one that is cut short is an error, which the library passes over."""

from __future__ import annotations

import io
from typing import IO, TYPE_CHECKING

import zstandard

if TYPE_CHECKING:
    from _typeshed import WriteableBuffer

PIECE = 1 << 12
"""Packed bytes that are unpacked together: at worst they become 32,768 times as many."""


class Frames(io.RawIOBase):
    """Content of all frames of a file, for an `io.BufferedReader`.

    Examples
    --------
    >>> packed = zstandard.compress(b"one line")
    >>> io.BufferedReader(Frames(io.BytesIO(packed + packed))).read()
    b'one lineone line'
    >>> io.BufferedReader(Frames(io.BytesIO(packed[:-1]))).read()
    Traceback (most recent call last):
        ...
    EOFError: its last zstandard frame ends too early
    """

    def __init__(self, packed: IO[bytes]) -> None:
        self._packed, self._ready = packed, memoryview(b"")
        self._frame, self._begun = zstandard.ZstdDecompressor().decompressobj(), False

    def readable(self) -> bool:
        """Say so."""
        return True

    def readinto(self, buffer: WriteableBuffer) -> int:
        """Fill what can be filled; 0 at the end.

        Raises
        ------
        EOFError
            When the file ends within a frame.
        zstandard.ZstdError
            When a frame is damaged.
        """
        target = memoryview(buffer)
        while not self._ready:
            packed = self._rest() or self._packed.read(PIECE)
            if not packed and self._begun:
                raise EOFError("its last zstandard frame ends too early")
            if not packed:
                return 0
            self._begun = True
            self._ready = memoryview(self._frame.decompress(packed))
        size = min(len(target), len(self._ready))
        target[:size], self._ready = self._ready[:size], self._ready[size:]
        return size

    def _rest(self) -> bytes:
        """What was read beyond a frame that has ended, for the next one."""
        if not self._frame.eof:
            return b""
        rest = self._frame.unused_data
        self._frame, self._begun = zstandard.ZstdDecompressor().decompressobj(), False
        return rest

    def close(self) -> None:
        """Close the file too."""
        self._packed.close()
        super().close()
