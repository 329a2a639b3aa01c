//! A Linux machine that forwards by itself: a script of `tc` that gives its ports their queues, and filters that choose them by codepoint.

use std::fmt::Write;

use wayleave_dataplane::class;
use wayleave_dataplane::net::PortQdisc;
use wayleave_units::count;

use crate::{ControlQueue, RenderError, Switch, Target};

/// The script of one switch. It can be run again: what waits in the queues is dropped then.
pub(crate) fn script(switch: &Switch) -> Result<String, RenderError> {
    let mut text =
        format!("#!/bin/sh\n# Queues of {}, by `wayleave export-config --for tc`. Run it as root.\n", switch.plan.name);
    for line in Target::Tc.assumptions(ControlQueue::BestEffort) {
        let _ = writeln!(text, "# Assumed: {line}");
    }
    text.push_str("set -eu\n");
    let interfaces: Vec<&str> =
        switch.plan.ports.iter().filter(|port| port.egress.is_some()).map(|port| port.interface.as_str()).collect();
    if !interfaces.is_empty() {
        let _ = write!(
            text,
            "\n# Nothing is changed unless every port exists.\nfor interface in {}; do\n    ip link show dev \"$interface\" >/dev/null || {{ echo \"no queues were changed\" >&2; exit 1; }}\ndone\n",
            interfaces.join(" ")
        );
    }
    for port in &switch.plan.ports {
        let Some(egress) = &port.egress else { continue };
        let interface = &port.interface;
        // Packets have no tags here, independent of the link's other end.
        let egress = PortQdisc { overhead: PortQdisc::overhead(false), ..egress.clone() };
        let lines = egress.rebuild(interface).map_err(|why| RenderError::Queues {
            switch: switch.plan.name.clone(),
            interface: interface.clone(),
            why: why.to_string(),
        })?;
        let _ = writeln!(text, "\n# {interface}: {} in {}", egress.rate, count(egress.queues.len(), "queue"));
        for line in lines {
            let _ = writeln!(text, "tc {line}");
        }
        let lowest = egress.queues.len().saturating_sub(1);
        // Packets without a filter use the lowest queue.
        for (dscp, queue) in switch.queues.iter().filter(|&(_, &queue)| usize::from(queue) < lowest) {
            let (major, minor) = (class::MAJOR, queue + 1);
            // The upper six bits of the field; the lower two are ECN (RFC 3168).
            let field = dscp << 2;
            for (protocol, order, selector) in [("ip", 1, "ip dsfield"), ("ipv6", 2, "ip6 priority")] {
                let _ = writeln!(
                    text,
                    "tc filter add dev {interface} parent {major}: protocol {protocol} prio {order} u32 match {selector} {field:#04x} 0xfc flowid {major}:{minor}"
                );
            }
        }
    }
    Ok(text)
}
