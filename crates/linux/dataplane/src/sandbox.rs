//! Isolation for tests and measurements: a network namespace and a bpf file system that only one thread sees, and
//! that are deleted when it ends.

use std::path::{Path, PathBuf};
use std::process::Command;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};

use crate::error::Error;

/// A folder on a bpf file system that no other process sees.
#[derive(Debug)]
pub struct Apart {
    pins: PathBuf,
}

impl Apart {
    /// Takes this thread apart, for good: its network namespace is a new one, with a loopback interface that is up, and a bpf file
    /// system lies over `folder`, which is made if it is not there. Begin a thread for it.
    ///
    /// # Errors
    /// Without the right to do so (root, or CAP_SYS_ADMIN), or `ip`.
    pub fn enter(folder: &Path) -> Result<Self, Error> {
        let doing = "making a network namespace";
        unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS).map_err(|error| failed(doing, error))?;
        let private = mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>);
        private.map_err(|error| failed("making mounts private", error))?;
        std::fs::create_dir_all(folder).map_err(|error| Error::at("making", folder, error))?;
        let mounted = mount(Some("bpf"), folder, Some("bpf"), MsFlags::empty(), None::<&str>);
        mounted.map_err(|error| failed("mounting a bpf file system", error))?;
        let apart = Self { pins: folder.to_owned() };
        apart.ip(&["link", "set", "lo", "up"])?;
        Ok(apart)
    }

    /// Returns the folder in which pins can be made.
    pub fn pins(&self) -> &Path {
        &self.pins
    }

    /// A pair of interfaces, both up: `name` with this number, and its peer with the next one.
    ///
    /// # Errors
    /// If `ip` cannot make it.
    pub fn veth(&self, name: &str, ifindex: u32) -> Result<(), Error> {
        let (ifindex, next, peer) = (ifindex.to_string(), (ifindex + 1).to_string(), format!("{name}p"));
        self.ip(&["link", "add", name, "index", &ifindex, "type", "veth", "peer", "name", &peer, "index", &next])?;
        for name in [name, &peer] {
            // Without it the kernel sends packets of its own. Where there is no IPv6, there is nothing to turn off.
            let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1");
            self.ip(&["link", "set", name, "up"])?;
        }
        Ok(())
    }

    /// Runs `ip` in this namespace.
    ///
    /// # Errors
    /// The output of `ip`, if it fails.
    pub fn ip(&self, arguments: &[&str]) -> Result<(), Error> {
        let doing = || format!("ip {}", arguments.join(" "));
        let output = Command::new("ip").args(arguments).output().map_err(|error| Error::failed(doing(), error))?;
        if output.status.success() {
            return Ok(());
        }
        Err(Error::Failed { doing: doing(), why: String::from_utf8_lossy(&output.stderr).trim().to_owned() })
    }
}

fn failed(doing: &str, error: nix::Error) -> Error {
    Error::failed(doing, std::io::Error::from(error))
}
