//! The frames that probes of a check are.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use wayleave_contracts::{Match, Protocol};
use wayleave_packet_format::Mac;

/// Length of a probe's payload: the number of its check, its own number, and zeros.
const PAYLOAD: usize = 48;
/// Default destination port of probes: that of echo (RFC 862), which is not answered on the addresses below.
const PORT: u16 = 7;
/// Addresses for documentation (RFC 5737, RFC 3849): no VM has them, so what arrives ends in the VM's kernel without an answer.
const V4: [Ipv4Addr; 2] = [Ipv4Addr::new(192, 0, 2, 1), Ipv4Addr::new(192, 0, 2, 2)];
const V6: [Ipv6Addr; 2] =
    [Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 2)];
const TTL: u8 = 64;

/// Common properties of the probes of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The number of the check.
    pub mark: [u8; 8],
    /// Both ends.
    pub macs: [Mac; 2],
    /// The VLAN whose tag the sender's frames have on its interface.
    pub vlan: Option<u16>,
    /// Header fields of the probes.
    pub matching: Match,
}

impl Template {
    /// The probe of this number, from its destination address on, as its sender would send it.
    pub fn frame(&self, number: u32) -> Vec<u8> {
        let Match { protocol, source_address, source_port, destination_address, destination_port } = self.matching;
        let port = |port: Option<std::num::NonZeroU16>| port.map_or(PORT, std::num::NonZeroU16::get).to_be_bytes();
        let (from, to) = (port(source_port), port(destination_port));
        let protocol = protocol.unwrap_or(Protocol::UDP);
        let mut data = match protocol {
            // Without a checksum, which IPv4 allows; over IPv6 the receiver's kernel drops it, as it does any other.
            Protocol::UDP => [from, to, (8 + PAYLOAD as u16).to_be_bytes(), [0; 2]].concat(),
            // An acknowledgement of nothing.
            Protocol::TCP => [&from, &to, &[0; 8][..], &[0x50, 0x10], &[0; 6]].concat(),
            Protocol::SCTP => [&from, &to, &[0; 8][..]].concat(),
            // Echo replies without a request.
            Protocol::ICMP => vec![0; 8],
            Protocol::ICMPV6 => [&[129_u8][..], &[0; 7]].concat(),
            _ => Vec::new(),
        };
        data.extend(self.mark);
        data.extend(number.to_be_bytes());
        data.resize(data.len() + PAYLOAD - 12, 0);
        let [sender, receiver] = self.macs;
        let mut frame = [receiver.bytes(), sender.bytes()].concat();
        if let Some(vlan) = self.vlan {
            frame.extend([0x8100_u16.to_be_bytes(), vlan.to_be_bytes()].concat());
        }
        let of_six = [source_address, destination_address].into_iter().flatten().any(|one| one.is_ipv6());
        if of_six || protocol == Protocol::ICMPV6 {
            frame.extend([0x86, 0xdd, 0x60, 0, 0, 0]);
            frame.extend((data.len() as u16).to_be_bytes());
            frame.extend([protocol.number(), TTL]);
            for (given, other) in [source_address, destination_address].into_iter().zip(V6) {
                let IpAddr::V6(address) = given.unwrap_or(other.into()) else { continue };
                frame.extend(address.octets());
            }
        } else {
            let mut head = vec![0x45, 0];
            head.extend((20 + data.len() as u16).to_be_bytes());
            head.extend([0, 0, 0x40, 0, TTL, protocol.number(), 0, 0]);
            for (given, other) in [source_address, destination_address].into_iter().zip(V4) {
                let IpAddr::V4(address) = given.unwrap_or(other.into()) else { continue };
                head.extend(address.octets());
            }
            let sum = checksum(&head).to_be_bytes();
            head.splice(10..12, sum);
            frame.extend([8, 0]);
            frame.extend(head);
        }
        frame.extend(data);
        frame
    }

    /// The number of a probe of this check, if a frame is one, with tags or without.
    pub fn number_in(mark: [u8; 8], frame: &[u8]) -> Option<u32> {
        let at = frame.windows(mark.len()).position(|window| window == mark)? + mark.len();
        Some(u32::from_be_bytes(frame.get(at..at + 4)?.try_into().ok()?))
    }
}

/// Of a header of IPv4 (RFC 1071).
fn checksum(head: &[u8]) -> u16 {
    let sum: u32 = head.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(*two.get(1).unwrap_or(&0))).sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests assert by panicking")]

    use super::*;
    use std::num::NonZeroU16;
    use wayleave_packet_format::ParsedFrame;

    fn template(matching: Match) -> Template {
        let mac = |last| Mac::new([2, 0, 0, 0, 0, last]);
        Template { mark: *b"\x01abcdefg", macs: [mac(1), mac(2)], vlan: None, matching }
    }

    #[test]
    fn a_probe_has_the_fields_that_its_contract_matches() {
        let one = |address: &str| Some(address.parse().unwrap());
        let port = NonZeroU16::new(443);
        for (protocol, number) in [(None, 17), (Some(Protocol::TCP), 6), (Some(Protocol::SCTP), 132)] {
            for (from, to) in [("10.0.0.1", "10.0.0.2"), ("fd00::1", "fd00::2")] {
                let matching = Match {
                    protocol,
                    source_address: one(from),
                    destination_address: one(to),
                    destination_port: port,
                    ..Match::default()
                };
                let frame = template(matching).frame(258);
                let ip = ParsedFrame::parse(&frame).unwrap().ip.unwrap();
                assert_eq!(
                    (ip.protocol, ip.source.to_string(), ip.destination.to_string()),
                    (number, from.into(), to.into())
                );
                assert_eq!(ip.ports.map(|ports| (ports.source, ports.destination)), Some((PORT, 443)));
                assert_eq!(Template::number_in(*b"\x01abcdefg", &frame), Some(258));
                assert_eq!(Template::number_in(*b"\x01abcdefh", &frame), None, "of another check");
            }
        }
    }

    #[test]
    fn a_header_with_its_checksum_sums_to_zero() {
        let frame = template(Match::default()).frame(0);
        assert_eq!(checksum(&frame[14..34]), 0);
        assert_eq!(frame.len(), 14 + 20 + 8 + PAYLOAD);
    }
}
