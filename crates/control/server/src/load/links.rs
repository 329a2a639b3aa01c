//! Rates of links between two reports of the agents at their ends.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use wayleave_protocol::load::{CountedAt, LinkCounters, MeasuredLoad};
use wayleave_topology::{LinkId, Network, NodeId};
use wayleave_units::WallTime;

use super::clock::Moment;
use super::limit::{FRESH, is_believable, is_believable_count};
use super::reading::ReadTime;

/// Shorter intervals are not recorded: the next reading ends a longer one.
pub(crate) const MIN_INTERVAL: Duration = Duration::from_millis(500);
/// Maximum number of names in a problem, and of problems of one kind.
const NAMES: usize = 4;
/// Maximum characters of a name in a problem.
const MAX_NAME: usize = 100;

/// Rate of an interval between two readings of a link's counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CountedInterval {
    pub(crate) link: LinkId,
    pub(crate) bits: u64,
    pub(crate) took: Duration,
}

impl CountedInterval {
    pub(crate) fn rate_bps(&self) -> u64 {
        let nanos = self.took.as_nanos().max(1);
        u64::try_from(u128::from(self.bits) * 1_000_000_000 / nanos).unwrap_or(u64::MAX)
    }
}

/// Counters of a link at one of its ends.
#[derive(Debug)]
struct End {
    arrived: Instant,
    at: WallTime,
    read: ReadTime,
    counters: LinkCounters,
    /// Rate and drops of the last interval; `None` if it is unknown.
    last: Option<(u64, Option<u64>)>,
}

/// Last counters of all links.
#[derive(Debug, Default)]
pub(crate) struct CountedLinks {
    ends: BTreeMap<(LinkId, bool), End>,
    problems: BTreeMap<NodeId, Vec<String>>,
}

impl CountedLinks {
    /// Takes the counters of a node, and returns the intervals that they end. Counters of unknown links and of links of
    /// other nodes are left out, and listed as a problem of the node.
    pub(crate) fn put(
        &mut self,
        now: Moment,
        read: ReadTime,
        network: &Network,
        node: NodeId,
        counters: Vec<LinkCounters>,
    ) -> Vec<CountedInterval> {
        if read == ReadTime::Late {
            return Vec::new();
        }
        let (mut intervals, mut foreign, mut problems) = (Vec::new(), Vec::new(), Vec::new());
        for counters in counters {
            let known = network.find_link(&counters.link);
            let Some((link, is_sender)) = known.and_then(|link| Some((link, is_sender(network, link, node)?))) else {
                foreign.push(counters.link.chars().take(MAX_NAME).collect::<String>());
                continue;
            };
            let before = self.ends.get(&(link, is_sender));
            let took = before.and_then(|end| read.since(end.read));
            let is_continued = before.is_some_and(|end| end.counters.interface == counters.interface);
            if took.is_some_and(|took| took < MIN_INTERVAL) && is_continued {
                continue;
            }
            let interval = before.zip(took.filter(|took| is_continued && *took <= FRESH)).and_then(|(end, took)| {
                // A counter that is smaller than before has begun anew.
                let bytes = counters.bytes.checked_sub(end.counters.bytes)?;
                counters.packets.checked_sub(end.counters.packets)?;
                let interval = CountedInterval { link, bits: bytes.saturating_mul(8), took };
                let dropped = counters.dropped.checked_sub(end.counters.dropped);
                Some((interval, dropped.filter(|&dropped| is_believable_count(dropped, took))))
            });
            let line = network.link(link).rate;
            let is_plausible =
                |interval: &(CountedInterval, Option<u64>)| is_believable(line, interval.0.bits, interval.0.took);
            if interval.is_some_and(|interval| !is_plausible(&interval)) && problems.len() < NAMES {
                problems.push(format!(
                    "the counters of link {} show more than its line rate, {line}: its rate is unknown; correct the link's rate in the topology or its interface in the agent's configuration",
                    counters.link
                ));
            }
            let interval = interval.filter(is_plausible);
            if let Some((interval, _)) = interval
                && (is_sender || !self.is_fresh(now.0, link, true))
            {
                intervals.push(interval);
            }
            let last = interval.map(|(interval, dropped)| (interval.rate_bps(), dropped));
            let end = End { arrived: now.0, at: now.1, read, counters, last };
            self.ends.insert((link, is_sender), end);
        }
        if !foreign.is_empty() {
            let more = foreign.len().saturating_sub(NAMES);
            foreign.truncate(NAMES);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            problems.push(format!(
                "counters of {}{more} are ignored: no link of this node has that name; compare the agent's topology",
                foreign.join(", ")
            ));
        }
        self.problems.insert(node, problems);
        intervals
    }

    fn is_fresh(&self, now: Instant, link: LinkId, is_sender: bool) -> bool {
        let end = self.ends.get(&(link, is_sender));
        end.is_some_and(|end| end.last.is_some() && now.saturating_duration_since(end.arrived) < FRESH)
    }

    /// Returns the load of a link now, as its sender's agent counts it, or else its receiver's.
    pub(crate) fn measured(&self, now: Instant, link: LinkId) -> Option<MeasuredLoad> {
        let is_sender = [true, false].into_iter().find(|&is_sender| self.is_fresh(now, link, is_sender))?;
        let end = self.ends.get(&(link, is_sender))?;
        let (rate_bps, dropped) = end.last?;
        let source = if is_sender { CountedAt::Sender } else { CountedAt::Receiver };
        Some(MeasuredLoad { rate_bps, at: end.at.to_string(), source, dropped })
    }

    /// Returns the rates of all links that are counted now: the sender's count is inserted last.
    pub(crate) fn rates(&self, now: Instant) -> BTreeMap<LinkId, u64> {
        let fresh = self.ends.iter().filter(|(_, end)| now.saturating_duration_since(end.arrived) < FRESH);
        fresh.filter_map(|(&(link, _), end)| Some((link, end.last?.0))).collect()
    }

    /// Returns the problems of all nodes' last reports.
    pub(crate) fn problems(&self) -> impl Iterator<Item = (NodeId, String)> {
        let of = |(node, problems): (&NodeId, &Vec<String>)| {
            let node = *node;
            problems.clone().into_iter().map(move |problem| (node, problem))
        };
        self.problems.iter().flat_map(of)
    }
}

/// Returns `true` if a link leaves a node, `false` if it enters the node, and `None` if it does neither.
fn is_sender(network: &Network, link: LinkId, node: NodeId) -> Option<bool> {
    let link = network.link(link);
    if link.from == node { Some(true) } else { (link.to == node).then_some(false) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wayleave_topology::builders::{Cabling, build};
    use wayleave_units::Rate;

    fn counters(link: &str, bytes: u64) -> Vec<LinkCounters> {
        vec![LinkCounters { link: link.to_owned(), interface: 1, bytes, packets: 0, dropped: 0 }]
    }

    /// 125 B/s are 1 kbit/s. Both ends count the link; the receiver counts less, as behind a loss.
    #[test]
    fn the_senders_counter_is_preferred_and_the_receivers_is_used_while_the_sender_is_silent() {
        let network = build::star(2, Cabling::default()).unwrap();
        let host = network.hosts().next().unwrap();
        let link = network.links_from(host)[0];
        let (name, to) = (network.link(link).name.clone(), network.link(link).to);
        let (mut links, start) = (CountedLinks::default(), Instant::now());
        let put = |links: &mut CountedLinks, second: u64, node: NodeId, bytes: u64| {
            let now = (start + Duration::from_secs(second), WallTime::from_nanos(0));
            links.put(now, ReadTime::Arrival(now.0), &network, node, counters(&name, bytes)).len()
        };
        let source = |links: &CountedLinks, second: u64| {
            let measured = links.measured(start + Duration::from_secs(second), link);
            measured.map(|measured| (measured.source, measured.rate_bps))
        };
        assert_eq!((put(&mut links, 0, host, 0), put(&mut links, 0, to, 0), source(&links, 0)), (0, 0, None));
        assert_eq!((put(&mut links, 1, to, 100), source(&links, 1)), (1, Some((CountedAt::Receiver, 800))));
        assert_eq!((put(&mut links, 1, host, 125), source(&links, 1)), (1, Some((CountedAt::Sender, 1_000))));
        assert_eq!(put(&mut links, 2, to, 200), 0, "the link is counted once");
        assert_eq!(source(&links, 2), Some((CountedAt::Sender, 1_000)));
        // The sender's agent is silent.
        for second in 3..=6 {
            put(&mut links, second, to, 100 * second);
        }
        assert_eq!((put(&mut links, 7, to, 700), source(&links, 7)), (1, Some((CountedAt::Receiver, 800))));
        assert_eq!(source(&links, 13), None);
    }

    #[test]
    fn readings_in_quick_succession_are_one_interval() {
        let network = build::star(2, Cabling::default()).unwrap();
        let host = network.hosts().next().unwrap();
        let name = network.link(network.links_from(host)[0]).name.clone();
        let (mut links, start) = (CountedLinks::default(), Instant::now());
        let mut put = |nanos: u64, bytes: u64| {
            let at = start + Duration::from_nanos(nanos);
            let now = (at, WallTime::from_nanos(nanos));
            let intervals = links.put(now, ReadTime::Arrival(at), &network, host, counters(&name, bytes));
            intervals.iter().map(CountedInterval::rate_bps).collect::<Vec<_>>()
        };
        assert_eq!((put(0, 0), put(1_000, 1_500)), (vec![], vec![]));
        assert_eq!(put(1_000_000_000, 125_000), [1_000_000]);
    }

    /// The line rate is 1 Gbit/s; 100 ms of it are explained by the reading.
    #[test]
    fn a_rate_above_the_line_is_unknown_and_named() {
        let cabling = Cabling { rate: Rate::from_gbit(1), ..Cabling::default() };
        let network = build::star(2, cabling).unwrap();
        let host = network.hosts().next().unwrap();
        let link = network.links_from(host)[0];
        let name = network.link(link).name.clone();
        let (mut links, start, mut sum) = (CountedLinks::default(), Instant::now(), 0);
        let mut put = |second: u64, bytes: u64| {
            sum += bytes;
            let now = (start + Duration::from_secs(second), WallTime::from_nanos(0));
            links.put(now, ReadTime::Arrival(now.0), &network, host, counters(&name, sum));
            (links.measured(now.0, link).map(|measured| measured.rate_bps), links.problems().count())
        };
        assert_eq!(put(0, 0), (None, 0));
        assert_eq!(put(1, 137_500_000), (Some(1_100_000_000), 0));
        assert_eq!(put(2, 137_500_001), (None, 1));
        assert_eq!(put(4, 262_500_000), (Some(1_050_000_000), 0));
        assert_eq!(put(6, 262_500_001), (None, 1));
        assert_eq!(put(7, 1_000), (Some(8_000), 0));
    }
}
