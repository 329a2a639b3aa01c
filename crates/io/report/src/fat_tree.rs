//! Layout of a fat tree: four tiers from the cores down to the hosts, pods side by side. Each cable has two lanes, on
//! which packets keep to the right.

use super::findings::{DrawnLink, DrawnNode, NodeTier};
use super::svg::{Area, Position};

/// The width of a lane, that is, of a line rate.
pub const LANE: f64 = 7.0;
/// From the middle of a cable to the middle of a lane.
const LANE_OFFSET: f64 = LANE / 2.0 + 0.75;
/// From cable to cable where several meet at a node.
const CABLE_PITCH: f64 = 2.0 * (LANE + 1.5);
const POD_GAP: f64 = 12.0;
const NODE_HEIGHT: f64 = 20.0;
/// Length of lanes under their nodes, so that slanted ones end there, too.
const REACH: f64 = 6.0;
/// The least space between two nodes of a tier.
const NODE_GAP: f64 = 5.0;

/// The places of everything.
#[derive(Clone, Debug)]
pub struct FatTreeLayout {
    /// Node by node.
    pub nodes: Vec<Area>,
    /// Link by link: where its lane begins and ends.
    pub lanes: Vec<(Position, Position)>,
    /// Pod by pod.
    pub pods: Vec<Area>,
    /// Height of the drawing.
    pub height: f64,
}

impl NodeTier {
    /// The upper edge of its nodes.
    const fn top(self) -> f64 {
        match self {
            Self::Core => 0.0,
            Self::Aggregation => 168.0,
            Self::Edge => 300.0,
            Self::Host => 396.0,
        }
    }

    /// Returns the width of a node of this tier if there is room.
    const fn width(self) -> f64 {
        match self {
            Self::Core => 78.0,
            Self::Aggregation | Self::Edge => 52.0,
            Self::Host => 28.0,
        }
    }

    /// The middle between this tier's nodes and those below it.
    pub const fn middle_below(self) -> f64 {
        let below = match self {
            Self::Core => Self::Aggregation,
            Self::Aggregation => Self::Edge,
            Self::Edge | Self::Host => Self::Host,
        };
        (self.top() + NODE_HEIGHT + below.top()) / 2.0
    }
}

impl FatTreeLayout {
    /// Of the given width.
    pub fn new(nodes: &[DrawnNode], links: &[DrawnLink], width: f64) -> Self {
        let pods = nodes.iter().filter_map(|node| node.pod).max().map_or(0, |last| last + 1);
        let columns = Columns { width, pods };
        let areas: Vec<Area> = (0..nodes.len()).map(|node| place(nodes, node, &columns)).collect();
        let lanes = links.iter().map(|link| lane(&areas, links, link)).collect();
        let height = NodeTier::Host.top() + NODE_HEIGHT + 26.0;
        let background = |pod| {
            let (x, width) = columns.of(Some(pod));
            let top = NodeTier::Aggregation.top() - 14.0;
            Area { at: Position { x, y: top }, width, height: height - top }
        };
        Self { nodes: areas, lanes, pods: (0..pods).map(background).collect(), height }
    }
}

/// Division of the width among the pods.
struct Columns {
    width: f64,
    pods: usize,
}

impl Columns {
    /// Returns the left edge and the width of the column of a pod, or of the cores.
    fn of(&self, pod: Option<usize>) -> (f64, f64) {
        let Some(pod) = pod else { return (0.0, self.width) };
        let width = (self.width - POD_GAP * (self.pods - 1) as f64) / self.pods as f64;
        (pod as f64 * (width + POD_GAP), width)
    }
}

/// A node among those of its tier and pod, evenly spaced.
fn place(nodes: &[DrawnNode], index: usize, columns: &Columns) -> Area {
    let DrawnNode { tier, pod, .. } = nodes[index];
    let beside = |node: &&DrawnNode| node.tier == tier && node.pod == pod;
    let count = nodes.iter().filter(beside).count() as f64;
    let rank = nodes[..index].iter().filter(beside).count() as f64;
    let (left, column) = columns.of(pod);
    let pitch = column / count;
    let width = tier.width().min(pitch - NODE_GAP);
    let x = left + pitch * (rank + 0.5) - width / 2.0;
    Area { at: Position { x, y: tier.top() }, width, height: NODE_HEIGHT }
}

fn middle(area: &Area) -> f64 {
    area.at.x + area.width / 2.0
}

/// The right-hand lane of the cable that a link belongs to.
fn lane(areas: &[Area], links: &[DrawnLink], link: &DrawnLink) -> (Position, Position) {
    let is_up = areas[link.to].at.y < areas[link.from].at.y;
    let (upper, lower) = if is_up { (link.to, link.from) } else { (link.from, link.to) };
    let top = Position { x: socket(areas, links, upper, lower), y: areas[upper].at.y + NODE_HEIGHT };
    let bottom = Position { x: socket(areas, links, lower, upper), y: areas[lower].at.y };
    let (from, to) = if is_up { (bottom, top) } else { (top, bottom) };
    let (dx, dy) = (to.x - from.x, to.y - from.y);
    let length = dx.hypot(dy).max(1.0);
    // To the right of the direction of travel, with y pointing down.
    let (right_x, right_y) = (-dy / length * LANE_OFFSET, dx / length * LANE_OFFSET);
    let (ahead_x, ahead_y) = (dx / length * REACH, dy / length * REACH);
    let shift = |point: Position, direction: f64| Position {
        x: point.x + right_x + direction * ahead_x,
        y: point.y + right_y + direction * ahead_y,
    };
    (shift(from, -1.0), shift(to, 1.0))
}

/// Returns the position of the cable from a node to another: side by side in the order of the nodes at the other
/// ends.
fn socket(areas: &[Area], links: &[DrawnLink], node: usize, other: usize) -> f64 {
    let is_above = |end: usize| areas[end].at.y < areas[node].at.y;
    let ends = links.iter().filter(|link| link.from == node).map(|link| link.to);
    let beside: Vec<usize> = ends.filter(|&end| is_above(end) == is_above(other)).collect();
    let rank = beside.iter().filter(|&&end| middle(&areas[end]) < middle(&areas[other])).count() as f64;
    let pitch = CABLE_PITCH.min(areas[node].width / beside.len() as f64);
    middle(&areas[node]) + (rank - (beside.len() as f64 - 1.0) / 2.0) * pitch
}

#[cfg(test)]
mod tests {
    use super::super::sample;
    use super::*;

    const WIDTH: f64 = 540.0;

    #[test]
    fn no_two_nodes_overlap_and_all_are_inside() {
        for k in [2, 4, 6] {
            let (nodes, links) = sample::fat_tree(k);
            let layout = FatTreeLayout::new(&nodes, &links, WIDTH);
            for (index, area) in layout.nodes.iter().enumerate() {
                assert!(area.width > 0.0 && area.at.x >= 0.0 && area.at.x + area.width <= WIDTH, "k = {k}: {area:?}");
                assert!(area.at.y >= 0.0 && area.at.y + area.height <= layout.height);
                assert!(layout.nodes[..index].iter().all(|other| !area.overlaps(other)), "k = {k}: node {index}");
            }
        }
    }

    #[test]
    fn pods_are_disjoint_and_hold_their_nodes() {
        let (nodes, links) = sample::fat_tree(4);
        let layout = FatTreeLayout::new(&nodes, &links, WIDTH);
        assert_eq!(layout.pods.len(), 4);
        assert!(layout.pods.windows(2).all(|pair| !pair[0].overlaps(&pair[1])));
        for (node, area) in nodes.iter().zip(&layout.nodes) {
            let Some(pod) = node.pod.map(|pod| layout.pods[pod]) else { continue };
            assert!(area.at.x >= pod.at.x && area.at.x + area.width <= pod.at.x + pod.width, "{}", node.name);
        }
    }

    #[test]
    fn the_two_lanes_of_a_cable_lie_beside_each_other_on_the_right_of_their_packets() {
        let (nodes, links) = sample::fat_tree(4);
        let layout = FatTreeLayout::new(&nodes, &links, WIDTH);
        for (index, link) in links.iter().enumerate() {
            let back = links.iter().position(|back| (back.from, back.to) == (link.to, link.from)).unwrap();
            let ((from, to), (_, back_to)) = (layout.lanes[index], layout.lanes[back]);
            let distance = (from.x - back_to.x).hypot(from.y - back_to.y);
            assert!((distance - 2.0 * LANE_OFFSET).abs() < 1e-9, "{}", link.name);
            // The other lane is on the left: the cross product of the travel direction and the vector to the other
            // lane is negative.
            let cross = (to.x - from.x) * (back_to.y - from.y) - (to.y - from.y) * (back_to.x - from.x);
            assert!(cross < 0.0, "{}", link.name);
        }
    }

    #[test]
    fn lanes_that_meet_at_a_node_do_not_share_a_socket() {
        let (nodes, links) = sample::fat_tree(4);
        let layout = FatTreeLayout::new(&nodes, &links, WIDTH);
        for (index, link) in links.iter().enumerate() {
            for (other, others) in links.iter().enumerate().take(index) {
                if (link.from, link.tier) == (others.from, others.tier) {
                    let (a, b) = (layout.lanes[index].0, layout.lanes[other].0);
                    assert!((a.x - b.x).hypot(a.y - b.y) > LANE, "{} and {}", link.name, others.name);
                }
            }
        }
    }
}
