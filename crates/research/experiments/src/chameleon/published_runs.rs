//! Runs of the published controller, repeated on their requests.
//!
//! Chameleon's authors published their controller as Java libraries (`AmoVanB/eces-*`). We ran it in scenario 8 on the network of 5.1 until
//! the first refusal, with requests of `java.util.Random`. The same requests are offered to the schemes here. The module of the `silo`
//! scheme lists what its Silo mode counts.

use super::filling::{Case, SMALL, fill_as_published};
use super::{RerouteSettings, Silo, System};
use crate::failed::Failed;
use crate::run::Run;
use crate::statement::Statement;

/// Flows that the published controller admitted, by seed from 1 on. The record has the numbers without their seeds. Seeds 1 to 3 are inferred:
/// with their requests all numbers but 759 come out here.
const PLAIN: [f64; 3] = [681.0, 759.0, 723.0];
const REROUTING: [f64; 3] = [1_235.0, 1_769.0, 1_875.0];
const SILO: [f64; 2] = [38.0, 24.0];

/// Returns the range of [`PLAIN`].
pub(super) const fn without_rerouting() -> [f64; 2] {
    [PLAIN[0], PLAIN[1]]
}

/// Flows that were admitted here on the requests of those runs.
#[derive(Clone, Debug)]
pub(super) struct Repeated {
    system: System,
    /// By seed.
    pub(super) flows: Vec<f64>,
}

/// Returns the systems whose runs are repeated, each with the flows of the published controller.
pub(super) fn systems() -> Vec<(System, &'static [f64])> {
    let silos = Silo::READINGS.map(|silo| (System::Silo(silo), &SILO[..]));
    let [oldest, newest] = [RerouteSettings::OLDEST, RerouteSettings::NEWEST].map(System::Rerouting);
    let mut all = vec![(System::Chameleon, &PLAIN[..]), (oldest, &REROUTING[..]), (newest, &REROUTING[..])];
    all.extend(silos);
    all
}

/// Repeats the runs.
pub(super) fn repeat(run: &Run) -> Result<Vec<Repeated>, Failed> {
    let of = |(system, flows): (System, &[f64])| {
        (1..).zip(flows).map(move |(seed, _)| Case { size: SMALL, system, scenario: 8, seed }).collect::<Vec<_>>()
    };
    let cases: Vec<Case> = systems().into_iter().flat_map(of).collect();
    let accepted = run.map(&cases, |case| Ok(fill_as_published(run.simulator(), case)?.accepted as f64))?;
    let flows_of =
        |system| cases.iter().zip(&accepted).filter(move |(case, _)| case.system == system).map(|(_, &flows)| flows);
    Ok(systems().into_iter().map(|(system, _)| Repeated { system, flows: flows_of(system).collect() }).collect())
}

impl Repeated {
    /// Returns runs that all have these numbers of flows.
    #[cfg(test)]
    pub(super) fn with((system, flows): (System, &[f64])) -> Self {
        Self { system, flows: flows.to_vec() }
    }
}

/// Returns a statement for each system: it admits as many flows as the published controller, in each run.
pub(super) fn statements(repeated: &[Repeated]) -> Vec<Statement> {
    let published = |of: &Repeated| {
        let known = systems().into_iter().find(|(system, _)| *system == of.system);
        known.map_or(&[][..], |(_, flows)| flows)
    };
    repeated.iter().map(|of| statement(of, published(of))).collect()
}

fn statement(repeated: &Repeated, published: &[f64]) -> Statement {
    let (mode, reading) = match repeated.system {
        System::Silo(silo) => (" in Silo mode", silo.reading()),
        System::Rerouting(RerouteSettings::OLDEST) => (" with rerouting", "the oldest of equal candidates first"),
        System::Rerouting(_) => (" with rerouting", "the newest of equal candidates first"),
        _ => ("", ""),
    };
    let claim_text = format!("the published controller{mode} in scenario 8, run by us: {} flows", list(published));
    let ratios: Vec<f64> = repeated.flows.iter().zip(published).map(|(here, there)| here / there).collect();
    let measured = format!("{} flows with the same requests", list(&repeated.flows));
    let statement = Statement::within("5.1", claim_text, 1.0..=1.0, &ratios, measured).reading(reading);
    match repeated.system {
        System::Chameleon => statement.supposed("the order of routes with equal delay, which 4.1.3 leaves open"),
        _ => statement,
    }
}

fn list(flows: &[f64]) -> String {
    let [first @ .., last] = flows else { return String::new() };
    let first: Vec<String> = first.iter().map(|flows| format!("{flows:.0}")).collect();
    format!("{} and {last:.0}", first.join(", "))
}
