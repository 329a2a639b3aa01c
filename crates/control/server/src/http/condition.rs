//! `If-Match` and `If-None-Match` (RFC 9110, section 13).

use http::HeaderMap;
use http::header::{HeaderName, IF_MATCH, IF_NONE_MATCH};
use wayleave_controller::{CommandError, Precondition};
use wayleave_protocol::problem::Problem;

use crate::answer::invalid;

/// Under which condition something is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    None,
    /// `If-None-Match: *`
    Absent,
    /// `If-Match: *`
    Present,
    /// `If-Match` with one or several revisions.
    Among(Vec<u64>),
}

impl Condition {
    pub(crate) fn read(headers: &HeaderMap) -> Result<Self, Box<Problem>> {
        let (some, none) = (text(headers, &IF_MATCH)?, text(headers, &IF_NONE_MATCH)?);
        match (some, none) {
            (None, None) => Ok(Self::None),
            (Some(_), Some(_)) => Err(invalid("If-Match", "give either If-Match or If-None-Match")),
            (None, Some("*")) => Ok(Self::Absent),
            (None, Some(_)) => Err(invalid("If-None-Match", "only * is accepted for a change")),
            (Some("*"), None) => Ok(Self::Present),
            (Some(list), None) => Ok(Self::Among(list.split(',').filter_map(|tag| revision(tag.trim())).collect())),
        }
    }

    /// For an object of this revision, or none.
    pub(crate) fn check(&self, current: Option<u64>) -> Result<Precondition, CommandError> {
        match self {
            Self::None => Ok(Precondition::None),
            Self::Absent => Ok(Precondition::Absent),
            Self::Present => Ok(Precondition::Present),
            Self::Among(revisions) => match current.filter(|current| revisions.contains(current)) {
                Some(current) => Ok(Precondition::Revision(current)),
                None => Err(CommandError::Precondition { revision: current }),
            },
        }
    }
}

/// Returns `true` if a reader has this revision already (`If-None-Match`).
pub(crate) fn is_known(headers: &HeaderMap, current: u64) -> bool {
    let Ok(Some(list)) = text(headers, &IF_NONE_MATCH) else { return false };
    let same = |tag: &str| tag == "*" || revision(tag.strip_prefix("W/").unwrap_or(tag)) == Some(current);
    list.split(',').any(|tag| same(tag.trim()))
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, Box<Problem>> {
    let Some(value) = headers.get(name) else { return Ok(None) };
    value.to_str().map(|text| Some(text.trim())).map_err(|_| invalid(name.as_str(), "it is not text"))
}

/// A strong tag of ours; any other is of no revision.
fn revision(tag: &str) -> Option<u64> {
    tag.strip_prefix('"')?.strip_suffix('"')?.parse().ok()
}
