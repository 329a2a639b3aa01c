//! Fig. 14: two services share a rack's links, by what the rack policy says (6.3, throughput protection).

use wayleave_contracts::PolicyLevel;
use wayleave_scenarios::{Arrivals, Ends, FlowSizes, Reliable, Scenario};
use wayleave_units::{Bytes, Rate, Time};

use super::testbed::{
    System, T_RACK, endless, flows, free, mean_between, network, policy, racks, received, scenario, service, simulate,
    testbed, throughput,
};
use crate::data::{Axis, Centre, Figure, Form, Panel, Point, Series};
use crate::run::{Failed, Run};
use crate::statement::Statement;

/// How the text's policy is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reading {
    /// As it stands: A at most 30 Gbit/s, B at least 30. Weights share the excess above the minima (3.1).
    Printed,
    /// A is guaranteed its 30 as well.
    BothGuaranteed,
}

impl Reading {
    const fn name(self) -> &'static str {
        match self {
            Self::Printed => "A at most 30, B at least 30",
            Self::BothGuaranteed => "A 30 guaranteed as well",
        }
    }
}

/// In rounds of rack brokers: B begins; A has sent all that it has some rounds later; the end.
const SECOND: f64 = 6.0;
const END: f64 = 26.0;

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let round = run.choose(T_RACK[0], T_RACK[1]);
    let rounds = |points: Vec<(f64, f64)>| -> Vec<(f64, f64)> {
        points.into_iter().map(|(at, rate)| (at * 1e9 / round.as_nanos() as f64, rate)).collect()
    };
    let seeds = run.seeds(1, 1);
    let readings = [Reading::Printed, Reading::BothGuaranteed];
    let jobs: Vec<(Reading, u64)> =
        readings.iter().flat_map(|&reading| seeds.iter().map(move |&seed| (reading, seed))).collect();
    let rates = run.map(&jobs, |&(reading, seed)| {
        let outcome = simulate(&rack(reading, round)?, seed)?;
        Ok([throughput(&outcome, 0), throughput(&outcome, 1)].map(rounds))
    })?;
    let of =
        |reading: Reading| jobs.iter().zip(&rates).filter(move |((of, _), _)| *of == reading).map(|(_, rates)| rates);
    let panel = |reading: Reading| {
        let runs: Vec<_> = of(reading).collect();
        let series = (0..2).map(|service| {
            let points = (0..runs.first().map_or(0, |run| run[service].len()))
                .map(|at| Point::of(runs[0][service][at].0, runs.iter().map(|run| run[service][at].1).collect()));
            Series { name: format!("service {}", ["A", "B"][service]), points: points.collect() }
        });
        Panel {
            name: match reading {
                Reading::Printed => "printed",
                Reading::BothGuaranteed => "both",
            }
            .to_owned(),
            title: reading.name().to_owned(),
            x: Axis::linear("time", "rounds of the rack brokers"),
            y: Axis::linear("received", "Gbit/s"),
            form: Form::Joined,
            centre: Centre::Mean,
            is_timing: false,
            bands: Vec::new(),
            series: series.collect(),
        }
    };
    let mut statements = Vec::new();
    for reading in readings {
        let all: Vec<_> = of(reading).collect();
        let mean = |service: usize, from: f64, to: f64| -> Vec<f64> {
            all.iter().map(|rates| mean_between(&rates[service], from, to)).collect()
        };
        let text = |values: &[f64]| values.iter().map(|value| format!("{value:.1}")).collect::<Vec<_>>().join(", ");
        // A broker's first report tells where counters stand, and two more until what it says is in force everywhere.
        let alone = mean(0, 3.5, SECOND);
        let (a, b) = (mean(0, SECOND + 3.5, SECOND + 6.0), mean(1, SECOND + 3.5, SECOND + 6.0));
        let later = mean(1, END - 4.0, END);
        let near = |values: &[f64], wanted: f64| values.iter().all(|value| (value / wanted - 1.0).abs() < 0.1);
        let name = reading.name();
        statements.push(Statement::claim(
            "6.3",
            format!("alone, A uses only 30 Gbit/s ({name})"),
            near(&alone, 30.0),
            format!("{} Gbit/s", text(&alone)),
        ));
        let shared = format!("A {}, B {} Gbit/s in the mean, of two and a half rounds", text(&a), text(&b));
        statements.push(
            Statement::claim(
                "6.3",
                format!("with both, B has its full 30 Gbit/s and A 30, within a tenth ({name})"),
                near(&a, 30.0) && near(&b, 30.0),
                shared.clone(),
            )
            .because(match reading {
                Reading::Printed => "By the printed policy A has no minimum, and weights share the excess above the minima (3.1): 15 and 45.",
                Reading::BothGuaranteed => "",
            }),
        );
        statements.push(Statement::claim(
            "6.3",
            format!("B has at least the 30 Gbit/s that it is guaranteed, within the precision of meters of a hundredth ({name})"),
            b.iter().all(|&rate| rate >= 29.7),
            shared,
        ));
        statements.push(Statement::claim(
            "6.3",
            format!("when A has finished, B uses all up to 60 Gbit/s ({name})"),
            near(&later, 60.0),
            format!("{} Gbit/s in the last four rounds", text(&later)),
        ));
    }
    let notes = vec![format!(
        "Rack brokers work every {round}. B begins in round 6 (after 300 s in the paper), with all flows at once (over 50 s in the paper)."
    )];
    let figure = Figure { statements, panels: readings.map(panel).to_vec(), seeds, notes, ..Figure::default() };
    Ok(testbed(figure)
        .with("network", "Fig. 11; one rack receives, the 80 hosts of the others send")
        .with(
            "traffic",
            "one long flow of each service from every sender to every receiver; A has a given amount to send",
        )
        .with("rates", "what arrived with headers, in intervals of a quarter of a round"))
}

fn rack(reading: Reading, round: Time) -> Result<Scenario, Failed> {
    let network = network()?;
    let thirty = Some(Rate::from_gbit(30));
    let a = match reading {
        Reading::Printed => received(None, thirty),
        Reading::BothGuaranteed => received(thirty, thirty),
    };
    let machine =
        policy(&network, PolicyLevel::Machine, None, vec![service("A", 7001, free()), service("B", 7002, free())])?;
    let services = vec![service("A", 7001, a), service("B", 7002, received(thirty, None))];
    let rack = policy(&network, PolicyLevel::Rack, Some(Rate::from_gbit(60)), services)?;
    let all = racks(&network);
    let (receivers, senders) = all.split_last().ok_or_else(|| Failed::broken("no racks"))?;
    let ends = Ends::AllToAll(senders.concat(), receivers.clone());
    let time = |rounds: f64| Time::from_nanos((rounds * round.as_nanos() as f64) as u64);
    let mut run = scenario("fig. 14", network.clone(), time(END));
    System::Parley.share(&mut run, machine, rack, Time::from_micros(500), round);
    run.record.series = Some(time(0.25));
    // As much as A sends in 15 rounds at 30 Gbit/s.
    let pairs = (senders.concat().len() * receivers.len()) as u64;
    let bytes = 30 * time(15.0).as_nanos() / 8 / pairs;
    let sizes = Some(FlowSizes::Fixed(Bytes::new(bytes)));
    let first = flows("A", ends.clone(), Reliable::new(Arrivals::Once, sizes));
    let mut second = endless("B", ends);
    second.start = time(SECOND);
    run.traffic = vec![first, second];
    Ok(run)
}
