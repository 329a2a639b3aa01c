//! A switch: the plan of its ports, and its driver.
//!
//! Switches are configured once, when they start (Chameleon, section 3.4): a packet carries one VLAN tag for each
//! switch on its route, and the tag names the port and queue by which it leaves. So a switch keeps no state of
//! contracts, and admission never touches it.

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
use crate::samples::PacketSample;

/// Packets that a port has sent and dropped, queue by queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortCounters {
    /// The port's interface.
    pub interface: String,
    /// Highest priority first.
    pub queues: Vec<QueueCounters>,
}

/// Packets that a switch has sent and dropped.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SwitchCounters {
    /// The ports that lead out.
    pub ports: Vec<PortCounters>,
    /// Frames without a tag, or with one that names no port and queue: dropped.
    pub unroutable: u64,
}

/// Driver that makes a switch follow its plan: Linux, or a switch that is configured from outside.
pub trait SwitchDriver {
    /// Error of the driver.
    type Error: fmt::Display;

    /// Makes the switch follow the plan, from any earlier state. The operation is idempotent.
    ///
    /// # Errors
    /// If the switch cannot, or cannot be reached.
    fn configure(&mut self, plan: &SwitchPlan) -> Result<(), Self::Error>;

    /// Restores the plan where another program has changed the switch since it was configured, and returns the
    /// changes. A switch whose state cannot be read is never changed.
    ///
    /// # Errors
    /// If the switch cannot, or cannot be reached.
    fn repair(&mut self, plan: &SwitchPlan) -> Result<Vec<String>, Self::Error> {
        let _ = plan;
        Ok(Vec::new())
    }

    /// Returns `true` if the kernel notifies the agent of every change by other programs. Otherwise the switch has to
    /// be inspected more often.
    fn is_watched(&self) -> bool {
        true
    }

    /// Returns the current faults that this driver cannot repair, one sentence each.
    fn problems(&self) -> Vec<String> {
        Vec::new()
    }

    /// Sets the number of bits by which forwarded packets are chosen to be noted; returns `false` if the switch never
    /// notes any.
    ///
    /// # Errors
    /// If the switch cannot, or cannot be reached.
    fn sample(&mut self, level: u32) -> Result<bool, Self::Error> {
        let _ = level;
        Ok(false)
    }

    /// Returns the samples since the last call, and the number of packets that it could not note so far.
    ///
    /// # Errors
    /// If it cannot be reached.
    fn samples(&mut self) -> Result<(Vec<PacketSample>, u64), Self::Error> {
        Ok((Vec::new(), 0))
    }

    /// Returns the counters since the switch was configured.
    ///
    /// # Errors
    /// If it cannot be reached.
    fn counters(&mut self) -> Result<SwitchCounters, Self::Error>;
}
