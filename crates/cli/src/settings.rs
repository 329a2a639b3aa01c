//! Settings of `serve` from flags, the environment and a file, in this order.
//!
//! There is one table of settings: the options of the command. Settings of the environment or the file are passed to
//! the parser like flags, unless there is such a flag. So each setting has one type, one check and one help.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command};
use toml::Value;

use crate::failure::Failure;

/// The command whose options are settings.
const COMMAND: &str = "serve";
const PREFIX: &str = "WAYLEAVE_";
/// Suffixes of environment variables that commands asking a server use.
const OF_CLIENTS: [&str; 6] = ["SERVER", "CONTEXT", "TOKEN_FILE", "CA", "CERT", "KEY"];
/// Default paths of the file.
const FILES: [&str; 2] = ["wayleave.toml", "/etc/wayleave/wayleave.toml"];

/// Source of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    Flag,
    Environment(String),
    File(PathBuf),
    Default,
    /// Not set, which has a meaning of its own.
    Unset,
}

/// A setting with its effective value.
pub(crate) struct Setting {
    name: String,
    values: Vec<String>,
    is_flag: bool,
    origin: Origin,
}

/// Returns the command line with the settings of the environment and the file, if the command uses them.
pub(crate) fn layered(line: Vec<OsString>, whole: fn() -> Command) -> Result<Vec<OsString>, Failure> {
    check_variables(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()), whole)?;
    let mut all = line.clone();
    if let Some(given) = matches(&line, whole) {
        for setting in below(&given, whole)? {
            all.extend(setting.arguments());
        }
    }
    Ok(all)
}

/// All settings of a command line of `serve`.
pub(crate) fn all(line: Vec<OsString>, whole: fn() -> Command) -> Result<Vec<Setting>, Failure> {
    let Some(given) = matches(&line, whole) else { return Ok(Vec::new()) };
    let mut lower = below(&given, whole)?;
    let mut settings = Vec::new();
    for arg in options(whole) {
        let Some(name) = arg.get_long().map(str::to_owned) else { continue };
        let is_flag = is_flag(&arg);
        let setting = match lower.iter().position(|setting| setting.name == name) {
            Some(at) => lower.swap_remove(at),
            None => {
                let (values, origin) = spoken(&arg, &given);
                Setting { name, values, is_flag, origin }
            }
        };
        settings.push(setting);
    }
    Ok(settings)
}

/// Returns the value of a flag, or its default.
fn spoken(arg: &Arg, given: &ArgMatches) -> (Vec<String>, Origin) {
    let id = arg.get_id().as_str();
    let is_explicit = given.value_source(id) == Some(ValueSource::CommandLine);
    if is_flag(arg) {
        return (vec![is_explicit.to_string()], if is_explicit { Origin::Flag } else { Origin::Default });
    }
    let raw = given.get_raw(id).into_iter().flatten().map(|value| value.to_string_lossy().into_owned()).collect();
    match (is_explicit, arg.get_default_values().is_empty()) {
        (true, _) => (raw, Origin::Flag),
        (false, false) => (raw, Origin::Default),
        (false, true) => (Vec::new(), Origin::Unset),
    }
}

/// The options of the command.
fn options(whole: fn() -> Command) -> Vec<Arg> {
    let mut command = whole();
    command.build();
    let own = command.find_subcommand(COMMAND).map(Command::get_arguments).into_iter().flatten();
    own.filter(|arg| !matches!(arg.get_id().as_str(), "help" | "version")).cloned().collect()
}

fn is_flag(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::SetTrue)
}

/// Returns the flags of the line, as far as they can be parsed: errors are reported later, by the real parser.
fn matches(line: &[OsString], whole: fn() -> Command) -> Option<ArgMatches> {
    if line.get(1)? != COMMAND || line.iter().any(|word| word == "--help" || word == "-h") {
        return None;
    }
    let matches = whole().ignore_errors(true).try_get_matches_from(line).ok()?;
    matches.subcommand_matches(COMMAND).cloned()
}

/// Returns the settings of the environment and the file that are not overridden.
fn below(given: &ArgMatches, whole: fn() -> Command) -> Result<Vec<Setting>, Failure> {
    let options = options(whole);
    let mut settings: Vec<Setting> = Vec::new();
    let is_explicit = |arg: &Arg, settings: &[Setting]| {
        given.value_source(arg.get_id().as_str()) == Some(ValueSource::CommandLine)
            || settings.iter().any(|setting| Some(setting.name.as_str()) == arg.get_long())
    };
    for arg in &options {
        let Some(name) = arg.get_long() else { continue };
        let set: Vec<(String, String)> = names_of(arg)
            .map(variable)
            .filter_map(|name| std::env::var(&name).ok().map(|value| (name, value)))
            .collect();
        if let [(first, _), (second, _), ..] = &set[..] {
            return Err(Failure::Usage(format!("{first} and {second} are two names of one setting: unset one")));
        }
        let Some((variable, value)) = set.into_iter().next().filter(|_| !is_explicit(arg, &settings)) else { continue };
        let origin = Origin::Environment(variable);
        settings.push(Setting { name: name.to_owned(), values: vec![value], is_flag: is_flag(arg), origin });
    }
    let named = given.get_one::<PathBuf>("config").cloned();
    let named =
        named.or_else(|| settings.iter().find(|one| one.name == "config").map(|one| one.values[0].clone().into()));
    let file = named.or_else(|| FILES.iter().map(PathBuf::from).find(|path| path.exists()));
    if let Some(file) = file {
        for (name, value) in read(&file, &options)? {
            let Some(arg) = options.iter().find(|arg| arg.get_long() == Some(&name)) else { continue };
            if !is_explicit(arg, &settings) {
                let origin = Origin::File(file.clone());
                settings.push(Setting { name, values: value, is_flag: is_flag(arg), origin });
            }
        }
    }
    for setting in &settings {
        setting.check()?;
    }
    Ok(settings)
}

/// A variable that is nearly called like one that means something was meant to be that: without a word it would be as if it were not there.
fn check_variables(names: impl Iterator<Item = String>, whole: fn() -> Command) -> Result<(), Failure> {
    let ours = names.filter_map(|name| name.strip_prefix(PREFIX).map(str::to_owned));
    // Variables that Kubernetes sets for a service named wayleave, and variables of tests and labs for their own
    // processes.
    let is_others =
        |name: &String| ["PORT", "SERVICE_", "FAULTS_", "LAB_", "TEST_"].iter().any(|of| name.starts_with(of));
    let mut ours = ours.filter(|name| !is_others(name)).peekable();
    if ours.peek().is_none() {
        return Ok(());
    }
    let known: Vec<String> = options(whole).iter().flat_map(names_of).map(variable).collect();
    let known = || known.iter().filter_map(|name| name.strip_prefix(PREFIX)).chain(OF_CLIENTS);
    let wrong = ours.find_map(|name| {
        let is_known = known().any(|known| known == name);
        let nearest = if is_known { None } else { wayleave_explain::sentences::nearest(&name, known()) };
        nearest.map(|nearest| format!("unknown variable {PREFIX}{name}; did you mean {PREFIX}{nearest}?"))
    });
    wrong.map_or(Ok(()), |wrong| Err(Failure::Usage(wrong)))
}

fn variable(name: &str) -> String {
    format!("{PREFIX}{}", name.to_uppercase().replace('-', "_"))
}

/// Returns the name of an option, then its old names, all without dashes.
fn names_of(arg: &Arg) -> impl Iterator<Item = &str> {
    arg.get_long().into_iter().chain(arg.get_all_aliases().unwrap_or_default())
}

/// Returns the contents of a file: names and values.
fn read(file: &Path, options: &[Arg]) -> Result<Vec<(String, Vec<String>)>, Failure> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).map_err(|error| Failure::Located(format!("{shown}: {error}")))?;
    let table: toml::Table =
        text.parse().map_err(|error: toml::de::Error| Failure::Located(format!("{shown}: {error}")))?;
    let mut settings: Vec<(String, Vec<String>)> = Vec::new();
    for (name, value) in &table {
        let place = place(&text, name).map_or_else(|| shown.to_string(), |line| format!("{shown}:{line}"));
        let known = || options.iter().filter(|arg| arg.get_long() != Some("config"));
        let Some(arg) = known().find(|arg| names_of(arg).any(|known| known == name)) else {
            let nearest = wayleave_explain::sentences::nearest(name, known().filter_map(|arg| arg.get_long()));
            let hint = nearest.map_or_else(
                || "; `wayleave config show` prints all settings".to_owned(),
                |nearest| format!("; did you mean {nearest}?"),
            );
            return Err(Failure::Located(format!("{place}: unknown setting {name}{hint}")));
        };
        if let Some(used) = names_of(arg).find(|other| *other != name && table.contains_key(*other)) {
            return Err(Failure::Located(format!(
                "{place}: {name} and {used} are two names of one setting: remove one"
            )));
        }
        let values = texts(value).ok_or_else(|| {
            Failure::Located(format!("{place}: {name}: expected text, a number, true, false, or a list of them"))
        })?;
        settings.push((arg.get_long().unwrap_or(name).to_owned(), values));
    }
    Ok(settings)
}

/// Returns the line number of a key.
fn place(text: &str, name: &str) -> Option<usize> {
    let is_key = |line: &str| line.split('=').next().is_some_and(|key| key.trim().trim_matches('"') == name);
    text.lines().position(is_key).map(|line| line + 1)
}

fn texts(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Integer(number) => Some(vec![number.to_string()]),
        Value::Float(number) => Some(vec![number.to_string()]),
        Value::Boolean(flag) => Some(vec![flag.to_string()]),
        Value::Array(list) => {
            let parts: Option<Vec<Vec<String>>> = list.iter().map(texts).collect();
            Some(vec![parts?.concat().join(",")])
        }
        Value::Datetime(_) | Value::Table(_) => None,
    }
}

impl Setting {
    fn check(&self) -> Result<(), Failure> {
        let message = self.values.first().map(String::as_str);
        if self.is_flag && !matches!(message, Some("true" | "false")) {
            return Err(Failure::Located(format!("{}: {}: expected true or false", self.from(), self.name)));
        }
        Ok(())
    }

    /// As the parser takes it.
    fn arguments(&self) -> Vec<OsString> {
        let option = format!("--{}", self.name);
        match (self.is_flag, self.values.first()) {
            (true, Some(message)) if message == "true" => vec![option.into()],
            (true, _) | (false, None) => Vec::new(),
            (false, Some(value)) => vec![format!("{option}={value}").into()],
        }
    }

    fn from(&self) -> String {
        match &self.origin {
            Origin::Flag => format!("flag --{}", self.name),
            Origin::Environment(variable) => format!("environment {variable}"),
            Origin::File(path) => format!("file {}", path.display()),
            Origin::Default => "default".to_owned(),
            Origin::Unset => "not set".to_owned(),
        }
    }

    /// As a line of a file that `serve` reads.
    pub(crate) fn write(&self, out: &mut impl Write, with_origin: bool) -> io::Result<()> {
        let value = match &self.values[..] {
            [] => String::new(),
            [one] if self.is_flag || one.parse::<u64>().is_ok() => one.clone(),
            [one] => Value::from(one.as_str()).to_string(),
            many => Value::from(many.join(",")).to_string(),
        };
        // The file cannot contain its own path.
        let is_comment = self.origin == Origin::Unset || self.name == "config";
        let line = format!("{}{} = {value}", if is_comment { "# " } else { "" }, self.name);
        if with_origin { writeln!(out, "{line:<48} # {}", self.from()) } else { writeln!(out, "{}", line.trim_end()) }
    }
}
