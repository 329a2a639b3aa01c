//! A transport that Wayleave does not know, in its simulator: four senders share a line, each holding a quarter of what
//! fits on it. `cargo run -p outside-scheme` prints what each of them got.

use std::error::Error;
use std::sync::Arc;

use wayleave_roles::{Ack, Descriptor, Flow, FlowStart, Loss, Role};
use wayleave_scenarios::{Arrivals, Congestion, Ends, FlowSizes, Scenario, Traffic};
use wayleave_schemes::transports::{CustomFlow, CustomTransport, SharedTransport};
use wayleave_topology::builders::{Cabling, build};
use wayleave_units::{Bytes, Time};

/// What the scheme says of itself.
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

/// The payload that each of so many senders gets through in 20 ms.
fn shares(senders: u64, window: u64) -> Result<Vec<Bytes>, Box<dyn Error>> {
    let network = Arc::new(build::star(senders + 1, Cabling::default())?);
    let hosts: Vec<_> = network.hosts().collect();
    let mut scenario = Scenario::new("outside", network, Time::from_millis(20));
    scenario.transport.congestion = Congestion::Custom(SharedTransport(Arc::new(Quarter(window))));
    let ends = Ends::Pairs(hosts[1..].iter().map(|&from| (from, hosts[0])).collect());
    let sizes = FlowSizes::Fixed(Bytes::new(100_000_000));
    scenario.traffic.push(Traffic::flows("bulk", ends, Arrivals::Once, sizes));
    let outcome = wayleave_sim::run(&scenario, 1, |_| true)?;
    Ok(outcome.flows.iter().map(|flow| flow.payload).collect())
}

fn main() -> Result<(), Box<dyn Error>> {
    for share in shares(4, 40_000)? {
        println!("{share}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_windows_of_the_scheme_from_outside_decide_what_flows_get() -> Result<(), Box<dyn Error>> {
        let sum =
            |senders, window| Ok::<u64, Box<dyn Error>>(shares(senders, window)?.iter().map(|share| share.get()).sum());
        let (small, large) = (sum(1, 1_500)?, sum(1, 40_000)?);
        // One packet a round trip leaves half of the line empty; longer windows fill it: 20 ms of 1 Gbit/s are 2.5 MB.
        assert!(small < 1_300_000 && large > 2_300_000, "{small}, {large}");
        let shares = shares(4, 40_000)?;
        assert!(shares.iter().all(|share| share.get().abs_diff(2_370_000 / 4) < 60_000), "{shares:?}");
        Ok(())
    }
}
