//! The options that choose an admission scheme and set it up, shared by the commands that decide contracts. They are
//! those that the schemes of the registry describe.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser, ValueParser};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Args, Command, FromArgMatches};
use wayleave::{DEFAULT_BUDGETS, SchemeOptions};
use wayleave_scheme_api::{Descriptor, ParamType, ParamValues, Parameter, Value, ValueKind, Word};
use wayleave_schemes::admission::chameleon::DefaultBudgets;
use wayleave_schemes::registry::{self, ADMISSION, SchemeEntry};

use crate::failure::Failure;
use crate::model_args::Base;

/// The group of all options of this module, for those that contradict them.
pub(crate) const SCHEME_OPTIONS: &str = "scheme-options";

/// Scheme that decides, with its parameters.
#[derive(Clone, Debug)]
pub(crate) struct SchemeArgs {
    scheme: &'static Descriptor,
    /// `true` if a scheme, or an option of one alone, was named.
    is_chosen: bool,
    /// `true` if any of these options was given.
    is_given: bool,
    /// Given parameters.
    given: ParamValues,
    /// An option of another scheme that was given, and that scheme: it would do nothing.
    stray: Option<(String, &'static str)>,
    /// The same two, if the scheme for all kinds decides.
    for_all: (ParamValues, Option<(String, &'static str)>),
}

/// Admits latency contracts.
const CHAMELEON: &Descriptor = &wayleave_schemes::admission::chameleon::DESCRIPTOR;
/// Admits contracts of all kinds.
const FOR_ALL: &Descriptor = &wayleave_schemes::admission::fabric::DESCRIPTOR;

impl Args for SchemeArgs {
    fn augment_args(command: Command) -> Command {
        let names = ADMISSION
            .iter()
            .map(|SchemeEntry { descriptor, .. }| PossibleValue::new(descriptor.name).help(descriptor.summary));
        let default = ADMISSION.first().map_or("", |entry| entry.descriptor.name);
        let scheme =
            Arg::new("scheme").long("scheme").help("Admission scheme").value_name("SCHEME").default_value(default);
        let scheme = scheme.value_parser(PossibleValuesParser::new(names)).help_heading("Scheme");
        let options = described().map(|(scheme, parameter)| option(scheme, parameter));
        let all: Vec<Arg> = std::iter::once(scheme).chain(options).collect();
        let group = ArgGroup::new(SCHEME_OPTIONS).multiple(true).args(all.iter().map(Arg::get_id).cloned());
        command.args(all).group(group)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for SchemeArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let unknown = || clap::Error::raw(clap::error::ErrorKind::InvalidValue, "no such scheme");
        let name = matches.get_one::<String>("scheme").ok_or_else(unknown)?;
        let scheme = registry::admission(name).ok_or_else(unknown)?.descriptor;
        let (given, stray) = given_values(scheme, described(), matches);
        let is_named = matches.value_source("scheme") == Some(ValueSource::CommandLine);
        let is_of_another = stray.as_ref().is_some_and(|(_, owner)| *owner != FOR_ALL.name);
        let chooses = |(position, _): &(usize, Value)| {
            scheme.parameters.get(*position).is_none_or(|parameter| !SHARED.contains(&parameter.key))
        };
        let is_chosen = is_named || given.iter().any(chooses) || is_of_another;
        let is_given = is_named || !given.is_empty() || stray.is_some();
        Ok(Self { scheme, is_chosen, is_given, given, stray, for_all: given_values(FOR_ALL, described(), matches) })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// The parameters of all schemes, each with its scheme.
fn described() -> impl Iterator<Item = (&'static Descriptor, &'static Parameter)> {
    let of_scheme = |entry: &'static SchemeEntry| entry.descriptor.parameters.iter().map(|one| (entry.descriptor, one));
    ADMISSION.iter().flat_map(of_scheme)
}

/// Returns the given parameters of a scheme, and a given option of another scheme with that scheme.
pub(crate) fn given_values(
    scheme: &'static Descriptor,
    all: impl Iterator<Item = (&'static Descriptor, &'static Parameter)>,
    matches: &ArgMatches,
) -> (ParamValues, Option<(String, &'static str)>) {
    let (mut given, mut stray) = (ParamValues::new(), None);
    for (owner, parameter) in all {
        let name = option_name(owner, parameter);
        let id = id(&name);
        if matches.value_source(&id) != Some(ValueSource::CommandLine) {
            continue;
        }
        if let Some(position) = shared_position(scheme, owner, parameter) {
            given.extend(value(parameter, &id, matches).map(|value| (position, value)));
            continue;
        }
        if owner.name != scheme.name {
            // A parameter that needs a flag is reported by its flag.
            if parameter.group.is_empty() && stray.is_none() {
                stray = Some((name, owner.name));
            }
            continue;
        }
        if let (Some(position), Some(value)) = (scheme.position(parameter.key), value(parameter, &id, matches)) {
            given.push((position, value));
        }
    }
    (given, stray)
}

/// Keys of the parameters that [`FOR_ALL`] shares with the scheme for latency contracts: budgets are settings of queues,
/// and do not choose a scheme.
const SHARED: [&str; 4] = ["budgets", "host_budgets", "default_budgets", "reroute"];

/// Returns the position in [`FOR_ALL`] of a parameter that it shares with its owner.
fn shared_position(scheme: &Descriptor, owner: &Descriptor, parameter: &Parameter) -> Option<usize> {
    let is_shared = scheme.name == FOR_ALL.name && owner.name == CHAMELEON.name && SHARED.contains(&parameter.key);
    scheme.position(parameter.key).filter(|_| is_shared)
}

/// The name of an option, without dashes.
pub(crate) fn option_name(scheme: &Descriptor, parameter: &Parameter) -> String {
    if !parameter.option.is_empty() {
        return parameter.option.to_owned();
    }
    let mut name = scheme.name.to_owned() + "-";
    for letter in parameter.key.chars() {
        if letter.is_ascii_uppercase() {
            name.push('-');
        }
        name.push(if letter == '_' { '-' } else { letter.to_ascii_lowercase() });
    }
    name
}

fn id(option: &str) -> String {
    option.replace('-', "_")
}

/// The option of a parameter.
pub(crate) fn option(scheme: &'static Descriptor, parameter: &'static Parameter) -> Arg {
    let name = option_name(scheme, parameter);
    let flag = scheme.parameters.iter().find(|flag| !parameter.group.is_empty() && flag.key == parameter.group);
    let mut option = Arg::new(id(&name)).help_heading(scheme.title);
    let mut help = parameter.sentence();
    // A switch that is absent is off.
    let default = parameter.default_text().filter(|_| !matches!(parameter.kind, ValueKind::Flag));
    match (flag, default) {
        (Some(flag), default) => {
            option = option.requires(id(&option_name(scheme, flag)));
            match default {
                Some(default) if parameter.default.is_empty() => option = option.default_value(default),
                Some(words) => help += &format!(" [default: {words}]"),
                None => {}
            }
        }
        (None, Some(default)) => help += &format!(" [default: {default}]"),
        (None, None) => {}
    }
    option = option.help(help).long(name);
    match parameter.kind {
        ValueKind::Flag => option.action(ArgAction::SetTrue),
        ValueKind::List(kind) => {
            let option = option.value_name(value_name(parameter, kind, "S")).action(ArgAction::Append);
            option.value_delimiter(',').value_parser(value_parser(kind))
        }
        ref kind => option.value_name(value_name(parameter, kind, "")).value_parser(value_parser(kind)),
    }
}

fn value_name(parameter: &Parameter, kind: &ValueKind, plural: &str) -> String {
    let name = match kind {
        _ if !parameter.value_name.is_empty() => return parameter.value_name.to_owned(),
        ValueKind::Time { .. } => "TIME",
        ValueKind::Rate { .. } => "RATE",
        ValueKind::Bytes { .. } => "SIZE",
        ValueKind::Count { .. } => "COUNT",
        ValueKind::Percent { .. } => "PERCENT",
        ValueKind::Hundredths { .. } | ValueKind::Fraction => "NUMBER",
        _ => "VALUE",
    };
    name.to_owned() + plural
}

fn value_parser(kind: &'static ValueKind) -> ValueParser {
    if let ValueKind::Word(all) = kind {
        return ValueParser::new(possible(all).map(Value::Text));
    }
    ValueParser::new(move |text: &str| {
        let value = kind.parse(text)?;
        kind.check(&value).map(|()| value)
    })
}

fn possible(words: &'static [Word]) -> PossibleValuesParser {
    PossibleValuesParser::new(words.iter().map(|word| PossibleValue::new(word.word).help(word.text)))
}

/// A parser for an option whose values are the words of an enumeration.
pub(crate) fn words<T: ParamType + Clone + Send + Sync + 'static>(words: &'static [Word]) -> ValueParser {
    let read = move |word: String| {
        let known = words.iter().find(|known| known.word == word);
        known.and_then(|known| T::from_value(Value::Word(known.word))).ok_or_else(|| format!("{word} is unknown"))
    };
    ValueParser::new(possible(words).try_map(read))
}

/// Returns the given value of a parameter.
fn value(parameter: &Parameter, id: &str, matches: &ArgMatches) -> Option<Value> {
    match parameter.kind {
        ValueKind::Flag => Some(Value::Flag(matches.get_flag(id))),
        ValueKind::List(_) => Some(Value::List(matches.get_many::<Value>(id)?.cloned().collect())),
        ValueKind::Word(words) => {
            let given = matches.get_one::<Value>(id)?.to_string();
            words.iter().find(|word| word.word == given).map(|word| Value::Word(word.word))
        }
        _ => matches.get_one::<Value>(id).cloned(),
    }
}

impl SchemeArgs {
    /// Returns `true` if any of these options was given.
    pub(crate) const fn is_given(&self) -> bool {
        self.is_given
    }

    /// The same for contracts of several kinds, or a network whose queues are divided for them: unless another scheme is chosen, the
    /// one that admits them all decides, and options may be its own.
    pub(crate) fn for_all_kinds(&self) -> Self {
        if self.is_chosen {
            return self.clone();
        }
        let (given, stray) = self.for_all.clone();
        Self { scheme: FOR_ALL, given, stray, ..self.clone() }
    }

    /// Sets default delay budgets, unless they were given.
    pub(crate) fn assume_budgets(&mut self, budgets: DefaultBudgets) {
        let (scheme, for_all) = (self.scheme, FOR_ALL);
        for (scheme, given) in [(scheme, &mut self.given), (for_all, &mut self.for_all.0)] {
            let position = scheme.position(DEFAULT_BUDGETS);
            let position = position.filter(|position| given.iter().all(|(known, _)| known != position));
            given.extend(position.map(|position| (position, budgets.to_value())));
        }
    }

    /// Returns the scheme with its given parameters, and the defaults of a base.
    pub(crate) fn options(&self, base: Base) -> Result<SchemeOptions, Failure> {
        if let Some((option, owner)) = &self.stray {
            return Err(Failure::Usage(format!("--{option} is an option of --scheme {owner}")));
        }
        Ok(SchemeOptions::named(self.scheme.name)?.given(self.given.clone()).defaults(base.defaults()))
    }
}
