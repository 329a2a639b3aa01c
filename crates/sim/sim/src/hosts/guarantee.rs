//! Guarantees of policies to services.

use wayleave_contracts::{Direction, Policy};

/// Returns a policy's guarantee to a service, in bit/s.
pub(super) fn minimum(policy: &Policy, direction: Direction, name: &str) -> u64 {
    let place = policy.services().iter().position(|service| service.name == name);
    place.map_or(0, |place| policy.terms(direction, None)[place].min.bits_per_second())
}
