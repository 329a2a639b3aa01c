//! Actions while contracts send: they get other routes, and a cable is cut.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use wayleave_dataplane::net::{Namespace, ToolBatch};
use wayleave_topology::{LinkId, Network};

use super::actions::{ActionOutcome, ActionResult, NetworkAction};
use super::operator::{Operator, ReportedContract, TIMEOUT, Watch, settling};
use super::options::{CutLink, RunOptions};
use super::rerouting;
use wayleave_units::Time;

use crate::clock::stamp;
use crate::error::LabError;
use crate::up::Lab;

/// Between one question whether a cut was noticed and the next.
const NOTICE: Duration = Duration::from_millis(5);

/// Remaining actions.
pub(super) struct Script {
    /// Time after the start, and the action.
    steps: std::vec::IntoIter<(Duration, Step)>,
    next: Option<(Duration, Step)>,
    /// Contracts that were given a route, with the number of times.
    moved: BTreeMap<String, usize>,
    /// The link that is cut.
    cut: Option<LinkId>,
    lab: Lab,
}

#[derive(Clone, Debug)]
enum Step {
    Reroute,
    Free,
    Cut(CutLink),
}

impl Script {
    /// Steps at even distances over the run.
    pub(super) fn new(lab: &Lab, options: &RunOptions) -> Self {
        let mut steps: Vec<Step> = vec![Step::Reroute; options.reroutings];
        if let Some(cut) = options.cut.clone() {
            // A route that was given is kept also when it is cut.
            steps.extend((options.reroutings > 0).then_some(Step::Free));
            steps.push(Step::Cut(cut));
        }
        let between = options.lasts / (steps.len() as u32 + 1);
        let timed: Vec<(Duration, Step)> = (1..).map(|number| between * number).zip(steps).collect();
        let mut steps = timed.into_iter();
        let next = steps.next();
        Self { steps, next, moved: BTreeMap::new(), cut: None, lab: lab.clone() }
    }

    /// Returns the time of the next action.
    pub(super) fn due(&self, start: Instant) -> Option<Instant> {
        self.next.as_ref().map(|(after, _)| start + *after)
    }

    /// Does the next action, and waits for its consequences.
    pub(super) fn act(&mut self, operator: &mut dyn Operator, watch: &mut Watch<'_>) -> ActionResult {
        self.try_act(operator, watch).unwrap_or_else(ActionResult::failed)
    }

    /// Does the next action. The error is the reason why it had no effect.
    fn try_act(&mut self, operator: &mut dyn Operator, watch: &mut Watch<'_>) -> Result<ActionResult, String> {
        let Some((_, step)) = self.next.take() else { return Err("no action is left".to_owned()) };
        self.next = self.steps.next();
        let lab = self.lab.clone();
        let before = operator.contracts()?;
        let (start, began) = (Instant::now(), stamp());
        // Once the network is changed, an error leaves the consequences unknown.
        let (kind, what, done) = match step {
            Step::Reroute => (NetworkAction::Reroute, self.reroute(lab.network(), operator, &before)?, Ok(())),
            Step::Free => (NetworkAction::Free, String::new(), self.unpin(operator)),
            Step::Cut(cut) => {
                let link = self.cut(&before, &cut)?;
                let noticed = noticed(&lab, operator, &link, true);
                (NetworkAction::Cut, link, noticed)
            }
        };
        let mut stopped = BTreeSet::new();
        let settled = done.and_then(|()| settling(operator, &mut stopped, watch).map_err(|error| error.to_string()));
        let outcome = settled.map(|after| ActionOutcome {
            moved: moved(&before, &after),
            stopped,
            degraded: after.iter().filter(|contract| contract.state == "degraded").count(),
            took: start.elapsed(),
        });
        Ok(ActionResult { kind, what, began, outcome })
    }

    /// Gives the contract that was moved least another route.
    fn reroute(
        &mut self,
        network: &Network,
        operator: &mut dyn Operator,
        contracts: &[ReportedContract],
    ) -> Result<String, String> {
        let mut candidates: Vec<&ReportedContract> = contracts.iter().filter(|one| one.state == "enforced").collect();
        candidates.sort_by_key(|one| self.moved.get(&one.id).copied().unwrap_or(0));
        let mut refused = "no contract has an alternative route".to_owned();
        for contract in candidates {
            let [route] = &contract.routes[..] else { continue };
            let Some(other) = rerouting::other(network, route) else { continue };
            match operator.pin(&contract.id, Some(&other)) {
                Ok(()) => {
                    *self.moved.entry(contract.id.clone()).or_default() += 1;
                    return Ok(contract.id.clone());
                }
                Err(why) => refused = why,
            }
        }
        Err(refused)
    }

    /// Cuts a cable, and returns the name of its link.
    fn cut(&mut self, contracts: &[ReportedContract], cut: &CutLink) -> Result<String, String> {
        let lab = self.lab.clone();
        let network = lab.network();
        let link = match cut {
            CutLink::Link(name) => network.find_link(name).ok_or_else(|| format!("the lab has no link {name}"))?,
            CutLink::Busiest => busiest(network, contracts).ok_or("no contract uses a cable between switches")?,
        };
        let name = network.link(link).name.clone();
        // Written before the cut: a killed run leaves a note.
        lab.remember_cut(Some(&name)).map_err(|error| error.to_string())?;
        self.cut = Some(link);
        set(&lab, link, "down")?;
        Ok(name)
    }

    /// Contracts that were given a route may go anywhere again.
    fn unpin(&mut self, operator: &mut dyn Operator) -> Result<(), String> {
        // After an error, the next call frees the other contracts.
        while let Some((id, _)) = self.moved.pop_first() {
            operator.pin(&id, None)?;
        }
        Ok(())
    }

    /// Joins again what was cut; contracts may go anywhere again.
    pub(super) fn mend(&mut self, lab: &Lab, operator: &mut dyn Operator) -> Result<(), String> {
        // The cable is joined first: no run leaves one cut, even if the controller fails.
        let joined = self.cut.take().map_or(Ok(()), |link| join(lab, operator, link));
        self.unpin(operator).and(joined)
    }
}

impl Drop for Script {
    /// A run that has failed joins what it has cut, too.
    fn drop(&mut self) {
        if let Some(link) = self.cut.take() {
            let _ = set(&self.lab, link, "up").and_then(|()| forget(&self.lab));
        }
    }
}

/// Joins the cable that an earlier run has left cut, because it was killed.
pub(super) fn join_left(lab: &Lab, operator: &mut dyn Operator) -> Result<(), LabError> {
    let left = lab.cut()?.and_then(|name| lab.network().find_link(&name));
    left.map_or(Ok(()), |link| join(lab, operator, link).map_err(LabError::Request))
}

fn join(lab: &Lab, operator: &mut dyn Operator, link: LinkId) -> Result<(), String> {
    set(lab, link, "up").and_then(|()| forget(lab))?;
    noticed(lab, operator, &lab.network().link(link).name, false)
}

fn forget(lab: &Lab) -> Result<(), String> {
    lab.remember_cut(None).map_err(|error| error.to_string())
}

/// Waits until the controller knows that a link is down, or up again.
fn noticed(lab: &Lab, operator: &mut dyn Operator, link: &str, is_down: bool) -> Result<(), String> {
    let start = Instant::now();
    while operator.is_down(link)? != is_down {
        if start.elapsed() > TIMEOUT {
            let (state, waited) = (if is_down { "down" } else { "up" }, TIMEOUT.as_secs());
            return Err(format!(
                "no agent has reported {link} {state} within {waited} s: see the logs in the lab's directory"
            ));
        }
        lab.stop().check().map_err(|error| error.to_string())?;
        std::thread::sleep(NOTICE);
    }
    Ok(())
}

/// The link between switches that most contracts use.
fn busiest(network: &Network, contracts: &[ReportedContract]) -> Option<LinkId> {
    let mut users: BTreeMap<LinkId, usize> = BTreeMap::new();
    let hops = contracts.iter().filter(|one| one.state == "enforced").flat_map(|one| one.routes.iter().flatten());
    for link in
        hops.filter_map(|(name, _)| network.find_link(name)).filter(|&link| rerouting::is_between(network, link))
    {
        *users.entry(link).or_default() += 1;
    }
    users.into_iter().max_by_key(|&(link, users)| (users, std::cmp::Reverse(link))).map(|(link, _)| link)
}

/// Contracts that have other routes now.
fn moved(before: &[ReportedContract], after: &[ReportedContract]) -> Vec<(String, Time)> {
    let routes: BTreeMap<&str, _> = before.iter().map(|one| (one.id.as_str(), &one.routes)).collect();
    let has_moved =
        |one: &&ReportedContract| !one.routes.is_empty() && routes.get(one.id.as_str()) != Some(&&one.routes);
    after.iter().filter(has_moved).map(|one| (one.id.clone(), one.bound)).collect()
}

/// Turns the sender's end of a link, and with it the cable, down or up.
fn set(lab: &Lab, link: LinkId, state: &str) -> Result<(), String> {
    let (plan, from) = (lab.plan(), lab.network().link(link).from);
    let node = plan.nodes.get(from.index()).ok_or("the lab has no such node")?;
    let port = node.ports.ports.iter().find(|port| port.link == Some(link)).ok_or("the lab has no such port")?;
    let namespace = Namespace::open(&node.namespace).map_err(|error| error.to_string())?;
    let mut batch = ToolBatch::ip();
    batch.line(format_args!("link set dev {} {state}", port.interface));
    batch.run(&namespace).map_err(|error| error.to_string())
}
