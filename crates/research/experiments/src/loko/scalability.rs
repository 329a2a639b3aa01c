//! Utilisation of networks: the rate and the burst in use at the fullest switch.

use wayleave_scheme_api::Request;
use wayleave_schemes::admission::loko::{AcceptedRate, Allocation, ServiceModel, SwitchAccounting};
use wayleave_topology::devices::{PacketScenario, SoftwareSwitch};
use wayleave_units::{Bytes, Rate, Time};

use super::{SWITCHES, panel, settings};
use crate::data::{Axis, Figure, Form, Panel, Point, Series};
use crate::failed::Failed;
use crate::low_cost::{FlowSize, LokoFill, line, loko, requests, scalability};
use crate::run::Run;
use crate::statement::Statement;
use crate::stats::mean;
use wayleave::switch_benchmark::benchmark;

const SLIDE: &str = "slide \"Scalability Analysis\"";

/// The slide has seven columns without a printed axis. First reading: lengths of a line.
const SIZES: [u64; 7] = [2, 4, 6, 8, 10, 12, 14];

/// The flows of the other figures, with a deadline that never decides: a hundred times the buffer promises about 165 ms a switch, so
/// none of them would be admitted within their 40 ms.
const PATIENT: FlowSize = FlowSize { deadline: Time::from_millis(100_000), ..FlowSize::MEDIUM };

/// Second reading: seven bursts, evenly from one packet (306 B) to all that the measured buffer allows, of flows of 1 Mbit/s: the 8.4 % of the
/// slide are 1 Mbit/s of its 11.8 Mbit/s.
const FLOW: Rate = Rate::from_mbit(1);
const PACKET: Bytes = Bytes::new(306);

/// One part of the slide.
struct Part {
    name: &'static str,
    title: &'static str,
    /// Buffer, as a multiple of the measured one.
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
        title: "Buffer increased 100 times",
        buffer: 100,
        rate: [97.0, 100.0, 100.0, 100.0, 100.0, 100.0, 100.0],
        burst: [15.0, 25.0, 34.0, 44.0, 53.0, 64.0, 76.0],
    },
];

/// In use at the fullest switch, in per cent: by column, then by seed.
#[derive(Clone, Debug, Default)]
struct Columns {
    rate: Vec<Vec<f64>>,
    burst: Vec<Vec<f64>>,
    flows: Vec<Vec<f64>>,
}

/// One part of the slide, measured in both readings.
#[derive(Clone, Debug)]
struct Measured {
    by_length: Columns,
    by_burst: Columns,
}

/// Measurements.
#[derive(Clone, Debug)]
struct Data {
    parts: [Measured; 2],
    /// The full rate in Mbit/s, and the burst of the measured buffer in bytes.
    allocated: (f64, f64),
}

/// Measures it.
pub(crate) fn measure(run: &Run) -> Result<Figure, Failed> {
    let seeds = run.seeds(10, 3);
    let scenario = PacketScenario::proof_of_concept();
    let table =
        benchmark(&SoftwareSwitch::ZODIAC_FX, &scenario, &mut wayleave::Watch::none()).map_err(Failed::broken)?;
    let model = ServiceModel::of(&table, &scenario).map_err(Failed::broken)?;
    let allocation = Allocation::new(&model, AcceptedRate::FullRate).map_err(Failed::broken)?;
    let bursts = bursts(allocation.burst);
    let part = |part: &Part| -> Result<Measured, Failed> {
        let figure = format!("loko-scalability, {}", part.name);
        let by_length = run.gather(&figure, (&["lengths"], &seeds), |_, seed| {
            scalability(run.simulator(), &SIZES, PATIENT, SwitchAccounting::Published, seed, part.buffer)
        })?;
        let by_burst = run.gather(&figure, (&["bursts"], &seeds), |_, seed| {
            let of = |&burst: &Bytes| {
                run.simulator().check()?;
                of_burst(burst, seed, part.buffer)
            };
            bursts.iter().map(of).collect::<Result<Vec<_>, _>>()
        })?;
        Ok(Measured { by_length: columns(&by_length.concat()), by_burst: columns(&by_burst.concat()) })
    };
    let allocated = (allocation.rate.bits_per_second() as f64 / 1e6, allocation.burst.get() as f64);
    let data = Data { parts: [part(&PARTS[0])?, part(&PARTS[1])?], allocated };
    let figure = Figure {
        statements: statements(&data),
        panels: panels(&data, &bursts),
        seeds,
        notes: vec![READING.to_owned()],
        ..Figure::default()
    };
    Ok(settings(figure)
        .with("deadline", "100 s instead of 40 ms: the increased buffer alone promises about 165 ms a switch")
        .with(
            "lines",
            format!("2 to 14 switches; for the reading by bursts {SWITCHES}; 2,000 requests, each taken if it fits"),
        )
        .with("bursts", "added up as they were asked for, as the slides do")
        .with("buffer", "as measured; a hundred times that"))
}

/// Seven bursts, evenly spaced.
fn bursts(most: Bytes) -> [Bytes; 7] {
    let step = most.saturating_sub(PACKET).get() / 6;
    [0, 1, 2, 3, 4, 5, 6].map(|at| Bytes::new(PACKET.get() + at * step))
}

/// Returns the use of a line where every flow has this burst.
fn of_burst(burst: Bytes, seed: u64, buffer: u64) -> Result<LokoFill, Failed> {
    let network = line(SWITCHES).map_err(Failed::broken)?;
    let loko = loko(&network, AcceptedRate::FullRate, SwitchAccounting::Published, buffer).map_err(Failed::broken)?;
    let list =
        requests(&network, PATIENT, seed, 2_000).into_iter().map(|request| Request { rate: FLOW, burst, ..request });
    Ok(LokoFill::of(loko, list))
}

/// From runs by seed to columns.
fn columns(runs: &[Vec<LokoFill>]) -> Columns {
    let by_column = |of: &dyn Fn(&LokoFill) -> f64| {
        (0..SIZES.len()).map(|at| runs.iter().filter_map(|run| run.get(at).map(of)).collect()).collect()
    };
    Columns {
        rate: by_column(&|filled| filled.rate as f64 / 10.0),
        burst: by_column(&|filled| filled.burst as f64 / 10.0),
        flows: by_column(&|filled| filled.admitted as f64),
    }
}

const READING: &str = "The slide prints no axis for its columns, no size of its flows and no factor of the buffer. Two readings: seven lengths of a line, with the \
                       flows of the other figures without their deadline; and seven bursts of flows of 1 Mbit/s, evenly from one packet to all that the \
                       buffer allows. The increased buffer is taken as a hundred times the measured one. Nothing was tuned to fit.";

fn panels(data: &Data, bursts: &[Bytes; 7]) -> Vec<Panel> {
    let lengths = SIZES.map(|switches| switches as f64);
    let bytes = bursts.map(|burst| burst.get() as f64);
    let series = |name: &str, at: &[f64; 7], columns: &[Vec<f64>]| Series {
        name: name.to_owned(),
        points: at.iter().zip(columns).map(|(&at, values)| Point::of(at, values.clone())).collect(),
    };
    let used = |name: String, title: String, x: Axis, at: &[f64; 7], columns: &Columns| {
        let both = vec![series("rate", at, &columns.rate), series("burst", at, &columns.burst)];
        panel(&name, &title, (x, Axis::linear("usage of the fullest switch", "%")), Form::Joined, both)
    };
    let length = || Axis::linear("switches in the line", "");
    let mut panels = Vec::new();
    for (part, measured) in PARTS.iter().zip(&data.parts) {
        panels.push(used(part.name.to_owned(), part.title.to_owned(), length(), &lengths, &measured.by_length));
        let title = format!("{}, by burst", part.title);
        let burst = Axis::linear("burst of every flow", "B");
        panels.push(used(format!("{}-by-burst", part.name), title, burst, &bytes, &measured.by_burst));
    }
    let flows =
        PARTS.iter().zip(&data.parts).map(|(part, measured)| series(part.title, &lengths, &measured.by_length.flows));
    panels.push(panel(
        "flows",
        "Flows admitted of 2,000",
        (length(), Axis::linear("flows", "flows")),
        Form::Joined,
        flows.collect(),
    ));
    panels
}

fn row(values: &[f64]) -> String {
    values
        .iter()
        .map(|value| if *value < 10.0 { format!("{value:.1}") } else { format!("{value:.0}") })
        .collect::<Vec<_>>()
        .join(", ")
}

fn means(columns: &[Vec<f64>]) -> Vec<f64> {
    columns.iter().map(|values| mean(values)).collect()
}

impl Columns {
    fn text(&self) -> String {
        format!("max. rate {} %; max. burst {} %", row(&means(&self.rate)), row(&means(&self.burst)))
    }

    /// Returns `true` if every number equals the printed one, as the slide rounds: two digits.
    fn fits(&self, part: &Part) -> bool {
        let half = |printed: f64| if printed < 10.0 { 0.05 } else { 0.5 };
        let fits = |columns: &[Vec<f64>], printed: &[f64; 7]| {
            means(columns).iter().zip(printed).all(|(value, &printed)| (value - printed).abs() <= half(printed))
        };
        fits(&self.rate, &part.rate) && fits(&self.burst, &part.burst)
    }
}

fn statements(data: &Data) -> Vec<Statement> {
    PARTS.iter().zip(&data.parts).flat_map(|(part, measured)| judge(part, measured, data.allocated)).collect()
}

fn judge(part: &Part, measured: &Measured, (rate, burst): (f64, f64)) -> [Statement; 3] {
    let Measured { by_length, by_burst } = measured;
    // The printed columns in whole flows of 1 Mbit/s, and the resulting size of their bursts.
    let flows: Vec<f64> = part.rate.iter().map(|percent| (percent / 100.0 * rate).round().max(1.0)).collect();
    let of_part = burst * part.buffer as f64;
    let bytes: Vec<f64> =
        part.burst.iter().zip(&flows).map(|(percent, flows)| percent / 100.0 * of_part / flows).collect();
    let derived = format!(
        "Printed rates are about those of {} flows of 1 Mbit/s; the printed bursts would then be {} B a flow.",
        row(&flows),
        row(&bytes)
    );
    let numbers = |columns: &Columns, reading: &str| {
        let claim_text = format!("{}: max. rate {} %, max. burst {} %", part.title, row(&part.rate), row(&part.burst));
        Statement::claim(SLIDE, claim_text, columns.fits(part), columns.text()).reading(reading).remark(derived.clone())
    };
    let numbers = [
        numbers(by_length, "the columns are lengths of a line"),
        numbers(by_burst, "the columns are evenly spaced bursts of flows of 1 Mbit/s"),
    ];
    let bursts_first = part.buffer == 1;
    let claim_text = if bursts_first {
        "with medium-sized flows bursts are used up before rates"
    } else {
        "with an increased buffer rates are used up before bursts"
    };
    let pairs = by_length.rate.iter().flatten().zip(by_length.burst.iter().flatten());
    let is_so = pairs.into_iter().all(|(rate, burst)| if bursts_first { burst > rate } else { rate > burst });
    let spread = |columns: &[Vec<f64>]| {
        let all = || columns.iter().flatten().copied();
        format!("{:.1} to {:.1} %", all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max))
    };
    let measured =
        format!("in use, all lengths and runs: bursts {}, rates {}", spread(&by_length.burst), spread(&by_length.rate));
    let order = Statement::claim(SLIDE, claim_text, is_so, measured);
    let [lengths, bursts] = numbers;
    [lengths, bursts, order]
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::statement::assert_each_can_change;

    /// Returns equal columns for all three seeds.
    fn columns(rate: f64, burst: f64) -> Columns {
        let all = |value: f64| vec![vec![value; 3]; 7];
        Columns { rate: all(rate), burst: all(burst), flows: all(10.0) }
    }

    fn printed(part: &Part) -> Columns {
        let all = |values: [f64; 7]| values.iter().map(|&value| vec![value; 3]).collect();
        Columns { rate: all(part.rate), burst: all(part.burst), flows: Vec::new() }
    }

    fn of_parts(data: &mut Data, set: impl Fn(&mut Measured, Columns)) {
        data.parts.iter_mut().zip(&PARTS).for_each(|(part, as_printed)| set(part, printed(as_printed)));
    }

    #[test]
    pub(crate) fn every_verdict_can_change() {
        let parts = [(20.0, 99.0), (99.0, 20.0)]
            .map(|(rate, burst)| Measured { by_length: columns(rate, burst), by_burst: columns(rate, burst) });
        let data = Data { parts, allocated: (11.83, 2_068.0) };
        assert_each_can_change(
            &data,
            statements,
            &[
                ("as printed, by bursts", &|data| of_parts(data, |part, printed| part.by_burst = printed)),
                ("as printed, by lengths", &|data| of_parts(data, |part, printed| part.by_length = printed)),
                ("rates first", &|data| data.parts[0].by_length.rate[3][1] = 100.0),
                ("bursts first", &|data| data.parts[1].by_length.burst[6][2] = 100.0),
            ],
        );
    }
}
