//! `wayleave delete`: ends contracts, VMs, tenants, policies and tokens.

use std::io::Write;

use crate::client::{Names, did_you_mean};
use clap::{Args, ValueEnum};
use wayleave_protocol::contract::Contract;
use wayleave_units::escaped;

use crate::client::show::short;
use crate::client::{Service, Target, encode};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::out;

const EXAMPLE: &str = "\
Examples:
  wayleave delete contract acme:web-db acme:web-log
  wayleave delete contract web-db --tenant acme --if-there
  wayleave delete vm acme:web-1
  wayleave delete contract acme:web-db --force";

/// Delete contracts, VMs, tenants, policies or tokens
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct DeleteArgs {
    /// Kind of the objects
    #[arg(value_enum, value_name = "WHAT")]
    kind: Kind,
    /// Names, or TENANT:NAME of contracts and VMs
    #[arg(value_name = "NAME", required = true)]
    names: Vec<String>,
    /// Ignore objects that do not exist
    #[arg(long)]
    if_there: bool,
    /// Free the reservation without the host's confirmation: only if the host is off or gone, as it breaks other
    /// guarantees if it still sends
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    target: Target,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Its reservation is held until its last packets have left
    #[value(alias = "contracts")]
    Contract,
    /// A VM without contracts
    #[value(alias = "vms")]
    Vm,
    /// A tenant without VMs and contracts
    #[value(alias = "tenants")]
    Tenant,
    /// Its reservations are freed
    #[value(alias = "policies")]
    Policy,
    #[value(alias = "tokens")]
    Token,
}

impl Kind {
    fn what(self) -> &'static str {
        match self {
            Self::Contract => "contract",
            Self::Vm => "VM",
            Self::Tenant => "tenant",
            Self::Policy => "policy",
            Self::Token => "token",
        }
    }

    fn names(self) -> Names {
        match self {
            Self::Contract => Names::OfTenants("/v1/contracts"),
            Self::Vm => Names::OfTenants("/v1/vms"),
            Self::Tenant => Names::OfAll("/v1/tenants"),
            Self::Policy => Names::OfAll("/v1/policies"),
            Self::Token => Names::OfAll("/v1/tokens"),
        }
    }
}

/// Runs the command.
pub(crate) fn run(args: &DeleteArgs) -> Result<Exit, Failure> {
    if args.force && args.kind != Kind::Contract {
        return Err(Failure::Usage("--force applies only to contracts".to_owned()));
    }
    let service = args.target.service()?;
    for name in &args.names {
        let message = args.delete(&service, name)?;
        let mut out = out();
        let id = if args.kind == Kind::Policy { name.clone() } else { service.id(name) };
        writeln!(out, "{} {}: {message}", args.kind.what(), escaped(short(&id)))?;
        out.flush()?;
    }
    Ok(Exit::Fine)
}

impl DeleteArgs {
    fn delete(&self, service: &Service, name: &str) -> Result<String, Failure> {
        let names = self.kind.names();
        let (Names::OfTenants(list) | Names::OfAll(list)) = names;
        let id = if matches!(names, Names::OfTenants(_)) { service.id(name) } else { name.to_owned() };
        let path = format!("{list}/{}", encode(&id));
        // Ending a contract that is not there is the same as ending it again; a person who mistypes wants to know.
        let found = match self.kind {
            Kind::Contract | Kind::Policy => service.get::<serde_json::Value>(&path).map(|_| ()),
            _ => Ok(()),
        };
        let force = if self.force { "?force=true" } else { "" };
        match found.and_then(|()| service.delete(&format!("{path}{force}"))) {
            Ok(()) if self.kind == Kind::Contract => Ok(self.what_is_held(service, &path)),
            Ok(()) => Ok("deleted".to_owned()),
            Err(error) if self.if_there && error.is_not_found() => Ok("does not exist".to_owned()),
            Err(error) => Err(did_you_mean(service, error, self.kind.what(), name, names)),
        }
    }

    /// Returns a text about the reservations that a deleted contract still holds.
    fn what_is_held(&self, service: &Service, path: &str) -> String {
        match service.get::<Contract>(path) {
            Ok(contract) => format!(
                "deleted; its reservation is held until {} has stopped sending and its last packets have left the network",
                contract.status.from_host.as_deref().unwrap_or("its host")
            ),
            Err(_) if self.force => "deleted, and its reservation is released".to_owned(),
            Err(_) => "deleted".to_owned(),
        }
    }
}
