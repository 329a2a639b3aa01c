//! Upper bound for every admission: the part of a list of demands that the rates of links admit at most.
//!
//! Demands may be admitted in parts and split over any number of routes, and only rates count, no delays. No
//! admission control can exceed this bound. The program is a multi-commodity flow with one commodity for each
//! destination, since traffic to one destination may be mixed. Its variables are the admitted part of each demand,
//! and the rate to each destination on each link. A host with one link in each direction needs no variables: its
//! links bound the sums of its demands directly, and its switch is the destination.

use std::collections::BTreeMap;

use num_bigint::BigInt;
use num_traits::{One, Zero};
use wayleave_units::Rate;

use crate::Rational;
use crate::lp::certificate::{Unsolved, maximize};
use crate::lp::program::{LinearProgram, Variable};
use crate::rational::{from_rate, whole};

/// The most variables (demands that differ, plus links times places): more would take the solver minutes.
pub const MAX_VARIABLES: usize = 20_000;

/// A directed link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CapacityLink {
    /// The node where it begins.
    pub from: usize,
    /// The node where it ends.
    pub to: usize,
    /// Capacity of the link.
    pub capacity: Rate,
}

/// A demand between two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RequestedRate {
    /// From where.
    pub source: usize,
    /// To where.
    pub sink: usize,
    /// Demanded rate.
    pub rate: Rate,
    /// Weight if it is admitted as a whole: 1 to count demands, its bit/s to count rate.
    pub weight: u64,
}

/// A bound.
#[derive(Clone, Debug, PartialEq)]
pub struct UpperBound {
    /// No admission reaches a larger sum of weights.
    pub weight: Rational,
    /// `true` if it is more than [`LOOSE`](crate::lp::LOOSE) above the solver's value of the maximum.
    pub is_loose: bool,
}

/// Reason that there is no bound.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum UpperBoundError {
    /// A link or a demand names a node that is not there.
    #[error("there is no node {node}: {nodes} are counted from 0")]
    UnknownNode {
        /// Its number.
        node: usize,
        /// Number of nodes.
        nodes: usize,
    },
    /// The program would be too large.
    #[error("the linear program would have {variables} variables, and {MAX_VARIABLES} are solved at most")]
    TooLarge {
        /// Number of variables that the program would have.
        variables: usize,
    },
    /// The solver.
    #[error("{0}")]
    Unsolved(Unsolved),
}

/// Bounds the weight that any admission can reach.
///
/// ```
/// use wayleave_calculus::rational::whole;
/// use wayleave_calculus::lp::{CapacityLink, RequestedRate, admitted_upper_bound};
/// use wayleave_units::Rate;
/// // Three flows of 40 Mbit/s from 0 to 1 over a link of 100: two and a half.
/// let links = [CapacityLink { from: 0, to: 1, capacity: Rate::from_mbit(100) }];
/// let demands = [RequestedRate { source: 0, sink: 1, rate: Rate::from_mbit(40), weight: 2 }; 3];
/// assert_eq!(admitted_upper_bound(2, &links, &demands)?.weight, whole(5));
/// # Ok::<(), wayleave_calculus::lp::UpperBoundError>(())
/// ```
///
/// # Errors
/// Unknown nodes, more than [`MAX_VARIABLES`] variables, and errors of the solver.
pub fn admitted_upper_bound(
    nodes: usize,
    links: &[CapacityLink],
    demands: &[RequestedRate],
) -> Result<UpperBound, UpperBoundError> {
    let ends = links.iter().flat_map(|link| [link.from, link.to]);
    let ends = ends.chain(demands.iter().flat_map(|demand| [demand.source, demand.sink]));
    if let Some(node) = ends.clone().find(|&node| node >= nodes) {
        return Err(UpperBoundError::UnknownNode { node, nodes });
    }
    let hosts = Hosts::of(nodes, links);
    let mut classes: BTreeMap<(usize, usize, Rate, u64), u64> = BTreeMap::new();
    for demand in demands {
        *classes.entry((demand.source, demand.sink, demand.rate, demand.weight)).or_default() += 1;
    }
    let places: Vec<usize> = {
        let mut places: Vec<usize> = classes.keys().map(|key| hosts.place_in(key.1)).collect();
        places.sort_unstable();
        places.dedup();
        places
    };
    let inner: Vec<&CapacityLink> = links.iter().filter(|link| !hosts.is_access(link)).collect();
    let variables = classes.len() + inner.len() * places.len();
    if variables > MAX_VARIABLES {
        return Err(UpperBoundError::TooLarge { variables });
    }
    let program = build(links, &inner, &classes, &places, &hosts);
    let certified = maximize(&program).map_err(UpperBoundError::Unsolved)?;
    Ok(UpperBound { is_loose: certified.is_loose(), weight: certified.bound })
}

/// Nodes with one link out, one in, and nothing else.
struct Hosts {
    /// Per node: the other end of its links, if it is such a node.
    switch: Vec<Option<usize>>,
}

impl Hosts {
    fn of(nodes: usize, links: &[CapacityLink]) -> Self {
        let mut out = vec![Vec::new(); nodes];
        let mut into = vec![Vec::new(); nodes];
        for link in links {
            out[link.from].push(link.to);
            into[link.to].push(link.from);
        }
        let ends = out.iter().zip(&into);
        let alone = ends.map(|(out, into)| match (&out[..], &into[..]) {
            ([to], [from]) if to == from => Some(*to),
            _ => None,
        });
        let mut switch: Vec<Option<usize>> = alone.collect();
        // Two hosts that are joined have no switch between them.
        let joined = |node: usize, switch: &[Option<usize>]| switch[node].is_some_and(|other| switch[other].is_some());
        let hosts: Vec<usize> = (0..nodes).filter(|&node| joined(node, &switch)).collect();
        hosts.into_iter().for_each(|node| switch[node] = None);
        Self { switch }
    }

    /// Returns the node of the inner network at which demands of a node enter and leave.
    fn place_in(&self, node: usize) -> usize {
        self.switch[node].unwrap_or(node)
    }

    fn is_access(&self, link: &CapacityLink) -> bool {
        self.switch[link.from].is_some() || self.switch[link.to].is_some()
    }
}

type Classes = BTreeMap<(usize, usize, Rate, u64), u64>;

fn build(
    links: &[CapacityLink],
    inner: &[&CapacityLink],
    classes: &Classes,
    places: &[usize],
    hosts: &Hosts,
) -> LinearProgram {
    let mut program = LinearProgram::default();
    let one = Rational::one;
    // Number of admitted demands of each class.
    let admitted: Vec<(Variable, usize, usize, Rational)> = classes
        .iter()
        .map(|(&(source, sink, rate, weight), &count)| {
            let count = Rational::from_integer(BigInt::from(count));
            let weight = Rational::from_integer(BigInt::from(weight));
            (program.variable(Rational::zero(), count, weight), source, sink, from_rate(rate))
        })
        .collect();
    for link in links.iter().filter(|link| hosts.is_access(link)) {
        let is_user = |source: usize, sink: usize| {
            if hosts.switch[link.from].is_some() { source == link.from } else { sink == link.to }
        };
        let users = admitted.iter().filter(|(_, source, sink, _)| source != sink && is_user(*source, *sink));
        program.at_most(users.map(|(part, _, _, rate)| (*part, rate.clone())), from_rate(link.capacity));
    }
    let mut on_link: Vec<Vec<(Variable, Rational)>> = vec![Vec::new(); inner.len()];
    for &place in places {
        let rates: Vec<Variable> = inner
            .iter()
            .map(|link| program.variable(Rational::zero(), from_rate(link.capacity), Rational::zero()))
            .collect();
        let mut balance: BTreeMap<usize, Vec<(Variable, Rational)>> = BTreeMap::new();
        for (index, (link, &rate)) in inner.iter().zip(&rates).enumerate() {
            on_link[index].push((rate, one()));
            balance.entry(link.from).or_default().push((rate, -one()));
            balance.entry(link.to).or_default().push((rate, one()));
        }
        for (part, source, sink, rate) in admitted.iter().filter(|demand| hosts.place_in(demand.2) == place) {
            if hosts.place_in(*source) != hosts.place_in(*sink) {
                balance.entry(hosts.place_in(*source)).or_default().push((*part, rate.clone()));
            }
        }
        // Traffic that enters a node, or begins there, has to leave the node: it may end only at its own destination.
        for (_, terms) in balance.into_iter().filter(|(node, _)| *node != place) {
            program.at_most(terms, whole(0));
        }
    }
    for (link, terms) in inner.iter().zip(on_link) {
        program.at_most(terms, from_rate(link.capacity));
    }
    program
}
