//! Schemes with their parameters: the schemes' descriptors define the keys and their values.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use wayleave_scheme_api::{Descriptor, ParamValues, Parameter, Value as Setting, ValueKind};
use wayleave_topology::Network;

use super::ends::read_host;
use super::scalars::{exactly_one, unknown_word};
use crate::fields::{Fields, Shape};
use crate::problem::{ProblemKind, Problems};
use crate::tree::{Node, Value};

/// The schemes among which a key of a scenario chooses.
pub(crate) struct SchemeChoice {
    /// Description of the mapping in messages, with an article.
    pub(crate) what: &'static str,
    /// Description of the word in messages.
    pub(crate) word: &'static str,
    /// The schemes.
    pub(crate) all: &'static [&'static Descriptor],
}

impl SchemeChoice {
    /// The keys of a mapping that chooses one: of schemes with parameters.
    pub(crate) fn shape(&self) -> &'static Shape {
        kept(("choice", self.what), || {
            let adjustable = self.all.iter().filter(|scheme| !scheme.parameters.is_empty());
            let keys: Vec<&'static str> = adjustable.map(|scheme| &*camel(scheme.name).leak()).collect();
            Shape { what: self.what, keys: keys.leak() }
        })
    }
}

/// The keys of a mapping with the parameters of a scheme.
pub(crate) fn shape(scheme: &'static Descriptor) -> &'static Shape {
    kept((scheme.roles.first().map_or("", |role| role.name()), scheme.name), || {
        let keys: Vec<&'static str> = scheme.parameters.iter().map(|parameter| parameter.key).collect();
        Shape { what: scheme.title, keys: keys.leak() }
    })
}

/// Returns a shape that is created once and kept forever: there are as many shapes as schemes.
fn kept(name: (&'static str, &'static str), make: impl FnOnce() -> Shape) -> &'static Shape {
    type Shapes = HashMap<(&'static str, &'static str), &'static Shape>;
    static SHAPES: LazyLock<Mutex<Shapes>> = LazyLock::new(Mutex::default);
    let mut shapes = SHAPES.lock().unwrap_or_else(PoisonError::into_inner);
    shapes.entry(name).or_insert_with(|| Box::leak(Box::new(make())))
}

/// `static-limits` as a key: `staticLimits`.
pub(crate) fn camel(name: &str) -> String {
    let mut parts = name.split('-');
    let mut key = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let mut letters = part.chars();
        key.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        key.push_str(letters.as_str());
    }
    key
}

/// The parameter whose value may be given without its key: the only one, or the only required one.
pub(crate) fn short(scheme: &Descriptor) -> Option<&'static Parameter> {
    let mut required = scheme.parameters.iter().filter(|parameter| !parameter.example.is_empty());
    match (scheme.parameters, required.next(), required.next()) {
        ([only], ..) => Some(only),
        (_, Some(only), None) => Some(only),
        _ => None,
    }
}

/// Reads a scheme: its name, or a mapping of its name to its parameters.
pub(super) fn read(
    node: &Node<'_>,
    choice: &SchemeChoice,
    network: Option<&Network>,
    problems: &mut Problems<'_>,
) -> Option<(&'static Descriptor, ParamValues)> {
    if let Value::Mapping(_) = node.value {
        let shape = choice.shape();
        let fields = Fields::read(node, shape, problems)?;
        let (key, node) = exactly_one(&fields, choice.what, shape.keys, problems)?;
        let scheme = choice.all.iter().copied().find(|scheme| camel(scheme.name) == key)?;
        let given = match short(scheme) {
            Some(only) if !matches!(node.value, Value::Mapping(_)) => {
                vec![(0, read_value(node, only, network, problems)?)]
            }
            _ => read_parameters(node, scheme, network, problems)?,
        };
        return Some((scheme, given));
    }
    let word = node.expect_text(problems)?;
    let Some(scheme) = choice.all.iter().copied().find(|scheme| scheme.name == word) else {
        let names: Vec<&str> = choice.all.iter().map(|scheme| scheme.name).collect();
        unknown_word(node, choice.word, word, &names, problems);
        return None;
    };
    if let Some(parameter) = scheme.parameters.iter().find(|parameter| !parameter.example.is_empty()) {
        let needs = match parameter.missing {
            "" => format!("a {word} needs a value"),
            missing => missing.to_owned(),
        };
        let example = match short(scheme) {
            Some(_) => parameter.example.to_owned(),
            None => format!("{{ {}: {} }}", parameter.key, parameter.example),
        };
        let message = || format!("{needs}: write `{{ {}: {example} }}`", camel(word));
        problems.report(ProblemKind::WrongType, node.span, message);
        return None;
    }
    Some((scheme, ParamValues::new()))
}

/// Reads the parameters of a scheme.
pub(super) fn read_parameters(
    node: &Node<'_>,
    scheme: &'static Descriptor,
    network: Option<&Network>,
    problems: &mut Problems<'_>,
) -> Option<ParamValues> {
    let fields = Fields::read(node, shape(scheme), problems)?;
    let required = scheme.parameters.iter().filter(|parameter| !parameter.example.is_empty());
    let before = problems.mark();
    fields.require_all(required.map(|parameter| parameter.key), problems);
    let mut given = ParamValues::new();
    for (position, parameter) in scheme.parameters.iter().enumerate() {
        if let Some(node) = fields.get(parameter.key) {
            given.extend(read_value(node, parameter, network, problems).map(|value| (position, value)));
        }
    }
    (problems.mark() == before).then_some(given)
}

/// Reads one value. Its range is checked later, with all other constraints on runs.
fn read_value(
    node: &Node<'_>,
    parameter: &Parameter,
    network: Option<&Network>,
    problems: &mut Problems<'_>,
) -> Option<Setting> {
    if let (ValueKind::Hundredths { .. }, Some(text)) = (parameter.kind, node.text())
        && let Err(message) = parameter.kind.parse(text)
        && message.starts_with(|first: char| first.is_ascii_digit() || first == '-')
    {
        problems.report(ProblemKind::BadValue, node.span, || format!("{} {message}", parameter.key));
        return None;
    }
    read_kind(node, &parameter.kind, network, problems)
}

fn read_kind(
    node: &Node<'_>,
    kind: &ValueKind,
    network: Option<&Network>,
    problems: &mut Problems<'_>,
) -> Option<Setting> {
    match kind {
        ValueKind::List(kind) => {
            let items = node.expect_list("values", problems)?;
            let items: Vec<_> = items.iter().map(|item| read_kind(item, kind, network, problems)).collect();
            items.into_iter().collect::<Option<_>>().map(Setting::List)
        }
        ValueKind::ByService(kind) => {
            let Value::Mapping(entries) = &node.value else {
                let message = || format!("values by services are expected here, not {}", node.description());
                problems.report(ProblemKind::WrongType, node.span, message);
                return None;
            };
            let mut values = Vec::new();
            for entry in entries {
                let name = entry.key.expect_text(problems);
                values.push(name.map(str::to_owned).zip(read_kind(&entry.value, kind, network, problems)));
            }
            values.into_iter().collect::<Option<_>>().map(Setting::ByName)
        }
        ValueKind::Host => read_host(node, network?, problems).map(Setting::Node),
        ValueKind::Scheme(scheme) => read_parameters(node, scheme, network, problems).map(Setting::Scheme),
        ValueKind::Word(words) => {
            let text = node.expect_text(problems)?;
            let known = words.iter().find(|word| word.word == text);
            if known.is_none() {
                let known: Vec<&str> = words.iter().map(|word| word.word).collect();
                unknown_word(node, "word", text, &known, problems);
            }
            known.map(|word| Setting::Word(word.word))
        }
        kind => {
            let read = kind.parse(node.expect_text(problems)?);
            let read = read.and_then(|value| match (kind, &value) {
                (ValueKind::Count { most, .. }, Setting::Count(count)) if count > most => {
                    Err(format!("{count} is too large: expected at most {most}"))
                }
                _ => Ok(value),
            });
            match read {
                Ok(value) => Some(value),
                Err(message) => {
                    problems.report(ProblemKind::BadValue, node.span, || message);
                    None
                }
            }
        }
    }
}
