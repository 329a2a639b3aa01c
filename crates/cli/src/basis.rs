//! Settings that all controllers of a cluster must have in common, derived from the setup of one controller.

use wayleave_controller::ControllerConfig;
use wayleave_explain::SettingsJson;
use wayleave_explain::human::count;
use wayleave_server::cluster::{ClusterConfig, ConfigPart, basis, part};
use wayleave_topology::NodeKind;

use crate::failure::Failure;

/// The basis of a controller whose topology is called so. Time-outs are each controller's own.
pub(crate) fn basis_of(
    topology: &str,
    setup: &ControllerConfig,
    settings: &SettingsJson,
) -> Result<ClusterConfig, Failure> {
    let scheme = serde_json::to_value(settings).map_err(|error| Failure::Internal(error.to_string()))?;
    let named = |(name, value): (&String, &serde_json::Value)| format!("{name} {value}");
    let scheme: Vec<String> = scheme.as_object().into_iter().flatten().map(named).collect();
    let listed = |name: &str, summary: Vec<String>| part(name, &summary.join("\n"), summary);
    Ok(basis(vec![
        network(topology, setup),
        listed("scheme", scheme),
        listed("model", setup.model.settings()),
        listed("enforcement", vec![setup.enforced_by.name().to_owned()]),
    ]))
}

/// Path and name of the file do not count.
fn network(topology: &str, setup: &ControllerConfig) -> ConfigPart {
    let network = &setup.network;
    let (hosts, switches): (Vec<_>, Vec<_>) = network.nodes().partition(|(_, node)| node.kind == NodeKind::Host);
    let summary = vec![
        topology.to_owned(),
        count(hosts.len(), "host"),
        count(switches.len(), "switch"),
        count(network.links().count(), "link"),
    ];
    part("topology", &wayleave_formats::write_topology(network, ""), summary)
}
