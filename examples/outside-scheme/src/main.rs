//! A transport that Wayleave does not know, in its simulator: four senders share a line, each holding a quarter of
//! the data that fit on it. `cargo run -p outside-scheme` prints the bytes that each of them got.

use std::error::Error;
use std::sync::Arc;

use wayleave_scenarios::{Congestion, FlowArrivals, FlowEndpoints, FlowSizes, Scenario, Traffic};
use wayleave_scheme_api::{Ack, Descriptor, Flow, FlowStart, Loss, Role};
use wayleave_schemes::transports::{CustomFlow, CustomTransport, SharedTransport};
use wayleave_topology::builders::{Cabling, build};
use wayleave_units::{Bytes, Time};

/// Descriptor of the scheme.
const QUARTER: Descriptor = Descriptor {
    name: "quarter",
    title: "quarter windows",
    roles: &[Role::Transport],
    summary: "A window that is halved by a loss and grows back to a fixed part of the line",
    citation: "none: an example",
    guarantee: "nothing",
    parameters: &[],
};

/// The scheme: how long a window is, in bytes.
#[derive(Debug)]
struct Quarter(u64);

impl CustomTransport for Quarter {
    fn descriptor(&self) -> &'static Descriptor {
        &QUARTER
    }

    fn begin(&self, start: &FlowStart) -> Box<dyn CustomFlow> {
        Box::new(Held { most: self.0, window: self.0, segment: start.segment.into() })
    }
}

/// The state of one flow, in bytes.
#[derive(Debug)]
struct Held {
    most: u64,
    window: u64,
    segment: u64,
}

impl Flow for Held {
    fn on_ack(&mut self, _: Time, ack: &Ack<'_>) {
        self.window = (self.window + ack.newly / 8).min(self.most);
    }

    fn on_loss(&mut self, _: Time, _: Loss) {
        self.window = (self.window / 2).max(self.segment);
    }

    fn window(&self) -> u64 {
        self.window
    }
}

/// The payload that each of four senders gets through in 20 ms.
fn shares(window: u64) -> Result<Vec<Bytes>, Box<dyn Error>> {
    // Long cables, so that a window of a packet leaves most of the line empty.
    let cabling = Cabling { propagation: Time::from_micros(50), ..Cabling::default() };
    let network = Arc::new(build::star(5, cabling)?);
    let hosts: Vec<_> = network.hosts().collect();
    let mut scenario = Scenario::new("outside", network, Time::from_millis(20));
    scenario.transport.congestion = Congestion::Custom(SharedTransport(Arc::new(Quarter(window))));
    let ends = FlowEndpoints::Pairs(hosts[1..].iter().map(|&from| (from, hosts[0])).collect());
    let sizes = FlowSizes::Fixed(Bytes::new(100_000_000));
    scenario.traffic.push(Traffic::flows("bulk", ends, FlowArrivals::Once, sizes));
    let outcome = wayleave_sim::run(&scenario, 1, |_| true)?;
    Ok(outcome.flows.iter().map(|flow| flow.payload).collect())
}

fn main() -> Result<(), Box<dyn Error>> {
    for share in shares(40_000)? {
        println!("{share}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_windows_of_the_external_scheme_determine_the_rates_of_flows() -> Result<(), Box<dyn Error>> {
        let [small, large] = [1_500, 40_000].map(shares);
        let sum = |shares: Vec<Bytes>| shares.into_iter().map(Bytes::get).sum::<u64>();
        let (small, large) = (sum(small?), sum(large?));
        // 20 ms of 1 Gbit/s are 2.5 MB.
        assert!(2 * small < large && large > 2_000_000, "{small}, {large}");
        Ok(())
    }
}
