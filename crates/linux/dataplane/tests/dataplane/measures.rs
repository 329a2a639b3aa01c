//! Measurements of the data plane itself, with few packets: they need root.

use wayleave_dataplane::measure::{HostCrossingTime, Tagging, cross, tag};

fn require_root() {
    if !nix::unistd::geteuid().is_root() {
        wayleave_repo_checks::leave_out("root", "it makes interfaces and loads eBPF programs");
    }
}

pub(crate) fn packets_cross_every_host() {
    require_root();
    let HostCrossingTime { plain, htb, wayleave, shared } = cross(3).unwrap();
    assert!(plain > 0.0 && htb > 0.0 && wayleave > 0.0 && shared > 0.0);
}

/// The kernel takes the program that is repeated, which no other test loads.
pub(crate) fn packets_are_tagged_repeatedly() {
    require_root();
    for tags in [2, 6] {
        let what = Tagging { tags, packet: 776, flows: 1, batch: 1 };
        assert!(tag(what, 3).unwrap().is_finite());
    }
}
