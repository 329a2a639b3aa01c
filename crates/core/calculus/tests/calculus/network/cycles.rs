//! Rings: where a fixed point exists, what it is, and where none does.

use wayleave_calculus::network::{
    BoundError, CurveServer, LineShaping, Multiplexing, Options, PortNetwork, ServerFlow, pmoo, sfa, tfa,
};
use wayleave_calculus::{Rational, rational::whole};

use crate::network::{flow, frac, network, server};

/// `size` servers in a ring, and at each a flow that crosses `hops` of them.
fn ring(size: usize, hops: usize, make: impl Fn(&str) -> CurveServer, rate: i128, burst: i128) -> PortNetwork {
    let servers = (0..size).map(|index| make(&format!("s{index}"))).collect();
    let path = |start: usize| (start..start + hops).map(|at| at % size).collect::<Vec<_>>();
    let flows: Vec<ServerFlow> = (0..size).map(|start| flow(&format!("f{start}"), rate, burst, &path(start))).collect();
    network(servers, flows)
}

/// By symmetry every server has one delay D. From D = T + sum over k < h of (b + k r D) / R follows D = (T + h b / R)
/// / (1 - r h (h - 1) / (2 R)), while r h (h - 1) < 2 R.
fn symmetric(rate: i128, latency: i128, hops: i128, r: i128, burst: i128) -> Rational {
    (whole(latency) + frac(hops * burst, rate)) / (whole(1) - frac(r * hops * (hops - 1), 2 * rate))
}

fn assert_just_above(bound: &Rational, exact: &Rational) {
    assert!(bound > exact, "{bound} is no bound: {exact}");
    assert!(*bound < exact * frac(10_001, 10_000) + frac(1, 100), "{bound} is far above {exact}");
}

#[test]
fn a_symmetric_ring_has_the_closed_form() {
    for (rate, latency, size, hops, r, burst) in
        [(100, 2, 4, 3, 10, 40), (100, 2, 4, 4, 16, 40), (100, 0, 3, 2, 40, 7), (1000, 5, 6, 6, 66, 1000)]
    {
        let net = ring(size, hops, |name| server(name, rate, latency), r, burst);
        let total = tfa(&net, &Options::default());
        let exact = symmetric(rate, latency, hops as i128, r, burst);
        for bound in total.servers() {
            assert_just_above(&bound.as_ref().unwrap().delay, &exact);
        }
    }
}

/// The closed form's pole: r h (h - 1) = 2 R, far below full load (h r = R).
#[test]
fn beyond_the_pole_no_bound_is_given() {
    // 4 hops: the pole is at r = R / 6, full load at r = R / 4.
    for r in [17, 20, 24] {
        let net = ring(4, 4, |name| server(name, 100, 2), r, 40);
        let total = tfa(&net, &Options::default());
        assert!(matches!(total.path_delay(0, 0), Err(BoundError::NoFixedPoint { .. })), "{r}: {total:?}");
        assert!(sfa(&net, &Options::default(), &total).path_delay(0, 0).is_err());
        assert!(pmoo(&net, &Options::default(), &total).path_delay(0, 0).is_err());
    }
    let net = ring(4, 4, |name| server(name, 100, 2), 26, 40);
    assert!(matches!(tfa(&net, &Options::default()).path_delay(0, 0), Err(BoundError::Overload { .. })));
}

/// Traffic over a line of rate 100, together with a fresh flow, is late by r/R of the time for which the line is
/// full. That time is B/(R - 3 r) for the bursts B = 3 b + 6 r D: a ring of load 4 r/R = 0.8 is bounded, beyond the
/// pole of 2/3.
#[test]
fn lines_move_the_pole() {
    let ring = |r| ring(4, 4, |name| server(name, 100, 2).with_line(whole(100)), r, 40);
    let unshaped = tfa(&ring(20), &Options { shaping: LineShaping::Off, ..Options::default() });
    assert!(matches!(unshaped.path_delay(0, 0), Err(BoundError::NoFixedPoint { .. })));
    // D = 2 + 40/100 + (20/100) (120 + 120 D) / 40 = 3 + 0.6 D.
    let shaped = tfa(&ring(20), &Options::default());
    assert_just_above(&shaped.servers()[0].as_ref().unwrap().delay, &frac(75, 10));
    // r = 24: (24/100) 144 / 28 > 1.
    assert!(tfa(&ring(24), &Options::default()).path_delay(0, 0).is_err());
}

#[test]
fn servers_before_and_behind_a_cycle_are_bounded_with_it() {
    let servers = ["in", "a", "b", "out", "apart"].map(|name| server(name, 100, 1));
    let flows = vec![
        flow("f", 10, 20, &[0, 1, 2]),
        flow("g", 10, 20, &[2, 1, 3]),
        flow("h", 10, 20, &[4]),
        flow("i", 10, 20, &[3]),
    ];
    let net = network(servers.to_vec(), flows);
    let total = tfa(&net, &Options::default());
    let delay = |server: usize| total.servers()[server].as_ref().unwrap().delay.clone();
    // Before and beside the cycle nothing is rounded.
    assert_eq!(delay(0), whole(1) + frac(20, 100));
    assert_eq!(delay(4), whole(1) + frac(20, 100));
    // D_a = 1 + (20 + 10 D_in + 20 + 10 D_b) / 100, D_b = 1 + (20 + 20 + 10 (D_in + D_a)) / 100: with D_in = 1.2 both are
    // D = 1.52 + D / 10.
    let exact = frac(152, 90);
    assert_just_above(&delay(1), &exact);
    assert_just_above(&delay(2), &exact);
    assert_just_above(&delay(3), &(whole(1) + (whole(40) + whole(20) * exact) / whole(100)));
    for multiplexing in [Multiplexing::Fifo, Multiplexing::Arbitrary] {
        let options = Options { multiplexing, ..Options::default() };
        let total = tfa(&net, &options);
        assert!(sfa(&net, &options, &total).path_delay(1, 0).unwrap() <= total.path_delay(1, 0).unwrap());
        assert!(pmoo(&net, &options, &total).path_delay(1, 0).is_ok());
    }
}

#[test]
fn a_cycle_behind_an_overloaded_server_has_its_reason() {
    let servers = vec![server("in", 3, 1), server("a", 100, 1), server("b", 100, 1)];
    let flows = vec![flow("f", 4, 2, &[0, 1, 2]), flow("g", 1, 2, &[2, 1])];
    let total = tfa(&network(servers, flows), &Options::default());
    assert_eq!(total.path_delay(1, 0), Err(BoundError::Overload { server: 0 }));
}

/// A ring in which every flow crosses nearly all servers, loaded far below its rate and yet without a bound. That is
/// certain after a few rounds; an earlier version found it after 400, with numbers of hundreds of digits.
#[test]
fn a_ring_without_a_bound_is_given_up_early() {
    // 30 servers of rate 100, and 29 flows of rate 3 at each: 3 * 29 * 28 is far above 2 * 100.
    let net = ring(30, 29, |name| server(name, 100, 1), 3, 10);
    let total = tfa(&net, &Options::default());
    match total.path_delay(0, 0) {
        Err(BoundError::NoFixedPoint { rounds, .. }) => assert!(rounds <= 40, "{rounds} rounds"),
        other => panic!("{other:?}"),
    }
}
