"""One tolerant reader of replies, the same for every model, and canonical answers to compare.

A reply is read without knowing who wrote it. What cannot be read stays `unparsed` with its text
kept: nothing is repaired and nothing is guessed. Answers are compared in a canonical spelling, so
that white space, the order of a set, the format of a number, the offset of an instant and (unless
declared otherwise) letter case are neither flips nor errors.
"""

from pairstats.answers.canonical import StatedConfidence, parse_confidence
from pairstats.answers.format import AnswerFormat, Parsed
from pairstats.answers.scan import find_json, strip_reasoning

__all__ = [
    "AnswerFormat",
    "Parsed",
    "StatedConfidence",
    "find_json",
    "parse_confidence",
    "strip_reasoning",
]
