//! Tokens are read from files; never from the command line, where others could see them.

use std::io::{self, Read};
use std::path::Path;

use super::error::Error;

/// More than any token has.
const LONGEST: u64 = 4096;

/// The token in a file; - is the standard input.
///
/// # Errors
/// If it cannot be read, or there is none in it.
pub fn read_token(path: &Path) -> Result<String, Error> {
    let place = path.display();
    let fail = |error: io::Error| Error::Usage(format!("the token in {place} cannot be read: {error}"));
    if path.as_os_str() == "-" {
        return token_in(&take(io::stdin().lock()).map_err(fail)?, "the standard input");
    }
    token_in(&take(std::fs::File::open(path).map_err(fail)?).map_err(fail)?, &place.to_string())
}

fn take(reader: impl Read) -> io::Result<String> {
    let mut text = String::new();
    reader.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

/// The token in a text that came from this place.
///
/// # Errors
/// If there is none, or more than that.
pub fn token_in(text: &str, place: &str) -> Result<String, Error> {
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Error::Usage(format!(
            "there is no token in {place}: one such as wl_... is expected, and nothing else"
        )));
    }
    Ok(token.to_owned())
}

/// A key that no other request has: 128 random bits.
///
/// # Errors
/// If the system gives no random bytes.
pub fn key() -> Result<String, Error> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes).map_err(|error| Error::Failed(format!("the system gives no random bytes: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
