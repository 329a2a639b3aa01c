//! Parameters of Chameleon, and the sources of their defaults.

use super::Allocation;
use crate::costs::Scarcity;

/// Chameleon's parameters. The default admits most; [`Params::published`] follows the paper.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Params {
    /// Delay budgets of the queues.
    pub allocation: Allocation,
    /// Route search.
    pub routing: Routing,
    /// Rerouting of admitted flows to make room; `None` if flows are never moved.
    pub rerouting: Option<Rerouting>,
}

impl Params {
    /// The paper's method: its delay budgets, the route of least delay, nothing moved.
    pub fn published() -> Self {
        Self { allocation: Allocation::PUBLISHED, routing: Routing::LeastDelay, rerouting: None }
    }

    /// Returns these parameters with moves rolled back after a refusal.
    pub(super) fn rolling_back(&self) -> Self {
        let rerouting = self.rerouting.map(|how| Rerouting { moves: Moves::RolledBack, ..how });
        Self { rerouting, ..self.clone() }
    }
}

/// Route search (section 4.1.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Routing {
    /// The route of least delay, as in the paper (section 4.1.4).
    LeastDelay,
    /// LARAC with the delay as cost.
    LaracByDelay,
    /// LARAC with the number of links as cost.
    LaracByHops,
    /// The queues of least cost in scarce resources along the least loaded short path, else the route of least delay.
    Scarcity(Scarcity),
}

impl Default for Routing {
    fn default() -> Self {
        Self::Scarcity(Scarcity::default())
    }
}

/// Fig. 6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rerouting {
    /// The most candidates that are tried; 20 (section 4.1.3).
    pub limit: usize,
    /// Their order.
    pub sort: Sort,
    /// Factor on the cost of queues to be avoided; 30,000 (section 4.1.3).
    pub cost_factor: u64,
    /// The shortest paths to be avoided.
    pub penalised: Penalised,
    /// Search for a moved flow's new route.
    pub search: Search,
    /// Treatment of moves if the request is refused in the end.
    pub moves: Moves,
    /// Number of flows into the receiver that are put back into faster queues if rerouting fails; zero in the paper.
    pub tighten: usize,
}

impl Rerouting {
    /// Returns the rerouting that suits [`Routing::Scarcity`]: Fig. 6, then at most `limit` flows tightened.
    pub fn with_tightening() -> Self {
        Self { tighten: Self::default().limit, ..Self::default() }
    }
}

impl Default for Rerouting {
    fn default() -> Self {
        Self {
            limit: 20,
            sort: Sort::SharedLinks,
            cost_factor: 30_000,
            penalised: Penalised::NewFlow,
            search: Search::OneLabel,
            moves: Moves::RolledBack,
            tighten: 0,
        }
    }
}

/// The order of rerouting candidates; least recently placed first among equals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sort {
    /// By the number of links that they share with the shortest paths of the new flow, most first (section 4.1.3).
    SharedLinks,
    /// As `SharedLinks`, but the most recently placed first among equals: the paper leaves this open.
    SharedLinksNewest,
    /// As `SharedLinks`, but equals in an order that does not depend on their age: that of a hash of the placement.
    SharedLinksRandom,
    /// By rate, highest first.
    Rate,
    /// By burst, largest first.
    Burst,
    /// By deadline, latest first.
    Deadline,
    /// As they were placed.
    Placement,
}

/// Search for the route of least (raised) cost for a flow that is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Search {
    /// By label setting with the deadline and one label a node: an attempt more or less matters little here, time does.
    OneLabel,
    /// Exactly, by label setting with the deadline.
    LabelSetting,
    /// By LARAC, which may miss the best one (section 4.1.3).
    Larac,
}

/// The shortest paths whose queues a moved flow should avoid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Penalised {
    /// Shortest paths of the new flow (the paper's text, section 4.1.3).
    NewFlow,
    /// Shortest paths of the flow that is moved (the published implementation).
    MovedFlow,
}

/// Treatment of moves if the request is refused in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// Undone: a refusal leaves everything as it was.
    RolledBack,
    /// Kept, as in Fig. 6.
    Kept,
}
