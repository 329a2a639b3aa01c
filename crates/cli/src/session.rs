//! The options that say on which network, by which scheme and in which model contracts are decided.

use clap::Args;
use wayleave::{SchemeOptions, Session};
use wayleave_schemes::registry::Scheme;

use crate::failure::Failure;
use crate::inputs::NetworkArgs;
use crate::model_args::{Base, ModelArgs};
use crate::scheme_args::{SchemeArgs, SchemeName};

/// Everything that a session is set up with.
#[derive(Args, Clone, Debug)]
pub(crate) struct SessionArgs {
    #[command(flatten)]
    pub(crate) network: NetworkArgs,
    #[command(flatten)]
    pub(crate) scheme: SchemeArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

impl SessionArgs {
    /// With nothing admitted; warns of ports that contracts cannot use.
    pub(crate) fn open(&self) -> Result<Session, Failure> {
        let model = self.model.model()?;
        let network = self.network.read()?;
        let scheme = self.scheme.scheme(&network.graph, model, self.model.model)?;
        let options = options(&self.scheme, self.model.model, &scheme);
        let session = Session::with_scheme(&network, model, scheme, options);
        session.warnings().iter().for_each(|warning| eprintln!("warning: {warning}"));
        Ok(session)
    }
}

/// What a scheme was made from, as the library describes it.
fn options(args: &SchemeArgs, base: Base, scheme: &Scheme) -> SchemeOptions {
    match (args.scheme, scheme) {
        (SchemeName::Loko, Scheme::Loko(loko)) => {
            SchemeOptions::Loko { params: loko.params().clone(), table: args.loko.table() }
        }
        (SchemeName::Silo, _) => SchemeOptions::Silo(args.silo()),
        (SchemeName::Qjump, _) => SchemeOptions::Qjump(args.qjump.params()),
        _ => SchemeOptions::Chameleon(args.chameleon(base)),
    }
}
