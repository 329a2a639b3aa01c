//! Addresses of interfaces without a declared address. Those of hosts follow from their names, those of VMs from
//! names and a secret of the ledger.
//!
//! A tenant that could compute the address of another tenant's VM could request that address, and learn from the
//! refusal that the VM exists.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use wayleave_packet_format::{Mac, mac_of};
use wayleave_protocol::Id;

/// Bytes of a secret.
const LENGTH: usize = 16;
/// First byte of addresses that are administered locally and name one station.
const LOCAL: u8 = 2;

/// A secret of a ledger, with which addresses of VMs are derived from their names. It is in the record of the controller, so that backups and other
/// controllers of a cluster have it as well.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct VmSecret([u8; LENGTH]);

impl VmSecret {
    pub(crate) fn new(bytes: [u8; LENGTH]) -> Self {
        Self(bytes)
    }
}

impl std::fmt::Debug for VmSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("VmSecret")
    }
}

impl From<VmSecret> for String {
    fn from(secret: VmSecret) -> Self {
        secret.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl TryFrom<String> for VmSecret {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let expected = "expected 32 hexadecimal digits";
        let digits = text.as_bytes();
        if digits.len() != 2 * LENGTH || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(expected);
        }
        let mut bytes = [0; LENGTH];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| expected)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| expected)?;
        }
        Ok(Self(bytes))
    }
}

/// Address of a VM that was created before its ledger had a secret, and whose record does not have it.
pub(crate) fn of_old(id: &Id) -> Mac {
    mac_of(&id.to_string())
}

/// Addresses of a VM in the order in which they are tried: others may have the first ones.
pub(crate) fn all_of(id: &Id, secret: Option<VmSecret>) -> impl Iterator<Item = Mac> {
    (0_u32..).map(move |number| match (secret, number) {
        (Some(secret), number) => keyed(secret, number, id),
        (None, 0) => of_old(id),
        // No name has this sign.
        (None, number) => mac_of(&format!("{id}#{number}")),
    })
}

fn keyed(VmSecret(secret): VmSecret, number: u32, id: &Id) -> Mac {
    let hash = Sha256::new().chain_update(secret).chain_update(number.to_be_bytes()).chain_update(id.to_string());
    let [a, b, c, d, e, ..] = <[u8; 32]>::from(hash.finalize());
    Mac::new([LOCAL, a, b, c, d, e])
}

/// Address of a host's own interface.
pub(crate) fn of_host(name: &str) -> Mac {
    mac_of(&format!("host:{name}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_depend_on_the_secret_the_name_and_the_number_and_on_nothing_else() {
        let (id, other) = (Id::new("acme", "web"), Id::new("acme", "db"));
        let first = |secret: u8, id: &Id| all_of(id, Some(VmSecret::new([secret; LENGTH]))).take(3).collect::<Vec<_>>();
        assert_eq!(first(1, &id), first(1, &id));
        let all: std::collections::BTreeSet<Mac> =
            [first(1, &id), first(2, &id), first(1, &other)].into_iter().flatten().collect();
        assert_eq!(all.len(), 9);
        assert!(all.iter().all(|mac| mac.bytes()[0] == LOCAL));
        assert_eq!(all_of(&id, None).next(), Some(mac_of("acme:web")));
        assert!(!all.contains(&mac_of("acme:web")));
        // These addresses are in ledgers: another version must derive equal ones.
        assert_eq!(first(1, &id)[0].to_string(), "02:6b:4c:25:fc:c3");
    }

    #[test]
    fn a_secret_is_read_as_it_was_written() {
        let secret = VmSecret::new(std::array::from_fn(|at| 17 * at as u8));
        let text = String::from(secret);
        assert_eq!(VmSecret::try_from(text.clone()), Ok(secret));
        for wrong in ["", &text[1..], &format!("{text}0"), &text.replace("11", "+1"), &text.replace("11", "\u{e4}")] {
            assert!(VmSecret::try_from((*wrong).to_owned()).is_err(), "{wrong}");
        }
        assert!(!format!("{secret:?}").contains("11"));
    }
}
