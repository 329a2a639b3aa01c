//! Three members of etcd on this machine, which share its processors and its disk with the measured controller.

use std::net::{Ipv4Addr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// An etcd that ends with this.
pub(super) struct Etcd {
    members: Vec<Child>,
    clients: Vec<String>,
}

impl Etcd {
    /// With its data in a directory.
    pub(super) fn start(directory: &Path) -> Result<Self, String> {
        let mut ports = Vec::new();
        // All are held until the last is found.
        let mut held = Vec::new();
        for _ in 0..6 {
            let socket =
                TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(|error| format!("no port is free: {error}"))?;
            ports.push(socket.local_addr().map_err(|error| error.to_string())?.port());
            held.push(socket);
        }
        drop(held);
        let urls: Vec<String> = ports.iter().map(|port| format!("http://127.0.0.1:{port}")).collect();
        let (clients, peers) = urls.split_at(3);
        let all: Vec<String> = peers.iter().enumerate().map(|(at, peer)| format!("m{at}={peer}")).collect();
        let mut etcd = Self { members: Vec::new(), clients: clients.to_vec() };
        for (at, (client, peer)) in clients.iter().zip(peers).enumerate() {
            let member = Command::new("etcd")
                .args(["--name", &format!("m{at}"), "--log-level", "error", "--initial-cluster", &all.join(",")])
                .args(["--listen-client-urls", client, "--advertise-client-urls", client])
                .args(["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer])
                .arg("--data-dir")
                .arg(directory.join(format!("m{at}")))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn();
            etcd.members.push(member.map_err(|error| format!("etcd cannot be started (etcd-server): {error}"))?);
        }
        // A member accepts connections before there is a leader among them; the controller is patient only later.
        std::thread::sleep(std::time::Duration::from_secs(3));
        Ok(etcd)
    }

    /// Separated by commas.
    pub(super) fn addresses(&self) -> String {
        self.clients.join(",")
    }
}

impl Drop for Etcd {
    fn drop(&mut self) {
        for member in &mut self.members {
            // It may have ended by itself.
            let _ = member.kill();
            let _ = member.wait();
        }
    }
}
