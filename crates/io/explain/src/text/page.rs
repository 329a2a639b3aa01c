//! Data shared by the parts of a text.

use comfy_table::Table;

use crate::context::Context;
use crate::table::{TableLayout, plain_table};

/// Subject and layout of an explanation.
pub(super) struct Page<'a> {
    pub(super) context: &'a Context<'a>,
    pub(super) layout: TableLayout,
}

impl Page<'_> {
    pub(super) fn table(&self, headings: &[&str]) -> Table {
        plain_table(headings, self.layout)
    }
}
