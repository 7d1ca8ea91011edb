"""Why a call failed, in the few words of the `reason` column, from what platforms write in prose."""

from __future__ import annotations

import re

_PATTERNS: tuple[tuple[str, str], ...] = (
    ("rate_limit", r"rate.?limit|\b429\b|too many requests|quota"),
    ("context", r"context.?(length|window)|maximum context|too many tokens|prompt is too long"),
    (
        "content_filter",
        r"content.?(filter|policy(?! header)|management)|responsible.?ai|prohibited.?content|safety (system|filter)"
        r"|block\w*\b.{0,80}\bsafety.?settings|\bsafety.?settings.{0,80}\bblock|data.?inspection.?failed",
    ),
    ("overloaded", r"overloaded|\b(503|529)\b|service unavailable|at capacity"),
    ("timeout", r"time.?d?.?out|\b(408|504)\b|deadline"),
    ("cancelled", r"cancel"),
    ("connection", r"connection|connect error|fetch failed|network error|ECONN|unreachable"),
    ("server_error", r"\b50[0-9]\b|internal server error|server.?error"),
    ("invalid_request", r"\b(400|401|403|404|422)\b|invalid.?request|bad.?request|unauthori[sz]ed"),
)
_OF_CODE = re.compile(
    r"\b(Key|Attribute|Type|Name|Import|ModuleNotFound|JSONDecode|Validation)Error\b|\bvalidation errors? for\b"
    r"|has no attribute|unexpected keyword|\bInput should be\b|No module named"
)
"""Exceptions of a program that met a word where it did not expect it: no filter has spoken."""
_COMPILED = tuple((reason, re.compile(pattern, re.IGNORECASE)) for reason, pattern in _PATTERNS)


def is_of_code(message: str) -> bool:
    """Whether a message is that of a mistake in a program, whatever words of a platform it quotes.

    Examples
    --------
    >>> is_of_code("KeyError: 'content_filter'"), is_of_code("400 content_filter")
    (True, False)
    """
    return _OF_CODE.search(message[:2000]) is not None


def error_reason(message: str, default: str) -> str:
    """Name the cause of a failed call from its message.

    Parameters
    ----------
    message : str
        What the platform logged; only its first 2,000 characters are looked at.
    default : str
        The word for a message that fits none.

    Returns
    -------
    str

    Examples
    --------
    >>> error_reason("RateLimitError: 429 Too Many Requests", "sample_error")
    'rate_limit'
    >>> error_reason("tool sandbox went away", "sample_error")
    'sample_error'
    """
    for reason, pattern in _COMPILED:
        if pattern.search(message[:2000]) and not (reason == "content_filter" and is_of_code(message)):
            return reason
    return default
