//! The address of a VM's interface.

use std::fmt;
use std::str::FromStr;

/// A unicast MAC address (IEEE 802, 48 bits) that is not all zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mac([u8; 6]);

impl Mac {
    /// Of these octets; `None` if they are of a group, or all zeros.
    pub fn new(octets: [u8; 6]) -> Option<Self> {
        let is_of_one = octets[0] & 1 == 0 && octets != [0; 6];
        is_of_one.then_some(Self(octets))
    }

    /// As they are sent.
    pub const fn octets(self) -> [u8; 6] {
        self.0
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// A text that is no address of one interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacError {
    /// It has not this form.
    Form,
    /// It is of a group: the lowest bit of its first octet is set.
    Group,
    /// It is all zeros.
    Zero,
}

impl fmt::Display for MacError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Form => "a MAC address is six octets in hexadecimal digits, such as 02:00:5e:10:00:01",
            Self::Group => "this is the address of a group (the lowest bit of its first octet is set): one of a single interface is expected, such as 02:00:5e:10:00:01",
            Self::Zero => "no interface has the address 00:00:00:00:00:00",
        })
    }
}

impl std::error::Error for MacError {}

impl FromStr for Mac {
    type Err = MacError;

    fn from_str(text: &str) -> Result<Self, MacError> {
        let mut octets = [0u8; 6];
        let mut parts = text.split(':');
        for octet in &mut octets {
            let part = parts.next().filter(|part| part.len() == 2 && part.bytes().all(|byte| byte.is_ascii_hexdigit()));
            *octet = part.and_then(|part| u8::from_str_radix(part, 16).ok()).ok_or(MacError::Form)?;
        }
        if parts.next().is_some() {
            return Err(MacError::Form);
        }
        let wrong = if octets == [0; 6] { MacError::Zero } else { MacError::Group };
        Self::new(octets).ok_or(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_as_it_is_written() {
        let mac: Result<Mac, _> = "02:0A:ff:00:01:9c".parse();
        assert_eq!(mac.map(|mac| mac.to_string()), Ok("02:0a:ff:00:01:9c".to_owned()));
    }

    #[test]
    fn what_no_interface_can_have_is_refused() {
        for wrong in
            ["", "02:00:5e:10:00", "02:00:5e:10:00:01:02", "2:0:5e:10:0:1", "02-00-5e-10-00-01", "0g:00:00:00:00:01"]
        {
            assert_eq!(wrong.parse::<Mac>(), Err(MacError::Form), "{wrong}");
        }
        assert_eq!("ff:ff:ff:ff:ff:ff".parse::<Mac>(), Err(MacError::Group));
        assert_eq!("01:00:5e:00:00:01".parse::<Mac>(), Err(MacError::Group));
        assert_eq!("00:00:00:00:00:00".parse::<Mac>(), Err(MacError::Zero));
    }
}
