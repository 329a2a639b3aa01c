//! The behaviour of ports.

use wayleave_topology::{Network, NodeKind};
use wayleave_units::Bytes;

use super::PortError;
use crate::{Buffering, Discipline, Ecn, PortBehaviour};

/// Checks the ports of switches or hosts.
pub(super) fn check(ports: &PortBehaviour, of: NodeKind, network: &Network) -> Result<(), PortError> {
    if let Discipline::DeficitRoundRobin { weights } = &ports.discipline {
        check_weights(weights, of, network)?;
    }
    match ports.buffering {
        Buffering::EachQueue(Bytes::ZERO) | Buffering::Shared { total: Bytes::ZERO, .. } => {
            return Err(PortError::NoBuffer);
        }
        Buffering::Shared { alpha, .. } if !(alpha > 0.0 && alpha.is_finite()) => return Err(PortError::Alpha(alpha)),
        Buffering::AsBuilt | Buffering::EachQueue(_) | Buffering::Unlimited | Buffering::Shared { .. } => {}
    }
    if let Some(Ecn::Red { min, max, probability, weight }) = ports.ecn {
        if min >= max {
            return Err(PortError::RedOrder { min, max });
        }
        for (key, value) in [("probability", probability), ("weight", weight)] {
            if !(value > 0.0 && value <= 1.0) {
                return Err(PortError::RedShare { key, value });
            }
        }
    }
    Ok(())
}

fn check_weights(weights: &[u32], of: NodeKind, network: &Network) -> Result<(), PortError> {
    if let Some(queue) = weights.iter().position(|&weight| weight == 0) {
        return Err(PortError::ZeroWeight { queue });
    }
    for (id, link) in network.links().filter(|(_, link)| network.node(link.from).kind == of) {
        let queues = network.queues(id).len();
        if queues != weights.len() {
            return Err(PortError::Weights { link: link.name.clone(), queues, weights: weights.len() });
        }
    }
    Ok(())
}
