//! Running checks: tasks of agents, their reports, and the evaluation. The state is lost when the process ends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use wayleave_protocol::check::{
    Check, CheckReport, CheckTask, HostCounter, LostProbes, Observation, ProbeCounts, Probes, Tasks,
};
use wayleave_topology::Network;

/// Checks at once, in the whole network and from one host.
const MAX: usize = 4;
/// Maximum wait for nodes to watch, before probes are sent without them.
const WATCHING: Duration = Duration::from_secs(4);
/// Time without news after which a check is over, where probes are missing and where none is: nodes report five times
/// a second.
const QUIET: Duration = Duration::from_secs(2);
const SETTLED: Duration = Duration::from_millis(700);
/// After this a check is over in any case: the longest takes 4 s to be sent, and packets wait for tokens on slow contracts.
const LONGEST: Duration = Duration::from_secs(20);

/// All of them.
#[derive(Debug, Default)]
pub(crate) struct Checks(Mutex<BTreeMap<String, Running>>);

/// One.
#[derive(Debug)]
struct Running {
    probes: Probes,
    /// The hosts of the sender and of the receiver.
    ends: [String; 2],
    asked: BTreeSet<String>,
    node_reports: BTreeMap<String, CheckReport>,
    begun: Instant,
    /// Time of the last news.
    news: Instant,
}

/// Subject of a check.
#[derive(Clone, Debug)]
pub(crate) struct CheckTarget {
    pub(crate) probes: Probes,
    /// The hosts of the sender and of the receiver.
    pub(crate) ends: [String; 2],
    /// All nodes whose agents are to watch.
    pub(crate) nodes: BTreeSet<String>,
}

/// Reason that no check can begin.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Busy {
    /// As many are on as may.
    All,
    /// One from this host is on.
    Host,
}

impl Checks {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Running>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins one under this number.
    pub(crate) fn begin(&self, id: &str, asked: CheckTarget) -> Result<(), Busy> {
        let mut all = self.lock();
        if all.len() >= MAX {
            return Err(Busy::All);
        }
        if all.values().any(|other| other.ends[0] == asked.ends[0]) {
            return Err(Busy::Host);
        }
        let CheckTarget { probes, ends, nodes } = asked;
        let (begun, news) = (Instant::now(), Instant::now());
        all.insert(id.to_owned(), Running { probes, ends, asked: nodes, node_reports: BTreeMap::new(), begun, news });
        Ok(())
    }

    /// Processes the reports of a node. Returns the node's tasks.
    pub(crate) fn on_reports(&self, node: &str, reports: Vec<CheckReport>) -> Tasks {
        let mut all = self.lock();
        for report in reports {
            let Some(running) = all.get_mut(&report.id).filter(|running| running.asked.contains(node)) else {
                continue;
            };
            let is_same =
                |old: &CheckReport| (&old.trouble, old.sent, &old.seen) == (&report.trouble, report.sent, &report.seen);
            if !running.node_reports.get(node).is_some_and(is_same) {
                running.news = Instant::now();
            }
            running.node_reports.insert(node.to_owned(), report);
        }
        let task = |(id, running): (&String, &Running)| {
            let sends = (running.ends[0] == node && running.is_watched()).then(|| running.probes.clone());
            running.asked.contains(node).then(|| CheckTask { id: id.clone(), sends })
        };
        Tasks { checks: all.iter().filter_map(task).collect() }
    }

    /// Returns the result of a check, if it is over.
    pub(crate) fn ended(&self, id: &str, network: &Network) -> Option<Check> {
        let all = self.lock();
        let running = all.get(id)?;
        running.is_over().then(|| running.result(network))
    }

    /// Removes a check whose result is no longer needed.
    pub(crate) fn end(&self, id: &str) {
        self.lock().remove(id);
    }
}

impl Running {
    /// Returns `true` if all nodes watch, or the time to begin watching is over.
    fn is_watched(&self) -> bool {
        self.asked.iter().all(|node| self.node_reports.contains_key(node)) || self.begun.elapsed() >= WATCHING
    }

    fn sender(&self) -> Option<&CheckReport> {
        self.node_reports.get(&self.ends[0])
    }

    fn is_over(&self) -> bool {
        let sender = self.sender();
        let has_sent = sender.is_some_and(|sender| sender.sent >= self.probes.count);
        let failed = sender.is_some_and(|sender| sender.trouble.is_some());
        let quiet = if self.received().len() < self.probes.count as usize { QUIET } else { SETTLED };
        let never_came = sender.is_none() && self.begun.elapsed() >= WATCHING;
        (has_sent && self.news.elapsed() >= quiet) || failed || never_came || self.begun.elapsed() >= LONGEST
    }

    /// The numbers of those that left the receiver's host by its interface.
    fn received(&self) -> BTreeSet<u32> {
        let seen = self.node_reports.get(&self.ends[1]).into_iter().flat_map(|report| &report.seen);
        let here = seen.filter(|seen| seen.is_outgoing && seen.leads_to == self.probes.to);
        here.flat_map(|seen| seen.probes.iter().copied()).collect()
    }

    fn result(&self, network: &Network) -> Check {
        let received = self.received();
        let sent = self.sender().map_or(0, |sender| sender.sent);
        let path = ordered(network, &self.ends[0], &self.node_reports);
        let lost = lost(&path, sent, &received);
        let observations = path.into_iter().map(|(node, seen)| Observation {
            node: node.to_owned(),
            interface: seen.interface.clone(),
            leads_to: seen.leads_to.clone(),
            is_outgoing: seen.is_outgoing,
            probes: u32::try_from(seen.probes.len()).unwrap_or(u32::MAX),
            frame: seen.frame.clone(),
        });
        let silent = self.asked.iter().filter(|node| !self.node_reports.contains_key(*node));
        let silent = silent.map(|node| format!("{node}: its agent has not confirmed that it is watching"));
        let troubles = self
            .node_reports
            .iter()
            .filter_map(|(node, node_reports)| Some(format!("{node}: {}", node_reports.trouble.as_ref()?)));
        let ends: BTreeSet<&String> = self.ends.iter().collect();
        let counted = ends.into_iter().filter_map(|node| Some((node, self.node_reports.get(node)?))).flat_map(
            |(node, node_reports)| {
                let one =
                    |(what, &packets): (&String, &u64)| HostCounter { node: node.clone(), what: what.clone(), packets };
                node_reports.counted.iter().map(one).collect::<Vec<_>>()
            },
        );
        Check {
            from: self.probes.from.clone(),
            to: self.probes.to.clone(),
            sent,
            received: u32::try_from(received.len()).unwrap_or(u32::MAX),
            observations: observations.collect(),
            lost,
            counted: counted.collect(),
            unobserved_nodes: silent.chain(troubles).collect(),
        }
    }
}

/// Returns the observations in the order of the route: node by node from the sender's host on, and at each node the
/// entries first. Clocks of hosts cannot order observations of several hosts; links do.
fn ordered<'a>(
    network: &Network,
    from: &str,
    node_reports: &'a BTreeMap<String, CheckReport>,
) -> Vec<(&'a str, &'a ProbeCounts)> {
    let mut depths: BTreeMap<&str, usize> = BTreeMap::new();
    let mut next: Vec<&str> = node_reports.keys().map(String::as_str).filter(|node| *node == from).collect();
    for depth in 0.. {
        let Some(now) = (!next.is_empty()).then(|| std::mem::take(&mut next)) else { break };
        for node in now {
            if depths.contains_key(node) {
                continue;
            }
            depths.insert(node, depth);
            let seen =
                node_reports.get(node).into_iter().flat_map(|report| &report.seen).filter(|seen| seen.is_outgoing);
            let beyond =
                seen.filter_map(|seen| Some(network.node(network.link(network.find_link(&seen.leads_to)?).to)));
            next.extend(
                beyond.filter_map(|node| node_reports.get_key_value(&node.name).map(|(name, _)| name.as_str())),
            );
        }
    }
    let all = node_reports.iter().flat_map(|(node, report)| report.seen.iter().map(move |seen| (node.as_str(), seen)));
    let mut all: Vec<(&str, &ProbeCounts)> = all.collect();
    // Nodes to which no link led were reached from one that did not watch, or not by a link.
    all.sort_by_key(|(node, seen)| (depths.get(node).copied().unwrap_or(usize::MAX), seen.is_outgoing));
    all
}

/// Returns the last observations of probes that did not arrive, each with the next place at which other probes were
/// seen.
fn lost(path: &[(&str, &ProbeCounts)], sent: u32, received: &BTreeSet<u32>) -> Vec<LostProbes> {
    let mut behind: BTreeMap<Option<usize>, u32> = BTreeMap::new();
    for probe in (0..sent).filter(|probe| !received.contains(probe)) {
        let last = path.iter().rposition(|(_, seen)| seen.probes.contains(&probe));
        *behind.entry(last).or_default() += 1;
    }
    let name = |(node, seen): &(&str, &ProbeCounts)| {
        let verb = if seen.is_outgoing { "leaving" } else { "entering" };
        format!("{node}, {verb} by {} ({})", seen.interface, seen.leads_to)
    };
    let place = |(last, probes): (Option<usize>, u32)| LostProbes {
        probes,
        last_seen_at: last.and_then(|at| path.get(at)).map_or_else(|| "the sender's agent".to_owned(), name),
        next_hop: path.get(last.map_or(0, |at| at + 1)).map(name),
    };
    behind.into_iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use wayleave_topology::builders::{Cabling, build};

    fn seen(leads_to: &str, is_outgoing: bool, probes: &[u32]) -> ProbeCounts {
        let (interface, frame) = ("p".to_owned(), String::new());
        ProbeCounts { interface, leads_to: leads_to.to_owned(), is_outgoing, probes: probes.to_vec(), frame }
    }

    fn report(sent: u32, seen: Vec<ProbeCounts>) -> CheckReport {
        CheckReport { id: "1".to_owned(), sent, seen, ..CheckReport::default() }
    }

    fn asked(from: &str) -> CheckTarget {
        let probes = Probes { from: "host:h1".to_owned(), to: "host:h2".to_owned(), matching: None, count: 3 };
        let nodes = [from, "h2", "s1"].map(str::to_owned).into();
        CheckTarget { probes, ends: [from.to_owned(), "h2".to_owned()], nodes }
    }

    #[tokio::test(start_paused = true)]
    async fn probes_are_sent_once_all_nodes_watch_and_the_place_of_loss_is_named() {
        let network = build::star(2, Cabling::default()).unwrap();
        let checks = Checks::default();
        checks.begin("1", asked("h1")).unwrap();
        let sends = |node: &str, node_reports: Vec<CheckReport>| {
            checks.on_reports(node, node_reports).checks[0].sends.is_some()
        };
        assert!(!sends("h1", vec![report(0, vec![])]) && !sends("h2", vec![report(0, vec![])]));
        assert!(!sends("h1", vec![report(0, vec![])]), "s1 does not watch yet");
        assert!(!sends("s1", vec![report(0, vec![])]), "a switch sends nothing");
        assert!(sends("h1", vec![]));
        assert_eq!(checks.on_reports("h3", vec![report(9, vec![])]), Tasks::default(), "it was not asked");
        sends("s1", vec![report(0, vec![seen("s1->h2", true, &[0]), seen("s1->h1", false, &[0, 1, 2])])]);
        sends("h1", vec![report(3, vec![seen("h1->s1", true, &[0, 1, 2]), seen("host:h1", false, &[0, 1, 2])])]);
        sends("h2", vec![report(0, vec![seen("host:h2", true, &[0]), seen("h2->s1", false, &[0])])]);
        assert_eq!(checks.ended("1", &network), None, "more may come");
        tokio::time::advance(QUIET).await;
        let check = checks.ended("1", &network).unwrap();
        let path: Vec<_> = check.observations.iter().map(|one| (one.leads_to.as_str(), one.probes)).collect();
        assert_eq!(path, [("host:h1", 3), ("h1->s1", 3), ("s1->h1", 3), ("s1->h2", 1), ("h2->s1", 1), ("host:h2", 1)]);
        let lost = LostProbes {
            probes: 2,
            last_seen_at: "s1, entering by p (s1->h1)".to_owned(),
            next_hop: Some("s1, leaving by p (s1->h2)".to_owned()),
        };
        assert_eq!((check.sent, check.received, check.lost), (3, 1, vec![lost]));
        checks.end("1");
        assert_eq!(checks.on_reports("h1", vec![]), Tasks::default());
    }

    #[tokio::test(start_paused = true)]
    async fn nodes_that_do_not_watch_are_named_and_waited_for_with_a_limit() {
        let network = build::star(2, Cabling::default()).unwrap();
        let checks = Checks::default();
        checks.begin("1", asked("h1")).unwrap();
        checks.on_reports("h1", vec![report(0, vec![])]);
        tokio::time::advance(WATCHING).await;
        assert!(checks.on_reports("h1", vec![]).checks[0].sends.is_some());
        let trouble = Some("h1 has no interface".to_owned());
        checks.on_reports("h1", vec![CheckReport { trouble, ..report(0, vec![]) }]);
        let check = checks.ended("1", &network).unwrap();
        assert_eq!(check.unobserved_nodes.len(), 3, "{:?}", check.unobserved_nodes);
        assert!(check.lost.is_empty() && check.sent == 0);
    }

    #[tokio::test]
    async fn the_number_of_concurrent_checks_is_limited() {
        let checks = Checks::default();
        checks.begin("1", asked("h1")).unwrap();
        assert_eq!(checks.begin("2", asked("h1")), Err(Busy::Host));
        for host in 2..=MAX {
            checks.begin(&host.to_string(), asked(&format!("h{host}"))).unwrap();
        }
        assert_eq!(checks.begin("9", asked("h9")), Err(Busy::All));
    }
}
