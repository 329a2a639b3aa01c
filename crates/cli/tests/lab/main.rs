//! `wayleave lab`, as a person uses it: a whole network on this machine, with a controller and agents that are the real programs.
//!
//! A binary of its own, so that nothing else keeps the processors busy while packets are measured.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod contracts;
mod services;
mod sharing;
mod switches;

use std::net::{SocketAddr, UdpSocket};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use std::thread::{JoinHandle, sleep};
use std::time::{Duration, Instant};

use serde_json::Value;
use wayleave_dataplane::net::{Batch, Namespace};
use wayleave_dataplane::programs;
use wayleave_lab::traffic::{Arrived, FlowSpec, Load, Traffic};
use wayleave_lab::{LabName, Labs, Sentinel};
use wayleave_repo_checks::{left_out, unless};

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples");
const CONTRACTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/lab-contracts.yaml");

fn wayleave(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wayleave"));
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("WAYLEAVE_")) {
        command.env_remove(name);
    }
    command.args(arguments.split(' ')).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Whether labs can be made here; says what was left out if not.
fn is_able() -> bool {
    let doctor: Value = serde_json::from_slice(&wayleave("doctor -o json").stdout).unwrap();
    let checks = doctor["checks"].as_array().unwrap().iter();
    for one in checks.filter(|one| one["isRequired"] == true && one["state"] == "missing") {
        let said = |field: &str| one[field].as_str().unwrap_or_default().to_owned();
        left_out(&said("name"), format_args!("labs cannot be made here: {}; {}", said("detail"), said("remedy")));
    }
    doctor["canRun"] == true
}

/// Whether Open vSwitch is installed; says what was left out if not.
fn has_ovs() -> bool {
    let is_there = Command::new("ovs-vsctl").arg("--version").output().is_ok();
    if !is_there {
        left_out("ovs", "it needs Open vSwitch (openvswitch-switch)");
    }
    is_there
}

/// A lab that is gone in the end, also by a panic.
struct Lab(String);

impl Lab {
    fn up(topology: &str) -> Self {
        static LABS: AtomicU32 = AtomicU32::new(0);
        let lab = Self(format!("c{}n{}", std::process::id(), LABS.fetch_add(1, Relaxed)));
        let up = wayleave(&format!("lab up -f {topology} --name {}", lab.0));
        assert!(up.status.success(), "{}", text(&up.stderr));
        lab
    }

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

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = wayleave(&format!("lab down --name {}", self.0));
    }
}

/// A line for each contract and each deed: a whole report is longer than what people read of a failing test.
fn in_short(seen: &Value) -> String {
    let line = |one: &Value, names: &[&str]| {
        let words: Vec<String> = names.iter().map(|&name| format!("{name} {}", one[name])).collect();
        words.join(", ") + "\n"
    };
    let of = |list: &str, names: &[&str]| -> String {
        seen[list].as_array().into_iter().flatten().map(|one| line(one, names)).collect()
    };
    let counts =
        ["id", "state", "sent", "received", "shaped", "lost", "late", "lateInStalls", "lateUnpromised", "duplicates"];
    let deeds = ["deed", "what", "moved", "stopped", "degraded", "tookNs", "failed"];
    let whole = line(seen, &["violations", "moves", "refused", "silent", "stalls"]);
    format!("\n{whole}{}{}", of("contracts", &counts), of("actions", &deeds))
}

static LABS: RwLock<()> = RwLock::new(());

/// For a lab in which packets are measured: no other one is up meanwhile.
fn alone() -> RwLockWriteGuard<'static, ()> {
    LABS.write().unwrap_or_else(PoisonError::into_inner)
}

/// For a lab in which it does not matter how long packets take.
fn among_others() -> RwLockReadGuard<'static, ()> {
    LABS.read().unwrap_or_else(PoisonError::into_inner)
}

/// With a sentinel among ordinary threads.
fn in_time(measure: impl FnMut() -> Vec<String>) {
    let waited = |sentinel: Sentinel| Duration::from_nanos(sentinel.stop().within(0, u64::MAX));
    wayleave_repo_checks::in_time(|| Sentinel::start_among_others().unwrap(), waited, measure);
}

/// What is wrong, with all that was seen.
fn wrong<const N: usize>(claims: [(bool, &str); N], seen: &Value) -> Vec<String> {
    claims.into_iter().filter_map(|(holds, claim)| unless(holds, || format!("{claim}: {}", in_short(seen)))).collect()
}

/// The sum of a count over all contracts.
fn sum(seen: &Value, count: &str) -> u64 {
    seen["contracts"].as_array().unwrap().iter().map(|one| one[count].as_u64().unwrap()).sum()
}
