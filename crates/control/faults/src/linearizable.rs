//! Check that a history is linearizable: there is one order of all operations in which each took place between its
//! call and its answer, and every read returns the last written value (J. M. Wing and C. Gong, "Testing and Verifying
//! Concurrent Objects", 1993). Keys are checked one by one, which is enough (M. Herlihy and J. M. Wing,
//! "Linearizability", 1990, theorem 1).

use std::collections::HashSet;

/// Kind of an operation on a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RegisterOperation {
    /// Wrote this value, or deleted the key (`None`).
    Wrote(Option<u64>),
    /// It had this value, or was not there.
    Read(Option<u64>),
}

/// An operation of a client.
#[derive(Clone, Debug)]
pub struct ClientOperation {
    /// Key of the operation.
    pub key: usize,
    /// Kind of the operation.
    pub did: RegisterOperation,
    /// Time of the call, by any clock that all operations have in common.
    pub called: u64,
    /// `None`: it may have been carried out, or may be at any time from its call on.
    pub answered: Option<u64>,
}

/// The first key whose operations have no such order, with them.
///
/// # Panics
/// If a key has more than 128 operations.
pub fn violation(history: &[ClientOperation]) -> Option<(usize, Vec<ClientOperation>)> {
    let keys: HashSet<usize> = history.iter().map(|one| one.key).collect();
    let mut keys: Vec<usize> = keys.into_iter().collect();
    keys.sort_unstable();
    keys.into_iter().find_map(|key| {
        let of_key: Vec<ClientOperation> = history.iter().filter(|one| one.key == key).cloned().collect();
        assert!(of_key.len() <= 128, "key {key} has {} operations, and 128 can be ordered", of_key.len());
        (!has_order(&of_key)).then_some((key, of_key))
    })
}

fn has_order(operations: &[ClientOperation]) -> bool {
    let answered: u128 =
        (0..).zip(operations).filter(|(_, one)| one.answered.is_some()).map(|(at, _)| 1_u128 << at).sum();
    let (mut seen, mut open) = (HashSet::new(), vec![(0_u128, None::<u64>)]);
    while let Some((done, value)) = open.pop() {
        // An operation without an answer need not have happened.
        if done & answered == answered {
            return true;
        }
        if !seen.insert((done, value)) {
            continue;
        }
        let left = || operations.iter().enumerate().filter(|(at, _)| done >> at & 1 == 0);
        // Nothing takes place after an answer that has not taken place yet.
        let limit = left().filter_map(|(_, one)| one.answered).min().unwrap_or(u64::MAX);
        for (at, one) in left().filter(|(_, one)| one.called <= limit) {
            match one.did {
                RegisterOperation::Wrote(written) => open.push((done | 1 << at, written)),
                RegisterOperation::Read(read) if read == value => open.push((done | 1 << at, value)),
                RegisterOperation::Read(_) => {}
            }
        }
    }
    false
}
