//! What is attached to interfaces now: programs, queues and MTU, all of a namespace at once.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::batch::{Batch, output};
use super::counters::{Shown, ports};
use super::error::NetError;
use super::namespace::Namespace;
use super::qdisc::{Installed, PortQdisc};

/// Where a program sees the packets of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hook {
    /// What comes in by it.
    Ingress,
    /// What leaves by it.
    Egress,
}

/// What is attached to the interfaces of a namespace.
#[derive(Clone, Debug, Default)]
pub struct Attached {
    /// The number of the program at each place that was asked for, in order; `None` where none is.
    pub programs: Vec<Option<u32>>,
    /// The largest packet of each interface, by its name.
    pub mtus: BTreeMap<String, u64>,
    /// Kind and handle of the root discipline of each interface.
    pub roots: BTreeMap<String, (String, String)>,
    pub(crate) ports: BTreeMap<String, Installed>,
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
    prog: Option<Loaded>,
}

#[derive(Deserialize)]
struct Loaded {
    id: u32,
}

/// One entry of `ip -j link show`.
#[derive(Deserialize)]
struct Link {
    ifname: String,
    mtu: u64,
}

impl Attached {
    /// Looks at a namespace; `places` have to be there.
    ///
    /// # Errors
    /// If a tool fails, or an interface is not there.
    pub fn of(namespace: &Namespace, places: &[(&str, Hook)]) -> Result<Self, NetError> {
        let mut batch = Batch::tc();
        batch.line("qdisc show");
        for (interface, hook) in places {
            let hook = if *hook == Hook::Ingress { "ingress" } else { "egress" };
            batch.line(format_args!("filter show dev {interface} {hook}"));
        }
        let (qdiscs, programs) = read(&batch.json(namespace)?, places.len())?;
        let roots = qdiscs.iter().filter(|shown| shown.is_root());
        let roots = roots.map(|shown| (shown.dev.clone(), (shown.kind.clone(), shown.handle.clone()))).collect();
        let links = output(namespace, "ip", &["-j", "link", "show"])?;
        let links: Vec<Link> = serde_json::from_str(&links).map_err(|error| unexpected("ip -j link show", &error))?;
        let mtus = links.into_iter().map(|link| (link.ifname, link.mtu)).collect();
        Ok(Self { programs, mtus, roots, ports: ports(qdiscs) })
    }
}

impl Attached {
    /// Whether an interface has these queues.
    pub fn has_queues(&self, interface: &str, queues: &PortQdisc) -> bool {
        self.ports.get(interface).is_some_and(|port| queues.is(port))
    }
}

fn unexpected(command: &str, why: &dyn std::fmt::Display) -> NetError {
    NetError::Output { command: command.to_owned(), why: why.to_string() }
}

/// Lists of JSON one behind the other: the disciplines, and the filters of each place.
fn read(text: &str, places: usize) -> Result<(Vec<Shown>, Vec<Option<u32>>), NetError> {
    let wrong = |error: serde_json::Error| unexpected("tc -j -batch", &error);
    let mut lists = serde_json::Deserializer::from_str(text).into_iter::<serde_json::Value>();
    let qdiscs = lists.next().transpose().map_err(wrong)?.unwrap_or_default();
    let qdiscs: Vec<Shown> = serde_json::from_value(qdiscs).map_err(wrong)?;
    let mut programs = Vec::with_capacity(places);
    for list in lists {
        let filters: Vec<Filter> = serde_json::from_value(list.map_err(wrong)?).map_err(wrong)?;
        programs.push(
            filters.iter().find_map(|filter| Some(filter.options.prog.as_ref()?.id).filter(|_| filter.pref == 1)),
        );
    }
    if programs.len() != places {
        return Err(unexpected(
            "tc -j -batch",
            &format!("{} lists of filters for {places} interfaces", programs.len()),
        ));
    }
    Ok((qdiscs, programs))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As iproute2 6.1 prints it.
    const PRINTED: &str = r#"[{"kind":"htb","handle":"1:","dev":"va","root":true,"refcnt":2,"options":{}},
        {"kind":"clsact","handle":"ffff:","dev":"va","parent":"ffff:fff1","options":{}}]
        [{"protocol":"all","pref":1,"kind":"bpf","chain":0},{"protocol":"all","pref":1,"kind":"bpf","chain":0,
          "options":{"handle":"0x1","bpf_name":"port","direct-action":true,"prog":{"id":7198,"name":"port","tag":"c8","jited":1}}}]
        []"#;

    #[test]
    fn programs_come_in_the_order_in_which_they_were_asked_for() {
        let (qdiscs, programs) = read(PRINTED, 2).unwrap();
        assert_eq!(programs, [Some(7198), None]);
        assert_eq!(qdiscs.iter().filter(|shown| shown.is_root()).count(), 1);
        assert!(read(PRINTED, 3).is_err(), "an interface has gone meanwhile");
    }
}
