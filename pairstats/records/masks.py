"""What looks like a key or an e-mail address in a text, and the mask that stands for it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection

_LETTERS = (
    r"A-Za-z0-9\u00c0-\u167f\u1681-\u1fff\u2c00-\u2dff\u3005-\ud7ff\uf900-\ufefe\uff10-\uff19\uff21-\uff3a"
    r"\uff41-\uff5a\uff66-\uffdc\U00010000-\U0010ffff"
)
"""Letters, digits and marks of every script, without their spaces and punctuation."""
_ESCAPED = r"\\u[0-9A-Fa-f]{4}"
"""A letter as JSON writes it."""
_LABEL = rf"(?:[{_LETTERS}-]|{_ESCAPED})+"
_DOT = r"[.\u3002\uff0e\uff61]"
"""Full stops that end a label of a domain."""
MOST = 255
"""Characters before the @ that are looked at; without an end, the time would grow with the square of a text."""
EMAIL = re.compile(
    rf"(?:(?:[{_LETTERS}]|{_ESCAPED})(?:[{_LETTERS}._%+'-]|{_ESCAPED}){{0,{MOST}}}|\"[^\"\s@][^\"\n@]{{0,63}}\")"
    rf"(?:@|\uff20|%40|\\u0040)"
    rf"(?:{_LABEL}(?:{_DOT}{_LABEL})*{_DOT}"
    rf"(?:xn--[A-Za-z0-9-]+|[A-Za-z]{{2,}}|(?:(?![A-Za-z0-9])[{_LETTERS}]|{_ESCAPED}){{2,}})"
    r"|\[\d{1,3}(?:\.\d{1,3}){3}\])"
)
"""Addresses in any script (RFC 6531), with a domain of two labels or more; also as JSON or a URL writes them."""
KEYS: tuple[re.Pattern[str], ...] = tuple(map(re.compile, (
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
    r"eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    r"(?<![A-Za-z0-9])(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}",
    r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{20,}",
    r"(?<![A-Za-z0-9])(?:gh[pousr]_|github_pat_|glpat-|gsk_|r8_|npm_|pypi-|xox[abprs]-|xai-|pplx-|lsv2_|dop_v1_)"
    r"[A-Za-z0-9_-]{12,}",
    r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    r"(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{30,}",
    r"(?i:\bbearer\s+)[A-Za-z0-9._~+/-]{16,}=*",
    r"(?i:\b(?:api[-_ ]?key|secret|token|password|passwd|authorization)\b[\"']?\s*[:=]\s*[\"']?)"
    r"[^\s\"',;]{8,}[\"']?",
)))  # fmt: skip
"""What providers' keys look like, and what stands behind a word for one."""
MASKED = re.compile(r"\[(?:key|e-mail) \d+\]")
UNBROKEN = re.compile(r"[A-Za-z0-9]{32,}")
"""A long word without a break is a key where it mixes capitals, small letters and digits."""


class Mask:
    """Masks of the keys and addresses met so far.

    A text that looks like a mask stays as it is (it may be one, of records that were redacted before), and its
    number is given to nothing else.

    Parameters
    ----------
    taken : collection of str
        Masks that the texts hold already.
    """

    def __init__(self, taken: Collection[str] = ()) -> None:
        self._taken = frozenset(taken)
        self._known: dict[tuple[str, str], str] = {}
        self._numbers: Counter[str] = Counter()

    def __call__(self, text: str, met: Counter[str], *, digests: bool = False) -> str:
        """Give a text without keys and addresses, and count them; a digest is a long word, and no key."""
        for pattern in KEYS:
            text = pattern.sub(lambda match: self._named("key", match[0], met), text)
        if not digests:
            text = UNBROKEN.sub(lambda m: self._named("key", m[0], met) if _is_mixed(m[0]) else m[0], text)
        return EMAIL.sub(lambda match: self._named("e-mail", match[0], met), text)

    def _named(self, kind: str, value: str, met: Counter[str]) -> str:
        met[kind] += 1
        known = self._known.get((kind, value))
        return known if known is not None else self._known.setdefault((kind, value), self._new(kind))

    def _new(self, kind: str) -> str:
        while True:
            self._numbers[kind] += 1
            mask = f"[{kind} {self._numbers[kind]}]"
            if mask not in self._taken:
                return mask


def _is_mixed(word: str) -> bool:
    kinds = (str.isupper, str.islower, str.isdigit)
    return all(any(kind(char) for char in word) for kind in kinds)
