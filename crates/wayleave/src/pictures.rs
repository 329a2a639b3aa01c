//! Pictures of networks, plans, verifications, runs and sweeps, each as the text of an SVG file: what a notebook shows beside the numbers.

use std::collections::BTreeMap;

use wayleave_topology::{NodeId, NodeKind};

use crate::verify::VerifyReport;
use crate::{EntryKind, Network, Plan, Sweep};
use wayleave_report::markup::MarkupElement;
use wayleave_report::plot::axis::Axis;
use wayleave_report::plot::{Dot, Join, Plot, PlotLine};
use wayleave_report::sim::{alone, sweep, text};
use wayleave_report::svg::{self, Anchor, FigureBackground, Position};

/// Maximum number of nodes that are drawn: more could not be distinguished.
const MAX_NODES: usize = 300;
/// Maximum number of hosts in a tier whose names are drawn below them. Names of switches are drawn beside tiers with
/// at most half this number.
const MAX_NAMES: usize = 24;
/// The space between two tiers, and above and below them.
const TIER: f64 = 90.0;
/// The width of a network's picture.
const NETWORK_WIDTH: f64 = 760.0;
/// Width of the tiers; names of switches are drawn to their right.
const SPAN: f64 = NETWORK_WIDTH - 40.0;
/// The side of a switch; hosts are half as wide.
const NODE: f64 = 14.0;

impl Network {
    /// Hosts below, switches above them by their distance from the nearest host, as the text of an SVG file; `None` for more than 300 nodes.
    pub fn picture(&self) -> Option<String> {
        let graph = &*self.graph;
        if graph.nodes().len() > MAX_NODES {
            return None;
        }
        let distance = distances(graph);
        let mut tiers: BTreeMap<usize, Vec<NodeId>> = BTreeMap::new();
        for (id, _) in graph.nodes() {
            tiers.entry(distance[id.index()]).or_default().push(id);
        }
        let height = TIER * tiers.len() as f64;
        let mut places = vec![Position { x: 0.0, y: 0.0 }; graph.nodes().len()];
        for (row, nodes) in tiers.values().enumerate() {
            for (column, node) in nodes.iter().enumerate() {
                let x = SPAN * (column as f64 + 0.5) / nodes.len() as f64;
                places[node.index()] = Position { x, y: height - TIER * (row as f64 + 0.5) };
            }
        }
        let mut parts: Vec<MarkupElement> = Vec::new();
        for (_, link) in graph.links() {
            let [from, to] = [link.from, link.to].map(|node| places[node.index()]);
            // A cable is two links; one line shows both.
            if link.from.index() > link.to.index() {
                continue;
            }
            let columns = tiers[&distance[link.from.index()]].len() as f64;
            let is_beside = from.y == to.y && (from.x - to.x).abs() < 1.5 * SPAN / columns;
            if from.y != to.y || is_beside {
                parts.push(svg::line(from, to, 1.0, "rule"));
            } else {
                // Past the nodes between them.
                let over = Position { x: (from.x + to.x) / 2.0, y: from.y - TIER * 0.3 };
                parts.extend([svg::line(from, over, 1.0, "rule"), svg::line(over, to, 1.0, "rule")]);
            }
        }
        for (id, node) in graph.nodes() {
            let Position { x, y } = places[id.index()];
            let side = if node.kind == NodeKind::Switch { NODE } else { NODE / 2.0 };
            let area = svg::Area { at: Position { x: x - side / 2.0, y: y - side / 2.0 }, width: side, height: side };
            let name = MarkupElement::new("title").text(&node.name);
            parts.push(svg::rect(area, if node.kind == NodeKind::Switch { "step3" } else { "step1" }).child(name));
            // Links leave hosts upwards, and switches in both directions.
            let (place, anchor, most) = match node.kind {
                NodeKind::Switch => (Position { x: x + NODE, y: y - 6.0 }, Anchor::Start, MAX_NAMES / 2),
                _ => (Position { x, y: y + NODE + 8.0 }, Anchor::Middle, MAX_NAMES),
            };
            if tiers[&distance[id.index()]].len() <= most {
                parts.push(svg::text(place, anchor, "quiet", &node.name));
            }
        }
        let size = (NETWORK_WIDTH, height);
        Some(svg::file(
            &svg::figure("network", size, FigureBackground::File, &self.name, &self.summary()).children(parts),
        ))
    }
}

/// Of each node, how many links away the nearest host is.
fn distances(graph: &wayleave_topology::Network) -> Vec<usize> {
    let mut distance = vec![usize::MAX; graph.nodes().len()];
    let mut tier: Vec<NodeId> = graph.hosts().collect();
    for hops in 0.. {
        tier.retain(|node| distance[node.index()] == usize::MAX);
        if tier.is_empty() {
            break;
        }
        tier.iter().for_each(|node| distance[node.index()] = hops);
        tier = tier.iter().flat_map(|&node| graph.links_from(node)).map(|&link| graph.link(link).to).collect();
    }
    // Switches that no host reaches are drawn above the hosts.
    distance.into_iter().map(|hops| if hops == usize::MAX { 1 } else { hops }).collect()
}

impl Plan {
    /// The bound of every latency contract over its deadline, as the text of an SVG file; `None` if none is admitted.
    pub fn picture(&self) -> Option<String> {
        let deadlines = self.entries().iter().filter_map(|entry| match entry.kind() {
            EntryKind::Decided { contract, decision: Ok(decision), .. } => Some((contract.deadline, decision.bound)),
            _ => None,
        });
        let points: Vec<(f64, f64)> = deadlines
            .map(|(deadline, bound)| (deadline.as_nanos() as f64 * 1e3, bound.as_nanos() as f64 * 1e3))
            .collect();
        let about = "One mark for each contract. x: deadline. y: delay bound as a share of the deadline.";
        shares("bounds", "Delay bounds relative to deadlines", "deadline", about, points)
    }
}

impl VerifyReport {
    /// The slowest packet of every contract over its bound, as the text of an SVG file; `None` if nothing was sent.
    pub fn picture(&self) -> Option<String> {
        let seen = self.claim.promises.iter().zip(&self.report.findings).filter(|(_, finding)| finding.packets > 0);
        let point = |(promise, finding): (&wayleave_adversary::Promise, &wayleave_adversary::PromiseFinding)| {
            (promise.bound.as_nanos() as f64 * 1e3, finding.delay_ps as f64)
        };
        let about = "One mark for each contract. x: bound. y: delay of the slowest packet as a share of the bound.";
        shares("worst", "Slowest packets relative to their bounds", "bound", about, seen.map(point).collect())
    }
}

impl Sweep {
    /// The main figures over what varies, each as the text of an SVG file.
    pub fn pictures(&self) -> Vec<String> {
        sweep::figures(&self.results()).into_iter().flat_map(|(_, drawn)| drawn).map(alone).collect()
    }
}

/// Times in ps and the part that something takes of each.
fn shares(id: &str, title: &str, x_name: &str, about: &str, points: Vec<(f64, f64)>) -> Option<String> {
    let (low, high) = points.iter().fold((f64::MAX, 0.0_f64), |(low, high), &(x, _)| (low.min(x), high.max(x)));
    let x = if low > 0.0 && low < f64::MAX { Axis::logarithmic(low, high) } else { return None };
    let dots: Vec<Dot> = points.into_iter().map(|(x, y)| Dot::at(x, y / x)).collect();
    let y = Axis::linear(dots.iter().fold(1.0, |highest, dot| dot.y.max(highest)));
    let plot = Plot {
        description: about.to_owned(),
        x_marks: x.marks.iter().map(|&mark| text::mean_time(mark)).collect(),
        x_name: x_name.to_owned(),
        y_marks: y.marks.iter().map(|mark| format!("{:.0} %", mark * 100.0)).collect(),
        ..Plot::new(id, title, (x, y), Join::Marks, vec![PlotLine { name: "contracts".to_owned(), points: dots }])
    };
    Some(alone(plot.draw()))
}
