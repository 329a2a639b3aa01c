//! Malicious or faulty clients: independently of their requests, others are served as before. Each attack once
//! crashed the server, slowed it for all clients, or let one tenant see another's objects. `make attack-server` runs
//! them for longer (`WAYLEAVE_ATTACK`, times as long).

mod connections;
mod lists;
mod memory;
mod reads;
mod tenants;

use std::sync::Arc;

use serde_json::json;
use wayleave_controller::EnforcedBy;
use wayleave_server::disk::Memory;
use wayleave_server::{LoadClock, ServerLimits};
use wayleave_units::WallTime;

use crate::common::{Client, World, options};
use wayleave_repo_checks::TempFolder;

/// Factor of the usual duration.
fn times() -> usize {
    std::env::var("WAYLEAVE_ATTACK").ok().and_then(|text| text.parse().ok()).unwrap_or(1)
}

/// A server with these limits.
fn world(limits: ServerLimits) -> World {
    let scratch = Arc::new(TempFolder::new("server"));
    let mut options = options(Box::new(Memory::default()), &scratch, EnforcedBy::Nobody);
    options.limits = limits;
    // The clock is stopped: histories and statements end at the present minute.
    options.load_clock = LoadClock::Caller(Some(WallTime::from_nanos(1_800_000_000_000_000_000)));
    World::of(options, scratch)
}

/// A tenant with a VM on each of two hosts, and its client.
fn tenant(world: &World, name: &str, quota: serde_json::Value) -> Client {
    world.client.put(&format!("/v1/tenants/{name}"), &json!({ "quota": quota })).is(201);
    for (vm, host) in [("a", "h1"), ("b", "h16")] {
        world.client.put(&format!("/v1/vms/{name}:{vm}"), &json!({ "placement": { "host": host } })).is(201);
    }
    world.client.token(json!({ "role": "tenant", "tenant": name }))
}

/// The value of a series.
pub(crate) fn metric(client: &Client, series: &str) -> f64 {
    let text = String::from_utf8(client.get("/metrics").is(200).body).unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ').map(str::to_owned));
    line.map_or(0.0, |value| value.parse().unwrap())
}
