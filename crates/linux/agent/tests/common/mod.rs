//! A small network, and a folder of a test.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use wayleave_topology::{LinkId, LinkSpec, Network, NetworkBuilder, NodeKind, PortSpec};
use wayleave_units::{Bytes, Rate, Time};

/// Two hosts that three switches join; links 0 to 2 leave h1.
pub(crate) fn network() -> Arc<Network> {
    let mut builder = NetworkBuilder::default();
    let [h1, h2] = ["h1", "h2"].map(|name| builder.add_node(name, NodeKind::Host).unwrap());
    let [s1, s2, s3] = ["s1", "s2", "s3"].map(|name| builder.add_node(name, NodeKind::Switch).unwrap());
    for (from, to) in [(h1, s1), (h1, s2), (h1, s3), (s1, h2), (s2, h2), (s3, h2), (s1, s2)] {
        let port = PortSpec::uniform(2, Bytes::new(97_000));
        let (rate, mtu) = (Rate::from_mbit(100), Bytes::new(1500));
        builder.add_link(LinkSpec { from, to, rate, propagation: Time::ZERO, mtu, port }).unwrap();
    }
    Arc::new(builder.build())
}

/// Somewhere on disk, for one test; it goes with the value.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("agent-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The interfaces of h1's links, by link.
pub(crate) fn links(network: &Network) -> BTreeMap<LinkId, String> {
    let h1 = network.find_node("h1").unwrap();
    network.links_from(h1).iter().map(|&link| (link, format!("up{}", link.0))).collect()
}
