//! Fig. 12: two receivers behind one congested link, whose machine shapers hear of marks only (6.1).

use std::sync::Arc;

use wayleave_contracts::PolicyLevel;
use wayleave_scenarios::{Buffering, Ends, Scenario, SharingChange, SharingEvent};
use wayleave_topology::builders::{LeafSpine, build};
use wayleave_units::{Bytes, Time};

use super::testbed::{
    System, T_RACK, cabling, endless, free, mean_between, policy, scenario, service, simulate, testbed, throughput,
};
use crate::data::{Axis, Centre, Figure, Form, Panel, Point, Series};
use crate::run::{Failed, Run};
use crate::statement::Statement;

/// When the second service begins, when T becomes 1 ms, and the end, in seconds; as in the paper, and for a quick look.
const PHASES: [[f64; 3]; 2] = [[40.0, 60.0, 80.0], [4.0, 8.0, 12.0]];
const SLOW: Time = Time::from_millis(1);

/// What the text leaves open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Reading {
    name: &'static str,
    /// Of B; A has one.
    flows: usize,
    /// What a queue may hold; as in the other figures if absent.
    buffer: Option<Bytes>,
}

/// 9 MB divided among 48 ports are 187 kB for each.
const READINGS: [Reading; 3] = [
    Reading { name: "one flow each", flows: 1, buffer: None },
    Reading { name: "one of A, eight of B", flows: 8, buffer: None },
    Reading { name: "187 kB a port", flows: 1, buffer: Some(Bytes::new(187_000)) },
];

/// A run: rates of A and B, and how many packets were lost.
struct Seen {
    rates: [Vec<(f64, f64)>; 2],
    lost: u64,
}

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let (seeds, phases) = (run.seeds(1, 1), run.choose(PHASES[0], PHASES[1]));
    let jobs: Vec<(Reading, u64)> =
        READINGS.iter().flat_map(|&reading| seeds.iter().map(move |&seed| (reading, seed))).collect();
    let seen = run.map(&jobs, |&(reading, seed)| {
        let outcome = simulate(&two_services(reading, phases)?, seed)?;
        let lost = outcome.queues.iter().map(|queue| queue.counts.drops).sum();
        Ok(Seen { rates: [throughput(&outcome, 0), throughput(&outcome, 1)], lost })
    })?;
    let mut figure = Figure { seeds: seeds.clone(), ..Figure::default() };
    for reading in READINGS {
        let of: Vec<&Seen> =
            jobs.iter().zip(&seen).filter(|((of, _), _)| *of == reading).map(|(_, seen)| seen).collect();
        add(&mut figure, reading, phases, &of);
    }
    if phases != PHASES[0] {
        figure.notes.push("Phases of 4 s in place of 40 and 20 s.".to_owned());
    }
    figure.notes.push(
        "With the buffer of the other figures few packets are lost, or none. The text says that TCP backs off as well, so \
         something was lost; how much a port could hold it does not say. 187 kB is a buffer of 9 MB in 48 equal parts."
            .to_owned(),
    );
    Ok(testbed(figure)
        .with("network", "racks of Fig. 11 with one link between the receiving rack and the spine, 10 Gbit/s")
        .with(
            "traffic",
            format!(
                "long flows: one of A; one of B, or eight, from {} s on; T is 200 us, from {} s on 1 ms",
                phases[0], phases[1]
            ),
        ))
}

/// What was seen with one reading.
fn add(figure: &mut Figure, reading: Reading, phases: [f64; 3], seen: &[&Seen]) {
    let both: Vec<&[Vec<(f64, f64)>; 2]> = seen.iter().map(|seen| &seen.rates).collect();
    let lost: u64 = seen.iter().map(|seen| seen.lost).sum();
    // Half a second to settle.
    let fairness = |from: f64, to: f64| -> Vec<f64> {
        both.iter().map(|rates| jain(&rates.each_ref().map(|rate| mean_between(rate, from + 0.5, to)))).collect()
    };
    // Of short intervals, so that shares that change to and fro do not look fair.
    let moment = |from: f64, to: f64| -> Vec<f64> {
        let of = |rates: &&[Vec<(f64, f64)>; 2]| {
            let pairs = rates[0].iter().zip(&rates[1]).filter(|((at, _), _)| (from + 0.5..to).contains(at));
            let all: Vec<f64> = pairs.map(|((_, one), (_, other))| jain(&[*one, *other])).collect();
            crate::stats::mean(&all)
        };
        both.iter().map(of).collect()
    };
    let (quick, slow) = (fairness(phases[0], phases[1]), fairness(phases[1], phases[2]));
    let (quick_moment, slow_moment) = (moment(phases[0], phases[1]), moment(phases[1], phases[2]));
    let text = |values: &[f64]| values.iter().map(|value| format!("{value:.4}")).collect::<Vec<_>>().join(", ");
    let series = (0..2).map(|service| {
        let points = (0..both.first().map_or(0, |rates| rates[service].len()))
            .map(|at| Point::of(both[0][service][at].0, both.iter().map(|rates| rates[service][at].1).collect()));
        Series { name: format!("service {}", ["A", "B"][service]), points: points.collect() }
    });
    let panel = Panel {
        name: reading.name.replace([' ', ','], "-").replace("--", "-"),
        title: reading.name.to_owned(),
        x: Axis::linear("time", "s"),
        y: Axis::linear("received", "Gbit/s"),
        form: Form::Joined,
        centre: Centre::Mean,
        is_timing: false,
        bands: Vec::new(),
        series: series.collect(),
    };
    let name = reading.name;
    figure.statements.push(
        Statement::claim(
            "6.1",
            format!("with T = 200 us the link is shared almost equally: Jain's fairness index is 0.99 ({name})"),
            quick.iter().all(|&index| index >= 0.985),
            format!(
                "{} over the whole phase; in intervals of 100 ms {} in the mean",
                text(&quick),
                text(&quick_moment)
            ),
        )
        .because(
            "Packets are lost where a port holds little, and none need be where it holds much; how much it could hold is not said.",
        ),
    );
    figure.statements.push(
        Statement::claim(
            "6.1",
            format!("with T = 1 ms the machine shaper is too slow to guarantee fair shares ({name})"),
            slow_moment.iter().all(|&index| index < 0.985),
            format!(
                "{} over the whole phase; in intervals of 100 ms {} in the mean; {lost} packets lost in the whole run",
                text(&slow),
                text(&slow_moment)
            ),
        )
        .because("Few packets are lost here, or none, so that TCP has little reason to back off: see the notes."),
    );
    figure.panels.push(panel);
}

/// Senders under two racks, receivers under the third.
fn two_services(reading: Reading, phases: [f64; 3]) -> Result<Scenario, Failed> {
    let cabling = cabling(4);
    let fabric = LeafSpine { leaves: 3, spines: 1, hosts_per_leaf: 2, parallel: 1, uplink_rate: None, cabling };
    let network = Arc::new(build::leaf_spine(&fabric).map_err(Failed::broken)?);
    let hosts: Vec<_> = network.hosts().collect();
    let services = || vec![service("A", 7001, free()), service("B", 7002, free())];
    let machine = policy(&network, PolicyLevel::Machine, None, services())?;
    let rack = policy(&network, PolicyLevel::Rack, None, services())?;
    let mut run = scenario("fig. 12", network, Time::from_nanos((phases[2] * 1e9) as u64));
    if let Some(buffer) = reading.buffer {
        run.switches.buffering = Buffering::EachQueue(buffer);
    }
    System::EyeqWithMarks.share(&mut run, machine, rack, Time::from_micros(200), T_RACK[0]);
    if let Some(sharing) = &mut run.sharing {
        let at = Time::from_nanos((phases[1] * 1e9) as u64);
        sharing.events.push(SharingEvent { at, what: SharingChange::Interval(SLOW) });
    }
    run.record.series = Some(Time::from_millis(100));
    let mut second = endless("B", Ends::Pairs(vec![(hosts[2], hosts[5]); reading.flows]));
    second.start = Time::from_nanos((phases[0] * 1e9) as u64);
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
