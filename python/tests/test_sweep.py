"""Sweeps on this machine: equal tables for any executor of the runs, and no run done twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
import pyarrow
import pytest

import wayleave as wl

GRID: dict[str, list[Any]] = {"traffic.web.load": [0.2, 0.6], "traffic.web.sizes": ["2kB", "20kB"]}


def test_a_sweep_does_every_combination_in_its_order(scenario: dict[str, Any]) -> None:
    sweep = wl.sweep(scenario, GRID, seeds=[5, 6])
    assert (len(sweep), sweep.complete, sweep.failed) == (8, 8, ())
    columns = [sweep.table[name] for name in ("traffic.web.load", "traffic.web.sizes", "seed")]
    expected = [(load, size, seed) for load in (0.2, 0.6) for size in ("2kB", "20kB") for seed in (5, 6)]
    assert list(zip(*columns, strict=True)) == expected
    assert set(sweep.table["ending"]) == {"complete"}
    # A point equals the run of the scenario with these values.
    single = wl.simulate({**scenario, "traffic": [{"name": "web", "load": 0.6, "sizes": "2kB"}]}, seed=6)
    assert {**sweep.table.to_rows()[5], **single.table.to_rows()[0]} == sweep.table.to_rows()[5]


def test_the_number_of_threads_changes_nothing(scenario: dict[str, Any]) -> None:
    one, many = (pyarrow.table(wl.sweep(scenario, GRID, seeds=[1, 2], threads=threads)) for threads in (1, 4))
    assert one.equals(many, check_metadata=True)


def test_values_of_numpy_are_values(scenario: dict[str, Any]) -> None:
    plain = wl.sweep(scenario, {"traffic.web.load": [0.25, 0.5]}, seeds=[1, 2])
    drawn = wl.sweep(scenario, {"traffic.web.load": numpy.linspace(0.25, 0.5, 2)}, seeds=numpy.arange(1, 3))
    assert plain.table.to_dict() == drawn.table.to_dict()
    assert plain.table.metadata["input_hash"] == drawn.table.metadata["input_hash"]
    marked = {**scenario, "switches": {"telemetry": False}}
    assert len(wl.sweep(marked, {"switches.telemetry": numpy.array([False, True])})) == 2


def test_without_a_grid_the_sweep_of_the_file_applies(tmp_path: Path) -> None:
    file = tmp_path / "loads.yaml"
    file.write_text(
        "apiVersion: wayleave/v1\nkind: Scenario\nmetadata: { name: loads }\nspec:\n  topology: star:hosts=4,rate=1Gbit\n"
        "  duration: 2ms\n  traffic: [{ name: web, load: 0.5, sizes: 20kB }]\n  sweep: { seeds: 1..3, vary: { traffic.web.load: [0.1, 0.2] } }\n"
    )
    assert wl.sweep(file).table["seed"] == [1, 2, 3, 1, 2, 3]
    assert wl.sweep(file, seeds=[9]).table["seed"] == [9, 9]
    assert wl.sweep(file, {"duration": ["1ms"]}).table["seed"] == [1, 2, 3]


def test_runs_have_a_replay_command(scenario: dict[str, Any], tmp_path: Path) -> None:
    sweep = wl.sweep(scenario, GRID, seeds=[5, 6], folder=tmp_path)
    replay = sweep.to_dict()["runs"][5]["replay"]
    assert replay == 'wayleave.sweep(scenario, {"traffic.web.load": [0.6], "traffic.web.sizes": ["2kB"]}, seeds=[6])'
    again = eval(replay, {"wayleave": wl, "scenario": scenario})
    assert again.table.to_rows() == sweep.table.to_rows()[5:6]
    assert sweep.report is not None and "seeds=[6]" in Path(sweep.report).read_text()


def test_runs_in_the_folder_are_not_repeated(scenario: dict[str, Any], tmp_path: Path) -> None:
    first = wl.sweep(scenario, GRID, seeds=[1], folder=tmp_path)
    files = {file: file.stat().st_mtime_ns for file in (tmp_path / "runs").iterdir()}
    assert len(files) == 4
    lost = min(files)
    lost.unlink()
    again = wl.sweep(scenario, GRID, seeds=[1], folder=tmp_path)
    assert {file for file in files if file.stat().st_mtime_ns != files[file]} == {lost}
    assert again.table.to_dict() == first.table.to_dict()
    # Another input leads to other runs, and `resume=False` to all of them.
    other = wl.sweep({**scenario, "duration": "6ms"}, GRID, seeds=[1], folder=tmp_path)
    assert other.table.to_dict() != first.table.to_dict()
    assert other.table.to_dict() == wl.sweep({**scenario, "duration": "6ms"}, GRID, seeds=[1]).table.to_dict()


def test_an_interrupted_sweep_keeps_completed_runs(scenario: dict[str, Any], tmp_path: Path) -> None:
    # The second run would take hours.
    grid = {"duration": ["5ms", "100000s"]}
    runs = tmp_path / "runs"

    def stop(done: float, total: float, unit: str) -> None:
        if any(json.loads(file.read_text())["ending"] == "complete" for file in runs.glob("*.json")):
            raise InterruptedError

    with pytest.raises(InterruptedError):
        wl.sweep(scenario, grid, seeds=[1], folder=tmp_path, threads=1, progress=stop)
    endings = {file: json.loads(file.read_text())["ending"] for file in runs.glob("*.json")}
    (kept,) = [file for file, ending in endings.items() if ending == "complete"]
    written = kept.stat().st_mtime_ns
    told: list[float] = []

    def stop_at_once(done: float, total: float, unit: str) -> None:
        told.append(total)
        raise InterruptedError

    with pytest.raises(InterruptedError):
        wl.sweep(scenario, grid, seeds=[1], folder=tmp_path, threads=1, progress=stop_at_once)
    # Only the second is missing, and the first is unchanged.
    assert told == [100_000.0] and kept.stat().st_mtime_ns == written
    document = json.loads(kept.read_text())
    assert document["traffic"][0]["finished"] == wl.simulate(scenario, seed=1).table["finished"][0]


def test_a_table_of_several_kinds_of_traffic_has_a_row_for_each(scenario: dict[str, Any]) -> None:
    traffic = [*scenario["traffic"], {"name": "bulk", "from": ["h1"], "to": "h2", "sizes": "endless"}]
    table = wl.sweep({**scenario, "traffic": traffic}, seeds=[1, 2]).table
    assert list(zip(table["seed"], table["traffic"], strict=True)) == [(1, "web"), (1, "bulk"), (2, "web"), (2, "bulk")]
