//! Current attachments of interfaces: programs, queues, MTU and offloads, for a whole namespace in one read.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use serde::Deserialize;

use super::batch::{ToolBatch, output};
use super::disciplines::{Discipline, Interface, classes, disciplines};
use super::error::NetError;
use super::filters;
use super::namespace::Namespace;
use super::netlink::{Netlink, find, number};
use super::qdisc::PortQdisc;

/// include/uapi/linux/rtnetlink.h and if_link.h
const GET_LINK: u16 = 18;
const NAME: u16 = 3;
const MTU: u16 = 4;
const QUEUE_LENGTH: u16 = 13;
/// Bytes of `struct ifinfomsg`; `IFF_UP` in its flags.
const HEAD: usize = 16;
const UP: u32 = 1;
/// Maximum number of interfaces whose offloads are read individually; for more it is cheaper to read those of all
/// interfaces.
const FEW: usize = 4;

/// Hook at which a program sees the packets of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// Packets that the interface receives.
    Ingress,
    /// Packets that leave by the interface.
    Egress,
}

/// Attachments of the interfaces of a namespace.
#[derive(Clone, Debug, Default)]
pub struct Attached {
    /// The number of the program at each place that was asked for, in order; `None` where none is.
    pub programs: Vec<Option<u32>>,
    interfaces: BTreeMap<String, Interface>,
    /// Interfaces that merge packets, or send what is larger than a frame.
    merging: BTreeSet<String>,
}

/// One entry of `tc -j filter show`.
#[derive(Deserialize)]
struct Filter {
    #[serde(default)]
    pref: u32,
    #[serde(default)]
    options: FilterOptions,
}

#[derive(Default, Deserialize)]
struct FilterOptions {
    #[serde(default)]
    handle: String,
    prog: Option<Loaded>,
}

#[derive(Deserialize)]
struct Loaded {
    id: u32,
}

/// One entry of `ethtool --json -k`.
#[derive(Deserialize)]
struct Features {
    ifname: String,
    #[serde(rename = "generic-receive-offload", default)]
    receive: Feature,
    #[serde(rename = "generic-segmentation-offload", default)]
    segmentation: Feature,
    #[serde(rename = "tcp-segmentation-offload", default)]
    tcp: Feature,
}

#[derive(Default, Deserialize)]
struct Feature {
    #[serde(default)]
    active: bool,
}

impl Attached {
    /// Reads the attachments in a namespace; `places` have to exist. Offloads are read for the interfaces in `plain`.
    ///
    /// # Errors
    /// If a tool fails, or an interface does not exist.
    pub fn of(namespace: &Namespace, places: &[(&str, Hook)], plain: &[&str]) -> Result<Self, NetError> {
        let programs = programs(namespace, places)?;
        let interfaces = namespace
            .run(interfaces)?
            .map_err(|error| NetError::io("cannot read the qdiscs of interfaces".to_owned(), error))?;
        Ok(Self { programs, interfaces, merging: merging(namespace, plain) })
    }

    /// Returns `true` if an interface has these queues.
    pub fn has_queues(&self, interface: &str, queues: &PortQdisc) -> bool {
        self.interfaces.get(interface).is_some_and(|found| queues.is(found))
    }

    /// The largest packet of an interface, if it is there.
    pub fn mtu(&self, interface: &str) -> Option<u64> {
        self.interfaces.get(interface).map(|found| found.mtu)
    }

    /// Returns `true` if an interface merges packets or sends packets larger than a frame; `false` if that cannot be
    /// determined.
    pub fn merges(&self, interface: &str) -> bool {
        self.merging.contains(interface)
    }

    /// Returns the conflicting filters of other programs at an interface: a sentence, and the line for `tc` that
    /// removes the filter.
    pub fn conflicting_filters(&self, interface: &str) -> Vec<(String, String)> {
        self.interfaces
            .get(interface)
            .map_or(Vec::new(), |found| filters::conflicting_filters(interface, &found.filters))
    }

    /// Returns a sentence for each other program that sees the packets of an interface; to be called in its
    /// namespace.
    pub fn beside(&self, interface: &str) -> Vec<String> {
        self.interfaces.get(interface).map_or(Vec::new(), |found| filters::beside(interface, &found.filters))
    }

    pub(crate) fn interface(&self, name: &str) -> Option<&Interface> {
        self.interfaces.get(name)
    }
}

/// The number of the program at each place.
fn programs(namespace: &Namespace, places: &[(&str, Hook)]) -> Result<Vec<Option<u32>>, NetError> {
    if places.is_empty() {
        return Ok(Vec::new());
    }
    let mut batch = ToolBatch::tc();
    for (interface, hook) in places {
        let hook = if *hook == Hook::Ingress { "ingress" } else { "egress" };
        batch.line(format_args!("filter show dev {interface} {hook}"));
    }
    read(&batch.json(namespace)?, places.len())
}

/// The interfaces of the namespace of this thread.
pub(crate) fn interfaces() -> io::Result<BTreeMap<String, Interface>> {
    let mut by_index: BTreeMap<u32, Vec<Discipline>> = BTreeMap::new();
    for one in disciplines()? {
        by_index.entry(one.ifindex).or_default().push(one);
    }
    let (mut all, mut kernel) = (BTreeMap::new(), Netlink::open()?);
    for body in kernel.list(GET_LINK, &[0; HEAD])? {
        let Some((index, name, mut interface)) = interface(&body) else { continue };
        interface.disciplines = by_index.remove(&index).unwrap_or_default();
        if interface.disciplines.iter().any(|one| one.kind == "htb") {
            interface.leaves = classes(index)?;
        }
        if interface.disciplines.iter().any(|one| ["htb", "clsact"].contains(&one.kind.as_str())) {
            interface.filters = filters::filters(&mut kernel, index)?;
        }
        all.insert(name, interface);
    }
    Ok(all)
}

fn interface(body: &[u8]) -> Option<(u32, String, Interface)> {
    let (index, flags, attributes) = (number(body, 4)?, number(body, 8)?, body.get(HEAD..)?);
    let name = find(attributes, NAME)?;
    let name = String::from_utf8_lossy(name.strip_suffix(&[0]).unwrap_or(name)).into_owned();
    let mtu = u64::from(number(find(attributes, MTU)?, 0)?);
    let length = find(attributes, QUEUE_LENGTH).and_then(|length| number(length, 0)).unwrap_or(0);
    Some((index, name, Interface { mtu, length, is_up: flags & UP != 0, ..Interface::default() }))
}

/// Returns the interfaces that merge packets or send packets larger than a frame; those without output of `ethtool`
/// are left out.
fn merging(namespace: &Namespace, plain: &[&str]) -> BTreeSet<String> {
    let asked = if plain.len() > FEW { vec!["*"] } else { plain.to_vec() };
    let shown = asked.iter().filter_map(|which| output(namespace, "ethtool", &["--json", "-k", which]).ok());
    let features = shown.filter_map(|text| serde_json::from_str::<Vec<Features>>(&text).ok()).flatten();
    let merging = features.filter(|one| one.receive.active || one.segmentation.active || one.tcp.active);
    merging.map(|one| one.ifname).collect()
}

fn unexpected(command: &str, why: &dyn std::fmt::Display) -> NetError {
    NetError::Output { command: command.to_owned(), why: why.to_string() }
}

/// Lists of JSON one behind the other: the filters of each place.
fn read(text: &str, places: usize) -> Result<Vec<Option<u32>>, NetError> {
    let wrong = |error: serde_json::Error| unexpected("tc -j -batch", &error);
    let mut programs = Vec::with_capacity(places);
    for list in serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>() {
        let filters: Vec<Filter> = serde_json::from_value(list.map_err(wrong)?).map_err(wrong)?;
        programs.push(filters.iter().find_map(|filter| {
            Some(filter.options.prog.as_ref()?.id).filter(|_| filter.pref == 1 && filter.options.handle == "0x1")
        }));
    }
    if programs.len() != places {
        return Err(unexpected(
            "tc -j -batch",
            &format!("{} lists of filters for {places} interfaces", programs.len()),
        ));
    }
    Ok(programs)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As iproute2 6.1 prints it.
    const PRINTED: &str = r#"[{"protocol":"all","pref":1,"kind":"bpf","chain":0},{"protocol":"all","pref":1,"kind":"bpf","chain":0,
          "options":{"handle":"0x1","bpf_name":"port","direct-action":true,"prog":{"id":7198,"name":"port","tag":"c8","jited":1}}}]
        []"#;

    #[test]
    fn programs_are_listed_in_the_order_of_the_request() {
        assert_eq!(read(PRINTED, 2).unwrap(), [Some(7198), None]);
        assert!(read(PRINTED, 3).is_err(), "an interface has gone meanwhile");
    }
}
