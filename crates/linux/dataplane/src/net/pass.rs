//! The program that lets everything pass.

use std::path::{Path, PathBuf};

use aya::programs::Xdp;

use crate::error::Error;
use crate::programs::{parsed, patiently, version};

/// The program, compiled.
static PASS: &[u8] = aya::include_bytes_aligned!("../../bpf/objects/pass.o");

/// Packets that fit a page with all that the kernel puts beside them (`veth_xdp_set` of drivers/net/veth.c, with pages of 4 kB).
const ONE_PAGE: u32 = 3_000;

/// Finds the program that is pinned in this folder of a bpf file system, or loads and pins it; answers where it is pinned, for
/// [`super::attach_pass`]. `mtu`: the largest packet of the interfaces.
///
/// # Errors
/// If the kernel refuses, as those before 5.18 do for packets that do not fit a page.
pub fn pin_pass(folder: &Path, mtu: u32) -> Result<PathBuf, Error> {
    let name = if mtu <= ONE_PAGE { "pass" } else { "pass_large" };
    let path = folder.join(format!("{name}-{}", version()));
    if path.exists() {
        return Ok(path);
    }
    std::fs::create_dir_all(folder).map_err(|error| Error::at("making", folder, error))?;
    let failed = |error| Error::failed(format!("loading the eBPF program {name}"), error);
    let mut loaded = parsed(PASS, |_| ())?;
    let program = loaded.program_mut(name).ok_or_else(|| Error::Refused(format!("pass.o has no program {name}")))?;
    let program: &mut Xdp = program.try_into().map_err(failed)?;
    patiently(|| program.load()).map_err(failed)?;
    program.pin(&path).map_err(|error| Error::at("pinning the program", &path, error))?;
    Ok(path)
}
