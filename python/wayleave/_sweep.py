"""Sweeps: every combination of values and seeds, on threads of this machine or on a cluster of Dask, with the same table to the digit."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from wayleave import _wayleave
from wayleave._arguments import whole
from wayleave._errors import OperationError
from wayleave._operations import Progress, batch
from wayleave._wayleave import Table, _Batch, _Sweep


class Failed(NamedTuple):
    """A run without a result."""

    run: str
    """Identity of the run: ``seed 3, traffic.web.load = 0.8``."""
    attempts: int
    """Number of attempts."""
    error: str
    """Error of the last attempt."""


class Sweep:
    """The runs of a sweep: one row for each kind of traffic of each run."""

    def __init__(self, runs: _Batch, done: _Sweep, failed: tuple[Failed, ...]) -> None:
        self._runs = runs
        self._done = done
        self._failed = failed

    @property
    def failed(self) -> tuple[Failed, ...]:
        """Returns the runs without a result, each with the reason."""
        return self._failed

    @property
    def table(self) -> Table:
        """Returns the varied values, the seed and the results; run by run, in the order of the sweep."""
        return self._done.table

    @property
    def complete(self) -> int:
        """Returns the number of completed runs."""
        return self._done.complete

    @property
    def report(self) -> str | None:
        """Returns a page with all results, if there is a folder."""
        return None if self._done.report is None else os.fspath(self._done.report)

    def pictures(self) -> list[str]:
        """Returns the main figures over the varied values, each as the text of an SVG file."""
        return self._done.pictures()

    def to_dict(self) -> dict[str, Any]:
        """Returns all results of every run, as printed by ``wayleave sim -o json``."""
        return self._done.to_dict()

    def __len__(self) -> int:
        return len(self._runs)

    def __repr__(self) -> str:
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"<Sweep {self._runs.name}: {self.complete} of {len(self)} runs complete{failed}>"

    def __str__(self) -> str:
        return str(self._done)

    def _repr_html_(self) -> str:
        return self._done._repr_html_()

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


def sweep(
    scenario: Any,
    grid: Mapping[str, Iterable[Any]] | None = None,
    seeds: int | Iterable[int] = (),
    *,
    client: Any = None,
    threads: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = True,
    retries: int = 2,
    progress: Progress | bool = False,
) -> Sweep:
    """Simulates every combination of values and seeds.

    ``scenario`` is a file or a dictionary, as for :func:`simulate`. ``grid`` has paths into its ``spec`` with their values
    (``{"traffic.web.load": [0.2, 0.8]}``), which may be networks for ``topology``; the first changes slowest. ``seeds`` are seeds, or their
    number: 3 is ``[1, 2, 3]``. Without ``grid`` or ``seeds``, the values of the file apply.

    ``client`` is a client of Dask's ``distributed``: its workers do the runs, and need this package in the same version. Otherwise
    ``threads`` of this machine do them, by default one for each processor.

    With ``folder``, every run is saved when it ends, and with ``resume`` saved runs are not repeated. On a cluster a failed run is
    tried ``retries`` more times, on another worker if its worker was lost; on this machine it would fail again. Runs that finally have no
    result are in :attr:`Sweep.failed`. ``progress=True`` writes a line on the standard error.
    """
    runs = batch(scenario, grid=grid, seeds=seeds)
    threads = None if threads is None else whole("threads", threads, least=1)
    line = _Line() if progress is True else None
    tell = line or (None if isinstance(progress, bool) else progress)
    try:
        done, failed = _done(runs, client, threads, folder, resume, retries, tell)
    finally:
        if line is not None:
            line.close()
    if failed and done.complete == 0:
        one = failed[0]
        raise OperationError(f"none of {len(runs)} runs has a result; the run with {one.run}: {one.error}")
    return Sweep(runs, done, failed)


def _done(
    runs: _Batch,
    client: Any,
    threads: int | None,
    folder: str | os.PathLike[str] | None,
    resume: bool,
    retries: int,
    progress: Progress | None,
) -> tuple[_Sweep, tuple[Failed, ...]]:
    resume = resume and folder is not None
    if client is None:
        done = _wayleave._sweep(runs, folder=folder, resume=resume, threads=threads, progress=progress)
        return done, tuple(Failed(runs.titles[index], 1, why) for index, why in done.failed)
    done = _wayleave._begin(runs, folder=folder, resume=resume)
    failed = _on_cluster(runs, done, client, retries, progress)
    done.finish()
    return done, failed


def _on_cluster(runs: _Batch, done: _Sweep, client: Any, retries: int, progress: Progress | None) -> tuple[Failed, ...]:
    """Lets the workers do the missing runs; results are saved in any order of arrival."""
    import distributed

    as_completed: Any = distributed.as_completed
    missing, titles = done.missing, runs.titles
    attempts = dict.fromkeys(missing, 0)
    failed: dict[int, Failed] = {}
    # A task, not scattered data: the scheduler creates it again if its worker is lost.
    texts = client.submit(_texts, runs.texts, pure=False)
    futures: dict[Any, int] = {}

    def submit(index: int) -> Any:
        attempts[index] += 1
        future = client.submit(_run, texts, index, pure=False)
        futures[future] = index
        return future

    try:
        ended = as_completed([submit(index) for index in missing])
        for future in ended:
            index = futures.pop(future)
            error: BaseException | None = None
            if future.status == "finished":
                try:
                    done.keep(index, future.result())
                except OSError as lost:  # The worker that held the result has left.
                    error = lost
            else:
                error = future.exception() if future.status == "error" else OperationError(f"the task was {future.status}")
            if error is not None and attempts[index] <= retries:
                ended.add(submit(index))
            elif error is not None:
                failed[index] = Failed(titles[index], attempts[index], f"{type(error).__name__}: {error}")
            if progress is not None:
                progress(len(runs) - len(done.missing), len(runs), "runs")
    finally:
        # After Ctrl-C these are no longer needed.
        client.cancel([*futures, texts])
    return tuple(failed[index] for index in sorted(failed))


def _texts(texts: Sequence[tuple[str, str]]) -> tuple[tuple[str, str], ...]:
    return tuple((name, text) for name, text in texts)


_last: tuple[tuple[tuple[str, str], ...], _Batch] | None = None


def _batch_of(texts: tuple[tuple[str, str], ...]) -> _Batch:
    """Returns the batch of these texts; a worker reads a scenario once for all of its runs."""
    global _last
    # Threads of a worker may belong to several sweeps: each returns only its own entries.
    last = _last
    if last is None or last[0] != texts:
        (name, text), *named = texts
        _last = last = texts, _Batch(text, name, dict(named))
    return last[1]


def _run(texts: tuple[tuple[str, str], ...], index: int) -> str:
    return _batch_of(texts).run(index)


class _Line:
    """Progress on the standard error, in one line."""

    def __init__(self) -> None:
        self._is_open = False

    def __call__(self, done: float, total: float, unit: str) -> None:
        print(f"\r{done:.4g} of {total:.4g} {unit}   ", end="", file=sys.stderr, flush=True)
        self._is_open = True

    def close(self) -> None:
        if self._is_open:
            print(file=sys.stderr)
