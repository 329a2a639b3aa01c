//! `wayleave size`: from flow sizes and load to the bandwidth or the peak load that keeps completion times, and back.

use std::io::Write;

use clap::{Args, ValueEnum};
use wayleave::provision::{Assumption, CONVERGES, Question, ServiceFlows, SizeAnswer};
use wayleave_calculus::sizing::{Burst, LoadFraction, Percentile};
use wayleave_formats::{Source, read_flow_sizes};
use wayleave_scenarios::{FlowSizes, PUBLISHED};
use wayleave_units::{Bytes, Rate, Time};

use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::{OutputFormat, layout, out};

const EXAMPLES: &str = "\
Give two of: the bandwidth, the load (--load or --offered), the completion time (--within). What is missing is computed.

Examples:
  wayleave size --size 1MB --bandwidth 10Gbit --load 80%
  wayleave size --size 200kB --bandwidth 10Gbit --within 20ms
  wayleave size --sizes web-search --offered 3Gbit --within 30ms --percentile 99.9
  wayleave size --size 200kB --bandwidth 10Gbit --load 0.8 --model bound --converges 7500us";

/// Size a link: bandwidth, load or completion time of flows from the other two
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLES, after_long_help = exit::after(EXAMPLES))]
pub(crate) struct SizeArgs {
    /// Size of flows: the mean for mm1, of all flows for mg1, the maximum for bound
    #[arg(long, value_name = "SIZE", conflicts_with = "sizes", required_unless_present = "sizes")]
    size: Option<Bytes>,
    /// Distribution of sizes: web-search, data-mining, enterprise, hadoop, key-value, or a file of lines SIZE SHARE
    #[arg(long, value_name = "NAME|FILE")]
    sizes: Option<String>,
    /// Guaranteed bandwidth of the service
    #[arg(long, value_name = "RATE")]
    bandwidth: Option<Rate>,
    /// Utilisation of the bandwidth, such as 0.8 or 80%
    #[arg(long, value_name = "SHARE", conflicts_with = "offered")]
    load: Option<LoadFraction>,
    /// Offered load of all flows
    #[arg(long, value_name = "RATE")]
    offered: Option<Rate>,
    /// Completion time
    #[arg(long, value_name = "TIME")]
    within: Option<Time>,
    /// Percentage of flows that complete in that time; bound holds for all
    #[arg(long, value_name = "PERCENT", default_value = "99")]
    percentile: Percentile,
    /// Queueing model [default: each in turn]
    #[arg(long, value_enum)]
    model: Option<Model>,
    /// For bound: maximum burst
    #[arg(long, value_name = "SIZE", conflicts_with = "converges")]
    burst: Option<Bytes>,
    /// For bound, without --burst: time until rate control has converged [default: 15 iterations of 200 us, Parley's]
    #[arg(long, value_name = "TIME")]
    converges: Option<Time>,
    /// Seed of mg1
    #[arg(long, value_name = "NUMBER", default_value_t = 1)]
    seed: u64,
    /// Output format
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

/// Runs the command.
pub(crate) fn run(args: &SizeArgs) -> Result<Exit, Failure> {
    let question = args.question()?;
    let flows = args.flows()?;
    let models = args.model.map_or(vec![Model::Mm1, Model::Mg1, Model::Bound], |model| vec![model]);
    let answers: Vec<SizeAnswer> =
        models.into_iter().map(|model| question.answer(model.assumption(), &flows)).collect();
    let mut out = out();
    if args.output == OutputFormat::Json {
        let text = serde_json::to_string_pretty(&answers.iter().map(SizeAnswer::json).collect::<Vec<_>>());
        writeln!(out, "{}", text.map_err(|error| Failure::Internal(error.to_string()))?)?;
    } else {
        question.write_text(&answers, args.percentile, &mut out, layout())?;
    }
    out.flush()?;
    Ok(if answers.iter().any(|answer| answer.found.is_possible()) { Exit::Fine } else { Exit::Refused })
}

impl Model {
    fn assumption(self) -> Assumption {
        match self {
            Self::Mm1 => Assumption::Mm1,
            Self::Mg1 => Assumption::Mg1,
            Self::Bound => Assumption::Bound,
        }
    }
}

impl SizeArgs {
    fn question(&self) -> Result<Question, Failure> {
        let usage = |text: &str| Err(Failure::Usage(text.to_owned()));
        for (flag, is_zero) in [
            ("--bandwidth", self.bandwidth == Some(Rate::ZERO)),
            ("--offered", self.offered == Some(Rate::ZERO)),
            ("--within", self.within == Some(Time::ZERO)),
            ("--size", self.size == Some(Bytes::ZERO)),
        ] {
            if is_zero {
                return usage(&format!("{flag}: expected a value above zero"));
            }
        }
        match (self.bandwidth, self.load, self.offered, self.within) {
            (Some(bandwidth), Some(load), None, None) => Ok(Question::Time { bandwidth, load }),
            (Some(bandwidth), None, Some(offered), None) => {
                let (offered, whole) = (u128::from(offered.bits_per_second()), u128::from(bandwidth.bits_per_second()));
                let share = u64::try_from((offered * 1_000_000_000).div_ceil(whole)).ok();
                match share.and_then(LoadFraction::from_billionths) {
                    Some(load) => Ok(Question::Time { bandwidth, load }),
                    None => {
                        usage("--offered: expected less than the bandwidth; otherwise completion times are unbounded")
                    }
                }
            }
            (Some(bandwidth), None, None, Some(within)) => Ok(Question::Load { bandwidth, within }),
            (None, None, Some(offered), Some(within)) => Ok(Question::Bandwidth { offered, within }),
            (None, Some(_), None, Some(_)) => usage("--load needs a bandwidth: give --offered RATE instead of --load"),
            _ => usage(
                "expected two of bandwidth, load and time: --bandwidth and --load (or --offered), --bandwidth and --within, or --offered and --within",
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

    fn flows(&self) -> Result<ServiceFlows, Failure> {
        let called = match &self.sizes {
            Some(name) => format!("sizes of {name}"),
            None => format!("all of {:#}", self.size.unwrap_or(Bytes::new(1))),
        };
        let burst = match self.burst {
            Some(burst) => Burst::Size(burst),
            None => Burst::Convergence(self.converges.unwrap_or(CONVERGES)),
        };
        let flows = ServiceFlows::new(self.sizes()?, called, self.percentile);
        Ok(flows.with_longest(self.size).with_seed(self.seed).with_burst(burst))
    }
}
