//! Random networks: servers in a row or in any order, rate-latency or with two pieces, with or without lines.

use proptest::collection::vec;
use proptest::prelude::*;
use wayleave_calculus::network::{CurveServer, PortNetwork, ServerFlow};
use wayleave_calculus::rational::whole;
use wayleave_calculus::{ArrivalCurve, BucketCurve, RateLatency, ServiceCurve};

/// Features of a random network beside rate-latency servers and token buckets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Curves {
    /// Nothing.
    Plain,
    /// Second pieces of both kinds of curves, and lines.
    Rich,
}

/// Up to five servers; flows go from one to a later one, over any of those between, so that nothing is cyclic. No server
/// gets more than it serves.
pub(crate) fn feed_forward(curves: Curves) -> impl Strategy<Value = PortNetwork> {
    let server = (20..60_i128, 0..6_i128, 0..4_i128, any::<bool>());
    let flow = (1..5_i128, 0..30_i128, 1..32_u8, 0..8_i128, 0..4_i128);
    (vec(server, 1..=5), vec(flow, 1..=5)).prop_map(move |(servers, flows)| {
        let count = servers.len();
        let servers = servers.into_iter().enumerate().map(|(index, server)| make_server(index, server, curves));
        let flows = flows.into_iter().enumerate().map(|(index, (rate, burst, mask, peak, packet))| {
            let mut path: Vec<usize> = (0..count).filter(|server| mask & (1 << server) != 0).collect();
            if path.is_empty() {
                path.push(index % count);
            }
            let mut pieces = vec![BucketCurve { rate: whole(rate), burst: whole(burst + packet) }];
            if curves == Curves::Rich {
                pieces.push(BucketCurve { rate: whole(rate + peak), burst: whole(packet) });
            }
            let arrival = ArrivalCurve::from_pieces(pieces).unwrap();
            ServerFlow { max_packet: whole(packet), ..ServerFlow::unicast(&format!("f{index}"), arrival, path) }
        });
        PortNetwork::new(servers.collect(), flows.collect()).unwrap()
    })
}

fn make_server(
    index: usize,
    (rate, latency, later, has_line): (i128, i128, i128, bool),
    curves: Curves,
) -> CurveServer {
    let mut pieces = vec![RateLatency::new(whole(rate), &whole(latency))];
    if curves == Curves::Rich && later > 0 {
        pieces.push(RateLatency::new(whole(rate * 2), &whole(latency + later)));
    }
    let server = CurveServer::new(&format!("s{index}"), ServiceCurve::from_pieces(pieces).unwrap());
    if curves == Curves::Rich && has_line { server.with_line(whole(rate * 2)) } else { server }
}
