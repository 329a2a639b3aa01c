//! Result of an analysis: a bound, or the reason that there is none.

use super::PortNetwork;
use crate::Rational;

/// Reason that an analysis found no bound. Servers are indices.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum BoundError {
    /// More comes to this server in the long run than it serves; what is behind it has no bound either.
    #[error("server {server} gets more than it serves")]
    Overload {
        /// The server.
        server: usize,
    },
    /// Servers on a cycle: no delays were found that hold one another up.
    #[error("no fixed point in {rounds} rounds of the cycle through server {server}")]
    NoFixedPoint {
        /// One server of the cycle.
        server: usize,
        /// Number of rounds over all servers.
        rounds: usize,
    },
    /// Cross traffic takes all that a server has for this flow.
    #[error("cross traffic may take all of server {server}")]
    NothingLeft {
        /// The server.
        server: usize,
    },
}

impl BoundError {
    /// A message with the names of a network.
    pub fn explain(&self, network: &PortNetwork) -> String {
        let name = |server: usize| &network.servers()[server].name;
        match self {
            Self::Overload { server } => format!("server \"{}\" gets more than it serves", name(*server)),
            Self::NoFixedPoint { server, rounds } => format!(
                "flows form a cycle through server \"{}\", and after {rounds} rounds no delays hold one another up",
                name(*server)
            ),
            Self::NothingLeft { server } => {
                format!("the other flows may take all of server \"{}\" (blind multiplexing)", name(*server))
            }
        }
    }
}

/// Bounds of a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerBound {
    /// No bit or packet stays longer, in ns.
    pub delay: Rational,
    /// It never holds more, in nanobits.
    pub backlog: Rational,
}

/// End-to-end delay bounds in ns: per flow, one for each of its paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathBounds {
    pub(crate) delays: Vec<Vec<Result<Rational, BoundError>>>,
}

impl PathBounds {
    /// The bound of a path of a flow.
    ///
    /// # Errors
    /// Why there is none.
    ///
    /// # Panics
    /// If the flow is none of those that were asked for.
    pub fn path_delay(&self, flow: usize, path: usize) -> Result<Rational, BoundError> {
        self.delays[flow][path].clone()
    }

    pub(crate) fn of(
        network: &PortNetwork,
        bound: impl Fn(usize, &[usize]) -> Result<Rational, BoundError>,
    ) -> PathBounds {
        let all: Vec<usize> = (0..network.flows().len()).collect();
        Self::of_flows(network, &all, bound)
    }

    /// Of these flows only.
    pub(crate) fn of_flows(
        network: &PortNetwork,
        flows: &[usize],
        bound: impl Fn(usize, &[usize]) -> Result<Rational, BoundError>,
    ) -> PathBounds {
        let mut delays = vec![Vec::new(); network.flows().len()];
        for &flow in flows {
            delays[flow] = network.flows()[flow].paths.iter().map(|path| bound(flow, path)).collect();
        }
        PathBounds { delays }
    }
}
