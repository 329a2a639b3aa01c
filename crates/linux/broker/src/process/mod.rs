//! Brokers as processes: one thread owns the state machine, and others wait for sockets, lines and the controller.
//!
//! Brokers of machines exchange datagrams (UDP), one message each. They use TCP to the fabric broker; there the first
//! bytes of each message give its length. With a key, every message is sealed. Invalid input from outside is counted
//! and never ends a broker.

mod agent;
mod fabric;
mod lines;
mod link;
mod rack;
mod seal;
mod stream;
mod timers;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use wayleave_contracts::Direction;
use wayleave_scheme_api::{BrokerInput, Leadership};
use wayleave_schemes::brokers::BrokerSpec;
use wayleave_schemes::hosts::{AnyBrokerTimer, AnyMessage};
use wayleave_units::{Time, WallTime};

use crate::BrokerConfig;

pub use agent::{AgentSocket, TenantServices};
pub use fabric::{FabricOptions, run_fabric};
pub use lines::{LimitsLine, LineError, ReportLine, ServiceCounters, ServiceLimit};
pub use rack::{MachineBroker, RackOptions, Uplinks, run_rack};
pub use seal::{Key, Seal, SealError};

/// Maximum time for which a thread waits before it checks whether it has to end.
const TURN: Duration = Duration::from_millis(100);

/// Signal that ends a broker; every thread polls it.
#[derive(Clone, Debug, Default)]
pub struct StopSignal(Arc<AtomicBool>);

impl StopSignal {
    /// The broker ends within a moment.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Counters of invalid input that was dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DiscardedInputs {
    /// Messages that could not be read, or whose sender is unknown.
    pub messages: u64,
    /// Malformed lines.
    pub lines: u64,
}

/// Warns if a broker without a key listens at an address that others can reach.
fn warn_without_key(listen: SocketAddr, key: Option<&Key>) {
    if key.is_none() && !listen.ip().is_loopback() {
        tracing::warn!(
            "messages are not authenticated: anyone who can spoof a broker's address can impersonate it (use --key)"
        );
    }
}

/// A clock that begins when the broker does.
#[derive(Clone, Copy, Debug)]
struct Clock(Instant);

impl Clock {
    fn begin() -> Self {
        Self(Instant::now())
    }

    fn now(self) -> Time {
        Time::from_nanos(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }
}

/// Returns the first message number of a broker that begins now: above those of its predecessor, unless the calendar
/// was set back.
fn first_serial() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    // Enough for a million messages in each millisecond; 44 bits of milliseconds are 550 years.
    u64::try_from(since.as_millis()).map_or(0, |millis| millis << 20)
}

/// Returns the first inputs of a broker: that it begins, whether it leads, and the capacity of the links that it
/// divides.
fn begin(setup: &BrokerConfig, spec: BrokerSpec) -> Vec<BrokerInput<AnyMessage, AnyBrokerTimer>> {
    let mut inputs = vec![BrokerInput::Started];
    if spec.leadership == Leadership::Leader {
        inputs.push(BrokerInput::Elected(spec.leadership));
    }
    if let Some(point) = spec.point {
        let [transmit, receive] = Direction::ALL.map(|direction| point.capacity(setup.network(), direction));
        inputs.push(BrokerInput::Capacity { transmit, receive });
    }
    inputs
}

fn wrong(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

/// The error of an address at which the broker cannot listen.
fn no_address(address: SocketAddr, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("cannot listen at {address}: {error}"))
}

/// The calendar.
fn today() -> WallTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    WallTime::from_nanos(u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

/// Of something that may come often: the first time, and every thousandth.
fn is_worth_a_line(count: &AtomicU64) -> bool {
    count.fetch_add(1, Ordering::Relaxed).is_multiple_of(1000)
}
