//! A place for tests that need a kernel: a network namespace and a bpf file system that only this thread has, and that go with it.
#![allow(dead_code, reason = "no test file uses all of it")]

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use wayleave_wire::Mac;

/// A folder on a bpf file system, in namespaces of this thread.
pub(crate) struct World {
    pub(crate) pins: PathBuf,
}

impl World {
    /// `None`, and a line that says so, on a machine that does not allow it.
    pub(crate) fn new() -> Option<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        if let Err(why) = enter() {
            eprintln!("LEFT OUT: this test needs root, network namespaces and eBPF: {why}");
            return None;
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let pins = mounted().join(format!("host-{number}"));
        std::fs::create_dir_all(&pins).unwrap();
        Some(Self { pins })
    }

    /// A pair of interfaces with these numbers, both up.
    pub(crate) fn veth(&self, name: &str, ifindex: u32, peer: u32) {
        let (ifindex, peer) = (ifindex.to_string(), peer.to_string());
        ip(&[
            "link",
            "add",
            name,
            "index",
            &ifindex,
            "type",
            "veth",
            "peer",
            "name",
            &format!("{name}p"),
            "index",
            &peer,
        ]);
        for name in [name, &format!("{name}p")] {
            std::fs::write(format!("/proc/sys/net/ipv6/conf/{name}/disable_ipv6"), "1").unwrap_or_default();
            ip(&["link", "set", name, "up"]);
        }
    }
}

fn ip(arguments: &[&str]) {
    let output = Command::new("ip").args(arguments).output().unwrap();
    assert!(output.status.success(), "ip {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn mounted() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("bpf")
}

fn enter() -> Result<(), String> {
    let text = |error: nix::Error| error.to_string();
    unshare(CloneFlags::CLONE_NEWNET | CloneFlags::CLONE_NEWNS).map_err(text)?;
    mount(None::<&str>, "/", None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>).map_err(text)?;
    std::fs::create_dir_all(mounted()).map_err(|error| error.to_string())?;
    mount(Some("bpf"), &mounted(), Some("bpf"), MsFlags::empty(), None::<&str>).map_err(text)?;
    ip(&["link", "set", "lo", "up"]);
    Ok(())
}

/// An address that ends so.
pub(crate) fn mac(last: u8) -> Mac {
    Mac::new([2, 0, 0, 0, 0, last])
}

/// An address that ends so.
pub(crate) fn ipv4(last: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(10, 0, 0, last))
}

/// A UDP packet from 10.0.0.`from` to 10.0.0.`to`, of so many bytes with its Ethernet header (at least 42).
pub(crate) fn udp(from: u8, to: u8, ports: (u16, u16), length: usize) -> Vec<u8> {
    let total = (length - 14) as u16;
    let mut frame = [mac(to).bytes(), mac(from).bytes()].concat();
    frame.extend([8, 0, 0x45, 0]);
    frame.extend(total.to_be_bytes());
    frame.extend([0, 1, 0, 0, 64, 17, 0, 0, 10, 0, 0, from, 10, 0, 0, to]);
    frame.extend(ports.0.to_be_bytes());
    frame.extend(ports.1.to_be_bytes());
    frame.extend((total - 20).to_be_bytes());
    frame.resize(length, 0);
    frame
}
