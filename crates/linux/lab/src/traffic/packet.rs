//! Contents of a packet.

/// Bytes that every packet begins with.
pub(super) const HEADER: usize = 24;
/// Mark that distinguishes packets of a lab from others at a port.
const MAGIC: u32 = 0x5761_796c;

/// The number of a flow, the number of the packet, and when it was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) flow: u32,
    pub(super) number: u64,
    /// Nanoseconds of the calendar's clock.
    pub(super) sent: u64,
}

impl Header {
    /// Writes it to the beginning of a packet of at least [`HEADER`] bytes.
    pub(super) fn write(self, packet: &mut [u8]) {
        packet[..4].copy_from_slice(&MAGIC.to_be_bytes());
        packet[4..8].copy_from_slice(&self.flow.to_be_bytes());
        packet[8..16].copy_from_slice(&self.number.to_be_bytes());
        packet[16..24].copy_from_slice(&self.sent.to_be_bytes());
    }

    /// Reads it; `None` if this is no packet of a lab.
    pub(super) fn read(packet: &[u8]) -> Option<Self> {
        let word = |at: usize| Some(u64::from_be_bytes(packet.get(at..at + 8)?.try_into().ok()?));
        let first = word(0)?;
        let (magic, flow) = ((first >> 32) as u32, first as u32);
        (magic == MAGIC).then_some(Self { flow, number: word(8)?, sent: word(16)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_packets_are_read_back_and_others_refused() {
        let header = Header { flow: 7, number: 1 << 40, sent: u64::MAX - 1 };
        let mut packet = [0xff; 30];
        header.write(&mut packet);
        assert_eq!(Header::read(&packet), Some(header));
        assert_eq!(Header::read(&packet[..23]), None);
        packet[0] ^= 1;
        assert_eq!(Header::read(&packet), None);
    }
}
