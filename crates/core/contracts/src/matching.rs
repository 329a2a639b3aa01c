//! Selection of the packets between its ends that a contract covers.

use std::fmt;
use std::net::IpAddr;
use std::num::NonZeroU16;
use std::str::FromStr;

/// A protocol above IP, by its number (IANA, "Protocol Numbers").
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Protocol(u8);

impl Protocol {
    /// ICMP.
    pub const ICMP: Self = Self(1);
    /// TCP.
    pub const TCP: Self = Self(6);
    /// UDP.
    pub const UDP: Self = Self(17);
    /// ICMP for IPv6.
    pub const ICMPV6: Self = Self(58);
    /// SCTP.
    pub const SCTP: Self = Self(132);

    /// Protocols that have a name in files.
    pub const NAMED: [(&'static str, Self); 5] =
        [("tcp", Self::TCP), ("udp", Self::UDP), ("icmp", Self::ICMP), ("icmpv6", Self::ICMPV6), ("sctp", Self::SCTP)];

    /// From its number.
    pub const fn new(number: u8) -> Self {
        Self(number)
    }

    /// Its number.
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Returns `true` if its packets begin with a source and a destination port.
    pub const fn has_ports(self) -> bool {
        matches!(self, Self::TCP | Self::UDP | Self::SCTP)
    }
}

impl fmt::Display for Protocol {
    /// The name that files have for it, or its number.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match Self::NAMED.into_iter().find(|(_, protocol)| protocol == self) {
            Some((name, _)) => f.write_str(name),
            None => self.0.fmt(f),
        }
    }
}

impl FromStr for Protocol {
    type Err = UnknownProtocol;

    fn from_str(text: &str) -> Result<Self, UnknownProtocol> {
        let named = Self::NAMED.into_iter().find(|(name, _)| *name == text).map(|(_, protocol)| protocol);
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        named.or_else(|| text.parse().ok().filter(|_| digits).map(Self)).ok_or(UnknownProtocol)
    }
}

/// A text that is neither the name of a protocol nor a number up to 255.
#[derive(thiserror::Error, Clone, Copy, Debug, PartialEq, Eq)]
#[error("a protocol is tcp, udp, icmp, icmpv6, sctp or a number from 0 to 255")]
pub struct UnknownProtocol;

/// Packets that a contract covers: those that match all given fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Match {
    /// The protocol above IP.
    pub protocol: Option<Protocol>,
    /// The sender's address.
    pub source_address: Option<IpAddr>,
    /// The sender's port.
    pub source_port: Option<NonZeroU16>,
    /// The receiver's address.
    pub destination_address: Option<IpAddr>,
    /// The receiver's port.
    pub destination_port: Option<NonZeroU16>,
}

/// Error of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MatchError {
    /// No field is given.
    Empty,
    /// A port, and no protocol that has ports.
    Port {
        /// `sourcePort` or `destinationPort`.
        field: &'static str,
        /// The protocol that was given.
        protocol: Option<Protocol>,
    },
    /// One address is IPv4 and the other IPv6.
    Families,
}

impl MatchError {
    /// The field of the match that it is about, if it is one.
    pub fn field(self) -> Option<&'static str> {
        match self {
            Self::Empty => None,
            Self::Port { field, .. } => Some(field),
            Self::Families => Some("destinationAddress"),
        }
    }
}

impl fmt::Display for MatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str(
                "the match is empty: give at least one of protocol, sourceAddress, sourcePort, destinationAddress \
                 and destinationPort, or leave it out for all packets",
            ),
            Self::Port { field, protocol: None } => {
                write!(f, "{field} needs a protocol that has ports: add protocol: tcp, udp or sctp")
            }
            Self::Port { field, protocol: Some(protocol) } => {
                write!(f, "{field} means nothing for protocol {protocol}: only tcp, udp and sctp have ports")
            }
            Self::Families => {
                f.write_str("one address is IPv4 and the other IPv6: no packet has both, so give both in one of them")
            }
        }
    }
}

impl std::error::Error for MatchError {}

impl Match {
    /// Checks that packets of this kind exist, and that a field is given.
    ///
    /// # Errors
    /// The first error.
    pub fn validate(self) -> Result<(), MatchError> {
        if self == Self::default() {
            return Err(MatchError::Empty);
        }
        let ports = [("sourcePort", self.source_port), ("destinationPort", self.destination_port)];
        if let Some((field, _)) = ports.into_iter().find(|(_, port)| port.is_some())
            && !self.protocol.is_some_and(Protocol::has_ports)
        {
            return Err(MatchError::Port { field, protocol: self.protocol });
        }
        match (self.source_address, self.destination_address) {
            (Some(source), Some(destination)) if source.is_ipv4() != destination.is_ipv4() => Err(MatchError::Families),
            _ => Ok(()),
        }
    }
}
