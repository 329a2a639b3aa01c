//! uFAB's probes and their responses, to the bit (SIGCOMM 2022, appendix G, Fig. 22), behind the source route.
//!
//! | bits | the text | here |
//! |---|---|---|
//! | 4 | type: 1 probe, 2 response, 4 failure response | [`ProbeType`]: beside these 3 for a candidate, 5 for a finish, 6 and 7 for their responses |
//! | 4 | nHop: switches passed | as in the text: this number of slots are [`PortRecord`]s, the others [`PortRequest`] |
//! | 24 (caption), 16 (table) | phi of the pair | 16 for phi, and 8 for the number of the change, so that a response is not taken for another's |
//! | 64 a hop | W, Phi, tx: 16 each; q: 12; C: 4 | as in the text, in a [`PortRecord`]; before that the sender's [`PortRequest`] in this slot |
//!
//! The text gives no units. Here W is in bytes that windows carry in 100 us, and q in bytes. Both are small
//! floating-point numbers (a mantissa of 11 bits with an exponent of 5, and of 8 with 4), rounded down. Phi is in
//! tokens; tx is in parts of 2^-15 of C's line, up to twice the line. C is one of eight speeds and the bit of the
//! period in which a port counts ([`crate::probe::PortRecord::period`]). A sender rounds its own window first
//! ([`rounded`]), so that ports later subtract exactly the amount that they added. Five hops are 44 B ("less than 100
//! bytes", 4.2).

use alloc::vec::Vec;

use wayleave_units::{Bytes, Rate};

/// Type of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeType {
    /// The pair is active (3.6).
    Probe = 1,
    /// The answer to that.
    Response = 2,
    /// The pair thinks of this path (3.5).
    Candidate = 3,
    /// A switch could not forward it.
    Failure = 4,
    /// The pair leaves this path (3.6).
    Finish = 5,
    /// The answer to a candidate.
    CandidateResponse = 6,
    /// The answer to a finish.
    FinishResponse = 7,
}

impl ProbeType {
    const ALL: [Self; 7] = [
        Self::Probe,
        Self::Response,
        Self::Candidate,
        Self::Failure,
        Self::Finish,
        Self::CandidateResponse,
        Self::FinishResponse,
    ];
}

/// The sender's values for a port that has not been passed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PortRequest {
    /// The pair's window at this link.
    pub window: u64,
    /// The window that the port counts already.
    pub counted_window: u64,
    /// The tokens that it counts already.
    pub counted_tokens: u16,
    /// The number of the change, of 11 bits.
    pub change: u16,
    /// `true` if an earlier copy may have reached this port.
    pub is_repeated: bool,
    /// In which period the pair is counted; `None`: it is not.
    pub period: Option<bool>,
}

/// Values written by a port that was passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRecord {
    /// W.
    pub windows: u64,
    /// Phi.
    pub tokens: u16,
    /// tx.
    pub tx: Rate,
    /// q.
    pub queue: Bytes,
    /// C: one of [`SPEEDS`].
    pub rate: Rate,
    /// In which of two periods, that take turns, it has counted the pair.
    pub period: bool,
}

/// A probe or an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbePacket {
    /// Type of the packet.
    pub kind: ProbeType,
    /// phi: of the sender, in an answer of the receiver; the largest number is "anything".
    pub tokens: u16,
    /// The last 8 bits of the number of the change.
    pub change: u8,
    /// Of the ports that were passed, the first first.
    pub records: Vec<PortRecord>,
    /// For the others.
    pub requests: Vec<PortRequest>,
}

/// Reason that bytes are no such packet.
#[derive(thiserror::Error, Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeError {
    /// A header and whole slots are expected.
    #[error("{0} B are not a header of 4 B with slots of 8 B")]
    Length(usize),
    /// The types are 1 to 7.
    #[error("type {0} is unknown: expected 1 to 7")]
    Type(u8),
    /// The header states more passed hops than there are.
    #[error("{passed} hops are passed of {there}")]
    Hops {
        /// Number in the header.
        passed: usize,
        /// Slots.
        there: usize,
    },
    /// More hops than nHop counts.
    #[error("{0} hops do not fit: at most 15 do")]
    TooManyHops(usize),
    /// A port of another speed.
    #[error(
        "a line rate of {0:#} has no code: expected {expected}",
        expected = "1, 10, 25, 40, 50, 100, 200 or 400 Gbit/s"
    )]
    Speed(Rate),
}

/// The speeds that have a code, in its order.
pub const SPEEDS: [Rate; 8] = [
    Rate::from_gbit(1),
    Rate::from_gbit(10),
    Rate::from_gbit(25),
    Rate::from_gbit(40),
    Rate::from_gbit(50),
    Rate::from_gbit(100),
    Rate::from_gbit(200),
    Rate::from_gbit(400),
];

/// Bits of the numbers of changes.
pub const CHANGE_BITS: u32 = 11;

/// tx is in this part of the line.
const TX_SHIFT: u32 = 15;

/// Returns a small floating-point number, rounded down: a mantissa of `mantissa` bits, and an exponent above.
fn shrink(value: u64, mantissa: u32, exponent: u32) -> u64 {
    let length = 64 - value.leading_zeros();
    let shift = length.saturating_sub(mantissa);
    let most = (1 << exponent) - 1;
    if u64::from(shift) > most {
        return (1 << (mantissa + exponent)) - 1;
    }
    u64::from(shift) << mantissa | value >> shift
}

fn grow(bits: u64, mantissa: u32) -> u64 {
    (bits & ((1 << mantissa) - 1)) << (bits >> mantissa)
}

const W: (u32, u32) = (11, 5);
const Q: (u32, u32) = (8, 4);

/// Returns the largest encodable window that is not above this one.
pub fn rounded(window: u64) -> u64 {
    grow(shrink(window, W.0, W.1), W.0)
}

impl PortRequest {
    fn bits(&self) -> u64 {
        let q = u64::from(self.change) & ((1 << CHANGE_BITS) - 1) | u64::from(self.is_repeated) << CHANGE_BITS;
        let c = self.period.map_or(0, |period| 2 | u64::from(period));
        slot(shrink(self.window, W.0, W.1), shrink(self.counted_window, W.0, W.1), u64::from(self.counted_tokens), q, c)
    }

    fn read(bits: u64) -> Self {
        let [w, phi, tx, q, c] = fields(bits);
        Self {
            window: grow(w, W.0),
            counted_window: grow(phi, W.0),
            counted_tokens: tx as u16,
            change: (q & ((1 << CHANGE_BITS) - 1)) as u16,
            is_repeated: q >> CHANGE_BITS == 1,
            period: (c & 2 != 0).then_some(c & 1 == 1),
        }
    }
}

impl PortRecord {
    fn bits(&self) -> Result<u64, ProbeError> {
        let speed = SPEEDS.iter().position(|&speed| speed == self.rate).ok_or(ProbeError::Speed(self.rate))?;
        let tx = (u128::from(self.tx.bits_per_second()) << TX_SHIFT) / u128::from(self.rate.bits_per_second());
        let tx = u64::try_from(tx.min(0xffff)).unwrap_or(0xffff);
        let c = (speed as u64) << 1 | u64::from(self.period);
        Ok(slot(shrink(self.windows, W.0, W.1), u64::from(self.tokens), tx, shrink(self.queue.get(), Q.0, Q.1), c))
    }

    fn read(bits: u64) -> Self {
        let [w, phi, tx, q, c] = fields(bits);
        let rate = SPEEDS[(c >> 1) as usize];
        // Rounded up, so that it is written as the same number again.
        let tx = (u128::from(rate.bits_per_second()) * u128::from(tx)).div_ceil(1 << TX_SHIFT);
        Self {
            windows: grow(w, W.0),
            tokens: phi as u16,
            tx: Rate::from_bits_per_second(tx as u64),
            queue: Bytes::new(grow(q, Q.0)),
            rate,
            period: c & 1 == 1,
        }
    }
}

fn slot(w: u64, phi: u64, tx: u64, q: u64, c: u64) -> u64 {
    w << 48 | phi << 32 | tx << 16 | q << 4 | c
}

fn fields(bits: u64) -> [u64; 5] {
    [bits >> 48, bits >> 32 & 0xffff, bits >> 16 & 0xffff, bits >> 4 & 0xfff, bits & 0xf]
}

impl ProbePacket {
    /// As it is sent.
    ///
    /// # Errors
    /// If it has more than 15 hops, or a port has a speed without a code.
    ///
    /// ```
    /// use wayleave_packet_format::probe::{ProbePacket, ProbeType, PortRequest};
    /// let requests = vec![PortRequest { window: 3_000, ..PortRequest::default() }; 5];
    /// let probe = ProbePacket { kind: ProbeType::Probe, tokens: 500, change: 1, records: Vec::new(), requests };
    /// let bytes = probe.encode()?;
    /// assert_eq!((bytes.len(), ProbePacket::decode(&bytes)), (44, Ok(probe)));
    /// # Ok::<(), wayleave_packet_format::probe::ProbeError>(())
    /// ```
    pub fn encode(&self) -> Result<Vec<u8>, ProbeError> {
        let hops = self.records.len() + self.requests.len();
        if hops > 15 {
            return Err(ProbeError::TooManyHops(hops));
        }
        let mut bytes = Vec::with_capacity(4 + 8 * hops);
        bytes.push((self.kind as u8) << 4 | self.records.len() as u8);
        bytes.extend(self.tokens.to_be_bytes());
        bytes.push(self.change);
        for record in &self.records {
            bytes.extend(record.bits()?.to_be_bytes());
        }
        for request in &self.requests {
            bytes.extend(request.bits().to_be_bytes());
        }
        Ok(bytes)
    }

    /// From bytes.
    ///
    /// # Errors
    /// What they are not.
    pub fn decode(bytes: &[u8]) -> Result<Self, ProbeError> {
        let length = ProbeError::Length(bytes.len());
        let (&[first, high, low, change], slots) = bytes.split_first_chunk().ok_or(length)?;
        let (slots, rest) = slots.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(length);
        }
        let kind = ProbeType::ALL.into_iter().find(|&kind| kind as u8 == first >> 4);
        let kind = kind.ok_or(ProbeError::Type(first >> 4))?;
        let passed = usize::from(first & 0xf);
        if slots.len() > 15 {
            return Err(ProbeError::TooManyHops(slots.len()));
        }
        let (records, requests) =
            slots.split_at_checked(passed).ok_or(ProbeError::Hops { passed, there: slots.len() })?;
        Ok(Self {
            kind,
            tokens: u16::from_be_bytes([high, low]),
            change,
            records: records.iter().map(|&slot| PortRecord::read(u64::from_be_bytes(slot))).collect(),
            requests: requests.iter().map(|&slot| PortRequest::read(u64::from_be_bytes(slot))).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use proptest::prelude::*;

    fn record() -> PortRecord {
        PortRecord {
            windows: 28_480,
            tokens: 8_500,
            tx: Rate::from_gbit(5),
            queue: Bytes::new(0x1230),
            rate: Rate::from_gbit(10),
            period: true,
        }
    }

    /// Fig. 22, bit by bit: type 2, one hop passed, phi 0x0102, change 3; W of 28,480 = 1,780 << 4; Phi 8,500 = 0x2134; tx a half = 0x4000; q of 0x1230 = 0x91 << 5;
    /// C: the second speed, period 1.
    #[test]
    fn fields_have_the_offsets_of_the_figure() {
        let packet = ProbePacket {
            kind: ProbeType::Response,
            tokens: 0x0102,
            change: 3,
            records: vec![record()],
            requests: Vec::new(),
        };
        let bytes = packet.encode().unwrap();
        assert_eq!(bytes[..4], [0x21, 0x01, 0x02, 0x03]);
        assert_eq!(bytes[4..], [0x26, 0xf4, 0x21, 0x34, 0x40, 0x00, 0x59, 0x13]);
    }

    #[test]
    fn oversized_values_are_errors() {
        let mut packet = ProbePacket {
            kind: ProbeType::Probe,
            tokens: 1,
            change: 0,
            records: vec![record(); 8],
            requests: vec![PortRequest::default(); 8],
        };
        assert_eq!(packet.encode(), Err(ProbeError::TooManyHops(16)));
        packet.records = vec![PortRecord { rate: Rate::from_gbit(7), ..record() }];
        assert_eq!(packet.encode(), Err(ProbeError::Speed(Rate::from_gbit(7))));
        assert_eq!(ProbePacket::decode(&[0x10, 0, 0]), Err(ProbeError::Length(3)));
        assert_eq!(ProbePacket::decode(&[0x00, 0, 0, 0]), Err(ProbeError::Type(0)));
        assert_eq!(ProbePacket::decode(&[0x11, 0, 0, 0]), Err(ProbeError::Hops { passed: 1, there: 0 }));
        assert_eq!(ProbePacket::decode(&[0x10; 13]), Err(ProbeError::Length(13)));
    }

    proptest! {
        /// A window is rounded down, by less than a thousandth, and once.
        #[test]
        fn windows_are_rounded_down_slightly(window in 0..1_u64 << 42) {
            let kept = rounded(window);
            prop_assert!(kept <= window && window - kept <= window >> 10);
            prop_assert_eq!(rounded(kept), kept);
        }

        /// Any bytes are an error, or a packet that is written as the same bytes.
        #[test]
        fn any_bytes_are_an_error_or_a_canonical_message(bytes in proptest::collection::vec(any::<u8>(), 0..140)) {
            if let Ok(packet) = ProbePacket::decode(&bytes) {
                let again = packet.encode().unwrap();
                prop_assert_eq!(again.len(), bytes.len());
                prop_assert_eq!(ProbePacket::decode(&again).unwrap(), packet);
            }
        }
    }
}
