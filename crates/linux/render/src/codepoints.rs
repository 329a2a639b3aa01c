//! Numbers in packets (DSCP, RFC 2474) that mean the right queue at every switch of a route.
//!
//! A contract has a queue of its own at every hop (Chameleon, CoNEXT 2020, section 3.2), and a packet has one codepoint from end to end. So each switch
//! reads codepoints by its own table, and routes share a codepoint if they agree wherever they meet. Codepoints are given first fit, in the order of
//! the routes: the same plan has the same numbers.

use std::collections::BTreeMap;

use wayleave_topology::{Class, LinkId, Network, NodeId, NodeKind, Route};

/// The highest codepoint: six bits.
const LAST: u8 = 63;
/// Left to the protocols of the network itself: CS6 and CS7 (RFC 4594, section 3.2; RFC 2474, section 4.2.2.2).
pub(crate) const CONTROL: [u8; 2] = [48, 56];

/// An admitted route with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueCodepoints {
    /// The contract, with the number of the route if it is a further one.
    pub name: String,
    /// The route.
    pub route: Route,
}

/// Codepoints of routes, and the queue of each codepoint at each switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Codepoints {
    /// As the routes were given.
    routes: Vec<u8>,
    /// Of classes that share, where the network has classes.
    classes: Vec<(Class, u8)>,
    queues: BTreeMap<(NodeId, u8), u8>,
    /// The same by the link that leaves a switch: what has to exist there.
    used: BTreeMap<LinkId, BTreeMap<u8, u8>>,
}

/// A route for which no codepoint is left (TABLE).
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
#[error(
    "refused (TABLE): no codepoint is left for {name}, the {}th route: each of the {most} codepoints selects another queue at one of its switches ({switch} is the first). A topology with fewer queues needs fewer codepoints; switches with agents need none",
    .before + 1
)]
pub struct CodepointError {
    /// The route.
    pub name: String,
    /// First switch of its route.
    pub switch: String,
    /// Number of routes that have a codepoint.
    pub before: usize,
    /// Maximum number of codepoints for routes.
    pub most: usize,
}

impl Codepoints {
    /// Codepoints for routes: 0 is best effort, the next are for classes that share, and the others for the routes.
    ///
    /// # Errors
    /// If more would be needed than the 61 that routes can have (59 where the network has classes).
    pub fn assign(network: &Network, placed: &[QueueCodepoints]) -> Result<Self, CodepointError> {
        let mut this = Self::default();
        let mut first = 1;
        if let Some(classes) = network.classes() {
            let sharing = [Class::BestEffort, Class::Guaranteed, Class::Objective];
            this.classes = sharing.into_iter().zip(0..).collect();
            first = this.classes.len() as u8;
            for switch in network.switches() {
                for &(class, dscp) in &this.classes {
                    this.queues.insert((switch, dscp), classes.queue_of(class));
                }
            }
        }
        let usable = || (first..=LAST).filter(|dscp| !CONTROL.contains(dscp));
        for one in placed {
            let hops = || one.route.hops.iter().map(|hop| (network.link(hop.link).from, hop));
            let at_switches = || hops().filter(|&(from, _)| network.node(from).kind == NodeKind::Switch);
            let fits = |&dscp: &u8| {
                at_switches().all(|(at, hop)| this.queues.get(&(at, dscp)).is_none_or(|&queue| queue == hop.queue))
            };
            let Some(dscp) = usable().find(fits) else {
                let switch = at_switches().next().map_or(String::new(), |(at, _)| network.node(at).name.clone());
                let (before, most) = (this.routes.len(), usable().count());
                return Err(CodepointError { name: one.name.clone(), switch, before, most });
            };
            for (at, hop) in at_switches() {
                this.queues.insert((at, dscp), hop.queue);
                this.used.entry(hop.link).or_default().insert(dscp, hop.queue);
            }
            this.routes.push(dscp);
        }
        Ok(this)
    }

    /// The codepoints of the routes, in the order in which these were given.
    pub fn routes(&self) -> &[u8] {
        &self.routes
    }

    /// The codepoints of classes that share; none where the network has no classes. Best effort is 0 in any case.
    pub fn classes(&self) -> &[(Class, u8)] {
        &self.classes
    }

    /// Returns the number of different codepoints of the routes.
    pub fn count(&self) -> usize {
        self.routes.iter().collect::<std::collections::BTreeSet<_>>().len()
    }

    pub(crate) fn queues_at(&self, node: NodeId) -> BTreeMap<u8, u8> {
        let of_node = self.queues.range((node, 0)..=(node, LAST));
        of_node.map(|(&(_, dscp), &queue)| (dscp, queue)).collect()
    }

    pub(crate) fn used_at(&self, link: LinkId) -> BTreeMap<u8, u8> {
        self.used.get(&link).cloned().unwrap_or_default()
    }
}
