//! The options of Loko: what was measured, for which scenario, and how much of it is given away.

use std::sync::Arc;

use clap::{Args, ValueEnum};
use wayleave_formats::{Source, parse_device_scenario, read_benchmark};
use wayleave_schemes::loko::{Counting, Loko, Model, Params, Services, Share};
use wayleave_schemes::registry::Scheme;
use wayleave_topology::Network;
use wayleave_topology::devices::{Scenario, SoftwareSwitch};
use wayleave_units::Rate;

use crate::failure::Failure;

/// What Loko fixes at the start.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Loko")]
pub(crate) struct LokoArgs {
    /// A benchmark table of the switches [default: a simulated Zodiac FX is measured, as `wayleave benchmark` does]
    #[arg(long, value_name = "FILE")]
    loko_table: Option<String>,
    /// What happens in the network: proof-of-concept, whole, or values such as entries=17,match=five-tuple,packet=306B
    /// [default: proof-of-concept]
    #[arg(long, value_name = "SCENARIO", value_parser = parse_device_scenario)]
    loko_scenario: Option<Scenario>,
    /// The rate that every switch accepts: full, fifth, or a rate [default: full]
    #[arg(long, value_name = "full|fifth|RATE", value_parser = share)]
    loko_allocation: Option<Share>,
    /// What is added up at a switch [default: sound]
    #[arg(long, value_enum, value_name = "HOW")]
    loko_counting: Option<CountingName>,
    /// What has a service of its own [default: switch]
    #[arg(long, value_enum, value_name = "WHAT")]
    loko_services: Option<ServicesName>,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum CountingName {
    /// Bursts as they grow on the way, and lines beside services
    Sound,
    /// As on the slides: bursts as they were asked for, services alone
    Published,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum ServicesName {
    /// Every switch: a processor behind an integrated switch
    Switch,
    /// Every port: switches that forward at line rate
    Port,
}

fn share(text: &str) -> Result<Share, String> {
    match text {
        "full" => Ok(Share::FullRate),
        "fifth" => Ok(Share::FifthRate),
        rate => match rate.parse::<Rate>() {
            Ok(rate) => Ok(Share::Rate(rate)),
            Err(error) => Err(format!("full, fifth, or a rate is expected: {error}")),
        },
    }
}

impl LokoArgs {
    /// The file of measurements, if one is named.
    pub(crate) fn table(&self) -> Option<String> {
        self.loko_table.clone()
    }

    /// The options that were given.
    pub(crate) fn given(&self) -> [Option<&'static str>; 5] {
        [
            self.loko_table.as_ref().map(|_| "--loko-table"),
            self.loko_scenario.as_ref().map(|_| "--loko-scenario"),
            self.loko_allocation.map(|_| "--loko-allocation"),
            self.loko_counting.map(|_| "--loko-counting"),
            self.loko_services.map(|_| "--loko-services"),
        ]
    }

    /// Steps 0 to 3.
    pub(crate) fn scheme(&self, network: &Arc<Network>) -> Result<Scheme, Failure> {
        let scenario = self.loko_scenario.clone().unwrap_or_else(Scenario::proof_of_concept);
        let model = match &self.loko_table {
            Some(file) => {
                let table = read_benchmark(&Source::read(file)?)?;
                Model::of(&table, &scenario).map_err(|missing| Failure::Usage(format!("{file}: {missing}")))?
            }
            None => measured(&scenario)?,
        };
        let params = Params { model, share: self.share(), services: self.services(), counting: self.counting() };
        Loko::new(network.clone(), params).map(Scheme::from).map_err(|error| Failure::Usage(error.to_string()))
    }

    fn share(&self) -> Share {
        self.loko_allocation.unwrap_or_default()
    }

    fn counting(&self) -> Counting {
        match self.loko_counting {
            None | Some(CountingName::Sound) => Counting::Sound,
            Some(CountingName::Published) => Counting::Published,
        }
    }

    fn services(&self) -> Services {
        match self.loko_services {
            None | Some(ServicesName::Switch) => Services::PerSwitch,
            Some(ServicesName::Port) => Services::PerPort,
        }
    }
}

/// What a benchmark of the simulated Zodiac FX shows.
fn measured(scenario: &Scenario) -> Result<Model, Failure> {
    let table = wayleave_experiments::low_cost::benchmark(&SoftwareSwitch::ZODIAC_FX, scenario, |_| {});
    let table = table.map_err(|error| Failure::Internal(error.to_string()))?;
    Model::of(&table, scenario).map_err(|missing| Failure::Usage(format!("--loko-scenario: {missing}")))
}
