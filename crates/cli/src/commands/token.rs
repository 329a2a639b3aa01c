//! `wayleave token`: makes and ends tokens.

use std::io::Write;
use std::path::PathBuf;

use crate::client::{Names, did_you_mean};
use clap::{Args, Subcommand, ValueEnum};
use wayleave_client::Method;
use wayleave_protocol::tenant::{NewToken, Role, TokenSpec};
use wayleave_units::WallTime;

use crate::client::contexts::write_private;
use crate::client::{Target, encode};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::out;

const EXAMPLE: &str = "\
Examples:
  wayleave token create --role tenant --of acme --label 'CI of acme' --to-file acme.token
  wayleave token create --role agent --node h1 > h1.token
  wayleave token create --role reader --certificate DNS:dashboard.example
  wayleave token delete t-8606be049c91";

/// Create or delete a token
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum TokenCommand {
    Create(CreateArgs),
    Delete(DeleteArgs),
}

/// Create a token and print its secret, which is not stored
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct CreateArgs {
    /// Role of the token
    #[arg(long, value_enum)]
    role: RoleName,
    /// Tenant, for the role tenant; for the role reader, limits what it may read
    #[arg(long, value_name = "TENANT")]
    of: Option<String>,
    /// Host or switch, for the role agent
    #[arg(long, value_name = "NODE")]
    node: Option<String>,
    /// Purpose of the token
    #[arg(long, value_name = "TEXT", default_value = "")]
    label: String,
    /// Time at which it expires, such as 2027-01-01T00:00:00Z [default: never]
    #[arg(long, value_name = "TIME")]
    expires: Option<WallTime>,
    /// URI: or DNS: and a name in client certificates, which then act as this token, without a secret
    #[arg(long, value_name = "NAME", conflicts_with = "to_file")]
    certificate: Option<String>,
    /// Write the secret into this file, readable by its owner only, and not to standard output
    #[arg(long, value_name = "FILE")]
    to_file: Option<PathBuf>,
    #[command(flatten)]
    target: Target,
}

/// Delete a token: its holder loses access
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct DeleteArgs {
    /// Identifier of the token (run `wayleave get tokens`), not its secret
    #[arg(value_name = "TOKEN")]
    id: String,
    #[command(flatten)]
    target: Target,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum RoleName {
    /// Full access
    Operator,
    /// Full access to one tenant
    Tenant,
    /// Permissions of an agent, for its node
    Agent,
    /// Read-only access
    Reader,
}

impl From<RoleName> for Role {
    fn from(role: RoleName) -> Self {
        match role {
            RoleName::Operator => Self::Operator,
            RoleName::Tenant => Self::Tenant,
            RoleName::Agent => Self::Agent,
            RoleName::Reader => Self::Reader,
        }
    }
}

/// Runs the command.
pub(crate) fn run(command: &TokenCommand) -> Result<Exit, Failure> {
    match command {
        TokenCommand::Create(args) => create(args),
        TokenCommand::Delete(args) => delete(args),
    }
}

fn create(args: &CreateArgs) -> Result<Exit, Failure> {
    let service = args.target.service()?;
    let tenant = args.of.clone().or_else(|| args.target.tenant.tenant.clone());
    let (label, expires) = (args.label.clone(), args.expires.map(|expires| expires.to_string()));
    let (node, certificate) = (args.node.clone(), args.certificate.clone());
    let spec = TokenSpec { role: args.role.into(), tenant, node, label, expires, certificate };
    let (_, made) = service.send::<NewToken>(Method::Post, "/v1/tokens", &spec)?;
    let Some(secret) = made.secret else {
        let name = made.token.spec.certificate.unwrap_or_default();
        crate::output::tell!("token {}: certificates with the name {name} use it", made.token.id);
        return Ok(Exit::Fine);
    };
    if let Some(file) = &args.to_file {
        write_private(file, &format!("{secret}\n")).map_err(|error| {
            Failure::Internal(format!(
                "cannot write {}: {error}; the secret of token {} was not shown: delete the token",
                file.display(),
                made.token.id
            ))
        })?;
        crate::output::tell!("token {}: its secret is in {}", made.token.id, file.display());
        return Ok(Exit::Fine);
    }
    crate::output::tell!("token {}: its secret is shown only once", made.token.id);
    let mut out = out();
    writeln!(out, "{secret}")?;
    out.flush()?;
    Ok(Exit::Fine)
}

fn delete(args: &DeleteArgs) -> Result<Exit, Failure> {
    if args.id.starts_with("wl_") {
        return Err(Failure::Usage(
            "this is a secret, not a token ID (see `wayleave get tokens`). Others may have seen it on the command line: delete the token"
                .to_owned(),
        ));
    }
    let service = args.target.service()?;
    let deleted = service.delete(&format!("/v1/tokens/{}", encode(&args.id)));
    deleted.map_err(|error| did_you_mean(&service, error, "token", &args.id, Names::OfAll("/v1/tokens")))?;
    let mut out = out();
    writeln!(out, "token {}: deleted", args.id)?;
    out.flush()?;
    Ok(Exit::Fine)
}
