//! Swift at one port: the sharing among flows, and its queue.

use wayleave_scenarios::{Buffering, Congestion, Scenario, TransportConfig};
use wayleave_sim::Outcome;
use wayleave_units::{Rate, Time};

use super::networks::{FRAME, assert_near, endless, flow, queue, run, star};

/// Runs `flows` flows without end into one port of 10 Gbit/s, base round trip about 24 us. Returns each one's Gbit/s
/// on the wire, and the maximum and average level of the port once the first 50 ms are over, in bytes.
fn shares(flows: usize, milliseconds: u64) -> (Outcome, Vec<f64>, [f64; 2]) {
    let star = star(&vec![Rate::from_gbit(10); flows + 1], 5_000);
    let mut scenario = Scenario::new("swift", star.network.clone(), Time::from_millis(50 + milliseconds));
    scenario.warmup = Time::from_millis(50);
    scenario.switches.buffering = Buffering::Unlimited;
    scenario.transport = TransportConfig { congestion: Congestion::swift(), ..TransportConfig::default() };
    scenario.traffic =
        (0..flows).map(|index| endless(&format!("f{index}"), star.hosts[index], star.hosts[flows])).collect();
    let outcome = run(&scenario, 1);
    let gbit = |traffic| flow(&outcome, traffic).delivered as f64 * FRAME as f64 * 8.0 / milliseconds as f64 / 1e6;
    let port = queue(&outcome, star.down[flows], 0);
    let held = [port.peak.get() as f64, port.found.mean().unwrap()];
    let shares = (0..flows).map(gbit).collect();
    (outcome, shares, held)
}

/// Catches: shares that depend on the order of flows, and a target that is missed. All windows shrink by the delay
/// that all see, so they end up equal; a flow is within a tenth of its share over 150 ms.
#[test]
fn equal_flows_share_a_port_equally_at_the_target_delay() {
    for flows in [2, 8, 14] {
        let (_, shares, [peak, mean]) = shares(flows, 150);
        let all: f64 = shares.iter().sum();
        println!("{flows} flows: {all:.3} Gbit/s, {shares:.3?}, {peak} B at most, {mean:.0} B found");
        assert!(all > 9.9, "{flows} flows: {all} of 10 Gbit/s");
        for share in shares {
            assert_near(share, all / flows as f64, 0.1, "an equal share");
        }
    }
}

/// Catches: windows that stay at one packet (100 would always be 154 kB), and flows that are starved. The target for
/// half a packet is 69 us, 46 of them in the queue: 57 kB. All flows see the same delay and add a whole packet when
/// it is below the target. So the queue swings around that level, and the port idles in between: 88 % of its rate is
/// used.
#[test]
fn a_hundred_flows_are_paced_below_one_packet_and_their_queue_is_bounded() {
    let (outcome, shares, [peak, mean]) = shares(100, 150);
    let all: f64 = shares.iter().sum();
    let [least, most] = [f64::min, f64::max].map(|pick| shares.iter().copied().reduce(pick).unwrap());
    println!("{all:.3} Gbit/s, each {least:.4} to {most:.4}, {peak} B at most, {mean:.0} B found");
    assert!(all > 8.5, "{all} of 10 Gbit/s");
    assert!(least > 0.05 && most < 0.2, "{least} to {most} of 0.1 Gbit/s");
    assert!(mean < 0.6 * (100 * FRAME) as f64 && peak < (100 * FRAME) as f64, "{peak} B, {mean} B found");
    assert!((0..100).all(|index| flow(&outcome, index).timeouts == 0), "a time-out");
}
