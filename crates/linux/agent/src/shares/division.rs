//! The division of a host's links among contracts, as a pure state machine: counters and messages go in, rates and
//! messages come out.
//!
//! V. Jeyakumar et al., NSDI 2013 (EyeQ), as Parley (2014), 3.2.1, describes its machine shaper:
//! [`wayleave_schemes::host::eyeq`] divides, here and in the simulator. Deviations that a host without EyeQ's kernel
//! module needs:
//! - *Senders report what they sent*, by the counters of their buckets, where EyeQ's receivers count what arrives.
//!   Packets arrive without tags, so a packet of a hose cannot be distinguished from one of a latency contract
//!   between the same endpoints.
//! - *A pair that its receiver has not answered yet has its sure part only*: the minimum divided by all pairs of the
//!   member. EyeQ lets a new pair send as fast as it can. The sure parts of all pairs together do not exceed what was
//!   admitted, so promises to others hold even where agents do not reach each other. A member that sends to all
//!   others has its minimum then, one that sends to a few has their parts.
//! - *A rack broker limits tenants* ([`HostDivision::allow`]), and EyeQ's classes are contracts. A tenant's limit is
//!   divided among its contracts here by their traffic, and is never less than their minima together, even if the
//!   broker's limit is lower. A contract that was idle and begins has its minimum at once, so the tenant may exceed
//!   its limit by that amount for one interval.
//! - *A root limiter is divided among the pairs of its class*, by their traffic, where EyeQ has one bucket above
//!   theirs.
//! - *Best effort with a maximum is limited by its sender only* ([`PairRate::Reserve`]): its receivers answer nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU32;

use wayleave_contracts::{Direction, MIN_MAXIMUM};
use wayleave_scheme_api::{
    Arrivals, Bucket, ClassId, Demand, Host, HostAction, HostInput, Incoming, Limiter, MessageOrigin, Outgoing,
    PairSpec, PathIndex, Peer, Share,
};
use wayleave_schemes::host::eyeq::{Eyeq, Feedback, LineParams, MeterParams, Params, Timer};
use wayleave_sharing::{ServiceTerms as Entitled, Shares, Tree};
use wayleave_topology::NodeId;
use wayleave_units::{Bytes, Rate, Time};

use super::INTERVAL;
use super::message::PeerMessage;

/// Intervals after which a class that sends nothing has no share any more, and intervals after which half of a
/// class's demand above its use is forgotten. The numbers are EyeQ's defaults (10 ms and 1 ms of 200 us).
const IDLE: u64 = 50;
const DECAY: u64 = 5;
/// Intervals after which a silent host counts as failed: 5 s, the time-out of Parley's brokers (Table 1).
const SILENT: u64 = 50;
/// The control loop takes two intervals from a sender's counter to its bucket, and not one: half of EyeQ's alpha keeps it from swinging.
const ALPHA_PERCENT: u8 = 25;
/// Minimum rate of a sender: with less it needs seconds for a packet.
const FLOOR: Rate = MIN_MAXIMUM;
/// Depth of a bucket: the amount at its rate in this time, within these bounds (Parley, 4: 64 kB).
const BURST: Time = Time::from_millis(10);
const MIN_BURST: Bytes = Bytes::new(6_400);
const MAX_BURST: Bytes = Bytes::new(64_000);

/// A contract as its member on this host takes part in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberTerms {
    /// The contract.
    pub serial: u64,
    /// Tenant of the contract.
    pub tenant: String,
    /// Share in the transmit direction of its member here.
    pub transmit: Share,
    /// Share in the receive direction of its member here.
    pub receive: Share,
    /// Rate of a pair that its receiver has not answered.
    pub sure: PairRate,
    /// The hosts to which it sends from here.
    pub to: BTreeSet<NodeId>,
    /// The hosts from which it receives here.
    pub from: BTreeSet<NodeId>,
}

/// Rate of a pair that its receiver has not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairRate {
    /// This rate.
    Sure(Rate),
    /// A part of the class's maximum. Receivers answer no pair of such a class, and the rates of all its pairs
    /// together never exceed the maximum.
    Reserve,
}

/// A pair that leaves here or arrives here: contract and other host.
pub type PairKey = (u64, NodeId);

/// Limits of a tenant's contracts together at a host, for sending and receiving; `None` is no limit.
pub type TenantAllowance = [Option<Rate>; 2];

/// Bytes that the contracts of a tenant have sent to another host and received from it since the division began.
pub type TenantBytes = BTreeMap<(String, NodeId), [u64; 2]>;

/// Counters of a pair that leaves here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairCounters {
    /// Bytes on the wire since any time.
    pub bytes: u64,
    /// `true` if packets are queued, or were dropped because the queue was full, since the last time.
    pub is_held: bool,
}

/// The division of one host.
#[derive(Debug)]
pub struct HostDivision {
    eyeq: Eyeq,
    line: LineParams,
    terms: BTreeMap<u64, MemberTerms>,
    classes: BTreeMap<u64, ClassId>,
    roots: BTreeMap<ClassId, Rate>,
    sending: BTreeMap<PairKey, Sending>,
    receiving: BTreeMap<PairKey, Receiving>,
    /// By the numbers of pairs.
    outgoing: BTreeMap<Outgoing, PairKey>,
    incoming: BTreeMap<Incoming, PairKey>,
    timers: BTreeSet<(Time, u64)>,
    armed: BTreeMap<u64, Timer>,
    next_timer: u64,
    /// Messages to be sent, by host.
    outbox: BTreeMap<NodeId, PeerMessage>,
    /// Time of the last reading of the counters.
    counted: Option<Time>,
    /// Time of the last message from each host.
    last_message: BTreeMap<NodeId, Time>,
    /// By tenant.
    allowed: BTreeMap<String, TenantAllowance>,
    moved: TenantBytes,
}

/// A pair that leaves here.
#[derive(Clone, Copy, Debug)]
struct Sending {
    number: Outgoing,
    bytes: u64,
    is_held: bool,
    /// Bit/s in the last interval.
    used: u64,
    /// Rate that its receiver allows.
    limit: Option<Rate>,
    /// Its receiver has answered since it began to send.
    is_answered: bool,
    /// Time at which it last sent something.
    active: Time,
}

/// A pair that arrives here.
#[derive(Clone, Copy, Debug)]
struct Receiving {
    number: Incoming,
    bytes: Option<u64>,
    /// Bytes that arrived since the last reading of the counters.
    fresh: u64,
}

impl HostDivision {
    /// Of a host without contracts.
    ///
    /// # Errors
    /// If the scheme cannot divide such a line.
    pub fn new(line: LineParams) -> Result<Self, String> {
        let params = Params {
            meter: MeterParams { alpha_percent: ALPHA_PERCENT, floor: FLOOR, ..MeterParams::default() },
            interval: INTERVAL,
            // A message covers a whole interval, so each may be answered.
            sample: Bytes::new(1),
            silence: every(SILENT),
            idle: every(IDLE),
            decay: every(DECAY),
            ..Params::default()
        };
        Ok(Self {
            eyeq: Eyeq::new(line, params).map_err(|error| error.to_string())?,
            line,
            terms: BTreeMap::new(),
            classes: BTreeMap::new(),
            roots: BTreeMap::new(),
            sending: BTreeMap::new(),
            receiving: BTreeMap::new(),
            outgoing: BTreeMap::new(),
            incoming: BTreeMap::new(),
            timers: BTreeSet::new(),
            armed: BTreeMap::new(),
            next_timer: 0,
            outbox: BTreeMap::new(),
            counted: None,
            last_message: BTreeMap::new(),
            allowed: BTreeMap::new(),
            moved: TenantBytes::new(),
        })
    }

    /// Replaces the contracts that share this line. The state of those that stay is kept.
    pub fn set(&mut self, now: Time, line: LineParams, all: Vec<MemberTerms>) {
        if line != self.line {
            self.line = line;
            self.eyeq.set_line(line);
        }
        let wanted: BTreeMap<u64, MemberTerms> = all.into_iter().map(|terms| (terms.serial, terms)).collect();
        let gone: Vec<u64> = self.terms.keys().filter(|serial| !wanted.contains_key(serial)).copied().collect();
        for serial in gone {
            self.terms.remove(&serial);
            self.close_pairs(now, serial, &BTreeSet::new(), &BTreeSet::new());
            if let Some(class) = self.classes.remove(&serial) {
                self.roots.remove(&class);
                self.handle_input(now, HostInput::ClassGone { class });
            }
        }
        for (serial, terms) in wanted {
            if self.terms.get(&serial) == Some(&terms) {
                continue;
            }
            let taken: BTreeSet<ClassId> = self.classes.values().copied().collect();
            let class =
                *self.classes.entry(serial).or_insert_with(|| ClassId(free(|number| taken.contains(&ClassId(number)))));
            self.handle_input(now, HostInput::ClassSet { class, transmit: terms.transmit, receive: terms.receive });
            self.close_pairs(now, serial, &terms.to, &terms.from);
            self.open_pairs(now, class, &terms);
            self.terms.insert(serial, terms);
        }
    }

    fn close_pairs(&mut self, now: Time, serial: u64, to: &BTreeSet<NodeId>, from: &BTreeSet<NodeId>) {
        let gone = |keys: Vec<PairKey>, stay: &BTreeSet<NodeId>| -> Vec<PairKey> {
            keys.into_iter().filter(|(of, host)| *of == serial && !stay.contains(host)).collect()
        };
        for key in gone(self.sending.keys().copied().collect(), to) {
            if let Some(sending) = self.sending.remove(&key) {
                self.outgoing.remove(&sending.number);
                self.handle_input(now, HostInput::Closed { pair: sending.number });
            }
        }
        for key in gone(self.receiving.keys().copied().collect(), from) {
            if let Some(receiving) = self.receiving.remove(&key) {
                self.incoming.remove(&receiving.number);
                self.handle_input(now, HostInput::IncomingClosed { pair: receiving.number });
            }
        }
    }

    fn open_pairs(&mut self, now: Time, class: ClassId, terms: &MemberTerms) {
        let spec = |peer: NodeId| PairSpec { class, peer_class: class, peer, key: 0, paths: 1, round_trip: INTERVAL };
        for &host in &terms.to {
            let key = (terms.serial, host);
            if self.sending.contains_key(&key) {
                continue;
            }
            let number = Outgoing(free(|number| self.outgoing.contains_key(&Outgoing(number))));
            let sending = Sending {
                number,
                bytes: 0,
                is_held: false,
                used: 0,
                limit: None,
                is_answered: false,
                active: Time::ZERO,
            };
            self.sending.insert(key, sending);
            self.outgoing.insert(number, key);
            self.handle_input(now, HostInput::Opened { pair: number, spec: spec(host) });
            self.handle_input(now, HostInput::Demand { pair: number, demand: Demand::Ends });
        }
        for &host in &terms.from {
            let key = (terms.serial, host);
            if self.receiving.contains_key(&key) {
                continue;
            }
            let number = Incoming(free(|number| self.incoming.contains_key(&Incoming(number))));
            self.receiving.insert(key, Receiving { number, bytes: None, fresh: 0 });
            self.incoming.insert(number, key);
            self.handle_input(now, HostInput::IncomingOpened { pair: number, spec: spec(host) });
        }
    }

    /// An interval is over: what was counted of each pair that leaves here.
    pub fn count(&mut self, now: Time, counted: &BTreeMap<PairKey, PairCounters>) {
        let elapsed = now.saturating_sub(self.counted.unwrap_or(Time::ZERO)).max(Time::from_nanos(1));
        self.counted = Some(now);
        let keys: Vec<PairKey> = self.sending.keys().copied().collect();
        for key in keys {
            let (Some(found), Some(sending)) = (counted.get(&key), self.sending.get_mut(&key)) else { continue };
            // Counters that are smaller than before were reset.
            let bytes = if found.bytes < sending.bytes { found.bytes } else { found.bytes - sending.bytes };
            let (number, began) = (sending.number, !sending.is_held && found.is_held);
            let ended = sending.is_held && !found.is_held;
            let used = u128::from(bytes) * 8_000_000_000 / u128::from(elapsed.as_nanos());
            sending.used = u64::try_from(used).unwrap_or(u64::MAX);
            (sending.bytes, sending.is_held) = (found.bytes, found.is_held);
            if let Some(terms) = self.terms.get(&key.0).filter(|_| bytes > 0) {
                self.moved.entry((terms.tenant.clone(), key.1)).or_default()[0] += bytes;
            }
            let is_active = bytes > 0 || found.is_held;
            if is_active {
                sending.active = now;
            } else if now.saturating_sub(sending.active) >= every(SILENT) {
                sending.is_answered = false;
            }
            if is_active {
                self.outbox.entry(key.1).or_default().sent.push((key.0, found.bytes));
            }
            if began || ended {
                let demand = if began { Demand::Begins } else { Demand::Ends };
                self.handle_input(now, HostInput::Demand { pair: number, demand });
            }
            if bytes > 0 {
                let bytes = Bytes::new(bytes);
                self.handle_input(now, HostInput::Sent { pair: number, path: PathIndex(0), bytes });
            }
        }
        self.keep_limits(now, elapsed);
    }

    /// Sets the limits of tenants on this host, as sent by a rack broker; a tenant without an entry is not limited.
    pub fn allow(&mut self, allowed: BTreeMap<String, TenantAllowance>) {
        self.allowed = allowed;
    }

    /// The tenants of contracts here.
    pub fn tenants(&self) -> impl Iterator<Item = &str> {
        self.terms.values().map(|terms| terms.tenant.as_str())
    }

    /// Returns the traffic of tenants, by the other host.
    pub fn moved(&self) -> &TenantBytes {
        &self.moved
    }

    /// Divides the limits of tenants among their contracts, by the traffic of the last interval.
    fn keep_limits(&mut self, now: Time, elapsed: Time) {
        let mut wants: BTreeMap<u64, [u64; 2]> = BTreeMap::new();
        for ((serial, _), pair) in &self.sending {
            let want = if pair.is_held { self.line.transmit.bits_per_second() } else { pair.used.saturating_mul(2) };
            let sum = &mut wants.entry(*serial).or_default()[0];
            *sum = sum.saturating_add(want);
        }
        for ((serial, _), pair) in &mut self.receiving {
            let fresh = u128::from(std::mem::take(&mut pair.fresh)) * 16_000_000_000 / u128::from(elapsed.as_nanos());
            let sum = &mut wants.entry(*serial).or_default()[1];
            *sum = sum.saturating_add(u64::try_from(fresh).unwrap_or(u64::MAX));
        }
        let mut tenants: BTreeMap<&str, Vec<&MemberTerms>> = BTreeMap::new();
        for terms in self.terms.values() {
            tenants.entry(&terms.tenant).or_default().push(terms);
        }
        let mut limits: Vec<(u64, Direction, Option<Rate>)> = Vec::new();
        for (tenant, contracts) in tenants {
            let allowed = self.allowed.get(tenant).copied().unwrap_or_default();
            for (side, direction) in Direction::ALL.into_iter().enumerate() {
                let own: Vec<(Share, u64)> = contracts
                    .iter()
                    .map(|terms| {
                        let share = if side == 0 { terms.transmit } else { terms.receive };
                        (share, wants.get(&terms.serial).map_or(0, |wants| wants[side]))
                    })
                    .collect();
                let parts = allowed[side].map(|limit| parts(limit, &own));
                limits.extend(
                    contracts
                        .iter()
                        .enumerate()
                        .map(|(place, terms)| (terms.serial, direction, parts.as_ref().map(|parts| parts[place]))),
                );
            }
        }
        for (serial, direction, limit) in limits {
            let Some(&class) = self.classes.get(&serial) else { continue };
            let mut actions = Vec::new();
            self.eyeq.set_capacity(class, direction, limit, &mut |action| actions.extend(ShaperAction::of(action)));
            actions.into_iter().for_each(|action| self.apply_action(action));
        }
        self.fire(now);
    }

    /// Handles a message from the agent of another host.
    pub fn on_peer_message(&mut self, now: Time, from: NodeId, message: &PeerMessage) {
        self.last_message.insert(from, now);
        for &(serial, bytes) in &message.sent {
            let Some(receiving) = self.receiving.get_mut(&(serial, from)) else { continue };
            // The first count has no known beginning.
            let new = receiving.bytes.map_or(0, |before| if bytes < before { bytes } else { bytes - before });
            receiving.bytes = Some(bytes);
            receiving.fresh += new;
            if let Some(terms) = self.terms.get(&serial).filter(|_| new > 0) {
                self.moved.entry((terms.tenant.clone(), from)).or_default()[1] += new;
            }
            let (pair, arrivals) = (receiving.number, Arrivals { bytes: Bytes::new(new), ..Arrivals::default() });
            // A message without new bytes is answered, too.
            self.outbox.entry(from).or_default();
            if new > 0 {
                self.handle_input(now, HostInput::Received { pair, arrivals });
            }
        }
        for &(serial, rate) in &message.rates {
            let Some(sending) = self.sending.get_mut(&(serial, from)) else { continue };
            sending.is_answered = true;
            let (pair, rate) = (sending.number, Rate::from_bits_per_second(rate).min(Rate::MAX));
            let from = MessageOrigin::Receiver(pair);
            self.handle_input(now, HostInput::Message { from, message: Feedback { rate } });
        }
    }

    /// Takes the messages to be sent, by host.
    pub fn take_messages(&mut self) -> BTreeMap<NodeId, PeerMessage> {
        std::mem::take(&mut self.outbox)
    }

    /// Returns the bucket of each pair that leaves here.
    pub fn buckets(&self, now: Time) -> BTreeMap<PairKey, Bucket> {
        let mut buckets = BTreeMap::new();
        for (&serial, terms) in &self.terms {
            let pairs: Vec<(NodeId, &Sending)> =
                terms.to.iter().filter_map(|&host| Some((host, self.sending.get(&(serial, host))?))).collect();
            let root = self.classes.get(&serial).and_then(|class| self.roots.get(class)).copied();
            let most = root.unwrap_or(Rate::MAX).min(terms.transmit.max.unwrap_or(Rate::MAX)).min(self.line.transmit);
            if terms.sure == PairRate::Reserve {
                for (host, rate) in reserve(most, &pairs) {
                    buckets.insert((serial, host), bucket(rate));
                }
                continue;
            }
            let limits: Vec<u64> = pairs.iter().map(|&(host, pair)| self.limit(now, terms, host, pair)).collect();
            // A maximum below the sum of these floors is the limit all the same.
            let floor = FLOOR.bits_per_second().min(most.bits_per_second() / pairs.len().max(1) as u64).max(1);
            let level = level(most.bits_per_second(), pairs.iter().map(|(_, pair)| pair).zip(&limits));
            for ((host, _), limit) in pairs.into_iter().zip(limits) {
                let rate = Rate::from_bits_per_second(limit.min(level).max(floor));
                buckets.insert((serial, host), bucket(rate.min(Rate::MAX)));
            }
        }
        buckets
    }

    /// Returns the rate that the receiver of a pair allows, or the pair's sure rate.
    fn limit(&self, now: Time, terms: &MemberTerms, host: NodeId, pair: &Sending) -> u64 {
        let is_active = self.last_message.get(&host).is_some_and(|&at| now.saturating_sub(at) < every(SILENT));
        let sure = match terms.sure {
            PairRate::Sure(rate) => Some(rate),
            PairRate::Reserve => None,
        };
        let limit = if is_active && pair.is_answered { pair.limit } else { sure };
        limit.unwrap_or(self.line.transmit).bits_per_second()
    }

    /// Fires timers, including those that are due within half an interval, since timers are polled only once per
    /// interval.
    fn fire(&mut self, now: Time) {
        let due = now + Time::from_nanos(INTERVAL.as_nanos() / 2);
        while let Some(&(at, number)) = self.timers.first().filter(|(at, _)| *at <= due) {
            self.timers.remove(&(at, number));
            if let Some(timer) = self.armed.remove(&number) {
                // Not before its time, as the shaper sees it: it would arm it again.
                self.handle_input(now.max(at), HostInput::Timer(timer));
            }
        }
    }

    /// Something happens to the shaper; what it wants done is done.
    fn handle_input(&mut self, now: Time, input: HostInput<'_, Feedback, Timer>) {
        let mut actions = Vec::new();
        self.eyeq.on(now, input, &mut |action| actions.extend(ShaperAction::of(action)));
        actions.into_iter().for_each(|action| self.apply_action(action));
    }

    fn apply_action(&mut self, action: ShaperAction) {
        match action {
            ShaperAction::Limit(Limiter::Pair(pair), limit) => {
                let key = self.outgoing.get(&pair);
                if let Some(sending) = key.and_then(|key| self.sending.get_mut(key)) {
                    sending.limit = limit;
                }
            }
            ShaperAction::Limit(Limiter::Class(class), Some(limit)) => drop(self.roots.insert(class, limit)),
            ShaperAction::Limit(Limiter::Class(class), None) => drop(self.roots.remove(&class)),
            ShaperAction::Allow(pair, rate) => {
                if let Some(&(serial, host)) = self.incoming.get(&pair) {
                    let rates = &mut self.outbox.entry(host).or_default().rates;
                    rates.retain(|&(of, _)| of != serial);
                    rates.push((serial, rate.bits_per_second()));
                }
            }
            ShaperAction::Arm(at, timer) => {
                self.next_timer += 1;
                self.timers.insert((at, self.next_timer));
                self.armed.insert(self.next_timer, timer);
            }
        }
    }
}

/// Actions of the shaper.
enum ShaperAction {
    Limit(Limiter, Option<Rate>),
    Allow(Incoming, Rate),
    Arm(Time, Timer),
}

impl ShaperAction {
    fn of(action: HostAction<Feedback, Timer>) -> Option<Self> {
        match action {
            HostAction::SetBucket { limiter, bucket } => Some(Self::Limit(limiter, bucket.map(|one| one.rate))),
            HostAction::Send { to: Peer::Sender(pair), message } => Some(Self::Allow(pair, message.rate)),
            HostAction::Arm { at, timer } => Some(Self::Arm(at, timer)),
            // Windows, paths and probes are of other schemes.
            _ => None,
        }
    }
}

/// Divides a joint limit of contracts among them by their terms and demands. The rest is spread evenly, for demand
/// that rises later. No part is below the contract's minimum.
fn parts(limit: Rate, contracts: &[(Share, u64)]) -> Vec<Rate> {
    let minima = contracts.iter().map(|(share, _)| share.min.bits_per_second()).fold(0, u64::saturating_add);
    let limit = limit.bits_per_second().max(minima).min(Rate::MAX.bits_per_second());
    let all = vec![Rate::from_bits_per_second(limit); contracts.len()];
    let Ok(mut tree) = Tree::new(Entitled::default()) else { return all };
    let root = Tree::ROOT;
    let mut demands = vec![Rate::ZERO];
    let mut leaves = Vec::new();
    for (share, want) in contracts {
        let weight = NonZeroU32::new(share.weight).unwrap_or(NonZeroU32::MIN);
        let max = share.max.map(|max| max.max(share.min));
        let Ok(leaf) = tree.add(root, Entitled { min: share.min, max, weight }) else { return all };
        demands.push(Rate::from_bits_per_second(*want).min(Rate::MAX));
        leaves.push(leaf);
    }
    let mut shares = Shares::default();
    shares.compute(&tree, Rate::from_bits_per_second(limit), &demands);
    let given: Vec<u64> = leaves.iter().map(|&leaf| shares.share(leaf).bits_per_second()).collect();
    let spare = limit.saturating_sub(given.iter().sum()) / given.len().max(1) as u64;
    // A contract that begins has its minimum at once; the others are reduced one interval later.
    let part = |(rate, (share, _)): (u64, &(Share, u64))| Rate::from_bits_per_second(rate + spare).max(share.min);
    given.into_iter().zip(contracts).map(part).collect()
}

/// The lowest number that nothing has: the shaper keeps lists by them.
fn free(is_taken: impl Fn(u32) -> bool) -> u32 {
    (0..u32::MAX).find(|&number| !is_taken(number)).unwrap_or(u32::MAX)
}

fn every(intervals: u64) -> Time {
    Time::from_nanos(INTERVAL.as_nanos() * intervals)
}

fn bucket(rate: Rate) -> Bucket {
    let bytes = u128::from(rate.bits_per_second()) * u128::from(BURST.as_nanos()) / 8_000_000_000;
    let bytes = Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX));
    Bucket { rate, burst: bytes.clamp(MIN_BURST, MAX_BURST), excess: wayleave_scheme_api::ExcessAction::Waits }
}

/// Divides a maximum among the pairs of a class such that their rates never exceed it together. Pairs that sent in the
/// last interval share fifteen sixteenths; the others share the rest, with which they begin. A class whose pairs are
/// all active or all idle divides the whole maximum evenly.
fn reserve(max: Rate, pairs: &[(NodeId, &Sending)]) -> Vec<(NodeId, Rate)> {
    let is_active = |pair: &Sending| pair.is_held || pair.used > 0;
    let active = pairs.iter().filter(|(_, pair)| is_active(pair)).count() as u64;
    let idle = pairs.len() as u64 - active;
    let max = max.bits_per_second();
    let of_idle = if active == 0 { max } else { max / 16 };
    let of_active = if idle == 0 { max } else { max - of_idle };
    let rate = |&(host, pair): &(NodeId, &Sending)| {
        let (all, count) = if is_active(pair) { (of_active, active) } else { (of_idle, idle) };
        (host, Rate::from_bits_per_second((all / count.max(1)).max(1)))
    };
    pairs.iter().map(rate).collect()
}

/// The rate that every pair of a class may have at most, so that what they want together is the limit of the class: who is held back
/// wants what its receiver allows, others twice what they send.
fn level<'a>(limit: u64, pairs: impl Iterator<Item = (&'a &'a Sending, &'a u64)>) -> u64 {
    let want = |(pair, allowed): (&&Sending, &u64)| {
        if pair.is_held { *allowed } else { pair.used.saturating_mul(2).min(*allowed) }
    };
    let mut wants: Vec<u64> = pairs.map(want).filter(|&want| want > 0).collect();
    wants.sort_unstable();
    let (mut left, mut others) = (limit, wants.len() as u64);
    for want in wants {
        if want > left / others {
            return left / others;
        }
        left -= want;
        others -= 1;
    }
    limit
}
