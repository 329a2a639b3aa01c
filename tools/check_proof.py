#!/usr/bin/env python3
"""Checks a proof that `wayleave plan --proof FILE` has written, with nothing of Wayleave: python3 tools/check_proof.py FILE

Of every queue: flows bring no more than the arrival curve says, what the queues above leave is no less than the service curve says, and by both
no packet takes longer than the budget and no more waits than the buffer holds. Of every flow: its budgets, propagation and processing together
are within its deadline. What it assumes of the network stands in the proof: rates, frames, times of links and nodes. docs/analysis.md says more.

Curves are pairs of lists: knees in order of time from 0 on, and the function. All of it is exact. Exit code 0: it holds; 4: it does not."""

import json
import sys
from collections import defaultdict
from fractions import Fraction

BYTE = 8_000_000_000  # nanobits: bit/s times ns


def crossings(lines):
    """Where any two of some lines (value at 0, slope) meet at a time above 0."""
    pairs = ((a, b) for n, a in enumerate(lines) for b in lines[:n] if a[1] != b[1])
    return {t for a, b in pairs if (t := Fraction(b[0] - a[0]) / (a[1] - b[1])) > 0}


def least(lines):
    """The minimum of lines, for t > 0: an arrival curve."""
    return crossings(lines), lambda t: min(b + r * t for b, r in lines)


def most(lines):
    """The maximum of lines and 0: a service curve."""
    lines = [*lines, (Fraction(0), Fraction(0))]
    return crossings(lines), lambda t: max(b + r * t for b, r in lines)


def total(curves):
    """The sum of curves."""
    curves = list(curves)
    return set().union(*(knees for knees, _ in curves)), lambda t: sum(f(t) for _, f in curves)


def below(lower, upper, shift=Fraction(0)):
    """Whether lower(t) <= upper(t + shift) for every t > 0: both are straight between knees, so knees and the slope behind them decide."""
    (low_knees, low), (high_knees, high) = lower, upper
    knees = {Fraction(0), *low_knees, *(t - shift for t in high_knees if t > shift)}
    last = max(knees)
    slope = lambda f, at: f(at + 2) - f(at + 1)
    return all(low(t) <= high(t + shift) for t in knees) and slope(low, last) <= slope(high, last + shift)


def check(proof):
    """What does not hold, as sentences."""
    links = {link["name"]: link for link in proof["links"]}
    queues = {(queue["link"], queue["queue"]): queue for queue in proof["queues"]}
    inputs = defaultdict(lambda: defaultdict(lambda: [0, 0]))  # of each queue, by the link before: burst and rate
    for flow in proof["flows"]:
        name, waited, bound, before = flow["name"], 0, 0, None
        for hop in map(tuple, flow["hops"]):
            if hop not in queues:
                yield f"flow {name}: the proof says nothing of queue {hop[1]} of {hop[0]}"
                return
            link, queue = links[hop[0]], queues[hop]
            if before and links[before]["to"] != link["from"]:
                yield f"flow {name}: {before} does not lead to {hop[0]}"
            entering = inputs[hop][before]
            entering[0] += flow["burst_bytes"] * BYTE + flow["rate"] * (waited + link["spread_ns"])
            entering[1] += flow["rate"]
            waited += queue["budget_ns"]
            bound += queue["budget_ns"] + link["propagation_ns"] + link["processing_ns"]
            before = hop[0]
        if not bound <= flow["bound_ns"] <= flow["deadline_ns"]:
            yield f"flow {name}: {bound} ns on its way, {flow['bound_ns']} ns promised, {flow['deadline_ns']} ns asked for"
    arrivals = {}
    for key, entering in inputs.items():
        spread = links[key[0]]["spread_ns"]
        curves = []
        for before, bucket in entering.items():
            lines = [tuple(bucket)]
            if before and proof["shaping"]:
                rate = links[before]["rate"]
                lines.append((links[before]["max_frame_bytes"] * BYTE + rate * spread, rate))
            curves.append(least(lines))
        arrivals[key] = total(curves)
    for (name, number), queue in sorted(queues.items()):
        link, what = links[name], f"queue {number} of {name}"
        if link["spread_ns"] not in (0, link["jitter_ns"]):
            yield f"{what}: a spread of {link['spread_ns']} ns, with a jitter of {link['jitter_ns']} ns"
        arrival = least([(Fraction(b), Fraction(r)) for b, r in queue["arrival"]])
        service = most([(-Fraction(r) * Fraction(t), Fraction(r)) for r, t in queue["service"]])
        if (name, number) not in arrivals or not below(arrivals[name, number], arrival):
            yield f"{what}: flows bring more than its arrival curve says"
        # Two frames: one that is being sent, and one of which all but the last bit counts as late. Jitter that keeps the order stops the server.
        lost = 2 * link["max_frame_bytes"] * BYTE + link["rate"] * (link["jitter_ns"] - link["spread_ns"])
        above = total(curve for (other, place), curve in arrivals.items() if other == name and place < number)
        knees = above[0] | service[0]
        left = lambda t, above=above, link=link, lost=lost: max(0, link["rate"] * t - above[1](t) - lost)
        # Where what is left begins is a knee, too: between the knees of what comes above it is straight.
        for start, end in zip(cuts := sorted({Fraction(0), *above[0]}), [*cuts[1:], cuts[-1] + 1]):
            low, high = (link["rate"] * t - above[1](t) - lost for t in (start, end))
            if low < 0 and high > low and (t := start + low / (low - high) * (end - start)) > start:
                knees = knees | {t}
        if not below(service, (knees, left)):
            yield f"{what}: the queues above leave less than its service curve says"
        if queue["delay"] is None or queue["backlog"] is None:
            yield f"{what}: it has no bound"
            continue
        delay, backlog = Fraction(queue["delay"]), Fraction(queue["backlog"])
        if delay < link["spread_ns"] or not below(arrival, service, delay - link["spread_ns"]):
            yield f"{what}: by its curves packets may take longer than {queue['delay']} ns"
        if not below(arrival, (service[0], lambda t, f=service[1], more=backlog: f(t) + more)):
            yield f"{what}: by its curves more may wait than {queue['backlog']} nanobits"
        if delay > queue["budget_ns"] or backlog > queue["buffer_bytes"] * BYTE:
            yield f"{what}: delay or backlog is beyond its budget of {queue['budget_ns']} ns or its buffer of {queue['buffer_bytes']} bytes"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        proof = json.load(file)
    if proof.get("proof") != 1:
        sys.exit("the file is no proof of a form that this checker knows: 1 is expected")
    wrong = list(check(proof))
    print(*wrong or [f"{len(proof['queues'])} queues and {len(proof['flows'])} flows: everything holds"], sep="\n")
    sys.exit(4 if wrong else 0)


if __name__ == "__main__":
    main()
