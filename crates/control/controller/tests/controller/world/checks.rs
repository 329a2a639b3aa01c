//! Invariants of a controller as a whole.

use std::collections::{BTreeMap, BTreeSet};

use wayleave_contracts::Contract;
use wayleave_controller::{
    Controller, ControllerConfig, DegradedReason, ElementName, EnforcedBy, RecordKind, State, Timeouts, Timestamps,
    WhatIf,
};
use wayleave_protocol::agent::Operation;
use wayleave_schemes::admitted::AdmittedSet as _;
use wayleave_topology::ShareId;
use wayleave_units::{Time, WallTime};

use crate::world::run::Node;
use crate::world::wire::{Flow, Wire, hops};

/// Records on disk.
pub(crate) type Store = BTreeMap<(RecordKind, String), std::sync::Arc<str>>;

pub(crate) fn records(controller: &Controller) -> Store {
    let record = |change: wayleave_controller::RecordChange| Some(((change.kind, change.key), change.body?));
    controller.records().into_iter().filter_map(record).collect()
}

pub(crate) fn load(setup: &ControllerConfig, wall: WallTime, store: &Store) -> Result<Controller, String> {
    let records = store.iter().map(|((kind, key), body)| (*kind, key.as_str(), &**body));
    Controller::load(setup, wall, records)
        .map_err(|error| format!("no controller can be made of what is on disk: {error}"))
}

/// The records on disk equal those in memory.
pub(crate) fn same_records(controller: &Controller, store: &Store) -> Result<(), String> {
    let records = records(controller);
    for (key, body) in &records {
        if store.get(key) != Some(body) {
            return Err(format!("{key:?} is {body}, and on disk it is {:?}", store.get(key)));
        }
    }
    match store.keys().find(|key| !records.contains_key(key)) {
        Some(key) => Err(format!("{key:?} is on disk, and nowhere else")),
        None => Ok(()),
    }
}

/// Every flow has an owner, and every contract its flows.
pub(crate) fn whole(controller: &Controller) -> Result<(), String> {
    for (flow, _) in controller.ledger().flows() {
        let Some(grant) = controller.owner(flow) else { return Err(format!("flow {} belongs to no contract", flow.0)) };
        if !grant.is_ended() && !controller.routes(grant).iter().any(|&(other, _)| other == flow) {
            return Err(format!("flow {} belongs to {}, which does not know it", flow.0, grant.id));
        }
    }
    shares_are_whole(controller)?;
    let Some(placement) = controller.scheme().queues() else { return Err("no queues".to_owned()) };
    for grant in controller.grants().filter(|grant| !grant.is_ended()) {
        let Some(terms) = grant.terms() else { continue };
        let routes = controller.routes(grant);
        let has_failed = matches!(grant.degraded_reason, Some(DegradedReason::Failed { .. }));
        if routes.is_empty() && !has_failed {
            return Err(format!("{} has no place, and is {:?}", grant.id, grant.state));
        }
        let bound = routes.iter().map(|(_, route)| placement.bound(route)).max();
        if !has_failed && (bound != grant.bound() || bound > Some(terms.deadline)) {
            return Err(format!("{} was told a bound of {:?}, and has {bound:?}", grant.id, grant.bound()));
        }
    }
    Ok(())
}

/// No share counts as enforced if one of its hosts never received its rule.
pub(crate) fn enforced_shares_were_sent(controller: &Controller, nodes: &BTreeMap<String, Node>) -> Result<(), String> {
    for grant in controller.grants().filter(|grant| grant.terms().is_none() && grant.state == State::Enforced) {
        for host in grant.order.contract.hosts() {
            let name = &controller.network().node(host).name;
            if !nodes.get(name).is_some_and(|node| node.notices.contains(&(grant.serial, grant.rule_version()))) {
                return Err(format!("{} is enforced, and {name} was never told: {grant:?}", grant.id));
            }
        }
    }
    Ok(())
}

/// Every share has an owner, every contract its share, and on links that are up everything that is promised fits.
fn shares_are_whole(controller: &Controller) -> Result<(), String> {
    let ledger = controller.ledger();
    // Of contracts that have ended, until their last packets have left.
    let left: BTreeSet<ShareId> = controller.left_shares().map(|(share, _)| share).collect();
    if let Some((share, _)) = controller.left_shares().find(|(share, _)| ledger.share(*share).is_none()) {
        return Err(format!("share {} is left, and not held", share.0));
    }
    for (share, _) in ledger.shares() {
        match controller.owner_of_share(share) {
            Some(grant) if grant.share() == Some(share) => {}
            None if left.contains(&share) => {}
            owner => return Err(format!("share {} belongs to {:?}", share.0, owner.map(|grant| &grant.id))),
        }
    }
    for grant in controller.grants().filter(|grant| grant.terms().is_none()) {
        let has_failed = matches!(grant.degraded_reason, Some(DegradedReason::Failed { .. }));
        let needs_none = matches!(grant.order.contract, Contract::BestEffort(_));
        let parted = controller.share_of(grant).map(|share| ledger.is_parted(share));
        if !needs_none && !has_failed && parted != Some(false) {
            return Err(format!("{} has no place ({parted:?}), and is {:?}", grant.id, grant.state));
        }
    }
    let mut open = controller.network().links().filter(|&(link, _)| !ledger.is_closed(link));
    match open.find(|&(link, _)| !ledger.keeps_shares(link)) {
        Some((_, link)) => Err(format!("more is promised on {} than fits", link.name)),
        None => Ok(()),
    }
}

/// The reservations keep every promise.
pub(crate) fn sound(controller: &Controller, wire: &mut Wire) -> Result<(), String> {
    let mut flows: BTreeSet<Flow> = BTreeSet::new();
    for (flow, reservation) in controller.ledger().flows() {
        let serial = controller.owner(flow).map_or(0, |grant| grant.serial);
        let mut one = Flow::of(serial, &reservation.route, reservation.demand, 0);
        // A flow that occurs twice counts twice.
        while !flows.insert(one.clone()) {
            one.copy += 1;
        }
    }
    let Some(placement) = controller.scheme().queues() else { return Err("no queues".to_owned()) };
    wire.passes(placement, &flows).map_err(|error| format!("what is reserved breaks promises:\n    {error}"))
}

/// A controller that is loaded from the records of this one is equal to it.
pub(crate) fn survives(controller: &Controller, setup: &ControllerConfig, wall: WallTime) -> Result<(), String> {
    let other = load(setup, wall, &records(controller))?;
    // Shares of ended contracts are free after a start.
    if controller.left_shares().next().is_none() && other.ledger() != controller.ledger() {
        return Err("a loaded controller has another ledger".to_owned());
    }
    if !controller.tenants().eq(other.tenants()) || !controller.vms().eq(other.vms()) {
        return Err("a loaded controller has other tenants, with other usage, or other VMs".to_owned());
    }
    let ids: BTreeSet<_> =
        controller.grants().chain(other.grants()).filter(|one| !one.is_ended()).map(|one| one.id.clone()).collect();
    for id in ids {
        let describe = |controller: &Controller| {
            let grant = controller.grant(&id)?;
            let routes: Vec<_> = controller.routes(grant).iter().map(|(_, route)| hops(route)).collect();
            Some(format!(
                "{:?} {:?} {:?} {:?} {:?} {routes:?} {:?} {:?} {} {:?}",
                grant.order,
                grant.state,
                grant.degraded_reason,
                grant.bound(),
                grant.versions(),
                grant.certainty(),
                grant.within(),
                grant.waits_for(),
                controller.share_of(grant),
            ))
        };
        let (here, there) = (describe(controller), describe(&other));
        // Contracts that start or end by a calendar that has jumped since may differ.
        let has_times = controller.grant(&id).is_none_or(|one| one.order.starts.is_some() || one.order.ends.is_some());
        if here != there && !has_times {
            return Err(format!("{id} is {here:?}, and after loading {there:?}"));
        }
    }
    for (node, _) in controller.network().nodes() {
        let name = &controller.network().node(node).name;
        // A rule that no contract explains is removed once more when its host begins a session.
        let known = |one: &Operation| {
            controller
                .grant_of(one.serial)
                .is_some_and(|grant| grant.order.starts.is_none() && grant.order.ends.is_none())
        };
        let of = |controller: &Controller| controller.outbox(name).into_iter().filter(known).collect::<Vec<_>>();
        if of(controller) != of(&other) {
            return Err(format!("{name} has to be told {:?}, and after loading {:?}", of(controller), of(&other)));
        }
    }
    Ok(())
}

/// A controller that follows what is put on disk knows what one knows that is loaded from it.
pub(crate) fn follows(
    follower: &Controller,
    setup: &ControllerConfig,
    wall: WallTime,
    store: &Store,
) -> Result<(), String> {
    let loaded = load(setup, wall, store)?;
    if follower.ledger() != loaded.ledger() {
        return Err("a follower has another ledger than a loaded controller".to_owned());
    }
    if !follower.tenants().eq(loaded.tenants()) || !follower.vms().eq(loaded.vms()) {
        return Err("a follower has other tenants, with other usage, or other VMs".to_owned());
    }
    if !follower.tokens().eq(loaded.tokens()) || follower.revision() != loaded.revision() {
        return Err("a follower has other tokens, or another revision".to_owned());
    }
    let state = |one: &Controller| -> BTreeSet<String> {
        let of = |grant: &wayleave_controller::AdmittedContract| {
            // States of contracts that start or end by a calendar that has jumped since may differ: a start reads the
            // clock anew.
            if grant.order.starts.is_some() || grant.order.ends.is_some() {
                return format!("{} {:?}", grant.id, grant.order);
            }
            let routes: Vec<_> = one.routes(grant).iter().map(|(_, route)| hops(route)).collect();
            format!(
                "{} {:?} {:?} {:?} {:?} {:?} {:?} {routes:?} {:?}",
                grant.id,
                grant.order,
                grant.state,
                grant.degraded_reason,
                grant.bound(),
                grant.certainty(),
                grant.within(),
                one.share_of(grant)
            )
        };
        // An ended contract loses its name to a later one that ends as well, and has that name again after a start.
        // Its reservation is in the ledger.
        one.grants().filter(|grant| !grant.is_ended()).map(of).collect()
    };
    let (here, there) = (state(follower), state(&loaded));
    match here.symmetric_difference(&there).next() {
        Some(one) if here.contains(one) => Err(format!("only a follower has {one}")),
        Some(one) => {
            let others: Vec<&String> = here.difference(&there).collect();
            Err(format!("a follower does not have {one}, but {others:?}"))
        }
        None => Ok(()),
    }
}

/// A copy of a controller answers a what_if as one does that is loaded from its records.
pub(crate) fn copies_answer_alike(
    controller: &Controller,
    setup: &ControllerConfig,
    wall: WallTime,
    which: u64,
) -> Result<(), String> {
    // A loaded controller knows less about the clock: here both trust it.
    let timing = Timeouts { clock_hold_down: Time::ZERO, ..setup.timing };
    let setup = ControllerConfig { enforced_by: EnforcedBy::Nobody, timing, ..setup.clone() };
    let before = records(controller);
    let copy = controller.copy().controller(&setup, wall).map_err(|error| error.to_string())?;
    let loaded = load(&setup, wall, &before)?;
    if copy.ledger() != loaded.ledger() {
        return Err("a copy has another ledger than a loaded controller".to_owned());
    }
    let state = |one: &Controller| -> Vec<String> {
        let of = |grant: &wayleave_controller::AdmittedContract| {
            let routes: Vec<_> = one.routes(grant).iter().map(|(_, route)| hops(route)).collect();
            // A copy keeps the state "enforced" of contracts, also where no agent confirms.
            let state = if grant.state == State::Enforced { State::Admitted } else { grant.state };
            format!(
                "{} {state:?} {:?} {:?} {} {routes:?}",
                grant.id,
                grant.degraded_reason,
                grant.versions(),
                grant.waits_for()
            )
        };
        one.grants().map(of).collect()
    };
    if state(&copy) != state(&loaded) {
        return Err(format!("a copy has {:#?}, a loaded controller {:#?}", state(&copy), state(&loaded)));
    }
    let names: Vec<_> = controller.network().links().map(|(_, link)| link.name.clone()).collect();
    let name = names[usize::try_from(which).unwrap_or(0) % names.len()].clone();
    let down: Vec<_> = controller.down().map(|(element, _)| element.clone()).collect();
    let delete: Vec<_> =
        controller.grants().filter(|one| !one.is_ended()).map(|one| one.id.as_ref().clone()).take(1).collect();
    let what_if = WhatIf { fail: vec![ElementName::Link(name)], restore: down, delete, ..WhatIf::default() };
    let ask = |mut one: Controller| one.ask(Timestamps { steady: Time::ZERO, wall }, what_if.clone());
    let (of_copy, of_loaded) = (ask(copy), ask(loaded));
    if of_copy != of_loaded {
        return Err(format!("{what_if:?}: a copy says {of_copy:?}, a loaded controller {of_loaded:?}"));
    }
    same_records(controller, &before).map_err(|error| format!("a what_if has changed the controller: {error}"))
}

/// Returns an error if work is pending although nothing fails any more.
pub(crate) fn settled<'a>(controller: &Controller, agents: impl Iterator<Item = &'a String>) -> Result<(), String> {
    for grant in controller.grants() {
        match (grant.state, &grant.degraded_reason) {
            // Also the last change has to have come through, not only the rule before it.
            (State::Enforced, None) if grant.versions().0 == grant.versions().1 => {}
            (State::Degraded, Some(DegradedReason::Failed { keeps_place: false, .. })) => {}
            (state, degraded_reason) => {
                let down: Vec<_> = controller.down().collect();
                return Err(format!("{} is {state:?} ({degraded_reason:?}) with {down:?} down: {grant:?}", grant.id));
            }
        }
    }
    for name in agents {
        let left = controller.outbox(name);
        if !left.is_empty() {
            return Err(format!("{name} has still to be told {left:?}"));
        }
    }
    let is_ended = |&flow: &wayleave_topology::FlowId| controller.owner(flow).is_none_or(|grant| grant.is_ended());
    match controller.ledger().flows().map(|(flow, _)| flow).find(is_ended) {
        Some(flow) => Err(format!("flow {} is still held", flow.0)),
        None => Ok(()),
    }
}
