//! What a tuning found.

use wayleave_schemes::chameleon::{Params, Routing};
use wayleave_schemes::costs::Scarcity;
use wayleave_schemes::tune::{Method, Objective, Verdict};
use wayleave_units::Time;

use crate::error::Error;
use crate::schemes::SchemeOptions;

/// What was found.
pub struct Tuned {
    /// The network.
    pub topology: String,
    /// The scenario, or the files.
    pub mix: String,
    /// What was to be large.
    pub objective: Objective,
    /// First and count of the seeds that trained, and of those that judged.
    pub seeds: [(u64, u64); 2],
    /// How many times the list until the first refusal was offered.
    pub list: usize,
    /// Per judging seed, the requests that the rates of links alone let in before one must be refused.
    pub bounds: Vec<Option<usize>>,
    /// What link rates let in of the long list of the first judging seed; `None` where that is too large to solve.
    pub ceiling: Option<Ceiling>,
    /// Every candidate, best first.
    pub tried: Vec<Method>,
    /// The judgement.
    pub verdict: Verdict,
    /// Whether the contracts are of Table 1's categories.
    pub has_categories: bool,
}

/// What link rates let in of the first judging seed's long list, as a linear program.
#[derive(Clone, Copy, Debug)]
pub struct Ceiling {
    /// How long that list is.
    pub offered: usize,
    /// The most flows.
    pub flows: f64,
    /// The most bit/s.
    pub rate: f64,
}

impl Tuned {
    /// The parameters that are recommended.
    pub fn params(&self) -> Option<&Params> {
        self.verdict.summaries.get(self.verdict.choice).map(|chosen| &chosen.params)
    }

    /// The same for [`crate::plan()`].
    ///
    /// # Errors
    /// None: the parameters are those of the scheme.
    pub fn scheme(&self) -> Result<SchemeOptions, Error> {
        let mut options = SchemeOptions::named("chameleon")?;
        let Some(params) = self.params() else { return Ok(options) };
        if let Some(switch) = &params.allocation.switch {
            options = options.with("budgets", &times(switch))?;
        }
        options = options.with("host_budgets", &times(&params.allocation.host))?;
        options = match params.routing {
            Routing::LeastDelay => options.with("routing", "least-delay")?,
            Routing::LaracByDelay => options.with("routing", "larac-delay")?,
            Routing::LaracByHops => options.with("routing", "larac-hops")?,
            Routing::Scarcity(Scarcity { steepness, dormant, large }) => {
                options.with("routing", "scarcity")?.with("scarcity", &format!("{steepness},{dormant},{large}"))?
            }
        };
        match params.rerouting {
            Some(how) => options.with("reroute", "true")?.with("tighten", &how.tighten.to_string()),
            None => Ok(options),
        }
    }

    /// The same as options of the commands plan, explain and verify.
    pub fn options(&self) -> Option<String> {
        self.params().map(options)
    }
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
