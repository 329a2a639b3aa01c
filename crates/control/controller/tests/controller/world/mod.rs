//! The whole controller under a seeded scheduler: clients, a store, agents, a bad network, failures and crashes, in
//! one thread and without a clock.
//!
//! Checked after every step that changed something:
//! 1. `model`: no acknowledged contract is lost, none exists twice, none that was refused appears; dry runs and
//!    refused batches change nothing; revisions only grow; a request with a key is executed once, over crashes too.
//! 2. `checks::whole`: every flow of the ledger has its owner, the records on disk equal those in memory, and a
//!    controller that is loaded from them is equal.
//! 3. `checks::sound`: all reservations pass the independent calculator.
//! 4. `wire`: all packets that are really sent, and those of old rules in transit, pass it too.
//! 5. `checks::settled`: once nothing fails any more, every contract is enforced, every deleted one is released, and
//!    no operation is left.
//!
//! Mutations of the controller, tried once each, and the check that noticed them:
//!
//! | change | noticed by |
//! |---|---|
//! | a deleted contract's reservation is free at once | 4 (seed 91) |
//! | no contract waits for pending releases | 4 (21) |
//! | a route counts as empty once its sender has stopped | 4 (31) |
//! | a session begins although it names an old one | 4 (329) |
//! | a reservation is given up after others were moved into it | 4 (163) |
//! | the last instruction to a sender is forgotten at a restart | 2 |
//! | a confirmation, or an answer to a key, is not written | 2 |
//! | a dry run leaves its quota charged | 2 |
//! | a held reservation can be moved | loading: a queue is overfull |
//! | a sender that has to stop first gets no stop instruction | 5 |
//! | a change in place of a rule that was never sent does not stop first | 5: two wait for each other (3) |
//! | one bucket covers the old and the new rule of other contracts, too | 4 (93) |
//! | contracts that are moved together are not waited for if they fit into the ledger as it is afterwards | 4 (557) |
//! | a displaced contract that waits for another displaced one does not stop | 5: two wait for each other (871) |
//! | an outdated rule is no longer sent | 5 (37) |
//! | an agent takes older versions | 5 (5) |
//!
//! The seeds are those of the time of the experiment; they change with the choices of the world. Not noticed in 1,000
//! seeds: confirmations of an old session that count; holds that are over at a restart, since agents take longer to
//! begin again than most routes to empty; other terms with an unchanged reservation that count as a new one (250
//! seeds).
//!
//! In other histories, the records on disk are replaced by a backup, so hosts may send for contracts that are lost: the checks
//! are the same without 4.
//!
//! `WAYLEAVE_WORLD_SEEDS=100000 cargo test -p wayleave-controller world::` runs more of them;
//! `WAYLEAVE_WORLD_SEED=17` runs one and prints its last steps.

mod checks;
mod clients;
mod events;
mod faults;
mod model;
mod place;
mod run;
mod wire;

use rayon::prelude::*;
use run::World;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

/// Number of histories that every run of the tests examines: about 25 s of one core. `make histories-long` has
/// 10,000.
const SEEDS: u64 = 400;

/// The same for histories with a backup.
const SEEDS_OF_BACKUPS: u64 = 100;

/// Number of steps of a failing history that are shown.
const SHOWN: usize = 80;

/// A history of a seed; with a backup or without.
type History = fn(&mut World) -> Result<(), String>;

fn show(seed: u64, live: History) -> ! {
    let mut world = World::new(seed, true);
    let error = live(&mut world).err().unwrap_or_else(|| "nothing is wrong".to_owned());
    let trace = world.trace();
    let from = trace.len().saturating_sub(number("WAYLEAVE_WORLD_SHOWN").map_or(SHOWN, |shown| shown as usize));
    panic!(
        "seed {seed}:\n{}\n{error}\nagain: WAYLEAVE_WORLD_SEED={seed} cargo test -p wayleave-controller world::",
        trace[from..].join("\n")
    );
}

/// Examines the histories of the first seeds, unless the environment names them.
fn examine(seeds: u64, live: History) -> run::Totals {
    if let Some(seed) = number("WAYLEAVE_WORLD_SEED") {
        show(seed, live);
    }
    let first = number("WAYLEAVE_WORLD_FIRST").unwrap_or(1);
    let last = first + number("WAYLEAVE_WORLD_SEEDS").unwrap_or(seeds);
    // A world is one thread; several worlds are several.
    let one = |seed: u64| {
        let mut world = World::new(seed, false);
        if live(&mut world).is_err() { Err(seed) } else { Ok(world.totals()) }
    };
    let results: Vec<Result<run::Totals, u64>> = (first..last).into_par_iter().map(one).collect();
    let mut totals = run::Totals::default();
    for result in results {
        match result {
            Ok(part) => totals.add(&part),
            Err(seed) => show(seed, live),
        }
    }
    println!("{totals:?}");
    totals
}

#[test]
fn every_history_keeps_every_promise() {
    examine(SEEDS, World::live).assert_that_something_happened();
}

/// Catches: a contract that is enforced by the rule of a lost one, and rules of lost contracts that stay.
#[test]
fn hosts_send_what_a_backup_promises() {
    examine(SEEDS_OF_BACKUPS, World::live_with_backup);
}
