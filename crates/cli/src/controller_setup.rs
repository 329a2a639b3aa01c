//! What a controller is made of, from the options of the command line: what `serve` and a ledger file have in common.

use std::sync::Arc;

use wayleave_controller::{Setup, Southbound, Timing};
use wayleave_formats::write_topology;

use crate::failure::Failure;
use crate::session::{Session, SessionArgs};

/// A controller's setup, with what describes it.
pub(crate) struct Described {
    pub(crate) setup: Setup,
    /// What the topology is called.
    pub(crate) name: String,
    /// Its document.
    pub(crate) document: String,
    /// What the scheme is called.
    pub(crate) scheme: String,
}

/// Makes it, with nobody to tell anything.
pub(crate) fn described(args: &SessionArgs) -> Result<Described, Failure> {
    // Once as for `plan`, so that what is wrong is said, and ports that contracts cannot use are warned of.
    let session = Session::open(args)?;
    if session.ledger().is_none() {
        let name = session.scheme.name();
        return Err(Failure::Usage(format!(
            "--scheme {name} keeps no ledger of queues, which a controller needs: chameleon and silo do"
        )));
    }
    let (network, model) = (session.network.clone(), session.model);
    let (scheme_args, base, of) = (args.scheme.clone(), args.model.model, network.clone());
    let scheme = move || match scheme_args.scheme(&of, model, base) {
        Ok(scheme) => scheme,
        Err(_) => unreachable!("the same was made a moment ago"),
    };
    let document = write_topology(&network, &session.topology);
    let name = session.scheme.name().to_owned();
    let (southbound, timing) = (Southbound::Assumed, Timing::default());
    let setup = Setup { network, model, scheme: Arc::new(scheme), southbound, timing };
    Ok(Described { setup, name: session.topology, document, scheme: name })
}
