//! Conformance tests for drivers.
//!
//! The suite uses only [`Driver`], and an [`DriverUnderTest`] that reports on the node behind it: the route that packets of a
//! contract would take now.

use wayleave_protocol::Id;
use wayleave_protocol::agent::Rule;
use wayleave_protocol::contract::Hop;
use wayleave_units::Time;

use super::driver::{Driver, DriverError};
use super::recorder::{InjectedFault, Recorder};

/// A driver under test.
pub trait DriverUnderTest: Driver + Sized {
    /// The routes that packets of the contract take now, by the names of links as in [`link`]; `None` if nothing is sent.
    fn in_force(&mut self, serial: u64) -> Option<Vec<Vec<Hop>>>;

    /// Restarts the agent, while the node continues to work.
    fn restart(self) -> Self;

    /// Reboots the node after a loss of power.
    fn reboot(self) -> Self;

    /// Makes the next call fail; it may be retried. Drivers that cannot be made to fail return `false`, and the test ends.
    fn fail_next(&mut self) -> bool {
        false
    }

    /// Returns the number of times that the node was set up, if it is known.
    fn set_ups(&self) -> Option<usize> {
        None
    }
}

/// A requirement that a driver violates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BrokenDriver {
    /// The rule that it breaks.
    pub rule: &'static str,
    /// Observed behaviour.
    pub seen: String,
}

/// The name of the link of this number: those of the sending host h1 to switches s1, s2 and s3 count from 0.
pub fn link(number: u32) -> String {
    format!("h1->s{}", number + 1)
}

/// A rule over the link of this number; different numbers have different routes.
pub fn rule(number: u32) -> Rule {
    Rule {
        id: Id::new("default", "suite").to_string(),
        from: "h1".to_owned(),
        to: "h2".to_owned(),
        matching: None,
        rate_bps: 1_000_000,
        burst_bytes: 1_000,
        max_frame_bytes: None,
        routes: vec![vec![Hop { link: link(number), queue: 0 }]],
        bound_ns: 1_000_000,
    }
}

/// Runs all tests on new drivers, as hosts and as switches. Returns the violations.
pub fn check<D: DriverUnderTest>(mut make: impl FnMut() -> D) -> Vec<BrokenDriver> {
    let mut broken = check_host(&mut make);
    broken.extend(check_switch(make));
    broken
}

/// Runs the tests of switches on new drivers.
pub fn check_switch<D: DriverUnderTest>(make: impl FnMut() -> D) -> Vec<BrokenDriver> {
    let rules: [(&'static str, Test<D>); 3] = [
        ("a node is set up once", sets_up),
        ("setup survives a restart", stays_set_up),
        ("a node is not set up after a reboot", is_not_set_up_after_a_reboot),
    ];
    go_through(&rules, make)
}

/// Runs the tests of hosts on new drivers.
pub fn check_host<D: DriverUnderTest>(make: impl FnMut() -> D) -> Vec<BrokenDriver> {
    let rules: [(&'static str, Test<D>); 7] = [
        ("an installed rule is in force", installs),
        ("a rule is replaced by another", replaces),
        ("installing a rule again changes nothing", repeats),
        ("a removed rule sends nothing", removes),
        ("reported rules are installed, also after a restart", reports_match_state),
        ("no rule is installed after a reboot", is_empty_after_a_reboot),
        ("a failed installation leaves the old rule", fails_whole),
    ];
    go_through(&rules, make)
}

fn go_through<D: DriverUnderTest>(rules: &[(&'static str, Test<D>)], mut make: impl FnMut() -> D) -> Vec<BrokenDriver> {
    let broken = |(rule, test): &(&'static str, Test<D>)| {
        let seen = test(make()).err()?;
        Some(BrokenDriver { rule, seen })
    };
    rules.iter().filter_map(broken).collect()
}

/// Tests one requirement of a driver.
type Test<D> = fn(D) -> Result<(), String>;

const NOW: Time = Time::from_nanos(1);

fn done(result: Result<(), DriverError>) -> Result<(), String> {
    result.map_err(|error| error.to_string())
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, seen: T, expected: T) -> Result<(), String> {
    if seen == expected { Ok(()) } else { Err(format!("{what}: found {seen:?}, expected {expected:?}")) }
}

fn force<D: DriverUnderTest>(node: &mut D, serial: u64, number: Option<u32>) -> Result<(), String> {
    let expected = number.map(|number| rule(number).routes);
    expect(&format!("in force of {serial}"), node.in_force(serial), expected)
}

fn installed<D: DriverUnderTest>(node: &mut D, expected: &[(u64, u64)]) -> Result<(), String> {
    let mut seen = node.installed(NOW).map_err(|error| error.to_string())?;
    seen.sort_unstable();
    expect("installed", seen.as_slice(), expected)
}

fn installs<D: DriverUnderTest>(mut node: D) -> Result<(), String> {
    force(&mut node, 1, None)?;
    done(node.install(NOW, 1, 1, &rule(1)))?;
    done(node.install(NOW, 2, 1, &rule(2)))?;
    force(&mut node, 1, Some(1))?;
    force(&mut node, 2, Some(2))
}

fn replaces<D: DriverUnderTest>(mut node: D) -> Result<(), String> {
    done(node.install(NOW, 1, 1, &rule(1)))?;
    done(node.install(NOW, 1, 2, &rule(2)))?;
    force(&mut node, 1, Some(2))?;
    installed(&mut node, &[(1, 2)])
}

fn repeats<D: DriverUnderTest>(mut node: D) -> Result<(), String> {
    for _ in 0..2 {
        done(node.install(NOW, 1, 3, &rule(1)))?;
        force(&mut node, 1, Some(1))?;
        installed(&mut node, &[(1, 3)])?;
    }
    for _ in 0..2 {
        done(node.remove(NOW, 1, 4))?;
        force(&mut node, 1, None)?;
    }
    done(node.remove(NOW, 9, 1))
}

fn removes<D: DriverUnderTest>(mut node: D) -> Result<(), String> {
    done(node.install(NOW, 1, 1, &rule(1)))?;
    done(node.install(NOW, 2, 1, &rule(2)))?;
    done(node.remove(NOW, 1, 2))?;
    force(&mut node, 1, None)?;
    force(&mut node, 2, Some(2))?;
    installed(&mut node, &[(2, 1)])
}

fn reports_match_state<D: DriverUnderTest>(mut node: D) -> Result<(), String> {
    done(node.install(NOW, 1, 5, &rule(1)))?;
    let mut node = node.restart();
    let message = node.installed(NOW).map_err(|error| error.to_string())?;
    let in_force = node.in_force(1).is_some();
    expect("said to be installed", message, if in_force { vec![(1, 5)] } else { Vec::new() })
}

fn is_empty_after_a_reboot<D: DriverUnderTest>(mut node: D) -> Result<(), String> {
    done(node.install(NOW, 1, 5, &rule(1)))?;
    let mut node = node.reboot();
    force(&mut node, 1, None)?;
    installed(&mut node, &[])
}

fn fails_whole<D: DriverUnderTest>(mut node: D) -> Result<(), String> {
    done(node.install(NOW, 1, 1, &rule(1)))?;
    if !node.fail_next() {
        return Ok(());
    }
    expect("an error is told", node.install(NOW, 1, 2, &rule(2)).is_err(), true)?;
    force(&mut node, 1, Some(1))?;
    installed(&mut node, &[(1, 1)])
}

fn sets_up<D: DriverUnderTest>(mut node: D) -> Result<(), String> {
    done(node.set_up(NOW, 1))?;
    done(node.set_up(NOW, 2))?;
    expect("times set up", node.set_ups().unwrap_or(1), 1)?;
    installed(&mut node, &[(0, 2)])
}

fn stays_set_up<D: DriverUnderTest>(mut node: D) -> Result<(), String> {
    done(node.set_up(NOW, 3))?;
    installed(&mut node.restart(), &[(0, 3)])
}

fn is_not_set_up_after_a_reboot<D: DriverUnderTest>(mut node: D) -> Result<(), String> {
    done(node.set_up(NOW, 3))?;
    installed(&mut node.reboot(), &[])
}

impl DriverUnderTest for Recorder {
    fn in_force(&mut self, serial: u64) -> Option<Vec<Vec<Hop>>> {
        self.rules().get(&serial).map(|(_, rule)| rule.routes.clone())
    }

    fn restart(self) -> Self {
        self
    }

    fn reboot(mut self) -> Self {
        self.lose_everything();
        self
    }

    fn fail_next(&mut self) -> bool {
        self.inject_faults([InjectedFault::Fails]);
        true
    }
}
