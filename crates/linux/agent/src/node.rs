//! Operations of a worker on a node besides carrying out the controller's operations.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::interfaces::NodeInterface;
use crate::machine::Driver;
use crate::probe::Template;
use wayleave_protocol::agent::{ContractProblem, Measured, Samples, Shares, Traffic};

use wayleave_broker::process::{LimitsLine, ReportLine};
use wayleave_protocol::check::Probes;
use wayleave_topology::NodeId;
use wayleave_units::Time;

use crate::environment::Environment;
use crate::shares::message::PeerMessage;

/// A host or a switch.
pub trait NodeDriver: Driver {
    /// Interfaces may have come or gone.
    fn refresh(&mut self);

    /// Compares the data plane with the installed rules, repairs it, and returns the faults found.
    fn repair(&mut self) -> Vec<String>;

    /// Returns `true` if the kernel notifies the agent of every change that other programs can make here.
    fn is_watched(&self) -> bool {
        true
    }

    /// VMs moved, or something failed or was repaired.
    fn set_environment(&mut self, environment: Arc<Environment>);

    /// Returns the counters of every contract that the node sends; `None` if nothing is counted here, or if they are
    /// not known.
    fn traffic(&mut self) -> Option<Vec<Traffic>> {
        None
    }

    /// Serial and version of every rule of a contract of another kind than latency that is in force; `None` on a switch, and
    /// until the controller has named the contracts.
    fn rules_in_force(&self) -> Option<Vec<(u64, u64)>> {
        None
    }

    /// Contracts that cannot be carried out now; `None` on a switch.
    fn contract_problems(&self) -> Option<Vec<ContractProblem>> {
        None
    }

    /// Returns the current troubles, one sentence each. A packet that violates the rules counts as a trouble for some
    /// time.
    fn problems(&mut self, _now: Time) -> Vec<String> {
        Vec::new()
    }

    /// Returns the counters of all packets, by outcome; `None` if nothing is counted here, or if they are not known.
    fn packets(&mut self) -> Option<BTreeMap<String, u64>> {
        None
    }

    /// Packets that were noted where they were sent or where they arrived, since the last time; `None` if none are, or that is not known.
    fn samples(&mut self) -> Option<Samples> {
        None
    }

    /// Sets the contracts of other kinds than latency that the controller has sent. The origin of `_now` is
    /// arbitrary.
    fn set_shares(&mut self, _now: Time, _shares: Shares) {}

    /// Returns the address at which other agents reach this one; `None` if they do not.
    fn peer_address(&self) -> Option<String> {
        None
    }

    /// Handles a message from the agent of another node.
    fn on_peer_message(&mut self, _now: Time, _from: NodeId, _message: &PeerMessage) {}

    /// An interval of the division among these contracts is over; whether there is another one.
    fn divide(&mut self, _now: Time) -> bool {
        false
    }

    /// Returns the report on tenants for the rack broker; `None` if nothing is divided here.
    fn moved(&mut self, _now: Time) -> Option<ReportLine> {
        None
    }

    /// Sets the limits of tenants that the rack broker has sent.
    fn limit(&mut self, _now: Time, _limits: LimitsLine) {}

    /// Returns the interfaces at which probes of a check are watched for, by index.
    fn places(&mut self) -> BTreeMap<u32, NodeInterface> {
        BTreeMap::new()
    }

    /// Returns the interface into which probes of a check are put, so that they count as packets of its endpoint, and
    /// the template of the probes.
    ///
    /// # Errors
    /// If an end does not exist here, as a sentence.
    fn outlet(&mut self, _mark: [u8; 8], _probes: &Probes) -> Result<(String, Template), String> {
        Err("this node is a switch, which has no endpoints".to_owned())
    }

    /// Returns the measurements of packets that arrived since the last call.
    fn reports(&mut self) -> Vec<Measured>;
}
