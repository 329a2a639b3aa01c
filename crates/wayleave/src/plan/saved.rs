//! A saved plan to resume from: its decisions are restored with every check and without a search.
//!
//! The plan's statements about the network, the scheme or the contracts are not trusted: they must equal the
//! decisions that would be made here, as far as this can be checked without deciding. Properties of refused contracts
//! that a plan does not contain (counting mode, largest frame, given route) cannot be compared.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use serde_json::value::RawValue;
use wayleave_contracts::LatencyContract;
use wayleave_explain::{DecidedFlow, DecidedShare, EarlierDecisions, RequestJson, ShareJson};
use wayleave_formats::Source;
use wayleave_ledger::Ledger;
use wayleave_schemes::admitted::AdmittedSet;
use wayleave_schemes::replay::{PlannedDecision, PlannedMove, ReplayError};
use wayleave_topology::{FlowId, Hop, Network, Route};
use wayleave_units::{Time, count};

use super::json::Head;
use crate::contracts::{ContractIndex, Contracts};
use crate::error::Error;
use crate::progress::{ProgressStep, Watch};
use crate::schemes::DEFAULT_BUDGETS;
use crate::session::{RequestOutcome, Session};

/// A document of `wayleave plan -o json` for a list of contracts, which is for a session's network, scheme and model.
pub struct SavedPlan<'a> {
    source: &'a Source,
    requests: Vec<&'a RawValue>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File<'a> {
    #[serde(borrow)]
    wayleave: &'a RawValue,
    #[serde(borrow)]
    scheme: &'a RawValue,
    #[serde(borrow)]
    model: &'a RawValue,
    #[serde(borrow)]
    topology: &'a RawValue,
    #[serde(borrow)]
    requests: Vec<&'a RawValue>,
    #[serde(borrow)]
    queues: Vec<Queue<'a>>,
    #[serde(rename = "changed_certainty")]
    _changed_certainty: Option<IgnoredAny>,
    #[serde(rename = "short_buffers")]
    _short_buffers: Option<IgnoredAny>,
    #[serde(rename = "summary")]
    _summary: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Queue<'a> {
    #[serde(borrow)]
    link: Cow<'a, str>,
    queue: u8,
    budget_ns: u64,
    buffer_bytes: u64,
    #[serde(rename = "flows")]
    _flows: Option<IgnoredAny>,
    #[serde(rename = "inputs")]
    _inputs: Option<IgnoredAny>,
    #[serde(rename = "arrival")]
    _arrival: Option<IgnoredAny>,
    #[serde(rename = "service")]
    _service: Option<IgnoredAny>,
    #[serde(rename = "jitter_ns")]
    _jitter_ns: Option<IgnoredAny>,
    #[serde(rename = "delay_bound_ns")]
    _delay_bound_ns: Option<IgnoredAny>,
    #[serde(rename = "delay_ns")]
    _delay_ns: Option<IgnoredAny>,
    #[serde(rename = "backlog_bound_bytes")]
    _backlog_bound_bytes: Option<IgnoredAny>,
    #[serde(rename = "backlog_bytes")]
    _backlog_bytes: Option<IgnoredAny>,
}

/// A request of the plan: properties of the contract, and the outcome. Fields that begin with `_` follow from others,
/// and are not read.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    event: Option<IgnoredAny>,
    #[serde(borrow)]
    from: Option<Cow<'a, str>>,
    #[serde(borrow)]
    to: Option<Cow<'a, str>>,
    rate_bps: Option<u64>,
    burst_bytes: Option<u64>,
    deadline_ns: Option<u64>,
    protection: Option<u8>,
    #[serde(borrow)]
    decision: Cow<'a, str>,
    reserved: Option<Reserved>,
    #[serde(borrow)]
    route: Option<Vec<Hopped<'a>>>,
    bound_ns: Option<u64>,
    #[serde(borrow, default)]
    copies: Vec<Further<'a>>,
    #[serde(borrow, default)]
    moved: Vec<Moved<'a>>,
    #[serde(rename = "tenant")]
    _tenant: Option<IgnoredAny>,
    #[serde(rename = "at_ns")]
    _at_ns: Option<IgnoredAny>,
    #[serde(rename = "reason")]
    _reason: Option<IgnoredAny>,
    #[serde(rename = "message")]
    _message: Option<IgnoredAny>,
    #[serde(rename = "longest_wait_ns")]
    _longest_wait_ns: Option<IgnoredAny>,
    #[serde(rename = "terms")]
    _terms: Option<IgnoredAny>,
    #[serde(rename = "shared")]
    _shared: Option<IgnoredAny>,
    #[serde(rename = "activate_after_ns")]
    _activate_after_ns: Option<IgnoredAny>,
    #[serde(rename = "old_terms_end_after_ns")]
    _old_terms_end_after_ns: Option<IgnoredAny>,
    #[serde(rename = "binding")]
    _binding: Option<IgnoredAny>,
    #[serde(rename = "other_bindings")]
    _other_bindings: Option<IgnoredAny>,
    #[serde(rename = "tried")]
    _tried: Option<IgnoredAny>,
    #[serde(rename = "disjoint")]
    _disjoint: Option<IgnoredAny>,
    #[serde(rename = "copy")]
    _copy: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reserved {
    rate_bps: u64,
    burst_bytes: u64,
    #[serde(rename = "max_frame_bytes")]
    _max_frame_bytes: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hopped<'a> {
    #[serde(borrow)]
    link: Cow<'a, str>,
    queue: u8,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Further<'a> {
    #[serde(borrow)]
    route: Vec<Hopped<'a>>,
    #[serde(rename = "bound_ns")]
    _bound_ns: Option<IgnoredAny>,
    #[serde(rename = "terms")]
    _terms: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Moved<'a> {
    #[serde(borrow)]
    name: Cow<'a, str>,
    #[serde(borrow)]
    from: Vec<Hopped<'a>>,
    #[serde(borrow)]
    to: Vec<Hopped<'a>>,
    #[serde(rename = "after_ns")]
    _after_ns: Option<IgnoredAny>,
}

/// Remedy for every misfit.
const AGAIN: &str = "create the plan again with `wayleave plan -o json`, or leave it out";

impl<'a> SavedPlan<'a> {
    /// Reads a plan, and compares its version, scheme, model and network with the session, which has admitted nothing
    /// yet.
    ///
    /// # Errors
    /// If it is no plan of contracts, or was not made with this scheme, with these options and on this network.
    pub fn read(source: &'a Source, session: &Session) -> Result<Self, Error> {
        let wrong = |what: String| Error::Located(format!("{}: {what}", source.name()));
        let Some(ledger) = session.ledger() else {
            let name = session.scheme.name();
            return Err(wrong(format!(
                "a plan of scheme {name} has no queue data and cannot be restored: leave it out"
            )));
        };
        if session.scheme.unfit_for_a_controller().is_some() {
            let why = "with --reroute-moves kept, flows also move for refused requests, and a plan does not record these moves";
            return Err(wrong(format!("{why}: leave it out")));
        }
        let file: File<'a> = serde_json::from_str(source.text())
            .map_err(|error| wrong(format!("is not a plan of `wayleave plan -o json`: {error}")))?;
        let differences = file.differences(session)?;
        if !differences.is_empty() {
            return Err(wrong(format!(
                "{}: give the same options and the same network, or {AGAIN}",
                differences.join("; ")
            )));
        }
        compare_queues(&file.queues, &session.network, ledger).map_err(wrong)?;
        Ok(Self { source, requests: file.requests })
    }

    /// Restores the plan's decisions on the contracts before a given one, or on all. The session has admitted nothing
    /// before.
    ///
    /// # Errors
    /// If the plan is for other contracts, or contains something that cannot have been decided here. The session is
    /// unusable then.
    pub fn restore(
        &self,
        session: &mut Session,
        contracts: &Contracts,
        until: Option<ContractIndex>,
        watch: &mut Watch<'_>,
    ) -> Result<EarlierDecisions, Error> {
        let (given, there) = (self.requests.len(), contracts.len());
        if given != there {
            let name = self.source.name();
            let what =
                format!("decides {}, but the list has {}: {AGAIN}", count(given, "request"), count(there, "contract"));
            return Err(Error::Located(format!("{name}: {what}")));
        }
        let mut before = EarlierDecisions { admitted: 0, refused: 0 };
        let mut flows = HashMap::with_capacity(there);
        let asked = contracts.all().take_while(|(place, _)| Some(*place) != until);
        for (done, ((_, any), request)) in (1..).zip(asked.zip(&self.requests)) {
            let Some(contract) = any.as_latency() else {
                let (decision, _) = session.admit_share(any);
                let share = decision.as_ref().ok().and_then(|decision| Some(decision.as_ref()?.share));
                let start = share.and_then(|share| session.share_start(share));
                let decided = DecidedShare { contract: any, decision: &decision, start, event: None };
                self.same_share(session, request, &decided)?;
                let count = if decision.is_ok() { &mut before.admitted } else { &mut before.refused };
                *count += 1;
                watch.step(ProgressStep::Items { done, total: there as u64 });
                continue;
            };
            let flow = self.put(session, contract, request, &flows).map_err(|what| self.located(request, &what))?;
            match flow {
                Some(flow) => {
                    before.admitted += 1;
                    flows.insert(contract.name.as_str(), flow);
                }
                None => before.refused += 1,
            }
            watch.step(ProgressStep::Items { done, total: there as u64 });
        }
        Ok(before)
    }

    /// Puts one decision in place; its flow, if it admits the contract.
    fn put(
        &self,
        session: &mut Session,
        contract: &LatencyContract,
        request: &RawValue,
        flows: &HashMap<&str, FlowId>,
    ) -> Result<Option<FlowId>, String> {
        let entry: Entry<'_> =
            serde_json::from_str(request.get()).map_err(|error| format!("is not a request: {error}"))?;
        entry.compare(session, contract)?;
        if entry.decision == "refused" {
            return Ok(None);
        }
        let stated = entry.stated(&session.network, flows)?;
        session.decide_as_stated(contract, &stated).map(Some).map_err(|misfit| words(session, contract, &misfit))
    }

    /// Compares a decision made now, with the earlier ones restored, with the plan's decision.
    ///
    /// # Errors
    /// If they differ.
    pub fn confirm(
        &self,
        session: &Session,
        contracts: &Contracts,
        place: ContractIndex,
        verdict: &RequestOutcome,
    ) -> Result<(), Error> {
        let Some(((_, contract), request)) = contracts.all().zip(&self.requests).find(|((at, _), _)| *at == place)
        else {
            return Ok(());
        };
        let Some(contract) = contract.as_latency() else { return Ok(()) };
        let decided = DecidedFlow {
            contract,
            decision: &verdict.decision,
            starts: Some(&verdict.starts),
            event: None,
            keeps_old_terms: false,
        };
        let here = serde_json::to_string(&RequestJson::of(&session.context(), &decided))?;
        let mut differences = Vec::new();
        compare("its", &value(request.get())?, &value(&here)?, &mut differences);
        let Some(first) = differences.first() else { return Ok(()) };
        let what = format!("deciding \"{}\" again gives a different result, {first}: {AGAIN}", contract.name);
        Err(self.located(request, &what))
    }

    /// Compares the decision on a contract of another kind with the plan's decision.
    ///
    /// # Errors
    /// If they differ.
    pub fn confirm_share(
        &self,
        session: &Session,
        contracts: &Contracts,
        place: ContractIndex,
        decided: &DecidedShare<'_>,
    ) -> Result<(), Error> {
        let request = contracts.all().zip(&self.requests).find(|((at, _), _)| *at == place);
        request.map_or(Ok(()), |(_, request)| self.same_share(session, request, decided))
    }

    /// Decides a share again, since this costs no search, and compares the result with the plan.
    fn same_share(&self, session: &Session, request: &RawValue, decided: &DecidedShare<'_>) -> Result<(), Error> {
        let here = serde_json::to_string(&ShareJson::of(&session.network, decided))?;
        let mut differences = Vec::new();
        compare("its", &value(request.get())?, &value(&here)?, &mut differences);
        let Some(first) = differences.first() else { return Ok(()) };
        let name = decided.contract.name();
        let what = format!("deciding \"{name}\" again gives a different result, {first}: {AGAIN}");
        Err(self.located(request, &what))
    }

    /// An error with the line of a request.
    fn located(&self, request: &RawValue, what: &str) -> Error {
        let text = self.source.text();
        let offset = (request.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        let line = 1 + text.as_bytes().iter().take(offset).filter(|&&byte| byte == b'\n').count();
        Error::Located(format!("{}:{line}: {what}", self.source.name()))
    }
}

fn value(text: &str) -> Result<Value, Error> {
    Ok(serde_json::from_str(text)?)
}

/// Returns `true` if a plan states its default delay budgets. Older plans do not: they were decided with the published
/// ones. Also `true` for a text that is no plan, which is reported when it is read.
pub fn states_default_budgets(source: &Source) -> bool {
    #[derive(Deserialize)]
    struct Head {
        scheme: serde_json::Map<String, Value>,
    }
    serde_json::from_str(source.text()).is_ok_and(|Head { scheme }| scheme.contains_key(DEFAULT_BUDGETS))
}

impl File<'_> {
    /// Returns the differences between the plan's head and the session's head.
    fn differences(&self, session: &Session) -> Result<Vec<String>, Error> {
        // Through text, since a number that is read may be another than the one that was written, by its last bit.
        let here = value(&serde_json::to_string(&Head::of(session))?)?;
        let mut differences = Vec::new();
        for (key, given) in [("wayleave", self.wayleave), ("scheme", self.scheme), ("model", self.model)] {
            let mut stored = value(given.get())?;
            if let (Some(settings), Some(_)) = (stored.as_object_mut(), here[key].get(DEFAULT_BUDGETS)) {
                settings.entry(DEFAULT_BUDGETS).or_insert_with(|| "published".into());
            }
            compare(key, &stored, &here[key], &mut differences);
        }
        // The same network may be read from another file.
        let given = value(self.topology.get())?;
        for key in ["hosts", "switches", "links"] {
            compare(&format!("topology.{key}"), &given[key], &here["topology"][key], &mut differences);
        }
        Ok(differences)
    }
}

/// Adds how two values differ, member by member.
fn compare(path: &str, given: &Value, here: &Value, differences: &mut Vec<String>) {
    match (given, here) {
        (Value::Object(given), Value::Object(here)) => {
            let keys: std::collections::BTreeSet<&String> = given.keys().chain(here.keys()).collect();
            for key in keys {
                let of = |map: &serde_json::Map<String, Value>| map.get(key).cloned().unwrap_or_default();
                compare(&format!("{path}.{key}"), &of(given), &of(here), differences);
            }
        }
        _ if given == here => {}
        _ => differences.push(format!("{path} is {given} in the plan and {here} here")),
    }
}

/// The plan's queues have to be those of the ledger, with their budgets and buffers.
fn compare_queues(given: &[Queue<'_>], network: &Network, ledger: &Ledger) -> Result<(), String> {
    let here: usize = network.links().map(|(link, _)| ledger.budgets(link).len()).sum();
    if given.len() != here {
        return Err(format!(
            "the plan has {} for contracts, but the network has {here}: {AGAIN}",
            count(given.len(), "queue")
        ));
    }
    for queue in given {
        let of = || format!("queue {} of {}", queue.queue, queue.link);
        let at = usize::from(queue.queue);
        let known = network.find_link(&queue.link).and_then(|link| {
            Some((ledger.budgets(link).nth(at)?.as_nanos(), network.queues(link).get(at)?.buffer.get()))
        });
        let Some((budget, buffer)) = known else { return Err(format!("there is no {}: {AGAIN}", of())) };
        if (budget, buffer) != (queue.budget_ns, queue.buffer_bytes) {
            return Err(format!(
                "{} has a budget of {} ns and a buffer of {} B in the plan, and {budget} ns and {buffer} B here: {AGAIN}",
                of(),
                queue.budget_ns,
                queue.buffer_bytes
            ));
        }
    }
    Ok(())
}

impl Entry<'_> {
    /// Compares this request with the contract.
    fn compare(&self, session: &Session, contract: &LatencyContract) -> Result<(), String> {
        let name = &contract.name;
        if self.event.is_some() || !matches!(&*self.decision, "admitted" | "refused") {
            return Err(format!("is a plan of events; expected a plan of contracts: {AGAIN}"));
        }
        if self.name != name.as_str() {
            let what =
                format!("the plan decides \"{}\" here, but the contract at this position is \"{name}\"", self.name);
            return Err(format!("{what}: {AGAIN}"));
        }
        let request = session.request(contract);
        let node = |node| Some(session.network.node(node).name.as_str());
        let reserved = |of: fn(&Reserved) -> u64, here| self.reserved.as_ref().map_or(here, of);
        let (rate, burst) = (request.rate.bits_per_second(), request.burst.get());
        let same = [
            ("source", self.from.as_deref() == node(contract.from)),
            ("destination", self.to.as_deref() == node(contract.to)),
            ("rate", self.rate_bps == Some(contract.rate.bits_per_second())),
            ("burst", self.burst_bytes == Some(contract.burst.get())),
            ("deadline", self.deadline_ns == Some(contract.deadline.as_nanos())),
            ("protection", self.protection.unwrap_or(1) == contract.protection.max(1)),
            ("rate on the wire", reserved(|reserved| reserved.rate_bps, rate) == rate),
            ("burst on the wire", reserved(|reserved| reserved.burst_bytes, burst) == burst),
        ];
        match same.iter().find(|(_, is_same)| !is_same) {
            Some((what, _)) => {
                Err(format!("\"{name}\" has a different {what} in the plan than in the contracts: {AGAIN}"))
            }
            None => Ok(()),
        }
    }

    /// The decision, in indices.
    fn stated(&self, network: &Network, flows: &HashMap<&str, FlowId>) -> Result<PlannedDecision, String> {
        let missing = |what: &str| format!("\"{}\" is admitted, but has no {what}", self.name);
        let first = self.route.as_ref().ok_or_else(|| missing("route"))?;
        let copies = self.copies.iter().map(|copy| &copy.route);
        let routes = std::iter::once(first).chain(copies).map(|hops| route(network, hops));
        let moved = |moved: &Moved<'_>| {
            let unknown = || format!("\"{}\" is listed as moved, but was not admitted before", moved.name);
            Ok::<_, String>(PlannedMove {
                flow: *flows.get(&*moved.name).ok_or_else(unknown)?,
                from: route(network, &moved.from)?,
                to: route(network, &moved.to)?,
            })
        };
        Ok(PlannedDecision {
            moved: self.moved.iter().map(moved).collect::<Result<_, _>>()?,
            routes: routes.collect::<Result<_, _>>()?,
            bound: Time::from_nanos(self.bound_ns.ok_or_else(|| missing("bound"))?),
        })
    }
}

fn route(network: &Network, hops: &[Hopped<'_>]) -> Result<Route, String> {
    let unknown = |hop: &Hopped<'_>| format!("link {} is not in the network", hop.link);
    let hop = |hop: &Hopped<'_>| {
        Ok(Hop { link: network.find_link(&hop.link).ok_or_else(|| unknown(hop))?, queue: hop.queue })
    };
    Ok(Route { hops: hops.iter().map(hop).collect::<Result<_, String>>()? })
}

/// Returns the reason why a decision of the plan cannot have been made here.
fn words(session: &Session, contract: &LatencyContract, misfit: &ReplayError) -> String {
    let why = match misfit {
        ReplayError::Routes { stated, asked } => {
            format!("the plan states {}, but the contract needs {asked}", count(*stated, "route"))
        }
        ReplayError::OtherRoute => "the contract gives another route".to_owned(),
        ReplayError::NoRoute(error) => error.to_string(),
        ReplayError::Refused(refusal) => wayleave_explain::sentences::refusal(&session.network, contract, refusal),
        ReplayError::Bound { stated, here } => format!("its bound is {stated:#} in the plan, and {here:#} here"),
        ReplayError::Move(flow) => {
            format!("\"{}\" cannot be moved as planned, or its route differs from the plan", session.name_of(*flow))
        }
    };
    format!("\"{}\" cannot have been admitted like this: {why}: {AGAIN}", contract.name)
}
