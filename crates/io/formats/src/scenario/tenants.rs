//! Tenants with contracts of every kind: their file, the admitted ones, and their default traffic.

use std::collections::BTreeSet;
use std::sync::Arc;

use wayleave_contracts::DataPlane;
use wayleave_scenarios::{Bursts, FabricSettings, Scenario, Tenants};
use wayleave_topology::Network;
use wayleave_units::Rate;

use super::files::Files;
use crate::contracts::read_contracts_of_all_kinds;
use crate::fields::{Fields, Shape};
use crate::messages::quoted;
use crate::names::unknown_link;
use crate::problem::{ProblemKind, Problems};
use crate::tree::{Node, Value};

pub(crate) const RESERVED: Shape = Shape { what: "a link reservation", keys: &["link", "rate"] };

/// Reports what the ports of a scenario with contracts have from these.
pub(super) fn refuse_port_keys(fields: &Fields<'_, '_>, problems: &mut Problems<'_>) {
    let of_contracts: [(&str, &[&str]); 2] = [("switches", &["discipline", "ecn"]), ("hosts", &["discipline"])];
    for (ports, keys) in of_contracts {
        let Some(Value::Mapping(entries)) = fields.get(ports).map(|node| &node.value) else { continue };
        for entry in entries {
            let Some(key) = entry.key.text().filter(|key| keys.contains(key)) else { continue };
            let message = || format!("{ports}.{key} has no effect with contracts, which define it");
            problems.report(ProblemKind::Impossible, entry.key.span, message);
        }
    }
}

/// Reads contracts of every kind, all of which have to fit, with a sentence for each key that is not carried out.
pub(super) fn read(
    node: &Node<'_>,
    network: &Arc<Network>,
    files: &mut Files<'_>,
    problems: &mut Problems<'_>,
) -> Option<(Tenants, Vec<String>)> {
    let list = files.read(node, problems, |source| read_contracts_of_all_kinds(source, network))?;
    match Tenants::admit(network, list.contracts(), &FabricSettings::default()) {
        Ok((tenants, refused)) if refused.is_empty() => {
            let not_carried_out = wayleave_contracts::sentences(list.not_carried_out(DataPlane::Simulator));
            Some((tenants, not_carried_out))
        }
        Ok((_, refused)) => {
            let (first, more) = (quoted(&refused[0]), refused.len() - 1);
            let others =
                if more == 0 { String::new() } else { format!(", nor {}", wayleave_units::count(more, "other")) };
            let message = || format!("{first} does not fit{others}: see `wayleave plan`");
            problems.report(ProblemKind::Impossible, node.span, message);
            None
        }
        Err(error) => {
            problems.report(ProblemKind::Impossible, node.span, || error.to_string());
            None
        }
    }
}

/// Sets a scenario up for tenants. A contract without traffic of its own, by its name or one of these, sends at its
/// limit.
pub(super) fn add(
    tenants: &Tenants,
    with_traffic: BTreeSet<String>,
    scenario: &mut Scenario,
    node: &Node<'_>,
    problems: &mut Problems<'_>,
) {
    if let Err(error) = tenants.set_up(scenario) {
        problems.report(ProblemKind::Impossible, node.span, || error.to_string());
        return;
    }
    let given = scenario.traffic.iter().flat_map(|traffic| [Some(&traffic.name), traffic.service.as_ref()]);
    let given: BTreeSet<String> = given.flatten().cloned().chain(with_traffic).collect();
    scenario.traffic.extend(tenants.senders(scenario.duration, Bursts::Long, &given));
}

/// Reads what latency contracts have reserved: of every link alike, or of some.
pub(super) fn read_reserved(node: &Node<'_>, network: &Network, problems: &mut Problems<'_>) -> Option<Vec<Rate>> {
    let Value::Sequence(items) = &node.value else {
        let rate: Rate = node.quantity(problems)?;
        return Some(vec![rate; network.links().len()]);
    };
    let mut reserved = vec![Rate::ZERO; network.links().len()];
    for item in items {
        let fields = Fields::read(item, &RESERVED, problems)?;
        fields.require_all(["link", "rate"], problems);
        let name = fields.get("link")?.expect_text(problems)?;
        let Some(link) = network.find_link(name) else {
            problems.report(ProblemKind::UnknownName, item.span, || unknown_link(name, network));
            return None;
        };
        reserved[link.index()] = fields.get("rate")?.quantity(problems)?;
    }
    Some(reserved)
}
