//! Secrets of tokens: made here, shown once, kept only as SHA-256.

use std::fmt;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use sha2::{Digest, Sha256};

/// Prefix of every secret, by which tools can find leaked secrets.
const PREFIX: &str = "wl_";

/// A secret. It is not printed by accident.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(not shown)")
    }
}

impl Secret {
    /// 256 random bits.
    pub(crate) fn new() -> Result<Self, getrandom::Error> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes)?;
        Ok(Self(format!("{PREFIX}{}", hex(&bytes))))
    }

    /// As its holder sends it.
    pub fn text(&self) -> &str {
        &self.0
    }

    pub(crate) fn hash_text(&self) -> String {
        hex(&hash(&self.0))
    }

    /// Reads a file that holds only the secret; `None` if there is no such file.
    ///
    /// # Errors
    /// If it cannot be read, others may read it, or its content is no secret of 256 bits.
    pub fn read(path: &Path) -> io::Result<Option<Self>> {
        let text = match fs::read_to_string(path) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        if fs::metadata(path)?.permissions().mode() & 0o077 != 0 {
            return Err(io::Error::other("readable by other users; run chmod 600"));
        }
        let text = text.trim();
        let digits = text.strip_prefix(PREFIX).unwrap_or_default();
        if digits.len() != 64 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(io::Error::other(format!("expected {PREFIX} and 64 hexadecimal digits")));
        }
        Ok(Some(Self(text.to_owned())))
    }

    /// Into a file that only its owner may read.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        // Written beside and renamed: a crash leaves the old file, or the whole new one.
        let mut beside = path.as_os_str().to_owned();
        beside.push(".new");
        let beside = Path::new(&beside);
        let _ = fs::remove_file(beside);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(beside)?;
        writeln!(file, "{}", self.0)?;
        file.sync_all()?;
        fs::rename(beside, path)
    }
}

/// Returns the hash of a secret, which is stored in its place.
pub(crate) fn hash(secret: &str) -> [u8; 32] {
    Sha256::digest(secret.as_bytes()).into()
}

/// The name of a new token.
pub(crate) fn token_name() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 6];
    getrandom::fill(&mut bytes)?;
    Ok(format!("t-{}", hex(&bytes)))
}

/// In hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}
