//! What machines and brokers want done.

use wayleave_scheme_api::{
    BrokerId, Bucket, HopWindow, HostAction, Limiter, Member, Outgoing, PathIndex, PathUse, Peer, Probe, Weighted,
};
use wayleave_schemes::edges::{AnyBrokerTimer, AnyMessage, AnyTimer};
use wayleave_units::{Bytes, Rate, Time};

use super::slot::EdgeId;

/// What is wanted, until it is done.
#[derive(Debug)]
pub(crate) enum Action {
    /// By a machine, of this scheme.
    Edge(EdgeId, u8, Wish),
    /// By a broker: a message to somebody.
    Broker(BrokerId, Member, AnyMessage),
    /// By a broker: a timer.
    ArmBroker(BrokerId, Time, AnyBrokerTimer),
}

/// What a machine wants done: a [`HostAction`] that borrows nothing.
#[derive(Debug)]
pub(crate) enum Wish {
    Limit(Limiter, Option<Bucket>),
    Window(Outgoing, PathIndex, Option<Bytes>),
    Floor(Outgoing, PathIndex, Rate),
    Weight(Weighted, u32),
    UsePath(Outgoing, PathIndex, PathUse, Time),
    LeavePath(Outgoing, PathIndex),
    Probe(Outgoing, PathIndex, Probe, Vec<HopWindow>),
    Send(Peer, AnyMessage),
    Arm(Time, AnyTimer),
}

impl From<HostAction<'_, AnyMessage, AnyTimer>> for Wish {
    fn from(action: HostAction<'_, AnyMessage, AnyTimer>) -> Self {
        match action {
            HostAction::SetBucket { limiter, bucket } => Self::Limit(limiter, bucket),
            HostAction::Send { to, message } => Self::Send(to, message),
            HostAction::Arm { at, timer } => Self::Arm(at, timer),
            HostAction::SetWindow { pair, path, window } => Self::Window(pair, path, window),
            HostAction::SetFloor { pair, path, rate } => Self::Floor(pair, path, rate),
            HostAction::SetWeight { of, weight } => Self::Weight(of, weight),
            HostAction::UsePath { pair, path, purpose, from } => Self::UsePath(pair, path, purpose, from),
            HostAction::LeavePath { pair, path } => Self::LeavePath(pair, path),
            HostAction::SendProbe { pair, path, probe, windows } => Self::Probe(pair, path, probe, windows.to_vec()),
        }
    }
}
