//! Classes: division of the queues of every port among latency contracts, minima, objectives and best effort.
//!
//! The highest queues are in strict priority and carry latency contracts. Three queues below share the residual
//! capacity by deficit round robin: guaranteed (minima, with their probes and acknowledgements), objective, best
//! effort. [`SharedLink`] computes the guarantees of that division, in exact integers. Admission, checkers and hosts
//! all use it, and no other code computes them (but for the recheck of decisions, which derives them by its own
//! method).

mod division;
mod floors;
mod round_trip;
mod shared_link;

pub use division::{Class, Classes, ClassesError, MAX_WEIGHT};
pub use floors::ShortBuffer;
pub use shared_link::{ClassService, SharedLink, StrictResidual, deficit_ahead};

use crate::builder::NetworkError;
use crate::network::{Network, NodeKind};

impl Network {
    /// Returns the division of the queues of its ports among classes; `None` where contracts are of one kind.
    pub fn classes(&self) -> Option<&Classes> {
        self.classes.as_ref()
    }

    /// Returns the network with its queues divided. Every switch port needs the queues. A host queues in memory:
    /// there the three classes are below all queues of its port.
    ///
    /// # Errors
    /// The error of the classes, or the first link with too few queues.
    pub fn with_classes(mut self, classes: Classes) -> Result<Self, NetworkError> {
        classes.validate()?;
        let needed = classes.queues();
        let short = self
            .links()
            .find(|(id, link)| self.node(link.from).kind == NodeKind::Switch && self.queues(*id).len() < needed);
        if let Some((id, link)) = short {
            let queues = self.queues(id).len();
            return Err(ClassesError::TooFewQueues { link: link.name.clone(), queues, needed }.into());
        }
        self.classes = Some(classes);
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use wayleave_units::{Bytes, Time};

    use super::*;
    use crate::builder::PortSpec;
    use crate::builders::{Cabling, build};

    #[test]
    fn queues_below_the_latency_queues_are_in_weighted_order() {
        let classes = Classes::default();
        let all: Vec<Class> = (0..8).map(|queue| classes.class_of(queue)).collect();
        assert_eq!(all[..5], [Class::Latency; 5]);
        assert_eq!(all[5..], Class::SHARING);
        assert_eq!(Class::SHARING.map(|class| classes.queue_of(class)), [5, 6, 7]);
    }

    #[test]
    fn quanta_have_no_common_divisor_but_a_frame() {
        let frame = Bytes::new(1_514);
        let large = Classes { guaranteed: 60, objective: 30, best_effort: 10, ..Classes::default() };
        for classes in [Classes::default(), large] {
            let quanta = Class::SHARING.map(|class| classes.quantum(class, frame).get());
            assert_eq!(quanta, [6 * 1_514, 3 * 1_514, 1_514]);
        }
    }

    #[test]
    fn an_invalid_class_setting_is_named() {
        let error = |classes: Classes| classes.validate().err().and_then(|error| error.key());
        let good = Classes::default();
        assert_eq!(error(good), None);
        assert_eq!(error(Classes { latency: 0, ..good }), Some("latency"));
        assert_eq!(error(Classes { latency: 6, ..good }), Some("latency"));
        assert_eq!(error(Classes { objective: 0, ..good }), Some("objective"));
        assert_eq!(error(Classes { best_effort: 101, ..good }), Some("bestEffort"));
        assert_eq!(error(Classes { target: 101, ..good }), Some("target"));
        assert_eq!(error(Classes { promise: 96, ..good }), Some("promise"));
        assert_eq!(error(Classes { round_trip: Some(Time::ZERO), ..good }), Some("roundTrip"));
    }

    #[test]
    fn a_port_with_too_few_queues_is_named() {
        let network = |queues| {
            let switch_port = PortSpec::uniform(queues, Bytes::new(100_000));
            build::star(2, Cabling { switch_port, ..Cabling::default() }).unwrap()
        };
        let error = network(7).with_classes(Classes::default()).unwrap_err().to_string();
        assert!(error.contains("has 7 queues, and the classes need 8"), "{error}");
        let divided = network(8).with_classes(Classes::default()).unwrap();
        let jittery = divided.with_nodes(|node| node.jitter = Time::from_micros(1)).unwrap();
        assert_eq!(jittery.classes(), Some(&Classes::default()), "they stay when nodes change");
        let fewer = divided.with_ports(|_, _, port| port.queues.truncate(4));
        assert!(matches!(fewer, Err(NetworkError::Classes(ClassesError::TooFewQueues { .. }))));
    }
}
