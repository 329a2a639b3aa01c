//! Texts of values, with their places.

use std::borrow::Cow;

use crate::location::Span;
use crate::problem::Problems;
use crate::tree::{Node, Value};

/// A value's text and its place.
#[derive(Clone, Debug)]
pub(crate) struct Text<'a> {
    pub(crate) text: Cow<'a, str>,
    pub(crate) span: Span,
}

pub(crate) fn text_of<'a>(node: &Node<'a>, problems: &mut Problems<'_>) -> Option<Text<'a>> {
    node.expect_text(problems)?;
    match &node.value {
        Value::Scalar(text) => Some(Text { text: text.clone(), span: node.span }),
        _ => None,
    }
}
