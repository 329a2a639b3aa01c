//! Workloads: packets, flows that arrive, or a list of flows.

use wayleave_scenarios::{
    DependentFlows, FlowArrivals, FlowSizes, FlowSpec, OnOff, Onward, PacketKind, Reliable, Rpc, RpcServer,
    SendSchedule, StartPhase, TransportConfig, WIRE_OVERHEAD, Workload,
};
use wayleave_units::{Bytes, Rate, Time};

use super::ends::read_host;
use super::files::Files;
use super::network::Numbered;
use super::scalars::{at_most_one, exactly_one, number, queue, refuse_beside, small, unknown_word};
use super::{deadline, sizes, transport};
use crate::fields::{Fields, Shape};
use crate::hpcc::read_hpcc_flows;
use crate::htsim::read_htsim_flows;
use crate::problem::{ProblemKind, Problems};
use crate::tree::{Node, Value};

pub(crate) const TOKEN_BUCKET: Shape = Shape { what: "a token bucket", keys: &["rate", "burst", "phase"] };
pub(crate) const CONSTANT_RATE: Shape = Shape { what: "a constant rate with jitter", keys: &["rate", "jitter"] };
pub(crate) const SEND_SCHEDULE: Shape = Shape { what: "a send schedule", keys: &["write", "every"] };
pub(crate) const ON_OFF: Shape = Shape { what: "an on-off source", keys: &["rate", "on", "off"] };
pub(crate) const RPC: Shape =
    Shape { what: "RPC", keys: &["outstanding", "answer", "thinkTime", "servers", "chain", "fanOut"] };
pub(crate) const UNIFORM: Shape = Shape { what: "uniform gaps", keys: &["mean", "connections"] };
pub(crate) const AFTER: Shape = Shape { what: "a follow-up flow", keys: &["traffic", "to", "fanOut"] };
pub(crate) const LISTED_FLOW: Shape = Shape { what: "a flow", keys: &["at", "from", "to", "size", "queue"] };
pub(crate) const IMPORT: Shape = Shape { what: "a list of flows", keys: &["hpcc", "htsim"] };

/// Type of a traffic, by its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WorkloadKind {
    TokenBucket,
    ConstantRate,
    OnOff,
    Poisson,
    /// One flow a pair: no key gives a time.
    Once,
    Load,
    PerSecond,
    Every,
    Uniform,
    Periodic,
    After,
    Rpc,
    Listed,
    Job,
}

const KEYS: [(&str, WorkloadKind); 13] = [
    ("tokenBucket", WorkloadKind::TokenBucket),
    ("constantRate", WorkloadKind::ConstantRate),
    ("onOff", WorkloadKind::OnOff),
    ("poisson", WorkloadKind::Poisson),
    ("load", WorkloadKind::Load),
    ("perSecond", WorkloadKind::PerSecond),
    ("every", WorkloadKind::Every),
    ("uniform", WorkloadKind::Uniform),
    ("periodic", WorkloadKind::Periodic),
    ("after", WorkloadKind::After),
    ("rpc", WorkloadKind::Rpc),
    ("flows", WorkloadKind::Listed),
    ("job", WorkloadKind::Job),
];

/// Finds out what a traffic is.
pub(super) fn what(fields: &Fields<'_, '_>, problems: &mut Problems<'_>) -> Option<WorkloadKind> {
    let keys = KEYS.map(|(key, _)| key);
    match at_most_one(fields, "a traffic source", &keys, problems)? {
        Some((key, _)) => KEYS.iter().find(|(known, _)| *known == key).map(|(_, what)| *what),
        None if fields.get("sizes").is_some() => Some(WorkloadKind::Once),
        None => {
            problems.report(ProblemKind::MissingKey, fields.at, || {
                let hint = format!("one of {}; sizes alone are one flow for each pair", keys.join(", "));
                ("it does not define what is sent", hint)
            });
            None
        }
    }
}

/// Reads the workload.
pub(super) fn read(
    what: WorkloadKind,
    fields: &Fields<'_, '_>,
    numbered: &Numbered,
    usual: &TransportConfig,
    files: &mut Files<'_>,
    problems: &mut Problems<'_>,
) -> Option<Workload> {
    match what {
        WorkloadKind::TokenBucket | WorkloadKind::ConstantRate | WorkloadKind::OnOff | WorkloadKind::Poisson => {
            let keys = ["sizes", "deadline", "sendSchedule", "transport"];
            refuse_beside(fields, &keys, "packets without acknowledgements", problems);
            read_packets(what, fields, problems)
        }
        WorkloadKind::Listed => {
            let keys = ["sizes", "deadline", "sendSchedule", "active", "frame", "from", "to", "pairs"];
            refuse_beside(fields, &keys, "a list of flows", problems);
            let flows = read_list(fields.get("flows")?, numbered, files, problems);
            let transport = own_transport(fields, usual, problems);
            Some(Workload::Listed { flows: flows?, transport: transport? })
        }
        _ => {
            refuse_beside(fields, &["frame"], "flows: their transport sets the packet size", problems);
            read_flows(what, fields, usual, files, problems).map(Workload::Flows)
        }
    }
}

/// Returns `Some(None)` if a traffic has no transport of its own.
pub(super) fn own_transport(
    fields: &Fields<'_, '_>,
    usual: &TransportConfig,
    problems: &mut Problems<'_>,
) -> Option<Option<TransportConfig>> {
    let own = fields.get("transport").map(|node| transport::read(node, usual, problems));
    own.map_or(Some(None), |own| own.map(Some))
}

fn read_packets(what: WorkloadKind, fields: &Fields<'_, '_>, problems: &mut Problems<'_>) -> Option<Workload> {
    let kind = match what {
        WorkloadKind::TokenBucket => read_token_bucket(fields.get("tokenBucket")?, problems),
        WorkloadKind::OnOff => read_on_off(fields.get("onOff")?, problems),
        WorkloadKind::Poisson => fields.get("poisson")?.quantity(problems).map(|rate| PacketKind::Poisson { rate }),
        _ => read_constant_rate(fields.get("constantRate")?, problems),
    };
    let frame: Option<Option<Bytes>> = fields.get("frame").map(|node| node.quantity(problems));
    let kind = kind?;
    // A full packet, or a burst if that is smaller, as for contracts.
    let full = Bytes::new(1500) + WIRE_OVERHEAD;
    let usual = match kind {
        PacketKind::TokenBucket { burst, .. } => full.min(burst),
        _ => full,
    };
    Some(Workload::Packets { kind, frame: frame.unwrap_or(Some(usual))? })
}

fn read_token_bucket(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<PacketKind> {
    let fields = Fields::read(node, &TOKEN_BUCKET, problems)?;
    fields.require_all(["rate", "burst"], problems);
    let rate: Option<Rate> = fields.get("rate").and_then(|node| node.quantity(problems));
    let burst: Option<Bytes> = fields.get("burst").and_then(|node| node.quantity(problems));
    let phase = fields.get("phase").map_or(Some(StartPhase::Together), |node| match node.expect_text(problems)? {
        "together" => Some(StartPhase::Together),
        "colliding" => Some(StartPhase::Colliding),
        "random" => Some(StartPhase::Random),
        other => {
            unknown_word(node, "phase", other, &["together", "colliding", "random"], problems);
            None
        }
    });
    Some(PacketKind::TokenBucket { rate: rate?, burst: burst?, phase: phase? })
}

/// A rate, or one with jitter.
fn read_constant_rate(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<PacketKind> {
    let Value::Mapping(_) = node.value else {
        return node.quantity(problems).map(|rate| PacketKind::ConstantRate { rate });
    };
    let fields = Fields::read(node, &CONSTANT_RATE, problems)?;
    fields.require_all(["rate", "jitter"], problems);
    let rate = fields.get("rate").and_then(|node| node.quantity(problems));
    let jitter = fields.get("jitter").and_then(|node| node.quantity(problems));
    Some(PacketKind::Jittered { rate: rate?, jitter: jitter? })
}

fn read_on_off(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<PacketKind> {
    let fields = Fields::read(node, &ON_OFF, problems)?;
    fields.require_all(["rate", "on", "off"], problems);
    let rate = fields.get("rate").and_then(|node| node.quantity(problems));
    let on = fields.get("on").and_then(|node| node.quantity(problems));
    let off = fields.get("off").and_then(|node| node.quantity(problems));
    Some(PacketKind::OnOff(OnOff { rate: rate?, on: on?, off: off? }))
}

fn read_flows(
    what: WorkloadKind,
    fields: &Fields<'_, '_>,
    usual: &TransportConfig,
    files: &mut Files<'_>,
    problems: &mut Problems<'_>,
) -> Option<Reliable> {
    let arrivals = match what {
        WorkloadKind::Load => number(fields.get("load")?, problems).map(FlowArrivals::Load),
        WorkloadKind::PerSecond => number(fields.get("perSecond")?, problems).map(FlowArrivals::PerSecond),
        WorkloadKind::Every => fields.get("every")?.quantity(problems).map(FlowArrivals::Every),
        WorkloadKind::Uniform => read_uniform(fields.get("uniform")?, problems),
        WorkloadKind::Periodic => fields.get("periodic")?.quantity(problems).map(FlowArrivals::Periodic),
        WorkloadKind::After => read_after(fields.get("after")?, problems),
        WorkloadKind::Rpc => read_rpc(fields.get("rpc")?, files, problems),
        _ => Some(FlowArrivals::Once),
    };
    // By default, flows that follow others have the size of their predecessors.
    let stated = if what == WorkloadKind::After { fields.get("sizes") } else { fields.require("sizes", problems) };
    let sizes: Option<Option<FlowSizes>> = match stated {
        None if what == WorkloadKind::After => Some(None),
        Some(node) if node.text() == Some(sizes::ENDLESS) => Some(None),
        Some(node) => sizes::read(node, files, problems).map(Some),
        None => None,
    };
    let deadline = fields.get("deadline").map(|node| deadline::read(node, problems));
    let send_schedule = fields.get("sendSchedule").map(|node| read_send_schedule(node, problems));
    let transport = own_transport(fields, usual, problems);
    Some(Reliable {
        deadline: deadline.map_or(Some(None), |deadline| deadline.map(Some))?,
        send_schedule: send_schedule.map_or(Some(None), |schedule| schedule.map(Some))?,
        transport: transport?,
        ..Reliable::new(arrivals?, sizes?)
    })
}

/// A rate, or writes.
fn read_send_schedule(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<SendSchedule> {
    let Value::Mapping(_) = node.value else {
        return node.quantity(problems).map(SendSchedule::Rate);
    };
    let fields = Fields::read(node, &SEND_SCHEDULE, problems)?;
    fields.require_all(["write", "every"], problems);
    let bytes = fields.get("write").and_then(|node| node.quantity(problems));
    let every = fields.get("every").and_then(|node| node.quantity(problems));
    Some(SendSchedule::Writes { bytes: bytes?, every: every? })
}

fn read_rpc(node: &Node<'_>, files: &mut Files<'_>, problems: &mut Problems<'_>) -> Option<FlowArrivals> {
    let fields = Fields::read(node, &RPC, problems)?;
    let answer = fields.require("answer", problems).and_then(|node| sizes::read(node, files, problems));
    let outstanding = fields.get("outstanding").map_or(Some(1), |node| small(node, problems));
    let think_time = fields.get("thinkTime").map_or(Some(Time::ZERO), |node| node.quantity(problems));
    let count = |key, problems: &mut Problems<'_>| fields.get(key).map(|node| small(node, problems));
    let (chain, fan_out) = (count("chain", problems), count("fanOut", problems));
    let server = match fields.get("servers") {
        // Several requests are for several servers.
        None if chain.is_some() || fan_out.is_some() => Some(RpcServer::Drawn),
        None => Some(RpcServer::Kept),
        Some(node) => match node.expect_text(problems)? {
            "kept" => Some(RpcServer::Kept),
            "drawn" => Some(RpcServer::Drawn),
            other => {
                unknown_word(node, "choice of servers", other, &["kept", "drawn"], problems);
                None
            }
        },
    };
    Some(FlowArrivals::Rpc(Rpc {
        outstanding: outstanding?,
        think_time: think_time?,
        server: server?,
        chain: chain.unwrap_or(Some(1))?,
        fan_out: fan_out.unwrap_or(Some(1))?,
        ..Rpc::new(answer?)
    }))
}

fn read_uniform(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<FlowArrivals> {
    let fields = Fields::read(node, &UNIFORM, problems)?;
    let mean = fields.require("mean", problems).and_then(|node| node.quantity(problems));
    let connections = fields.get("connections").map(|node| small(node, problems));
    Some(FlowArrivals::Uniform { mean: mean?, connections: connections.map_or(Some(None), |count| count.map(Some))? })
}

/// `after: WRITES`, or `after: { traffic: WRITES, fanOut: 3 }`.
fn read_after(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<FlowArrivals> {
    let after = |traffic: &str, to| FlowArrivals::After(DependentFlows { traffic: traffic.to_owned(), to });
    if let Some(traffic) = node.text() {
        return Some(after(traffic, Onward::Drawn(1)));
    }
    let fields = Fields::read(node, &AFTER, problems)?;
    let traffic = fields.require("traffic", problems).and_then(|node| node.expect_text(problems));
    let fan_out = fields.get("fanOut").map_or(Some(1), |node| small(node, problems));
    let to = match fields.text("to", problems) {
        Some("sender") => {
            refuse_beside(&fields, &["fanOut"], "one sender", problems);
            Onward::Sender
        }
        None | Some("drawn") => Onward::Drawn(fan_out?),
        Some(other) => {
            unknown_word(fields.get("to")?, "choice of receivers", other, &["drawn", "sender"], problems);
            return None;
        }
    };
    Some(after(traffic?, to))
}

fn read_list(
    node: &Node<'_>,
    numbered: &Numbered,
    files: &mut Files<'_>,
    problems: &mut Problems<'_>,
) -> Option<Vec<FlowSpec>> {
    if let Value::Mapping(_) = node.value {
        let fields = Fields::read(node, &IMPORT, problems)?;
        let numbers = numbered.numbers();
        return match exactly_one(&fields, "a list of flows", IMPORT.keys, problems)? {
            ("hpcc", file) => files.read(file, problems, |source| read_hpcc_flows(source, &numbered.network, &numbers)),
            (_, file) => files.read(file, problems, |source| read_htsim_flows(source, &numbered.network, &numbers)),
        };
    }
    let items = node.expect_list("flows", problems)?;
    let flows: Vec<Option<FlowSpec>> = items.iter().map(|item| read_flow(item, numbered, problems)).collect();
    flows.into_iter().collect()
}

fn read_flow(node: &Node<'_>, numbered: &Numbered, problems: &mut Problems<'_>) -> Option<FlowSpec> {
    let fields = Fields::read(node, &LISTED_FLOW, problems)?;
    fields.require_all(["at", "from", "to", "size"], problems);
    let network = &numbered.network;
    let start = fields.get("at").and_then(|node| node.quantity(problems));
    let from = fields.get("from").and_then(|node| read_host(node, network, problems));
    let to = fields.get("to").and_then(|node| read_host(node, network, problems));
    let size = fields.get("size").and_then(|node| node.quantity(problems));
    let queue = fields.get("queue").map(|node| queue(node, problems));
    Some(FlowSpec {
        start: start?,
        from: from?,
        to: to?,
        size: size?,
        queue: queue.map_or(Some(None), |queue| queue.map(Some))?,
    })
}
