"""Graphs of NetworkX as node-link JSON. NetworkX itself is not needed: the graph has all required methods."""

from __future__ import annotations

import json
from typing import Any

from wayleave._arguments import kind
from wayleave._errors import InputError


def node_link(graph: Any) -> tuple[str, str]:
    """Returns the text of NetworkX's ``node_link_data``, and the name of the graph."""
    if not all(hasattr(graph, name) for name in ("nodes", "edges", "is_directed", "is_multigraph")):
        raise InputError(f"graph: a graph of NetworkX is expected, such as networkx.path_graph(3): this is {kind(graph)}")
    nodes = [{**data, "id": str(node)} for node, data in graph.nodes(data=True)]
    edges = [{**data, "source": str(source), "target": str(target)} for source, target, data in graph.edges(data=True)]
    document = {
        "directed": graph.is_directed(),
        "multigraph": graph.is_multigraph(),
        "graph": dict(graph.graph),
        "nodes": nodes,
        "edges": edges,
    }
    name = str(graph.graph.get("name") or "graph")
    return json.dumps(document, default=str), f"{name}.json"
