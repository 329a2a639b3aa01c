//! Pending actions of machines and brokers.

use wayleave_scheme_api::{BrokerId, HostAction, Member};
use wayleave_schemes::hosts::{AnyBrokerTimer, AnyMessage, AnyTimer};
use wayleave_units::Time;

use super::slot::HostId;

/// An action that waits to be carried out.
#[derive(Debug)]
pub(crate) enum Action {
    /// Of a machine, of this scheme.
    Host(HostId, u8, HostAction<AnyMessage, AnyTimer>),
    /// A broker's message to another party.
    Broker(BrokerId, Member, AnyMessage),
    /// A broker's timer.
    ArmBroker(BrokerId, Time, AnyBrokerTimer),
}
