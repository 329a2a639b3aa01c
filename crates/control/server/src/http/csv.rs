//! Lists as CSV (RFC 4180): a line of headings, and one line for each item. An unknown value is an empty field.
//! [`csv_field`] has the form of a field.

use wayleave_formats::csv_field;

use crate::answer::HttpReply;

/// Media type of the lists.
pub(crate) const MEDIA: &str = "text/csv; charset=utf-8; header=present";

/// A list that is being written.
pub(crate) struct Csv {
    text: String,
    /// The line has a field already.
    is_begun: bool,
}

impl Csv {
    /// Creates a list with these headings.
    pub(crate) fn new(headings: &[&str]) -> Self {
        let mut csv = Self { text: String::new(), is_begun: false };
        headings.iter().for_each(|heading| csv.text(heading));
        csv.end_line();
        csv
    }

    /// Adds a field to the line.
    pub(crate) fn text(&mut self, field: &str) {
        if self.is_begun {
            self.text.push(',');
        }
        self.is_begun = true;
        self.text.push_str(&csv_field(field));
    }

    /// Adds a field that is empty without a value.
    pub(crate) fn value(&mut self, field: Option<impl ToString>) {
        self.text(&field.map(|field| field.to_string()).unwrap_or_default());
    }

    /// Ends the line.
    pub(crate) fn end_line(&mut self) {
        self.text.push_str("\r\n");
        self.is_begun = false;
    }

    /// Returns the lines.
    #[cfg(test)]
    pub(crate) fn lines(&self) -> &str {
        &self.text
    }

    pub(crate) fn into_reply(self) -> HttpReply {
        HttpReply::of(200, MEDIA, self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_with_commas_quotes_and_line_ends_are_quoted() {
        let mut csv = Csv::new(&["name", "labels", "rateBps"]);
        csv.text("a");
        csv.text("app=web,tier=\"db\"");
        csv.value(None::<u64>);
        csv.end_line();
        csv.text("=1+1");
        csv.text("two\nlines");
        csv.value(Some(7));
        csv.end_line();
        let expected = "name,labels,rateBps\r\na,\"app=web,tier=\"\"db\"\"\",\r\n'=1+1,\"two\nlines\",7\r\n";
        assert_eq!(csv.text, expected);
    }
}
