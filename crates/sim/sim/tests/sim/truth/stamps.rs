//! Telemetry does not depend on the simulation of a port: a port that computes departures at once and one that holds
//! its packets until it sends them report equal values.

use wayleave_scenarios::{Buffering, Element, ElementChange, Outage};
use wayleave_schemes::host::ufab::Settings;
use wayleave_topology::LinkId;
use wayleave_units::{Bytes, Time};

use super::networks::run;
use super::ufab::crossed;

/// A shared buffer in which everything finds room: its ports hold their packets.
const HELD: Buffering = Buffering::Shared { total: Bytes::new(1 << 40), alpha: 1.0 };

/// Catches: telemetry that is written too early, or reports too much for a queue; counters that begin again after a
/// warm-up or a failure; and packets that are written after they were lost. Windows follow telemetry to the byte, so
/// any error in one probe changes the traffic.
#[test]
fn ports_report_equal_telemetry_in_both_simulations() {
    let mut moved = 0;
    for seed in 1..=6 {
        let outcomes = [Buffering::Unlimited, HELD].map(|buffering| {
            let (diamond, mut scenario) = crossed(&[5_000, 3_000, 1_000, 500], 12, Settings::default());
            scenario.switches.buffering = buffering;
            scenario.warmup = Time::from_millis(2);
            scenario.record.series = Some(Time::from_micros(50));
            let change = if seed % 2 == 0 { ElementChange::Fails } else { ElementChange::FailsSilently };
            let outage = |at, change| {
                let what = Element::Link(diamond.to_spine[seed as usize / 2 % 2]);
                Outage { at: Time::from_micros(at), what, change }
            };
            scenario.outages = vec![outage(4_000, change), outage(7_000, ElementChange::Works)];
            run(&scenario, seed)
        });
        let [plain, held] = &outcomes;
        assert!(plain.events < held.events, "the first has an event a hop: {} of {}", plain.events, held.events);
        let sharing = outcomes.each_ref().map(|outcome| outcome.sharing.as_ref().unwrap());
        assert_eq!(format!("{:?}", sharing[0]), format!("{:?}", sharing[1]), "seed {seed}");
        for (one, other) in plain.flows.iter().zip(&held.flows) {
            assert_eq!(format!("{one:?}"), format!("{other:?}"), "seed {seed}");
        }
        let sent = outcomes.each_ref().map(|outcome| -> Vec<(LinkId, Bytes, u64)> {
            outcome.links.iter().map(|link| (link.link, link.sent, link.lost_silently)).collect()
        });
        for (one, other) in sent[0].iter().zip(&sent[1]) {
            // The packet that is being sent at the end, and at the beginning, is counted by the one and not by the other.
            assert!(one.1.get().abs_diff(other.1.get()) <= 2 * 1_538, "seed {seed}: {one:?} and {other:?}");
            assert_eq!((one.0, one.2), (other.0, other.2), "seed {seed}");
        }
        let machines = sharing[0].services.iter().flat_map(|service| &service.machines);
        moved += machines.map(|machine| machine.path_changes).sum::<u64>();
    }
    assert!(moved > 6, "failures move pairs: {moved}");
}
