"""Metadata and replays: tables with different results have different provenance."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import wayleave as wl
from wayleave._own import code_hash


class Flow:
    def __init__(self, start: wl.FlowStart, part: float) -> None:
        self.window = start.initial_window * part

    def on_ack(self, now_ns: int, ack: wl.Ack) -> None:
        pass

    def on_loss(self, now_ns: int, loss: wl.Loss) -> None:
        pass


class Part:
    """A transport with a parameter."""

    def __init__(self, part: float) -> None:
        self.part = part

    def begin(self, start: wl.FlowStart) -> Flow:
        return Flow(start, self.part)


class First:
    """A scheme with a parameter: the number of contracts that it admits."""

    def __init__(self, network: wl.Network, most: int) -> None:
        self.network, self.most, self.asked = network, most, 0

    def admit(self, request: wl.Request) -> wl.Admit | wl.Refuse:
        self.asked += 1
        if self.asked > self.most:
            return wl.Refuse("no more")
        return wl.Admit(self.network.shortest_paths(request.source, request.destination)[0], request.deadline_ns)


def again(replay: str, scenario: dict[str, Any]) -> wl.Table:
    table = eval(replay, {"wayleave": wl, "scenario": scenario}).table
    assert isinstance(table, wl.Table)
    return table


def test_the_replay_of_a_run_gives_this_run(scenario: dict[str, Any]) -> None:
    for seed in (1, 3):
        run = wl.simulate(scenario, seed=seed)
        document = run.to_dict()
        assert document["seed"] == seed and f"seeds=[{seed}]" in document["replay"]
        table = again(document["replay"], scenario)
        assert [table[name] for name in ("sent", "goodput_bps", "seed")] == [*(run.table[name] for name in ("sent", "goodput_bps")), [seed]]
    swept = wl.sweep(scenario, {"traffic.web.load": [0.2, 0.4]}, seeds=[4, 5])
    for run_of_sweep in swept.to_dict()["runs"]:
        assert again(run_of_sweep["replay"], scenario)["seed"] == [run_of_sweep["seed"]]


def test_the_command_that_replays_a_file_has_the_seed_of_the_run(examples: Path) -> None:
    file = examples / "scenario-incast.yaml"
    assert wl.simulate(file, seed=5).to_dict()["replay"] == f"wayleave sim {file} --seed 5"


def test_a_transport_of_the_program_is_named_in_metadata_hash_and_replay(scenario: dict[str, Any]) -> None:
    own, other, same = (wl.simulate(scenario, transport=Part(part)) for part in (1, 0.5, 1))
    ours = wl.simulate(scenario)
    assert own.table.metadata["transport"] == "python:Part" and "transport" not in ours.table.metadata
    hashes = {run.table.metadata["input_hash"] for run in (own, other, ours)}
    assert len(hashes) == 3 and same.table.metadata == own.table.metadata
    assert own.to_dict()["input_hash"] == own.table.metadata["input_hash"]
    assert own.to_dict()["replay"].startswith("not replayable: own transport python:Part")


def test_two_schemes_of_the_program_differ_by_their_state_before_they_decide(fat_tree: wl.Network) -> None:
    contracts = wl.Contracts.drawn(fat_tree, count=10)
    five, seven, again = (wl.plan(fat_tree, contracts, scheme=First(fat_tree, most)) for most in (5, 7, 5))
    assert five.table.metadata != seven.table.metadata
    assert five.table.metadata == again.table.metadata
    assert five.table.metadata["scheme"] == "python:First" and len(five.table.metadata["code"]) == 16


def test_settings_and_models_are_part_of_the_metadata(fat_tree: wl.Network) -> None:
    contracts = wl.Contracts.drawn(fat_tree, count=10)
    plans = [
        wl.plan(fat_tree, contracts),
        wl.plan(fat_tree, contracts, model="published"),
        wl.plan(fat_tree, contracts, scheme="silo", budget="50us"),
        wl.plan(fat_tree, contracts, scheme="silo", budget="100us"),
    ]
    metadata = [plan.table.metadata for plan in plans]
    assert len({entry["input_hash"] for entry in metadata}) == len(plans)
    assert metadata[2]["settings"] == "budget=50us" and metadata[1]["model"] == "published"
    verified = [
        plans[0].verify(effort="quick"),
        plans[0].verify(effort="quick", seed=2),
        plans[0].verify(effort="quick", flow=plans[0].admitted[0]),
    ]
    assert len({one.table.metadata["input_hash"] for one in verified}) == len(verified)
    analysed = [wl.analyze(plans[0]), wl.analyze(plans[0], analyses=["tfa"]), wl.analyze(plans[0], flows=plans[0].admitted[:1])]
    assert len({one.table.metadata["input_hash"] for one in analysed}) == len(analysed)


def test_an_object_without_a_hash_is_marked_as_such(scenario: dict[str, Any]) -> None:
    class Stateful(Part):
        def __init__(self) -> None:
            super().__init__(1)
            self.file = open(__file__, encoding="utf-8")  # noqa: SIM115

    transport = Stateful()
    run = wl.simulate(scenario, transport=transport)
    transport.file.close()
    assert run.table.metadata["code"] == "not hashed: its state cannot be pickled"
    assert run.table.metadata["input_hash"] != wl.simulate(scenario).table.metadata["input_hash"]
    nowhere: dict[str, Any] = {"__name__": "nowhere"}
    exec("class Nowhere:\n    pass\n", nowhere)
    assert code_hash(nowhere["Nowhere"]()) == "not hashed: its source is not at hand"


def test_a_notebook_shows_the_seed_of_the_run(scenario: dict[str, Any]) -> None:
    html = wl.simulate(scenario, seed=9)._repr_html_()
    assert "seed 9" in html and "seed 1" not in html


@pytest.mark.parametrize("part", ["admitted", "refused"])
def test_metadata_state_the_origin_of_a_table(part: str, plan: wl.Plan) -> None:
    assert {"wayleave", "input_hash", "scheme", "model", "seed"} <= set(plan.table.metadata), part
