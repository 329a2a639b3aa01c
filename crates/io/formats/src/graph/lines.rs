//! Rate, delay and MTU of every link: its own, by the places of its ends, or the default.

use std::collections::BTreeMap;

use wayleave_topology::builders::Cabling;
use wayleave_units::{Bytes, Rate, Time, count};

use super::attributes::{LinkAttributes, NodeAttributes, Reader};
use super::model::{Graph, GraphEdge, GraphEnd, ImportOptions};
use super::remark::Remark;
use crate::messages::{all_of, quoted};
use crate::problem::{Message, ProblemKind, Problems};

/// Maximum number of names that a message lists.
const LISTED: usize = 12;

/// An edge whose ends are known and differ.
pub(super) struct Edge<'g> {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) of: &'g GraphEdge<'g>,
}

/// Properties of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) rate: Rate,
    pub(super) delay: Time,
    pub(super) mtu: Bytes,
}

/// The source of a default: an option, which counts before the file's own.
fn value_and_source<T: std::fmt::Display + PartialEq>(option: &str, given: Option<T>, file: Option<T>) -> String {
    match (given, file) {
        (None, _) => "the file's own default".to_owned(),
        (Some(given), Some(file)) if given != file => format!("{option}, and not {file}, the file's own default"),
        (Some(_), _) => option.to_owned(),
    }
}

/// Properties of all links.
pub(super) struct Lines {
    /// For each edge the direction that leaves its first end, and the one that leaves its second.
    pub(super) of_edges: Vec<[Line; 2]>,
    /// Directed links without an MTU, by the one that they get and whose default that is.
    without_mtu: BTreeMap<(Bytes, &'static str), usize>,
    without_rate: usize,
    without_delay: usize,
    from_places: usize,
    rate: Option<Rate>,
    /// Values of the graph as a whole.
    usual: LinkAttributes,
}

impl Lines {
    pub(super) fn read(
        graph: &Graph<'_>,
        edges: &[Edge<'_>],
        traits: &[NodeAttributes<'_>],
        options: &ImportOptions,
        reader: &mut Reader<'_>,
        problems: &mut Problems<'_>,
    ) -> Option<Self> {
        let before = problems.mark();
        let usual = reader.line("the graph", &graph.attributes, problems).unwrap_or_default();
        let rate = options.default_rate.or(usual.rate);
        let mut lines = Self {
            of_edges: Vec::new(),
            without_mtu: BTreeMap::new(),
            without_rate: 0,
            without_delay: 0,
            from_places: 0,
            rate,
            usual,
        };
        let (mut first_without_rate, mut first_without_place) = (None, None);
        let mut unplaced = 0;
        for edge in edges {
            let both = reader.line("links", &edge.of.attributes, problems);
            let ends = edge.of.ends.each_ref().map(|end| reader.line("ends of links", &end.attributes, problems));
            let (Some(both), [Some(from), Some(to)]) = (both, ends) else { continue };
            let own = [from, to].map(|end| end.or(both));
            // An edge in one direction uses the first alone.
            let used = if edge.of.directed { &own[..1] } else { &own[..] };
            if used.iter().any(|line| line.rate.is_none()) {
                lines.without_rate += 1;
                first_without_rate.get_or_insert(edge);
            }
            let by_place = used.iter().any(|line| line.delay.is_none()).then(|| {
                lines.without_delay += 1;
                let places = traits[edge.from].place.zip(traits[edge.to].place);
                let by_place = places.filter(|_| options.delay_from_places).map(|(from, to)| from.delay_to(to));
                let by_place = used[0].delay_of_length.or(by_place);
                lines.from_places += usize::from(by_place.is_some());
                by_place
            });
            let delay = by_place.flatten().or(options.default_delay).or(usual.delay);
            if by_place.is_some() && delay.is_none() && options.delay_from_places {
                unplaced += 1;
                first_without_place.get_or_insert(edge.of);
            }
            let mut line = |at: usize| {
                let is_used = at < used.len();
                let end = &edge.of.ends[at];
                Line {
                    rate: own[at].rate.or(rate).unwrap_or_default(),
                    delay: own[at].delay.or(delay).unwrap_or_default(),
                    mtu: own[at].mtu.or(usual.mtu).unwrap_or_else(|| lines.usual_mtu(end, options, is_used)),
                }
            };
            let pair = [line(0), line(1)];
            lines.of_edges.push(pair);
        }
        reader.report_plain(problems);
        if let Some(first) = first_without_rate.filter(|_| rate.is_none()) {
            let count = lines.without_rate;
            problems.report(ProblemKind::MissingKey, first.of.at, || without_rate(first, traits, count, edges.len()));
        }
        if let Some(first) = first_without_place {
            problems.report(ProblemKind::MissingKey, first.at, || {
                let message = format!(
                    "the ends of {} have no longitude and latitude: this is the first",
                    count(unplaced, "link")
                );
                (message, "set the delay of such links with --default-delay")
            });
        }
        (problems.mark() == before).then_some(lines)
    }

    /// MTU of a direction for which the file gives none.
    fn usual_mtu(&mut self, end: &GraphEnd<'_>, options: &ImportOptions, is_used: bool) -> Bytes {
        let given = options.default_mtu.map(|mtu| (mtu, "--default-mtu"));
        let (mtu, whose) = given.or(end.usual_mtu).unwrap_or((Cabling::default().mtu, "usual for Ethernet"));
        if is_used {
            *self.without_mtu.entry((mtu, whose)).or_default() += 1;
        }
        mtu
    }

    pub(super) fn remarks(&self, edges: usize, options: &ImportOptions) -> Vec<Remark> {
        let mut remarks = Vec::new();
        if let Some(rate) = self.rate.filter(|_| self.without_rate > 0) {
            let whose = value_and_source("--default-rate", options.default_rate, self.usual.rate);
            let (missing, links) = (self.without_rate, count(edges, "link"));
            remarks.push(Remark::Assumed(format!("{missing} of {links} have no rate: {rate} ({whose})")));
        }
        let plain = self.without_delay - self.from_places;
        if self.from_places > 0 {
            let links = count(self.from_places, "link");
            remarks.push(Remark::Assumed(format!(
                "the delay of {links} is that of light in a fibre of its length, or along the great circle; real fibres are longer"
            )));
        }
        if plain > 0 {
            let what = match options.default_delay.or(self.usual.delay) {
                Some(delay) => {
                    format!(
                        "{delay} ({})",
                        value_and_source("--default-delay", options.default_delay, self.usual.delay)
                    )
                }
                None => "none, 0ns (--default-delay or --delay-from-places give one)".to_owned(),
            };
            remarks.push(Remark::Assumed(format!("{plain} of {} have no delay: {what}", count(edges, "link"))));
        }
        let of: Vec<String> = self
            .without_mtu
            .iter()
            .map(|((mtu, whose), count)| format!("{}B on {count} ({whose})", mtu.get()))
            .collect();
        if !of.is_empty() {
            let without: usize = self.without_mtu.values().sum();
            let hint = if options.default_mtu.is_some() { "" } else { "; --default-mtu gives another" };
            remarks.push(Remark::Assumed(format!(
                "{} {} no MTU: {}{hint}",
                count(without, "directed link"),
                if without == 1 { "has" } else { "have" },
                all_of(&of)
            )));
        }
        remarks
    }
}

fn without_rate(first: &Edge<'_>, traits: &[NodeAttributes<'_>], missing: usize, of: usize) -> Message {
    let has: Vec<&str> = first
        .of
        .attributes
        .iter()
        .chain(first.of.ends.iter().flat_map(|end| &end.attributes))
        .map(|attribute| &*attribute.key)
        .take(LISTED)
        .collect();
    let has = if has.is_empty() { "no attributes".to_owned() } else { format!("only {}", has.join(", ")) };
    let [from, to] = &first.of.ends;
    let [from, to] =
        [(first.from, from), (first.to, to)].map(|(node, end)| quoted(traits[node].label.unwrap_or(&end.id)));
    let message =
        format!("{missing} of {} have no rate: the first joins {from} and {to}, and has {has}", count(of, "link"));
    (message, "add --default-rate 10Gbit, or give links a rate such as bandwidth: 10Gbit or LinkSpeedRaw").into()
}
