//! Addresses permitted for an interface of a VM.

use std::fmt;

use wayleave_packet_format::Mac;

/// A text that is no address of one interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MacError {
    /// It has not the form of one.
    Form,
    /// It is of a group: the lowest bit of its first byte is set.
    Group,
    /// It is all zeros.
    Zero,
}

impl fmt::Display for MacError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Form => "an address is six bytes in hexadecimal digits, such as 02:00:5e:10:00:01",
            Self::Group => {
                "this is a multicast address (the lowest bit of its first byte is set): expected a unicast address, such as \
                 02:00:5e:10:00:01"
            }
            Self::Zero => "no interface has the address 00:00:00:00:00:00",
        })
    }
}

impl std::error::Error for MacError {}

/// Reads the address of an interface.
///
/// ```
/// use wayleave_contracts::{MacError, vm_mac};
/// assert_eq!(vm_mac("02:00:5E:10:00:01").map(|mac| mac.to_string()), Ok("02:00:5e:10:00:01".to_owned()));
/// assert_eq!(vm_mac("01:00:5e:00:00:01"), Err(MacError::Group));
/// assert_eq!(vm_mac("00:00:00:00:00:00"), Err(MacError::Zero));
/// assert_eq!(vm_mac("02-00-5e-10-00-01"), Err(MacError::Form));
/// ```
///
/// # Errors
/// If no interface can have it.
pub fn vm_mac(text: &str) -> Result<Mac, MacError> {
    let mac: Mac = text.parse().map_err(|_| MacError::Form)?;
    if mac.is_multicast() {
        Err(MacError::Group)
    } else if mac == Mac::default() {
        Err(MacError::Zero)
    } else {
        Ok(mac)
    }
}
