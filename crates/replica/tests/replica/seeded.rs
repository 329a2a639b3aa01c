//! Three controllers in a seeded world: they are paused, cut off, killed and wake up; questions, answers and transactions are lost and come late. What their clients saw is
//! linearizable. `WAYLEAVE_SEED=N cargo test -p wayleave-replica seeded` repeats one world, and `WAYLEAVE_WORLDS=N` tries more.

use std::sync::Arc;

use wayleave_replica::{Lease, LogError, Member, Settings, Standing, State};
use wayleave_store::{Change, Record};

use crate::model::{Dice, Link, World};
use wayleave_faults::linearizable::{Did, Operation, violation};

/// Steps of a world, and the keys that its clients use.
const STEPS: u64 = 400;
const KEYS: u64 = 8;
/// Seconds of a lease.
const LEASE: u32 = 3;
const SECOND: u64 = 1_000_000_000;

/// A mistake that somebody could make, for tests of the checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Planted {
    Nothing,
    /// A leader answers reads without looking whether its lease is good.
    StaleReads,
    /// A write without an answer from etcd is acknowledged.
    LostWrites,
}

struct Node {
    member: Member<Link>,
    link: Link,
    leads: bool,
    /// It does nothing until then.
    sleeps: u64,
    /// What is on its disk.
    disk: (State, u64),
}

struct Run {
    world: World,
    dice: Dice,
    nodes: Vec<Node>,
    history: Vec<Operation>,
    /// Counts operations, so that each has times of its own.
    clock: u64,
    planted: Planted,
    fail_overs: u64,
    started: u64,
}

fn settings(id: String) -> Settings {
    Settings { cluster: "test".to_owned(), address: format!("http://{id}"), id, lease_s: LEASE }
}

fn name(key: u64) -> String {
    format!("tenant:{key}")
}

impl Run {
    fn new(seed: u64, planted: Planted) -> Self {
        let (world, mut dice) = (World::default(), Dice::new(seed));
        let nodes = (0..3).map(|number| Self::node(&world, &mut dice, number, (State::new(), 0))).collect();
        Self { world, dice, nodes, history: Vec::new(), clock: 0, planted, fail_overs: 0, started: 3 }
    }

    fn node(world: &World, dice: &mut Dice, number: u64, disk: (State, u64)) -> Node {
        let link = world.link(dice.below(u64::MAX));
        let member = Member::new(link.clone(), settings(format!("c{number}")), Lease::default(), disk.clone());
        Node { member, link, leads: false, sleeps: 0, disk }
    }

    fn run(mut self) -> (Vec<Operation>, u64) {
        for _ in 0..STEPS {
            self.world.pass(self.dice.below(SECOND / 2));
            self.fault();
            for at in 0..self.nodes.len() {
                if self.nodes[at].sleeps <= self.world.now() {
                    self.act(at);
                }
            }
        }
        (self.history, self.fail_overs)
    }

    fn fault(&mut self) {
        let (at, now) = (self.dice.below(3) as usize, self.world.now());
        match self.dice.below(40) {
            0 | 1 => self.nodes[at].sleeps = now + self.dice.below(10 * SECOND),
            2 => self.nodes[at].link.faults.lock().unwrap().is_cut = true,
            3..6 => self.nodes[at].link.faults.lock().unwrap().is_cut = false,
            6 => self.nodes[at].link.faults.lock().unwrap().one_in = 2 + self.dice.below(20),
            7..10 => self.nodes[at].link.faults.lock().unwrap().one_in = 0,
            10 => {
                // Killed, and started again: another process, with what was on its disk, or with a new one.
                let is_new = self.dice.one_in(3);
                let disk = if is_new { (State::new(), 0) } else { self.nodes[at].disk.clone() };
                self.nodes[at] = Self::node(&self.world, &mut self.dice, self.started, disk);
                self.started += 1;
            }
            _ => {}
        }
    }

    fn act(&mut self, at: usize) {
        let now = self.world.now();
        let Node { member, link, leads, disk, .. } = &mut self.nodes[at];
        // The thread that prolongs the lease.
        let lease = member.lease();
        let _ = lease.keep(&mut link.clone(), LEASE, now);
        if !*leads {
            let mut on_batch = |number: u64, changes: &[Change]| -> Result<(), LogError> {
                assert!(number > disk.1, "batch {number} comes after {}", disk.1);
                for change in changes {
                    match change {
                        Change::Put(Record { kind, key, body }) => {
                            disk.0.insert((kind.to_string(), key.clone()), body.clone());
                        }
                        Change::Delete { kind, key } => {
                            disk.0.remove(&(kind.to_string(), key.clone()));
                        }
                    }
                }
                disk.1 = number;
                Ok(())
            };
            if let Ok(standing) = member.follow(now, &mut on_batch) {
                *leads = standing == Standing::Leads;
                self.fail_overs += u64::from(*leads);
                assert_eq!((member.state(), member.number()), (&disk.0, disk.1), "what was told is what it knows");
            }
        }
        for _ in 0..self.dice.below(4) {
            if self.dice.one_in(2) { self.write(at) } else { self.read(at) }
        }
        let node = &mut self.nodes[at];
        if node.leads && self.dice.one_in(10) && node.member.tidy(true).is_err() {
            node.leads = false;
        }
        let node = &mut self.nodes[at];
        if node.leads && self.dice.one_in(30) {
            node.leads = false;
            let _ = node.member.resign();
        }
    }

    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    fn write(&mut self, at: usize) {
        if !self.nodes[at].leads {
            return;
        }
        let key = self.dice.below(KEYS);
        let value = (!self.dice.one_in(3)).then(|| self.clock + 1);
        let change = match value {
            Some(value) => Change::Put(Record::new("contract", name(key), value.to_string())),
            None => Change::delete("contract", name(key)),
        };
        let called = self.tick();
        let Node { member, leads, disk, .. } = &mut self.nodes[at];
        let done = member.commit(std::slice::from_ref(&change));
        match &done {
            Ok(number) => *disk = (member.state().clone(), *number),
            Err(_) => *leads = false,
        }
        let answered = match done {
            Ok(_) => Some(self.tick()),
            Err(LogError::Deposed) if self.planted != Planted::LostWrites => return,
            Err(_) if self.planted == Planted::LostWrites => Some(self.tick()),
            Err(_) => None,
        };
        self.history.push(Operation { key: key as usize, did: Did::Wrote(value), called, answered });
    }

    fn read(&mut self, at: usize) {
        let (key, called) = (self.dice.below(KEYS), self.tick());
        let Node { member, leads, .. } = &self.nodes[at];
        let is_good = member.lease().is_good(self.world.now()) || self.planted == Planted::StaleReads;
        if !(*leads && is_good) {
            return;
        }
        let found: Option<&Arc<str>> = member.state().get(&("contract".to_owned(), name(key)));
        let did = Did::Read(found.map(|text| text.parse().unwrap()));
        let answered = Some(self.tick());
        self.history.push(Operation { key: key as usize, did, called, answered });
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn what_clients_see_is_linearizable() {
    let worlds = number("WAYLEAVE_WORLDS").unwrap_or(150);
    let seeds = number("WAYLEAVE_SEED").map_or(1..worlds + 1, |seed| seed..seed + 1);
    let (mut operations, mut fail_overs, mut unanswered) = (0, 0, 0);
    for seed in seeds.clone() {
        let (history, count) = Run::new(seed, Planted::Nothing).run();
        if let Some((key, of_key)) = violation(&history) {
            panic!("WAYLEAVE_SEED={seed}: key {key} has no order: {of_key:#?}");
        }
        unanswered += history.iter().filter(|one| one.answered.is_none()).count();
        (operations, fail_overs) = (operations + history.len() as u64, fail_overs + count);
    }
    let worlds = seeds.end - seeds.start;
    println!("{worlds} worlds: {operations} operations, {unanswered} of them without an answer, {fail_overs} leaders");
    assert!(operations > 50 * worlds && fail_overs > 2 * worlds, "{operations} operations, {fail_overs} leaders");
}

#[test]
fn planted_mistakes_are_found() {
    for planted in [Planted::StaleReads, Planted::LostWrites] {
        let found = (1..=60).find(|&seed| violation(&Run::new(seed, planted).run().0).is_some());
        assert!(found.is_some(), "{planted:?} is not seen in 60 worlds");
    }
}
