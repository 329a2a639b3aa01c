//! Schemes that are not in this repository: hosts and brokers behind trait objects.
//!
//! [`Host`] has a message and a timer of its own and a sink that is generic, so it is no trait object. [`DynRole`] makes
//! one of any host or broker: its messages travel as [`CustomMessage`], its timers as numbers. That costs an allocation a
//! message and an indirect call an input; schemes in the repository have neither. [`Tunnel`], [`Path`],
//! [`Switch`](crate::Switch) and [`Flow`](crate::Flow) are trait objects as they are.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt;

use wayleave_units::Time;

use crate::broker::{Broker, BrokerAction, BrokerInput};
use crate::host::{Host, HostAction, HostInput};
use crate::ids::Incoming;
use crate::path::Path;
use crate::telemetry::{Probe, ProbeAnswer};
use crate::tunnel::Tunnel;

/// A message of a scheme that its driver does not know.
#[derive(Clone)]
pub struct CustomMessage {
    /// Bytes on the wire of the packet that carries it, with headers, preamble and gap.
    pub wire_bytes: u32,
    body: Arc<dyn Any + Send + Sync>,
}

impl CustomMessage {
    /// A message of `wire_bytes` bytes on the wire.
    pub fn new<M: Any + Send + Sync>(message: M, wire_bytes: u32) -> Self {
        Self { wire_bytes, body: Arc::new(message) }
    }

    /// Its content, if it is of this type.
    pub fn get<M: Any>(&self) -> Option<&M> {
        self.body.downcast_ref()
    }
}

impl fmt::Debug for CustomMessage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CustomMessage({} B)", self.wire_bytes)
    }
}

/// A [`Host`] as a trait object.
pub trait CustomHost: Send {
    /// As [`Host::on`].
    fn on(
        &mut self,
        now: Time,
        input: HostInput<'_, CustomMessage, u64>,
        act: &mut dyn FnMut(HostAction<CustomMessage, u64>),
    );

    /// As [`Host::answer`].
    fn answer(&mut self, now: Time, pair: Incoming, probe: &Probe) -> ProbeAnswer;
}

/// A [`Broker`] as a trait object.
pub type CustomBroker = Box<dyn Broker<Message = CustomMessage, Timer = u64> + Send>;

/// A [`Tunnel`] as a trait object.
pub type CustomTunnel = Box<dyn Tunnel + Send>;

/// A [`Path`] as a trait object.
pub type CustomPath = Box<dyn Path + Send>;

impl fmt::Debug for dyn Tunnel + Send {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CustomTunnel")
    }
}

impl fmt::Debug for dyn Path + Send {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CustomPath")
    }
}

impl fmt::Debug for dyn CustomHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("CustomHost")
    }
}

/// Makes a trait object of a host or a broker.
///
/// ```
/// use wayleave_scheme_api::{NoRole, CustomHost, DynRole};
/// let host: Box<dyn CustomHost> = Box::new(DynRole::new(NoRole, |_: &_| 64));
/// ```
pub struct DynRole<R, T, W> {
    role: R,
    wire_bytes: W,
    /// Armed, by number; free places are used again.
    timers: Vec<Option<T>>,
    free: Vec<u64>,
}

impl<R, T, W> DynRole<R, T, W> {
    /// `wire_bytes` returns the size of the packet of a message.
    pub fn new(role: R, wire_bytes: W) -> Self {
        Self { role, wire_bytes, timers: Vec::new(), free: Vec::new() }
    }
}

fn arm<T>(timers: &mut Vec<Option<T>>, free: &mut Vec<u64>, timer: T) -> u64 {
    if let Some(number) = free.pop() {
        timers[number as usize] = Some(timer);
        return number;
    }
    timers.push(Some(timer));
    timers.len() as u64 - 1
}

fn fired<T>(timers: &mut [Option<T>], free: &mut Vec<u64>, number: u64) -> Option<T> {
    let timer = timers.get_mut(usize::try_from(number).ok()?)?.take()?;
    free.push(number);
    Some(timer)
}

impl<H, W> CustomHost for DynRole<H, H::Timer, W>
where
    H: Host + Send,
    H::Message: Any + Clone + Send + Sync,
    H::Timer: Send,
    W: Fn(&H::Message) -> u32 + Send,
{
    fn on(
        &mut self,
        now: Time,
        input: HostInput<'_, CustomMessage, u64>,
        act: &mut dyn FnMut(HostAction<CustomMessage, u64>),
    ) {
        let Self { role, wire_bytes, timers, free } = self;
        // Messages of another scheme are not for this one.
        let input = input.narrow(|message| message.get::<H::Message>().cloned(), |number| fired(timers, free, number));
        let Some(input) = input else { return };
        role.on(now, input, &mut |action| {
            act(action.widen(
                |message| {
                    let bytes = wire_bytes(&message);
                    CustomMessage::new(message, bytes)
                },
                |timer| arm(timers, free, timer),
            ));
        });
    }

    fn answer(&mut self, now: Time, pair: Incoming, probe: &Probe) -> ProbeAnswer {
        self.role.answer(now, pair, probe)
    }
}

impl<B, W> Broker for DynRole<B, B::Timer, W>
where
    B: Broker,
    B::Message: Any + Clone + Send + Sync,
    W: Fn(&B::Message) -> u32,
{
    type Message = CustomMessage;
    type Timer = u64;

    fn on(
        &mut self,
        now: Time,
        input: BrokerInput<CustomMessage, u64>,
        act: &mut dyn FnMut(BrokerAction<CustomMessage, u64>),
    ) {
        let Self { role, wire_bytes, timers, free } = self;
        let input = input.narrow(|message| message.get::<B::Message>().cloned(), |number| fired(timers, free, number));
        let Some(input) = input else { return };
        role.on(now, input, &mut |action| {
            act(action.widen(
                |message| {
                    let bytes = wire_bytes(&message);
                    CustomMessage::new(message, bytes)
                },
                |timer| arm(timers, free, timer),
            ));
        });
    }
}
