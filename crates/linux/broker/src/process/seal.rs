//! Authentication of messages between brokers with a common key. Without the key, messages can neither be forged nor
//! replayed.
//!
//! ```text
//! "WLS1" (4 B)  number of the sender (4 B)  number of the message (8 B)  message  HMAC-SHA-256, first 16 B (RFC 2104, RFC 4868)
//! ```
//!
//! The receiver's number is signed but not sent: a message to one broker is invalid for another. Numbers of messages
//! increase and are times. A receiver accepts no number twice, and none that differs from its own calendar by more
//! than [`SKEW`]. So messages that were recorded before it began are rejected, too.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Mutex, PoisonError};

use ring::hmac;
use wayleave_scheme_api::BrokerId;
use wayleave_units::WallTime;

/// First bytes of a sealed message.
const MAGIC: &[u8; 4] = b"WLS1";
/// Bytes before the message.
pub(super) const HEAD: usize = 16;
/// Bytes behind it: half of the hash, as in IPsec (RFC 4868, section 2.6).
pub(super) const TAG: usize = 16;
/// Maximum difference between the calendars of brokers, including the transit time of a message, in ns. Minutes are
/// usual where clocks count (RFC 4120, section 8.2).
const SKEW: u64 = 60_000_000_000;

/// The key that all brokers of a network have.
#[derive(Clone)]
pub struct Key(hmac::Key);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    /// Of a secret text; `None` if it is shorter than 32 bytes.
    pub fn new(secret: &str) -> Option<Self> {
        let secret = secret.trim().as_bytes();
        (secret.len() >= 32).then(|| Self(hmac::Key::new(hmac::HMAC_SHA256, secret)))
    }
}

/// Reason for which a message is rejected.
#[derive(thiserror::Error, Clone, Copy, Debug, PartialEq, Eq)]
pub enum SealError {
    /// Without a seal.
    #[error("it is not sealed, but this broker requires a key")]
    Open,
    /// Another key, another receiver, or damage.
    #[error("it is sealed with another key, or for another broker, or damaged")]
    Wrong,
    /// A copy, or late.
    #[error("it is not newer than an earlier message: a replay, or late")]
    Old,
    /// Too far from the time here.
    #[error("its timestamp differs by more than a minute from the local clock: a replay, or the clocks differ")]
    Skewed,
}

/// Key and message numbers of a broker.
#[derive(Debug)]
pub struct Seal {
    key: Key,
    own: BrokerId,
    bytes: Mutex<u64>,
    /// The number of the last message of each sender.
    last_received: Mutex<HashMap<u32, u64>>,
}

impl Seal {
    /// Of this broker.
    pub fn new(key: Key, own: BrokerId) -> Self {
        Self { key, own, bytes: Mutex::default(), last_received: Mutex::default() }
    }

    /// A message to a broker.
    pub fn seal(&self, now: WallTime, to: BrokerId, message: &[u8]) -> Vec<u8> {
        let number = {
            let mut bytes = self.bytes.lock().unwrap_or_else(PoisonError::into_inner);
            *bytes = now.as_nanos().max(bytes.saturating_add(1));
            *bytes
        };
        let mut sealed = Vec::with_capacity(HEAD + message.len() + TAG);
        sealed.extend_from_slice(MAGIC);
        sealed.extend_from_slice(&self.own.0.to_be_bytes());
        sealed.extend_from_slice(&number.to_be_bytes());
        sealed.extend_from_slice(message);
        let tag = self.sign(to, &sealed);
        sealed.extend_from_slice(&tag.as_ref()[..TAG]);
        sealed
    }

    fn sign(&self, to: BrokerId, sealed: &[u8]) -> hmac::Tag {
        let mut context = hmac::Context::with_key(&self.key.0);
        context.update(&to.0.to_be_bytes());
        context.update(sealed);
        context.sign()
    }

    /// Returns the sender of a message to this broker, and the message.
    ///
    /// # Errors
    /// The reason for which it is rejected.
    pub fn open<'a>(&self, now: WallTime, sealed: &'a [u8]) -> Result<(BrokerId, &'a [u8]), SealError> {
        if !sealed.starts_with(MAGIC) || sealed.len() < HEAD + TAG {
            return Err(SealError::Open);
        }
        let (signed, tag) = sealed.split_at(sealed.len() - TAG);
        // The comparison takes constant time.
        let differs = self.sign(self.own, signed).as_ref().iter().zip(tag).fold(0, |differs, (a, b)| differs | (a ^ b));
        if differs != 0 {
            return Err(SealError::Wrong);
        }
        let (head, message) = signed.split_at(HEAD);
        let (Ok(from), Ok(number)) = (head[4..8].try_into().map(u32::from_be_bytes), head[8..].try_into()) else {
            return Err(SealError::Wrong);
        };
        let number = u64::from_be_bytes(number);
        if number.abs_diff(now.as_nanos()) > SKEW {
            return Err(SealError::Skewed);
        }
        let mut last_received = self.last_received.lock().unwrap_or_else(PoisonError::into_inner);
        let last = last_received.entry(from).or_default();
        if number <= *last {
            return Err(SealError::Old);
        }
        *last = number;
        Ok((BrokerId(from), message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: WallTime = WallTime::from_nanos(1_800_000_000_000_000_000);

    fn seal(secret: &str, own: u32) -> Seal {
        Seal::new(Key::new(secret).unwrap(), BrokerId(own))
    }

    fn at(seconds: u64) -> WallTime {
        WallTime::from_nanos(NOW.as_nanos() + seconds * 1_000_000_000)
    }

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    #[test]
    fn a_message_is_accepted_once_by_the_broker_it_is_addressed_to() {
        let (one, two, three) = (seal(SECRET, 1), seal(SECRET, 2), seal(SECRET, 3));
        let first = one.seal(NOW, BrokerId(2), b"10 Gbit/s");
        let second = one.seal(NOW, BrokerId(2), b"11 Gbit/s");
        assert_eq!(two.open(NOW, &first), Ok((BrokerId(1), &b"10 Gbit/s"[..])));
        assert_eq!(
            two.open(NOW, &second),
            Ok((BrokerId(1), &b"11 Gbit/s"[..])),
            "the clock need not go on between them"
        );
        assert_eq!(two.open(NOW, &first), Err(SealError::Old));
        assert_eq!(two.open(NOW, &second), Err(SealError::Old));
        assert_eq!(three.open(NOW, &second), Err(SealError::Wrong), "it was for another one");
    }

    #[test]
    fn messages_without_the_key_are_dropped_whichever_bit_is_changed() {
        let (one, two) = (seal(SECRET, 1), seal(SECRET, 2));
        let sealed = one.seal(NOW, BrokerId(2), b"message");
        for at in 0..8 * sealed.len() {
            let mut changed = sealed.clone();
            changed[at / 8] ^= 1 << (at % 8);
            assert!(matches!(two.open(NOW, &changed), Err(SealError::Open | SealError::Wrong)), "bit {at}");
        }
        let other = seal("another secret of thirty-two bytes", 1).seal(NOW, BrokerId(2), b"message");
        assert_eq!(two.open(NOW, &other), Err(SealError::Wrong));
        for short in 0..HEAD + TAG {
            assert!(two.open(NOW, &sealed[..short]).is_err());
        }
        assert!(two.open(NOW, &sealed).is_ok());
        assert!(Key::new("too short").is_none());
    }

    #[test]
    fn a_restarted_broker_drops_messages_recorded_before() {
        let one = seal(SECRET, 1);
        let recorded = one.seal(NOW, BrokerId(2), b"message");
        assert_eq!(seal(SECRET, 2).open(at(61), &recorded), Err(SealError::Skewed));
        assert!(seal(SECRET, 2).open(at(59), &recorded).is_ok());
        // A sender that begins again numbers its messages above those of before.
        let two = seal(SECRET, 2);
        assert!(two.open(NOW, &recorded).is_ok());
        assert!(two.open(at(1), &seal(SECRET, 1).seal(at(1), BrokerId(2), b"message")).is_ok());
    }
}
