//! Tokens are read from files; never from the command line, where others could see them.

use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
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
    let fail = |error: io::Error| Error::Usage(format!("cannot read the token from {place}: {error}"));
    if path.as_os_str() == "-" {
        return token_in(&take(io::stdin().lock()).map_err(fail)?, "standard input");
    }
    token_in(&take(std::fs::File::open(path).map_err(fail)?).map_err(fail)?, &place.to_string())
}

/// The password in a file that its owner alone may read, without the end of the line.
///
/// # Errors
/// If it cannot be read, others may read it, or there is none in it.
pub fn read_password(path: &Path) -> Result<String, Error> {
    let wrong = |why: String| Error::Usage(format!("the password in {}: {why}", path.display()));
    let mut file = std::fs::File::open(path).map_err(|error| wrong(error.to_string()))?;
    let mode = file.metadata().map_err(|error| wrong(error.to_string()))?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(wrong("readable by other users; run chmod 600".to_owned()));
    }
    let text = take(&mut file).map_err(|error| wrong(error.to_string()))?;
    match text.trim_end_matches(['\r', '\n']) {
        "" => Err(wrong("none found".to_owned())),
        password => Ok(password.to_owned()),
    }
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
        return Err(Error::Usage(format!("no token in {place}: expected a single token, such as wl_...")));
    }
    Ok(token.to_owned())
}

/// A key that no other request has: 128 random bits.
///
/// # Errors
/// If the system gives no random bytes.
pub fn key() -> Result<String, Error> {
    let mut bytes = [0u8; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| Error::Failed(format!("no random bytes from the operating system: {error}")))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests assert by panicking")]

    use super::*;

    #[test]
    fn a_password_file_readable_by_others_is_refused_and_not_shown() {
        let path = std::env::temp_dir().join(format!("wayleave-password-{}", std::process::id()));
        let write = |text: &str, mode: u32| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            read_password(&path)
        };
        assert_eq!(write(" open sesame \n", 0o600).unwrap(), " open sesame ");
        for (text, mode, why) in
            [("open sesame", 0o640, "chmod 600"), ("open sesame", 0o604, "chmod 600"), ("\n", 0o600, "none")]
        {
            let error = write(text, mode).unwrap_err().to_string();
            assert!(error.contains(why) && !error.contains("sesame"), "{error}");
        }
        std::fs::remove_file(&path).unwrap();
    }
}
