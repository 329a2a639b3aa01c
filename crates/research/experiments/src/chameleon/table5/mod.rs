//! Table 5: guarantees of systems. The ticks of the systems that Wayleave implements are measured, packet by packet;
//! those of the others are as the paper prints them.
//!
//! A tick means
//! - packet latency: no packet was later than promised or, without a promise, later than its time alone plus a frame
//!   on each link;
//! - bandwidth: reserved or guaranteed traffic arrives, regardless of other senders;
//! - burst: a burst of several packets arrives as it was sent, in time;
//! - work conservation: a lone sender gets most of an idle link.

mod contracts;
mod rows;
mod seen;
mod sharing;

use wayleave_scenarios::{ElasticSwitch, Eyeq, HostSchemeConfig, Parley};

use self::rows::{ROWS, Tick};
use self::seen::{MAX, ObservedProperties};
use self::sharing::Shares;
use super::system::{FastFlowRule, Qjump, Silo, System};
use crate::data::{Figure, Table};
use crate::failed::Failed;
use crate::run::Run;
use crate::simulator::Simulator;
use crate::statement::Statement;

#[derive(Clone, Copy)]
enum Job {
    Admission(&'static str, System),
    Loko(&'static str),
    Sharing(&'static str, Shares),
    Fabric(&'static str),
}

/// The systems of the paper's table that are here, and two that are not in it.
const JOBS: [Job; 10] = [
    Job::Admission("Chameleon", System::Chameleon),
    Job::Admission("Silo", System::Silo(Silo::TEXT)),
    Job::Admission("QJump", System::Qjump(Qjump { fast: FastFlowRule::Refused, ..Qjump::FLAT })),
    Job::Loko("Loko"),
    Job::Sharing("DCTCP", None),
    Job::Sharing("EyeQ", Some(|| HostSchemeConfig::Eyeq(Eyeq::default()))),
    Job::Sharing("ElasticSwitch", Some(|| HostSchemeConfig::ElasticSwitch(ElasticSwitch::default()))),
    Job::Sharing("Parley", Some(|| HostSchemeConfig::Parley(Parley::default()))),
    Job::Admission("Wayleave", System::Wayleave),
    Job::Fabric("Wayleave, one fabric"),
];

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let seen = run.map(&JOBS, |job| match *job {
        Job::Admission(name, system) => contracts::admission(run.simulator(), name, system),
        Job::Loko(name) => contracts::loko(run.simulator(), name),
        Job::Sharing(name, shares) => sharing::sharing(run.simulator(), name, shares),
        Job::Fabric(name) => one_fabric(run.simulator(), name),
    })?;
    let figure = Figure {
        statements: statements(&seen),
        tables: vec![features(&seen), measurements(&seen)],
        notes: vec![
            "\"measured\": seen packet by packet here. \"the paper\": as it prints it, since Wayleave does not have the system. \"beyond the paper\": measured, and \
             not in the paper's table."
                .to_owned(),
            "A system that promises no time is held against the least that any could promise: what a packet takes alone, and a frame before it on each link."
                .to_owned(),
            "Wayleave's first row is that of its latency contracts alone. What they leave idle goes to best effort below them, not to themselves. Its second row is that of all \
             kinds of contracts on one network (docs/theory/fabric.md)."
                .to_owned(),
        ],
        ..Figure::default()
    };
    Ok(figure
        .with("contracts", "fat tree, k = 4, 16 hosts, 8 queues of 97 kB a port, links at 1 Gbit/s; the first 32 requests of clock synchronization (Table 1) of seed 1, under attack by wayleave-adversary; Wayleave's own model: wire bytes, and best effort on every link")
        .with("Loko", "a line of four simulated Zodiac FX, flows of 50 to 400 kbit/s with bursts of one or two packets of 306 B within 40 ms")
        .with("sharing", "ten hosts of a rack, 10 Gbit/s; one flow with a guarantee of 5 Gbit/s beside eight with 3 Gbit/s together, all to one host, over DCTCP, for 1 s, of which the second half counts"))
}

/// All kinds of contracts at once, each against the others ([`crate::fabric`]).
fn one_fabric(simulator: &Simulator, name: &'static str) -> Result<ObservedProperties, Failed> {
    let seen = crate::fabric::for_a_while(simulator)?;
    let (is_in_time, is_kept) = (seen.broken == 0.0, seen.short == 0.0);
    let latency = format!(
        "of {:.0} contracts whose tenants send bursts together {:.0} are broken; the slowest packet takes {:.2} of its deadline",
        seen.admitted, seen.broken, seen.slowest
    );
    let bandwidth = format!(
        "of {:.0} hoses that go from a permutation to all-to-one and back {:.0} are short, the longest lag is {:.2} ms",
        seen.hoses, seen.short, seen.lag
    );
    let conserving = format!("the busiest links carry {:.0} %", 100.0 * seen.busiest);
    Ok(ObservedProperties {
        name,
        ticks: [is_in_time, is_kept, is_in_time, seen.busiest >= MAX].map(Tick::of),
        how: [latency.clone(), bandwidth, latency, conserving],
    })
}

/// In the order of the paper's table.
fn statements(seen: &[ObservedProperties]) -> Vec<Statement> {
    let of = |row: &rows::Row| {
        let seen = seen.iter().find(|seen| seen.name == row.name)?;
        let [latency, bandwidth, burst, conserving] = row.ticks.map(Tick::name);
        let claim_text = format!(
            "{}: packet latency {latency}, bandwidth {bandwidth}, burst {burst}, work conserving {conserving}",
            row.name
        );
        Some(Statement::claim("Table 5", claim_text, row.ticks == seen.ticks, seen.how.join("; ")))
    };
    ROWS.iter().filter_map(of).collect()
}

fn features(seen: &[ObservedProperties]) -> Table {
    let cells = |name: &str, ticks: [Tick; 4], switches: &str, source: &str| {
        let ticks = ticks.map(|tick| tick.name().to_owned());
        [name.to_owned()].into_iter().chain(ticks).chain([switches.to_owned(), source.to_owned()]).collect::<Vec<_>>()
    };
    let of_paper = ROWS.iter().map(|row| {
        let measured = seen.iter().find(|seen| seen.name == row.name);
        let source = if measured.is_some() { "measured" } else { "the paper" };
        cells(row.name, measured.map_or(row.ticks, |seen| seen.ticks), row.switches, source)
    });
    let beyond = seen.iter().filter(|seen| ROWS.iter().all(|row| row.name != seen.name));
    let columns = ["system", "packet latency", "bandwidth", "burst", "work conserving", "switches", "source"];
    Table {
        name: "features".to_owned(),
        title: "Guarantees of packet latency, bandwidth and burst, and work conservation".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: of_paper.chain(beyond.map(|seen| cells(seen.name, seen.ticks, "", "beyond the paper"))).collect(),
    }
}

fn measurements(seen: &[ObservedProperties]) -> Table {
    let row = |seen: &ObservedProperties| [vec![seen.name.to_owned()], seen.how.to_vec()].concat();
    Table {
        name: "measurements".to_owned(),
        title: "Evidence for each tick".to_owned(),
        columns: ["system", "packet latency", "bandwidth", "burst", "work conservation"].map(str::to_owned).to_vec(),
        rows: seen.iter().map(row).collect(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let names = ["Chameleon", "Silo", "QJump", "Loko", "DCTCP", "EyeQ", "ElasticSwitch"];
        let as_printed = |name: &'static str| {
            let row = ROWS.iter().find(|row| row.name == name).unwrap();
            ObservedProperties { name, ticks: row.ticks, how: Default::default() }
        };
        let seen = names.map(as_printed).to_vec();
        assert_eq!(statements(&seen).iter().filter(|statement| statement.is_held()).count(), names.len());
        for at in 0..names.len() {
            for tick in 0..4 {
                let mut other = seen.clone();
                other[at].ticks[tick] = if seen[at].ticks[tick] == Tick::Yes { Tick::No } else { Tick::Yes };
                assert_eq!(statements(&other).iter().filter(|statement| !statement.is_held()).count(), 1);
            }
        }
        let turn = |seen: &mut Vec<ObservedProperties>, at: usize| seen[at].ticks = [Tick::Partly; 4];
        assert_each_can_change(
            &seen,
            |seen| statements(seen),
            &[
                ("Chameleon", &|seen| turn(seen, 0)),
                ("Silo", &|seen| turn(seen, 1)),
                ("QJump", &|seen| turn(seen, 2)),
                ("Loko", &|seen| turn(seen, 3)),
                ("DCTCP", &|seen| turn(seen, 4)),
                ("EyeQ", &|seen| turn(seen, 5)),
                ("ElasticSwitch", &|seen| turn(seen, 6)),
            ],
        );
    }
}
