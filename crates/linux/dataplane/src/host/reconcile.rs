//! Repair of a host's maps after changes by other programs.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use aya::Pod;
use aya::maps::MapError;
use wayleave_units::count;

use super::Host;
use super::open::own;
use crate::error::Error;
use crate::layout;
use crate::sys;
use crate::table::Table;

impl Host {
    /// Compares the maps with their intended contents, restores them, and returns the faults, one sentence each.
    /// Rules are not included: [`Host::lost_rules`] returns those that have to be reinstalled.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn mend(&mut self) -> Result<Vec<String>, Error> {
        let mut done = self.mend_pins()?;
        let same_group = |one: &[u8; layout::GROUP], other: &[u8; layout::GROUP]| {
            layout::members_of(one) == layout::members_of(other)
        };
        let counts = [
            ("endpoints", mend(&mut self.endpoints, PartialEq::eq)),
            ("local", mend(&mut self.local, PartialEq::eq)),
            ("groups", mend(&mut self.groups, same_group)),
            ("classes", mend(&mut self.classes, PartialEq::eq)),
            ("classes6", mend(&mut self.classes6, PartialEq::eq)),
            ("best_effort", mend(&mut self.best_effort, PartialEq::eq)),
        ];
        for (name, changed) in counts {
            match changed.map_err(|error| Error::failed("comparing maps with their expected contents", error))? {
                0 => {}
                changed => done.push(format!("{} of the map {name} had been changed", count(changed, "entry"))),
            }
        }
        // Replacing an entry frees the old one.
        self.is_stale |= !done.is_empty();
        let settings = self.settings.get(&0, 0).map_err(|error| Error::failed("reading the settings", error))?;
        if settings != self.settings_now().bytes() {
            self.write_settings()?;
            done.push("the settings had been changed".to_owned());
        }
        Ok(done)
    }

    fn mend_pins(&mut self) -> Result<Vec<String>, Error> {
        let pins = self.pins.mend()?;
        if pins == 0 {
            return Ok(Vec::new());
        }
        // The lock may be of a folder that no longer exists.
        if !is_same_folder(&self.owner, &self.folder) {
            self.owner = own(&self.folder)?;
        }
        Ok(vec![format!("{pins} pins were missing")])
    }
}

/// Returns `true` if a folder that was opened is still the one at this path.
fn is_same_folder(opened: &File, folder: &Path) -> bool {
    let of = |metadata: std::io::Result<Metadata>| metadata.map(|metadata| (metadata.dev(), metadata.ino())).ok();
    of(opened.metadata()) == of(folder.metadata())
}

/// Makes a map as it was written; how many entries were others.
fn mend<K: Pod + Ord, V: Pod>(table: &mut Table<K, V>, is_same: impl Fn(&V, &V) -> bool) -> Result<usize, MapError> {
    let differences = table.differences(is_same)?;
    if differences.count() > 0 {
        // A program may still read an entry that another program has just removed.
        let waited = sys::wait_for_programs();
        waited.map_err(|error| MapError::IoError(std::io::Error::other(error)))?;
        table.undo(&differences)?;
    }
    Ok(differences.count())
}
