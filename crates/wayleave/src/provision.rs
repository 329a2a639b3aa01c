//! From flow sizes and load to the bandwidth or the peak load that keeps completion times, and back.

use std::io::Write;

use serde_json::{Value, json};
use wayleave_calculus::sizing::{Burst, LoadFraction, Markov, Percentile, QueueBound, Simulated};
use wayleave_explain::table::{TableLayout, plain_table, write_table};
use wayleave_scenarios::FlowSizes;
use wayleave_units::{Bytes, Human, Rate, Time};

use crate::error::Error;

/// Until rate control has converged, a line brings all it can: 15 iterations (Parley, 6.3) of 200 us (Table 1).
pub const CONVERGES: Time = Time::from_micros(15 * 200);

/// Assumption about arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assumption {
    /// Poisson arrivals, exponential sizes, first come first served: closed form.
    Mm1,
    /// Poisson arrivals, sizes as given, first come first served: simulated.
    Mg1,
    /// No assumption but a limit on bursts: a bound for every flow (Parley, equation 2).
    Bound,
}

/// Two known values of three (bandwidth, load, completion time). The third is computed.
#[derive(Clone, Copy, Debug)]
pub enum Question {
    /// Computes the completion time of flows.
    Time {
        /// Guaranteed bandwidth of the service; above zero.
        bandwidth: Rate,
        /// Share of the bandwidth that is in use.
        load: LoadFraction,
    },
    /// Computes the largest load at which flows complete in time.
    Load {
        /// Guaranteed bandwidth of the service; above zero.
        bandwidth: Rate,
        /// Maximum completion time of flows.
        within: Time,
    },
    /// Computes the required bandwidth.
    Bandwidth {
        /// Total offered rate of all flows.
        offered: Rate,
        /// Maximum completion time of flows.
        within: Time,
    },
}

/// Flows of a service: sizes, percentile that has to complete in time, burst.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ServiceFlows {
    sizes: FlowSizes,
    called: String,
    longest: Option<Bytes>,
    percentile: Percentile,
    seed: u64,
    burst: Burst,
}

impl ServiceFlows {
    /// Returns flows of these sizes, of which `percentile` of 100 are to complete in time; a bound holds for all. Answers call the sizes `called`,
    /// such as `sizes of web-search`.
    pub const fn new(sizes: FlowSizes, called: String, percentile: Percentile) -> Self {
        Self { sizes, called, longest: None, percentile, seed: 1, burst: Burst::Convergence(CONVERGES) }
    }

    /// Sets the longest flow, for [`Assumption::Bound`]. Without one, it is the largest size of the distribution.
    #[must_use]
    pub fn with_longest(self, longest: impl Into<Option<Bytes>>) -> Self {
        Self { longest: longest.into(), ..self }
    }

    /// Sets the seed of the random numbers of [`Assumption::Mg1`]; 1 by default.
    #[must_use]
    pub fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Sets the maximum burst, for [`Assumption::Bound`]; by default line rate for [`CONVERGES`].
    #[must_use]
    pub fn with_burst(self, burst: Burst) -> Self {
        Self { burst, ..self }
    }
}

/// Computed value; `None` if there is no such value.
#[derive(Clone, Copy, Debug)]
pub enum SizingResult {
    /// Completion time of flows.
    Time {
        /// The completion time.
        within: Time,
        /// Of a simulation: what it is at most, with 95 % confidence.
        at_most: Option<Time>,
    },
    /// The peak load.
    Load(Option<LoadFraction>),
    /// The least bandwidth.
    Bandwidth(Option<Rate>),
}

/// An answer under one assumption.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct SizeAnswer {
    /// The assumption.
    pub assumption: Assumption,
    /// The same in words.
    pub assumes: String,
    /// Computed value.
    pub found: SizingResult,
}

impl Question {
    /// Answers it under an assumption.
    pub fn answer(self, assumption: Assumption, flows: &ServiceFlows) -> SizeAnswer {
        let percentile = flows.percentile;
        match assumption {
            Assumption::Mm1 => {
                let mean = Bytes::new(flows.sizes.mean().ceil() as u64);
                let service = Markov { mean, percentile };
                let found = match self {
                    Self::Time { bandwidth, load } => {
                        SizingResult::Time { within: service.completion(bandwidth, load), at_most: None }
                    }
                    Self::Load { bandwidth, within } => SizingResult::Load(service.peak_load(bandwidth, within)),
                    Self::Bandwidth { offered, within } => SizingResult::Bandwidth(service.bandwidth(offered, within)),
                };
                let assumes = format!("Poisson arrivals, exponential sizes of mean {}, in order", mean.up());
                SizeAnswer { assumption, assumes, found }
            }
            Assumption::Mg1 => {
                let service = Simulated { sizes: &flows.sizes, percentile, seed: flows.seed };
                let found = match self {
                    Self::Time { bandwidth, load } => {
                        let estimate = service.completion(bandwidth, load);
                        SizingResult::Time { within: estimate.within, at_most: Some(estimate.at_most) }
                    }
                    Self::Load { bandwidth, within } => SizingResult::Load(service.peak_load(bandwidth, within)),
                    Self::Bandwidth { offered, within } => SizingResult::Bandwidth(service.bandwidth(offered, within)),
                };
                let assumes = format!("Poisson arrivals, {}, in order", flows.called);
                SizeAnswer { assumption, assumes, found }
            }
            Assumption::Bound => self.bound(flows),
        }
    }

    fn bound(self, flows: &ServiceFlows) -> SizeAnswer {
        let burst = flows.burst;
        // Just below 1: the largest that can be drawn.
        let size = flows.longest.unwrap_or_else(|| Bytes::new(flows.sizes.quantile(1.0 - f64::EPSILON)));
        let service = QueueBound { burst, size };
        let found = match self {
            Self::Time { bandwidth, load } => {
                SizingResult::Time { within: service.completion(bandwidth, load), at_most: None }
            }
            Self::Load { bandwidth, within } => SizingResult::Load(service.peak_load(bandwidth, within)),
            Self::Bandwidth { offered, within } => SizingResult::Bandwidth(service.bandwidth(offered, within)),
        };
        let burst = match burst {
            Burst::Size(burst) => format!("bursts up to {burst:#}"),
            Burst::Convergence(time) => format!("bursts up to {time:#} of line rate"),
        };
        let assumes = format!("{burst}, flows up to {}, any order", size.up());
        SizeAnswer { assumption: Assumption::Bound, assumes, found }
    }

    fn describe(self) -> String {
        match self {
            Self::Time { bandwidth, load } => {
                format!("Completion time of flows, for a service with {bandwidth:#} under a load of {load:#}:")
            }
            Self::Load { bandwidth, within } => {
                format!("Maximum load of a service with {bandwidth:#} whose flows complete within {within:#}:")
            }
            Self::Bandwidth { offered, within } => {
                format!("Minimum bandwidth for an offered load of {offered:#} whose flows complete within {within:#}:")
            }
        }
    }

    /// Writes answers for people.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write_text(
        self,
        answers: &[SizeAnswer],
        percentile: Percentile,
        out: &mut impl Write,
        layout: TableLayout,
    ) -> Result<(), Error> {
        writeln!(out, "{}\n", self.describe())?;
        let headings: &[&str] = match self {
            Self::Time { .. } => &["model", "flows", "assumes", "within", "with 95 % confidence"],
            Self::Load { .. } => &["model", "flows", "assumes", "peak load"],
            Self::Bandwidth { .. } => &["model", "flows", "assumes", "bandwidth"],
        };
        let mut table = plain_table(headings, layout);
        for answer in answers {
            let is_bound = answer.assumption == Assumption::Bound;
            let flows = if is_bound { "all".to_owned() } else { format!("{percentile:#}") };
            let mut cells = vec![answer.assumption.name().to_owned(), flows, answer.assumes.clone()];
            cells.extend(answer.found.cells());
            table.add_row(cells);
        }
        Ok(write_table(out, &mut table)?)
    }
}

impl Assumption {
    /// Returns the name in tables and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Mm1 => "mm1",
            Self::Mg1 => "mg1",
            Self::Bound => "bound",
        }
    }
}

impl SizingResult {
    /// Returns `true` if there is such a value.
    pub fn is_possible(&self) -> bool {
        !matches!(self, Self::Load(None) | Self::Bandwidth(None))
    }

    /// For people, rounded towards safety: times and rates up, loads down to 0.01 %.
    fn cells(&self) -> Vec<String> {
        let load = |load: LoadFraction| {
            format!("{:#}", LoadFraction::from_billionths(load.billionths() / 100_000 * 100_000).unwrap_or(load))
        };
        match self {
            Self::Time { within, at_most } => vec![within.up(), at_most.map_or(String::new(), Human::up)],
            Self::Load(found) => vec![found.map_or("none: slower without load".to_owned(), load)],
            Self::Bandwidth(found) => vec![found.map_or("no bandwidth meets this time".to_owned(), Human::up)],
        }
    }
}

impl SizeAnswer {
    /// For programs.
    pub fn json(&self) -> Value {
        let mut row = json!({ "model": self.assumption.name(), "assumes": self.assumes });
        match &self.found {
            SizingResult::Time { within, at_most } => {
                row["withinNs"] = within.as_nanos().into();
                if let Some(at_most) = at_most {
                    row["atMostNs"] = at_most.as_nanos().into();
                }
            }
            SizingResult::Load(load) => row["peakLoad"] = load.map(LoadFraction::get).into(),
            SizingResult::Bandwidth(rate) => row["bandwidthBitsPerSecond"] = rate.map(Rate::bits_per_second).into(),
        }
        row
    }
}
