//! Result of a tuning.

use wayleave_schemes::admission::chameleon::{Allocation, DefaultBudgets, Params, Routing};
use wayleave_schemes::costs::Scarcity;
use wayleave_schemes::tune::{Candidate, MethodScores, PortDivision, TuneObjective, TunedMethod};
use wayleave_topology::Classes;
use wayleave_units::{Rate, Time};

use crate::error::Error;
use crate::schemes::SchemeOptions;

/// Result of a tuning.
#[non_exhaustive]
pub struct Tuned {
    /// The network.
    pub topology: String,
    /// The scenario, or the files.
    pub mix: String,
    /// Maximised objective.
    pub objective: TuneObjective,
    /// First and count of the seeds that trained, and of those that judged.
    pub seeds: [(u64, u64); 2],
    /// Length of the offered list, as a multiple of the list until the first refusal.
    pub list: usize,
    /// Per judging seed, the requests that the rates of links alone let in before one must be refused.
    pub bounds: Vec<Option<usize>>,
    /// Maximum of the long list of the first judging seed that link rates permit; `None` if it is too large to solve.
    pub ceiling: Option<Ceiling>,
    /// Every candidate, best first.
    pub tried: Vec<TunedMethod>,
    /// The judgement.
    pub verdict: MethodScores,
    /// `true` if the contracts are of Table 1's categories.
    pub has_categories: bool,
    /// Delay budgets of the ports with the recommended candidate, without repetition.
    pub ports: Vec<TunedPorts>,
}

/// Delay budgets of all ports of a kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct TunedPorts {
    /// `true` if they are hosts' ports.
    pub is_host: bool,
    /// Rate of their links.
    pub rate: Rate,
    /// Highest priority first.
    pub budgets: Vec<Time>,
}

impl TunedPorts {
    /// Returns the keys of a topology with these budgets: `hostBudgets: [500us, 6.25ms]`.
    pub fn keys(&self) -> String {
        let list = self.budgets.iter().map(Time::to_string).collect::<Vec<_>>().join(", ");
        format!("{}: [{list}]", if self.is_host { "hostBudgets" } else { "budgets" })
    }
}

/// Maximum of the first judging seed's long list that link rates permit, as a linear program.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Ceiling {
    /// Length of that list.
    pub offered: usize,
    /// The most flows.
    pub flows: f64,
    /// The most bit/s.
    pub rate: f64,
}

impl Tuned {
    /// Returns the recommended candidate.
    pub fn recommended(&self) -> Option<&Candidate> {
        self.verdict.summaries.get(self.verdict.choice).map(|chosen| &chosen.candidate)
    }

    /// The same for [`crate::plan()`].
    ///
    /// # Errors
    /// None: the parameters are those of the scheme.
    pub fn scheme(&self) -> Result<SchemeOptions, Error> {
        let Some(Candidate { params, division }) = self.recommended() else {
            return SchemeOptions::named("chameleon");
        };
        if let Some(division) = division {
            return self.fabric(params, division);
        }
        let mut options = with_budgets(SchemeOptions::named("chameleon")?, &params.allocation)?;
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

    /// Returns the scheme for all kinds of contracts. Its route search is not one of its settings.
    fn fabric(&self, params: &Params, division: &PortDivision) -> Result<SchemeOptions, Error> {
        let mut options = with_budgets(SchemeOptions::named("fabric")?, &params.allocation)?;
        options = options.with("guaranteed_budget", &division.guaranteed_budget.to_string())?;
        if params.rerouting.is_some() { options.with("reroute", "true") } else { Ok(options) }
    }

    /// The same as options of the commands plan, explain and verify.
    pub fn options(&self) -> Option<String> {
        self.recommended().map(options)
    }
}

/// Returns a scheme's options with these delay budgets.
fn with_budgets(mut options: SchemeOptions, allocation: &Allocation) -> Result<SchemeOptions, Error> {
    if let Some(switch) = &allocation.switch {
        options = options.with("budgets", &times(switch))?;
    }
    if let Some(host) = &allocation.host {
        options = options.with("host_budgets", &times(host))?;
    }
    match allocation.defaults {
        DefaultBudgets::ByLink => Ok(options),
        DefaultBudgets::Published => options.with("default_budgets", "published"),
    }
}

/// Returns the options of `plan` for delay budgets.
fn budgets(allocation: &Allocation) -> Vec<String> {
    let switch = allocation.switch.iter().map(|switch| format!("--budgets {}", times(switch)));
    let host = allocation.host.iter().map(|host| format!("--host-budget {}", times(host)));
    let is_published = allocation.defaults == DefaultBudgets::Published && allocation.switch.is_none();
    switch.chain(host).chain(is_published.then(|| "--default-budgets published".to_owned())).collect()
}

/// The options of `plan` that set what can be set there.
pub(crate) fn options(candidate: &Candidate) -> String {
    let Candidate { params, division } = candidate;
    let mut options: Vec<String> = Vec::new();
    if let Some(division) = division {
        options.push("--scheme fabric".into());
        options.extend(budgets(&params.allocation));
        options.push(format!("--fabric-guaranteed-budget {}", division.guaranteed_budget));
        options.extend(params.rerouting.map(|_| "--fabric-reroute".to_owned()));
        return options.join(" ");
    }
    options.extend(budgets(&params.allocation));
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

/// The line of a topology that divides its queues so.
pub(crate) fn classes_line(classes: &Classes) -> String {
    let Classes { latency, guaranteed, objective, best_effort, .. } = classes;
    format!(
        "classes: {{ latency: {latency}, guaranteed: {guaranteed}, objective: {objective}, bestEffort: {best_effort} }}"
    )
}

fn times(times: &[Time]) -> String {
    times.iter().map(Time::to_string).collect::<Vec<_>>().join(",")
}
