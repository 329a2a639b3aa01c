"""The cases that both simulators run: a dumbbell of two senders and two receivers.

    s1 --\                     /-- r1
          left === right  ----
    s2 --/                     \-- r2

Hosts are joined at ten times the rate of the link between the switches, over 10 us.
"""

import random

MSS = 1460
# On the wire of Wayleave: 40 B of TCP and IPv4, 38 B of Ethernet with preamble and gap.
FRAME = MSS + 78


def endless(name, congestion, rate, delay, buffer, duration, warmup, mark=None, least=1.0, loss=0.0, flows=2):
    """Flows without end, from s1 to r1 and s2 to r2; the second one a tenth of a second later."""
    listed = [(0.1 * index, index % 2, 0) for index in range(flows)]
    return dict(name=name, congestion=congestion, rate=rate, delay=delay, buffer=buffer, duration=duration,
                warmup=warmup, mark=mark, least=least, handshake=1.0, loss=loss, flows=listed)


def trace(name, congestion, rate, delay, buffer, load, duration, mark=None, least=1.0, handshake=1.0):
    """Flows that arrive at random in the first three quarters of the time: mean 100 kB, most of them smaller.

    `handshake`: time for which ns-3 waits for the answer of a handshake (RFC 6298, 2.1: 1 s; default 3 s). Wayleave has none. RED
    drops a handshake above the threshold, because its packets cannot be marked: here it is retransmitted as fast as data.
    """
    rng = random.Random(15)
    at, listed = 0.1, []
    while True:
        at += rng.expovariate(load * rate / 8 / 100e3)
        if at > 0.75 * duration:
            break
        # Pareto with shape 1.5: the mean is three times the minimum.
        size = min(int(100e3 / 3 * rng.paretovariate(1.5)), 5_000_000)
        listed.append((round(at, 9), rng.randrange(2), size))
    return dict(name=name, congestion=congestion, rate=rate, delay=delay, buffer=buffer, duration=duration,
                warmup=0.0, mark=mark, least=least, handshake=handshake, loss=0.0, flows=listed)


def cases():
    wide, near = dict(rate=100e6, delay=10e-3), dict(rate=1e9, delay=50e-6)
    both = ("newreno", "cubic")
    yield from (endless(f"{it}-two", it, **wide, buffer=166, duration=100, warmup=20) for it in both)
    yield endless("dctcp-two", "dctcp", **near, buffer=1000, duration=4, warmup=1, mark=20, least=0.01)
    yield from (trace(f"{it}-trace", it, **wide, buffer=166, load=0.7, duration=40) for it in both)
    yield trace("dctcp-trace", "dctcp", **near, buffer=100, load=0.7, duration=4, mark=20, least=0.01, handshake=0.01)
    # Cost of the handshake: a lost one is retransmitted after 0.1 s.
    yield trace("newreno-trace-quick", "newreno", **wide, buffer=166, load=0.7, duration=40, least=0.2, handshake=0.1)
    # Alone, and limited only by losses: NewReno against Mathis.
    for loss in (1e-2, 1e-3):
        yield endless(f"newreno-loss-{loss:g}", "newreno", rate=10e9, delay=50e-3, buffer=100_000, loss=loss,
                      duration=2_000 if loss > 5e-3 else 1_000, warmup=50, flows=1)
