//! A plan printed by `wayleave plan -o json`, read back as untrusted statements. The network, its model and, if
//! available, the contracts come from the user.

use std::collections::HashMap;

use wayleave_adversary::{
    Admitted, AdmittedClaim, ByteAccounting, DecisionKind, DelayPart, Discrepancy, LowestQueue, MinimaTerms,
    ModelAccounting, PacketOrder, PlanEvent, Relocation, RequestedTerms, StatedQueue, StatedRoute, StatedTerm,
    Statement, TransitionRule, check_moments,
};
use wayleave_contracts::LatencyContract;
use wayleave_ledger::{Model, Residual, Shaping};
use wayleave_recheck::HoseCharge;
use wayleave_scenarios::Tenants;
use wayleave_schemes::admission::fabric::Settings;
use wayleave_topology::{MAX_BUDGET, Network, NodeId, ShortBuffer};
use wayleave_units::{Bytes, Time, count};

mod certainty;
mod compared;
mod document;
mod shares;

pub use document::PlanFile;
pub use shares::PlannedClasses;

use self::certainty::{Certainties, stated_in_the_end};
use self::document::{
    Entry, Move, NodeJitter, Plan, Queue, Reader, Step, Term, Topology, UNUSED_OF_A_PLAN, UNUSED_OF_A_REQUEST, bucket,
    bytes, time,
};
use super::promises::{Promises, counting, terms};
use crate::error::Error;
use crate::network::divided;

/// Statements of a plan.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct StatedPlan {
    /// Promises of latency contracts and of the classes below them.
    pub promises: Promises,
    /// Contracts with minima and objectives, if there are any.
    pub kinds: Option<PlannedClasses>,
}

impl StatedPlan {
    /// Returns the number of contracts of classes below latency.
    pub fn class_contracts(&self) -> usize {
        self.kinds.as_ref().map_or(0, PlannedClasses::count)
    }

    /// Returns all tenants on the network, with latency contracts as derived; none if all contracts are about
    /// latency.
    ///
    /// # Errors
    /// If the network has no classes.
    pub fn tenants(&self, claim: &AdmittedClaim, model: &Model) -> Result<Option<Tenants>, Error> {
        let (Some(kinds), Promises::Stated(statement)) = (&self.kinds, &self.promises) else { return Ok(None) };
        kinds.tenants(statement, claim, model).map(Some)
    }
}

/// Reads a plan: what `wayleave plan -o json` has printed, or a serialised [`crate::Plan`].
///
/// # Errors
/// If it is no plan, or one for another network or another model, or of a scheme that reserves no queues, or if it contradicts
/// itself: a contract is admitted twice, or a flow is moved from where it is not.
pub fn read(file: &PlanFile<'_>) -> Result<StatedPlan, Error> {
    let name = file.source.name();
    let wrong = |what: String| Error::Located(format!("{name}: {what}"));
    let plan: Plan = serde_json::from_str(file.source.text())
        .map_err(|error| wrong(format!("is not a plan of `wayleave plan -o json`: {error}")))?;
    plan.fits(file.network).map_err(wrong)?;
    plan.check_keys().map_err(wrong)?;
    plan.counts(file.model).map_err(wrong)?;
    // `plan` divides the queues of a network where contracts are of several kinds.
    let network = if plan.requests.iter().any(|entry| entry.share.is_other_kind()) {
        divided(file.network)?
    } else {
        file.network.clone()
    };
    let reader = Reader::new(&PlanFile { network: &network, ..*file }, &plan.scheme);
    let (mut statement, kinds) = reader.statement(&plan).map_err(wrong)?;
    let moments = check_moments(&statement).map_err(|error| wrong(error.to_string()))?;
    statement.findings.extend(moments);
    let compared = compared::compare(file.source, &reader, &plan, &statement);
    statement.findings.extend(compared.map_err(|error| wrong(error.to_string()))?);
    let kinds = Some(kinds).filter(|kinds| !kinds.is_empty());
    Ok(StatedPlan { promises: Promises::Stated(statement), kinds })
}

impl Plan {
    /// Checks that the plan is for this network, as far as the plan shows.
    fn fits(&self, network: &Network) -> Result<(), String> {
        if self.queues.is_empty() && !self.requests.is_empty() {
            return Err(format!(
                "a plan of scheme {0} has no queue data: give the contracts with -f and --scheme {0} instead",
                self.scheme.name
            ));
        }
        let Topology { name, hosts, switches, links } = &self.topology;
        let here = (network.hosts().count(), network.switches().count(), network.links().len());
        if (*hosts, *switches, *links) == here {
            return Ok(());
        }
        Err(format!(
            "the plan is for {name} with {}, {} and {}, but --topology has {}, {} and {}",
            count(*hosts, "host"),
            count(*switches, "switch"),
            count(*links, "directed link"),
            here.0,
            here.1,
            here.2
        ))
    }

    /// Refuses keys that no version of `wayleave plan` writes.
    fn check_keys(&self) -> Result<(), String> {
        self.unused.check(&UNUSED_OF_A_PLAN)?;
        self.requests.iter().try_for_each(|entry| {
            entry.unused.check(&UNUSED_OF_A_REQUEST).map_err(|error| format!("\"{}\": {error}", entry.name))
        })
    }

    /// Checks that the plan counts the same delays and overheads as the model. A plan does not determine the traffic
    /// on a network.
    fn counts(&self, model: &Model) -> Result<(), String> {
        let ModelAccounting { tags, max_frame, lowest_queue, order, .. } = counting(model);
        let stated = &self.model;
        let switch = |is_on: bool| if is_on { "on" } else { "off" };
        let frames = |bytes: Option<u64>| bytes.map_or_else(|| "mtu".to_owned(), |bytes| format!("{bytes}B"));
        let overhead = |tags: Option<u32>| tags.map_or_else(|| "off".to_owned(), |tags| format!("on --tags {tags}"));
        let residual = |model: Residual| match model {
            Residual::Full => "full",
            Residual::FirstSlope => "first-slope",
        };
        let best_effort = lowest_queue == LowestQueue::BestEffort;
        let shaping = model.shaping == Shaping::InputLinks;
        let max_frame = max_frame.map(Bytes::get);
        let jitter = match order {
            PacketOrder::Kept => NodeJitter::Ordered,
            PacketOrder::Free => NodeJitter::Any,
        };
        let options = [
            ("best-effort", switch(stated.best_effort).to_owned(), switch(best_effort).to_owned()),
            ("jitter", stated.jitter.word().to_owned(), jitter.word().to_owned()),
            ("max-frame", frames(stated.max_frame_bytes), frames(max_frame)),
            ("overhead", overhead(stated.tags), overhead(tags)),
            ("residual", stated.residual.clone(), residual(model.residual).to_owned()),
            ("shaping", switch(stated.shaping).to_owned(), switch(shaping).to_owned()),
        ];
        let other: Vec<_> = options.into_iter().filter(|(_, stated, here)| stated != here).collect();
        if other.is_empty() {
            return Ok(());
        }
        let list = |text: fn(&(&str, String, String)) -> String| other.iter().map(text).collect::<Vec<_>>().join(" ");
        Err(format!(
            "the plan assumes {}, but here {} is assumed: give the same model options as for the plan",
            list(|(name, stated, _)| format!("--{name} {stated}")),
            list(|(name, _, here)| format!("--{name} {here}")),
        ))
    }
}

/// The names that have asked for something, in the order of the document.
#[derive(Default)]
struct PresentContracts<'p> {
    now: u64,
    /// Names in requests so far; `true` if currently admitted.
    admitted: HashMap<&'p str, bool>,
}

impl<'p> PresentContracts<'p> {
    /// Checks that the event, the time and the decision of an entry are possible after the entries before it.
    fn take(&mut self, entry: &'p Entry) -> Result<(), String> {
        let (name, wrong) = (entry.name.as_str(), |what: &str| Err(format!("\"{}\" {what}", entry.name)));
        if entry.at_ns < self.now {
            return wrong("is earlier than the request before it");
        }
        self.now = entry.at_ns;
        let before = self.admitted.get(name).copied();
        match (entry.event.as_deref(), entry.decision.as_str()) {
            (None | Some("add"), "admitted" | "refused") if before == Some(true) => wrong("is admitted twice"),
            (None | Some("add"), "admitted" | "refused") if before.is_some() => wrong("is requested twice"),
            (Some("change"), "admitted" | "refused") if before.is_none() => {
                wrong("is changed, but was not requested before")
            }
            (None | Some("add" | "change"), decision @ ("admitted" | "refused")) => {
                // A contract whose change is refused keeps its earlier terms.
                self.admitted.insert(name, decision == "admitted" || before == Some(true));
                Ok(())
            }
            (Some("release"), "released") if before == Some(true) => {
                self.admitted.remove(name);
                Ok(())
            }
            (Some("release"), "not-admitted") if before == Some(false) => {
                self.admitted.remove(name);
                Ok(())
            }
            (Some("release"), "released") => wrong("is released, but was not admitted before"),
            (Some("release"), "not-admitted") => {
                wrong("is not admitted at the end of the plan, but was admitted before")
            }
            (event, decision) => Err(format!(
                "\"{name}\" is \"{decision}\" by \"{}\", which is not a decision",
                event.unwrap_or("a list of contracts")
            )),
        }
    }
}

impl Reader<'_> {
    fn statement(&self, plan: &Plan) -> Result<(Statement, PlannedClasses), String> {
        let mut queues: Vec<StatedQueue> =
            plan.queues.iter().map(|queue| self.queue(queue)).collect::<Result<_, _>>()?;
        queues.sort_by_key(|stated| (stated.link, stated.queue));
        let (mut history, mut findings, mut kinds) = (Vec::new(), Vec::new(), PlannedClasses::default());
        let mut present = PresentContracts::default();
        let charge = match self.charge {
            HoseCharge::EveryPath => wayleave_ledger::HoseCharge::EveryPath,
            HoseCharge::EvenSplits | HoseCharge::ChosenPaths => wayleave_ledger::HoseCharge::Split,
        };
        let mut certainties = Certainties::new(self.network, self.model, charge);
        let mut words: HashMap<&str, &str> = HashMap::new();
        for entry in &plan.requests {
            let name = || entry.name.clone();
            present.take(entry)?;
            self.words(entry, &mut findings)?;
            match entry.decision.as_str() {
                "admitted" if entry.share.is_other_kind() => {
                    let is_new = entry.event.as_deref() != Some("change");
                    if is_new && kinds.contains(&entry.name) {
                        return Err(format!("\"{}\" is admitted twice", entry.name));
                    }
                    let (tenant, share) = self.share(entry, &mut findings)?;
                    let at = time(entry.at_ns, &entry.name)?;
                    let after = time(entry.activate_after_ns.unwrap_or(0), &entry.name)?;
                    history.push(PlanEvent::Shared { name: name(), at, after, share: share.clone() });
                    certainties.decided(entry, share.as_ref(), &mut findings);
                    words.extend(entry.share.certainty.as_deref().map(|word| (entry.name.as_str(), word)));
                    kinds.add(tenant, share);
                }
                "released" if kinds.remove(&entry.name) => {
                    let at = time(entry.at_ns, &entry.name)?;
                    certainties.released(entry);
                    if let Some(held) = entry.held_until_ns.filter(|&held| held < entry.at_ns) {
                        let what = "the end of its reservation";
                        findings.push(compared::stated(&entry.name, what, format!("{held} ns"), at));
                    }
                    history.push(PlanEvent::Shared { name: name(), at, after: Time::ZERO, share: None });
                }
                "admitted" => {
                    let admitted = self.admitted(entry, &mut findings)?;
                    if let Some(contract) = self.latency(&entry.name) {
                        kinds.know(contract);
                    }
                    history.push(PlanEvent::Admitted(Box::new(admitted)));
                }
                "released" => {
                    let at = time(entry.at_ns, &entry.name)?;
                    let held_until = entry.held_until_ns.map_or(Ok(at), |until| time(until, &entry.name))?;
                    history.push(PlanEvent::Released { name: name(), at, held_until });
                }
                "refused" | "not-admitted" => {}
                other => return Err(format!("\"{}\" is \"{other}\", which is not a decision", entry.name)),
            }
        }
        let end = plan.requests.last().map_or(Ok(Time::ZERO), |entry| time(entry.at_ns, &entry.name))?;
        history.extend(PlanEvent::time_passes(end, &history));
        certainties.end(end.as_nanos(), &plan.changed_certainty, &mut findings);
        words.extend(plan.changed_certainty.iter().map(|one| (one.name.as_str(), one.to.as_str())));
        words.iter().for_each(|(name, word)| kinds.set_certainty(name, stated_in_the_end(Some(word))));
        findings.extend(self.unmentioned(plan));
        let short_buffers: Vec<ShortBuffer> =
            plan.short_buffers.iter().map(|stated| self.buffer(stated, &mut findings)).collect::<Result<_, _>>()?;
        if !short_buffers.is_sorted_by(|one, next| one.link < next.link) {
            findings.push(compared::stated("short_buffers", "their order", "another one", "that of links, each once"));
        }
        let (network, counting) = (self.network.clone(), counting(self.model));
        let (shares, transition_rule) = (kinds.shares(), TransitionRule::Waits);
        let usual = Settings::default();
        let set = |nanos: Option<u64>, usual| nanos.map_or(Ok(usual), |nanos| time(nanos, "the scheme"));
        let minima = MinimaTerms {
            budget: set(plan.scheme.guaranteed_budget_ns, usual.guaranteed_budget)?,
            token_period: set(plan.scheme.token_period_ns, usual.token_period)?,
        };
        Ok((
            Statement { network, counting, queues, history, shares, short_buffers, minima, transition_rule, findings },
            kinds,
        ))
    }

    /// The latency contract of a name, if it is at hand.
    fn latency(&self, name: &str) -> Option<&LatencyContract> {
        self.contracts.as_ref()?.get(name)?.as_latency()
    }

    /// Returns contracts that the plan does not mention.
    fn unmentioned(&self, plan: &Plan) -> Vec<Discrepancy> {
        let Some(contracts) = &self.contracts else { return Vec::new() };
        let mentioned: std::collections::HashSet<&str> =
            plan.requests.iter().map(|entry| entry.name.as_str()).collect();
        let mut missing: Vec<&str> = contracts.keys().copied().filter(|name| !mentioned.contains(name)).collect();
        missing.sort_unstable();
        missing.into_iter().map(|name| Discrepancy::Unmentioned { name: name.to_owned() }).collect()
    }

    fn queue(&self, queue: &Queue) -> Result<StatedQueue, String> {
        let of = || format!("queue {} of {}", queue.queue, queue.link);
        let budget = Some(Time::from_nanos(queue.budget_ns)).filter(|&budget| budget <= MAX_BUDGET);
        Ok(StatedQueue {
            link: self.link(&queue.link)?,
            queue: queue.queue,
            budget: budget.ok_or_else(|| format!("{} has a budget of more than {MAX_BUDGET:#}", of()))?,
            buffer: bytes(queue.buffer_bytes, &of())?,
            flows: queue.flows,
            delay: queue.delay_bound_ns.map(|delay| time(delay, &of())).transpose()?,
            backlog: queue.backlog_bound_bytes.map(|backlog| bytes(backlog, &of())).transpose()?,
        })
    }

    fn admitted(&self, entry: &Entry, findings: &mut Vec<Discrepancy>) -> Result<Admitted, String> {
        let name = entry.name.as_str();
        let missing = |what: &str| format!("\"{name}\" is admitted, but has no {what}");
        let node = |node: &Option<String>, what: &str| self.node(node.as_ref().ok_or_else(|| missing(what))?);
        let reserved = entry.reserved.ok_or_else(|| missing("reservation"))?;
        let routes = self.routes(entry)?;
        let mut admitted = Admitted {
            name: name.to_owned(),
            at: time(entry.at_ns, name)?,
            kind: if entry.event.as_deref() == Some("change") { DecisionKind::Change } else { DecisionKind::New },
            from: node(&entry.from, "source")?,
            to: node(&entry.to, "destination")?,
            asked: RequestedTerms {
                bucket: bucket(
                    entry.rate_bps.ok_or_else(|| missing("rate"))?,
                    entry.burst_bytes.ok_or_else(|| missing("burst"))?,
                    name,
                )?,
                // The plan does not contain it; the reservation covers at least this.
                accounting: ByteAccounting::Wire,
                deadline: time(entry.deadline_ns.ok_or_else(|| missing("deadline"))?, name)?,
            },
            reserved: bucket(reserved.rate_bps, reserved.burst_bytes, name)?,
            max_frame: reserved.max_frame_bytes.map(|frame| bytes(frame, name)).transpose()?,
            routes,
            moved: entry.moved.iter().map(|moved| self.relocation(moved)).collect::<Result<_, _>>()?,
            activate_after: time(entry.activate_after_ns.unwrap_or(0), name)?,
            old_terms_end_after: entry.old_terms_end_after_ns.map(|end| time(end, name)).transpose()?,
        };
        if self.contracts.is_some() {
            let unknown = || format!("\"{name}\" is admitted, but is not among the latency contracts that were given");
            self.compare(self.latency(name).ok_or_else(unknown)?, entry, &mut admitted, findings);
        }
        Ok(admitted)
    }

    /// Compares the plan's statement of a contract's request with the contract, and continues with the contract.
    fn compare(
        &self,
        contract: &LatencyContract,
        entry: &Entry,
        admitted: &mut Admitted,
        findings: &mut Vec<Discrepancy>,
    ) {
        let node = |node: NodeId| self.network.node(node).name.clone();
        let (stated, asked) = (admitted.asked, terms(contract));
        let routes = (entry.protection.unwrap_or(1), usize::from(contract.protection));
        let fields = [
            ("a path from", node(admitted.from), node(contract.from)),
            ("a path to", node(admitted.to), node(contract.to)),
            ("a rate of", format!("{:#}", stated.bucket.rate), format!("{:#}", asked.bucket.rate)),
            ("bursts of", format!("{:#}", stated.bucket.burst), format!("{:#}", asked.bucket.burst)),
            ("a deadline of", format!("{:#}", stated.deadline), format!("{:#}", asked.deadline)),
            ("disjoint routes:", routes.0.to_string(), routes.1.to_string()),
        ];
        let name = &contract.name;
        for (what, stated, contract) in fields.into_iter().filter(|(_, stated, contract)| stated != contract) {
            findings.push(Discrepancy::Asked { name: name.clone(), what, stated, contract });
        }
        let given = admitted.routes.len();
        if given != routes.1 {
            let (stated, contract) = (given.to_string(), routes.1.to_string());
            findings.push(Discrepancy::Asked { name: name.clone(), what: "disjoint routes:", stated, contract });
        }
        let pinned = contract.route.as_ref().filter(|route| admitted.routes.iter().any(|own| own.route != **route));
        if pinned.is_some() {
            let (stated, contract) = ("another one".to_owned(), "which one it is".to_owned());
            findings.push(Discrepancy::Asked { name: name.clone(), what: "a route:", stated, contract });
        }
        (admitted.from, admitted.to, admitted.asked) = (contract.from, contract.to, asked);
    }

    fn routes(&self, entry: &Entry) -> Result<Vec<StatedRoute>, String> {
        let name = &entry.name;
        let steps = entry.route.as_ref().ok_or_else(|| format!("\"{name}\" is admitted, but has no route"))?;
        let bound = entry.bound_ns.ok_or_else(|| format!("\"{name}\" is admitted, but has no bound"))?;
        let first = (steps, bound, &entry.terms);
        let copies = entry.copies.iter().map(|copy| (&copy.route, copy.bound_ns, &copy.terms));
        let stated = |(steps, bound, terms): (&Vec<Step>, u64, &Vec<Term>)| {
            Ok(StatedRoute {
                route: self.route(steps)?,
                bound: time(bound, name)?,
                terms: terms.iter().map(|term| self.term(term, name)).collect::<Result<_, String>>()?,
            })
        };
        std::iter::once(first).chain(copies).map(stated).collect()
    }

    fn term(&self, term: &Term, name: &str) -> Result<StatedTerm, String> {
        let at = term.at.as_deref().unwrap_or_default();
        let part = match (term.kind.as_str(), term.queue) {
            ("queue", Some(queue)) => DelayPart::Queue(self.link(at)?, queue),
            ("propagation", None) => DelayPart::Propagation(self.link(at)?),
            ("processing", None) => DelayPart::Processing(self.node(at)?),
            (kind, _) => return Err(format!("\"{name}\" has a bound term of unknown kind \"{kind}\"")),
        };
        Ok(StatedTerm { part, delay: time(term.delay_ns, name)? })
    }

    fn relocation(&self, moved: &Move) -> Result<Relocation, String> {
        Ok(Relocation {
            name: moved.name.clone(),
            from: self.route(&moved.from)?,
            to: self.route(&moved.to)?,
            after: moved.after_ns.map(|after| time(after, &moved.name)).transpose()?,
        })
    }
}
