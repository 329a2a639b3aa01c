//! `wayleave login`: saves where a server is and with which token to ask it, after trying both.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use wayleave_protocol::status::About;

use crate::client::contexts::{self, Context, Contexts};
use crate::client::target::{self, own_certificate, url};
use crate::client::{secret, show};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::output::out;

const EXAMPLE: &str = "\
Examples:
  wayleave login --server http://127.0.0.1:7480 --token-file wayleave.token
  wayleave login --context lab --server https://wayleave.example:7480 --ca ca.pem < token
  wayleave login --server https://wayleave.example:7480 --cert me.pem --cert-key me.key
  wayleave login --context lab";

/// Save the address of a server and a token for later commands
#[derive(Args, Clone, Debug)]
#[command(after_help = EXAMPLE, after_long_help = exit::after(EXAMPLE))]
pub(crate) struct LoginArgs {
    /// URL of the server [default: that of the context]
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// Name of the context; later commands use the last saved or chosen one
    #[arg(long, value_name = "NAME", default_value = "default")]
    context: String,
    /// File with the token [default: standard input, or a prompt]
    #[arg(long, value_name = "FILE")]
    token_file: Option<PathBuf>,
    /// Certificates (PEM) to trust in place of public authorities
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Client certificate (PEM), in place of a token
    #[arg(long, value_name = "FILE")]
    cert: Option<PathBuf>,
    /// Private key (PEM) of that certificate
    #[arg(long, value_name = "FILE")]
    cert_key: Option<PathBuf>,
    /// Default tenant of later commands; a tenant's token has its own
    #[arg(long, value_name = "NAME")]
    tenant: Option<String>,
}

/// Runs the command.
pub(crate) fn run(args: &LoginArgs) -> Result<Exit, Failure> {
    let path = contexts::path()?;
    let mut saved = Contexts::read(&path)?;
    let context = args.context(saved.contexts.get(&args.context))?;
    let about = about(&context)?;
    let place = context.url.clone();
    saved.contexts.insert(args.context.clone(), context);
    saved.current = Some(args.context.clone());
    saved.write(&path)?;
    let mut out = out();
    writeln!(out, "connected to {place}: version {}, topology {}", about.version, about.topology)?;
    writeln!(out, "role: {}", describe_account(&about))?;
    writeln!(out, "saved as context {} in {}", args.context, path.display())?;
    out.flush()?;
    Ok(Exit::Fine)
}

impl LoginArgs {
    /// Returns the context to be saved: earlier values are kept unless options replace them.
    fn context(&self, before: Option<&Context>) -> Result<Context, Failure> {
        let address = self.server.as_deref().map(url).transpose()?;
        let same = before.filter(|before| address.as_ref().is_none_or(|url| *url == before.url));
        let Some(url) = address.or_else(|| before.map(|before| before.url.clone())) else {
            return Err(Failure::Usage(
                "no server given: add --server URL, such as --server http://127.0.0.1:7480".to_owned(),
            ));
        };
        let absolute = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        let given = own_certificate(self.cert.as_ref().map(absolute), self.cert_key.as_ref().map(absolute))?;
        // Only if the address is known already: the token of one server is never sent to another.
        let known = same.filter(|_| self.server.is_none());
        let token = match (&self.token_file, &given, known) {
            (Some(file), ..) => Some(secret::read(file)?),
            (None, Some(_), _) => None,
            (None, None, Some(before)) => before.token.clone(),
            (None, None, None) => Some(secret::ask()?),
        };
        let certificate = given.or_else(|| known.and_then(Context::certificate).filter(|_| self.token_file.is_none()));
        let (cert, key) = certificate.map(|own| (own.chain, own.key)).unzip();
        let ca = self.ca.as_ref().map(absolute).or_else(|| same.and_then(|before| before.ca.clone()));
        let tenant = self.tenant.clone().or_else(|| same.and_then(|before| before.tenant.clone()));
        Ok(Context { url, token, tenant, ca, cert, key })
    }
}

fn about(context: &Context) -> Result<About, Failure> {
    Ok(target::of_context(context)?.get::<About>("/v1")?)
}

/// Returns the role and identity of a token.
pub(crate) fn describe_account(about: &About) -> String {
    let role = show::word(&about.role);
    match (&about.tenant, &about.node) {
        (Some(tenant), _) => format!("{role} of {tenant}"),
        (None, Some(node)) => format!("{role} of node {node}"),
        (None, None) => role,
    }
}
