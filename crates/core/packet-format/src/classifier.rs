//! Contract of a packet: the five-tuple matching of Chameleon (CoNEXT 2020), section 4.2.2, with wildcards.

use alloc::vec::Vec;
use core::net::IpAddr;

use crate::frame::{Family, ParsedFrame};
use crate::mac::Mac;

/// Packets that agree with everything that is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PacketSelector {
    /// The receiver's Ethernet address.
    pub destination: Option<Mac>,
    /// The protocol above IP.
    pub protocol: Option<u8>,
    /// The sender's IP address.
    pub source_address: Option<IpAddr>,
    /// The sender's port.
    pub source_port: Option<u16>,
    /// The receiver's IP address.
    pub destination_address: Option<IpAddr>,
    /// The receiver's port.
    pub destination_port: Option<u16>,
}

impl PacketSelector {
    /// Returns the number of given fields.
    pub fn fields(&self) -> usize {
        usize::from(self.destination.is_some())
            + usize::from(self.protocol.is_some())
            + usize::from(self.source_address.is_some())
            + usize::from(self.source_port.is_some())
            + usize::from(self.destination_address.is_some())
            + usize::from(self.destination_port.is_some())
    }

    /// Returns `true` if a packet matches.
    pub fn matches(&self, packet: &ParsedFrame) -> bool {
        let ip = packet.ip.as_ref();
        let ports = ip.and_then(|ip| ip.ports);
        agrees(self.destination, Some(packet.destination))
            && agrees(self.protocol, ip.map(|ip: &Family| ip.protocol))
            && agrees(self.source_address, ip.map(|ip| ip.source))
            && agrees(self.destination_address, ip.map(|ip| ip.destination))
            && agrees(self.source_port, ports.map(|ports| ports.source))
            && agrees(self.destination_port, ports.map(|ports| ports.destination))
    }
}

/// Returns `true` if a packet with this field, or without one, matches the requested value.
fn agrees<T: PartialEq>(asked: Option<T>, has: Option<T>) -> bool {
    asked.is_none_or(|asked| has == Some(asked))
}

/// The contracts of one endpoint.
///
/// ```
/// use wayleave_packet_format::{Classifier, Mac, ParsedFrame, PacketSelector};
/// let peer = Mac::new([2, 0, 0, 0, 0, 1]);
/// let mut classifier = Classifier::default();
/// classifier.add(7, PacketSelector { destination: Some(peer), ..PacketSelector::default() });
/// let packet = ParsedFrame { destination: peer, source: Mac::default(), ip: None };
/// assert_eq!(classifier.classify(&packet), Some(7));
/// assert_eq!(classifier.classify(&ParsedFrame { destination: Mac::default(), ..packet }), None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Classifier {
    contracts: Vec<(u64, PacketSelector)>,
}

impl Classifier {
    /// From now on packets of this kind belong to this contract. A contract can have several kinds.
    pub fn add(&mut self, serial: u64, selector: PacketSelector) {
        self.contracts.push((serial, selector));
    }

    /// From now on no packets belong to this contract.
    pub fn remove(&mut self, serial: u64) {
        self.contracts.retain(|&(other, _)| other != serial);
    }

    /// The contract of a packet. Of several the one with the most fields counts; of these the one with the lowest serial number.
    pub fn classify(&self, packet: &ParsedFrame) -> Option<u64> {
        let matching = self.contracts.iter().filter(|(_, selector)| selector.matches(packet));
        let best = matching.min_by_key(|(serial, selector)| (core::cmp::Reverse(selector.fields()), *serial));
        best.map(|&(serial, _)| serial)
    }
}

#[cfg(test)]
mod tests {
    use core::net::Ipv4Addr;

    use super::*;
    use crate::frame::Ports;

    fn packet(port: u16) -> ParsedFrame {
        let ports = Some(Ports { source: 1000, destination: port });
        let [source, destination] = [1, 2].map(|last| IpAddr::V4(Ipv4Addr::new(10, 0, 0, last)));
        let ip = Some(Family { source, destination, protocol: 6, ports });
        ParsedFrame { destination: Mac::new([2, 0, 0, 0, 0, 2]), source: Mac::new([2, 0, 0, 0, 0, 1]), ip }
    }

    #[test]
    fn the_most_fields_win_and_then_the_lowest_serial() {
        let to_80 = PacketSelector { protocol: Some(6), destination_port: Some(80), ..PacketSelector::default() };
        let tcp = PacketSelector { protocol: Some(6), ..PacketSelector::default() };
        let from_here =
            PacketSelector { source_address: packet(0).ip.map(|ip| ip.source), ..PacketSelector::default() };
        let mut classifier = Classifier::default();
        for (serial, selector) in [(1, PacketSelector::default()), (3, from_here), (2, tcp), (9, to_80)] {
            classifier.add(serial, selector);
        }
        assert_eq!(classifier.classify(&packet(80)), Some(9));
        assert_eq!(classifier.classify(&packet(81)), Some(2));
        assert_eq!(classifier.classify(&ParsedFrame { ip: None, ..packet(80) }), Some(1));
        classifier.remove(2);
        assert_eq!(classifier.classify(&packet(81)), Some(3));
    }

    #[test]
    fn absent_fields_of_a_packet_match_nothing() {
        let zero = PacketSelector { protocol: Some(0), ..PacketSelector::default() };
        assert!(!zero.matches(&ParsedFrame { ip: None, ..packet(1) }));
        let mut fragment = packet(80);
        fragment.ip.as_mut().unwrap().ports = None;
        assert!(!PacketSelector { source_port: Some(0), ..PacketSelector::default() }.matches(&fragment));
    }
}
