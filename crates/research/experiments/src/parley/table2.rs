//! Table 2: computation time of the shares of N services, and messages between brokers (6.2).

use std::ops::RangeInclusive;
use std::time::Duration;

use wayleave_packet_format::broker::{MAX_DATAGRAM, RateList, RateSubject, ServiceRates};
use wayleave_units::Rate;

use super::shares::{SHARE_CASES, ShareCase, ShareTimes, time_shares};
use crate::data::{Axis, Centre, Figure, Form, Panel, Point, Series, Table};
use crate::failed::Failed;
use crate::run::Run;
use crate::statement::Statement;
use crate::stats::{Summary, mean};

/// N of the table, and its times in us.
const PAPER: [(usize, f64); 4] = [(100, 2.0), (1_000, 12.0), (10_000, 320.0), (100_000, 1_600.0)];
/// "It does not take more than ~80000 iterations to water-fill 80 Gb/s", a step of 1 Mbit/s each.
const MAX_ITERATIONS: u64 = 80_000;
/// "40 machines in a rack", "1000 bandwidth-intensive services", "10000 racks" (5.3, 6.2).
const MACHINES: u64 = 40;
const SERVICES: u16 = 1_000;
const RACKS: u64 = 10_000;
/// UDP, IPv4, and Ethernet with checksum, preamble and gap, for each datagram.
const HEADERS: usize = 8 + 20 + 38;

/// Measurements.
#[derive(Clone, Debug)]
struct Data {
    /// Trees of one level, by the number of services.
    flat: Vec<Flat>,
    /// Traffic that a machine of a rack sends to the others, and that the fabric broker receives, in one round, in
    /// Mbit.
    rack: f64,
    fabric: f64,
}

/// One number of services.
#[derive(Clone, Debug)]
struct Flat {
    services: usize,
    /// The median of all computations, in us.
    median: f64,
    /// Of the textbook's algorithm, with demands in steps of 1 Mbit/s; the most of the sets of demands.
    iterations: u64,
}

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(3, 1);
    let jobs: Vec<(ShareCase, u64)> =
        SHARE_CASES.iter().flat_map(|&case| seeds.iter().map(move |&seed| (case, seed))).collect();
    // Sequentially, since times are measured.
    let mut all: Vec<ShareTimes> = Vec::new();
    for (done, &(case, seed)) in jobs.iter().enumerate() {
        run.report_progress(done, jobs.len())?;
        all.push(time_shares(case, seed).map_err(Failed::broken)?);
    }
    let of = |wanted: ShareCase| -> Vec<&ShareTimes> {
        jobs.iter().zip(&all).filter(|((case, _), _)| case.name == wanted.name).map(|(_, times)| times).collect()
    };
    let point = |case: ShareCase| {
        let runs: Vec<Vec<f64>> =
            of(case).into_iter().map(|times| times.computations.iter().map(micros).collect()).collect();
        Point::pooled(case.services as f64, &runs)
    };
    let flat = || SHARE_CASES.iter().copied().filter(|case| case.levels == 1);
    let [rack, fabric] = overheads();
    let data = Data {
        flat: flat()
            .map(|case| Flat {
                services: case.services,
                median: point(case).summary.median,
                iterations: of(case).iter().map(|times| times.iterations).max().unwrap_or(0),
            })
            .collect(),
        rack,
        fabric,
    };
    let update = |case: ShareCase| mean(&of(case).iter().map(|times| micros(&times.update)).collect::<Vec<_>>());
    let rows = SHARE_CASES.iter().map(|&case| row(case, &point(case).summary, update(case))).collect();
    let columns = ["services", "levels", "median", "p99", "after one change", "Table 2"];
    let table = Table {
        name: "times".to_owned(),
        title: "Time to compute all shares, and to recompute one share after a change of demand".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows,
    };
    let figure = Figure {
        statements: statements(&data),
        panels: vec![panel(flat().map(point).collect())],
        tables: vec![table],
        seeds,
        notes: vec![
            "Weights from 1 to 8; a quarter of the services has a minimum, and a quarter a maximum. The paper's have none of both.".to_owned(),
            "Shares are computed exactly, in bit/s, and not by iterations. Iterations are counted of the textbook's algorithm, one level of \
             services, with demands in steps of 1 Mbit/s as the paper's: each one satisfies the smallest demand that is left."
                .to_owned(),
        ],
        ..Figure::default()
    };
    Ok(figure
        .with("demands", "random, 120 % of 80 Gbit/s in the mean: close to the capacity, as in the paper")
        .with("times", "200 computations for each seed and case, one after another on one thread"))
}

fn row(case: ShareCase, summary: &Summary, update: f64) -> Vec<String> {
    let paper = PAPER.iter().find(|(services, _)| case.levels == 1 && *services == case.services);
    vec![
        case.services.to_string(),
        case.levels.to_string(),
        format!("{:.1} us", summary.median),
        format!("{:.1} us", summary.p99),
        format!("{update:.2} us"),
        paper.map_or("-".to_owned(), |(_, time)| format!("{time} us")),
    ]
}

/// Returns the traffic that a machine of a rack sends to the others in a round, and that the fabric broker receives
/// in one, in Mbit on the wire.
fn overheads() -> [f64; 2] {
    let datagrams = |subject| -> u64 {
        let wants = |service| {
            let rate = Some(Rate::from_gbit(1));
            ServiceRates { service, transmit: rate, receive: rate }
        };
        let parts = RateList::new(subject, (0..SERVICES).map(wants).collect()).parts(MAX_DATAGRAM);
        parts.iter().map(|part| (part.encoded_len() + HEADERS) as u64).sum()
    };
    let mbit = |bytes: u64| (bytes * 8) as f64 / 1e6;
    [mbit(datagrams(RateSubject::MachineDemands) * (MACHINES - 1)), mbit(datagrams(RateSubject::RackDemands) * RACKS)]
}

fn statements(data: &Data) -> Vec<Statement> {
    let times = data.flat.iter().filter_map(|flat| {
        let (_, paper) = PAPER.iter().find(|(services, _)| *services == flat.services)?;
        let claim_text = format!("max-min shares of {} services take {paper} us on one core of 2.4 GHz", flat.services);
        let measured =
            format!("{:.1} us, exactly in bit/s (the paper's demands are multiples of 1 Mbit/s)", flat.median);
        Some(Statement::not_compared("Table 2", claim_text, measured).remark("Times of another machine."))
    });
    let mut all: Vec<Statement> = times.collect();
    let growth: Vec<f64> = data.flat.windows(2).map(|pair| pair[1].median / pair[0].median).collect();
    let shown: Vec<String> = growth.iter().map(|growth| format!("{growth:.1}")).collect();
    // Both ends are those of no growth, and of N^2, for ten times as many.
    all.push(Statement::within(
        "6.2",
        "the time grows with N, and more slowly than the algorithm's O(N^2): by a factor between 1 and 100 where N grows tenfold",
        1.0..=100.0,
        &growth,
        format!("by factors of {}", shown.join(", ")),
    ));
    let iterations: Vec<f64> = data.flat.iter().map(|flat| flat.iterations as f64).collect();
    let shown: Vec<String> =
        data.flat.iter().map(|flat| format!("{} for {}", flat.iterations, flat.services)).collect();
    all.push(Statement::within(
        "6.2",
        "water-filling 80 Gbit/s does not take more than about 80,000 iterations, with demands in steps of 1 Mbit/s",
        1.0..=MAX_ITERATIONS as f64,
        &iterations,
        format!("{} services", shown.join(", ")),
    ));
    let overhead = |claim_text: &str, range: RangeInclusive<f64>, rate: f64| {
        Statement::within("6.2", claim_text, range, &[rate], format!("{rate:.2} Mbit/s, on the wire"))
    };
    all.push(overhead(
        "40 machines that tell each other of 1000 services once a second send less than 3 Mbit/s each",
        0.0..=3.0,
        data.rack,
    ));
    all.push(overhead("10 times a second it is 30 Mbit/s", 15.0..=60.0, data.rack * 10.0));
    all.push(overhead(
        "10,000 racks that tell the fabric broker of 1000 services every 10 s are 80 Mbit/s there (5.3)",
        40.0..=160.0,
        data.fabric / 10.0,
    ));
    all
}

fn panel(points: Vec<Point>) -> Panel {
    let printed = PAPER.iter().map(|&(services, time)| Point::of(services as f64, vec![time])).collect();
    Panel {
        name: "time".to_owned(),
        title: "Time to compute all shares".to_owned(),
        x: Axis::logarithmic("services", ""),
        y: Axis::logarithmic("time of one computation", "us"),
        form: Form::Joined,
        centre: Centre::Median,
        is_timing: true,
        bands: Vec::new(),
        series: vec![
            Series { name: "one level, here".to_owned(), points },
            Series { name: "one level, Table 2 (their machine)".to_owned(), points: printed },
        ],
    }
}

fn micros(time: &Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let flat = |(services, median)| Flat { services, median, iterations: 500 };
        let data = Data { flat: PAPER.map(flat).to_vec(), rack: 2.7, fabric: 700.0 };
        assert_each_can_change(
            &data,
            statements,
            &[
                ("it grows as N^3", &|data: &mut Data| data.flat[3].median = 1e6),
                ("it does not grow", &|data: &mut Data| data.flat[3].median = 100.0),
                ("it takes more iterations", &|data: &mut Data| data.flat[0].iterations = 90_000),
                ("it takes none", &|data: &mut Data| data.flat[0].iterations = 0),
                ("messages are larger", &|data: &mut Data| (data.rack, data.fabric) = (7.0, 2_000.0)),
                ("there are none", &|data: &mut Data| (data.rack, data.fabric) = (0.0, 0.0)),
            ],
        );
    }
}
