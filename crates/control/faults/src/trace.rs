//! Trace of a program's file operations, call by call.

use std::fs;
use std::path::{Path, PathBuf};

/// One call on a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceStep {
    /// The file or, for a sync, perhaps the directory.
    pub path: PathBuf,
    /// The call.
    pub call: TracedCall,
}

/// Effect of a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TracedCall {
    /// The file was created.
    Create,
    /// These bytes were written from this offset on.
    Write(u64, Vec<u8>),
    /// Everything before was put on disk.
    Sync,
    /// The file was cut, or grown by zeros, to this length.
    Truncate(u64),
    /// The file was removed.
    Unlink,
    /// The file has this name now.
    Rename(PathBuf),
}

/// Reads a trace. An incomplete record at its end (the program was killed) is left out.
///
/// # Errors
///
/// A sentence, if the file cannot be read or is no trace.
pub fn read(path: &Path) -> Result<Vec<TraceStep>, String> {
    let bytes = fs::read(path).map_err(|error| format!("reading {}: {error}", path.display()))?;
    let mut rest = &bytes[..];
    let mut steps = Vec::new();
    while let Some((kind, name, offset, data)) = next(&mut rest) {
        let call = match kind {
            b'c' => TracedCall::Create,
            b'w' => TracedCall::Write(offset, data.to_vec()),
            b's' => TracedCall::Sync,
            b't' => TracedCall::Truncate(offset),
            b'u' => TracedCall::Unlink,
            b'r' => TracedCall::Rename(text(data)),
            other => return Err(format!("{} is not a trace: a call {other}", path.display())),
        };
        steps.push(TraceStep { path: text(name), call });
    }
    Ok(steps)
}

fn text(bytes: &[u8]) -> PathBuf {
    String::from_utf8_lossy(bytes).into_owned().into()
}

type Parts<'a> = (u8, &'a [u8], u64, &'a [u8]);

fn next<'a>(rest: &mut &'a [u8]) -> Option<Parts<'a>> {
    let (kind, after) = rest.split_first()?;
    let (name, after) = number(after)?;
    let (offset, after) = number(after)?;
    let (length, after) = number(after)?;
    let (name, after) = after.split_at_checked(usize::try_from(name).ok()?)?;
    let (data, after) = after.split_at_checked(usize::try_from(length).ok()?)?;
    *rest = after;
    Some((*kind, name, offset, data))
}

fn number(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((u64::from_le_bytes(*number), rest))
}
