//! History on disk: events, decisions and the audit, in the commit of the change that they describe.
//!
//! In each commit, the entries of one account are one record, a chunk. Each account has a limit of bytes: new entries
//! evict its own oldest chunks, and no other account's. No state of the controller depends on chunks.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use wayleave_controller::{CommandOutput, Controller, DecisionRecord, Principal, RecordChange, RecordKind};
use wayleave_protocol::audit::AuditEntry;
use wayleave_protocol::decision::Decision;
use wayleave_protocol::event::Event;
use wayleave_units::WallTime;

use crate::account::Account;
use crate::audit::Note;
use crate::log::{Entry, LogTopic};
use crate::past::{ChangedContract, KnownSince, UndoRecord};
use crate::read_view::Edit;
use crate::render;

/// Retention time. Older entries are deleted when their account has a new one, and at a start.
const WINDOW_NS: u64 = 30 * 24 * 3600 * 1_000_000_000;
/// Memory of a chunk besides its text: its place in the table of the ledger, and the parts in memory.
const CHUNK_BYTES: u64 = 300;

/// Entries of an account in one commit.
#[derive(Debug, Serialize, Deserialize)]
struct Chunk {
    account: Account,
    at: u64,
    /// Events up to this number were never kept.
    base: u64,
    /// The number of the account's last event before.
    after: u64,
    /// Numbers of events and of audit entries that the account had before.
    before: [u64; 2],
    /// Undo records are kept from here on; earlier versions keep none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    since: Option<KnownSince>,
    /// Number of undo records that the account had before.
    #[serde(skip_serializing_if = "is_zero", default)]
    undone: u64,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    events: Vec<Event>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    decisions: Vec<Decided>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    audit: Vec<AuditEntry>,
    /// Contracts that the commit has created, changed or deleted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    undo: Option<UndoRecord>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[derive(Debug, Serialize, Deserialize)]
struct Decided {
    /// Its place among the decisions of all tenants.
    sequence: u64,
    decision: Decision,
    /// The decision as its tenant sees it, if that differs.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    own: Option<Decision>,
}

/// Index entry of a chunk on disk.
#[derive(Debug)]
struct Stored {
    number: u64,
    at: u64,
    bytes: u64,
    /// Numbers of its entries, by topic.
    numbers: [Vec<u64>; 4],
}

impl Stored {
    /// Entries of a chunk that is deleted.
    fn forgotten(self) -> impl Iterator<Item = Edit> {
        let numbers = LogTopic::ALL.into_iter().zip(self.numbers);
        numbers.flat_map(|(topic, numbers)| numbers.into_iter().map(move |one| Edit::Forget(topic, one)))
    }
}

/// Chunks of an account on disk.
#[derive(Debug, Default)]
struct Kept {
    bytes: u64,
    chunks: VecDeque<Stored>,
    after: u64,
    counts: [u64; 3],
}

/// Stored entries, and entries that wait to be stored.
#[derive(Debug, Default)]
pub(crate) struct History {
    /// Bytes of a tenant.
    most: u64,
    /// The number of the last chunk.
    chunk: u64,
    /// The number of the last entry of the audit.
    audit: u64,
    /// The last decision that was kept, by its place among all.
    decision: u64,
    /// The number of the last undo record.
    undo: u64,
    /// Undo records are kept from here on.
    since: KnownSince,
    base: u64,
    kept: BTreeMap<Account, Kept>,
    notes: Vec<Note>,
}

impl History {
    /// Continues from these chunks (number and text); `last_event` is the last event ever recorded, in a chunk or
    /// not. Returns the edits for readers, and the chunks that are too old to be kept.
    pub(crate) fn load<'a>(
        most: u64,
        now: WallTime,
        last_event: u64,
        chunks: impl Iterator<Item = (&'a str, &'a str)>,
    ) -> Result<(Self, Vec<RecordChange>, Vec<Edit>), String> {
        let mut history = Self { most, ..Self::default() };
        let mut read = BTreeMap::new();
        for (key, body) in chunks {
            let wrong = |error: String| format!("the record history {key:?} cannot be read: {error}");
            let number: u64 = key.parse().map_err(|_| wrong("its key is not a number".to_owned()))?;
            let chunk: Chunk = serde_json::from_str(body).map_err(|error| wrong(error.to_string()))?;
            read.insert(number, chunk);
        }
        history.base = read.values().map(|chunk| chunk.base).max().unwrap_or(last_event);
        // A chunk without it is of a version that keeps no undo records.
        let known = read.last_key_value().and_then(|(_, chunk)| chunk.since);
        let begins = || {
            if last_event == 0 { KnownSince::default() } else { KnownSince { event: last_event, at: now.as_nanos() } }
        };
        history.since = known.unwrap_or_else(begins);
        let mut edits = vec![Edit::Lost(history.base), Edit::UndoSince(history.since)];
        for (number, chunk) in read {
            if !history.kept.contains_key(&chunk.account) {
                edits.push(Edit::Lost(chunk.after));
            }
            let written = Written::of(&chunk);
            history.store(number, chunk, written, &mut edits);
        }
        let mut changes = Vec::new();
        let accounts: Vec<Account> = history.kept.keys().cloned().collect();
        accounts.iter().for_each(|account| history.shrink(account, now, &mut changes, &mut edits));
        Ok((history, changes, edits))
    }

    /// Something to be written with the next commit.
    pub(crate) fn note(&mut self, note: Note) {
        self.notes.push(note);
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.kept.values().map(|kept| kept.bytes).sum()
    }

    /// Returns the records to write with this output, and the edits for readers after the commit.
    pub(crate) fn add(
        &mut self,
        now: WallTime,
        controller: &Controller,
        output: &CommandOutput,
        changed: &[ChangedContract],
    ) -> (Vec<RecordChange>, Vec<Edit>) {
        let mut chunks: BTreeMap<Account, Chunk> = BTreeMap::new();
        let (base, since) = (self.base, Some(self.since));
        let mut chunk = |account: Account, kept: &BTreeMap<Account, Kept>, put: &mut dyn FnMut(&mut Chunk)| {
            let known = kept.get(&account);
            let (after, counts) = known.map_or((base, [0; 3]), |kept| (kept.after, kept.counts));
            let (at, [of_events, of_audit, undone]) = (now.as_nanos(), counts);
            let (events, decisions, audit) = (Vec::new(), Vec::new(), Vec::new());
            let new = || Chunk {
                account: account.clone(),
                at,
                base,
                after,
                before: [of_events, of_audit],
                since,
                undone,
                events,
                decisions,
                audit,
                undo: None,
            };
            put(chunks.entry(account.clone()).or_insert_with(new));
        };
        for event in &output.events {
            let account = event.tenant.clone().map_or(Account::Operators, Account::Tenant);
            chunk(account, &self.kept, &mut |chunk| chunk.events.push(render::event(event)));
        }
        let new = controller.decisions().rev().take_while(|record| record.sequence > self.decision);
        let new: Vec<&DecisionRecord> = new.collect();
        for record in new.iter().rev() {
            let account = Account::Tenant(record.id.tenant.clone());
            chunk(account, &self.kept, &mut |chunk| chunk.decisions.push(decided(controller, record)));
        }
        self.decision = new.first().map_or(self.decision, |record| record.sequence);
        for note in std::mem::take(&mut self.notes) {
            self.audit += 1;
            let entry = AuditEntry { number: self.audit, ..note.entry };
            chunk(note.account, &self.kept, &mut |chunk| chunk.audit.push(entry.clone()));
        }
        let last = controller.last_event();
        let first = output.events.first().map_or(last, |event| event.number.saturating_sub(1));
        for ChangedContract { id, before } in changed {
            chunk(Account::Tenant(id.tenant.clone()), &self.kept, &mut |chunk| {
                let undo = chunk.undo.get_or_insert_with(|| {
                    self.undo += 1;
                    UndoRecord { number: self.undo, at: now.as_nanos(), after: first, ..UndoRecord::default() }
                });
                match before {
                    Some(spec) => undo.before.push(spec.clone()),
                    None => undo.created.push(id.name.clone()),
                }
            });
        }
        let (mut changes, mut edits) = (Vec::new(), Vec::new());
        for (account, chunk) in chunks {
            let number = self.chunk + 1;
            let written = Written::of(&chunk);
            let body = Some(written.body.0.clone());
            changes.push(RecordChange { kind: RecordKind::History, key: number.to_string(), body });
            self.store(number, chunk, written, &mut edits);
            self.shrink(&account, now, &mut changes, &mut edits);
        }
        (changes, edits)
    }

    /// Takes over a chunk that another controller has written or deleted, and adds the edits for readers.
    pub(crate) fn follow(&mut self, key: &str, body: Option<&str>, edits: &mut Vec<Edit>) -> Result<(), String> {
        let wrong = |error: String| format!("the record history {key:?} cannot be read: {error}");
        let number: u64 = key.parse().map_err(|_| wrong("its key is not a number".to_owned()))?;
        let Some(body) = body else {
            for kept in self.kept.values_mut() {
                let Some(at) = kept.chunks.iter().position(|stored| stored.number == number) else { continue };
                let Some(old) = kept.chunks.remove(at) else { continue };
                kept.bytes -= old.bytes;
                edits.extend(old.forgotten());
            }
            return Ok(());
        };
        let chunk: Chunk = serde_json::from_str(body).map_err(|error| wrong(error.to_string()))?;
        if !self.kept.contains_key(&chunk.account) {
            edits.push(Edit::Lost(chunk.after));
        }
        let written = Written::of(&chunk);
        self.store(number, chunk, written, edits);
        Ok(())
    }

    /// A chunk is on disk, or will be with this commit.
    fn store(&mut self, number: u64, chunk: Chunk, written: Written, edits: &mut Vec<Edit>) {
        let bytes = written.body.0.len() as u64 + CHUNK_BYTES;
        self.chunk = self.chunk.max(number);
        let kept = self.kept.entry(chunk.account.clone()).or_default();
        kept.bytes += bytes;
        kept.after = chunk.events.last().map_or(chunk.after, |event| event.number);
        let [events, audit] = chunk.before;
        kept.counts = [
            events + chunk.events.len() as u64,
            audit + chunk.audit.len() as u64,
            chunk.undone + u64::from(chunk.undo.is_some()),
        ];
        self.undo = self.undo.max(chunk.undo.as_ref().map_or(0, |undo| undo.number));
        let numbers = [
            chunk.events.iter().map(|event| event.number).collect(),
            chunk.decisions.iter().map(|one| one.sequence).collect(),
            chunk.audit.iter().map(|entry| entry.number).collect(),
            chunk.undo.iter().map(|undo| undo.number).collect(),
        ];
        kept.chunks.push_back(Stored { number, at: chunk.at, bytes, numbers });
        if let Account::Tenant(tenant) = &chunk.account {
            edits.push(Edit::Counted(tenant.clone(), kept.counts));
        }
        if let Some(last) = chunk.audit.last() {
            self.audit = self.audit.max(last.number);
        }
        show(&chunk, written, edits);
        if let Account::Tenant(tenant) = chunk.account {
            let is_end = |event: &Event| event.kind == "deleted" && event.object == format!("tenant {tenant}");
            if chunk.events.iter().any(is_end) {
                edits.push(Edit::EndTenant(tenant));
            }
        }
    }

    /// Forgets what an account has too much of, but never its last chunk, which knows its numbers.
    fn shrink(&mut self, account: &Account, now: WallTime, changes: &mut Vec<RecordChange>, edits: &mut Vec<Edit>) {
        let most = self.most.saturating_mul(account.weight());
        let Some(kept) = self.kept.get_mut(account) else { return };
        let is_old = |stored: &Stored| stored.at.saturating_add(WINDOW_NS) < now.as_nanos();
        while kept.chunks.len() > 1 && (kept.bytes > most || kept.chunks.front().is_some_and(is_old)) {
            let Some(old) = kept.chunks.pop_front() else { return };
            kept.bytes -= old.bytes;
            changes.push(RecordChange { kind: RecordKind::History, key: old.number.to_string(), body: None });
            edits.extend(old.forgotten());
        }
    }
}

fn decided(controller: &Controller, record: &DecisionRecord) -> Decided {
    let decision = render::decision(controller.network(), record, &Principal::Operator);
    // A decision that admitted a contract and moved no other looks equal to all readers, and most decisions are such.
    let may_differ = decision.reason.is_some() || !decision.moved.is_empty();
    let own = may_differ.then(|| {
        let tenant = Principal::Tenant { tenant: record.id.tenant.clone() };
        render::decision(controller.network(), record, &tenant)
    });
    let own = own.filter(|own| *own != decision);
    Decided { sequence: record.sequence, decision, own }
}

/// Text of a chunk, shared by the record and the readers' view.
#[derive(Clone)]
struct Text(Arc<str>);

impl AsRef<[u8]> for Text {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

/// A chunk as on disk, with the position of each document in the text.
struct Written {
    body: Text,
    events: Vec<Range<usize>>,
    /// Each decision as shown to all readers, and as shown to its tenant if that differs.
    decisions: Vec<(Range<usize>, Option<Range<usize>>)>,
    audit: Vec<Range<usize>>,
    undo: Option<Range<usize>>,
}

impl Written {
    /// The JSON of a chunk. Documents are written one by one, since readers get the same text.
    fn of(chunk: &Chunk) -> Self {
        let Chunk { account, at, base, after, before, since, undone, events, decisions, audit, undo } = chunk;
        let mut out = Writer(Vec::with_capacity(256 * (events.len() + 2 * decisions.len() + audit.len() + 1)));
        out.put("{\"account\":", account);
        out.put(",\"at\":", at);
        out.put(",\"base\":", base);
        out.put(",\"after\":", after);
        out.put(",\"before\":", before);
        if let Some(since) = since {
            out.put(",\"since\":", since);
        }
        if *undone > 0 {
            out.put(",\"undone\":", undone);
        }
        let events = out.list(",\"events\":", events, |out, event| out.put("", event));
        let decisions = out.list(",\"decisions\":", decisions, |out, one| {
            out.put("{\"sequence\":", &one.sequence);
            let decision = out.put(",\"decision\":", &one.decision);
            let own = one.own.as_ref().map(|own| out.put(",\"own\":", own));
            out.0.push(b'}');
            (decision, own)
        });
        let audit = out.list(",\"audit\":", audit, |out, entry| out.put("", entry));
        let undo = undo.as_ref().map(|undo| out.put(",\"undo\":", undo));
        out.0.push(b'}');
        let body = Text(String::from_utf8(out.0).unwrap_or_default().into());
        Self { body, events, decisions, audit, undo }
    }
}

/// JSON that is written piece by piece.
struct Writer(Vec<u8>);

impl Writer {
    /// Appends a text and a value; returns the position of the value.
    fn put(&mut self, before: &str, value: &impl Serialize) -> Range<usize> {
        self.0.extend_from_slice(before.as_bytes());
        let start = self.0.len();
        // Nothing fails here: it is written to memory, and all keys are texts.
        let _ = serde_json::to_writer(&mut self.0, value);
        start..self.0.len()
    }

    /// A list behind its key, which is left out if the list is empty.
    fn list<T, R>(&mut self, key: &str, items: &[T], mut put: impl FnMut(&mut Self, &T) -> R) -> Vec<R> {
        let mut places = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            self.0.extend_from_slice(if at == 0 { key.as_bytes() } else { b"," });
            if at == 0 {
                self.0.push(b'[');
            }
            places.push(put(self, item));
        }
        if !items.is_empty() {
            self.0.push(b']');
        }
        places
    }
}

/// Adds the edits for readers of a chunk.
fn show(chunk: &Chunk, written: Written, edits: &mut Vec<Edit>) {
    let tenant = match &chunk.account {
        Account::Tenant(tenant) => Some(tenant.clone()),
        _ => None,
    };
    // Documents of a chunk are forgotten together: they are parts of its text.
    let text = Bytes::from_owner(written.body);
    if let (Some(undo), Some(place)) = (&chunk.undo, written.undo) {
        let entry = Entry::new(undo.number, chunk.undone + 1, tenant.clone(), text.slice(place));
        edits.push(Edit::Entry(LogTopic::Undo, Arc::new(entry)));
    }
    let [events, audit] = chunk.before;
    for ((own, event), place) in (events + 1..).zip(&chunk.events).zip(written.events) {
        let entry = Entry::new(event.number, own, tenant.clone(), text.slice(place));
        edits.push(Edit::Entry(LogTopic::Events, Arc::new(entry.of_kind(&event.kind))));
    }
    for (Decided { sequence, decision, .. }, (place, own)) in chunk.decisions.iter().zip(written.decisions) {
        let entry = Entry::new(*sequence, decision.number, tenant.clone(), text.slice(place));
        let own = own.map(|place| text.slice(place));
        let entry = entry.about(&decision.contract, "").shown_as(decision.number).with_own(own);
        edits.push(Edit::Entry(LogTopic::Decisions, Arc::new(entry)));
    }
    for ((own, one), place) in (audit + 1..).zip(&chunk.audit).zip(written.audit) {
        let entry = Entry::new(one.number, own, tenant.clone(), text.slice(place));
        edits.push(Edit::Entry(LogTopic::Audit, Arc::new(entry.about(&one.object, &one.who))));
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests assert by panicking")]

    use wayleave_protocol::contract::ContractSpec;
    use wayleave_protocol::decision::DecisionOutcome;

    use super::*;

    #[test]
    fn a_chunk_written_in_pieces_equals_that_of_serde_and_contains_its_documents() {
        let event = Event {
            number: 7,
            at: "2026-01-01T00:00:00Z".to_owned(),
            kind: "put".to_owned(),
            object: "a \"b\"".to_owned(),
            tenant: None,
            revision: 1,
            detail: String::new(),
        };
        let entry = AuditEntry { number: 9, who: "t-1".to_owned(), count: 1, ..AuditEntry::default() };
        let decision = |number| Decision {
            number,
            at: String::new(),
            contract: "acme:c".to_owned(),
            asked: ContractSpec::default(),
            verdict: DecisionOutcome::Admitted,
            bound_ns: Some(5),
            certainty: None,
            moved: Vec::new(),
            reason: None,
            message: None,
        };
        let created = vec!["c".to_owned()];
        let undo = UndoRecord { number: 8, at: 5, after: 6, created, before: vec![ContractSpec::default()] };
        let decided = |own| Decided { sequence: 3, decision: decision(1), own };
        for count in 0..3 {
            let chunk = Chunk {
                account: Account::Tenant("acme".to_owned()),
                at: 5,
                base: 1,
                after: 2,
                before: [3, 4],
                since: (count > 0).then_some(KnownSince { event: 6, at: 7 }),
                undone: count as u64,
                events: vec![event.clone(); count],
                decisions: (0..count).map(|at| decided((at == 1).then(|| decision(2)))).collect(),
                audit: vec![entry.clone(); count],
                undo: (count > 0).then(|| undo.clone()),
            };
            let written = Written::of(&chunk);
            assert_eq!(&*written.body.0, serde_json::to_string(&chunk).unwrap());
            let text = |place: &Range<usize>| written.body.0[place.clone()].to_owned();
            assert!(written.events.iter().all(|place| text(place) == serde_json::to_string(&event).unwrap()));
            assert!(written.audit.iter().all(|place| text(place) == serde_json::to_string(&entry).unwrap()));
            assert_eq!(
                written.undo.as_ref().map(text),
                chunk.undo.as_ref().map(|_| serde_json::to_string(&undo).unwrap())
            );
            for ((place, own), one) in written.decisions.iter().zip(&chunk.decisions) {
                assert_eq!(text(place), serde_json::to_string(&one.decision).unwrap());
                assert_eq!(own.as_ref().map(text), one.own.as_ref().map(|own| serde_json::to_string(own).unwrap()));
            }
        }
    }

    /// A version that keeps no undo records may have changed contracts at any time until its last chunk.
    #[test]
    fn the_past_is_known_since_the_first_chunk_of_a_version_that_keeps_it() {
        let chunk = |since| {
            let chunk = Chunk {
                account: Account::Operators,
                at: 9,
                base: 0,
                after: 0,
                before: [0, 0],
                since,
                undone: 0,
                events: Vec::new(),
                decisions: Vec::new(),
                audit: Vec::new(),
                undo: None,
            };
            serde_json::to_string(&chunk).unwrap()
        };
        let (begin, this_start) = (KnownSince { event: 2, at: 3 }, KnownSince { event: 5, at: 9 });
        let (old, new) = (chunk(None), chunk(Some(begin)));
        assert!(!old.contains("since"), "as earlier versions write it: {old}");
        type Case<'a> = (&'a [(&'a str, &'a str)], u64, KnownSince);
        let cases: [Case<'_>; 5] = [
            (&[], 0, KnownSince::default()),
            (&[], 5, this_start),
            (&[("1", &old)], 5, this_start),
            (&[("1", &old), ("2", &new)], 5, begin),
            (&[("2", &new), ("3", &old)], 5, this_start),
        ];
        for (chunks, last_event, expected) in cases {
            let now = WallTime::from_nanos(9);
            let (_, _, edits) = History::load(1 << 20, now, last_event, chunks.iter().copied()).unwrap();
            let since =
                edits.iter().find_map(|edit| if let Edit::UndoSince(since) = edit { Some(*since) } else { None });
            assert_eq!(since, Some(expected), "{chunks:?}");
        }
    }
}
