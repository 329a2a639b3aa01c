//! Fig. 12: two receivers behind one congested link, whose machine shapers hear of marks only (6.1).

use std::sync::Arc;

use wayleave_contracts::PolicyLevel;
use wayleave_scenarios::{Ends, Scenario, SharingChange, SharingEvent};
use wayleave_topology::builders::{Cabling, LeafSpine, build};
use wayleave_units::{Rate, Time};

use super::testbed::{
    System, T_RACK, endless, free, mean_between, policy, scenario, service, settings, simulate, throughput,
};
use crate::data::{Axis, Centre, Figure, Form, Panel, Point, Series};
use crate::run::{Failed, Run};
use crate::statement::Statement;

/// When the second service begins, when T becomes 1 ms, and the end, in seconds; 40, 60 and about 80 in the paper.
const PHASES: [f64; 3] = [4.0, 8.0, 12.0];
const SLOW: Time = Time::from_millis(1);

/// How many flows B has, which the text does not say; A has one.
const FLOWS: [usize; 2] = [1, 8];

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(3, 1);
    let jobs: Vec<(usize, u64)> =
        FLOWS.iter().flat_map(|&flows| seeds.iter().map(move |&seed| (flows, seed))).collect();
    let rates = run.map(&jobs, |&(flows, seed)| {
        let outcome = simulate(&two_services(flows)?, seed)?;
        Ok([throughput(&outcome, 0), throughput(&outcome, 1)])
    })?;
    let mut figure = Figure { seeds: seeds.clone(), ..Figure::default() };
    for flows in FLOWS {
        let both: Vec<[Vec<(f64, f64)>; 2]> =
            jobs.iter().zip(&rates).filter(|((of, _), _)| *of == flows).map(|(_, rates)| rates.clone()).collect();
        add(&mut figure, flows, &both);
    }
    figure.notes.push("Phases of 4 s in place of 40 and 20 s: shapers need milliseconds.".to_owned());
    Ok(settings(figure)
        .with("network", "racks of Fig. 11 with one link between the receiving rack and the spine, 10 Gbit/s")
        .with("traffic", "long flows: one of A; one of B, or eight, from 4 s on; T is 200 us, from 8 s on 1 ms"))
}

/// What was seen with so many flows of B.
fn add(figure: &mut Figure, flows: usize, both: &[[Vec<(f64, f64)>; 2]]) {
    // Half a second to settle.
    let fairness = |from: f64, to: f64| -> Vec<f64> {
        both.iter().map(|rates| jain(&rates.each_ref().map(|rate| mean_between(rate, from + 0.5, to)))).collect()
    };
    // Of short intervals, so that shares that change to and fro do not look fair.
    let moment = |from: f64, to: f64| -> Vec<f64> {
        let of = |rates: &[Vec<(f64, f64)>; 2]| {
            let pairs = rates[0].iter().zip(&rates[1]).filter(|((at, _), _)| (from + 0.5..to).contains(at));
            let all: Vec<f64> = pairs.map(|((_, one), (_, other))| jain(&[*one, *other])).collect();
            crate::stats::mean(&all)
        };
        both.iter().map(of).collect()
    };
    let (quick, slow) = (fairness(PHASES[0], PHASES[1]), fairness(PHASES[1], PHASES[2]));
    let (quick_moment, slow_moment) = (moment(PHASES[0], PHASES[1]), moment(PHASES[1], PHASES[2]));
    let text = |values: &[f64]| values.iter().map(|value| format!("{value:.4}")).collect::<Vec<_>>().join(", ");
    let series = (0..2).map(|service| {
        let points = (0..both.first().map_or(0, |rates| rates[service].len()))
            .map(|at| Point::of(both[0][service][at].0, both.iter().map(|rates| rates[service][at].1).collect()));
        Series { name: format!("service {}", ["A", "B"][service]), points: points.collect() }
    });
    let panel = Panel {
        name: format!("flows-{flows}"),
        title: format!("Flows of A: 1, of B: {flows}"),
        x: Axis::linear("time", "s"),
        y: Axis::linear("received", "Gbit/s"),
        form: Form::Joined,
        centre: Centre::Mean,
        is_timing: false,
        bands: Vec::new(),
        series: series.collect(),
    };
    let with = if flows == 1 { "one flow each".to_owned() } else { format!("one flow of A and {flows} of B") };
    figure.statements.push(Statement::claim(
        "6.1",
        format!("with T = 200 us the link is shared almost equally: Jain's fairness index is 0.99 ({with})"),
        quick.iter().all(|&index| index >= 0.985),
        format!("{} over the whole phase; in intervals of 100 ms {} in the mean", text(&quick), text(&quick_moment)),
    ));
    figure.statements.push(
        Statement::claim(
            "6.1",
            format!("with T = 1 ms the machine shaper is too slow to guarantee fair shares ({with})"),
            slow_moment.iter().all(|&index| index < 0.985),
            format!("{} over the whole phase; in intervals of 100 ms {} in the mean", text(&slow), text(&slow_moment)),
        )
        .because(
            "Shapers with T = 1 ms still share this link equally here. The round trip is tens of microseconds and nothing but these flows is \
             there; what made TCP back off in the testbed is not said.",
        ),
    );
    figure.panels.push(panel);
}

/// Senders under two racks, receivers under the third.
fn two_services(flows: usize) -> Result<Scenario, Failed> {
    let cabling = Cabling { rate: Rate::from_gbit(10), propagation: Time::from_nanos(500), ..Cabling::default() };
    let fabric = LeafSpine { leaves: 3, spines: 1, hosts_per_leaf: 2, parallel: 1, uplink_rate: None, cabling };
    let network = Arc::new(build::leaf_spine(&fabric).map_err(Failed::broken)?);
    let hosts: Vec<_> = network.hosts().collect();
    let services = || vec![service("A", 7001, free()), service("B", 7002, free())];
    let machine = policy(&network, PolicyLevel::Machine, None, services())?;
    let rack = policy(&network, PolicyLevel::Rack, None, services())?;
    let mut run = scenario("fig. 12", network, Time::from_nanos((PHASES[2] * 1e9) as u64));
    System::EyeqWithMarks.share(&mut run, machine, rack, Time::from_micros(200), T_RACK[0]);
    if let Some(sharing) = &mut run.sharing {
        let at = Time::from_nanos((PHASES[1] * 1e9) as u64);
        sharing.events.push(SharingEvent { at, what: SharingChange::Interval(SLOW) });
    }
    run.record.series = Some(Time::from_millis(100));
    let mut second = endless("B", Ends::Pairs(vec![(hosts[2], hosts[5]); flows]));
    second.start = Time::from_nanos((PHASES[0] * 1e9) as u64);
    run.traffic = vec![endless("A", Ends::Pairs(vec![(hosts[0], hosts[4])])), second];
    Ok(run)
}

/// Jain's fairness index: 1 if all are alike, 1/n if one has everything.
fn jain(rates: &[f64]) -> f64 {
    let (sum, squares): (f64, f64) = (rates.iter().sum(), rates.iter().map(|rate| rate * rate).sum());
    sum * sum / (rates.len() as f64 * squares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_index_is_one_for_equals_and_one_half_for_one_of_two() {
        assert_eq!((jain(&[3.0, 3.0]), jain(&[5.0, 0.0])), (1.0, 0.5));
    }
}
