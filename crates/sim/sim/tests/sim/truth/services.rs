//! pFabric's ports and Loko's shared service.

use wayleave_scenarios::{
    Buffering, Discipline, FlowEndpoints, PacketKind, Scenario, SharedService, Traffic, TransportConfig,
};
use wayleave_topology::LinkId;
use wayleave_units::{Bytes, Rate, Time};

use crate::truth::networks::{assert_near, burst, finished, fixed_window, flow, listed, ports, queue, run, star};

/// pFabric (SIGCOMM 2013): a long flow fills the port, a short one overtakes it. Catches service by age, and drops of
/// the flow with less left.
#[test]
fn the_flow_with_less_remaining_finishes_as_if_alone() {
    let star = star(&[Rate::from_gbit(10), Rate::from_gbit(10), Rate::from_gbit(10)], 0);
    let (long, short, to) = (star.hosts[0], star.hosts[1], star.hosts[2]);
    let mut scenario = Scenario::new("pfabric", star.network.clone(), Time::from_millis(50));
    scenario.switches = ports(Discipline::SmallestRemainingFirst, Buffering::EachQueue(Bytes::new(20 * 1_538)));
    // A window of the buffer's size, as in the paper: 2 x 20 packets meet 20 places.
    scenario.transport = fixed_window(20);
    scenario.transport.min_timeout = Time::from_micros(200);
    scenario.traffic =
        vec![listed("long", &[(0, long, to, 10_000_000)]), listed("short", &[(1_000_000, short, to, 300_000)])];
    let outcome = run(&scenario, 1);
    assert_eq!((finished(&outcome, 0), finished(&outcome, 1)), (1, 1));
    let slowdown = |traffic: usize| outcome.traffic[traffic].completions.all().slowdown_percentile(100.0).unwrap();
    // The first packets of the short flow wait for the packet that is being sent, and its window for acknowledgements.
    assert!(slowdown(1) < 1.05, "short: {}", slowdown(1));
    assert_eq!(flow(&outcome, 1).drops, 0);
    assert!(flow(&outcome, 0).drops > 0, "the long flow loses what finds no room");
    assert_eq!(flow(&outcome, 0).payload.get(), 10_000_000);
}

/// Catches flows that are served in turn: of four that begin together, the shortest is served first, and no two are
/// complete at once.
#[test]
fn flows_are_served_from_the_shortest_to_the_longest() {
    let star = star(&[Rate::from_gbit(10); 5], 0);
    let mut scenario = Scenario::new("order", star.network.clone(), Time::from_millis(50));
    scenario.switches = ports(Discipline::SmallestRemainingFirst, Buffering::Unlimited);
    scenario.transport = fixed_window(30);
    let sizes = [4_000_000, 2_000_000, 3_000_000, 1_000_000];
    scenario.traffic = (0..4)
        .map(|index| listed(&format!("f{index}"), &[(0, star.hosts[index], star.hosts[4], sizes[index])]))
        .collect();
    let outcome = run(&scenario, 1);
    // The later packet of a flow has less left: if it went first, the receiver would see losses.
    assert!(outcome.flows.iter().all(|flow| flow.again == 0), "packets of one flow overtake each other");
    let mut before = 0.0;
    for traffic in [3, 1, 2, 0] {
        let took = outcome.traffic[traffic].completions.times().max().unwrap() as f64;
        // Alone on the line, behind all shorter ones.
        before += sizes[traffic] as f64 / 1_460.0 * 1_538.0 * 800.0;
        assert_near(took, before, 0.03, &format!("{} B", sizes[traffic]));
    }
}

/// A long flow of one host, and a hundred short ones of another, through one pFabric port; with the link that it sends
/// on. One short flow is there at a time.
pub(crate) fn two_sizes(buffering: Buffering) -> (Scenario, LinkId) {
    let star = star(&[Rate::from_gbit(10); 3], 0);
    let mut scenario = Scenario::new("two sizes", star.network.clone(), Time::from_millis(60));
    scenario.switches = ports(Discipline::SmallestRemainingFirst, buffering);
    scenario.transport = TransportConfig { min_timeout: Time::from_micros(500), ..fixed_window(20) };
    let (long, short, to) = (star.hosts[0], star.hosts[1], star.hosts[2]);
    let shorts: Vec<_> = (0..100).map(|index| (index * 100_000, short, to, 30_000)).collect();
    scenario.traffic = vec![listed("long", &[(0, long, to, 20_000_000)]), listed("short", &shorts)];
    (scenario, star.down[2])
}

/// Catches a port that holds more than it may while it puts packets out, or puts out those that are more urgent.
#[test]
fn a_pfabric_port_evicts_less_urgent_packets_within_its_limit() {
    let (scenario, down) = two_sizes(Buffering::EachQueue(Bytes::new(20_000)));
    let outcome = run(&scenario, 1);
    let port = queue(&outcome, down, 0);
    assert!(port.drops > 100 && flow(&outcome, 0).drops == port.drops, "all drops are the long flow's");
    assert_eq!((finished(&outcome, 0), finished(&outcome, 1)), (1, 100));
    assert!(port.peak.get() <= 20_000, "{} B in a buffer of 20,000 B", port.peak.get());
    assert!(port.found.max().unwrap() <= 20_000 - 78);
}

const SERVICE: Rate = Rate::from_gbit(2);

/// Hosts on fast cables around a switch whose ports share 2 Gbit/s.
fn shared(hosts: usize, buffer: u64) -> (Scenario, crate::truth::networks::Star) {
    let star = star(&vec![Rate::from_gbit(10); hosts], 1_000);
    let mut scenario = Scenario::new("shared", star.network.clone(), Time::from_millis(100));
    let switch = star.network.find_node("s").unwrap();
    let processing = Time::from_nanos(3_700);
    let buffer = Bytes::new(buffer);
    scenario.shared_services = vec![SharedService { switch, rate: SERVICE, processing, buffer }];
    (scenario, star)
}

/// Catches a service that is passed by, or a processing time that is counted twice: cable, service, processing, cable.
#[test]
fn a_lone_packet_takes_service_and_processing() {
    let (mut scenario, star) = shared(2, 30_000);
    scenario.traffic = vec![burst("one", star.hosts[0], star.hosts[1], 1_000, 1, 5_000)];
    let outcome = run(&scenario, 1);
    // 800 ns, 1 us of cable, 4 us of service, 3.7 us, 800 ns, 1 us.
    assert_eq!(flow(&outcome, 0).delay.max(), Some(800_000 + 1_000_000 + 4_000_000 + 3_700_000 + 800_000 + 1_000_000));
}

/// Catches ports that have a service of their own: two pairs without a port in common share R.
#[test]
fn two_ports_share_one_service() {
    let (mut scenario, star) = shared(4, 20_000);
    let mut add = |name: &str, from: usize, to: usize, rate: Rate| {
        let ends = FlowEndpoints::Pairs(vec![(star.hosts[from], star.hosts[to])]);
        scenario.traffic.push(Traffic::packets(name, ends, PacketKind::Poisson { rate }, Bytes::new(1_000)));
    };
    add("a", 0, 1, Rate::from_gbit(3));
    add("b", 2, 3, Rate::from_gbit(3));
    let outcome = run(&scenario, 1);
    let rate = |traffic: usize| flow(&outcome, traffic).delivered_bytes.get() as f64 * 8.0 / 0.1;
    assert_near(rate(0) + rate(1), 2e9, 0.002, "both together");
    assert_near(rate(0), 1e9, 0.03, "one of both");
}

/// Catches a buffer before the service that holds more or less than it may: 20 frames of 1,000 B come 0.8 us apart,
/// each is served for 4 us. With room for n, the first n are taken, and one more at 4, 8 and 12 us, when one leaves.
#[test]
fn the_buffer_before_the_service_holds_whole_packets() {
    for (buffer, delivered) in [(1_000, 4), (2_999, 5), (3_000, 6), (16_000, 19), (17_000, 20)] {
        let (mut scenario, star) = shared(2, buffer);
        scenario.traffic = vec![burst("b", star.hosts[0], star.hosts[1], 1_000, 20, 0)];
        let outcome = run(&scenario, 1);
        let flow = flow(&outcome, 0);
        assert_eq!((flow.delivered, flow.drops), (delivered, 20 - delivered), "{buffer} B");
    }
}
