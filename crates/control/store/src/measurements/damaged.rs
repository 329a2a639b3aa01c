//! Files that cannot be used are renamed, so that an operator can inspect them.

use std::path::{Path, PathBuf};

/// Maximum number of damaged files that are kept.
const MAX_DAMAGED: usize = 3;

/// Renames a file that cannot be used, with its log: to `FILE-damaged`, `FILE-damaged-2` and so on. If all names are
/// taken, the oldest of these files is replaced.
pub(super) fn put_aside(path: &Path) -> std::io::Result<PathBuf> {
    let aside = free_name(path)?;
    std::fs::rename(path, &aside)?;
    // A log of an earlier damaged file would be read with this one.
    let (from, to) = (with(path, "-wal"), with(&aside, "-wal"));
    let moved = std::fs::remove_file(&to).or_else(if_found).and_then(|()| std::fs::rename(from, to).or_else(if_found));
    moved.map(|()| aside)
}

fn free_name(path: &Path) -> std::io::Result<PathBuf> {
    let mut oldest = None;
    for number in 1..=MAX_DAMAGED {
        let end = if number == 1 { "-damaged".to_owned() } else { format!("-damaged-{number}") };
        let name = with(path, &end);
        let modified = match std::fs::symlink_metadata(&name) {
            Ok(found) => found.modified()?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(name),
            Err(error) => return Err(error),
        };
        if oldest.as_ref().is_none_or(|(time, _)| modified < *time) {
            oldest = Some((modified, name));
        }
    }
    oldest.map(|(_, name)| name).ok_or_else(|| std::io::ErrorKind::NotFound.into())
}

fn with(path: &Path, end: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(end);
    PathBuf::from(name)
}

fn if_found(error: std::io::Error) -> std::io::Result<()> {
    if error.kind() == std::io::ErrorKind::NotFound { Ok(()) } else { Err(error) }
}
