"""Examples of the documents run unchanged."""

from __future__ import annotations

import doctest
import json
import re
from pathlib import Path
from typing import Any

import pytest

import wayleave as wl

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "python" / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("document", ["docs/guide/python.md", "python/README.md"])
def test_the_programs_of_a_document_run_one_after_another(document: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")
    blocks = list(re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    assert blocks, f"{document} has no program"
    monkeypatch.chdir(ROOT)
    names: dict[str, Any] = {"__name__": "document"}
    for block in blocks:
        # Empty lines before it, so that errors have the line of the document.
        before = "\n" * text.count("\n", 0, block.start(1))
        exec(compile(before + block.group(1), document, "exec"), names)


def test_the_example_of_the_package_runs() -> None:
    failed, tried = doctest.testmod(wl)
    assert (failed, tried > 4) == (0, True)


def test_notebooks_have_no_outputs_in_the_repository() -> None:
    assert [notebook.name for notebook in NOTEBOOKS] == ["figure.ipynb", "first-plan.ipynb", "ns3.ipynb", "own-scheme.ipynb"]
    for notebook in NOTEBOOKS:
        document = json.loads(notebook.read_text(encoding="utf-8"))
        left = [cell for cell in document["cells"] if cell.get("outputs") or cell.get("execution_count")]
        assert left == [], f"{notebook.name} has outputs: python python/notebooks/execute.py --strip"


def test_the_version_is_that_of_the_workspace() -> None:
    workspace = re.search(r'^version = "(.*)"$', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)
    project = re.search(r'^version = "(.*)"$', (ROOT / "python" / "pyproject.toml").read_text(), re.MULTILINE)
    assert workspace and project and workspace[1] == project[1] == wl.__version__
