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
    rf"(?P<put>(?:(?:score|value)_[._%+'-]{{0,8}}){{0,3}})"
    rf"(?:(?:[{_LETTERS}]|{_ESCAPED})(?:[{_LETTERS}._%+'-]|{_ESCAPED}){{0,{MOST}}}|\"[^\"\s@][^\"\n@]{{0,63}}\")"
    rf"(?:@|\uff20|%40|\\u0040)"
    rf"(?:{_LABEL}(?:{_DOT}{_LABEL})*{_DOT}"
    rf"(?:xn--[A-Za-z0-9-]+|[A-Za-z]{{2,}}|(?:(?![A-Za-z0-9])[{_LETTERS}]|{_ESCAPED}){{2,}})"
    r"|\[\d{1,3}(?:\.\d{1,3}){3}\])"
)
"""Addresses in any script (RFC 6531), with a domain of two labels or more; also as JSON or a URL writes them.

What readers put before the name of a column (``put``) is no part of the address."""
MASK = r"\[(?:key|e-mail) \d+\]"
_CHAR = rf"(?:(?!{MASK})[^\s\"',;])"
"""Character of a value without quotes; a mask is not masked again."""
_NONE = rf"(?!<[|/]|<\w{{1,64}}>|{MASK})"
"""No placeholder such as ``<token>``, no special token such as ``<|end|>``, and no mask, starts a value."""
_QUOTE = r"\\?[\"']?"
_IS = rf"{_QUOTE}\s*(?:=>|:=|[:=])\s*{_QUOTE}{_NONE}"
_SAID = rf"\s+(?:is|was|provided|given|used)\b\s*(?:[:=]\s*)?{_QUOTE}{_NONE}"
_ENDED = r"(?:_(?!hash|sha|id)[A-Za-z0-9]{1,16}){0,2}(?![A-Za-z])"
"""What may follow a word within a name: ``API_KEY_2`` and ``SECRET_KEY_BASE`` are names of keys, too."""
_PASSWORD = r"(?:password|passwd|passphrase|pwd)"
_SECRET = (
    r"(?:(?:api|access|account|auth|client|encryption|license|master|private|secret|service|shared|signing|storage"
    r"|subscription)[-_ ]?key|secret|credentials?"
    r"|(?:(?<![A-Za-z0-9_-])|(?:access|api|auth|bearer|bot|client|hf|hub|id|personal|refresh|security|session)"
    r"[-_ ]?)token)"
)
"""Words that stand before a secret, alone or as the end of a name."""
_DIGIT_NEAR = rf"(?=[{_LETTERS}]{{0,15}}\d)(?=[{_LETTERS}]{{0,15}}[^\W\d_])"
_RANDOM = (
    rf"(?:(?=[^\s\"',;:=]{{0,64}}?{_DIGIT_NEAR}[{_LETTERS}]{{16}})"
    r"|(?=[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}))"
)
"""Looks drawn by chance: sixteen letters and digits in a row with one of each, or a UUID."""
_NUMBER = r"(?![-+]?[\d.]+(?:[eE][-+]?\d+)?(?![^\s\"',;)\]}]))"
"""A number behind a word for a token counts or prices tokens."""
_BOTH = rf"(?={_CHAR}{{0,64}}?\d)(?={_CHAR}{{0,64}}?[^\W\d_])"
KEYS: tuple[re.Pattern[str], ...] = tuple(map(re.compile, (
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
    r"eyJ[A-Za-z0-9_-]{8,4096}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    r"(?<![A-Za-z0-9])(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}",
    r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{20,}",
    r"(?<![A-Za-z0-9])(?:gh[pousr]_|github_pat_|glpat-|gsk_|r8_|npm_|pypi-|xox[abeprs]-|xapp-|xai-|pplx-|lsv2_|dop_v1_"
    r"|GOCSPX-|ya29\.)[A-Za-z0-9_-]{12,}",
    r"(?<![A-Za-z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    r"(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{30,}",
    r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]+",
    r"discord(?:app)?\.com/api/webhooks/\d+/[A-Za-z0-9_-]+",
    r"(?<=://)[^\s/\"'<>:@]{0,255}:[^\s/\"'<>]{1,255}(?=@)",
    rf"(?i:authorization{_IS}(?:[a-z][a-z0-9-]{{1,31}}\s+)?){_NONE}{_CHAR}{{8,}}[\"']?",
    r"(?i:(?<![A-Za-z0-9])bearer\s+)[A-Za-z0-9._~+/-]{16,}=*",
    r"(?i:(?<![A-Za-z0-9])basic\s+)(?=[A-Za-z+/]*\d)[A-Za-z0-9+/]{12,}={0,2}",
    rf"(?i:(?:{_PASSWORD}|{_SECRET}){_ENDED}{_QUOTE}\s*(?:=>|:=|[:=])\s*)"
    rf"(?:\"(?:(?!{MASK})[^\"\n]){{8,255}}\"|'(?:(?!{MASK})[^'\n]){{8,255}}')",
    rf"(?i:{_PASSWORD}{_ENDED}{_IS})(?!(?i:none|null|true|false)\b){_CHAR}{{4,}}[\"']?",
    rf"(?i:{_SECRET}{_ENDED}{_IS}){_NUMBER}{_CHAR}{{8,}}[\"']?",
    rf"(?i:(?:{_PASSWORD}|{_SECRET}){_ENDED}{_SAID}){_BOTH}{_CHAR}{{8,}}[\"']?",
    rf"(?i:--[a-z-]{{0,32}}(?:{_PASSWORD}|key|secret|token)\s+){_QUOTE}{_NONE}{_BOTH}{_CHAR}{{8,}}[\"']?",
    rf"(?i:(?:key|token){_ENDED}(?:{_IS}|{_SAID})){_RANDOM}{_CHAR}{{16,}}[\"']?",
)))  # fmt: skip
"""What providers' keys look like, secrets within a URL, and what stands behind a word for a secret.

Behind words that name much else (``key``, ``next_token``) only what looks drawn by chance is one."""
MASKED = re.compile(MASK)
UNBROKEN = re.compile(r"[A-Za-z0-9]{32,}")
"""A long word without a break is a key where it mixes capitals, small letters and digits, or capitals and digits
beyond the hexadecimal ones, of which digests are made."""


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
        return EMAIL.sub(lambda m: m["put"] + self._named("e-mail", m[0].removeprefix(m["put"]), met), text)

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
    upper, lower, digit = (any(map(kind, word)) for kind in (str.isupper, str.islower, str.isdigit))
    return digit and upper and (lower or any(char > "F" for char in word))
