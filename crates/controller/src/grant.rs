//! An admitted contract, until its last packet has left.

use std::sync::Arc;

use wayleave_contracts::Order;
use wayleave_topology::{FlowId, NodeId};
use wayleave_units::{Time, WallTime};

use wayleave_protocol::Id;
use wayleave_protocol::contract::State;

/// An admitted contract.
#[derive(Clone, Debug)]
pub struct Grant {
    /// Which; shared with whatever finds contracts by name.
    pub id: Arc<Id>,
    /// Its number, which no other contract ever has.
    pub serial: u64,
    /// What was asked.
    pub order: Order,
    /// Its revision: that of its terms and its state.
    pub revision: u64,
    /// When it was first admitted.
    pub created: WallTime,
    /// The decision that admitted it as it is.
    pub decision: u64,
    /// No packet takes longer.
    pub bound: Time,
    /// The state that was last announced.
    pub state: State,
    /// Why it is degraded, if it is.
    pub trouble: Option<Trouble>,
    /// The packets that came too late, if some did.
    pub violation: Option<Violation>,
    /// What it has reserved; nothing if it is degraded and its reservation was given to others, or if it is released.
    pub(crate) flow: Option<FlowId>,
    /// It was deleted.
    pub(crate) is_ended: bool,
    pub(crate) sender: Sender,
}

/// Why a contract is not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// What failed is on all its routes, and there is no other.
    Failed {
        /// What failed.
        element: String,
        /// Whether its reservation is kept, so that it comes back for certain once that is repaired.
        keeps_place: bool,
        /// Why no other route was found.
        why: String,
    },
    /// It was admitted by the rules of an earlier version, which promised more than its links can carry.
    Unfit {
        /// Reason of the refusal when it was decided again.
        why: String,
    },
    /// Its sender has not confirmed in time.
    Unconfirmed,
    /// The agent of its sender has not been heard of for too long: what was confirmed may not be in force any more.
    Silent,
}

impl Trouble {
    /// A stable code.
    pub const fn code(&self) -> &'static str {
        match self {
            Self::Failed { .. } => "FAILURE",
            Self::Unfit { .. } => "UNFIT",
            Self::Unconfirmed => "UNCONFIRMED",
            Self::Silent => "SILENT",
        }
    }
}

/// Packets that came too late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// When that was last reported.
    pub at: WallTime,
    /// How many, since the contract is there.
    pub packets: u64,
    /// The longest delay.
    pub worst: Time,
}

/// What the sender of a contract is to do, and what it is known to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sender {
    /// The last version that was given out.
    pub(crate) version: u64,
    /// The version to stop at, before anything else is sent.
    pub(crate) stop: Option<u64>,
    /// The version to run.
    pub(crate) run: Option<u64>,
    /// The first version that runs on the reservation which the contract has now.
    pub(crate) since: u64,
    /// The pending releases that have to be complete before that may begin.
    pub(crate) waits_for: Vec<u64>,
    /// What it was told last; it may have done that, or not.
    pub(crate) told: Option<Told>,
    /// What it has confirmed last.
    pub(crate) confirmed: Option<Told>,
    /// Since when a confirmation is waited for.
    pub(crate) asked: Option<Time>,
}

/// What a sender was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) version: u64,
    pub(crate) runs: bool,
}

impl Sender {
    pub(crate) fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    /// Whether packets may be sent on the reservation which the contract has now.
    pub(crate) fn may_run(&self) -> bool {
        self.run.is_some() && self.told.is_some_and(|told| told.runs && told.version >= self.since)
    }

    /// Whether it has still to confirm something.
    pub(crate) fn is_waited_for(&self) -> bool {
        self.told.is_some() && self.told != self.confirmed
    }
}

impl Grant {
    /// The host that sends.
    pub fn sender(&self) -> NodeId {
        self.order.contract.from
    }

    /// The version of the rule that is to be kept, and the one that the sender has confirmed.
    pub fn versions(&self) -> (Option<u64>, Option<u64>) {
        (self.sender.run, self.sender.confirmed.filter(|told| told.runs).map(|told| told.version))
    }

    /// How many routes that others have left have to be empty before its packets may be sent.
    pub fn waits_for(&self) -> usize {
        self.sender.waits_for.len()
    }

    /// Whether its reservation is never moved to admit others: its route was given, or it is not in force.
    pub(crate) fn is_pinned(&self) -> bool {
        self.order.contract.route.is_some() || self.is_failed()
    }

    /// Whether something that failed keeps it from sending.
    pub(crate) fn is_failed(&self) -> bool {
        matches!(self.trouble, Some(Trouble::Failed { .. } | Trouble::Unfit { .. }))
    }

    /// Whether it was deleted.
    pub fn is_ended(&self) -> bool {
        self.is_ended
    }

    /// Its state, where a contract that is kept is in this one.
    pub(crate) fn state_now(&self, kept: State) -> State {
        if self.is_ended {
            return State::Released;
        }
        if self.trouble.is_some() {
            return State::Degraded;
        }
        if self.violation.is_some() {
            return State::Violated;
        }
        let Sender { told, confirmed, run, .. } = &self.sender;
        match (told, confirmed) {
            (Some(told), _) if told.runs && Some(told.version) == *run && Some(told) != confirmed.as_ref() => {
                State::Admitted
            }
            // Also by the rule before the one that is to come: until then it keeps its promise on the old route.
            (Some(told), Some(confirmed)) if told == confirmed && told.runs => kept,
            _ => State::Pending,
        }
    }
}
