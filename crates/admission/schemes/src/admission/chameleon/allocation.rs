//! Resource allocation: the delay budget of every queue (sections 3.2.1 and 4.1.2).

use wayleave_ledger::Model;
use wayleave_topology::{Network, NodeKind};
use wayleave_units::Time;

/// The eight delays of section 4.1.2.
const EIGHT: [Time; 8] = [
    Time::from_micros(100),
    Time::from_micros(500),
    Time::from_micros(1_000),
    Time::from_micros(1_500),
    Time::from_micros(3_000),
    Time::from_micros(6_000),
    Time::from_micros(12_000),
    Time::from_micros(24_000),
];

/// Indices of the eight published delays for a port of n queues. 2, 4 and 8 follow section 4.1.2; the others are
/// subsets of larger ones.
const CHOSEN: [&[usize]; 8] = [
    &[0],
    &[0, 5],
    &[0, 2, 5],
    &[0, 2, 5, 7],
    &[0, 1, 2, 5, 7],
    &[0, 1, 2, 4, 5, 7],
    &[0, 1, 2, 3, 4, 5, 7],
    &[0, 1, 2, 3, 4, 5, 6, 7],
];

/// Delay budgets by the number of hardware queues; a budget that the topology fixes for a queue goes first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allocation {
    /// For the ports of switches: `None` for the table of section 4.1.2.
    pub switch: Option<Vec<Time>>,
    /// For the ports of hosts: 0.5 ms for their first queue (section 4.1.2).
    pub host: Vec<Time>,
}

impl Default for Allocation {
    fn default() -> Self {
        Self { switch: None, host: vec![Time::from_micros(500)] }
    }
}

impl Allocation {
    /// Returns the delays that section 4.1.2 gives a port with `queues` queues; empty above eight.
    pub fn published(queues: usize) -> Vec<Time> {
        let chosen = queues.checked_sub(1).and_then(|n| CHOSEN.get(n));
        chosen.map(|chosen| chosen.iter().map(|&i| EIGHT[i]).collect()).unwrap_or_default()
    }

    /// The budgets of every link's contract queues; a queue without one, and those below it, stay unused.
    pub fn budgets(&self, network: &Network, model: &Model) -> Vec<Vec<Time>> {
        let of_link = |link: &wayleave_topology::Link| {
            let queues = &network.port(link.port).queues;
            let table: Vec<Time> = match (network.node(link.from).kind, &self.switch) {
                (NodeKind::Host, _) => self.host.clone(),
                (NodeKind::Switch, Some(given)) => given.clone(),
                // If other classes use lower queues, the delays are those for the number of latency queues.
                (NodeKind::Switch, None) => {
                    Self::published(network.classes().map_or(queues.len(), |classes| usize::from(classes.latency)))
                }
            };
            let usable = model.contract_queues(network, link);
            let budget = |(q, queue): (usize, &wayleave_topology::PortQueue)| queue.budget.or(table.get(q).copied());
            queues.iter().enumerate().take(usable).map_while(budget).collect()
        };
        network.links().map(|(_, link)| of_link(link)).collect()
    }
}
