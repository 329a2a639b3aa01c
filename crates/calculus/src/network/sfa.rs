//! Separate flow analysis: what every server leaves for one flow, convolved along its path.
//!
//! **FIFO.** What is left under cross traffic alpha is [beta(t) - alpha(t - theta)]+ for t > theta, for every theta >= 0 (Le Boudec
//! and Thiran, proposition 6.2.1). Two choices are tried and the smaller bound is given:
//!
//! - the classic theta, the first time at which the server has served the burst of the cross traffic. It keeps curves
//!   convex, so that it works for all of them;
//! - the best thetas of all servers of the path together, where each server counts as its rate-latency function of the highest
//!   rate R, T, and cross traffic and flow as their token buckets of the lowest rate. With theta = T + b/R + s the rest is
//!   a delay theta and then a bucket (R s, R - r); the path has the delay
//!   sum(theta) + max([burst - R s]+ / (R - r)). With the maximum called m, s = [burst - (R - r) m]+ / R, and what remains is
//!   a convex function of m whose knees are tried (this family is that of LUDB: Lenzini, Mingozzi and Stea, 2008).
//!
//! For rate-latency servers and token buckets without lines and packetizers, s = burst / R shows that the second is never
//! above the sum of [`tfa`](super::tfa()).
//!
//! **Arbitrary multiplexing.** [beta - alpha]+, for a strict beta. A flow's curve at the next server is its deconvolution by what was
//! left for it, or alpha(t + D), whichever is lower; in a network with a cycle the latter alone.

use std::collections::{BTreeSet, HashMap};

use num_traits::{Signed, Zero};

use super::propagation::{Multiplexing, Options, Packetizer, Propagation, lower};
use super::{NoBound, PathBounds, PortNetwork, Tfa};
use crate::{ArrivalCurve, RateLatency, Rational, ServiceCurve, TokenBucket};
use crate::{deconvolution, horizontal_deviation, residual_service};

/// What the other flows of a server keep to, by flow.
type Cross = HashMap<usize, ArrivalCurve>;

/// Bounds every flow by what servers leave for it. `tfa` gives the bursts of the other flows.
pub fn sfa(network: &PortNetwork, options: &Options, tfa: &Tfa) -> PathBounds {
    let all: Vec<usize> = (0..network.flows().len()).collect();
    sfa_of(network, options, tfa, &all)
}

/// The same of these flows only, which takes no longer than they do.
pub fn sfa_of(network: &PortNetwork, options: &Options, tfa: &Tfa, flows: &[usize]) -> PathBounds {
    let state = Propagation { options: *options, ..tfa.propagation(network) };
    let curves = match options.multiplexing {
        Multiplexing::Fifo => None,
        Multiplexing::Arbitrary => network.topological_order().map(|order| separate_curves(&state, &order)),
    };
    let visited: BTreeSet<usize> =
        flows.iter().flat_map(|&flow| &network.flows()[flow].paths).flatten().copied().collect();
    let crosses: HashMap<usize, Result<Cross, NoBound>> = visited
        .into_iter()
        .map(|server| match &curves {
            None => (server, state.cross_at(server).map(Cross::from_iter)),
            Some(curves) => (server, cross_from(&state, curves, server).map(Cross::from_iter)),
        })
        .collect();
    PathBounds::of_flows(network, flows, |flow, path| {
        let mut cross = Vec::with_capacity(path.len());
        for server in path {
            let all = crosses[server].as_ref().map_err(Clone::clone)?;
            cross.push(all.get(&flow).cloned().unwrap_or_else(ArrivalCurve::zero));
        }
        match options.multiplexing {
            Multiplexing::Arbitrary => arbitrary(&state, flow, path, &cross),
            Multiplexing::Fifo => fifo(&state, flow, path, &cross),
        }
    })
}

fn arbitrary(
    state: &Propagation<'_>,
    flow: usize,
    path: &[usize],
    cross: &[ArrivalCurve],
) -> Result<Rational, NoBound> {
    let left = |(&server, cross): (&usize, &ArrivalCurve)| {
        residual_service(&state.options.packetized_service(state.network, server), cross)
    };
    end_to_end(state, flow, path, path.iter().zip(cross).map(left).collect())
}

fn fifo(state: &Propagation<'_>, flow: usize, path: &[usize], cross: &[ArrivalCurve]) -> Result<Rational, NoBound> {
    let last = path.len() - 1;
    let services: Vec<ServiceCurve> = path
        .iter()
        .enumerate()
        .map(|(index, &server)| match state.options.packetizer {
            // The last packetizer adds no delay.
            Packetizer::On if index < last => state.options.packetized_service(state.network, server),
            _ => state.network.servers()[server].service.clone(),
        })
        .collect();
    let classic = services.iter().zip(cross).map(|(service, cross)| fifo_left(service, cross)).collect();
    let classic = end_to_end(state, flow, path, classic);
    match (classic, best_thetas(&state.network.flows()[flow].arrival, &services, cross)) {
        (Ok(classic), Some(best)) => Ok(classic.min(best)),
        (Err(_), Some(best)) => Ok(best),
        (classic, None) => classic,
    }
}

fn end_to_end(
    state: &Propagation<'_>,
    flow: usize,
    path: &[usize],
    left: Vec<ServiceCurve>,
) -> Result<Rational, NoBound> {
    if let Some(empty) = left.iter().position(ServiceCurve::is_zero) {
        return Err(NoBound::NothingLeft { server: path[empty] });
    }
    let whole = left.iter().skip(1).fold(left[0].clone(), |so_far, next| so_far.convolution(next));
    let slowest = left.iter().zip(path).min_by_key(|(curve, _)| curve.ultimate_rate());
    let server = slowest.map_or(path[0], |(_, &server)| server);
    horizontal_deviation(&state.network.flows()[flow].arrival, &whole).ok_or(NoBound::Overload { server })
}

/// What FIFO leaves with the classic theta. The pieces are all differences beta - alpha(t - theta) that rise; where one of them is
/// positive, theta is over, since no difference is positive at theta.
pub(crate) fn fifo_left(service: &ServiceCurve, cross: &ArrivalCurve) -> ServiceCurve {
    if cross.is_zero() {
        return service.clone();
    }
    let Some(theta) = service.time_to_serve(&cross.burst()) else { return ServiceCurve::zero() };
    let pairs = service.pieces().iter().flat_map(|piece| cross.pieces().iter().map(move |bucket| (piece, bucket)));
    let rising = pairs.filter(|(piece, bucket)| piece.rate > bucket.rate).map(|(piece, bucket)| RateLatency {
        rate: &piece.rate - &bucket.rate,
        debt: &piece.debt + &bucket.burst - &bucket.rate * &theta,
    });
    ServiceCurve::from_pieces(rising).unwrap_or_else(|_| ServiceCurve::zero())
}

/// A server for [`best_thetas`]: its rate, the rate that is left, and the smallest theta.
struct Stage {
    rate: Rational,
    left: Rational,
    theta: Rational,
}

/// The bound with the best thetas; `None` if a server leaves nothing, or less than the flow needs in the long run.
fn best_thetas(arrival: &ArrivalCurve, services: &[ServiceCurve], cross: &[ArrivalCurve]) -> Option<Rational> {
    let mut stages = Vec::with_capacity(services.len());
    for (service, cross) in services.iter().zip(cross) {
        let piece = service.pieces().last()?;
        let TokenBucket { rate, burst } = cross.pieces().last()?;
        let left = &piece.rate - rate;
        if !left.is_positive() || left < arrival.long_term_rate() {
            return None;
        }
        stages.push(Stage { theta: (&piece.debt + burst) / &piece.rate, rate: piece.rate.clone(), left });
    }
    let burst = &arrival.pieces().last()?.burst;
    let fixed: Rational = stages.iter().map(|stage| stage.theta.clone()).sum();
    let at = |m: &Rational| {
        let slack = |stage: &Stage| (burst - &stage.left * m).max(Rational::zero()) / &stage.rate;
        m + stages.iter().map(slack).sum::<Rational>()
    };
    let knees = stages.iter().map(|stage| burst / &stage.left).chain([Rational::zero()]);
    knees.map(|m| at(&m)).min().map(|rest| fixed + rest)
}

/// What every flow keeps to where it enters each server, for arbitrary multiplexing; servers come in the order of flows.
type Curves = HashMap<(usize, usize), Result<ArrivalCurve, NoBound>>;

fn separate_curves(state: &Propagation<'_>, order: &[usize]) -> Curves {
    let network = state.network;
    let mut curves = Curves::new();
    // What leaves a server, by flow and server: it enters all servers behind it.
    let mut outputs = Curves::new();
    for &server in order {
        for &flow in network.visitors(server) {
            let entering = match network.previous(flow, server) {
                None => Ok(network.flows()[flow].arrival.clone()),
                Some(before) => outputs[&(flow, before)].clone(),
            };
            curves.insert((flow, server), lower(entering, state.flow_at(flow, server)));
        }
        let service = state.options.packetized_service(network, server);
        let crosses = cross_from(state, &curves, server).map(Cross::from_iter);
        for &flow in network.visitors(server) {
            let output = crosses.as_ref().map_err(Clone::clone).and_then(|crosses| {
                let entering = curves[&(flow, server)].as_ref().map_err(Clone::clone)?;
                let left = residual_service(&service, &crosses[&flow]);
                deconvolution(entering, &left).ok_or(NoBound::Overload { server })
            });
            outputs.insert((flow, server), output);
        }
    }
    curves
}

fn cross_from(state: &Propagation<'_>, curves: &Curves, server: usize) -> Result<Vec<(usize, ArrivalCurve)>, NoBound> {
    let mut groups = std::collections::BTreeMap::<_, Vec<_>>::new();
    for &flow in state.network.visitors(server) {
        let curve = curves[&(flow, server)].clone()?;
        groups.entry(state.network.line_before(flow, server)).or_default().push((flow, curve));
    }
    Ok(state.cross_of(groups))
}
