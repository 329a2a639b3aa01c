//! Virtual links, and the operations on interfaces that the data plane needs.

use std::path::Path;

use wayleave_units::Bytes;

use super::batch::{ToolBatch, output};
use super::error::NetError;
use super::namespace::Namespace;

/// Space for tags beyond the packets of tenants: seven of 4 B. Devices let one tag pass without it, a stack needs it.
pub const VLAN_ROOM: u32 = 28;

/// One end of a virtual link.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VethEnd {
    /// The name of its namespace.
    pub namespace: String,
    /// Its name there.
    pub interface: String,
    /// Its index, which is the same at every start.
    pub ifindex: u32,
    /// Its address; chosen by the kernel if none is given.
    pub mac: Option<[u8; 6]>,
    /// The largest packet.
    pub mtu: u32,
}

impl VethEnd {
    fn arguments(&self) -> String {
        let Self { namespace, interface, ifindex, mtu, .. } = self;
        let address = self.mac.map(|mac| format!(" address {}", mac_text(mac))).unwrap_or_default();
        format!("name {interface} index {ifindex} mtu {mtu}{address} numtxqueues 1 numrxqueues 1 netns {namespace}")
    }
}

fn mac_text(mac: [u8; 6]) -> String {
    mac.map(|byte| format!("{byte:02x}")).join(":")
}

/// The line for `ip` that makes a virtual link between two namespaces.
///
/// # Errors
/// If a name cannot be that of an interface.
pub fn create_veth(a: &VethEnd, b: &VethEnd) -> Result<String, NetError> {
    check_interface(&a.interface)?;
    check_interface(&b.interface)?;
    Ok(format!("link add {} type veth peer {}", a.arguments(), b.arguments()))
}

/// Checks that Linux accepts a name for an interface, and that a line of `ip` or `tc` takes it for one word.
///
/// # Errors
/// If it is invalid.
pub fn check_interface(name: &str) -> Result<(), NetError> {
    let fine = |c: char| c.is_ascii_graphic() && !matches!(c, '/' | ':' | '"' | '\'' | '\\' | '#');
    if name.is_empty()
        || name.len() > 15
        || matches!(name, "." | "..")
        || name.starts_with('-')
        || !name.chars().all(fine)
    {
        let expected = "1 to 15 printable characters without / : # and quotes";
        return Err(NetError::Name { what: "an interface", name: name.to_owned(), expected });
    }
    Ok(())
}

/// Makes an interface send and receive packets as they are on the wire: no packet larger than a frame, nothing
/// merged. A larger packet could neither be shaped nor delayed as a frame is.
///
/// # Errors
/// If `ethtool` fails.
pub fn plain_packets(namespace: &Namespace, interface: &str) -> Result<(), NetError> {
    check_interface(interface)?;
    output(namespace, "ethtool", &["-K", interface, "gro", "off", "gso", "off", "tso", "off"]).map(drop)
}

/// The largest packet that an interface sends.
///
/// # Errors
/// If it is not there.
pub fn mtu(namespace: &Namespace, interface: &str) -> Result<Bytes, NetError> {
    check_interface(interface)?;
    let text = output(namespace, "ip", &["-o", "link", "show", "dev", interface])?;
    let value = text.split_once(" mtu ").and_then(|(_, rest)| rest.split(' ').next()?.parse().ok());
    let why = || "it has no MTU".to_owned();
    value
        .map(Bytes::new)
        .ok_or_else(|| NetError::Output { command: format!("ip -o link show dev {interface}"), why: why() })
}

/// The line for `ip` that attaches a pinned XDP program which lets everything pass. With one a virtual link polls for packets (NAPI), so
/// that packets from two processors keep their order. Attaching it turns merging on: [`plain_packets`] comes after it.
pub fn attach_pass(interface: &str, program: &Path) -> String {
    format!("link set dev {interface} xdpdrv pinned {}", program.display())
}

/// Returns the lines for `tc` that attach a pinned classifier to the ingress of an interface, in place of another. It
/// stays when its owner ends.
pub fn attach_ingress(interface: &str, program: &Path) -> [String; 2] {
    [
        format!("qdisc replace dev {interface} clsact"),
        format!(
            "filter replace dev {interface} ingress pref 1 handle 1 protocol all bpf direct-action object-pinned {}",
            program.display()
        ),
    ]
}

/// Returns the lines for `tc` that attach a pinned classifier to the egress of an interface, before its queues.
pub fn attach_egress(interface: &str, program: &Path) -> [String; 2] {
    attach_ingress(interface, program).map(|line| line.replace(" ingress ", " egress "))
}

/// Keeps the kernel from sending packets of its own by an interface: IPv6 with its neighbours and routers.
///
/// # Errors
/// If the setting cannot be written.
pub(crate) fn disable_ipv6(namespace: &Namespace, interface: &str) -> Result<(), NetError> {
    let path = format!("/proc/sys/net/ipv6/conf/{interface}/disable_ipv6");
    namespace
        .run(|| if Path::new(&path).exists() { std::fs::write(&path, "1") } else { Ok(()) })?
        .map_err(|error| NetError::io(format!("cannot turn off IPv6 in {} ({path})", namespace.place()), error))
}

/// Turns off what would send packets on its own in a namespace that was just made: IPv6 with its neighbours and routers.
///
/// # Errors
/// If the setting cannot be written.
pub(crate) fn disable_autoconfiguration(namespace: &Namespace) -> Result<(), NetError> {
    ["all", "default"].iter().try_for_each(|which| disable_ipv6(namespace, which))
}

impl Namespace {
    /// Turns off what would send packets on its own: IPv6. To be called before it has interfaces.
    ///
    /// # Errors
    /// If the setting cannot be written.
    pub fn silence(&self) -> Result<(), NetError> {
        disable_autoconfiguration(self)
    }

    /// Sets interfaces up.
    ///
    /// # Errors
    /// If there is no such interface.
    pub fn set_up<'a>(&self, interfaces: impl IntoIterator<Item = &'a str>) -> Result<(), NetError> {
        let mut batch = ToolBatch::ip();
        for interface in interfaces {
            check_interface(interface)?;
            batch.line(format_args!("link set dev {interface} up"));
        }
        batch.run(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(interface: &str) -> VethEnd {
        VethEnd {
            namespace: "ns".to_owned(),
            interface: interface.to_owned(),
            ifindex: 7,
            mac: Some([2, 0, 0, 0, 0, 10]),
            mtu: 1528,
        }
    }

    #[test]
    fn a_link_is_created_in_both_namespaces_at_once() {
        let line = create_veth(&end("p1"), &VethEnd { mac: None, ..end("p2") }).unwrap();
        let queues = "numtxqueues 1 numrxqueues 1 netns ns";
        let expected = format!(
            "link add name p1 index 7 mtu 1528 address 02:00:00:00:00:0a {queues} type veth peer name p2 index 7 mtu 1528 {queues}"
        );
        assert_eq!(line, expected);
    }

    #[test]
    fn a_name_with_more_than_one_word_is_refused() {
        for name in ["", "a b", "p1\nlink", "a/b", "x\"", "-K", "sixteen-letters!", "."] {
            assert!(create_veth(&end("p1"), &end(name)).is_err(), "{name:?}");
        }
    }
}
