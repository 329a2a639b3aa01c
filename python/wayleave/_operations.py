"""Operations of the command ``wayleave`` as functions: plan, explain, verify, simulate, reproduce, analyze."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from wayleave import _arguments, _wayleave
from wayleave._arguments import kind, whole
from wayleave._contracts import contracts as _contracts
from wayleave._errors import InputError, Problem
from wayleave._protocols import Scheme, Transport
from wayleave._wayleave import Analysis, Explanation, Figure, Network, Plan, Run, Table, Verified, _Batch

Progress: TypeAlias = Callable[[float, float, str], object]
"""Receives the completed amount, the total amount, and their unit."""


def plan(
    network: Network | str | os.PathLike[str],
    contracts: Any,
    *,
    scheme: Scheme | str | None = None,
    model: Literal["default", "published"] = "default",
    progress: Progress | None = None,
    **settings: object,
) -> Plan:
    """Decides contracts one after another: admitted ones get a route and a bound, refused ones a reason.

    ``scheme`` is a name (``wayleave schemes`` of the command lists them) or an object of your own with a method ``admit(request)`` that returns
    :class:`Admit` or :class:`Refuse`; the default is the scheme that admits most on this network. ``settings`` are parameters of a named scheme.
    """
    network = _network(network)
    planned = _wayleave._plan(
        network,
        _contracts(contracts, network),
        scheme=scheme,
        settings=_settings(settings),
        model=model,
        progress=progress,
    )
    for text in planned.warnings:
        warnings.warn(text, stacklevel=2)
    return planned


def explain(
    network: Network | str | os.PathLike[str],
    contracts: Any,
    name: str,
    *,
    scheme: Scheme | str | None = None,
    model: Literal["default", "published"] = "default",
    progress: Progress | None = None,
    **settings: object,
) -> Explanation:
    """Explains why a contract is admitted, term by term, or refused, and what would fit. Contracts before it are decided first."""
    network = _network(network)
    return _wayleave._explain(
        network,
        _contracts(contracts, network),
        name,
        scheme=scheme,
        settings=_settings(settings),
        model=model,
        progress=progress,
    )


def verify(
    network: Network | str | os.PathLike[str],
    contracts: Any,
    *,
    effort: Literal["quick", "usual", "long"] = "usual",
    seed: int = 1,
    flow: str | None = None,
    scheme: Scheme | str | None = None,
    model: Literal["default", "published"] = "default",
    progress: Progress | None = None,
    **settings: object,
) -> Verified:
    """Admits contracts, and tests every promise: the worst traffic that the contracts allow, packet by packet."""
    planned = plan(network, contracts, scheme=scheme, model=model, progress=progress, **settings)
    return planned.verify(effort=effort, seed=seed, flow=flow, progress=progress)


def simulate(
    scenario: Any,
    *,
    seed: int | None = None,
    transport: Transport | None = None,
    progress: Progress | None = None,
) -> Run:
    """Simulates a scenario with one run, packet by packet.

    ``scenario`` is a file, or a dictionary with the keys below ``spec`` in such a file; ``topology`` may be a :class:`Network` there.
    ``transport`` is an object of your own with a method ``begin(start)``: the congestion control of all flows, for small runs.
    """
    seed = None if seed is None else whole("seed", seed)
    return _wayleave._simulate(batch(scenario), seed=seed, transport=transport, progress=progress)


def reproduce(
    figure: str,
    *,
    full: bool = False,
    seeds: int | None = None,
    threads: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Figure:
    """Measures a figure of a publication again: with a tenth of the runs on smaller networks, or as in the paper with ``full``.

    :func:`figures` lists them. ``folder`` gets data files, pictures and a page; ``resume`` keeps completed runs, so that an
    interrupted measurement continues; figures that keep none, such as those of Chameleon, are refused.
    """
    seeds = None if seeds is None else whole("seeds", seeds, least=1)
    threads = None if threads is None else whole("threads", threads, least=1)
    return _wayleave._reproduce(figure, full=full, seeds=seeds, threads=threads, folder=folder, resume=resume, progress=progress)


def figures() -> Table:
    """Returns the figures that :func:`reproduce` measures: one row each."""
    return _wayleave.figures_known()


def analyze(
    subject: Plan | str | os.PathLike[str],
    *,
    analyses: Sequence[Literal["tfa", "sfa", "pmoo", "lp"]] = ("tfa", "sfa"),
    flows: Sequence[str] = (),
    progress: Progress | None = None,
) -> Analysis:
    """Bounds delays by total flow analysis, separate flow analysis, PMOO or linear programs.

    ``subject`` is a plan, whose admitted contracts are analysed, or a file with a network of output ports in Saihu's JSON. ``flows`` are names;
    without them, all.
    """
    chosen = _arguments.names("analyses", analyses, '["tfa", "sfa"]')
    only = _arguments.names("flows", flows, '["robot"]')
    if isinstance(subject, Plan):
        return _wayleave._analyze(subject, analyses=chosen, flows=only, progress=progress)
    if not isinstance(subject, (str, os.PathLike)):
        raise InputError(f"subject: a plan, or a file with a network of output ports, is expected: this is {kind(subject)}")
    file = os.fspath(subject)
    return _wayleave._analyze((_text(file), file), analyses=chosen, flows=only, progress=progress)


def batch(scenario: Any, *, grid: Mapping[str, Iterable[Any]] | None = None, seeds: Any = ()) -> _Batch:
    """Returns the runs of a scenario, with the values of ``grid``."""
    texts: dict[str, str] = {}
    varied = _arguments.grid(grid)
    if any(path == "topology" for path, _ in varied):
        varied = [
            (path, [_arguments.placed(texts, value) for value in values] if path == "topology" else values) for path, values in varied
        ]
    vary = [(path, _arguments.text_of(f'grid: "{path}"', values)) for path, values in varied]
    chosen = _arguments.seeds(seeds)
    if isinstance(scenario, Mapping):
        spec = dict(scenario)
        if "topology" in spec:
            spec["topology"] = _arguments.placed(texts, spec["topology"])
        name = str(spec.pop("name", "scenario"))
        document = {"apiVersion": "wayleave/v1", "kind": "Scenario", "metadata": {"name": name}, "spec": spec}
        return _Batch(_arguments.text_of("scenario", document, indent=1), name, texts, vary, chosen, is_file=False)
    if isinstance(scenario, (str, os.PathLike)):
        file = os.fspath(scenario)
        return _Batch(_text(file), file, texts, vary, chosen)
    raise InputError(f"scenario: a file or a dictionary with its spec is expected: this is {kind(scenario)}")


def _network(network: Network | str | os.PathLike[str]) -> Network:
    if isinstance(network, Network):
        return network
    if isinstance(network, (str, os.PathLike)):
        return Network(network)
    raise InputError(f"network: a wayleave.Network, a file, or a builder such as fat-tree:k=4 is expected: this is {kind(network)}")


def _settings(settings: Mapping[str, object]) -> list[tuple[str, str]]:
    """Returns parameters as options of the command: `max_rounds=3` is `--max-rounds 3`."""

    def text(value: object) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)

    return [(key.replace("_", "-"), text(value)) for key, value in settings.items()]


def _text(file: str) -> str:
    try:
        with open(file, encoding="utf-8") as opened:
            return opened.read()
    except OSError as error:
        message = "no such file" if isinstance(error, FileNotFoundError) else f"it cannot be read: {error.strerror or error}"
        raise InputError(f"{file}: {message}", (Problem(message, file, None, None, None, None),)) from error
    except UnicodeDecodeError as error:
        raise InputError(f"{file}: this is no UTF-8 text ({error.reason} at byte {error.start})") from error
