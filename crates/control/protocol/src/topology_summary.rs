//! Summary of the topology by tier: groups of nodes and the links between them, few enough for one picture.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::network::Down;

/// Summary of the network, of a part (a pod), or of a switch with its neighbouring hosts and switches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TopologySummary {
    /// Name of the part shown; for the whole network, the network's name.
    pub name: String,
    /// Parts that contain it, from the network down: each with the `group` to request.
    pub within: Vec<Group>,
    /// The highest tier first, hosts last.
    pub tiers: Vec<Tier>,
    /// The links between groups of nodes, each direction by itself.
    pub link_groups: Vec<LinkGroup>,
    /// The links that are shown here and are used most, at most ten: by the largest of the three shares.
    pub busiest: Vec<LinkUse>,
    /// Number of links here that the controller has not measured since its start: their use is not known yet, and counts as none.
    pub links_not_measured: u64,
    /// Elements that are down in the whole network, at most 100.
    pub down: Vec<Down>,
}

/// A part of the network that can be asked for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Group {
    /// Name of the part.
    pub name: String,
    /// `group` of the query; absent for the whole network.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub group: Option<String>,
}

/// Nodes with the same distance to the nearest host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Tier {
    /// The distance in links: 0 for hosts.
    pub tier: u32,
    /// `hosts`; `edge`, `aggregation` and `core` where there are three tiers of switches, `leaf` and `spine` where there are two.
    pub name: String,
    /// Groups of nodes in the tier.
    pub node_groups: Vec<NodeGroup>,
}

/// A node, or several that are shown as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NodeGroup {
    /// Number of the group in this answer; `from` and `to` of link groups refer to it.
    pub id: u32,
    /// Name of the group.
    pub name: String,
    /// Number of nodes in the group.
    pub nodes: u64,
    /// Number of nodes that were reported down.
    pub down: u64,
    /// Number of nodes that no connected agent observes and no report names as down.
    #[serde(default)]
    #[schema(required)]
    pub unknown: u64,
    /// Number of nodes with a silent agent; `null` at a controller that receives no reports, since it does not lead.
    #[schema(required)]
    pub silent: Option<u64>,
    /// The node, if it is one.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub node: Option<String>,
    /// `group` to request for its inside.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub group: Option<String>,
    /// `true` if it is outside of the part shown, which has links to it.
    #[serde(skip_serializing_if = "std::ops::Not::not", default)]
    pub outside: bool,
}

/// The links from one group of nodes to another, or within one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LinkGroup {
    /// The group of nodes that they leave.
    pub from: u32,
    /// The group of nodes that they enter.
    pub to: u32,
    /// Number of links.
    pub links: u64,
    /// Number of links that are down.
    pub down: u64,
    /// Number of links whose state is unknown.
    #[serde(default)]
    #[schema(required)]
    pub unknown: u64,
    /// Mean of the reserved parts of the links that are not down; `null` if one of them is not computed yet.
    #[schema(required)]
    pub mean_rate_ppm: Option<u64>,
    /// The largest shares of any link in it; `null` if none is computed yet.
    #[serde(flatten)]
    pub most: Use,
    /// Highest measured rate of a link in it, as a share of its rate; `null` if no agent counts any of them.
    #[schema(required)]
    pub measured_ppm: Option<u64>,
    /// The link of which most of the rate is promised.
    pub busiest: String,
}

/// Use of a link, in millionths; `null` if it is not computed yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Use {
    /// Reserved part of the capacity, for the class of contracts with the least left.
    #[schema(required)]
    pub rate_ppm: Option<u64>,
    /// The longest delay of a queue, as a share of its budget.
    #[schema(required)]
    pub delay_ppm: Option<u64>,
    /// The largest backlog bound of a queue, as a share of its buffer. Above 1,000,000, packets of minima may be
    /// dropped, and times of minima are unknown; admission keeps every other queue below it.
    #[schema(required)]
    pub buffer_ppm: Option<u64>,
}

/// A link and its use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct LinkUse {
    /// Name of the link.
    pub link: String,
    /// The shares.
    #[serde(flatten)]
    pub most: Use,
    /// Measured part of the rate; `null` if no agent counts the link.
    #[schema(required)]
    pub measured_ppm: Option<u64>,
}
