//! Fig. 16: 90 to 1, where all tenants switch between half of their minimum and everything every 4 ms (section 5.5).

use rand::RngExt;
use wayleave_scenarios::Scenario;
use wayleave_scenarios::{Schedule, SendSchedule, Workload};
use wayleave_topology::NodeId;
use wayleave_units::{Rate, Time};

use super::{Contender, ROUND_TRIP_US, SHARED, fabric, generator, most, received, round_trip_us, times};
use crate::catalogue::{Entry, UFAB};
use crate::checkpoint::stored;
use crate::data::{Axis, Figure, Form, Panel, Point, Series};
use crate::failed::Failed;
use crate::run::Run;
use crate::simulator::Simulator;
use crate::statement::Statement;
use crate::stats::mean;
use crate::ufab::systems::AS_PRINTED;
use crate::ufab::testbed::{Tenant, endless, policy};

pub(crate) const ENTRY: Entry = Entry {
    id: "ufab-fig16",
    runs: "90 to 1",
    paper: &UFAB,
    place: "Fig. 16",
    title: "90 to 1, with demands that change every 4 ms",
    full_runs: 5,
    full_seconds: 300,
    quick_seconds: 2,
    measure,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

const SENDERS: usize = 90;
const MIN_GBIT: f64 = 1.0;
const PERIOD: Time = Time::from_millis(4);
const BIN: Time = Time::from_micros(250);

/// Spread of the random times at which senders begin and change. The text does not state that 90 hosts act at the same nanosecond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spread {
    /// All at the same time: their first packets meet at the receiver.
    None,
    /// The time between two packets of 500 Mbit/s, 1,460 B each.
    Packet,
    Period,
}

impl Spread {
    const fn most(self) -> Time {
        match self {
            Self::None => Time::ZERO,
            Self::Packet => Time::from_nanos(23_360),
            Self::Period => PERIOD,
        }
    }
}

/// Times within which senders begin at random.
const SPREADS: [(Spread, &str); 2] =
    [(Spread::Packet, "23 us, the time between two packets"), (Spread::Period, "4 ms, a period")];
/// Systems whose senders begin at random times, too.
const SPREAD_SYSTEMS: [Contender; 3] = [Contender::Ufab, Contender::Printed, Contender::Pwc];

/// A system, and the spread of its senders.
type Case = (Contender, Spread);

/// One case: of each run.
#[derive(Clone, Debug)]
struct Row {
    case: Case,
    runs: Vec<Measured>,
}

#[derive(Clone, Copy, Debug)]
struct Measured {
    /// The longest round trip, and the 99 % percentile.
    longest_us: f64,
    tail_us: f64,
    /// Time from unlimited demand of all until all permanently have 90 % of their minimum and together 85 % of the
    /// shared rate, in ms; the mean over the periods.
    settles_ms: f64,
    /// Until all have 90 % of their minimum, for the first time.
    minima_ms: f64,
    /// Used part of the shared rate, in the second half of these periods.
    used: f64,
    /// The largest sum of rates of an interval, as a part of the line.
    peak: f64,
}

stored!(Measured { longest_us, tail_us, settles_ms, minima_ms, used, peak });

fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(ENTRY.full_runs, 1);
    let periods = run.choose(6, 2);
    let cases = cases();
    let figure = format!("{}, {periods} periods", ENTRY.id);
    let found = run.gather(&figure, (&cases, &seeds), |&case, seed| one(run.simulator(), case, periods, seed))?;
    let mut first = Vec::new();
    let row = |(case, runs): (Case, Vec<(Measured, Vec<f64>)>)| {
        if case.1 == Spread::None {
            first.push((case.0, runs.first().map(|(_, sums)| sums.clone()).unwrap_or_default()));
        }
        Row { case, runs: runs.into_iter().map(|(run, _)| run).collect() }
    };
    let rows: Vec<Row> = cases.into_iter().zip(found).map(row).collect();
    let notes = vec![format!(
        "On 128 of the 512 servers: 90 senders and one receiver use no more. The idle fabric's round trip takes {ROUND_TRIP_US:.1} us. Every tenant has a flow of 500 Mbit/s all the time and a second one without end \
         in every other period. Baselines as on the testbed."
    )];
    let figure =
        Figure { statements: statements(&rows), panels: vec![panel(&first)], seeds, notes, ..Figure::default() };
    Ok(figure.with("network", "four pods of the fabric, 1:1").with("time", format!("{periods} periods of 4 ms")))
}

fn cases() -> Vec<Case> {
    let others = [Contender::Sparse, Contender::Printed, Contender::Deep];
    let together = Contender::ALL.into_iter().chain(others).map(|system| (system, Spread::None));
    let spread = SPREADS.map(|(spread, _)| SPREAD_SYSTEMS.map(|system| (system, spread)));
    together.chain(spread.concat()).collect()
}

/// Returns a run, and the total received by all in each interval.
fn one(simulator: &Simulator, (system, spread): Case, periods: u64, seed: u64) -> Result<(Measured, Vec<f64>), Failed> {
    let network = fabric(4, 8)?;
    let hosts: Vec<NodeId> = network.hosts().collect();
    let Some((&to, others)) = hosts.split_first() else { return Err(Failed::broken("a fabric without servers")) };
    // From all pods, the receiver's as well.
    let from: Vec<NodeId> = (0..SENDERS).map(|at| others[at * others.len() / SENDERS]).collect();
    let name = |at: usize| format!("vf{}", at + 1);
    let tenants: Vec<Tenant> = (from.iter().enumerate())
        .map(|(at, &host)| Tenant { name: name(at), min: Rate::from_gbit(1), hosts: vec![host, to] })
        .collect();
    let duration = Time::from_nanos(PERIOD.as_nanos() * periods);
    let mut scenario = Scenario::new("90 to 1", network.clone(), duration);
    scenario.record.series = Some(BIN);
    system.share(&mut scenario, policy(&network, &tenants)?);
    let mut random = generator(seed);
    for (at, &host) in from.iter().enumerate() {
        let start = Time::from_nanos(random.random_range(0..=spread.most().as_nanos()));
        let mut little = endless(&name(at), host, to, start);
        if let Workload::Flows(flows) = &mut little.workload {
            flows.send_schedule = Some(SendSchedule::Rate(Rate::from_mbit(500)));
        }
        let mut much = endless(&name(at), host, to, PERIOD + start);
        much.name = format!("{} at times", name(at));
        much.active = Some(Schedule::periodic(PERIOD + start, PERIOD, PERIOD));
        scenario.traffic.extend([little, much]);
    }
    system.on_testbed().open_pairs(&mut scenario);
    let outcome = simulator.run(&scenario, seed)?;
    let rates: Vec<Vec<f64>> = (0..SENDERS).map(|at| received(&outcome, &name(at), to)).collect();
    let bins = rates.first().map_or(0, Vec::len);
    let sums: Vec<f64> = (0..bins).map(|bin| rates.iter().map(|rates| rates[bin]).sum()).collect();
    let per_period = (PERIOD.as_nanos() / BIN.as_nanos()) as usize;
    let bin_ms = BIN.as_nanos() as f64 / 1e6;
    let has_minima = |bin: usize| rates.iter().all(|rates| rates[bin] >= 0.9 * MIN_GBIT);
    let is_settled = |bin: usize| has_minima(bin) && sums[bin] >= 0.85 * SHARED;
    let (mut settles, mut minima, mut used) = (Vec::new(), Vec::new(), Vec::new());
    for period in (1..periods as usize).step_by(2) {
        let range = period * per_period..((period + 1) * per_period).min(bins);
        let last = range.clone().rev().find(|&bin| !is_settled(bin));
        settles.push(last.map_or(0.0, |last| (last + 1 - range.start) as f64 * bin_ms));
        let first = range.clone().find(|&bin| has_minima(bin));
        minima.push(first.map_or(f64::INFINITY, |first| (first + 1 - range.start) as f64 * bin_ms));
        used.push(mean(&sums[range.start + per_period / 2..range.end]) / SHARED);
    }
    let measured = Measured {
        longest_us: round_trip_us(&outcome, 100.0),
        tail_us: round_trip_us(&outcome, 99.0),
        settles_ms: mean(&settles),
        minima_ms: mean(&minima),
        used: mean(&used),
        peak: most(&sums) / 100.0,
    };
    Ok((measured, sums))
}

fn of(rows: &[Row], case: Case, what: impl Fn(&Measured) -> f64) -> Vec<f64> {
    rows.iter().filter(|row| row.case == case).flat_map(|row| row.runs.iter().map(&what)).collect()
}

/// uFAB in its readings: by the bytes between two probes, and as printed.
const READINGS: [(Contender, &str); 3] = [
    (Contender::Ufab, "a probe for each MTU (4.1)"),
    (Contender::Sparse, "a probe for each 4 kB (5.4)"),
    (Contender::Printed, AS_PRINTED),
];

/// The same with senders that change at the same time, and those that change at random times.
fn latency_readings() -> Vec<(Case, String)> {
    let together = READINGS.map(|(system, reading)| ((system, Spread::None), reading.to_owned()));
    let random = |(spread, within): (Spread, &str)| {
        [READINGS[0], READINGS[2]]
            .map(|(system, reading)| ((system, spread), format!("{reading}; senders at random times within {within}")))
    };
    together.into_iter().chain(SPREADS.map(random).concat()).collect()
}

fn statements(rows: &[Row]) -> Vec<Statement> {
    let together = |system, what: fn(&Measured) -> f64| of(rows, (system, Spread::None), what);
    let longest = |system| together(system, |run| run.longest_us);
    let tail = |system| together(system, |run| run.tail_us);
    let settles = |system| together(system, |run| run.settles_ms);
    let minima = |system| together(system, |run| run.minima_ms);
    let beyond = times(&tail(Contender::Elastic), &tail(Contender::Ufab));
    let used = |system| together(system, |run| run.used);
    let all_used = |system| format!("{:.0} % of what is shared out is used", 100.0 * mean(&used(system)));
    let bound = 4.0 * ROUND_TRIP_US;
    let within = |claim_text: &str, section: &str, limit: f64| {
        let readings = latency_readings().into_iter().map(|(case, reading)| {
            let longest = of(rows, case, |run| run.longest_us);
            // A reading in which PicNIC'+WCC+Clove does not overshoot is not the text's workload.
            let theirs = of(rows, (Contender::Pwc, case.1), |run| run.longest_us);
            if case.1 != Spread::None && theirs.iter().any(|theirs| *theirs <= bound) {
                let shown = format!(
                    "{:.1} us at most, and PicNIC'+WCC+Clove does not overshoot either: {:.1} us at most",
                    most(&longest),
                    most(&theirs)
                );
                return Statement::not_compared(section, claim_text, shown).reading(reading);
            }
            let shown = format!(
                "{:.1} us at most; idle {ROUND_TRIP_US:.1} us, and 3.4 bounds it by {bound:.1} us",
                most(&longest)
            );
            Statement::within(section, claim_text, 0.0..=limit, &longest, shown).reading(reading)
        });
        readings.collect::<Vec<_>>()
    };
    let mut statements = within("the longest round trip of uFAB stays within 16 us", "5.5", 16.0);
    statements.extend(within("it stays within four base round trips", "3.4", bound));
    statements.extend(latency_readings().into_iter().map(|((system, spread), reading)| {
        let longest = |system| of(rows, (system, spread), |run| run.longest_us);
        let below_pwc = times(&longest(Contender::Pwc), &longest(system));
        Statement::mean_within(
            "5.5",
            "that is 27 times less than PicNIC'+WCC+Clove: half as much or twice as much at most",
            13.5..=54.0,
            &below_pwc,
            format!("{:.1} times on average; PWC takes {:.0} us", mean(&below_pwc), mean(&longest(Contender::Pwc))),
        )
        .reading(reading)
        .supposed(format!(
            "PWC's own round trip, {:.0} us where 27 times 16 us are 432: Swift keeps the delay at its target, here at most 25 us, 1 us a switch and 100 us for windows below 10 packets",
            mean(&longest(Contender::Pwc))
        ))
    }));
    statements.extend(READINGS.map(|(system, reading)| {
        Statement::mean_within(
            "5.5",
            "uFAB converges quickly, within a millisecond of each change",
            0.0..=1.0,
            &settles(system),
            format!("{:.2} ms on average; {}", mean(&settles(system)), all_used(system)),
        )
        .reading(reading)
    }));
    statements.extend([
        Statement::mean_within(
            "5.5",
            "uFAB' converges within a millisecond of each change, too",
            0.0..=1.0,
            &settles(Contender::Unbounded),
            format!("{:.2} ms in the mean; {}", mean(&settles(Contender::Unbounded)), all_used(Contender::Unbounded)),
        )
        .tested(format!(
            "with unlimited buffers it takes {:.2} ms. Without the bound {SENDERS} pairs have up to a bandwidth-delay product each in flight, {:.1} MB: ports of 5.4 MB drop more than half, and what drained from unlimited ones has waited {:.0} us.",
            mean(&settles(Contender::Deep)),
            SENDERS as f64 * SHARED * ROUND_TRIP_US / 8e3,
            mean(&longest(Contender::Deep))
        ), &settles(Contender::Deep)),
        Statement::mean_within(
            "5.5",
            "ElasticSwitch+Clove recovers quickly to minima: within half of a period",
            0.0..=2.0,
            &minima(Contender::Elastic),
            format!("after {:.2} ms in the mean", mean(&minima(Contender::Elastic))),
        ),
        Statement::mean_within(
            "5.5",
            "and its latency is worse than uFAB's",
            1.0..=f64::INFINITY,
            &beyond,
            format!("the 99 % percentile is {:.1} times uFAB's", mean(&beyond)),
        ),
        Statement::mean_within(
            "5.5",
            "PicNIC'+WCC+Clove overshoots: more is in flight than four base round trips carry",
            1.0..=f64::INFINITY,
            &longest(Contender::Pwc).iter().map(|longest| longest / bound).collect::<Vec<_>>(),
            format!(
                "the longest round trip takes {:.0} us, and {bound:.0} us are four; at most {:.0} % of the line arrives in an interval",
                mean(&longest(Contender::Pwc)),
                100.0 * mean(&together(Contender::Pwc, |run| run.peak))
            ),
        ),
        Statement::mean_within(
            "5.5",
            "PicNIC'+WCC+Clove then uses significantly less than there is: at most nine tenths of uFAB in the second half of the periods",
            0.0..=0.9,
            &times(&used(Contender::Pwc), &used(Contender::Ufab)),
            format!("{} by PWC, {:.0} % by uFAB", all_used(Contender::Pwc), 100.0 * mean(&used(Contender::Ufab))),
        ),
    ]);
    statements
}

fn panel(sums: &[(Contender, Vec<f64>)]) -> Panel {
    let bin_ms = BIN.as_nanos() as f64 / 1e6;
    let series = |(system, sums): &(Contender, Vec<f64>)| Series {
        name: system.name().to_owned(),
        points: sums.iter().enumerate().map(|(at, &sum)| Point::of(at as f64 * bin_ms, vec![sum])).collect(),
    };
    let axes = (Axis::linear("time", "ms"), Axis::linear("rate", "Gbit/s"));
    let series = sums.iter().map(series).collect();
    Panel::new("rates", "What the receiver gets (first seed)", axes, Form::Joined, series)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let row = |(case, longest_us, used)| {
            let run = Measured { longest_us, tail_us: longest_us, settles_ms: 0.5, minima_ms: 0.5, used, peak: 0.95 };
            Row { case, runs: vec![run] }
        };
        let longest = [14.0, 100.0, 200.0, 14.0 * 27.0, 13.0, 14.0, 1_000.0];
        let longest = longest.into_iter().chain([14.0, 14.0, 14.0 * 27.0, 14.0, 14.0, 14.0 * 27.0]);
        let used = [1.0, 1.0, 0.9, 0.8].into_iter().chain([1.0; 9]);
        let rows: Vec<Row> = cases()
            .into_iter()
            .zip(longest)
            .zip(used)
            .map(|((case, longest), used)| row((case, longest, used)))
            .collect();
        let at_random = |rows: &mut Vec<Row>, of_pwc: bool, longest_us: f64| {
            let spread = rows.iter_mut().filter(|row| row.case.1 != Spread::None);
            let found = spread.filter(|row| (row.case.0 == Contender::Pwc) == of_pwc);
            found.for_each(|row| row.runs[0].longest_us = longest_us);
        };
        assert_each_can_change(
            &rows,
            |rows| statements(rows),
            &[
                ("uFAB's is longer", &|rows: &mut Vec<Row>| rows[0].runs[0].longest_us = 17.0),
                ("far longer", &|rows: &mut Vec<Row>| rows[0].runs[0].longest_us = 60.0),
                ("it is longer with few probes", &|rows: &mut Vec<Row>| rows[4].runs[0].longest_us = 17.0),
                ("far longer with few probes", &|rows: &mut Vec<Row>| rows[4].runs[0].longest_us = 60.0),
                ("it is longer as printed", &|rows: &mut Vec<Row>| rows[5].runs[0].longest_us = 17.0),
                ("far longer as printed", &|rows: &mut Vec<Row>| rows[5].runs[0].longest_us = 60.0),
                ("longer at random times", &|rows: &mut Vec<Row>| at_random(rows, false, 17.0)),
                ("far longer at random times", &|rows: &mut Vec<Row>| at_random(rows, false, 60.0)),
                ("PWC is better at random times", &|rows: &mut Vec<Row>| at_random(rows, true, 100.0)),
                ("PWC is worse at random times", &|rows: &mut Vec<Row>| at_random(rows, true, 1_000.0)),
                ("PWC is better", &|rows: &mut Vec<Row>| rows[3].runs[0].longest_us = 100.0),
                ("PWC does not overshoot", &|rows: &mut Vec<Row>| {
                    rows[3].runs.iter_mut().for_each(|run| run.longest_us = 40.0);
                }),
                ("PWC is worse", &|rows: &mut Vec<Row>| rows[3].runs[0].longest_us = 1_000.0),
                ("uFAB settles late", &|rows: &mut Vec<Row>| rows[0].runs[0].settles_ms = 2.0),
                ("it settles late with few probes", &|rows: &mut Vec<Row>| rows[4].runs[0].settles_ms = 2.0),
                ("it settles late as printed", &|rows: &mut Vec<Row>| rows[5].runs[0].settles_ms = 2.0),
                ("uFAB' settles late", &|rows: &mut Vec<Row>| rows[1].runs[0].settles_ms = 2.0),
                ("ES is late", &|rows: &mut Vec<Row>| rows[2].runs[0].minima_ms = 3.0),
                ("ES is quick", &|rows: &mut Vec<Row>| rows[2].runs[0].tail_us = 10.0),
                ("PWC uses all", &|rows: &mut Vec<Row>| rows[3].runs[0].used = 1.1),
            ],
        );
    }
}
