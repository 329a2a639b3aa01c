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

    /// The `after` of lists that are numbered.
    pub(crate) fn after_number(&self) -> Result<Option<u64>, Box<Problem>> {
        let number = |text: &String| text.parse().map_err(|_| invalid("after", "expected a number"));
        self.after.as_ref().map(number).transpose()
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
