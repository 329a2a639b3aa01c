//! `wayleave what-if`: what would break, move or be refused; nothing is changed by asking.

use std::io::Write;

use clap::Args;
use wayleave::remote::{Document, Method, read_specs};
use wayleave_explain::human::count;
use wayleave_formats::Source;
use wayleave_protocol::decision::ApplyReport;
use wayleave_protocol::what_if::{Prospect, Question};

use crate::client::{Service, Target, show};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::inputs::check_stdin;
use crate::output::{OutputFormat, out};

const EXAMPLE: &str = "\
Examples:
  wayleave what-if --fail pod1-agg1
  wayleave what-if --apply larger.yaml --drain h3
  wayleave what-if -f contracts.yaml -t fat-tree:k=4 --fail 'pod1-edge1->pod1-agg1'";

/// Say what would break, move or be refused if something failed, came or went
#[derive(Args, Clone, Debug)]
#[command(after_help = exit::after(EXAMPLE))]
pub(crate) struct WhatIfArgs {
    /// A link or node that fails; link:NAME and node:NAME say which of both
    #[arg(long, value_name = "NAME")]
    fail: Vec<String>,
    /// A link or node that is up again
    #[arg(long, value_name = "NAME")]
    restore: Vec<String>,
    /// A contract that is deleted
    #[arg(long, value_name = "CONTRACT")]
    delete: Vec<String>,
    /// Contracts that are created or get other terms: YAML, JSON or CSV; - is stdin
    #[arg(long, value_name = "FILE")]
    apply: Vec<String>,
    /// A host whose VMs go elsewhere, with their contracts
    #[arg(long, value_name = "HOST")]
    drain: Vec<String>,
    /// Ask without a controller: as if these contracts were admitted one after another on the network that -t names
    #[arg(short = 'f', long = "file", value_name = "CONTRACTS")]
    files: Vec<String>,
    /// How to print the answer
    #[arg(short, long, value_enum, default_value_t)]
    output: OutputFormat,
    #[command(flatten)]
    target: Target,
}

/// Runs the command.
pub(crate) fn run(args: &WhatIfArgs) -> Result<Exit, Failure> {
    check_stdin(args.files.iter().chain(&args.apply).map(String::as_str))?;
    let service = if args.files.is_empty() { args.target.service()? } else { args.imagined()? };
    let question = args.question(&service)?;
    if question == Question::default() {
        return Err(Failure::Usage("what if what? --fail, --restore, --apply, --delete or --drain say so".to_owned()));
    }
    let (_, would): (_, Prospect) = service.send(Method::Post, "/v1/what-if", &question)?;
    match args.output {
        OutputFormat::Json => show::json(&would)?,
        OutputFormat::Table => {
            let mut out = out();
            show::changes::prospect(&mut out, &would)?;
            out.flush()?;
        }
    }
    let breaks = !would.degraded.is_empty() || !would.refused.is_empty();
    Ok(if breaks { Exit::Refused } else { Exit::Fine })
}

impl WhatIfArgs {
    /// A controller that has what the files say, and is forgotten.
    fn imagined(&self) -> Result<Service, Failure> {
        let service = self.target.imagined("what-if -f")?;
        for file in &self.files {
            let source = Source::read(file)?;
            let document = Document::of(&source)?;
            let report = service.send_text::<ApplyReport>(Method::Post, "/v1/apply", document.text());
            let (_, report) = report.map_err(|trouble| document.locate(trouble))?;
            if report.refused > 0 {
                let all = count(report.items.len(), "contract");
                eprintln!(
                    "note: {} of {all} in {file} refused from the start: `wayleave plan` says why",
                    report.refused
                );
            }
        }
        Ok(service)
    }

    fn question(&self, service: &Service) -> Result<Question, Failure> {
        let bare = |names: &[String]| -> Vec<String> {
            let name = |name: &String| {
                let bare = name.strip_prefix("link:").or_else(|| name.strip_prefix("node:"));
                bare.unwrap_or(name).to_owned()
            };
            names.iter().map(name).collect()
        };
        let mut apply = Vec::new();
        for file in &self.apply {
            apply.extend(read_specs(&Source::read(file)?)?);
        }
        Ok(Question {
            fail: bare(&self.fail),
            restore: bare(&self.restore),
            delete: self.delete.iter().map(|name| service.id(name)).collect(),
            apply,
            drain: self.drain.clone(),
        })
    }
}
