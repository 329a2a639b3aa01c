"""Executes the notebooks of this folder, and saves them with their outputs in the given folder.

In the repository they have no outputs: `python execute.py --strip` removes them.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import nbformat

HERE = Path(__file__).resolve().parent


def strip(notebook: Any) -> Any:
    """Returns the notebook without outputs of a run."""
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
        cell.metadata = {}
    notebook.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    return notebook


def ns3() -> bool:
    """Returns True if a Python with ns-3 exists."""
    return Path(os.environ.get("NS3_PYTHON", HERE.parent.parent / "target/ns3/bin/python")).exists()


def main(arguments: list[str]) -> None:
    files = sorted(HERE.glob("*.ipynb"))
    if arguments == ["--strip"]:
        for file in files:
            nbformat.write(strip(nbformat.read(file, 4)), file)
        return
    (folder,) = map(Path, arguments)
    folder.mkdir(parents=True, exist_ok=True)
    import nbclient

    for file in files:
        if file.name == "ns3.ipynb" and not ns3():
            print(f"{file.name} is left out: there is no Python with ns-3 (`make ns3` makes one)", flush=True)
            continue
        print(file.name, flush=True)
        notebook = nbformat.read(file, 4)
        # Its warnings are about networks, and the kernel listens on this machine only.
        quiet = ["--IPKernelApp.log_level=40"]
        resources = {"metadata": {"path": str(HERE)}}
        nbclient.NotebookClient(notebook, timeout=600, extra_arguments=quiet, resources=resources).execute()
        nbformat.write(notebook, folder / file.name)


if __name__ == "__main__":
    main(sys.argv[1:])
