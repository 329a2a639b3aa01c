//! Fig. 15: to rate limit or not: bursts of requests under a limit that their mean keeps (section 7).

use std::sync::Arc;

use wayleave_contracts::PolicyLevel;
use wayleave_scenarios::{Arrivals, EdgeScheme, Ends, Eyeq, FlowSizes, Reliable, Scenario, Sharing};
use wayleave_topology::builders::build;
use wayleave_units::{Bytes, Rate, Time};

use super::testbed::{cabling, flows, policy, received, scenario, service, simulate, testbed};
use crate::data::{Figure, Table};
use crate::run::{Failed, Run};
use crate::statement::Statement;

/// Three at once (Fig. 15).
const RPC: Bytes = Bytes::new(2_500_000);
const PERIOD: Time = Time::from_millis(20);
/// The 3 Gbit/s of the text are payload: 3.16 Gbit/s with headers. A little more, so that the queue does not grow from round to round.
const LIMIT: Rate = Rate::from_mbit(3_300);

/// How the service is limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limited {
    Not,
    /// T of the rate meter.
    By(Time),
}

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(1, 1);
    let rounds = run.choose(200, 50);
    let cases = [
        ("not limited", Limited::Not),
        ("3.3 Gbit/s, measured over 200 us", Limited::By(Time::from_micros(200))),
        ("3.3 Gbit/s, measured over 20 ms", Limited::By(PERIOD)),
    ];
    let longest = run.map(&cases, |&(_, limited)| {
        let mut worst: Vec<(f64, f64)> = Vec::new();
        for &seed in &seeds {
            let outcome = simulate(&burst(limited, rounds)?, seed)?;
            let times = outcome.traffic[0].completions.times();
            let milliseconds = |ps: Option<u64>| ps.map_or(f64::NAN, |ps| ps as f64 / 1e9);
            worst.push((milliseconds(times.percentile(50.0)), milliseconds(times.percentile(99.0))));
        }
        Ok(worst)
    })?;
    let tail = |case: usize| longest[case].iter().map(|(_, tail)| *tail).fold(0.0, f64::max);
    let text = |case: usize| format!("{:.1} ms for 99 %", tail(case));
    let rows = cases.iter().zip(&longest).map(|((name, _), times)| {
        let (median, tail) = times[0];
        vec![(*name).to_owned(), format!("{median:.2} ms"), format!("{tail:.2} ms")]
    });
    let table = Table {
        name: "times".to_owned(),
        title: "Completion times of three requests of 2.5 MB that arrive together every 20 ms".to_owned(),
        columns: ["service", "median", "99%"].map(str::to_owned).to_vec(),
        rows: rows.collect(),
    };
    let figure = Figure {
        statements: vec![
            Statement::claim(
                "7",
                "with a fast-acting limit of 3 Gbit/s all RPCs take 20 ms",
                (18.0..24.0).contains(&tail(1)),
                text(1),
            )
            .because("Three requests are 60 Mbit: 20 ms at 3 Gbit/s, as the limit is set; what is left of one round delays the next."),
            Statement::claim("7", "without a limit all of them finish in 10 ms", tail(0) <= 10.0, text(0)),
            Statement::claim("7", "that halves the longest completion time", tail(0) <= tail(1) / 2.0, format!("{:.1} ms and {:.1} ms", tail(0), tail(1))),
            Statement::claim(
                "7",
                "so rate meters should have a configurable interval: measured over 20 ms the service complies with 3 Gbit/s",
                tail(2) < 0.75 * tail(1),
                text(2),
            )
            .because(
                "The meter allows each sender R, and R is at most the limit: three senders that keep to it bring three times as much \
                 before the first measurement, and what a longer interval lets pass is bounded by that.",
            ),
        ],
        tables: vec![table],
        seeds,
        ..Figure::default()
    };
    Ok(testbed(figure)
        .with("network", "three senders and a receiver at one switch, 10 Gbit/s")
        .with("limit", "3.3 Gbit/s on the wire, which carries 3.13 Gbit/s of payload")
        .with("time", format!("{rounds} rounds of 20 ms")))
}

fn burst(limited: Limited, rounds: u64) -> Result<Scenario, Failed> {
    let cabling = cabling(2);
    let network = Arc::new(build::star(4, cabling).map_err(Failed::broken)?);
    let hosts: Vec<_> = network.hosts().collect();
    let mut run = scenario("fig. 15", network.clone(), Time::from_millis(20 * rounds));
    if let Limited::By(interval) = limited {
        let services = vec![service("rpc", 7001, received(None, Some(LIMIT)))];
        let machine = policy(&network, PolicyLevel::Machine, None, services)?;
        let shaper = Eyeq { interval, ..Eyeq::default() };
        run.sharing = Some(Sharing::new(EdgeScheme::Eyeq(shaper), machine));
    }
    let ends = Ends::Pairs(hosts[..3].iter().map(|&from| (from, hosts[3])).collect());
    let sizes = Some(FlowSizes::Fixed(RPC));
    let mut traffic = flows("rpc", ends, Reliable::new(Arrivals::Every(PERIOD), sizes));
    traffic.service = (limited != Limited::Not).then(|| "rpc".to_owned());
    run.traffic.push(traffic);
    Ok(run)
}
