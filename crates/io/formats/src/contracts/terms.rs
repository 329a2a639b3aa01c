//! The terms of one contract: from texts with places to a checked [`LatencyContract`].

use std::borrow::Cow;

use wayleave_contracts::{
    Accounting, ContractError, ContractKind, ContractRequest, Excess, Labels, LatencyContract, MAX_PROTECTION, Match,
    Named, OrderError, Priority, check_labels, check_times,
};
use wayleave_topology::{Hop, Network, NodeId, Route, RouteError};
use wayleave_units::WallTime;

use super::field::{ContractField, FieldSpans};
use super::kinds::{BODIES, KindBody};
use super::matching;
use super::places::{Addressed, VmLocations};
use super::text::{Text, text_of};
use super::written::WrittenContract;
use crate::fields::{Fields, Quantity, Shape, quantity};
use crate::location::Span;
use crate::messages::{did_you_mean_one_of, quoted};
use crate::names::{unknown_end, unknown_link, unknown_node};
use crate::problem::{ProblemKind, Problems};
use crate::tree::{Entry, Node, Value};

/// The keys of a contract, in order of [`ContractField`].
pub(crate) const CONTRACT: Shape = Shape {
    what: "a contract",
    keys: &[
        "name",
        "tenant",
        "from",
        "to",
        "rate",
        "burst",
        "deadline",
        "accounting",
        "minFrame",
        "maxFrame",
        "route",
        "protection",
        "priority",
        "starts",
        "ends",
        "match",
        "labels",
        "excess",
        "bandwidth",
        "objective",
        "bestEffort",
    ],
};

/// A contract as it was written.
#[derive(Debug)]
pub(crate) struct Terms<'a> {
    whole: Span,
    texts: [Option<Text<'a>>; ContractField::COUNT],
    hops: Vec<Text<'a>>,
    /// Value of `match`, unless it is malformed.
    matching: Option<Match>,
    /// Labels, as far as they can be read.
    labels: Labels,
    /// Value of the key of another kind than latency.
    pub(super) body: Option<KindBody<'a>>,
    given: Addressed<'a>,
}

/// Properties of a contract that admission alone does not need.
pub(super) struct ExtraTerms {
    pub(super) priority: Priority,
    pub(super) starts: Option<WallTime>,
    pub(super) ends: Option<WallTime>,
    pub(super) labels: Labels,
    matching: Option<Match>,
}

impl<'a> Terms<'a> {
    pub(crate) fn new(whole: Span, given: Addressed<'a>) -> Self {
        let texts = [const { None }; ContractField::COUNT];
        Self { whole, texts, hops: Vec::new(), matching: None, labels: Labels::new(), body: None, given }
    }

    /// From a mapping; `None` if it is none.
    pub(crate) fn from_node(node: &Node<'a>, given: Addressed<'a>, problems: &mut Problems<'_>) -> Option<Self> {
        let fields = Fields::read(node, &CONTRACT, problems)?;
        let mut terms = Self::new(node.span, given);
        let is_latency = BODIES.iter().all(|(field, ..)| fields.get(field.key()).is_none());
        let required = ContractField::ALL.into_iter().filter(|field| field.is_required());
        let required = required.filter(|field| is_latency || *field == ContractField::Name);
        let required = required.filter(|field| *field != ContractField::Name || given.name.is_none());
        let hint = |key: &str| match key {
            "from" | "to" => Some("write two hosts: from: h1, to: h2"),
            "rate" => Some("write rate: 10Mbit"),
            "burst" => Some("write burst: 1500B"),
            "deadline" => Some("write deadline: 20ms"),
            _ => None,
        };
        fields.require_with(required.map(ContractField::key), hint, problems);
        for field in ContractField::ALL {
            let Some(value) = fields.get(field.key()) else {
                continue;
            };
            if field == ContractField::Route {
                let Some(hops) = value.expect_list("hops (LINK:QUEUE)", problems) else { continue };
                terms.hops = hops.iter().filter_map(|hop| text_of(hop, problems)).collect();
                terms.set(field, Text { text: Cow::Borrowed(""), span: value.span });
            } else if field == ContractField::Match {
                terms.matching = matching::read(value, problems);
                terms.set(field, Text { text: Cow::Borrowed(""), span: value.span });
            } else if field == ContractField::Labels {
                terms.labels = labels(value, problems).unwrap_or_default();
                terms.set(field, Text { text: Cow::Borrowed(""), span: value.span });
            } else if let Some(&(_, kind, shape)) = BODIES.iter().find(|(body, ..)| *body == field) {
                terms.set(field, Text { text: Cow::Borrowed(""), span: value.span });
                let Some(body) = KindBody::read(field, (kind, shape), value, problems) else { continue };
                if terms.body.replace(body).is_some() {
                    problems.report(ProblemKind::WrongType, fields.key_span(field.key()), || {
                        let message = "a contract has one kind: give only one of bandwidth, objective and bestEffort";
                        (message, "write a contract for each, with names of their own")
                    });
                }
            } else if let Some(text) = text_of(value, problems) {
                terms.set(field, text);
            }
        }
        Some(terms)
    }

    pub(crate) fn set(&mut self, field: ContractField, text: Text<'a>) {
        self.texts[field as usize] = Some(text);
    }

    /// It is about the bandwidth of a pair, in these texts.
    pub(super) fn set_pair(&mut self, whole: Span, texts: Vec<(&'static str, Text<'a>)>, problems: &mut Problems<'_>) {
        self.body = Some(KindBody::pair(whole, texts, problems));
    }

    pub(crate) fn add_hop(&mut self, hop: Text<'a>) {
        self.hops.push(hop);
    }

    pub(crate) fn get(&self, field: ContractField) -> Option<&Text<'a>> {
        self.texts[field as usize].as_ref()
    }

    /// Returns the unparsed texts.
    pub(super) fn written(&self) -> WrittenContract {
        let is_text = |field: &ContractField| *field != ContractField::Route && !field.is_mapping();
        let text = |field| Some((field, self.get(field)?.text.clone().into_owned()));
        let hops = || self.hops.iter().map(|hop| hop.text.clone().into_owned()).collect();
        WrittenContract {
            texts: ContractField::ALL.into_iter().filter(is_text).filter_map(text).collect(),
            route: self.get(ContractField::Route).map(|_| hops()),
            matching: self.matching,
            labels: self.labels.clone(),
            body: self.body.as_ref().map(KindBody::written),
        }
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.get(ContractField::Name).map(|name| &*name.text).or(self.given.name)
    }

    /// Returns its tenant, from the text or from outside.
    pub(crate) fn tenant(&self) -> Option<&str> {
        self.get(ContractField::Tenant).map(|tenant| &*tenant.text).or(self.given.tenant)
    }

    /// Returns its kind.
    pub(crate) fn kind(&self) -> Option<ContractKind> {
        Some(self.body.as_ref().map_or(ContractKind::Latency, |body| body.kind))
    }

    pub(crate) fn spans(&self) -> FieldSpans {
        let mut spans = FieldSpans::new(self.whole);
        for field in ContractField::ALL {
            if let Some(text) = self.get(field) {
                spans.set(field, text.span);
            }
        }
        spans
    }

    /// Returns its description in messages: its name or, without a name, its number among the items.
    pub(crate) fn context(&self, item: &str, number: usize) -> String {
        match self.name() {
            Some(name) => format!("contract {}", quoted(name)),
            None => format!("{item} {number}"),
        }
    }

    /// The contract, if every field can be read and all together make sense.
    pub(crate) fn check(&self, network: &Network, problems: &mut Problems<'_>) -> Option<LatencyContract> {
        if self.refuse_body(problems) {
            return None;
        }
        let named = self.check_names(problems);
        let from = self.host(ContractField::From, network, problems);
        let to = self.host(ContractField::To, network, problems);
        let extra = self.extra_terms(problems);
        let contract = self.contract([from, to], network, problems)?;
        extra.filter(|_| named).and_then(|_| self.validated(contract, network, problems))
    }

    /// Returns the contract as an order, with ends that may be VMs.
    pub(crate) fn latency_order(
        &self,
        network: &Network,
        places: &dyn VmLocations,
        problems: &mut Problems<'_>,
    ) -> Option<ContractRequest> {
        let named = self.check_names(problems);
        let from = self.end(ContractField::From, network, places, problems);
        let to = self.end(ContractField::To, network, places, problems);
        let extra = self.extra_terms(problems);
        let contract = self.contract([from, to], network, problems)?;
        let text = |field| self.get(field).map(|text| text.text.clone().into_owned()).unwrap_or_default();
        let members = vec![text(ContractField::From), text(ContractField::To)];
        let ExtraTerms { priority, starts, ends, labels, matching } = extra?;
        let order =
            ContractRequest { contract: contract.clone().into(), members, priority, starts, ends, labels, matching };
        if let Err(error) = named.then(|| order.validate())? {
            self.report(&error, problems);
            return None;
        }
        self.validated(contract, network, problems).map(|_| order)
    }

    fn contract(
        &self,
        [from, to]: [Option<NodeId>; 2],
        network: &Network,
        problems: &mut Problems<'_>,
    ) -> Option<LatencyContract> {
        let rate = self.quantity(ContractField::Rate, problems);
        let burst = self.quantity(ContractField::Burst, problems);
        let deadline = self.quantity(ContractField::Deadline, problems);
        let max_frame = self.optional_quantity(ContractField::MaxFrame, problems);
        let accounting = self.accounting(problems);
        let route = self.route(network, problems);
        let protection = self.protection(problems);
        let excess = self.excess(problems);
        Some(LatencyContract {
            name: self.name()?.to_owned(),
            tenant: self.tenant().map(str::to_owned),
            from: from?,
            to: to?,
            rate: rate?,
            burst: burst?,
            deadline: deadline?,
            accounting: accounting?,
            max_frame: max_frame?,
            route: route?,
            protection: protection?,
            excess: excess?,
        })
    }

    fn validated(
        &self,
        contract: LatencyContract,
        network: &Network,
        problems: &mut Problems<'_>,
    ) -> Option<LatencyContract> {
        match contract.validate(network) {
            Ok(()) => Some(contract),
            Err(error) => {
                let span = self.hop_of(&error).unwrap_or_else(|| self.spans().of(error.field()));
                problems.report(ProblemKind::Impossible, span, || error.to_string());
                None
            }
        }
    }

    fn report(&self, error: &OrderError, problems: &mut Problems<'_>) {
        problems.report(ProblemKind::Impossible, self.spans().of(error.field()), || error.to_string());
    }

    /// Returns `true` if the names are valid in URLs, and equal those of the URL if there is one.
    pub(super) fn check_names(&self, problems: &mut Problems<'_>) -> bool {
        let names = [
            (ContractField::Name, Named::Contract, self.given.name),
            (ContractField::Tenant, Named::Tenant, self.given.tenant),
        ];
        let mark = problems.mark();
        for (field, named, given) in names {
            let Some(written) = self.get(field) else { continue };
            if let Err(error) = named.check(&written.text) {
                problems.report(ProblemKind::BadValue, written.span, || error.to_string());
            } else if let Some(given) = given.filter(|given| *given != written.text) {
                problems.report(ProblemKind::Contradiction, written.span, || {
                    let message = format!(
                        "the {} is {} here, but {} in the request",
                        field.key(),
                        quoted(&written.text),
                        quoted(given)
                    );
                    (message, format!("omit {} here, or give the same value", field.key()))
                });
            }
        }
        problems.mark() == mark
    }

    /// Returns the properties of the contract beyond its terms; `None` if one is malformed.
    pub(super) fn extra_terms(&self, problems: &mut Problems<'_>) -> Option<ExtraTerms> {
        let priority = self.priority(problems);
        let starts: Option<Option<WallTime>> = self.optional_quantity(ContractField::Starts, problems);
        let ends = self.optional_quantity(ContractField::Ends, problems);
        let (priority, starts, ends) = (priority?, starts?, ends?);
        if let Err(error) = check_times(starts, ends) {
            self.report(&error, problems);
            return None;
        }
        let wrong = self.matching.is_none() && self.get(ContractField::Match).is_some();
        (!wrong).then(|| ExtraTerms { priority, starts, ends, labels: self.labels.clone(), matching: self.matching })
    }

    fn priority(&self, problems: &mut Problems<'_>) -> Option<Priority> {
        let Some(given) = self.get(ContractField::Priority) else { return Some(Priority::default()) };
        let digits = given.text.bytes().all(|byte| byte.is_ascii_digit());
        let priority = Some(&given.text).filter(|_| digits).and_then(|text| Priority::new(text.parse().ok()?));
        if priority.is_none() {
            problems.report(ProblemKind::BadValue, given.span, || {
                let message =
                    format!("{} is not a priority: expected a whole number from 0 to 100", quoted(&given.text));
                (message, "contracts of higher priority are kept longer when something fails; 50 is the default")
            });
        }
        priority
    }

    /// The hop that an error is about, if it is one.
    fn hop_of(&self, error: &ContractError) -> Option<Span> {
        let position = match error {
            ContractError::Route(RouteError::Broken { hop, .. }) => Some(*hop),
            ContractError::Route(RouteError::NoQueue { link, queue, .. }) => {
                let text = format!("{link}:{queue}");
                self.hops.iter().position(|hop| hop.text == text)
            }
            _ => None,
        };
        Some(self.hops.get(position?)?.span)
    }

    fn quantity<T: Quantity>(&self, field: ContractField, problems: &mut Problems<'_>) -> Option<T> {
        let text = self.get(field)?;
        quantity(&text.text, text.span, problems)
    }

    /// `Some(None)` where it is absent.
    fn optional_quantity<T: Quantity>(&self, field: ContractField, problems: &mut Problems<'_>) -> Option<Option<T>> {
        match self.get(field) {
            None => Some(None),
            Some(_) => self.quantity(field, problems).map(Some),
        }
    }

    fn host(&self, field: ContractField, network: &Network, problems: &mut Problems<'_>) -> Option<NodeId> {
        let name = self.get(field)?;
        let node = network.find_node(&name.text);
        if node.is_none() {
            problems.report(ProblemKind::UnknownName, name.span, || unknown_node(&name.text, network));
        }
        node
    }

    /// A VM, or else a node.
    fn end(
        &self,
        field: ContractField,
        network: &Network,
        places: &dyn VmLocations,
        problems: &mut Problems<'_>,
    ) -> Option<NodeId> {
        let name = self.get(field)?;
        let node = places.host_of(self.tenant(), &name.text).or_else(|| network.find_node(&name.text));
        if node.is_none() {
            problems.report(ProblemKind::UnknownName, name.span, || {
                unknown_end(&name.text, network, &places.names(self.tenant()))
            });
        }
        node
    }

    fn accounting(&self, problems: &mut Problems<'_>) -> Option<Accounting> {
        let min_frame = self.optional_quantity(ContractField::MinFrame, problems)?;
        let given = self.get(ContractField::Accounting);
        match (given.map_or("wire", |given| &given.text), given, min_frame) {
            ("wire", _, None) => Some(Accounting::Wire),
            ("frame", _, Some(min_frame)) => Some(Accounting::Frame { min_frame }),
            ("frame", Some(given), None) => {
                problems.report(
                    ProblemKind::MissingKey,
                    given.span,
                    || "accounting by frame needs minFrame, the smallest frame that the flow sends, such as 64B",
                );
                None
            }
            ("wire", _, Some(_)) => {
                let span = self.get(ContractField::MinFrame).map_or(self.whole, |text| text.span);
                problems.report(ProblemKind::Impossible, span, || {
                    let message = "minFrame has no effect when bytes are counted on the wire";
                    (message, "remove it, or add `accounting: frame` if rate and burst count frame bytes")
                });
                None
            }
            (other, ..) => {
                let span = given.map_or(self.whole, |given| given.span);
                problems.report(ProblemKind::BadValue, span, || {
                    format!("unknown accounting {}{}", quoted(other), did_you_mean_one_of(other, &["wire", "frame"]))
                });
                None
            }
        }
    }

    /// Returns `true` if priority and times can be read, where they are not used otherwise.
    pub(super) fn check_extra_terms(&self, problems: &mut Problems<'_>) -> bool {
        self.extra_terms(problems).is_some()
    }

    /// Returns the treatment of packets beyond the bucket: by default they wait.
    fn excess(&self, problems: &mut Problems<'_>) -> Option<Excess> {
        let Some(given) = self.get(ContractField::Excess) else { return Some(Excess::default()) };
        let excess = Excess::named(&given.text);
        if excess.is_none() {
            problems.report(ProblemKind::BadValue, given.span, || {
                let meant = did_you_mean_one_of(&given.text, &Excess::ALL.map(Excess::name));
                format!("unknown excess {}{meant}", quoted(&given.text))
            });
        }
        excess
    }

    /// Returns the number of disjoint routes: one by default.
    fn protection(&self, problems: &mut Problems<'_>) -> Option<u8> {
        let Some(given) = self.get(ContractField::Protection) else { return Some(1) };
        let routes = given.text.parse().ok();
        if routes.is_none() {
            problems.report(ProblemKind::BadValue, given.span, || {
                let message = format!("{} is not a number of disjoint routes", quoted(&given.text));
                (message, format!("a whole number from 1 (no protection) to {MAX_PROTECTION} is expected, such as 2"))
            });
        }
        routes
    }

    /// `Some(None)` where it is absent.
    fn route(&self, network: &Network, problems: &mut Problems<'_>) -> Option<Option<Route>> {
        if self.get(ContractField::Route).is_none() {
            return Some(None);
        }
        let hops: Vec<Option<Hop>> = self.hops.iter().map(|text| hop(text, network, problems)).collect();
        hops.into_iter().collect::<Option<Vec<Hop>>>().map(|hops| Some(Route { hops }))
    }
}

/// `LINK:QUEUE`.
pub(crate) fn hop(text: &Text<'_>, network: &Network, problems: &mut Problems<'_>) -> Option<Hop> {
    let parts = text.text.rsplit_once(':').and_then(|(link, queue)| Some((link, queue.parse::<u8>().ok()?)));
    let Some((name, queue)) = parts else {
        problems.report(ProblemKind::BadValue, text.span, || {
            format!("{} is not a hop: expected LINK:QUEUE, such as h1->s1:0", quoted(&text.text))
        });
        return None;
    };
    let link = network.find_link(name);
    if link.is_none() {
        problems.report(ProblemKind::UnknownName, text.span, || unknown_link(name, network));
    }
    link.map(|link| Hop { link, queue })
}

/// Labels as they are written; `None` if something is wrong with them.
fn labels(node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Labels> {
    let Value::Mapping(entries) = &node.value else {
        problems.report(ProblemKind::WrongType, node.span, || {
            ("labels is not a mapping of texts", "write labels: { app: web, site: a }")
        });
        return None;
    };
    let mark = problems.mark();
    let mut labels = Labels::new();
    for Entry { key, value } in entries {
        let (Some(name), Some(text)) = (key.expect_text(problems), value.expect_text(problems)) else { continue };
        if labels.insert(name.to_owned(), text.to_owned()).is_some() {
            problems.report(ProblemKind::DuplicateKey, key.span, || format!("label {} is given twice", quoted(name)));
        }
    }
    if let Err(error) = check_labels(&labels) {
        problems.report(ProblemKind::BadValue, node.span, || error.to_string());
    }
    (problems.mark() == mark).then_some(labels)
}
