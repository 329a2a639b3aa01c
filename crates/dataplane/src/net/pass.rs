//! The program that lets everything pass.

use std::path::{Path, PathBuf};

use aya::programs::Xdp;

use crate::error::Error;
use crate::programs::{parsed, patiently, version};

/// The program, compiled.
static PASS: &[u8] = aya::include_bytes_aligned!("../../bpf/objects/pass.o");

/// Finds the program that is pinned in this folder of a bpf file system, or loads and pins it; answers where it is pinned, for
/// [`super::attach_pass`].
///
/// # Errors
/// If the kernel refuses.
pub fn pin_pass(folder: &Path) -> Result<PathBuf, Error> {
    let path = folder.join(format!("pass-{}", version()));
    if path.exists() {
        return Ok(path);
    }
    std::fs::create_dir_all(folder).map_err(|error| Error::at("making", folder, error))?;
    let failed = |error| Error::failed("loading the eBPF program pass", error);
    let mut loaded = parsed(PASS, |_| ())?;
    let program = loaded.program_mut("pass").ok_or_else(|| Error::Refused("pass.o has no program pass".to_owned()))?;
    let program: &mut Xdp = program.try_into().map_err(failed)?;
    patiently(|| program.load()).map_err(failed)?;
    program.pin(&path).map_err(|error| Error::at("pinning the program", &path, error))?;
    Ok(path)
}
