//! Three controllers and an etcd of three members, all on this machine: leaders are killed, paused, cut off from etcd, ended and run out of disk, while clients go on. What they
//! saw is linearizable, so no acknowledged contract is lost and none is there twice, and all controllers have the same contracts in the end.
//!
//! `WAYLEAVE_CYCLES=100 cargo test -p wayleave-cli --test cluster` has 100 fail-overs (`make cluster`).

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests assert by panicking")]

mod clients;
mod moving;
mod processes;

use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use wayleave_faults::linearizable::violation;
use wayleave_repo_checks::left_out;

use clients::{Clients, get};
use processes::Controllers;

/// Far longer than a fail-over takes on a machine that runs.
const PATIENCE: Duration = Duration::from_secs(120);

/// What happens to a leader.
#[derive(Clone, Copy, Debug)]
enum Mishap {
    Killed,
    Paused,
    Cut,
    Ended,
    Full,
}

const MISHAPS: [Mishap; 5] = [Mishap::Killed, Mishap::Paused, Mishap::Cut, Mishap::Ended, Mishap::Full];

fn until<T>(what: &str, mut holds: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = holds() {
            return found;
        }
        assert!(start.elapsed() < PATIENCE, "{what}");
        sleep(Duration::from_millis(20));
    }
}

fn is_able() -> bool {
    let missing = ["etcd", "setpriv"].into_iter().find(|tool| Command::new(tool).arg("--version").output().is_err());
    if let Some(tool) = missing {
        left_out("etcd", format_args!("it needs {tool} (etcd-server, util-linux)"));
    }
    missing.is_none()
}

/// One cluster at a time: leases are times.
fn alone() -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    ONE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn no_acknowledged_contract_is_lost_whatever_happens_to_leaders() {
    if !is_able() {
        return;
    }
    let _alone = alone();
    let cycles: usize = std::env::var("WAYLEAVE_CYCLES").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    let mut controllers = Controllers::start();
    let first = until("a first leader", || controllers.leader());
    let clients = Clients::start(&controllers, first);
    let mut took = Vec::new();
    for cycle in 0..cycles {
        let old = until("a leader", || controllers.leader());
        let mishap = MISHAPS[cycle % MISHAPS.len()];
        let done = clients.acknowledged();
        let began = Instant::now();
        match mishap {
            Mishap::Killed => controllers.kill(old),
            Mishap::Paused => controllers.pause(old),
            Mishap::Cut => controllers.cut(old, true),
            Mishap::Ended => controllers.end(old),
            Mishap::Full => controllers.fill(old),
        }
        let new = until("another leader", || controllers.leader().filter(|&new| new != old));
        let before = clients.acknowledged();
        until("changes", || (clients.acknowledged() > before + 2).then_some(()));
        let time = began.elapsed();
        until("many changes", || (clients.acknowledged() > done + 60).then_some(()));
        println!("{mishap:?}: {old} was followed by {new}, changes after {} ms", time.as_millis());
        took.push(time);
        match mishap {
            Mishap::Killed | Mishap::Ended => controllers.restart(old),
            Mishap::Paused => controllers.wake(old),
            Mishap::Cut => controllers.cut(old, false),
            Mishap::Full => controllers.empty(old),
        }
        until("the old leader follows", || (controllers.standing(old)? == "follows").then_some(()));
    }
    took.sort_unstable();
    let history = clients.stop();
    let answered = history.iter().filter(|one| one.answered.is_some()).count();
    println!(
        "{cycles} fail-overs, the longest {} ms; {} operations, {} without an answer",
        took.last().unwrap().as_millis(),
        history.len(),
        history.len() - answered
    );
    if let Some((key, of_key)) = violation(&history) {
        panic!("contract {key} has no order: {of_key:#?}");
    }
    assert!(answered > 60 * cycles, "{answered} operations were answered");
    let leader = until("a leader", || controllers.leader());
    let wanted = get(&controllers.url(leader), "/v1/contracts?limit=1000", &controllers.token()).unwrap();
    for other in 0..3 {
        until(&format!("controller {other} has what the leader has"), || {
            let found = get(&controllers.url(other), "/v1/contracts?limit=1000", &controllers.token())?;
            (found.1["items"] == wanted.1["items"]).then_some(())
        });
    }
}
