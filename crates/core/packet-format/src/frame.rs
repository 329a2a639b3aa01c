//! Parser of frames: source, destination, and the five-tuple. The eBPF programs have an equivalent parser
//! (crates/linux/dataplane/bpf/parse.h).

use core::fmt;
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::mac::Mac;
use crate::tag::is_tag_type;

const IPV4: u16 = 0x0800;
const IPV6: u16 = 0x86DD;
/// TCP, UDP, SCTP: their packets begin with two ports.
const WITH_PORTS: [u8; 3] = [6, 17, 132];
/// Extension headers of IPv6 (RFC 8200, section 4) that are walked through.
const FRAGMENT: u8 = 44;
const AUTHENTICATION: u8 = 51;
const EXTENSIONS: [u8; 5] = [0, 43, FRAGMENT, AUTHENTICATION, 60];
/// Maximum number of extension headers; more have no legitimate use.
const MAX_EXTENSIONS: usize = 8;

/// Parsed fields of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ParsedFrame {
    /// The receiver's address.
    pub destination: Mac,
    /// The sender's address.
    pub source: Mac,
    /// Fields of IP; `None` for another protocol.
    pub ip: Option<Family>,
}

/// The IP header of a packet, of either version.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Family {
    /// The sender.
    pub source: IpAddr,
    /// The receiver, of the same version.
    pub destination: IpAddr,
    /// The protocol above IP.
    pub protocol: u8,
    /// Ports, of protocols that have them. No part of a fragmented packet has ports, not even the first one: all
    /// parts take one route.
    pub ports: Option<Ports>,
}

/// Ports of TCP, UDP or SCTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ports {
    /// The sender's.
    pub source: u16,
    /// The receiver's.
    pub destination: u16,
}

/// Reason that a frame is not forwarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseError {
    /// It has a VLAN tag, which only the host may give it.
    Tagged,
    /// It is shorter than its headers state, or its headers are invalid.
    Malformed,
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tagged => "the frame has a VLAN tag",
            Self::Malformed => "the frame is malformed",
        })
    }
}

impl core::error::Error for ParseError {}

impl ParsedFrame {
    /// Takes a frame (from its destination address on, without check sequence) apart.
    ///
    /// Padding behind an IP packet is fine. Checksums are not verified: a packet with a wrong one is dropped where it arrives, and
    /// costs its sender what it costs.
    ///
    /// # Errors
    /// If it has a tag, or is malformed.
    pub fn parse(frame: &[u8]) -> Result<Self, ParseError> {
        let (header, rest) = frame.split_first_chunk::<14>().ok_or(ParseError::Malformed)?;
        let [d0, d1, d2, d3, d4, d5, s0, s1, s2, s3, s4, s5, type0, type1] = *header;
        let ether_type = u16::from_be_bytes([type0, type1]);
        if is_tag_type(ether_type) {
            return Err(ParseError::Tagged);
        }
        let ip = match ether_type {
            IPV4 => Some(ipv4(rest).ok_or(ParseError::Malformed)?),
            IPV6 => Some(ipv6(rest).ok_or(ParseError::Malformed)?),
            _ => None,
        };
        Ok(Self { destination: Mac::new([d0, d1, d2, d3, d4, d5]), source: Mac::new([s0, s1, s2, s3, s4, s5]), ip })
    }
}

fn ipv4(payload: &[u8]) -> Option<Family> {
    let header = payload.first_chunk::<20>()?;
    let (version, header_length) = (header[0] >> 4, 4 * usize::from(header[0] & 15));
    let total = usize::from(u16::from_be_bytes([header[2], header[3]]));
    if version != 4 || header_length < 20 || total < header_length {
        return None;
    }
    let data = payload.get(..total)?.get(header_length..)?;
    let [.., s0, s1, s2, s3, d0, d1, d2, d3] = *header;
    let protocol = header[9];
    // More fragments, or an offset.
    let is_fragment = header[6] & 0x3F != 0 || header[7] != 0;
    Some(Family {
        source: IpAddr::V4(Ipv4Addr::new(s0, s1, s2, s3)),
        destination: IpAddr::V4(Ipv4Addr::new(d0, d1, d2, d3)),
        protocol,
        ports: if is_fragment { None } else { ports(protocol, data)? },
    })
}

fn ipv6(payload: &[u8]) -> Option<Family> {
    let (header, rest) = payload.split_first_chunk::<40>()?;
    let length = usize::from(u16::from_be_bytes([header[4], header[5]]));
    if header[0] >> 4 != 6 {
        return None;
    }
    let mut data = rest.get(..length)?;
    let (source, destination) = (header[8..24].first_chunk::<16>()?, header[24..].first_chunk::<16>()?);
    let family = |protocol, ports| Family {
        source: IpAddr::V6(Ipv6Addr::from(*source)),
        destination: IpAddr::V6(Ipv6Addr::from(*destination)),
        protocol,
        ports,
    };
    let mut next = header[6];
    for _ in 0..MAX_EXTENSIONS {
        if !EXTENSIONS.contains(&next) {
            return Some(family(next, ports(next, data)?));
        }
        let extension = data.first_chunk::<8>()?;
        if next == FRAGMENT {
            return Some(family(extension[0], None));
        }
        let units = usize::from(extension[1]);
        let length = if next == AUTHENTICATION { 4 * (units + 2) } else { 8 * (units + 1) };
        data = data.get(length..)?;
        next = extension[0];
    }
    None
}

/// `None` if the protocol has ports, and the packet ends before them.
fn ports(protocol: u8, data: &[u8]) -> Option<Option<Ports>> {
    if !WITH_PORTS.contains(&protocol) {
        return Some(None);
    }
    let &[s0, s1, d0, d1] = data.first_chunk()?;
    Some(Some(Ports { source: u16::from_be_bytes([s0, s1]), destination: u16::from_be_bytes([d0, d1]) }))
}

#[cfg(test)]
mod tests;
