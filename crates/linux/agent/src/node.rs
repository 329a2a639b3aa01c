//! What a worker does with a node besides carrying out operations.

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
pub trait Node: Driver {
    /// Interfaces may have come or gone.
    fn refresh(&mut self);

    /// Compares what enforces with what was installed, makes it so again, and says what was wrong.
    fn repair(&mut self) -> Vec<String>;

    /// Whether the kernel tells of everything that somebody can change here.
    fn is_watched(&self) -> bool {
        true
    }

    /// VMs moved, or something failed or was repaired.
    fn set_environment(&mut self, environment: Arc<Environment>);

    /// What was counted of every contract that it sends; `None` if nothing is counted here, or that is not known.
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

    /// What is wrong now, one sentence each. What somebody sends as it should not counts as wrong for a while.
    fn problems(&mut self, _now: Time) -> Vec<String> {
        Vec::new()
    }

    /// What was counted of all packets, by what became of them; `None` if nothing is counted here, or that is not known.
    fn packets(&mut self) -> Option<BTreeMap<String, u64>> {
        None
    }

    /// Packets that were noted where they were sent or where they arrived, since the last time; `None` if none are, or that is not known.
    fn samples(&mut self) -> Option<Samples> {
        None
    }

    /// The controller has said which contracts of other kinds than latency there are; time counts from any moment.
    fn set_shares(&mut self, _now: Time, _shares: Shares) {}

    /// Where other agents reach this one; `None` if they do not.
    fn peer_address(&self) -> Option<String> {
        None
    }

    /// The agent of another node has said this.
    fn on_peer_message(&mut self, _now: Time, _from: NodeId, _said: &PeerMessage) {}

    /// An interval of the division among these contracts is over; whether there is another one.
    fn divide(&mut self, _now: Time) -> bool {
        false
    }

    /// What the rack broker is told of tenants; `None` if nothing is divided here.
    fn moved(&mut self, _now: Time) -> Option<ReportLine> {
        None
    }

    /// The rack broker says what tenants may have.
    fn limit(&mut self, _now: Time, _limits: LimitsLine) {}

    /// The interfaces at which probes of a check are looked for, by their index.
    fn places(&mut self) -> BTreeMap<u32, NodeInterface> {
        BTreeMap::new()
    }

    /// The interface into which probes of a check are put, so that they are what its endpoint sends; and what they are.
    ///
    /// # Errors
    /// If an end is not there, as a sentence.
    fn outlet(&mut self, _mark: [u8; 8], _probes: &Probes) -> Result<(String, Template), String> {
        Err("this node is a switch, which has no endpoints".to_owned())
    }

    /// What arrived since the last time.
    fn reports(&mut self) -> Vec<Measured>;
}
