//! An attack: who sends when, as a text of one line that replays it.

use std::fmt;
use std::str::FromStr;

use wayleave_topology::{FailureElement, LinkId, NodeId};

/// Traffic within the contracts: a pattern, the seed of its random numbers, and the changes made by a search.
///
/// ```
/// use wayleave_adversary::Attack;
/// let attack: Attack = "chasing:12/small,7,@1+1200,9-400".parse()?;
/// assert_eq!(attack.victim(), Some(12));
/// assert_eq!(attack.to_string(), "chasing:12/small,7,@1+1200,9-400");
/// assert!("chasing,7".parse::<Attack>().is_err());
/// # Ok::<(), wayleave_adversary::AttackError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Attack {
    /// Start times of bursts.
    pub timing: BurstTiming,
    /// In which frames.
    pub frames: FrameSizes,
    /// Presence of traffic without a contract, where there can be any.
    pub cross_traffic: CrossTraffic,
    /// Amount of the nodes' jitter that packets take.
    pub held_up: JitterDraw,
    /// Permanent failures during the attack.
    pub cuts: Vec<InjectedFailure>,
    /// Of random phases, and of the simulator.
    pub seed: u64,
    /// Shifts relative to the pattern.
    pub shifts: Vec<PhaseShift>,
}

/// Start times of bursts. Promises are numbered from 0, in the order of the claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BurstTiming {
    /// All bursts at once.
    Together,
    /// Each at random.
    Random,
    /// Each at random, and again whenever its bucket is full.
    Repeated,
    /// Only contracts that share a link with the victim: at every queue of its route, the bursts that join it there
    /// arrive when its last packet would if nothing delayed it.
    Colliding {
        /// Promise whose packets are to be delayed.
        victim: usize,
    },
    /// As `Colliding`, but at the arrival time of its last packet after delays at the queues before.
    Chasing {
        /// Promise whose packets are to be delayed.
        victim: usize,
    },
    /// As `Chasing`; in addition, the joining contracts are held up on the link before by bursts of others, so that
    /// the tokens earned in this time arrive at once: their bursts have grown.
    Squeezing {
        /// Promise whose packets are to be delayed.
        victim: usize,
    },
}

/// Size of frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameSizes {
    /// As large as the contract sends them.
    Largest,
    /// As small as Ethernet allows.
    Smallest,
}

/// Other traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CrossTraffic {
    /// The claim's background.
    Background,
    /// Nothing.
    Quiet,
}

/// Amount of the nodes' jitter that packets take; the claim determines whether they may overtake each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JitterDraw {
    /// Maximum jitter for every packet.
    Alike,
    /// Each a time of its own, at random.
    Drawn,
    /// Maximum jitter for the victim's packets; the others arrive just before them. Without a victim, random.
    Late,
}

/// A cable or a switch that fails while flows run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InjectedFailure {
    /// Element that fails.
    pub element: FailureElement,
    /// Time of the failure, in ns; in attacks on one promise its burst begins at 0.
    pub at_ns: i64,
}

/// Something that begins earlier or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PhaseShift {
    /// Contracts that are shifted.
    pub who: PhaseTarget,
    /// Shift in ns; negative is earlier.
    pub by_ns: i64,
}

/// Contracts that begin earlier or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseTarget {
    /// All that join the victim at this hop of its route, from 0.
    JoiningAt(usize),
    /// One promise, by its number.
    Promise(usize),
}

/// The text is no attack.
#[derive(thiserror::Error, Clone, Debug, PartialEq, Eq)]
#[error("\"{}\" is not an attack: PATTERN,SEED[,SHIFTS] is expected, such as together,1 or chasing:12/small,7,@1+1200,9-400", .text)]
pub struct AttackError {
    text: String,
}

impl Attack {
    /// A pattern of largest frames, with background.
    pub const fn new(timing: BurstTiming, seed: u64) -> Self {
        Self {
            timing,
            frames: FrameSizes::Largest,
            cross_traffic: CrossTraffic::Background,
            held_up: JitterDraw::Alike,
            cuts: Vec::new(),
            seed,
            shifts: Vec::new(),
        }
    }

    /// The promise whose packets are to be delayed, if it is one.
    pub const fn victim(&self) -> Option<usize> {
        match self.timing {
            BurstTiming::Colliding { victim } | BurstTiming::Chasing { victim } | BurstTiming::Squeezing { victim } => {
                Some(victim)
            }
            BurstTiming::Together | BurstTiming::Random | BurstTiming::Repeated => None,
        }
    }

    /// Returns the shift of these contracts in ns.
    pub(crate) fn shift(&self, who: PhaseTarget) -> i64 {
        self.shifts.iter().filter(|shift| shift.who == who).map(|shift| shift.by_ns).sum()
    }

    /// Adds `by_ns` to the shift of these contracts.
    pub(crate) fn moved(&self, who: PhaseTarget, by_ns: i64) -> Self {
        let mut moved = self.clone();
        match moved.shifts.iter_mut().find(|shift| shift.who == who) {
            Some(shift) => shift.by_ns += by_ns,
            None => moved.shifts.push(PhaseShift { who, by_ns }),
        }
        moved.shifts.retain(|shift| shift.by_ns != 0);
        moved
    }
}

impl fmt::Display for Attack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.timing {
            BurstTiming::Together => f.write_str("together")?,
            BurstTiming::Random => f.write_str("random")?,
            BurstTiming::Repeated => f.write_str("repeated")?,
            BurstTiming::Colliding { victim } => write!(f, "colliding:{victim}")?,
            BurstTiming::Chasing { victim } => write!(f, "chasing:{victim}")?,
            BurstTiming::Squeezing { victim } => write!(f, "squeezing:{victim}")?,
        }
        if self.frames == FrameSizes::Smallest {
            f.write_str("/small")?;
        }
        if self.cross_traffic == CrossTraffic::Quiet {
            f.write_str("/quiet")?;
        }
        match self.held_up {
            JitterDraw::Alike => {}
            JitterDraw::Drawn => f.write_str("/drawn")?,
            JitterDraw::Late => f.write_str("/late")?,
        }
        for InjectedFailure { element, at_ns } in &self.cuts {
            match element {
                FailureElement::Cable(link) => write!(f, "/cut:l{}@{at_ns}", link.0)?,
                FailureElement::Switch(node) => write!(f, "/cut:s{}@{at_ns}", node.0)?,
            }
        }
        write!(f, ",{}", self.seed)?;
        for PhaseShift { who, by_ns } in &self.shifts {
            f.write_str(",")?;
            match who {
                PhaseTarget::JoiningAt(hop) => write!(f, "@{hop}{by_ns:+}")?,
                PhaseTarget::Promise(number) => write!(f, "{number}{by_ns:+}")?,
            }
        }
        Ok(())
    }
}

impl FromStr for Attack {
    type Err = AttackError;

    fn from_str(text: &str) -> Result<Self, AttackError> {
        parse(text).ok_or_else(|| AttackError { text: text.to_owned() })
    }
}

fn parse(text: &str) -> Option<Attack> {
    let mut parts = text.splitn(3, ',');
    let (pattern, seed) = (parts.next()?, parts.next()?.parse().ok()?);
    let mut words = pattern.split('/');
    let timing = match words.next()?.split_once(':') {
        None => match pattern.split('/').next()? {
            "together" => BurstTiming::Together,
            "random" => BurstTiming::Random,
            "repeated" => BurstTiming::Repeated,
            _ => return None,
        },
        Some(("colliding", victim)) => BurstTiming::Colliding { victim: victim.parse().ok()? },
        Some(("chasing", victim)) => BurstTiming::Chasing { victim: victim.parse().ok()? },
        Some(("squeezing", victim)) => BurstTiming::Squeezing { victim: victim.parse().ok()? },
        Some(_) => return None,
    };
    let mut attack = Attack::new(timing, seed);
    for word in words {
        match word {
            "small" => attack.frames = FrameSizes::Smallest,
            "quiet" => attack.cross_traffic = CrossTraffic::Quiet,
            "drawn" => attack.held_up = JitterDraw::Drawn,
            "late" => attack.held_up = JitterDraw::Late,
            other => attack.cuts.push(cut(other.strip_prefix("cut:")?)?),
        }
    }
    let shifts = parts.next().map_or(Some(Vec::new()), |list| list.split(',').map(shift).collect())?;
    Some(Attack { shifts, ..attack })
}

/// `l12@3400` or `s5@3400`: the link, with the other direction of its cable, or the switch, and when.
fn cut(text: &str) -> Option<InjectedFailure> {
    let (what, at) = text.split_once('@')?;
    let element = match what.split_at_checked(1)? {
        ("l", number) => FailureElement::Cable(LinkId(number.parse().ok()?)),
        ("s", number) => FailureElement::Switch(NodeId(number.parse().ok()?)),
        _ => return None,
    };
    Some(InjectedFailure { element, at_ns: at.parse().ok()? })
}

fn shift(text: &str) -> Option<PhaseShift> {
    let (is_hop, rest) = text.strip_prefix('@').map_or((false, text), |rest| (true, rest));
    let sign = rest.find(['+', '-'])?;
    let number = rest[..sign].parse().ok()?;
    let who = if is_hop { PhaseTarget::JoiningAt(number) } else { PhaseTarget::Promise(number) };
    Some(PhaseShift { who, by_ns: rest[sign..].parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_attack_is_parsed_back() {
        for text in [
            "together,1",
            "random/small/quiet,18446744073709551615",
            "repeated/quiet/drawn,0",
            "squeezing:5/small/late,1",
            "colliding:0,3,@0-9223372036854775807",
            "squeezing:5,1",
            "chasing:12/small,7,@1+1200,9-400",
            "chasing:3/cut:l12@-3400/cut:s5@0,1",
        ] {
            assert_eq!(text.parse::<Attack>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn malformed_attacks_are_refused() {
        for text in [
            "",
            "together",
            "together,",
            "chasing,1",
            "together:1,1",
            "random/loud,1",
            "together,1,5",
            "together,1,@+5",
            "together/cut:12@5,1",
            "together/cut:l12,1",
            "together/cut:x12@5,1",
        ] {
            assert!(text.parse::<Attack>().is_err(), "{text}");
        }
    }
}
