"""One instance of a HELM run: what became of it, what was answered, and how it was scored."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pairstats.readers.each import expect, id_of
from pairstats.readers.jsonlines import dig, real, whole
from pairstats.readers.prompts import identified
from pairstats.readers.states import STOP, broken, cut, told
from pairstats.schema import ANSWERED

Json = dict[str, Any]

NOT_SCORES = re.compile(
    r"^(num_|training_|inference_|finish_reason_|batch_size$|prompt_truncated$|max_prob$|perplexity$"
    r"|logprob(_|$)|bits_per_byte$|estimated_|(none|.*)_co2_cost$)"
)
"""Names of statistics that describe the call, not the answer."""
_OF_FAMILIES = ("worst", "original")
"""What a statistic is computed on, where that is not the instance itself."""
_NOT_SETTINGS = ("name", "robustness", "fairness", "computed_on")


@dataclass(frozen=True)
class Entry:
    """What the files of a run say of one instance, perturbation and trial.

    Attributes
    ----------
    stats : list of dict
        Entries of ``per_instance_stats.json``; one, or none.
    states : list of dict
        Of ``scenario_state.json``; one a choice where choices are scored one by one.
    predictions : list of dict
        Of ``display_predictions.json``.
    """

    stats: list[Json]
    states: list[Json]
    predictions: list[Json]

    @property
    def state(self) -> Json:
        """Request and result; empty where the log has none, or one a choice."""
        return self.states[0] if len(self.states) == 1 else {}

    @property
    def instance(self) -> Any:
        """What was asked, with its references; the same for every choice."""
        return self.states[0].get("instance") if self.states else None

    @property
    def prediction(self) -> Json:
        """Prediction as HELM's pages show it."""
        return self.predictions[0] if self.predictions else {}

    def replies(self) -> list[Json]:
        """Completions, the likeliest first, which is the one that HELM scores."""
        completions = dig(self.state, "result", "completions")
        found = [each for each in completions if isinstance(each, dict)] if completions else []
        return sorted(found, key=lambda each: -(real(each.get("logprob")) or 0.0))

    @cached_property
    def means(self) -> dict[str, float | None]:
        """Statistics by name, with the sub-split where a name occurs in several."""
        return dict(self._named_means)

    @cached_property
    def _named_means(self) -> list[tuple[str, float | None]]:
        named = [stat for entry in self.stats for stat in entry.get("stats") or []]
        times = Counter(_name(stat) for stat in named)
        found = []
        for stat in named:
            name, part = _name(stat), dig(stat, "name", "sub_split")
            if dig(stat, "name", "perturbation", "computed_on") in _OF_FAMILIES:
                continue
            mean = stat.get("mean")
            value = mean if isinstance(mean, float) and math.isnan(mean) else real(mean)
            found.append((f"{name}:{part}" if times[name] > 1 and part else name, value))
        return found

    @property
    def doubt(self) -> str:
        """What the files say more than once of the instance, so that nobody knows which counts; else empty."""
        asked = Counter((str(s.get("reference_index")), str(s.get("request_mode"))) for s in self.states)
        if max(asked.values(), default=0) > 1:
            return f"be asked once for each choice, but is asked {max(asked.values())} times for one"
        means = {(name, str(value)) for name, value in self._named_means}
        twice = next((name for name, times in Counter(name for name, _ in means).items() if times > 1), None)
        return "" if twice is None else f"have one mean of {twice!r}, but has several"

    def raw(self) -> Json:
        """Give what a dotted path of the user looks into."""
        shown = {key: value for key, value in self.prediction.items() if key not in ("stats", "perturbation")}
        state = {key: value for key, value in self.state.items() if key != "adapter_spec"}
        state |= {"instance": self.instance} if self.states else {}
        return {**shown, **state, "stats": {**(self.prediction.get("stats") or {}), **self.means}}


def _name(stat: Json) -> str:
    expect(stat["name"], "statistic", {"name": str})
    return id_of(stat["name"].get("name"), "statistic")


def variant_of(perturbation: Json, *, qualified: bool) -> str:
    """Name a perturbation, with its settings where its name alone is not enough; empty for the original.

    Examples
    --------
    >>> variant_of({"name": "typos", "robustness": True, "prob": 0.1}, qualified=True)
    'typos(prob=0.1)'
    >>> variant_of({}, qualified=False)
    ''
    """
    name = str(perturbation.get("name") or ("perturbed" if perturbation else ""))
    settings = {key: value for key, value in sorted(perturbation.items()) if key not in _NOT_SETTINGS}
    if not (qualified and settings):
        return name
    return f"{name}({', '.join(f'{key}={value}' for key, value in settings.items())})"


def scores_of(entry: Entry) -> dict[str, float | None]:
    """Scores by name: the means of the statistics that say something of the answer."""
    shown = entry.prediction.get("stats")
    found = {name: real(value) for name, value in shown.items()} if isinstance(shown, dict) else {}
    found |= entry.means
    return {name: value for name, value in found.items() if not NOT_SCORES.match(name)}


def fields_of(entry: Entry) -> Json:
    """Give the schema columns that the files of a run determine, except those of the key.

    Parameters
    ----------
    entry : Entry

    Returns
    -------
    dict
        The answer is the text of the chosen option where there are options, else the reply without blanks
        around it, which is what HELM compares. ``max_prob``, a likelihood, is no stated confidence.
    """
    means = entry.means
    text = _response(entry)
    status, reason = _status(entry, text, means)
    latency = means.get("inference_runtime")
    return {
        "status": status,
        "reason": reason,
        "response": text,
        "answer": _answer(entry, text) if status == ANSWERED else None,
        "gold": _gold(entry),
        "split": _split(entry),
        "input_tokens": whole(means.get("num_prompt_tokens")),
        "output_tokens": whole(means.get("num_output_tokens", means.get("num_completion_tokens"))),
        "latency_s": real(dig(entry.state, "result", "request_time")) if latency is None else latency,
        **identified(dig(entry.state, "request", "messages") or dig(entry.state, "request", "prompt")),
        "prompt_truncated": True if entry.state.get("prompt_truncated") is True else None,
    }


def _response(entry: Entry) -> str | None:
    replies = entry.replies()
    text = replies[0].get("text") if replies else entry.prediction.get("predicted_text")
    return text if isinstance(text, str) else None


def _status(entry: Entry, text: str | None, means: dict[str, float | None]) -> tuple[str, str | None]:
    """State first: a request that failed was not answered, whatever statistics were made of it."""
    requests = [state for state in entry.states if dig(state, "result", "success") is False]
    if requests:
        return broken("helm", str(dig(requests[0], "result", "error") or ""), "result.success")
    if entry.state and not isinstance(dig(entry.state, "result"), dict):
        return "error", "no_response"
    if text is None:
        told_by_scores = scores_of(entry) and not entry.state  # which are 0 where a call gave nothing
        return (ANSWERED, None) if told_by_scores or len(entry.states) > 1 else ("error", "no_reply")
    ended = told("helm", STOP, _stop(entry) or ("length" if means.get("finish_reason_length") == 1.0 else ""))
    holds = bool(text.strip()) and not (_options(entry) and _answer(entry, text) is None)
    if ended:
        return cut(ended, holds)
    return (ANSWERED if holds else "unparsed" if text.strip() else "empty"), None


def _stop(entry: Entry) -> str:
    replies = entry.replies()
    reason = replies[0].get("finish_reason") if replies else None
    word = dig(reason, "reason") if isinstance(reason, dict) else reason
    return word if isinstance(word, str) else ""


def _options(entry: Entry) -> Json:
    """Texts of the options by label, where they were asked for together."""
    options = entry.state.get("output_mapping")
    return options if isinstance(options, dict) else {}


def _answer(entry: Entry, text: str | None) -> str | None:
    """Text of the option that was chosen; the reply itself where there are no options."""
    options = _options(entry)
    if options and text is not None:
        chosen = options.get(text.strip())
        return chosen if isinstance(chosen, str) else None
    mapped = entry.prediction.get("mapped_output")
    return mapped if isinstance(mapped, str) else None if text is None else text.strip()


def _gold(entry: Entry) -> str | None:
    """Text of the correct reference; a JSON list of them where there are several."""
    references = dig(entry.states[0] if entry.states else {}, "instance", "references")
    correct = [
        dig(reference, "output", "text")
        for reference in (references if isinstance(references, list) else [])
        if "correct" in (dig(reference, "tags") or ())
    ]
    texts = [text for text in correct if isinstance(text, str)]
    if not texts:
        return None
    return texts[0] if len(texts) == 1 else json.dumps(texts, ensure_ascii=False)


def _split(entry: Entry) -> str | None:
    names = [dig(stat, "name", "split") for each in entry.stats for stat in (each.get("stats") or [])[:1]]
    names += [dig(state, "instance", "split") for state in entry.states[:1]]
    return next((name for name in names if isinstance(name, str)), None)
