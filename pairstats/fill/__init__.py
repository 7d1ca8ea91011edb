"""A write-up filled from results: every number comes from a row, and every fault is told with its line.

An article is a Jinja template. The names of the protocol's estimands and contrasts stand for their rows:

    {{ acc["qwen3"].pct }} %             a cell: its estimate in percent
    {{ acc["qwen3"].ci }}                its interval, in the unit of the estimand
    {{ C1.estimate | points }} points    a contrast: percentage points with a sign
    p {{ C1.p | p }}                     0.031, or <= the floor where the p-value is at it
    {{ C1.n_families | count }}          a whole number
    {{ acc["qwen3"].estimate | num(2) }} a number with as many decimals
    {{ study.ranks["qwen3"].rank_low }}  a column of a table of the protocol's own script

Numbers that must stay as they were typed are checked, and never silently replaced:

    {{ acc["qwen3"].pct | equals("45.0") }}      prints 45.0, and fails where the results say otherwise
    <!-- check: acc["qwen3"].pct = 45.0 -->      the same, and leaves no trace
    C1 was -0.3 points                           a number right after the name of an estimand or contrast must
                                                 be one of its numbers, at the decimals typed
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from jinja2 import TemplateSyntaxError, Undefined, nodes, pass_context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from pairstats.arguments import checked
from pairstats.errors import PairstatsError, listed, one_of
from pairstats.fill.values import NUMERIC, ROUNDINGS, Faults, Rows, Writer, named_rows
from pairstats.outputs import check_file
from pairstats.results import ESTIMATES, Results

Node = TypeVar("Node", bound=nodes.Node)
MARKER = re.compile(r"<!--\s*check:\s*(?P<expression>[^\n]+?)\s*=\s*(?P<typed>[-+\u2212]?[\d.,]+)\s*%?\s*-->")
CODE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|\{#.*?#\}|<!--.*?-->", re.DOTALL)
UNITS = "%|percent|points?|pp|families"
TYPED = rf"(?P<number>[-+\u2212]?\d[\d,]*(?:\.\d+)?)(?!\.?\d)(?!-\w)(?!\s*(?!(?:{UNITS})\b)[A-Za-z])"
BETWEEN = r"`?\s*(?:=|:|\(|\bis\b|\bwas\b|\bof\b|\bat\b)\s*"


class FillError(PairstatsError):
    """An article that cannot be filled.

    Attributes
    ----------
    faults : tuple of (int, str)
        Line and message of each.
    """

    def __init__(self, message: str, faults: tuple[tuple[int, str], ...]) -> None:
        super().__init__(message)
        self.faults = faults


@dataclass(frozen=True, slots=True)
class Filled:
    """An article with its numbers.

    Attributes
    ----------
    text : str
    n_values : int
        Values that were filled in or checked.
    path : Path or None
        Where it was written.
    rounding : str
    """

    text: str
    n_values: int
    path: Path | None
    rounding: str


@checked
def fill_article(
    article: str | Path,
    results: Results | str | Path,
    output: str | Path | None = None,
    *,
    rounding: str = "half-even",
    force: bool = False,
) -> Filled:
    """Fill an article from a results folder.

    Parameters
    ----------
    article : str or Path
        A text file, usually Markdown; see the module's own words for what it may hold.
    results : Results, str or Path
        What ``pairstats run`` wrote.
    output : str or Path, optional
        File to write; nothing is written where there is a fault, or another file is there.
    rounding : {"half-even", "half-up"}, default "half-even"
        What becomes of a number just between two: the one rule for all numbers of the article. A number is
        first taken to 12 digits, so that 0.285 is 28.5 % whatever its binary form.
    force : bool, default False
        Overwrite a file that holds something else than what is filled now.

    Returns
    -------
    Filled

    Raises
    ------
    FillError
        For an unknown name or cell, an interval or number that does not exist, a typed number that the results
        contradict, or a template that cannot be read: all faults at once, each with its line.
    PairstatsError
        When the output may not be written.
    """
    one_of("rounding", rounding, ROUNDINGS)
    path, written = Path(article), None if output is None else Path(output)
    if written is not None:
        if written.resolve() == path.resolve():
            raise PairstatsError(f"The filled article must be another file than {path}. Name it with -o.")
        check_file(written, ours=lambda _: True)  # what is there is compared once there is a text
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise PairstatsError(f"There is no article {path}.") from None
    except IsADirectoryError:
        raise PairstatsError(f"The article must be a file, but {path} is a folder.") from None
    except UnicodeDecodeError as error:
        raise PairstatsError(f"{path} must be text in UTF-8, but is not: {error}.") from error
    if not isinstance(results, Results):
        results = Results.load(results)
    _refuse_altered(results)
    filled, count, faults = fill_text(text, results, rounding=rounding)
    if faults:
        lines = "\n".join(f"{path}:{line}: {message}" for line, message in faults)
        raise FillError(
            f"Every number of {path} must come from the results, but there are {len(faults)} faults:\n{lines}",
            faults,
        )
    if written is not None:
        check_file(written, ours=lambda there: there.read_bytes() == filled.encode("utf-8"), force=force)
        written.parent.mkdir(parents=True, exist_ok=True)
        written.write_text(filled, encoding="utf-8", newline="\n")
    return Filled(filled, count, written, rounding)


def fill_text(
    text: str, results: Results, *, rounding: str = "half-even"
) -> tuple[str, int, tuple[tuple[int, str], ...]]:
    """Fill a text; second the number of values, third the faults as (line, message), sorted."""
    faults = Faults()
    writer = Writer(rounding, faults)
    names = named_rows(results, writer)
    for line, message in contradictions(text, names, writer):
        faults.add(message, line)
    environment = _environment(writer, listed(sorted(n for n, v in names.items() if isinstance(v, Rows)), 30))
    filled, marked = "", MARKER.sub(_as_expression, text)
    try:
        for line, message in typed_values(environment.parse(marked)):
            faults.add(message, line)
        template = environment.from_string(marked)
        filled = template.render(names)
    except TemplateSyntaxError as error:
        faults.add(f"the template cannot be read: {error.message}", error.lineno)
    except Exception as error:  # an expression of the article may fail in any way; its line is what helps
        faults.add(f"{type(error).__name__}: {error}", _line_of(error))
    return filled, faults.n_values, faults.found()


def typed_values(template: nodes.Template) -> Iterator[tuple[int, str]]:
    """Numbers that an expression of the template prints, or sets, without any name of the results."""
    shown = [part for output in template.find_all(nodes.Output) for part in output.nodes]
    for part in (*shown, *(each.node for each in template.find_all(nodes.Assign))):
        numbers = [n.value for n in _inside(part, nodes.Const) if isinstance(n.value, int | float)]
        if numbers and not any(True for _ in _inside(part, nodes.Name)):
            yield part.lineno, f"{numbers[0]} is typed in the template; it must come from the results"


def _inside(part: nodes.Node, kind: type[Node]) -> Iterator[Node]:
    if isinstance(part, kind):
        yield part
    yield from part.find_all(kind)


def contradictions(text: str, names: Mapping[str, Any], writer: Writer) -> list[tuple[int, str]]:
    """Numbers typed right after the name of an estimand or contrast that are none of its numbers."""
    plain = CODE.sub(lambda found: re.sub(r"[^\n]", "\0", found.group()), text)
    rows = {name: value for name, value in names.items() if isinstance(value, Rows)}
    found = []
    for name, value in rows.items():
        for hit in re.finditer(rf"(?<![\w-]){re.escape(name)}(?![\w-]){BETWEEN}{TYPED}", plain):
            typed = hit["number"]
            if not _is_among(typed, value, writer):
                line = text.count("\n", 0, hit.start("number")) + 1
                found.append((line, f"{typed} stands next to {name!r}, but is none of its numbers"))
    return found


def _is_among(typed: str, rows: Rows, writer: Writer) -> bool:
    """Whether a typed number is a number of any of the rows, as it is or times 100."""
    wanted = Decimal(typed.replace("\u2212", "-").replace(",", ""))
    digits = max(0, -int(wanted.as_tuple().exponent))
    numbers = [row[name] for row in rows.rows for name in NUMERIC if row.get(name) is not None]
    shown = {
        writer.rounded(float(number) * factor, digits)
        for number in numbers
        if math.isfinite(float(number))
        for factor in (1, 100)
    }
    return wanted in shown


def _as_expression(found: re.Match[str]) -> str:
    return f"{{{{ ({found['expression']}) | equals('{found['typed']}') | hidden }}}}"


def _environment(writer: Writer, known: str) -> ImmutableSandboxedEnvironment:
    """Sandboxed environment in which nothing undefined passes unseen."""

    class Absent(Undefined):
        """Anything that is not there: told with its line where it is used, and then empty."""

        __slots__ = ()

        def _told(self, *_: Any, **__: Any) -> Any:
            unknown = f"{self._undefined_name!r} is no estimand or contrast of the results; there are {known}"
            writer.faults.add(self._undefined_hint or unknown)
            return self

        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return self._told()

        def __str__(self) -> str:
            self._told()
            return ""

        def __iter__(self) -> Any:
            self._told()
            return iter(())

        def __bool__(self) -> bool:
            self._told()
            return False

        def __len__(self) -> int:
            self._told()
            return 0

        __getitem__ = __call__ = __add__ = __radd__ = __sub__ = __rsub__ = _told
        __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __neg__ = __abs__ = _told
        __lt__ = __le__ = __gt__ = __ge__ = _told

    class Environment(ImmutableSandboxedEnvironment):
        """Reads rows by their columns and levels, and by nothing else."""

        def getattr(self, obj: Any, attribute: str) -> Any:
            return obj.get(attribute) if isinstance(obj, Rows) else super().getattr(obj, attribute)

    # With the context, so that constants too are looked at while rendering, when their line is known.
    finalize = pass_context(lambda _, value: writer.finalize(value))
    environment = Environment(
        undefined=Absent, keep_trailing_newline=True, autoescape=False, finalize=finalize
    )
    writer.absent = lambda hint: Absent(hint=hint)
    environment.filters |= writer.filters()
    return environment


def _line_of(error: BaseException) -> int:
    """Line of the article in which an error arose."""
    trace, line = error.__traceback__, 0
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<template>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


def _refuse_altered(results: Results) -> None:
    """Raise where the table of estimates is not the one that the run wrote."""
    file = results.folder / ESTIMATES
    recorded = (results.provenance.get("results_sha256") or {}).get(ESTIMATES)
    if recorded is not None and hashlib.sha256(file.read_bytes()).hexdigest() != recorded:
        raise PairstatsError(
            f"{file} must be the table that the run wrote, but it was changed afterwards. Run the protocol "
            "again; `pairstats verify` says what differs."
        )
