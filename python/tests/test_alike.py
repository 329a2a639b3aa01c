"""Equal files get equal decisions from this package and from the command, which a test of the command compares with a server."""

from __future__ import annotations

import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

import wayleave as wl

COMMAND = os.environ.get("WAYLEAVE", "")
BUILDERS: list[tuple[dict[str, Any], int]] = [
    ({"kind": "leaf-spine", "leaves": 2, "spines": 2, "hosts": 3, "rate": "10Gbit", "delay": "1us", "queues": 8}, 6),
    ({"kind": "star", "hosts": 5, "rate": "1Gbit", "delay": "20us", "queues": 8}, 5),
    ({"kind": "line", "switches": 3, "hosts": 2, "rate": "10Gbit", "delay": "5us", "queues": 8}, 6),
    ({"kind": "fat-tree", "k": 4, "rate": "1Gbit", "delay": "1us", "queues": 8}, 16),
]


def document(kind: str, spec: dict[str, Any]) -> str:
    head = {"apiVersion": "wayleave/v1", "kind": kind, "metadata": {"name": "random"}}
    return json.dumps({**head, "spec": spec})


def contract(draw: random.Random, hosts: int, number: int) -> dict[str, Any]:
    members = draw.sample([f"h{host}" for host in range(1, hosts + 1)], draw.randint(2, 4))
    ends: dict[str, Any] = {"from": members[0], "to": members[1]}
    rate = f"{draw.choice([1, 30, 200, 700, 3000])}Mbit"
    tenant = draw.choice([{}, {"tenant": "shop"}])
    terms = draw.choice(
        [
            {**ends, "rate": rate, "burst": "3kB", "deadline": draw.choice(["1ms", "2ms", "20ms"])},
            {"bandwidth": {**ends, "min": rate}},
            {"bandwidth": {"hose": members, "min": rate, "within": "20ms"}},
            {"objective": {"goal": "completion", "members": members, "weight": rate}},
            {"bestEffort": {"members": members}},
        ]
    )
    return {"name": f"c{number}", **tenant, **terms}


@pytest.mark.skipif(not os.access(COMMAND, os.X_OK), reason="WAYLEAVE names no command to compare with")
@pytest.mark.parametrize("seed", range(8))
def test_the_package_and_the_command_make_equal_decisions(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    builder, hosts = draw.choice(BUILDERS)
    classes = {"latency": 5, "guaranteed": 6, "objective": 3, "bestEffort": 1}
    topology, contracts = tmp_path / "t.yaml", tmp_path / "c.yaml"
    topology.write_text(document("Topology", {"builder": builder, "classes": classes}))
    wanted = [contract(draw, hosts, number) for number in range(draw.randint(6, 16))]
    contracts.write_text(document("Contracts", {"contracts": wanted}))
    line = [COMMAND, "plan", "-t", str(topology), "-f", str(contracts), "-o", "json"]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 3), done.stderr
    command, package = json.loads(done.stdout), wl.plan(topology, contracts).to_dict()
    for keys in ("requests", "changed_certainty", "short_buffers"):
        of = [{key: value for key, value in one.items() if key != "decision_us"} for one in command.get(keys, [])]
        other = [{key: value for key, value in one.items() if key != "decision_us"} for one in package.get(keys, [])]
        assert of == other, (keys, contracts.read_text())
    assert len(command["requests"]) == len(wanted)
