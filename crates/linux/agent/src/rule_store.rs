//! The rules of a host on disk, so that an agent that starts again knows what it has installed.
//!
//! The data plane knows serial and version of every rule, but not the names that were resolved; those are needed when
//! an interface is removed and added again. A rule is written before it is installed, and the older one is deleted
//! afterwards. So the text of each installed rule is here. If it has been deleted, the driver removes the rule, and
//! the controller sends it again.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use wayleave_protocol::agent::Rule;

/// The file with the contracts of other kinds than latency.
const SHARES: &str = "shares.json";

/// The folder with the rules of a node.
#[derive(Debug)]
pub struct RuleStore {
    folder: PathBuf,
}

impl RuleStore {
    /// In this folder, which is made if it is not there.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn open(folder: &Path) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        Ok(Self { folder: folder.to_owned() })
    }

    /// Reads all rules, by serial and version. A file that cannot be read is ignored.
    ///
    /// # Errors
    /// If the folder cannot be read.
    pub fn read(&self) -> io::Result<BTreeMap<(u64, u64), Rule>> {
        let mut rules = BTreeMap::new();
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            let Some(key) = key(&path) else { continue };
            if let Ok(rule) = serde_json::from_str(&fs::read_to_string(&path)?) {
                rules.insert(key, rule);
            }
        }
        Ok(rules)
    }

    /// Remembers a rule.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, serial: u64, version: u64, rule: &Rule) -> io::Result<()> {
        let text = serde_json::to_string(rule).map_err(io::Error::other)?;
        let beside = self.folder.join(format!("{serial}.{version}.new"));
        fs::write(&beside, text)?;
        fs::rename(beside, self.path(serial, version))
    }

    /// Forgets what there is of a contract, except one version.
    ///
    /// # Errors
    /// If the folder cannot be read or changed.
    pub fn forget(&self, serial: u64, except: Option<u64>) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if key(&path).is_some_and(|(known, version)| known == serial && Some(version) != except) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    /// Reads the contracts of other kinds than latency whose rules are installed, by serial number. Without a readable file
    /// they are unknown.
    pub fn read_shares(&self) -> BTreeMap<u64, String> {
        let text = fs::read_to_string(self.folder.join(SHARES)).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// Remembers these contracts.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write_shares(&self, contracts: &BTreeMap<u64, String>) -> io::Result<()> {
        let text = serde_json::to_string(contracts).map_err(io::Error::other)?;
        let beside = self.folder.join(format!("{SHARES}.new"));
        fs::write(&beside, text)?;
        fs::rename(beside, self.folder.join(SHARES))
    }

    fn path(&self, serial: u64, version: u64) -> PathBuf {
        self.folder.join(format!("{serial}.{version}.json"))
    }
}

/// Serial and version in the name of a file.
fn key(path: &Path) -> Option<(u64, u64)> {
    let name = path.file_name()?.to_str()?.strip_suffix(".json")?;
    let (serial, version) = name.split_once('.')?;
    Some((serial.parse().ok()?, version.parse().ok()?))
}
