//! A rack broker's state of the fabric limits: limits of services in its rack, until they expire.

use wayleave_packet_format::broker::{RateList, ServiceRates};
use wayleave_units::{Rate, Time};

/// Limits from above.
#[derive(Clone, Debug)]
pub(super) struct FabricLimits {
    /// In each direction: transmit, receive.
    limits: Vec<[Option<Rate>; 2]>,
    /// Time of the fabric broker's last message, by the clock of this machine; `None` if it is silent.
    at: Option<Time>,
    serial: u64,
}

impl FabricLimits {
    pub(super) fn new(classes: usize) -> Self {
        Self { limits: vec![[None; 2]; classes], at: None, serial: 0 }
    }

    pub(super) fn limit(&self, class: usize, direction: usize) -> Option<Rate> {
        self.limits[class][direction]
    }

    /// Removes all limits that are older than the timeout (5.3).
    pub(super) fn forget(&mut self, now: Time, timeout: Time) {
        if self.at.is_some_and(|at| now.saturating_sub(at) >= timeout) {
            *self = Self::new(self.limits.len());
        }
    }

    /// Stores the fabric broker's limits, received directly or passed on. Returns `true` if they are not older than
    /// the stored ones.
    pub(super) fn accept_limits(&mut self, now: Time, list: &RateList, timeout: Time) -> bool {
        self.forget(now, timeout);
        if list.serial < self.serial || list.age >= timeout {
            return false;
        }
        let at = now.saturating_sub(list.age);
        // The same words again do not become younger by being passed on.
        let is_new = list.serial > self.serial;
        self.at = Some(self.at.filter(|_| !is_new).map_or(at, |known| known.max(at)));
        self.serial = list.serial;
        for (class, limit) in self.limits.iter_mut().enumerate() {
            // Numbers of services fit 16 bits.
            if let Some((transmit, receive)) = list.of(class as u16) {
                *limit = [transmit, receive];
            }
        }
        true
    }

    /// All limits, how old they are, and their number; nothing if the fabric broker is silent.
    pub(super) fn all(&self, now: Time) -> Option<(Time, u64, Vec<ServiceRates>)> {
        let age = now.saturating_sub(self.at?);
        let limits = self.limits.iter().enumerate().filter(|(_, limit)| **limit != [None; 2]);
        let rates =
            limits.map(|(class, &[transmit, receive])| ServiceRates { service: class as u16, transmit, receive });
        Some((age, self.serial, rates.collect()))
    }
}
