//! Configurations of switches that are configured once, from the contracts that a plan has admitted: a script for
//! `tc`, or tables of SONiC's `config_db.json`.
//!
//! These switches have no agent and remove no tags. They choose a queue by the codepoint of a packet (DSCP, RFC
//! 2474), and a contract may use another queue at every switch: [`Codepoints`] finds numbers that mean the right
//! queue everywhere. Everything here is pure: the input is a network with routes, and the output is texts.

mod codepoints;
mod diff;
mod sonic;
mod switch;
mod tc;

pub use codepoints::{CodepointError, Codepoints, QueueCodepoints};
pub use diff::{ConfigDifference, PortDifference, changes, port_differences};
pub use switch::{ControlQueue, Interfaces, RenderError, Settings, Target};

use wayleave_topology::Network;
use wayleave_units::{Bytes, Rate};

use switch::Switch;

/// A port of a switch, as the topology has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedPort {
    /// The link that leaves it.
    pub link: String,
    /// Its interface.
    pub interface: String,
    /// Its rate.
    pub rate: Rate,
    /// Its largest packet.
    pub mtu: Bytes,
}

/// The configuration of one switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The switch.
    pub switch: String,
    /// Its configuration, as a file.
    pub text: String,
    /// Its ports.
    pub ports: Vec<RenderedPort>,
}

/// The configuration of every switch, in the order of the topology.
///
/// # Errors
/// If a switch has ports or queues that cannot be had there.
pub fn render(
    network: &Network,
    codepoints: &Codepoints,
    target: Target,
    settings: &Settings,
) -> Result<Vec<Rendered>, RenderError> {
    let render = |node| {
        let switch = Switch::of(network, codepoints, target, settings, node)?;
        let text = match target {
            Target::Tc => tc::script(&switch)?,
            Target::Sonic => sonic::tables(network, &switch, settings)?,
        };
        let ports = switch.plan.ports.iter().filter_map(|port| Some((network.link(port.link?), port)));
        let ports = ports.map(|(link, port)| RenderedPort {
            link: link.name.clone(),
            interface: port.interface.clone(),
            rate: link.rate,
            mtu: link.mtu,
        });
        Ok(Rendered { switch: switch.plan.name.clone(), text, ports: ports.collect() })
    };
    network.switches().map(render).collect()
}
