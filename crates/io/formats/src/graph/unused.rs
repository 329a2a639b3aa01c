//! Keys of a file that nothing uses, by name and place: a value that a file states is not dropped without a word.

use std::collections::BTreeMap;

use super::remark::Remark;
use crate::location::Span;
use crate::messages::{all_of, quoted};
use crate::problem::{ProblemKind, Problems};

/// The most names that a remark lists.
const LISTED: usize = 24;
/// The most different names that are remembered: a hostile file has any number.
const MAX_NAMES: usize = 1_000;

/// Keys without information about rates, delays and routes, folded to lower-case letters and digits. They are counted
/// in a note, and `--strict` accepts them.
const IGNORED_KEYS: [&str; 107] = [
    // Containerlab: how nodes are started and managed (its manual, "Nodes" and "Topology definition").
    "aliases",
    "autoremove",
    "binds",
    "capadd",
    "certificate",
    "cmd",
    "components",
    "config",
    "cpu",
    "cpuset",
    "debug",
    "devices",
    "dns",
    "enforcestartupconfig",
    "entrypoint",
    "env",
    "envfiles",
    "exec",
    "extras",
    "healthcheck",
    "image",
    "imagepullpolicy",
    "ipv4",
    "ipv6",
    "kernel",
    "labels",
    "license",
    "mac",
    "memory",
    "mgmt",
    "mgmtipv4",
    "mgmtipv6",
    "ports",
    "position",
    "prefix",
    "restartpolicy",
    "runtime",
    "sandbox",
    "settings",
    "shmsize",
    "stages",
    "startupconfig",
    "startupdelay",
    "suppressstartupconfig",
    "sysctls",
    "tmpfs",
    "user",
    "volumes",
    "waitfor",
    // Topology Zoo: origin and author of a map (its "Dataset" page).
    "access",
    "backbone",
    "classification",
    "commercial",
    "country",
    "creator",
    "customer",
    "date",
    "datemodified",
    "datemonth",
    "dateobtained",
    "datetype",
    "dateyear",
    "developed",
    "geoextent",
    "geolocation",
    "internal",
    "ix",
    "lastaccess",
    "lastprocessed",
    "layer",
    "netname",
    "network",
    "networkdate",
    "note",
    "provenance",
    "source",
    "sourcegitversion",
    "testbed",
    "toolsetversion",
    "transit",
    "updateby",
    "version",
    // SNDlib: prices.
    "cost",
    // Drawings: yEd, Gephi, d3, NetworkX.
    "color",
    "colour",
    "desc",
    "description",
    "edgegraphics",
    "fill",
    "graphics",
    "nodegraphics",
    "pos",
    "portgeometry",
    "portgraphics",
    "portuserdata",
    "resources",
    "size",
    "url",
    "viz",
    "x",
    "y",
    "z",
    // Addresses.
    "defaultroute",
    "ip",
    "macaddress",
    // Names.
    "label",
    "name",
];

/// Keys that were not used.
#[derive(Debug, Default)]
pub(crate) struct Unused {
    /// By owner and name: how often, and where first.
    keys: BTreeMap<(&'static str, String), (usize, Span)>,
    /// Number of occurrences of keys without information about rates and delays.
    silent: BTreeMap<String, usize>,
}

impl Unused {
    /// Notes a key of `owner` ("links", "the lab") that is not used.
    pub(crate) fn add(&mut self, owner: &'static str, key: &str, at: Span) {
        match is_ignored(key) {
            true => {
                if self.silent.len() < MAX_NAMES {
                    *self.silent.entry(key.to_owned()).or_default() += 1;
                }
            }
            false => self.add_stated(owner, key, at),
        }
    }

    /// Records an unused key whose value concerns rates or delays, regardless of its name.
    pub(crate) fn add_stated(&mut self, owner: &'static str, key: &str, at: Span) {
        if self.keys.len() < MAX_NAMES {
            self.keys.entry((owner, key.to_owned())).or_insert((0, at)).0 += 1;
        }
    }

    /// Remarks about them.
    pub(crate) fn remarks(&self, problems: &Problems<'_>) -> Vec<Remark> {
        let place = |((owner, key), (count, at)): (&(&str, String), &(usize, Span))| {
            let more = if *count > 1 { format!(", {} more", count - 1) } else { String::new() };
            format!("{} of {owner} (line {}{more})", quoted(key), problems.source().line_of(*at))
        };
        let keys = listed(self.keys.iter().map(place)).map(|keys| Remark::NotUsed(format!("keys not used: {keys}")));
        let count = |(key, count): (&String, &usize)| match count {
            1 => quoted(key),
            count => format!("{} ({count} times)", quoted(key)),
        };
        let silent = listed(self.silent.iter().map(count));
        let silent = silent.map(|keys| Remark::Assumed(format!("keys not used for rates or delays: {keys}")));
        keys.into_iter().chain(silent).collect()
    }

    /// Reports each key that is not used as an error, for `--strict`.
    pub(super) fn report(&self, problems: &mut Problems<'_>) {
        let mut keys: Vec<_> = self.keys.iter().collect();
        keys.sort_by_key(|(_, (_, at))| at.start());
        for ((owner, key), (count, at)) in keys {
            problems.report(ProblemKind::UnknownKey, *at, || {
                let times = if *count > 1 { format!(" (first of {count})") } else { String::new() };
                let message = format!("the key {} of {owner} is not used{times}", quoted(key));
                (message, "remove it, or import without --strict to leave it out with a warning")
            });
        }
    }
}

fn is_ignored(key: &str) -> bool {
    let folded: String = key.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    IGNORED_KEYS.contains(&folded.as_str())
}

fn listed(names: impl ExactSizeIterator<Item = String>) -> Option<String> {
    let count = names.len();
    let mut shown: Vec<String> = names.take(LISTED).collect();
    if count > LISTED {
        shown.push(format!("{} more", count - LISTED));
    }
    (count > 0).then(|| all_of(&shown))
}
