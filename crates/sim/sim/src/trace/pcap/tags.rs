//! Tags in captures.

/// Whether a capture shows the tags that packets carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tags {
    /// One 802.1Q tag for each.
    Shown,
    /// None; the length of frames still includes them, as bytes behind the payload.
    Hidden,
}
