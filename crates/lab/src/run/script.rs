//! What happens while contracts send: cables that are reported down so that contracts are moved, and one that is cut.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use wayleave_dataplane::net::{Batch, Namespace};
use wayleave_topology::{LinkId, Network, NodeKind};

use super::{Cut, Operator, RunOptions, Shown, settled};
use crate::run::report::{Action, Deed};
use crate::up::Lab;

/// What is left to do.
pub(super) struct Script {
    /// When, after the start, and what.
    steps: std::vec::IntoIter<(Duration, Step)>,
    next: Option<(Duration, Step)>,
    /// Cables that were chosen before, by one of their links.
    used: BTreeSet<LinkId>,
    /// The link that is cut.
    cut: Option<LinkId>,
}

#[derive(Clone, Debug)]
enum Step {
    Reroute,
    Cut(Cut),
}

impl Script {
    /// Steps at even distances over the run.
    pub(super) fn new(options: &RunOptions) -> Self {
        let mut steps: Vec<Step> = vec![Step::Reroute; options.reroutings];
        steps.extend(options.cut.clone().map(Step::Cut));
        let between = options.lasts / (steps.len() as u32 + 1);
        let timed: Vec<(Duration, Step)> = (1..).map(|number| between * number).zip(steps).collect();
        let mut steps = timed.into_iter();
        let next = steps.next();
        Self { steps, next, used: BTreeSet::new(), cut: None }
    }

    /// When something is to be done.
    pub(super) fn due(&self, start: Instant) -> Option<Instant> {
        self.next.as_ref().map(|(after, _)| start + *after)
    }

    /// Does it.
    pub(super) fn act(&mut self, lab: &Lab, operator: &mut dyn Operator) -> Result<Action, String> {
        let Some((_, step)) = self.next.take() else { return Err("nothing is to be done".to_owned()) };
        self.next = self.steps.next();
        let network = lab.network();
        let before = operator.contracts()?;
        let wanted = match &step {
            Step::Reroute | Step::Cut(Cut::Busiest) => None,
            Step::Cut(Cut::Link(name)) => Some(name.as_str()),
        };
        let link = match wanted {
            Some(name) => network.find_link(name).ok_or_else(|| format!("the lab has no link {name}"))?,
            None => busiest(network, &before, &self.used).ok_or("no contract uses a cable between switches")?,
        };
        self.used.insert(network.cable(link));
        let name = network.link(link).name.clone();
        let start = Instant::now();
        let deed = match step {
            Step::Reroute => Deed::Reroute,
            Step::Cut(_) => {
                set(lab, link, "down")?;
                self.cut = Some(link);
                Deed::Cut
            }
        };
        operator.report(&name, Some("lab run"))?;
        let after = settled(operator).map_err(|error| error.to_string())?;
        let took = start.elapsed();
        if deed == Deed::Reroute {
            operator.report(&name, None)?;
            settled(operator).map_err(|error| error.to_string())?;
        }
        let degraded = after.iter().filter(|contract| contract.state == "degraded").count();
        Ok(Action { deed, link: name, moved: moved(&before, &after), degraded, took, failed: None })
    }

    /// Joins again what was cut.
    pub(super) fn mend(&mut self, lab: &Lab, operator: &mut dyn Operator) -> Result<(), String> {
        let Some(link) = self.cut.take() else { return Ok(()) };
        set(lab, link, "up")?;
        operator.report(&lab.network().link(link).name, None)
    }
}

/// The link between switches that most contracts use, and nobody has chosen before.
fn busiest(network: &Network, contracts: &[Shown], used: &BTreeSet<LinkId>) -> Option<LinkId> {
    let mut users: BTreeMap<LinkId, usize> = BTreeMap::new();
    let names = contracts.iter().filter(|one| one.state == "enforced").flat_map(|one| one.routes.iter().flatten());
    for link in names.filter_map(|name| network.find_link(name)) {
        *users.entry(link).or_default() += 1;
    }
    let is_switch = |node| network.node(node).kind == NodeKind::Switch;
    let between = |link: LinkId| {
        let link = network.link(link);
        is_switch(link.from) && is_switch(link.to)
    };
    let free = users.into_iter().filter(|&(link, _)| between(link) && !used.contains(&network.cable(link)));
    free.max_by_key(|&(link, users)| (users, std::cmp::Reverse(link))).map(|(link, _)| link)
}

/// Contracts that have other routes now.
fn moved(before: &[Shown], after: &[Shown]) -> Vec<String> {
    let routes: BTreeMap<&str, &Vec<Vec<String>>> = before.iter().map(|one| (one.id.as_str(), &one.routes)).collect();
    let has_moved = |one: &&Shown| !one.routes.is_empty() && routes.get(one.id.as_str()) != Some(&&one.routes);
    after.iter().filter(has_moved).map(|one| one.id.clone()).collect()
}

/// Turns the sender's end of a link, and with it the cable, down or up.
fn set(lab: &Lab, link: LinkId, state: &str) -> Result<(), String> {
    let (plan, from) = (lab.plan(), lab.network().link(link).from);
    let node = plan.nodes.get(from.index()).ok_or("the lab has no such node")?;
    let port = node.ports.ports.iter().find(|port| port.link == Some(link)).ok_or("the lab has no such port")?;
    let namespace = Namespace::open(&node.namespace).map_err(|error| error.to_string())?;
    let mut batch = Batch::ip();
    batch.line(format_args!("link set dev {} {state}", port.interface));
    batch.run(&namespace).map_err(|error| error.to_string())
}
