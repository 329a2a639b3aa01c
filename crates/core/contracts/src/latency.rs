//! Latency contracts: a token bucket between two hosts, with a deadline for every packet.

use wayleave_topology::{Network, NodeId, Route};
use wayleave_units::{Bytes, Rate, Time};

use crate::ContractError;
use crate::error::{check_host, check_name};
use crate::limits::{MAX_DEADLINE, MAX_PROTECTION};

/// A latency contract between two hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LatencyContract {
    /// Unique in its list.
    pub name: String,
    /// Tenant of the contract.
    pub tenant: Option<String>,
    /// The sending host.
    pub from: NodeId,
    /// The receiving host.
    pub to: NodeId,
    /// Long-term rate of the token bucket.
    pub rate: Rate,
    /// Depth of the token bucket.
    pub burst: Bytes,
    /// No packet takes longer, from the shaper's release to the last bit at the receiver.
    pub deadline: Time,
    /// Bytes counted by rate, burst and frame sizes.
    pub accounting: Accounting,
    /// The largest frame that the flow sends, counted as its burst is; the link's MTU or the burst where none is given.
    pub max_frame: Option<Bytes>,
    /// The only route that will do, if the tenant has pinned one.
    pub route: Option<Route>,
    /// Number of physically disjoint routes over which every packet is sent at once, up to [`MAX_PROTECTION`]; 1 is a
    /// single route. The promise then holds through any `protection - 1` failures of elements that the routes do not
    /// share.
    pub protection: u8,
    /// Treatment of packets beyond the token bucket.
    pub excess: Excess,
}

/// Treatment of packets for which a contract's token bucket has no tokens. These packets are not part of the promise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Excess {
    /// They wait in a bounded queue for tokens; what does not fit there is dropped.
    #[default]
    Wait,
    /// They are dropped.
    Drop,
    /// Their flow is sent in the class below (guaranteed, if its tenant has bandwidth there; else best effort). It
    /// returns after an idle time of the longest transit of that class, so that no packet overtakes an earlier one.
    Demote,
}

impl Excess {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Wait, Self::Drop, Self::Demote];

    /// Returns the name in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::Drop => "drop",
            Self::Demote => "demote",
        }
    }

    /// The one with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|excess| excess.name() == name)
    }
}

/// Meaning of a contract's bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accounting {
    /// Everything on the wire: frame, preamble, gap, FCS and tags, as the shaper charges it.
    Wire,
    /// Frames without FCS, preamble, gap and tags; the smallest frame decides how much those can add.
    Frame {
        /// The smallest frame that the flow sends.
        min_frame: Bytes,
    },
}

impl LatencyContract {
    /// Returns the contract of no tenant over one route of any kind, with rate and burst on the wire and frames up to the MTU. Packets
    /// beyond the token bucket wait.
    pub fn new(name: impl Into<String>, from: NodeId, to: NodeId, rate: Rate, burst: Bytes, deadline: Time) -> Self {
        Self {
            name: name.into(),
            tenant: None,
            from,
            to,
            rate,
            burst,
            deadline,
            accounting: Accounting::Wire,
            max_frame: None,
            route: None,
            protection: 1,
            excess: Excess::default(),
        }
    }

    /// Checks everything that does not depend on other contracts.
    ///
    /// # Errors
    /// The first error; [`ContractError::field`] is its place.
    pub fn validate(&self, network: &Network) -> Result<(), ContractError> {
        check_name(&self.name)?;
        check_host("from", self.from, network)?;
        check_host("to", self.to, network)?;
        if self.from == self.to {
            return Err(ContractError::SameHost(network.node(self.to).name.clone()));
        }
        self.validate_traffic()?;
        if !(1..=MAX_PROTECTION).contains(&self.protection) {
            return Err(ContractError::Protection(self.protection));
        }
        if self.protection > 1 && self.route.is_some() {
            return Err(ContractError::ProtectedRoute);
        }
        match &self.route {
            Some(route) => route.validate(network, self.from, self.to).map_err(ContractError::Route),
            None => Ok(()),
        }
    }

    fn validate_traffic(&self) -> Result<(), ContractError> {
        if self.rate == Rate::ZERO {
            return Err(ContractError::ZeroRate);
        }
        if self.burst == Bytes::ZERO {
            return Err(ContractError::ZeroBurst);
        }
        if self.deadline == Time::ZERO {
            return Err(ContractError::ZeroTime("deadline"));
        }
        if self.deadline > MAX_DEADLINE {
            return Err(ContractError::LongTime { field: "deadline", time: self.deadline });
        }
        let min_frame = match self.accounting {
            Accounting::Frame { min_frame } => Some(min_frame),
            Accounting::Wire => None,
        };
        if let Some(min_frame) =
            min_frame.filter(|&min| min == Bytes::ZERO || self.max_frame.is_some_and(|max| min > max))
        {
            return Err(ContractError::BadMinFrame { min_frame, max_frame: self.max_frame });
        }
        for (field, frame) in [("maxFrame", self.max_frame), ("minFrame", min_frame)] {
            if let Some(frame) = frame.filter(|&frame| self.burst < frame) {
                return Err(ContractError::BurstBelowFrame { burst: self.burst, frame, field });
            }
        }
        Ok(())
    }
}
