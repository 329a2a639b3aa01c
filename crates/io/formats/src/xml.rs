//! XML as a tree in which everything knows its place.

use roxmltree::{Document, Node, ParsingOptions};

use crate::graph::Unused;
use crate::location::{Span, boundary};
use crate::problem::{Message, ProblemKind, Problems};

/// Maximum number of elements, texts and comments in a file, as for YAML.
const MAX_NODES: u32 = 10_000_000;

/// The tree of a text; what is wrong with it is reported.
pub(crate) fn parse<'t>(text: &'t str, problems: &mut Problems<'_>) -> Option<Document<'t>> {
    let options = ParsingOptions { nodes_limit: MAX_NODES, ..ParsingOptions::default() };
    Document::parse_with_options(text, options)
        .map_err(|error| {
            let (kind, message) = explain(&error);
            let at = offset(text, error.pos());
            problems.report(kind, Span::new(at..at + text[at..].chars().next().map_or(0, char::len_utf8)), || message);
        })
        .ok()
}

/// The tag that an element begins with.
pub(crate) fn head(node: Node<'_, '_>) -> Span {
    let range = node.range();
    let text = &node.document().input_text()[range.clone()];
    let first = node.first_child().map_or(text.len(), |child| child.range().start - range.start);
    Span::new(range.start..range.start + text[..first.min(text.len())].find('>').map_or(first, |end| end + 1))
}

/// Notes the attributes and elements of an element that are not used. Attributes of other namespaces and `parse.*` help
/// parsers (GraphML's primer, "Parse info").
pub(crate) fn note_unused(
    unused: &mut Unused,
    owner: &'static str,
    of: Node<'_, '_>,
    attributes: &[&str],
    elements: &[&str],
) {
    for attribute in of.attributes().filter(|one| one.namespace().is_none() && !one.name().starts_with("parse.")) {
        if !attributes.contains(&attribute.name()) {
            unused.add(owner, attribute.name(), Span::new(attribute.range()));
        }
    }
    for child in of.children().filter(Node::is_element) {
        let name = child.tag_name().name();
        if !elements.contains(&name) {
            unused.add(owner, name, head(child));
        }
    }
}

fn explain(error: &roxmltree::Error) -> (ProblemKind, Message) {
    match error {
        roxmltree::Error::DtdDetected => {
            (ProblemKind::Syntax, ("a document type is not read", "remove the <!DOCTYPE ...> line").into())
        }
        roxmltree::Error::NodesLimitReached => {
            (ProblemKind::TooLarge, format!("the file is too large: more than {MAX_NODES} elements and texts").into())
        }
        error => {
            let stated = error.to_string();
            let stated = stated.split(" at ").next().unwrap_or_default().to_owned();
            (ProblemKind::Syntax, format!("invalid XML: {stated}").into())
        }
    }
}

/// The byte at which a line and a column in characters point.
fn offset(text: &str, at: roxmltree::TextPos) -> usize {
    let start: usize = text.split_inclusive('\n').take((at.row as usize).saturating_sub(1)).map(str::len).sum();
    let line = &text[start..];
    let column = line.char_indices().nth((at.col as usize).saturating_sub(1)).map_or(line.len(), |(at, _)| at);
    boundary(text, start + column)
}
