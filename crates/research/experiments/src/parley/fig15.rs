//! Fig. 15: to rate limit or not: bursts of requests under a limit that their mean keeps (section 7).

use std::sync::Arc;

use wayleave_contracts::PolicyLevel;
use wayleave_scenarios::{Eyeq, FlowArrivals, FlowEndpoints, FlowSizes, HostSchemeConfig, Reliable, Scenario, Sharing};
use wayleave_topology::builders::build;
use wayleave_units::{Bytes, Rate, Time};

use super::testbed::{cabling, flows, policy, received, scenario, service, testbed};
use crate::data::{Figure, Table};
use crate::failed::Failed;
use crate::run::Run;
use crate::statement::Statement;
use crate::stats::mean;

/// Three at once (Fig. 15).
const RPC: u64 = 2_500_000;
const PERIOD: Time = Time::from_millis(20);
/// The 3 Gbit/s of the text are payload: 3.16 Gbit/s with headers. A little more, so that the queue does not grow from round to round.
const LIMIT: Rate = Rate::from_mbit(3_300);
/// Relative tolerance of the 20 ms of a request, in both directions: the limit exceeds 3 Gbit/s of payload (3.3 *
/// 1460 / 1538 = 3.13), so requests take less time by nearly this fraction.
const MARGIN: f64 = 0.05;
/// As printed, and "scaled up by a factor of 10".
const SCALES: [u64; 2] = [1, 10];

/// Limit of the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limited {
    Not,
    /// The meter measures over 200 us.
    Fast,
    /// It measures over a period.
    Slow,
}

const LIMITS: [Limited; 3] = [Limited::Not, Limited::Fast, Limited::Slow];

impl Limited {
    const fn name(self) -> &'static str {
        match self {
            Self::Not => "not limited",
            Self::Fast => "3.3 Gbit/s, measured over 200 us",
            Self::Slow => "3.3 Gbit/s, measured over a period",
        }
    }
}

/// One limit at one scale, and its runs: the median and the 99 % percentile in ms.
#[derive(Clone, Debug)]
struct Row {
    scale: u64,
    limited: Limited,
    runs: Vec<[f64; 2]>,
}

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(3, 1);
    let rounds = run.choose(200, 50);
    let cases: Vec<(u64, Limited)> = SCALES.iter().flat_map(|&scale| LIMITS.map(|limited| (scale, limited))).collect();
    let times = run.gather(&format!("parley-fig15, {rounds}"), (&cases, &seeds), |&(scale, limited), seed| {
        let outcome = run.simulator().run(&burst(limited, scale, rounds)?, seed)?;
        let times = outcome.traffic[0].completions.times();
        Ok([50.0, 99.0].map(|percent| times.percentile(percent).map_or(f64::NAN, |ps| ps as f64 / 1e9)))
    })?;
    let row = |((scale, limited), runs)| Row { scale, limited, runs };
    let rows: Vec<Row> = cases.into_iter().zip(times).map(row).collect();
    let figure = Figure { statements: statements(&rows), tables: vec![table(&rows)], seeds, ..Figure::default() };
    Ok(testbed(figure)
        .with("network", "three senders and a receiver at one switch, 10 Gbit/s")
        .with("limit", "3.3 Gbit/s on the wire, which carries 3.13 Gbit/s of payload; EyeQ with marks as printed")
        .with("time", format!("{rounds} rounds of 20 ms, a tenth as many of 200 ms")))
}

fn statements(rows: &[Row]) -> Vec<Statement> {
    let tails = |scale: u64, limited: Limited| -> Vec<f64> {
        let of = rows.iter().filter(|row| row.scale == scale && row.limited == limited);
        of.flat_map(|row| row.runs.iter().map(|[_, tail]| *tail)).collect()
    };
    SCALES.iter().flat_map(|&scale| at_scale(scale, LIMITS.map(|limited| tails(scale, limited)))).collect()
}

/// Returns the text's statements at one scale, about the percentiles without limit, with a fast one, and with a slow
/// one.
fn at_scale(scale: u64, [none, fast, slow]: [Vec<f64>; 3]) -> [Statement; 4] {
    let text = |values: &[f64]| {
        let shown: Vec<String> = values.iter().map(|value| format!("{value:.1}")).collect();
        format!("{} ms for 99 %", shown.join(", "))
    };
    let (twenty, ten, sizes) = (20.0 * scale as f64, 10.0 * scale as f64, format!("{} MB", 2.5 * scale as f64));
    let ratios: Vec<f64> = none.iter().zip(&fast).map(|(none, fast)| none / fast).collect();
    let halves: Vec<String> = ratios.iter().map(|ratio| format!("{ratio:.2}")).collect();
    let fast_takes = Statement::mean_within(
        "7",
        format!("with a fast-acting limit of 3 Gbit/s all RPCs of {sizes} take {twenty:.0} ms"),
        twenty * (1.0 - MARGIN)..=twenty * (1.0 + MARGIN),
        &fast,
        text(&fast),
    );
    let at_most = |claim_text: String, most: f64, values: &[f64], measured: String| {
        Statement::mean_within("7", claim_text, 0.0..=most, values, measured)
    };
    [
        fast_takes,
        at_most(format!("without a limit all of them finish in {ten:.0} ms ({sizes})"), ten, &none, text(&none)),
        Statement::mean_within(
            "7",
            format!("that halves the longest completion time ({sizes})"),
            0.25..=0.5,
            &ratios,
            format!("{} of it is left", halves.join(", ")),
        ),
        at_most(
            format!("with an interval of {twenty:.0} ms the meter lets all of them finish in {ten:.0} ms ({sizes})"),
            ten,
            &slow,
            text(&slow),
        ),
    ]
}

fn table(rows: &[Row]) -> Table {
    let cells = rows.iter().map(|row| {
        let [median, tail] = [0, 1].map(|at| mean(&row.runs.iter().map(|run| run[at]).collect::<Vec<_>>()));
        let size = format!("2.5 MB and 20 ms, times {}", row.scale);
        vec![size, row.limited.name().to_owned(), format!("{median:.2} ms"), format!("{tail:.2} ms")]
    });
    Table {
        name: "times".to_owned(),
        title: "Completion times of three requests that arrive together in every period (mean of the seeds)".to_owned(),
        columns: ["requests and period", "service", "median", "p99"].map(str::to_owned).to_vec(),
        rows: cells.collect(),
    }
}

fn burst(limited: Limited, scale: u64, rounds: u64) -> Result<Scenario, Failed> {
    let cabling = cabling(2);
    let network = Arc::new(build::star(4, cabling).map_err(Failed::broken)?);
    let hosts: Vec<_> = network.hosts().collect();
    let period = Time::from_nanos(PERIOD.as_nanos() * scale);
    let mut run = scenario("fig. 15", network.clone(), Time::from_nanos(PERIOD.as_nanos() * rounds));
    let interval = match limited {
        Limited::Not => None,
        Limited::Fast => Some(Time::from_micros(200)),
        Limited::Slow => Some(period),
    };
    if let Some(interval) = interval {
        let services = vec![service("rpc", 7001, received(None, Some(LIMIT)))];
        let machine = policy(&network, PolicyLevel::Machine, None, services)?;
        let shaper = Eyeq { interval, ..Eyeq::default() };
        run.sharing = Some(Sharing::new(HostSchemeConfig::Eyeq(shaper), machine));
    }
    let ends = FlowEndpoints::Pairs(hosts[..3].iter().map(|&from| (from, hosts[3])).collect());
    let sizes = Some(FlowSizes::Fixed(Bytes::new(RPC * scale)));
    let mut traffic = flows("rpc", ends, Reliable::new(FlowArrivals::Every(period), sizes));
    traffic.service = (limited != Limited::Not).then(|| "rpc".to_owned());
    run.traffic.push(traffic);
    Ok(run)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    /// Without limit, with a fast one and with a slow one 8, 20 and 8 ms, each times its part.
    fn rows(parts: [f64; 3]) -> Vec<Row> {
        let of = |scale: u64| {
            let cases = LIMITS.into_iter().zip([8.0, 20.0, 8.0]).zip(parts);
            cases.map(move |((limited, ms), part)| Row { scale, limited, runs: vec![[ms * part * scale as f64; 2]; 2] })
        };
        SCALES.into_iter().flat_map(of).collect()
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        assert_each_can_change(
            &rows([1.0; 3]),
            |rows| statements(rows),
            &[
                ("the limit is slower", &|data: &mut Vec<Row>| *data = rows([1.0, 2.0, 1.0])),
                ("the limit is faster", &|data: &mut Vec<Row>| *data = rows([1.0, 0.5, 1.0])),
                ("without a limit it is slow", &|data: &mut Vec<Row>| *data = rows([1.5, 1.0, 1.0])),
                ("the interval changes nothing", &|data: &mut Vec<Row>| *data = rows([1.0, 1.0, 2.5])),
            ],
        );
    }
}
