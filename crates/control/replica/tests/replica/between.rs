//! Interleavings between two steps of a controller that takes the lead: too rare for the seeded worlds.

use std::cell::Cell;

use wayleave_replica::{
    ClusterConfig, ClusterMember, Compare, ConfigMismatch, ConfigPart, Etcd, EtcdError, KeyRange, Lease, LogError,
    MemberRole, Op, Range, Settings, State, TransactionResult,
};
use wayleave_store::{CommitStep, StoredRecord};

use crate::model::{Link, World};

/// An etcd, with an action of another client right before the next transaction.
struct Before {
    link: Link,
    act: Option<Box<dyn FnOnce() + Send>>,
}

impl Etcd for Before {
    fn transact(&mut self, compares: &[Compare], then: &[Op]) -> Result<TransactionResult, EtcdError> {
        if let Some(act) = self.act.take() {
            act();
        }
        self.link.transact(compares, then)
    }

    fn read(&mut self, queries: &[KeyRange]) -> Result<Vec<Range>, EtcdError> {
        self.link.read(queries)
    }

    fn range_at(&mut self, query: &KeyRange, revision: i64) -> Result<Range, EtcdError> {
        self.link.range_at(query, revision)
    }

    fn grant(&mut self, seconds: u32) -> Result<i64, EtcdError> {
        self.link.grant(seconds)
    }

    fn keep_alive(&mut self, lease: i64) -> Result<bool, EtcdError> {
        self.link.keep_alive(lease)
    }

    fn revoke(&mut self, lease: i64) -> Result<(), EtcdError> {
        self.link.revoke(lease)
    }

    fn compact(&mut self, revision: i64) -> Result<(), EtcdError> {
        self.link.compact(revision)
    }
}

fn basis(number: u64) -> Option<ClusterConfig> {
    let part = ConfigPart { name: "topology".to_owned(), hash: number.to_string(), summary: Vec::new() };
    Some(ClusterConfig { fingerprint: format!("f{number}"), parts: vec![part] })
}

fn member<E: Etcd>(etcd: E, id: &str, of: u64, replaces: Option<&str>) -> ClusterMember<E> {
    let settings = Settings {
        cluster: "test".to_owned(),
        id: id.to_owned(),
        address: format!("http://{id}"),
        lease_s: 3,
        basis: basis(of),
        replaces: replaces.map(str::to_owned),
    };
    ClusterMember::new(etcd, settings, Lease::default(), (State::new(), 0))
}

fn follow<E: Etcd>(member: &mut ClusterMember<E>) -> Result<MemberRole, LogError> {
    member.follow(0, &mut |_, _| Ok(()), &mut |_| Ok(()))
}

fn change(key: &str) -> CommitStep {
    CommitStep::Put(StoredRecord::new("contract", key, "1"))
}

#[test]
fn a_new_leader_has_the_config_fingerprint_of_its_election() {
    let world = World::default();
    let mut first = member(world.link(1), "first", 0, None);
    assert_eq!(follow(&mut first).unwrap(), MemberRole::Leads);
    first.commit(&[change("a")]).unwrap();
    first.resign().unwrap();
    let mut other = member(world.link(2), "other", 1, Some("f0"));
    let act = move || {
        assert_eq!(follow(&mut other).unwrap(), MemberRole::Leads);
        other.commit(&[change("b")]).unwrap();
        other.resign().unwrap();
    };
    let mut late = member(Before { link: world.link(3), act: Some(Box::new(act)) }, "late", 0, None);
    assert_eq!(follow(&mut late).unwrap(), MemberRole::Follows(None), "it may not lead by what it saw before");
    assert_eq!(late.commit(&[change("c")]).unwrap_err(), LogError::Deposed);
    assert!(matches!(follow(&mut late).unwrap(), MemberRole::Barred(ConfigMismatch::Differs(_))));
}

#[test]
fn promises_are_checked_against_the_last_log_before_a_fingerprint_is_replaced() {
    let world = World::default();
    let mut first = member(world.link(1), "first", 0, None);
    assert_eq!(follow(&mut first).unwrap(), MemberRole::Leads);
    let mut next = member(world.link(2), "next", 1, Some("f0"));
    assert!(
        matches!(follow(&mut next).unwrap(), MemberRole::Barred(ConfigMismatch::Waits(_))),
        "with nothing promised it fits"
    );
    first.commit(&[change("large")]).unwrap();
    first.resign().unwrap();
    let asked = Cell::new(0);
    let mut fits = |state: &State| {
        asked.set(asked.get() + 1);
        if state.is_empty() { Ok(()) } else { Err("too large".to_owned()) }
    };
    for _ in 0..3 {
        let contract_named = next.follow(0, &mut |_, _| Ok(()), &mut fits).unwrap();
        assert!(
            matches!(&contract_named, MemberRole::Barred(ConfigMismatch::Unfit(_, why)) if why == "too large"),
            "{contract_named:?}"
        );
    }
    assert_eq!(asked.get(), 1, "what was found holds until something changes");
    // Nothing was replaced, and the previous controllers continue.
    assert_eq!(follow(&mut first).unwrap(), MemberRole::Leads);
    first.commit(&[CommitStep::delete("contract", "large")]).unwrap();
    first.resign().unwrap();
    assert_eq!(next.follow(0, &mut |_, _| Ok(()), &mut fits).unwrap(), MemberRole::Leads);
    assert!(matches!(follow(&mut first).unwrap(), MemberRole::Barred(ConfigMismatch::Differs(_))));
}

#[test]
fn a_barred_member_holds_no_lease() {
    let world = World::default();
    let mut first = member(world.link(1), "first", 0, None);
    assert_eq!(follow(&mut first).unwrap(), MemberRole::Leads);
    first.resign().unwrap();
    let mut unfit = member(world.link(2), "misfit", 1, Some("f0"));
    let contract_named = unfit.follow(0, &mut |_, _| Ok(()), &mut |_| Err("no".to_owned())).unwrap();
    assert!(matches!(contract_named, MemberRole::Barred(ConfigMismatch::Unfit(..))), "{contract_named:?}");
    assert!(!unfit.lease().is_held());
    assert_eq!(follow(&mut first).unwrap(), MemberRole::Leads, "at once, not when a lease has ended");
}
