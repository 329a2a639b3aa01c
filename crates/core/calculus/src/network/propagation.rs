//! Arrivals at a server, given the maximum delays of the servers before it.
//!
//! A flow that was delayed by at most D has the arrival curve alpha(t + D). Flows that come over one line conform to
//! that line together ("line shaping"): their aggregate is within min(sum of their curves, line), where a packetizer
//! at the end of the line adds the largest of their packets (Le Boudec and Thiran, theorem 1.7.1).

use std::collections::BTreeMap;

use num_traits::Zero;

use super::{BoundError, PortNetwork};
use crate::{ArrivalCurve, BucketCurve, Rational, ServiceCurve};

/// Bound of aggregates by the line that they come over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineShaping {
    /// By the lines of servers that have one.
    #[default]
    On,
    /// Not at all.
    Off,
}

/// Output of a server: bit by bit, or whole packets at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Packetizer {
    /// A packet leaves when its last bit does.
    On,
    /// Bits leave one by one.
    #[default]
    Off,
}

/// In which order a server serves the flows that it has. Each flow by itself is always in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Multiplexing {
    /// First come, first served.
    #[default]
    Fifo,
    /// In any order; service curves must be strict.
    Arbitrary,
}

/// Assumptions of an analysis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Bound of aggregates by lines.
    pub shaping: LineShaping,
    /// Output bit by bit or by packets.
    pub packetizer: Packetizer,
    /// The order of service.
    pub multiplexing: Multiplexing,
}

impl Options {
    /// A server together with its packetizer: [beta - Lmax]+, or the server's own curve if there is none.
    pub fn packetized_service(&self, network: &PortNetwork, server: usize) -> ServiceCurve {
        let service = &network.servers()[server].service;
        match self.packetizer {
            Packetizer::Off => service.clone(),
            Packetizer::On => service.less(&network.max_packet(server)),
        }
    }

    /// Returns the curve of the line behind a server (the first of its port) for flows with the given largest packet;
    /// `None` if nothing is shaped.
    pub fn line(&self, network: &PortNetwork, server: usize, max_packet: &Rational) -> Option<BucketCurve> {
        let line = network.servers()[server].line.as_ref().filter(|_| self.shaping == LineShaping::On)?;
        let packet = if self.packetizer == Packetizer::On { max_packet.clone() } else { Rational::zero() };
        Some(BucketCurve { rate: line.rate.clone(), burst: &line.burst + packet })
    }
}

/// Arrival curves throughout a network in which delays of servers are known.
#[derive(Clone, Debug)]
pub(crate) struct Propagation<'n> {
    pub(crate) network: &'n PortNetwork,
    pub(crate) options: Options,
    /// Per server, in ns.
    pub(crate) delays: Vec<Result<Rational, BoundError>>,
}

/// Flows with their curves.
pub(crate) type Flows = Vec<(usize, ArrivalCurve)>;

/// Flows by the line that they come over.
pub(crate) type Groups = BTreeMap<Option<usize>, Flows>;

impl<'n> Propagation<'n> {
    /// Returns the arrival curve of a flow where it enters a server that it visits.
    pub(crate) fn flow_at(&self, flow: usize, server: usize) -> Result<ArrivalCurve, BoundError> {
        let mut delay = Rational::zero();
        let mut at = server;
        while let Some(before) = self.network.previous(flow, at) {
            delay += self.delays[before].as_ref().map_err(Clone::clone)?;
            at = before;
        }
        Ok(self.network.flows()[flow].arrival.delayed_by(&delay))
    }

    /// Returns the arrival curve of all flows of a server together.
    pub(crate) fn aggregate_at(&self, server: usize) -> Result<ArrivalCurve, BoundError> {
        let groups = self.groups(server)?;
        let shaped = groups.iter().map(|(&from, flows)| self.shaped(from, flows));
        Ok(shaped.sum())
    }

    /// For every flow of a server, in order: what all the others keep to.
    pub(crate) fn cross_at(&self, server: usize) -> Result<Vec<(usize, ArrivalCurve)>, BoundError> {
        Ok(self.cross_of(self.groups(server)?))
    }

    /// The same for curves that are known.
    pub(crate) fn cross_of(&self, groups: Groups) -> Vec<(usize, ArrivalCurve)> {
        let totals: BTreeMap<_, _> = groups.iter().map(|(&from, flows)| (from, self.shaped(from, flows))).collect();
        let mut all = Vec::new();
        for (from, flows) in &groups {
            let elsewhere: ArrivalCurve = totals.iter().filter(|(place, _)| *place != from).map(|(_, sum)| sum).sum();
            // Sums of those before and of those behind each flow, so that a thousand flows take a thousand sums.
            let mut behind = vec![ArrivalCurve::zero()];
            for (_, curve) in flows.iter().rev() {
                behind.push(&behind[behind.len() - 1] + curve);
            }
            let mut before = ArrivalCurve::zero();
            for (index, (flow, curve)) in flows.iter().enumerate() {
                let others = &before + &behind[flows.len() - 1 - index];
                let packet = self.largest_packet(flows.iter().map(|(other, _)| *other).filter(|other| other != flow));
                all.push((*flow, &elsewhere + &self.capped(*from, others, &packet)));
                before = &before + curve;
            }
        }
        all.sort_by_key(|(flow, _)| *flow);
        all
    }

    /// Returns the flows of a server, grouped by the previous server, each with its curve.
    fn groups(&self, server: usize) -> Result<Groups, BoundError> {
        let mut groups = Groups::new();
        for &flow in self.network.visitors(server) {
            let curve = self.flow_at(flow, server)?;
            groups.entry(self.network.line_before(flow, server)).or_default().push((flow, curve));
        }
        Ok(groups)
    }

    /// The aggregate of flows that come over one line, within what the line lets through.
    pub(crate) fn shaped(&self, from: Option<usize>, flows: &[(usize, ArrivalCurve)]) -> ArrivalCurve {
        let sum = flows.iter().map(|(_, curve)| curve).sum();
        self.capped(from, sum, &self.largest_packet(flows.iter().map(|(flow, _)| *flow)))
    }

    /// The aggregate of flows that come over one line.
    fn capped(&self, from: Option<usize>, sum: ArrivalCurve, max_packet: &Rational) -> ArrivalCurve {
        match from.and_then(|from| self.options.line(self.network, from, max_packet)) {
            Some(line) => sum.within(&line),
            None => sum,
        }
    }

    /// Zero without a packetizer, where packets do not matter.
    fn largest_packet(&self, flows: impl Iterator<Item = usize>) -> Rational {
        if self.options.packetizer == Packetizer::Off {
            return Rational::zero();
        }
        let packets = flows.map(|flow| &self.network.flows()[flow].max_packet);
        packets.max().cloned().unwrap_or_else(Rational::zero)
    }
}

/// The lower of two curves of the same traffic, where at least one is known.
pub(crate) fn lower(
    one: Result<ArrivalCurve, BoundError>,
    other: Result<ArrivalCurve, BoundError>,
) -> Result<ArrivalCurve, BoundError> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok(one.minimum(&other)),
        (Ok(one), Err(_)) | (Err(_), Ok(one)) => Ok(one),
        (Err(reason), Err(_)) => Err(reason),
    }
}
