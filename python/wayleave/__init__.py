"""Wayleave: networks whose tenants can rely on what they were promised.

>>> import wayleave as wl
>>> network = wl.Network("fat-tree:k=4")
>>> plan = wl.plan(network, wl.Contracts.drawn(network, count=10))
>>> plan
<Plan by chameleon: 10 admitted, 0 refused>
>>> plan.verify(effort="quick").is_sound
True

Results are tables of Arrow: ``polars.DataFrame(plan)``, ``pyarrow.table(plan)`` and ``plan.table.to_pandas()`` read them.
"""

from wayleave._contracts import Contracts, contracts
from wayleave._errors import Error, InputError, OperationError, Problem
from wayleave._operations import Progress, analyze, explain, figures, plan, reproduce, simulate, verify
from wayleave._protocols import Scheme, Transport, TransportFlow
from wayleave._sweep import Failed, Sweep, sweep
from wayleave._wayleave import (
    Ack,
    Admit,
    Analysis,
    Explanation,
    Figure,
    FlowStart,
    Loss,
    Network,
    Plan,
    Refuse,
    Request,
    Run,
    Table,
    Verified,
    __version__,
)

__all__ = [
    "Ack",
    "Admit",
    "Analysis",
    "Contracts",
    "Error",
    "Explanation",
    "Failed",
    "Figure",
    "FlowStart",
    "InputError",
    "Loss",
    "Network",
    "OperationError",
    "Plan",
    "Problem",
    "Progress",
    "Refuse",
    "Request",
    "Run",
    "Scheme",
    "Sweep",
    "Table",
    "Transport",
    "TransportFlow",
    "Verified",
    "__version__",
    "analyze",
    "contracts",
    "explain",
    "figures",
    "plan",
    "reproduce",
    "simulate",
    "sweep",
    "verify",
]
