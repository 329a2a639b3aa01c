//! A switch: what its ports are, and what drives it.
//!
//! Switches are configured once, when they start (Chameleon, section 3.4): a packet carries one VLAN tag for each switch on its way, and the
//! tag says by which port and queue it leaves. So a switch keeps no state of contracts, and admission never touches it.

mod bridge;
mod cases;
mod linux;
mod order;
mod ovs;
mod plan;
mod registers;

use std::fmt;

pub use bridge::{Disorder, OvsBridge, OvsError};
pub use cases::{CaseFlow, MAX_ENTRIES};
pub use linux::{LinuxSwitch, LinuxSwitchError};
pub use ovs::OvsSwitch;
pub use plan::{Forward, PlanError, PortPlan, SwitchPlan, port_of, queue_of};
pub use registers::{ProbeFor, ProbeRequest, QueueReply, RegisterSettings, Registers};

use crate::net::QueueCounters;
use crate::samples::Sample;

/// What a port has sent and dropped, queue by queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortCounters {
    /// The port's interface.
    pub interface: String,
    /// Highest priority first.
    pub queues: Vec<QueueCounters>,
}

/// What a switch has sent and dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchCounters {
    /// The ports that lead out.
    pub ports: Vec<PortCounters>,
    /// Frames without a tag, or with one that names no port and queue: dropped.
    pub unroutable: u64,
}

/// What makes a switch do as planned: Linux, or one that is told from outside.
pub trait SwitchDriver {
    /// Why it could not.
    type Error: fmt::Display;

    /// Makes the switch do as planned, whatever it did before. Done twice, it changes nothing.
    ///
    /// # Errors
    /// If the switch cannot, or cannot be reached.
    fn configure(&mut self, plan: &SwitchPlan) -> Result<(), Self::Error>;

    /// Makes it again as planned where somebody has changed it since it was configured, and says what that was. A switch that tells
    /// nothing of itself is never changed.
    ///
    /// # Errors
    /// If the switch cannot, or cannot be reached.
    fn repair(&mut self, plan: &SwitchPlan) -> Result<Vec<String>, Self::Error> {
        let _ = plan;
        Ok(Vec::new())
    }

    /// Whether the kernel tells of everything that somebody can change. Where it does not, the switch has to be looked at more often.
    fn is_watched(&self) -> bool {
        true
    }

    /// What is wrong now and not for this driver to mend, one sentence each.
    fn problems(&self) -> Vec<String> {
        Vec::new()
    }

    /// From now on it notes some of the packets that come by, chosen by so many bits of their numbers; `false` if it never notes any.
    ///
    /// # Errors
    /// If the switch cannot, or cannot be reached.
    fn sample(&mut self, level: u32) -> Result<bool, Self::Error> {
        let _ = level;
        Ok(false)
    }

    /// What it has noted since the last time, and how many packets it could not note so far.
    ///
    /// # Errors
    /// If it cannot be reached.
    fn samples(&mut self) -> Result<(Vec<Sample>, u64), Self::Error> {
        Ok((Vec::new(), 0))
    }

    /// What the switch has sent and dropped since it was configured.
    ///
    /// # Errors
    /// If it cannot be reached.
    fn counters(&mut self) -> Result<SwitchCounters, Self::Error>;
}
