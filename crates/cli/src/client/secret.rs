//! Tokens are read from files, the standard input or a prompt; never from the command line, where others could see them.

use std::io::{self, IsTerminal, Read};
use std::path::Path;

use crate::failure::Failure;

/// More than any token has.
const LONGEST: u64 = 4096;

/// The token in a file; - is the standard input.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    let place = path.display();
    let fail = |error: io::Error| Failure::Usage(format!("the token in {place} cannot be read: {error}"));
    if path.as_os_str() == "-" {
        return checked(&take(io::stdin().lock()).map_err(fail)?, "the standard input");
    }
    checked(&take(std::fs::File::open(path).map_err(fail)?).map_err(fail)?, &place.to_string())
}

/// From a person if there is one, else from the standard input.
pub(crate) fn ask() -> Result<String, Failure> {
    if !io::stdin().is_terminal() {
        return read(Path::new("-"));
    }
    let typed = rpassword::prompt_password("token: ")
        .map_err(|error| Failure::Internal(format!("the token could not be read: {error}")))?;
    checked(&typed, "what was typed")
}

fn take(reader: impl Read) -> io::Result<String> {
    let mut text = String::new();
    reader.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}

fn checked(text: &str, place: &str) -> Result<String, Failure> {
    let token = text.trim();
    if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(Failure::Usage(format!(
            "there is no token in {place}: one such as wl_... is expected, and nothing else"
        )));
    }
    Ok(token.to_owned())
}

/// A key that no other request has: 128 random bits.
pub(crate) fn key() -> Result<String, Failure> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::Internal(format!("the system gives no random bytes: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
