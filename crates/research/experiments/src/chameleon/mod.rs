//! Chameleon's evaluation: A. Van Bemten et al., CoNEXT 2020, sections 2 and 5.
//!
//! | figure | here |
//! |---|---|
//! | section 2.1, Fig. 1 | `sec2.rs` |
//! | Fig. 8a, footnotes 2 and 3 | `fig8a.rs` |
//! | Fig. 8b | `fig8b.rs` |
//! | Fig. 9a, 9b | `fig9a.rs`, `fig9b.rs` |
//! | Table 5 | `table5/` |
//! | Fig. 10a, 10b, 11a, 11b | `scaling/` |
//! | Fig. 12a, 12b, section 5.3.3 | `fig12/` |
//! | Fig. 14, 15 | `fig14.rs`, `fig15.rs`, in the networks of `testbed.rs` |
//!
//! All of section 5.1 and 5.2 is one experiment, a network that is filled until the first refusal ([`filling`]), with
//! systems that are set up in one place ([`system`]). Figures of the same fillings share them.
//!
//! Points that the text leaves open, and the assumptions here:
//! - Order of equal rerouting candidates: oldest first; newest first is shown beside it, and random order in Fig. 10a and 11a.
//! - Silo's choice among several shortest paths: one by a hash of the flow. Searching around full links is shown
//!   beside it.
//! - Silo's arrival curves may be capped by their input lines, and frames may delay its links: all four cases are
//!   shown.
//! - QJump's treatment of a flow that requests more than its share of the rate: both readings are shown.
//! - Host links that Fig. 9a leaves out: both directions are left out.
//! - Length of the bursts of Fig. 15, its 480 Mbit/s (of each sender or of both), and the places of its servers:
//!   `fig15.rs`.
//! - Requests are drawn by this project's own generator, so no run has the paper's requests.

pub(crate) mod fig12;
pub(crate) mod fig14;
pub(crate) mod fig15;
pub(crate) mod fig8a;
pub(crate) mod fig8b;
pub(crate) mod fig9a;
pub(crate) mod fig9b;
mod filling;
mod published_runs;
pub(crate) mod scaling;
pub(crate) mod sec2;
mod system;
pub(crate) mod table5;
mod testbed;

use crate::data::Figure;
use crate::run::Run;
use crate::statement::{Outcome, Statement};
use crate::stats::mean;
use filling::{Case, FillResult, SMALL};
use system::{FastFlowRule, Qjump, RerouteSettings, Silo, System};

/// The scenarios of Table 2.
const SCENARIOS: std::ops::RangeInclusive<usize> = 1..=8;

/// The seeds of section 5.1: 100 runs (5.1.2).
fn small_seeds(run: &Run) -> Vec<u64> {
    run.seeds(100, 10)
}

/// A case for every scenario and seed of section 5.1, seeds innermost.
fn small_cases(system: System, seeds: &[u64]) -> Vec<Case> {
    let of = |scenario| seeds.iter().map(move |&seed| Case { size: SMALL, system, scenario, seed });
    SCENARIOS.flat_map(of).collect()
}

/// Adds the settings of every figure of section 5.1.
fn small_settings(figure: Figure) -> Figure {
    figure
        .with("network", "fat tree, k = 4, 16 hosts, links at 1 Gbit/s (5.1)")
        .with("Chameleon", "8 queues of 97 kB a port (5.1.1), delays of 4.1.2, hosts 0.5 ms, rerouting limit 20")
        .with("Silo", SILO)
        .with(
            "QJump",
            "n = 32, P = 1500 B, epsilon = 4 us (5.1.1); a flow that asks for more than its share takes one place",
        )
        .with("requests", "Table 1 in the mixes of Table 2, random hosts; until the first refusal (5.1.2)")
        .with(
            "model",
            "that of the published controller; \"Wayleave\" has Wayleave's own, which is sound on real networks",
        )
}

/// Note about Silo in every figure.
const SILO: &str = "one queue of 590 kB a port, 0.1 ms a link, hosts included (5.1.1); one of the shortest paths by a hash of the flow, whatever \
                    is reserved on it (2.2, 3.1.2, 5.1.5)";

/// Returns a statement about several means, which has the numbers of the one that decides: the farthest outside of the range, or the
/// nearest to an end of it if all are inside.
fn all_means_within(
    section: &'static str,
    claim_text: impl Into<String>,
    range: std::ops::RangeInclusive<f64>,
    groups: &[Vec<f64>],
    measured: impl Into<String>,
) -> Statement {
    let (claim_text, measured) = (claim_text.into(), measured.into());
    let of = |runs: &[f64]| Statement::mean_within(section, claim_text.clone(), range.clone(), runs, measured.clone());
    let mut each: Vec<Statement> = groups.iter().map(|runs| of(runs)).collect();
    let rank = |statement: &Statement| match statement.outcome() {
        Outcome::Outside => 0,
        Outcome::Crosses => 1,
        Outcome::Inside => 2,
        Outcome::NotCompared => 3,
    };
    let margin = |statement: &Statement| {
        let mean = statement.estimate.value;
        (mean - range.start()).min(range.end() - mean)
    };
    each.sort_by(|one, other| rank(one).cmp(&rank(other)).then(margin(one).total_cmp(&margin(other))));
    each.into_iter().next().unwrap_or_else(|| of(&[]))
}

/// `4.2x to 4.9x`, of the means of groups.
fn factors(groups: &[Vec<f64>]) -> String {
    let means: Vec<f64> = groups.iter().map(|runs| mean(runs)).collect();
    let low = means.iter().copied().fold(f64::INFINITY, f64::min);
    let high = means.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if means.len() == 1 { format!("{low:.2}x") } else { format!("{low:.2}x to {high:.2}x") }
}

fn accepted(fillings: &[std::sync::Arc<FillResult>]) -> Vec<f64> {
    fillings.iter().map(|filling| filling.accepted as f64).collect()
}

/// `mean 723 (lowest to highest 502 to 977)`.
fn spread(values: &[f64]) -> String {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    format!("{:.0} on average, {low:.0} to {high:.0}", mean(values))
}
