//! The parts of a plan document that follow from its decisions or from the user's input, compared leaf by leaf: the
//! settings of the scheme with the resulting queue budgets, the figures of every queue, the counts of the summary,
//! and the texts that repeat a decision.

use std::fmt;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use wayleave_adversary::{Discrepancy, Statement, reserved_in_the_end};
use wayleave_contracts::{BucketDemand, Contract};
use wayleave_explain::shapes;
use wayleave_formats::Source;
use wayleave_ledger::Ledger;
use wayleave_scheme_api::ValueKind;
use wayleave_schemes::admission::chameleon::DefaultBudgets;
use wayleave_schemes::admitted::AdmittedSet as _;
use wayleave_topology::{Class, NodeKind, Route, ShortBuffer};
use wayleave_units::{Bytes, Rate, Time};

use super::document::{Entry, Plan, Reader, StatedBuffer};
use crate::plan::ModelJson;
use crate::schemes::{DEFAULT_BUDGETS, SchemeOptions};

/// Parts that are compared unchanged.
#[derive(Deserialize)]
struct Parts<'a> {
    scheme: Value,
    model: Value,
    summary: Option<Value>,
    #[serde(borrow)]
    queues: Vec<&'a RawValue>,
}

/// Returns the differences between a document and the consequences of its statement.
///
/// # Errors
/// If the document has not the form of a plan.
pub(super) fn compare(
    source: &Source,
    reader: &Reader<'_>,
    plan: &Plan,
    statement: &Statement,
) -> Result<Vec<Discrepancy>, serde_json::Error> {
    let parts: Parts<'_> = serde_json::from_str(source.text())?;
    let mut found = Vec::new();
    let model = parsed(&ModelJson::of(reader.model))?;
    // A plan of an earlier version does not contain the nodes' packet order; `Plan::counts` treats it as a word.
    if parts.model.get("jitter").is_some() {
        differences("model", &parts.model, &model, &mut found);
    }
    if let Some(summary) = &parts.summary {
        compare_summary(plan, summary, &mut found);
    }
    let moves = plan.requests.iter().any(|entry| !entry.moved.is_empty());
    if moves && parts.scheme.get("reroute") == Some(&Value::Bool(false)) {
        found.push(stated("scheme", "reroute", false, true));
    }
    let budgets = budgets(reader, &parts.scheme, &mut found);
    compare_queues(reader, statement, budgets, &parts.queues, &mut found)?;
    Ok(found)
}

/// Serialises through text: a number that is read may be another than the one that was written, by its last bit.
fn parsed(value: &impl serde::Serialize) -> Result<Value, serde_json::Error> {
    serde_json::from_str(&serde_json::to_string(value)?)
}

/// Creates a discrepancy of a named part.
pub(super) fn stated(name: &str, what: &str, stated: impl fmt::Display, derived: impl fmt::Display) -> Discrepancy {
    let [stated, derived] = [format!("{stated:#}"), format!("{derived:#}")];
    Discrepancy::Stated { name: name.to_owned(), what: what.to_owned(), stated, derived }
}

/// Adds every member that two values do not have in common.
fn differences(name: &str, given: &Value, here: &Value, found: &mut Vec<Discrepancy>) {
    differences_at(name, "", given, here, found);
}

fn differences_at(name: &str, path: &str, given: &Value, here: &Value, found: &mut Vec<Discrepancy>) {
    let none = Value::Null;
    match (given, here) {
        (Value::Object(one), Value::Object(other)) => {
            let keys: std::collections::BTreeSet<&String> = one.keys().chain(other.keys()).collect();
            for key in keys {
                let at = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                let [given, here] = [one, other].map(|map| map.get(key).unwrap_or(&none));
                differences_at(name, &at, given, here, found);
            }
        }
        _ if given == here => {}
        _ => found.push(stated(name, path, given.to_string(), here.to_string())),
    }
}

/// Compares counts with the decisions of the document. Durations of decisions are no promises.
fn compare_summary(plan: &Plan, summary: &Value, found: &mut Vec<Discrepancy>) {
    let count = |decision: &str| plan.requests.iter().filter(|entry| entry.decision == decision).count();
    let moved: usize = plan.requests.iter().map(|entry| entry.moved.len()).sum();
    let mut reasons = serde_json::Map::new();
    for entry in plan.requests.iter().filter(|entry| entry.decision == "refused") {
        let reason = entry.reason.clone().unwrap_or_default();
        let before = reasons.get(&reason).and_then(Value::as_u64).unwrap_or(0);
        reasons.insert(reason, (before + 1).into());
    }
    let mut here = serde_json::Map::new();
    here.insert("admitted".to_owned(), count("admitted").into());
    here.insert("refused".to_owned(), count("refused").into());
    here.insert("moved".to_owned(), moved.into());
    here.insert("by_reason".to_owned(), reasons.into());
    if summary.get("released").is_some() || plan.requests.iter().any(|entry| entry.decision == "released") {
        here.insert("released".to_owned(), count("released").into());
    }
    let mut given = summary.clone();
    if let Some(given) = given.as_object_mut() {
        given.remove("decision_us");
    }
    differences("summary", &given, &here.into(), found);
}

/// Returns the budgets that the settings of the scheme give the queues of every link; `None` for schemes that are not in the
/// list of schemes, which documents name without settings, and for settings that are none.
fn budgets(reader: &Reader<'_>, scheme: &Value, found: &mut Vec<Discrepancy>) -> Option<Vec<Vec<Time>>> {
    let name = scheme.get("name").and_then(Value::as_str).unwrap_or_default();
    let has_settings = scheme.as_object().is_some_and(|members| members.len() > 1);
    let mut wrong = |why: String| {
        found.push(stated("scheme", "its settings", scheme, why));
        None
    };
    let options = match (SchemeOptions::named(name), has_settings) {
        (Ok(options), _) => options,
        (Err(_), false) => return None,
        (Err(error), true) => return wrong(error.to_string()),
    };
    let options = match settings(options, scheme) {
        Ok(options) => options,
        Err(error) => return wrong(error),
    };
    // Plans of older versions do not state them.
    let states_budgets = scheme.get(DEFAULT_BUDGETS).is_some();
    let options = if states_budgets { options } else { options.with_default_budgets(DefaultBudgets::Published) };
    let here = options.settings().map_err(|error| error.to_string()).and_then(|settings| {
        let shape = parsed(&settings).map_err(|error| error.to_string())?;
        let built = options.scheme(reader.network, *reader.model).map_err(|error| error.to_string())?;
        Ok((shape, built))
    });
    let (shape, built) = match here {
        Ok(here) => here,
        Err(error) => return wrong(error),
    };
    let mut sides = [scheme.clone(), shape];
    if let (false, Some(here)) = (states_budgets, sides[1].as_object_mut()) {
        here.remove(DEFAULT_BUDGETS);
    }
    for parameter in options.descriptor().parameters {
        if scheme.get(parameter.key).is_some_and(|value| is_record(&parameter.kind, value)) {
            sides.iter_mut().filter_map(Value::as_object_mut).for_each(|of| drop(of.remove(parameter.key)));
        }
    }
    differences("scheme", &sides[0], &sides[1], found);
    let ledger = built.queues()?.ledger();
    Some(reader.network.links().map(|(link, _)| ledger.budgets(link).collect()).collect())
}

/// Sets the options of a scheme as a document prints them.
fn settings(mut options: SchemeOptions, scheme: &Value) -> Result<SchemeOptions, String> {
    let parameters = options.descriptor().parameters;
    for parameter in parameters {
        let within = if parameter.group.is_empty() { Some(scheme) } else { scheme.get(parameter.group) };
        let units = ["", "_ns", "_bps", "_bytes", "_percent"];
        let value = within.and_then(|of| units.iter().find_map(|unit| of.get(format!("{}{unit}", parameter.key))));
        let text = match value {
            None | Some(Value::Null) => continue,
            Some(value) if is_record(&parameter.kind, value) => continue,
            // The flag of a group of settings.
            Some(Value::Object(_)) => "true".to_owned(),
            Some(value) => text(&parameter.kind, value).ok_or_else(|| format!("a value for {}", parameter.key))?,
        };
        options = options.with(parameter.key, &text).map_err(|error| error.to_string())?;
    }
    Ok(options)
}

/// Returns `true` for numbers with a special form, which documents print by name. They describe the route search, and
/// no promise depends on them.
fn is_record(kind: &ValueKind, value: &Value) -> bool {
    matches!((kind, value), (ValueKind::Text { .. }, Value::Object(_)))
}

/// Writes a value as options and files write it.
fn text(kind: &ValueKind, value: &Value) -> Option<String> {
    match (kind, value) {
        (ValueKind::List(kind), Value::Array(values)) => {
            let texts: Option<Vec<String>> = values.iter().map(|value| text(kind, value)).collect();
            texts.map(|texts| texts.join(","))
        }
        (ValueKind::Time { .. }, Value::Number(number)) => Some(format!("{number}ns")),
        (ValueKind::Rate { .. }, Value::Number(number)) => Some(format!("{number}bit")),
        (ValueKind::Bytes { .. }, Value::Number(number)) => Some(format!("{number}B")),
        (ValueKind::Hundredths { .. }, Value::Number(number)) => Some(format!("{}", number.as_f64()? / 100.0)),
        (_, Value::String(text)) => Some(text.clone()),
        (_, Value::Bool(_) | Value::Number(_)) => Some(value.to_string()),
        _ => None,
    }
}

/// Compares every queue of the document with the queue of a ledger that has the same reservations. Delays and backlogs are
/// derived without a ledger as well, by `wayleave-recheck`; this adds the curves that they follow from.
fn compare_queues(
    reader: &Reader<'_>,
    statement: &Statement,
    budgets: Option<Vec<Vec<Time>>>,
    given: &[&RawValue],
    found: &mut Vec<Discrepancy>,
) -> Result<(), serde_json::Error> {
    let network = reader.network;
    let budgets = budgets.unwrap_or_else(|| {
        let mut budgets = vec![Vec::new(); network.links().len()];
        statement.queues.iter().for_each(|queue| budgets[queue.link.index()].push(queue.budget));
        budgets
    });
    let Ok(mut ledger) = Ledger::new(network.clone(), *reader.model, budgets) else { return Ok(()) };
    let Ok(reserved) = reserved_in_the_end(statement) else { return Ok(()) };
    let mut rates = vec![0_u128; network.links().len()];
    for one in reserved {
        let demand = BucketDemand { rate: one.bucket.rate, burst: one.bucket.burst, max_frame: one.max_frame };
        for hop in &one.route.hops {
            rates[hop.link.index()] += u128::from(demand.rate.bits_per_second());
        }
        let is_full = one.route.hops.iter().any(|hop| {
            rates[hop.link.index()] > u128::from(network.link(hop.link).rate.bits_per_second())
                || usize::from(hop.queue) >= ledger.budgets(hop.link).len()
        });
        // No ledger can hold them. The derivation gives more details about an invalid route or an overbooked link.
        if is_full || !is_route(reader, &one.route) {
            found.push(stated(
                "queues",
                "the reservations",
                "derived from the routes",
                "more than the queues of a link can hold",
            ));
            return Ok(());
        }
        ledger.reserve(demand, one.route);
    }
    let reports: Vec<_> = network.links().flat_map(|(link, _)| ledger.report(link)).collect();
    if given.len() != reports.len() {
        found.push(stated("queues", "their number", given.len(), reports.len()));
    }
    for (given, report) in given.iter().zip(&reports) {
        let (given, here) = (serde_json::from_str(given.get())?, parsed(&shapes::queue(network, report))?);
        let name = format!("queue {} of {}", report.queue, network.link(report.link).name);
        // One figure represents all of a queue: they follow from the same arrivals.
        let mut of_queue = Vec::new();
        differences(&name, &given, &here, &mut of_queue);
        found.extend(of_queue.into_iter().next());
    }
    Ok(())
}

fn is_route(reader: &Reader<'_>, route: &Route) -> bool {
    let (Some(first), Some(last)) = (route.hops.first(), route.hops.last()) else { return false };
    let network = reader.network;
    let (from, to) = (network.link(first.link).from, network.link(last.link).to);
    let is_host = |node| network.node(node).kind == NodeKind::Host;
    is_host(from) && is_host(to) && route.validate(network, from, to).is_ok()
}

impl Reader<'_> {
    /// Converts a buffer that is stated as too small; the buffer size itself is the network's.
    pub(super) fn buffer(&self, given: &StatedBuffer, found: &mut Vec<Discrepancy>) -> Result<ShortBuffer, String> {
        let link = self.link(&given.link)?;
        let queue = self.network.classes().map_or(0, |classes| usize::from(classes.queue_of(Class::Guaranteed)));
        let buffer = self.network.queues(link).get(queue).map_or(Bytes::MAX, |queue| queue.buffer);
        if Bytes::new(given.buffer_bytes) != buffer {
            found.push(stated(&given.link, "its buffer for minima", Bytes::new(given.buffer_bytes), buffer));
        }
        Ok(ShortBuffer { link, buffer, needed: Bytes::new(given.needed_bytes) })
    }

    /// Checks the words of an entry that repeat its decision, and the names that the contract gives.
    pub(super) fn words(&self, entry: &Entry, found: &mut Vec<Discrepancy>) -> Result<(), String> {
        let name = entry.name.as_str();
        let explained = entry.reason.is_some() || entry.message.is_some();
        match entry.decision.as_str() {
            "refused" if !explained => return Err(format!("\"{name}\" is refused, but has no reason")),
            "refused" => {
                let promised = entry.route.is_some() || entry.bound_ns.is_some() || entry.reserved.is_some();
                if promised
                    || entry.share.certainty.is_some()
                    || entry.share.there_within_ns.is_some()
                    || entry.share.there_within_certainty.is_some()
                {
                    return Err(format!("\"{name}\" is refused, but has a guarantee"));
                }
                return Ok(());
            }
            "admitted" if explained || entry.binding.is_some() => {
                return Err(format!("\"{name}\" is admitted, but has a refusal reason"));
            }
            "admitted" => {}
            "not-admitted" if entry.held_until_ns.is_some() => {
                return Err(format!("\"{name}\" was not admitted, but has a reservation at the end"));
            }
            _ => return Ok(()),
        }
        let asked = self.contracts.as_ref().and_then(|contracts| contracts.get(name).copied());
        if let Some(asked) = asked
            && entry.tenant.as_deref() != asked.tenant()
        {
            let word = |tenant: Option<&str>| tenant.unwrap_or("none").to_owned();
            found.push(stated(name, "its tenant", word(entry.tenant.as_deref()), word(asked.tenant())));
        }
        if entry.share.is_other_kind() {
            if entry.route.is_some() && entry.share.between.as_deref() != Some("pair") {
                return Err(format!("\"{name}\" has a route, which only the minimum of a pair has"));
            }
            let class = match entry.share.kind.as_deref() {
                Some("bandwidth") => "guaranteed",
                Some("objective") => "objective",
                _ => "best effort",
            };
            if entry.share.class.as_deref().is_some_and(|given| given != class) {
                found.push(stated(name, "its class", entry.share.class.as_deref().unwrap_or_default(), class));
            }
        } else {
            self.repeated(entry, asked, found)?;
        }
        Ok(())
    }

    /// Compares the reservation, the elements that routes share, and the wait for tokens of a latency contract.
    fn repeated(&self, entry: &Entry, asked: Option<&Contract>, found: &mut Vec<Discrepancy>) -> Result<(), String> {
        let name = entry.name.as_str();
        let routes: Vec<Route> = entry
            .route
            .iter()
            .chain(entry.copies.iter().map(|copy| &copy.route))
            .map(|steps| self.route(steps))
            .collect::<Result<_, _>>()?;
        if let Some(contract) = asked.and_then(Contract::as_latency)
            && let Some(reserved) = entry.reserved
        {
            let request = wayleave_schemes::request(contract, self.model);
            let frame = |frame: Option<u64>| frame.map_or_else(|| "nothing".to_owned(), |frame| frame.to_string());
            let fields = [
                ("its reserved rate", reserved.rate_bps.to_string(), request.rate.bits_per_second().to_string()),
                ("its reserved burst", reserved.burst_bytes.to_string(), request.burst.get().to_string()),
                (
                    "its largest frame",
                    frame(reserved.max_frame_bytes),
                    frame(request.max_frame.map(|frame| frame.get())),
                ),
            ];
            for (what, given, here) in fields.iter().filter(|(_, given, here)| given != here) {
                found.push(stated(name, what, given, here));
            }
        }
        let shared: Vec<&str> = match &routes[..] {
            [first, others @ ..] if !others.is_empty() => {
                let elements = self.network.elements(first).into_iter();
                let shared = elements.filter(|&element| others.iter().all(|other| self.network.uses(other, element)));
                shared.map(|element| self.network.element_name(element)).collect()
            }
            _ => Vec::new(),
        };
        if let Some(given) = entry.shared.as_ref().filter(|given| **given != shared) {
            found.push(stated(name, "the shared elements of its routes", given.join(", "), shared.join(", ")));
        }
        self.wait(entry, &routes, found);
        Ok(())
    }

    /// Compares the longest wait for tokens at the sending host.
    fn wait(&self, entry: &Entry, routes: &[Route], found: &mut Vec<Discrepancy>) {
        let (Some(given), Some(reserved)) = (entry.longest_wait_ns, entry.reserved) else { return };
        let here = wayleave_explain::wait_for_tokens(
            self.network,
            routes,
            BucketDemand {
                rate: Rate::from_bits_per_second(reserved.rate_bps),
                burst: wayleave_units::Bytes::new(reserved.burst_bytes),
                max_frame: reserved.max_frame_bytes.map(wayleave_units::Bytes::new),
            },
        );
        if given != here.as_nanos() {
            found.push(stated(&entry.name, "its longest wait for tokens", Time::from_nanos(given), here));
        }
    }
}
