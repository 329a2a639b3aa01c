//! The audit log: notes of changes, which are written to disk with the changes, and of refusals, which are written
//! within a second.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wayleave_controller::Principal;
use wayleave_protocol::audit::AuditEntry;
use wayleave_units::{WallTime, escaped};

use crate::account::Account;
use crate::read_view::Holder;

/// Different refusals that are kept until they are written; beyond it they are counted together.
const REFUSALS: usize = 1000;
/// The longest name of an object that is written down: clients choose it, also those without a token. Its deceptive characters are escaped.
const LONGEST: usize = 200;

/// Audit note of a request.
#[derive(Clone, Debug)]
pub(crate) struct Note {
    /// Account whose space it uses.
    pub(crate) account: Account,
    /// Without its number.
    pub(crate) entry: AuditEntry,
}

impl Note {
    /// Of a request that was not answered yet.
    pub(crate) fn new(
        who: Option<&Holder>,
        from: Option<IpAddr>,
        operation: &str,
        object: &str,
        request: &str,
    ) -> Self {
        let (name, role, tenant) = match who.map(|who| (who, &who.role)) {
            None => ("nobody", "", None),
            Some((who, _)) if who.is_insider() => ("ledger", "operator", None),
            Some((who, Principal::Operator)) => (&*who.id, "operator", None),
            Some((who, Principal::Agent { .. })) => (&*who.id, "agent", None),
            Some((who, Principal::Tenant { tenant })) => (&*who.id, "tenant", Some(tenant.clone())),
            Some((who, Principal::Reader { tenant })) => (&*who.id, "reader", tenant.clone()),
        };
        let entry = AuditEntry {
            who: name.to_owned(),
            role: role.to_owned(),
            tenant,
            from: from.map_or_else(String::new, |from| from.to_string()),
            operation: operation.to_owned(),
            object: escaped(&object.chars().take(LONGEST).collect::<String>()).into_owned(),
            request: request.to_owned(),
            count: 1,
            ..AuditEntry::default()
        };
        Self { account: who.map_or(Account::Nobody, |who| Account::of(&who.role)), entry }
    }

    /// Returns a note of the server's own operation.
    pub(crate) fn of_server(operation: &str, object: &str) -> Self {
        let note = Self::new(None, None, operation, object, "");
        Self { account: Account::Operators, entry: AuditEntry { who: "server".to_owned(), status: 200, ..note.entry } }
    }

    pub(crate) fn answered(self, at: WallTime, status: u16, detail: &str) -> Self {
        let entry = AuditEntry { at: at.to_string(), status, detail: detail.to_owned(), ..self.entry };
        Self { entry, ..self }
    }
}

/// Common fields of refusals that are counted together: client, its address, operation, object, status and code.
type Same = (String, String, String, String, u16, String);

/// Refusals that are not on disk yet.
#[derive(Debug, Default)]
pub(crate) struct Refusals {
    waiting: Mutex<BTreeMap<Same, Note>>,
}

impl Refusals {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<Same, Note>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes one in; whether it is the first that waits.
    pub(crate) fn add(&self, note: Note) -> bool {
        let mut waiting = self.lock();
        let is_first = waiting.is_empty();
        let AuditEntry { who, from, operation, object, status, detail, .. } = &note.entry;
        let (who, from, operation) = (who.clone(), from.clone(), operation.clone());
        let mut key = (who, from, operation, object.clone(), *status, detail.clone());
        if waiting.len() >= REFUSALS && !waiting.contains_key(&key) {
            key = Same::default();
            key.4 = *status;
        }
        match waiting.get_mut(&key) {
            Some(same) => same.entry.count += 1,
            None => {
                let note = if key.0.is_empty() { note.of_many() } else { note };
                waiting.insert(key, note);
            }
        }
        is_first
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lock().is_empty()
    }

    pub(crate) fn take(&self) -> Vec<Note> {
        std::mem::take(&mut *self.lock()).into_values().collect()
    }
}

impl Note {
    /// Returns a collective note for refusals beyond the number of separate notes.
    fn of_many(self) -> Self {
        let AuditEntry { at, status, .. } = self.entry;
        let (who, detail) =
            ("several".to_owned(), "more sources than can be recorded separately within a second".to_owned());
        let entry = AuditEntry { at, status, who, detail, count: 1, ..AuditEntry::default() };
        Self { account: Account::Nobody, entry }
    }
}

/// Returns `true` if a successful operation is written to the log. Periodic reports of agents are not.
pub(crate) fn is_noted(verb: crate::http::operation::Verb, operation: &str) -> bool {
    verb != crate::http::operation::Verb::Get && !matches!(operation, "confirm" | "report" | "whatIf")
}

/// Refusals that wait to be written, shared by the threads that answer and the engine, which writes.
pub(crate) type PendingEntries = Arc<Refusals>;

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(from: u8, status: u16) -> Note {
        let from = IpAddr::from([10, 0, 0, from]);
        Note::new(None, Some(from), "putVm", "x", "1").answered(WallTime::from_nanos(1), status, "UNAUTHORIZED")
    }

    #[test]
    fn equal_refusals_are_counted_and_a_flood_of_different_ones_is_bounded() {
        let refusals = Refusals::default();
        assert!(refusals.add(refused(1, 401)) && !refusals.add(refused(1, 401)) && !refusals.add(refused(2, 401)));
        let counts: Vec<u64> = refusals.take().into_iter().map(|note| note.entry.count).collect();
        assert_eq!(counts, [2, 1]);
        let mut other = refused(1, 401);
        other.entry.object = "y".to_owned();
        refusals.add(refused(1, 401));
        refusals.add(other);
        assert_eq!(refusals.take().len(), 2, "to what it was is told of each");
        for name in 0..3 * REFUSALS {
            let mut note = refused(1, 401);
            note.entry.operation = format!("op{name}");
            refusals.add(note);
        }
        let taken = refusals.take();
        assert_eq!(taken.len(), REFUSALS + 1);
        assert_eq!(taken.iter().map(|note| note.entry.count).sum::<u64>(), 3 * REFUSALS as u64, "none is lost");
    }
}
