//! Fig. 20: 128 to 1 beside background traffic; answers of probes spread, and rates converge nevertheless (appendix
//! D).

use std::collections::BTreeMap;

use wayleave_scenarios::Scenario;
use wayleave_topology::NodeId;
use wayleave_units::{Rate, Time};

use super::watched::{NoteKind, watch};
use super::{Contender, ROUND_TRIP_US, SHARED, background, fabric, generator, most, received, shuffle};
use crate::catalogue::{Entry, UFAB};
use crate::checkpoint::stored;
use crate::data::{Axis, Figure, Form, Panel, Point, Series};
use crate::failed::Failed;
use crate::run::Run;
use crate::simulator::Simulator;
use crate::statement::Statement;
use crate::stats::mean;
use crate::ufab::testbed::{Tenant, endless, policy};

pub(crate) const ENTRY: Entry = Entry {
    id: "ufab-fig20",
    runs: "128 to 1",
    paper: &UFAB,
    place: "Fig. 20",
    title: "Spread of answers, and convergence of rates",
    full_runs: 5,
    full_seconds: 30,
    quick_seconds: 7,
    measure,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

/// "The response time is organized into 40 rounds."
const ROUNDS: usize = 40;
const BIN: Time = Time::from_micros(100);
/// The text gives no minima: these are 64 of the 95 Gbit/s that the receiver's link shares out.
const MIN: Rate = Rate::from_mbit(500);

/// One run.
#[derive(Clone, Debug)]
struct Measured {
    /// Of each round, how far the farthest answer is from its median, in base round trips.
    apart: Vec<f64>,
    /// From the joint start to the end of the last interval in which a sender is farther than a quarter from the fair share, in ms.
    settles_ms: f64,
    /// Of the last third of the run: the lowest and the highest mean rate of a sender, as a part of the fair share.
    spread: [f64; 2],
    /// Traffic of the first sender, for each interval.
    first: Vec<f64>,
}

stored!(Measured { apart, settles_ms, spread, first });

/// Beside background, and without.
#[derive(Clone, Debug)]
struct Data {
    runs: Vec<Measured>,
    alone: Vec<Measured>,
}

fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(ENTRY.full_runs, 1);
    let (pods, senders) = run.choose((5, 128), (4, 96));
    let duration = Time::from_millis(run.choose(4, 2));
    let figure = format!("{}, {pods} pods, {senders} senders, {duration}", ENTRY.id);
    let of = |&load: &f64, seed: u64| one(run.simulator(), (pods, senders), load, duration, seed);
    let mut found = run.gather(&figure, (&[0.5, 0.0], &seeds), of)?.into_iter();
    let [runs, alone] = [found.next(), found.next()].map(Option::unwrap_or_default);
    let data = Data { runs, alone };
    let notes = vec![format!(
        "The base round trip of the fabric is {ROUND_TRIP_US:.1} us. Background: every server but the receiver has four tenants with one other server each, and sends to each at the tenant's minimum, 12.5 Gbit/s in the mean. A round is the n-th answer of every sender. Rates are of \
         intervals of 0.1 ms, in which a fair share is six frames."
    )];
    let figure =
        Figure { statements: statements(&data), panels: panels(&data.runs), seeds, notes, ..Figure::default() };
    Ok(figure
        .with("network", format!("{pods} pods of the fabric, 1:1"))
        .with("incast", format!("{senders} to 1, minima of 500 Mbit/s")))
}

/// The incast beside background of this load.
fn one(
    simulator: &Simulator,
    (pods, senders): (u64, usize),
    load: f64,
    duration: Time,
    seed: u64,
) -> Result<Measured, Failed> {
    let network = fabric(pods, 8)?;
    let mut random = generator(seed);
    let mut hosts: Vec<NodeId> = network.hosts().collect();
    shuffle(&mut hosts, &mut random);
    let Some((&to, others)) = hosts.split_first() else { return Err(Failed::broken("a fabric without servers")) };
    let name = |at: usize| format!("vf{}", at + 1);
    let pairs = if load > 0.0 { background(others, load, &mut random) } else { Vec::new() };
    let mut tenants: Vec<Tenant> = (others.iter().take(senders).enumerate())
        .map(|(at, &host)| Tenant { name: name(at), min: MIN, hosts: vec![host, to] })
        .collect();
    let start = Time::from_nanos(duration.as_nanos() / 4);
    let mut traffic: Vec<_> =
        (others.iter().take(senders).enumerate()).map(|(at, &host)| endless(&name(at), host, to, start)).collect();
    for pair in pairs {
        tenants.push(pair.tenant);
        traffic.push(pair.traffic);
    }
    let mut scenario = Scenario::new("128 to 1", network.clone(), duration);
    scenario.record.series = Some(BIN);
    Contender::Ufab.share(&mut scenario, policy(&network, &tenants)?);
    scenario.traffic = traffic;
    let (outcome, notes) = watch(simulator, &scenario, seed)?;
    let from_start = (start.as_nanos() / BIN.as_nanos()) as usize;
    let rates: Vec<Vec<f64>> = (0..senders).map(|at| received(&outcome, &name(at), to).split_off(from_start)).collect();
    let fair = SHARED / senders as f64;
    let bins = rates.first().map_or(0, Vec::len);
    // Three intervals together: windows of a few frames make single ones rough.
    let is_fair = |bin: usize| {
        rates.iter().all(|rates| {
            let some = &rates[bin.saturating_sub(2)..=bin];
            (0.75 * fair..=1.25 * fair).contains(&mean(some))
        })
    };
    let last = (0..bins).rev().find(|&bin| !is_fair(bin));
    let settles_ms = last.map_or(0.0, |last| (last + 1) as f64 * BIN.as_nanos() as f64 / 1e6);
    let late: Vec<f64> = rates.iter().map(|rates| mean(&rates[bins * 2 / 3..]) / fair).collect();
    let spread = [late.iter().copied().fold(f64::NAN, f64::min), most(&late)];
    Ok(Measured {
        apart: apart(&notes, &others[..senders]),
        settles_ms,
        spread,
        first: rates.first().cloned().unwrap_or_default(),
    })
}

/// Returns the spread of the incast's answers in each round. Pairs are identified by their tokens: those of the
/// background have more.
fn apart(notes: &[super::watched::Note], senders: &[NodeId]) -> Vec<f64> {
    let tokens = MIN.bits_per_second() / super::fast().unit_bandwidth.bits_per_second();
    let mut of_incast: BTreeMap<u64, usize> = BTreeMap::new();
    let mut rounds: Vec<Vec<f64>> = vec![Vec::new(); ROUNDS];
    for note in notes.iter().filter(|note| senders.contains(&note.from)) {
        match note.what {
            NoteKind::Sends { pair, tokens: answers } if answers == tokens => drop(of_incast.entry(pair).or_insert(0)),
            NoteKind::Receives { pair, .. } => {
                if let Some(round) = of_incast.get_mut(&pair) {
                    if let Some(times) = rounds.get_mut(*round) {
                        times.push(note.at.as_nanos() as f64 / 1e3);
                    }
                    *round += 1;
                }
            }
            _ => {}
        }
    }
    let farthest = |times: &Vec<f64>| {
        let mut sorted = times.clone();
        sorted.sort_unstable_by(f64::total_cmp);
        let median = crate::stats::median(&sorted);
        most(&times.iter().map(|time| (time - median).abs() / ROUND_TRIP_US).collect::<Vec<_>>())
    };
    rounds.iter().filter(|times| !times.is_empty()).map(farthest).collect()
}

fn statements(Data { runs, alone }: &Data) -> Vec<Statement> {
    let apart: Vec<f64> = runs.iter().map(|run| most(&run.apart)).collect();
    let settles: Vec<f64> = runs.iter().map(|run| run.settles_ms).collect();
    let spread: Vec<f64> = runs.iter().flat_map(|run| run.spread).collect();
    let [low, high] = ends(runs);
    let [low_alone, high_alone] = ends(alone);
    let slowest = most(&alone.iter().map(|run| run.settles_ms).collect::<Vec<_>>());
    let cause = format!(
        "the background: where the links of a sender's path are promised to others, its part there is less than that at the receiver. Without background senders end from {low_alone:.2} to {high_alone:.2}, after {slowest:.2} ms at \
         most"
    );
    vec![
        Statement::within(
            "D, Fig. 20a",
            "within 40 rounds answers come more than one round trip from the median of their round",
            1.0..=f64::INFINITY,
            &apart,
            format!("up to {:.1} base round trips in the mean of the runs", mean(&apart)),
        ),
        Statement::within(
            "D, Fig. 20b",
            "rates converge all the same: every sender ends within a quarter of the fair share",
            0.75..=1.25,
            &spread,
            format!("from {low:.2} to {high:.2} of the fair share"),
        )
        .tested(cause.clone(), &alone.iter().flat_map(|run| run.spread).collect::<Vec<_>>()),
        Statement::mean_within(
            "D, Fig. 20b",
            "and quickly: within a millisecond, as the abstract says of all convergence",
            0.0..=1.0,
            &settles,
            format!("after {:.2} ms in the mean, {:.2} ms at most", mean(&settles), most(&settles)),
        )
        .tested(cause, &alone.iter().map(|run| run.settles_ms).collect::<Vec<_>>()),
    ]
}

/// The lowest and the highest rate of any sender in the end, as a part of the fair share.
fn ends(runs: &[Measured]) -> [f64; 2] {
    let lowest = runs.iter().map(|run| run.spread[0]).fold(f64::NAN, f64::min);
    [lowest, most(&runs.iter().map(|run| run.spread[1]).collect::<Vec<_>>())]
}

fn panels(runs: &[Measured]) -> Vec<Panel> {
    let panel = |name: &str, title: &str, x: Axis, y: Axis, points: Vec<Point>| {
        Panel::new(name, title, (x, y), Form::Joined, vec![Series { name: "uFAB".to_owned(), points }])
    };
    let rounds = runs.iter().map(|run| run.apart.len()).min().unwrap_or(0);
    let round = |at: usize| Point::of(at as f64 + 1.0, runs.iter().map(|run| run.apart[at]).collect());
    let first = runs.first().map(|run| run.first.as_slice()).unwrap_or_default();
    let rate = |(at, &rate): (usize, &f64)| Point::of(at as f64 * BIN.as_nanos() as f64 / 1e6, vec![rate]);
    vec![
        panel(
            "answers",
            "How far the farthest answer of a round is from its median",
            Axis::linear("round", ""),
            Axis::linear("time", "base round trips"),
            (0..rounds).map(round).collect(),
        ),
        panel(
            "rate",
            "One sender (first seed)",
            Axis::linear("time since the start", "ms"),
            Axis::linear("rate", "Gbit/s"),
            first.iter().enumerate().map(rate).collect(),
        ),
    ]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let run = Measured { apart: vec![0.5, 3.0], settles_ms: 0.5, spread: [0.9, 1.1], first: vec![0.7] };
        assert_each_can_change(
            &Data { runs: vec![run.clone()], alone: vec![run] },
            statements,
            &[
                ("all at once", &|data: &mut Data| data.runs[0].apart[1] = 0.9),
                ("one has little", &|data: &mut Data| data.runs[0].spread[0] = 0.5),
                ("one has much", &|data: &mut Data| data.runs[0].spread[1] = 1.5),
                ("late", &|data: &mut Data| data.runs[0].settles_ms = 1.5),
            ],
        );
    }
}
