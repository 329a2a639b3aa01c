//! Figures of agents, bounded before anything else of the controller sees them.
//!
//! A figure above its limit is left out: what it belongs to is unknown. The report is not refused, because a node whose
//! reports are refused counts as silent. Identifiers (serial numbers, versions, numbers of packets and reports, indices of
//! interfaces) are only compared with others, and have no limit.

use std::collections::BTreeMap;

use wayleave_protocol::agent::{Measured, Reports, Samples, SentPackets, Traffic};
use wayleave_protocol::check::{CheckReport, MAX_PROBES};
use wayleave_protocol::load::LinkCounters;
use wayleave_units::Time;

use crate::listing::contracts;

/// Maximum number of packets: the largest integer that every JSON reader takes exactly (RFC 8259, section 6). A host that
/// handles 20 million packets per second reaches it after 14 years.
pub(crate) const MAX_COUNT: u64 = (1 << 53) - 1;
/// Maximum of bytes and of sums of times, in ns: 5 years at 400 Gbit/s.
const MAX_SUM: u64 = i64::MAX as u64;
/// Maximum of a delay, a bound, and an error of a clock, in ns: an hour.
const MAX_DELAY_NS: u64 = 3_600_000_000_000;
/// Maximum number of classes of waiting times. This version has 16 (`WAITS` in `dataplane`).
const MAX_CLASSES: usize = 32;
/// Maximum sampling shift: the bits of a packet's number.
const MAX_LEVEL: u64 = 64;

/// Fields of a report with figures that were left out, with their number.
#[derive(Debug, Default)]
struct LeftOut(BTreeMap<&'static str, usize>);

impl LeftOut {
    /// Returns `true` if no figure exceeds its limit. Each one that does is counted.
    fn all_within(&mut self, figures: impl IntoIterator<Item = (&'static str, u64, u64)>) -> bool {
        let mut are_within = true;
        for (field, ..) in figures.into_iter().filter(|(_, figure, limit)| figure > limit) {
            *self.0.entry(field).or_default() += 1;
            are_within = false;
        }
        are_within
    }

    /// Returns a problem of the node, if something was left out.
    fn problem(self) -> Option<String> {
        if self.0.is_empty() {
            return None;
        }
        let fields: Vec<String> = self.0.into_iter().map(|(field, count)| format!("{field} ({count})")).collect();
        Some(format!(
            "its report has figures above any possible value, which are ignored: {}; restart its agent, or upgrade it",
            fields.join(", ")
        ))
    }
}

/// Leaves out the figures of a report that exceed their limits. Returns a problem of the node if there are any.
pub(crate) fn bound(reports: &mut Reports) -> Option<String> {
    let mut left_out = LeftOut::default();
    reports.measured.retain(|one| {
        left_out.all_within([
            ("measured.packets", one.packets, MAX_COUNT),
            ("measured.late", one.late, one.packets),
            ("measured.worstNs", one.worst_ns, MAX_DELAY_NS),
        ])
    });
    bound_traffic(&mut reports.traffic, &mut left_out);
    if let Some(packets) = &mut reports.packets {
        packets.retain(|_, count| left_out.all_within([("packets", *count, MAX_COUNT)]));
    }
    if let Some(links) = &mut reports.links {
        links.counters.retain(|LinkCounters { bytes, packets, dropped, .. }| {
            left_out.all_within([
                ("links.bytes", *bytes, MAX_SUM),
                ("links.packets", *packets, MAX_COUNT),
                ("links.dropped", *dropped, MAX_COUNT),
            ])
        });
    }
    if reports.links.as_ref().is_some_and(|links| !left_out.all_within([("links.readNs", links.read_ns, MAX_SUM)])) {
        reports.links = None;
    }
    if let Some(samples) = &mut reports.samples {
        bound_samples(samples, &mut left_out);
    }
    reports.checks.iter_mut().flatten().for_each(|check| bound_check(check, &mut left_out));
    left_out.problem()
}

/// Maximum number of contracts that a problem names.
const NAMES: usize = 4;
/// Number of contracts of a receiver of which the slowest packet is remembered.
const MAX_SLOWEST: usize = 10_000;

/// Bounds of a latency contract by which packets may have been measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Name of the contract.
    pub(crate) name: String,
    pub(crate) lowest: Time,
    /// The only bound, if it has not changed.
    pub(crate) only: Option<Time>,
}

/// Terms of a latency contract that the samples of its sender have to agree with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SampledTerms {
    /// Names of the hosts that send and receive.
    pub(crate) ends: [String; 2],
    /// The switches of each of its routes.
    pub(crate) via: Vec<Vec<String>>,
    pub(crate) bounds: Bounds,
}

/// Leaves out sampled packets of contracts that a node does not send, or of which it states other terms. Places of losses
/// are not looked for on a route that the contract does not have. Returns a problem of the node, if any.
pub(crate) fn leave_out_samples(
    node: &str,
    samples: &mut Samples,
    contract: impl Fn(u64) -> Option<SampledTerms>,
) -> Option<String> {
    let mut names = Vec::new();
    samples.sent.retain_mut(|sent| {
        // Of a contract that has ended.
        let Some(SampledTerms { ends: [from, to], via, bounds }) = contract(sent.serial) else { return false };
        let bound = Time::from_nanos(sent.bound_ns);
        let is_bound = bound >= bounds.lowest && bounds.only.is_none_or(|only| only == bound);
        if node != from || sent.to != to || !is_bound {
            names.push(bounds.name);
            return false;
        }
        if !via.contains(&sent.via) {
            sent.via.clear();
        }
        true
    });
    let shown = names.iter().take(NAMES).cloned().collect();
    (!names.is_empty()).then(|| {
        format!(
            "its report has sampled packets of {} with another sender, receiver or bound than the contract's: they are ignored; restart its agent, or upgrade it",
            contracts(shown, names.len())
        )
    })
}

/// Contradictions in the reports of receivers.
#[derive(Debug, Default)]
pub(crate) struct Contradictions {
    /// Names of contracts with late packets, of which the slowest packet was within every bound.
    late: Vec<String>,
    /// Names of contracts without late packets, of which a packet took longer than the only bound.
    none_late: Vec<String>,
    /// Serial numbers of both.
    pub(crate) serials: Vec<u64>,
}

/// Slowest packets that receivers have reported, by node and serial number.
pub(crate) type Slowest = BTreeMap<String, BTreeMap<u64, u64>>;

impl Contradictions {
    /// Leaves out late packets of contracts whose slowest packet was within every bound. Agents report the slowest packet
    /// since a contract was installed, so it is never faster than the slowest one of a period. For the same reason, only a
    /// slowest packet that was not in the last report, `slowest`, is one of this period.
    pub(crate) fn leave_out(
        measured: &mut Vec<Measured>,
        slowest: &mut BTreeMap<u64, u64>,
        contract: impl Fn(u64) -> Option<Bounds>,
    ) -> Self {
        let mut found = Self::default();
        // Of contracts that have ended, too. What is forgotten is not compared.
        if slowest.len() > MAX_SLOWEST {
            slowest.clear();
        }
        measured.retain(|one| {
            let Some(Bounds { name, lowest, only }) = contract(one.serial) else { return true };
            let worst = Time::from_nanos(one.worst_ns);
            let is_new = slowest.insert(one.serial, one.worst_ns).is_some_and(|before| before < one.worst_ns);
            let names = match one.late {
                0 if is_new && only.is_some_and(|bound| worst > bound) => &mut found.none_late,
                1.. if worst <= lowest => &mut found.late,
                _ => return true,
            };
            names.push(name);
            found.serials.push(one.serial);
            one.late == 0
        });
        found
    }

    /// Returns the problems of the node.
    pub(crate) fn problems(self) -> impl Iterator<Item = String> {
        let problem = |has: &str, names: Vec<String>, what: &str| {
            let shown = names.iter().take(NAMES).cloned().collect();
            let names = (!names.is_empty()).then(|| contracts(shown, names.len()));
            names.map(|names| format!("its report has {has} of {names}, of which the slowest packet {what}; restart its agent, or upgrade it"))
        };
        let late = problem("late packets", self.late, "was within the bound: they are ignored");
        let none_late =
            problem("no late packets", self.none_late, "took longer than the bound: their minutes are unknown");
        [late, none_late].into_iter().flatten()
    }
}

/// The counters of a host together are bounded, too: they are summed. If one of them is not possible, none is taken: a sum
/// without it would be too low.
fn bound_traffic(traffic: &mut Option<Vec<Traffic>>, left_out: &mut LeftOut) {
    let Some(contracts) = traffic else { return };
    let figures = contracts.iter().flat_map(|one| {
        let classes = one.waits.iter().map(|&count| ("traffic.waits", count, MAX_COUNT));
        let length = ("number of traffic.waits", one.waits.len() as u64, MAX_CLASSES as u64);
        figures_of(one).into_iter().chain(classes).chain([length])
    });
    if !left_out.all_within(figures) {
        *traffic = None;
        return;
    }
    let mut sum = Traffic::default();
    contracts.iter().for_each(|one| sum.add(one));
    // The last class of waits has all packets that waited.
    let waited = sum.waits.iter().fold(0_u64, |sum, &count| sum.saturating_add(count));
    let sums =
        figures_of(&sum).into_iter().filter(|(field, ..)| !matches!(*field, "traffic.bytes" | "traffic.waitedNs"));
    if !left_out.all_within(sums.chain([("traffic.waits", waited, MAX_COUNT)])) {
        *traffic = None;
    }
}

fn figures_of(one: &Traffic) -> [(&'static str, u64, u64); 7] {
    [
        ("traffic.packets", one.packets, MAX_COUNT),
        ("traffic.bytes", one.bytes, MAX_SUM),
        ("traffic.delayed", one.delayed, MAX_COUNT),
        ("traffic.waiting", one.waiting, MAX_COUNT),
        ("traffic.queueFull", one.queue_full, MAX_COUNT),
        ("traffic.oversized", one.oversized, MAX_COUNT),
        ("traffic.waitedNs", one.waited_ns, MAX_SUM),
    ]
}

/// Packets that are left out make the report incomplete: they do not count as lost.
fn bound_samples(samples: &mut Samples, left_out: &mut LeftOut) {
    let clock = &mut samples.clock;
    clock.error_ns =
        clock.error_ns.filter(|&error| left_out.all_within([("samples.clock.errorNs", error, MAX_DELAY_NS)]));
    let is_whole = left_out.all_within([
        ("samples.clock.aheadNs", clock.ahead_ns, MAX_SUM),
        ("samples.level", u64::from(samples.level), MAX_LEVEL),
    ]);
    let before = samples.arrived.len();
    samples.arrived.retain(|&(_, at)| left_out.all_within([("samples.arrived", at, MAX_SUM)]));
    samples.is_incomplete |= !is_whole || samples.arrived.len() < before;
    samples.sent.retain_mut(|SentPackets { bound_ns, packets, .. }| {
        packets.retain(|&(_, at)| left_out.all_within([("samples.sent.packets", at, MAX_SUM)]));
        left_out.all_within([("samples.sent.boundNs", *bound_ns, MAX_DELAY_NS)])
    });
    if !is_whole {
        (samples.sent, samples.arrived, samples.level) = (Vec::new(), Vec::new(), 0);
        samples.clock.ahead_ns = 0;
    }
}

fn bound_check(check: &mut CheckReport, left_out: &mut LeftOut) {
    if !left_out.all_within([("checks.sent", u64::from(check.sent), u64::from(MAX_PROBES))]) {
        check.sent = 0;
    }
    check.counted.retain(|_, count| left_out.all_within([("checks.counted", *count, MAX_COUNT)]));
    for seen in &mut check.seen {
        let last = u64::from(MAX_PROBES - 1);
        seen.probes.retain(|&probe| left_out.all_within([("checks.seen.probes", u64::from(probe), last)]));
        seen.probes.sort_unstable();
        seen.probes.dedup();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};
    use wayleave_protocol::agent::{Clock, ContractProblem};
    use wayleave_protocol::check::ProbeCounts;
    use wayleave_protocol::load::LinkReport;

    /// A report with every field. A new field does not compile without a value here.
    fn full() -> Reports {
        let traffic = Traffic {
            serial: 1,
            contract: Some("default:c".to_owned()),
            packets: 1,
            bytes: 1,
            delayed: 1,
            waiting: 1,
            queue_full: 1,
            oversized: 1,
            waited_ns: 1,
            waits: vec![1],
            followed: None,
        };
        let counters = LinkCounters { link: "l".to_owned(), interface: 1, bytes: 1, packets: 1, dropped: 1 };
        let sent = SentPackets { serial: 1, to: "h2".to_owned(), via: Vec::new(), bound_ns: 1, packets: vec![(1, 1)] };
        let clock = Clock { boot: "b".to_owned(), ahead_ns: 1, error_ns: Some(1) };
        let (interface, leads_to, frame) = (String::new(), String::new(), String::new());
        let seen = ProbeCounts { interface, leads_to, is_outgoing: true, probes: vec![1], frame };
        let counted = BTreeMap::from([("sent".to_owned(), 1)]);
        Reports {
            epoch: 1,
            measured: vec![Measured { serial: 1, packets: 1, late: 0, worst_ns: 1 }],
            without_carrier: Some(Vec::new()),
            rules_in_force: Some(vec![(1, 1)]),
            enforces: Vec::new(),
            contract_problems: Some(vec![ContractProblem { serial: 1, why: String::new() }]),
            repairs: Vec::new(),
            traffic: Some(vec![traffic]),
            packets: Some(counted.clone()),
            links: Some(LinkReport { read_ns: 1, counters: vec![counters] }),
            samples: Some(Samples {
                number: 1,
                level: 1,
                is_incomplete: false,
                clock,
                sent: vec![sent],
                arrived: vec![(1, 1)],
            }),
            troubles: None,
            leaves: false,
            hears_at: None,
            checks: Some(vec![CheckReport { id: String::new(), trouble: None, sent: 1, seen: vec![seen], counted }]),
            beat: true,
        }
    }

    /// Every number of a report, by its path in JSON, with its limit; `None` for an identifier.
    fn limits() -> BTreeMap<&'static str, Option<u64>> {
        let (count, sum, delay) = (Some(MAX_COUNT), Some(MAX_SUM), Some(MAX_DELAY_NS));
        BTreeMap::from([
            ("/epoch", None),
            ("/measured/0/serial", None),
            ("/measured/0/packets", count),
            ("/measured/0/late", Some(1)),
            ("/measured/0/worstNs", delay),
            ("/rulesInForce/0/0", None),
            ("/rulesInForce/0/1", None),
            ("/contractProblems/0/serial", None),
            ("/traffic/0/serial", None),
            ("/traffic/0/packets", count),
            ("/traffic/0/bytes", sum),
            ("/traffic/0/delayed", count),
            ("/traffic/0/waiting", count),
            ("/traffic/0/queueFull", count),
            ("/traffic/0/oversized", count),
            ("/traffic/0/waitedNs", sum),
            ("/traffic/0/waits/0", count),
            ("/packets/sent", count),
            ("/links/readNs", sum),
            ("/links/counters/0/interface", None),
            ("/links/counters/0/bytes", sum),
            ("/links/counters/0/packets", count),
            ("/links/counters/0/dropped", count),
            ("/samples/number", None),
            ("/samples/level", Some(MAX_LEVEL)),
            ("/samples/clock/aheadNs", sum),
            ("/samples/clock/errorNs", delay),
            ("/samples/sent/0/serial", None),
            ("/samples/sent/0/boundNs", delay),
            ("/samples/sent/0/packets/0/0", None),
            ("/samples/sent/0/packets/0/1", sum),
            ("/samples/arrived/0/0", None),
            ("/samples/arrived/0/1", sum),
            ("/checks/0/sent", Some(u64::from(MAX_PROBES))),
            ("/checks/0/seen/0/probes/0", Some(u64::from(MAX_PROBES) - 1)),
            ("/checks/0/counted/sent", count),
        ])
    }

    /// Paths of all numbers.
    fn numbers(value: &Value, path: &str, found: &mut Vec<String>) {
        match value {
            Value::Number(_) => found.push(path.to_owned()),
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(at, item)| numbers(item, &format!("{path}/{at}"), found));
            }
            Value::Object(members) => {
                members.iter().for_each(|(key, member)| numbers(member, &format!("{path}/{key}"), found));
            }
            _ => {}
        }
    }

    #[test]
    fn every_number_of_a_report_is_an_identifier_or_is_left_out_above_its_limit() {
        let value = serde_json::to_value(full()).unwrap();
        let mut found = Vec::new();
        numbers(&value, "", &mut found);
        let mut known: Vec<&str> = limits().into_keys().collect();
        found.sort_unstable();
        known.sort_unstable();
        assert_eq!(found, known, "a new field needs a limit");
        let bounded = |path: &str, figure: u64| {
            let mut value = value.clone();
            *value.pointer_mut(path).unwrap() = json!(figure);
            let mut reports: Reports = serde_json::from_value(value.clone()).unwrap();
            let problem = bound(&mut reports);
            (serde_json::to_value(reports).unwrap() == value, serde_json::to_value(full()).unwrap() == value, problem)
        };
        for (path, limit) in limits() {
            let Some(limit) = limit else {
                let figure = if path.ends_with("interface") { u64::from(u32::MAX) } else { u64::MAX };
                assert_eq!(bounded(path, figure), (true, false, None), "{path}");
                continue;
            };
            assert_eq!(bounded(path, limit), (true, false, None), "{path}");
            let is_short = ["/samples/level", "/checks/0/sent", "/checks/0/seen/0/probes/0"].contains(&path);
            for figure in [limit + 1, if is_short { u64::from(u32::MAX) } else { u64::MAX }] {
                let (is_same, _, problem) = bounded(path, figure);
                assert!(!is_same && problem.is_some_and(|text| text.contains("ignored")), "{path} {figure}");
            }
        }
    }

    /// Catches: two figures above their limits that are named as one.
    #[test]
    fn each_figure_above_its_limit_is_counted() {
        let mut reports = full();
        let of = |packets, delayed| Traffic { packets, delayed, waits: vec![u64::MAX; 2], ..Traffic::default() };
        reports.traffic = Some(vec![of(u64::MAX, u64::MAX), of(u64::MAX, 1)]);
        let one = reports.measured[0];
        reports.measured = vec![Measured { packets: u64::MAX, worst_ns: u64::MAX, ..one }; 2];
        if let Some(samples) = &mut reports.samples {
            (samples.clock.ahead_ns, samples.arrived) = (u64::MAX, vec![(1, u64::MAX); 3]);
        }
        let problem = bound(&mut reports).unwrap();
        let fields = "measured.packets (2), measured.worstNs (2), samples.arrived (3), samples.clock.aheadNs (1), traffic.delayed (1), traffic.packets (2), traffic.waits (4); ";
        assert!(problem.contains(fields), "{problem}");
    }

    /// Two contracts with bounds of 5 ms and 7 ms; the third one is unknown.
    #[test]
    fn late_packets_without_one_above_the_bound_are_left_out() {
        let bounds = [5, 7].map(Time::from_millis);
        let contract = |serial: u64| {
            let lowest = *bounds.get(usize::try_from(serial).ok()?)?;
            Some(Bounds { name: format!("c{serial}"), lowest, only: None })
        };
        let leave_out = |measured: &mut Vec<Measured>| -> Vec<String> {
            Contradictions::leave_out(measured, &mut BTreeMap::new(), contract).problems().collect()
        };
        let one = |serial, late, worst_ns| Measured { serial, packets: 9, late, worst_ns };
        let taken = [one(0, 1, 5_000_001), one(0, 0, 1), one(1, 2, 7_000_001), one(2, 1, 1)];
        let mut measured = taken.to_vec();
        assert_eq!((leave_out(&mut measured).len(), measured.len()), (0, 4));
        measured.extend([one(0, 1, 5_000_000), one(1, 9, 7_000_000)]);
        let problems = leave_out(&mut measured);
        assert!(problems[0].contains("late packets of contracts c0, c1, of which"), "{problems:?}");
        assert_eq!(measured, taken);
        let mut many = vec![one(0, 1, 1); 6];
        assert!(leave_out(&mut many)[0].contains("c0, c0, c0, c0 and 2 more"));
    }

    /// A bound of 5 ms. The slowest packet of an earlier period stays in later reports.
    #[test]
    fn no_late_packet_beside_a_new_one_above_the_only_bound_is_a_contradiction() {
        let bound = Time::from_millis(5);
        for (only, expected) in [(Some(bound), [0, 0, 0, 1, 0, 0]), (None, [0; 6])] {
            let mut slowest = BTreeMap::new();
            let reports =
                [(0, 4_000_000), (1, 6_000_000), (0, 6_000_000), (0, 6_000_001), (0, 6_000_001), (2, 7_000_000)];
            let found = reports.map(|(late, worst_ns)| {
                let mut measured = vec![Measured { serial: 3, packets: 9, late, worst_ns }];
                let contract = |_| Some(Bounds { name: "c".to_owned(), lowest: bound, only });
                let found = Contradictions::leave_out(&mut measured, &mut slowest, contract);
                assert_eq!((measured.len(), found.serials.len()), (1, found.none_late.len()));
                found.problems().filter(|problem| problem.contains("no late packets of contract c, of which")).count()
            });
            assert_eq!(found, expected);
        }
    }

    /// Counters of many contracts are summed: each may be within its limit.
    #[test]
    fn counters_of_a_host_together_are_bounded() {
        let mut reports = full();
        let of = |packets| Traffic { packets, ..Traffic::default() };
        reports.traffic = Some(vec![of(MAX_COUNT - 1), of(1)]);
        assert_eq!((bound(&mut reports), reports.traffic.as_ref().map(Vec::len)), (None, Some(2)));
        reports.traffic = Some(vec![of(MAX_COUNT), of(1)]);
        assert!(bound(&mut reports).unwrap().contains("traffic.packets (1)"));
        assert_eq!(reports.traffic, None);
        reports.traffic = Some(vec![Traffic { waits: vec![0; MAX_CLASSES + 1], ..Traffic::default() }, of(7)]);
        assert!(bound(&mut reports).unwrap().contains("number of traffic.waits (1)"));
        assert_eq!(reports.traffic, None, "a sum without one of them would be too low");
    }
}
