"""What a scheme or a transport of a program has to have."""

from __future__ import annotations

from typing import Protocol

from wayleave._wayleave import Ack, Admit, FlowStart, Loss, Refuse, Request


class Scheme(Protocol):
    """An admission scheme: ``release(links, rate_bps)`` is called where there is one."""

    def admit(self, request: Request, /) -> Admit | Refuse:
        """Decides about one contract."""


class TransportFlow(Protocol):
    """Congestion control of one flow: ``pacing_bps`` and ``on_route(now_ns, hops, round_trip_ns, slowest_bps)`` are used where there are some."""

    @property
    def window(self) -> float:
        """Bytes of payload that may be in flight, from 1."""

    def on_ack(self, now_ns: int, ack: Ack, /) -> None:
        """Takes an acknowledgement that told the sender something new."""

    def on_loss(self, now_ns: int, loss: Loss, /) -> None:
        """Takes a loss."""


class Transport(Protocol):
    """Congestion control of all flows: it gets marks if it has ``hears_marks = True``."""

    def begin(self, start: FlowStart, /) -> TransportFlow:
        """Makes the object of a flow that begins."""


for _public in (Scheme, TransportFlow, Transport):
    _public.__module__ = "wayleave"
