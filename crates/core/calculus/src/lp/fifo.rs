//! The delay of a flow in a FIFO network, as a linear program of polynomial size.
//!
//! Source: Bouillard, "Trade-off between accuracy and tractability of network calculus in FIFO networks", Performance
//! Evaluation 153, 2022 (the program PLP), after Bouillard and Stea, "Exact worst-case delay in FIFO-multiplexing
//! feed-forward networks", IEEE/ACM Transactions on Networking 23(5), 2015. Written again from the model; the
//! differences are below.
//!
//! **Unfolding.** The last server of the flow is the root of a tree. The servers from which flows come to a server
//! are its children: the path of the flow first, then others, nearest first, up to [`MAX_SERVERS`]. Where the tree
//! ends, flows enter with the curves that [`tfa`](wayleave_calculus::network::tfa()) gives. A server from which
//! several paths lead to the root appears once for each. Events at one time are then related only within one of these
//! copies.
//!
//! **Variables.** The bit whose delay is bounded leaves the root at time 0: level 0. A server at depth d (the root
//! has 1) sees levels 0 to d. t(j, k) is the time at which level k enters server j, and x(f, k) the amount of flow f
//! that has arrived until then.
//!
//! - FIFO: a level leaves a server with the same amounts of all flows with which it entered, so x(f, k) is one
//!   variable along the path of f; and it entered before it left.
//! - Service: the last level d of a server is the beginning of the busy period in which level d - 1 leaves. For every
//!   piece R t - B of its curve: sum of x(f, d - 1) - x(f, d) over the flows of the server >= R (t(next, d - 1) -
//!   t(j, d)) - B.
//! - Arrival: x(f, k) - x(f, l) <= b + r (t(k) - t(l)) where f enters the tree, for all k < l and every bucket.
//! - Lines: the corresponding constraint for the flows that come over one line, at every server.
//! - Levels are in order, at every server and in every flow.
//! - The delay of a level at a server is at most that server's from `tfa`; a busy period ends before the service
//!   curve has caught up with the aggregate.
//!
//! Every run of the network satisfies all of these constraints, so the largest delay that satisfies them is a bound.
//!
//! # Deviations
//!
//! - Flows that enter and leave the tree together over one line are one flow with the sum of their curves: the
//!   maximum is unchanged, since amounts can be shared out in proportion.
//! - PLP also limits levels by the bounds of SFA for single flows. A level is a time of all flows, and a flow may
//!   have nothing to send then; so only the delay of the flow itself is limited by its own bound.
//! - With a packetizer a server counts as [beta - Lmax]+.

use std::collections::BTreeMap;

use num_traits::{One, Zero};

use crate::lp::certificate::{Unsolved, maximize};
use crate::lp::program::{LinearProgram, Variable};
use crate::network::{BoundError, Multiplexing, Options, PortNetwork, Tfa, busy_period};
use crate::{ArrivalCurve, Rational};

/// Maximum number of servers in a tree, beside those of the path.
pub const MAX_SERVERS: usize = 6;

/// A bound of the delay of a flow.
#[derive(Clone, Debug, PartialEq)]
pub struct FifoBound {
    /// In ns.
    pub delay: Rational,
    /// `true` if it is more than [`LOOSE`](crate::lp::LOOSE) above the solver's value of the maximum.
    pub is_loose: bool,
    /// `true` if it is the known bound, and the program alone gives a worse one.
    pub is_known: bool,
    /// Number of servers in the tree.
    pub servers: usize,
    /// `true` if the tree is cut, so that flows enter it in the middle of their paths.
    pub is_cut: bool,
}

/// Reason that there is no bound.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
pub enum NoFifoBound {
    /// Servers are not FIFO.
    #[error("the linear program is for FIFO servers")]
    Arbitrary,
    /// Flows have no curve.
    #[error("{0}")]
    NoBound(BoundError),
    /// All of the rate of this server is taken, so that busy periods have no end.
    #[error("all of the rate of server {server} is taken")]
    Full {
        /// The server.
        server: usize,
    },
    /// The solver.
    #[error("{0}")]
    Unsolved(Unsolved),
}

impl NoFifoBound {
    /// In words, with the names of a network.
    pub fn explain(&self, network: &PortNetwork) -> String {
        match self {
            Self::NoBound(reason) => reason.explain(network),
            Self::Full { server } => {
                format!("all of the rate of server \"{}\" is taken", network.servers()[*server].name)
            }
            Self::Arbitrary | Self::Unsolved(_) => self.to_string(),
        }
    }
}

/// Bounds the delay of one path of a flow. `known` is another bound of this delay, such as that of `sfa`: the result
/// is never above `known`.
///
/// # Errors
/// The reason that there is no bound.
pub fn fifo_delay(
    network: &PortNetwork,
    tfa: &Tfa,
    known: Option<&Rational>,
    flow: usize,
    path: usize,
) -> Result<FifoBound, NoFifoBound> {
    if tfa.options().multiplexing == Multiplexing::Arbitrary {
        return Err(NoFifoBound::Arbitrary);
    }
    let tree = Tree::of(network, tfa, &network.flows()[flow].paths[path])?;
    let program = tree.program(tfa, known)?;
    let certified = maximize(&program).map_err(NoFifoBound::Unsolved)?;
    Ok(FifoBound {
        is_loose: certified.is_loose(),
        is_known: match known {
            Some(known) if certified.bound >= *known => !reaches(&tree, tfa, known),
            _ => false,
        },
        delay: certified.bound,
        servers: tree.nodes.len(),
        is_cut: tree.is_cut,
    })
}

/// Returns `true` if the program alone gives a bound that is no worse than the known one.
fn reaches(tree: &Tree<'_>, tfa: &Tfa, known: &Rational) -> bool {
    let alone = tree.program(tfa, None).ok().and_then(|program| maximize(&program).ok());
    alone.is_some_and(|alone| alone.bound <= *known)
}

/// A server of the tree, on its path to the root.
struct Node {
    server: usize,
    /// The server behind it; `None` for the root.
    parent: Option<usize>,
    depth: usize,
    /// No level stays longer here.
    delay: Rational,
    /// No busy period is longer.
    busy: Rational,
}

/// Flows that enter the tree at one place over one line, and leave it at one place.
struct Bundle {
    entry: usize,
    /// The servers of the tree on its path, from the entry on.
    nodes: Vec<usize>,
    /// The line that it comes over to each of them.
    lines: Vec<Option<usize>>,
    curve: ArrivalCurve,
    max_packet: Rational,
}

struct Tree<'n> {
    network: &'n PortNetwork,
    options: Options,
    nodes: Vec<Node>,
    bundles: Vec<Bundle>,
    /// The node of the first server of the path.
    first: usize,
    is_cut: bool,
}

impl<'n> Tree<'n> {
    fn of(network: &'n PortNetwork, tfa: &Tfa, path: &[usize]) -> Result<Self, NoFifoBound> {
        let mut tree =
            Self { network, options: tfa.options(), nodes: Vec::new(), bundles: Vec::new(), first: 0, is_cut: false };
        for &server in path.iter().rev() {
            let parent = tree.nodes.len().checked_sub(1);
            tree.add(tfa, server, parent)?;
        }
        tree.first = path.len() - 1;
        let mut next = 0;
        while next < tree.nodes.len() && tree.nodes.len() < path.len() + MAX_SERVERS {
            for before in tree.comes_from(next) {
                if tree.nodes.len() < path.len() + MAX_SERVERS && !tree.leads_through(next, before) {
                    tree.add(tfa, before, Some(next))?;
                }
            }
            next += 1;
        }
        tree.bundle(tfa)?;
        Ok(tree)
    }

    fn add(&mut self, tfa: &Tfa, server: usize, parent: Option<usize>) -> Result<(), NoFifoBound> {
        let bound = tfa.servers()[server].as_ref().map_err(|reason| NoFifoBound::NoBound(reason.clone()))?;
        let aggregate = tfa.aggregate_at(self.network, server).map_err(NoFifoBound::NoBound)?;
        let service = self.options.packetized_service(self.network, server);
        let busy = busy_period(&aggregate, &service).ok_or(NoFifoBound::Full { server })?;
        let depth = parent.map_or(1, |parent| self.nodes[parent].depth + 1);
        self.nodes.push(Node { server, parent, depth, delay: bound.delay.clone(), busy });
        Ok(())
    }

    /// Returns the servers from which flows come to a node and which are no children of the node yet.
    fn comes_from(&self, node: usize) -> Vec<usize> {
        let server = self.nodes[node].server;
        let visitors = self.network.visitors(server).iter();
        let mut before: Vec<usize> = visitors.filter_map(|&flow| self.network.previous(flow, server)).collect();
        before.sort_unstable();
        before.dedup();
        before.retain(|&before| self.child(node, before).is_none());
        before
    }

    fn child(&self, node: usize, server: usize) -> Option<usize> {
        self.nodes.iter().position(|other| other.parent == Some(node) && other.server == server)
    }

    /// Returns `true` if a server is on the path from a node to the root: flows may form cycles.
    fn leads_through(&self, node: usize, server: usize) -> bool {
        let mut at = Some(node);
        while let Some(node) = at {
            if self.nodes[node].server == server {
                return true;
            }
            at = self.nodes[node].parent;
        }
        false
    }

    /// Finds out which flows are in the tree, and where.
    fn bundle(&mut self, tfa: &Tfa) -> Result<(), NoFifoBound> {
        let mut bundles: BTreeMap<(usize, usize, Option<usize>), Bundle> = BTreeMap::new();
        for entry in 0..self.nodes.len() {
            let server = self.nodes[entry].server;
            for &flow in self.network.visitors(server) {
                let before = self.network.previous(flow, server);
                if before.is_some_and(|before| self.child(entry, before).is_some()) {
                    continue;
                }
                self.is_cut |= before.is_some();
                let curve = tfa.arrival_at(self.network, flow, server).map_err(NoFifoBound::NoBound)?;
                let nodes = self.path(flow, entry);
                let lines: Vec<_> =
                    nodes.iter().map(|&node| self.network.line_before(flow, self.nodes[node].server)).collect();
                let exit = nodes[nodes.len() - 1];
                let max_packet = &self.network.flows()[flow].max_packet;
                let bundle = bundles.entry((entry, exit, lines[0])).or_insert_with(|| Bundle {
                    entry,
                    nodes,
                    lines,
                    curve: ArrivalCurve::zero(),
                    max_packet: Rational::zero(),
                });
                bundle.curve = &bundle.curve + &curve;
                bundle.max_packet = bundle.max_packet.clone().max(max_packet.clone());
            }
        }
        self.bundles = bundles.into_values().collect();
        Ok(())
    }

    /// The nodes that a flow visits from a node on.
    fn path(&self, flow: usize, entry: usize) -> Vec<usize> {
        let mut nodes = vec![entry];
        let mut at = entry;
        while let Some(parent) = self.nodes[at].parent
            && self.network.previous(flow, self.nodes[parent].server) == Some(self.nodes[at].server)
        {
            nodes.push(parent);
            at = parent;
        }
        nodes
    }

    fn program(&self, tfa: &Tfa, known: Option<&Rational>) -> Result<LinearProgram, NoFifoBound> {
        debug_assert_eq!(tfa.options(), self.options);
        let mut program = LinearProgram::default();
        let times = self.times(&mut program, known);
        let amounts = self.amounts(&mut program, &times);
        let model = Model { tree: self, times, amounts };
        for node in 0..self.nodes.len() {
            model.order(&mut program, node);
            model.service(&mut program, node);
            model.lines(&mut program, node);
        }
        for bundle in 0..self.bundles.len() {
            model.arrival(&mut program, bundle);
        }
        Ok(program)
    }

    /// Returns the times at which levels enter servers; their lower bounds follow from the delays and busy periods
    /// behind them.
    fn times(&self, program: &mut LinearProgram, known: Option<&Rational>) -> Vec<Vec<Time>> {
        let mut times: Vec<Vec<Time>> = Vec::with_capacity(self.nodes.len());
        for (index, node) in self.nodes.iter().enumerate() {
            let behind = |level: usize| match node.parent {
                Some(parent) => times[parent][level].earliest.clone(),
                None => Rational::zero(),
            };
            let mut of_node = Vec::with_capacity(node.depth + 1);
            for level in 0..=node.depth {
                let mut earliest = match level {
                    last if last == node.depth => behind(last - 1) - &node.busy,
                    level => behind(level) - &node.delay,
                };
                let is_asked_for = index == self.first && level == 0;
                if let Some(known) = known.filter(|_| is_asked_for) {
                    earliest = earliest.max(-known.clone());
                }
                let objective = if is_asked_for { -Rational::one() } else { Rational::zero() };
                let variable = program.variable(earliest.clone(), Rational::zero(), objective);
                of_node.push(Time { variable, earliest });
            }
            times.push(of_node);
        }
        times
    }

    /// Returns the amount of each bundle that has arrived at each level, counted from its last level on.
    fn amounts(&self, program: &mut LinearProgram, times: &[Vec<Time>]) -> Vec<Vec<Variable>> {
        let of_bundle = |bundle: &Bundle| {
            let depth = self.nodes[bundle.entry].depth;
            let longest = -times[bundle.entry][depth].earliest.clone();
            let most = bundle.curve.pieces().iter().map(|bucket| &bucket.burst + &bucket.rate * &longest);
            let most = most.min().unwrap_or_else(Rational::zero);
            (0..depth).map(|_| program.variable(Rational::zero(), most.clone(), Rational::zero())).collect()
        };
        self.bundles.iter().map(of_bundle).collect()
    }
}

struct Time {
    variable: Variable,
    earliest: Rational,
}

/// Variables with their meaning.
struct Model<'t> {
    tree: &'t Tree<'t>,
    times: Vec<Vec<Time>>,
    amounts: Vec<Vec<Variable>>,
}

type Terms = Vec<(Variable, Rational)>;

impl Model<'_> {
    fn time(&self, node: usize, level: usize) -> Variable {
        self.times[node][level].variable
    }

    /// `factor` times the time at which a level leaves a node; that of level 0 at the root is 0.
    fn leaves(&self, node: usize, level: usize, factor: Rational) -> Terms {
        self.tree.nodes[node].parent.map(|parent| (self.time(parent, level), factor)).into_iter().collect()
    }

    /// `factor` times what arrives of a bundle between two levels, the later one first.
    fn arrived(&self, bundle: usize, later: usize, earlier: usize, factor: Rational) -> Terms {
        let amounts = &self.amounts[bundle];
        let last = amounts.get(earlier).map(|&amount| (amount, -factor.clone()));
        amounts.get(later).map(|&amount| (amount, factor)).into_iter().chain(last).collect()
    }

    /// Levels are in order, and leave after they came, by the server's delay at most.
    fn order(&self, program: &mut LinearProgram, node: usize) {
        let Node { depth, delay, busy, .. } = &self.tree.nodes[node];
        let one = Rational::one();
        for level in 0..*depth {
            let entry = self.time(node, level);
            program.at_most([(self.time(node, level + 1), one.clone()), (entry, -one.clone())], Rational::zero());
            let mut stays = self.leaves(node, level, one.clone());
            stays.push((entry, -one.clone()));
            program.at_most(stays.iter().map(|(variable, factor)| (*variable, -factor.clone())), Rational::zero());
            program.at_most(stays, delay.clone());
        }
        let mut lasts = self.leaves(node, depth - 1, one.clone());
        lasts.push((self.time(node, *depth), -one));
        program.at_most(lasts, busy.clone());
    }

    fn service(&self, program: &mut LinearProgram, node: usize) {
        let depth = self.tree.nodes[node].depth;
        let service = self.tree.options.packetized_service(self.tree.network, self.tree.nodes[node].server);
        for piece in service.pieces() {
            let mut terms = self.leaves(node, depth - 1, piece.rate.clone());
            terms.push((self.time(node, depth), -piece.rate.clone()));
            for bundle in self.bundles_at(node) {
                terms.extend(self.arrived(bundle, depth - 1, depth, -Rational::one()));
            }
            program.at_most(terms, piece.debt.clone());
        }
    }

    fn bundles_at(&self, node: usize) -> impl Iterator<Item = usize> {
        let bundles = self.tree.bundles.iter().enumerate();
        bundles.filter(move |(_, bundle)| bundle.nodes.contains(&node)).map(|(index, _)| index)
    }

    /// Adds the line constraint: flows that come over one line conform to its curve together.
    fn lines(&self, program: &mut LinearProgram, node: usize) {
        let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for index in self.bundles_at(node) {
            let bundle = &self.tree.bundles[index];
            let at = bundle.nodes.iter().position(|&visited| visited == node);
            if let Some(line) = at.and_then(|at| bundle.lines[at]) {
                groups.entry(line).or_default().push(index);
            }
        }
        for (server, bundles) in groups {
            let packets = bundles.iter().map(|&bundle| &self.tree.bundles[bundle].max_packet);
            let packet = packets.max().cloned().unwrap_or_else(Rational::zero);
            if let Some(line) = self.tree.options.line(self.tree.network, server, &packet) {
                self.bucket(program, &bundles, node, &line.rate, &line.burst);
            }
        }
    }

    fn arrival(&self, program: &mut LinearProgram, index: usize) {
        let bundle = &self.tree.bundles[index];
        for bucket in bundle.curve.pieces() {
            self.bucket(program, &[index], bundle.entry, &bucket.rate, &bucket.burst);
        }
        for level in 0..self.tree.nodes[bundle.entry].depth {
            program.at_most(self.arrived(index, level, level + 1, -Rational::one()), Rational::zero());
        }
    }

    /// Bundles together are within a token bucket at a node, between any two levels.
    fn bucket(&self, program: &mut LinearProgram, bundles: &[usize], node: usize, rate: &Rational, burst: &Rational) {
        let depth = self.tree.nodes[node].depth;
        for later in 0..depth {
            for earlier in later + 1..=depth {
                let mut terms = vec![(self.time(node, later), -rate.clone()), (self.time(node, earlier), rate.clone())];
                for &bundle in bundles {
                    terms.extend(self.arrived(bundle, later, earlier, Rational::one()));
                }
                program.at_most(terms, burst.clone());
            }
        }
    }
}
