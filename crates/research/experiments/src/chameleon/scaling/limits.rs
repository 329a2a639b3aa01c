//! Maximum number of candidates that are tried to be moved (4.1.3: 20), in a small network and in a larger one.
//! "Limiting the number of reconfigurations allows to navigate this tradeoff" between flows and the tail of the
//! runtime (5.2.2).

use super::super::{RerouteSettings, System};
use super::super::{accepted, fig9b};
use super::scope::{PLAIN, Scope};
use crate::data::{Axis, Form, Panel, Point, Series};
use crate::failed::Failed;
use crate::run::Run;
use crate::stats::{Summary, mean, ratio_of_means};

/// Candidates that are tried; none is Chameleon without rerouting.
const LIMITS: [usize; 5] = [0, 2, 5, 20, 100];

/// With a limit.
#[derive(Clone, Debug)]
pub(super) struct Limited {
    pub(super) limit: usize,
    /// Flows by size, then by seed.
    pub(super) flows: Vec<Vec<f64>>,
    /// The 99th percentile of decision times in the larger network, in us.
    pub(super) tail_us: f64,
    /// Their median and mean there, in us.
    pub(super) median_us: f64,
    pub(super) mean_us: f64,
}

/// Every limit, in two sizes.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    pub(super) ks: [u64; 2],
    pub(super) all: Vec<Limited>,
}

impl Limits {
    /// With fewer seeds than the figures have: failing searches of a hundred candidates take long.
    pub(super) fn measure(run: &Run, queues: usize) -> Result<Self, Failed> {
        let ks: &'static [u64; 2] = run.choose(&[4, 8], &[4, 6]);
        let scope = Scope { queues, ks, seeds: run.seeds(5, 2) };
        let system = |limit: usize| match limit {
            0 => PLAIN,
            limit => System::Rerouting(RerouteSettings { limit, ..RerouteSettings::OLDEST }),
        };
        let fillings = scope.fill(run, &LIMITS.map(system))?;
        let limited = |(limit, by_k): (usize, super::scope::BySize)| {
            let times = by_k.last().map_or_else(Vec::new, |fillings| fig9b::times(fillings));
            let (_, Summary { p99, mean, median, .. }) = Summary::pooled(&times);
            let flows = by_k.iter().map(|fillings| accepted(fillings)).collect();
            Limited { limit, flows, tail_us: p99, median_us: median, mean_us: mean }
        };
        Ok(Self { ks: *ks, all: LIMITS.into_iter().zip(fillings).map(limited).collect() })
    }

    fn gains(&self, limited: &Limited) -> Vec<f64> {
        let plain = |at: usize| mean(&self.all[0].flows[at]);
        limited.flows.iter().enumerate().map(|(at, flows)| mean(flows) / plain(at)).collect()
    }

    /// Returns the gain in the larger network over that in the smaller one, where most candidates are tried; a number for each seed.
    pub(super) fn growth_with_most(&self) -> Vec<f64> {
        let (plain, most) = (&self.all[0].flows, &self.all[self.all.len() - 1].flows);
        let gain = |at: usize| ratio_of_means(&most[at], &plain[at]);
        ratio_of_means(&gain(1), &gain(0))
    }

    /// Returns the gain of rerouting in both sizes, with the paper's limit and with the largest one.
    pub(super) fn growth(&self) -> String {
        let meant = self.all.iter().filter(|limited| limited.limit >= RerouteSettings::LIMIT);
        let text = |limited: &Limited| {
            let gains = self.gains(limited);
            let (small, large) = (gains.first().unwrap_or(&f64::NAN), gains.last().unwrap_or(&f64::NAN));
            format!(
                "with {} the gain is {small:.2}x at k = {} and {large:.2}x at k = {}",
                limited.limit, self.ks[0], self.ks[1]
            )
        };
        meant.map(text).collect::<Vec<_>>().join(", ")
    }

    pub(super) fn panel(&self, scope: &Scope) -> Panel {
        let series = |at: usize| Series {
            name: format!("k = {}", self.ks[at]),
            points: self.all.iter().map(|one| Point::of(one.limit.to_string(), one.flows[at].clone())).collect(),
        };
        Panel {
            x: Axis::categories("candidates for rerouting"),
            form: Form::Apart,
            ..scope.panel(
                "limits",
                "Flows admitted by the limit of candidates",
                Axis::logarithmic("flows admitted until the first refusal", "flows"),
                vec![series(0), series(1)],
            )
        }
    }
}

#[cfg(test)]
impl Limits {
    /// More candidates admit more and take longer.
    pub(super) fn made_up() -> Self {
        let limited = |limit: usize| Limited {
            limit,
            flows: [1.0, 2.0].map(|size| vec![size * (100.0 + limit as f64); 3]).to_vec(),
            tail_us: 10.0 + limit as f64,
            median_us: 4.0,
            mean_us: 5.0 + limit as f64 / 10.0,
        };
        Self { ks: [4, 8], all: LIMITS.map(limited).to_vec() }
    }
}
