//! Whole networks: cases that are computed by hand, and relations between the analyses.
//!
//! Abstract units, as in `../curves/textbook.rs`: a rate of 2 with a time of 3 gives 6.

mod cycles;
mod hand_computed;
mod properties;
pub(crate) mod random;

use wayleave_calculus::network::{CurveServer, PortNetwork, ServerFlow};
use wayleave_calculus::rational::{ratio, whole};
use wayleave_calculus::{ArrivalCurve, BucketCurve, RateLatency, Rational, ServiceCurve};

fn frac(numerator: i128, denominator: i128) -> Rational {
    ratio(numerator, denominator).unwrap()
}

/// beta = R [t - T]+.
fn server(name: &str, rate: i128, latency: i128) -> CurveServer {
    let piece = RateLatency::new(whole(rate), &whole(latency));
    CurveServer::new(name, ServiceCurve::from_pieces([piece]).unwrap())
}

fn bucket(rate: i128, burst: i128) -> ArrivalCurve {
    ArrivalCurve::from_pieces([BucketCurve { rate: whole(rate), burst: whole(burst) }]).unwrap()
}

fn flow(name: &str, rate: i128, burst: i128, path: &[usize]) -> ServerFlow {
    ServerFlow::unicast(name, bucket(rate, burst), path.to_vec())
}

fn network(servers: Vec<CurveServer>, flows: Vec<ServerFlow>) -> PortNetwork {
    PortNetwork::new(servers, flows).unwrap()
}
