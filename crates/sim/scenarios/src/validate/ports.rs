//! The behaviour of ports.

use wayleave_topology::{Network, NodeKind};
use wayleave_units::Bytes;

use super::PortError;
use crate::{Buffering, Discipline, Ecn, HostSchemeConfig, PortBehaviour, PortEcn, Scenario};

/// Checks the ports of switches or hosts.
pub(super) fn check(ports: &PortBehaviour, of: NodeKind, network: &Network) -> Result<(), PortError> {
    match &ports.discipline {
        Discipline::DeficitRoundRobin { weights } => check_weights(0, weights, of, network)?,
        Discipline::StrictOverWeighted { strict, weights } => check_weights(*strict, weights, of, network)?,
        Discipline::Fifo | Discipline::StrictPriority | Discipline::SmallestRemainingFirst => {}
    }
    match ports.buffering {
        Buffering::EachQueue(Bytes::ZERO) | Buffering::Shared { total: Bytes::ZERO, .. } => {
            return Err(PortError::NoBuffer);
        }
        Buffering::Shared { alpha, .. } if !(alpha > 0.0 && alpha.is_finite()) => return Err(PortError::Alpha(alpha)),
        Buffering::AsBuilt | Buffering::EachQueue(_) | Buffering::Unlimited | Buffering::Shared { .. } => {}
    }
    match &ports.ecn {
        PortEcn::Same(ecn) => check_ecn(ecn.as_ref()),
        PortEcn::PerQueue(queues) => {
            let is_single = ports.discipline.has_one_queue();
            let marks = queues.len();
            if let Some((link, queues)) = other_than(marks, is_single, of, network) {
                return Err(PortError::Marks { link, queues, marks });
            }
            queues.iter().try_for_each(|ecn| check_ecn(ecn.as_ref()))
        }
    }
}

/// A queue has one role: it marks, or it keeps what a scheme of hosts needs of switches. Where that is a threshold of marks, any other
/// marking serves as well; so it does in queues that nothing of the scheme goes through.
pub(super) fn check_core(scenario: &Scenario) -> Result<(), PortError> {
    let (switches, sharing) = (&scenario.switches, scenario.sharing.as_ref());
    let with_core =
        |(_, scheme): &(usize, &HostSchemeConfig)| scheme.core().is_some_and(|core| !matches!(core, Ecn::Threshold(_)));
    let found = sharing.and_then(|sharing| sharing.schemes().enumerate().find(with_core));
    let Some((number, scheme)) = found else { return Ok(()) };
    let core = scheme.core();
    let is_other = |ecn: &Ecn| core.as_ref().is_none_or(|core| core.descriptor().name != ecn.descriptor().name);
    let marks = match &switches.ecn {
        PortEcn::Same(ecn) => ecn.as_ref().is_some_and(is_other),
        PortEcn::PerQueue(queues) => queues.iter().enumerate().any(|(queue, ecn)| {
            let is_used = u8::try_from(queue).is_ok_and(|queue| scenario.schemes_in(queue).contains(&number));
            is_used && ecn.as_ref().is_some_and(is_other)
        }),
    };
    if marks {
        let name = scheme.name();
        return Err(PortError::EcnConflict(format!(
            "queues of switches cannot mark beside {name}, for which they keep sums: leave the marks out"
        )));
    }
    let forgets = |ecn: &Ecn| matches!((ecn, &core), (Ecn::UfabCore(given), Some(Ecn::UfabCore(wanted))) if given.dedup_window < wanted.dedup_window);
    let is_short = match &switches.ecn {
        PortEcn::Same(ecn) => ecn.as_ref().is_some_and(forgets),
        PortEcn::PerQueue(queues) => queues.iter().flatten().any(forgets),
    };
    if is_short {
        let name = scheme.name();
        return Err(PortError::EcnConflict(format!(
            "queues of switches forget changes that hosts of {name} still repeat: dedupWindow has to be as long as the scheme's"
        )));
    }
    Ok(())
}

fn check_ecn(ecn: Option<&Ecn>) -> Result<(), PortError> {
    let Some(ecn) = ecn else { return Ok(()) };
    if let Some(conflict) = ecn.conflict() {
        return Err(PortError::EcnConflict(conflict));
    }
    ecn.check().map_err(|(parameter, value)| PortError::Ecn {
        key: parameter.key,
        value: value.to_string(),
        range: parameter.kind.range(),
    })
}

/// Every queue below the strict ones has a weight.
fn check_weights(strict: u8, weights: &[u32], of: NodeKind, network: &Network) -> Result<(), PortError> {
    let strict = usize::from(strict);
    if let Some(queue) = weights.iter().position(|&weight| weight == 0) {
        return Err(PortError::ZeroWeight { queue: strict + queue });
    }
    match other_than(strict + weights.len(), false, of, network) {
        None => Ok(()),
        Some((link, queues)) => Err(PortError::Weights { link, queues, strict, weights: weights.len() }),
    }
}

/// The first port of such a node that has another number of queues than this, with that number.
fn other_than(count: usize, is_single: bool, of: NodeKind, network: &Network) -> Option<(String, usize)> {
    network.links().filter(|(_, link)| network.node(link.from).kind == of).find_map(|(id, link)| {
        let queues = if is_single { 1 } else { network.queues(id).len() };
        (queues != count).then(|| (link.name.clone(), queues))
    })
}
