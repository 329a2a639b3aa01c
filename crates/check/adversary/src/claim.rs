//! Claim to be tested: the network, and the promises to its contracts.

use std::fmt;
use std::sync::Arc;

use wayleave_scenarios::{PacketOrder, ScenarioError, SharedService};
use wayleave_topology::{FailureElement, Network, NetworkError, Route, RouteError};
use wayleave_units::{Bytes, Rate, Time};

/// An admitted set. Buffers are those of the network's queues.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AdmittedClaim {
    /// The network.
    pub network: Arc<Network>,
    /// Other traffic.
    pub background: Background,
    /// The promises: one for each route.
    pub promises: Vec<Promise>,
    /// Groups of promises about packets that are sent over several routes at once.
    pub protected: Vec<Protected>,
    /// `Order` of a queue's packets under the jitter of nodes.
    pub order: PacketOrder,
    /// Switches whose ports share one service; all others are output-queued.
    pub services: Vec<SharedService>,
}

impl AdmittedClaim {
    /// Creates a claim without protected contracts and shared services, for packets in any order.
    pub fn new(network: Arc<Network>, background: Background, promises: Vec<Promise>) -> Self {
        Self { network, background, promises, protected: Vec::new(), order: PacketOrder::Free, services: Vec::new() }
    }

    /// Sets the groups of promises about packets that are sent over several routes at once.
    #[must_use]
    pub fn with_protected(self, protected: Vec<Protected>) -> Self {
        Self { protected, ..self }
    }

    /// Sets the order of a queue's packets under the jitter of nodes.
    #[must_use]
    pub fn with_order(self, order: PacketOrder) -> Self {
        Self { order, ..self }
    }

    /// Sets the switches whose ports share one service.
    #[must_use]
    pub fn with_services(self, services: Vec<SharedService>) -> Self {
        Self { services, ..self }
    }
}

/// A contract whose packets go over several disjoint routes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Protected {
    /// Its promises, by number; two or more.
    pub routes: Vec<usize>,
    /// Duplication of its packets.
    pub duplication: Duplication,
}

/// Duplication of packets over all routes of a protected contract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplication {
    /// They do.
    On,
    /// Only over the first: a fault on purpose.
    Off,
}

/// Traffic without a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Background {
    /// None is let in: contracts may use every queue.
    Dropped,
    /// As much as the lines carry, in the lowest queue of every switch port and below all queues of a host.
    Saturating {
        /// Per link, the largest frame on the wire.
        largest: Vec<Bytes>,
    },
}

/// One contract and its promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    /// For the reader.
    pub name: String,
    /// Its queues.
    pub route: Route,
    /// On the wire of the first link.
    pub rate: Rate,
    /// On the wire of the first link.
    pub burst: Bytes,
    /// The largest frame that it sends, on the wire of the first link; never more than its burst is sent.
    pub frame: Bytes,
    /// No packet takes longer, from the shaper's release to the last bit at the receiver.
    pub bound: Time,
    /// Delay by the calculus for the present set, if known: with budgets that are not used up, less than `bound`.
    pub today: Option<Time>,
}

/// Reason why a claim cannot be tested.
#[derive(Clone, Debug, PartialEq)]
pub enum ClaimError {
    /// A promise for a route that is none.
    Route {
        /// Contract of the promise.
        name: String,
        /// Error of its route.
        error: RouteError,
    },
    /// A promise without a rate, or for frames of no bytes.
    Nothing {
        /// Contract of the promise.
        name: String,
    },
    /// A protected contract that is none: fewer than two routes, or promises that are not about the same packets.
    Protected {
        /// Its number.
        number: usize,
    },
    /// The network cannot be given the queues of traffic without a contract.
    Network(NetworkError),
    /// The simulator does not accept the run.
    Run(Box<ScenarioError>),
    /// An attack cuts what is not there.
    NoElement {
        /// The unknown element.
        element: FailureElement,
    },
    /// An attack on a promise that is not there.
    NoPromise {
        /// Its number.
        number: usize,
        /// Number of promises.
        promises: usize,
    },
}

impl fmt::Display for ClaimError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Route { name, error } => write!(f, "the route of \"{name}\": {error}"),
            Self::Nothing { name } => write!(f, "\"{name}\" has a rate or a frame of zero"),
            Self::Protected { number } => {
                write!(
                    f,
                    "the routes of protected contract {number} do not carry the same packets between the same hosts"
                )
            }
            Self::Network(error) => error.fmt(f),
            Self::Run(error) => write!(f, "the simulator refuses the run: {error}"),
            Self::NoElement { element: FailureElement::Cable(link) } => {
                write!(f, "there is no link {}: cuts of an attack refer to the network of the same input", link.0)
            }
            Self::NoElement { element: FailureElement::Switch(node) } => {
                write!(f, "node {} is not a switch: cuts of an attack refer to the network of the same input", node.0)
            }
            Self::NoPromise { number, promises } => {
                write!(f, "no guarantee {number}: there are {promises}, counted from 0")
            }
        }
    }
}

impl std::error::Error for ClaimError {}

impl AdmittedClaim {
    /// Checks that every promise is about a route of the network.
    ///
    /// # Errors
    /// The first promise that is not.
    pub fn validate(&self) -> Result<(), ClaimError> {
        for promise in &self.promises {
            let ends = promise.ends(&self.network);
            let valid = match ends {
                Some((from, to)) => promise.route.validate(&self.network, from, to),
                None => Err(RouteError::Empty),
            };
            valid.map_err(|error| ClaimError::Route { name: promise.name.clone(), error })?;
            if promise.rate == Rate::ZERO || promise.frame == Bytes::ZERO {
                return Err(ClaimError::Nothing { name: promise.name.clone() });
            }
        }
        let numbered = self.protected.iter().enumerate();
        numbered
            .filter(|(_, protected)| !self.is_one(protected))
            .map(|(number, _)| number)
            .next()
            .map_or(Ok(()), |number| Err(ClaimError::Protected { number }))
    }

    /// Returns `true` if the promises of a protected contract are about the same packets.
    fn is_one(&self, protected: &Protected) -> bool {
        let terms = |number: &usize| {
            let promise = self.promises.get(*number)?;
            Some((promise.ends(&self.network)?, promise.rate, promise.burst))
        };
        let first = protected.routes.first().and_then(terms);
        protected.routes.len() > 1 && first.is_some() && protected.routes.iter().all(|number| terms(number) == first)
    }
}

impl Promise {
    /// Returns the sender and the receiver; `None` if the route has no hop in this network.
    pub(crate) fn ends(&self, network: &Network) -> Option<(wayleave_topology::NodeId, wayleave_topology::NodeId)> {
        let known = |link: wayleave_topology::LinkId| link.index() < network.links().len();
        if !self.route.hops.iter().all(|hop| known(hop.link)) {
            return None;
        }
        let (first, last) = (self.route.hops.first()?, self.route.hops.last()?);
        Some((network.link(first.link).from, network.link(last.link).to))
    }

    /// Returns the delay outside queues: propagation, and processing of the source and of every switch.
    pub(crate) fn constant(&self, network: &Network) -> Time {
        let links = self.route.hops.iter().map(|hop| network.link(hop.link));
        links.map(|link| link.propagation + network.node(link.from).processing).sum()
    }

    /// Returns the limit for every packet: the present delay by the calculus, or else the promise.
    pub(crate) fn limit(&self) -> Time {
        self.today.map_or(self.bound, |today| today.min(self.bound))
    }
}
