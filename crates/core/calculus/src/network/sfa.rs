//! Separate flow analysis: the service that every server leaves for one flow, convolved along its path.
//!
//! **FIFO.** The residual service under cross traffic alpha is [beta(t) - alpha(t - theta)]+ for t > theta, for every
//! theta >= 0 (Le Boudec and Thiran, proposition 6.2.1). Two choices are tried and the smaller bound is given:
//!
//! - the classic theta, the first time at which the server has served the burst of the cross traffic. It keeps curves
//!   convex, so that it works for all of them;
//! - the best thetas of all servers of the path together, where each server counts as its rate-latency function of
//!   the highest rate R, T, and cross traffic and flow as their token buckets of the lowest rate. With theta = T +
//!   b/R + s the rest is a delay theta and then a bucket (R s, R - r); the delay of the path is sum(theta) +
//!   max([burst - R s]+ / (R - r)). With the maximum called m, s = [burst - (R - r) m]+ / R. The remaining function
//!   of m is convex, and its knees are tried (this family is that of LUDB: Lenzini, Mingozzi and Stea, 2008).
//!
//! For rate-latency servers and token buckets without lines and packetizers, s = burst / R shows that the second is
//! never above the sum of [`tfa`](super::tfa()).
//!
//! **Arbitrary multiplexing.** [beta - alpha]+, for a strict beta. The tightest known curve of each flow counts:
//!
//! - A flow's curve at the next server is the minimum of alpha(t + D), with the delays D of [`tfa`](super::tfa()),
//!   and its deconvolution by its residual service.
//! - Flows that leave one server for the next together are bounded together as well: their sum, deconvolved by the
//!   service that flows to other servers leave for them, so that none of them counts as cross traffic of the others
//!   (Bondorf and Schmitt, Calculating accurate end-to-end delay bounds, ValueTools 2015: aggregate arrival
//!   bounding).
//! - In a network with a cycle the curves of `tfa` hold already, so that all consequences do too, for any order of
//!   servers. [`ROUNDS`] of them tighten the curves.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use num_traits::{Signed, Zero};

use super::propagation::{Flows, Groups, Multiplexing, Options, Packetizer, Propagation, lower};
use super::{BoundError, PathBounds, PortNetwork, Tfa};
use crate::{ArrivalCurve, BucketCurve, RateLatency, Rational, ServiceCurve};
use crate::{deconvolution, horizontal_deviation, residual_service};

/// Arrival curves of the other flows of a server, by flow.
type Cross = HashMap<usize, ArrivalCurve>;

/// Bounds every flow by the residual service of its servers. `tfa` gives the bursts of the other flows.
pub fn sfa(network: &PortNetwork, options: &Options, tfa: &Tfa) -> PathBounds {
    let all: Vec<usize> = (0..network.flows().len()).collect();
    sfa_of(network, options, tfa, &all)
}

/// The same of these flows only, which takes no longer than they do.
pub fn sfa_of(network: &PortNetwork, options: &Options, tfa: &Tfa, flows: &[usize]) -> PathBounds {
    let state = Propagation { options: *options, ..tfa.propagation(network) };
    let curves = match options.multiplexing {
        Multiplexing::Fifo => None,
        Multiplexing::Arbitrary => Some(separate_curves(&state)),
    };
    let visited: BTreeSet<usize> =
        flows.iter().flat_map(|&flow| &network.flows()[flow].paths).flatten().copied().collect();
    let crosses: HashMap<usize, Result<Cross, BoundError>> = visited
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
) -> Result<Rational, BoundError> {
    let left = |(&server, cross): (&usize, &ArrivalCurve)| {
        residual_service(&state.options.packetized_service(state.network, server), cross)
    };
    end_to_end(state, flow, path, path.iter().zip(cross).map(left).collect())
}

fn fifo(state: &Propagation<'_>, flow: usize, path: &[usize], cross: &[ArrivalCurve]) -> Result<Rational, BoundError> {
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
) -> Result<Rational, BoundError> {
    if let Some(empty) = left.iter().position(ServiceCurve::is_zero) {
        return Err(BoundError::NothingLeft { server: path[empty] });
    }
    let whole = left.iter().skip(1).fold(left[0].clone(), |so_far, next| so_far.convolution(next));
    let slowest = left.iter().zip(path).min_by_key(|(curve, _)| curve.ultimate_rate());
    let server = slowest.map_or(path[0], |(_, &server)| server);
    horizontal_deviation(&state.network.flows()[flow].arrival, &whole).ok_or(BoundError::Overload { server })
}

/// Returns the residual service of FIFO with the classic theta. The pieces are all differences beta - alpha(t -
/// theta) that rise; where one of them is positive, theta is over, since no difference is positive at theta.
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
        let BucketCurve { rate, burst } = cross.pieces().last()?;
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

/// Arrival curves of every flow where it enters each server, for arbitrary multiplexing; servers come in the order of
/// flows.
type Curves = HashMap<(usize, usize), Result<ArrivalCurve, BoundError>>;

/// Rounds through all servers where flows form cycles: the second gains a few per cent, later ones almost nothing,
/// and each makes fractions longer.
const ROUNDS: usize = 2;

fn separate_curves(state: &Propagation<'_>) -> Curves {
    let network = state.network;
    let (order, rounds) = match network.topological_order() {
        Some(order) => (order, 1),
        None => ((0..network.servers().len()).collect(), ROUNDS),
    };
    let places = order.iter().flat_map(|&server| network.visitors(server).iter().map(move |&flow| (flow, server)));
    let mut curves: Curves = places.map(|(flow, server)| ((flow, server), state.flow_at(flow, server))).collect();
    // Output curves, by flow and server: a flow's output enters all servers behind.
    let mut outputs = Curves::new();
    for &server in std::iter::repeat_n(&order, rounds).flatten() {
        for &flow in network.visitors(server) {
            let entering = network.previous(flow, server).and_then(|before| outputs.get(&(flow, before)));
            if let Some(entering) = entering.cloned() {
                let known = curves[&(flow, server)].clone();
                curves.insert((flow, server), lower(entering, known));
            }
        }
        let service = state.options.packetized_service(network, server);
        let crosses = cross_from(state, &curves, server).map(Cross::from_iter);
        for &flow in network.visitors(server) {
            let output = crosses.as_ref().map_err(Clone::clone).and_then(|crosses| {
                let entering = curves[&(flow, server)].as_ref().map_err(Clone::clone)?;
                let left = residual_service(&service, &crosses[&flow]);
                deconvolution(entering, &left).ok_or(BoundError::Overload { server })
            });
            outputs.insert((flow, server), output);
        }
    }
    curves
}

/// For every flow of a server, in order: what all the others keep to, one by one or as aggregates, whichever is lower.
fn cross_from(
    state: &Propagation<'_>,
    curves: &Curves,
    server: usize,
) -> Result<Vec<(usize, ArrivalCurve)>, BoundError> {
    let (mut groups, mut bundles) = (Groups::new(), BTreeMap::<Option<usize>, Flows>::new());
    for &flow in state.network.visitors(server) {
        let curve = curves[&(flow, server)].clone()?;
        bundles.entry(state.network.previous(flow, server)).or_default().push((flow, curve.clone()));
        groups.entry(state.network.line_before(flow, server)).or_default().push((flow, curve));
    }
    let single = state.cross_of(groups);
    if bundles.values().all(|flows| flows.len() < 2) {
        return Ok(single);
    }
    let mut together = aggregates(state, curves, bundles);
    Ok(single
        .into_iter()
        .map(|(flow, cross)| match together.remove(&flow) {
            Some(other) => (flow, cross.minimum(&other)),
            None => (flow, cross),
        })
        .collect())
}

/// For every flow of a server, the others as one aggregate for each server that they come from. `bundles` has the flows of a server by that one.
fn aggregates(state: &Propagation<'_>, curves: &Curves, bundles: BTreeMap<Option<usize>, Flows>) -> Cross {
    let bounded: Vec<(ArrivalCurve, Cross)> = bundles
        .into_iter()
        .map(|(before, flows)| match before {
            Some(before) => bundle(state, curves, before, flows),
            None => (state.shaped(None, &flows), state.cross_of(Groups::from([(None, flows)])).into_iter().collect()),
        })
        .collect();
    let mut cross = Cross::new();
    for (place, (_, without)) in bounded.iter().enumerate() {
        let others = bounded.iter().enumerate().filter(|(other, _)| *other != place);
        let elsewhere: ArrivalCurve = others.map(|(_, (total, _))| total).sum();
        cross.extend(without.iter().map(|(&flow, rest)| (flow, &elsewhere + rest)));
    }
    cross
}

/// Flows that come from the server `before`: all of them, and for each of them the others. Each is the lower of the sum of their curves and of the
/// output of `before` for their sum.
fn bundle(state: &Propagation<'_>, curves: &Curves, before: usize, flows: Flows) -> (ArrivalCurve, Cross) {
    let network = state.network;
    let line = Some(network.first_of_port(before));
    let sum = state.shaped(line, &flows);
    let members: BTreeSet<usize> = flows.iter().map(|(flow, _)| *flow).collect();
    let singles = state.cross_of(Groups::from([(line, flows)]));
    let entering = |is_member: bool| {
        let mut groups = Groups::new();
        for &flow in network.visitors(before).iter().filter(|flow| members.contains(flow) == is_member) {
            let curve = curves[&(flow, before)].clone().ok()?;
            groups.entry(network.line_before(flow, before)).or_default().push((flow, curve));
        }
        Some(groups)
    };
    let (Some(inside), Some(outside)) = (entering(true), entering(false)) else {
        return (sum, singles.into_iter().collect());
    };
    let shaped =
        |groups: &Groups| -> ArrivalCurve { groups.iter().map(|(&from, flows)| state.shaped(from, flows)).sum() };
    let (whole, elsewhere) = (shaped(&inside), shaped(&outside));
    let service = state.options.packetized_service(network, before);
    let lowest = |sum: ArrivalCurve, entering: &ArrivalCurve, against: &ArrivalCurve| match deconvolution(
        entering,
        &residual_service(&service, against),
    ) {
        Some(output) => sum.minimum(&output),
        None => sum,
    };
    let own: Cross = inside.values().flatten().cloned().collect();
    let others: Cross = state.cross_of(inside).into_iter().collect();
    let without =
        singles.into_iter().map(|(flow, sum)| (flow, lowest(sum, &others[&flow], &(&elsewhere + &own[&flow]))));
    let without = without.collect();
    (lowest(sum, &whole, &elsewhere), without)
}
