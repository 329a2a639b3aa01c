//! YAML and JSON as a tree of values with positions.
//!
//! The parser (`granit-parser`) gives events with byte spans and reads JSON as YAML. Here they become [`Node`]s with
//! limits on depth, on the number of values, and on the copies that aliases make (a "billion laughs" file ends in an
//! error, not in swap). A long list need not become a tree: the loader passes its items one by one, so a million
//! contracts take the memory of the contracts.

use std::borrow::Cow;
use std::collections::HashMap;

use granit_parser::{Event, Parser, ScalarStyle, StrInput, StructureStyle, Tag};

use crate::location::Span;
use crate::problem::{Message, ProblemKind};
use crate::syntax;

/// Maximum nesting depth of lists and mappings; no document needs more than six levels.
const MAX_DEPTH: usize = 64;
/// Maximum number of values of a tree, so that `[a,a,a,...]` does not take thirty times its length in memory.
const MAX_VALUES: usize = 10_000_000;
/// Maximum number of values that all anchors and aliases together may copy.
const MAX_COPIED: usize = 1_000_000;

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node<'a> {
    pub(crate) span: Span,
    pub(crate) value: Value<'a>,
}

/// A value.
#[derive(Clone, Debug)]
pub(crate) enum Value<'a> {
    /// Nothing, `~` or `null`.
    Null,
    /// Text or a number: the reader decides.
    Scalar(Cow<'a, str>),
    /// A list.
    Sequence(Vec<Node<'a>>),
    /// Keys and values in their order, duplicates included.
    Mapping(Vec<Entry<'a>>),
    /// The list whose items were handed over one by one.
    Streamed,
}

/// A key and its value.
#[derive(Clone, Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) key: Node<'a>,
    pub(crate) value: Node<'a>,
}

/// Reason for the end of parsing: a syntax error or a limit.
pub(crate) struct Fault {
    pub(crate) kind: ProblemKind,
    pub(crate) span: Span,
    pub(crate) message: Message,
}

impl Fault {
    fn new(kind: ProblemKind, span: Span, message: impl Into<Message>) -> Box<Self> {
        Box::new(Self { kind, span, message: message.into() })
    }
}

type Loaded<T> = Result<T, Box<Fault>>;

/// Turns a text into a tree, handing over the items of one list instead of keeping them.
pub(crate) struct Loader<'a, 'f> {
    text: &'a str,
    parser: Parser<'a, StrInput<'a>>,
    path: [&'static str; 2],
    on_item: &'f mut dyn FnMut(Node<'a>),
    anchors: HashMap<usize, Node<'a>>,
    values: usize,
    copied: usize,
}

/// Number of steps followed on the path to the list whose items are passed on.
type OnPath = Option<usize>;

impl<'a, 'f> Loader<'a, 'f> {
    /// Items of the list at `path` go to `on_item`.
    pub(crate) fn new(text: &'a str, path: [&'static str; 2], on_item: &'f mut dyn FnMut(Node<'a>)) -> Self {
        let options = granit_parser::options! { emit_comments: false };
        let parser = Parser::new_from_str_with_options(text, options);
        Self { text, parser, path, on_item, anchors: HashMap::new(), values: 0, copied: 0 }
    }

    /// The tree of the only document, or `None` if there is none.
    pub(crate) fn load(mut self) -> Loaded<Option<Node<'a>>> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(root),
                Event::StreamStart | Event::DocumentEnd => {}
                Event::DocumentStart(..) if root.is_some() => {
                    let message = ("a second document begins here", "put each document into a file of its own");
                    return Err(Fault::new(ProblemKind::Syntax, span, message));
                }
                Event::DocumentStart(..) => {}
                event => root = Some(self.node(event, span, 0, Some(0))?),
            }
        }
    }

    fn next(&mut self) -> Loaded<(Event<'a>, Span)> {
        match self.parser.next_event() {
            Some(Ok((event, span))) => Ok((event, Span::new(span.byte_range().unwrap_or(0..0)))),
            Some(Err(error)) => {
                let (span, message) = syntax::explain(self.text, &error);
                Err(Fault::new(ProblemKind::Syntax, span, message))
            }
            None => Ok((Event::StreamEnd, Span::new(self.text.len()..self.text.len()))),
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize, on_path: OnPath) -> Loaded<Node<'a>> {
        self.count(span, depth)?;
        let (node, anchor, tag) = match event {
            Event::Scalar(text, style, anchor, tag) => (Node { span, value: scalar(text, style) }, anchor, tag),
            Event::SequenceStart(style, anchor, tag) => (self.sequence(style, span, depth, on_path)?, anchor, tag),
            Event::MappingStart(style, anchor, tag) => (self.mapping(style, span, depth, on_path)?, anchor, tag),
            Event::Alias(anchor) => return self.alias(anchor, span),
            _ => return Err(Fault::new(ProblemKind::Syntax, span, "a value is expected here")),
        };
        refuse_tag(tag.as_deref(), node.span)?;
        // An anchor on the list that is handed over cannot be repeated: an alias to it is refused by `alias`.
        if anchor != 0 && !matches!(node.value, Value::Streamed) {
            self.copied += weight(&node);
            self.check_copied(node.span)?;
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn sequence(&mut self, style: StructureStyle, start: Span, depth: usize, on_path: OnPath) -> Loaded<Node<'a>> {
        let streamed = on_path == Some(self.path.len());
        let mut items = Vec::new();
        let mut last = start;
        let end = loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                break span;
            }
            let values = self.values;
            let item = self.node(event, span, depth + 1, None)?;
            last = item.span;
            if streamed {
                (self.on_item)(item);
                self.values = values;
            } else {
                items.push(item);
            }
        };
        let value = if streamed { Value::Streamed } else { Value::Sequence(items) };
        Ok(Node { span: whole(style, start, last, end), value })
    }

    fn mapping(&mut self, style: StructureStyle, start: Span, depth: usize, on_path: OnPath) -> Loaded<Node<'a>> {
        let mut entries = Vec::new();
        let mut last = start;
        let end = loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                break span;
            }
            let key = self.node(event, span, depth + 1, None)?;
            let (event, span) = self.next()?;
            let on_path = on_path.filter(|&at| key.text() == self.path.get(at).copied()).map(|at| at + 1);
            let value = self.node(event, span, depth + 1, on_path)?;
            last = key.span.to(value.span);
            entries.push(Entry { key, value });
        };
        Ok(Node { span: whole(style, start, last, end), value: Value::Mapping(entries) })
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Loaded<Node<'a>> {
        let Some(node) = self.anchors.get(&anchor) else {
            let message = "this alias refers to a value that contains it, or to the whole list: write the value out";
            return Err(Fault::new(ProblemKind::Syntax, span, message));
        };
        self.copied += weight(node);
        self.check_copied(span)?;
        Ok(self.anchors[&anchor].clone())
    }

    fn count(&mut self, span: Span, depth: usize) -> Loaded<()> {
        if depth > MAX_DEPTH {
            let message = format!("lists and mappings are nested more than {MAX_DEPTH} deep here");
            return Err(Fault::new(ProblemKind::TooLarge, span, message));
        }
        self.values += 1;
        if self.values > MAX_VALUES {
            let message = format!("the file is too large: more than {MAX_VALUES} values");
            return Err(Fault::new(ProblemKind::TooLarge, span, message));
        }
        Ok(())
    }

    fn check_copied(&self, span: Span) -> Loaded<()> {
        if self.copied <= MAX_COPIED {
            return Ok(());
        }
        let message = format!("anchors and aliases up to here expand to more than {MAX_COPIED} values: write them out");
        Err(Fault::new(ProblemKind::TooLarge, span, message))
    }
}

impl<'a> Node<'a> {
    /// Its text, if it is text or a number.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the common term for such a value.
    pub(crate) fn description(&self) -> &'static str {
        match self.value {
            Value::Null => "nothing",
            Value::Scalar(_) => "text",
            Value::Sequence(_) | Value::Streamed => "a list",
            Value::Mapping(_) => "a mapping (key: value)",
        }
    }
}

fn scalar(text: Cow<'_, str>, style: ScalarStyle) -> Value<'_> {
    let null = style == ScalarStyle::Plain && matches!(&*text, "" | "~" | "null" | "Null" | "NULL");
    if null { Value::Null } else { Value::Scalar(text) }
}

/// The span of a collection: up to its bracket, or up to its last value where it has none.
fn whole(style: StructureStyle, start: Span, last: Span, end: Span) -> Span {
    match style {
        StructureStyle::Flow => start.to(end),
        StructureStyle::Block => start.to(last),
    }
}

fn weight(node: &Node<'_>) -> usize {
    1 + match &node.value {
        Value::Sequence(items) => items.iter().map(weight).sum(),
        Value::Mapping(entries) => entries.iter().map(|entry| weight(&entry.key) + weight(&entry.value)).sum(),
        Value::Null | Value::Scalar(_) | Value::Streamed => 0,
    }
}

fn refuse_tag(tag: Option<&Tag>, span: Span) -> Loaded<()> {
    match tag {
        Some(tag) if !tag.is_yaml_core_schema() => {
            let message = format!("the tag {} is not known here: write the value without it", tag.original());
            Err(Fault::new(ProblemKind::Syntax, span, message))
        }
        _ => Ok(()),
    }
}
