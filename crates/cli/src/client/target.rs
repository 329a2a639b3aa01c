//! Options that select the controller: a server, or a ledger file.

use std::path::PathBuf;

use clap::Args;
use wayleave_client::Service;
use wayleave_client::{Address, OwnCertificate};
use wayleave_controller::RecordChange;

use super::contexts::{self, Context, Contexts};
use super::local::{Local, Planned};
use super::secret;
use super::setup::SetupArgs;
use crate::failure::Failure;
use crate::session::SessionArgs;

const NOWHERE: &str = "\
no controller configured. Use one of these:
  wayleave login --server URL                saves the address and a token for later commands
  --server URL --token-file FILE             or WAYLEAVE_SERVER and WAYLEAVE_TOKEN_FILE
  --ledger FILE -t TOPOLOGY                  opens a ledger file that no server has open";

/// Address of the controller. By default, the context saved by `wayleave login`.
#[derive(Args, Clone, Debug)]
pub(crate) struct Target {
    #[command(flatten)]
    pub(crate) server: ServerArgs,
    /// Ledger file in place of a server, as operator; no server may have it open
    #[arg(long, value_name = "FILE", help_heading = "Controller", conflicts_with_all = ["server", "context"])]
    pub(crate) ledger: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) tenant: TenantArg,
    #[command(flatten)]
    pub(crate) setup: SetupArgs,
}

/// A server and the credential for it.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Controller")]
pub(crate) struct ServerArgs {
    /// URL of the server, such as http://127.0.0.1:7480 [env: WAYLEAVE_SERVER]
    #[arg(long, value_name = "URL")]
    pub(crate) server: Option<String>,
    /// Name of a server and token that `login` has saved [env: WAYLEAVE_CONTEXT]
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,
    /// File with the token; - is stdin [env: WAYLEAVE_TOKEN_FILE]
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Certificates (PEM) to trust in place of public authorities [env: WAYLEAVE_CA]
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) ca: Option<PathBuf>,
    /// Client certificate (PEM), in place of a token [env: WAYLEAVE_CERT]
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) cert: Option<PathBuf>,
    /// Private key (PEM) of the client certificate [env: WAYLEAVE_CERT_KEY]
    #[arg(long, value_name = "FILE", hide_short_help = true)]
    pub(crate) cert_key: Option<PathBuf>,
}

/// Tenant of the names.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Controller")]
pub(crate) struct TenantArg {
    /// Tenant of the objects [default: the token's tenant, or the one saved by login]
    #[arg(long, value_name = "NAME")]
    pub(crate) tenant: Option<String>,
}

fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

impl ServerArgs {
    fn or_environment(&self) -> Self {
        let path = |given: &Option<PathBuf>, name| given.clone().or_else(|| environment(name).map(PathBuf::from));
        // A context that is asked for counts more than a server that is only in the environment.
        let server = self.server.clone().or_else(|| match self.context {
            None => environment("WAYLEAVE_SERVER"),
            Some(_) => None,
        });
        Self {
            server,
            context: self.context.clone().or_else(|| environment("WAYLEAVE_CONTEXT")),
            token_file: path(&self.token_file, "WAYLEAVE_TOKEN_FILE"),
            ca: path(&self.ca, "WAYLEAVE_CA"),
            cert: path(&self.cert, "WAYLEAVE_CERT"),
            cert_key: path(&self.cert_key, "WAYLEAVE_CERT_KEY"),
        }
    }

    /// Returns the address, and the context saved for it.
    pub(crate) fn resolve(&self) -> Result<(Address, Option<Context>), Failure> {
        let ServerArgs { server, context, token_file, ca, cert, cert_key } = self.or_environment();
        let saved = Contexts::read(&contexts::path()?)?;
        let server = server.map(|server| url(&server)).transpose()?;
        let chosen = match (&server, &context) {
            // A credential saved for another server is not sent to this one.
            (Some(server), None) => saved.contexts.values().find(|known| known.url == *server).cloned(),
            (Some(server), Some(name)) => saved.find(Some(name))?.filter(|known| known.url == *server).cloned(),
            (None, name) => saved.find(name.as_deref())?.cloned(),
        };
        let Some(url) = server.or_else(|| chosen.as_ref().map(|chosen| chosen.url.clone())) else {
            return Err(Failure::Usage(NOWHERE.to_owned()));
        };
        let given = own_certificate(cert, cert_key)?;
        let token = match (token_file, &given) {
            (Some(file), _) => Some(secret::read(&file)?),
            // A saved token would take precedence over a certificate named here.
            (None, Some(_)) => None,
            (None, None) => chosen.as_ref().and_then(|chosen| chosen.token.clone()),
        };
        let ca = ca.or_else(|| chosen.as_ref().and_then(|chosen| chosen.ca.clone()));
        let certificate = given.or_else(|| chosen.as_ref().and_then(Context::certificate));
        Ok((Address { url, token, ca, certificate, ..Address::default() }, chosen))
    }
}

/// A certificate with its key.
pub(crate) fn own_certificate(cert: Option<PathBuf>, key: Option<PathBuf>) -> Result<Option<OwnCertificate>, Failure> {
    match (cert, key) {
        (Some(chain), Some(key)) => Ok(Some(OwnCertificate { chain, key })),
        (None, None) => Ok(None),
        (Some(_), None) => {
            Err(Failure::Usage("--cert requires --cert-key, the private key of the certificate".to_owned()))
        }
        (None, Some(_)) => {
            Err(Failure::Usage("--cert-key requires --cert, the certificate of the private key".to_owned()))
        }
    }
}

/// An address without what would be doubled when paths are put behind it.
pub(crate) fn url(text: &str) -> Result<String, Failure> {
    Ok(wayleave_client::url(text)?)
}

/// The server of a context.
pub(crate) fn of_context(context: &Context) -> Result<Service, Failure> {
    let certificate = context.certificate();
    let Context { url, token, tenant, ca, .. } = context.clone();
    of_address(Address { url, token, ca, certificate, ..Address::default() }, tenant)
}

/// Returns a service at an address that was not named by the user, with its default tenant if known.
pub(crate) fn of_address(address: Address, tenant: Option<String>) -> Result<Service, Failure> {
    Ok(Service::http(address, tenant)?)
}

impl Target {
    /// Returns the service at the target.
    pub(crate) fn service(&self) -> Result<Service, Failure> {
        let tenant = self.tenant.tenant.clone();
        if let Some(ledger) = &self.ledger {
            let session = self.setup.session("--ledger")?;
            return Ok(Service::new(Box::new(Local::open(Some(ledger), &session)?), tenant));
        }
        if self.setup.topology().is_some() {
            let text = "-t needs --ledger FILE, or contracts with -f (explain, what-if); omit -t to use a server";
            return Err(Failure::Usage(text.to_owned()));
        }
        let (address, saved) = self.server.resolve()?;
        let tenant = tenant.or_else(|| saved.and_then(|saved| saved.tenant));
        of_address(address, tenant)
    }

    /// Returns the address of the server, or the addresses of a cluster; `None` for a file.
    pub(crate) fn address(&self) -> Result<Option<Address>, Failure> {
        if self.ledger.is_some() {
            return Ok(None);
        }
        self.server.resolve().map(|(address, _)| Some(address))
    }

    /// A controller that is forgotten afterwards, with nothing in it.
    pub(crate) fn imagined(&self, has_other_kinds: bool) -> Result<Service, Failure> {
        let session = self.setup.session("what-if -f")?.for_kinds(has_other_kinds);
        Ok(Service::new(Box::new(Local::open(None, &session)?), self.tenant.tenant.clone()))
    }

    /// Returns the hypothetical service with these records applied.
    pub(crate) fn imagined_with(&self, records: Vec<RecordChange>, session: &SessionArgs) -> Result<Service, Failure> {
        let planned = Planned::new(session, records)?;
        Ok(Service::new(Box::new(planned), self.tenant.tenant.clone()))
    }
}
