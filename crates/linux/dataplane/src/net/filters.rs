//! Filters and programs of other software at the interfaces of a node.
//!
//! Filters that run before Wayleave's programs, or choose among its queues, are removed. Programs that only see
//! packets beside them (TCX, and the egress hook before the queues) may be another user's measurement: they are
//! reported and left.

use std::io;

use aya::programs::{SchedClassifier, TcAttachType};

use super::netlink::{Netlink, number};
use crate::class::MAJOR;

/// include/uapi/linux/rtnetlink.h
const GET_FILTER: u16 = 46;
/// `TC_H_CLSACT` with `TC_H_MIN_INGRESS` and `TC_H_MIN_EGRESS` of include/uapi/linux/pkt_sched.h.
const INGRESS: u32 = 0xffff_fff2;
const EGRESS: u32 = 0xffff_fff3;
/// The disciplines with classes: of ports, and where packets wait for tokens.
const WITH_CLASSES: [u32; 2] = [(MAJOR as u32) << 16, 1 << 16];
/// Wayleave's programs: the first of all preferences, with this handle.
const OWN: (u16, u32) = (1, 1);

/// A filter of an interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Filter {
    parent: u32,
    preference: u16,
    handle: u32,
}

/// All filters of an interface of the namespace of this thread that count here.
pub(super) fn filters(kernel: &mut Netlink, ifindex: u32) -> io::Result<Vec<Filter>> {
    let mut all = Vec::new();
    for parent in [INGRESS, EGRESS].into_iter().chain(WITH_CLASSES) {
        let head: Vec<u8> = [0, ifindex, 0, parent, 0].into_iter().flat_map(u32::to_ne_bytes).collect();
        for body in kernel.list(GET_FILTER, &head)? {
            let (Some(of), Some(handle), Some(info)) = (number(&body, 4), number(&body, 8), number(&body, 16)) else {
                continue;
            };
            // The kernel also reports the list of a preference, with the handle 0.
            if of == ifindex && handle != 0 {
                // Above its preference there is nothing.
                all.push(Filter { parent, preference: (info >> 16) as u16, handle });
            }
        }
    }
    Ok(all)
}

/// Returns the conflicting filters: a sentence, and the line for `tc` that removes the filter.
pub(super) fn conflicting_filters(interface: &str, filters: &[Filter]) -> Vec<(String, String)> {
    let of = |filter: &Filter| match *filter {
        Filter { parent: INGRESS, preference, handle } if preference == OWN.0 && handle != OWN.1 => Some((
            format!("a foreign program was attached before that of {interface}"),
            format!("filter del dev {interface} ingress pref {preference} handle {handle:#x} protocol all bpf"),
        )),
        Filter { parent, preference, .. } if WITH_CLASSES.contains(&parent) => Some((
            format!("foreign filters selected the queues of {interface}"),
            format!("filter del dev {interface} parent {:x}: pref {preference}", parent >> 16),
        )),
        _ => None,
    };
    let mut found: Vec<_> = filters.iter().filter_map(of).collect();
    found.dedup();
    found
}

/// Returns a sentence for each other program that sees the packets of an interface in the namespace of this thread.
pub(super) fn beside(interface: &str, filters: &[Filter]) -> Vec<String> {
    let mut all = Vec::new();
    for (hook, name) in [(TcAttachType::Ingress, "ingress"), (TcAttachType::Egress, "egress")] {
        // Kernels before 6.6 have no TCX.
        let Ok((_, programs)) = SchedClassifier::query_tcx(interface, hook) else { continue };
        all.extend(programs.iter().map(|program| {
            let (id, what) = (program.id(), program.name_as_str().unwrap_or("without a name"));
            format!("foreign program {what} ({id}) is attached to the {name} of {interface} by TCX, before Wayleave's: `bpftool net` lists it")
        }));
    }
    let is_others = |filter: &&Filter| filter.parent == EGRESS && (filter.preference, filter.handle) != OWN;
    if filters.iter().any(|filter| is_others(&filter)) {
        all.push(format!(
            "a foreign filter is at the egress of {interface}, before its queues: `tc filter show dev {interface} egress` lists it"
        ));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_before_a_program_or_that_choose_queues_conflict() {
        let at = |parent, preference, handle| Filter { parent, preference, handle };
        let own = [at(INGRESS, 1, 1), at(INGRESS, 5, 7), at(EGRESS, 1, 1), at(EGRESS, 2, 1)];
        assert_eq!(conflicting_filters("p1", &own), []);
        let found =
            conflicting_filters("p1", &[at(INGRESS, 1, 2), at(0x2_0000, 49_152, 0x8000_0800), at(0x2_0000, 49_152, 1)]);
        let lines: Vec<&str> = found.iter().map(|(_, line)| line.as_str()).collect();
        assert_eq!(
            lines,
            ["filter del dev p1 ingress pref 1 handle 0x2 protocol all bpf", "filter del dev p1 parent 2: pref 49152"]
        );
    }
}
