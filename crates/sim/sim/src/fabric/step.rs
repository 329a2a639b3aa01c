//! Steps of routes.

/// A step of a route: a link, and a queue of the port that it leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Step(u32);

impl Step {
    /// Behind the last step of a route that ends at a switch: a packet takes its own last hop from there.
    pub(crate) const END: Self = Self(u32::MAX);
    /// Three bits of queue above, the link below; there are at most 2^21 links.
    const QUEUE_SHIFT: u32 = 29;

    pub(crate) fn new(link: u32, queue: u8) -> Self {
        Self(u32::from(queue) << Self::QUEUE_SHIFT | link)
    }

    #[inline]
    pub(crate) fn link(self) -> u32 {
        self.0 & ((1 << Self::QUEUE_SHIFT) - 1)
    }

    #[inline]
    pub(crate) fn queue(self) -> u8 {
        (self.0 >> Self::QUEUE_SHIFT) as u8
    }

    pub(crate) fn bits(self) -> u32 {
        self.0
    }

    pub(crate) fn from_bits(bits: u32) -> Self {
        Self(bits)
    }
}
