//! Contracts of tests: packets from one endpoint to another one's port, on the shortest route.

use wayleave_dataplane::host::{HostRule, Sender};
use wayleave_lab::{Hosts, Lab, host_path, shortest};
use wayleave_packet_format::{BucketDemand, Mac, PacketSelector};
use wayleave_units::{Bytes, Rate, Time};

/// Port at which the receivers of contracts listen.
pub(crate) const CONTRACT_PORT: u16 = 7000;

/// Returns the packets of a contract that its sender's host dropped, because they exceeded its bucket. Senders wait
/// for their bucket, but where a processor is busy (floods on this host, a machine that stalls), the kernel hands
/// packets to the host's program later than it took them, and closer together.
pub(crate) fn shaped(hosts: &Hosts, serial: u64) -> u64 {
    hosts.shaped().unwrap()[&serial]
}

/// Lets packets of contracts from one endpoint to another one's port use the highest queue of the shortest route.
pub(crate) fn promise(
    hosts: &mut Hosts,
    lab: &Lab,
    ends: [&str; 2],
    serial: u64,
    (rate, burst, bound): (Rate, Bytes, Time),
) {
    let [from, to] = ends.map(|id| lab.plan().endpoint(id).unwrap());
    let destination = Some(Mac::new(to.mac));
    let selector = PacketSelector {
        destination,
        protocol: Some(17),
        destination_port: Some(CONTRACT_PORT),
        ..PacketSelector::default()
    };
    let rule = HostRule {
        senders: vec![Sender { ifindex: from.outside.ifindex, selector }],
        demand: BucketDemand { rate, burst, max_frame: None },
        paths: vec![host_path(lab, &shortest(lab, from.host, to.host).unwrap()).unwrap()],
        bound,
    };
    hosts.install(from.host, serial, &rule).unwrap();
}
