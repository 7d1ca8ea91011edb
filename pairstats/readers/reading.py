"""What `read_runs` was asked, in one value that every way of reading takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pairstats.readers.base import Reader, ReadOptions
from pairstats.readers.items import Loaded
from pairstats.readers.mapping import Path, name_of
from pairstats.readers.replies import Format


@dataclass(frozen=True, slots=True)
class Reading:
    """How files are read and which raw field becomes which column; see `read_runs` for each word.

    Attributes
    ----------
    columns : mapping of str to path
        Columns of the format that are mapped, and further ones to keep.
    constants : mapping of str to value
    options : ReadOptions
        What readers are told.
    reader : str, Reader or None
    answers : AnswerFormat or None
    confidence_scale : float or mapping of model to float
    score_range : tuple of float
    exclude : tuple of str
    items : Loaded or None
    item_key : str or None
    planned : bool
    """

    columns: Mapping[str, Path] = field(default_factory=dict)
    constants: Mapping[str, Any] = field(default_factory=dict)
    options: ReadOptions = field(default_factory=ReadOptions)
    reader: str | Reader | None = None
    answers: Format | None = None
    confidence_scale: float | Mapping[str, float] = 1.0
    score_range: tuple[float, float] = (0.0, 1.0)
    exclude: tuple[str, ...] = ()
    items: Loaded | None = None
    item_key: str | None = None
    planned: bool = False

    @property
    def score(self) -> str | None:
        """Name of the primary score."""
        return self.options.score

    @property
    def by_block(self) -> bool:
        """Whether each block of a table tells by itself which rows it gives, and what their columns are."""
        whole_table = self.items is not None and (self.planned or any("=" in text for text in self.exclude))
        return not self.options.models and not whole_table

    @property
    def names(self) -> tuple[str, ...]:
        """Paths to look up in every raw record."""
        score = {self.score} if self.score else set()
        return tuple(sorted({name_of(path) for path in self.columns.values()} | score))

    @property
    def others(self) -> dict[str, Path]:
        """Mapped columns besides the item."""
        return {name: path for name, path in self.columns.items() if name != "item"}
