//! What `tune` found, for people and for programs.

pub(crate) mod json;
pub(crate) mod table;

use std::time::Instant;

use wayleave_schemes::chameleon::{Params, Routing};
use wayleave_schemes::tune::{Method, Objective, Verdict};
use wayleave_units::Time;

use crate::progress::{PATIENCE, Show};

/// Everything that is printed.
pub(crate) struct Report {
    /// The network.
    pub(crate) topology: String,
    /// The scenario, or the files.
    pub(crate) mix: String,
    /// What was to be large.
    pub(crate) objective: Objective,
    /// First and count of the seeds that trained, and of those that judged.
    pub(crate) seeds: [(u64, u64); 2],
    /// How many times the list until the first refusal was offered.
    pub(crate) list: usize,
    /// Per judging seed, the requests that the rates of links alone let in before one must be refused.
    pub(crate) bounds: Vec<Option<usize>>,
    /// What link rates let in of the long list of the first judging seed; `None` where that is too large to solve.
    pub(crate) ceiling: Option<Ceiling>,
    /// Every candidate, best first.
    pub(crate) tried: Vec<Method>,
    /// The judgement.
    pub(crate) verdict: Verdict,
    /// Whether the contracts are of Table 1's categories.
    pub(crate) has_categories: bool,
}

/// What link rates let in of the first judging seed's long list, as a linear program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ceiling {
    /// How long that list is.
    pub(crate) offered: usize,
    /// The most flows, and the most bit/s.
    pub(crate) flows: f64,
    pub(crate) rate: f64,
}

/// The options of `plan` that set parameters.
pub(crate) fn options(params: &Params) -> String {
    let mut options: Vec<String> = Vec::new();
    if let Some(switch) = &params.allocation.switch {
        options.push(format!("--budgets {}", times(switch)));
    }
    options.push(format!("--host-budget {}", times(&params.allocation.host)));
    match params.routing {
        Routing::LeastDelay => options.push("--routing least-delay".into()),
        Routing::LaracByDelay => options.push("--routing larac-delay".into()),
        Routing::LaracByHops => options.push("--routing larac-hops".into()),
        Routing::Scarcity(scarcity) => {
            options.push("--routing scarcity".into());
            let (steepness, dormant, large) = (scarcity.steepness, scarcity.dormant, scarcity.large);
            options.push(format!("--scarcity {steepness},{dormant},{large}"));
        }
    }
    if let Some(how) = params.rerouting {
        options.push(format!("--reroute --reroute-tighten {}", how.tighten));
    }
    options.join(" ")
}

fn times(times: &[Time]) -> String {
    times.iter().map(Time::to_string).collect::<Vec<_>>().join(",")
}

/// Progress on the standard error: one line that is written over, in a terminal only.
pub(crate) struct Steps {
    show: Show,
    started: Instant,
    candidates: u64,
    best: f64,
}

impl Steps {
    pub(crate) fn new(candidates: u64) -> Self {
        Self { show: Show::choose(false), started: Instant::now(), candidates, best: f64::NEG_INFINITY }
    }

    /// A candidate was tried.
    pub(crate) fn candidate(&mut self, at: usize, method: &Method) {
        self.best = self.best.max(method.value);
        let left = self.started.elapsed().as_secs_f64() / at as f64 * (self.candidates as f64 - at as f64);
        self.say(&format!(
            "candidate {at} of {}, best so far {:.0}, about {left:.0} s left",
            self.candidates, self.best
        ));
    }

    /// A method is being judged.
    pub(crate) fn judging(&mut self, name: &str) {
        self.say(&format!("judging: {name}"));
    }

    fn say(&self, text: &str) {
        if matches!(self.show, Show::Bar(_)) && self.started.elapsed() > PATIENCE {
            eprint!("\r\x1b[K{text}");
        }
    }
}

impl Drop for Steps {
    fn drop(&mut self) {
        if matches!(self.show, Show::Bar(_)) && self.started.elapsed() > PATIENCE {
            eprint!("\r\x1b[K");
        }
    }
}
