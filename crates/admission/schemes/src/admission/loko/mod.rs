//! Loko: low-cost switches as one shared service each, measured, and given away by rate and burst.
//!
//! A. Van Bemten, N. Đerić, A. Varasteh, A. Blenk, S. Schmid, W. Kellerer, "Loko: Predictable Latency in Small
//! Networks", CoNEXT 2019; here from its slides.
//!
//! Low-cost programmable switches are a processor behind an integrated layer-2 switch. The processor hardly forwards
//! at line rate, and all ports share it, so analyses with one service per port (Silo, QJump) promise too much. Loko
//! measures the service and takes the worst case in the network as a rate-latency curve with a buffer. It gives every
//! switch a maximum rate and burst so that nothing is lost, and admits flows while the sums stay below.
//!
//! | slides | here |
//! |---|---|
//! | step 0, the independent services | [`Services`]: one for all ports, or one per port |
//! | step 1, benchmark over six dimensions | `wayleave_topology::devices::Table`, which a file or a benchmark fills |
//! | step 2, worst of a scenario: R, T, buffer | [`ServiceModel::of`] |
//! | step 3, "choose r, b such that B <= buffer": full rate, fifth rate, any | [`Allocation::new`] |
//! | step 3, "accept as long as usage < allocation" | [`Loko`] |
//! | "latency guarantee: sum of the D values at each hop" | [`Loko`], with [`SwitchAccounting::Published`] nothing else |
//!
//! # The printed numbers
//!
//! The slides print R = 11.8 Mbit/s, T = 0.46 ms; full rate: 2.02 kB, 1.86 ms; fifth rate: 2.37 Mbit/s, 2.32 kB, 2.07
//! ms. The formulas are `B = b + r (T - l / R)` and `D = T + b / R`, where l / R is the packet's own service, which
//! is part of T. All numbers follow for a buffer of 8 packets of 306 B (2448 B), R from 11.825 up to 11.85 Mbit/s and
//! T between about 0.461 and 0.464 ms, if a kB is 1024 B. The text does not mention "8 packets at 306 B". It is the
//! only whole number that gives both printed rows (the tests enumerate R, T and the number; with a kB of 1000 B none
//! does).
//!
//! Deviations, and points that the slides leave open:
//! - A flow's burst grows along its route, by its rate times its possible delay so far. The slides add up the
//!   requested bursts. The default counts the growth, which is sound; [`SwitchAccounting::Published`] follows the slides.
//! - The slides' guarantee is the sum of D. The default adds the delay of the lines: at the first one the burst of
//!   everything that the first switch accepts, then the largest packet of the scenario on each line. It also adds
//!   propagation and processing of nodes, jitter included. A burst enters a service with the amount that it earns
//!   during the switch's jitter, in any order. It assumes that lines are no slower than the service; a switch with a
//!   slower line is refused at the start.
//! - The slides do not define routes: a flow takes the first of the shortest paths (fewest switches) with room.
//! - The scenario (entries, matches, packet sizes ...) is the operator's statement of the traffic in the network. A
//!   contract with larger packets is refused. Smaller ones cost more per bit than was measured; a scenario has to
//!   contain the smallest.
//! - The control plane's share of the processor (CP throughput) is not modelled: the scenario is one of the data
//!   plane.
//! - All switches of a network are of one kind and have one allocation.

mod admission;
mod admitted;
mod allocation;
mod explanation;
mod settings;

pub use admission::{Loko, LokoError, Params, ServiceUsage, Services, SwitchAccounting};
pub use allocation::{AcceptedRate, Allocation, AllocationError, ServiceModel};
pub use settings::{DeviceScenario, Settings};

use wayleave_scheme_api::{Described, Descriptor, Parameters, Refusal, Role};
use wayleave_topology::Network;

use crate::registry::{AdmissionScheme, BuildError, SchemeInputs};

/// Descriptor of Loko.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "loko",
    title: "Loko",
    roles: &[Role::Admission],
    summary: "Each switch is one measured service with a rate and a burst budget (CoNEXT 2019)",
    citation: "A. Van Bemten, N. Đerić, A. Varasteh, A. Blenk, S. Schmid, W. Kellerer, \"Loko: Predictable Latency in Small \
               Networks\", CoNEXT 2019, from its slides",
    guarantee: "every packet of a contract arrives before its deadline and none is lost, on switches whose ports share one service, within the measured scenario",
    parameters: Settings::LIST,
};

impl Described for Loko {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Settings;
}

impl AdmissionScheme for Loko {
    /// Steps 0 to 3.
    fn build(setup: &SchemeInputs<'_>, settings: Settings) -> Result<Self, BuildError> {
        let Settings { table: file, scenario, allocation, counting, services } = settings;
        let scenario = scenario.scenario;
        let table = (setup.benchmark)(file.as_deref(), &scenario).map_err(BuildError::Benchmark)?;
        let missing =
            |missing| BuildError::Invalid(format!("{}: {missing}", file.as_deref().unwrap_or("--loko-scenario")));
        let model = ServiceModel::of(&table, &scenario).map_err(missing)?;
        let params = Params { model, share: allocation, services, counting };
        Self::new(setup.network.clone(), params).map_err(BuildError::invalid)
    }

    fn refusal_words(network: &Network, refusal: &Refusal) -> Option<String> {
        explanation::refusal(network, refusal)
    }
}

#[cfg(test)]
mod tests;
