//! `wayleave schemes`: available schemes, their publications and their parameters.

use std::io::{self, Write};

use clap::Args;
use serde::Serialize;
use wayleave_explain::sentences::nearest;
use wayleave_scheme_api::{Descriptor, Parameter, Role, ValueKind};
use wayleave_schemes::registry;

use crate::broker_args::broker_option;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::{OutputFormat, out};
use crate::scheme_args::option_name;

const EXAMPLE: &str = "\
Examples:
  wayleave schemes
  wayleave schemes chameleon
  wayleave schemes -o json

An admission scheme is chosen with --scheme, all others in scenario files. Brokers of a scheme also run as programs: `wayleave broker` has options for their settings.";

/// List the schemes: roles, publications, guarantees and parameters
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct SchemesArgs {
    /// One scheme, with its parameters, their defaults and sources
    #[arg(value_name = "NAME")]
    name: Option<String>,
    /// Output format
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
}

/// Runs the command.
pub(crate) fn run(args: &SchemesArgs) -> Result<Exit, Failure> {
    let mut schemes: Vec<&'static Descriptor> = registry::all().collect();
    if let Some(name) = &args.name {
        schemes.retain(|scheme| scheme.name == name);
        if schemes.is_empty() {
            let near = nearest(name, registry::all().map(|scheme| scheme.name));
            let hint =
                near.map_or_else(|| "`wayleave schemes` lists them".to_owned(), |near| format!("did you mean {near}?"));
            return Err(Failure::Usage(format!("no scheme {name}: {hint}")));
        }
    }
    let mut out = out();
    match args.output {
        OutputFormat::Json => {
            let shapes: Vec<SchemeJson> = schemes.iter().map(|scheme| SchemeJson::of(scheme)).collect();
            serde_json::to_writer_pretty(&mut out, &shapes)?;
            writeln!(out)?;
        }
        OutputFormat::Table if args.name.is_some() => {
            for (index, scheme) in schemes.into_iter().enumerate() {
                if index > 0 {
                    writeln!(out)?;
                }
                details(&mut out, scheme)?;
            }
        }
        OutputFormat::Table => list(&mut out, &schemes)?,
    }
    out.flush()?;
    Ok(Exit::Fine)
}

/// All of them, by the role by which they are chosen.
fn list(out: &mut impl Write, schemes: &[&'static Descriptor]) -> io::Result<()> {
    let width = schemes.iter().map(|scheme| scheme.name.len()).max().unwrap_or(0);
    let mut last = None;
    for scheme in schemes {
        let role = scheme.roles.first();
        if role != last {
            writeln!(out, "{}{}", if last.is_some() { "\n" } else { "" }, role.map_or("", |role| role.name()))?;
            last = role;
        }
        let others: Vec<&str> = scheme.roles.iter().skip(1).map(|role| role.name()).collect();
        let others = if others.is_empty() { String::new() } else { format!(" (also {})", others.join(", ")) };
        let indent = width + 4;
        wrapped(out, &format!("  {:width$}  ", scheme.name), indent, &format!("{}{others}", scheme.summary))?;
        wrapped(out, &" ".repeat(indent), indent, &format!("guarantees {}", scheme.guarantee))?;
        wrapped(out, &" ".repeat(indent), indent, scheme.citation)?;
    }
    Ok(())
}

/// One of them, with its parameters.
fn details(out: &mut impl Write, scheme: &'static Descriptor) -> io::Result<()> {
    let roles: Vec<&str> = scheme.roles.iter().map(|role| role.name()).collect();
    writeln!(out, "{}: {}", scheme.title, roles.join(", "))?;
    wrapped(out, "  ", 2, scheme.summary)?;
    wrapped(out, "  guarantees ", 13, scheme.guarantee)?;
    wrapped(out, "  published  ", 13, scheme.citation)?;
    if scheme.parameters.is_empty() {
        return writeln!(out, "\nIt has no parameters.");
    }
    writeln!(out, "\nParameters")?;
    for parameter in scheme.parameters {
        writeln!(out, "  {}", parameter_text(scheme, parameter))?;
        wrapped(out, "      ", 6, &format!("{}. {}", parameter.sentence(), parameter.note))?;
        let range = parameter.kind.range();
        let range = if range.is_empty() { String::new() } else { format!(": {range}") };
        wrapped(out, "      values   ", 15, &format!("{}{range}", parameter.kind.name()))?;
        match parameter.default_text().filter(|_| parameter.example.is_empty()) {
            Some(default) => wrapped(out, "      default  ", 15, &format!("{default} ({})", parameter.source))?,
            None if matches!(parameter.kind, ValueKind::Scheme(_)) => {
                wrapped(out, "      default  ", 15, &format!("defaults of that scheme ({})", parameter.source))?;
            }
            None if parameter.example.is_empty() => {
                wrapped(out, "      default  ", 15, &format!("none ({})", parameter.source))?;
            }
            None => wrapped(out, "      default  ", 15, "required")?,
        }
    }
    Ok(())
}

/// Returns the notation of a parameter: an option, or a key of a scenario.
fn parameter_text(scheme: &Descriptor, parameter: &Parameter) -> String {
    if scheme.roles.first() == Some(&Role::Admission) {
        return format!("--{}", option_name(scheme, parameter));
    }
    match broker_option(scheme, parameter) {
        Some(option) => format!("{} ({option} of `wayleave broker`)", parameter.key),
        None => parameter.key.to_owned(),
    }
}

/// Prints a text after a beginning, in lines of at most 100 columns.
fn wrapped(out: &mut impl Write, begin: &str, indent: usize, text: &str) -> io::Result<()> {
    const WIDTH: usize = 100;
    let mut line = begin.to_owned();
    let mut is_empty = true;
    for word in text.split_whitespace() {
        if !is_empty && line.chars().count() + 1 + word.chars().count() > WIDTH {
            writeln!(out, "{line}")?;
            line = " ".repeat(indent);
            is_empty = true;
        }
        if !is_empty {
            line.push(' ');
        }
        line.push_str(word);
        is_empty = false;
    }
    writeln!(out, "{line}")
}

/// A scheme, for programs.
#[derive(Serialize)]
struct SchemeJson {
    name: &'static str,
    title: &'static str,
    roles: Vec<&'static str>,
    summary: &'static str,
    guarantee: &'static str,
    citation: &'static str,
    parameters: Vec<ParameterJson>,
}

#[derive(Serialize)]
struct ParameterJson {
    key: &'static str,
    /// Option on the command line, for brokers of `wayleave broker`; `None` for keys of scenario files only.
    option: Option<String>,
    kind: &'static str,
    values: String,
    default: Option<String>,
    source: &'static str,
    text: String,
}

impl SchemeJson {
    fn of(scheme: &'static Descriptor) -> Self {
        let is_admission = scheme.roles.first() == Some(&Role::Admission);
        let parameter = |parameter: &'static Parameter| ParameterJson {
            key: parameter.key,
            option: match is_admission {
                true => Some(format!("--{}", option_name(scheme, parameter))),
                false => broker_option(scheme, parameter),
            },
            kind: parameter.kind.name(),
            values: parameter.kind.range(),
            default: parameter.default_text().filter(|_| parameter.example.is_empty()),
            source: parameter.source,
            text: parameter.sentence(),
        };
        let &Descriptor { name, title, roles, summary, citation, guarantee, parameters } = scheme;
        Self {
            name,
            title,
            roles: roles.iter().map(|role| role.name()).collect(),
            summary,
            guarantee,
            citation,
            parameters: parameters.iter().map(parameter).collect(),
        }
    }
}
