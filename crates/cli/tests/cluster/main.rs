//! Three controllers and an etcd of three members, all on this machine. Leaders are killed, paused, cut off from
//! etcd, ended, run out of disk and hang, while clients continue. The answers that they saw are linearizable, and at
//! most one controller is ready at any instant. So no acknowledged contract is lost and none is there twice, and all
//! controllers have equal contracts in the end.
//!
//! `WAYLEAVE_CYCLES=100 cargo test -p wayleave-cli --test cluster` has 100 fail-overs (`make cluster`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod access;
mod agents;
mod clients;
mod lost;
mod moving;
mod network;
mod observed;
mod processes;
mod ready;
mod restarts;

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use wayleave_faults::linearizable::{ClientOperation, violation};
use wayleave_repo_checks::{require_program, wait_for, wait_until};

use clients::{Clients, get};
use processes::Controllers;
use ready::Watch;

fn main() -> std::process::ExitCode {
    wayleave_repo_checks::run_tests(wayleave_repo_checks::tests![
        access::an_etcd_with_password_and_certificate_is_accessed_with_them,
        agents::an_agent_moves_to_the_next_leader_and_older_sessions_are_refused,
        lost::deleted_keys_and_older_states_of_etcd_are_named_at_a_start,
        no_acknowledged_contract_is_lost_in_any_failure_of_leaders,
        a_member_of_etcd_that_hangs_does_not_stop_changes,
        moving::a_ledger_is_converted_to_a_cluster_and_back,
        moving::batches_of_any_size_and_snapshots_are_read_back_unchanged,
        network::a_member_with_another_network_is_barred_until_the_cluster_changes_it,
        observed::a_new_leader_claims_nothing_that_its_agents_have_not_reported,
        ready::a_leader_that_is_ready_beside_its_successor_is_found,
        ready::an_idle_partitioned_leader_is_ready_no_longer_than_its_lease,
        restarts::a_restart_under_load_succeeds_with_etcd_at_any_speed,
        restarts::a_start_can_be_stopped_while_etcd_does_not_answer,
        restarts::a_full_or_compacted_etcd_does_not_prevent_a_start,
    ])
}

/// Far longer than a fail-over takes on a machine that runs.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Fault of a leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mishap {
    Killed,
    Paused,
    Cut,
    Ended,
    Full,
    /// Its engine hangs, and no other part.
    Hung,
}

const MISHAPS: [Mishap; 6] = [Mishap::Killed, Mishap::Paused, Mishap::Cut, Mishap::Ended, Mishap::Full, Mishap::Hung];

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Leaves the test out unless etcd and setpriv are installed.
fn require_etcd() {
    for tool in ["etcd", "setpriv"] {
        require_program("etcd", tool);
    }
}

/// One cluster at a time: leases are times. Leaves the test out where no cluster can be started.
fn alone() -> MutexGuard<'static, ()> {
    require_etcd();
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_in_order(history: &[ClientOperation]) {
    if let Some((key, of_key)) = violation(history) {
        panic!("contract {key} has no order: {of_key:#?}");
    }
}

/// The longest time in which no client's change was acknowledged: least, median and most by kind.
fn print_times(took: &[(Mishap, Duration)]) {
    for kind in MISHAPS {
        let times = took.iter().filter(|(mishap, _)| *mishap == kind).map(|(_, time)| time.as_millis());
        let mut times: Vec<u128> = times.collect();
        times.sort_unstable();
        if let (Some(least), Some(most)) = (times.first(), times.last()) {
            println!("{kind:?}: {} times, {least} / {} / {most} ms", times.len(), times[times.len() / 2]);
        }
    }
}

fn no_acknowledged_contract_is_lost_in_any_failure_of_leaders() {
    let _alone = alone();
    let cycles: usize =
        std::env::var("WAYLEAVE_CYCLES").ok().and_then(|text| text.parse().ok()).unwrap_or(MISHAPS.len());
    let mut controllers = Controllers::start();
    let first = wait_for("a first leader", || controllers.leader());
    let clients = Clients::start(&controllers, first);
    let watch = Watch::start(controllers.urls());
    let mut took = Vec::new();
    for cycle in 0..cycles {
        let old = wait_for("a leader", || controllers.leader());
        let mishap = MISHAPS[cycle % MISHAPS.len()];
        let done = clients.acknowledged();
        clients.watch();
        match mishap {
            Mishap::Killed => controllers.kill(old),
            Mishap::Paused => controllers.pause(old),
            Mishap::Cut => controllers.cut(old, true),
            Mishap::Ended => controllers.end(old),
            Mishap::Full => controllers.fill(old),
            Mishap::Hung => controllers.freeze(old),
        }
        let new = wait_for("another leader", || controllers.leader().filter(|&new| new != old));
        let before = clients.acknowledged();
        wait_until("changes", || clients.acknowledged() > before + 2);
        let time = clients.longest();
        wait_until("many changes", || clients.acknowledged() > done + 60);
        println!("{mishap:?}: {old} was followed by {new}, no change for {} ms", time.as_millis());
        took.push((mishap, time));
        match mishap {
            Mishap::Killed | Mishap::Ended => controllers.restart(old),
            Mishap::Paused => controllers.wake(old),
            Mishap::Cut => controllers.cut(old, false),
            Mishap::Full => controllers.empty(old),
            Mishap::Hung => controllers.thaw(),
        }
        wait_for("the old leader follows", || (controllers.role(old)? == "follower").then_some(()));
    }
    println!("{} answers that a controller is ready", watch.stop());
    let history = clients.stop();
    let answered = history.iter().filter(|one| one.answered.is_some()).count();
    let unanswered = history.len() - answered;
    println!("{cycles} fail-overs; {} operations, {unanswered} without an answer", history.len());
    print_times(&took);
    is_in_order(&history);
    assert!(answered > 60 * cycles, "{answered} operations were answered");
    // Both are asked each time: a change that no client waits for any more may still be in transit to the leader.
    for list in ["contracts", "links", "tenants", "events", "decisions"] {
        let items = |at: usize| {
            let found = get(&controllers.url(at), &format!("/v1/{list}?limit=1000"), &controllers.token())?.1;
            found["items"].as_array().filter(|items| !items.is_empty()).cloned()
        };
        for other in 0..3 {
            wait_for(&format!("controller {other} has the {list} of the leader"), || {
                let (leader, other) = (items(controllers.leader()?)?, items(other)?);
                (leader == other).then_some(())
            });
        }
    }
}

fn a_member_of_etcd_that_hangs_does_not_stop_changes() {
    let _alone = alone();
    let controllers = Controllers::start();
    let first = wait_for("a first leader", || controllers.leader());
    let clients = Clients::start(&controllers, first);
    let go_on = |what: &str| {
        let before = clients.acknowledged();
        wait_until(what, || clients.acknowledged() > before + 30);
    };
    // One of them leads among them.
    for at in 0..3 {
        go_on("changes before");
        clients.watch();
        controllers.hang_member(at, true);
        go_on("changes without a member");
        println!("member {at} hangs: no change for {} ms", clients.longest().as_millis());
        controllers.hang_member(at, false);
    }
    go_on("changes after");
    is_in_order(&clients.stop());
}
