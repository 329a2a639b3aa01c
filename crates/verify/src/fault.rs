//! Faults on purpose: a check that cannot fail says nothing.

use std::sync::Arc;

use wayleave_topology::{Network, NetworkError, NodeKind};
use wayleave_units::{Bytes, Rate, Time};

use crate::claim::{Claim, Duplication, Promise};

/// One thing that is wrong with a claim, or with the traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// After admission every queue is given half the time that it needs today. (Budgets are seldom used up, so half a
    /// budget need not be too little.)
    BudgetHalved,
    /// Nobody shapes: every contract sends twice its burst, and at twice its rate.
    ShaperOff,
    /// The queues of switches hold two frames, whatever was counted with.
    BuffersGone,
    /// Packets of protected contracts go over the first of their routes only.
    DuplicationOff,
}

/// What a service holds that has lost its buffer.
const SMALL_PACKET: Bytes = Bytes::new(64);

impl Claim {
    /// The same claim with something wrong.
    ///
    /// # Errors
    /// If the network cannot be built with other buffers, which would be a mistake here.
    pub fn broken_by(&self, fault: Fault) -> Result<Self, NetworkError> {
        let mut claim = self.clone();
        match fault {
            Fault::BudgetHalved => claim.promises.iter_mut().for_each(|promise| halve(promise, &self.network)),
            Fault::ShaperOff => {
                for promise in &mut claim.promises {
                    promise.rate = Rate::from_bits_per_second(promise.rate.bits_per_second() * 2);
                    promise.burst = promise.burst * 2;
                }
            }
            Fault::BuffersGone => {
                claim.network = Arc::new(with_small_buffers(&self.network)?);
                claim.services.iter_mut().for_each(|service| service.buffer = SMALL_PACKET);
            }
            Fault::DuplicationOff => {
                claim.protected.iter_mut().for_each(|protected| protected.duplication = Duplication::Off);
            }
        }
        Ok(claim)
    }
}

fn halve(promise: &mut Promise, network: &Network) {
    let constant = promise.constant(network);
    let queueing = promise.limit().saturating_sub(constant);
    promise.bound = constant + Time::from_nanos(queueing.as_nanos() / 2);
    promise.today = Some(promise.bound);
}

fn with_small_buffers(network: &Network) -> Result<Network, NetworkError> {
    network.with_ports(|kind, mtu, port| {
        if kind == NodeKind::Switch {
            // Two frames with all that Ethernet and tags add to the MTU, at most 62 B.
            let buffer = Bytes::new(2 * (mtu.get() + 62));
            port.queues.iter_mut().for_each(|queue| queue.buffer = buffer);
        }
    })
}
