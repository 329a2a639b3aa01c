//! A model of etcd in memory, with a clock of its own, and ways to it that lose and delay.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};

use wayleave_replica::{Compare, Done, Etcd, EtcdError, KeyValue, Op, Range};

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

#[derive(Default)]
struct Inner {
    now: u64,
    revision: i64,
    keys: BTreeMap<String, (Vec<u8>, i64, i64)>,
    /// By number: until when, and for how long.
    leases: BTreeMap<i64, (u64, u64)>,
    /// Transactions that are still on their way, with when they arrive.
    late: Vec<(u64, Vec<Compare>, Vec<Op>)>,
}

/// What all see.
#[derive(Clone, Default)]
pub(crate) struct World(Arc<Mutex<Inner>>);

impl World {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap()
    }

    pub(crate) fn now(&self) -> u64 {
        self.inner().now
    }

    /// Lets time pass: leases end, and what was on its way arrives.
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

    /// What a key says.
    pub(crate) fn value(&self, key: &str) -> Option<Vec<u8>> {
        self.inner().keys.get(key).map(|found| found.0.clone())
    }

    pub(crate) fn link(&self, seed: u64) -> Link {
        Link { world: self.clone(), dice: Dice::new(seed), faults: Arc::default() }
    }
}

impl Inner {
    fn expire(&mut self, now: u64) {
        let ended: Vec<i64> = self.leases.iter().filter(|(_, lease)| lease.0 <= now).map(|(&id, _)| id).collect();
        for lease in ended {
            self.end(lease);
        }
    }

    fn end(&mut self, lease: i64) {
        self.leases.remove(&lease);
        self.revision += 1;
        self.keys.retain(|_, key| key.2 != lease);
    }

    fn transact(&mut self, compares: &[Compare], then: &[Op]) -> Done {
        let is_so = |compare: &Compare| match compare {
            Compare::Revision(key, revision) => self.keys.get(key).is_some_and(|found| found.1 == *revision),
            Compare::Value(key, value) => self.keys.get(key).is_some_and(|found| found.0 == *value),
            Compare::Missing(key) => !self.keys.contains_key(key),
        };
        let is_carried_out = compares.iter().all(is_so);
        if is_carried_out {
            self.revision += 1;
            for op in then {
                match op {
                    Op::Put { key, value, lease } => {
                        self.keys.insert(key.clone(), (value.clone(), self.revision, *lease));
                    }
                    Op::Delete { from, to } => self.keys.retain(|key, _| key < from || key >= to),
                }
            }
        }
        Done { is_carried_out, revision: self.revision }
    }
}

/// What goes wrong on the way of one controller.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    /// Nothing gets through.
    pub(crate) is_cut: bool,
    /// One question in so many is lost, or its answer, or it comes late; 0 is none.
    pub(crate) one_in: u64,
}

/// The way of one controller.
#[derive(Clone)]
pub(crate) struct Link {
    world: World,
    dice: Dice,
    pub(crate) faults: Arc<Mutex<Faults>>,
}

impl Link {
    /// Whether a question gets through, and its answer.
    fn ways(&mut self) -> Result<bool, EtcdError> {
        self.world.pass(1 + self.dice.below(2_000_000));
        let faults = self.faults.lock().unwrap();
        let is_wrong = faults.one_in > 0 && self.dice.one_in(faults.one_in);
        if faults.is_cut || is_wrong && self.dice.one_in(2) {
            return Err(EtcdError::Unreachable("cut".to_owned()));
        }
        Ok(!is_wrong)
    }

    fn answer<T>(is_heard: bool, answer: T) -> Result<T, EtcdError> {
        if is_heard { Ok(answer) } else { Err(EtcdError::Unknown("lost".to_owned())) }
    }
}

impl Etcd for Link {
    fn transact(&mut self, compares: &[Compare], then: &[Op]) -> Result<Done, EtcdError> {
        let is_heard = self.ways()?;
        let mut inner = self.world.inner();
        if !is_heard && self.dice.one_in(2) {
            let at = inner.now + self.dice.below(8_000_000_000);
            inner.late.push((at, compares.to_vec(), then.to_vec()));
            return Err(EtcdError::Unknown("late".to_owned()));
        }
        let has_lease = |op: &Op| match op {
            Op::Put { lease, .. } => *lease == 0 || inner.leases.contains_key(lease),
            Op::Delete { .. } => true,
        };
        if !then.iter().all(has_lease) {
            return Err(EtcdError::Refused("requested lease not found".to_owned()));
        }
        Self::answer(is_heard, inner.transact(compares, then))
    }

    fn range(&mut self, from: &str, to: &str, most: usize) -> Result<Range, EtcdError> {
        let is_heard = self.ways()?;
        let inner = self.world.inner();
        let found = inner.keys.range(from.to_owned()..to.to_owned());
        let key = |(key, found): (&String, &(Vec<u8>, i64, i64))| KeyValue {
            key: key.clone(),
            value: found.0.clone(),
            revision: found.1,
        };
        let mut keys: Vec<KeyValue> = found.map(key).collect();
        let is_cut = keys.len() > most;
        keys.truncate(most);
        Self::answer(is_heard, Range { keys, is_cut, revision: inner.revision })
    }

    fn grant(&mut self, seconds: u32) -> Result<i64, EtcdError> {
        let is_heard = self.ways()?;
        let mut inner = self.world.inner();
        let number = inner.leases.keys().max().unwrap_or(&0) + 1 + inner.revision;
        let (now, lasts) = (inner.now, u64::from(seconds) * 1_000_000_000);
        inner.leases.insert(number, (now + lasts, lasts));
        Self::answer(is_heard, number)
    }

    fn keep_alive(&mut self, lease: i64) -> Result<bool, EtcdError> {
        let is_heard = self.ways()?;
        let mut inner = self.world.inner();
        let now = inner.now;
        let found = inner.leases.get_mut(&lease).map(|lease| lease.0 = now + lease.1);
        Self::answer(is_heard, found.is_some())
    }

    fn revoke(&mut self, lease: i64) -> Result<(), EtcdError> {
        let is_heard = self.ways()?;
        self.world.inner().end(lease);
        Self::answer(is_heard, ())
    }

    fn compact(&mut self, _: i64) -> Result<(), EtcdError> {
        let is_heard = self.ways()?;
        Self::answer(is_heard, ())
    }
}
