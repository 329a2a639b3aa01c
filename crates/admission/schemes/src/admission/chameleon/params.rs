//! What can be set, and where each default comes from.

use super::Allocation;
use crate::costs::Scarcity;

/// Chameleon's parameters; the default is what admits most, [`Params::published`] what the paper does.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Params {
    /// Delay budgets of the queues.
    pub allocation: Allocation,
    /// How a route is found.
    pub routing: Routing,
    /// Whether admitted flows are moved to make room.
    pub rerouting: Option<Rerouting>,
}

impl Params {
    /// The paper's method: the route of least delay, nothing moved.
    pub fn published() -> Self {
        Self { routing: Routing::LeastDelay, ..Self::default() }
    }

    /// The same, with a refusal leaving everything as it was.
    pub(super) fn rolling_back(&self) -> Self {
        let rerouting = self.rerouting.map(|how| Rerouting { moves: Moves::RolledBack, ..how });
        Self { rerouting, ..self.clone() }
    }
}

/// How a route is found (section 4.1.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Routing {
    /// The route of least delay, as in the paper (section 4.1.4).
    LeastDelay,
    /// LARAC with the delay as cost.
    LaracByDelay,
    /// LARAC with the number of links as cost.
    LaracByHops,
    /// The queues of least cost in scarce resources along the quietest of the short ways, else the route of least delay.
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
    /// What the cost of queues to be avoided is multiplied by; 30,000 (section 4.1.3).
    pub cost_factor: u64,
    /// Whose shortest paths are to be avoided.
    pub penalised: Penalised,
    /// How a moved flow's new route is found.
    pub search: Search,
    /// What becomes of moves for a request that is refused in the end.
    pub moves: Moves,
    /// How many flows into the receiver are put back into faster queues where that fails; none in the paper.
    pub tighten: usize,
}

impl Rerouting {
    /// What goes with [`Routing::Scarcity`]: Fig. 6, and then as many flows tightened as it tries.
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
    /// By how many links they share with the shortest paths of the new flow, most first (section 4.1.3).
    SharedLinks,
    /// The same, but the most recently placed first among equals: the paper does not say which.
    SharedLinksNewest,
    /// By rate, highest first.
    Rate,
    /// By burst, largest first.
    Burst,
    /// By deadline, latest first.
    Deadline,
    /// As they were placed.
    Placement,
}

/// How the route of least (raised) cost is found for a flow that is moved.
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
    /// Those of the flow that room is made for (the paper's text, section 4.1.3).
    NewFlow,
    /// Those of the flow that is moved (the published implementation).
    MovedFlow,
}

/// What becomes of moves for a request that is refused in the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moves {
    /// Undone: a refusal leaves everything as it was.
    RolledBack,
    /// Kept, as in Fig. 6.
    Kept,
}
