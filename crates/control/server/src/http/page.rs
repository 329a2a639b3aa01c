//! Pages of lists, put together from objects that are ready.

use bytes::{BufMut, Bytes, BytesMut};
use wayleave_protocol::problem::Problem;

use crate::answer::{HttpReply, invalid};
use crate::http::query::Query;

/// The requested page.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    pub(crate) limit: usize,
    pub(crate) after: Option<String>,
    /// The whole list is requested as CSV.
    pub(crate) is_csv: bool,
}

impl Page {
    pub(crate) fn read(query: &Query) -> Result<Self, Box<Problem>> {
        let is_csv = query.text("format") == Some("csv");
        if let Some(name) = ["limit", "after"].into_iter().find(|name| is_csv && query.text(name).is_some()) {
            return Err(invalid(name, "a list in CSV is complete and has no pages: omit it, or `format`"));
        }
        let limit = match query.number("limit") {
            None => 100,
            Some(limit) => usize::try_from(limit).unwrap_or(1000),
        };
        Ok(Self { limit, after: query.text("after").map(str::to_owned), is_csv })
    }

    /// Returns the name in the `after` of a list: `next` begins with the name of its list, so that a name without it is
    /// no place in a list.
    pub(crate) fn after_name(&self, list: &str) -> Result<Option<&str>, Box<Problem>> {
        let Some(text) = &self.after else { return Ok(None) };
        let name = text.strip_prefix(list).and_then(|rest| rest.strip_prefix('.'));
        name.map(Some).ok_or_else(|| no_cursor(text))
    }

    /// The `after` of lists that are numbered.
    pub(crate) fn after_number(&self) -> Result<Option<u64>, Box<Problem>> {
        let number = |text: &String| text.parse().map_err(|_| invalid("after", "expected a number"));
        self.after.as_ref().map(number).transpose()
    }

    /// Returns the `next` of a list for the item of this name.
    pub(crate) fn next(list: &str, name: &impl ToString) -> String {
        format!("{list}.{}", name.to_string())
    }

    /// The first of these, with where the next page begins.
    pub(crate) fn of<K: ToString>(&self, items: impl Iterator<Item = (K, Bytes)>) -> HttpReply {
        let mut body = BytesMut::new();
        body.put_slice(b"{\"items\":[");
        let (mut items, mut last) = (items.peekable(), None);
        for count in 0..self.limit {
            let Some((key, json)) = items.next() else { break };
            if count > 0 {
                body.put_u8(b',');
            }
            body.put_slice(&json);
            last = Some(key);
        }
        body.put_u8(b']');
        if let Some(last) = last.filter(|_| items.peek().is_some()) {
            body.put_slice(b",\"next\":");
            body.put_slice(&serde_json::to_vec(&last.to_string()).unwrap_or_default());
        }
        body.put_u8(b'}');
        HttpReply::ready(body.freeze())
    }
}

/// Maximum number of characters of a wrong `after` that an error repeats.
const SHOWN: usize = 100;

/// Returns the problem of an `after` that is not the `next` of a page of this list.
pub(crate) fn no_cursor(text: &str) -> Box<Problem> {
    let text: String = text.chars().take(SHOWN).collect();
    invalid("after", format!("`{text}`: expected the value of `next` of a page of this list in the same order"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_a_place_in_its_own_list_only() {
        let after = |text: &str| {
            let page = Page { limit: 1, after: Some(text.to_owned()), is_csv: false };
            page.after_name("tenants").map(|name| name.map(str::to_owned))
        };
        assert_eq!(after(&Page::next("tenants", &"a.b")).unwrap(), Some("a.b".to_owned()));
        for text in ["zzz", "", "tenants", "vms.a", "tenantsa.b"] {
            assert!(after(text).unwrap_err().detail.contains(&format!("`{text}`")), "{text}");
        }
    }
}
