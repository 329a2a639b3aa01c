//! Holder of a lock, as far as Linux reports it.

use std::fmt;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A process that has a ledger open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its number.
    pub process: u32,
    /// The name of its program, where it can be read.
    pub name: Option<String>,
}

impl Holder {
    /// Returns the holder of a lock on this file. Never an error: it only improves a message.
    pub(crate) fn of(path: &Path) -> Option<Self> {
        let file = fs::metadata(path).ok()?;
        let process = find(&fs::read_to_string("/proc/locks").ok()?, file.dev(), file.ino())?;
        let name = fs::read_to_string(format!("/proc/{process}/comm")).ok();
        Some(Self { process, name: name.map(|name| name.trim().to_owned()) })
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.name {
            Some(name) => write!(f, "process {} ({name})", self.process),
            None => write!(f, "process {}", self.process),
        }
    }
}

/// The first process with a lock on an inode in the text of `/proc/locks`:
/// `1: FLOCK  ADVISORY  WRITE 733 fe:00:2621 0 EOF`, with the device as major and minor number in hexadecimal.
fn find(locks: &str, device: u64, inode: u64) -> Option<u32> {
    // The two numbers as Linux packs them into a dev_t.
    let major = (device >> 8) & 0xfff | (device >> 32) & 0xffff_f000;
    let minor = device & 0xff | (device >> 12) & 0xffff_ff00;
    let wanted = format!("{major:02x}:{minor:02x}:{inode}");
    let line = locks.lines().find(|line| line.split_whitespace().any(|word| word == wanted))?;
    line.split_whitespace().find_map(|word| word.parse().ok().filter(|process| *process > 0))
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn the_holder_is_found_by_device_and_inode() {
        let locks = "1: POSIX  ADVISORY  WRITE 733 fe:00:2621 0 EOF\n2: FLOCK  ADVISORY  WRITE 4711 103:01:99 0 EOF\n";
        assert_eq!(find(locks, 0xfe00, 2621), Some(733));
        assert_eq!(find(locks, 0x10301, 99), Some(4711));
        assert_eq!(find(locks, 0xfe00, 99), None);
    }
}
