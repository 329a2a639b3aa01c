//! Resource allocation: the delay budget of every queue (sections 3.2.1 and 4.1.2).

use wayleave_ledger::Model;
use wayleave_scheme_api::words;
use wayleave_topology::{Network, NodeKind};
use wayleave_units::Time;

use super::derived::by_link;
use super::table::published;

/// Default budgets of queues for which neither the topology nor an option states one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DefaultBudgets {
    /// From rate and largest frame of each link (docs/theory/admission.md, section 15).
    #[default]
    ByLink,
    /// Section 4.1.2, for links of 1 Gbit/s: by the number of queues, and 0.5 ms for a host's first queue.
    Published,
}

words! {
    DefaultBudgets {
        ByLink = "by-link", "By rate and largest frame of each link; at 1 Gbit/s and an MTU of 1500 B those of the paper";
        Published = "published", "Those of the paper for every link, by the number of queues";
    }
}

/// Delay budgets by the number of hardware queues; a budget that the topology fixes for a queue goes first.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct Allocation {
    /// For the ports of switches: `None` for the defaults.
    pub switch: Option<Vec<Time>>,
    /// For the ports of hosts: `None` for the defaults.
    pub host: Option<Vec<Time>>,
    /// Budgets of ports for which none are given.
    pub defaults: DefaultBudgets,
}

impl Allocation {
    /// The budgets of section 4.1.2.
    pub const PUBLISHED: Self = Self { switch: None, host: None, defaults: DefaultBudgets::Published };

    /// 0.5 ms for the first queue of a host (section 4.1.2).
    pub const PUBLISHED_HOST: Time = Time::from_micros(500);

    /// Returns the delays that section 4.1.2 gives a switch port with `queues` queues; empty above eight.
    pub fn published(queues: usize) -> Vec<Time> {
        published(queues)
    }

    /// The budgets of every link's contract queues; a queue without one, and those below it, stay unused.
    pub fn budgets(&self, network: &Network, model: &Model) -> Vec<Vec<Time>> {
        let of_link = |link: &wayleave_topology::Link| {
            let queues = &network.port(link.port).queues;
            let kind = network.node(link.from).kind;
            let given = match kind {
                NodeKind::Host => &self.host,
                NodeKind::Switch => &self.switch,
            };
            // If other classes use lower queues, the delays are those for the number of latency queues.
            let count = match (network.classes(), kind, self.defaults) {
                (Some(classes), NodeKind::Switch, _) => usize::from(classes.latency),
                (_, NodeKind::Switch, _) => queues.len(),
                (_, NodeKind::Host, DefaultBudgets::ByLink) => model.contract_queues(network, link),
                (_, NodeKind::Host, DefaultBudgets::Published) => 1,
            };
            let default = || match (self.defaults, kind) {
                (DefaultBudgets::ByLink, _) => by_link(network, model, link, count),
                (DefaultBudgets::Published, NodeKind::Switch) => Self::published(count),
                (DefaultBudgets::Published, NodeKind::Host) => vec![Self::PUBLISHED_HOST],
            };
            let table = given.clone().unwrap_or_else(default);
            let usable = model.contract_queues(network, link);
            let budget = |(q, queue): (usize, &wayleave_topology::PortQueue)| queue.budget.or(table.get(q).copied());
            queues.iter().enumerate().take(usable).map_while(budget).collect()
        };
        network.links().map(|(_, link)| of_link(link)).collect()
    }
}
