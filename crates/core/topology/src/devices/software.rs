//! A model of a switch whose processor runs OpenFlow in a loop, such as the Zodiac FX.
//!
//! Loko's slides show the loop: a packet is compared with the entries one by one, and after a match only entries of
//! higher priority are compared; the action comes last. They show the cost of each step in pictures only. So the
//! division of the cost here is a MODEL, chosen by us: it grows with the number of entries, with the compared fields,
//! with the action and with the size. The model reproduces these published values:
//!
//! - at the proof of concept's scenario (17 entries, five-tuple, output, last entry, decreasing priorities, 306 B)
//!   the throughput is 11.8 Mbit/s and the processing time 0.46 ms; the cost parameters were set once so that both
//!   result;
//! - the buffer "depends only on packet size, from 3 packets (1516 bytes) to 25 packets (64 bytes)".
//!
//! The buffer of 8 packets of 306 B follows from the printed allocations (`wayleave_schemes::admission::loko`).
//! Between 306 B and 1516 B the model takes one packet less for every 242 B, the step of the measured sizes; between
//! 64 B and 306 B a straight line, rounded down.

use wayleave_units::{Bytes, Rate, Time};

use crate::devices::{Action, Case, MatchType, Priorities, UsedEntry};

/// Costs of the steps of the loop, in ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoftwareSwitch {
    /// Once a packet: taking it from the integrated switch, and giving it back.
    pub base_ns: u64,
    /// For every byte: copying.
    pub byte_ns: u64,
    /// For every entry: the comparison of its priority.
    pub entry_ns: u64,
    /// Cost of comparing one field of an entry, in ns.
    pub field_ns: u64,
    /// Cost of changing a field; forwarding is part of the base.
    pub change_ns: u64,
    /// Latency beside the processor's work on the packet, which delays no other packet.
    pub latency_ns: u64,
}

impl SoftwareSwitch {
    /// The Zodiac FX, calibrated to the two published measurements.
    ///
    /// At the proof of concept's scenario a packet takes 60,600 + 306 * 200 + 17 * (800 + 5 * 840) ns = 206.8 us of
    /// the processor. That is 11.84 Mbit/s, and with the 255.2 us beside the processor 462 us.
    pub const ZODIAC_FX: Self =
        Self { base_ns: 60_600, byte_ns: 200, entry_ns: 800, field_ns: 840, change_ns: 6_000, latency_ns: 255_200 };

    /// Returns the time that the processor works on a packet: no other packet is served in this time.
    pub fn service(&self, case: &Case) -> Time {
        let entries = u64::from(case.entries);
        let compared = match (case.used, case.priorities) {
            // The first matches, and all others have lower priority.
            (UsedEntry::First, Priorities::Decreasing) => entries.min(1),
            // Nothing matches before the last; or every other one has a higher priority than the first.
            (UsedEntry::First, Priorities::Increasing) | (UsedEntry::Last, _) => entries,
        };
        let action = if case.action == Action::Output { 0 } else { self.change_ns };
        let nanos = self.base_ns
            + self.byte_ns * case.packet.get()
            + self.entry_ns * entries
            + self.field_ns * fields(case.match_type) * compared
            + action;
        Time::from_nanos(nanos)
    }

    /// Returns the latency of a packet beside its processing.
    pub fn latency(&self) -> Time {
        Time::from_nanos(self.latency_ns)
    }

    /// The rate at which packets of a case are processed.
    pub fn rate(&self, case: &Case) -> Rate {
        let nanos = self.service(case).as_nanos().max(1);
        Rate::from_bits_per_second((u128::from(case.packet.bits()) * 1_000_000_000 / u128::from(nanos)) as u64)
    }

    /// Returns the buffer capacity in packets of a size.
    pub fn buffer(&self, packet: Bytes) -> u32 {
        let size = packet.get().clamp(64, 1516);
        let packets = match size.checked_sub(306) {
            Some(above) => 8 - above.div_ceil(242),
            None => 25 - ((size - 64) * (25 - 8)).div_ceil(306 - 64),
        };
        packets as u32
    }
}

/// Returns the number of compared fields; `all` are the twelve of OpenFlow 1.0.
fn fields(match_type: MatchType) -> u64 {
    match match_type {
        MatchType::Port | MatchType::TpDst | MatchType::DlDst | MatchType::MaskedNwDst => 1,
        MatchType::FiveTuple => 5,
        MatchType::All => 12,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::{PACKETS, PacketScenario};

    #[test]
    fn the_two_published_measurements_are_reproduced() {
        let case = PacketScenario::proof_of_concept().cases().next().unwrap();
        let zodiac = SoftwareSwitch::ZODIAC_FX;
        assert_eq!(zodiac.service(&case), Time::from_nanos(206_800));
        assert_eq!(zodiac.service(&case) + zodiac.latency(), Time::from_micros(462));
        assert_eq!(zodiac.rate(&case).bits_per_second() / 10_000, 1_183);
    }

    #[test]
    fn the_buffer_holds_25_small_packets_and_3_large_ones() {
        let zodiac = SoftwareSwitch::ZODIAC_FX;
        assert_eq!(PACKETS.map(|packet| zodiac.buffer(packet)), [25, 8, 7, 6, 5, 4, 3]);
        let sizes: Vec<u32> = (64..=1516).map(|size| zodiac.buffer(Bytes::new(size))).collect();
        assert!(sizes.is_sorted_by(|a, b| a >= b));
    }

    #[test]
    fn more_entries_fields_changes_and_bytes_take_longer() {
        let case = PacketScenario::proof_of_concept().cases().next().unwrap();
        let takes = |case: Case| SoftwareSwitch::ZODIAC_FX.service(&case);
        let slower = [
            Case { entries: 33, ..case },
            Case { match_type: MatchType::All, ..case },
            Case { action: Action::SetTpSrc, ..case },
            Case { packet: Bytes::new(548), ..case },
        ];
        assert!(slower.into_iter().all(|slower| takes(slower) > takes(case)));
        // The first entry of decreasing priorities ends the comparisons, that of increasing ones does not.
        let first = Case { used: UsedEntry::First, ..case };
        assert!(takes(first) < takes(case));
        assert_eq!(takes(Case { priorities: Priorities::Increasing, ..first }), takes(case));
    }
}
