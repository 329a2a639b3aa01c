//! Three controllers in a seeded world: they are paused, cut off, killed and resumed; requests, answers and
//! transactions are lost and delayed; etcd is compacted, and full for some time. Client histories are linearizable,
//! at most one controller is ready at a time, and no key is reported as damaged. `WAYLEAVE_SEED=N cargo test -p
//! wayleave-replica seeded` repeats one world, and `WAYLEAVE_WORLDS=N` tries more.

use std::sync::Arc;

use wayleave_replica::{
    ClusterConfig, ClusterMember, ConfigMismatch, ConfigPart, Lease, LogError, MemberRole, Settings, State,
};
use wayleave_store::{CommitStep, StoredRecord};

use crate::model::{Dice, Link, World};
use wayleave_faults::linearizable::{ClientOperation, RegisterOperation, violation};

/// Steps of a world, and the keys that its clients use.
const STEPS: u64 = 400;
const KEYS: u64 = 8;
/// Seconds of a lease.
const LEASE: u32 = 3;
const SECOND: u64 = 1_000_000_000;

/// Returns the configuration of controllers: another one for each number.
fn basis(number: u64) -> ClusterConfig {
    let part = ConfigPart { name: "topology".to_owned(), hash: number.to_string(), summary: Vec::new() };
    ClusterConfig { fingerprint: format!("f{number}"), parts: vec![part] }
}

/// A planted mistake, for tests of the checker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Planted {
    Nothing,
    /// A leader answers reads without looking whether its lease is good.
    StaleReads,
    /// A write without an answer from etcd is acknowledged.
    LostWrites,
}

struct Node {
    member: ClusterMember<Link>,
    link: Link,
    leads: bool,
    /// Number of its configuration.
    basis: u64,
    /// It does nothing until then.
    sleeps: u64,
    /// Content of its disk.
    disk: (State, u64),
}

struct Run {
    world: World,
    dice: Dice,
    nodes: Vec<Node>,
    history: Vec<ClientOperation>,
    /// Counts operations, so that each has times of its own.
    clock: u64,
    planted: Planted,
    fail_overs: u64,
    started: u64,
    /// `true` if controllers are started with another configuration.
    has_others: bool,
    /// Times that a controller took no part, and that the basis was replaced.
    barred: u64,
    replaced: u64,
}

fn settings(id: String, of: u64, replaces: Option<String>) -> Settings {
    let (cluster, address) = ("test".to_owned(), format!("http://{id}"));
    Settings { cluster, address, id, lease_s: LEASE, basis: Some(basis(of)), replaces }
}

fn name(key: u64) -> String {
    format!("tenant:{key}")
}

impl Run {
    fn new(seed: u64, planted: Planted) -> Self {
        let (world, mut dice) = (World::default(), Dice::new(seed));
        let node = |number| Self::node(&world, &mut dice, (number, 0, None), (State::new(), 0));
        let nodes = (0..3).map(node).collect();
        Self {
            world,
            dice,
            nodes,
            history: Vec::new(),
            clock: 0,
            planted,
            fail_overs: 0,
            started: 3,
            has_others: seed.is_multiple_of(3),
            barred: 0,
            replaced: 0,
        }
    }

    fn node(
        world: &World,
        dice: &mut Dice,
        (number, basis, replaces): (u64, u64, Option<String>),
        disk: (State, u64),
    ) -> Node {
        let link = world.link(dice.below(u64::MAX));
        let settings = settings(format!("c{number}"), basis, replaces);
        let member = ClusterMember::new(link.clone(), settings, Lease::default(), disk.clone());
        Node { member, link, leads: false, basis, sleeps: 0, disk }
    }

    /// Returns the configuration of the cluster.
    fn cluster(world: &World) -> Option<ClusterConfig> {
        world.value("/wayleave/test/basis").map(|text| serde_json::from_slice(&text).unwrap())
    }

    fn run(mut self) -> Self {
        for _ in 0..STEPS {
            self.world.pass(self.dice.below(SECOND / 2));
            self.fault();
            for at in 0..self.nodes.len() {
                if self.nodes[at].sleeps <= self.world.now() {
                    self.act(at);
                    self.check_readiness();
                }
            }
        }
        self
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
                // The controller is killed and started again: another process, with its old disk or with a new one.
                let is_new = self.dice.one_in(3);
                let disk = if is_new { (State::new(), 0) } else { self.nodes[at].disk.clone() };
                // With the network that the others have, or with another one, which may replace theirs.
                let basis = if self.has_others { self.dice.below(2) } else { 0 };
                let replaces = self.dice.one_in(2).then(|| format!("f{}", 1 - basis));
                let about = (self.started, basis, replaces);
                self.nodes[at] = Self::node(&self.world, &mut self.dice, about, disk);
                self.started += 1;
            }
            11 => self.world.compact(),
            12 => self.world.fill(true),
            13..17 => self.world.fill(false),
            _ => {}
        }
    }

    /// Checks that at most one controller at a time reports that it leads and is up to date.
    fn check_readiness(&self) {
        let now = self.world.now();
        let ready = self.nodes.iter().filter(|node| node.leads && node.member.lease().is_good(now)).count();
        assert!(ready <= 1, "{ready} controllers are ready at {now}");
    }

    fn act(&mut self, at: usize) {
        let now = self.world.now();
        let Node { member, link, leads, disk, basis: own, .. } = &mut self.nodes[at];
        let own = basis(*own);
        // The thread that prolongs the lease.
        let lease = member.lease();
        let _ = lease.keep(&mut link.clone(), LEASE, now);
        if !*leads {
            let mut on_batch = |number: u64, changes: &[CommitStep]| -> Result<(), LogError> {
                assert!(number > disk.1, "batch {number} comes after {}", disk.1);
                for change in changes {
                    match change {
                        CommitStep::Put(StoredRecord { kind, key, body }) => {
                            disk.0.insert((kind.to_string(), key.clone()), body.clone());
                        }
                        CommitStep::Delete { kind, key } => {
                            disk.0.remove(&(kind.to_string(), key.clone()));
                        }
                    }
                }
                disk.1 = number;
                Ok(())
            };
            let dice = &mut self.dice;
            let mut fits = |_: &State| if dice.one_in(4) { Err("it does not fit".to_owned()) } else { Ok(()) };
            let before = Self::cluster(&self.world);
            let followed = member.follow(now, &mut on_batch, &mut fits);
            // No event in these worlds damages the content of etcd.
            assert!(!matches!(followed, Err(LogError::Damaged { .. })), "{followed:?}");
            if let Ok(contract_named) = followed {
                *leads = contract_named == MemberRole::Leads;
                self.fail_overs += u64::from(*leads);
                assert_eq!((member.state(), member.number()), (&disk.0, disk.1), "what was told is what it knows");
                let after = Self::cluster(&self.world);
                match contract_named {
                    MemberRole::Leads if lease.is_good(self.world.now()) => {
                        assert_eq!(after.as_ref(), Some(&own), "who leads decides with what the cluster has");
                        self.replaced += u64::from(before.is_some_and(|before| before != own));
                    }
                    MemberRole::Follows(Some(_)) => {
                        // The configuration may change during the check.
                        let judged = before == Some(own.clone()) || after == Some(own);
                        assert!(judged, "a follower shows what it cannot judge");
                    }
                    MemberRole::Barred(bar) => {
                        let is_other = |basis: Option<ClusterConfig>| basis.is_some_and(|basis| basis != own);
                        assert!(is_other(before) || is_other(after), "barred without a difference: {bar:?}");
                        self.barred += u64::from(matches!(bar, ConfigMismatch::Differs(_)));
                    }
                    _ => {}
                }
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
            Some(value) => CommitStep::Put(StoredRecord::new("contract", name(key), value.to_string())),
            None => CommitStep::delete("contract", name(key)),
        };
        let called = self.tick();
        let Node { member, leads, disk, basis: own, .. } = &mut self.nodes[at];
        let done = member.commit(std::slice::from_ref(&change));
        match &done {
            Ok(number) => {
                *disk = (member.state().clone(), *number);
                assert_eq!(Self::cluster(&self.world), Some(basis(*own)), "a batch by what the cluster does not have");
            }
            Err(_) => *leads = false,
        }
        let answered = match done {
            Ok(_) => Some(self.tick()),
            Err(LogError::Deposed) if self.planted != Planted::LostWrites => return,
            Err(_) if self.planted == Planted::LostWrites => Some(self.tick()),
            Err(_) => None,
        };
        self.history.push(ClientOperation {
            key: key as usize,
            did: RegisterOperation::Wrote(value),
            called,
            answered,
        });
    }

    fn read(&mut self, at: usize) {
        let (key, called) = (self.dice.below(KEYS), self.tick());
        let Node { member, leads, .. } = &self.nodes[at];
        let is_good = member.lease().is_good(self.world.now()) || self.planted == Planted::StaleReads;
        if !(*leads && is_good) {
            return;
        }
        let found: Option<&Arc<str>> = member.state().get(&("contract".to_owned(), name(key)));
        let did = RegisterOperation::Read(found.map(|text| text.parse().unwrap()));
        let answered = Some(self.tick());
        self.history.push(ClientOperation { key: key as usize, did, called, answered });
    }
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn histories_of_clients_are_linearizable() {
    let worlds = number("WAYLEAVE_WORLDS").unwrap_or(150);
    let seeds = number("WAYLEAVE_SEED").map_or(1..worlds + 1, |seed| seed..seed + 1);
    let (mut operations, mut fail_overs, mut unanswered) = (0, 0, 0);
    let (mut barred, mut replaced) = (0, 0);
    for seed in seeds.clone() {
        let Run { history, fail_overs: count, barred: of_world, replaced: in_world, .. } =
            Run::new(seed, Planted::Nothing).run();
        (barred, replaced) = (barred + of_world, replaced + in_world);
        if let Some((key, of_key)) = violation(&history) {
            panic!("WAYLEAVE_SEED={seed}: key {key} has no order: {of_key:#?}");
        }
        unanswered += history.iter().filter(|one| one.answered.is_none()).count();
        (operations, fail_overs) = (operations + history.len() as u64, fail_overs + count);
    }
    let worlds = seeds.end - seeds.start;
    println!("{worlds} worlds: {operations} operations, {unanswered} of them without an answer, {fail_overs} leaders");
    println!("{barred} times barred, {replaced} times the network was replaced");
    assert!(worlds == 1 || replaced > worlds / 10 && barred > worlds / 3, "{replaced} replaced, {barred} barred");
    assert!(operations > 50 * worlds && fail_overs > 2 * worlds, "{operations} operations, {fail_overs} leaders");
}

#[test]
fn planted_faults_are_found() {
    for planted in [Planted::StaleReads, Planted::LostWrites] {
        let found = (1..=60).find(|&seed| violation(&Run::new(seed, planted).run().history).is_some());
        assert!(found.is_some(), "{planted:?} is not seen in 60 worlds");
    }
}
