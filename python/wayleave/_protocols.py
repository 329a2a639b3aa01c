"""Required methods of a scheme or a transport of a program."""

from __future__ import annotations

from typing import Protocol

from wayleave._wayleave import Ack, Admit, FlowStart, Loss, Refuse, Request


class Scheme(Protocol):
    """An admission scheme: ``release(links, rate_bps)`` is called if it exists."""

    def admit(self, request: Request, /) -> Admit | Refuse:
        """Decides about one contract."""


class TransportFlow(Protocol):
    """Congestion control of one flow: ``pacing_bps`` and ``on_route(now_ns, hops, round_trip_ns, slowest_bps)`` are used if they exist."""

    @property
    def window(self) -> float:
        """Returns the bytes of payload that may be in flight, from 1."""

    def on_ack(self, now_ns: int, ack: Ack, /) -> None:
        """Handles an acknowledgement with new information."""

    def on_loss(self, now_ns: int, loss: Loss, /) -> None:
        """Handles a loss."""


class Transport(Protocol):
    """Congestion control of all flows: it receives marks if it has ``hears_marks = True``."""

    def begin(self, start: FlowStart, /) -> TransportFlow:
        """Creates the object of a new flow."""


for _public in (Scheme, TransportFlow, Transport):
    _public.__module__ = "wayleave"
