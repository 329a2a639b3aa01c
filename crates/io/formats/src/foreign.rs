//! Files of other tools that describe a network and are not read: each is refused by name, with the format to export
//! instead.
//!
//! They are recognised by: GNS3's project file (`"type": "topology"`, its `topology` with `computes`; GNS3 2.2),
//! netlab's topology (links such as `r1-r2`; netlab.tools, "Links between Network Devices"), LibreQoS's
//! `network.json` and `ShapedDevices.csv` (its documentation, "Configure"), SNDlib's XML, and the Inet, Orbis and
//! Rocketfuel files that ns-3's module `topology-read` reads.

use crate::messages::one_of;
use crate::problem::Message;
use crate::tree::{Node, Value};

/// A file that is recognised and not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Foreign {
    Gns3,
    Netlab,
    LibreQosNetwork,
    LibreQosDevices,
    SndlibXml,
    Rocketfuel,
    SonicConfig,
    Numbers,
}

impl Foreign {
    /// Every one, for tests.
    #[cfg(test)]
    const ALL: [Self; 8] = [
        Self::Gns3,
        Self::Netlab,
        Self::LibreQosNetwork,
        Self::LibreQosDevices,
        Self::SndlibXml,
        Self::Rocketfuel,
        Self::SonicConfig,
        Self::Numbers,
    ];

    /// Recognises a text that is no YAML.
    pub(crate) fn of_text(text: &str) -> Option<Self> {
        let text = text.trim_start_matches('\u{feff}').trim_start();
        let head: String = text.chars().take(2_000).collect();
        if head.starts_with('<') && head.contains("sndlib.zib.de/network") {
            return Some(Self::SndlibXml);
        }
        let mut lines = head.lines().filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        let first = lines.next()?;
        if first.starts_with("Circuit ID,") || first.starts_with("\"Circuit ID\",") {
            return Some(Self::LibreQosDevices);
        }
        if first.contains('@') && first.contains("->") {
            return Some(Self::Rocketfuel);
        }
        // The first line of HPCC's topologies is of numbers too, as are those of ns-3's files.
        let is_numbers = |line: &str| line.split_whitespace().all(|word| word.parse::<f64>().is_ok());
        let are_numbers = first.split_whitespace().count() >= 2 && is_numbers(first);
        (are_numbers && lines.next().is_none_or(is_numbers)).then_some(Self::Numbers)
    }

    /// Recognises a mapping.
    pub(crate) fn of_mapping(root: &Node<'_>) -> Option<Self> {
        let Value::Mapping(entries) = &root.value else { return None };
        let topology = root.field("topology");
        let has = |node: Option<&Node<'_>>, key: &str| node.is_some_and(|node| node.field(key).is_some());
        if has(topology, "computes") || (root.field_text("type") == Some("topology") && topology.is_some()) {
            return Some(Self::Gns3);
        }
        if root.field("apiVersion").is_some() {
            return None;
        }
        // The tables of `config_db.json` have names in capitals (SONiC, "Configuration" in its wiki).
        if root.field("PORT").is_some() || root.field("DEVICE_METADATA").is_some() {
            return Some(Self::SonicConfig);
        }
        if is_netlab(root) {
            return Some(Self::Netlab);
        }
        let is_site = |node: &Node<'_>| {
            ["downloadBandwidthMbps", "uploadBandwidthMbps"].iter().any(|key| node.field(key).is_some())
        };
        (!entries.is_empty() && entries.iter().all(|entry| is_site(&entry.value))).then_some(Self::LibreQosNetwork)
    }

    /// Returns the message: its format, and a remedy.
    pub(crate) fn refusal(self) -> Message {
        let written =
            "write its nodes and links as node-link JSON (docs/reference/files.md, \"NetworkX node-link JSON\")";
        let (name, instead) = match self {
            Self::Gns3 => ("a GNS3 project", format!("its links state no rates: {written}, with rates and delays")),
            Self::Netlab => {
                let instead = "run `netlab create -p clab`, and import the clab.yml that it writes";
                ("a netlab topology", instead.to_owned())
            }
            Self::LibreQosNetwork => ("a network.json of LibreQoS", written.to_owned()),
            Self::LibreQosDevices => {
                let instead =
                    "it lists subscribers and their plans: write them as contracts, and the network as a topology";
                ("a ShapedDevices.csv of LibreQoS", instead.to_owned())
            }
            Self::SndlibXml => ("SNDlib's XML form", "download the network in SNDlib's native form".to_owned()),
            Self::Rocketfuel => ("a Rocketfuel map", format!("read it with ns-3 or a script, and {written}")),
            Self::SonicConfig => {
                let instead = "it configures one switch and does not describe the network: give the topology, and pass the file to `wayleave export-config --for sonic --diff`";
                ("a config_db.json of SONiC", instead.to_owned())
            }
            Self::Numbers => {
                let forms = one_of(&["an Inet or Orbis file of ns-3", "a topology of HPCC"]);
                let instead =
                    format!("HPCC's are read in scenarios (`topology: {{ hpcc: FILE }}`); for others {written}");
                return (format!("this is a list of numbers, such as {forms}: not read here"), instead).into();
            }
        };
        (format!("this is {name}: not read"), instead).into()
    }
}

/// Returns `true` if links are written as netlab writes them: `r1-r2`, or mappings from the names of nodes.
fn is_netlab(root: &Node<'_>) -> bool {
    let Some(links) = root.field("links") else { return false };
    if root.field("nodes").is_none() {
        return false;
    }
    let is_pair = |link: &Node<'_>| link.text().is_some_and(|text| text.contains('-'));
    let has_interfaces = |link: &Node<'_>| link.field("interfaces").is_some() && link.field("source").is_none();
    let own_keys = ["provider", "module", "addressing", "plugin"].iter().any(|key| root.field(key).is_some());
    let has_device = root.field("defaults").is_some_and(|defaults| defaults.field("device").is_some());
    let of_links = match &links.value {
        Value::Sequence(items) => items.iter().any(|link| is_pair(link) || has_interfaces(link)),
        _ => false,
    };
    of_links || own_keys || has_device
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_refusal_names_an_alternative() {
        for foreign in Foreign::ALL {
            let Message { text, hint } = foreign.refusal();
            assert!(text.starts_with("this is ") && text.contains("not read"), "{text}");
            assert!(hint.is_some(), "{text}");
        }
    }
}
