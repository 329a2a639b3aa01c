//! The files that a scenario names.

use std::collections::HashMap;

use crate::messages::quoted;
use crate::problem::{InputErrors, ProblemKind, Problems};
use crate::source::Source;
use crate::tree::Node;

/// Opens files, each once.
pub(super) struct Files<'f> {
    open: &'f dyn Fn(&str) -> Result<Source, InputErrors>,
    opened: HashMap<String, Source>,
    order: Vec<Source>,
}

impl<'f> Files<'f> {
    pub(super) fn new(open: &'f dyn Fn(&str) -> Result<Source, InputErrors>) -> Self {
        Self { open, opened: HashMap::new(), order: Vec::new() }
    }

    /// Returns the sources read, in order.
    pub(super) fn into_sources(self) -> Vec<Source> {
        self.order
    }

    /// Reads the file named at a node. A file that cannot be opened is a problem of the name; problems of its content
    /// keep their positions in it.
    pub(super) fn read<T>(
        &mut self,
        node: &Node<'_>,
        problems: &mut Problems<'_>,
        parse: impl FnOnce(&Source) -> Result<T, InputErrors>,
    ) -> Option<T> {
        let source = self.open(node, problems)?;
        match parse(&source) {
            Ok(read) => Some(read),
            Err(errors) => {
                problems.adopt(errors);
                None
            }
        }
    }

    fn open(&mut self, node: &Node<'_>, problems: &mut Problems<'_>) -> Option<Source> {
        let name = node.expect_text(problems)?;
        if let Some(source) = self.opened.get(name) {
            return Some(source.clone());
        }
        match (self.open)(name) {
            Ok(source) => {
                self.opened.insert(name.to_owned(), source.clone());
                self.order.push(source.clone());
                Some(source)
            }
            Err(errors) => {
                let reason = errors.problems().first().map_or("cannot be read", |problem| problem.message());
                problems.report(ProblemKind::Unreadable, node.span, || format!("{}: {reason}", quoted(name)));
                None
            }
        }
    }
}
