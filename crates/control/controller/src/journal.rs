//! Changes since the last output, and the numbers that never decrease.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use wayleave_protocol::Id;
use wayleave_schemes::admission::chameleon::DefaultBudgets;
use wayleave_topology::NodeId;
use wayleave_units::{Time, WallTime};

use crate::calendar::Calendar;
use crate::clock::{Timestamps, Uptime};
use crate::command::ElementName;
use crate::event::{Event, EventKind};
use crate::macs::VmSecret;
use crate::setup::Timeouts;

/// Maximum number of serial numbers that are left out at once: agents may name any.
const MAX_SKIPPED: u64 = 1_000_000;

/// Numbers that never go back, over restarts too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Counters {
    pub(crate) serial: u64,
    pub(crate) revision: u64,
    pub(crate) decision: u64,
    /// Of pending releases.
    #[serde(rename = "leaving")]
    pub(crate) release: u64,
    pub(crate) event: u64,
    pub(crate) answer: u64,
    /// Number of times that a controller was loaded from these records.
    pub(crate) generation: u64,
    /// Trusted calendar time at which one of these numbers last changed, in ns since 1970. Absent in older records.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub(crate) calendar: u64,
    /// Uptime of the machine at that time of the calendar.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) uptime: Option<Uptime>,
    /// With this addresses of VMs are derived. Absent in records that are older than it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) vm_secret: Option<VmSecret>,
    /// Default delay budgets. Older records lack them: their contracts were admitted with the published ones.
    #[serde(default)]
    pub(crate) default_budgets: RecordedBudgets,
}

/// Default delay budgets of a ledger.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RecordedBudgets {
    /// [`DefaultBudgets::Published`].
    #[default]
    Published,
    /// [`DefaultBudgets::ByLink`].
    ByLink,
}

impl From<RecordedBudgets> for DefaultBudgets {
    fn from(recorded: RecordedBudgets) -> Self {
        match recorded {
            RecordedBudgets::Published => Self::Published,
            RecordedBudgets::ByLink => Self::ByLink,
        }
    }
}

impl From<DefaultBudgets> for RecordedBudgets {
    fn from(budgets: DefaultBudgets) -> Self {
        match budgets {
            DefaultBudgets::Published => Self::Published,
            DefaultBudgets::ByLink => Self::ByLink,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Numbers of a tenant, which reveal nothing about the activity of others. They begin at the common numbers when they
/// are first needed, so that a tenant that is created again repeats no number of its predecessor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TenantNumbers {
    pub(crate) revision: u64,
    pub(crate) decision: u64,
}

/// A record that is no longer what is on disk.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum DirtyRecord {
    Counters,
    Tenant(String),
    Token(String),
    Vm(Id),
    Contract(u64),
    Policy(String),
    Release(u64),
    Down(ElementName),
    Node(NodeId),
    Answer(String),
}

/// Records and events that have not been given to the driver yet, and the time at which they are made.
pub(crate) struct Journal {
    counters: Counters,
    own: BTreeMap<String, TenantNumbers>,
    dirty: BTreeSet<DirtyRecord>,
    events: Vec<Event>,
    /// Of the last call.
    now: Timestamps,
    calendar: Calendar,
    /// Uptime of the machine at a steady time, if it is known.
    uptime: Option<(Time, Uptime)>,
    /// Calendar and uptime in the records that it was loaded from.
    written: Option<(u64, Uptime)>,
    timing: Timeouts,
}

impl Journal {
    /// Empty, at this time of the calendar.
    pub(crate) fn new(timing: Timeouts, wall: WallTime) -> Self {
        let now = Timestamps { steady: Time::ZERO, wall };
        Self {
            counters: Counters::default(),
            own: BTreeMap::new(),
            dirty: BTreeSet::new(),
            events: Vec::new(),
            now,
            calendar: Calendar::new(&timing, now),
            uptime: None,
            written: None,
            timing,
        }
    }

    /// Continues with the numbers of a record.
    pub(crate) fn restore(&mut self, counters: Counters) {
        self.counters = counters;
        self.written = counters.uptime.map(|uptime| (counters.calendar, uptime));
        if counters.calendar > 0 {
            let trusted = Timestamps { wall: WallTime::from_nanos(counters.calendar), ..self.now };
            self.calendar = Calendar::new(&self.timing, trusted);
            self.calendar.see(self.now);
        }
    }

    /// Sets the uptime of the machine. Time since the calendar was written, in the same boot, is no jump of the
    /// clock.
    pub(crate) fn set_uptime(&mut self, now: Timestamps, uptime: Uptime) {
        let passed = self.written.and_then(|(calendar, written)| Some((calendar, uptime.since(&written)?)));
        if let Some((calendar, passed)) = passed {
            let wall = WallTime::from_nanos(calendar.saturating_add(passed.as_nanos()));
            self.calendar = Calendar::new(&self.timing, Timestamps { wall, ..now });
        }
        self.uptime = Some((now.steady, uptime));
        self.set_now(now);
    }

    /// Writes the calendar down, with the uptime of the machine.
    fn write_time(&mut self) {
        self.counters.calendar = self.calendar.wall().as_nanos();
        let steady = self.now.steady;
        self.counters.uptime = self.uptime.map(|(then, uptime)| uptime.later(steady.saturating_sub(then)));
    }

    /// Marks the calendar to be written, if the time on disk is so old that the clock would be distrusted at the next
    /// start.
    pub(crate) fn keep_time(&mut self) {
        let calendar = self.calendar.wall().as_nanos();
        if calendar > self.counters.calendar.saturating_add(self.timing.clock_jump.as_nanos()) {
            self.write_time();
            self.mark(DirtyRecord::Counters);
        }
    }

    /// Records the default delay budgets of the ledger.
    pub(crate) fn set_default_budgets(&mut self, budgets: DefaultBudgets) {
        let recorded = budgets.into();
        if self.counters.default_budgets != recorded {
            self.counters.default_budgets = recorded;
            self.mark(DirtyRecord::Counters);
        }
    }

    /// Keeps a secret for addresses of VMs, unless there is one.
    pub(crate) fn set_vm_secret(&mut self, secret: VmSecret) {
        if self.counters.vm_secret.is_none() {
            self.counters.vm_secret = Some(secret);
            self.mark(DirtyRecord::Counters);
        }
    }

    /// Returns the trusted calendar, by which contracts start and end.
    pub(crate) fn calendar(&self) -> &Calendar {
        &self.calendar
    }

    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    pub(crate) fn now(&self) -> Timestamps {
        self.now
    }

    /// Sets the time of the present call. A steady clock does not go back; if a driver reports that it does, nothing
    /// ends early.
    pub(crate) fn set_now(&mut self, now: Timestamps) {
        self.now = Timestamps { steady: self.now.steady.max(now.steady), wall: now.wall };
        self.calendar.see(self.now);
    }

    /// A record has to be written.
    pub(crate) fn mark(&mut self, dirty: DirtyRecord) {
        self.dirty.insert(dirty);
    }

    /// The same numbers and the same time, with nothing to be given to a driver.
    pub(crate) fn copy(&self) -> Self {
        Self { own: self.own.clone(), dirty: BTreeSet::new(), events: Vec::new(), ..*self }
    }

    /// Sets the time of the calendar and the thresholds for jumps of the clock, starting from the last trusted time.
    pub(crate) fn with_timing(mut self, timing: Timeouts, wall: WallTime) -> Self {
        let trusted = Timestamps { wall: self.calendar.wall(), ..self.now };
        (self.calendar, self.timing) = (Calendar::new(&timing, trusted), timing);
        self.set_now(Timestamps { wall, ..self.now });
        self
    }

    /// Returns the changes marked since they were last taken.
    pub(crate) fn dirty(&self) -> &BTreeSet<DirtyRecord> {
        &self.dirty
    }

    /// Takes the changes marked since the last call.
    pub(crate) fn take_dirty(&mut self) -> BTreeSet<DirtyRecord> {
        std::mem::take(&mut self.dirty)
    }

    /// The events since the last time.
    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// The revision of the last change.
    pub(crate) fn revision(&self) -> u64 {
        self.counters.revision
    }

    fn next(&mut self, counter: impl FnOnce(&mut Counters) -> &mut u64) -> u64 {
        self.mark(DirtyRecord::Counters);
        self.write_time();
        let counter = counter(&mut self.counters);
        *counter += 1;
        *counter
    }

    /// Returns the next revision of objects without a tenant.
    pub(crate) fn next_revision(&mut self) -> u64 {
        self.next(|counters| &mut counters.revision)
    }

    /// Of an object of a tenant, by the tenant's own numbers.
    pub(crate) fn next_revision_of(&mut self, tenant: &str) -> u64 {
        let own = self.own_mut(tenant);
        own.revision += 1;
        let revision = own.revision;
        self.next_revision();
        revision
    }

    /// The revision of the last change of a tenant's objects.
    pub(crate) fn revision_of(&self, tenant: &str) -> u64 {
        self.own(tenant).map_or(self.counters.revision, |own| own.revision)
    }

    /// The numbers of a tenant, if it has needed any.
    pub(crate) fn own(&self, tenant: &str) -> Option<TenantNumbers> {
        self.own.get(tenant).copied()
    }

    /// Continues with the numbers of a tenant's record.
    pub(crate) fn restore_own(&mut self, tenant: &str, own: TenantNumbers) {
        self.own.insert(tenant.to_owned(), own);
    }

    /// A tenant is no more.
    pub(crate) fn forget_own(&mut self, tenant: &str) {
        self.own.remove(tenant);
    }

    fn own_mut(&mut self, tenant: &str) -> &mut TenantNumbers {
        self.mark(DirtyRecord::Tenant(tenant.to_owned()));
        let Counters { revision, decision, .. } = self.counters;
        self.own.entry(tenant.to_owned()).or_insert(TenantNumbers { revision, decision })
    }

    /// Leaves out the serial numbers up to this one, which a later ledger than this one gave to contracts.
    pub(crate) fn skip_serials(&mut self, serial: u64) {
        if serial > self.counters.serial && serial - self.counters.serial <= MAX_SKIPPED {
            self.counters.serial = serial - 1;
            self.next_serial();
        }
    }

    /// Of a contract.
    pub(crate) fn next_serial(&mut self) -> u64 {
        self.next(|counters| &mut counters.serial)
    }

    /// The place of a decision among all, and its number among those of its tenant.
    pub(crate) fn next_decision(&mut self, tenant: &str) -> (u64, u64) {
        let own = self.own_mut(tenant);
        own.decision += 1;
        let number = own.decision;
        (self.next(|counters| &mut counters.decision), number)
    }

    /// Of a pending release.
    pub(crate) fn next_release(&mut self) -> u64 {
        self.next(|counters| &mut counters.release)
    }

    /// Of an answer that is remembered.
    pub(crate) fn next_answer(&mut self) -> u64 {
        self.next(|counters| &mut counters.answer)
    }

    /// A controller was loaded from these records once more.
    pub(crate) fn next_generation(&mut self) {
        self.next(|counters| &mut counters.generation);
    }

    /// Records an event of a contract, which its tenant can watch.
    pub(crate) fn contract_event(&mut self, kind: EventKind, id: &Id, revision: u64, detail: String) {
        self.event(kind, &id.to_string(), Some(id.tenant.clone()), revision, detail);
    }

    /// Records an event at the time of this call.
    pub(crate) fn event(
        &mut self,
        kind: EventKind,
        object: &str,
        tenant: Option<String>,
        revision: u64,
        detail: String,
    ) {
        let number = self.next(|counters| &mut counters.event);
        let (at, object) = (self.now.wall, object.to_owned());
        self.events.push(Event { number, at, kind, object, tenant, revision, detail });
    }
}
