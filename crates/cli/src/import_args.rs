//! Networks by the name of a file or a builder, and options that complete the files of other tools.

use clap::{Args, ValueEnum};
use wayleave::{Network, NetworkName};
use wayleave_formats::{DelayUnit, HostSelector, ImportOptions, MAX_HOSTS_PER_NODE, RateUnit, Source};
use wayleave_units::{Bytes, Rate, Time};

use crate::failure::Failure;

/// Values that files of other tools lack. Topologies of Wayleave and builders are complete.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Files of other tools")]
pub(crate) struct ImportArgs {
    /// Default rate of links without one
    #[arg(long, value_name = "RATE")]
    default_rate: Option<Rate>,
    /// Default delay of links without one [default: 0ns]
    #[arg(long, value_name = "TIME")]
    default_delay: Option<Time>,
    /// Default MTU of links without one [default: that of the format, such as 9500B for containerlab, otherwise 1500B]
    #[arg(long, value_name = "SIZE")]
    default_mtu: Option<Bytes>,
    /// Refuse files with unused keys, instead of a warning
    #[arg(long)]
    strict: bool,
    /// Compute the delay of links without one from the coordinates of their ends (light in fibre)
    #[arg(long, alias = "delay-from-places")]
    delay_from_coordinates: bool,
    /// Unit of rates without one
    #[arg(long, value_enum, value_name = "UNIT")]
    rate_unit: Option<RateUnitName>,
    /// Unit of delays without one
    #[arg(long, value_enum, value_name = "UNIT")]
    delay_unit: Option<DelayUnitName>,
    /// Nodes that are hosts, besides those marked in the file [default: attach one to each switch if there are none]
    #[arg(long, value_enum, value_name = "WHICH")]
    hosts: Option<HostsName>,
    /// Number of hosts attached to each switch (implies --hosts attach)
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_HOSTS_PER_NODE)))]
    hosts_per_node: Option<u32>,
    /// Link rate of attached hosts [default: that of the fastest link of their switch]
    #[arg(long, value_name = "RATE")]
    host_rate: Option<Rate>,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
#[value(rename_all = "verbatim")]
enum RateUnitName {
    #[value(name = "bit")]
    Bit,
    #[value(name = "kbit")]
    Kbit,
    Mbit,
    Gbit,
    Tbit,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum DelayUnitName {
    Ns,
    Us,
    Ms,
    S,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
enum HostsName {
    /// Nodes with one neighbour
    Leaves,
    /// No others
    None,
    /// Attach one to each switch
    Attach,
}

impl ImportArgs {
    /// Opens a topology file if there is one of that name, otherwise calls a builder. Assumptions about a file of
    /// another tool are printed to the standard error.
    pub(crate) fn network(&self, text: &str) -> Result<Network, Failure> {
        match NetworkName::of(text)? {
            NetworkName::File => {
                let source = Source::read(text)?;
                let (network, origin) = Network::import(&source, &self.options()?)?;
                if !origin.is_foreign {
                    self.refuse(&format!("{} is a topology of Wayleave, which defines", source.name()))?;
                }
                origin.remarks.iter().for_each(|remark| crate::output::tell!("{remark}"));
                Ok(network)
            }
            NetworkName::Builder => {
                let network = Network::build(text)?;
                self.refuse("a builder defines")?;
                Ok(network)
            }
        }
    }

    fn options(&self) -> Result<ImportOptions, Failure> {
        let hosts = match (self.hosts, self.hosts_per_node) {
            (None | Some(HostsName::Attach), Some(count)) => HostSelector::Attach(count),
            (Some(HostsName::Attach), None) => HostSelector::Attach(1),
            (Some(_), Some(_)) => {
                let message = "--hosts-per-node attaches hosts: it cannot be combined with --hosts leaves or none";
                return Err(Failure::Usage(message.into()));
            }
            (Some(HostsName::Leaves), None) => HostSelector::Leaves,
            (Some(HostsName::None), None) => HostSelector::None,
            (None, None) => HostSelector::Auto,
        };
        if [self.default_rate, self.host_rate].contains(&Some(Rate::ZERO)) {
            return Err(Failure::Usage("a link needs a rate above zero, such as 10Gbit".into()));
        }
        if self.default_mtu.is_some_and(|mtu| !(64..=65_535).contains(&mtu.get())) {
            return Err(Failure::Usage("--default-mtu: expected 64B to 65535B, usually 1500B".into()));
        }
        Ok(ImportOptions::default()
            .with_default_rate(self.default_rate)
            .with_default_delay(self.default_delay)
            .with_default_mtu(self.default_mtu)
            .with_strict(self.strict)
            .with_delay_from_places(self.delay_from_coordinates)
            .with_rate_unit(self.rate_unit.map(RateUnitName::unit))
            .with_delay_unit(self.delay_unit.map(DelayUnitName::unit))
            .with_hosts(hosts)
            .with_host_rate(self.host_rate))
    }

    /// Refuses options that would have no effect, since they are mostly mistakes: the user expects a rate that no
    /// link has.
    fn refuse(&self, who: &str) -> Result<(), Failure> {
        let given = [
            ("--default-rate", self.default_rate.is_some()),
            ("--default-delay", self.default_delay.is_some()),
            ("--default-mtu", self.default_mtu.is_some()),
            ("--strict", self.strict),
            ("--delay-from-coordinates", self.delay_from_coordinates),
            ("--rate-unit", self.rate_unit.is_some()),
            ("--delay-unit", self.delay_unit.is_some()),
            ("--hosts", self.hosts.is_some()),
            ("--hosts-per-node", self.hosts_per_node.is_some()),
            ("--host-rate", self.host_rate.is_some()),
        ];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => {
                let message = format!("{option} is for files of other tools: {who} its own links and hosts");
                Err(Failure::Usage(message))
            }
            None => Ok(()),
        }
    }
}

impl RateUnitName {
    const fn unit(self) -> RateUnit {
        match self {
            Self::Bit => RateUnit::Bit,
            Self::Kbit => RateUnit::Kbit,
            Self::Mbit => RateUnit::Mbit,
            Self::Gbit => RateUnit::Gbit,
            Self::Tbit => RateUnit::Tbit,
        }
    }
}

impl DelayUnitName {
    const fn unit(self) -> DelayUnit {
        match self {
            Self::Ns => DelayUnit::Ns,
            Self::Us => DelayUnit::Us,
            Self::Ms => DelayUnit::Ms,
            Self::S => DelayUnit::S,
        }
    }
}
