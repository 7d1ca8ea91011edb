"""What the columns of a plain table mean by their names: roles of the format, scores, blocks of a model."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Mapping

ALIASES: Mapping[str, tuple[str, ...]] = {
    "item": ("item", "item_id", "question_id", "sample_id", "instance_id", "task_id", "qid", "id"),
    "model": ("model", "model_name", "model_id", "system"),
    "family": ("family", "family_id"),
    "variant": ("variant", "variant_id"),
    "condition": ("condition",),
    "study": ("study", "benchmark"),
    "split": ("split",),
    "category": ("category",),
    "run": ("run", "run_id"),
    "platform": ("platform",),
    "repeat": ("repeat", "repetition", "epoch", "trial"),
    "status": ("status",),
    "reason": ("reason",),
    "answer": ("answer", "prediction", "predicted", "pred"),
    "gold": ("gold", "gold_answer", "target", "expected", "label", "reference"),
    "outcome": ("outcome",),
    "response": (
        "response",
        "completion",
        "output",
        "model_output",
        "model_outputs",
        "model_response",
        "generation",
        "generated_text",
        "reply",
        "reply_text",
        "response_text",
        "output_text",
        "raw_output",
        "raw_response",
        "llm_response",
        "llm_output",
        "solution",
    ),
    "error": ("error", "api_error", "err", "error_msg", "err_msg"),
    "error_message": ("error_message", "error_text", "error_detail"),
    "error_type": ("error_type",),
    "exception": ("exception", "exception_message", "failure"),
    "is_error": ("is_error",),
    "code": ("status_code", "http_status", "error_code"),
    "stop": ("finish_reason", "stop_reason"),
    "confidence": ("confidence",),
    "input_tokens": ("input_tokens", "prompt_tokens"),
    "output_tokens": ("output_tokens", "completion_tokens"),
    "latency_s": ("latency_s",),
    "cost_usd": ("cost_usd",),
}
"""Column of the paired long format, and its names in tables; the first one that is there counts."""

SCORE_NAMES = (
    "score", "correct", "is_correct", "accuracy", "acc", "passed", "exact_match", "resolved", "is_resolved",
)  # fmt: skip
DECISIVE = frozenset({*SCORE_NAMES, *ALIASES["answer"], *ALIASES["response"]})
"""Names that say that a column, or an object in one, holds a decision."""
FROM_ONE = ("epoch", "trial")
"""Repeats that are counted from 1 where their smallest number is 1; a `repeat` is counted from 0."""
INTEGERS = ("repeat", "input_tokens", "output_tokens")
REALS = ("latency_s", "cost_usd")
ERRORS = ("code", "is_error", "error_type", "exception", "error_message", "error")
"""Roles that tell of a failure, what counts most last."""
TOLD_BY = ("status", *ERRORS, "stop")
"""Roles that tell the status; the cells of all but the first are kept beside."""
FOREIGN: tuple[frozenset[str], ...] = tuple(map(frozenset, (
    {"doc_id", "resps"}, {"custom_id", "response"}, {"custom_id", "result"}, {"custom_id", "body"},
    {"choices", "object"}, {"testCase"}, {"promptIdx"}, {"evaluation_result_id"}, {"spec"}, {"event_id"},
    {"eval", "samples"}, {"session_id", "chat_history"}, {"instruction", "generator_1"},
    {"request", "response"},
)))  # fmt: skip
"""Keys by which JSON belongs to another platform."""
FOREIGN_UNSCORED = frozenset({"error", "response"})
"""Keys of calls that were only logged; with item, model and a score or texts beside them, they are a table's."""


def is_plain(names: tuple[str, ...], form: str) -> bool:
    """Whether names alone say that a table is plain and long: a decision a row, answered or scored."""
    roles, scores = roles_of(names), scores_of(names, None)
    says = bool(roles.keys() & {"answer", "response"} or scores or blocks_of(names))
    return says and bool("model" in roles or scores) and not is_foreign(names, form)


def is_foreign(names: tuple[str, ...], form: str, *, texts: bool = False) -> bool:
    """Whether JSON with these keys belongs to another platform; `texts` says that its responses are texts."""
    keys = {name.strip() for name in names}
    placed = {"item", "model"} <= roles_of(names).keys()
    foreign = FOREIGN if placed and (texts or scores_of(names, None)) else (*FOREIGN, FOREIGN_UNSCORED)
    return form.startswith("json") and any(each <= keys for each in foreign)


def plain_of(name: str) -> str:
    """Write a column's name as `ALIASES` has it."""
    return re.sub(r"[\s.-]+", "_", name.strip().lower())


def alike(names: tuple[str, ...]) -> list[str]:
    """Names that mean the same to a reader and yet differ, of which one would hide the other."""
    meant = {*SCORE_NAMES, *itertools.chain.from_iterable(ALIASES.values())}
    times = Counter(plain for name in names if (plain := plain_of(name)) in meant)
    return [name for name in names if times[plain_of(name)] > 1]


def roles_of(names: tuple[str, ...], score: str | None = None) -> dict[str, str]:
    """Find the columns of the format among a table's; the earlier alias wins, and the score tells no state."""
    by_name = {plain_of(name): name for name in reversed(names)}
    found = {
        role: by_name[alias]
        for role, aliases in ALIASES.items()
        if (alias := next((alias for alias in aliases if alias in by_name), None)) is not None
    }
    prediction = next((by_name[alias] for alias in ALIASES["answer"][1:] if alias in by_name), None)
    if prediction is not None and "answer" in by_name:  # data sets call their key the answer
        found |= {"answer": prediction, "gold": _key(by_name) or by_name["answer"]}
    return {role: name for role, name in found.items() if role not in TOLD_BY or name != score}


def _key(by_name: Mapping[str, str]) -> str | None:
    """Column of the key by a name that nothing else has; a label may be anything."""
    return next((by_name[alias] for alias in ALIASES["gold"] if alias in by_name and alias != "label"), None)


def scores_of(names: tuple[str, ...], wanted: str | None) -> dict[str, str]:
    """Score columns by the name of the score; the one that the user names keeps its name as it is."""
    return {
        name if name == wanted else plain_of(name): name
        for name in names
        if name == wanted or plain_of(name) in SCORE_NAMES or plain_of(name).startswith("score_")
    } | _path_of(wanted, names)


def _path_of(wanted: str | None, names: tuple[str, ...]) -> dict[str, str]:
    """Path to a score within an object, where that is what the user names."""
    within = (
        wanted is not None and wanted not in names and any(wanted.startswith(f"{name}.") for name in names)
    )
    return {wanted: wanted} if wanted is not None and within else {}


def blocks_of(names: tuple[str, ...]) -> dict[str, dict[str, str]]:
    """Columns ``<model>__<what>`` by model, for those that hold a model's score, answer or reply."""
    blocks: dict[str, dict[str, str]] = {}
    for name in names:
        model, _, what = name.rpartition("__")
        if model and (roles_of((what,)) or scores_of((what,), None)):
            blocks.setdefault(model, {})[what] = name
    return {model: parts for model, parts in blocks.items() if DECISIVE & {plain_of(what) for what in parts}}
