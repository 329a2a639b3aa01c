//! The options that say what the network model counts, shared by every command that decides something.

use clap::{Args, ValueEnum};
use wayleave_contracts::WireOverhead;
use wayleave_ledger::{BestEffort, Comparison, Jitter, Model, Residual, Shaping};
use wayleave_schemes::registry::Defaults;
use wayleave_units::Bytes;

use crate::failure::Failure;

/// What the model counts. Nothing given is the default model, which is sound on real networks.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Network model")]
pub(crate) struct ModelArgs {
    /// The model that the other options here start from; `published` is that of Chameleon's controller, for comparison
    #[arg(long, value_enum, default_value_t, value_name = "MODEL")]
    pub(crate) model: Base,
    /// Service promised to lower queues: the whole convex curve, or only its first slope
    #[arg(long, value_enum, value_name = "CURVE")]
    residual: Option<ResidualArg>,
    /// The largest frame of every link on the wire, such as 1530B; `mtu` takes it from each link
    #[arg(long, value_name = "SIZE|mtu")]
    max_frame: Option<MaxFrame>,
    /// Whether frames are counted with preamble, gap, FCS and tags
    #[arg(long, value_enum, value_name = "SWITCH")]
    overhead: Option<Switch>,
    /// The longest stack of tags that the overhead counts, which is also the most switches on a route
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u32).range(0..=64))]
    tags: Option<u32>,
    /// Whether the lowest queue of every switch port is kept for traffic without a contract
    #[arg(long, value_enum, value_name = "SWITCH")]
    best_effort: Option<Switch>,
    /// Whether a bound may be equal to its limit
    #[arg(long, value_enum, value_name = "HOW")]
    compare: Option<CompareArg>,
    /// Whether traffic counts as bounded by the line that it comes from
    #[arg(long, value_enum, value_name = "SWITCH")]
    pub(crate) shaping: Option<Switch>,
    /// What the jitter of a node may do to packets of one queue: keep their order over all inputs, or anything
    #[arg(long, value_enum, value_name = "HOW")]
    jitter: Option<JitterArg>,
}

/// Where the options start from.
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
    /// Packets of one queue keep the order in which they came to the node
    Ordered,
    /// Every packet takes a time of its own
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
            // The largest MTU, and what a long tag stack adds.
            64..=66_000 => Ok(Self::Size(size)),
            _ => Err(format!("{size} is no frame: from 64B to 66kB is accepted, or mtu")),
        }
    }
}

impl ModelArgs {
    /// The same; if nothing else is said, jitter keeps the order of packets, as that of timers does, which are late for a port and not for a packet.
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
                JitterArg::Ordered => Jitter::Ordered,
                JitterArg::Any => Jitter::Any,
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
