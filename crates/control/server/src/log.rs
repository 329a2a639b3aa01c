//! Logs in memory, ready to be read: for readers of all tenants by number, and for each tenant by numbers of its own.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use bytes::{BufMut, Bytes, BytesMut};

/// Kind of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LogTopic {
    Events,
    Decisions,
    Audit,
    /// Contracts that a commit has created, changed or deleted.
    Undo,
}

impl LogTopic {
    pub(crate) const ALL: [Self; 4] = [Self::Events, Self::Decisions, Self::Audit, Self::Undo];
}

/// An event, a decision, or an entry of the audit, as published.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    /// Among those of all.
    pub(crate) number: u64,
    /// Among those of its tenant, which must not learn from numbers how much others do.
    pub(crate) own: u64,
    /// Number shown to readers of all tenants.
    pub(crate) shown: u64,
    pub(crate) tenant: Option<String>,
    /// The type of an event.
    pub(crate) kind: String,
    /// Object of the entry.
    pub(crate) object: String,
    /// Client that made the change, in the audit.
    pub(crate) who: String,
    /// JSON behind the number.
    rest: Bytes,
    /// The document as its tenant sees it, if that differs.
    own_rest: Option<Bytes>,
}

impl Entry {
    /// Of documents that begin with their number.
    pub(crate) fn new(number: u64, own: u64, tenant: Option<String>, json: Bytes) -> Self {
        let (kind, object, who) = (String::new(), String::new(), String::new());
        Self { number, own, shown: number, tenant, kind, object, who, rest: after_number(&json), own_rest: None }
    }

    /// An event of this type.
    pub(crate) fn of_kind(self, kind: &str) -> Self {
        Self { kind: kind.to_owned(), ..self }
    }

    /// About this object, by this client.
    pub(crate) fn about(self, object: &str, who: &str) -> Self {
        Self { object: object.to_owned(), who: who.to_owned(), ..self }
    }

    /// Sets the number in the document for readers of all tenants.
    pub(crate) fn shown_as(self, shown: u64) -> Self {
        Self { shown, ..self }
    }

    /// Sets the document that its tenant sees instead.
    pub(crate) fn with_own(self, own: Option<Bytes>) -> Self {
        Self { own_rest: own.map(|json| after_number(&json)), ..self }
    }

    /// Its place for a reader: of one tenant, or of everything.
    pub(crate) fn number_for(&self, only: Option<&str>) -> u64 {
        if only.is_some() { self.own } else { self.number }
    }

    /// JSON for a reader.
    pub(crate) fn json(&self, only: Option<&str>) -> Bytes {
        let rest = if only.is_some() { self.own_rest.as_ref().unwrap_or(&self.rest) } else { &self.rest };
        let number = if only.is_some() { self.own } else { self.shown }.to_string();
        let mut json = BytesMut::with_capacity(rest.len() + number.len() + NUMBER.len());
        json.put_slice(NUMBER);
        json.put_slice(number.as_bytes());
        json.put_slice(rest);
        json.freeze()
    }
}

/// Begin of every document.
const NUMBER: &[u8] = b"{\"number\":";

fn after_number(json: &Bytes) -> Bytes {
    let digits = json.iter().skip(NUMBER.len()).take_while(|byte| byte.is_ascii_digit()).count();
    debug_assert!(json.starts_with(NUMBER) && digits > 0, "a document that does not begin with its batch number");
    json.slice((NUMBER.len() + digits).min(json.len())..)
}

/// Entries in the order of their numbers.
#[derive(Debug, Default)]
pub(crate) struct Log {
    all: BTreeMap<u64, Arc<Entry>>,
    of: HashMap<String, Own>,
    /// The number of the last entry that is kept no longer.
    lost: u64,
    newest: u64,
}

/// Entries of a tenant, by their own numbers.
#[derive(Debug, Default)]
struct Own {
    entries: BTreeMap<u64, Arc<Entry>>,
    newest: u64,
}

impl Log {
    pub(crate) fn put(&mut self, entry: Arc<Entry>) {
        self.newest = self.newest.max(entry.number);
        if let Some(tenant) = &entry.tenant {
            let own = self.of.entry(tenant.clone()).or_default();
            own.newest = own.newest.max(entry.own);
            own.entries.insert(entry.own, entry.clone());
        }
        self.all.insert(entry.number, entry);
    }

    /// Entries up to this number may be missing.
    pub(crate) fn lose(&mut self, number: u64) {
        (self.lost, self.newest) = (self.lost.max(number), self.newest.max(number));
    }

    /// Sets the number of entries that a tenant has had.
    pub(crate) fn count(&mut self, tenant: &str, own: u64) {
        let known = self.of.entry(tenant.to_owned()).or_default();
        known.newest = known.newest.max(own);
    }

    pub(crate) fn forget(&mut self, number: u64) {
        let Some(old) = self.all.remove(&number) else { return };
        self.lost = self.lost.max(number);
        let Some(own) = old.tenant.as_ref().and_then(|tenant| self.of.get_mut(tenant)) else { return };
        // A later tenant of the name may have its own number.
        if own.entries.get(&old.own).is_some_and(|entry| entry.number == number) {
            own.entries.remove(&old.own);
        }
    }

    /// Hides the entries of a tenant that was deleted from later tenants of its name.
    pub(crate) fn end_tenant(&mut self, tenant: &str) {
        if let Some(own) = self.of.get_mut(tenant) {
            own.entries.clear();
        }
    }

    /// An entry by the number that this reader knows it by.
    pub(crate) fn get(&self, only: Option<&str>, number: u64) -> Option<&Arc<Entry>> {
        match only {
            Some(tenant) => self.of.get(tenant)?.entries.get(&number),
            None => self.all.get(&number),
        }
    }

    fn entries(&self, only: Option<&str>) -> Option<&BTreeMap<u64, Arc<Entry>>> {
        match only {
            Some(tenant) => self.of.get(tenant).map(|own| &own.entries),
            None => Some(&self.all),
        }
    }

    /// Returns the entries after a number, in order.
    pub(crate) fn after(&self, only: Option<&str>, after: u64) -> impl Iterator<Item = &Arc<Entry>> {
        let entries = self.entries(only).map(|entries| entries.range(after.saturating_add(1)..));
        entries.into_iter().flatten().map(|(_, entry)| entry)
    }

    /// Returns the entries before a number, the latest first.
    pub(crate) fn before(&self, only: Option<&str>, before: u64) -> impl Iterator<Item = &Arc<Entry>> {
        let entries = self.entries(only).map(|entries| entries.range(..before).rev());
        entries.into_iter().flatten().map(|(_, entry)| entry)
    }

    /// Tenants that have had any.
    pub(crate) fn tenants(&self) -> impl Iterator<Item = &String> {
        self.of.keys()
    }

    /// The number of the last one that a reader could have seen.
    pub(crate) fn newest(&self, only: Option<&str>) -> u64 {
        only.map_or(self.newest, |tenant| self.of.get(tenant).map_or(0, |own| own.newest))
    }

    /// Returns `true` if a reader that knows all entries up to a number misses deleted entries after it.
    pub(crate) fn misses(&self, only: Option<&str>, known: u64) -> bool {
        let lost = match only {
            None => self.lost,
            Some(tenant) => self.of.get(tenant).map_or(0, |own| {
                own.entries.first_key_value().map_or(own.newest, |(&first, _)| first.saturating_sub(1))
            }),
        };
        // A number from the future is of another ledger.
        known < lost || known > self.newest(only)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u64, own: u64, tenant: &str) -> Arc<Entry> {
        let json = format!("{{\"number\":{number},\"at\":\"now\"}}");
        Arc::new(Entry::new(number, own, Some(tenant.to_owned()), json.into()))
    }

    #[test]
    fn a_tenant_sees_its_own_numbers_and_misses_only_its_own_entries() {
        let mut log = Log::default();
        for (number, own, tenant) in [(1, 1, "a"), (2, 1, "b"), (3, 2, "b"), (40, 2, "a")] {
            log.put(entry(number, own, tenant));
        }
        let shown: Vec<Bytes> = log.after(Some("a"), 0).map(|entry| entry.json(Some("a"))).collect();
        assert_eq!(shown, ["{\"number\":1,\"at\":\"now\"}", "{\"number\":2,\"at\":\"now\"}"]);
        assert_eq!(log.before(None, 40).map(|entry| entry.number).collect::<Vec<_>>(), [3, 2, 1]);
        log.forget(2);
        assert!(log.misses(None, 1) && log.misses(Some("b"), 0));
        assert!(!log.misses(Some("a"), 0) && !log.misses(Some("b"), 1) && !log.misses(None, 2));
        assert!(log.misses(Some("a"), 3), "that is of another ledger");
    }

    #[test]
    fn a_later_tenant_of_a_name_sees_no_entries_of_an_earlier_one() {
        let mut log = Log::default();
        log.put(entry(1, 1, "a"));
        log.end_tenant("a");
        assert_eq!((log.after(Some("a"), 0).count(), log.after(None, 0).count()), (0, 1));
        assert!(log.get(Some("a"), 1).is_none() && log.before(Some("a"), 9).next().is_none());
        log.put(entry(2, 1, "a"));
        log.forget(1);
        assert_eq!(log.get(Some("a"), 1).map(|entry| entry.number), Some(2));
    }

    #[test]
    fn entries_dropped_from_the_log_are_missed() {
        let mut log = Log::default();
        log.count("a", 7);
        log.lose(20);
        assert!(log.misses(Some("a"), 6) && !log.misses(Some("a"), 7));
        assert!(log.misses(None, 19) && !log.misses(None, 20));
    }
}
