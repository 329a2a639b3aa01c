//! Tenants and receivers: each a network namespace with a thread in it. They are deleted when the threads end, in any
//! case.

use std::process::Command;
use std::sync::mpsc::{Sender as Channel, channel};
use std::thread;

use nix::sched::{CloneFlags, unshare};

use super::mac;

type Job = Box<dyn FnOnce() + Send>;

/// A namespace with a thread that works in it.
pub(crate) struct Party(Channel<Job>);

impl Party {
    /// Takes this interface, which then is `eth0` with the address 10.0.0.`last`, and knows another party, if one is given.
    pub(crate) fn new(interface: &str, last: u8, other: Option<u8>) -> Self {
        let (jobs, inbox) = channel::<Job>();
        let (reported, tid) = channel();
        thread::spawn(move || {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            reported.send(nix::unistd::gettid()).unwrap();
            inbox.iter().for_each(|job| job());
        });
        tool("ip", &format!("link set {interface} netns {}", tid.recv().unwrap()));
        let party = Self(jobs);
        let interface = interface.to_owned();
        party.run(move || {
            tool("ip", "link set lo up");
            // Without IPv6, there is nothing to turn off.
            let _ = std::fs::write(format!("/proc/sys/net/ipv6/conf/{interface}/disable_ipv6"), "1");
            tool("ip", &format!("link set {interface} name eth0 address {}", mac(last)));
            tool("ip", "link set eth0 up");
            tool("ip", &format!("addr add 10.0.0.{last}/24 dev eth0"));
            if let Some(other) = other {
                tool("ip", &format!("neigh add 10.0.0.{other} lladdr {} dev eth0", mac(other)));
            }
        });
        party
    }

    /// Does something there, and waits for it.
    pub(crate) fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        let (done, result) = channel();
        self.0.send(Box::new(move || drop(done.send(job())))).unwrap();
        result.recv().unwrap()
    }

    /// Starts a job there; returns the channel of its result.
    pub(crate) fn begin<T: Send + 'static>(
        &self,
        job: impl FnOnce() -> T + Send + 'static,
    ) -> std::sync::mpsc::Receiver<T> {
        let (done, result) = channel();
        self.0.send(Box::new(move || drop(done.send(job())))).unwrap();
        result
    }
}

/// Runs a tool in the namespace of this thread.
pub(crate) fn tool(name: &str, arguments: &str) {
    let output = Command::new(name).args(arguments.split(' ')).output().unwrap();
    assert!(output.status.success(), "{name} {arguments}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The index of an interface in the namespace of this thread.
pub(crate) fn index(interface: &str) -> Option<u32> {
    nix::net::if_::if_nametoindex(interface).ok()
}
