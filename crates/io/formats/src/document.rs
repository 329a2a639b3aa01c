//! Common parts of all documents: `apiVersion`, `kind`, `metadata` and `spec`.

use crate::fields::{Fields, Shape};
use crate::location::Span;
use crate::messages::{did_you_mean_one_of, quoted};
use crate::problem::{ProblemKind, Problems};
use crate::source::Source;
use crate::tree::{Fault, Loader, Node, Value};

/// The `apiVersion` of every document.
pub const API_VERSION: &str = "wayleave/v1";

pub(crate) const DOCUMENT: Shape = Shape { what: "a document", keys: &["apiVersion", "kind", "metadata", "spec"] };
pub(crate) const METADATA: Shape = Shape { what: "metadata", keys: &["name"] };

/// A sort of document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DocumentKind {
    /// Nodes and links, or a builder.
    Topology,
    /// Requests of tenants.
    Contracts,
    /// Contracts that come, change and go.
    Events,
    /// A simulation.
    Scenario,
    /// Tenants with their quotas, and VMs.
    Tenants,
    /// Nodes that an agent drives.
    Agent,
    /// Sharing of a contention point's bandwidth.
    Policy,
}

impl DocumentKind {
    /// All of them.
    pub const ALL: [Self; 7] =
        [Self::Topology, Self::Contracts, Self::Events, Self::Scenario, Self::Tenants, Self::Agent, Self::Policy];

    /// Returns the word after `kind:`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Topology => "Topology",
            Self::Contracts => "Contracts",
            Self::Events => "Events",
            Self::Scenario => "Scenario",
            Self::Tenants => "Tenants",
            Self::Agent => "Agent",
            Self::Policy => "Policy",
        }
    }

    /// Returns the beginning of a file of this kind, as a hint.
    fn beginning(self) -> String {
        let csv = if self == Self::Contracts { "; CSV is read from files that end in .csv" } else { "" };
        format!("it begins with `apiVersion: {API_VERSION}` and `kind: {}`{csv}", self.name())
    }

    /// The list that can be long: its items are read one by one.
    const fn list(self) -> [&'static str; 2] {
        match self {
            // No key of any document: these are read as a whole.
            Self::Topology | Self::Scenario | Self::Tenants | Self::Agent | Self::Policy => ["spec", ""],
            Self::Contracts => ["spec", "contracts"],
            Self::Events => ["spec", "events"],
        }
    }
}

/// A document whose head is right.
pub(crate) struct Document<'a> {
    /// `metadata.name`, or the name of the file.
    pub(crate) name: String,
    pub(crate) spec: Node<'a>,
}

/// Reads a document of a kind. Items of its list, if it has one, go to `on_item`, and `spec` has a
/// [`Value::Streamed`] in their place.
pub(crate) fn read<'a>(
    text: &'a str,
    kind: DocumentKind,
    problems: &mut Problems<'_>,
    mut on_item: impl FnMut(Node<'a>, &mut Problems<'_>),
) -> Option<Document<'a>> {
    let mut last_item = problems.mark();
    let mut hand_over = |item| {
        last_item = problems.mark();
        on_item(item, problems);
    };
    let loaded = Loader::new(text, kind.list(), &mut hand_over).load();
    match loaded {
        Ok(Some(root)) if !matches!(root.value, Value::Null) => head(root, kind, problems),
        Ok(_) => {
            problems.report(ProblemKind::Empty, Span::default(), || {
                let nothing = if text.trim().is_empty() { "the file is empty" } else { "there are only comments here" };
                let message = format!("{nothing}: expected a document of kind {}", kind.name());
                (message, kind.beginning())
            });
            None
        }
        Err(fault) => {
            let Fault { kind, span, message } = *fault;
            problems.forget_missing_since(last_item);
            problems.report(kind, span, || message);
            None
        }
    }
}

/// Reads a text that is one contract, without a document around it.
pub(crate) fn read_bare<'a>(text: &'a str, problems: &mut Problems<'_>) -> Option<Node<'a>> {
    let root = match Loader::new(text, ["", ""], &mut |_| {}).load() {
        Ok(root) => root.filter(|root| !matches!(root.value, Value::Null)),
        Err(fault) => {
            problems.report(fault.kind, fault.span, || fault.message);
            return None;
        }
    };
    if root.is_none() {
        problems.report(ProblemKind::Empty, Span::default(), || "the text is empty: expected a contract".to_owned());
    }
    let root = root?;
    if let Value::Mapping(entries) = &root.value
        && let Some(head) = entries.iter().find(|entry| entry.key.text() == Some("apiVersion"))
    {
        problems.report(ProblemKind::WrongKind, head.key.span, || {
            let message = "this is a whole document: expected a single contract here".to_owned();
            (message, "omit apiVersion, kind and spec, or send the document to POST /v1/apply")
        });
        return None;
    }
    Some(root)
}

/// Returns the kind of document that a text states, if it can be parsed to that point.
///
/// ```
/// use wayleave_formats::{DocumentKind, Source, kind_of};
/// assert_eq!(kind_of(&Source::new("a.yaml", "kind: Events\nspec: {}\n")), Some(DocumentKind::Events));
/// assert_eq!(kind_of(&Source::new("a.csv", "name,from,to\n")), None);
/// ```
pub fn kind_of(source: &Source) -> Option<DocumentKind> {
    let root = Loader::new(source.text(), DocumentKind::Contracts.list(), &mut |_| {}).load().ok()??;
    let kind = take(root, "kind")?;
    DocumentKind::ALL.into_iter().find(|known| kind.text() == Some(known.name()))
}

/// Returns the name of a document: that of its metadata, otherwise the name of its file without the last suffix.
///
/// ```
/// use wayleave_formats::{Source, name_of};
/// assert_eq!(name_of(&Source::new("a.yaml", "kind: Policy\nmetadata: { name: racks }\n")), "racks");
/// assert_eq!(name_of(&Source::new("a.yaml", "kind: Policy\n")), "a");
/// ```
pub fn name_of(source: &Source) -> String {
    let root = Loader::new(source.text(), DocumentKind::Policy.list(), &mut |_| {}).load().ok().flatten();
    let name = root.and_then(|root| take(root, "metadata")).and_then(|metadata| take(metadata, "name"));
    name.as_ref().and_then(Node::text).unwrap_or_else(|| source.stem()).to_owned()
}

fn head<'a>(root: Node<'a>, kind: DocumentKind, problems: &mut Problems<'_>) -> Option<Document<'a>> {
    if !matches!(root.value, Value::Mapping(_)) {
        problems.report(ProblemKind::WrongType, root.span, || {
            let message = format!("this is {}: expected a document of kind {}", root.description(), kind.name());
            (message, kind.beginning())
        });
        return None;
    }
    let fields = Fields::read(&root, &DOCUMENT, problems)?;
    fields.require_all(["apiVersion", "kind", "spec"], problems);
    check_version(&fields, problems);
    check_kind(&fields, kind, problems)?;
    let name = fields
        .get("metadata")
        .and_then(|node| Fields::read(node, &METADATA, problems))
        .and_then(|metadata| metadata.text("name", problems))
        .unwrap_or_else(|| problems.source().stem())
        .to_owned();
    let spec = take(root, "spec").filter(|spec| !matches!(spec.value, Value::Null))?;
    Some(Document { name, spec })
}

/// Moves the value of a key out of a mapping.
fn take<'a>(node: Node<'a>, key: &str) -> Option<Node<'a>> {
    let Value::Mapping(entries) = node.value else { return None };
    entries.into_iter().find(|entry| entry.key.text() == Some(key)).map(|entry| entry.value)
}

fn check_version(fields: &Fields<'_, '_>, problems: &mut Problems<'_>) {
    let Some(node) = fields.get("apiVersion") else { return };
    if let Some(version) = node.expect_text(problems).filter(|version| *version != API_VERSION) {
        let message = || format!("unknown apiVersion {}: expected {API_VERSION}", quoted(version));
        problems.report(ProblemKind::WrongKind, node.span, message);
    }
}

/// Checks the kind. A document of another kind has other keys, so their problems so far are dropped.
fn check_kind(fields: &Fields<'_, '_>, expected: DocumentKind, problems: &mut Problems<'_>) -> Option<()> {
    let node = fields.get("kind")?;
    let given = node.expect_text(problems)?;
    if given == expected.name() {
        return Some(());
    }
    if DocumentKind::ALL.iter().any(|kind| kind.name() == given) {
        let message = || format!("this is a document of kind {given}: expected kind {}", expected.name());
        problems.overrule(ProblemKind::WrongKind, node.span, message);
    } else {
        let message = || format!("unknown kind {}{}", quoted(given), did_you_mean_one_of(given, &[expected.name()]));
        problems.overrule(ProblemKind::WrongKind, node.span, message);
    }
    None
}
