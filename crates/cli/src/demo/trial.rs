//! One contender and the whole list: its decisions, their duration, and the resulting reservations.

use std::time::Duration;

use wayleave_contracts::LatencyContract;
use wayleave_explain::claim;
use wayleave_recheck::check;
use wayleave_topology::FlowId;

use super::survey;
use wayleave::Error;
use wayleave::Network;
use wayleave::PlanOptions;
use wayleave::SchemeOptions;
use wayleave::Session;
use wayleave_report::findings::{Contender, ContenderDecision, FirstRefusal, Recheck};

/// The limit of rerouting of Chameleon, section 4.1.3.
pub(crate) const USUAL_LIMIT: u32 = 20;

/// A contender: a name, a scheme, and the options of `wayleave plan` that select it.
pub(super) struct DemoScheme {
    name: &'static str,
    about: &'static str,
    scheme: SchemeOptions,
    options: String,
}

/// Result of the trial.
pub(super) struct Trial {
    name: &'static str,
    about: &'static str,
    options: String,
    /// With everything admitted.
    pub(super) session: Session,
    /// Request by request.
    pub(super) answers: Vec<ContenderDecision>,
    /// Request by request: the flow, if it was admitted.
    pub(super) flows: Vec<Option<FlowId>>,
    first_refusal: Option<FirstRefusal>,
    /// Of admissions and of refusals.
    times: [Spent; 2],
}

/// Time spent on several of a kind.
#[derive(Clone, Copy, Default)]
struct Spent {
    total: Duration,
    count: u32,
}

impl Spent {
    fn add(&mut self, time: Duration) {
        self.total += time;
        self.count += 1;
    }

    fn mean(self) -> Option<Duration> {
        self.total.checked_div(self.count)
    }
}

impl DemoScheme {
    /// Wayleave, Wayleave without rerouting, and Silo.
    pub(super) fn all(reroute_limit: u32) -> Result<[Self; 3], Error> {
        let limit = reroute_limit.to_string();
        Ok([
            Self {
                name: "Wayleave",
                about: "chooses a queue on each link of the route; admitted flows may be rerouted to make room.",
                scheme: SchemeOptions::default().with("reroute", "true")?.with("limit", &limit)?,
                // Default options are left out, since people read these.
                options: match reroute_limit {
                    USUAL_LIMIT => "--reroute".to_owned(),
                    limit => format!("--reroute --reroute-limit {limit}"),
                },
            },
            Self {
                name: "Wayleave, no rerouting",
                about: "as above, but admitted flows keep their routes.",
                scheme: SchemeOptions::default(),
                options: String::new(),
            },
            Self {
                name: "Silo",
                about: "one queue for all contracts, a delay budget of 100 us on every link, and routes around full links.",
                // Stronger than in the publications, which search no alternative routes (Chameleon, section 2.2).
                scheme: SchemeOptions::named("silo")?.with("route", "around")?,
                options: "--scheme silo --silo-route around".to_owned(),
            },
        ])
    }
}

impl Trial {
    /// Offers the list from its first request to its last; `offered` is called after each.
    pub(super) fn run(
        entrant: DemoScheme,
        network: &Network,
        requests: &[LatencyContract],
        mut offered: impl FnMut(),
    ) -> Result<Self, Error> {
        let DemoScheme { name, about, scheme, options } = entrant;
        let mut trial = Self {
            name,
            about,
            options,
            session: Session::open(network, &PlanOptions::default().with_scheme(scheme))?,
            answers: Vec::with_capacity(requests.len()),
            flows: Vec::with_capacity(requests.len()),
            first_refusal: None,
            times: [Spent::default(); 2],
        };
        for (index, contract) in requests.iter().enumerate() {
            trial.offer(index, contract);
            offered();
        }
        Ok(trial)
    }

    fn offer(&mut self, index: usize, contract: &LatencyContract) {
        let verdict = self.session.admit(contract);
        let [admissions, refusals] = &mut self.times;
        match verdict.decision {
            Ok(decision) => {
                admissions.add(verdict.time);
                let queues = decision.route.hops.iter().map(|hop| hop.queue).collect();
                self.answers.push(ContenderDecision::Admitted {
                    bound: decision.bound,
                    queues,
                    moved: decision.moved.len(),
                });
                self.flows.push(Some(decision.flow));
            }
            Err(refusal) => {
                refusals.add(verdict.time);
                if self.first_refusal.is_none() {
                    let ask = survey::ask(self.session.network(), index, contract);
                    let why = survey::obstacle(&self.session, contract, &refusal);
                    self.first_refusal = Some(FirstRefusal { ask, why });
                }
                self.answers.push(ContenderDecision::Refused(refusal.reason().code()));
                self.flows.push(None);
            }
        }
    }

    /// As plain data.
    pub(super) fn contender(&self) -> Contender {
        let admitted = self.flows.iter().flatten().count();
        let before_refusal = self.flows.iter().take_while(|flow| flow.is_some()).count();
        let moves = |answer: &ContenderDecision| {
            if let ContenderDecision::Admitted { moved, .. } = answer { *moved } else { 0 }
        };
        let [to_admit, to_refuse] = self.times.map(Spent::mean);
        Contender {
            name: self.name,
            about: self.about,
            options: self.options.clone(),
            before_refusal,
            admitted,
            first_refusal: self.first_refusal.clone(),
            reasons: self.reasons(),
            time_to_admit: to_admit,
            time_to_refuse: to_refuse,
            moves: self.answers.iter().map(moves).sum(),
            links: survey::link_uses(&self.session),
            levels: survey::levels(&self.session),
            recheck: self.recheck(),
        }
    }

    fn reasons(&self) -> Vec<(&'static str, usize)> {
        let mut reasons: Vec<(&'static str, usize)> = Vec::new();
        for answer in &self.answers {
            let ContenderDecision::Refused(code) = answer else { continue };
            match reasons.iter_mut().find(|(known, _)| known == code) {
                Some(reason) => reason.1 += 1,
                None => reasons.push((code, 1)),
            }
        }
        reasons.sort_by_key(|&(code, count)| (std::cmp::Reverse(count), code));
        reasons
    }

    fn recheck(&self) -> Recheck {
        let report = claim(&self.session.context()).map_or_else(Default::default, |claim| check(&claim));
        let violations = report.violations.iter().map(ToString::to_string).collect();
        Recheck { flows: report.flows.len(), queues: report.queues.len(), violations }
    }
}
