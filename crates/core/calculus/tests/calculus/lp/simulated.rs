//! No packet of a simulated FIFO network exceeds a bound.
//!
//! The simulation is a separate short program: packets, exact times, servers that send packets in turn at their rate
//! and deliver each a fixed latency later. Sources send as early as their token buckets permit, from a random time
//! on.

use proptest::prelude::*;
use wayleave_calculus::lp::fifo_delay;
use wayleave_calculus::network::{
    CurveServer, LineShaping, Multiplexing, Options, Packetizer, PortNetwork, ServerFlow, pmoo, sfa, tfa,
};
use wayleave_calculus::rational::whole;
use wayleave_calculus::{ArrivalCurve, BucketCurve, RateLatency, Rational, ServiceCurve};

const PACKETS: usize = 12;

#[derive(Clone, Debug)]
struct Source {
    rate: i128,
    burst: i128,
    packet: i128,
    starts: i128,
    path: Vec<usize>,
}

#[derive(Clone, Debug)]
struct Case {
    /// Rate and latency.
    servers: Vec<(i128, i128)>,
    sources: Vec<Source>,
}

fn cases() -> impl Strategy<Value = Case> {
    let source = (1..5_i128, 0..20_i128, 1..16_u8, 1..4_i128, 0..12_i128);
    let servers = proptest::collection::vec((20..40_i128, 0..3_i128), 1..=4);
    (servers, proptest::collection::vec(source, 1..=5)).prop_map(|(servers, sources)| {
        let make = |(rate, burst, mask, packet, starts): (i128, i128, u8, i128, i128)| {
            let mut path: Vec<usize> = (0..servers.len()).filter(|server| mask & (1 << server) != 0).collect();
            if path.is_empty() {
                path.push(0);
            }
            Source { rate, burst: burst + packet, packet, starts, path }
        };
        let sources = sources.into_iter().map(make).collect();
        Case { servers, sources }
    })
}

fn network(case: &Case) -> PortNetwork {
    let servers = case.servers.iter().enumerate().map(|(index, &(rate, latency))| {
        let piece = RateLatency::new(whole(rate), &whole(latency));
        CurveServer::new(&format!("s{index}"), ServiceCurve::from_pieces([piece]).unwrap()).with_line(whole(rate))
    });
    let flows = case.sources.iter().enumerate().map(|(index, source)| {
        let bucket = BucketCurve { rate: whole(source.rate), burst: whole(source.burst) };
        let arrival = ArrivalCurve::from_pieces([bucket]).unwrap();
        let flow = ServerFlow::unicast(&format!("f{index}"), arrival, source.path.clone());
        ServerFlow { max_packet: whole(source.packet), ..flow }
    });
    PortNetwork::new(servers.collect(), flows.collect()).unwrap()
}

/// Per source, the delays of its packets.
fn simulate(case: &Case) -> Vec<Vec<Rational>> {
    let sends: Vec<Vec<Rational>> = case.sources.iter().map(send).collect();
    let mut now = sends.clone();
    // Paths only go upwards, so that the servers can be gone through in order.
    for (server, &(rate, latency)) in case.servers.iter().enumerate() {
        let visitors = (0..case.sources.len()).filter(|&source| case.sources[source].path.contains(&server));
        let mut queue: Vec<(Rational, usize, usize)> =
            visitors.flat_map(|of| (0..PACKETS).map(|n| (now[of][n].clone(), of, n)).collect::<Vec<_>>()).collect();
        queue.sort();
        let mut free = whole(0);
        for (arrived, of, n) in queue {
            free = free.max(arrived) + whole(case.sources[of].packet) / whole(rate);
            now[of][n] = &free + whole(latency);
        }
    }
    now.iter()
        .zip(&sends)
        .map(|(ends, starts)| ends.iter().zip(starts).map(|(end, start)| end - start).collect())
        .collect()
}

/// Packet n comes as soon as it and those since packet m are within the bucket, for every m.
fn send(source: &Source) -> Vec<Rational> {
    let mut times: Vec<Rational> = Vec::new();
    for n in 0..PACKETS {
        let since = |(m, time): (usize, &Rational)| {
            let sent = (n - m + 1) as i128 * source.packet;
            time + whole((sent - source.burst).max(0)) / whole(source.rate)
        };
        let next = times.iter().enumerate().map(since).max();
        times.push(next.unwrap_or_else(|| whole(source.starts)));
    }
    times
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn no_packet_is_later_than_any_bound(case in cases()) {
        let net = network(&case);
        let delays = simulate(&case);
        for shaping in [LineShaping::On, LineShaping::Off] {
            let options = Options { shaping, packetizer: Packetizer::On, multiplexing: Multiplexing::Fifo };
            let total = tfa(&net, &options);
            let (separate, once) = (sfa(&net, &options, &total), pmoo(&net, &options, &total));
            // First come, first served is one of all orders.
            let any = Options { multiplexing: Multiplexing::Arbitrary, ..options };
            let blind = tfa(&net, &any);
            let [blind_separate, blind_once] = [sfa(&net, &any, &blind), pmoo(&net, &any, &blind)];
            for (flow, delays) in delays.iter().enumerate() {
                let worst = delays.iter().max().unwrap();
                prop_assert!(*worst <= total.path_delay(flow, 0).unwrap(), "TFA");
                prop_assert!(*worst <= separate.path_delay(flow, 0).unwrap(), "SFA");
                prop_assert!(*worst <= once.path_delay(flow, 0).unwrap(), "PMOO");
                prop_assert!(*worst <= blind_separate.path_delay(flow, 0).unwrap(), "SFA, any order");
                prop_assert!(*worst <= blind_once.path_delay(flow, 0).unwrap(), "PMOO, any order");
                prop_assert!(*worst <= fifo_delay(&net, &total, None, flow, 0).unwrap().delay, "LP");
            }
        }
    }
}
