//! Fig. 14: two services share a rack's links, according to the rack policy (6.3, throughput protection).

use std::ops::RangeInclusive;

use wayleave_contracts::PolicyLevel;
use wayleave_scenarios::{FlowEndpoints, Period, Scenario, Schedule};
use wayleave_sharing::{ServiceTerms, Shares, Tree};
use wayleave_units::{Rate, Time};

use super::testbed::{
    MarkFeedback, RELEASED, ROUNDS, Size, System, curves, endless, free, mean_between, policy, racks, received,
    scenario, service, testbed, throughput,
};
use crate::data::{Axis, Figure, Form, Panel, Table};
use crate::failed::Failed;
use crate::run::Run;
use crate::statement::Statement;
use crate::stats::mean;

/// In rounds of rack brokers: B begins; A ends; the end.
const SECOND: f64 = 6.0;
const FIRST_ENDS: f64 = 12.0;
const END: f64 = 18.0;
/// The digits of 30 and of 60 Gbit/s.
const DIGIT: f64 = 0.5;
/// Settling time in rounds: a broker round after a change has observed all services, and its limits are in force one
/// round later. The first round after a start only reads the counters.
const SETTLED: f64 = 3.5;

/// Reading of the text's policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Guaranteed {
    /// As printed: A at most 30 Gbit/s, B at least 30. Weights share the excess above the minima (3.1).
    Printed,
    /// A is guaranteed its 30 as well.
    Both,
}

/// A simulated case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Case {
    terms: Guaranteed,
    hearing: MarkFeedback,
}

const CASES: [Case; 3] = [
    Case { terms: Guaranteed::Printed, hearing: MarkFeedback::Printed },
    Case { terms: Guaranteed::Printed, hearing: RELEASED },
    Case { terms: Guaranteed::Both, hearing: MarkFeedback::Printed },
];

impl Case {
    fn name(self) -> String {
        let terms = match self.terms {
            Guaranteed::Printed => "A at most 30, B at least 30",
            Guaranteed::Both => "A 30 guaranteed as well",
        };
        format!("{terms}; {}", self.hearing.name())
    }
}

/// Traffic received by A and B in Gbit/s at times in rounds of rack brokers.
type Rates = [Vec<(f64, f64)>; 2];

/// Measurements.
#[derive(Clone, Debug)]
struct Data {
    /// The runs of each of [`CASES`].
    runs: Vec<Vec<Rates>>,
    /// Traffic of B alone, in Gbit/s, if both services have static limits of 3 Gbit/s at each machine.
    capped: Vec<f64>,
}

impl Data {
    fn means(&self, case: usize, service: usize, from: f64, to: f64) -> Vec<f64> {
        self.runs[case].iter().map(|rates| mean_between(&rates[service], from, to)).collect()
    }

    /// A alone; A and B together; B alone.
    fn alone(&self, case: usize) -> Vec<f64> {
        self.means(case, 0, SETTLED, SECOND)
    }

    fn both(&self, case: usize) -> [Vec<f64>; 2] {
        [0, 1].map(|service| self.means(case, service, SECOND + SETTLED, FIRST_ENDS))
    }

    fn later(&self, case: usize) -> Vec<f64> {
        self.means(case, 1, FIRST_ENDS + SETTLED, END)
    }

    /// Returns the time from which both services stay within a tenth of their final traffic, in rounds after B began.
    fn converged(&self, case: usize) -> Vec<f64> {
        let of = |rates: &Rates| {
            let ends = [0, 1].map(|service| mean_between(&rates[service], SECOND + SETTLED, FIRST_ENDS));
            let points = rates.iter().zip(ends).flat_map(|(rate, end)| rate.iter().map(move |point| (*point, end)));
            let off =
                points.filter(|((at, rate), end)| (SECOND..FIRST_ENDS).contains(at) && (rate / end - 1.0).abs() > 0.1);
            off.map(|((at, _), _)| at - SECOND + QUARTER / 2.0).fold(0.0, f64::max)
        };
        self.runs[case].iter().map(of).collect()
    }
}

/// Length of an interval of the series, in rounds.
const QUARTER: f64 = 0.25;

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let (round, size) = (run.choose(ROUNDS[0], ROUNDS[1]), run.choose(Size::Printed, Size::Half));
    let seeds = run.seeds(3, 1);
    let seen = |case: Option<Case>, seed: u64| -> Result<Rates, Failed> {
        let outcome = run.simulator().run(&rack(case, round, size)?, seed)?;
        let points = |traffic: usize| {
            let points = throughput(&outcome, traffic).into_iter();
            points.map(|(at, rate)| (at * 1e9 / round.as_nanos() as f64, rate * size.scale())).collect::<Vec<_>>()
        };
        // Static limits: B is alone.
        Ok(if case.is_some() { [points(0), points(1)] } else { [Vec::new(), points(0)] })
    };
    let figure = format!("parley-fig14, {round}, {size:?}");
    let runs = run.gather(&figure, (&CASES, &seeds), |&case, seed| seen(Some(case), seed))?;
    // Static limits alone: nothing of them changes with the seed but the phases of flows.
    let first = seeds.get(..1).unwrap_or_default();
    let limited = run.gather(&figure, (&["static limits"], first), |_, seed| seen(None, seed))?;
    let capped = limited.iter().flatten().map(|rates| mean_between(&rates[1], 1.0, CAPPED)).collect();
    let data = Data { runs, capped };
    let figure = Figure {
        statements: statements(&data, &shares()),
        panels: CASES.iter().zip(&data.runs).map(|(case, runs)| panel(*case, runs)).collect(),
        tables: vec![table(&shares())],
        notes: notes(round),
        seeds,
        ..Figure::default()
    };
    Ok(testbed(figure)
        .with("network", size.text())
        .with("policy", "A at most 30 Gbit/s, B at least 30, both at most 60; machine shapers every 500 us (6.3)")
        .with(
            "traffic",
            format!(
                "one long flow of each service from every sender to every receiver; B from round {SECOND} on, A until round {FIRST_ENDS}"
            ),
        )
        .with("rates", "what arrived with headers, in intervals of a quarter of a round"))
}

fn statements(data: &Data, shares: &[Reading]) -> Vec<Statement> {
    let each = (0..CASES.len()).flat_map(|case| {
        let [alone, least, later] = kept(data, case);
        let [few, one] = rounds(data, case, shares);
        [alone, together(data, case, shares), least, later, few, one]
    });
    each.chain([caps(data)]).collect()
}

fn text(values: &[f64]) -> String {
    values.iter().map(|value| format!("{value:.1}")).collect::<Vec<_>>().join(", ")
}

fn near(wanted: f64) -> RangeInclusive<f64> {
    wanted - DIGIT..=wanted + DIGIT
}

/// A's maximum, B's minimum, and that nothing is left unused.
fn kept(data: &Data, case: usize) -> [Statement; 3] {
    let (name, alone, [_, b], later) =
        (CASES[case].name().to_string(), data.alone(case), data.both(case), data.later(case));
    let gbit = |values: &[f64]| format!("{} Gbit/s", text(values));
    let of = |claim_text: &str, range, values: &[f64]| {
        Statement::mean_within("6.3", claim_text, range, values, gbit(values)).reading(name.as_str())
    };
    [
        of("alone, A uses only 30 Gbit/s", near(30.0), &alone),
        of("B can use at least the 30 Gbit/s that it is guaranteed", 30.0 - DIGIT..=f64::INFINITY, &b),
        of("when A has finished, B uses all up to 60 Gbit/s", near(60.0), &later),
    ]
}

/// Returns the statement about the total of both services out of 60.
fn together(data: &Data, case: usize, shares: &[Reading]) -> Statement {
    let [a, b] = data.both(case);
    let farther = farther_from_30(&a, &b);
    let by: Vec<String> = shares
        .iter()
        .map(|reading| format!("{}: {:.0} and {:.0}", reading.name, reading.both[0], reading.both[1]))
        .collect();
    let [guaranteed, other] = data.both(CASES.len() - 1);
    Statement::mean_within(
        "6.3, Fig. 14",
        "with both, B has its full 30 Gbit/s, and A 30 of the 60",
        near(30.0),
        farther,
        format!("A {}, B {} Gbit/s", text(&a), text(&b)),
    )
    .reading(CASES[case].name())
    .tested(format!(
        "How the excess is shared. Computed: {}. Section 3.1 shares \"what remains after all guarantees have been met\" by weights, and A has no \
         guarantee. With A's 30 guaranteed as well, A has {} and B {} Gbit/s here.",
        by.join("; "),
        text(&guaranteed),
        text(&other)
    ), farther_from_30(&guaranteed, &other))
}

/// Returns the rates whose mean is farther from 30 Gbit/s.
fn farther_from_30<'a>(a: &'a [f64], b: &'a [f64]) -> &'a [f64] {
    let off = |values: &[f64]| (mean(values) - 30.0).abs();
    if off(a) > off(b) { a } else { b }
}

/// Returns the statements about the convergence time.
fn rounds(data: &Data, case: usize, shares: &[Reading]) -> [Statement; 2] {
    let (rounds, name) = (data.converged(case), CASES[case].name());
    let of = |section: &'static str, claim_text: &str, most: f64| {
        let measured = format!(
            "{} rounds after B began both are within a tenth of what they have later, and stay there",
            text(&rounds)
        );
        Statement::mean_within(section, claim_text, 0.0..=most, &rounds, measured).reading(name.to_string())
    };
    let cause = format!(
        "The algorithm does converge in one invocation: what it computes from both demands, {:.0} and {:.0}, is what A and B have in the end with the \
         policy as printed. Before it a round measures what B uses, and the next one divides by that; 6.2 counts the \
         invocation alone.",
        shares[0].both[0], shares[0].both[1]
    );
    [
        of(
            "6",
            "rack brokers converge to the fair rates within a few seconds, at a round a second: at most 5 rounds",
            5.0,
        ),
        of("6.2", "at 10 rounds a second rack brokers converge in 100 ms, so in one", 1.0).supposed(cause),
    ]
}

/// Returns the statement about the waste of static limits.
fn caps(data: &Data) -> Statement {
    let used: Vec<f64> = data.capped.iter().map(|capped| 100.0 * capped / 60.0).collect();
    Statement::within(
        "6.3",
        "static limits of 3 Gbit/s for each of the ten instances of both services waste a large fraction of the uplinks if one is inactive: half",
        45.0..=55.0,
        &used,
        format!(
            "B alone uses {:.0} % of 60 Gbit/s under EyeQ with such limits, and {:.0} % under Parley",
            mean(&used),
            100.0 * mean(&data.later(0)) / 60.0
        ),
    )
    .remark("Ten times 3 of 60 Gbit/s, to a tenth of it.")
}

/// Shares by a reading of the policy, in Gbit/s.
#[derive(Clone, Debug)]
struct Reading {
    name: &'static str,
    /// A alone, A and B, B alone.
    alone: f64,
    both: [f64; 2],
    later: f64,
}

/// Returns the computed shares by each reading: minimum and maximum of A and of B in Gbit/s, and the sharing of the
/// excess.
fn shares() -> Vec<Reading> {
    let all: [(&str, MinMax, Share); 3] = [
        ("weights share the excess above the minima (3.1)", [(0.0, Some(30.0)), (30.0, None)], excess),
        ("the same with A's 30 guaranteed", [(30.0, Some(30.0)), (30.0, None)], excess),
        ("minima as floors of one level, min <= level <= max", [(0.0, Some(30.0)), (30.0, None)], floors),
    ];
    all.map(|(name, terms, share)| Reading {
        name,
        alone: share(terms, [true, false])[0],
        both: share(terms, [true, true]),
        later: share(terms, [false, true])[1],
    })
    .to_vec()
}

type MinMax = [(f64, Option<f64>); 2];
type Share = fn(MinMax, [bool; 2]) -> [f64; 2];

/// As Parley's brokers here compute them.
fn excess(terms: MinMax, active: [bool; 2]) -> [f64; 2] {
    let rate = |gbit: f64| Rate::from_bits_per_second((gbit * 1e9) as u64);
    let build = || {
        let mut tree = Tree::new(ServiceTerms::default()).ok()?;
        let leaves = terms.map(|(min, max)| {
            tree.add(Tree::ROOT, ServiceTerms { min: rate(min), max: max.map(rate), ..ServiceTerms::default() }).ok()
        });
        let mut demands = vec![Rate::ZERO; tree.len()];
        for (leaf, _) in leaves.iter().zip(active).filter(|(_, active)| *active) {
            demands[(*leaf)?.index()] = Rate::from_gbit(100);
        }
        let mut shares = Shares::default();
        shares.compute(&tree, Rate::from_gbit(60), &demands);
        Some([shares.share(leaves[0]?), shares.share(leaves[1]?)].map(|share| share.bits_per_second() as f64 / 1e9))
    };
    build().unwrap_or([f64::NAN; 2])
}

/// Returns max-min shares with minima as floors: all get one level, but no less than their minimum and no more than
/// their maximum.
fn floors(terms: MinMax, active: [bool; 2]) -> [f64; 2] {
    let at = |level: f64| {
        let mut shares = [0.0; 2];
        for (share, ((min, max), _)) in
            shares.iter_mut().zip(terms.into_iter().zip(active)).filter(|(_, (_, active))| *active)
        {
            *share = level.clamp(min, max.unwrap_or(f64::INFINITY));
        }
        shares
    };
    let (mut low, mut high) = (0.0, 60.0);
    for _ in 0..60 {
        let level = f64::midpoint(low, high);
        if at(level).iter().sum::<f64>() > 60.0 { high = level } else { low = level }
    }
    at(low)
}

fn table(shares: &[Reading]) -> Table {
    let columns = ["reading of the policy", "A alone", "A and B", "B alone"];
    let rows = shares.iter().map(|reading| {
        let [a, b] = reading.both;
        vec![
            reading.name.to_owned(),
            format!("{:.0}", reading.alone),
            format!("{a:.0} and {b:.0}"),
            format!("{:.0}", reading.later),
        ]
    });
    Table {
        name: "policy".to_owned(),
        title: "Computed shares for each reading of the policy, Gbit/s; the paper has 30, 30 and 30, 60".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

fn panel(case: Case, runs: &[Rates]) -> Panel {
    let both: Vec<&Rates> = runs.iter().collect();
    let terms = if case.terms == Guaranteed::Printed { "printed" } else { "both" };
    let marks = if case.hearing == MarkFeedback::Printed { "" } else { "-released" };
    Panel::new(
        format!("{terms}{marks}"),
        case.name(),
        (Axis::linear("time", "rounds of the rack brokers"), Axis::linear("received", "Gbit/s")),
        Form::Joined,
        curves(&both),
    )
}

fn notes(round: Time) -> Vec<String> {
    vec![
        format!("Rack brokers work every {round} (Table 1: 1 s; 6.2: 10 times a second is possible). In the paper B begins after 300 s."),
        "All flows of B begin at once. In the paper it takes them 50 s to ramp up, and Parley converges faster than that; how they ramp up is not \
         said, so that is not compared."
            .to_owned(),
        "Minima as floors of max-min, one level for all between their minima and maxima, give the printed 30 and 30 with the policy as it is \
         printed. That contradicts 3.1, where weights share \"excess bandwidth (what remains after all guarantees have been met)\", and is shown as a \
         reading: it is not what Parley's brokers here compute."
            .to_owned(),
    ]
}

/// Observed time of static limits, in rounds.
const CAPPED: f64 = 3.0;

/// A case, or static limits with B alone.
fn rack(case: Option<Case>, round: Time, size: Size) -> Result<Scenario, Failed> {
    let network = size.network()?;
    let thirty = Some(size.gbit(30));
    // EyeQ's static limits: 3 Gbit/s at each of the receivers (6.3).
    let cap = if case.is_none() { received(None, Some(Rate::from_gbit(3))) } else { free() };
    let machine = policy(&network, PolicyLevel::Machine, None, vec![service("A", 7001, cap), service("B", 7002, cap)])?;
    let guaranteed = case.is_some_and(|case| case.terms == Guaranteed::Both);
    let a = received(thirty.filter(|_| guaranteed), thirty);
    let services = vec![service("A", 7001, a), service("B", 7002, received(thirty, None))];
    let rack = policy(&network, PolicyLevel::Rack, Some(size.gbit(60)), services)?;
    let all = racks(&network);
    let (receivers, senders) = all.split_last().ok_or_else(|| Failed::broken("no racks"))?;
    let ends = FlowEndpoints::AllToAll(senders.concat(), receivers.clone());
    let time = |rounds: f64| Time::from_nanos((rounds * round.as_nanos() as f64) as u64);
    let mut run = scenario("fig. 14", network.clone(), time(if case.is_some() { END } else { CAPPED }));
    let system = case.map_or(System::Eyeq(MarkFeedback::Printed), |case| System::Parley(case.hearing));
    system.share(&mut run, machine, rack, Time::from_micros(500), round);
    run.record.series = Some(time(QUARTER));
    let mut first = endless("A", ends.clone());
    let on = Period { from: Time::ZERO, on: time(FIRST_ENDS), off: None };
    first.active = Some(Schedule { periods: vec![on] });
    let mut second = endless("B", ends);
    run.traffic = if case.is_some() {
        second.start = time(SECOND);
        vec![first, second]
    } else {
        vec![second]
    };
    Ok(run)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    #[test]
    fn floors_give_the_printed_shares_and_weights_of_the_excess_do_not() {
        let all = shares();
        assert_eq!(
            all.iter().map(|reading| reading.both.map(f64::round)).collect::<Vec<_>>(),
            [[15.0, 45.0], [30.0; 2], [30.0; 2]]
        );
        assert!(all.iter().all(|reading| reading.alone.round() == 30.0 && reading.later.round() == 60.0));
    }

    /// Returns the traffic received by A and B: A alone, both, B alone; with `settling` B has half of its share in
    /// the first rounds.
    fn rates(alone: f64, both: [f64; 2], later: f64, settling: f64) -> Rates {
        let times = (0..72).map(|quarter| f64::from(quarter) * QUARTER + QUARTER / 2.0);
        let of = |service: usize| {
            times.clone().map(move |at| match at {
                at if at < SECOND => (at, [alone, 0.0][service]),
                at if at < SECOND + settling => (at, both[service] / 2.0),
                at if at < FIRST_ENDS => (at, both[service]),
                _ => (at, [0.0, later][service]),
            })
        };
        [of(0).collect(), of(1).collect()]
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let good = || rates(30.0, [30.0, 30.0], 60.0, 1.0);
        let data = Data { runs: CASES.map(|_| vec![good(), good()]).to_vec(), capped: vec![30.0] };
        let with = |alone: f64, both: [f64; 2], later: f64, settling: f64| {
            move |data: &mut Data| {
                data.runs.iter_mut().flatten().for_each(|run| *run = rates(alone, both, later, settling))
            }
        };
        assert_each_can_change(
            &data,
            |data| statements(data, &shares()),
            &[
                ("A alone has more", &with(31.0, [30.0, 30.0], 60.0, 1.0)),
                ("A alone has less", &with(29.0, [30.0, 30.0], 60.0, 1.0)),
                ("B has more", &with(30.0, [15.0, 45.0], 60.0, 1.0)),
                ("B has less", &with(30.0, [30.0, 29.0], 60.0, 1.0)),
                ("B alone has more", &with(30.0, [30.0, 30.0], 61.0, 1.0)),
                ("B alone has less", &with(30.0, [30.0, 30.0], 50.0, 1.0)),
                ("it takes long", &with(30.0, [30.0, 30.0], 60.0, 5.5)),
                ("it takes two rounds", &with(30.0, [30.0, 30.0], 60.0, 2.0)),
                ("static limits waste nothing", &|data: &mut Data| data.capped = vec![60.0]),
                ("static limits let nothing pass", &|data: &mut Data| data.capped.clear()),
            ],
        );
    }
}
