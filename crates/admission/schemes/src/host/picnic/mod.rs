//! PicNIC': receivers meter every service and send its senders a maximum rate; senders serve services by weights.
//!
//! P. Kumar et al., "PicNIC: Predictable Virtualized NIC", SIGCOMM 2019, reduced to uFAB's baseline (SIGCOMM 2022,
//! 2.2): "PicNIC's components for bandwidth envelope, i.e., weighted fair queues and receiver-driven CC, and we call
//! it PicNIC'. This is similar to EyeQ". PicNIC's own text is not among the sources. With [`crate::transport::swift`]
//! as the transport and [`crate::path::clove`] for paths it is uFAB's PicNIC'+WCC+Clove: each of the three alone sees
//! a part of the network. The receiver's rate protects the receiving line, the weight protects the fabric, and a pair
//! sends at the lower rate of both.
//!
//! | what | here |
//! |---|---|
//! | receiver-driven control, as EyeQ's | [`crate::host::eyeq`], the same code: one meter for each service, and feedback to its senders |
//! | the target is 95 % of the line (uFAB, 2.2) | [`Settings::target_percent`] |
//! | a service gets its minimum, and a part of the remaining capacity in proportion to that | the weights of EyeQ's shares are the minima |
//! | weighted fair queues at senders | the weight of a class at the host's interface is its minimum over [`Settings::unit_bandwidth`] |
//! | weights for WCC | a pair has the weight of its service at the sender |
//! | a pair sends at the lower of its receiver's rate and its window | the limiter of the pair, above its flows' windows |
//!
//! Deviations, and points that the texts leave open:
//! - Periods and gains of PicNIC are not known; EyeQ's are used, and its deviations hold ([`crate::host::eyeq`]).
//! - PicNIC's fairness of the receiver's processor, and its limit on packets after drops, are left out: hosts cost
//!   nothing here.
//! - Weighted fair queues replace EyeQ's root limiters at senders. A maximum is kept by a limiter of the class.
//! - Every pair has the whole weight of its service, so a service that sends to several receivers weighs more where
//!   their paths meet. Seawall divides a sender's weight among its tunnels.
//! - Weights are whole numbers: [`Settings::unit_bandwidth`] should divide the minima. A service without a minimum has weight
//!   1.

mod settings;

use std::collections::BTreeMap;

use wayleave_scheme_api::{
    Bucket, ClassId, Described, Descriptor, ExcessAction, Host, HostAction, HostInput, Limiter, Outgoing, Parameters,
    Role, Share, Weighted,
};
use wayleave_sharing::TreeError;
use wayleave_units::{Bytes, Rate, Time};

pub use settings::Settings;

use crate::sparse;
use crate::brokers::NoBroker;
use crate::host::eyeq::{self, Eyeq, Feedback, LineParams, Timer};
use crate::hosts::{HostBuildError, HostScheme, HostSetup};

/// Descriptor of PicNIC'.
pub const DESCRIPTOR: Descriptor = Descriptor {
    name: "picnic",
    title: "PicNIC'",
    roles: &[Role::Host],
    summary: "EyeQ's meters with minimum rates, weighted fair queues at senders, and transport weights",
    citation: "P. Kumar and others, \"PicNIC: Predictable Virtualized NIC\", SIGCOMM 2019, as uFAB (SIGCOMM 2022), section 2.2, reduces it",
    guarantee: "minimum rates on machine links while no other link is congested; elsewhere, shares by weight if the transport supports weights",
    parameters: Settings::LIST,
};

impl Described for Picnic {
    const DESCRIPTOR: &'static Descriptor = &DESCRIPTOR;
    type Params = Settings;
}

impl HostScheme for Picnic {
    const HAS_INTERVAL: bool = true;
    const DIVIDES_CAPACITY: bool = true;

    type Broker = NoBroker<Feedback>;

    fn build(setup: &mut HostSetup<'_>, settings: &Settings) -> Result<Self, HostBuildError> {
        Self::new(setup.line, settings.meter(), settings.unit_bandwidth, settings.burst)
            .map_err(HostBuildError::because)
    }

    fn set_interval(&mut self, interval: Time) {
        self.meter.set_interval(interval);
    }

    fn not_carried_out(_: &Settings) -> &'static [&'static str] {
        &["transmit.weight", "receive.weight"]
    }

    fn wire_bytes(feedback: &Feedback) -> usize {
        Eyeq::wire_bytes(feedback)
    }
}

/// An action of this host.
pub type Action = HostAction<Feedback, Timer>;

/// One machine of PicNIC'.
///
/// ```
/// use wayleave_scheme_api::{ClassId, Host, HostAction, HostInput, Share, Weighted};
/// use wayleave_schemes::host::picnic::{Picnic, Settings};
/// use wayleave_schemes::host::eyeq::LineParams;
/// use wayleave_units::{Bytes, Rate, Time};
/// let (settings, line) = (Settings::default(), LineParams::both(Rate::from_gbit(10)));
/// let mut machine = Picnic::new(line, settings.meter(), Rate::from_gbit(1), Bytes::new(64_000))?;
/// let hose = Share { min: Rate::from_gbit(5), ..Share::BEST_EFFORT };
/// let mut weights = Vec::new();
/// machine.on(Time::ZERO, HostInput::ClassSet { class: ClassId(1), transmit: hose, receive: hose }, &mut |action| {
///     if let HostAction::SetWeight { of, weight } = action {
///         weights.push((of, weight));
///     }
/// });
/// assert_eq!(weights, [(Weighted::Class(ClassId(1)), 5)]);
/// # Ok::<(), wayleave_sharing::TreeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Picnic {
    meter: Eyeq,
    /// A weight of 1.
    unit: Rate,
    /// Of the limiter of a class with a maximum.
    burst: Bytes,
    classes: BTreeMap<ClassId, Class>,
    /// The class of each pair that leaves here.
    pairs: Vec<Option<ClassId>>,
}

/// Last settings of a class.
#[derive(Clone, Copy, Debug)]
struct Class {
    weight: u32,
    max: Option<Rate>,
}

impl Picnic {
    /// A machine without classes.
    ///
    /// # Errors
    /// As [`Eyeq::new`].
    pub fn new(line: LineParams, meter: eyeq::Params, unit: Rate, burst: Bytes) -> Result<Self, TreeError> {
        let unit = unit.max(Rate::from_bits_per_second(1));
        Ok(Self { meter: Eyeq::new(line, meter)?, unit, burst, classes: BTreeMap::new(), pairs: Vec::new() })
    }

    /// A minimum in units, at least 1, to the next whole number.
    fn weight(&self, min: Rate) -> u32 {
        let (min, unit) = (min.bits_per_second(), self.unit.bits_per_second());
        u32::try_from(min.saturating_add(unit / 2) / unit).unwrap_or(u32::MAX).max(1)
    }

    /// A class has these terms from now on: its queue, its pairs and its limiter follow.
    fn set_class(&mut self, class: ClassId, transmit: Share, act: &mut impl FnMut(Action)) {
        let weight = self.weight(transmit.min);
        let before = self.classes.insert(class, Class { weight, max: transmit.max });
        // A weight of 1 is also set: classes take turns from the first weight on.
        if before.is_none_or(|before| before.weight != weight) {
            act(HostAction::SetWeight { of: Weighted::Class(class), weight });
            for pair in self.pairs_of(class) {
                act(HostAction::SetWeight { of: Weighted::Pair(pair), weight });
            }
        }
        if before.and_then(|before| before.max) != transmit.max {
            let burst = self.burst;
            let bucket = transmit.max.map(|rate| Bucket { rate, burst, excess: ExcessAction::Waits });
            act(HostAction::SetBucket { limiter: Limiter::Class(class), bucket });
        }
    }

    fn pairs_of(&self, class: ClassId) -> impl Iterator<Item = Outgoing> + '_ {
        let pairs = self.pairs.iter().enumerate();
        pairs.filter(move |&(_, of)| *of == Some(class)).map(|(pair, _)| Outgoing(pair as u32))
    }

    fn open(&mut self, pair: Outgoing, class: ClassId, act: &mut impl FnMut(Action)) {
        sparse::set(&mut self.pairs, pair.index(), class);
        let weight = self.classes.get(&class).map_or(1, |class| class.weight);
        act(HostAction::SetWeight { of: Weighted::Pair(pair), weight });
    }

    /// Forwards an input to EyeQ and executes its actions, except its limiters of classes: weighted queues replace
    /// them.
    fn meter(&mut self, now: Time, input: HostInput<'_, Feedback, Timer>, act: &mut impl FnMut(Action)) {
        self.meter.on(now, input, &mut |action| {
            if !matches!(action, HostAction::SetBucket { limiter: Limiter::Class(_), .. }) {
                act(action);
            }
        });
    }
}

/// Returns a class's share for EyeQ: the remaining capacity is divided in proportion to minima.
fn by_minimum(share: Share) -> Share {
    let kilobits = share.min.bits_per_second() / 1_000;
    Share { weight: u32::try_from(kilobits).unwrap_or(u32::MAX).max(1), ..share }
}

impl Host for Picnic {
    type Message = Feedback;
    type Timer = Timer;

    fn on(&mut self, now: Time, input: HostInput<'_, Feedback, Timer>, act: &mut impl FnMut(Action)) {
        match input {
            HostInput::ClassSet { class, transmit, receive } => {
                self.set_class(class, transmit, act);
                let [transmit, receive] = [transmit, receive].map(by_minimum);
                self.meter(now, HostInput::ClassSet { class, transmit, receive }, act);
            }
            HostInput::ClassGone { class } => {
                self.set_class(class, Share::BEST_EFFORT, act);
                self.meter(now, input, act);
            }
            HostInput::Opened { pair, spec } => {
                self.open(pair, spec.class, act);
                self.meter(now, input, act);
            }
            HostInput::Closed { pair } => {
                if let Some(place) = self.pairs.get_mut(pair.index()) {
                    *place = None;
                }
                self.meter(now, input, act);
            }
            input => self.meter(now, input, act),
        }
    }
}

#[cfg(test)]
mod tests;
