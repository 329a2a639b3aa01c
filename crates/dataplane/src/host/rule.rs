//! Rules: which packets, how much, and over which routes. They change between one packet and the next.

use wayleave_units::Time;
use wayleave_wire::{Demand, MOST_TAGS, Selector, Tag, TokenBucket};

use super::Host;
use crate::class;
use crate::error::Error;
use crate::layout::{self, Class, MOST_ROUTES, NO_RULE, ROUTE, RULE};
use crate::programs;

/// `BPF_F_LOCK`: a value is written under its lock.
const UNDER_LOCK: u64 = 4;
/// The largest frame of a contract that states none: no frame is longer.
const NO_LARGEST: u32 = u32::MAX;

/// Packets of one kind from one endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sender {
    /// The host's end of the endpoint's interface.
    pub ifindex: u32,
    /// Which of its packets.
    pub selector: Selector,
}

/// A way through the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPath {
    /// The interface by which packets leave the host.
    pub uplink: u32,
    /// The queue there, 0 the highest.
    pub queue: u8,
    /// For each switch, in the order of the route.
    pub tags: Vec<Tag>,
}

/// How a host treats the packets of a contract.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRule {
    /// Whose packets; all share one bucket.
    pub senders: Vec<Sender>,
    /// What they may put on the wire.
    pub demand: Demand,
    /// Each packet takes all of these; none for a receiver on this host. At most four.
    pub paths: Vec<HostPath>,
    /// No packet takes longer.
    pub bound: Time,
}

/// Paths as programs have them: fewest tags first, because a frame can grow from one copy to the next, but not shrink.
pub(super) fn routes(paths: &[HostPath]) -> Result<Vec<[u8; ROUTE]>, Error> {
    if paths.len() > MOST_ROUTES {
        let found = paths.len();
        return Err(Error::Refused(format!("a packet can take {MOST_ROUTES} routes at once, and these are {found}")));
    }
    if let Some(tags) = paths.iter().map(|path| path.tags.len()).find(|&tags| tags > MOST_TAGS) {
        return Err(Error::Refused(format!("a route has at most {MOST_TAGS} switches, and this one has {tags}")));
    }
    let mut paths: Vec<&HostPath> = paths.iter().collect();
    paths.sort_by_key(|path| path.tags.len());
    let route = |path: &HostPath| layout::route(path.uplink, class::priority(path.queue), &path.tags);
    Ok(paths.into_iter().map(route).collect())
}

impl HostRule {
    fn bucket(&self) -> Result<TokenBucket, Error> {
        let Demand { rate, burst, .. } = self.demand;
        TokenBucket::full(rate, burst, Time::ZERO).ok_or_else(|| {
            Error::Refused(format!("a burst of {burst} is more than a bucket holds, {}", TokenBucket::MOST))
        })
    }

    /// As programs have it.
    fn encode(&self, serial: u64, version: u64, bucket: &TokenBucket) -> Result<[u8; RULE], Error> {
        let routes = routes(&self.paths)?;
        let longest = self.paths.iter().map(|path| path.tags.len()).max().unwrap_or(0) + usize::from(routes.len() > 1);
        let Demand { rate, max_frame, .. } = self.demand;
        let max_frame = max_frame.map_or(NO_LARGEST, |bytes| u32::try_from(bytes.get()).unwrap_or(NO_LARGEST));
        let overhead = 4 * longest as u32;
        Ok(layout::rule((serial, version), rate, bucket, self.bound, max_frame, overhead, &routes))
    }
}

impl Host {
    /// From now on packets of this contract are charged, tagged and sent as the rule says. A rule that is there is replaced between one
    /// packet and the next, and its bucket keeps its level; a new one begins full.
    ///
    /// # Errors
    /// If the rule cannot be followed, or a sender is not there, or the kernel refuses. What was there is still there.
    pub fn install(&mut self, serial: u64, version: u64, rule: &HostRule) -> Result<(), Error> {
        if serial == 0 {
            return Err(Error::Refused("contracts count from 1: 0 is none".to_owned()));
        }
        let bucket = rule.bucket()?;
        let encoded = rule.encode(serial, version, &bucket)?;
        for sender in &rule.senders {
            if self.mac_at(sender.ifindex)?.is_none() {
                return Err(Error::Refused(format!("no endpoint of this host has the interface {}", sender.ifindex)));
            }
        }
        let slot = match self.slots.get(&serial) {
            Some(&(slot, _)) => slot,
            None => self.fresh_slot(&bucket)?,
        };
        let before = self.classes_of(serial);
        let after: Vec<_> = rule.senders.iter().map(|sender| Class::new(sender.ifindex, &sender.selector)).collect();
        self.check_classes(serial, &after)?;
        let added: Vec<_> = after.iter().filter(|class| !before.contains(class)).copied().collect();
        if let Err(error) = self.add_classes(serial, slot, &added) {
            // What was there before is still there; nothing more can be done if this fails, too.
            let _ = self.remove_classes(serial, &added);
            return Err(error);
        }
        self.write_rule(slot, encoded)?;
        self.slots.insert(serial, (slot, version));
        let gone: Vec<_> = before.into_iter().filter(|class| !after.contains(class)).collect();
        self.remove_classes(serial, &gone)
    }

    /// From now on nothing is sent of this contract: its packets belong to none. That it is not there is no error.
    ///
    /// # Errors
    /// If the kernel refuses; then it may be there or not.
    pub fn remove(&mut self, serial: u64) -> Result<(), Error> {
        if let Some(&(slot, _)) = self.slots.get(&serial) {
            self.write_rule(slot, NO_RULE)?;
            self.slots.remove(&serial);
        }
        programs::is_there(self.measured.remove(&serial)).map_err(|error| Error::failed("removing a rule", error))?;
        self.remove_classes(serial, &self.classes_of(serial))
    }

    /// Serial and version of every rule that is installed.
    pub fn installed(&self) -> Vec<(u64, u64)> {
        self.slots.iter().map(|(&serial, &(_, version))| (serial, version)).collect()
    }

    fn write_rule(&mut self, slot: u32, rule: [u8; RULE]) -> Result<(), Error> {
        self.rules.set(slot, rule, UNDER_LOCK).map_err(|error| Error::failed("writing a rule", error))
    }

    /// A slot that no contract has, with a full bucket. No packet sees it before its rule is written.
    fn fresh_slot(&mut self, bucket: &TokenBucket) -> Result<u32, Error> {
        let most = self.rules.len();
        let taken: std::collections::BTreeSet<u32> = self.slots.values().map(|&(slot, _)| slot).collect();
        let slot = (0..most).find(|slot| !taken.contains(slot)).ok_or_else(|| {
            Error::Refused(format!("this host has room for {most} contracts, and as many are installed"))
        })?;
        // Full at any time: the first packet fills it.
        let bucket = layout::bucket(bucket.burst(), 0);
        self.buckets.set(slot, bucket, 0).map_err(|error| Error::failed("writing a bucket", error))?;
        Ok(slot)
    }
}
