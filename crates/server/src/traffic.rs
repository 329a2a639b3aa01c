//! What hosts have counted of contracts, and what they say is wrong. It is told every second and goes with the process: it is on no disk.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use wayleave_protocol::agent::{Followed, Samples, Traffic};
use wayleave_units::Time;

use crate::agent_text::HostCounters;
use crate::followed::{Follower, LostRun};

/// What nodes have told last.
#[derive(Debug, Default)]
pub(crate) struct Counted(Mutex<Told>);

/// By node.
#[derive(Debug, Default)]
struct Told {
    /// Of each contract that it sends, by serial number.
    traffic: BTreeMap<String, BTreeMap<u64, Traffic>>,
    /// Of all packets, by what became of them.
    packets: BTreeMap<String, HostCounters>,
    /// What became of packets on their way.
    follower: Follower,
    /// What is wrong there.
    troubles: BTreeMap<String, Vec<String>>,
    /// Where the agents of hosts hear one another.
    hears_at: BTreeMap<String, String>,
}

impl Counted {
    fn lock(&self) -> MutexGuard<'_, Told> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A host has told its counters, of all contracts that it sends.
    pub(crate) fn put(&self, node: &str, traffic: Vec<Traffic>) {
        let traffic: BTreeMap<u64, Traffic> = traffic.into_iter().map(|one| (one.serial, one)).collect();
        let mut told = self.lock();
        told.follower.retain(node, |serial| traffic.contains_key(&serial));
        told.traffic.insert(node.to_owned(), traffic);
    }

    /// A host has told which packets it has noted. `is_host` says whether there is a host of a name.
    pub(crate) fn put_samples(&self, now: Time, node: &str, samples: &Samples, is_host: impl Fn(&str) -> bool) {
        self.lock().follower.hear(now, node, samples, is_host);
    }

    /// What became of the packets of all contracts on their way, as far as they were followed.
    pub(crate) fn followed(&self) -> Followed {
        self.lock().follower.sum()
    }

    /// A host has told what became of all packets.
    pub(crate) fn put_packets(&self, node: &str, packets: BTreeMap<String, u64>) {
        self.lock().packets.insert(node.to_owned(), HostCounters::of(packets));
    }

    /// What became of all packets, by host and by what became of them.
    pub(crate) fn packets(&self) -> Vec<(String, String, u64)> {
        let told = self.lock();
        let of = |(node, packets): (&String, &HostCounters)| {
            packets.known.iter().map(|(became, &count)| (node.clone(), became.clone(), count)).collect::<Vec<_>>()
        };
        told.packets.iter().flat_map(of).collect()
    }

    /// Number of counters that were left out of the last report of a host; only hosts with at least one.
    pub(crate) fn counters_left_out(&self) -> Vec<(String, u64)> {
        let told = self.lock();
        let left_out = told.packets.iter().filter(|(_, packets)| packets.left_out > 0);
        left_out.map(|(node, packets)| (node.clone(), packets.left_out as u64)).collect()
    }

    /// A node has told what is wrong there, all of it.
    pub(crate) fn put_troubles(&self, node: &str, troubles: Vec<String>) {
        let all = &mut self.lock().troubles;
        if troubles.is_empty() {
            all.remove(node)
        } else {
            all.insert(node.to_owned(), troubles)
        };
    }

    /// A node has told where it hears other agents.
    pub(crate) fn put_hears_at(&self, node: &str, address: String) {
        self.lock().hears_at.insert(node.to_owned(), address);
    }

    /// Where a node hears other agents, if it has said so.
    pub(crate) fn hears_at(&self, node: &str) -> Option<String> {
        self.lock().hears_at.get(node).cloned()
    }

    /// The longest delay that was seen of each contract of which packets were timed, by serial number.
    pub(crate) fn worst(&self) -> HashMap<u64, u64> {
        self.lock().follower.worst()
    }

    /// What a node has said is wrong there.
    pub(crate) fn troubles_of(&self, node: &str) -> Vec<String> {
        self.lock().troubles.get(node).cloned().unwrap_or_default()
    }

    /// What is wrong anywhere: each sentence begins with its node.
    pub(crate) fn troubles(&self) -> Vec<String> {
        let all = &self.lock().troubles;
        all.iter().flat_map(|(node, troubles)| troubles.iter().map(move |what| format!("{node}: {what}"))).collect()
    }

    /// Contracts of which every followed packet is lost now: sender, number, how many in a row, and where the last was seen last.
    pub(crate) fn cut_off(&self) -> Vec<(String, u64, LostRun)> {
        self.lock().follower.cut_off().map(|(node, serial, run)| (node.to_owned(), serial, run.clone())).collect()
    }

    /// What a host has counted of a contract.
    pub(crate) fn of(&self, node: &str, serial: u64) -> Option<Traffic> {
        let told = self.lock();
        let traffic = told.traffic.get(node)?.get(&serial)?;
        Some(Traffic { followed: told.follower.of(node, serial), ..traffic.clone() })
    }

    /// All contracts together, with their serial number 0.
    pub(crate) fn sum(&self) -> Traffic {
        let mut sum = Traffic::default();
        for one in self.lock().traffic.values().flat_map(BTreeMap::values) {
            sum.add(one);
        }
        sum
    }

    /// What several hosts have counted of a contract, together.
    pub(crate) fn of_all<'a>(&self, nodes: impl IntoIterator<Item = &'a str>, serial: u64) -> Traffic {
        let mut sum = Traffic { serial, ..Traffic::default() };
        let told = self.lock();
        for one in nodes.into_iter().filter_map(|node| told.traffic.get(node)?.get(&serial)) {
            sum.add(one);
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wayleave_protocol::agent::{Clock, SentPackets};

    #[test]
    fn what_two_hosts_note_is_told_with_what_the_sender_counts() {
        let counted = Counted::default();
        let clock = Clock { boot: "one".to_owned(), ..Clock::default() };
        let tell = |second: u64, node: &str, number: u64, sent: Vec<SentPackets>, arrived: Vec<(u64, u64)>| {
            let samples = Samples { number, clock: clock.clone(), sent, arrived, ..Samples::default() };
            counted.put_samples(Time::from_millis(1_000 * second), node, &samples, |host| host == "h2");
        };
        let sent = |to: &str, packets: Vec<(u64, u64)>| {
            vec![SentPackets { serial: 5, to: to.to_owned(), via: Vec::new(), bound_ns: 1_000, packets }]
        };
        counted.put("h1", vec![Traffic { serial: 5, packets: 9, ..Traffic::default() }]);
        tell(1, "h1", 0, sent("h2", vec![(11, 100), (12, 200)]), Vec::new());
        tell(1, "h1", 1, sent("a host that is none", vec![(13, 300)]), Vec::new());
        tell(2, "h2", 0, Vec::new(), vec![(11, 600), (12, 1_900)]);
        assert_eq!(counted.of("h1", 5).unwrap().followed, None, "there may be more packets that look the same");
        tell(13, "h2", 1, Vec::new(), Vec::new());
        let known = Followed { packets: 2, lost: 0, timed: 2, late: 1, worst_ns: 1_700, ..Followed::default() };
        let told = counted.of("h1", 5).unwrap();
        assert_eq!((told.packets, told.followed, counted.followed()), (9, Some(known.clone()), known));
        counted.put("h1", Vec::new());
        assert_eq!(counted.followed(), Followed::default(), "it goes with the contract");
    }
}
