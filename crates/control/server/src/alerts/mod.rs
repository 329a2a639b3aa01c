//! Alerts: the rules of `packaging/prometheus/wayleave.rules.yaml`, evaluated by the controller itself.
//!
//! The controller takes its figures every five seconds. Two conditions are sharper than those of Prometheus: an
//! increase is not extrapolated to its whole window, and slow commits are counted, not interpolated from buckets.

mod rules;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Mutex;
use std::time::Duration;

use wayleave_protocol::alert::{Alert, Alerts, UnknownAlert};
use wayleave_units::{Time, WallTime};

use crate::alert_counters::Counter;
use crate::read_guard::LeafGuard;
use rules::{Condition, Figure, RULES, Rule};

/// Interval at which the figures are taken. Every `for` of the rules is a multiple.
pub(crate) const EVERY: Duration = Duration::from_secs(5);
/// The longest window of a rule.
const LONGEST_WINDOW: Duration = Duration::from_secs(600);

/// Figures that are known without a history.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Figures {
    pub(crate) is_without_leader: bool,
    pub(crate) silent: u64,
    pub(crate) violated: u64,
    /// Degraded contracts, but for missing reports.
    pub(crate) degraded: u64,
    /// Degraded contracts whose enforcement is unknown: their agents are silent, or have not confirmed them.
    pub(crate) unconfirmed: u64,
    /// Contracts of which counters show more than their rules let through.
    pub(crate) exceeding: u64,
    /// Elements that are down now; `None` if that is unknown.
    pub(crate) down: Option<u64>,
    /// Elements last reported down that no connected agent observes now.
    pub(crate) unobserved: u64,
    /// Agents of hosts report late packets.
    pub(crate) has_agents: bool,
    /// At least one agent has an open session with this controller.
    pub(crate) has_sessions: bool,
    /// A connected agent has measured packets in its present session.
    pub(crate) has_measured: bool,
    /// Agents report to this controller.
    pub(crate) is_leader: bool,
}

impl Figures {
    fn value(&self, of: Figure) -> u64 {
        match of {
            Figure::SilentAgents => self.silent,
            Figure::Violated => self.violated,
            Figure::Degraded => self.degraded,
            Figure::Unconfirmed => self.unconfirmed,
            Figure::Exceeding => self.exceeding,
            Figure::Down => self.down.unwrap_or(0),
            Figure::Unobserved => self.unobserved,
        }
    }
}

/// Increases of a counter within the longest window.
#[derive(Debug, Default)]
struct Window {
    last: Option<u64>,
    increases: VecDeque<(Time, u64)>,
}

impl Window {
    fn observe(&mut self, now: Time, value: u64) {
        // A counter that is smaller than before began again at 0.
        let increase = self.last.map_or(0, |last| value.checked_sub(last).unwrap_or(value));
        self.last = Some(value);
        if increase > 0 {
            self.increases.push_back((now, increase));
        }
    }

    fn forget(&mut self, now: Time) {
        while self.increases.front().is_some_and(|&(at, _)| !is_within(now, at, LONGEST_WINDOW)) {
            self.increases.pop_front();
        }
    }

    fn increase(&self, now: Time, within: Duration) -> u64 {
        let recent = self.increases.iter().filter(|&&(at, _)| is_within(now, at, within));
        recent.fold(0, |sum, &(_, increase)| sum.saturating_add(increase))
    }
}

fn is_within(now: Time, at: Time, window: Duration) -> bool {
    u128::from(now.as_nanos().saturating_sub(at.as_nanos())) < window.as_nanos()
}

/// A condition that is met: number of the rule, node, value.
type Met = (usize, String, u64);

/// State of the alerts of a controller.
#[derive(Debug, Default)]
pub(crate) struct Evaluator {
    windows: BTreeMap<(Counter, String), Window>,
    /// Time since which conditions are met without interruption, by rule and node.
    since: BTreeMap<(usize, String), (Time, WallTime)>,
}

impl Evaluator {
    /// Takes the figures of a time.
    pub(crate) fn observe(
        &mut self,
        now: Time,
        wall: WallTime,
        figures: &Figures,
        counters: Vec<((Counter, String), u64)>,
    ) {
        let present: BTreeSet<(Counter, String)> = counters.iter().map(|(of, _)| of.clone()).collect();
        for (of, value) in counters {
            self.windows.entry(of).or_default().observe(now, value);
        }
        for (of, window) in &mut self.windows {
            window.forget(now);
            // A counter that is reported again may have begun again.
            window.last = window.last.filter(|_| present.contains(of));
        }
        self.windows.retain(|of, window| present.contains(of) || !window.increases.is_empty());
        let met: BTreeSet<(usize, String)> =
            self.met(now, figures).into_iter().map(|(rule, node, _)| (rule, node)).collect();
        self.since.retain(|of, _| met.contains(of));
        for of in met {
            self.since.entry(of).or_insert((now, wall));
        }
    }

    fn has_counter(&self, of: Counter) -> bool {
        self.of_counter(of).any(|(_, window)| window.last.is_some())
    }

    fn of_counter(&self, of: Counter) -> impl Iterator<Item = (&String, &Window)> {
        self.windows.iter().filter(move |((known, _), _)| *known == of).map(|((_, node), window)| (node, window))
    }

    fn met(&self, now: Time, figures: &Figures) -> Vec<Met> {
        let mut met = Vec::new();
        for (number, rule) in RULES.iter().enumerate() {
            match rule.condition {
                Condition::Absent => {}
                Condition::NotReady if figures.is_without_leader => met.push((number, String::new(), 0)),
                Condition::NotReady => {}
                Condition::AboveZero(of) => {
                    let value = figures.value(of);
                    met.extend((value > 0).then(|| (number, String::new(), value)));
                }
                Condition::Increase { of, within, above } => {
                    let increases =
                        self.of_counter(of).map(|(node, window)| (node.clone(), window.increase(now, within)));
                    let above = increases.filter(|&(_, increase)| increase > above);
                    met.extend(above.map(|(node, increase)| (number, node, increase)));
                }
                Condition::SlowCommits { within } => {
                    let sum = |of| {
                        let increases = self.of_counter(of).map(|(_, window)| window.increase(now, within));
                        increases.fold(0, u64::saturating_add)
                    };
                    let (slow, all) = (sum(Counter::SlowCommits), sum(Counter::Commits));
                    met.extend((slow.saturating_mul(100) > all).then(|| (number, String::new(), slow)));
                }
            }
        }
        met
    }

    /// Returns the reason that the result of a rule is unknown.
    fn unknown(&self, rule: &Rule, figures: &Figures) -> Option<&'static str> {
        match rule.condition {
            Condition::Absent => Some("a controller cannot report its own absence: only Prometheus can"),
            Condition::AboveZero(_) | Condition::Increase { .. } if !figures.is_leader => Some(NOT_LEADER),
            Condition::AboveZero(Figure::Violated) if !figures.has_agents => {
                Some("no agents report late packets (--enforcement none)")
            }
            // Records of the ledger are known: what they count fires.
            Condition::AboveZero(Figure::Exceeding)
                if figures.exceeding == 0 && !self.has_counter(Counter::QueueFull) =>
            {
                Some(NO_COUNTER)
            }
            Condition::AboveZero(of @ (Figure::Violated | Figure::SilentAgents))
                if figures.has_agents && !figures.has_sessions && figures.value(of) == 0 =>
            {
                Some(NO_SESSION)
            }
            Condition::AboveZero(Figure::Violated) if figures.violated == 0 && !figures.has_measured => {
                Some(NOT_MEASURED)
            }
            Condition::AboveZero(Figure::Down) if figures.down.is_none() => {
                Some(if figures.unobserved > 0 { UNOBSERVED } else { NO_OBSERVER })
            }
            Condition::Increase { of, .. } if !self.has_counter(of) => Some(NO_COUNTER),
            _ => None,
        }
    }

    /// Returns the alerts that fire, with the figures of this moment.
    pub(crate) fn alerts(&self, now: Time, wall: WallTime, figures: &Figures) -> Alerts {
        let unknown: Vec<(usize, &str)> =
            RULES.iter().enumerate().filter_map(|(at, rule)| Some((at, self.unknown(rule, figures)?))).collect();
        let is_unknown = |number: usize| unknown.iter().any(|&(at, _)| at == number);
        let mut items = Vec::new();
        for (number, node, value) in self.met(now, figures) {
            let rule = &RULES[number];
            let &(since, since_wall) = self.since.get(&(number, node.clone())).unwrap_or(&(now, wall));
            let held = u128::from(now.as_nanos().saturating_sub(since.as_nanos()));
            if held >= rule.hold.as_nanos() && !is_unknown(number) {
                items.push(alert(rule, &node, value, since_wall));
            }
        }
        items.sort_by_key(|alert| alert.severity);
        let unknown = unknown
            .into_iter()
            .map(|(at, reason)| UnknownAlert { name: RULES[at].name.to_owned(), reason: reason.to_owned() });
        Alerts { items, rules: RULES.len() as u64, unknown: unknown.collect() }
    }
}

const NO_COUNTER: &str = "no agent has reported this counter";

const NO_SESSION: &str = "no agent has an open session with this controller";

const NOT_MEASURED: &str = "no connected agent has measured packets";

const NO_OBSERVER: &str = "no connected agent observes links";

const UNOBSERVED: &str = "no connected agent observes links or nodes that were last reported down";

const NOT_LEADER: &str = "agents report to the controller that leads and can write the ledger, which this one does not";

fn alert(rule: &Rule, node: &str, value: u64, since: WallTime) -> Alert {
    let labels = [("node".to_owned(), node.to_owned())].into_iter().filter(|(_, node)| !node.is_empty());
    Alert {
        name: rule.name.to_owned(),
        severity: rule.severity,
        since: Some(since.to_string()),
        summary: rule.summary.replace("{value}", &value.to_string()).replace("{node}", node),
        description: rule.description.to_owned(),
        expression: rule.expression.to_owned(),
        labels: labels.collect(),
    }
}

/// Alerts of a controller.
#[derive(Debug, Default)]
pub(crate) struct AlertState(Mutex<Evaluator>);

impl AlertState {
    pub(crate) fn lock(&self) -> LeafGuard<'_, Evaluator> {
        LeafGuard::new(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wayleave_protocol::alert::Severity;

    const QUIET: Figures = Figures {
        is_without_leader: false,
        silent: 0,
        violated: 0,
        degraded: 0,
        unconfirmed: 0,
        exceeding: 0,
        down: Some(0),
        unobserved: 0,
        has_agents: true,
        has_sessions: true,
        has_measured: true,
        is_leader: true,
    };

    fn at(seconds: u64) -> (Time, WallTime) {
        (Time::from_millis(1_000 * seconds), WallTime::from_nanos(1_000_000_000 * seconds))
    }

    fn firing(evaluator: &Evaluator, seconds: u64, figures: &Figures) -> Vec<String> {
        let (now, wall) = at(seconds);
        evaluator.alerts(now, wall, figures).items.into_iter().map(|alert| alert.name).collect()
    }

    fn observe(evaluator: &mut Evaluator, seconds: u64, figures: &Figures, counters: &[(Counter, &str, u64)]) {
        let (now, wall) = at(seconds);
        let counters = counters.iter().map(|&(of, node, value)| ((of, node.to_owned()), value)).collect();
        evaluator.observe(now, wall, figures, counters);
    }

    /// Fields of the rules in the file: name, expression, `for` in seconds, severity, summary, description.
    fn file_rules() -> Vec<(String, String, u64, String, String, String)> {
        let file = include_str!("../../../../../packaging/prometheus/wayleave.rules.yaml");
        let unquoted = |text: &str| text.trim().trim_matches('"').replace("\\\"", "\"");
        let rule = |text: &str| {
            let field = |name: &str| {
                let line = text.lines().find_map(|line| line.trim().strip_prefix(&format!("{name}: ")));
                line.map(unquoted).unwrap_or_default()
            };
            let hold = field("for");
            let (number, unit) = hold.split_at(hold.len().saturating_sub(1));
            let unit = match unit {
                "m" => 60,
                "s" => 1,
                _ => 0,
            };
            let severity = field("labels").replace("{ severity: ", "").replace(" }", "");
            let plain = |text: String| text.replace("{{ $value }}", "{value}").replace("{{ $labels.node }}", "{node}");
            let name = text.lines().next().unwrap().trim().to_owned();
            let seconds = number.parse::<u64>().unwrap_or(0) * unit;
            (name, field("expr"), seconds, severity, plain(field("summary")), field("description"))
        };
        file.split("- alert: ").skip(1).map(rule).collect()
    }

    #[test]
    fn the_table_is_that_of_the_rules_for_prometheus() {
        let table = RULES.iter().map(|rule| {
            let text = |text: &str| text.to_owned();
            let severity = rule.severity.name().to_owned();
            let (summary, description) = (text(rule.summary), text(rule.description));
            (text(rule.name), text(rule.expression), rule.hold.as_secs(), severity, summary, description)
        });
        assert_eq!(table.collect::<Vec<_>>(), file_rules());
    }

    #[test]
    fn an_alert_fires_once_its_condition_was_met_for_long_enough() {
        let (mut evaluator, down) = (Evaluator::default(), Figures { down: Some(2), ..QUIET });
        observe(&mut evaluator, 100, &down, &[]);
        assert_eq!(firing(&evaluator, 159, &down), [""; 0]);
        assert_eq!(firing(&evaluator, 160, &down), ["WayleaveElementsDown"]);
        let (now, wall) = at(160);
        let alert = evaluator.alerts(now, wall, &down).items.remove(0);
        assert_eq!(alert.since, Some(at(100).1.to_string()));
        assert_eq!((alert.severity, alert.summary.as_str()), (Severity::Warning, "Links and nodes that are down: 2."));
        // The condition ended before this question, and begins again after it.
        assert_eq!(firing(&evaluator, 165, &QUIET), [""; 0]);
        observe(&mut evaluator, 165, &QUIET, &[]);
        observe(&mut evaluator, 170, &down, &[]);
        assert_eq!(firing(&evaluator, 229, &down), [""; 0]);
        assert_eq!(firing(&evaluator, 230, &down), ["WayleaveElementsDown"]);
    }

    #[test]
    fn an_alert_without_a_hold_fires_at_once_and_critical_ones_are_first() {
        let (mut evaluator, broken) = (Evaluator::default(), Figures { violated: 1, degraded: 1, ..QUIET });
        assert_eq!(firing(&evaluator, 0, &broken), ["WayleaveContractsViolated"], "before any observation");
        observe(&mut evaluator, 0, &broken, &[]);
        let (now, wall) = at(60);
        let items = evaluator.alerts(now, wall, &Figures { silent: 1, ..broken }).items;
        let names: Vec<&str> = items.iter().map(|alert| alert.name.as_str()).collect();
        assert_eq!(names, ["WayleaveContractsViolated", "WayleaveContractsDegraded"]);
        let mut evaluator = Evaluator::default();
        let exceeding = Figures { exceeding: 1, ..QUIET };
        observe(&mut evaluator, 0, &exceeding, &[(Counter::QueueFull, "", 0)]);
        assert_eq!(firing(&evaluator, 0, &exceeding), ["WayleaveRateExceeded"]);
        let mut evaluator = Evaluator::default();
        let unconfirmed = Figures { unconfirmed: 1, ..QUIET };
        observe(&mut evaluator, 0, &unconfirmed, &[]);
        assert_eq!(firing(&evaluator, 60, &unconfirmed), ["WayleaveContractsUnknown"], "nothing is known to be lost");
    }

    #[test]
    fn increases_count_within_their_window_for_each_node_and_after_a_reset() {
        let mut evaluator = Evaluator::default();
        let repairs = |evaluator: &mut Evaluator, second, h1, h2| {
            observe(evaluator, second, &QUIET, &[(Counter::Repairs, "h1", h1), (Counter::Repairs, "h2", h2)]);
        };
        repairs(&mut evaluator, 0, 1_000, 5);
        assert_eq!(firing(&evaluator, 0, &QUIET), [""; 0], "what was counted before is no increase");
        repairs(&mut evaluator, 300, 1_003, 7);
        assert_eq!(firing(&evaluator, 300, &QUIET), [""; 0], "3 are not above 3");
        // The counter of h2 began again.
        repairs(&mut evaluator, 400, 1_003, 2);
        let (now, wall) = at(400);
        let items = evaluator.alerts(now, wall, &QUIET).items;
        assert_eq!(items.iter().map(|alert| alert.labels["node"].as_str()).collect::<Vec<_>>(), ["h2"]);
        assert_eq!(firing(&evaluator, 900, &QUIET), [""; 0], "the increase of second 300 is out of the window");
        // A counter without reports is unknown, and may be another one after that.
        let mut evaluator = Evaluator::default();
        [(0, 0, 1), (5, 4, 1), (10, 4, 2)]
            .into_iter()
            .for_each(|(second, h1, h2)| repairs(&mut evaluator, second, h1, h2));
        observe(&mut evaluator, 15, &QUIET, &[]);
        assert!(!evaluator.has_counter(Counter::Repairs) && evaluator.windows.len() == 2);
        repairs(&mut evaluator, 20, 100, 100);
        let increases =
            evaluator.of_counter(Counter::Repairs).map(|(_, window)| window.increase(at(20).0, LONGEST_WINDOW));
        assert_eq!(increases.collect::<Vec<_>>(), [4, 1]);
        observe(&mut evaluator, 1_000, &QUIET, &[]);
        assert!(evaluator.windows.is_empty(), "counters that nobody reports are forgotten");
    }

    #[test]
    fn slow_commits_are_more_than_one_in_a_hundred() {
        for (slow, fires) in [(1, false), (2, true)] {
            let mut evaluator = Evaluator::default();
            let commits = |evaluator: &mut Evaluator, second, all, slow| {
                observe(evaluator, second, &QUIET, &[(Counter::Commits, "", all), (Counter::SlowCommits, "", slow)]);
            };
            commits(&mut evaluator, 0, 0, 0);
            for step in 1..=120 {
                commits(&mut evaluator, 5 * step, 100 * step, slow * step);
            }
            // Its `for` is ten minutes after second 5.
            assert_eq!(firing(&evaluator, 604, &QUIET).len(), 0, "{slow}");
            assert_eq!(firing(&evaluator, 605, &QUIET).len(), usize::from(fires), "{slow}");
        }
    }

    #[test]
    fn what_a_controller_cannot_see_is_unknown() {
        let names = |evaluator: &Evaluator, figures: &Figures| -> Vec<String> {
            let (now, wall) = at(0);
            evaluator.alerts(now, wall, figures).unknown.into_iter().map(|unknown| unknown.name).collect()
        };
        let counters = [
            "WayleaveRateExceeded",
            "WayleaveQueueFull",
            "WayleaveRepairs",
            "WayleavePacketsLost",
            "WayleaveWrongAddresses",
        ];
        let mut evaluator = Evaluator::default();
        assert_eq!(names(&evaluator, &QUIET), [&["WayleaveControllerGone"], &counters[..]].concat());
        let alone = Figures { has_agents: false, ..QUIET };
        assert_eq!(
            names(&evaluator, &alone),
            [&["WayleaveControllerGone", "WayleaveContractsViolated"], &counters[..]].concat()
        );
        let reports = [
            (Counter::QueueFull, "", 0),
            (Counter::Repairs, "h1", 0),
            (Counter::Lost, "", 0),
            (Counter::WrongAddresses, "h1", 0),
        ];
        observe(&mut evaluator, 0, &QUIET, &reports);
        assert_eq!(names(&evaluator, &QUIET), ["WayleaveControllerGone"]);
        // Before the first report, a count of 0 is no observation; a recorded violation is.
        let fresh = Figures { has_sessions: false, ..QUIET };
        assert_eq!(
            names(&evaluator, &fresh),
            ["WayleaveControllerGone", "WayleaveAgentSilent", "WayleaveContractsViolated"]
        );
        assert_eq!(firing(&evaluator, 0, &Figures { violated: 1, ..fresh }), ["WayleaveContractsViolated"]);
        // Agents with heartbeats only.
        let silent = Figures { has_measured: false, down: None, ..QUIET };
        let expected = ["WayleaveControllerGone", "WayleaveContractsViolated", "WayleaveElementsDown"];
        assert_eq!(names(&evaluator, &silent), expected);
        assert_eq!(firing(&evaluator, 0, &Figures { violated: 1, ..silent }), ["WayleaveContractsViolated"]);
        // Of an element that was last reported down, nothing is known; another alert names it.
        let unobserved = Figures { down: None, unobserved: 2, ..QUIET };
        assert_eq!(names(&evaluator, &unobserved), ["WayleaveControllerGone", "WayleaveElementsDown"]);
        observe(&mut evaluator, 0, &unobserved, &reports);
        assert_eq!(firing(&evaluator, 60, &unobserved), ["WayleaveElementsUnobserved"]);
        let follower = Figures { is_leader: false, ..QUIET };
        // Its own ledger and commits: all other figures are those of the leader.
        let decided = ["WayleaveNotReady", "WayleaveCommitsSlow"];
        let all = RULES.iter().map(|rule| rule.name).filter(|name| !decided.contains(name)).collect::<Vec<_>>();
        assert_eq!(names(&evaluator, &follower), all);
        let met = Figures { silent: 1, degraded: 1, violated: 1, down: Some(1), unobserved: 1, ..follower };
        observe(&mut evaluator, 0, &met, &[]);
        assert_eq!(firing(&evaluator, 600, &met), [""; 0]);
    }
}
