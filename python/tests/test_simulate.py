"""Scenarios with one run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import wayleave as wl


def test_a_run_has_its_traffic_and_follows_its_seed(scenario: dict[str, Any]) -> None:
    one, same, other = wl.simulate(scenario, seed=7), wl.simulate(scenario, seed=7), wl.simulate(scenario, seed=8)
    assert (one.is_complete, one.seed, one.table.metadata["seed"]) == (True, 7, "7")
    (row,) = one.table.to_rows()
    assert (row["traffic"], row["kind"], row["drops"]) == ("web", "flows", 0)
    assert row["begun"] >= row["finished"] > 10 and row["goodput_bps"] > 0
    assert one.table.to_dict() == same.table.to_dict() != other.table.to_dict()
    # A star of four hosts: each of four cables is two links, and packets pass two of them.
    assert len(one.links) == 8 and sum(one.links["sent_bytes"]) > 2 * 20_000 * row["finished"]


def test_a_network_of_the_program_can_be_used_in_a_scenario(scenario: dict[str, Any]) -> None:
    text = "star:hosts=6,rate=2500Mbit"
    run = wl.simulate({**scenario, "topology": wl.Network(text)})
    assert run.table.to_dict() == wl.simulate({**scenario, "topology": text}).table.to_dict()


def test_a_file_is_simulated_with_its_referenced_files(tmp_path: Path, scenario: dict[str, Any]) -> None:
    (tmp_path / "net.yaml").write_text(wl.Network(scenario["topology"]).to_yaml())
    file = tmp_path / "loads.yaml"
    file.write_text(
        "apiVersion: wayleave/v1\nkind: Scenario\nmetadata: { name: loads }\nspec:\n  topology: { file: net.yaml }\n"
        "  duration: 5ms\n  traffic: [{ name: web, load: 0.5, sizes: 20kB }]\n"
    )
    assert wl.simulate(file).table.to_dict() == wl.simulate(scenario).table.to_dict()
    # A grid leaves the file where it is, and finds its network as well.
    swept = wl.sweep(file, {"traffic.web.load": [0.5]}, seeds=[1])
    assert swept.table["goodput_bps"] == wl.simulate(scenario).table["goodput_bps"]


def test_an_overflow_of_a_run_is_reported(scenario: dict[str, Any]) -> None:
    flood = [{"name": "web", "load": 3, "sizes": "100B"}]
    run = wl.simulate({**scenario, "topology": "star:hosts=20,rate=10Gbit", "duration": "1s", "traffic": flood})
    assert not run.is_complete
    assert "ended early" in repr(run) and "too many flows" in repr(run)


def test_the_dictionary_is_the_document_of_the_command(scenario: dict[str, Any]) -> None:
    document = wl.simulate(scenario, seed=3).to_dict()
    assert (document["scenario"], document["seed"], document["ending"]) == ("loads", 3, "complete")
    assert document["traffic"][0]["name"] == "web"


@pytest.mark.parametrize("example", ["scenario-incast.yaml", "scenario-jobs.yaml"])
def test_examples_of_the_documents_run(examples: Path, example: str) -> None:
    assert wl.simulate(examples / example).is_complete
