//! Tags in captures.

/// Visibility of the packets' tags in a capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tags {
    /// One 802.1Q tag for each.
    Shown,
    /// None; the length of frames still includes them, as bytes behind the payload.
    Hidden,
}
