//! `wayleave provision`: from flow sizes and load to the bandwidth or the peak load that keeps completion times, and back.

use std::io::Write;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use wayleave_explain::table::write_table;
use wayleave_formats::{Source, read_flow_sizes};
use wayleave_scenarios::provision::{Bound, Burst, Load, Markov, Percentile, Simulated};
use wayleave_scenarios::{FlowSizes, PUBLISHED};
use wayleave_units::{Bytes, Rate, Time};

use crate::args::OutputFormat;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::out;
use crate::output::table::plain_table;

const EXAMPLES: &str = "\
Give two of: the bandwidth, the load (--load or --offered), the completion time (--within). What is missing is computed.

Examples:
  wayleave provision --size 1MB --bandwidth 10Gbit --load 80%
  wayleave provision --size 200kB --bandwidth 10Gbit --within 20ms
  wayleave provision --sizes web-search --offered 3Gbit --within 30ms --percentile 99.9
  wayleave provision --size 200kB --bandwidth 10Gbit --load 0.8 --model bound --converges 7500us";

/// Compute the bandwidth or the peak load that keeps completion times of flows, and back
#[derive(Args, Clone, Debug)]
#[command(after_help = exit::after(EXAMPLES))]
pub(crate) struct ProvisionArgs {
    /// How long flows are: the mean for mm1, all of them for mg1, the longest for bound
    #[arg(long, value_name = "SIZE", conflicts_with = "sizes", required_unless_present = "sizes")]
    size: Option<Bytes>,
    /// A distribution of sizes: a published one (web-search, data-mining, enterprise, hadoop, key-value), or a file of lines SIZE
    /// SHARE
    #[arg(long, value_name = "NAME|FILE")]
    sizes: Option<String>,
    /// What the service is guaranteed
    #[arg(long, value_name = "RATE")]
    bandwidth: Option<Rate>,
    /// The share of the bandwidth that is in use, such as 0.8 or 80%
    #[arg(long, value_name = "SHARE", conflicts_with = "offered")]
    load: Option<Load>,
    /// What all flows bring together
    #[arg(long, value_name = "RATE")]
    offered: Option<Rate>,
    /// How long flows may take
    #[arg(long, value_name = "TIME")]
    within: Option<Time>,
    /// How many of 100 flows are to complete in that time; bound holds for all
    #[arg(long, value_name = "PERCENT", default_value = "99")]
    percentile: Percentile,
    /// What is assumed [default: each in turn]
    #[arg(long, value_enum)]
    model: Option<Model>,
    /// For bound: how much may come at once
    #[arg(long, value_name = "SIZE", conflicts_with = "converges")]
    burst: Option<Bytes>,
    /// For bound, without --burst: rate control has converged after this time, and until then a line brings all it can [default: 15
    /// iterations of 200 us, Parley's]
    #[arg(long, value_name = "TIME")]
    converges: Option<Time>,
    /// Of the random numbers of mg1
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// How to print it
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Model {
    /// Poisson arrivals, exponential sizes, first come first served: closed form
    Mm1,
    /// Poisson arrivals, sizes as given, first come first served: simulated
    Mg1,
    /// No assumption but a limit on bursts: a bound for every flow (Parley, equation 2)
    Bound,
}

/// 15 iterations (Parley, 6.3) of 200 us (Table 1).
const CONVERGES: Time = Time::from_micros(15 * 200);

/// What is given of three.
#[derive(Clone, Copy)]
enum Question {
    Time { bandwidth: Rate, load: Load },
    Load { bandwidth: Rate, within: Time },
    Bandwidth { offered: Rate, within: Time },
}

/// What comes out; `None` if there is no such value.
enum Found {
    Time { within: Time, at_most: Option<Time> },
    Load(Option<Load>),
    Bandwidth(Option<Rate>),
}

struct Row {
    model: Model,
    assumes: String,
    found: Found,
}

/// Runs the command.
pub(crate) fn run(args: &ProvisionArgs) -> Result<Exit, Failure> {
    let question = args.question()?;
    let sizes = args.sizes()?;
    let models = args.model.map_or(vec![Model::Mm1, Model::Mg1, Model::Bound], |model| vec![model]);
    let rows: Vec<Row> = models.into_iter().map(|model| args.answer(model, question, &sizes)).collect();
    let mut out = out();
    if args.output == OutputFormat::Json {
        let text = serde_json::to_string_pretty(&rows.iter().map(Row::json).collect::<Vec<_>>());
        writeln!(out, "{}", text.map_err(|error| Failure::Internal(error.to_string()))?)?;
    } else {
        writeln!(out, "{}\n", question.describe())?;
        let headings: &[&str] = match question {
            Question::Time { .. } => &["model", "flows", "assumes", "within", "with 95% confidence"],
            Question::Load { .. } => &["model", "flows", "assumes", "peak load"],
            Question::Bandwidth { .. } => &["model", "flows", "assumes", "bandwidth"],
        };
        let mut table = plain_table(headings);
        for row in &rows {
            let flows = if row.model == Model::Bound { "all".to_owned() } else { args.percentile.to_string() };
            let mut cells = vec![row.model.name().to_owned(), flows, row.assumes.clone()];
            cells.extend(row.found.cells());
            table.add_row(cells);
        }
        write_table(&mut out, &mut table)?;
    }
    out.flush()?;
    let is_possible = rows.iter().any(|row| !matches!(row.found, Found::Load(None) | Found::Bandwidth(None)));
    Ok(if is_possible { Exit::Fine } else { Exit::Refused })
}

impl ProvisionArgs {
    fn question(&self) -> Result<Question, Failure> {
        let usage = |text: &str| Err(Failure::Usage(text.to_owned()));
        for (flag, is_zero) in [
            ("--bandwidth", self.bandwidth == Some(Rate::ZERO)),
            ("--offered", self.offered == Some(Rate::ZERO)),
            ("--within", self.within == Some(Time::ZERO)),
            ("--size", self.size == Some(Bytes::ZERO)),
        ] {
            if is_zero {
                return usage(&format!("{flag}: more than zero is expected"));
            }
        }
        match (self.bandwidth, self.load, self.offered, self.within) {
            (Some(bandwidth), Some(load), None, None) => Ok(Question::Time { bandwidth, load }),
            (Some(bandwidth), None, Some(offered), None) => {
                let (offered, whole) = (u128::from(offered.bits_per_second()), u128::from(bandwidth.bits_per_second()));
                let share = u64::try_from((offered * 1_000_000_000).div_ceil(whole)).ok();
                match share.and_then(Load::from_billionths) {
                    Some(load) => Ok(Question::Time { bandwidth, load }),
                    None => {
                        usage("--offered: less than the bandwidth is expected, or nothing bounds a completion time")
                    }
                }
            }
            (Some(bandwidth), None, None, Some(within)) => Ok(Question::Load { bandwidth, within }),
            (None, None, Some(offered), Some(within)) => Ok(Question::Bandwidth { offered, within }),
            (None, Some(_), None, Some(_)) => {
                usage("the load of an unknown bandwidth says nothing: give --offered RATE in place of --load")
            }
            _ => usage(
                "two of the bandwidth, the load and the time are expected: --bandwidth and --load (or --offered), --bandwidth and --within, or --offered and --within",
            ),
        }
    }

    fn sizes(&self) -> Result<FlowSizes, Failure> {
        let Some(name) = &self.sizes else { return Ok(FlowSizes::Fixed(self.size.unwrap_or(Bytes::new(1)))) };
        if let Some(sizes) = FlowSizes::published(name) {
            return Ok(sizes);
        }
        let source = Source::read(name).map_err(|failure| {
            let known: Vec<&str> = PUBLISHED.iter().map(|(name, _)| *name).collect();
            Failure::Usage(format!("--sizes {name}: {failure}; published distributions are {}", known.join(", ")))
        })?;
        Ok(read_flow_sizes(&source)?)
    }

    fn answer(&self, model: Model, question: Question, sizes: &FlowSizes) -> Row {
        let percentile = self.percentile;
        match model {
            Model::Mm1 => {
                let mean = Bytes::new(sizes.mean().ceil() as u64);
                let service = Markov { mean, percentile };
                let found = match question {
                    Question::Time { bandwidth, load } => {
                        Found::Time { within: service.completion(bandwidth, load), at_most: None }
                    }
                    Question::Load { bandwidth, within } => Found::Load(service.peak_load(bandwidth, within)),
                    Question::Bandwidth { offered, within } => Found::Bandwidth(service.bandwidth(offered, within)),
                };
                Row { model, assumes: format!("Poisson arrivals, exponential sizes of mean {mean}, in order"), found }
            }
            Model::Mg1 => {
                let service = Simulated { sizes, percentile, seed: self.seed };
                let found = match question {
                    Question::Time { bandwidth, load } => {
                        let estimate = service.completion(bandwidth, load);
                        Found::Time { within: estimate.within, at_most: Some(estimate.at_most) }
                    }
                    Question::Load { bandwidth, within } => Found::Load(service.peak_load(bandwidth, within)),
                    Question::Bandwidth { offered, within } => Found::Bandwidth(service.bandwidth(offered, within)),
                };
                let which = match (&self.sizes, self.size) {
                    (Some(name), _) => format!("sizes of {name}"),
                    (None, size) => format!("all of {}", size.unwrap_or(Bytes::new(1))),
                };
                Row { model, assumes: format!("Poisson arrivals, {which}, in order"), found }
            }
            Model::Bound => {
                // Just below 1: the largest that can be drawn.
                let size = self.size.unwrap_or_else(|| Bytes::new(sizes.quantile(1.0 - f64::EPSILON)));
                let burst = match self.burst {
                    Some(burst) => Burst::Size(burst),
                    None => Burst::Convergence(self.converges.unwrap_or(CONVERGES)),
                };
                let service = Bound { burst, size };
                let found = match question {
                    Question::Time { bandwidth, load } => {
                        Found::Time { within: service.completion(bandwidth, load), at_most: None }
                    }
                    Question::Load { bandwidth, within } => Found::Load(service.peak_load(bandwidth, within)),
                    Question::Bandwidth { offered, within } => Found::Bandwidth(service.bandwidth(offered, within)),
                };
                let burst = match burst {
                    Burst::Size(burst) => format!("bursts up to {burst}"),
                    Burst::Convergence(time) => format!("bursts up to {time} of line rate"),
                };
                Row { model, assumes: format!("{burst}, flows up to {size}, any order"), found }
            }
        }
    }
}

impl Question {
    fn describe(self) -> String {
        match self {
            Self::Time { bandwidth, load } => format!("Flows of a service with {bandwidth} under a load of {load}:"),
            Self::Load { bandwidth, within } => {
                format!("The most load of a service with {bandwidth} whose flows complete within {within}:")
            }
            Self::Bandwidth { offered, within } => {
                format!("The least bandwidth for {offered} of flows that complete within {within}:")
            }
        }
    }
}

impl Model {
    fn name(self) -> &'static str {
        match self {
            Self::Mm1 => "mm1",
            Self::Mg1 => "mg1",
            Self::Bound => "bound",
        }
    }
}

impl Found {
    /// For people, rounded towards safety: times up to a microsecond, loads down to 0.01 %, rates up to 1 kbit/s.
    fn cells(&self) -> Vec<String> {
        let time = |time: Time| Time::from_nanos(time.as_nanos().div_ceil(1_000).saturating_mul(1_000)).to_string();
        let load =
            |load: Load| Load::from_billionths(load.billionths() / 100_000 * 100_000).unwrap_or(load).to_string();
        let rate = |rate: Rate| {
            let rounded = rate.bits_per_second().div_ceil(1_000).saturating_mul(1_000);
            Rate::from_bits_per_second(rounded).to_string()
        };
        match self {
            Self::Time { within, at_most } => vec![time(*within), at_most.map_or(String::new(), time)],
            Self::Load(found) => vec![found.map_or("none: slower without load".to_owned(), load)],
            Self::Bandwidth(found) => vec![found.map_or("none keeps this time".to_owned(), rate)],
        }
    }
}

impl Row {
    fn json(&self) -> Value {
        let mut row = json!({ "model": self.model.name(), "assumes": self.assumes });
        match &self.found {
            Found::Time { within, at_most } => {
                row["withinNs"] = within.as_nanos().into();
                if let Some(at_most) = at_most {
                    row["atMostNs"] = at_most.as_nanos().into();
                }
            }
            Found::Load(load) => row["peakLoad"] = load.map(Load::get).into(),
            Found::Bandwidth(rate) => row["bandwidthBitsPerSecond"] = rate.map(Rate::bits_per_second).into(),
        }
        row
    }
}
