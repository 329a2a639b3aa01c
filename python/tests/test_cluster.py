"""Sweeps on a cluster of Dask give the table of this machine to the digit, even if a worker is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow
import pytest

import wayleave as wl
from wayleave import _sweep

distributed = pytest.importorskip("distributed")

GRID = {"traffic.web.load": [0.2, 0.4, 0.6]}
SEEDS = range(8)


# Tasks are pickled: their counters and functions are in this module, which a cluster in this process imports again.
TRIED: list[int] = []
RUN = _sweep._run


def counts(texts: Any, index: int) -> str:
    TRIED.append(index)
    return RUN(texts, index)


def fails_once(texts: Any, index: int) -> str:
    TRIED.append(index)
    if TRIED.count(index) == 1:
        raise MemoryError("no memory left")
    return RUN(texts, index)


def fails_for_the_fourth(texts: Any, index: int) -> str:
    if index == 3:
        raise MemoryError("no memory left")
    return RUN(texts, index)


def fails_always(texts: Any, index: int) -> str:
    raise ModuleNotFoundError("No module named 'wayleave'")


def is_of_another_version(texts: Any, index: int) -> str:
    return RUN(texts, index).replace(wl.__version__, "0.0.1", 1)


@pytest.fixture
def processes() -> Iterator[Any]:
    """Starts a cluster of two workers, each a process."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def threads() -> Iterator[Any]:
    """Starts a cluster in this process, where a test can make runs fail."""
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


def same(one: wl.Sweep, other: wl.Sweep) -> bool:
    return bool(pyarrow.table(one).equals(pyarrow.table(other), check_metadata=True))


def test_the_table_is_equal_to_the_digit_when_a_worker_is_killed(processes: Any, scenario: dict[str, Any]) -> None:
    long = {**scenario, "duration": "200ms", "topology": wl.Network(scenario["topology"])}
    alone = wl.sweep(long, GRID, SEEDS)
    killed: list[int] = []

    def kill(done: float, total: float, unit: str) -> None:
        assert (total, unit) == (24, "runs")
        if not killed:
            killed.append(processes.cluster.workers[0].pid)
            os.kill(killed[0], signal.SIGKILL)

    spread = wl.sweep(long, GRID, SEEDS, client=processes, progress=kill)
    assert killed and spread.failed == () and spread.complete == 24
    assert same(spread, alone)
    assert spread.to_dict() == alone.to_dict()


def test_files_beside_the_scenario_are_sent_with_it(processes: Any, tmp_path: Path) -> None:
    (tmp_path / "net.yaml").write_text(wl.Network("star:hosts=4,rate=1Gbit").to_yaml())
    file = tmp_path / "loads.yaml"
    file.write_text(
        "apiVersion: wayleave/v1\nkind: Scenario\nmetadata: { name: loads }\nspec:\n  topology: { file: net.yaml }\n"
        "  duration: 2ms\n  traffic: [{ name: web, load: 0.5, sizes: 20kB }]\n"
    )
    alone = wl.sweep(file, GRID, [1])
    (tmp_path / "net.yaml").rename(tmp_path / "elsewhere.yaml")
    with pytest.raises(wl.InputError, match="net.yaml"):
        wl.sweep(file, GRID, [1], client=processes)
    (tmp_path / "elsewhere.yaml").rename(tmp_path / "net.yaml")
    assert same(wl.sweep(file, GRID, [1], client=processes), alone)


def test_a_failed_run_is_retried(threads: Any, scenario: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    TRIED.clear()
    monkeypatch.setattr(_sweep, "_run", fails_once)
    sweep = wl.sweep(scenario, GRID, [1, 2], client=threads)
    assert sorted(TRIED) == sorted([*range(6)] * 2)
    assert sweep.failed == () and same(sweep, wl.sweep(scenario, GRID, [1, 2]))


def test_a_run_that_always_fails_is_reported_beside_the_others(
    threads: Any, scenario: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_sweep, "_run", fails_for_the_fourth)
    sweep = wl.sweep(scenario, GRID, [1, 2], client=threads, retries=1)
    assert sweep.failed == (wl.Failed("seed 2, traffic.web.load = 0.4", 2, "MemoryError: no memory left"),)
    assert sweep.complete == 5 and "1 failed" in repr(sweep)
    alone = wl.sweep(scenario, GRID, [1, 2]).table.to_rows()
    assert sweep.table.to_rows() == alone[:3] + alone[4:]


def test_a_sweep_without_any_result_is_an_error(threads: Any, scenario: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sweep, "_run", fails_always)
    with pytest.raises(wl.OperationError, match="none of 3 runs has a result.*No module named 'wayleave'"):
        wl.sweep(scenario, GRID, client=threads, retries=0)


def test_a_worker_of_another_version_is_refused(threads: Any, scenario: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sweep, "_run", is_of_another_version)
    with pytest.raises(wl.InputError, match="all machines need the same version"):
        wl.sweep(scenario, GRID, client=threads)


def test_only_runs_missing_in_the_folder_are_done(
    threads: Any, scenario: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    TRIED.clear()
    monkeypatch.setattr(_sweep, "_run", counts)
    alone = wl.sweep(scenario, GRID, [1], folder=tmp_path)
    spread = wl.sweep(scenario, GRID, [1, 2], client=threads, folder=tmp_path)
    # The sweep has other seeds and therefore another text, so no earlier results exist.
    assert sorted(TRIED) == [*range(6)]
    assert spread.table.to_rows()[::2] == alone.table.to_rows()
    TRIED.clear()
    (tmp_path / "runs").joinpath(min(file.name for file in (tmp_path / "runs").iterdir())).unlink()
    again = wl.sweep(scenario, GRID, [1, 2], client=threads, folder=tmp_path)
    assert len(TRIED) == 1 and same(again, spread)
    assert again.report is not None and Path(again.report).exists()
