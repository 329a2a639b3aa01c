//! Events: `kind: Events`, contracts that come, change and go.

use std::collections::HashMap;

use wayleave_contracts::{Contract, ContractEvent, ContractKind, EventAction};
use wayleave_topology::Network;
use wayleave_units::Time;

use crate::contracts::{Addressed, ContractField, FieldSpans, Terms, finding};
use crate::document::{self, DocumentKind};
use crate::fields::{Fields, Shape};
use crate::location::{SourceLocation, Span};
use crate::messages::{MAX_NAMES, did_you_mean, nearest, quoted};
use crate::problem::{InputErrors, Problem, ProblemKind, Problems};
use crate::source::Source;
use crate::tree::{Node, Value};

pub(crate) const EVENTS_SPEC: Shape = Shape { what: "the spec of Events", keys: &["events"] };
pub(crate) const EVENT: Shape = Shape { what: "an event", keys: &["at", "add", "change", "release"] };

/// Reads events.
///
/// ```
/// use wayleave_formats::{Source, parse_builder, read_events};
/// let network = parse_builder("star:hosts=2")?.network;
/// let text = "
/// apiVersion: wayleave/v1
/// kind: Events
/// spec:
///   events:
///     - { at: 0ns, add: { name: a, from: h1, to: h2, rate: 1Mbit, burst: 1500B, deadline: 2ms } }
///     - { at: 9ms, release: a }
/// ";
/// assert_eq!(read_events(&Source::new("events.yaml", text), &network)?.events().len(), 2);
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
///
/// # Errors
/// Everything that is wrong with the file, in order of place.
pub fn read_events(source: &Source, network: &Network) -> Result<EventList, InputErrors> {
    let mut problems = Problems::new(source);
    let (events, spans, names) = (Vec::new(), Vec::new(), HashMap::new());
    let mut collector = Collector { network, events, spans, last: None, names, seen: 0 };
    let name = read_document(source, &mut problems, &mut collector);
    let Collector { events, spans, .. } = collector;
    let list = name.map(|name| EventList { name, source: source.clone(), events, spans });
    problems.finish(list)
}

/// The events of a file, in order of time, with their positions.
#[derive(Clone, Debug)]
pub struct EventList {
    name: String,
    source: Source,
    events: Vec<ContractEvent>,
    spans: Vec<EventSpans>,
}

#[derive(Clone, Debug)]
struct EventSpans {
    at: Span,
    contract: FieldSpans,
}

impl EventList {
    /// `metadata.name`, or the name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the source from which it was read.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The events, in order of time.
    pub fn events(&self) -> &[ContractEvent] {
        &self.events
    }

    /// Returns `true` if any contract is of another kind than latency.
    pub fn has_other_kinds(&self) -> bool {
        self.events.iter().any(|event| match &event.action {
            EventAction::Add(contract) | EventAction::Change(contract) => contract.as_latency().is_none(),
            EventAction::Release(_) => false,
        })
    }

    /// Returns the position of a field of the event with this index: `at`, or a key of its contract. If the event
    /// does not have the field, returns the position of its contract's name.
    ///
    /// # Panics
    /// If there is no event with this index.
    pub fn locate(&self, index: usize, field: &str) -> SourceLocation {
        let spans = &self.spans[index];
        SourceLocation::new(self.source.text(), if field == "at" { spans.at } else { spans.contract.of(field) })
    }

    /// Something that was found out about an event after it was read, as a problem at its place in the file.
    ///
    /// # Panics
    /// If there is no event with this index.
    pub fn finding(&self, index: usize, field: &str, message: &str) -> Problem {
        let name = match &self.events[index].action {
            EventAction::Add(contract) | EventAction::Change(contract) => contract.name(),
            EventAction::Release(name) => name,
        };
        finding(&self.source, &self.spans[index].contract, field, message, name)
    }
}

fn read_document(source: &Source, problems: &mut Problems<'_>, collector: &mut Collector<'_>) -> Option<String> {
    let document = document::read(source.text(), DocumentKind::Events, problems, |item, problems| {
        collector.add(&item, problems);
    })?;
    let spec = Fields::read(&document.spec, &EVENTS_SPEC, problems)?;
    let list = spec.require("events", problems)?;
    if !matches!(list.value, Value::Streamed) {
        for item in list.expect_list("events", problems)? {
            collector.add(item, problems);
        }
    }
    Some(document.name)
}

/// Presence of a contract, with the position in the file since which it applies.
#[derive(Clone, Copy)]
enum Presence {
    Present(Span, Option<ContractKind>),
    Released(Span),
}

/// Action of an event, by its key.
#[derive(Clone, Copy)]
enum Verb {
    Add,
    Change,
    Release,
}

impl Verb {
    const ALL: [Self; 3] = [Self::Add, Self::Change, Self::Release];

    const fn key(self) -> &'static str {
        match self {
            Self::Add => "add",
            Self::Change => "change",
            Self::Release => "release",
        }
    }
}

struct Collector<'n> {
    network: &'n Network,
    events: Vec<ContractEvent>,
    spans: Vec<EventSpans>,
    /// The latest time so far, and its position.
    last: Option<(Time, Span)>,
    names: HashMap<String, Presence>,
    /// Number of inspected events, right or wrong.
    seen: usize,
}

/// An event as it was written; without an action if its terms are wrong.
struct Draft {
    action: Option<EventAction>,
    verb: Verb,
    name: Option<(String, Span)>,
    /// Kind of its contract; a release applies to any kind.
    kind: Option<ContractKind>,
    spans: FieldSpans,
}

impl Collector<'_> {
    fn add(&mut self, node: &Node<'_>, problems: &mut Problems<'_>) {
        self.seen += 1;
        let Some(fields) = Fields::read(node, &EVENT, problems) else { return };
        let at = self.time(&fields, problems);
        let Some(draft) = self.action(&fields, problems) else { return };
        if let Some((name, span)) = &draft.name {
            self.follow((draft.verb, draft.kind), name, *span, problems);
        }
        if let (Some(at), Some(action)) = (at, draft.action) {
            self.events.push(ContractEvent { at, action });
            self.spans.push(EventSpans { at: fields.value_span("at"), contract: draft.spans });
        }
    }

    fn time(&mut self, fields: &Fields<'_, '_>, problems: &mut Problems<'_>) -> Option<Time> {
        let node = fields.require("at", problems)?;
        let at: Time = node.quantity(problems)?;
        match self.last {
            Some((last, before)) if at < last => {
                let source = problems.source();
                problems.report(ProblemKind::BadOrder, node.span, || {
                    let line = source.line_of(before);
                    let message = format!("{at} is before {last}, the time of the event on line {line}");
                    (message, "events must be in order of time")
                });
            }
            _ => self.last = Some((at, node.span)),
        }
        Some(at)
    }

    fn action(&self, fields: &Fields<'_, '_>, problems: &mut Problems<'_>) -> Option<Draft> {
        let mut given = Verb::ALL.into_iter().filter_map(|verb| Some((verb, fields.get(verb.key())?)));
        let Some((verb, node)) = given.next() else {
            let message = "an event needs one of the keys \"add\", \"change\" and \"release\"";
            problems.report(ProblemKind::MissingKey, fields.at, || message);
            return None;
        };
        if let Some((second, _)) = given.next() {
            let (first, second) = (verb.key(), second.key());
            let message = || format!("an event has exactly one of these keys, but {first} and {second} are given");
            problems.report(ProblemKind::WrongType, fields.key_span(second), message);
            return None;
        }
        match verb {
            Verb::Add => self.terms(verb, EventAction::Add, node, problems),
            Verb::Change => self.terms(verb, EventAction::Change, node, problems),
            Verb::Release => self.release(node, problems),
        }
    }

    fn release(&self, node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Draft> {
        if matches!(node.value, Value::Mapping(_)) {
            problems.report(ProblemKind::WrongType, node.span, || "a release needs only a name: `release: NAME`");
            return None;
        }
        let name = node.expect_text(problems)?.to_owned();
        let mut spans = FieldSpans::new(node.span);
        spans.set(ContractField::Name, node.span);
        let action = Some(EventAction::Release(name.clone()));
        Some(Draft { action, verb: Verb::Release, name: Some((name, node.span)), kind: None, spans })
    }

    fn terms(
        &self,
        verb: Verb,
        action: impl FnOnce(Box<Contract>) -> EventAction,
        node: &Node<'_>,
        problems: &mut Problems<'_>,
    ) -> Option<Draft> {
        let mark = problems.mark();
        let terms = Terms::from_node(node, Addressed::default(), problems)?;
        let action = terms.check_any(self.network, problems).map(|contract| action(Box::new(contract)));
        problems.explain_since(mark, || terms.context("event", self.seen));
        let name = terms.get(ContractField::Name).map(|name| (name.text.clone().into_owned(), name.span));
        Some(Draft { action, verb, name, kind: terms.kind(), spans: terms.spans() })
    }

    /// Tracks the present contracts, and reports impossible events.
    fn follow(
        &mut self,
        (verb, kind): (Verb, Option<ContractKind>),
        name: &str,
        span: Span,
        problems: &mut Problems<'_>,
    ) {
        let previous = self.names.get(name).copied();
        let present = matches!(previous, Some(Presence::Present(..)));
        let source = problems.source();
        match (verb, previous) {
            (Verb::Add, Some(Presence::Present(first, _))) => {
                problems.report(ProblemKind::BadOrder, span, || {
                    let line = source.line_of(first);
                    let message = format!("{} already exists: it was added on line {line}", quoted(name));
                    (message, "release it first, or `change` it")
                });
            }
            (Verb::Change, Some(Presence::Present(first, was))) if was != kind => {
                problems.report(ProblemKind::Impossible, span, || {
                    let line = source.line_of(first);
                    let message = format!("{} is of another kind: it was added on line {line}", quoted(name));
                    (message, "release it, and add a contract of the other kind")
                });
            }
            (Verb::Add, _) | (_, Some(Presence::Present(..))) => {}
            (_, Some(Presence::Released(end))) => {
                problems.report(ProblemKind::BadOrder, span, || {
                    format!("{} no longer exists: it was released on line {}", quoted(name), source.line_of(end))
                });
            }
            (_, None) => problems.report(ProblemKind::UnknownName, span, || {
                let near = nearest(name, self.names.keys().map(String::as_str).take(MAX_NAMES));
                format!("no contract {} was added before{}", quoted(name), did_you_mean(near))
            }),
        }
        match verb {
            Verb::Release if present => drop(self.names.insert(name.to_owned(), Presence::Released(span))),
            Verb::Add if !present => drop(self.names.insert(name.to_owned(), Presence::Present(span, kind))),
            _ => {}
        }
    }
}
