//! Configuration that all controllers of a cluster must have in common: a controller with another network would judge
//! contracts that it cannot know.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Configuration with which a controller decides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterConfig {
    /// Another one for every other basis.
    pub fingerprint: String,
    /// Parts of the configuration.
    pub parts: Vec<ConfigPart>,
}

/// A part of a basis, such as the topology.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConfigPart {
    /// Name of the part, for example `topology`.
    pub name: String,
    /// Hash of its whole text.
    pub hash: String,
    /// Human-readable description, from the whole to its details: `fat-tree:k=4`, `16 hosts`.
    pub summary: Vec<String>,
}

/// Difference between the configuration of a controller and that of its cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// Of the controller.
    pub own: ClusterConfig,
    /// Of the cluster.
    pub cluster: ClusterConfig,
}

impl ClusterConfig {
    /// Returns the difference from the cluster's configuration; descriptions are ignored, since an equal file may
    /// have another name elsewhere.
    pub(crate) fn difference(&self, cluster: &Self) -> Option<Difference> {
        let hashes = |basis: &Self| -> Vec<(String, String)> {
            basis.parts.iter().map(|part| (part.name.clone(), part.hash.clone())).collect()
        };
        (hashes(self) != hashes(cluster)).then(|| Difference { own: self.clone(), cluster: cluster.clone() })
    }

    fn part(&self, name: &str) -> Option<&ConfigPart> {
        self.parts.iter().find(|part| part.name == name)
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { own, cluster } = self;
        let only_there = cluster.parts.iter().filter(|part| own.part(&part.name).is_none());
        let mut separator = "";
        for name in own.parts.iter().chain(only_there).map(|part| &*part.name) {
            let (here, there) = (own.part(name), cluster.part(name));
            if here.map(|part| &part.hash) == there.map(|part| &part.hash) {
                continue;
            }
            let [here, there] = [here, there].map(|part| part.map_or(&[][..], |part| &part.summary));
            let (only_here, only_there) = (shown(here, there), shown(there, here));
            write!(f, "{separator}a different {name} (here {only_here}; in the cluster {only_there})")?;
            separator = ", ";
        }
        Ok(())
    }
}

/// Returns the part of one summary that the other lacks; all of the summary if they are equal.
fn shown(summary: &[String], other: &[String]) -> String {
    let only: Vec<&str> = summary.iter().filter(|item| !other.contains(item)).map(String::as_str).collect();
    match (summary, &only[..]) {
        ([], _) => "nothing".to_owned(),
        (_, []) => summary.join(", "),
        _ => only.join(", "),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests assert by panicking")]

    use super::*;

    fn basis(parts: &[(&str, &str, &[&str])]) -> ClusterConfig {
        let part = |(name, hash, summary): &(&str, &str, &[&str])| ConfigPart {
            name: (*name).to_owned(),
            hash: (*hash).to_owned(),
            summary: summary.iter().map(|item| (*item).to_owned()).collect(),
        };
        ClusterConfig { fingerprint: "f".to_owned(), parts: parts.iter().map(part).collect() }
    }

    #[test]
    fn a_difference_names_the_differing_parts() {
        let own = basis(&[("topology", "1", &["a.yaml", "4 hosts"]), ("scheme", "2", &["x", "rerouting on"])]);
        let other = basis(&[("topology", "1", &["b.yaml", "4 hosts"]), ("scheme", "3", &["x", "rerouting off"])]);
        let found = own.difference(&other).unwrap().to_string();
        assert_eq!(found, "a different scheme (here rerouting on; in the cluster rerouting off)");
        let other = basis(&[("topology", "4", &["a.yaml", "4 hosts"]), ("scheme", "2", &[]), ("model", "5", &["m"])]);
        let found = own.difference(&other).unwrap().to_string();
        let topology = "a different topology (here a.yaml, 4 hosts; in the cluster a.yaml, 4 hosts)";
        assert_eq!(found, format!("{topology}, a different model (here nothing; in the cluster m)"));
    }

    #[test]
    fn the_same_file_under_another_name_is_equal() {
        let own = basis(&[("topology", "1", &["a.yaml"])]);
        assert_eq!(own.difference(&basis(&[("topology", "1", &["b.yaml"])])), None);
    }
}
