//! Total flow analysis: every server is bounded for all of its traffic; a path's bound is the sum of its servers'.
//!
//! Sources: Le Boudec and Thiran, section 2.4; for line shaping, packetizers, multicast and cycles Thomas, Le Boudec and
//! Mifdaoui, "On cyclic dependencies and regulators in time-sensitive networks", RTSS 2019 (FP-TFA); see `fixed_point`.
//!
//! The delay of a single server is in `delay`.

use num_traits::Zero;

use super::delay::delay_of;
use super::model::ordered;
use super::propagation::{Options, Packetizer, Propagation};
use super::{BoundError, PathBounds, PortNetwork, ServerBound, fixed_point};
use crate::{ArrivalCurve, Rational, vertical_deviation};

/// Bounds of all servers, and the sums along all paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tfa {
    servers: Vec<Result<ServerBound, BoundError>>,
    paths: PathBounds,
    options: Options,
}

impl Tfa {
    /// The sum of the delays along a path of a flow, in ns.
    ///
    /// # Errors
    /// Why there is no bound.
    pub fn path_delay(&self, flow: usize, path: usize) -> Result<Rational, BoundError> {
        self.paths.path_delay(flow, path)
    }

    /// Delay and backlog of a server; zero where no flow comes.
    pub fn servers(&self) -> &[Result<ServerBound, BoundError>] {
        &self.servers
    }

    /// Returns the assumptions of the analysis.
    pub fn options(&self) -> Options {
        self.options
    }

    /// Returns the arrival curve of a flow where it enters a server that it visits.
    ///
    /// # Errors
    /// The reason that a previous server has no bound.
    pub fn arrival_at(&self, network: &PortNetwork, flow: usize, server: usize) -> Result<ArrivalCurve, BoundError> {
        self.propagation(network).flow_at(flow, server)
    }

    /// Returns the arrival curve of all flows of a server together.
    ///
    /// # Errors
    /// The reason that a previous server has no bound.
    pub fn aggregate_at(&self, network: &PortNetwork, server: usize) -> Result<ArrivalCurve, BoundError> {
        self.propagation(network).aggregate_at(server)
    }

    /// Curves throughout the network, from these delays.
    pub(crate) fn propagation<'n>(&self, network: &'n PortNetwork) -> Propagation<'n> {
        let delays = self.servers.iter().map(|bound| bound.as_ref().map(|b| b.delay.clone()).map_err(Clone::clone));
        Propagation { network, options: self.options, delays: delays.collect() }
    }
}

/// Bounds every server for all of its traffic. Cycles are resolved by a fixed point.
pub fn tfa(network: &PortNetwork, options: &Options) -> Tfa {
    tfa_watched(network, options, &mut |_| {})
}

/// Computes the total flow analysis; `watch` receives the number of servers that are complete.
pub fn tfa_watched(network: &PortNetwork, options: &Options, watch: &mut dyn FnMut(usize)) -> Tfa {
    let count = network.servers().len();
    let mut state = Propagation { network, options: *options, delays: vec![Ok(Rational::zero()); count] };
    let predecessors = network.predecessors();
    let mut done = vec![false; count];
    // First the servers that depend on no cycle, then the cycles and the servers between them, then the rest.
    evaluate(&mut state, &ordered(&predecessors, &done), &mut done, watch);
    let core = core_of(&predecessors, &done);
    if !core.is_empty() {
        fixed_point::resolve(&mut state, &core);
        core.iter().for_each(|&server| done[server] = true);
        evaluate(&mut state, &ordered(&predecessors, &done), &mut done, watch);
    }
    let servers = (0..count).map(|server| bound_of(&state, server)).collect();
    let paths = PathBounds::of(network, |_, path| {
        path.iter().try_fold(Rational::zero(), |sum, &server| {
            state.delays[server].as_ref().map(|delay| sum + delay).map_err(Clone::clone)
        })
    });
    Tfa { servers, paths, options: *options }
}

fn evaluate(state: &mut Propagation<'_>, order: &[usize], done: &mut [bool], watch: &mut dyn FnMut(usize)) {
    let before = done.iter().filter(|done| **done).count();
    for (number, &server) in (1..).zip(order) {
        state.delays[server] = delay_of(state, server);
        done[server] = true;
        watch(before + number);
    }
}

/// Of the servers that are not done, those from which a cycle can be reached.
fn core_of(predecessors: &[Vec<usize>], done: &[bool]) -> Vec<usize> {
    let mut successors = vec![Vec::new(); predecessors.len()];
    for (server, before) in predecessors.iter().enumerate() {
        before.iter().for_each(|&previous| successors[previous].push(server));
    }
    let mut behind = done.to_vec();
    ordered(&successors, done).into_iter().for_each(|server| behind[server] = true);
    (0..predecessors.len()).filter(|&server| !behind[server]).collect()
}

fn bound_of(state: &Propagation<'_>, server: usize) -> Result<ServerBound, BoundError> {
    let delay = state.delays[server].clone()?;
    let arrival = state.aggregate_at(server)?;
    let service = &state.network.servers()[server].service;
    let held = if arrival.is_zero() { Some(Rational::zero()) } else { vertical_deviation(&arrival, service) };
    let backlog = held.ok_or(BoundError::Overload { server })?;
    // Bits of a packet that is not complete yet wait in the packetizer; packets of an arbitrary order may be several.
    let packetized = match (state.options.packetizer, state.options.multiplexing) {
        (Packetizer::On, _) if !arrival.is_zero() => state.network.max_packet(server),
        _ => Rational::zero(),
    };
    Ok(ServerBound { delay, backlog: backlog + packetized })
}
