//! Brokers in a world with many faults, by seed: during the faults no guarantee is broken; afterwards every service
//! has its share of the real demands.
//!
//! `WAYLEAVE_SEED=n cargo test -p wayleave-broker --test broker world::` replays one history; `WAYLEAVE_HISTORIES=n`
//! runs n of them.

mod history;
mod network;
mod oracle;

use std::collections::BTreeMap;

use history::{Afterwards, History, Kind};
use wayleave_units::Time;

/// Of each kind of fault.
const HISTORIES: u64 = 30;

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok().and_then(|text| text.parse().ok())
}

/// Times of a kind: how many histories, all of them together, and the longest.
#[derive(Default)]
struct Times(Vec<Time>);

impl Times {
    fn row(&mut self) -> String {
        self.0.sort_unstable();
        let at = |part: usize| self.0[(self.0.len() - 1) * part / 100];
        format!("{:4} histories, median {:>9}, longest {:>9}", self.0.len(), at(50).to_string(), at(100).to_string())
    }
}

fn run(with_fabric: bool, bound: Time) {
    let seeds = match number("WAYLEAVE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("WAYLEAVE_HISTORIES").unwrap_or(HISTORIES) * Kind::ALL.len() as u64,
    };
    let mut times: BTreeMap<(Kind, Afterwards), Times> = BTreeMap::new();
    for seed in seeds {
        let kind = Kind::ALL[seed as usize % Kind::ALL.len()];
        if kind.is_of_the_fabric() && !with_fabric {
            continue;
        }
        let afterwards = Afterwards::ALL[(seed / Kind::ALL.len() as u64 % 2) as usize];
        let took = History::new(seed, kind, with_fabric).run(afterwards);
        assert!(took <= bound, "{kind:?} took {took} to end; replay: WAYLEAVE_SEED={seed}");
        times.entry((kind, afterwards)).or_default().0.push(took);
    }
    for ((kind, afterwards), mut times) in times {
        println!("{:14} {:12} {}", format!("{kind:?}"), format!("{afterwards:?}"), times.row());
    }
}

/// A second is one of a rack broker's intervals.
#[test]
fn racks_recover_within_fifteen_intervals() {
    run(false, Time::from_millis(15_000));
}

/// With limits from the fabric broker, whose interval is ten seconds.
#[test]
fn racks_under_a_fabric_broker_recover_within_six_of_its_intervals() {
    run(true, Time::from_millis(60_000));
}
