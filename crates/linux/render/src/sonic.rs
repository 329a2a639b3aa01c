//! SONiC: tables of `config_db.json`, as `sonic-buildimage` describes them in `src/sonic-yang-models/yang-models` (sonic-scheduler, sonic-queue,
//! sonic-wred-profile, sonic-dscp-tc-map, sonic-tc-queue-map, sonic-buffer-queue). Values are strings.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use wayleave_dataplane::net::PortQdisc;
use wayleave_dataplane::switch::PortPlan;
use wayleave_topology::{Class, Network};

use crate::codepoints::CONTROL;
use crate::{ControlQueue, RenderError, Settings, Switch};

/// Prefix of all names, by which a comparison recognizes our entries.
pub(crate) const PREFIX: &str = "wayleave";
/// The codepoints that there are.
const CODEPOINTS: u8 = 64;
/// Traffic classes and queues of a port (sonic-tc-queue-map, sonic-queue): 0 to 7 for unicast on most devices.
const QUEUES: usize = 8;
/// Size of the queue of routing protocols, in frames. They send a few at once, and a neighbour that is silent for
/// some seconds counts as failed (RFC 4271, section 4.4; RFC 2328, section C.3), so this is ample; a choice.
const CONTROL_FRAMES: u64 = 16;
/// Ethernet's header and check sequence, and a tag.
const AROUND: u64 = 22;

/// A queue of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    /// That of the topology with this number, 0 the highest.
    Of(usize),
    /// Routing protocols.
    Control,
}

/// Queues of a port with this number of them, the highest priority first. Routing protocols come after all contracts about latency: there they delay these by no more than the
/// frame that is being sent, which is counted anyway, and no load of other classes keeps them from being sent.
fn queues(network: &Network, of: usize, control: ControlQueue) -> Vec<Queue> {
    let latency = network.classes().map_or(of.saturating_sub(1).max(1), |classes| usize::from(classes.latency).min(of));
    let mut all: Vec<Queue> = (0..of).map(Queue::Of).collect();
    if control == ControlQueue::Own {
        all.insert(latency, Queue::Control);
    }
    all
}

/// The tables of one switch.
///
/// # Errors
/// If a port has no queue left for routing protocols.
pub(crate) fn tables(network: &Network, switch: &Switch, settings: &Settings) -> Result<String, RenderError> {
    let ports = || {
        let with_queues = switch.plan.ports.iter().filter_map(|port| Some((port, port.egress.as_ref()?)));
        with_queues.map(|(port, egress)| (port, egress, queues(network, egress.queues.len(), settings.control)))
    };
    if let Some((port, egress, _)) = ports().find(|(_, _, queues)| queues.len() > QUEUES) {
        let (switch, interface) = (switch.plan.name.clone(), port.interface.clone());
        return Err(RenderError::NoControl { switch, interface, has: egress.queues.len() });
    }
    let size_of = |queue: Queue, port: &PortPlan, egress: &PortQdisc| match queue {
        Queue::Of(queue) => egress.queues.get(queue).map_or(0, |buffer| buffer.get()),
        Queue::Control => CONTROL_FRAMES * (port.mtu.get() + AROUND),
    };
    let all = ports().map(|(_, _, queues)| queues).max_by_key(Vec::len).unwrap_or_default();
    let most = all.len();
    // Our queue 0 is the highest, and so is SONiC's last. Traffic classes are numbered as the queues of the port with the most; a port with fewer
    // has the rest in its lowest.
    let index = |queue: usize, of: usize| of.saturating_sub(1 + queue.min(of.saturating_sub(1)));
    let map_of = |queues: usize| format!("{PREFIX}-{queues}");
    let class = |queue: Queue| match queue {
        Queue::Of(queue) => network.classes().map_or(Class::Latency, |classes| classes.class_of(queue as u8)),
        Queue::Control => Class::Latency,
    };
    let scheduler = |queue: Queue| match class(queue) {
        Class::Latency => format!("{PREFIX}-strict"),
        class => format!("{PREFIX}-{}", slug(class)),
    };
    // Position of a queue of the port with the most among those of another one, which has the rest in its lowest.
    let place = |queue: Queue, queues: &[Queue]| {
        queues.iter().position(|one| *one == queue).unwrap_or(queues.len().saturating_sub(1))
    };

    let mut tables = Map::new();
    let mut set = |table: &str, key: &str, value: Value| {
        let table = tables.entry(table).or_insert_with(|| json!({}));
        if let Value::Object(entries) = table {
            entries.insert(key.to_owned(), value);
        }
    };
    let lowest = most.saturating_sub(1);
    let to_class = |dscp: u8| match switch.queues.get(&dscp) {
        _ if CONTROL.contains(&dscp) && settings.control == ControlQueue::Own => place(Queue::Control, &all),
        Some(&queue) => place(Queue::Of(usize::from(queue)), &all),
        None => lowest,
    };
    let codepoints: Map<String, Value> =
        (0..CODEPOINTS).map(|dscp| (dscp.to_string(), json!(index(to_class(dscp), most).to_string()))).collect();
    set("DSCP_TO_TC_MAP", PREFIX, Value::Object(codepoints));
    let kinds: BTreeMap<usize, Vec<Queue>> = ports().map(|(_, _, queues)| (queues.len(), queues)).collect();
    for (of, queues) in kinds {
        let entry = |(at, &queue): (usize, &Queue)| {
            (index(at, most).to_string(), json!(index(place(queue, &queues), of).to_string()))
        };
        set("TC_TO_QUEUE_MAP", &map_of(of), Value::Object(all.iter().enumerate().map(entry).collect()));
    }
    set("SCHEDULER", &format!("{PREFIX}-strict"), json!({ "type": "STRICT" }));
    if let Some(classes) = network.classes() {
        for class in Class::SHARING {
            let weight = classes.weight(class).to_string();
            set("SCHEDULER", &format!("{PREFIX}-{}", slug(class)), json!({ "type": "DWRR", "weight": weight }));
        }
    }
    if let Some(from) = settings.marks_from {
        let from = from.get().to_string();
        set(
            "WRED_PROFILE",
            &format!("{PREFIX}-ecn"),
            json!({
                "wred_green_enable": "true", "ecn": "ecn_green", "green_min_threshold": from, "green_max_threshold": from,
                "green_drop_probability": "100"
            }),
        );
    }
    let sizes =
        ports().flat_map(|(port, egress, queues)| queues.into_iter().map(move |queue| size_of(queue, port, egress)));
    let sizes: Vec<u64> = sizes.collect();
    let reserved: u64 = sizes.iter().sum();
    set(
        "BUFFER_POOL",
        &format!("{PREFIX}-pool"),
        json!({ "type": "egress", "mode": "static", "size": reserved.to_string() }),
    );
    for size in sizes.into_iter().collect::<BTreeSet<u64>>() {
        // The whole pool is reserved, so nothing is left to share. A threshold of 0 would let a queue take the whole
        // pool, so the threshold is the size of the queue.
        let profile =
            json!({ "pool": format!("{PREFIX}-pool"), "size": size.to_string(), "static_th": size.to_string() });
        set("BUFFER_PROFILE", &format!("{PREFIX}-{size}"), profile);
    }
    for (port, egress, queues) in ports() {
        let (name, of) = (&port.interface, queues.len());
        set("PORT_QOS_MAP", name, json!({ "dscp_to_tc_map": PREFIX, "tc_to_queue_map": map_of(of) }));
        for (at, &queue) in queues.iter().enumerate() {
            let key = format!("{name}|{}", index(at, of));
            let mut entry = json!({ "scheduler": scheduler(queue) });
            if settings.marks_from.is_some() && class(queue) != Class::Latency {
                entry["wred_profile"] = json!(format!("{PREFIX}-ecn"));
            }
            set("QUEUE", &key, entry);
            set("BUFFER_QUEUE", &key, json!({ "profile": format!("{PREFIX}-{}", size_of(queue, port, egress)) }));
        }
    }
    let mut text = format!("{:#}", Value::Object(tables));
    text.push('\n');
    Ok(text)
}

/// A class in a name: letters and hyphens, at most 32 characters with the prefix.
const fn slug(class: Class) -> &'static str {
    match class {
        Class::Latency => "latency",
        Class::Guaranteed => "guaranteed",
        Class::Objective => "objective",
        Class::BestEffort => "best-effort",
    }
}
