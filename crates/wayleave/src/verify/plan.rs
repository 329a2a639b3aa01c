//! A plan that `wayleave plan -o json` has printed, read back as promises: what is admitted when it ends.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Deserialize;
use wayleave_explain::sentences::route_name;
use wayleave_formats::Source;
use wayleave_ledger::BestEffort;
use wayleave_topology::{Hop, LinkId, Network, Route};
use wayleave_units::{Bytes, Rate, Time};
use wayleave_verify::{Claim, Order, Promise};

use super::{background, constant, frame, largest_of, together};
use crate::error::Error;

#[derive(Deserialize)]
struct Plan {
    scheme: Scheme,
    topology: Topology,
    model: Model,
    requests: Vec<Entry>,
    queues: Vec<Queue>,
}

#[derive(Deserialize)]
struct Scheme {
    name: String,
}

#[derive(Deserialize)]
struct Topology {
    name: String,
    hosts: usize,
    switches: usize,
    links: usize,
}

#[derive(Deserialize)]
struct Model {
    max_frame_bytes: Option<u64>,
    tags: Option<u32>,
    best_effort: bool,
    /// Plans of versions that did not say it promised for nodes that keep the order.
    #[serde(default)]
    jitter: NodeJitter,
}

/// What the jitter of nodes was taken to do.
#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum NodeJitter {
    #[default]
    Ordered,
    Any,
}

/// A request, or the end of a contract.
#[derive(Deserialize)]
struct Entry {
    name: String,
    decision: String,
    reserved: Option<Reserved>,
    route: Option<Vec<Step>>,
    #[serde(default)]
    copies: Vec<Further>,
    #[serde(default)]
    moved: Vec<Move>,
}

/// A further route of a protected contract.
#[derive(Deserialize)]
struct Further {
    route: Vec<Step>,
}

#[derive(Clone, Copy, Deserialize)]
struct Reserved {
    rate_bps: u64,
    burst_bytes: u64,
    max_frame_bytes: Option<u64>,
}

#[derive(Deserialize)]
struct Step {
    link: String,
    queue: u8,
}

#[derive(Deserialize)]
struct Move {
    name: String,
    to: Vec<Step>,
}

#[derive(Deserialize)]
struct Queue {
    link: String,
    queue: u8,
    budget_ns: u64,
    delay_bound_ns: Option<u64>,
}

/// What is known of the queues: budget, and delay today.
type Queues = HashMap<(LinkId, u8), (Time, Option<Time>)>;

/// Reads a plan for this network: what `wayleave plan -o json` has printed, or a serialised [`crate::Plan`].
///
/// # Errors
/// If it is no plan, or one for another network, or of a scheme that reserves no queues.
pub fn read(source: &Source, network: &Arc<Network>) -> Result<Claim, Error> {
    let file = source.name();
    let wrong = |what: String| Error::Located(format!("{file}: {what}"));
    let plan: Plan = serde_json::from_str(source.text())
        .map_err(|error| wrong(format!("is no plan of `wayleave plan -o json`: {error}")))?;
    plan.fits(network).map_err(wrong)?;
    let queues = plan.queues(network).map_err(wrong)?;
    let admitted = plan.admitted(network).map_err(wrong)?;
    let Model { max_frame_bytes, tags, best_effort, jitter } = plan.model;
    let largest = |link: &wayleave_topology::Link| largest_of(max_frame_bytes, tags, link);
    let promise = |name: String, reserved: Reserved, route: Route| {
        let of = |hop: &Hop| {
            let missing = || format!("queue {} of {} has no entry", hop.queue, network.link(hop.link).name);
            queues.get(&(hop.link, hop.queue)).copied().ok_or_else(missing)
        };
        let known: Vec<_> = route.hops.iter().map(of).collect::<Result<_, String>>()?;
        let rest = constant(network, &route);
        let waits: Option<Time> = known.iter().map(|&(_, delay)| delay).sum();
        Ok(Promise {
            name,
            rate: Rate::from_bits_per_second(reserved.rate_bps),
            burst: Bytes::new(reserved.burst_bytes),
            frame: frame(&route, reserved.max_frame_bytes.map(Bytes::new), |link| largest(network.link(link))),
            bound: known.iter().map(|&(budget, _)| budget).sum::<Time>() + rest,
            today: waits.map(|waits| waits + rest),
            route,
        })
    };
    let (mut promises, mut protected) = (Vec::new(), Vec::new());
    for (name, reserved, routes) in admitted {
        let first = promises.len();
        for (number, route) in routes.into_iter().enumerate() {
            promises.push(promise(route_name(&name, number), reserved, route).map_err(wrong)?);
        }
        protected.extend(together(first..promises.len()));
    }
    let best_effort = if best_effort { BestEffort::LowestQueue } else { BestEffort::Dropped };
    Ok(Claim {
        network: network.clone(),
        background: background(network, best_effort, largest),
        promises,
        protected,
        order: match jitter {
            NodeJitter::Ordered => Order::Kept,
            NodeJitter::Any => Order::Free,
        },
        services: Vec::new(),
    })
}

impl Plan {
    /// Whether it is about this network, as far as can be told.
    fn fits(&self, network: &Network) -> Result<(), String> {
        if self.queues.is_empty() && !self.requests.is_empty() {
            return Err(format!(
                "a plan of scheme {0} says nothing of queues, by which a plan is read: give the contracts with -f and \
                 --scheme {0} instead",
                self.scheme.name
            ));
        }
        let Topology { name, hosts, switches, links } = &self.topology;
        let here = (network.hosts().count(), network.switches().count(), network.links().len());
        if (*hosts, *switches, *links) == here {
            return Ok(());
        }
        Err(format!(
            "the plan is for {name} with {hosts} hosts, {switches} switches and {links} directed links, and --topology \
             has {}, {} and {}",
            here.0, here.1, here.2
        ))
    }

    fn queues(&self, network: &Network) -> Result<Queues, String> {
        let entry = |queue: &Queue| {
            let link = find(network, &queue.link)?;
            let delay = queue.delay_bound_ns.map(Time::from_nanos);
            Ok(((link, queue.queue), (Time::from_nanos(queue.budget_ns), delay)))
        };
        self.queues.iter().map(entry).collect()
    }

    /// Who holds what when the plan ends, in the order in which they were first admitted.
    fn admitted(&self, network: &Network) -> Result<Vec<(String, Reserved, Vec<Route>)>, String> {
        let mut order: Vec<&str> = Vec::new();
        let mut held: HashMap<&str, (Reserved, Vec<Route>)> = HashMap::new();
        for entry in &self.requests {
            for moved in &entry.moved {
                let route = route(network, &moved.to)?;
                match held.get_mut(moved.name.as_str()) {
                    // Only contracts with one route are moved.
                    Some(place) => place.1 = vec![route],
                    None => return Err(format!("\"{}\" is moved, and was not admitted before", moved.name)),
                }
            }
            match (entry.decision.as_str(), entry.reserved, &entry.route) {
                ("admitted", Some(reserved), Some(steps)) => {
                    let all = std::iter::once(steps).chain(entry.copies.iter().map(|copy| &copy.route));
                    let routes = all.map(|steps| route(network, steps)).collect::<Result<_, String>>()?;
                    let is_new = held.insert(&entry.name, (reserved, routes)).is_none();
                    order.extend(Some(entry.name.as_str()).filter(|_| is_new));
                }
                ("admitted", ..) => return Err(format!("\"{}\" has no route, or nothing is reserved", entry.name)),
                ("released", ..) => {
                    held.remove(entry.name.as_str());
                    order.retain(|name| *name != entry.name);
                }
                _ => {}
            }
        }
        let take = |name: &str| held.remove(name).map(|(reserved, routes)| (name.to_owned(), reserved, routes));
        Ok(order.into_iter().filter_map(take).collect())
    }
}

fn route(network: &Network, steps: &[Step]) -> Result<Route, String> {
    let hop = |step: &Step| Ok(Hop { link: find(network, &step.link)?, queue: step.queue });
    Ok(Route { hops: steps.iter().map(hop).collect::<Result<_, String>>()? })
}

fn find(network: &Network, link: &str) -> Result<LinkId, String> {
    network.find_link(link).ok_or_else(|| format!("link {link} is not in --topology"))
}
