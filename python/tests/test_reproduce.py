"""Reproduction of figures of publications."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow
import pytest

import wayleave as wl


def test_figures_are_listed() -> None:
    figures = wl.figures()
    assert "chameleon-fig8a" in figures["figure"] and "uFAB, SIGCOMM 2022" in figures["paper"]
    assert {"yes", "no"} == set(figures["resume"])


def test_a_figure_has_points_statements_and_a_picture(tmp_path: Path) -> None:
    figure = wl.reproduce("chameleon-fig8a", seeds=2, folder=tmp_path)
    assert figure.title == "Flows admitted until the first refusal"
    rows = figure.table.to_rows()
    assert all(row["samples"] <= 2 and row["p1"] <= row["median"] <= row["p99"] for row in rows) and len(rows) > 3
    assert len(figure.statements) > 0 and all(row["says"] and row["verdict"] for row in figure.statements.to_rows())
    metadata = {key.decode(): value.decode() for key, value in pyarrow.table(figure).schema.metadata.items()}
    assert (metadata["figure"], len(metadata["seed"].split())) == ("chameleon-fig8a", 2)
    assert metadata["command"].startswith("wayleave reproduce chameleon-fig8a")
    assert figure.picture().startswith("<svg") or "<svg" in figure.picture()
    assert json.loads((tmp_path / "chameleon-fig8a.json").read_text())


def test_an_interrupted_measurement_resumes(tmp_path: Path) -> None:
    first = wl.reproduce("loko-burst", seeds=2, resume=tmp_path)
    kept = sorted(tmp_path.iterdir())
    assert len(kept) == 2
    again = wl.reproduce("loko-burst", seeds=2, resume=tmp_path)
    assert again.table.to_dict() == first.table.to_dict() and sorted(tmp_path.iterdir()) == kept


def test_a_figure_that_keeps_no_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(wl.InputError, match="chameleon-fig8a keeps no runs"):
        wl.reproduce("chameleon-fig8a", seeds=2, resume=tmp_path)
