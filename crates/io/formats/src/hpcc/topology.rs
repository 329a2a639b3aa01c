//! `topology.txt`: `NODES SWITCHES LINKS`, the numbers of the switches, and `A B RATE DELAY ERROR_RATE` a link.
//!
//! Forks have longer first lines: ns3-datacenter (github.com/inet-tub) has `NODES SWITCHES TORS LINKS`, with two rates behind
//! in its later examples, which its links repeat. SimAI (github.com/aliyun, "Quick Start Guide") has `NODES GPUS_PER_SERVER
//! NVSWITCHES SWITCHES LINKS GPU_TYPE`, and the numbers of NVSwitches before those of switches; both are switches here.

use wayleave_topology::builders::Cabling;
use wayleave_topology::{LinkSpec, NetworkBuilder, NetworkError, NodeId, NodeKind};
use wayleave_units::{Rate, Time, count};

use super::config;
use crate::columns::{Line, Word, expect_line, lines};
use crate::fields::quantity;
use crate::messages::quoted;
use crate::problem::{InputErrors, Message, ProblemKind, Problems};
use crate::source::Source;
use crate::topology::Topology;

/// The most nodes of a file: its first line must not take all memory.
const MAX_NODES: u64 = 1_000_000;

/// Reads the topology of an HPCC simulation: node 5 becomes the host `h5` or the switch `s5`, with the same index.
/// `cabling` contains values that the file lacks: MTU and ports.
///
/// ```
/// use wayleave_formats::{Source, read_hpcc_topology};
/// use wayleave_topology::builders::Cabling;
/// let text = "3 1 2\n0\n1 0 100Gbps 1000ns 0\n2 0 25Gbps 0.001ms 0.000\n";
/// let topology = read_hpcc_topology(&Source::new("pair.txt", text), &Cabling::default())?;
/// let link = topology.network.find_link("s0->h2").unwrap();
/// assert_eq!(topology.network.link(link).rate.to_string(), "25Gbit");
/// # Ok::<(), wayleave_formats::InputErrors>(())
/// ```
///
/// # Errors
/// All problems of the file, in order of position. Links that lose packets at random are not simulated: an error rate
/// above zero is an error.
pub fn read_hpcc_topology(source: &Source, cabling: &Cabling) -> Result<Topology, InputErrors> {
    let mut problems = Problems::new(source);
    let network = read(source.text(), cabling, &mut problems).map(NetworkBuilder::build);
    problems.finish(network.map(|network| Topology { name: source.stem().to_owned(), network }))
}

fn read(text: &str, cabling: &Cabling, problems: &mut Problems<'_>) -> Option<NetworkBuilder> {
    let mut lines = lines(text);
    let header = expect_line(&mut lines, text, || "NODES SWITCHES LINKS is expected".to_owned(), problems)?;
    if config::is_config(text) {
        problems.report(ProblemKind::WrongKind, header.span, || config::refusal(text));
        return None;
    }
    let Header { nodes, switches, links, .. } = read_header(&header, problems)?;
    let node_span = nodes.span;
    let switches: Vec<_> = switches.iter().map(|word| word.whole("number of switches", problems)).collect();
    let (nodes, links) = (nodes.whole("number of nodes", problems), links.whole("number of links", problems));
    let (nodes, links) = (nodes?, links?);
    let switches: Option<Vec<u64>> = switches.into_iter().collect();
    let switches = switches?.into_iter().fold(0, u64::saturating_add);
    if nodes > MAX_NODES {
        let message = || format!("{nodes} nodes: at most {MAX_NODES} are read");
        problems.report(ProblemKind::TooLarge, node_span, message);
        return None;
    }
    let kinds = read_kinds(&mut lines, text, nodes, switches, problems)?;
    let mut builder = NetworkBuilder::default();
    for (number, kind) in kinds.iter().enumerate() {
        let letter = if *kind == NodeKind::Host { 'h' } else { 's' };
        if let Err(error) = builder.add_node(&format!("{letter}{number}"), *kind) {
            problems.report(ProblemKind::Impossible, node_span, || error.to_string());
            return None;
        }
    }
    for number in 1..=links {
        let what = || format!("link {number} of {links} is missing");
        let line = expect_line(&mut lines, text, what, problems)?;
        add_link(&mut builder, &line, &kinds, cabling, problems);
    }
    Some(builder)
}

/// The counts of the first line.
struct Header<'t> {
    nodes: Word<'t>,
    /// Their sum is the number of switches.
    switches: Vec<Word<'t>>,
    links: Word<'t>,
}

fn read_header<'t>(line: &Line<'t>, problems: &mut Problems<'_>) -> Option<Header<'t>> {
    let is_number = |word: &Word<'_>| word.text.bytes().all(|byte| byte.is_ascii_digit());
    Some(match line.words[..] {
        [nodes, switches, links] => Header { nodes, switches: vec![switches], links },
        [nodes, switches, _tors, links] => Header { nodes, switches: vec![switches], links },
        [nodes, _, nvswitches, switches, links, model] if !is_number(&model) => {
            Header { nodes, switches: vec![nvswitches, switches], links }
        }
        [nodes, switches, _tors, links, _, _] => Header { nodes, switches: vec![switches], links },
        _ => {
            let words = line.words.len();
            problems.report(ProblemKind::Syntax, line.span, || {
                (
                    format!("{words} words: NODES SWITCHES LINKS is expected on the first line"),
                    "or NODES SWITCHES TORS LINKS (ns3-datacenter), or NODES GPUS_PER_SERVER NVSWITCHES SWITCHES LINKS GPU_TYPE (SimAI)",
                )
            });
            return None;
        }
    })
}

/// Returns the kind of every node: a switch if its number is on the second line (which may be wrapped), otherwise a
/// host.
fn read_kinds<'t>(
    lines: &mut impl Iterator<Item = Line<'t>>,
    text: &str,
    nodes: u64,
    switches: u64,
    problems: &mut Problems<'_>,
) -> Option<Vec<NodeKind>> {
    let mut kinds = vec![NodeKind::Host; nodes as usize];
    let mut left = switches;
    while left > 0 {
        let what = || format!("numbers are missing: {}", count(left, "more switch"));
        let line = expect_line(lines, text, what, problems)?;
        if line.words.len() as u64 > left {
            let surplus = line.words[left as usize].span.to(line.span);
            let message = || format!("more numbers than the first line announces: {}", count(switches, "switch"));
            problems.report(ProblemKind::Syntax, surplus, message);
            return None;
        }
        for word in line.words {
            let number = node_number(word, nodes, problems)?;
            if kinds[number] == NodeKind::Switch {
                problems.report(ProblemKind::DuplicateName, word.span, || format!("switch {number} is given twice"));
            }
            kinds[number] = NodeKind::Switch;
            left -= 1;
        }
    }
    Some(kinds)
}

fn node_number(word: Word<'_>, nodes: u64, problems: &mut Problems<'_>) -> Option<usize> {
    let number = word.whole("node", problems)?;
    if number >= nodes {
        let message = || format!("there is no node {number}: expected 0 to {}", nodes.saturating_sub(1));
        problems.report(ProblemKind::UnknownName, word.span, message);
        return None;
    }
    Some(number as usize)
}

fn add_link(
    builder: &mut NetworkBuilder,
    line: &Line<'_>,
    kinds: &[NodeKind],
    cabling: &Cabling,
    problems: &mut Problems<'_>,
) -> Option<()> {
    let [from, to, rate, delay, errors] = line.words[..] else {
        let message = || format!("{} words: A B RATE DELAY ERROR_RATE is expected for a link", line.words.len());
        problems.report(ProblemKind::Syntax, line.span, message);
        return None;
    };
    let nodes = kinds.len() as u64;
    let (from, to) = (node_number(from, nodes, problems), node_number(to, nodes, problems));
    let rate = read_rate(rate, problems);
    let propagation: Option<Time> = quantity(delay.text, delay.span, problems);
    if errors.number("error rate", problems)? > 0.0 {
        let message = "links that lose packets at random are not simulated: an error rate of 0 is expected";
        problems.report(ProblemKind::Impossible, errors.span, || message);
    }
    let (from, to) = (from?, to?);
    let port = |node: usize| match kinds[node] {
        NodeKind::Host => cabling.host_port.clone(),
        NodeKind::Switch => cabling.switch_port.clone(),
    };
    let spec = LinkSpec {
        from: NodeId(from as u32),
        to: NodeId(to as u32),
        rate: rate?,
        propagation: propagation?,
        mtu: cabling.mtu,
        port: port(from),
    };
    let added = builder.add_cable(spec, port(to));
    added
        .map_err(|error| {
            let hint =
                "hosts that are joined without a switch are not simulated (docs/reference/scenarios.md, \"Not simulated\")";
            problems.report(ProblemKind::Impossible, line.span, || match &error {
                NetworkError::HostToHost(..) => (error.to_string(), hint).into(),
                _ => Message::from(error.to_string()),
            });
        })
        .ok()
        .map(drop)
}

/// Bits per second as ns-3 writes them: `100Gbps`, `800Kbps`, `50Mb/s`; without a unit it counts bit/s (ns-3's manual,
/// `DataRate`), as in `25000000000.0`.
fn read_rate(word: Word<'_>, problems: &mut Problems<'_>) -> Option<Rate> {
    let digits = word.text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(word.text.len());
    let (number, unit) = word.text.split_at(digits);
    let unit = match unit {
        "" | "bps" | "b/s" => "bit",
        "kbps" | "Kbps" | "kb/s" | "Kb/s" => "kbit",
        "Mbps" | "Mb/s" => "Mbit",
        "Gbps" | "Gb/s" => "Gbit",
        "Tbps" | "Tb/s" => "Tbit",
        _ => {
            problems.report(ProblemKind::BadValue, word.span, || {
                format!("{} is not a rate: one such as 100Gbps is expected", quoted(word.text))
            });
            return None;
        }
    };
    let rate = quantity(&format!("{number}{unit}"), word.span, problems)?;
    if rate == Rate::ZERO {
        problems.report(ProblemKind::Impossible, word.span, || "a link needs a rate above zero, such as 100Gbps");
        return None;
    }
    Some(rate)
}
