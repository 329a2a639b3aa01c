//! Errors about a node or a link that does not exist.

use wayleave_topology::{Network, NodeKind};

use crate::messages::{MAX_NAMES, did_you_mean, nearest, quoted, shortened};
use crate::problem::Message;

/// A contract's end that is no node.
pub(crate) fn unknown_node(name: &str, network: &Network) -> Message {
    let names = network.nodes().map(|(_, node)| node.name.as_str()).take(MAX_NAMES);
    let near = nearest(name, names).filter(|near| !differs_by_number_only(name, near));
    let message = format!("there is no node {}{}", quoted(name), did_you_mean(near));
    match near {
        Some(_) => message.into(),
        None => (message, hosts_of(network)).into(),
    }
}

/// A contract's end that is neither a VM nor a node.
pub(crate) fn unknown_end(name: &str, network: &Network, vms: &[String]) -> Message {
    let nodes = network.nodes().map(|(_, node)| node.name.as_str()).take(MAX_NAMES);
    let near = nearest(name, vms.iter().map(String::as_str).take(MAX_NAMES).chain(nodes));
    let near = near.filter(|near| !differs_by_number_only(name, near));
    let message = format!("there is no VM and no host {}{}", quoted(name), did_you_mean(near));
    let shown: Vec<String> = vms.iter().take(3).map(|name| shortened(name)).collect();
    match (near, vms.len()) {
        (Some(_), _) => message.into(),
        (None, 0) => (message, hosts_of(network)).into(),
        (None, 1..=3) => (message, format!("the tenant's VMs are {}; {}", shown.join(", "), hosts_of(network))).into(),
        (None, count) => {
            let vms = format!("the tenant has {count} VMs: {} ...", shown.join(", "));
            (message, format!("{vms}; {}", hosts_of(network))).into()
        }
    }
}

/// A hop's link that does not exist.
pub(crate) fn unknown_link(name: &str, network: &Network) -> Message {
    let arrow = with_arrow(name).find_map(|name| network.find_link(&name));
    let arrow = arrow.map(|link| network.link(link).name.as_str());
    let near = arrow.or_else(|| nearest(name, network.links().map(|(_, link)| link.name.as_str()).take(MAX_NAMES)));
    let message = format!("there is no link {}{}", quoted(name), did_you_mean(near));
    match near {
        Some(_) => message.into(),
        None => (message, "links are called FROM->TO, and FROM->TO#2 for the second between two nodes").into(),
    }
}

/// Returns a name with an arrow in place of each of its separators: `sw1->sw2` for `sw1-sw2`.
fn with_arrow(name: &str) -> impl Iterator<Item = String> {
    let separators = name.match_indices(['-', '>', ':', '/', '_', ' ']);
    separators
        .map(|(at, separator)| format!("{}->{}", name[..at].trim_end(), name[at + separator.len()..].trim_start()))
}

/// `h17` is not a misspelt `h1`: it is a host that the network does not have.
pub(crate) fn differs_by_number_only(a: &str, b: &str) -> bool {
    let parts = |name: &str| -> Vec<String> {
        name.split(|c: char| c.is_ascii_digit()).filter(|part| !part.is_empty()).map(str::to_owned).collect()
    };
    let numbered = |name: &str| name.ends_with(|c: char| c.is_ascii_digit());
    parts(a) == parts(b) && numbered(a) == numbered(b)
}

fn hosts_of(network: &Network) -> String {
    let hosts = || network.hosts().map(|host| network.node(host).name.as_str());
    let count = hosts().count();
    let named: Vec<String> = hosts().take(3).map(shortened).collect();
    match (count, network.nodes().any(|(_, node)| node.kind == NodeKind::Switch)) {
        (0, _) => "the network has no hosts".to_owned(),
        (1..=3, _) => format!("the hosts are {}", named.join(", ")),
        _ => {
            let last = hosts().last().map(shortened).unwrap_or_default();
            format!("the network has {count} hosts: {} ... {last}", named.join(", "))
        }
    }
}
