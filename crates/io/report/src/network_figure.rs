//! Figure of the reservations: the fat tree, once for the first contender and once for the last.

use super::fat_tree::{FatTreeLayout, LANE};
use super::findings::{Contender, DrawnLink, DrawnNode, Findings, LinkTier, NodeTier};
use super::markup::MarkupElement;
use super::numbers;
use super::scale::ShareOfWhole;
use super::svg::{self, Anchor, Area, FigureBackground, Position};
use wayleave_units::Human;

const TREE_WIDTH: f64 = 540.0;
/// For the tiers' means beside the tree.
const MARGIN: f64 = 78.0;
/// Minimum width of a reserved rate, so that it is visible.
const THINNEST: f64 = 0.75;
const GAP: f64 = 24.0;
const HEAD: f64 = 56.0;
const LEGEND: f64 = 74.0;

/// The figure.
pub fn draw(findings: &Findings, background: FigureBackground) -> MarkupElement {
    let layout = FatTreeLayout::new(&findings.nodes, &findings.links, TREE_WIDTH);
    let panels = compared(findings);
    let panel_width = TREE_WIDTH + MARGIN;
    let side = background.side();
    let title = "Reserved rate on every link";
    let (above, heading) = background.title(title);
    let width = 2.0 * side + panels.len() as f64 * (panel_width + GAP) - GAP;
    let height = above + HEAD + layout.height + LEGEND;
    let figure = svg::figure("reservations", (width, height), background, title, &description(findings));
    let place = |index: usize| Position { x: side + index as f64 * (panel_width + GAP), y: above + HEAD };
    let trees = panels
        .iter()
        .enumerate()
        .map(|(index, contender)| svg::moved(place(index), panel(findings, contender, &layout)));
    let below = Position { x: side, y: above + HEAD + layout.height + 30.0 };
    figure.children(heading).children(trees).child(svg::moved(below, legend()))
}

/// The first contender and the last.
fn compared(findings: &Findings) -> Vec<&Contender> {
    match findings.contenders.as_slice() {
        [first, .., last] => vec![first, last],
        few => few.iter().collect(),
    }
}

fn description(findings: &Findings) -> String {
    let of = |contender: &&Contender| {
        let busiest = numbers::percent(findings.busiest_share(contender));
        let mean = numbers::percent(findings.mean_share(contender));
        let (name, admitted) = (contender.name, numbers::counted(contender.admitted, "request"));
        format!(
            "{name} reserves {mean} of the link capacity on average and {busiest} on the busiest link, for {admitted}."
        )
    };
    let sentences: Vec<String> = compared(findings).iter().map(of).collect();
    format!("A fat tree in four tiers, for each scheme. {}", sentences.join(" "))
}

fn panel(findings: &Findings, contender: &Contender, layout: &FatTreeLayout) -> Vec<MarkupElement> {
    let at = |x, y| Position { x, y };
    let offered = numbers::count(findings.setting.requests);
    let caption = format!(
        "{} admitted before the first refusal, {} of {offered} in total",
        numbers::count(contender.before_refusal),
        numbers::count(contender.admitted),
    );
    let mut parts = vec![
        svg::text(at(0.0, -40.0), Anchor::Start, "head", contender.name),
        svg::text(at(0.0, -20.0), Anchor::Start, "quiet", caption),
    ];
    parts.extend(layout.pods.iter().enumerate().flat_map(|(pod, area)| pod_background(pod, area)));
    parts.push(svg::group(layout.lanes.iter().map(|&(from, to)| svg::line(from, to, LANE, "pipe"))));
    parts.push(svg::group(layout.lanes.iter().enumerate().map(|(link, &(from, to))| {
        let share = findings.share(contender, link);
        let tip = tip(&findings.links[link], contender, link, share);
        reserved(from, to, share).child(MarkupElement::new("title").text(tip))
    })));
    parts.extend(findings.nodes.iter().zip(&layout.nodes).flat_map(|(node, area)| node_box(node, area)));
    parts.extend(tier_figures(findings, contender));
    parts
}

fn pod_background(pod: usize, area: &Area) -> [MarkupElement; 2] {
    let label = Position { x: area.at.x + area.width / 2.0, y: area.at.y + area.height - 9.0 };
    let background = svg::rect(*area, "pod").with("rx", 6);
    [background, svg::text(label, Anchor::Middle, "label quiet", format!("pod {}", pod + 1))]
}

/// A lane's filling; nothing reserved is nothing drawn.
fn reserved(from: Position, to: Position, share: ShareOfWhole) -> MarkupElement {
    match share.step() {
        None => svg::line(from, to, 0.0, "pipe"),
        Some(step) => svg::line(from, to, share.length(LANE).max(THINNEST), &format!("step{step}")),
    }
}

fn tip(link: &DrawnLink, contender: &Contender, index: usize, share: ShareOfWhole) -> String {
    let used = contender.links[index];
    let (reserved, rate) = (used.reserved.up(), link.rate.down());
    let flows = numbers::counted(used.flows, "flow");
    format!("{}: {reserved} of {rate} reserved ({}), {flows}", link.name, numbers::percent(share))
}

fn node_box(node: &DrawnNode, area: &Area) -> [MarkupElement; 2] {
    let middle = Position { x: area.at.x + area.width / 2.0, y: area.at.y + area.height / 2.0 + 3.7 };
    // Within its pod it needs no more than its own name.
    let name = node.name.split_once('-').map_or(node.name.as_str(), |(_, short)| short);
    [svg::rect(*area, "node").with("rx", 4), svg::text(middle, Anchor::Middle, "label", name)]
}

/// Returns, for the margin of the tree, the reserved share of the lanes between two tiers. The means up and down are
/// equal, since all traffic that goes up comes down; the busiest lane is that of either direction.
fn tier_figures(findings: &Findings, contender: &Contender) -> Vec<MarkupElement> {
    let rows = [
        (NodeTier::Core, LinkTier::AggregationToCore, LinkTier::CoreToAggregation),
        (NodeTier::Aggregation, LinkTier::EdgeToAggregation, LinkTier::AggregationToEdge),
        (NodeTier::Edge, LinkTier::HostToEdge, LinkTier::EdgeToHost),
    ];
    let row = |(tier, up, down): (NodeTier, LinkTier, LinkTier)| {
        let mean = ShareOfWhole::mean([up, down].map(|tier| findings.tier_share(contender, tier)));
        let busiest = ShareOfWhole::max([up, down].map(|tier| findings.tier_busiest(contender, tier)));
        let end = |y| Position { x: TREE_WIDTH + MARGIN - 6.0, y: tier.middle_below() + y };
        [
            svg::text(end(-15.0), Anchor::End, "label quiet", "mean"),
            svg::text(end(-1.0), Anchor::End, "strong", numbers::percent(mean)),
            svg::text(end(15.0), Anchor::End, "label quiet", "busiest"),
            svg::text(end(29.0), Anchor::End, "strong", numbers::percent(busiest)),
        ]
    };
    rows.into_iter().flat_map(row).collect()
}

/// Returns the explanation of the lanes.
fn legend() -> Vec<MarkupElement> {
    let at = |x, y| Position { x, y };
    let mut parts = vec![svg::text(at(0.0, 4.0), Anchor::Start, "quiet", "Reserved, of the line rate:")];
    for (index, percent) in [0.0, 10.0, 30.0, 50.0, 70.0, 90.0, 100.0].into_iter().enumerate() {
        let share = ShareOfWhole::of(percent, 100.0);
        let x = 172.0 + index as f64 * 84.0;
        parts.push(svg::line(at(x, 0.0), at(x + 34.0, 0.0), LANE, "pipe"));
        parts.push(reserved(at(x, 0.0), at(x + 34.0, 0.0), share));
        parts.push(svg::text(at(x + 40.0, 4.0), Anchor::Start, "quiet", format!("{percent} %")));
    }
    let keep_right = "Each cable is drawn as two lanes, one for each direction; the right-hand lane leads up. The width of a grey lane is the line rate; the filled part is reserved.";
    parts.push(svg::text(at(0.0, 28.0), Anchor::Start, "quiet", keep_right));
    parts
}
