"""Contracts, plans, explanations, verifications and analyses."""

from __future__ import annotations

import json
from pathlib import Path

import pandas
import polars
import pyarrow
import pytest

import wayleave as wl

ROWS = [
    {"name": "robot", "from": "h1", "to": "h5", "rate": "2Mbit", "burst": "1500B", "deadline": "2ms"},
    {"name": "video", "from": "h2", "to": "h5", "rate": "300Mbit", "burst": "20kB", "deadline": "10ms"},
    {"name": "backup", "from": "h3", "to": "h5", "rate": "800Mbit", "burst": "9kB", "deadline": "50ms"},
]


def test_a_plan_lists_routes_of_admitted_and_reasons_of_refused_contracts(examples: Path) -> None:
    plan = wl.plan(examples / "network.yaml", examples / "contracts.yaml")
    assert (plan.admitted, list(plan.refused), len(plan)) == (["robot", "video"], ["backup"], 3)
    assert "698 Mbit/s left" in plan.refused["backup"]
    robot, _, backup = plan.table.to_rows()
    assert robot["decision"] == "admitted" and robot["bound_ns"] <= robot["deadline_ns"] == 2_000_000
    assert robot["route"].startswith("h1->leaf1[") and robot["route"].split()[-1].startswith("leaf2->h5[")
    assert (backup["decision"], backup["reason"], backup["bound_ns"]) == ("refused", "RATE", None)
    assert "2 admitted, 1 refused (RATE 1)" in str(plan)
    assert plan.recheck() == []


def test_contracts_in_every_form_get_equal_decisions(examples: Path, tmp_path: Path) -> None:
    network = wl.Network(examples / "network.yaml")
    expected = wl.plan(network, ROWS).table.to_dict()
    csv = tmp_path / "rows.csv"
    csv.write_text("\n".join([",".join(ROWS[0]), *(",".join(row.values()) for row in ROWS)]))
    forms = [
        str(examples / "contracts.yaml"),
        [examples / "contracts.yaml"],
        csv,
        pandas.DataFrame(ROWS),
        polars.DataFrame(ROWS),
        pyarrow.Table.from_pylist(ROWS),
        wl.contracts(ROWS, network),
    ]
    for form in forms:
        assert wl.plan(network, form).table.to_dict() == expected, type(form)


def test_empty_cells_of_a_table_are_absent_keys(examples: Path) -> None:
    rows = [{**ROWS[0], "tenant": "plant"}, ROWS[1]]
    for table in (pandas.DataFrame(rows), polars.DataFrame(rows), pyarrow.Table.from_pylist(rows)):
        assert wl.plan(examples / "network.yaml", table).table["tenant"] == ["plant", None]


def test_contracts_of_every_kind_are_admitted_together(examples: Path) -> None:
    plan = wl.plan(examples / "network-fabric.yaml", examples / "contracts-fabric.yaml")
    assert (plan.scheme, len(plan.admitted), plan.refused) == ("fabric", 7, {})
    verified = plan.verify(effort="quick")
    assert verified.is_sound and verified.violations == []
    # Also of the classes below latency, if the file does not declare any.
    hose = {"name": "db", "bandwidth": {"hose": ["h1", "h4", "h6"], "min": "100Mbit"}}
    assert wl.plan("fat-tree:k=4,queues=8", [hose]).admitted == ["db"]


def test_a_scheme_and_its_settings_decide(fat_tree: wl.Network) -> None:
    contracts = wl.Contracts.drawn(fat_tree, count=60)
    silo = wl.plan(fat_tree, contracts, scheme="silo", budget="50us")
    assert silo.scheme == "silo"
    assert silo.to_dict()["scheme"] == {"name": "silo", "budget_ns": 50_000, "route": "shortest"}
    published = wl.plan(fat_tree, contracts, scheme="chameleon", model="published")
    assert published.to_dict()["model"] != silo.to_dict()["model"]


def test_drawn_contracts_follow_their_seed(fat_tree: wl.Network) -> None:
    def terms(seed: int) -> list[list[object]]:
        table = wl.plan(fat_tree, wl.Contracts.drawn(fat_tree, seed=seed, count=10)).table
        return [table[column] for column in ("name", "from", "to", "rate_bps")]

    assert terms(1) == terms(1) != terms(2)


def test_contracts_of_another_network_are_refused_before_any_decision(fat_tree: wl.Network) -> None:
    contracts = wl.Contracts.drawn(fat_tree, count=5)
    with pytest.raises(wl.InputError, match="read for another network than star"):
        wl.plan(wl.Network.star(40), contracts)
    assert len(wl.plan(wl.Network.fat_tree(k=4), contracts)) == 5


def test_findings_have_the_line_of_the_infeasible_contract(examples: Path, tmp_path: Path) -> None:
    file = tmp_path / "wish.csv"
    file.write_text("name,from,to,rate,burst,deadline\nwish,h1,h5,1Mbit,1500B,1us\n")
    (finding,) = wl.plan(examples / "network.yaml", file).findings
    assert (finding.file, finding.line) == (str(file), 2)
    assert "can never be met" in finding.message


def test_an_explanation_lists_what_would_fit(examples: Path) -> None:
    refused = wl.explain(examples / "network.yaml", examples / "contracts.yaml", "backup")
    assert not refused.is_admitted
    assert "backup: refused, RATE" in str(refused) and "698 Mbit/s" in str(refused)
    assert refused.to_dict()["request"]["name"] == "backup"
    assert wl.explain(examples / "network.yaml", examples / "contracts.yaml", "robot").is_admitted


def test_packets_stay_within_promised_bounds(plan: wl.Plan) -> None:
    verified = plan.verify(effort="quick", seed=3)
    assert verified.is_sound and verified.violations == []
    rows = verified.table.to_rows()
    assert [row["name"] for row in rows] == plan.admitted
    assert all(0 < row["worst_ps"] <= row["bound_ns"] * 1000 and row["drops"] == 0 for row in rows)
    assert "all guarantees held" in str(verified)


def test_verify_equals_plan_and_verify(examples: Path) -> None:
    one = wl.verify(examples / "network.yaml", examples / "contracts.yaml", effort="quick", flow="robot")
    assert one.is_sound
    searched = {row["name"]: row["attack"] for row in one.table.to_rows()}
    assert list(searched) == ["robot", "video"]


def test_a_plan_as_json_is_read_by_the_command(plan: wl.Plan) -> None:
    assert json.loads(plan.to_json()) == plan.to_dict()
    assert [request["name"] for request in plan.to_dict()["requests"]] == plan.admitted


def test_bounds_by_several_analyses(plan: wl.Plan, examples: Path) -> None:
    analysis = wl.analyze(plan, analyses=["tfa", "sfa", "pmoo"])
    rows = analysis.table.to_rows()
    assert [row["name"] for row in rows] == plan.admitted
    assert all(row["tfa_ns"] <= row["budgets_ns"] for row in rows)
    assert len(analysis.servers) > 0
    ports = wl.analyze(examples / "port-network.json", flows=["camera"])
    # 12 us and 1664.942 us: docs/theory/analysis.md.
    assert ports.table.to_rows()[0]["tfa_ns"] == 1_664_942
    assert ports.table.column_names == ["name", "path", "tfa_ns", "sfa_ns", "tightest", "budgets_ns"]
