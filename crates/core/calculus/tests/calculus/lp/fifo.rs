//! The linear program for FIFO networks: cases with known maxima, and relations to the other analyses.

use proptest::prelude::*;
use wayleave_calculus::lp::{NoFifoBound, fifo_delay};
use wayleave_calculus::network::{
    BoundError, CurveServer, LineShaping, Multiplexing, Options, Packetizer, PortNetwork, ServerFlow, sfa, tfa,
};
use wayleave_calculus::rational::{ratio, whole};
use wayleave_calculus::{ArrivalCurve, BucketCurve, RateLatency, Rational, ServiceCurve, horizontal_deviation};

fn server(name: &str, rate: i128, latency: i128) -> CurveServer {
    CurveServer::new(name, ServiceCurve::from_pieces([RateLatency::new(whole(rate), &whole(latency))]).unwrap())
}

fn flow(name: &str, rate: i128, burst: i128, path: &[usize]) -> ServerFlow {
    let curve = ArrivalCurve::from_pieces([BucketCurve { rate: whole(rate), burst: whole(burst) }]).unwrap();
    ServerFlow::unicast(name, curve, path.to_vec())
}

fn bound(network: &PortNetwork, options: Options) -> Rational {
    fifo_delay(network, &tfa(network, &options), None, 0, 0).unwrap().delay
}

/// One server: T + (b1 + b2) / R, and the sum of latencies and one burst for a flow alone on several.
#[test]
fn simple_cases_are_exact() {
    let one = PortNetwork::new(vec![server("a", 10, 1)], vec![flow("f", 1, 6, &[0]), flow("x", 2, 8, &[0])]).unwrap();
    assert_eq!(bound(&one, Options::default()), whole(1) + ratio(14, 10).unwrap());
    let row = vec![server("a", 9, 2), server("b", 7, 3), server("c", 8, 4)];
    let alone = PortNetwork::new(row, vec![flow("f", 2, 20, &[0, 1, 2])]).unwrap();
    assert_eq!(bound(&alone, Options::default()), whole(9) + ratio(20, 7).unwrap());
}

/// Bouillard and Stea, 2015, and Lenzini et al., 2008: with all flows on the whole of a row the aggregate is one flow, so that
/// the maximum is T1 + T2 + (b1 + b2) / min R. Neither TFA nor SFA gets there.
#[test]
fn flows_that_stay_together_pay_their_bursts_once() {
    let row = vec![server("a", 10, 1), server("b", 10, 2)];
    let net = PortNetwork::new(row, vec![flow("f", 1, 6, &[0, 1]), flow("x", 2, 8, &[0, 1])]).unwrap();
    let total = tfa(&net, &Options::default());
    let exact = whole(3) + ratio(14, 10).unwrap();
    assert_eq!(bound(&net, Options::default()), exact);
    assert!(total.path_delay(0, 0).unwrap() > exact);
    assert!(sfa(&net, &Options::default(), &total).path_delay(0, 0).unwrap() > exact);
}

/// Traffic that joins at the second server: all of f may be held back at a for 1 and let go at 10, and x comes at once with its
/// end, so that 14 wait 2 and are served at 10. TFA lets all of f come to b at once.
#[test]
fn traffic_that_joins_at_the_second_server_is_delayed_there() {
    let row = vec![server("a", 10, 1), server("b", 10, 2)];
    let net = PortNetwork::new(row, vec![flow("f", 1, 6, &[0, 1]), flow("x", 2, 8, &[1])]).unwrap();
    let lp = bound(&net, Options::default());
    let total = tfa(&net, &Options::default()).path_delay(0, 0).unwrap();
    let least = whole(1 + 2) + ratio(8, 10).unwrap();
    assert!(lp >= least && lp < total, "{least} <= {lp} < {total}");
}

#[test]
fn a_missing_bound_has_a_reason() {
    let net = |rate| {
        let flows = vec![flow("f", rate, 6, &[0]), flow("x", 5, 8, &[0])];
        PortNetwork::new(vec![server("a", 10, 1)], flows).unwrap()
    };
    let fails = |rate, options| fifo_delay(&net(rate), &tfa(&net(rate), &options), None, 0, 0).unwrap_err();
    let full = fails(5, Options::default());
    assert_eq!(full, NoFifoBound::Full { server: 0 });
    assert_eq!(full.explain(&net(5)), "all of the rate of server \"a\" is taken");
    assert_eq!(fails(6, Options::default()), NoFifoBound::NoBound(BoundError::Overload { server: 0 }));
    let blind = Options { multiplexing: Multiplexing::Arbitrary, ..Options::default() };
    assert_eq!(fails(1, blind), NoFifoBound::Arbitrary);
}

/// A ring: the tree ends before a server would appear twice on a path, and flows enter there with the fixed point's
/// curves.
#[test]
fn a_ring_is_cut() {
    let servers = (0..3).map(|index| server(&format!("s{index}"), 100, 2)).collect();
    let path = |start: usize| [start, (start + 1) % 3, (start + 2) % 3];
    let flows = (0..3).map(|start| flow(&format!("f{start}"), 10, 40, &path(start))).collect();
    let net = PortNetwork::new(servers, flows).unwrap();
    let total = tfa(&net, &Options::default());
    let lp = fifo_delay(&net, &total, None, 0, 0).unwrap();
    assert!(lp.is_cut && !lp.is_loose);
    assert!(lp.delay < total.path_delay(0, 0).unwrap());
}

fn networks() -> impl Strategy<Value = PortNetwork> {
    let server = (20..60_i128, 0..6_i128, any::<bool>());
    let flow = (1..5_i128, 0..30_i128, 1..16_u8, 0..4_i128, 0..9_i128);
    (proptest::collection::vec(server, 1..=4), proptest::collection::vec(flow, 1..=5)).prop_map(|(servers, flows)| {
        let count = servers.len();
        let servers = servers.into_iter().enumerate().map(|(index, (rate, latency, has_line))| {
            let made = self::server(&format!("s{index}"), rate, latency);
            if has_line { made.with_line(whole(rate)) } else { made }
        });
        let flows = flows.into_iter().enumerate().map(|(index, (rate, burst, mask, packet, peak))| {
            let mut path: Vec<usize> = (0..count).filter(|server| mask & (1 << server) != 0).collect();
            if path.is_empty() {
                path.push(index % count);
            }
            let long = BucketCurve { rate: whole(rate), burst: whole(burst + packet) };
            let short = BucketCurve { rate: whole(rate + peak), burst: whole(packet) };
            let arrival = ArrivalCurve::from_pieces([long, short]).unwrap();
            ServerFlow { max_packet: whole(packet), ..ServerFlow::unicast(&format!("f{index}"), arrival, path) }
        });
        PortNetwork::new(servers.collect(), flows.collect()).unwrap()
    })
}

fn options() -> impl Strategy<Value = Options> {
    let shaping = prop_oneof![Just(LineShaping::On), Just(LineShaping::Off)];
    let packetizer = prop_oneof![Just(Packetizer::On), Just(Packetizer::Off)];
    (shaping, packetizer).prop_map(|(shaping, packetizer)| Options {
        shaping,
        packetizer,
        multiplexing: Multiplexing::Fifo,
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn the_program_is_never_worse_than_tfa_and_sfa_nor_better_than_the_flow_alone(
        net in networks(), options in options(),
    ) {
        let total = tfa(&net, &options);
        let separate = sfa(&net, &options, &total);
        for flow in 0..net.flows().len() {
            let known = separate.path_delay(flow, 0).unwrap();
            let lp = fifo_delay(&net, &total, Some(&known), flow, 0).unwrap();
            prop_assert!(!lp.is_loose);
            prop_assert!(lp.delay <= total.path_delay(flow, 0).unwrap());
            prop_assert!(lp.delay <= known);
            let ServerFlow { arrival, paths, .. } = &net.flows()[flow];
            let servers = paths[0].iter().map(|&server| net.servers()[server].service.clone());
            let service = servers.reduce(|one, other| one.convolution(&other)).unwrap();
            prop_assert!(lp.delay >= horizontal_deviation(arrival, &service).unwrap());
        }
    }
}

/// The solver takes small numbers for zero, yet the result does not depend on the units of time and of data.
#[test]
fn a_bound_does_not_depend_on_the_scale_of_times() {
    // 10 + 10 + four bursts of 1 at rate 1, in units from a microsecond to a quarter of an hour.
    for unit in [1_000, 1_000_000, 1_000_000_000, 1_000_000_000_000] {
        let rate = 1_000_000_000;
        let row = vec![server("a", rate, 10 * unit), server("b", rate, 10 * unit)];
        let one = |name: &str| flow(name, rate / 5, rate * unit, &[0, 1]);
        let net = PortNetwork::new(row, vec![one("f"), one("x"), one("y"), one("z")]).unwrap();
        let (options, exact) = (Options::default(), whole(24 * unit));
        let total = tfa(&net, &options);
        let separate = sfa(&net, &options, &total).path_delay(0, 0).unwrap();
        let bound = fifo_delay(&net, &total, Some(&separate), 0, 0).unwrap();
        assert!(
            bound.delay >= exact && bound.delay <= &exact * ratio(1_000_001, 1_000_000).unwrap(),
            "{unit}: {bound:?}"
        );
        assert!(!bound.is_known && separate > bound.delay);
    }
}

#[test]
fn a_program_no_better_than_the_known_bound_is_reported() {
    let one = PortNetwork::new(vec![server("a", 10, 1)], vec![flow("f", 1, 6, &[0]), flow("x", 2, 8, &[0])]).unwrap();
    let total = tfa(&one, &Options::default());
    let known = |known: Rational| fifo_delay(&one, &total, Some(&known), 0, 0).unwrap();
    let exact = whole(1) + ratio(14, 10).unwrap();
    // The same is no worse.
    assert!(!known(exact.clone()).is_known && !known(whole(3)).is_known);
    let better = known(whole(2));
    assert!(better.is_known && better.delay == whole(2));
}
