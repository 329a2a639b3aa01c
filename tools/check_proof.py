#!/usr/bin/env python3
"""Checks a proof that `wayleave plan --proof FILE` has written, without code of Wayleave.

    python3 tools/check_proof.py PROOF [PLAN or CONTRACTS]

With a plan (`wayleave plan -o json`) or a file of contracts it also checks that the proof has everything that was admitted, or requested.

Latency contracts: at every queue the arrivals of flows are within the stated arrival curve, the queues above leave at least the stated
service curve, and so no packet waits longer than the budget and the backlog fits into the buffer. Every route joins the ends of
its flow, and its budgets, propagation and processing are within the deadline. Minima and weights: on every link the certified load of
each share is at most its stated load, loads are within the charge, and the charge fits below the latency contracts. Not checked: times of
minima (`within`), and whether the network is as the proof states it. docs/theory/analysis.md has the details.

Arithmetic is exact, and the parts in the folder proof/ use the standard library only (PyYAML, where it is installed, for contracts in YAML).
Exit code 0: everything stated as proven is proven; 1: a statement does not hold; 2: a file is malformed."""

import sys
from collections import defaultdict

from proof.completeness import completeness_faults, listed, setting_faults
from proof.form import PROOF, Malformed, read
from proof.latency import flow_faults, queue_faults
from proof.minima import Minima, described
from proof.topology import Topology


def check(proof, notes):
    """Yields violated statements as sentences; appends unchecked and unproven ones to notes."""
    topology = Topology(proof)
    yield from topology.faults()
    proven = {flow["contract"] for flow in proof["flows"]} | {share["contract"] for share in proof["shares"]}
    for contract in proof["contracts"]:
        if contract not in proven:
            yield f"contract {contract}: the proof has neither a flow nor a share of it"
    for contract in sorted(proven - set(proof["contracts"])):
        yield f"contract {contract}: it is not in the proof's list of contracts"
    if not proof["contracts"]:
        yield "contracts: the list is empty, so nothing is proven"
    inputs = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    faults = list(flow_faults(proof, topology, inputs))
    yield from faults
    if not any("is no link of the proof" in fault for fault in faults):
        routes = defaultdict(list)
        for flow in proof["flows"]:
            for other in routes[flow["contract"]]:
                yield from topology.disjoint_faults(flow, other)
            routes[flow["contract"]].append(flow)
    yield from queue_faults(proof, topology, inputs)
    states = {state["state"] for state in proof["minima"]}
    wanted = {"all_up"} | ({"now"} if any(not link["open"] for link in proof["links"]) else set()) if proof["shares"] else set()
    if states != wanted:
        yield f"minima: states {sorted(states)} are there, and {sorted(wanted)} are needed"
    for state in proof["minima"]:
        yield from Minima(proof, topology, state, notes).faults()
    for share in proof["shares"]:
        if share.get("paths") == "all":
            notes.append(f"assumed: every node splits the packets of {described(share)} evenly over its shortest paths")
        if share["certainty"] != "proven":
            notes.append(f"not proven: {described(share)} is {share['certainty']}")


def main():
    if len(sys.argv) not in (2, 3):
        print("usage: check_proof.py PROOF [PLAN or CONTRACTS]", file=sys.stderr)
        return 2
    try:
        document, notes = read(sys.argv[1]), []
        proof = PROOF(document, "proof")
        wrong = list(check(proof, notes))
        if len(sys.argv) == 3:
            contracts, settings = listed(sys.argv[2])
            wrong += [*completeness_faults(proof, contracts), *setting_faults(proof, settings)]
        else:
            notes.append("not checked: completeness, since neither a plan nor a file of contracts was given")
    except (Malformed, RecursionError) as error:
        print(f"malformed: {error}", file=sys.stderr)
        return 2
    unchecked = any(note.startswith("not checked: link") for note in notes)
    counts = f"{len(proof['queues'])} queues, {len(proof['flows'])} flows and {len(proof['shares'])} shares"
    verdict = [] if unchecked else [f"{counts}: everything that is stated as proven holds"]
    print(*(wrong or verdict), *notes, sep="\n")
    return 1 if wrong or unchecked else 0


if __name__ == "__main__":
    sys.exit(main())
