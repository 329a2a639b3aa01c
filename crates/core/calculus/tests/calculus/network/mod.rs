//! Whole networks: cases that are computed by hand, and relations between the analyses.
//!
//! Abstract units, as in `../curves/textbook.rs`: a rate of 2 with a time of 3 gives 6.

mod cycles;
mod hand_computed;
mod properties;
pub(crate) mod random;

use wayleave_calculus::network::{Flow, PortNetwork, Server};
use wayleave_calculus::rational::{ratio, whole};
use wayleave_calculus::{ArrivalCurve, RateLatency, Rational, ServiceCurve, TokenBucket};

fn frac(numerator: i128, denominator: i128) -> Rational {
    ratio(numerator, denominator).unwrap()
}

/// beta = R [t - T]+.
fn server(name: &str, rate: i128, latency: i128) -> Server {
    let piece = RateLatency::new(whole(rate), &whole(latency));
    Server::new(name, ServiceCurve::from_pieces([piece]).unwrap())
}

fn bucket(rate: i128, burst: i128) -> ArrivalCurve {
    ArrivalCurve::from_pieces([TokenBucket { rate: whole(rate), burst: whole(burst) }]).unwrap()
}

fn flow(name: &str, rate: i128, burst: i128, path: &[usize]) -> Flow {
    Flow::unicast(name, bucket(rate, burst), path.to_vec())
}

fn network(servers: Vec<Server>, flows: Vec<Flow>) -> PortNetwork {
    PortNetwork::new(servers, flows).unwrap()
}
