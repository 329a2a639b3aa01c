//! The rows of Table 5 as the paper prints them (its appendix).

/// Tick: a system has a feature or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tick {
    /// A tick.
    Yes,
    /// A cross.
    No,
    /// A filled circle, which the paper does not explain.
    Partly,
}

impl Tick {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Partly => "partly",
        }
    }

    pub(super) const fn of(is_so: bool) -> Self {
        if is_so { Self::Yes } else { Self::No }
    }
}

use Tick::{No, Partly, Yes};

/// One row: guarantees of packet latency, bandwidth and burst, work conservation; what switches have to offer.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) ticks: [Tick; 4],
    pub(super) switches: &'static str,
}

const fn row(name: &'static str, ticks: [Tick; 4], switches: &'static str) -> Row {
    Row { name, ticks, switches }
}

/// Bandwidth and work conservation, by several mechanisms; latency and bursts never.
const BANDWIDTH: [Tick; 4] = [No, Yes, No, No];
const CONSERVING: [Tick; 4] = [No, No, No, Yes];
const BOTH: [Tick; 4] = [No, Yes, No, Yes];
const LATENCY: [Tick; 4] = [Yes, Yes, Yes, No];

/// All of them.
pub(super) const ROWS: &[Row] = &[
    row("SecondNet", BANDWIDTH, "PQ, MPLS"),
    row("Oktopus", BANDWIDTH, "PQ"),
    row("Seawall", CONSERVING, "-"),
    row("Gatekeeper", BOTH, "-"),
    row("Proteus", [No, Yes, No, Partly], "-"),
    row("NetShare", CONSERVING, "WFQ"),
    row("FairCloud PS-L/PS-N", CONSERVING, "WFQ"),
    row("FairCloud PS-P", BOTH, "WFQ"),
    row("EyeQ", BOTH, "ECN"),
    row("ElasticSwitch", BOTH, "-"),
    row("Hadrian", BOTH, "Custom protocol"),
    row("Trinity", BOTH, "PQ, ECN"),
    row("HUG", BOTH, "-"),
    row("eBA", BOTH, "Custom protocol"),
    row("QShare", BOTH, "WFQ"),
    row("DCTCP", CONSERVING, "ECN"),
    row("D3", CONSERVING, "Custom protocol"),
    row("PDQ", CONSERVING, "Custom protocol"),
    row("D2TCP", CONSERVING, "ECN"),
    row("HULL", CONSERVING, "Custom feature"),
    row("DeTail", CONSERVING, "Custom protocol"),
    row("pFabric", CONSERVING, "Custom protocol"),
    row("NDP", CONSERVING, "Custom protocol"),
    row("Homa", CONSERVING, "PQ"),
    row("HPCC", CONSERVING, "Custom protocol"),
    row("Swift", CONSERVING, "-"),
    row("TDMA Ethernet", LATENCY, "-"),
    row("Fastpass", LATENCY, "-"),
    row("LaaS", LATENCY, "-"),
    row("Loko", LATENCY, "OS-free software processing"),
    row("QJump", [Yes, Yes, No, No], "-"),
    row("Silo", LATENCY, "-"),
    row("Chameleon", LATENCY, "PQ, VLAN/MPLS or similar"),
];
