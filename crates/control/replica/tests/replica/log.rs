//! Controllers that read the log while others write it, and keys that etcd has lost.

use std::sync::{Arc, Mutex};

use wayleave_replica::{
    ClusterMember, Compare, Etcd, EtcdError, KeyRange, Lease, LogError, MemberRole, Op, Range, Settings, State,
    TransactionResult,
};
use wayleave_store::{CommitStep, StoredRecord};

use crate::model::{Link, World};

/// Hook before each request of a controller.
type Before = Box<dyn FnMut() + Send>;

/// An etcd in which something happens before each question of a controller; how many questions there were.
struct Busy {
    link: Link,
    before: Before,
    questions: Arc<Mutex<usize>>,
}

impl Busy {
    fn asked(&mut self) -> &mut Link {
        *self.questions.lock().unwrap() += 1;
        (self.before)();
        &mut self.link
    }
}

impl Etcd for Busy {
    fn transact(&mut self, compares: &[Compare], then: &[Op]) -> Result<TransactionResult, EtcdError> {
        self.asked().transact(compares, then)
    }

    fn read(&mut self, queries: &[KeyRange]) -> Result<Vec<Range>, EtcdError> {
        self.asked().read(queries)
    }

    fn range_at(&mut self, query: &KeyRange, revision: i64) -> Result<Range, EtcdError> {
        self.asked().range_at(query, revision)
    }

    fn grant(&mut self, seconds: u32) -> Result<i64, EtcdError> {
        self.asked().grant(seconds)
    }

    fn keep_alive(&mut self, lease: i64) -> Result<bool, EtcdError> {
        self.asked().keep_alive(lease)
    }

    fn revoke(&mut self, lease: i64) -> Result<(), EtcdError> {
        self.asked().revoke(lease)
    }

    fn compact(&mut self, revision: i64) -> Result<(), EtcdError> {
        self.asked().compact(revision)
    }
}

fn member<E: Etcd>(etcd: E, id: &str, disk: (State, u64)) -> ClusterMember<E> {
    let settings = Settings {
        cluster: "test".to_owned(),
        id: id.to_owned(),
        address: format!("http://{id}"),
        // The clock of a world advances with each request.
        lease_s: 1_000_000,
        basis: None,
        replaces: None,
    };
    ClusterMember::new(etcd, settings, Lease::default(), disk)
}

fn follow<E: Etcd>(member: &mut ClusterMember<E>) -> Result<MemberRole, LogError> {
    member.follow(0, &mut |_, _| Ok(()), &mut |_| Ok(()))
}

fn change(key: u64) -> CommitStep {
    CommitStep::Put(StoredRecord::new("contract", format!("k{}", key % 50), key.to_string()))
}

/// Returns a leader that has written this number of batches.
fn leader(world: &World, batches: u64) -> ClusterMember<Link> {
    let mut leader = member(world.link(1), "leader", (State::new(), 0));
    assert_eq!(follow(&mut leader).unwrap(), MemberRole::Leads);
    for key in 0..batches {
        leader.commit(&[change(key)]).unwrap();
    }
    leader
}

#[test]
fn a_leader_with_frequent_writes_does_not_prevent_a_follower_from_starting() {
    // With snapshots, of which some are replaced before they are read, and with a client that compacts etcd before
    // every request.
    for (snapshot_every, compacts) in [(u64::MAX, false), (7, false), (u64::MAX, true), (20, true)] {
        let world = World::default();
        let mut leader = leader(&world, 100);
        let (at, mut batch) = (world.clone(), 0);
        let before = move || {
            for _ in 0..5 {
                batch += 1;
                leader.commit(&[change(batch)]).unwrap();
                if batch % snapshot_every == 0 {
                    leader.tidy(true).unwrap();
                }
            }
            if compacts {
                at.compact();
            }
        };
        let questions = Arc::default();
        let busy = Busy { link: world.link(2), before: Box::new(before), questions: Arc::clone(&questions) };
        let mut late = member(busy, "late", (State::new(), 0));
        let mut reported = Vec::new();
        let contract_named = late
            .follow(
                0,
                &mut |number, _| {
                    reported.push(number);
                    Ok(())
                },
                &mut |_| Ok(()),
            )
            .unwrap();
        assert!(
            matches!(&contract_named, MemberRole::Follows(Some(leader)) if leader.id == "leader"),
            "{contract_named:?}"
        );
        assert!(late.number() >= 100 && reported.is_sorted(), "{}: {reported:?}", late.number());
        let asked = *questions.lock().unwrap();
        assert!(asked <= 12, "{asked} questions, snapshots every {snapshot_every} batches");
    }
}

#[test]
fn new_entries_take_one_request_for_any_amount() {
    let world = World::default();
    let mut leader = leader(&world, 1);
    let questions = Arc::default();
    let busy = Busy { link: world.link(2), before: Box::new(|| {}), questions: Arc::clone(&questions) };
    let mut follower = member(busy, "follower", (State::new(), 0));
    follow(&mut follower).unwrap();
    *questions.lock().unwrap() = 0;
    follow(&mut follower).unwrap();
    assert_eq!(*questions.lock().unwrap(), 1, "nothing is new");
    for key in 0..30 {
        leader.commit(&[change(key)]).unwrap();
    }
    follow(&mut follower).unwrap();
    assert_eq!(*questions.lock().unwrap(), 2);
    assert_eq!((follower.state(), follower.number()), (leader.state(), leader.number()));
    for key in 0..3_000 {
        leader.commit(&[change(key)]).unwrap();
    }
    *questions.lock().unwrap() = 0;
    follow(&mut follower).unwrap();
    let asked = *questions.lock().unwrap();
    assert!(asked <= 8, "{asked} questions: pages grow where batches are small");
    assert_eq!((follower.state(), follower.number()), (leader.state(), leader.number()));
}

#[test]
fn missing_entries_are_named_and_no_others() {
    let key = |name: &str| format!("/wayleave/test/{name}");
    let entry = |number: u64| key(&format!("log/{number:020}"));
    let lost = |from: String| (from.clone(), format!("{from}\0"));
    // Each case: deleted keys, `true` if after a snapshot, the number known to the controller, and the result.
    let cases = [
        (lost(entry(4)), false, 0, Err(entry(4))),
        (lost(entry(4)), false, 3, Err(entry(4))),
        // It has that already.
        (lost(entry(4)), false, 4, Ok(())),
        (lost(entry(1)), false, 0, Err(entry(1))),
        (lost(entry(10)), false, 9, Err(entry(10))),
        (lost(key("head")), false, 0, Err(key("head"))),
        (lost(key("head")), false, 10, Err(key("head"))),
        (lost(key("snapshot")), true, 0, Err(entry(1))),
        (lost(key("snapshot")), true, 6, Err(entry(7))),
        // The log continues from there.
        (lost(key("snapshot")), true, 7, Ok(())),
        ((key("state/"), key("state0")), true, 0, Err(key("state/00000000000000000007/000000"))),
        ((key("state/"), key("state0")), true, 7, Ok(())),
        ((key("log/"), key("log0")), true, 0, Err(entry(8))),
        ((key(""), "/wayleave/test0".to_owned()), true, 5, Err(key("head"))),
        // Nothing contradicts that there never was a batch: a controller that has seen none begins.
        ((key(""), "/wayleave/test0".to_owned()), true, 0, Ok(())),
        (lost(key("leader")), false, 0, Ok(())),
        (lost(key("basis")), false, 0, Ok(())),
    ];
    for ((from, to), has_snapshot, knows, expected) in cases {
        let world = World::default();
        let mut leader = leader(&world, if has_snapshot { 7 } else { 10 });
        if has_snapshot {
            leader.tidy(true).unwrap();
            (0..3).for_each(|key| assert!(leader.commit(&[change(key)]).unwrap() > 7));
        }
        world.delete(&from, &to);
        let mut late = member(world.link(2), "late", (State::new(), knows));
        let found = follow(&mut late).map(drop);
        let named = found.map_err(|error| match error {
            LogError::Damaged { key, .. } => key,
            other => panic!("{from}: {other}"),
        });
        assert_eq!(named, expected, "{from} deleted, and {knows} known");
    }
}

#[test]
fn an_older_state_of_etcd_is_reported_to_members_that_have_seen_more() {
    let world = World::default();
    let mut leader = leader(&world, 5);
    let saved = world.saved();
    leader.commit(&[change(9)]).unwrap();
    let mut follower = member(world.link(2), "follower", (State::new(), 0));
    follow(&mut follower).unwrap();
    world.restore(&saved);
    let why = follow(&mut follower).unwrap_err().to_string();
    assert!(why.contains("head in etcd has 5, but this controller has seen batch 6"), "{why}");
    let mut new = member(world.link(3), "new", (State::new(), 0));
    follow(&mut new).unwrap();
    assert_eq!(new.number(), 5, "who has seen nothing cannot know better");
}

#[test]
fn a_new_snapshot_is_read_by_readers_of_the_previous_one() {
    // The leader writes a snapshot between two questions, and compacts up to the one before.
    let world = World::default();
    let mut leader = leader(&world, 10);
    leader.tidy(true).unwrap();
    for key in 0..40 {
        leader.commit(&[change(key)]).unwrap();
    }
    let mut is_due = [false, true].into_iter();
    let before = move || {
        if is_due.next() == Some(true) {
            leader.tidy(true).unwrap();
        }
    };
    let questions = Arc::default();
    let busy = Busy { link: world.link(2), before: Box::new(before), questions: Arc::clone(&questions) };
    let mut late = member(busy, "late", (State::new(), 0));
    follow(&mut late).unwrap();
    assert_eq!(late.number(), 50);
    // The survey, the parts of the snapshot that it has named, and two pages: nothing was asked again.
    assert_eq!(*questions.lock().unwrap(), 4);
}
