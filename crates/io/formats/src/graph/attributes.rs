//! Meanings of other tools' attributes, by their names: `LinkSpeedRaw`, `bandwidth_Mbit`, `latency`, `Longitude`.

use std::collections::HashMap;

use wayleave_topology::NodeKind;
use wayleave_units::{Bytes, Rate, Time};

use super::coordinates::{Coordinates, delay_of};
use super::model::{Attribute, ImportOptions};
use super::number::{self, DelayUnit, RateUnit};
use super::unused::Unused;
use crate::location::Span;
use crate::messages::quoted;
use crate::problem::{ProblemKind, Problems};

/// The longest link in km: more than twice around the earth is a mistake.
const MAX_LENGTH: f64 = 100_000.0;

/// Meaning of an attribute.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meaning {
    /// A line rate, perhaps in a unit that the name gives.
    Rate(Option<RateUnit>),
    /// The prefix of the unit of Topology Zoo's `LinkSpeed`.
    RateUnits,
    /// A line rate in a unit that means two things; what to call it instead.
    AmbiguousRate(&'static str),
    /// A propagation delay, perhaps in a unit that the name gives.
    Delay(Option<DelayUnit>),
    Mtu,
    /// The length of a link in kilometres.
    Length,
    Longitude,
    Latitude,
    Label,
    Kind,
    /// Attributes that are part of a format's structure.
    Structure,
    Other,
}

/// Properties of a link in its file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LinkAttributes {
    pub(super) rate: Option<Rate>,
    pub(super) delay: Option<Time>,
    pub(super) mtu: Option<Bytes>,
    /// That of light through a fibre of the length of the link.
    pub(super) delay_of_length: Option<Time>,
}

impl LinkAttributes {
    /// Merges two sets of attributes: this one's, and `other`'s where this one has none.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            rate: self.rate.or(other.rate),
            delay: self.delay.or(other.delay),
            mtu: self.mtu.or(other.mtu),
            delay_of_length: self.delay_of_length.or(other.delay_of_length),
        }
    }
}

/// Properties of a node in its file.
#[derive(Clone, Debug, Default)]
pub(super) struct NodeAttributes<'g> {
    pub(super) label: Option<&'g str>,
    pub(super) kind: Option<NodeKind>,
    pub(super) place: Option<Coordinates>,
}

/// Numbers without a unit: how many there are, and the first.
#[derive(Default)]
struct Plain {
    count: usize,
    first: Option<(String, Span)>,
}

impl Plain {
    fn add(&mut self, value: &str, at: Span) {
        self.count += 1;
        self.first.get_or_insert_with(|| (value.to_owned(), at));
    }

    fn report(&self, what: &str, option: &str, example: &str, problems: &mut Problems<'_>) {
        let Some((value, at)) = &self.first else { return };
        problems.report(ProblemKind::BadValue, *at, || {
            let message = match self.count {
                1 => format!("the {what} {} has no unit", quoted(value)),
                count => format!("{count} {what}s have no unit: the first is {}", quoted(value)),
            };
            (message, format!("write {example}, or give the unit of this file's plain numbers with {option}"))
        });
    }
}

/// Reads attributes, and remembers unused ones.
pub(super) struct Reader<'o> {
    options: &'o ImportOptions,
    /// Files repeat few names many times.
    meanings: HashMap<String, Meaning>,
    /// Rates and delays without a unit: one answer is wanted for all of them.
    plain_rates: Plain,
    plain_delays: Plain,
    /// Attributes that are not used.
    pub(super) unused: Unused,
}

impl<'o> Reader<'o> {
    pub(super) fn new(options: &'o ImportOptions, unused: Unused) -> Self {
        let (plain_rates, plain_delays) = (Plain::default(), Plain::default());
        Self { options, meanings: HashMap::new(), plain_rates, plain_delays, unused }
    }

    /// Reports numbers without a unit, once for all of them.
    pub(super) fn report_plain(&self, problems: &mut Problems<'_>) {
        self.plain_rates.report("rate", "--rate-unit", "10Gbit", problems);
        self.plain_delays.report("delay", "--delay-unit", "500us", problems);
    }

    fn meaning(&mut self, key: &str) -> Meaning {
        if let Some(&meaning) = self.meanings.get(key) {
            return meaning;
        }
        let meaning = meaning_of(key);
        // A hostile file may have any number of names: names beyond this limit are not cached.
        if self.meanings.len() < 10_000 {
            self.meanings.insert(key.to_owned(), meaning);
        }
        meaning
    }

    /// Rate, delay and MTU of a link, or of all links if the attributes are those of the whole graph; `None` if something
    /// is wrong, which is reported now or by [`Self::report_plain`].
    pub(super) fn line(
        &mut self,
        owner: &'static str,
        attributes: &[Attribute<'_>],
        problems: &mut Problems<'_>,
    ) -> Option<LinkAttributes> {
        let before = problems.mark();
        let (mut line, mut complete) = (LinkAttributes::default(), true);
        let given =
            |attribute: &&Attribute<'_>| attribute.value.as_deref().is_some_and(|value| !value.trim().is_empty());
        let units = attributes.iter().filter(given).find(|one| self.meaning(&one.key) == Meaning::RateUnits);
        let units = units.and_then(|one| RateUnit::of_prefix(one.value.as_deref()?.trim()));
        // A name with a unit is more precise than one without: LinkSpeedRaw exists beside LinkSpeed.
        let mut rate: Option<(bool, &Attribute<'_>, Option<RateUnit>)> = None;
        let mut mtu_of: Option<&Attribute<'_>> = None;
        for attribute in attributes {
            let Some(value) = attribute.value.as_deref().filter(|_| given(&attribute)) else {
                // An empty value states nothing; a list or a mapping does.
                if attribute.value.is_none() && self.meaning(&attribute.key) != Meaning::Structure {
                    self.leave_out(owner, attribute);
                }
                continue;
            };
            match self.meaning(&attribute.key) {
                Meaning::Rate(unit) => {
                    let replaces = rate.as_ref().is_none_or(|known| !known.0 && unit.is_some());
                    let other = match replaces {
                        true => rate.replace((unit.is_some(), attribute, unit.or(units))).map(|known| known.1),
                        false => Some(attribute),
                    };
                    // Topology Zoo writes one speed twice, as LinkSpeed and as LinkSpeedRaw.
                    if let Some(other) = other.filter(|other| !other.key.starts_with("LinkSpeed")) {
                        self.unused.add_stated(owner, &other.key, other.at);
                    }
                }
                Meaning::AmbiguousRate(instead) => problems.report(ProblemKind::BadValue, attribute.at, || {
                    let name = quoted(&attribute.key);
                    let message = format!("the unit in {name} can mean bits or bytes (Linux tc and people differ)");
                    (message, format!("call it rate_{instead} if bits per second are meant"))
                }),
                Meaning::Delay(unit) if line.delay.is_none() => match unit.or(self.options.delay_unit) {
                    None if number::is_plain(value) => {
                        self.plain_delays.add(value, attribute.at);
                        complete = false;
                    }
                    unit => line.delay = number::delay(value, attribute.at, unit, problems),
                },
                Meaning::Length if self.options.delay_from_places => match number::real(value.trim()) {
                    Some(km) if (0.0..=MAX_LENGTH).contains(&km) => line.delay_of_length = Some(delay_of(km * 1e3)),
                    _ => problems.report(ProblemKind::BadValue, attribute.at, || {
                        format!("{} is not a length: expected 0 to {MAX_LENGTH} km", quoted(value))
                    }),
                },
                Meaning::Mtu => {
                    // The last one counts: that of a link of containerlab, before its `vars`.
                    if let Some(before) = mtu_of.replace(attribute).filter(|before| before.value != attribute.value) {
                        self.unused.add_stated(owner, &before.key, before.at);
                    }
                    line.mtu = mtu(value, attribute, problems);
                }
                Meaning::RateUnits | Meaning::Structure => {}
                _ => self.leave_out(owner, attribute),
            }
        }
        if let Some((_, attribute, unit)) = rate {
            let value = attribute.value.as_deref().unwrap_or_default();
            match unit.or(self.options.rate_unit) {
                None if number::is_plain(value) => {
                    self.plain_rates.add(value, attribute.at);
                    complete = false;
                }
                unit => line.rate = number::rate(value, attribute.at, unit, problems),
            }
        }
        (complete && problems.mark() == before).then_some(line)
    }

    fn leave_out(&mut self, owner: &'static str, attribute: &Attribute<'_>) {
        // A rate or a delay that another attribute states too is not silent, regardless of its name.
        match self.meaning(&attribute.key) {
            Meaning::Other | Meaning::Label => self.unused.add(owner, &attribute.key, attribute.at),
            _ => self.unused.add_stated(owner, &attribute.key, attribute.at),
        }
    }

    /// Label, kind and place of a node.
    pub(super) fn node<'g>(&mut self, attributes: &'g [Attribute<'_>]) -> NodeAttributes<'g> {
        let mut traits = NodeAttributes::default();
        let (mut longitude, mut latitude) = (None, None);
        for attribute in attributes {
            let value = attribute.value.as_deref().filter(|value| !value.is_empty());
            let read = match (self.meaning(&attribute.key), value) {
                (Meaning::Label, Some(value)) => {
                    traits.label = traits.label.or(Some(value));
                    true
                }
                (Meaning::Kind, Some(value)) => {
                    let kind = kind_of_word(value);
                    traits.kind = traits.kind.or(kind);
                    kind.is_some()
                }
                (Meaning::Longitude, Some(value)) => {
                    longitude = number::real(value.trim());
                    longitude.is_some()
                }
                (Meaning::Latitude, Some(value)) => {
                    latitude = number::real(value.trim());
                    latitude.is_some()
                }
                (Meaning::Structure, _) => true,
                _ => false,
            };
            let states = attribute.value.as_deref() != Some("");
            if !read && states {
                self.unused.add("nodes", &attribute.key, attribute.at);
            }
        }
        traits.place = longitude.zip(latitude).and_then(|(longitude, latitude)| Coordinates::new(longitude, latitude));
        traits
    }
}

fn mtu(value: &str, attribute: &Attribute<'_>, problems: &mut Problems<'_>) -> Option<Bytes> {
    let plain = value.trim().strip_suffix(".0").unwrap_or(value.trim());
    let bytes = plain.strip_suffix('B').unwrap_or(plain).parse().ok();
    let mtu = bytes.filter(|bytes| (64..=65_535).contains(bytes)).map(Bytes::new);
    if mtu.is_none() {
        let message = || format!("{} is not an MTU: expected 64 to 65535 bytes", quoted(value));
        problems.report(ProblemKind::BadValue, attribute.at, message);
    }
    mtu
}

/// Returns the kind of a word: `host` and `server` are hosts, `switch` and `router` are switches; other words are
/// unknown.
pub(crate) fn kind_of_word(word: &str) -> Option<NodeKind> {
    let folded: String = word.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    const HOSTS: [&str; 11] =
        ["host", "endhost", "endsystem", "endstation", "es", "station", "workstation", "server", "client", "pc", "vm"];
    const SWITCHES: [&str; 9] = ["switch", "router", "bridge", "leaf", "leave", "spine", "core", "tor", "aggregation"];
    let is_one = |words: &[&str]| {
        let plural = |word: &str| folded.strip_prefix(word).is_some_and(|rest| matches!(rest, "" | "s" | "es"));
        words.iter().any(|word| plural(word))
    };
    match (is_one(&HOSTS), is_one(&SWITCHES)) {
        (true, _) => Some(NodeKind::Host),
        (false, true) => Some(NodeKind::Switch),
        (false, false) => None,
    }
}

fn meaning_of(key: &str) -> Meaning {
    let words = words(key);
    let lower: Vec<String> = words.iter().map(|word| word.to_ascii_lowercase()).collect();
    let lower: Vec<&str> = lower.iter().map(String::as_str).collect();
    match lower.as_slice() {
        ["id" | "key" | "source" | "target" | "graphics"] => return Meaning::Structure,
        ["label" | "name"] => return Meaning::Label,
        ["kind" | "type" | "role"] | ["node" | "device", "kind" | "type" | "role"] => return Meaning::Kind,
        ["longitude" | "lon" | "lng" | "long"] => return Meaning::Longitude,
        ["latitude" | "lat"] => return Meaning::Latitude,
        ["mtu"] | ["mtu", "bytes"] => return Meaning::Mtu,
        ["dist" | "distance" | "length", "km"] => return Meaning::Length,
        ["link", "speed", "units"] => return Meaning::RateUnits,
        ["link", "speed", "raw"] => return Meaning::Rate(Some(RateUnit::Bit)),
        _ => {}
    }
    let about = |what: &[&str], beside: &[&str], is_unit: &dyn Fn(&str) -> bool| {
        let mut others = words.iter().zip(&lower).filter(|(_, lower)| !what.contains(lower));
        lower.iter().any(|word| what.contains(word))
            && others.all(|(word, lower)| beside.contains(lower) || is_unit(word))
    };
    let rates = ["rate", "bandwidth", "bw", "capacity", "speed", "datarate"];
    let beside_rates = ["link", "line", "data", "bit", "default", "suggested"];
    if about(&rates, &beside_rates, &|word| rate_unit(word).is_some()) {
        // `bit` of `bit_rate` is no unit.
        return match words.iter().rev().find_map(|word| rate_unit(word)).filter(|_| lower[0] != "bit") {
            Some(Ok(unit)) => Meaning::Rate(Some(unit)),
            Some(Err(instead)) => Meaning::AmbiguousRate(instead),
            None => Meaning::Rate(None),
        };
    }
    let delays = ["delay", "latency", "propagation"];
    if about(&delays, &["link", "line", "default"], &|word| delay_unit(word).is_some()) {
        return Meaning::Delay(words.iter().rev().find_map(|word| delay_unit(word)));
    }
    Meaning::Other
}

/// The words of a name: `link_rate-bps`, `LinkSpeedRaw`.
fn words(key: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for part in key.split(|c: char| !c.is_ascii_alphanumeric()).filter(|part| !part.is_empty()) {
        let mut start = 0;
        let bytes = part.as_bytes();
        for at in 1..bytes.len() {
            if bytes[at].is_ascii_uppercase() && bytes[at - 1].is_ascii_lowercase() {
                words.push(&part[start..at]);
                start = at;
            }
        }
        words.push(&part[start..]);
    }
    words
}

/// Returns the unit of a word in a name, or the replacement to write.
fn rate_unit(word: &str) -> Option<Result<RateUnit, &'static str>> {
    Some(match word {
        "kbps" => Err("kbit"),
        "mbps" => Err("Mbit"),
        "gbps" => Err("Gbit"),
        "tbps" => Err("Tbit"),
        // Single bytes are not used as a unit of rates.
        "bps" => Ok(RateUnit::Bit),
        "mbit" => Ok(RateUnit::Mbit),
        "gbit" => Ok(RateUnit::Gbit),
        "tbit" => Ok(RateUnit::Tbit),
        word => Ok(RateUnit::of_word(word)?),
    })
}

fn delay_unit(word: &str) -> Option<DelayUnit> {
    DelayUnit::of_word(&word.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_attributes_determine_quantity_and_unit() {
        use Meaning::{AmbiguousRate, Delay, Other, Rate};
        for (key, meaning) in [
            ("LinkSpeedRaw", Rate(Some(RateUnit::Bit))),
            ("LinkSpeed", Rate(None)),
            ("LinkSpeedUnits", Meaning::RateUnits),
            ("bandwidth", Rate(None)),
            ("capacity_Gbps", Rate(Some(RateUnit::Gbit))),
            ("bandwidthMbit", Rate(Some(RateUnit::Mbit))),
            ("rate_bps", Rate(Some(RateUnit::Bit))),
            ("bit_rate", Rate(None)),
            ("link_rate_bps_suggested", Rate(Some(RateUnit::Bit))),
            ("bandwidth_mbps", AmbiguousRate("Mbit")),
            ("error_rate", Other),
            ("propagation_speed", Other),
            ("delay", Delay(None)),
            ("propagation_delay_ns", Delay(Some(DelayUnit::Ns))),
            ("latencyMs", Delay(Some(DelayUnit::Ms))),
            ("delay_budget", Other),
            ("weight", Other),
            ("", Other),
        ] {
            assert_eq!(meaning_of(key), meaning, "{key}");
        }
    }

    #[test]
    fn words_for_nodes_mean_hosts_switches_or_nothing() {
        for (word, kind) in [
            ("host", Some(NodeKind::Host)),
            ("End Systems", Some(NodeKind::Host)),
            ("ES", Some(NodeKind::Host)),
            ("Router", Some(NodeKind::Switch)),
            ("switches", Some(NodeKind::Switch)),
            ("Completed", None),
            ("", None),
        ] {
            assert_eq!(kind_of_word(word), kind, "{word}");
        }
    }
}
