"""The report: a notebook executed on a results folder and turned into one self-contained HTML file."""

from __future__ import annotations

import html
import os
import sys
import tempfile
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from string import Template
from typing import TYPE_CHECKING, Any

from pairstats._version import __version__
from pairstats.arguments import checked
from pairstats.errors import PairstatsError
from pairstats.outputs import check_file
from pairstats.results import Results

if TYPE_CHECKING:
    from nbformat import NotebookNode

RESULTS_VARIABLE = "PAIRSTATS_RESULTS"
"""Environment variable by which the first cell of a report's notebook finds the results."""

GENERATOR = '<meta name="generator" content="pairstats'
"""How the head of a report says who wrote it."""

CELL_TIMEOUT = 600
START_TIMEOUT = 120
"""Seconds that a cell, and the start of the kernel, may take."""


@checked
def write_report(
    results_folder: str | Path,
    output: str | Path,
    *,
    notebook: str | Path | None = None,
    force: bool = False,
) -> Path:
    """Write the report of a results folder as one HTML file that loads nothing from elsewhere.

    Parameters
    ----------
    results_folder : str or pathlib.Path
        What ``pairstats run`` wrote.
    output : str or pathlib.Path
        The HTML file (``.html``); an earlier report of pairstats is replaced.
    notebook : str or pathlib.Path, optional
        A notebook to execute instead of the usual one. It finds the results as ``results`` (a `Results`), and
        pairstats as ``ps``; it runs in its own folder. Scripts in its output do not run in the report.
    force : bool, default False
        Overwrite a file that is no report of pairstats.

    Returns
    -------
    pathlib.Path
        The file that was written.

    Raises
    ------
    PairstatsError
        When the output may not be written, the folder holds no results, the notebook cannot be read, or one of
        its cells fails.
    """
    output = Path(output)
    check_file(output, ours=_is_report, force=force, ending=".html")
    results = Results.load(results_folder)  # a clear error before a kernel is started
    folder = Path(results_folder).resolve()
    asked = _usual_notebook() if notebook is None else read_notebook(notebook)
    if notebook is not None:
        _load_results_first(asked)
    name = "the report's notebook" if notebook is None else str(notebook)
    executed = execute_notebook(
        asked,
        folder=folder if notebook is None else Path(notebook).resolve().parent,
        environment={RESULTS_VARIABLE: str(folder)},
        name=name,
    )
    page = to_html(executed, title=results.name)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(page, encoding="utf-8")
    return output


def _is_report(path: Path) -> bool:
    """Whether an HTML file says in its head that pairstats wrote it."""
    with path.open("rb") as file:
        return GENERATOR.encode() in file.read(2000)


def read_notebook(path: str | Path) -> NotebookNode:
    """Read a notebook file, in the newest format.

    Raises
    ------
    PairstatsError
        When there is no such file, or it is no notebook.
    """
    import nbformat

    path = Path(path)
    if not path.is_file():
        raise PairstatsError(f"A notebook must be a file, but there is none at {str(path)!r}.")
    try:
        return nbformat.read(path, as_version=4)
    except Exception as error:  # nbformat raises whatever its JSON and schema checks raise
        raise PairstatsError(
            f"{str(path)!r} must be a notebook (.ipynb), but cannot be read: {error}"
        ) from error


def execute_notebook(
    notebook: NotebookNode,
    *,
    folder: str | Path,
    environment: Mapping[str, str] | None = None,
    name: str = "the notebook",
    timeout: int = CELL_TIMEOUT,
) -> NotebookNode:
    """Execute a notebook by this interpreter and this package, whatever kernels are installed.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
        Changed in place: its outputs are filled.
    folder : str or pathlib.Path
        Where its cells run.
    environment : mapping, optional
        Further environment variables.
    name : str
        What error messages call it.
    timeout : int
        Seconds that one cell may take.

    Returns
    -------
    nbformat.NotebookNode

    Raises
    ------
    PairstatsError
        When a cell fails (the message names it), takes too long, or the kernel does not start.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    with tempfile.TemporaryDirectory(prefix="pairstats-", ignore_cleanup_errors=True) as scratch:
        client = NotebookClient(
            notebook,
            km=_kernel_manager(Path(scratch)),
            timeout=timeout,
            startup_timeout=START_TIMEOUT,
            resources={"metadata": {"path": str(folder)}},
            coalesce_streams=True,
        )
        try:
            client.execute(env=_environment(environment or {}, scratch), cleanup_kc=True)
        except CellExecutionError as error:
            what = f"{error.ename}: {error.evalue}"
            raise PairstatsError(f"{_cell_that_failed(notebook)} of {name} failed with {what}") from error
        except CellTimeoutError as error:
            raise PairstatsError(f"A cell of {name} took more than {timeout} seconds.") from error
        except (DeadKernelError, RuntimeError) as error:
            raise PairstatsError(f"The kernel that executes {name} died or did not start: {error}") from error
    return notebook


def to_html(notebook: NotebookNode, *, title: str) -> str:
    """Turn an executed notebook into a page without code cells, whose code can be unfolded at its end."""
    from nbconvert import HTMLExporter

    exporter = HTMLExporter(
        template_name="basic", exclude_input=True, exclude_input_prompt=True, exclude_output_prompt=True,
        exclude_anchor_links=True, embed_images=True,
    )  # fmt: skip
    body, _ = exporter.from_notebook_node(notebook)
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code" and cell.source.strip()]
    return Template(_template("page.html")).substitute(
        title=html.escape(title),
        style=_template("report.css"),
        body=body,
        version=html.escape(__version__),
        code="\n".join(f"<pre><code>{html.escape(source)}</code></pre>" for source in sources),
    )


def _usual_notebook() -> NotebookNode:
    import nbformat

    return nbformat.reads(_template("report.ipynb"), as_version=4)


def _template(name: str) -> str:
    return resources.files("pairstats.templates").joinpath(name).read_text(encoding="utf-8")


def _load_results_first(notebook: NotebookNode) -> None:
    """Put the cell that loads the results first, as in the usual notebook."""
    load = _usual_notebook().cells[0]
    notebook.cells = [load, *(cell for cell in notebook.cells if cell.get("id") != load.id)]


def _kernel_manager(scratch: Path) -> Any:
    """Manager of a kernel that is this interpreter; its connection file lies in a scratch folder."""
    from jupyter_client.kernelspec import KernelSpec
    from jupyter_client.manager import AsyncKernelManager

    class ThisInterpreter(AsyncKernelManager):
        @property
        def kernel_spec(self) -> KernelSpec:
            return KernelSpec(
                argv=[
                    sys.executable,
                    "-Xfrozen_modules=off",
                    "-m",
                    "ipykernel_launcher",
                    "-f",
                    "{connection_file}",
                ],
                display_name="Python 3",
                language="python",
            )

    # Sockets in a folder that only this user may enter; elsewhere than on POSIX there is only TCP.
    sockets = {"transport": "ipc", "ip": str(scratch / "kernel")} if os.name == "posix" else {}
    return ThisInterpreter(connection_file=str(scratch / "kernel.json"), **sockets)


def _environment(further: Mapping[str, str], scratch: str) -> dict[str, str]:
    """Environment of the kernel: this package first on its path, nothing written into the home folder."""
    package = str(Path(__file__).resolve().parent.parent)
    path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH", ""))))
    quiet = {"PYDEVD_DISABLE_FILE_VALIDATION": "1", "IPYTHONDIR": scratch, "PYTHONPATH": path}
    return {**os.environ, **quiet, **further}


def _cell_that_failed(notebook: NotebookNode) -> str:
    for number, cell in enumerate(notebook.cells, start=1):
        if any(output.output_type == "error" for output in cell.get("outputs", [])):
            lines = cell.source.strip().splitlines()
            return f"Cell {number} ({lines[0] if lines else 'empty'!r})"
    return "A cell"
