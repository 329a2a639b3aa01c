//! Fig. 5: a flow comes to three paths, of which the least used is not the one that can carry it (section 2.2, case 2).

use std::sync::Arc;

use wayleave_scenarios::{FlowArrivals, FlowEndpoints, Reliable, Scenario, SendSchedule};
use wayleave_topology::Network;
use wayleave_topology::builders::{Cabling, LeafSpine, build};
use wayleave_units::{Rate, Time};

use super::readings::{Curve, Span, listed, mean_in, missed, over_time, rates, thinned};
use super::systems::System;
use super::testbed::{Tenant, flows, scenario, servers, settings};
use crate::catalogue::{Entry, UFAB};
use crate::checkpoint::stored;
use crate::data::{Figure, Panel, Table};
use crate::failed::Failed;
use crate::run::Run;
use crate::simulator::Simulator;
use crate::statement::Statement;
use crate::stats::mean;

pub(crate) const ENTRY: Entry = Entry {
    id: "ufab-fig5",
    runs: "three paths",
    paper: &UFAB,
    place: "Fig. 5",
    title: "A new flow on three paths with different load and subscription",
    full_runs: 10,
    full_seconds: 8,
    quick_seconds: 4,
    measure,
    #[cfg(test)]
    check: tests::every_verdict_can_change,
};

/// Minimum and demand of F1 to F4 in Gbit/s; no demand is unlimited. P1, P2 and P3 are subscribed to 90, 80 and 40 %
/// and used to 80, 90 and 100 % (2.2), which determines F1 to F3. The text does not give F4's values: it has to fit
/// beside F3 (up to 5.5 of 9.5 Gbit/s), and not beside F2 (above 1.5).
const FLOWS: [(u64, Option<u64>); 4] = [(9, Some(8)), (8, Some(9)), (4, None), (5, None)];
/// "At 100ms, F4 enters into the network" (2.2). The others come one by one before, so that each finds an empty path.
const STARTS_MS: [u64; 4] = [0, 10, 20, 100];
const DURATION: Time = Time::from_millis(200);
const BIN: Time = Time::from_micros(200);
/// The last part of the run, in ms: "until the end".
const LATE: Span = (150.0, 200.0);
/// Fraction of the owed rate that counts as kept (5.1: target utilisation).
const TARGET: f64 = 0.95;
/// A frame of 1,538 B on four links of 10 Gbit/s, an acknowledgement of 84 B back, and eight times this are the 24 us of 2.2.
const LINK: Time = Time::from_nanos(2_351);

/// One run of a system.
#[derive(Clone, Debug)]
struct Case {
    /// Of each flow, over time.
    rates: [Curve; 4],
    /// Traffic of each flow in the last part, in Gbit/s.
    late: [f64; 4],
    /// Shortfall of each flow from its minimum in that part, in Gbit/s.
    missed: [f64; 4],
    /// Fraction of intervals of 2 ms after its start in which F4 has its minimum.
    f4_served: f64,
}

stored!(Case { rates, late, missed, f4_served });

impl Case {
    fn has(&self, flow: usize) -> bool {
        let (min, wanted) = FLOWS[flow];
        let owed = wanted.map_or(min, |wanted| wanted.min(min)) as f64;
        self.missed[flow] <= (1.0 - TARGET) * owed
    }
}

/// All runs of a system.
#[derive(Clone, Debug)]
struct Row {
    system: System,
    cases: Vec<Case>,
}

const SYSTEMS: [System; 5] = [System::Ufab, System::PwcRecommended, System::Pwc, System::PwcTight, System::Elastic];

fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(ENTRY.full_runs, 2);
    let found = run.gather(ENTRY.id, (&SYSTEMS, &seeds), |&system, seed| case(run.simulator(), system, seed))?;
    let rows: Vec<Row> = SYSTEMS.into_iter().zip(found).map(|(system, cases)| Row { system, cases }).collect();
    let figure = Figure {
        statements: statements(&rows),
        panels: panels(&rows),
        tables: vec![table(&rows)],
        seeds,
        notes: NOTES.map(str::to_owned).to_vec(),
        ..Figure::default()
    };
    Ok(settings(figure)
        .with("network", "two racks joined by three spines, which are the paths P1 to P3; 10 Gbit/s, base round trip 24 us")
        .with("flows", "minimum and demand in Gbit/s: F1 9 and 8, F2 8 and 9, F3 4 and everything, F4 5 and everything; each with hosts of its own")
        .with("time", "F1 to F3 come at 0, 10 and 20 ms, F4 at 100 ms; measured from 150 ms to 200 ms"))
}

const NOTES: [&str; 3] = [
    "The text gives what the paths are subscribed and used to, not what F4 is guaranteed: 5 Gbit/s fit beside F3 only.",
    "Which path a flow is on is not recorded; it follows from rates, since no two of F1, F2 and F4 fit on one path.",
    "Pairs exchange a packet every 8 ms before their flows begin where Clove chooses, so that it knows the paths: without, F1 to F3 draw their first one at random.",
];

fn network() -> Result<Arc<Network>, Failed> {
    let cabling = Cabling { rate: Rate::from_gbit(10), propagation: LINK, ..Cabling::default() };
    let fabric = LeafSpine { leaves: 2, spines: 3, hosts_per_leaf: 4, cabling, ..LeafSpine::default() };
    build::leaf_spine(&fabric).map(Arc::new).map_err(Failed::broken)
}

fn case(simulator: &Simulator, system: System, seed: u64) -> Result<Case, Failed> {
    let network = network()?;
    let servers = servers(&network);
    let name = |flow: usize| format!("f{}", flow + 1);
    let ends = |flow: usize| (servers[flow], servers[flow + 4]);
    let tenants: Vec<Tenant> = (0..4)
        .map(|flow| Tenant {
            name: name(flow),
            min: Rate::from_gbit(FLOWS[flow].0),
            hosts: vec![ends(flow).0, ends(flow).1],
        })
        .collect();
    let mut run: Scenario = scenario("three paths", &network, system, &tenants, (DURATION, BIN))?;
    for flow in 0..4 {
        // Demand is payload; the text's shares are of the line.
        let send_schedule = FLOWS[flow]
            .1
            .map(|gbit| SendSchedule::Rate(Rate::from_bits_per_second(gbit * 1_000_000_000 / 1_538 * 1_460)));
        let reliable = Reliable { send_schedule, ..Reliable::new(FlowArrivals::Once, None) };
        let mut traffic = flows(&name(flow), FlowEndpoints::Pairs(vec![ends(flow)]), reliable);
        traffic.start = Time::from_millis(STARTS_MS[flow]);
        run.traffic.push(traffic);
    }
    system.open_pairs(&mut run);
    let outcome = simulator.run(&run, seed)?;
    let curves = [0, 1, 2, 3].map(|flow| rates(&outcome, flow));
    let f4: Vec<f64> =
        thinned(&curves[3], 10).into_iter().filter(|(at, _)| *at > STARTS_MS[3] as f64).map(|(_, rate)| rate).collect();
    let served = f4.iter().filter(|rate| **rate >= TARGET * FLOWS[3].0 as f64).count();
    Ok(Case {
        late: [0, 1, 2, 3].map(|flow| mean_in(&curves[flow], LATE)),
        missed: [0, 1, 2, 3].map(|flow| mean_in(&missed(&outcome, &name(flow)), LATE)),
        f4_served: served as f64 / f4.len().max(1) as f64,
        rates: curves,
    })
}

fn statements(rows: &[Row]) -> Vec<Statement> {
    let of = |system: System, value: &dyn Fn(&Case) -> f64| -> Vec<f64> {
        rows.iter().filter(|row| row.system == system).flat_map(|row| row.cases.iter().map(value)).collect()
    };
    let kept = |system: System| of(system, &|case| (0..4).filter(|&flow| case.has(flow)).count() as f64);
    let satisfied = kept(System::Ufab);
    let missing = |system: System, flows: &[usize]| {
        of(system, &|case| flows.iter().filter(|&&flow| !case.has(flow)).count() as f64)
    };
    let (stuck, never) = (missing(System::PwcRecommended, &[0]), missing(System::Pwc, &[1, 3]));
    let served = of(System::Pwc, &|case| 100.0 * case.f4_served);
    let all_four = |system: System| {
        let kept = kept(system);
        format!("{} of {} runs", kept.iter().filter(|count| **count == 4.0).count(), kept.len())
    };
    vec![
        Statement::within(
            "2.2, 2.3, Fig. 5d",
            "uFAB is near ideal: F4 goes to P3, and all four flows have their minima",
            4.0..=4.0,
            &satisfied,
            format!("all four in {}", all_four(System::Ufab)),
        ),
        Statement::mean_within(
            "2.2, Fig. 5b",
            "PicNIC'+WCC+Clove with the recommended gap of 200 us leaves F4 beside F1, whose guarantee is persistently missed",
            1.0..=1.0,
            &stuck,
            format!("F1 misses it until the end in {} of {} runs", stuck.iter().sum::<f64>(), stuck.len()),
        )
        .ruled_out(["the gap (the table has 36 us and two frames as well)"]),
        Statement::mean_within(
            "2.2, Fig. 5c",
            "with a gap of 36 us F4 oscillates, and neither F4 nor F2 gets its guarantee",
            2.0..=2.0,
            &never,
            format!(
                "of both {} miss it until the end; F4 has it for {} % of the time after it came; all four flows have theirs in {}",
                listed(&never, 0),
                listed(&served, 0),
                all_four(System::Pwc),
            ),
        )
        .tested(format!(
            "the gap: with one of two frames {} of F2 and F4 miss their minima, F4 has its own for {} % of the time",
            listed(&missing(System::PwcTight, &[1, 3]), 0),
            listed(&of(System::PwcTight, &|case| 100.0 * case.f4_served), 0),
        ), &missing(System::PwcTight, &[1, 3])),
    ]
}

fn panels(rows: &[Row]) -> Vec<Panel> {
    let curve = |(number, curve): (usize, &Curve)| (format!("F{number}"), thinned(curve, 10));
    let panel =
        |row: &Row| row.cases.first().map(|case| over_time("flows", row.system, (1..).zip(&case.rates).map(curve)));
    rows.iter().filter_map(panel).collect()
}

fn table(rows: &[Row]) -> Table {
    let cells = rows.iter().map(|row| {
        let late = |flow: usize| mean(&row.cases.iter().map(|case| case.late[flow]).collect::<Vec<_>>());
        let kept = |flow: usize| row.cases.iter().filter(|case| case.has(flow)).count();
        let cell = |flow: usize| format!("{:.1} Gbit/s, minimum in {} of {}", late(flow), kept(flow), row.cases.len());
        std::iter::once(row.system.name().to_owned()).chain((0..4).map(cell)).collect()
    });
    Table {
        name: "late".to_owned(),
        title: "From 150 ms to 200 ms: throughput of flows, and runs in which they reach their minimum".to_owned(),
        columns: ["system", "F1", "F2", "F3", "F4"].map(str::to_owned).to_vec(),
        rows: cells.collect(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let case = |missed: [f64; 4]| Case { rates: Default::default(), late: [1.0; 4], missed, f4_served: 0.0 };
        let row = |(system, missed)| Row { system, cases: vec![case(missed); 3] };
        let missed = [[0.0; 4], [2.0, 0.0, 0.0, 2.0], [0.0, 2.0, 0.0, 2.0], [0.0; 4], [0.0; 4]];
        let rows: Vec<Row> = SYSTEMS.into_iter().zip(missed).map(row).collect();
        let changed = |row: usize, flow: usize, missed: f64| {
            move |rows: &mut Vec<Row>| rows[row].cases.iter_mut().for_each(|case| case.missed[flow] = missed)
        };
        // Each range is one number, which counts can only leave on one side: both ends turn the same verdict.
        assert_each_can_change(
            &rows,
            |rows| statements(rows),
            &[
                ("F1 misses its minimum under uFAB", &changed(0, 0, 5.0)),
                ("F4 misses its minimum under uFAB", &changed(0, 3, 5.0)),
                ("F1 is served beside F4", &changed(1, 0, 0.0)),
                ("F1 has its minimum exactly", &changed(1, 0, 0.1)),
                ("F2 is served", &changed(2, 1, 0.0)),
                ("F4 is served", &changed(2, 3, 0.0)),
            ],
        );
    }
}
