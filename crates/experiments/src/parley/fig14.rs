//! Fig. 14: two services share a rack's links, by what the rack policy says (6.3, throughput protection).

use wayleave_contracts::PolicyLevel;
use wayleave_scenarios::{Arrivals, Ends, FlowSizes, Reliable, Scenario};
use wayleave_units::{Bytes, Rate, Time};

use super::testbed::{
    System, endless, flows, free, mean_between, network, policy, racks, received, scenario, service, settings,
    simulate, throughput,
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

/// Where things happen, in seconds: B begins; A has sent all that it has at 30 Gbit/s until then and half of it afterwards.
struct Phases {
    second: f64,
    end: f64,
    /// Links and policies, of the paper's.
    scale: u64,
}

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let phases = run.choose(Phases { second: 6.0, end: 26.0, scale: 1 }, Phases { second: 6.0, end: 26.0, scale: 10 });
    let seeds = run.seeds(1, 1);
    let readings = [Reading::Printed, Reading::BothGuaranteed];
    let jobs: Vec<(Reading, u64)> =
        readings.iter().flat_map(|&reading| seeds.iter().map(move |&seed| (reading, seed))).collect();
    let rates = run.map(&jobs, |&(reading, seed)| {
        let outcome = simulate(&rack(reading, &phases)?, seed)?;
        Ok([throughput(&outcome, 0), throughput(&outcome, 1)]
            .map(|rates| rates.into_iter().map(|(at, rate)| (at, rate * phases.scale as f64)).collect::<Vec<_>>()))
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
            title: format!("At the receiving rack: {}, both 60 Gbit/s", reading.name()),
            x: Axis::linear("time", "s"),
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
        // Two seconds to settle.
        let alone = mean(0, 2.0, phases.second);
        let (a, b) =
            (mean(0, phases.second + 3.0, phases.second + 7.0), mean(1, phases.second + 3.0, phases.second + 7.0));
        let later = mean(1, phases.end - 4.0, phases.end);
        let near = |values: &[f64], wanted: f64| values.iter().all(|value| (value / wanted - 1.0).abs() < 0.1);
        let name = reading.name();
        statements.push(Statement::claim(
            "6.3",
            format!("alone, A uses only 30 Gbit/s ({name})"),
            near(&alone, 30.0),
            format!("{} Gbit/s", text(&alone)),
        ));
        statements.push(
            Statement::claim(
                "6.3",
                format!("with both, B has its full 30 Gbit/s and A 30 ({name})"),
                near(&a, 30.0) && near(&b, 30.0),
                format!("A {}, B {} Gbit/s", text(&a), text(&b)),
            )
            .because("Weights share the excess above the minima (3.1): 30 Gbit/s are B's, and of the other 30 each gets half."),
        );
        statements.push(Statement::claim(
            "6.3",
            format!("B is never below its 30 Gbit/s ({name})"),
            b.iter().all(|&rate| rate > 27.0),
            format!("{} Gbit/s", text(&b)),
        ));
        statements.push(Statement::claim(
            "6.3",
            format!("when A has finished, B uses all up to 60 Gbit/s ({name})"),
            near(&later, 60.0),
            format!("{} Gbit/s in the last four seconds", text(&later)),
        ));
    }
    let mut notes = vec![
        "Seconds in place of minutes: B begins after 6 s (300 s in the paper), and its flows all at once (over 50 s in the paper)."
            .to_owned(),
    ];
    if phases.scale > 1 {
        notes.push(
            "Quick: links and policies have a tenth of the rate; what is shown is ten times what was seen.".to_owned(),
        );
    }
    let figure = Figure { statements, panels: readings.map(panel).to_vec(), seeds, notes, ..Figure::default() };
    Ok(settings(figure)
        .with("network", "Fig. 11; one rack receives, the 80 hosts of the others send")
        .with(
            "traffic",
            "one long flow of each service from every sender to every receiver; A has a given amount to send",
        )
        .with("rates", "received payload with headers, in intervals of 250 ms"))
}

fn rack(reading: Reading, phases: &Phases) -> Result<Scenario, Failed> {
    let part = |gbit: u64| Rate::from_bits_per_second(gbit * 1_000_000_000 / phases.scale);
    let network = network(part(10))?;
    let thirty = Some(part(30));
    let a = match reading {
        Reading::Printed => received(None, thirty),
        Reading::BothGuaranteed => received(thirty, thirty),
    };
    let machine =
        policy(&network, PolicyLevel::Machine, None, vec![service("A", 7001, free()), service("B", 7002, free())])?;
    let services = vec![service("A", 7001, a), service("B", 7002, received(thirty, None))];
    let rack = policy(&network, PolicyLevel::Rack, Some(part(60)), services)?;
    let all = racks(&network);
    let (receivers, senders) = all.split_last().ok_or_else(|| Failed::broken("no racks"))?;
    let ends = Ends::AllToAll(senders.concat(), receivers.clone());
    let time = |seconds: f64| Time::from_nanos((seconds * 1e9) as u64);
    let mut run = scenario("fig. 14", network.clone(), time(phases.end));
    run.sharing = System::Parley.sharing(machine, rack, Time::from_micros(500));
    run.record.series = Some(Time::from_millis(250));
    // As much as A sends at 30 Gbit/s until B begins, and at 15 to 30 Gbit/s for 8 s or half of that.
    let pairs = (senders.concat().len() * receivers.len()) as u64;
    let bytes = part(30).bits_per_second() / 8 * 10 / pairs;
    let sizes = Some(FlowSizes::Fixed(Bytes::new(bytes)));
    let first = flows("A", ends.clone(), Reliable { arrivals: Arrivals::Once, sizes, deadline: None, transport: None });
    let mut second = endless("B", ends);
    second.start = time(phases.second);
    run.traffic = vec![first, second];
    Ok(run)
}
