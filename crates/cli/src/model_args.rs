//! Options of the network model, shared by every command that decides contracts.

use clap::{Args, ValueEnum};
use wayleave_contracts::WireOverhead;
use wayleave_ledger::{BestEffort, Comparison, JitterModel, Model, Residual, Shaping};
use wayleave_schemes::registry::Defaults;
use wayleave_units::Bytes;

use crate::failure::Failure;

/// Delays and overheads that the model counts. Without options it is the default model, which is sound on real
/// networks.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Network model")]
pub(crate) struct ModelArgs {
    /// Base model; `published` is that of Chameleon's controller, for comparison
    #[arg(long, value_enum, default_value_t, value_name = "MODEL")]
    pub(crate) model: Base,
    /// Service of lower queues: the whole convex curve, or its first slope only
    #[arg(long, value_enum, value_name = "CURVE")]
    residual: Option<ResidualArg>,
    /// Largest frame on the wire, such as 1530B; `mtu` is that of each link
    #[arg(long, value_name = "SIZE|mtu")]
    max_frame: Option<MaxFrame>,
    /// Count preamble, gap, FCS and tags of frames
    #[arg(long, value_enum, value_name = "SWITCH")]
    overhead: Option<Switch>,
    /// Number of tags in the overhead: the maximum number of switches on a route
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(0..=64))]
    tags: Option<u32>,
    /// Reserve the lowest queue of every switch port for traffic without a contract
    #[arg(long, value_enum, value_name = "SWITCH")]
    best_effort: Option<Switch>,
    /// Compare bounds with limits: strictly below, or at most equal
    #[arg(long, value_enum, value_name = "HOW")]
    compare: Option<CompareArg>,
    /// Limit arrivals of a queue by the rates of its input links
    #[arg(long, value_enum, value_name = "SWITCH")]
    pub(crate) shaping: Option<Switch>,
    /// Order of packets of one queue after the jitter of a node
    #[arg(long, value_enum, value_name = "HOW")]
    jitter: Option<JitterArg>,
}

/// Defaults of the options.
#[derive(ValueEnum, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Base {
    /// Sound on real networks
    #[default]
    Default,
    /// As Chameleon's published controller
    Published,
}

impl Base {
    /// The defaults that go with it.
    pub(crate) fn defaults(self) -> Defaults {
        match self {
            Self::Default => Defaults::Recommended,
            Self::Published => Defaults::Published,
        }
    }
}

/// On or off.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Switch {
    On,
    Off,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum ResidualArg {
    Full,
    FirstSlope,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum CompareArg {
    Strict,
    NonStrict,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum JitterArg {
    /// Packets of one queue keep their order of arrival at the node
    Ordered,
    /// Every packet has an independent delay
    Any,
}

/// `mtu`, or a size.
#[derive(Clone, Copy, Debug)]
enum MaxFrame {
    Mtu,
    Size(Bytes),
}

impl std::str::FromStr for MaxFrame {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "mtu" {
            return Ok(Self::Mtu);
        }
        let size: Bytes = text.parse().map_err(|error: wayleave_units::ParseUnitError| error.to_string())?;
        match size.get() {
            // The largest MTU plus a long tag stack.
            64..=66_000 => Ok(Self::Size(size)),
            _ => Err(format!("{size} is not a frame size: expected 64B to 66kB, or mtu")),
        }
    }
}

impl ModelArgs {
    /// Returns the arguments with order-preserving jitter as the default: the jitter of timers delays a port, not a
    /// packet.
    pub(crate) fn keeping_order(mut self) -> Self {
        self.jitter.get_or_insert(JitterArg::Ordered);
        self
    }

    /// The model that they describe.
    pub(crate) fn model(&self) -> Result<Model, Failure> {
        let mut model = match self.model {
            Base::Default => Model::default(),
            Base::Published => Model::PUBLISHED,
        };
        if let Some(residual) = self.residual {
            model.residual = match residual {
                ResidualArg::Full => Residual::Full,
                ResidualArg::FirstSlope => Residual::FirstSlope,
            };
        }
        match self.max_frame {
            Some(MaxFrame::Mtu) => model.max_frame = None,
            Some(MaxFrame::Size(size)) => model.max_frame = Some(size),
            None => {}
        }
        model.overhead = self.overhead(model.overhead)?;
        if let Some(best_effort) = self.best_effort {
            model.best_effort = match best_effort {
                Switch::On => BestEffort::LowestQueue,
                Switch::Off => BestEffort::Dropped,
            };
        }
        if let Some(compare) = self.compare {
            model.comparison = match compare {
                CompareArg::Strict => Comparison::Strict,
                CompareArg::NonStrict => Comparison::NonStrict,
            };
        }
        if let Some(shaping) = self.shaping {
            model.shaping = match shaping {
                Switch::On => Shaping::InputLinks,
                Switch::Off => Shaping::Off,
            };
        }
        if let Some(jitter) = self.jitter {
            model.jitter = match jitter {
                JitterArg::Ordered => JitterModel::Ordered,
                JitterArg::Any => JitterModel::Any,
            };
        }
        Ok(model)
    }

    fn overhead(&self, base: WireOverhead) -> Result<WireOverhead, Failure> {
        let usual = match Model::default().overhead {
            WireOverhead::Counted { tags } => tags,
            WireOverhead::Ignored => 0,
        };
        let is_on = match self.overhead {
            Some(switch) => switch == Switch::On,
            None => matches!(base, WireOverhead::Counted { .. }),
        };
        match (is_on, self.tags) {
            (true, tags) => Ok(WireOverhead::Counted { tags: tags.unwrap_or(usual) }),
            (false, None) => Ok(WireOverhead::Ignored),
            (false, Some(_)) => {
                Err(Failure::Usage("--tags counts part of the wire overhead, which is off: add --overhead on".into()))
            }
        }
    }
}
