//! Reading of sources from files and streams.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::messages::{did_you_mean, nearest};
use crate::problem::{InputErrors, Problem, ProblemKind};
use crate::signatures;
use crate::source::Source;

/// The longest text that is read: byte offsets fit `u32`, and nothing endless (`/dev/zero`) is waited for.
pub const MAX_TEXT: usize = 1 << 30;

impl Source {
    /// The text of a file, or of the standard input if `path` is `-`.
    ///
    /// # Errors
    /// If no such file, it cannot be read, is longer than [`MAX_TEXT`], or is neither UTF-8 text nor in a binary form that is read here.
    pub fn read(path: impl AsRef<Path>) -> Result<Self, InputErrors> {
        let path = path.as_ref();
        if path.as_os_str() == "-" {
            return Self::from_reader("<stdin>", io::stdin().lock());
        }
        let name = path.display().to_string();
        let fail = |error: io::Error| unreadable(&name, path, &error);
        let file = File::open(path).map_err(fail)?;
        if file.metadata().map_err(fail)?.is_dir() {
            return Err(refusal(&name, ProblemKind::Unreadable, "is a directory: expected a file"));
        }
        Self::from_reader(&name, file)
    }

    /// The text of anything that can be read.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub fn from_reader(name: &str, reader: impl Read) -> Result<Self, InputErrors> {
        Self::from_reader_up_to(name, reader, MAX_TEXT)
    }

    fn from_reader_up_to(name: &str, reader: impl Read, most: usize) -> Result<Self, InputErrors> {
        let mut bytes = Vec::new();
        let read = reader.take(most as u64 + 1).read_to_end(&mut bytes);
        read.map_err(|error| refusal(name, ProblemKind::Unreadable, &format!("cannot be read: {error}")))?;
        if bytes.len() > most {
            return Err(refusal(name, ProblemKind::TooLarge, "is longer than 1 GiB, the most that is read"));
        }
        if signatures::is_supported(&bytes) {
            return Ok(Self { bytes: Some(bytes.into()), ..Self::new(name, "") });
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Self::new(name, text)),
            Err(error) => Err(no_text(name, error.as_bytes(), error.utf8_error().valid_up_to())),
        }
    }
}

fn refusal(name: &str, kind: ProblemKind, what: &str) -> InputErrors {
    InputErrors::one(Problem::of_file(&Source::new(name, ""), kind, what))
}

fn unreadable(name: &str, path: &Path, error: &io::Error) -> InputErrors {
    match error.kind() {
        io::ErrorKind::NotFound => {
            let near = neighbour(path);
            let what = format!("no such file{}", did_you_mean(near.as_deref()));
            refusal(name, ProblemKind::Unreadable, &what)
        }
        _ => refusal(name, ProblemKind::Unreadable, &format!("cannot be read: {error}")),
    }
}

/// A file beside the missing one with a similar name.
fn neighbour(path: &Path) -> Option<String> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let names: Vec<String> =
        folder.read_dir().ok()?.take(1000).filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
    nearest(path.file_name()?.to_str()?, names.iter().map(String::as_str)).map(str::to_owned)
}

/// Returns an error with the position of the first non-text byte, and the likely format of the file.
fn no_text(name: &str, bytes: &[u8], valid: usize) -> InputErrors {
    let line = 1 + bytes[..valid].iter().filter(|&&byte| byte == b'\n').count();
    let byte = bytes.get(valid).copied().unwrap_or_default();
    let what =
        format!("is not UTF-8 text: byte {} (0x{byte:02x}), on line {line}, is not part of a character", valid + 1);
    let problem = Problem::of_file(&Source::new(name, ""), ProblemKind::NotText, &what)
        .with_hint(signatures::advice(name, bytes));
    InputErrors::one(problem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_endless_file_is_refused() {
        let errors = Source::from_reader_up_to("/dev/zero", io::repeat(0), 1000).unwrap_err();
        assert_eq!(errors.to_string(), "/dev/zero: is longer than 1 GiB, the most that is read");
        assert_eq!(errors.problems()[0].kind(), ProblemKind::TooLarge);
    }
}
