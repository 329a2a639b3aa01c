//! Table 2: how long the shares of N services take.

use std::time::Duration;

use super::shares::{SHARE_CASES, ShareCase, ShareTimes, time_shares};
use crate::data::{Axis, Centre, Figure, Form, Panel, Point, Series, Table};
use crate::run::{Failed, Run};
use crate::statement::Statement;

/// N of the table, and its times in us.
const PAPER: [(usize, f64); 4] = [(100, 2.0), (1_000, 12.0), (10_000, 320.0), (100_000, 1_600.0)];

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(3, 1);
    let jobs: Vec<(ShareCase, u64)> =
        SHARE_CASES.iter().flat_map(|&case| seeds.iter().map(move |&seed| (case, seed))).collect();
    // One after another: they are times.
    let mut all: Vec<ShareTimes> = Vec::new();
    for (done, &(case, seed)) in jobs.iter().enumerate() {
        run.tell(done, jobs.len())?;
        all.push(time_shares(case, seed).map_err(Failed::broken)?);
    }
    let of = |wanted: ShareCase| -> Vec<&ShareTimes> {
        jobs.iter().zip(&all).filter(|((case, _), _)| case.name == wanted.name).map(|(_, times)| times).collect()
    };
    let micros = |times: &ShareTimes| -> Vec<f64> { times.computations.iter().map(micros).collect() };
    let point = |case: ShareCase| {
        let runs: Vec<Vec<f64>> = of(case).into_iter().map(micros).collect();
        Point::pooled(case.services as f64, &runs)
    };
    let flat: Vec<ShareCase> = SHARE_CASES.iter().copied().filter(|case| case.levels == 1).collect();
    let series = vec![
        Series { name: "one level, here".to_owned(), points: flat.iter().map(|&case| point(case)).collect() },
        Series {
            name: "one level, Table 2 (their machine)".to_owned(),
            points: PAPER.iter().map(|&(services, time)| Point::of(services as f64, vec![time])).collect(),
        },
    ];
    let rows = SHARE_CASES.iter().map(|&case| {
        let summary = point(case).summary;
        let updates: Vec<f64> = of(case).iter().map(|times| self::micros(&times.update)).collect();
        let update = updates.iter().sum::<f64>() / updates.len() as f64;
        let paper = PAPER.iter().find(|(services, _)| case.levels == 1 && *services == case.services);
        vec![
            case.services.to_string(),
            case.levels.to_string(),
            format!("{:.1} us", summary.median),
            format!("{:.1} us", summary.p99),
            format!("{update:.2} us"),
            paper.map_or("-".to_owned(), |(_, time)| format!("{time} us")),
        ]
    });
    let columns = ["services", "levels", "median", "99%", "after one change", "Table 2"];
    let table = Table {
        name: "times".to_owned(),
        title: "Time of all shares, and of one share after one demand has changed".to_owned(),
        columns: columns.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    };
    let statements = flat.iter().filter_map(|&case| {
        let (_, paper) = PAPER.iter().find(|(services, _)| *services == case.services)?;
        let median = point(case).summary.median;
        let says = format!("max-min shares of {} services take {paper} us on one core of 2.4 GHz", case.services);
        let measured = format!("{median:.1} us, exactly in bit/s (the paper's demands are multiples of 1 Mbit/s)");
        Some(Statement::not_compared("Table 2", says, measured).remark("Times of another machine."))
    });
    let mut statements: Vec<Statement> = statements.collect();
    let (small, large) = (point(flat[1]).summary.median, point(flat[3]).summary.median);
    let says = "the time grows with N, and more slowly than the algorithm's O(N^2)";
    let measured = format!("100 times as many services take {:.0} times as long", large / small);
    statements.push(Statement::claim("6.2", says, large / small < 1_000.0, measured));
    let panel = Panel {
        name: "time".to_owned(),
        title: "Time to compute all shares".to_owned(),
        x: Axis::logarithmic("services", ""),
        y: Axis::logarithmic("time of one computation", "us"),
        form: Form::Joined,
        centre: Centre::Median,
        is_timing: true,
        bands: Vec::new(),
        series,
    };
    let figure = Figure {
        statements,
        panels: vec![panel],
        tables: vec![table],
        seeds,
        notes: vec!["Weights from 1 to 8; a quarter of the services has a minimum, and a quarter a maximum. The paper's have none of both.".to_owned()],
        ..Figure::default()
    };
    Ok(figure
        .with("demands", "random, 120 % of 80 Gbit/s in the mean: close to the capacity, as in the paper")
        .with("times", "200 computations for each seed and case, one after another on one thread"))
}

fn micros(time: &Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
