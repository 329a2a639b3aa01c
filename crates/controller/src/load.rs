//! From records to a controller that goes on where another one stopped.
//!
//! Every promise is derived again: each queue has to keep its budget and its buffer with what is reserved, and each contract's route its
//! deadline. Records that contradict one another, or the network, are errors: better no controller than one that promises what
//! nobody has proved.

use std::fmt;

use serde::de::DeserializeOwned;
use wayleave_contracts::{Quota, vm_mac};
use wayleave_topology::Network;
use wayleave_units::{Time, WallTime};

use crate::book::Place;
use crate::command::ElementName;
use crate::controller::{Controller, Counters, Dirty, Setup};
use crate::down::Down;
use crate::grant::Grant;
use crate::leaving::{Leaving, Phase};
use crate::macs;
use crate::memory::Remembered;
use crate::output::Kind;
use crate::quota::Usage;
use crate::record::{ContractRecord, DownRecord, LeavingRecord, Missing, NodeRecord, TenantRecord, VmRecord, place};
use crate::shares::in_shares;
use crate::tenants::TenantState;
use crate::timers::Due;
use crate::tokens::Token;
use crate::vms::VmState;
use wayleave_protocol::contract::State;
use wayleave_protocol::{DEFAULT_TENANT, Id};

/// Why no controller can be made of some records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadError {
    /// The scheme keeps no ledger of queues.
    NoQueues,
    /// A record that cannot be read.
    Unreadable {
        /// Of what.
        kind: &'static str,
        /// Which.
        key: String,
        /// What is wrong.
        message: String,
    },
    /// The network lacks what a record needs.
    Missing {
        /// The record.
        record: String,
        /// `link` or `node`.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// A record speaks of another that is not there.
    Dangling {
        /// The record.
        record: String,
        /// What is not there.
        other: String,
    },
    /// A queue would not keep its budget or its buffer.
    Overfull {
        /// The link.
        link: String,
    },
    /// A contract would not be kept.
    TooSlow {
        /// Which.
        id: Id,
        /// The bound of its route.
        bound: Time,
        /// What it was promised.
        deadline: Time,
    },
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const OTHER_NETWORK: &str = "the ledger was written for another topology, or with other budgets: start with those, or with a new ledger";
        match self {
            Self::NoQueues => f.write_str("the scheme reserves no queues: a controller needs chameleon or silo"),
            Self::Unreadable { kind, key, message } => write!(f, "the {kind} record {key} cannot be read: {message}"),
            Self::Missing { record, what, name } => {
                write!(f, "{record} needs {what} {name}, which the network does not have: {OTHER_NETWORK}")
            }
            Self::Dangling { record, other } => write!(f, "{record} speaks of {other}, which is not there"),
            Self::Overfull { link } => {
                write!(
                    f,
                    "a queue of link {link} could not keep its budget with what is reserved there: {OTHER_NETWORK}"
                )
            }
            Self::TooSlow { id, bound, deadline } => {
                write!(f, "contract {id} was promised {deadline}, and its route may take {bound}: {OTHER_NETWORK}")
            }
        }
    }
}

impl std::error::Error for LoadError {}

/// What is to be reserved again, in the order in which it was placed.
struct Again {
    placed: u64,
    place: Place,
    serial: u64,
    /// For a route that is being left: its number.
    leaving: Option<u64>,
}

impl Controller {
    /// Goes on from these records (kind, key, body), in any order; with none, from nothing.
    ///
    /// # Errors
    /// If they cannot all be kept.
    pub fn load<'a>(
        setup: &Setup,
        wall: WallTime,
        records: impl IntoIterator<Item = (Kind, &'a str, &'a str)>,
    ) -> Result<Self, LoadError> {
        let mut controller = Self::empty(setup)?;
        controller.now.wall = wall;
        let (mut again, mut contracts) = (Vec::new(), Vec::new());
        for (kind, key, body) in records {
            match kind {
                Kind::Contract => contracts.push((key, body)),
                _ => controller.read(kind, key, body, &mut again)?,
            }
        }
        controller.read_contracts(&contracts, &mut again)?;
        controller.reserve_again(again)?;
        controller.connect()?;
        controller.close_what_is_down();
        controller.prove()?;
        controller.counters.generation += 1;
        controller.mark(Dirty::Counters);
        if !controller.tenants.contains_key(DEFAULT_TENANT) {
            let revision = controller.next_revision();
            let tenant = TenantState { quota: Quota::default(), usage: Usage::default(), revision };
            controller.tenants.insert(DEFAULT_TENANT.to_owned(), tenant);
            controller.mark(Dirty::Tenant(DEFAULT_TENANT.to_owned()));
        }
        controller.go_on();
        Ok(controller)
    }

    fn read(&mut self, kind: Kind, key: &str, body: &str, again: &mut Vec<Again>) -> Result<(), LoadError> {
        match kind {
            Kind::Controller => self.counters = parse::<Counters>(kind, key, body)?,
            Kind::Tenant => {
                let record = parse::<TenantRecord>(kind, key, body)?;
                let quota = record.quota();
                let tenant = TenantState { quota, usage: Usage::default(), revision: record.revision };
                self.tenants.insert(key.to_owned(), tenant);
            }
            Kind::Token => drop(self.tokens.insert(key.to_owned(), parse::<Token>(kind, key, body)?)),
            Kind::Vm => {
                let record = parse::<VmRecord>(kind, key, body)?;
                let id = Id::parse(key, DEFAULT_TENANT).map_err(|error| unreadable(kind, key, error.to_string()))?;
                let Some(host) = self.network.find_node(&record.host) else {
                    return Err(LoadError::Missing { record: format!("VM {id}"), what: "node", name: record.host });
                };
                let mac = record.mac.as_deref().map(vm_mac).transpose();
                let mac = mac.map_err(|error| unreadable(kind, key, error.to_string()))?;
                let mac = mac.unwrap_or_else(|| macs::of(&id));
                self.insert_vm(id, VmState { host, mac, revision: record.revision });
            }
            Kind::Contract => self.read_contracts(&[(key, body)], again)?,
            Kind::Leaving => self.read_leaving(key, body, again)?,
            Kind::Down => {
                let record = parse::<DownRecord>(kind, key, body)?;
                let link = record.link.map(ElementName::Link);
                let Some(element) = link.or(record.node.map(ElementName::Node)) else {
                    return Err(unreadable(kind, key, "a link or a node is expected".to_owned()));
                };
                // What the network does not have any more cannot be down.
                if !self.links_of(&element).is_empty()
                    && let Some(down) = Down::of(record.why, record.seen)
                {
                    self.down.insert(element, down);
                }
            }
            Kind::Node => {
                let record = parse::<NodeRecord>(kind, key, body)?;
                if let Some(node) = self.network.find_node(key) {
                    let state = self.nodes.entry(node).or_default();
                    (state.epoch, state.is_set_up) = (record.epoch, record.set_up);
                }
            }
            Kind::Answer => {
                let answer = parse::<Remembered>(kind, key, body)?;
                self.remembered.insert(answer.number, key.to_owned());
                self.memory.insert(key.to_owned(), answer);
            }
        }
        Ok(())
    }

    /// Contracts are what there is most of, and each can be read without the others: several threads do.
    fn read_contracts(&mut self, records: &[(&str, &str)], again: &mut Vec<Again>) -> Result<(), LoadError> {
        let network = &*self.network;
        for read in in_shares(records, |(key, body)| read_contract(network, key, body)) {
            let (grant, place) = read?;
            // Of several contracts of one name the last one has it; those before are being released.
            if self.by_id.get(&grant.id).is_none_or(|&other| other < grant.serial) {
                self.by_id.insert(grant.id.clone(), grant.serial);
            }
            again.extend(place);
            self.grants.insert(grant.serial, grant);
        }
        Ok(())
    }

    fn read_leaving(&mut self, key: &str, body: &str, again: &mut Vec<Again>) -> Result<(), LoadError> {
        let record = parse::<LeavingRecord>(Kind::Leaving, key, body)?;
        let number = number(Kind::Leaving, key)?;
        let missing = |missing: Missing| LoadError::Missing {
            record: format!("route {number}, which contract number {} is leaving,", record.serial),
            what: missing.what,
            name: missing.name,
        };
        let deadline = Time::from_nanos(record.deadline_ns);
        let place = place(&self.network, &record.places, deadline, record.pinned).map_err(missing)?;
        if let Some(placed) = place.reservations.iter().map(|one| one.placed).min().filter(|_| record.held) {
            let place = Place { is_pinned: true, ..place.clone() };
            again.push(Again { placed, place, serial: record.serial, leaving: Some(number) });
        }
        let drain = Time::from_nanos(record.drain_ns);
        // The steady clock has begun anew: what was under way gets its whole time again.
        let phase = if record.stopped { Phase::Draining(drain) } else { Phase::Waiting };
        if record.stopped {
            self.timers.at(drain, Due::Empty(number));
        }
        let (serial, until, node) = (record.serial, record.until, record.sender(&self.network).map_err(missing)?);
        self.leavings.insert_loaded(
            number,
            Leaving { serial, node, place, until, drain, phase, held: None },
            record.held,
        );
        Ok(())
    }

    fn reserve_again(&mut self, mut again: Vec<Again>) -> Result<(), LoadError> {
        again.sort_by_key(|one| one.placed);
        for one in again {
            let Some(grant) = self.grants.get(&one.serial) else {
                let record = format!("a route that was reserved for contract number {}", one.serial);
                return Err(LoadError::Dangling { record, other: "that contract".to_owned() });
            };
            if let Some((link, queue)) = self.unusable(&one.place) {
                let record = format!("contract {}", grant.id);
                return Err(LoadError::Missing { record, what: "queue", name: format!("{queue} of link {link}") });
            }
            let flow = self.book.put_back(one.place, one.serial);
            match one.leaving {
                Some(number) => self.leavings.hold(number, flow),
                None => {
                    if let Some(grant) = self.grants.get_mut(&one.serial) {
                        grant.flow = flow;
                    }
                }
            }
        }
        Ok(())
    }

    /// A queue of a place that contracts cannot use.
    fn unusable(&self, place: &Place) -> Option<(String, u8)> {
        let ledger = self.book.ledger();
        let mut hops = place.reservations.iter().flat_map(|one| &one.route.hops);
        let hop = hops.find(|hop| usize::from(hop.queue) >= ledger.budgets(hop.link).len())?;
        Some((self.network.link(hop.link).name.clone(), hop.queue))
    }

    /// Everything that follows from what was read.
    fn connect(&mut self) -> Result<(), LoadError> {
        let confirms = self.confirms();
        let now = self.now.steady;
        for (number, leaving) in self.leavings.iter() {
            if !self.grants.contains_key(&leaving.serial) {
                let other = format!("contract number {}", leaving.serial);
                return Err(LoadError::Dangling { record: format!("the record of route {number}"), other });
            }
        }
        for (&serial, grant) in &mut self.grants {
            for number in grant.sender.waits_for.clone() {
                if self.leavings.get(number).is_none() {
                    let record = format!("contract {}", grant.id);
                    return Err(LoadError::Dangling { record, other: format!("route {number}, which it waits for,") });
                }
                self.waiters.entry(number).or_default().insert(serial);
            }
            if grant.sender.is_waited_for() && confirms {
                self.nodes.entry(grant.sender()).or_default().waiting.insert(serial);
                if let Some(told) = grant.sender.told {
                    self.timers.at(now + self.timing.confirm_within, Due::Confirmed(serial, told.version));
                }
            }
            if grant.violation.is_some() {
                self.timers.at(now + self.timing.heal_after, Due::Healed(serial));
            }
            let (starts, ends) = (grant.order.starts, grant.order.ends);
            for time in [starts, ends].into_iter().flatten().filter(|_| !grant.is_ended) {
                self.timers.at_wall(time, serial);
            }
            let kept = matches!(grant.trouble, Some(crate::grant::Trouble::Failed { .. }));
            if let Some(flow) = grant.flow.filter(|_| kept) {
                self.book.pin(flow, true);
            }
            if !grant.is_ended {
                let Some(tenant) = self.tenants.get_mut(&grant.id.tenant) else {
                    let record = format!("contract {}", grant.id);
                    return Err(LoadError::Dangling { record, other: format!("tenant {}", grant.id.tenant) });
                };
                tenant.usage.add(&grant.order.contract);
            }
            grant.state = grant.state_now(confirms);
        }
        Ok(())
    }

    fn close_what_is_down(&mut self) {
        for element in self.down.keys().cloned().collect::<Vec<_>>() {
            self.turn_links(&element);
        }
    }

    /// Derives every promise again.
    fn prove(&self) -> Result<(), LoadError> {
        let ledger = self.book.ledger();
        if let Some((_, link)) = self.network.links().find(|&(link, _)| !ledger.keeps(link)) {
            return Err(LoadError::Overfull { link: link.name.clone() });
        }
        for grant in self.grants.values() {
            let Some(flow) = grant.flow else { continue };
            let (bound, deadline) = (self.book.promised(flow), grant.order.contract.deadline);
            if bound > deadline {
                return Err(LoadError::TooSlow { id: grant.id.clone(), bound, deadline });
            }
        }
        Ok(())
    }

    /// What was left undone, and what has become due meanwhile.
    fn go_on(&mut self) {
        // A controller that assumes has nobody to wait for, whatever the one before was waiting for.
        for serial in self.grants.keys().copied().collect::<Vec<_>>() {
            if let Some(told) =
                self.grants.get(&serial).and_then(|grant| grant.sender.told).filter(|_| !self.confirms())
            {
                self.has_done(serial, told.version);
            }
            let is_idle = self.grants.get(&serial).is_some_and(|grant| {
                !grant.is_ended
                    && grant.sender.stop.is_none()
                    && grant.sender.told.map(|told| told.version) == grant.sender.run
            });
            if !is_idle {
                self.advance(serial);
            }
        }
        self.retry_later();
    }

    /// Every record as it is, for who wants another controller like this one: to ask what would be if.
    pub fn records(&self) -> Vec<crate::output::Change> {
        let mut all = vec![Dirty::Counters];
        all.extend(self.tenants.keys().cloned().map(Dirty::Tenant));
        all.extend(self.tokens.keys().cloned().map(Dirty::Token));
        all.extend(self.vms.keys().cloned().map(Dirty::Vm));
        all.extend(self.grants.keys().copied().map(Dirty::Contract));
        all.extend(self.leavings.iter().map(|(number, _)| Dirty::Leaving(number)));
        all.extend(self.down.keys().cloned().map(Dirty::Down));
        all.extend(self.nodes.keys().copied().map(Dirty::Node));
        all.extend(self.memory.keys().cloned().map(Dirty::Answer));
        all.iter().map(|dirty| crate::record::change(self, dirty)).collect()
    }
}

/// A contract without its flow, and what is to be reserved for it again.
fn read_contract(network: &Network, key: &str, body: &str) -> Result<(Grant, Option<Again>), LoadError> {
    let record = parse::<ContractRecord>(Kind::Contract, key, body)?;
    let serial = number(Kind::Contract, key)?;
    let id = Id::new(record.tenant.as_str(), record.name.as_str());
    let missing = |missing: Missing| LoadError::Missing {
        record: format!("contract {id}"),
        what: missing.what,
        name: missing.name,
    };
    let order = record.order(network).map_err(missing)?;
    let is_pinned = order.contract.route.is_some();
    let place = place(network, &record.places, order.contract.deadline, is_pinned).map_err(missing)?;
    let placed = place.reservations.iter().map(|one| one.placed).min();
    let again = placed.map(|placed| Again { placed, place, serial, leaving: None });
    let grant = Grant {
        id,
        serial,
        order,
        revision: record.revision,
        created: WallTime::from_nanos(record.created),
        decision: record.decision,
        bound: Time::from_nanos(record.bound_ns),
        state: State::Released,
        trouble: record.trouble(),
        violation: record.violation(),
        flow: None,
        is_ended: record.ended,
        sender: record.sender(),
    };
    Ok((grant, again))
}

fn parse<T: DeserializeOwned>(kind: Kind, key: &str, body: &str) -> Result<T, LoadError> {
    serde_json::from_str(body).map_err(|error| unreadable(kind, key, error.to_string()))
}

fn unreadable(kind: Kind, key: &str, message: String) -> LoadError {
    LoadError::Unreadable { kind: kind.name(), key: key.to_owned(), message }
}

fn number(kind: Kind, key: &str) -> Result<u64, LoadError> {
    key.parse().map_err(|_| unreadable(kind, key, "a number is expected as its key".to_owned()))
}
