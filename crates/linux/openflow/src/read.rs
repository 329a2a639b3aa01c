//! Reading and writing big-endian numbers and padding.

use crate::{DecodeError, TooLong};

/// Bytes that are still to be read; every step names the element that it expects.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'b> {
    bytes: &'b [u8],
    what: &'static str,
}

impl<'b> Reader<'b> {
    pub(crate) const fn new(bytes: &'b [u8], what: &'static str) -> Self {
        Self { bytes, what }
    }

    pub(crate) const fn rest(&self) -> &'b [u8] {
        self.bytes
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    pub(crate) fn take(&mut self, count: usize) -> Result<&'b [u8], DecodeError> {
        let Some((taken, rest)) = self.bytes.split_at_checked(count) else {
            return Err(DecodeError::Length { what: self.what, length: self.bytes.len(), expected: "more" });
        };
        self.bytes = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, DecodeError> {
        Ok(self.array::<1>()?[0])
    }

    pub(crate) fn u16(&mut self) -> Result<u16, DecodeError> {
        Ok(u16::from_be_bytes(self.array()?))
    }

    pub(crate) fn u32(&mut self) -> Result<u32, DecodeError> {
        Ok(u32::from_be_bytes(self.array()?))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, DecodeError> {
        Ok(u64::from_be_bytes(self.array()?))
    }

    pub(crate) fn mac(&mut self) -> Result<[u8; 6], DecodeError> {
        self.array()
    }

    /// A part that begins with 16 bits of anything and the length of the whole part, in multiples of `unit`: (the 16 bits, what follows the length).
    pub(crate) fn part(&mut self, what: &'static str, unit: usize) -> Result<(u16, Reader<'b>), DecodeError> {
        let mut head = *self;
        let (kind, length) = (head.u16()?, usize::from(head.u16()?));
        if length < 4 || length % unit != 0 {
            return Err(DecodeError::Length { what, length, expected: "at least 4, in whole units" });
        }
        let taken = self.take(length)?;
        Ok((kind, Reader::new(&taken[4..], what)))
    }
}

pub(crate) fn put_u16(bytes: &mut Vec<u8>, value: u16) {
    bytes.extend(value.to_be_bytes());
}

pub(crate) fn put_u32(bytes: &mut Vec<u8>, value: u32) {
    bytes.extend(value.to_be_bytes());
}

pub(crate) fn put_u64(bytes: &mut Vec<u8>, value: u64) {
    bytes.extend(value.to_be_bytes());
}

pub(crate) fn zeros(bytes: &mut Vec<u8>, count: usize) {
    bytes.resize(bytes.len() + count, 0);
}

/// Fills up to a multiple of eight from `start` on.
pub(crate) fn pad(bytes: &mut Vec<u8>, start: usize) {
    let length = bytes.len() - start;
    zeros(bytes, length.next_multiple_of(8) - length);
}

/// Writes the length of the element that begins at `start` into the two bytes at `at`.
pub(crate) fn set_length(bytes: &mut [u8], start: usize, at: usize) -> Result<(), TooLong> {
    let length = bytes.len() - start;
    let length = u16::try_from(length).map_err(|_| TooLong(length))?;
    bytes[at..at + 2].copy_from_slice(&length.to_be_bytes());
    Ok(())
}
