//! SONiC: tables of `config_db.json`, as `sonic-buildimage` describes them in `src/sonic-yang-models/yang-models` (sonic-scheduler, sonic-queue,
//! sonic-wred-profile, sonic-dscp-tc-map, sonic-tc-queue-map, sonic-buffer-queue). Values are strings.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use wayleave_topology::{Class, Network};

use crate::{Settings, Switch};

/// What all names begin with, so that a comparison knows which entries are ours.
pub(crate) const PREFIX: &str = "wayleave";
/// The codepoints that there are.
const CODEPOINTS: u8 = 64;

/// The tables of one switch.
pub(crate) fn tables(network: &Network, switch: &Switch, settings: &Settings) -> String {
    let ports = || switch.plan.ports.iter().filter_map(|port| Some((port, port.egress.as_ref()?)));
    let most = ports().map(|(_, egress)| egress.queues.len()).max().unwrap_or(0);
    // Our queue 0 is the highest, and so is SONiC's last. Traffic classes are numbered as the queues of the port with the most; a port with fewer
    // has the rest in its lowest.
    let index = |queue: usize, of: usize| of.saturating_sub(1 + queue.min(of.saturating_sub(1)));
    let map_of = |queues: usize| format!("{PREFIX}-{queues}");
    let class = |queue: usize| network.classes().map_or(Class::Latency, |classes| classes.class_of(queue as u8));
    let scheduler = |queue: usize| match class(queue) {
        Class::Latency => format!("{PREFIX}-strict"),
        class => format!("{PREFIX}-{}", slug(class)),
    };

    let mut tables = Map::new();
    let mut set = |table: &str, key: &str, value: Value| {
        let table = tables.entry(table).or_insert_with(|| json!({}));
        if let Value::Object(entries) = table {
            entries.insert(key.to_owned(), value);
        }
    };
    let lowest = most.saturating_sub(1);
    let to_class = |dscp: u8| switch.queues.get(&dscp).map_or(lowest, |&queue| usize::from(queue));
    let codepoints: Map<String, Value> =
        (0..CODEPOINTS).map(|dscp| (dscp.to_string(), json!(index(to_class(dscp), most).to_string()))).collect();
    set("DSCP_TO_TC_MAP", PREFIX, Value::Object(codepoints));
    for of in ports().map(|(_, egress)| egress.queues.len()).collect::<BTreeSet<_>>() {
        let map: Map<String, Value> =
            (0..most).map(|queue| (index(queue, most).to_string(), json!(index(queue, of).to_string()))).collect();
        set("TC_TO_QUEUE_MAP", &map_of(of), Value::Object(map));
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
    let reserved: u64 = ports().flat_map(|(_, egress)| &egress.queues).map(|buffer| buffer.get()).sum();
    set(
        "BUFFER_POOL",
        &format!("{PREFIX}-pool"),
        json!({ "type": "egress", "mode": "static", "size": reserved.to_string() }),
    );
    let sizes: BTreeSet<u64> = ports().flat_map(|(_, egress)| &egress.queues).map(|buffer| buffer.get()).collect();
    for size in sizes {
        // All of the pool is reserved, so nothing is left to share; a threshold of 0 would mean that a queue may take all of it, so the threshold is what the queue has anyway.
        let profile =
            json!({ "pool": format!("{PREFIX}-pool"), "size": size.to_string(), "static_th": size.to_string() });
        set("BUFFER_PROFILE", &format!("{PREFIX}-{size}"), profile);
    }
    for (port, egress) in ports() {
        let name = &port.interface;
        let of = egress.queues.len();
        set("PORT_QOS_MAP", name, json!({ "dscp_to_tc_map": PREFIX, "tc_to_queue_map": map_of(of) }));
        for (queue, buffer) in egress.queues.iter().enumerate() {
            let key = format!("{name}|{}", index(queue, of));
            let mut entry = json!({ "scheduler": scheduler(queue) });
            if settings.marks_from.is_some() && class(queue) != Class::Latency {
                entry["wred_profile"] = json!(format!("{PREFIX}-ecn"));
            }
            set("QUEUE", &key, entry);
            set("BUFFER_QUEUE", &key, json!({ "profile": format!("{PREFIX}-{}", buffer.get()) }));
        }
    }
    let mut text = format!("{:#}", Value::Object(tables));
    text.push('\n');
    text
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
