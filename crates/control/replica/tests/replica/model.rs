//! A model of etcd in memory, with a separate clock, and links that lose and delay messages.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use wayleave_replica::{Compare, Etcd, EtcdError, KeyRange, KeyValue, NOW, Op, Range, TransactionResult};

/// Earlier revisions that are kept, as with an etcd that compacts by itself.
const KEPT: usize = 64;

/// Random numbers by a seed (xorshift64*).
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 16) % end
    }

    pub(crate) fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

/// Value of a key, the revision at which it was written, and its lease.
type Answered = (Arc<[u8]>, i64, i64);

#[derive(Default)]
struct Inner {
    now: u64,
    revision: i64,
    keys: BTreeMap<String, Answered>,
    /// The keys at earlier revisions, as long as these are not compacted.
    past: BTreeMap<i64, BTreeMap<String, Answered>>,
    /// By number: the time of expiry, and the duration.
    leases: BTreeMap<i64, (u64, u64)>,
    /// `true` while its space is used up (the alarm `NOSPACE`).
    is_full: bool,
    /// Transactions in transit, with their times of arrival.
    late: Vec<(u64, Vec<Compare>, Vec<Op>)>,
}

/// State shared by all controllers.
#[derive(Clone, Default)]
pub(crate) struct World(Arc<Mutex<Inner>>);

impl World {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }

    pub(crate) fn now(&self) -> u64 {
        self.inner().now
    }

    /// Lets time pass: leases expire, and transactions in transit arrive.
    pub(crate) fn pass(&self, nanos: u64) {
        let mut inner = self.inner();
        inner.now += nanos;
        let now = inner.now;
        inner.late.sort_by_key(|late| late.0);
        while inner.late.first().is_some_and(|late| late.0 <= now) {
            let (at, compares, then) = inner.late.remove(0);
            inner.expire(at);
            inner.transact(&compares, &then);
        }
        inner.expire(now);
    }

    /// Returns the value of a key.
    pub(crate) fn value(&self, key: &str) -> Option<Vec<u8>> {
        self.inner().keys.get(key).map(|found| found.0.to_vec())
    }

    /// Deletes keys, from one up to another.
    pub(crate) fn delete(&self, from: &str, to: &str) {
        self.inner().transact(&[], &[Op::Delete { from: from.to_owned(), to: to.to_owned() }]);
    }

    /// Compacts: drops all revisions but the present one.
    pub(crate) fn compact(&self) {
        self.inner().past.clear();
    }

    /// It takes nothing more, or there is space again.
    pub(crate) fn fill(&self, is_full: bool) {
        self.inner().is_full = is_full;
    }

    /// The keys as they are, for a restore.
    pub(crate) fn saved(&self) -> Saved {
        Saved(self.inner().keys.clone())
    }

    /// Restores an older state.
    pub(crate) fn restore(&self, saved: &Saved) {
        let mut inner = self.inner();
        inner.keep();
        inner.keys = saved.0.clone();
    }

    pub(crate) fn link(&self, seed: u64) -> Link {
        Link { world: self.clone(), dice: Dice::new(seed), faults: Arc::default() }
    }
}

/// An older state of the keys.
pub(crate) struct Saved(BTreeMap<String, Answered>);

impl Inner {
    /// The next revision begins.
    fn keep(&mut self) {
        self.past.insert(self.revision, self.keys.clone());
        if self.past.len() > KEPT {
            self.past.pop_first();
        }
        self.revision += 1;
    }

    fn range(&self, KeyRange { from, to, most }: &KeyRange, revision: i64) -> Result<Range, EtcdError> {
        let keys = match revision {
            NOW => &self.keys,
            at if at == self.revision => &self.keys,
            at => self.past.get(&at).ok_or_else(|| EtcdError::Compacted(at.to_string()))?,
        };
        let found = keys.range(from.to_owned()..to.to_owned());
        let key = |(key, found): (&String, &Answered)| KeyValue {
            key: key.clone(),
            value: found.0.to_vec(),
            revision: found.1,
        };
        let mut keys: Vec<KeyValue> = found.map(key).collect();
        let is_cut = keys.len() > *most;
        keys.truncate(*most);
        Ok(Range { keys, is_cut, revision: if revision == NOW { self.revision } else { revision } })
    }

    fn expire(&mut self, now: u64) {
        let ended: Vec<i64> = self.leases.iter().filter(|(_, lease)| lease.0 <= now).map(|(&id, _)| id).collect();
        for lease in ended {
            self.end(lease);
        }
    }

    fn end(&mut self, lease: i64) {
        self.leases.remove(&lease);
        self.keep();
        self.keys.retain(|_, key| key.2 != lease);
    }

    fn transact(&mut self, compares: &[Compare], then: &[Op]) -> TransactionResult {
        let is_so = |compare: &Compare| match compare {
            Compare::Revision(key, revision) => self.keys.get(key).is_some_and(|found| found.1 == *revision),
            Compare::Value(key, value) => self.keys.get(key).is_some_and(|found| *found.0 == **value),
            Compare::Missing(key) => !self.keys.contains_key(key),
        };
        let is_carried_out = compares.iter().all(is_so);
        if is_carried_out {
            self.keep();
            for op in then {
                match op {
                    Op::Put { key, value, lease } => {
                        self.keys.insert(key.clone(), (value.as_slice().into(), self.revision, *lease));
                    }
                    Op::Delete { from, to } => self.keys.retain(|key, _| key < from || key >= to),
                }
            }
        }
        TransactionResult { is_carried_out, revision: self.revision }
    }
}

/// Faults of the link of one controller.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// Nothing gets through.
    pub(crate) is_cut: bool,
    /// Average number of requests per fault: a request or its answer is lost, or arrives late; 0 is none.
    pub(crate) one_in: u64,
}

/// Link of one controller.
#[derive(Clone)]
pub(crate) struct Link {
    world: World,
    dice: Dice,
    pub(crate) faults: Arc<Mutex<Faults>>,
}

impl Link {
    /// Determines the fate of a request; returns `true` if its answer arrives as well.
    fn link_state(&mut self) -> Result<bool, EtcdError> {
        self.world.pass(1 + self.dice.below(2_000_000));
        let faults = self.faults.lock().unwrap();
        let is_wrong = faults.one_in > 0 && self.dice.one_in(faults.one_in);
        if faults.is_cut || is_wrong && self.dice.one_in(2) {
            return Err(EtcdError::Unreachable("cut".to_owned()));
        }
        Ok(!is_wrong)
    }

    fn answer<T>(is_delivered: bool, answer: T) -> Result<T, EtcdError> {
        if is_delivered { Ok(answer) } else { Err(EtcdError::Unknown("lost".to_owned())) }
    }
}

impl Etcd for Link {
    fn transact(&mut self, compares: &[Compare], then: &[Op]) -> Result<TransactionResult, EtcdError> {
        let is_delivered = self.link_state()?;
        let mut inner = self.world.inner();
        if !is_delivered && self.dice.one_in(2) {
            let at = inner.now + self.dice.below(8_000_000_000);
            inner.late.push((at, compares.to_vec(), then.to_vec()));
            return Err(EtcdError::Unknown("late".to_owned()));
        }
        let has_lease = |op: &Op| match op {
            Op::Put { lease, .. } => *lease == 0 || inner.leases.contains_key(lease),
            Op::Delete { .. } => true,
        };
        if inner.is_full && then.iter().any(|op| matches!(op, Op::Put { .. })) {
            return Err(EtcdError::Refused("mvcc: database space exceeded".to_owned()));
        }
        if !then.iter().all(has_lease) {
            return Err(EtcdError::Refused("requested lease not found".to_owned()));
        }
        Self::answer(is_delivered, inner.transact(compares, then))
    }

    fn read(&mut self, queries: &[KeyRange]) -> Result<Vec<Range>, EtcdError> {
        let is_delivered = self.link_state()?;
        let inner = self.world.inner();
        let ranges = queries.iter().map(|query| inner.range(query, NOW)).collect::<Result<_, _>>()?;
        Self::answer(is_delivered, ranges)
    }

    fn range_at(&mut self, query: &KeyRange, revision: i64) -> Result<Range, EtcdError> {
        let is_delivered = self.link_state()?;
        let range = self.world.inner().range(query, revision)?;
        Self::answer(is_delivered, range)
    }

    fn grant(&mut self, seconds: u32) -> Result<i64, EtcdError> {
        let is_delivered = self.link_state()?;
        let mut inner = self.world.inner();
        let number = inner.leases.keys().max().unwrap_or(&0) + 1 + inner.revision;
        let (now, lasts) = (inner.now, u64::from(seconds) * 1_000_000_000);
        inner.leases.insert(number, (now + lasts, lasts));
        Self::answer(is_delivered, number)
    }

    fn keep_alive(&mut self, lease: i64) -> Result<bool, EtcdError> {
        let is_delivered = self.link_state()?;
        let mut inner = self.world.inner();
        let now = inner.now;
        let found = inner.leases.get_mut(&lease).map(|lease| lease.0 = now + lease.1);
        Self::answer(is_delivered, found.is_some())
    }

    fn revoke(&mut self, lease: i64) -> Result<(), EtcdError> {
        let is_delivered = self.link_state()?;
        self.world.inner().end(lease);
        Self::answer(is_delivered, ())
    }

    fn compact(&mut self, revision: i64) -> Result<(), EtcdError> {
        let is_delivered = self.link_state()?;
        self.world.inner().past.retain(|&at, _| at >= revision);
        Self::answer(is_delivered, ())
    }
}
