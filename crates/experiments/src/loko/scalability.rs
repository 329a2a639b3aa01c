//! How full networks get: the rate and the burst in use at the fullest switch.

use wayleave_schemes::loko::Counting;
use wayleave_units::Time;

use super::{panel, settings};
use crate::data::{Axis, Figure, Form, Panel, Point, Series};
use crate::low_cost::{Filled, FlowSize, scalability};
use crate::run::{Failed, Run};
use crate::statement::Statement;
use crate::stats::mean;

const SLIDE: &str = "slide \"Scalability Analysis\"";

/// The slide has seven columns without a printed axis; read here as lengths of a line.
const SIZES: [u64; 7] = [2, 4, 6, 8, 10, 12, 14];

/// The flows of the other figures, with a deadline that never decides: a hundred times the buffer promises about 165 ms a switch, so
/// none of them would be admitted within their 40 ms.
const PATIENT: FlowSize = FlowSize { deadline: Time::from_millis(100_000), ..FlowSize::MEDIUM };

/// One part of the slide.
struct Part {
    name: &'static str,
    title: &'static str,
    /// How many times the measured buffer.
    buffer: u64,
    /// Printed, in per cent.
    rate: [f64; 7],
    burst: [f64; 7],
}

const PARTS: [Part; 2] = [
    Part {
        name: "medium-sized-flows",
        title: "Medium-sized flows",
        buffer: 1,
        rate: [49.0, 41.0, 32.0, 25.0, 17.0, 8.4, 8.4],
        burst: [89.0, 100.0, 100.0, 100.0, 100.0, 85.0, 99.0],
    },
    Part {
        name: "increased-buffer",
        title: "Artificially increased buffer, a hundred times",
        buffer: 100,
        rate: [97.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0],
        burst: [15.0, 25.0, 34.0, 44.0, 53.0, 64.0, 76.0],
    },
];

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(10, 3);
    let jobs: Vec<(u64, u64)> = PARTS.iter().flat_map(|part| seeds.iter().map(|&seed| (part.buffer, seed))).collect();
    let all = run.map(&jobs, |&(buffer, seed)| {
        scalability(&SIZES, PATIENT, Counting::Published, seed, buffer).map_err(Failed::broken)
    })?;
    let (mut statements, mut panels, mut flows) = (Vec::new(), Vec::new(), Vec::new());
    for (part, runs) in PARTS.iter().zip(all.chunks(seeds.len().max(1))) {
        let [rate, burst, admitted] = [
            series("rate", runs, |filled| filled.rate as f64 / 10.0),
            series("burst", runs, |filled| filled.burst as f64 / 10.0),
            series(part.title, runs, |filled| filled.admitted as f64),
        ];
        statements.extend(judge(part, &rate, &burst));
        panels.push(drawn(part.name, part.title, Axis::linear("in use at the fullest switch", "%"), vec![rate, burst]));
        flows.push(admitted);
    }
    panels.push(drawn("flows", "Flows admitted of 2,000", Axis::linear("flows", "flows"), flows));
    let figure = Figure { statements, panels, seeds, notes: vec![READING.to_owned()], ..Figure::default() };
    Ok(settings(figure)
        .with("deadline", "100 s instead of 40 ms: the increased buffer alone promises about 165 ms a switch")
        .with("lines", "2 to 14 switches; 2,000 requests, each taken if it fits")
        .with("bursts", "added up as they were asked for, as the slides do")
        .with("buffer", "as measured; a hundred times that"))
}

const READING: &str = "The slide prints no axis for its columns, no size of its flows and no factor of the buffer. The one reading here: \
                       seven lengths of a line, the flows of the other figures without their deadline, a hundred times the \
                       buffer. Its rates in (a) fall from column to column; here they do not, so its columns are something \
                       else, or its flows are. Nothing was tuned to fit.";

fn drawn(name: &str, title: &str, y: Axis, series: Vec<Series>) -> Panel {
    panel(name, title, (Axis::linear("switches in the line", ""), y), Form::Joined, series)
}

fn series(name: &str, runs: &[Vec<Filled>], of: impl Fn(&Filled) -> f64) -> Series {
    let point = |(at, &switches): (usize, &u64)| {
        Point::of(switches as f64, runs.iter().map(|filled| of(&filled[at])).collect())
    };
    Series { name: name.to_owned(), points: SIZES.iter().enumerate().map(point).collect() }
}

fn row(values: &[f64]) -> String {
    values
        .iter()
        .map(|value| if *value < 10.0 { format!("{value:.1}") } else { format!("{value:.0}") })
        .collect::<Vec<_>>()
        .join(", ")
}

fn judge(part: &Part, rate: &Series, burst: &Series) -> [Statement; 2] {
    let means = |series: &Series| series.points.iter().map(|point| mean(&point.values)).collect::<Vec<f64>>();
    let (rates, bursts) = (means(rate), means(burst));
    // The slides print two digits; a mean of the same experiment with other requests should be within five points of them.
    let fits = |values: &[f64], printed: &[f64]| {
        values.iter().zip(printed).all(|(value, printed)| (value - printed).abs() <= 5.0)
    };
    let measured = format!("max. rate {} %; max. burst {} %", row(&rates), row(&bursts));
    let numbers = Statement::claim(
        SLIDE,
        format!("{}: max. rate {} %, max. burst {} %", part.title, row(&part.rate), row(&part.burst)),
        fits(&rates, &part.rate) && fits(&bursts, &part.burst),
        measured.clone(),
    )
    .because(READING);
    let bursts_first = part.buffer == 1;
    let is_so = rates.iter().zip(&bursts).all(|(rate, burst)| if bursts_first { burst > rate } else { rate > burst });
    let says = if bursts_first {
        "with medium-sized flows bursts are used up before rates"
    } else {
        "with an increased buffer rates are used up before bursts"
    };
    [numbers, Statement::claim(SLIDE, says, is_so, measured)]
}
