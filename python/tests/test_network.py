"""Networks from builders, files, texts and graphs."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path

import networkx
import pytest

import wayleave as wl


def test_a_builder_follows_its_arguments() -> None:
    network = wl.Network.leaf_spine(leaves=3, spines=2, hosts=4, rate="25Gbit", host_queues=2)
    assert (len(network.hosts), len(network.switches)) == (12, 5)
    # Every host and every uplink is a cable: two links.
    assert len(network.links) == 2 * (12 + 3 * 2)
    assert set(network.links["rate_bps"]) == {25_000_000_000}
    from_hosts = [queues for queues, source in zip(network.links["queues"], network.links["from"], strict=True) if source in network.hosts]
    assert set(from_hosts) == {2}


def test_every_builder_equals_the_text_of_its_name() -> None:
    for built, text in [
        (wl.Network.fat_tree(4), "fat-tree:k=4"),
        (wl.Network.leaf_spine(2, 2, 3), "leaf-spine:leaves=2,spines=2,hosts=3"),
        (wl.Network.line(3, hosts=2), "line:switches=3,hosts=2"),
        (wl.Network.ring(5), "ring:switches=5,hosts=1"),
        (wl.Network.star(6, rate="1Gbit"), "star:hosts=6,rate=1Gbit"),
    ]:
        assert built.input_hash == wl.Network(text).input_hash, text


def test_a_network_survives_a_file_a_text_and_a_pickle(tmp_path: Path, examples: Path) -> None:
    network = wl.Network(examples / "network.yaml")
    file = tmp_path / "copy.yaml"
    file.write_text(network.to_yaml())
    copies = [wl.Network.read(file), wl.Network.parse(network.to_yaml()), pickle.loads(pickle.dumps(network))]
    assert [copy.input_hash for copy in copies] == [network.input_hash] * 3
    assert wl.Network("star:hosts=4").input_hash != network.input_hash


def test_files_of_other_tools_are_completed_by_arguments(examples: Path) -> None:
    network = wl.Network.read(examples / "coast.gml", default_rate="10Gbit", default_delay="1ms", hosts=1)
    assert 10_000_000_000 in network.links["rate_bps"]
    assert any("default_delay=" not in remark for remark in network.remarks)
    assert len(network.hosts) == len(network.switches)


def graph() -> networkx.Graph:
    graph = networkx.Graph(name="bench")
    graph.add_node("s", kind="switch")
    for host in ("a", "b", "c"):
        graph.add_node(host, kind="host")
        graph.add_edge(host, "s", bandwidth="1Gbit", delay="2us")
    return graph


def test_a_graph_of_networkx_is_a_network() -> None:
    network = wl.Network.from_networkx(graph())
    assert (network.hosts, network.switches) == (["a", "b", "c"], ["s"])
    assert set(network.links["propagation_ns"]) == {2000}
    contract = {"name": "x", "from": "a", "to": "b", "rate": "1Mbit", "burst": "1500B", "deadline": "5ms"}
    assert wl.plan(network, [contract]).admitted == ["x"]


def test_numbers_of_a_graph_need_their_unit() -> None:
    numbers = graph()
    networkx.set_edge_attributes(numbers, 10, "bandwidth")
    with pytest.raises(wl.InputError, match="rate_unit="):
        wl.Network.from_networkx(numbers)
    assert set(wl.Network.from_networkx(numbers, rate_unit="Gbit").links["rate_bps"]) == {10_000_000_000}


def test_shortest_paths_lead_from_host_to_host() -> None:
    network = wl.Network.fat_tree(k=4)
    ends = {name: (source, to) for name, source, to in zip(*(network.links[key] for key in ("name", "from", "to")), strict=True)}
    paths = network.shortest_paths("h1", "h16")
    assert len(paths) == len({tuple(path) for path in paths}) == 4
    for path in paths:
        hops = [ends[link] for link in path]
        assert (hops[0][0], hops[-1][1], len(hops)) == ("h1", "h16", 6)
        assert all(one[1] == other[0] for one, other in itertools.pairwise(hops))
    assert network.shortest_paths("h1", "h16", most=2) == paths[:2]
