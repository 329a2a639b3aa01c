//! The network of the controller, and the contracts that are asked for.

use std::sync::Arc;

use wayleave_controller::{ControllerConfig, EnforcedBy, SchemeFactory, Timeouts, UnfitPolicy};
use wayleave_formats::parse_builder;
use wayleave_ledger::Model;
use wayleave_schemes::admission::chameleon::{Chameleon, Params};

/// The network: hosts enough that all contracts fit.
pub(super) const TOPOLOGY: &str = "fat-tree:k=16";
const HOSTS: usize = 1_024;

/// The ends of the how-manieth contract: all hosts send, and all receive.
pub(super) fn contract(number: usize) -> (usize, usize) {
    let (from, round) = (number % HOSTS, number / HOSTS);
    // Steps without a common divisor with the number of hosts, so that no round repeats another.
    let to = (from + 1 + 37 * round) % HOSTS;
    (from, if to == from { (to + 1) % HOSTS } else { to })
}

/// Returns a controller's network with Wayleave's own model and scheme, and without agents to notify.
pub(super) fn setup(builder: &str) -> Result<ControllerConfig, String> {
    let network = Arc::new(parse_builder(builder).map_err(|error| error.to_string())?.network);
    Chameleon::new(network.clone(), Model::default(), Params::default()).map_err(|error| error.to_string())?;
    let of = network.clone();
    let scheme = move || match Chameleon::new(of.clone(), Model::default(), Params::default()) {
        Ok(scheme) => scheme.into(),
        Err(_) => unreachable!("the same was made a moment ago"),
    };
    Ok(ControllerConfig {
        network,
        model: Model::default(),
        scheme: SchemeFactory::fixed(scheme),
        enforced_by: EnforcedBy::Nobody,
        timing: Timeouts::default(),
        unfit: UnfitPolicy::Refuse,
    })
}
