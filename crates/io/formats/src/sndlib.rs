//! Networks in SNDlib's native form (Orlowski et al., 2010; sndlib.zib.de, "Format description: network"): `NODES (
//! Berlin ( 13.4 52.5 ) )` and `LINKS ( L1 ( Berlin Ulm ) 155.0 0 0 0 ( 622.0 10.0 ) )`.
//!
//! A line of `LINKS` has the capacity that is installed already, its cost, a routing cost, a setup cost, and the
//! capacities that can be installed. The installed capacity is the rate. Most instances have none there (0), since
//! the choice of capacities is their problem. The format states no unit. The direction of links is defined in another
//! file (the model): they are cables here.

use std::borrow::Cow;

use crate::graph::{Attribute, Graph, GraphEdge, GraphEnd, GraphNode, ImportOptions};
use crate::location::Span;
use crate::messages::quoted;
use crate::problem::{ProblemKind, Problems};

/// The beginning of every file.
pub(crate) const HEADER: &str = "?SNDlib native format";

#[derive(Clone, Copy, Debug)]
struct Token<'t> {
    text: &'t str,
    at: Span,
}

pub(crate) fn read<'t>(text: &'t str, _: &ImportOptions, problems: &mut Problems<'_>) -> Option<Graph<'t>> {
    let mut tokens = Tokens { all: tokens(text), next: 0, end: text.trim_end().len() };
    let mut graph = Graph { at: Span::new(0..HEADER.len().min(text.len())), ..Graph::default() };
    while let Some(section) = tokens.take() {
        tokens.expect("(", problems)?;
        match section.text {
            "NODES" => nodes(&mut tokens, &mut graph, problems)?,
            "LINKS" => links(&mut tokens, &mut graph, problems)?,
            other => {
                graph.unused.add_stated("the file", other, section.at);
                tokens.skip_group(problems)?;
            }
        }
    }
    Some(graph)
}

/// The words and brackets of a file, without its header line and comments.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let code = line.split('#').next().unwrap_or_default();
        if !line.starts_with('?') {
            let mut at = 0;
            while let Some(first) = code[at..].find(|c: char| !c.is_whitespace()).map(|first| at + first) {
                let rest = &code[first..];
                let bracket = rest.starts_with(['(', ')']);
                let length = match bracket {
                    true => 1,
                    false => rest.find(|c: char| c.is_whitespace() || c == '(' || c == ')').unwrap_or(rest.len()),
                };
                at = first + length;
                tokens.push(Token { text: &code[first..at], at: Span::new(start + first..start + at) });
            }
        }
        start += line.len();
    }
    tokens
}

struct Tokens<'t> {
    all: Vec<Token<'t>>,
    next: usize,
    end: usize,
}

impl<'t> Tokens<'t> {
    fn take(&mut self) -> Option<Token<'t>> {
        let token = self.all.get(self.next).copied();
        self.next += 1;
        token
    }

    fn peek(&self) -> Option<&'t str> {
        self.all.get(self.next).map(|token| token.text)
    }

    /// Returns the next word, or an error with the expected one.
    fn word(&mut self, what: &str, problems: &mut Problems<'_>) -> Option<Token<'t>> {
        match self.take() {
            Some(token) if token.text != "(" && token.text != ")" => Some(token),
            Some(token) => {
                problems.report(ProblemKind::Syntax, token.at, || format!("{what} is expected here"));
                None
            }
            None => self.ended(what, problems),
        }
    }

    fn expect(&mut self, text: &str, problems: &mut Problems<'_>) -> Option<()> {
        match self.take() {
            Some(token) if token.text == text => Some(()),
            Some(token) => {
                let message = || format!("\"{text}\" is expected here, not {}", quoted(token.text));
                problems.report(ProblemKind::Syntax, token.at, message);
                None
            }
            None => self.ended(text, problems),
        }
    }

    fn ended<T>(&self, what: &str, problems: &mut Problems<'_>) -> Option<T> {
        let at = Span::new(self.end..self.end);
        problems.report(ProblemKind::Syntax, at, || format!("the file ends here, and {what} is expected"));
        None
    }

    /// Passes over what is in brackets, of which the first is read; returns how many words that are.
    fn skip_group(&mut self, problems: &mut Problems<'_>) -> Option<usize> {
        let (mut depth, mut words) = (1, 0);
        while depth > 0 {
            match self.take().map(|token| token.text) {
                Some("(") => depth += 1,
                Some(")") => depth -= 1,
                Some(_) => words += 1,
                None => return self.ended("\")\"", problems),
            }
        }
        Some(words)
    }
}

fn nodes<'t>(tokens: &mut Tokens<'t>, graph: &mut Graph<'t>, problems: &mut Problems<'_>) -> Option<()> {
    while tokens.peek() != Some(")") {
        let id = tokens.word("the id of a node", problems)?;
        tokens.expect("(", problems)?;
        let mut attributes = Vec::new();
        for key in ["longitude", "latitude"] {
            attributes.push(attribute(key, tokens.word(key, problems)?));
        }
        tokens.expect(")", problems)?;
        // Hardware and options, for later versions of the format.
        while tokens.peek() == Some("(") {
            tokens.take();
            if tokens.skip_group(problems)? > 0 {
                graph.unused.add_stated("nodes", "options", id.at);
            }
        }
        graph.nodes.push(GraphNode { id: Cow::Borrowed(id.text), at: id.at, attributes, kind: None });
    }
    tokens.expect(")", problems)
}

fn links<'t>(tokens: &mut Tokens<'t>, graph: &mut Graph<'t>, problems: &mut Problems<'_>) -> Option<()> {
    while tokens.peek() != Some(")") {
        let id = tokens.word("the id of a link", problems)?;
        tokens.expect("(", problems)?;
        let ends = [tokens.word("the id of a node", problems)?, tokens.word("the id of a node", problems)?];
        tokens.expect(")", problems)?;
        let capacity = tokens.word("the capacity that is installed", problems)?;
        for cost in ["its cost", "the routing cost", "the setup cost"] {
            let cost = tokens.word(cost, problems)?;
            if cost.text.parse() != Ok(0.0) {
                graph.unused.add("links", "cost", cost.at);
            }
        }
        tokens.expect("(", problems)?;
        if tokens.skip_group(problems)? > 0 {
            graph.unused.add_stated("links", "modules", id.at);
        }
        let is_installed = capacity.text.parse() != Ok(0.0);
        let attributes = is_installed.then(|| attribute("capacity", capacity)).into_iter().collect();
        let ends = ends.map(|end| GraphEnd::new(Cow::Borrowed(end.text), end.at));
        graph.edges.push(GraphEdge { ends, directed: false, at: id.at, attributes });
    }
    tokens.expect(")", problems)
}

fn attribute<'t>(key: &'static str, value: Token<'t>) -> Attribute<'t> {
    Attribute { key: Cow::Borrowed(key), value: Some(Cow::Borrowed(value.text)), at: value.at }
}
