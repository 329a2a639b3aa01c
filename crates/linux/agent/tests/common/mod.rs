//! A small network.

use std::collections::BTreeMap;
use std::sync::Arc;

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

/// The interfaces of h1's links, by link.
pub(crate) fn links(network: &Network) -> BTreeMap<LinkId, String> {
    let h1 = network.find_node("h1").unwrap();
    network.links_from(h1).iter().map(|&link| (link, format!("up{}", link.0))).collect()
}
