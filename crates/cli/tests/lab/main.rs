//! `wayleave lab`, as a person uses it: a whole network on this machine, with a controller and agents that are the real programs.
//!
//! A binary of its own, so that nothing else keeps the processors busy while packets are measured.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

#[path = "../common/mod.rs"]
mod common;
mod contracts;
#[path = "../../../linux/lab/tests/lab/guards.rs"]
mod guards;
mod services;
mod sharing;
mod switches;

use std::net::{SocketAddr, UdpSocket};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use serde_json::Value;
use wayleave_dataplane::net::{Namespace, ToolBatch};
use wayleave_dataplane::programs;
use wayleave_lab::traffic::{ArrivalCounts, LabFlow, LabLoad, RunningTraffic};
use wayleave_lab::{LabName, Labs};
use wayleave_repo_checks::{require_program, unless};

use common::{Lab, text, wayleave};
use guards::{alone, among_others, in_time};

fn main() -> std::process::ExitCode {
    wayleave_repo_checks::run_tests(wayleave_repo_checks::tests![
        contracts::contracts_keep_bounds_while_moved_during_floods_only_with_rules,
        contracts::contracts_of_every_kind_hold_on_one_network,
        services::loko_keeps_guarantees_on_a_measured_switch_that_silo_breaks,
        services::a_bridge_is_measured_with_the_table_of_each_case,
        services::a_switch_as_fast_as_its_ports_has_no_service_to_measure,
        sharing::two_tenants_share_a_port_by_their_promises,
        sharing::a_rack_broker_limits_a_tenant_while_it_sends_messages,
        switches::a_bridge_without_rules_is_repaired_and_a_stopped_one_enforces_nothing,
        switches::dropped_packets_are_located_behind_a_named_switch,
        switches::probes_are_observed_along_their_route_and_losses_located,
    ])
}

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples");
const CONTRACTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/lab-contracts.yaml");

impl Lab {
    fn run(&self, options: &str) -> (Option<i32>, Value) {
        self.run_of(CONTRACTS, options)
    }

    fn run_of(&self, contracts: &str, options: &str) -> (Option<i32>, Value) {
        let run = wayleave(&format!("lab run -f {contracts} --name {} {options} -o json", self.0));
        let seen = serde_json::from_slice(&run.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}{}", text(&run.stdout), text(&run.stderr)));
        (run.status.code(), seen)
    }
}

/// Returns a line for each contract and each action: a whole report is longer than the part that people read of a failing test.
fn in_short(seen: &Value) -> String {
    let line = |one: &Value, names: &[&str]| {
        let words: Vec<String> = names.iter().map(|&name| format!("{name} {}", one[name])).collect();
        words.join(", ") + "\n"
    };
    let of = |list: &str, names: &[&str]| -> String {
        seen[list].as_array().into_iter().flatten().map(|one| line(one, names)).collect()
    };
    let counts = [
        "id",
        "state",
        "sent",
        "received",
        "shaped",
        "lost",
        "late",
        "lateInStalls",
        "lateUnpromised",
        "duplicates",
        "result",
    ];
    let actions = ["action", "what", "moved", "stopped", "degraded", "tookNs", "failed"];
    let whole = line(seen, &["violations", "moves", "refused", "silent", "unknown", "exited", "stalls"]);
    format!("\n{whole}{}{}", of("contracts", &counts), of("actions", &actions))
}

/// The claims that do not hold, with everything that was seen.
fn wrong<const N: usize>(claims: [(bool, &str); N], seen: &Value) -> Vec<String> {
    claims.into_iter().filter_map(|(holds, claim)| unless(holds, || format!("{claim}: {}", in_short(seen)))).collect()
}

/// The sum of a count over all contracts.
fn sum(seen: &Value, count: &str) -> u64 {
    seen["contracts"].as_array().unwrap().iter().map(|one| one[count].as_u64().unwrap()).sum()
}
