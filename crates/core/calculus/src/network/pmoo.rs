//! Pay multiplexing only once: along a path, the delay includes a burst of cross traffic once, not at every server.
//!
//! Source: Schmitt, Zdarsky and Martinovic, "Improving performance bounds in feed-forward networks by paying
//! multiplexing only once", MMB 2008. It holds for any order of service, so for FIFO too, if service curves are
//! strict.
//!
//! On a path of servers R_i [t - T_i]+ with cross flows r_x t + b_x, each on a stretch of the path, the residual
//! service is R [t - T]+:
//!
//! - R = min over i of R_i - rho_i, with rho_i the sum of the rates r_x of the cross flows at i
//! - T = sum of T_i + (sum of b_x + sum of rho_i T_i) / R
//!
//! Proof. Let t_i be the beginning of the busy period of server i in which its output at t_(i+1) leaves, D_i =
//! t_(i+1) - t_i. The path serves sum of [R_i (D_i - T_i)]+ in total, of which cross flow x takes at most b_x + r_x
//! (sum of D_i on its stretch). And [R_i (D_i - T_i)]+ - rho_i D_i >= (R_i - rho_i) [D_i - T_i]+ - rho_i T_i in
//! either case.
//!
//! b_x is the burst where x joins the path. A flow that leaves and comes back counts as two. For a curve with several
//! pieces, the piece that binds in the long run counts. The burst at the joint comes from the same formula for the
//! servers before, or from alpha(t + D), whichever is lower. In a network with a cycle alpha(t + D) holds already, so
//! its consequences do too.

use std::collections::HashMap;

use num_traits::{Signed, Zero};

use super::propagation::{Options, Propagation, lower};
use super::{BoundError, PathBounds, PortNetwork, Tfa};
use crate::{ArrivalCurve, RateLatency, Rational, ServiceCurve, deconvolution, horizontal_deviation};

/// Arrival curves of flows where they enter servers.
type Curves = HashMap<(usize, usize), Result<ArrivalCurve, BoundError>>;

/// Bounds every flow with each burst of cross traffic counted once on its path.
pub fn pmoo(network: &PortNetwork, options: &Options, tfa: &Tfa) -> PathBounds {
    let state = Propagation { options: *options, ..tfa.propagation(network) };
    let order = network.topological_order().unwrap_or_else(|| (0..network.servers().len()).collect());
    let places = order.iter().flat_map(|&server| network.visitors(server).iter().map(move |&flow| (flow, server)));
    let mut curves: Curves = places.map(|(flow, server)| ((flow, server), state.flow_at(flow, server))).collect();
    for &server in &order {
        for &flow in network.visitors(server) {
            let path = prefix(network, flow, server);
            if !path.is_empty() {
                let delayed = curves[&(flow, server)].clone();
                let curve = lower(output(&state, &curves, flow, &path), delayed);
                curves.insert((flow, server), curve);
            }
        }
    }
    PathBounds::of(network, |flow, path| {
        let left = left_over(&state, &curves, flow, path)?;
        let service = ServiceCurve::from_pieces([left]).unwrap_or_else(|_| ServiceCurve::zero());
        let bound = horizontal_deviation(&network.flows()[flow].arrival, &service);
        bound.ok_or_else(|| BoundError::Overload { server: slowest(&state, flow, path) })
    })
}

/// The servers of a flow before `server`, from its source.
fn prefix(network: &PortNetwork, flow: usize, server: usize) -> Vec<usize> {
    let mut path = Vec::new();
    let mut at = server;
    while let Some(before) = network.previous(flow, at) {
        path.push(before);
        at = before;
    }
    path.reverse();
    path
}

/// Returns the arrival curve of a flow behind a path from its source.
fn output(state: &Propagation<'_>, curves: &Curves, flow: usize, path: &[usize]) -> Result<ArrivalCurve, BoundError> {
    let left = left_over(state, curves, flow, path)?;
    let service = ServiceCurve::from_pieces([left]).unwrap_or_else(|_| ServiceCurve::zero());
    let output = deconvolution(&state.network.flows()[flow].arrival, &service);
    output.ok_or_else(|| BoundError::Overload { server: slowest(state, flow, path) })
}

/// Returns the residual service of the path for one of its flows.
fn left_over(state: &Propagation<'_>, curves: &Curves, flow: usize, path: &[usize]) -> Result<RateLatency, BoundError> {
    let network = state.network;
    let mut rate: Option<Rational> = None;
    // The sum of the latencies, and the data that is waited for at the rate that is left.
    let (mut latency, mut waited_for) = (Rational::zero(), Rational::zero());
    for (index, &server) in path.iter().enumerate() {
        let mut cross_rate = Rational::zero();
        for &other in network.visitors(server).iter().filter(|&&other| other != flow) {
            let curve = curves[&(other, server)].as_ref().map_err(Clone::clone)?;
            let Some(bucket) = curve.pieces().last() else { continue };
            cross_rate += &bucket.rate;
            let has_joined = index > 0 && network.previous(other, server) == Some(path[index - 1]);
            if !has_joined {
                waited_for += &bucket.burst;
            }
        }
        let service = state.options.packetized_service(network, server);
        let Some(piece) = service.pieces().last() else { return Err(BoundError::NothingLeft { server }) };
        let left = &piece.rate - &cross_rate;
        if !left.is_positive() {
            return Err(BoundError::NothingLeft { server });
        }
        let waits = &piece.debt / &piece.rate;
        waited_for += cross_rate * &waits;
        latency += waits;
        rate = Some(rate.map_or(left.clone(), |slowest| slowest.min(left)));
    }
    let rate = rate.unwrap_or_else(Rational::zero);
    let debt = latency * &rate + waited_for;
    Ok(RateLatency { rate, debt })
}

/// The server of a path that leaves the least.
fn slowest(state: &Propagation<'_>, flow: usize, path: &[usize]) -> usize {
    let left = |server: &&usize| {
        let others = state.network.visitors(**server).iter().filter(|&&other| other != flow);
        let cross: Rational = others.map(|&other| state.network.flows()[other].arrival.long_term_rate()).sum();
        state.network.servers()[**server].service.ultimate_rate() - cross
    };
    path.iter().min_by_key(left).copied().unwrap_or_default()
}
