"""Where the elements of a JSON list end, found from brackets, commas and quotes, many bytes at a time."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_QUOTE, _COMMA, _BACKSLASH = (ord(mark) for mark in '",\\')
_OPENS, _CLOSES, _CASE = ord("{"), ord("}"), 0x20
"""With the bit `_CASE`, square brackets are curly ones."""

Places = NDArray[np.intp]


class Splitter:
    r"""Splits the inside of a list, whatever pieces it comes in; strings and nested values are passed over.

    Examples
    --------
    >>> splitter = Splitter()
    >>> splitter.feed(b'{"a": "],\\"'), splitter.feed(b'}"}, [1, 2], 3] and so on')
    (([], False), ([3, 11, 14], True))
    """

    def __init__(self) -> None:
        self._in_string = False
        self._escaped = False
        self._depth = 0

    def feed(self, text: bytes) -> tuple[list[int], bool]:
        """Find where elements end in the next bytes.

        Parameters
        ----------
        text : bytes

        Returns
        -------
        tuple
            Places of the commas between elements, and as the last one that of the list's closing bracket, where
            it is there; whether it is.
        """
        codes = np.frombuffer(text, dtype=np.uint8)
        folded = codes | _CASE
        marked = (codes == _QUOTE) | (codes == _COMMA) | (folded == _OPENS) | (folded == _CLOSES)
        marked[self._escapes(codes)] = False
        places = np.flatnonzero(marked)
        quotes = codes[places] == _QUOTE
        inside = np.logical_xor.accumulate(quotes) ^ self._in_string if places.size else quotes
        if places.size:
            self._in_string = bool(inside[-1])
        places = places[~(quotes | inside)]
        marks = folded[places]
        steps = (marks == _OPENS).astype(np.int64) - (marks == _CLOSES)
        depths = self._depth + np.cumsum(steps)
        if depths.size:
            self._depth = int(depths[-1])
        closing = np.flatnonzero(depths < 0)
        end = int(closing[0]) + 1 if closing.size else depths.size
        ends = places[:end][(depths[:end] < 0) | ((steps[:end] == 0) & (depths[:end] == 0))]
        return ends.tolist(), bool(closing.size)

    def _escapes(self, codes: NDArray[np.uint8]) -> Places:
        """Places of bytes behind an odd number of backslashes."""
        slashes = np.flatnonzero(codes == _BACKSLASH)
        carried, self._escaped = self._escaped, False
        if not slashes.size:
            return np.zeros(int(carried and codes.size > 0), dtype=np.intp)
        starts = np.flatnonzero(np.diff(slashes, prepend=-2) != 1)
        lengths = np.diff(starts, append=slashes.size)
        behind = slashes[starts] + lengths
        if carried and slashes[0] == 0:
            lengths[0] += 1
        escaped = behind[lengths % 2 == 1]
        if carried and slashes[0] != 0:
            escaped = np.append(escaped, 0)
        self._escaped = bool(escaped.size and escaped.max() == codes.size)
        return escaped[escaped < codes.size]
