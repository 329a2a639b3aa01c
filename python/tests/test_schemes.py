"""Schemes that are objects of the program."""

from __future__ import annotations

from typing import Any

import pytest

import wayleave as wl


class Share:
    """Admits on the first shortest path while at most a part of every link is reserved, and promises a given bound."""

    def __init__(self, network: wl.Network, part: float, bound_ns: int | None = None) -> None:
        self.network = network
        self.left = {name: rate * part for name, rate in zip(network.links["name"], network.links["rate_bps"], strict=True)}
        self.bound_ns = bound_ns
        self.asked: list[wl.Request] = []

    def admit(self, request: wl.Request) -> wl.Admit | wl.Refuse:
        self.asked.append(request)
        (path,) = self.network.shortest_paths(request.source, request.destination, most=1)
        full = [link for link in path if self.left[link] < request.rate_bps]
        if full:
            return wl.Refuse(f"{full[0]} is full", "RATE")
        for link in path:
            self.left[link] -= request.rate_bps
        return wl.Admit(path, self.bound_ns or request.deadline_ns)


def row(name: str, source: str, rate: str = "400Mbit", deadline: str = "10ms") -> dict[str, str]:
    return {"name": name, "from": source, "to": "h4", "rate": rate, "burst": "15kB", "deadline": deadline}


def test_a_scheme_of_the_program_decides_with_reasons() -> None:
    network = wl.Network.star(4, rate="1Gbit")
    scheme = Share(network, part=0.9)
    plan = wl.plan(network, [row("a", "h1"), row("b", "h2"), row("c", "h3")], scheme=scheme)
    assert (plan.scheme, plan.admitted) == ("python:Share", ["a", "b"])
    assert "->h4 is full" in plan.refused["c"]
    assert plan.table["reason"] == [None, None, "RATE"]
    assert plan.table["bound_ns"] == [10_000_000, 10_000_000, None]
    assert [(request.source, request.destination, request.deadline_ns) for request in scheme.asked][:1] == [("h1", "h4", 10_000_000)]
    assert (scheme.asked[0].rate_bps, scheme.asked[0].burst_bytes) == (400_000_000, 15_000)
    assert plan.recheck() is None
    why = wl.explain(network, [row("a", "h1"), row("b", "h2"), row("c", "h3")], "c", scheme=Share(network, part=0.9))
    assert not why.is_admitted and "is full" in str(why)


def test_requests_to_a_scheme_are_in_wire_bytes() -> None:
    network = wl.Network.star(4, rate="1Gbit")
    scheme = Share(network, part=0.9)
    wl.plan(network, [{**row("a", "h1"), "accounting": "frame", "minFrame": "100B"}], scheme=scheme)
    assert scheme.asked[0].rate_bps > 440_000_000


def test_packets_break_a_promise_that_is_too_tight() -> None:
    network = wl.Network.star(4, rate="1Gbit")
    rows = [row(name, name, rate="300Mbit") for name in ("h1", "h2", "h3")]
    assert wl.plan(network, rows, scheme=Share(network, 1.0)).verify(effort="quick").is_sound
    verified = wl.plan(network, rows, scheme=Share(network, 1.0, bound_ns=20_000)).verify(effort="quick")
    assert not verified.is_sound
    assert len(verified.violations) >= 1 and "h1" in " ".join(verified.violations)
    assert "broken" in repr(verified)


def test_a_bound_above_the_deadline_is_an_error() -> None:
    network = wl.Network.star(4, rate="1Gbit", queues=1)
    rows = [{"name": f"c{n}", "from": f"h{n}", "to": "h1", "rate": "100Mbit", "burst": "60kB", "deadline": "100us"} for n in (2, 3, 4)]

    class Late:
        def __init__(self, times: int) -> None:
            self.times = times

        def admit(self, request: wl.Request) -> wl.Admit:
            return wl.Admit(network.shortest_paths(request.source, request.destination)[0], request.deadline_ns * self.times)

    with pytest.raises(
        wl.InputError, match="promised 10ms from h2 to h1, and the deadline is 100us: a bound_ns of at most 100000 is expected"
    ):
        wl.plan(network, rows, scheme=Late(100))
    # Within the deadline, packets decide.
    verified = wl.plan(network, rows, scheme=Late(1)).verify(effort="quick")
    assert not verified.is_sound and "above the guaranteed 100 us" in " ".join(verified.violations)


def test_an_exception_of_a_scheme_is_raised_unchanged() -> None:
    class Broken:
        def admit(self, request: wl.Request) -> wl.Admit:
            raise LookupError(request.source)

    with pytest.raises(LookupError, match="h1"):
        wl.plan("star:hosts=4", [row("a", "h1"), row("b", "h2")], scheme=Broken())


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (3, "returned a int"),
        (wl.Admit(["h1->nowhere"], 1), "there is no such link"),
        (wl.Admit([("h1->s1", 900)], 1), "queue 900 of h1->s1"),
        (wl.Admit(["h1->s1"], 1), "does not lead from h1 to h4: h1->s1"),
        (wl.Admit([], 1), "does not lead from h1 to h4"),
    ],
)
def test_an_invalid_answer_is_refused_with_its_fault(answer: Any, expected: str) -> None:
    class Fixed:
        def admit(self, request: wl.Request) -> Any:
            return answer

    with pytest.raises(wl.InputError, match=expected):
        wl.plan("star:hosts=4", [row("a", "h1")], scheme=Fixed())


class Flow:
    """Behaves like NewReno: a segment more per round trip, half after a loss."""

    def __init__(self, start: wl.FlowStart) -> None:
        self.window = float(start.initial_window)
        self.segment = start.segment

    def on_ack(self, now_ns: int, ack: wl.Ack) -> None:
        if ack.is_window_limited and not ack.is_recovering:
            self.window += ack.newly * self.segment / self.window

    def on_loss(self, now_ns: int, loss: wl.Loss) -> None:
        self.window = max(self.segment, self.window / 2)


class Additive:
    def __init__(self) -> None:
        self.flows = 0

    def begin(self, start: wl.FlowStart) -> Flow:
        self.flows += 1
        return Flow(start)


def test_a_transport_of_the_program_moves_packets(scenario: dict[str, Any]) -> None:
    transport = Additive()
    run = wl.simulate(scenario, transport=transport)
    assert transport.flows == run.table["begun"][0] > 0
    assert run.table["finished"][0] > 0
    again = wl.simulate(scenario, transport=Additive())
    assert again.table.to_dict() == run.table.to_dict() != wl.simulate(scenario).table.to_dict()


def test_a_window_is_obeyed() -> None:
    class Small(Flow):
        def on_ack(self, now_ns: int, ack: wl.Ack) -> None:
            self.window = self.segment

    class Slow(Additive):
        def begin(self, start: wl.FlowStart) -> Flow:
            return Small(start)

    endless = [{"name": "bulk", "from": ["h1"], "to": "h2", "sizes": "endless"}]
    scenario = {"topology": "star:hosts=2,rate=1Gbit,delay=100us", "duration": "20ms", "traffic": endless}
    # One segment per round trip of more than 400 us, after a first window of ten: less than 60 segments of 1460 B in 20 ms.
    assert 0 < wl.simulate(scenario, transport=Slow()).table["goodput_bps"][0] < 60 * 1460 * 8 / 0.02
    assert wl.simulate(scenario, transport=Additive()).table["goodput_bps"][0] > 200_000_000


@pytest.mark.parametrize("where", ["begin", "on_ack", "window"])
def test_an_exception_of_a_transport_stops_the_run(where: str, scenario: dict[str, Any]) -> None:
    class Broken(Additive):
        def begin(self, start: wl.FlowStart) -> Flow:
            if where == "begin":
                raise LookupError(where)
            flow = Flow(start)
            if where == "on_ack":
                flow.on_ack = lambda now_ns, ack: {"window": None}["on_ack"]  # type: ignore[method-assign]
            else:
                flow.window = "window"  # type: ignore[assignment]
            return flow

    with pytest.raises((LookupError, TypeError, wl.InputError), match=where):
        # It would take hours: the exception ends it.
        wl.simulate({**scenario, "duration": "1000s"}, transport=Broken())


def test_an_object_that_is_no_transport_is_refused(scenario: dict[str, Any]) -> None:
    with pytest.raises(wl.InputError, match="begin"):
        wl.simulate(scenario, transport=3)  # type: ignore[arg-type]
