//! Options of an admission: the scheme with its parameters, and the network model.

use std::fmt;
use std::sync::Arc;

use wayleave_explain::SettingsJson;
use wayleave_formats::{InputErrors, Source, read_benchmark};
use wayleave_ledger::Model;
use wayleave_scheme_api::{Descriptor, ParamType, ParamValues, Value};
use wayleave_schemes::admission::chameleon::DefaultBudgets;
use wayleave_schemes::registry::{ADMISSION, BuildError, Defaults, Scheme, SchemeEntry, SchemeInputs, admission};
use wayleave_topology::Network;
use wayleave_topology::devices::{PacketScenario, SoftwareSwitch, Table};

use crate::error::Error;

/// Key of the parameter for default delay budgets.
pub const DEFAULT_BUDGETS: &str = "default_budgets";

/// The deciding scheme and its given parameters; the default is the one that admits most.
///
/// ```
/// use wayleave::SchemeOptions;
/// let chameleon = SchemeOptions::default().with("reroute", "true")?.with("limit", "40")?;
/// let qjump = SchemeOptions::named("qjump")?.with("applications", "16")?;
/// assert_eq!((chameleon.descriptor().name, qjump.descriptor().name), ("chameleon", "qjump"));
/// assert!(SchemeOptions::named("silo")?.with("budget", "soon").is_err());
/// # Ok::<(), wayleave::Error>(())
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct SchemeOptions {
    entry: &'static SchemeEntry,
    given: ParamValues,
    defaults: Defaults,
}

impl Default for SchemeOptions {
    fn default() -> Self {
        Self::of(&ADMISSION[0])
    }
}

impl SchemeOptions {
    /// A scheme with its defaults, also one that is not in the list: see [`SchemeEntry::of`].
    pub fn of(entry: &'static SchemeEntry) -> Self {
        Self { entry, given: ParamValues::new(), defaults: Defaults::default() }
    }

    /// The scheme of a name, with its defaults.
    ///
    /// # Errors
    /// If there is none.
    pub fn named(name: &str) -> Result<Self, Error> {
        let known = || ADMISSION.iter().map(|entry| entry.descriptor.name).collect::<Vec<_>>().join(", ");
        let none = || Error::Usage(format!("no scheme {name}: expected {}", known()));
        admission(name).map(Self::of).ok_or_else(none)
    }

    /// The same with everything that was given of its parameters, by their positions in the descriptor.
    #[must_use]
    pub fn given(self, given: ParamValues) -> Self {
        Self { given, ..self }
    }

    /// The same with other defaults.
    #[must_use]
    pub fn defaults(self, defaults: Defaults) -> Self {
        Self { defaults, ..self }
    }

    /// The same with a parameter set, by its key and its value as files write it.
    ///
    /// # Errors
    /// If there is no such parameter, or the value is not of its kind or not in its range.
    pub fn with(mut self, key: &str, value: &str) -> Result<Self, Error> {
        let Descriptor { name, parameters, .. } = self.entry.descriptor;
        let Some(position) = self.entry.descriptor.position(key) else {
            let known: Vec<&str> = parameters.iter().map(|parameter| parameter.key).collect();
            return Err(Error::Usage(format!("{name} has no parameter {key}: expected {}", known.join(", "))));
        };
        let kind = &parameters[position].kind;
        let wrong = |why: String| Error::Usage(format!("{key} of {name}: {why}"));
        let value = kind.parse(value).map_err(wrong)?;
        kind.check(&value).map_err(wrong)?;
        self.given.push((position, value));
        Ok(self)
    }

    /// Returns the default delay budgets that were given as a parameter.
    pub fn stated_default_budgets(&self) -> Option<DefaultBudgets> {
        let position = self.entry.descriptor.position(DEFAULT_BUDGETS)?;
        let (_, value) = self.given.iter().rev().find(|(given, _)| *given == position)?;
        DefaultBudgets::from_value(value.clone())
    }

    /// Returns the default delay budgets with which it decides.
    pub fn default_budgets(&self) -> DefaultBudgets {
        DefaultBudgets::or_usual(self.stated_default_budgets(), self.defaults)
    }

    /// The same with these default delay budgets, if the scheme has such a parameter.
    #[must_use]
    pub fn with_default_budgets(&self, budgets: DefaultBudgets) -> Self {
        let mut options = self.clone();
        let position = self.entry.descriptor.position(DEFAULT_BUDGETS);
        options.given.extend(position.map(|position| (position, budgets.to_value())));
        options
    }

    /// Returns the scheme's descriptor.
    pub fn descriptor(&self) -> &'static Descriptor {
        self.entry.descriptor
    }

    /// The scheme on a network, with nothing admitted. Where it needs measurements of switches and no file is given, a
    /// simulated Zodiac FX is measured.
    ///
    /// # Errors
    /// If the parameters do not fit the network or one another, or a file of measurements is wrong.
    pub fn scheme(&self, network: &Arc<Network>, model: Model) -> Result<Scheme, Error> {
        let setup = SchemeInputs { network: network.clone(), model, defaults: self.defaults, benchmark: &benchmark };
        self.entry.build(&self.given, &setup).map_err(failed)
    }

    /// Its name and settings, for documents.
    ///
    /// # Errors
    /// If a value is not of its parameter's kind.
    pub fn settings(&self) -> Result<SettingsJson, Error> {
        let settings = self.entry.settings(&self.given, self.defaults).map_err(failed)?;
        Ok(SettingsJson { name: self.entry.descriptor.name, settings })
    }
}

/// Scheme and network model of an admission. The default is sound on real networks, and admits most.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct PlanOptions {
    pub(crate) scheme: SchemeOptions,
    pub(crate) model: Model,
}

impl PlanOptions {
    /// Sets the admission scheme.
    #[must_use]
    pub fn with_scheme(self, scheme: SchemeOptions) -> Self {
        Self { scheme, ..self }
    }

    /// Sets the network model.
    #[must_use]
    pub fn with_model(self, model: Model) -> Self {
        Self { model, ..self }
    }
}

impl fmt::Debug for SchemeOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = |(position, value): &(usize, Value)| {
            (self.entry.descriptor.parameters.get(*position).map_or("?", |parameter| parameter.key), value.clone())
        };
        let given: Vec<_> = self.given.iter().map(key).collect();
        let name = self.entry.descriptor.name;
        f.debug_struct("SchemeOptions").field("scheme", &name).field("given", &given).finish_non_exhaustive()
    }
}

fn failed(error: BuildError) -> Error {
    match error {
        BuildError::Invalid(message) => Error::Usage(message),
        BuildError::Benchmark(error) => match error.downcast::<InputErrors>() {
            Ok(errors) => Error::Input(*errors),
            Err(error) => Error::Internal(error.to_string()),
        },
    }
}

/// Returns the measurements of a file, or the results of a benchmark of the simulated Zodiac FX.
fn benchmark(file: Option<&str>, scenario: &PacketScenario) -> Result<Table, Box<dyn std::error::Error + Send + Sync>> {
    match file {
        Some(file) => Ok(read_benchmark(&Source::read(file)?)?),
        None => {
            Ok(crate::switch_benchmark::benchmark(&SoftwareSwitch::ZODIAC_FX, scenario, &mut crate::Watch::none())?)
        }
    }
}
