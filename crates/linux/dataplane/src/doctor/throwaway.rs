//! A place to try things: a namespace with a virtual link, and a bpf file system; both go when the value goes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use nix::mount::{MntFlags, MsFlags, mount, umount2};

use crate::net::{Namespace, NetError, ToolBatch, VethEnd, create_veth};

/// Makes names different in one process.
static NEXT: AtomicU32 = AtomicU32::new(0);
/// One end of the link, to which things are attached.
pub(super) const NEAR: &str = "d0";
/// The other end.
const FAR: &str = "d1";

/// A namespace that is thrown away.
pub(super) struct Throwaway {
    name: String,
    pub(super) namespace: Namespace,
}

impl Throwaway {
    /// An empty one.
    pub(super) fn new() -> Result<Self, NetError> {
        let name = format!("wldoctor.{}.{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        Namespace::create([name.as_str()])?;
        match Namespace::open(&name) {
            Ok(namespace) => Ok(Self { name, namespace }),
            Err(error) => {
                let _ = Namespace::delete([name.as_str()]);
                Err(error)
            }
        }
    }

    /// Gives it a virtual link whose both ends are inside.
    pub(super) fn add_link(&self) -> Result<(), NetError> {
        let end = |interface: &str, ifindex| VethEnd {
            namespace: self.name.clone(),
            interface: interface.to_owned(),
            ifindex,
            mac: None,
            mtu: 1528,
        };
        ToolBatch::ip().line(create_veth(&end(NEAR, 101), &end(FAR, 102))?).run(&Namespace::current())?;
        self.namespace.set_up([NEAR, FAR])
    }

    /// Carries out lines of `tc`, and takes away what they have made.
    pub(super) fn try_tc(&self, lines: &[String]) -> Result<(), NetError> {
        let made = ToolBatch::tc().extend(lines.iter().cloned()).run(&self.namespace);
        for which in ["root", "clsact"] {
            // Of the two there is at most one.
            let _ = ToolBatch::tc().line(format_args!("qdisc del dev {NEAR} {which}")).run(&self.namespace);
        }
        made
    }
}

impl Drop for Throwaway {
    fn drop(&mut self) {
        // An error here is not reported; the name shows which run left the namespace.
        let _ = Namespace::delete([self.name.as_str()]);
    }
}

/// A bpf file system that is thrown away.
pub(super) struct Pins(PathBuf);

impl Pins {
    pub(super) fn new() -> std::io::Result<Self> {
        let path =
            std::env::temp_dir().join(format!("wayleave-doctor-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed)));
        fs::create_dir_all(&path)?;
        let pins = Self(path);
        mount(Some("bpf"), &pins.0, Some("bpf"), MsFlags::empty(), None::<&str>).map_err(std::io::Error::from)?;
        Ok(pins)
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Pins {
    fn drop(&mut self) {
        // If it was not mounted, there is nothing to unmount.
        let _ = umount2(&self.0, MntFlags::MNT_DETACH);
        let _ = fs::remove_dir(&self.0);
    }
}
