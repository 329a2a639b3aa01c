//! Mapping of interfaces to endpoints: from the configuration, and from later declarations.
//!
//! Endpoints come and go with VMs. `wayleave agent endpoint add` puts a file into a folder of the node, `remove`
//! takes it out; the agent polls the folder twice a second. So nothing is lost when no agent runs, and the program
//! that starts VMs needs no connection to it.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use wayleave_contracts::Named;
use wayleave_protocol::DEFAULT_TENANT;

/// Attachment of an endpoint to its host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attachment {
    /// The host's end of its interface.
    pub interface: String,
    /// The VLAN whose tag its frames have there, and nowhere else; they have none if none is given.
    pub vlan: Option<u16>,
}

impl Attachment {
    /// By this interface, without tags.
    pub fn untagged(interface: impl Into<String>) -> Self {
        Self { interface: interface.into(), vlan: None }
    }

    /// Parses the text of an endpoint's file; `None` if it names no interface.
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split_whitespace();
        let interface = words.next()?.to_owned();
        Some(Self { interface, vlan: words.next().and_then(|vlan| vlan.parse().ok()) })
    }
}

/// Formats the text of an endpoint's file: the interface, followed by the VLAN.
impl fmt::Display for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.interface)?;
        self.vlan.map_or(Ok(()), |vlan| write!(f, " {vlan}"))
    }
}

/// The endpoints of a host.
#[derive(Clone, Debug)]
pub struct Declared {
    /// Interfaces by `tenant:name` or `host:name`.
    fixed: BTreeMap<String, Attachment>,
    folder: PathBuf,
}

impl Declared {
    /// Creates the mapping from the endpoints of the configuration and those in a folder.
    pub fn new(fixed: BTreeMap<String, Attachment>, folder: PathBuf) -> Self {
        Self { fixed, folder }
    }

    /// Interfaces by the names of endpoints. The folder counts more; what cannot be read is not there.
    pub fn all(&self) -> BTreeMap<String, Attachment> {
        let mut all = self.fixed.clone();
        let entries = fs::read_dir(&self.folder).into_iter().flatten().filter_map(Result::ok);
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.ends_with(".new") {
                continue;
            }
            if let Ok(text) = fs::read_to_string(entry.path()) {
                match Attachment::parse(&text) {
                    // Taken away, though the configuration has it.
                    None => drop(all.remove(&name)),
                    Some(attached) => drop(all.insert(name, attached)),
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
        return Err(format!("{text} is another host than {host}: an endpoint here is {host} itself or a VM"));
    }
    Named::Tenant.check(tenant).and_then(|()| Named::Vm.check(name)).map_err(|error| format!("{text}: {error}"))?;
    Ok(format!("{tenant}:{name}"))
}

/// Declares that an interface belongs to an endpoint. No agent needs to run; the declaration takes effect when an
/// agent next polls the folder.
///
/// # Errors
/// If it cannot be written.
pub fn add(folder: &Path, endpoint: &str, attached: &Attachment) -> io::Result<()> {
    write(folder, endpoint, &attached.to_string())
}

fn write(folder: &Path, endpoint: &str, text: &str) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let beside = folder.join(format!("{endpoint}.new"));
    fs::write(&beside, format!("{text}\n"))?;
    fs::rename(beside, folder.join(endpoint))
}

/// Declares that an endpoint has no interface any more. This also applies to an endpoint of the configuration, until
/// it is added again.
///
/// # Errors
/// If it cannot be written.
pub fn remove(folder: &Path, endpoint: &str) -> io::Result<()> {
    write(folder, endpoint, "")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests assert by panicking")]

    use super::*;

    #[test]
    fn the_last_declaration_wins() {
        let folder = std::env::temp_dir().join(format!("wayleave-endpoints-{}", std::process::id()));
        let fixed = BTreeMap::from([("acme:web".to_owned(), Attachment::untagged("tap0"))]);
        let declared = Declared::new(fixed, folder.clone());
        assert_eq!(declared.all().len(), 1);
        add(&folder, "acme:db", &Attachment { vlan: Some(100), ..Attachment::untagged("tap1") }).unwrap();
        add(&folder, "acme:web", &Attachment::untagged("tap2")).unwrap();
        assert_eq!(declared.all().get("acme:web"), Some(&Attachment::untagged("tap2")));
        remove(&folder, "acme:web").unwrap();
        let all = declared.all();
        fs::remove_dir_all(&folder).unwrap();
        let tagged = Attachment { interface: "tap1".to_owned(), vlan: Some(100) };
        assert_eq!(all, BTreeMap::from([("acme:db".to_owned(), tagged)]));
        assert_eq!(declared.all().get("acme:web"), Some(&Attachment::untagged("tap0")));
    }
}
