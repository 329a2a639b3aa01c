//! Loads a controller from records, so that it continues where another one stopped.
//!
//! Every promise is derived again: each queue has to keep its budget and its buffer with its reservations, and each
//! contract's route its deadline. Records that contradict one another, or the network, are errors: without a
//! controller no promise is broken, while one with unproven promises may break them.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use wayleave_contracts::{Contract, vm_mac};
use wayleave_ledger::ReservedShare;
use wayleave_protocol::{DEFAULT_TENANT, Id};
use wayleave_scheme_api::Admission as _;
use wayleave_topology::{Hop, Network};
use wayleave_units::{Time, WallTime};

use super::Controller;
use super::changed::LostContract;
use crate::admission::Admission;
use crate::answers::{CachedReply, ReplyCache};
use crate::command::ElementName;
use crate::contract_record::{ContractRecord, HeldReservation};
use crate::elements::{Down, Elements, links_of};
use crate::enforcement::Enforcement;
use crate::grant::AdmittedContract;
use crate::journal::Counters;
use crate::load_error::LoadError;
use crate::macs;
use crate::old_record::{OldLatencyRecord, OldShareRecord};
use crate::output::RecordKind;
use crate::policy_spec::{self, PolicyRecord};
use crate::quota::QuotaUsage;
use crate::record::{
    DownRecord, MissingElement, NodeRecord, ReleaseRecord, TenantRecord, VmRecord, reserved, reserved_as_far,
};
use crate::releases::{PendingRelease, Phase};
use crate::scheme_ledger::{SchemeLedger, UndoReservation};
use crate::setup::{ControllerConfig, UnfitPolicy};
use crate::shares::in_shares;
use crate::tokens::{Token, Tokens};
use crate::vms::{VmState, Vms};

/// Contracts to be reserved again, in the order in which they were placed.
pub(super) struct ReplacementOrder {
    placed: u64,
    reserved: UndoReservation,
    serial: u64,
    /// The number of the pending release that holds it, if one does.
    release: Option<u64>,
}

/// A share that a contract, by serial number, is to hold again.
pub(super) type RestoredShare = (u64, ReservedShare);

impl Controller {
    /// Continues from these records (kind, key, body), in any order; without records, from an empty state.
    ///
    /// # Errors
    /// If they cannot all be kept.
    pub fn load<'a>(
        setup: &ControllerConfig,
        wall: WallTime,
        records: impl IntoIterator<Item = (RecordKind, &'a str, &'a str)>,
    ) -> Result<Self, LoadError> {
        let records: Vec<_> = records.into_iter().collect();
        let counters = records.iter().find(|(kind, ..)| *kind == RecordKind::Controller);
        let counters = counters.map(|&(kind, key, body)| parse::<Counters>(kind, key, body)).transpose()?;
        let budgets = setup.scheme.budgets(counters.map(|counters| counters.default_budgets.into()));
        let Some(book) = SchemeLedger::new(setup.scheme.make(budgets)) else { return Err(LoadError::NoQueues) };
        let mut controller = Self {
            network: setup.network.clone(),
            tokens: Tokens::default(),
            vms: Vms::new(&setup.network),
            elements: Elements::default(),
            answers: ReplyCache::default(),
            admission: Admission::new(setup.model, Enforcement::new(setup, book, wall)),
            old_records: BTreeMap::new(),
        };
        let (mut again, mut contracts) = (Vec::new(), Vec::new());
        for (kind, key, body) in records {
            match kind {
                RecordKind::Contract | RecordKind::OldLatency | RecordKind::OldShare => {
                    contracts.push((kind, key, body))
                }
                _ => controller.read(kind, key, body, setup.unfit, &mut again)?,
            }
        }
        controller.journal_mut().set_default_budgets(budgets);
        let (shares, lost) = controller.read_contracts(&contracts, setup.unfit, &mut again)?;
        controller.reserve_again(again)?;
        controller.hold_shares(shares)?;
        controller.hold_policies()?;
        controller.connect()?;
        let displaced = match setup.unfit {
            UnfitPolicy::Refuse => Vec::new(),
            UnfitPolicy::DecideAgain => controller.give_up(lost),
        };
        controller.decide_unfit_again();
        controller.prove()?;
        controller.take_bounds();
        controller.close_what_is_down();
        controller.place_again(displaced);
        controller.decide_unfit_again();
        controller.prove_without_what_is_down()?;
        controller.admission.refresh_protection(None, "");
        controller.journal_mut().next_generation();
        let (tenants, journal) = controller.admission.tenants_mut();
        tenants.insert_default(journal);
        controller.enforcement_mut().resume();
        controller.admission.retry_later();
        Ok(controller)
    }

    fn read(
        &mut self,
        kind: RecordKind,
        key: &str,
        body: &str,
        unfit: UnfitPolicy,
        again: &mut Vec<ReplacementOrder>,
    ) -> Result<(), LoadError> {
        match kind {
            RecordKind::Controller => self.journal_mut().restore(parse::<Counters>(kind, key, body)?),
            RecordKind::Tenant => {
                let record = parse::<TenantRecord>(kind, key, body)?;
                let (quota, created_after) = (record.quota(), record.created_after);
                self.admission.tenants_mut().0.insert(key.to_owned(), quota, record.revision, created_after);
                if let Some(numbers) = record.numbers {
                    self.journal_mut().restore_own(key, numbers);
                }
            }
            RecordKind::Token => self.tokens.insert(key.to_owned(), parse::<Token>(kind, key, body)?),
            RecordKind::Vm => {
                let record = parse::<VmRecord>(kind, key, body)?;
                let id = Id::parse(key, DEFAULT_TENANT).map_err(|error| unreadable(kind, key, error.to_string()))?;
                let Some(host) = self.network.find_node(&record.host) else {
                    return Err(LoadError::Missing { record: format!("VM {id}"), what: "node", name: record.host });
                };
                let mac = record.mac.as_deref().map(vm_mac).transpose();
                let mac = mac.map_err(|error| unreadable(kind, key, error.to_string()))?;
                let mac = mac.unwrap_or_else(|| macs::of_old(&id));
                self.vms.insert(id, VmState { host, mac, revision: record.revision });
            }
            RecordKind::Contract | RecordKind::OldLatency | RecordKind::OldShare => {}
            RecordKind::Policy => {
                let record = parse::<PolicyRecord>(kind, key, body)?;
                let policy = policy_spec::policy(&self.network, key, &record.spec);
                let policy = policy.map_err(|message| unreadable(kind, key, message))?;
                self.admission.policies_mut().0.insert(policy, record.revision);
            }
            RecordKind::Release => self.read_release(key, body, unfit, again)?,
            RecordKind::Down => {
                let record = parse::<DownRecord>(kind, key, body)?;
                let link = record.link.map(ElementName::Link);
                let Some(element) = link.or(record.node.map(ElementName::Node)) else {
                    return Err(unreadable(kind, key, "expected a link or a node".to_owned()));
                };
                // An element that the network no longer has cannot be down.
                if !links_of(&self.network, &element).is_empty()
                    && let Some(down) = Down::of(record.why, record.seen)
                {
                    self.elements.set(element, Some(down));
                }
            }
            RecordKind::Node => {
                let record = parse::<NodeRecord>(kind, key, body)?;
                if let Some(node) = self.network.find_node(key) {
                    record.put(self.enforcement_mut().nodes_mut().entry(node));
                }
            }
            RecordKind::History => {}
            RecordKind::Answer => {
                self.answers.insert(key.to_owned(), parse::<CachedReply>(kind, key, body)?);
            }
        }
        Ok(())
    }

    /// Reads contracts in several threads, as they are the most numerous records and independent of each other.
    /// Returns the shares that they hold.
    fn read_contracts(
        &mut self,
        records: &[(RecordKind, &str, &str)],
        unfit: UnfitPolicy,
        again: &mut Vec<ReplacementOrder>,
    ) -> Result<(Vec<RestoredShare>, Vec<LostContract>), LoadError> {
        let (network, ledger) = (&*self.network, self.ledger());
        let is_usable = |hop: Hop| usize::from(hop.queue) < ledger.budgets(hop.link).len();
        let is_usable: Option<&(dyn Fn(Hop) -> bool + Sync)> =
            (unfit == UnfitPolicy::DecideAgain).then_some(&is_usable);
        let (mut shares, mut lost) = (Vec::new(), Vec::new());
        let reads = in_shares(records, |&(kind, key, body)| read_contract(network, kind, key, body, is_usable));
        for (read, &(kind, ..)) in reads.into_iter().zip(records) {
            let (grant, held, one) = read?;
            let serial = grant.serial;
            lost.extend(one);
            match held {
                HeldReservation::Routes(reserved) => {
                    again.extend(reserved.and_then(|reserved| ReplacementOrder::of(serial, reserved)))
                }
                HeldReservation::Share(share) => shares.extend(share.map(|share| (serial, share))),
            }
            if kind != RecordKind::Contract {
                self.old_records.insert(serial, kind);
            }
            // Of several contracts of one name the last one has it; those before are being released.
            self.admission.enforcement_mut().contracts_mut().insert(grant);
        }
        Ok((shares, lost))
    }

    pub(super) fn read_release(
        &mut self,
        key: &str,
        body: &str,
        unfit: UnfitPolicy,
        again: &mut Vec<ReplacementOrder>,
    ) -> Result<(), LoadError> {
        let record = parse::<ReleaseRecord>(RecordKind::Release, key, body)?;
        let number = number(RecordKind::Release, key)?;
        let missing = |missing: MissingElement| LoadError::Missing {
            record: format!("route {number}, which contract number {} is leaving,", record.serial),
            what: missing.what,
            name: missing.name,
        };
        let deadline = Time::from_nanos(record.deadline_ns);
        let ledger = self.ledger();
        let is_usable = |hop: Hop| usize::from(hop.queue) < ledger.budgets(hop.link).len();
        let reserved = match unfit {
            UnfitPolicy::Refuse => reserved(&self.network, &record.places, deadline, record.pinned).map_err(missing)?,
            UnfitPolicy::DecideAgain => reserved_as_far(&self.network, &record.places, deadline, &is_usable).0,
        };
        if let Some(placed) = reserved.reservations.iter().map(|one| one.placed).min().filter(|_| record.held) {
            let reserved = UndoReservation { is_pinned: true, ..reserved.clone() };
            again.push(ReplacementOrder { placed, reserved, serial: record.serial, release: Some(number) });
        }
        let drain = Time::from_nanos(record.drain_ns);
        let phase = if record.stopped { Phase::Draining(drain) } else { Phase::Sending };
        let (serial, until, node) = (record.serial, record.until, record.sender(&self.network).map_err(missing)?);
        let release = PendingRelease { serial, node, reserved, until, drain, phase, held: None };
        self.enforcement_mut().insert_loaded_release(number, release, record.held);
        Ok(())
    }

    pub(super) fn reserve_again(&mut self, mut again: Vec<ReplacementOrder>) -> Result<(), LoadError> {
        again.sort_by_key(|one| one.placed);
        for one in again {
            let Some(grant) = self.contracts().get(one.serial) else {
                let record = format!("a route that was reserved for contract number {}", one.serial);
                return Err(LoadError::Dangling { record, other: "that contract".to_owned() });
            };
            if let Some((link, queue)) = self.unusable(&one.reserved) {
                let record = format!("contract {}", grant.id);
                return Err(LoadError::Missing { record, what: "queue", name: format!("{queue} of link {link}") });
            }
            let enforcement = self.enforcement_mut();
            let flow = enforcement.scheme_ledger_mut().put_back(one.reserved, one.serial);
            match one.release {
                Some(number) => enforcement.hold_release(number, flow),
                None => {
                    if let Some(latency) = enforcement.contracts_mut().latency_mut(one.serial) {
                        latency.flow = flow;
                    }
                }
            }
        }
        Ok(())
    }

    /// A reserved queue that contracts cannot use.
    fn unusable(&self, reserved: &UndoReservation) -> Option<(String, u8)> {
        let ledger = self.ledger();
        let mut hops = reserved.reservations.iter().flat_map(|one| &one.route.hops);
        let hop = hops.find(|hop| usize::from(hop.queue) >= ledger.budgets(hop.link).len())?;
        Some((self.network.link(hop.link).name.clone(), hop.queue))
    }

    /// Derives all state that follows from the records.
    fn connect(&mut self) -> Result<(), LoadError> {
        for (number, release) in self.enforcement().releases().iter() {
            if self.contracts().get(release.serial).is_none() {
                let other = format!("contract number {}", release.serial);
                return Err(LoadError::Dangling { record: format!("the record of route {number}"), other });
            }
        }
        for serial in self.contracts().serials(|_| true) {
            let missing = self.enforcement_mut().connect(serial).err();
            let Some(grant) = self.contracts().get(serial) else { continue };
            let dangling = |other| LoadError::Dangling { record: format!("contract {}", grant.id), other };
            if let Some(number) = missing {
                return Err(dangling(format!("route {number}, which it waits for,")));
            }
            if grant.is_ended {
                continue;
            }
            let (id, used) = (grant.id.clone(), QuotaUsage::of(&grant.order.contract));
            if !self.admission.tenants_mut().0.count(&id.tenant, used) {
                let record = format!("contract {id}");
                return Err(LoadError::Dangling { record, other: format!("tenant {}", id.tenant) });
            }
        }
        Ok(())
    }

    /// Derives the bounds from the budgets, which may differ from those at the time the records were written.
    fn take_bounds(&mut self) {
        let others = self.contracts().iter().filter_map(|grant| {
            let bound = self.enforcement().scheme_ledger().promised(grant.flow()?);
            (Some(bound) != grant.bound()).then_some((grant.serial, bound))
        });
        for (serial, bound) in others.collect::<Vec<_>>() {
            if let Some(latency) = self.enforcement_mut().contracts_mut().latency_mut(serial) {
                latency.set_bound(bound);
            }
            self.enforcement_mut().touch(serial);
        }
    }

    fn close_what_is_down(&mut self) {
        let down: Vec<ElementName> = self.elements.iter().map(|(element, _)| element.clone()).collect();
        for element in down {
            self.turn_links(&element);
        }
    }

    /// Reserves the shares of contracts of other kinds than latency again. The reservation is a sum, so their order
    /// does not matter.
    pub(super) fn hold_shares(&mut self, shares: Vec<RestoredShare>) -> Result<(), LoadError> {
        for (serial, share) in shares {
            let enforcement = self.enforcement_mut();
            let held = enforcement.scheme_ledger_mut().put_share_back(share, serial);
            let Some(grant) = enforcement.contracts_mut().get_mut(serial) else { continue };
            // A scheme or a network without classes cannot keep what was promised.
            let held = held.ok_or_else(|| LoadError::NoClasses { id: Id::clone(&grant.id) })?;
            if let Some(state) = grant.share_state_mut() {
                state.share = Some(held);
            }
        }
        Ok(())
    }

    /// Reserves the capacity that policies need beside contracts. The proof that both fit covers all reservations
    /// together.
    fn hold_policies(&mut self) -> Result<(), LoadError> {
        let (policies, enforcement) = self.admission.policies_mut();
        let first = policies.iter().next().map(|(name, _)| name.to_owned());
        match (policies.hold(enforcement.scheme_ledger_mut()), first) {
            (false, Some(name)) => Err(LoadError::PolicyWithoutClasses { name }),
            _ => Ok(()),
        }
    }

    /// Versions up to 0.2.0 promised minima and weights that some links cannot carry. Shares that do not fit are
    /// decided again, by priority; those refused are degraded, and watchers are notified.
    fn decide_unfit_again(&mut self) {
        self.admission.decide_unfit_again();
    }

    /// Hoses and objectives use the links that are up: it was decided so when the others failed.
    fn prove_without_what_is_down(&self) -> Result<(), LoadError> {
        let ledger = self.ledger();
        let mut open = self.network.links().filter(|&(link, _)| !ledger.is_closed(link));
        match open.find(|&(link, _)| !ledger.keeps_shares(link)) {
            Some((_, link)) => Err(LoadError::Overfull { link: link.name.clone() }),
            None => Ok(()),
        }
    }

    /// Derives every promise again, as if nothing were down.
    fn prove(&self) -> Result<(), LoadError> {
        let ledger = self.ledger();
        if let Some((_, link)) = self.network.links().find(|&(link, _)| !ledger.keeps(link)) {
            return Err(LoadError::Overfull { link: link.name.clone() });
        }
        for grant in self.contracts().iter() {
            let (bound, deadline) = match &grant.order.contract {
                Contract::Latency(terms) => {
                    (grant.flow().map(|flow| self.enforcement().scheme_ledger().promised(flow)), Some(terms.deadline))
                }
                Contract::Bandwidth(terms) => {
                    (grant.share().and_then(|share| self.scheme().share_bound(share)), terms.within)
                }
                Contract::Objective(_) | Contract::BestEffort(_) => continue,
            };
            if let Some((bound, deadline)) = bound.zip(deadline).filter(|(bound, deadline)| bound > deadline) {
                return Err(LoadError::TooSlow { id: Id::clone(&grant.id), bound, deadline });
            }
        }
        Ok(())
    }
}

impl ReplacementOrder {
    /// Routes of a contract.
    pub(super) fn of(serial: u64, reserved: UndoReservation) -> Option<Self> {
        let placed = reserved.reservations.iter().map(|one| one.placed).min()?;
        Some(Self { placed, reserved, serial, release: None })
    }
}

/// Reads a contract without a reservation yet, the reservation to make again, and the lost part. Without `is_usable`
/// nothing may be lost.
pub(super) fn read_contract(
    network: &Network,
    kind: RecordKind,
    key: &str,
    body: &str,
    is_usable: Option<&(dyn Fn(Hop) -> bool + Sync)>,
) -> Result<(AdmittedContract, HeldReservation, Option<LostContract>), LoadError> {
    let record = match kind {
        RecordKind::OldLatency => parse::<OldLatencyRecord>(kind, key, body)?.into(),
        RecordKind::OldShare => parse::<OldShareRecord>(kind, key, body)?.into(),
        _ => parse::<ContractRecord>(kind, key, body)?,
    };
    let missing = |missing: MissingElement| LoadError::Missing {
        record: format!("contract {}", record.id()),
        what: missing.what,
        name: missing.name,
    };
    let grant = record.grant(network, number(kind, key)?).map_err(missing)?;
    let Some(is_usable) = is_usable else {
        let held = record.held(network, &grant).map_err(missing)?;
        return Ok((grant, held, None));
    };
    let (held, left, is_lost) = record.held_as_far(network, &grant, &|hop| is_usable(hop)).map_err(missing)?;
    let lost = is_lost.then_some(LostContract { serial: grant.serial, left });
    Ok((grant, held, lost))
}

pub(super) fn parse<T: DeserializeOwned>(kind: RecordKind, key: &str, body: &str) -> Result<T, LoadError> {
    serde_json::from_str(body).map_err(|error| unreadable(kind, key, error.to_string()))
}

pub(super) fn unreadable(kind: RecordKind, key: &str, message: String) -> LoadError {
    LoadError::Unreadable { kind: kind.name(), key: key.to_owned(), message }
}

pub(super) fn number(kind: RecordKind, key: &str) -> Result<u64, LoadError> {
    key.parse().map_err(|_| unreadable(kind, key, "its key is not a number".to_owned()))
}
