"""What was put to a model, as one digest: equal digests are the same words in the same roles."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

PROMPT = "prompt_sha256"
RESPONSE_ID = "response_id"
_GIVEN = ("user", "")
"""Roles of a lone message that is the same prompt as its bare text."""


def identified(prompt: Any, response_id: Any = None) -> dict[str, str]:
    """Columns that say what was asked, and which reply of the platform this is; empty where it is not known.

    Parameters
    ----------
    prompt : str, list of messages, or None
        Text, or messages with ``role`` and ``content`` (a text or a list of parts). Messages written as JSON
        text are messages.
    response_id : str, optional
        The platform's own id of the reply.

    Returns
    -------
    dict of str to str
        ``prompt_sha256`` and ``response_id``.

    Examples
    --------
    >>> one = identified("How many?")
    >>> one == identified([{"role": "user", "content": [{"type": "text", "text": "How many?"}]}])
    True
    >>> identified(None, "chatcmpl-1")
    {'response_id': 'chatcmpl-1'}
    """
    found = {}
    words = _words(prompt)
    if words is not None:
        found[PROMPT] = hashlib.sha256(words.encode("utf-8", "surrogatepass")).hexdigest()
    if isinstance(response_id, str) and response_id:
        found[RESPONSE_ID] = response_id
    return found


def _words(prompt: Any) -> str | None:
    """Write a prompt as one text: its own where it is one message, else roles and texts as JSON."""
    if isinstance(prompt, str):
        if not prompt.startswith("[{") or '"role"' not in prompt:
            return prompt or None
        try:
            return _words(json.loads(prompt)) or prompt
        except (ValueError, RecursionError):
            return prompt
    if not isinstance(prompt, list) or not prompt or not all(isinstance(each, Mapping) for each in prompt):
        return None
    said = [(str(each.get("role") or ""), _text(each.get("content"))) for each in prompt]
    if len(said) == 1 and said[0][0] in _GIVEN:
        return said[0][1] or None
    return json.dumps(said, ensure_ascii=False)


def _text(content: Any) -> str:
    """Text of a message; parts that are no text stand as JSON."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(
            part["text"] if isinstance(part, Mapping) and isinstance(part.get("text"), str) else _json(part)
            for part in content
        )
    return "" if content is None else _json(content)


def _json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)
