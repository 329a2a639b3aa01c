//! Rate, delay and MTU of every link: its own, by the places of its ends, or the default.

use wayleave_units::{Bytes, Rate, Time};

use super::attributes::{Reader, Traits};
use super::build::Edge;
use super::{Graph, ImportOptions, Remark};
use crate::messages::quoted;
use crate::problem::{Message, ProblemKind, Problems};

/// How many names a message lists.
const LISTED: usize = 12;

/// What a link has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) rate: Rate,
    pub(super) delay: Time,
    /// `None` is the usual one.
    pub(super) mtu: Option<Bytes>,
}

/// What every link has.
pub(super) struct Lines {
    pub(super) of_edges: Vec<Line>,
    without_rate: usize,
    without_delay: usize,
    from_places: usize,
    rate: Option<Rate>,
}

impl Lines {
    pub(super) fn read(
        graph: &Graph<'_>,
        edges: &[Edge<'_>],
        traits: &[Traits<'_>],
        options: &ImportOptions,
        reader: &mut Reader<'_>,
        problems: &mut Problems<'_>,
    ) -> Option<Self> {
        let before = problems.mark();
        let usual = reader.line(&graph.attributes, problems);
        // What the graph as a whole is said to be is mostly a title and a date.
        reader.unread_of_links.clear();
        let usual = usual.unwrap_or_default();
        let rate = options.default_rate.or(usual.rate);
        let mut lines = Self { of_edges: Vec::new(), without_rate: 0, without_delay: 0, from_places: 0, rate };
        let (mut first_without_rate, mut first_without_place) = (None, None);
        let mut unplaced = 0;
        for edge in edges {
            let Some(own) = reader.line(&edge.of.attributes, problems) else { continue };
            if own.rate.is_none() {
                lines.without_rate += 1;
                first_without_rate.get_or_insert(edge);
            }
            let delay = own.delay.or_else(|| {
                lines.without_delay += 1;
                let places = traits[edge.from].place.zip(traits[edge.to].place);
                let by_place = places.filter(|_| options.delay_from_places).map(|(from, to)| from.delay_to(to));
                lines.from_places += usize::from(by_place.is_some());
                by_place
            });
            let delay = delay.or(options.default_delay).or(usual.delay);
            if delay.is_none() && options.delay_from_places {
                unplaced += 1;
                first_without_place.get_or_insert(edge.of);
            }
            let (rate, delay) = (own.rate.or(rate).unwrap_or_default(), delay.unwrap_or_default());
            lines.of_edges.push(Line { rate, delay, mtu: own.mtu.or(usual.mtu) });
        }
        reader.report_plain(problems);
        if let Some(first) = first_without_rate.filter(|_| rate.is_none()) {
            let count = lines.without_rate;
            problems.report(ProblemKind::MissingKey, first.of.at, || without_rate(first, traits, count, edges.len()));
        }
        if let Some(first) = first_without_place {
            problems.report(ProblemKind::MissingKey, first.at, || {
                let message =
                    format!("the ends of {} have no longitude and latitude: this is the first", links(unplaced));
                (message, "say with --default-delay what such links get")
            });
        }
        (problems.mark() == before).then_some(lines)
    }

    pub(super) fn remarks(&self, edges: usize, options: &ImportOptions) -> Vec<Remark> {
        let mut remarks = Vec::new();
        if let Some(rate) = self.rate.filter(|_| self.without_rate > 0) {
            let whose = if options.default_rate.is_some() { "--default-rate" } else { "the file's own default" };
            let count = self.without_rate;
            remarks.push(Remark::Assumed(format!("{count} of {} have no rate: {rate} ({whose})", links(edges))));
        }
        let plain = self.without_delay - self.from_places;
        if self.from_places > 0 {
            let count = links(self.from_places);
            remarks.push(Remark::Assumed(format!(
                "the delay of {count} is that of light in a fibre along the great circle; real fibres are longer"
            )));
        }
        if plain > 0 {
            let what = match options.default_delay {
                Some(delay) => format!("{delay} (--default-delay)"),
                None => "none, 0ns (--default-delay or --delay-from-places give one)".to_owned(),
            };
            remarks.push(Remark::Assumed(format!("{plain} of {} say no delay: {what}", links(edges))));
        }
        remarks
    }
}

pub(super) fn links(count: usize) -> String {
    format!("{count} link{}", if count == 1 { "" } else { "s" })
}

fn without_rate(first: &Edge<'_>, traits: &[Traits<'_>], count: usize, of: usize) -> Message {
    let has: Vec<&str> = first.of.attributes.iter().map(|attribute| &*attribute.key).take(LISTED).collect();
    let has = if has.is_empty() { "no attributes".to_owned() } else { format!("only {}", has.join(", ")) };
    let [from, to] = &first.of.ends;
    let [from, to] =
        [(first.from, from), (first.to, to)].map(|(node, end)| quoted(traits[node].label.unwrap_or(&end.id)));
    let message = format!("{count} of {} have no rate: the first joins {from} and {to}, and has {has}", links(of));
    (message, "add --default-rate 10Gbit, or give links a rate such as bandwidth: 10Gbit or LinkSpeedRaw").into()
}
