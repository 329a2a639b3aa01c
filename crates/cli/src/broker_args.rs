//! The options that choose a scheme whose brokers are run, and set it up: those that the schemes describe.

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use wayleave_scheme_api::{Descriptor, ParamValues, Parameter, Role, ValueKind};
use wayleave_schemes::hosts::{HOSTS, HostSchemeConfig};

use crate::failure::Failure;
use crate::scheme_args::{given_values, option, option_name};

/// Scheme of the brokers, with its parameters.
#[derive(Clone, Debug)]
pub(crate) struct BrokerSchemeArgs {
    scheme: &'static Descriptor,
    /// Given parameters.
    given: ParamValues,
    /// An option of another scheme that was given, and that scheme: it would do nothing.
    stray: Option<(String, &'static str)>,
}

/// The schemes that have brokers.
fn schemes() -> impl Iterator<Item = &'static Descriptor> {
    HOSTS.iter().copied().filter(|scheme| scheme.roles.contains(&Role::Broker))
}

/// Returns the parameters that have an option, each with its scheme.
fn described() -> impl Iterator<Item = (&'static Descriptor, &'static Parameter)> {
    let of_scheme = |scheme: &'static Descriptor| scheme.parameters.iter().map(move |parameter| (scheme, parameter));
    let is_option = |(_, parameter): &(_, &Parameter)| {
        // Parameters without an option are set in a file: they concern machines, or positions in a simulated network.
        !matches!(parameter.kind, ValueKind::Scheme(_) | ValueKind::Host | ValueKind::ByService(_))
    };
    schemes().flat_map(of_scheme).filter(is_option)
}

/// The option of `wayleave broker` that sets a parameter, if there is one.
pub(crate) fn broker_option(scheme: &Descriptor, parameter: &Parameter) -> Option<String> {
    let mut all = described();
    let known = all.find(|(owner, known)| owner.name == scheme.name && known.key == parameter.key);
    known.map(|(owner, parameter)| format!("--{}", option_name(owner, parameter)))
}

impl Args for BrokerSchemeArgs {
    fn augment_args(command: Command) -> Command {
        let names = schemes().map(|scheme| PossibleValue::new(scheme.name).help(scheme.summary));
        let default = schemes().next().map_or("", |scheme| scheme.name);
        let help = "Scheme of the brokers, equal on all of them";
        let scheme = Arg::new("scheme").long("scheme").help(help).value_name("SCHEME").default_value(default);
        let scheme = scheme.value_parser(PossibleValuesParser::new(names)).help_heading("Scheme");
        command.arg(scheme).args(described().map(|(scheme, parameter)| option(scheme, parameter)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for BrokerSchemeArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let unknown = || clap::Error::raw(clap::error::ErrorKind::InvalidValue, "no such scheme");
        let name = matches.get_one::<String>("scheme").ok_or_else(unknown)?;
        let scheme = schemes().find(|scheme| scheme.name == name).ok_or_else(unknown)?;
        let (given, stray) = given_values(scheme, described(), matches);
        Ok(Self { scheme, given, stray })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl BrokerSchemeArgs {
    /// Returns the scheme with its given parameters.
    pub(crate) fn scheme(&self) -> Result<HostSchemeConfig, Failure> {
        if let Some((option, owner)) = &self.stray {
            return Err(Failure::Usage(format!("--{option} is an option of --scheme {owner}")));
        }
        let name = self.scheme.name;
        HostSchemeConfig::of(name, &self.given)
            .ok_or_else(|| Failure::Usage(format!("a parameter of {name} is out of range")))
    }
}
