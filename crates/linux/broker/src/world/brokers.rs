//! The brokers of a world: which of them live, and the timers that they armed.

use wayleave_scheme_api::BrokerId;
use wayleave_schemes::hosts::{AnyBroker, AnyBrokerTimer};

/// All brokers, by number.
pub(super) struct Brokers {
    slots: Vec<Slot>,
    /// Armed, by place; places of those that rang are used again.
    timers: Vec<Option<Timer>>,
}

struct Slot {
    /// The machine that it is the broker of.
    machine: Option<usize>,
    living: Option<(u64, AnyBroker)>,
}

/// A timer, with the life of the broker that armed it.
struct Timer {
    broker: BrokerId,
    life: u64,
    timer: AnyBrokerTimer,
}

impl Brokers {
    /// Creates the seats, each with the machine of its broker; no broker runs yet.
    pub(super) fn new(machines: impl Iterator<Item = Option<usize>>) -> Self {
        let slots = machines.map(|machine| Slot { machine, living: None }).collect();
        Self { slots, timers: Vec::new() }
    }

    /// The machine of a broker.
    pub(super) fn machine(&self, broker: BrokerId) -> Option<usize> {
        self.slots.get(broker.index()).and_then(|slot| slot.machine)
    }

    /// Brokers that are at no machine.
    pub(super) fn apart(&self) -> Vec<BrokerId> {
        let apart = self.slots.iter().enumerate().filter(|(_, slot)| slot.machine.is_none());
        apart.map(|(number, _)| BrokerId(number as u32)).collect()
    }

    pub(super) fn get(&self, broker: BrokerId) -> Option<&AnyBroker> {
        self.slots.get(broker.index())?.living.as_ref().map(|(_, broker)| broker)
    }

    pub(super) fn get_mut(&mut self, broker: BrokerId) -> Option<&mut AnyBroker> {
        self.slots.get_mut(broker.index())?.living.as_mut().map(|(_, broker)| broker)
    }

    /// A broker begins, in place of the one that was there, or ends.
    pub(super) fn set(&mut self, broker: BrokerId, living: Option<(u64, AnyBroker)>) {
        if let Some(slot) = self.slots.get_mut(broker.index()) {
            slot.living = living;
        }
    }

    /// A broker arms a timer; its place.
    pub(super) fn arm(&mut self, broker: BrokerId, timer: AnyBrokerTimer) -> Option<usize> {
        let (life, _) = self.slots.get(broker.index())?.living.as_ref()?;
        let armed = Some(Timer { broker, life: *life, timer });
        let place = self.timers.iter().position(Option::is_none).unwrap_or_else(|| {
            self.timers.push(None);
            self.timers.len() - 1
        });
        self.timers[place] = armed;
        Some(place)
    }

    /// Fires a timer and frees its slot. Returns `None` if the broker that armed it has ended.
    pub(super) fn pop_expired(&mut self, place: usize) -> Option<(BrokerId, AnyBrokerTimer)> {
        let Timer { broker, life, timer } = self.timers.get_mut(place)?.take()?;
        let living = self.slots.get(broker.index())?.living.as_ref();
        living.is_some_and(|&(now, _)| now == life).then_some((broker, timer))
    }
}
