//! Addresses of Ethernet, and the default addresses of VMs.

use core::fmt;
use core::str::FromStr;

/// An address of Ethernet.
///
/// ```
/// use wayleave_packet_format::Mac;
/// let mac: Mac = "02:00:00:00:0a:01".parse()?;
/// assert_eq!(mac, Mac::new([2, 0, 0, 0, 10, 1]));
/// assert_eq!(mac.to_string(), "02:00:00:00:0a:01");
/// # Ok::<(), wayleave_packet_format::ParseMacError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac([u8; 6]);

impl Mac {
    /// From its bytes.
    pub const fn new(bytes: [u8; 6]) -> Self {
        Self(bytes)
    }

    /// Its bytes.
    pub const fn bytes(self) -> [u8; 6] {
        self.0
    }

    /// Returns `true` if it is the address of a group of stations, or of all.
    pub const fn is_multicast(self) -> bool {
        self.0[0] & 1 != 0
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// A text that is no address.
#[derive(thiserror::Error, Clone, Copy, Debug, PartialEq, Eq)]
#[error("an Ethernet address is six bytes in hexadecimal, such as 02:00:00:00:0a:01")]
pub struct ParseMacError;

impl FromStr for Mac {
    type Err = ParseMacError;

    fn from_str(text: &str) -> Result<Self, ParseMacError> {
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part =
                parts.next().filter(|part| part.len() == 2 && part.bytes().all(|digit| digit.is_ascii_hexdigit()));
            *byte = u8::from_str_radix(part.ok_or(ParseMacError)?, 16).map_err(|_| ParseMacError)?;
        }
        if parts.next().is_some() { Err(ParseMacError) } else { Ok(Self(bytes)) }
    }
}

/// Address that follows from a name: of a host's own interface (`host:name`), of an endpoint of a lab, of a VM (`tenant:name`) of a ledger without
/// a secret. 02 (locally administered, one station), then 40 bits of a hash of the name: FNV-1a of 64 bits (Fowler, Noll, Vo), folded to 40.
///
/// Of 10,000 VMs two share an address with a probability of 0.005 %; then one of them has to declare another one.
pub fn mac_of(id: &str) -> Mac {
    let mut hash = 0xCBF2_9CE4_8422_2325_u64;
    for byte in id.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    }
    let [_, _, _, bytes @ ..] = ((hash >> 40) ^ hash).to_be_bytes();
    let [a, b, c, d, e] = bytes;
    Mac([2, a, b, c, d, e])
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn addresses_of_vms_do_not_change_between_versions() {
        assert_eq!(mac_of("acme:web").to_string(), "02:0e:dc:2c:fc:37");
        assert_eq!(mac_of("").to_string(), "02:e4:84:e9:d1:b9");
        assert!(!mac_of("host:h1").is_multicast());
    }

    #[test]
    fn an_invalid_address_is_refused() {
        for text in [
            "",
            "02",
            "02:00:00:00:00",
            "02:00:00:00:00:00:00",
            "2:0:0:0:0:0",
            "02:00:00:00:00:+1",
            "02-00-00-00-00-00",
        ] {
            assert_eq!(text.parse::<Mac>(), Err(ParseMacError), "{text}");
        }
    }
}
