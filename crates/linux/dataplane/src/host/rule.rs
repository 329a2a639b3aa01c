//! Rules: which packets, how much, and over which routes. They change between one packet and the next.

use wayleave_packet_format::{BucketDemand, MAX_TAGS, PacketSelector, Tag, TokenBucket, wire_bytes};
use wayleave_units::{Bytes, Time};

use super::{Host, QueueLimit};
use crate::class;
use crate::error::Error;
use crate::layout::{self, Class, MAX_ROUTES, NO_RULE, ROUTE, RULE, RuleHead};
use crate::programs;

/// `BPF_F_LOCK`: a value is written under its lock.
const UNDER_LOCK: u64 = 4;
/// Bytes of an Ethernet header.
const HEADER: u64 = 14;

/// A time of more than twice the longest wait: a machine that pauses for this long has other troubles.
const STALE: Time = Time::from_millis(1_000);

/// Packets of one kind from one endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sender {
    /// The host's end of the endpoint's interface.
    pub ifindex: u32,
    /// Selection of its packets.
    pub selector: PacketSelector,
}

/// A route through the network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostPath {
    /// The interface by which packets leave the host.
    pub uplink: u32,
    /// The queue there, 0 the highest.
    pub queue: u8,
    /// For each switch, in the order of the route.
    pub tags: Vec<Tag>,
    /// The largest packet that all its links take, without the Ethernet header.
    pub mtu: Bytes,
}

/// Treatment of the packets of a contract on a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostRule {
    /// Senders of the packets; all share one bucket.
    pub senders: Vec<Sender>,
    /// Arrival curve of the packets on the wire.
    pub demand: BucketDemand,
    /// Each packet takes all of these; none for a receiver on this host. At most four.
    pub paths: Vec<HostPath>,
    /// No packet takes longer.
    pub bound: Time,
}

/// Paths as programs have them: fewest tags first, because a frame can grow from one copy to the next, but not shrink.
pub(super) fn routes(paths: &[HostPath]) -> Result<Vec<[u8; ROUTE]>, Error> {
    if paths.len() > MAX_ROUTES {
        let found = paths.len();
        return Err(Error::Refused(format!("{found} routes for each packet: the limit is {MAX_ROUTES}")));
    }
    if let Some(tags) = paths.iter().map(|path| path.tags.len()).find(|&tags| tags > MAX_TAGS) {
        return Err(Error::Refused(format!("route with {tags} switches: the limit is {MAX_TAGS}")));
    }
    let mut paths: Vec<&HostPath> = paths.iter().collect();
    paths.sort_by_key(|path| path.tags.len());
    let route = |path: &HostPath| layout::route(path.uplink, class::priority(path.queue), largest(path), &path.tags);
    Ok(paths.into_iter().map(route).collect())
}

/// The largest frame of a path, without tags.
fn largest(path: &HostPath) -> u32 {
    u32::try_from(path.mtu.get().saturating_add(HEADER)).unwrap_or(u32::MAX)
}

impl HostRule {
    fn bucket(&self) -> Result<TokenBucket, Error> {
        let BucketDemand { rate, burst, .. } = self.demand;
        TokenBucket::full(rate, burst, Time::ZERO).ok_or_else(|| {
            Error::Refused(format!("burst {burst:#} is larger than the largest bucket, {:#}", TokenBucket::MAX))
        })
    }

    /// Tags of the longest stack.
    fn depth(&self) -> usize {
        self.paths.iter().map(|path| path.tags.len()).max().unwrap_or(0) + usize::from(self.paths.len() > 1)
    }

    /// Returns the largest frame, in wire bytes: that of the contract, but no more than its links take.
    pub fn max_frame(&self) -> Bytes {
        let links = self.paths.iter().map(largest).min();
        let links = links.map_or(Bytes::MAX, |frame| wire_bytes(frame as usize, self.depth()));
        self.demand.max_frame.unwrap_or(Bytes::MAX).min(links)
    }

    /// Encodes the rule for the programs; `holder` is the interface at which packets wait, and the limits of its
    /// queue.
    fn encode(
        &self,
        (serial, version): (u64, u64),
        bucket: &TokenBucket,
        holder: Option<(u32, QueueLimit)>,
    ) -> Result<[u8; RULE], Error> {
        let routes = routes(&self.paths)?;
        let max_frame = match holder {
            // A packet for which the bucket can never hold enough tokens must not wait.
            Some(_) => self.max_frame().min(self.demand.burst),
            None => self.max_frame(),
        };
        let waiting = holder.map_or(QueueLimit { limit: Bytes::ZERO, longest: Time::ZERO }, |(_, waiting)| waiting);
        let head = RuleHead {
            serial,
            version,
            rate: self.demand.rate,
            bucket,
            bound: self.bound,
            max_frame: u32::try_from(max_frame.get()).unwrap_or(u32::MAX),
            overhead: 4 * self.depth() as u32,
            holder: holder.map_or(0, |(ifindex, _)| ifindex),
            limit: u32::try_from(waiting.limit.get()).unwrap_or(u32::MAX),
            stale: Time::from_nanos(waiting.longest.as_nanos().saturating_mul(2).saturating_add(STALE.as_nanos())),
        };
        Ok(layout::rule(&head, &routes))
    }
}

impl Host {
    /// From now on packets of this contract are charged, tagged and sent as the rule demands. An existing rule is
    /// replaced between one packet and the next, and its bucket keeps its level; a new bucket begins full.
    ///
    /// # Errors
    /// If the rule cannot be followed, a sender does not exist, or the kernel refuses. The existing rule then stays.
    pub fn install(&mut self, serial: u64, version: u64, rule: &HostRule) -> Result<(), Error> {
        if serial == 0 {
            return Err(Error::Refused("contract number 0 is invalid: numbers start at 1".to_owned()));
        }
        let bucket = rule.bucket()?;
        let encoded = rule.encode((serial, version), &bucket, self.waiting(rule))?;
        for sender in &rule.senders {
            if self.mac_at(sender.ifindex).is_none() {
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
            // The existing rule stays; nothing more can be done if this fails, too.
            let _ = self.remove_classes(serial, &added);
            return Err(error);
        }
        self.write_class_of(slot, rule.demand.rate, rule.demand.burst, 4 * rule.depth() as u32)?;
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
            self.remove_class_of(slot)?;
        }
        programs::is_there(self.measured.remove(&serial)).map_err(|error| Error::failed("removing a rule", error))?;
        self.remove_classes(serial, &self.classes_of(serial))
    }

    /// Serial and version of every rule that is installed.
    pub fn installed(&self) -> Vec<(u64, u64)> {
        self.slots.iter().map(|(&serial, &(_, version))| (serial, version)).collect()
    }

    /// Returns the rules whose entries in the map differ from the installed ones: another program has changed it.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn lost_rules(&self) -> Result<Vec<u64>, Error> {
        let mut lost = Vec::new();
        for (&serial, &(slot, _)) in &self.slots {
            let rule = self.rules.get(&slot, 0).map_err(|error| Error::failed("reading a rule", error))?;
            if self.written.get(&slot) != Some(&rule) {
                lost.push(serial);
            }
        }
        Ok(lost)
    }

    /// Returns the interface at which packets of a rule wait, and the limits of its queue; `None` if they are dropped
    /// instead.
    fn waiting(&self, rule: &HostRule) -> Option<(u32, QueueLimit)> {
        let holder = self.holder.as_ref()?;
        let largest = rule.max_frame().min(rule.demand.burst);
        Some((holder.ifindex, QueueLimit::of(rule.demand.rate, largest, holder.longest)))
    }

    fn write_rule(&mut self, slot: u32, rule: [u8; RULE]) -> Result<(), Error> {
        self.rules.set(slot, rule, UNDER_LOCK).map_err(|error| Error::failed("writing a rule", error))?;
        self.written.insert(slot, rule);
        Ok(())
    }

    /// A slot that no contract has, with a full bucket. No packet sees it before its rule is written.
    fn fresh_slot(&mut self, bucket: &TokenBucket) -> Result<u32, Error> {
        let most = self.rules.len();
        let taken: std::collections::BTreeSet<u32> = self.slots.values().map(|&(slot, _)| slot).collect();
        let slot = (0..most)
            .find(|slot| !taken.contains(slot))
            .ok_or_else(|| Error::Refused(format!("contract limit of this host reached: {most}")))?;
        // Full at any time: the first packet fills it.
        let bucket = layout::bucket(bucket.burst(), 0);
        self.buckets.set(slot, bucket, 0).map_err(|error| Error::failed("writing a bucket", error))?;
        Ok(slot)
    }
}
