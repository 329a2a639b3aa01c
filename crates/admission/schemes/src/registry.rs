//! The admission schemes: chosen by name, configured by given parameters, constructed in one place. Command line,
//! controller and ledger files use this registry.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use wayleave_ledger::Model;
use wayleave_scheme_api::{
    Admission, Certainty, Decision, Described, Descriptor, ParamValues, Parameter, Parameters, Refusal, Request,
    ShareDecision, ShareRequest, Value,
};
use wayleave_topology::devices::{PacketScenario, Table};
use wayleave_topology::{FlowId, Network, Route, ShareId};
use wayleave_units::Time;

use crate::admitted::{AdmittedFlow, AdmittedSet, AssumedService, Term};
use crate::explanation::Section;
use crate::hosts::{HOST_SCHEMES, HOSTS};
use crate::placement::Placement;
use crate::switches::SWITCHES;
use crate::transports::{PATHS, TRANSPORTS};

/// Defaults for parameters that are not given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Defaults {
    /// Defaults that serve best.
    #[default]
    Recommended,
    /// Defaults of the publication, for comparison.
    Published,
}

/// Input from which an admission scheme is constructed.
pub struct SchemeInputs<'a> {
    /// The network.
    pub network: Arc<Network>,
    /// Counting of bytes and frames.
    pub model: Model,
    /// Defaults that apply.
    pub defaults: Defaults,
    /// Measurements of the switches, for schemes that need them.
    pub benchmark: &'a Benchmark,
}

/// Gives measurements of the switches: those of a file, or, where none is named, of a simulated switch in a scenario.
pub type Benchmark = dyn Fn(Option<&str>, &PacketScenario) -> Result<Table, Box<dyn Error + Send + Sync>>;

/// Reason why a scheme could not be constructed.
#[derive(Debug)]
pub enum BuildError {
    /// Its parameters do not fit together, or not the network.
    Invalid(String),
    /// The switches could not be measured, or a table of measurements not be read.
    Benchmark(Box<dyn Error + Send + Sync>),
}

impl BuildError {
    /// Creates the error for invalid parameters.
    pub fn invalid(error: impl fmt::Display) -> Self {
        Self::Invalid(error.to_string())
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(message) => f.write_str(message),
            Self::Benchmark(error) => error.fmt(f),
        }
    }
}

impl Error for BuildError {}

/// An admission scheme of the list.
pub trait AdmissionScheme: Described + AdmittedSet + Sized {
    /// `true` if its promises rest on queues of a ledger, as a controller needs it.
    const KEEPS_QUEUES: bool = false;
    /// `true` if it places contracts on disjoint routes.
    const PLACES_DISJOINT_ROUTES: bool = false;

    /// With nothing admitted.
    ///
    /// # Errors
    /// What does not fit.
    fn build(setup: &SchemeInputs<'_>, params: Self::Params) -> Result<Self, BuildError>;

    /// Returns the parameters for reports, if defaults depend on more than the parameter.
    fn settings(params: &Self::Params, _defaults: Defaults) -> Vec<(&'static Parameter, Value)> {
        params.settings()
    }

    /// Returns the reason of a refusal, in one clause; `None` for a refusal that other schemes have as well.
    fn refusal_words(_network: &Network, _refusal: &Refusal) -> Option<String> {
        None
    }
}

/// Parameters with their effective values.
pub type ResolvedParams = Vec<(&'static Parameter, Value)>;

/// Operations on an admission scheme of which only the name is known.
pub struct SchemeEntry {
    /// Descriptor of the scheme.
    pub descriptor: &'static Descriptor,
    /// `true` if its promises rest on queues of a ledger.
    pub keeps_queues: bool,
    /// `true` if it places contracts on disjoint routes.
    pub places_disjoint_routes: bool,
    build: fn(&ParamValues, &SchemeInputs<'_>) -> Result<Scheme, BuildError>,
    settings: fn(&ParamValues, Defaults) -> Result<ResolvedParams, BuildError>,
    refusal_words: fn(&Network, &Refusal) -> Option<String>,
}

impl SchemeEntry {
    /// Of a scheme, also of one that is not in the list.
    pub const fn of<S: AdmissionScheme + Send + Sync + 'static>() -> Self {
        Self {
            descriptor: S::DESCRIPTOR,
            keeps_queues: S::KEEPS_QUEUES,
            places_disjoint_routes: S::PLACES_DISJOINT_ROUTES,
            build: |given, setup| Ok(S::build(setup, params::<S>(given)?)?.into()),
            settings: |given, defaults| Ok(S::settings(&params::<S>(given)?, defaults)),
            refusal_words: S::refusal_words,
        }
    }

    /// The scheme, with nothing admitted.
    ///
    /// # Errors
    /// What does not fit; also a value that is not of its parameter's kind.
    pub fn build(&self, given: &ParamValues, setup: &SchemeInputs<'_>) -> Result<Scheme, BuildError> {
        (self.build)(given, setup)
    }

    /// Returns its parameters for reports.
    ///
    /// # Errors
    /// A value that is not of its parameter's kind.
    pub fn settings(&self, given: &ParamValues, defaults: Defaults) -> Result<ResolvedParams, BuildError> {
        (self.settings)(given, defaults)
    }
}

fn params<S: Described>(given: &ParamValues) -> Result<S::Params, BuildError> {
    let wrong = |parameter: &Parameter| {
        BuildError::Invalid(format!(
            "{} of {}: expected a {}",
            parameter.key,
            S::DESCRIPTOR.name,
            parameter.kind.name()
        ))
    };
    S::Params::with(given).map_err(wrong)
}

/// Writes the list of admission schemes.
macro_rules! admission {
    (admission { $($(#[$meta:meta])* $module:ident::$scheme:ident,)+ } $($others:tt)*) => {
        /// All that can be chosen by name; the first is the default.
        pub const ADMISSION: &[SchemeEntry] = &[$($(#[$meta])* SchemeEntry::of::<crate::admission::$module::$scheme>(),)+];
    };
}

each_scheme!(admission);

/// Returns the descriptors of all schemes, role by role.
pub fn all() -> impl Iterator<Item = &'static Descriptor> {
    let admission = ADMISSION.iter().map(|entry| entry.descriptor);
    admission.chain([TRANSPORTS, PATHS, HOSTS, SWITCHES].into_iter().flatten().copied())
}

/// The admission scheme of a name.
pub fn admission(name: &str) -> Option<&'static SchemeEntry> {
    ADMISSION.iter().find(|entry| entry.descriptor.name == name)
}

/// The names of the admission schemes that can do something, for messages: `chameleon or silo`.
///
/// ```
/// use wayleave_schemes::registry::admission_schemes;
/// assert_eq!(admission_schemes(|entry| entry.keeps_queues), "chameleon, silo or fabric");
/// ```
pub fn admission_schemes(can: impl Fn(&SchemeEntry) -> bool) -> String {
    let names: Vec<&str> = ADMISSION.iter().filter(|entry| can(entry)).map(|entry| entry.descriptor.name).collect();
    one_of(&names)
}

/// The names of the host schemes whose brokers enforce policies of racks and of the fabric, for messages.
pub fn broker_schemes() -> String {
    let enforcing = HOST_SCHEMES.iter().filter(|entry| entry.enforces_levels);
    one_of(&enforcing.map(|entry| entry.descriptor.name).collect::<Vec<_>>())
}

/// `a, b or c`.
fn one_of(names: &[&str]) -> String {
    match names {
        [] => "none".to_owned(),
        [only] => (*only).to_owned(),
        [head @ .., last] => format!("{} or {last}", head.join(", ")),
    }
}

/// Returns the reason of a refusal, in one clause, for refusals that only one scheme has.
pub fn refusal_words(network: &Network, refusal: &Refusal) -> Option<String> {
    ADMISSION.iter().find_map(|entry| (entry.refusal_words)(network, refusal))
}

/// Any admission scheme: one of the list, or a custom one. Calls are dynamic; a decision takes thousands of times
/// longer.
pub struct Scheme {
    descriptor: &'static Descriptor,
    scheme: Box<dyn AdmittedSet + Send + Sync>,
}

impl<S: Described + AdmittedSet + Send + Sync + 'static> From<S> for Scheme {
    fn from(scheme: S) -> Self {
        Self { descriptor: S::DESCRIPTOR, scheme: Box::new(scheme) }
    }
}

impl Scheme {
    /// Returns the descriptor of the scheme.
    pub fn descriptor(&self) -> &'static Descriptor {
        self.descriptor
    }

    /// Its name.
    pub fn name(&self) -> &'static str {
        self.descriptor.name
    }
}

impl AdmittedSet for Scheme {
    fn queues(&self) -> Option<&Placement> {
        self.scheme.queues()
    }

    fn queues_mut(&mut self) -> Option<&mut Placement> {
        self.scheme.queues_mut()
    }

    fn held(&self, flow: FlowId) -> Option<AdmittedFlow<'_>> {
        self.scheme.held(flow)
    }

    fn flows(&self) -> Vec<FlowId> {
        self.scheme.flows()
    }

    fn terms(&self, flow: FlowId) -> Vec<Term> {
        self.scheme.terms(flow)
    }

    fn term_words(&self, term: Term) -> Option<String> {
        self.scheme.term_words(term)
    }

    fn explain_admitted(&self, request: &Request, flow: FlowId) -> Vec<Section> {
        self.scheme.explain_admitted(request, flow)
    }

    fn explain_refused(&self, refusal: &Refusal) -> Vec<Section> {
        self.scheme.explain_refused(refusal)
    }

    fn granted_shares(&self) -> Option<(&'static str, Value)> {
        self.scheme.granted_shares()
    }

    fn shared_services(&self) -> Vec<AssumedService> {
        self.scheme.shared_services()
    }

    fn unfit_for_a_controller(&self) -> Option<String> {
        self.scheme.unfit_for_a_controller()
    }
}

impl Admission for Scheme {
    fn admit(&mut self, request: &Request) -> Result<Decision, Refusal> {
        self.scheme.admit(request)
    }

    fn try_admit(&mut self, request: &Request) -> Option<Decision> {
        self.scheme.try_admit(request)
    }

    fn release(&mut self, flow: FlowId) -> Option<Route> {
        self.scheme.release(flow)
    }

    fn change(&mut self, flow: FlowId, request: &Request) -> Option<Result<Decision, Refusal>> {
        self.scheme.change(flow, request)
    }

    fn would_admit(&mut self, request: &Request) -> bool {
        self.scheme.would_admit(request)
    }

    fn admit_share(&mut self, request: &ShareRequest) -> Result<ShareDecision, Refusal> {
        self.scheme.admit_share(request)
    }

    fn release_share(&mut self, share: ShareId) -> bool {
        self.scheme.release_share(share)
    }

    fn share_bound(&self, share: ShareId) -> Option<Time> {
        self.scheme.share_bound(share)
    }

    fn token_period(&self) -> Option<Time> {
        self.scheme.token_period()
    }

    fn certainty(&self, share: ShareId) -> Option<Certainty> {
        self.scheme.certainty(share)
    }

    fn would_admit_share(&self, request: &ShareRequest) -> Result<(), Refusal> {
        self.scheme.would_admit_share(request)
    }
}
