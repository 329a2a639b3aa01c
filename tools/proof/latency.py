"""Latency contracts: queues keep their bounds, and routes their deadlines.

Curves are pairs of lists: knees in order of time from 0 on, and the function."""

from collections import defaultdict
from fractions import Fraction

BYTE = 8_000_000_000  # nanobits: bit/s times ns


def crossings(lines):
    """Returns the times above 0 at which any two of some lines (value at 0, slope) meet."""
    pairs = ((a, b) for n, a in enumerate(lines) for b in lines[:n] if a[1] != b[1])
    return {t for a, b in pairs if (t := Fraction(b[0] - a[0]) / (a[1] - b[1])) > 0}


def least(lines):
    """Returns the minimum of lines, for t > 0: an arrival curve."""
    return crossings(lines), lambda t: min(b + r * t for b, r in lines)


def most(lines):
    """Returns the maximum of lines and 0: a service curve."""
    lines = [*lines, (Fraction(0), Fraction(0))]
    return crossings(lines), lambda t: max(b + r * t for b, r in lines)


def total(curves):
    """Returns the sum of curves."""
    curves = list(curves)
    return set().union(*(knees for knees, _ in curves)), lambda t: sum(f(t) for _, f in curves)


def below(lower, upper, shift=Fraction(0)):
    """Returns True if lower(t) <= upper(t + shift) for every t > 0. Both are straight between knees, so knees and the last slope decide."""
    (low_knees, low), (high_knees, high) = lower, upper
    knees = {Fraction(0), *low_knees, *(t - shift for t in high_knees if t > shift)}
    last = max(knees)

    def slope(f, at):
        return f(at + 2) - f(at + 1)

    return all(low(t) <= high(t + shift) for t in knees) and slope(low, last) <= slope(high, last + shift)


def flow_faults(proof, topology, inputs):
    """Yields violations of flows, and sums up their arrivals at each queue, by the link before: burst and rate."""
    queues = {(queue["link"], queue["queue"]): queue for queue in proof["queues"]}
    for flow in proof["flows"]:
        what, waited, bound, before = f"flow {flow['name']}", 0, 0, None
        yield from topology.route_faults(what, flow["from"], flow["to"], [hop for hop, _ in flow["hops"]])
        for hop in flow["hops"]:
            if hop not in queues or hop[0] not in topology.links:
                yield f"{what}: the proof says nothing of queue {hop[1]} of {hop[0]}"
                break
            link, queue = topology.links[hop[0]], queues[hop]
            if proof["classes"] and not topology.is_host(link["from"]) and hop[1] >= proof["classes"]["latency"]:
                yield f"{what}: queue {hop[1]} of {hop[0]} is none of the latency class"
            entering = inputs[hop][before]
            entering[0] += flow["burst_bytes"] * BYTE + flow["rate"] * (waited + link["spread_ns"])
            entering[1] += flow["rate"]
            waited += queue["budget_ns"]
            bound += queue["budget_ns"] + link["propagation_ns"] + topology.nodes[link["from"]]["processing_ns"]
            before = hop[0]
        if not bound <= flow["bound_ns"] <= flow["deadline_ns"]:
            yield f"{what}: {bound} ns on its route, {flow['bound_ns']} ns promised, {flow['deadline_ns']} ns asked for"


def queue_faults(proof, topology, inputs):
    """Yields violations of queues."""
    links, arrivals, on_link = topology.links, {}, defaultdict(dict)
    for key, entering in inputs.items():
        spread = links[key[0]]["spread_ns"]
        curves = []
        for before, bucket in entering.items():
            lines = [tuple(bucket)]
            if before and proof["shaping"]:
                rate = links[before]["rate"]
                lines.append((links[before]["max_frame_bytes"] * BYTE + rate * spread, rate))
            curves.append(least(lines))
        arrivals[key] = on_link[key[0]][key[1]] = total(curves)
    for queue in proof["queues"]:
        key, what = (queue["link"], queue["queue"]), f"queue {queue['queue']} of {queue['link']}"
        if key not in arrivals:
            yield f"{what}: no flow of the proof passes it"
            continue
        link, arrival = links[queue["link"]], least(queue["arrival"])
        service = most([(-rate * latency, rate) for rate, latency in queue["service"]])
        if not below(arrivals[key], arrival):
            yield f"{what}: flows bring more than its arrival curve says"
        if not below(service, left_over(link, topology.nodes[link["from"]]["jitter_ns"], queue["queue"], on_link[queue["link"]], service[0])):
            yield f"{what}: the queues above leave less than its service curve says"
        delay, backlog = queue["delay"], queue["backlog"]
        if delay is None or backlog is None:
            yield f"{what}: it has no bound"
            continue
        if delay < link["spread_ns"] or not below(arrival, service, delay - link["spread_ns"]):
            yield f"{what}: by its curves packets may take longer than {delay} ns"
        if not below(arrival, (service[0], lambda t, f=service[1], more=backlog: f(t) + more)):
            yield f"{what}: by its curves more may wait than {backlog} nanobits"
        if delay > queue["budget_ns"] or backlog > queue["buffer_bytes"] * BYTE:
            yield f"{what}: delay or backlog is beyond its budget of {queue['budget_ns']} ns or its buffer of {queue['buffer_bytes']} bytes"


def left_over(link, jitter, own, arrivals, knees):
    """Returns the service that the queues above leave on a link."""
    # Two frames: one that is being sent, and one of which all but the last bit counts as late. Jitter that preserves the order stops the
    # server.
    lost = 2 * link["max_frame_bytes"] * BYTE + link["rate"] * (jitter - link["spread_ns"])
    above = total(curve for place, curve in arrivals.items() if place < own)
    knees = above[0] | knees
    # The start of the residual service is a knee, too: between the knees of the arrivals above it is straight.
    cuts = sorted({Fraction(0), *above[0]})
    for start, end in zip(cuts, [*cuts[1:], cuts[-1] + 1], strict=True):
        low, high = (link["rate"] * t - above[1](t) - lost for t in (start, end))
        if low < 0 and high > low and (t := start + low / (low - high) * (end - start)) > start:
            knees = knees | {t}
    return knees, lambda t: max(0, link["rate"] * t - above[1](t) - lost)
