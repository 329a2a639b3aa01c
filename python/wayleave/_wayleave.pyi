"""The library ``wayleave`` as an extension module; the package around it is what programs import."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NoReturn, TypedDict, Unpack, final

from wayleave._errors import Problem
from wayleave._protocols import Scheme, Transport

__all__ = [
    "Admit",
    "Refuse",
    "Request",
    "_analyze",
    "_reproduce",
    "Analysis",
    "Figure",
    "figures_known",
    "_network_of",
    "Contracts",
    "Network",
    "_explain",
    "_plan",
    "Explanation",
    "Plan",
    "Verified",
    "_begin",
    "_simulate",
    "_sweep",
    "_Batch",
    "Run",
    "_Sweep",
    "Table",
    "Ack",
    "Loss",
    "FlowStart",
    "__version__",
]
__version__: str

@final
class Table:
    """Rows and columns with their provenance.

    ``polars.DataFrame(table)``, ``pyarrow.table(table)`` and ``pandas.DataFrame.from_arrow(table)`` read it without a copy of ours on the way.
    """

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, in their order."""
    @property
    def metadata(self) -> dict[str, str]:
        """Where the table comes from: ``wayleave`` (the version), ``input_hash``, ``seed``, and what else matters."""
    def to_dict(self) -> dict[str, list[Any]]:
        """Columns as lists, by name."""
    def to_rows(self) -> list[dict[str, Any]]:
        """Rows as dictionaries."""
    def to_pandas(self) -> Any:
        """A DataFrame of pandas, which has to be installed; its ``attrs`` are the provenance."""
    def __getitem__(self, name: str, /) -> list[Any]:
        """The values of a column."""
    def __iter__(self) -> NoReturn:
        """A table is no list: use ``to_rows()``, or a column by its name."""
    def __contains__(self, name: str, /) -> bool:
        """Whether there is a column of that name."""
    def __len__(self) -> int: ...
    def _repr_html_(self) -> str: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __arrow_c_schema__(self) -> object: ...

class _ImportOptions(TypedDict, total=False):
    """What files of other tools do not say."""

    default_rate: str
    default_delay: str
    default_mtu: str
    strict: bool
    delay_from_coordinates: bool
    delay_from_places: bool
    """Old name of ``delay_from_coordinates``."""
    rate_unit: Literal["bit", "kbit", "Mbit", "Gbit", "Tbit"]
    delay_unit: Literal["ns", "us", "ms", "s"]
    hosts: int | Literal["auto", "leaves", "none"]
    host_rate: str

@final
class Network:
    """A network: hosts, switches, and links with rates, delays and queues.

    ``Network("fat-tree:k=4,queues=8")`` is what a builder makes, ``Network("plant.yaml")`` what a file describes.
    """

    def __new__(cls, text: str | os.PathLike[str]) -> Network: ...
    @staticmethod
    def read(
        file: str | os.PathLike[str],
        **options: Unpack[_ImportOptions],
    ) -> Network:
        """A file of Wayleave, containerlab, NetworkX, GML, GraphML and others, with what files of other tools do not say.

        ``hosts`` says which nodes are hosts, beside those of which the file says so: ``leaves`` have one neighbour; a number is attached to
        every switch.
        """
    @staticmethod
    def parse(
        text: str,
        *,
        name: str = "network",
        **options: Unpack[_ImportOptions],
    ) -> Network:
        """The same of a text; ``name`` stands in messages."""
    @staticmethod
    def from_networkx(
        graph: Any,
        **options: Unpack[_ImportOptions],
    ) -> Network:
        """A graph of NetworkX.

        Nodes say what they are by ``kind`` (``host`` or ``switch``), edges have ``bandwidth`` and ``delay``: texts with units, or numbers with
        ``rate_unit`` and ``delay_unit``.
        """
    @staticmethod
    def fat_tree(k: int = 4, **keys: object) -> Network:
        """``k`` pods of edge and aggregation switches, and (k/2)^2 cores.

        All builders take ``rate``, ``delay``, ``mtu``, ``queues``, ``buffer``, ``budgets``, ``host_queues``, ``host_buffer``, ``host_budgets``;
        this one ``hosts`` (under each edge switch), ``aggregation_rate`` and ``core_rate`` as well.
        """
    @staticmethod
    def leaf_spine(leaves: int = 4, spines: int = 2, hosts: int = 4, **keys: object) -> Network:
        """Every leaf joined to every spine; ``parallel`` and ``uplink_rate`` as well."""
    @staticmethod
    def line(switches: int = 4, hosts: int = 1, **keys: object) -> Network:
        """Switches in a line, each with so many hosts."""
    @staticmethod
    def ring(switches: int = 4, hosts: int = 1, **keys: object) -> Network:
        """Switches in a ring, each with so many hosts."""
    @staticmethod
    def star(hosts: int, **keys: object) -> Network:
        """Hosts around one switch."""
    @property
    def name(self) -> str:
        """What it is called."""
    @property
    def remarks(self) -> list[str]:
        """What was assumed for a file of another tool, or left out of it."""
    @property
    def hosts(self) -> list[str]:
        """Names of hosts."""
    @property
    def switches(self) -> list[str]:
        """Names of switches."""
    @property
    def links(self) -> Table:
        """Links, one row for each direction: rate, propagation, queues."""
    @property
    def input_hash(self) -> str:
        """The hash of everything that it says."""
    def shortest_paths(self, source: str, destination: str, *, most: int = 16) -> list[list[str]]:
        """Shortest paths from a host to another, at most so many, each as names of links."""
    def to_dict(self) -> dict[str, Any]:
        """Everything that it knows."""
    def to_yaml(self) -> str:
        """A file of Wayleave with this network."""
    def picture(self) -> str | None:
        """A picture, as the text of an SVG file; ``None`` for more than 300 nodes."""
    def _repr_html_(self) -> str: ...

@final
class Contracts:
    """What is asked for. :func:`wayleave.contracts` makes them of files, rows and tables."""

    @staticmethod
    def _parse(texts: Sequence[tuple[str, str]], network: Network) -> Contracts: ...
    @staticmethod
    def _read(files: Sequence[str], network: Network) -> Contracts: ...
    @staticmethod
    def drawn(network: Network, *, scenario: int = 8, seed: int = 1, count: int = 40) -> Contracts:
        """Random contracts in a mix of Chameleon's evaluation (CoNEXT 2020, Table 2: scenarios 1 to 8)."""
    @property
    def names(self) -> list[str]:
        """Names, in their order."""
    def __len__(self) -> int: ...

@final
class Plan:
    """Decisions about contracts, one after another, with bounds, routes and reasons."""

    @property
    def table(self) -> Table:
        """One row for each request: decision, bound, route or reason."""
    @property
    def queues(self) -> Table:
        """One row for each queue of each link: what is reserved there, the delay and the backlog that it can reach."""
    @property
    def admitted(self) -> list[str]:
        """Names of the contracts that are admitted, in their order."""
    @property
    def refused(self) -> dict[str, str]:
        """What is refused, with the reason of each as a sentence."""
    @property
    def findings(self) -> list[Problem]:
        """What can be said against requests whatever else is admitted, each with its place."""
    @property
    def warnings(self) -> list[str]:
        """What its scheme had to say before it decided; :func:`wayleave.plan` has warned of it."""
    @property
    def scheme(self) -> str:
        """The scheme that decided; ``python:Class`` for one of your own."""
    def verify(
        self,
        *,
        effort: Literal["quick", "usual", "long"] = "usual",
        seed: int = 1,
        flow: str | None = None,
        progress: Callable[[float, float, str], object] | None = None,
    ) -> Verified:
        """Puts every promise to the test: the worst traffic that the contracts allow, packet by packet."""
    def recheck(self) -> list[str] | None:
        """Derives every promise again with the independent calculator: what is not as it was said; ``None`` for schemes without queues."""
    def to_dict(self) -> dict[str, Any]:
        """What ``wayleave plan -o json`` prints."""
    def to_json(self) -> str:
        """The same as a text: ``wayleave verify --plan`` reads it."""
    def picture(self) -> str | None:
        """The bound of every contract over its deadline, as the text of an SVG file."""
    def __len__(self) -> int: ...
    def _repr_html_(self) -> str: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Explanation:
    """Why one contract is admitted, term by term, or refused, with what would fit."""

    @property
    def is_admitted(self) -> bool:
        """Whether it is admitted."""
    @property
    def finding(self) -> str | None:
        """What can be said against it whatever else is admitted, at its place in the file."""
    def to_dict(self) -> dict[str, Any]:
        """What ``wayleave explain -o json`` prints."""
    def _repr_html_(self) -> str: ...

@final
class Verified:
    """The worst that packets met of every promise."""

    @property
    def table(self) -> Table:
        """One row for each promise about latency: its bound, the slowest packet, what is left of the bound."""
    @property
    def is_sound(self) -> bool:
        """`True` if no test broke a promise, of latency or of the other kinds. The text counts untested promises."""
    @property
    def violations(self) -> list[str]:
        """What did not hold, each in a sentence."""
    def to_dict(self) -> dict[str, Any]:
        """What ``wayleave verify -o json`` prints."""
    def picture(self) -> str | None:
        """The slowest packet of every contract over its bound, as the text of an SVG file."""
    def _repr_html_(self) -> str: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Run:
    """One run of the packet simulator."""

    @property
    def table(self) -> Table:
        """One row for each kind of traffic: what was sent, lost and marked, delays and completion times."""
    @property
    def flows(self) -> Table:
        """Flows that are there for the whole run."""
    @property
    def queues(self) -> Table:
        """Every queue that something passed."""
    @property
    def links(self) -> Table:
        """Every link."""
    @property
    def is_complete(self) -> bool:
        """Whether it came to its end."""
    @property
    def seed(self) -> int:
        """Of its random numbers."""
    def to_dict(self) -> dict[str, Any]:
        """What ``wayleave sim -o json`` prints of it."""
    def pictures(self) -> list[str]:
        """Distributions and what was recorded over time, each as the text of an SVG file."""
    def _repr_html_(self) -> str: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Figure:
    """A figure of a publication, measured again."""

    @property
    def table(self) -> Table:
        """One row for each point of each series: mean, confidence interval, percentiles."""
    @property
    def statements(self) -> Table:
        """What the publication's text says, beside what was measured."""
    @property
    def title(self) -> str:
        """What it is called, in words."""
    def to_dict(self) -> dict[str, Any]:
        """The figure's document, as ``wayleave reproduce -o json`` prints it."""
    def picture(self) -> str:
        """The figure with its panels, tables and settings, as the text of an SVG file."""
    def _repr_html_(self) -> str: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Analysis:
    """Bounds of flows and servers, one analysis beside the other."""

    @property
    def table(self) -> Table:
        """One row for each flow and path: the bound of each analysis in ns, rounded up, and which of them is tightest."""
    @property
    def servers(self) -> Table:
        """One row for each server: delay and backlog by total flow analysis."""
    @property
    def notes(self) -> list[str]:
        """What a reader has to know about some of the bounds."""
    def to_dict(self) -> dict[str, Any]:
        """What ``wayleave analyze -o json`` prints, with every bound exactly."""
    def _repr_html_(self) -> str: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Request:
    """What a scheme of your own is asked: a token bucket in bytes on the wire, with a deadline."""

    @property
    def source(self) -> str:
        """The sending host."""
    @property
    def destination(self) -> str:
        """The receiving host."""
    @property
    def rate_bps(self) -> int:
        """Long-term rate, in bit/s."""
    @property
    def burst_bytes(self) -> int:
        """Burst, in bytes."""
    @property
    def deadline_ns(self) -> int:
        """No packet may take longer, in ns."""

@final
class Admit:
    """An answer of a scheme of your own: the contract is admitted.

    ``route`` has names of links, or pairs of a link and a queue (0 is the highest, and taken where none is named). No packet takes longer than
    ``bound_ns``: nothing proves that, and :meth:`Plan.verify` tests it.
    """

    def __new__(cls, route: Sequence[str | tuple[str, int]], bound_ns: int) -> Admit: ...

@final
class Refuse:
    """An answer of a scheme of your own: the contract is refused, for a reason in one clause."""

    def __new__(
        cls,
        why: str,
        reason: Literal["NO_PATH", "RATE", "LATENCY", "BUFFER", "QUOTA", "POLICY"] = "POLICY",
    ) -> Refuse: ...

@final
class FlowStart:
    """What a transport of your own knows of a flow when it begins; amounts are bytes of payload."""

    @property
    def segment(self) -> int:
        """Payload of a full packet."""
    @property
    def initial_window(self) -> int:
        """How much may be sent before the first acknowledgement."""
    @property
    def max_window(self) -> int:
        """No window is larger."""
    @property
    def size(self) -> int | None:
        """How much will be sent, if that is known."""
    @property
    def deadline_ns(self) -> int | None:
        """How long it has until it has to be complete, if it has a deadline."""
    @property
    def weight(self) -> int:
        """Its share beside other flows; 1 is usual."""

@final
class Ack:
    """An acknowledgement that told the sender something new; amounts are bytes of payload."""

    @property
    def newly(self) -> int:
        """Newly acknowledged."""
    @property
    def marked(self) -> int:
        """Of these, arrived with a congestion mark."""
    @property
    def acknowledged(self) -> int:
        """Acknowledged in order since the flow began."""
    @property
    def sent(self) -> int:
        """The highest byte that was ever sent."""
    @property
    def in_flight(self) -> int:
        """In flight now."""
    @property
    def remaining(self) -> int | None:
        """Left to send or to be acknowledged, if the size is known."""
    @property
    def round_trip_ns(self) -> int | None:
        """Of the packet that caused it; ``None`` if it was sent twice."""
    @property
    def is_window_limited(self) -> bool:
        """Whether the window holds the sender back, not the application."""
    @property
    def is_recovering(self) -> bool:
        """Whether retransmissions of a loss are under way."""

@final
class Loss:
    """A loss that a transport of your own hears of."""

    @property
    def kind(self) -> Literal["fast", "timeout"]:
        """``fast`` (by later acknowledgements) or ``timeout``."""
    @property
    def in_flight(self) -> int:
        """In flight when it was found, in bytes of payload."""

@final
class _Batch:
    def __new__(
        cls,
        text: str,
        name: str,
        texts: Mapping[str, str] = ...,
        vary: Sequence[tuple[str, str]] = ...,
        seeds: Sequence[int] = ...,
        is_file: bool = ...,
    ) -> _Batch: ...
    @property
    def texts(self) -> list[tuple[str, str]]: ...
    @property
    def input_hash(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def titles(self) -> list[str]: ...
    def run(self, index: int) -> str: ...
    def __len__(self) -> int: ...

@final
class _Sweep:
    @property
    def table(self) -> Table: ...
    @property
    def missing(self) -> list[int]: ...
    @property
    def failed(self) -> list[tuple[int, str]]: ...
    @property
    def complete(self) -> int: ...
    @property
    def report(self) -> os.PathLike[str] | None: ...
    def keep(self, index: int, text: str) -> None: ...
    def finish(self) -> None: ...
    def check(self) -> None: ...
    def to_dict(self) -> dict[str, Any]: ...
    def pictures(self) -> list[str]: ...
    def _repr_html_(self) -> str: ...

def figures_known() -> Table: ...
def _network_of(text: str, name: str) -> Network: ...
def _plan(
    network: Network,
    contracts: Contracts,
    *,
    scheme: Scheme | str | None = None,
    settings: Sequence[tuple[str, str]] = ...,
    model: Literal["default", "published"] = "default",
    progress: Callable[[float, float, str], object] | None = None,
) -> Plan: ...
def _explain(
    network: Network,
    contracts: Contracts,
    name: str,
    *,
    scheme: Scheme | str | None = None,
    settings: Sequence[tuple[str, str]] = ...,
    model: Literal["default", "published"] = "default",
    progress: Callable[[float, float, str], object] | None = None,
) -> Explanation: ...
def _simulate(
    batch: _Batch,
    *,
    seed: int | None = None,
    transport: Transport | None = None,
    progress: Callable[[float, float, str], object] | None = None,
) -> Run: ...
def _begin(batch: _Batch, *, folder: str | os.PathLike[str] | None = None, resume: bool = False) -> _Sweep: ...
def _sweep(
    batch: _Batch,
    *,
    folder: str | os.PathLike[str] | None = None,
    resume: bool = False,
    threads: int | None = None,
    progress: Callable[[float, float, str], object] | None = None,
) -> _Sweep: ...
def _reproduce(
    figure: str,
    *,
    full: bool = False,
    seeds: int | None = None,
    threads: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    resume: str | os.PathLike[str] | None = None,
    progress: Callable[[float, float, str], object] | None = None,
) -> Figure: ...
def _analyze(
    subject: Plan | tuple[str, str],
    *,
    analyses: Sequence[str],
    flows: Sequence[str] = ...,
    progress: Callable[[float, float, str], object] | None = None,
) -> Analysis: ...
