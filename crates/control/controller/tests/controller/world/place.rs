//! Setting of a history: a small network, a scheme, and the rates of failures.

use std::sync::Arc;

use rand::rngs::ChaCha8Rng;
use rand::{RngExt, SeedableRng};
use wayleave_agent::machine::PollInterval;
use wayleave_controller::{ControllerConfig, EnforcedBy, SchemeFactory, Timeouts, UnfitPolicy};
use wayleave_ledger::Model;
use wayleave_schemes::admission::chameleon::{Chameleon, Params, Rerouting};
use wayleave_schemes::admission::fabric::{Fabric, Paths, Settings};
use wayleave_schemes::registry::Scheme;
use wayleave_topology::Classes;
use wayleave_topology::builders::{Cabling, FatTree, LeafSpine, build};
use wayleave_units::Time;

/// Jumps of the calendar up to this are trusted at once; orders last a few times as long.
pub(crate) const JUMP: Time = Time::from_millis(100);
/// Time for which larger jumps are distrusted.
pub(crate) const CLOCK_HOLD_DOWN: Time = Time::from_millis(500);

/// Choices that a seed replays.
pub(crate) struct Dice(ChaCha8Rng);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// Both ends included.
    pub(crate) fn between(&mut self, least: u64, most: u64) -> u64 {
        self.0.random_range(least..=most)
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.0.random_range(0..from.len())].clone()
    }

    /// Returns `true` with a probability of `times` per cent.
    pub(crate) fn percent(&mut self, times: u64) -> bool {
        self.between(1, 100) <= times
    }

    /// Of any order of magnitude between the two.
    pub(crate) fn time(&mut self, least_us: u64, most_us: u64) -> Time {
        let least = least_us.max(1).ilog2();
        let most = (2u64 << self.between(u64::from(least), u64::from(most_us.ilog2()))).min(most_us);
        Time::from_nanos(self.between(least_us * 1000, most.max(least_us) * 1000))
    }
}

/// Rates of failures.
pub(crate) struct Weather {
    /// Messages of a hundred that are lost.
    pub(crate) drops: u64,
    /// Messages of a hundred that come twice.
    pub(crate) doubles: u64,
    /// The slowest message, us.
    pub(crate) slowest_us: u64,
    /// Commits of a hundred at which the controller ends.
    pub(crate) crashes: u64,
    /// The shortest time between two failures, us; none at all if 0.
    pub(crate) failures_us: u64,
    /// `true` if operators declare hosts down that are not.
    pub(crate) operators_err: bool,
    /// `true` if the calendar jumps.
    pub(crate) calendar_jumps: bool,
    /// Poll interval of agents: short, since histories are short.
    pub(crate) pace: PollInterval,
    /// `true` if many small contracts meet at one host: urgent ones need the fast queues there, and others have to
    /// move.
    pub(crate) is_crowded: bool,
    /// Number of requests of clients.
    pub(crate) generated: u64,
}

impl Weather {
    pub(crate) fn of(dice: &mut Dice) -> Self {
        Self {
            drops: dice.pick(&[0, 0, 2, 10, 20]),
            doubles: dice.pick(&[0, 2, 10, 30]),
            slowest_us: dice.pick(&[100, 500, 5_000, 50_000]),
            crashes: dice.pick(&[0, 1, 3, 10]),
            failures_us: dice.pick(&[0, 0, 100_000, 30_000, 5_000]),
            operators_err: dice.percent(8),
            calendar_jumps: dice.percent(30),
            pace: PollInterval {
                poll_every: Time::from_millis(dice.pick(&[4, 10])),
                retry_first: Time::from_millis(dice.pick(&[1, 5])),
                retry_most: Time::from_millis(60),
            },
            is_crowded: dice.percent(60),
            generated: dice.between(15, 40),
        }
    }
}

pub(crate) fn setup(dice: &mut Dice) -> ControllerConfig {
    let cabling = Cabling::default;
    let leaf_spine = |leaves, spines, hosts_per_leaf| LeafSpine {
        leaves,
        spines,
        hosts_per_leaf,
        parallel: 1,
        uplink_rate: None,
        cabling: cabling(),
    };
    let network = match dice.between(1, 100) {
        1..=35 => build::star(4, cabling()),
        36..=80 => build::leaf_spine(&leaf_spine(2, 2, 2)),
        81..=97 => build::leaf_spine(&leaf_spine(3, 2, 2)),
        _ => build::fat_tree(&FatTree::default()),
    };
    let network = network.unwrap();
    let rerouting =
        dice.pick(&[None, Some(Rerouting::default()), Some(Rerouting::default()), Some(Rerouting::with_tightening())]);
    let params = if dice.percent(60) { Params::published() } else { Params::default() };
    let params = Params { rerouting, ..params };
    let has_classes = dice.percent(50);
    let network = if has_classes { network.with_classes(Classes::default()).unwrap() } else { network };
    let network = Arc::new(network);
    let settings = Settings { paths: dice.pick(&[Paths::One, Paths::All]), ..Settings::default() };
    let of = network.clone();
    let make = move || -> Scheme {
        if has_classes {
            Fabric::new(of.clone(), Model::default(), params.clone(), &settings).unwrap().into()
        } else {
            Chameleon::new(of.clone(), Model::default(), params.clone()).unwrap().into()
        }
    };
    ControllerConfig {
        network,
        model: Model::default(),
        scheme: SchemeFactory::fixed(make),
        enforced_by: dice.pick(&[EnforcedBy::Hosts, EnforcedBy::Hosts, EnforcedBy::HostsAndSwitches]),
        timing: Timeouts {
            confirm_within: Time::from_millis(150),
            retry_every: Time::from_millis(200),
            heal_after: Time::from_millis(300),
            // Agents of the world send no heartbeats: `steps/heartbeats.rs` tests them.
            silent_after: Time::from_millis(3_600_000),
            clock_jump: JUMP,
            clock_hold_down: CLOCK_HOLD_DOWN,
        },
        unfit: UnfitPolicy::Refuse,
    }
}
