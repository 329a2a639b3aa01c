//! Tokens are read from files, the standard input or a prompt; never from the command line, where others could see them.

use std::io::{self, IsTerminal};
use std::path::Path;

use wayleave_client::token_in;

use crate::failure::Failure;

/// The token in a file; - is the standard input.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    Ok(wayleave_client::read_token(path)?)
}

/// From a person if there is one, else from the standard input.
pub(crate) fn ask() -> Result<String, Failure> {
    if !io::stdin().is_terminal() {
        return read(Path::new("-"));
    }
    let typed = rpassword::prompt_password("token: ")
        .map_err(|error| Failure::Internal(format!("cannot read the token: {error}")))?;
    Ok(token_in(&typed, "terminal input")?)
}
