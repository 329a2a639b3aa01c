"""Errors of invalid arguments name the argument and the expected form."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy
import pandas
import pytest

import wayleave as wl

NETWORK = wl.Network.star(4, rate="1Gbit")
ROW = {"name": "r", "from": "h1", "to": "h2", "rate": "2Mbit", "burst": "1500B", "deadline": "2ms"}
SCENARIO = {"topology": "star:hosts=3", "duration": "1ms", "traffic": [{"name": "web", "load": 0.2, "sizes": "9kB"}]}

WRONG: dict[str, tuple[Callable[[], Any], str]] = {
    "a dictionary for contracts": (lambda: wl.plan(NETWORK, ROW), "contracts: .*a list of dictionaries.*: this is a dict"),
    "a table for contracts": (lambda: wl.plan(NETWORK, NETWORK.links), "contracts: .*this is a Table"),
    "nothing for contracts": (lambda: wl.plan(NETWORK, None), "contracts: .*this is a NoneType"),
    "a number for a network": (lambda: wl.plan(3, [ROW]), "network: .*this is an int"),  # type: ignore[arg-type]
    "a list for a graph": (lambda: wl.Network.from_networkx([1, 2]), "graph: a graph of NetworkX is expected.*this is a list"),
    "a text for analyses": (lambda: wl.analyze(wl.plan(NETWORK, [ROW]), analyses="tfa"), "analyses: a list of names.*this is a str"),  # type: ignore[arg-type]
    "a dictionary for flows": (lambda: wl.analyze(wl.plan(NETWORK, [ROW]), flows={"r": "s"}), "flows: a list of names.*a dict"),  # type: ignore[arg-type]
    "a number for a subject": (lambda: wl.analyze(3), "subject: .*this is an int"),  # type: ignore[arg-type]
    "a list for a grid": (lambda: wl.sweep(SCENARIO, ["traffic.web.load"]), "grid: a dictionary of lists.*this is a list"),  # type: ignore[arg-type]
    "a dictionary for values": (lambda: wl.sweep(SCENARIO, {"traffic.web.load": {"a": 1}}), "grid: a list of values.*this is a dict"),
    "a value twice": (lambda: wl.sweep(SCENARIO, {"traffic.web.load": [0.2, 0.2]}), r"grid: 0.2 is in the values of .* twice"),
    "a seed twice": (lambda: wl.sweep(SCENARIO, seeds=[1, 2, 1]), r"seeds\[2\]: 1 is listed twice"),
    "a dictionary for seeds": (lambda: wl.sweep(SCENARIO, seeds={1: 1}), "seeds: a number of seeds, or a list"),
    "no seeds": (lambda: wl.sweep(SCENARIO, seeds=0), "seeds: a whole number from 1 is expected: this is 0"),
    "a scenario of a number": (lambda: wl.simulate(3), "scenario: a file or a dictionary.*this is an int"),
    "an object in a scenario": (lambda: wl.simulate({**SCENARIO, "duration": object()}), "scenario: an object is not allowed here"),
    "a network in another place": (
        lambda: wl.sweep(SCENARIO, {"traffic.web.load": [NETWORK]}),
        'grid: "traffic.web.load": a Network is not allowed here.*`topology`',
    ),
    "an object in a row": (lambda: wl.plan(NETWORK, [{**ROW, "rate": object()}]), "contracts: an object is not allowed here"),
    "a bound with a fraction": (lambda: wl.Admit(["h1->s1"], 1.5), "bound_ns: a whole number of ns from 0 is expected: this is 1.5"),  # type: ignore[arg-type]
    "a bound below zero": (lambda: wl.Admit(["h1->s1"], -1), "bound_ns: a whole number.*this is -1"),
    "a route of numbers": (lambda: wl.Admit([1], 1), r"route: a list with names of links.*this is \[1\]"),  # type: ignore[list-item]
    "a route that is one text": (lambda: wl.Admit("h1->s1", 1), "route: a list with names of links.*this is 'h1->s1'"),
}


@pytest.mark.parametrize("what", WRONG)
def test_an_invalid_argument_is_an_error_that_names_it(what: str) -> None:
    call, expected = WRONG[what]
    with pytest.raises(wl.InputError, match=expected):
        call()


def test_a_table_is_not_iterable_and_the_error_names_its_rows() -> None:
    with pytest.raises(TypeError, match=r"to_rows\(\).*table\[\"name\"\]"):
        list(NETWORK.links)
    assert "rate_bps" in NETWORK.links and "bound" not in NETWORK.links


def test_hints_name_the_keywords_of_python() -> None:
    import networkx

    graph = networkx.path_graph(3)
    texts = []
    for call in (
        lambda: wl.Network.from_networkx(graph),
        lambda: wl.Network.star(4, bandwidth="1Gbit"),
        lambda: wl.Network.star(4, host_queue=2),
        lambda: wl.Network.fat_tree(k=3),
        lambda: wl.Network("fattree:k=4"),
        lambda: wl.plan(NETWORK, [ROW], scheme="silos"),
        lambda: wl.plan(NETWORK, [ROW], scheme="silo", buget="1us"),
        lambda: wl.plan(NETWORK, [ROW], budget="50us"),
        lambda: wl.reproduce("fig0"),
        lambda: wl.explain(NETWORK, [ROW], "zz"),
    ):
        with pytest.raises((wl.InputError, TypeError)) as raised:
            call()
        texts.append(str(raised.value))
    said = "\n".join(texts)
    # No option of the command, no command, no key in the spelling of files.
    assert not re.search(r"(^|[\s`(])--[a-z]", said), said
    assert not re.search(r"`?wayleave [a-z]", said), said
    assert "hostQueues" not in said, said
    assert "default_rate=" in said and 'did you mean "host_queues"?' in said, said


def test_seeds_may_be_a_number() -> None:
    assert wl.sweep(SCENARIO, seeds=3).table["seed"] == wl.sweep(SCENARIO, seeds=numpy.arange(1, 4)).table["seed"] == [1, 2, 3]


def test_networks_may_be_varied() -> None:
    one, other = wl.Network.star(3, rate="1Gbit"), wl.Network.star(5, rate="10Gbit")
    swept = wl.sweep(SCENARIO, {"topology": [one, other]}, seeds=1)
    alone = [wl.simulate({**SCENARIO, "topology": network}).table["sent"] for network in (one, other)]
    assert [[sent] for sent in swept.table["sent"]] == alone and alone[0] != alone[1]


def test_numbers_of_numpy_and_empty_cells_of_pandas_are_read() -> None:
    frame = pandas.DataFrame([{**ROW, "maxFrame": None}, {**ROW, "name": "s", "maxFrame": "300B"}]).convert_dtypes()
    assert wl.plan(NETWORK, frame).admitted == ["r", "s"]
    assert len(wl.sweep(SCENARIO, {"traffic.web.load": list(numpy.array([0.2, 0.4]))})) == 2


def test_assumptions_about_a_graph_without_attributes_are_reported() -> None:
    import networkx

    graph = networkx.path_graph(3)
    network = wl.Network.from_networkx(graph, default_rate="1Gbit", default_delay="1us")
    assert len(network.hosts) == 3 and network.remarks
    assert "3 hosts" in repr(network) and network.remarks[0] in repr(network)
    assert repr(NETWORK) == "<Network star: 4 hosts, 1 switch, 8 directed links>"


@pytest.mark.parametrize("scheme", ["qjump", "loko", "own"])
def test_schemes_without_queues_have_a_table_without_rows(scheme: str) -> None:
    class Own:
        def admit(self, request: wl.Request) -> wl.Admit:
            return wl.Admit(NETWORK.shortest_paths(request.source, request.destination)[0], request.deadline_ns)

    plan = wl.plan(NETWORK, [ROW], scheme=Own() if scheme == "own" else scheme)
    queues = plan.queues
    assert len(queues) == 0 and queues.column_names == wl.plan(NETWORK, [ROW]).queues.column_names
    assert queues.to_rows() == [] and len(queues.to_pandas()) == 0 and "link" in queues


def test_columns_of_queues_are_the_keys_of_the_document() -> None:
    plan = wl.plan(NETWORK, [ROW])
    keys = {key for queue in plan.to_dict()["queues"] for key in queue}
    assert keys <= set(plan.queues.column_names)
    assert set(plan.queues.column_names) - keys <= {"jitter_ns"}


def test_a_figure_is_a_dictionary_too() -> None:
    figure = wl.reproduce("sec2-examples")
    document = figure.to_dict()
    assert [statement["says"] for statement in document["statements"]] == figure.statements["says"]


@pytest.mark.parametrize("kept", ["window", "pacing_bps"])
@pytest.mark.parametrize("value", [float("nan"), -1, 0, 0.5, "12", None])
def test_a_window_below_one_byte_is_an_error(kept: str, value: Any) -> None:
    class Flow:
        def __init__(self, start: wl.FlowStart) -> None:
            self.window: Any = start.segment
            self.pacing_bps: Any = None

        def on_ack(self, now_ns: int, ack: wl.Ack) -> None:
            setattr(self, kept, value)

        def on_loss(self, now_ns: int, loss: wl.Loss) -> None:
            pass

    class Own:
        def begin(self, start: wl.FlowStart) -> Flow:
            return Flow(start)

    if kept == "pacing_bps" and value is None:
        assert wl.simulate(SCENARIO, transport=Own()).is_complete
        return
    with pytest.raises(wl.InputError, match=f"transport: {kept} is {re.escape(repr(value))}, and a number from 1 is expected"):
        wl.simulate(SCENARIO, transport=Own())


def test_a_window_without_a_limit_is_infinite() -> None:
    class Flow:
        window = float("inf")

        def on_ack(self, now_ns: int, ack: wl.Ack) -> None:
            pass

        def on_loss(self, now_ns: int, loss: wl.Loss) -> None:
            pass

    class Own:
        def begin(self, start: wl.FlowStart) -> Flow:
            return Flow()

    assert wl.simulate(SCENARIO, transport=Own()).table["finished"][0] > 0


def test_every_public_name_has_a_documentation() -> None:
    bare = []
    for name in wl.__all__:
        of = getattr(wl, name)
        if name == "__version__":
            continue
        if not (inspect.isclass(of) or inspect.isfunction(of)):
            continue
        if not inspect.getdoc(of):
            bare.append(name)
        if inspect.isclass(of):
            own = {key for base in of.__mro__ if base.__module__.startswith("wayleave") for key in vars(base)}
            members = [key for key in own if not key.startswith("_")]
            bare += [f"{name}.{member}" for member in members if not inspect.getdoc(getattr(of, member))]
    assert bare == []


def test_schemes_and_transports_are_typed() -> None:
    for function, argument in ((wl.plan, "scheme"), (wl.explain, "scheme"), (wl.verify, "scheme"), (wl.simulate, "transport")):
        kind = inspect.signature(function).parameters[argument].annotation
        assert "Any" not in kind and argument.capitalize() in kind, (function, kind)
