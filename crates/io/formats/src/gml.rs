//! GML (Himsolt, 1996), as Topology Zoo and NetworkX write it: `graph [ node [ id 0 label "Kiel" ] edge [ ... ] ]`.
//!
//! Keys and values; a value is a number, a text in quotation marks with character references (`&quot;`), or a list in
//! square brackets. Lines that begin with `#` are comments.

use std::borrow::Cow;

use crate::graph::{Graph, GraphEdge, GraphEnd, GraphNode, ImportOptions};
use crate::location::Span;
use crate::messages::quoted;
use crate::problem::{Message, ProblemKind, Problems};
use crate::tree::{Entry, Node, Value};

/// Maximum nesting depth of lists: a graph needs three levels.
const MAX_DEPTH: usize = 64;
/// Maximum number of values in a file, as for YAML.
const MAX_VALUES: usize = 10_000_000;

/// Returns `true` if a text resembles GML: its first key is that of a graph, or one that tools write before it.
pub(crate) fn is_likely(text: &str) -> bool {
    let mut scanner = Scanner { text, at: 0 };
    let Some(Token::Word(key)) = scanner.next().map(|(token, _)| token) else { return false };
    match scanner.next().map(|(token, _)| token) {
        Some(Token::Open) => key == "graph",
        Some(Token::Text(_) | Token::Word(_)) => {
            matches!(key, "Creator" | "creator" | "Version" | "version" | "comment")
        }
        _ => false,
    }
}

pub(crate) fn read<'t>(text: &'t str, _: &ImportOptions, problems: &mut Problems<'_>) -> Option<Graph<'t>> {
    let outside = match parse(text) {
        Ok(entries) => entries,
        Err((kind, span, message)) => {
            problems.report(kind, span, || message);
            return None;
        }
    };
    let mut graphs = outside.iter().filter(|entry| entry.key.text() == Some("graph"));
    let Some(first) = graphs.next() else {
        let message =
            ("there is no graph in this file", "GML is written graph [ node [ id 0 ] edge [ source 0 target 1 ] ]");
        problems.report(ProblemKind::MissingKey, Span::default(), || message);
        return None;
    };
    if let Some(second) = graphs.next() {
        let message = ("a second graph begins here", "put each graph into a file of its own");
        problems.report(ProblemKind::Syntax, second.key.span, || message);
    }
    let Value::Mapping(entries) = &first.value.value else {
        problems.report(ProblemKind::WrongType, first.value.span, || "a graph is a list in square brackets");
        return None;
    };
    let root = &first.value;
    let directed = root.field_text("directed") == Some("1");
    let name = root.field_text("name").or_else(|| root.field_text("label")).filter(|name| !name.is_empty());
    let mut graph = Graph { name: name.map(str::to_owned), at: first.key.span, ..Graph::default() };
    graph.attributes = root.attributes(&["name", "label", "directed", "multigraph", "node", "edge"]);
    for Entry { key, value } in entries {
        match key.text() {
            Some("node") => graph.nodes.extend(read_node(key, value, problems)),
            Some("edge") => graph.edges.extend(read_edge(key, value, directed, problems)),
            _ => {}
        }
    }
    for Entry { key, value } in outside.iter().filter(|entry| entry.key.text() != Some("graph")) {
        graph.unused.add("the file", key.text().unwrap_or_default(), key.span.to(value.span));
    }
    Some(graph)
}

fn read_node<'t>(key: &Node<'t>, node: &Node<'t>, problems: &mut Problems<'_>) -> Option<GraphNode<'t>> {
    let (id, _) = required(key, node, "id", problems)?;
    Some(GraphNode { id, at: key.span.to(node.span), attributes: node.attributes(&["id"]), kind: None })
}

fn read_edge<'t>(
    key: &Node<'t>,
    node: &Node<'t>,
    directed: bool,
    problems: &mut Problems<'_>,
) -> Option<GraphEdge<'t>> {
    let from = required(key, node, "source", problems);
    let to = required(key, node, "target", problems);
    let ends = [from?, to?].map(|(id, at)| GraphEnd::new(id, at));
    Some(GraphEdge { ends, directed, at: key.span.to(node.span), attributes: node.attributes(&["source", "target"]) })
}

fn required<'t>(
    owner: &Node<'t>,
    node: &Node<'t>,
    key: &str,
    problems: &mut Problems<'_>,
) -> Option<(Cow<'t, str>, Span)> {
    let value = node.field(key);
    if let Some(Node { value: Value::Scalar(text), span }) = value {
        return Some((text.clone(), *span));
    }
    let what = owner.text().unwrap_or_default().to_owned();
    let message = || format!("this {what} needs the key {}, a number or a text", quoted(key));
    problems.report(ProblemKind::MissingKey, value.map_or(owner.span, |value| value.span), message);
    None
}

type Fault = (ProblemKind, Span, Message);

/// The keys and values of a file.
fn parse(text: &str) -> Result<Vec<Entry<'_>>, Fault> {
    let mut scanner = Scanner { text, at: 0 };
    // Open lists: the key whose value each is, its start, and the entries before it.
    let mut open: Vec<(Node<'_>, Span, Vec<Entry<'_>>)> = Vec::new();
    let mut entries: Vec<Entry<'_>> = Vec::new();
    let mut values = 0;
    while let Some((token, span)) = scanner.next() {
        let key = match token {
            Token::Word(word) => Node { span, value: Value::Scalar(Cow::Borrowed(word)) },
            Token::Close => {
                let Some((key, start, mut before)) = open.pop() else {
                    return Err(fault(span, "this bracket closes nothing"));
                };
                let value = Node { span: start.to(span), value: Value::Mapping(entries) };
                before.push(Entry { key, value });
                entries = before;
                continue;
            }
            Token::Open | Token::Text(_) | Token::Unclosed => {
                return Err(fault(span, "a key is expected here: a word such as node or label"));
            }
        };
        values += 1;
        if values > MAX_VALUES {
            let message = format!("the file is too large: more than {MAX_VALUES} values");
            return Err((ProblemKind::TooLarge, span, message.into()));
        }
        let after = Span::new(span.end()..span.end());
        match scanner.next() {
            Some((Token::Open, start)) if open.len() < MAX_DEPTH => {
                open.push((key, start, std::mem::take(&mut entries)))
            }
            Some((Token::Open, start)) => {
                let message = format!("lists are nested more than {MAX_DEPTH} deep here");
                return Err((ProblemKind::TooLarge, start, message.into()));
            }
            Some((Token::Text(text), span)) => {
                entries.push(Entry { key, value: Node { span, value: Value::Scalar(decoded(text)) } });
            }
            Some((Token::Word(word), span)) => {
                entries.push(Entry { key, value: Node { span, value: Value::Scalar(Cow::Borrowed(word)) } });
            }
            Some((Token::Unclosed, span)) => {
                let message = (
                    "this quotation mark is never closed",
                    "add the closing one, or look whether the file was cut off",
                );
                return Err((ProblemKind::Syntax, span, message.into()));
            }
            Some((Token::Close, _)) | None => {
                let key = quoted(key.text().unwrap_or_default());
                return Err(fault(after, &format!("the key {key} has no value")));
            }
        }
    }
    match open.pop() {
        None => Ok(entries),
        Some((_, start, _)) => {
            let hint = "add the \"]\", or look whether the file was cut off";
            Err((ProblemKind::Syntax, start, ("this \"[\" is never closed", hint).into()))
        }
    }
}

fn fault(span: Span, message: &str) -> Fault {
    (ProblemKind::Syntax, span, message.into())
}

enum Token<'t> {
    Open,
    Close,
    /// A key, a number, or a word as a value.
    Word(&'t str),
    /// Text between quotation marks.
    Text(&'t str),
    /// A quotation mark without a second one.
    Unclosed,
}

struct Scanner<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Scanner<'t> {
    fn next(&mut self) -> Option<(Token<'t>, Span)> {
        loop {
            let rest = &self.text[self.at..];
            let skipped = rest.len() - rest.trim_start().len();
            self.at += skipped;
            if !self.text[self.at..].starts_with('#') {
                break;
            }
            self.at += self.text[self.at..].find('\n').unwrap_or(self.text.len() - self.at);
        }
        let (start, rest) = (self.at, &self.text[self.at..]);
        let (token, length) = match rest.chars().next()? {
            '[' => (Token::Open, 1),
            ']' => (Token::Close, 1),
            '"' => match rest[1..].find('"') {
                Some(end) => (Token::Text(&rest[1..=end]), end + 2),
                None => (Token::Unclosed, 1),
            },
            _ => {
                let end = rest.find(|c: char| c.is_whitespace() || matches!(c, '[' | ']' | '"')).unwrap_or(rest.len());
                (Token::Word(&rest[..end]), end)
            }
        };
        self.at += length;
        Some((token, Span::new(start..self.at)))
    }
}

/// Returns a text with its character references replaced; unknown ones are kept.
fn decoded(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return Cow::Borrowed(text);
    }
    let mut decoded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        decoded.push_str(&rest[..at]);
        rest = &rest[at..];
        let reference =
            rest.bytes().take(12).position(|byte| byte == b';').and_then(|end| Some((end, character(&rest[1..end])?)));
        let (length, c) = reference.map_or((1, '&'), |(end, c)| (end + 1, c));
        decoded.push(c);
        rest = &rest[length..];
    }
    decoded.push_str(rest);
    Cow::Owned(decoded)
}

fn character(name: &str) -> Option<char> {
    Some(match name {
        "quot" => '"',
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "apos" => '\'',
        "nbsp" => '\u{a0}',
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16).ok()?,
                None => number.parse().ok()?,
            };
            return char::from_u32(code);
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_become_characters() {
        assert_eq!(
            decoded("K&#246;ln &#x26; &quot;Bonn&quot; &amp;lt; &unknown; & &#xd800;"),
            "Köln & \"Bonn\" &lt; &unknown; & &#xd800;"
        );
        assert_eq!(decoded("&ééééééééé;"), "&ééééééééé;");
    }

    #[test]
    fn gml_is_known_by_its_first_key() {
        for text in ["graph [ ]", "# x\n\ngraph\n[", "Creator \"yFiles\"\nVersion 2.2\ngraph [", "Version 1 graph ["] {
            assert!(is_likely(text), "{text}");
        }
        for text in ["", "graph: [", "kind: Topology", "{ \"nodes\": [] }", "graph { a -- b }"] {
            assert!(!is_likely(text), "{text}");
        }
    }
}
