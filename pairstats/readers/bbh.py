"""Published outputs of BIG-Bench Hard: ``{"outputs": [{"input", "prediction", "target"}]}``, one file a task.

The file has neither ids, nor a model, nor scores: an item is named by its question and target, and the replies
are scored by ``answers=``. The input is a whole few-shot prompt; the question is its last ``Q:``, so that an
item is the same with and without a chain of thought.
"""

from __future__ import annotations

from collections.abc import Iterator

from pairstats.readers.base import LeftOut, ReadOptions, RunFile
from pairstats.readers.documents import open_object
from pairstats.readers.each import expect
from pairstats.readers.rowlog import RowLog, keys
from pairstats.readers.sheets import Row

_OUTPUTS = ("outputs",)


def _rows(file: RunFile, options: ReadOptions) -> Iterator[tuple[str, Row | LeftOut]]:
    for number, row in open_object(file, _OUTPUTS).listed(_OUTPUTS):
        yield f"outputs.{number + 1}", row


def _prepared(row: Row) -> Row:
    expect(row, "output", {"input": str, "target": str})
    prompt = row["input"]
    question = prompt.rsplit("\nQ: ", 1)[-1].rsplit("\nA:", 1)[0]
    return {**row, "question": question}


READER = RowLog(
    name="bbh",
    detect=keys("outputs", ("outputs",), kinds=("object",), evidence=b'"prediction"'),
    looks_for="object has 'outputs' with predictions",
    fields={"response": ("prediction",), "gold": ("target",)},
    rows=_rows,
    prepared=_prepared,
    content=("question", "target"),
    note="no scores: the replies are scored by answers=; items are named by a hash of question and target",
)
