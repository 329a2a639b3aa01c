//! A network for people and for programs.

use std::io::Write;

use comfy_table::Cell;
use serde::Serialize;
use wayleave_explain::human;
use wayleave_explain::table::{TableLayout, plain_table, write_table, write_wrapped};
use wayleave_topology::{Link, Network, NodeId, NodeKind, PortQueue};
use wayleave_units::Time;

use crate::error::Error;

impl crate::Network {
    /// Writes counts, links by class, and the names of nodes.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_text(&self, out: &mut impl Write, layout: TableLayout) -> Result<(), Error> {
        table(out, self, layout)
    }

    /// Writes everything that the network knows, as JSON.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write_json(&self, out: &mut impl Write) -> Result<(), Error> {
        json(out, self)
    }
}

fn table(out: &mut impl Write, named: &crate::Network, layout: TableLayout) -> Result<(), Error> {
    let network = &*named.graph;
    writeln!(out, "{}\n", named.summary())?;
    let mut table = plain_table(&["links", "count", "rate", "delay", "mtu", "queues", "delay budgets"], layout);
    for Class { like: class, count, delays } in classes(network) {
        let queues = &network.port(class.port).queues;
        let ends = [class.from, class.to].map(|node| kind(network, node));
        table.add_row([
            Cell::new(format!("{} -> {}", ends[0], ends[1])),
            Cell::new(count),
            Cell::new(format!("{:#}", class.rate)),
            Cell::new(range(delays)),
            Cell::new(format!("{} B", class.mtu.get())),
            Cell::new(buffers(queues)),
            Cell::new(budgets(queues)),
        ]);
    }
    write_table(out, &mut table)?;
    nodes(out, "hosts", network, network.hosts())?;
    nodes(out, "switches", network, network.switches())
}

fn kind(network: &Network, node: NodeId) -> &'static str {
    match network.node(node).kind {
        NodeKind::Host => "host",
        NodeKind::Switch => "switch",
    }
}

/// Links that differ only in their ends and their delays.
struct Class<'n> {
    like: &'n Link,
    count: usize,
    /// The smallest and the largest.
    delays: (Time, Time),
}

fn classes(network: &Network) -> Vec<Class<'_>> {
    let looks = |link: &Link| {
        let kinds = (kind(network, link.from), kind(network, link.to));
        (kinds, link.rate, link.mtu, link.port)
    };
    let mut classes: Vec<Class<'_>> = Vec::new();
    for (_, link) in network.links() {
        let delay = link.propagation;
        match classes.iter_mut().find(|class| looks(class.like) == looks(link)) {
            Some(class) => {
                class.count += 1;
                class.delays = (class.delays.0.min(delay), class.delays.1.max(delay));
            }
            None => classes.push(Class { like: link, count: 1, delays: (delay, delay) }),
        }
    }
    classes
}

/// `1 ms`, or `1 ms ... 5 ms`.
fn range((least, most): (Time, Time)) -> String {
    if least == most { format!("{least:#}") } else { format!("{least:#} ... {most:#}") }
}

/// `8 x 97 kB`, or each by itself.
fn buffers(queues: &[PortQueue]) -> String {
    let sizes: Vec<String> = queues.iter().map(|queue| human::buffer(queue.buffer)).collect();
    match sizes.as_slice() {
        [only] => format!("1, {only}"),
        [first, rest @ ..] if rest.iter().all(|size| size == first) => format!("{} x {first}", sizes.len()),
        _ => sizes.join(", "),
    }
}

fn budgets(queues: &[PortQueue]) -> String {
    if queues.iter().all(|queue| queue.budget.is_none()) {
        return "by the scheme".to_owned();
    }
    let budget =
        |queue: &PortQueue| queue.budget.map_or_else(|| "by the scheme".to_owned(), |budget| format!("{budget:#}"));
    queues.iter().map(budget).collect::<Vec<_>>().join(", ")
}

/// Writes the names of nodes, and the delays that they add to a packet's path.
fn nodes(out: &mut impl Write, what: &str, network: &Network, ids: impl Iterator<Item = NodeId>) -> Result<(), Error> {
    let nodes: Vec<_> = ids.map(|id| network.node(id)).collect();
    writeln!(out, "\n{what}")?;
    write_wrapped(out, &abridged(nodes.iter().map(|node| node.name.as_str())))?;
    let most = |of: fn(&wayleave_topology::Node) -> Time| nodes.iter().map(|node| of(node)).max().unwrap_or(Time::ZERO);
    let (processing, jitter) = (most(|node| node.processing), most(|node| node.jitter));
    if processing + jitter > Time::ZERO {
        writeln!(out, "  processing up to {processing:#}, jitter up to {jitter:#}")?;
    }
    Ok(())
}

/// Names in a row, those that count up shortened: `h1 ... h16`.
fn abridged<'a>(names: impl Iterator<Item = &'a str>) -> String {
    const SHOWN: usize = 24;
    let mut runs: Vec<(&str, &str)> = Vec::new();
    for name in names {
        match runs.last_mut().filter(|(_, last)| follows(last, name)) {
            Some((_, last)) => *last = name,
            None => runs.push((name, name)),
        }
    }
    let run = |&(first, last): &(&str, &str)| match (first == last, follows(first, last)) {
        (true, _) => first.to_owned(),
        (false, true) => format!("{first}, {last}"),
        (false, false) => format!("{first} ... {last}"),
    };
    let mut text: Vec<String> = runs.iter().take(SHOWN).map(run).collect();
    if runs.len() > SHOWN {
        text.push("...".to_owned());
    }
    text.join(", ")
}

/// Returns `true` if a name equals the previous one with its number increased by one.
fn follows(before: &str, name: &str) -> bool {
    let split = |name: &str| {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit()).len();
        name[stem..].parse::<u64>().ok().map(|number| (name[..stem].to_owned(), number))
    };
    split(name).is_some()
        && split(name) == split(before).and_then(|(stem, number)| Some((stem, number.checked_add(1)?)))
}

fn json(out: &mut impl Write, crate::Network { name, graph: network }: &crate::Network) -> Result<(), Error> {
    let node = |id: NodeId| network.node(id).name.as_str();
    let shape = |id: NodeId| {
        let node = network.node(id);
        NodeJson { name: &node.name, processing_ns: node.processing.as_nanos(), jitter_ns: node.jitter.as_nanos() }
    };
    let link = |link: &'_ Link| LinkJson {
        name: link.name.clone(),
        from: node(link.from),
        to: node(link.to),
        rate_bps: link.rate.bits_per_second(),
        propagation_ns: link.propagation.as_nanos(),
        mtu_bytes: link.mtu.get(),
        queues: network.port(link.port).queues.iter().map(QueueJson::of).collect(),
    };
    let document = Document {
        name,
        hosts: network.hosts().map(shape).collect(),
        switches: network.switches().map(shape).collect(),
        links: network.links().map(|(_, of)| link(of)).collect(),
    };
    serde_json::to_writer_pretty(&mut *out, &document)?;
    writeln!(out)?;
    Ok(())
}

#[derive(Serialize)]
struct Document<'a> {
    name: &'a str,
    hosts: Vec<NodeJson<'a>>,
    switches: Vec<NodeJson<'a>>,
    links: Vec<LinkJson<'a>>,
}

#[derive(Serialize)]
struct NodeJson<'a> {
    name: &'a str,
    processing_ns: u64,
    jitter_ns: u64,
}

#[derive(Serialize)]
struct LinkJson<'a> {
    name: String,
    from: &'a str,
    to: &'a str,
    rate_bps: u64,
    propagation_ns: u64,
    mtu_bytes: u64,
    queues: Vec<QueueJson>,
}

#[derive(Serialize)]
struct QueueJson {
    buffer_bytes: u64,
    budget_ns: Option<u64>,
}

impl QueueJson {
    fn of(queue: &PortQueue) -> Self {
        Self { buffer_bytes: queue.buffer.get(), budget_ns: queue.budget.map(|budget| budget.as_nanos()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_count_up_are_abbreviated() {
        assert_eq!(
            abridged(["h1", "h2", "h3", "s1", "s2", "core", "h9", "h11"].into_iter()),
            "h1 ... h3, s1, s2, core, h9, h11"
        );
        assert_eq!(abridged(["9", "10", "11"].into_iter()), "9 ... 11");
        assert_eq!(abridged(["h18446744073709551615", "h"].into_iter()), "h18446744073709551615, h");
        assert_eq!(abridged([].into_iter()), "");
    }
}
