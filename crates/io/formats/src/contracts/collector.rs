//! Check of the contracts of a list, one by one.

use std::borrow::Cow;
use std::collections::HashMap;

use super::field::{ContractField, FieldSpans};
use super::places::Addressed;
use super::terms::Terms;
use crate::location::Span;
use crate::messages::quoted;
use crate::problem::{ProblemKind, Problems};
use crate::tree::Node;

/// Scope in which the name of a contract is unique.
#[derive(Clone, Copy)]
pub(super) enum Scope {
    /// In the file.
    File,
    /// Among the contracts of its tenant.
    Tenant,
}

/// Makes what is listed of the terms of a contract.
pub(super) type Check<'a, 'c, T> = dyn Fn(&Terms<'a>, &mut Problems<'_>) -> Option<T> + 'c;

/// Checks contracts one by one and keeps those that are right.
pub(super) struct Collector<'a, 'c, T> {
    pub(super) check: &'c Check<'a, 'c, T>,
    pub(super) given: Addressed<'a>,
    pub(super) scope: Scope,
    pub(super) items: Vec<T>,
    pub(super) spans: Vec<FieldSpans>,
    pub(super) names: HashMap<Cow<'a, str>, Span>,
    /// Number of inspected contracts, right or wrong.
    pub(super) seen: usize,
}

impl<'a, T> Collector<'a, '_, T> {
    pub(super) fn add_node(&mut self, node: &Node<'a>, problems: &mut Problems<'_>) {
        let mark = problems.mark();
        match Terms::from_node(node, self.given, problems) {
            Some(terms) => self.add(&terms, problems, mark),
            None => self.seen += 1,
        }
    }

    /// Checks a contract; the problems since `mark` are about it.
    pub(super) fn add(&mut self, terms: &Terms<'a>, problems: &mut Problems<'_>, mark: usize) {
        self.seen += 1;
        self.check_name(terms, problems);
        if let Some(item) = (self.check)(terms, problems) {
            self.items.push(item);
            self.spans.push(terms.spans());
        }
        if problems.mark() > mark {
            problems.explain_since(mark, || terms.context("contract", self.seen));
        }
    }

    fn check_name(&mut self, terms: &Terms<'a>, problems: &mut Problems<'_>) {
        let Some(name) = terms.get(ContractField::Name) else { return };
        let key = match self.scope {
            Scope::File => name.text.clone(),
            // No tenant has a line end in its name.
            Scope::Tenant => Cow::Owned(format!("{}\n{}", terms.tenant().unwrap_or_default(), name.text)),
        };
        if let Some(&first) = self.names.get(&key) {
            let source = problems.source();
            problems.report(ProblemKind::DuplicateName, name.span, || {
                let line = source.line_of(first);
                format!("the name {} is already used on line {line}", quoted(&name.text))
            });
        } else {
            self.names.insert(key, name.span);
        }
    }
}
