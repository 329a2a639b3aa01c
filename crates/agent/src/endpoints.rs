//! Which interface belongs to which endpoint: what the configuration says, and what was said since.
//!
//! Endpoints come and go with VMs. `wayleave agent endpoint add` puts a file into a folder of the node, `remove` takes it out; the agent
//! looks there twice a second. So nothing is lost when no agent runs, and the program that starts VMs needs no connection to it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use wayleave_contracts::Named;
use wayleave_protocol::DEFAULT_TENANT;

/// The endpoints of a host.
#[derive(Clone, Debug)]
pub struct Declared {
    /// Interfaces by `tenant:name` or `host:name`.
    fixed: BTreeMap<String, String>,
    folder: PathBuf,
}

impl Declared {
    /// Those of the configuration, and those in a folder.
    pub fn new(fixed: BTreeMap<String, String>, folder: PathBuf) -> Self {
        Self { fixed, folder }
    }

    /// Interfaces by the names of endpoints. The folder counts more; what cannot be read is not there.
    pub fn all(&self) -> BTreeMap<String, String> {
        let mut all = self.fixed.clone();
        let entries = fs::read_dir(&self.folder).into_iter().flatten().filter_map(Result::ok);
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".new") {
                continue;
            }
            if let Ok(interface) = fs::read_to_string(entry.path()) {
                match interface.trim() {
                    // Taken away, though the configuration has it.
                    "" => drop(all.remove(&name)),
                    interface => drop(all.insert(name, interface.to_owned())),
                }
            }
        }
        all
    }
}

/// The name of an endpoint as the agent of a host has it: `tenant:name`, or `host:NAME` for the host itself.
///
/// # Errors
/// If it is no name.
pub fn name(text: &str, host: &str) -> Result<String, String> {
    let (tenant, name) = text.split_once(':').unwrap_or((DEFAULT_TENANT, text));
    if tenant == "host" && name != host {
        return Err(format!(
            "{text} is another host than {host}: only the host itself, or a VM, can have an interface there"
        ));
    }
    Named::Tenant.check(tenant).and_then(|()| Named::Vm.check(name)).map_err(|error| format!("{text}: {error}"))?;
    Ok(format!("{tenant}:{name}"))
}

/// Says that this interface is an endpoint's. Whether an agent runs or not: it counts from when one looks.
///
/// # Errors
/// If it cannot be written.
pub fn add(folder: &Path, endpoint: &str, interface: &str) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let beside = folder.join(format!("{endpoint}.new"));
    fs::write(&beside, format!("{interface}\n"))?;
    fs::rename(beside, folder.join(endpoint))
}

/// Says that an endpoint has no interface any more; also one of the configuration, until it is added again.
///
/// # Errors
/// If it cannot be written.
pub fn remove(folder: &Path, endpoint: &str) -> io::Result<()> {
    add(folder, endpoint, "")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests assert by panicking")]

    use super::*;

    #[test]
    fn what_is_said_last_counts() {
        let folder = std::env::temp_dir().join(format!("wayleave-endpoints-{}", std::process::id()));
        let fixed = BTreeMap::from([("acme:web".to_owned(), "tap0".to_owned())]);
        let declared = Declared::new(fixed, folder.clone());
        assert_eq!(declared.all().len(), 1);
        add(&folder, "acme:db", "tap1").unwrap();
        add(&folder, "acme:web", "tap2").unwrap();
        assert_eq!(declared.all().get("acme:web").map(String::as_str), Some("tap2"));
        remove(&folder, "acme:web").unwrap();
        let all = declared.all();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(all, BTreeMap::from([("acme:db".to_owned(), "tap1".to_owned())]));
        assert_eq!(declared.all().get("acme:web").map(String::as_str), Some("tap0"));
    }
}
