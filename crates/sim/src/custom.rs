//! Schemes from outside of this repository: what a run takes in place of what its scenario says.

use std::fmt;

use wayleave_roles::Switch;
use wayleave_schemes::transports::AnySwitch;
use wayleave_topology::LinkId;

/// Makes the switch role of a queue of the port that sends on this link, 0 the highest; `None` leaves the queue as the
/// scenario says. It is asked once for each queue, before the run.
pub type SwitchFactory<'a> = dyn Fn(LinkId, u8) -> Option<Box<dyn Switch + Send>> + Sync + 'a;

/// Schemes from outside, made anew for every run. They are called through a pointer, which is slower than what is
/// compiled in.
///
/// ```
/// use wayleave_roles::{Mark, QueueState, Switch};
/// use wayleave_sim::Custom;
/// use wayleave_units::Time;
///
/// /// Marks every packet.
/// struct Always;
///
/// impl Switch for Always {
///     fn on_arrival(&mut self, _now: Time, _queue: QueueState, _bytes: u32) -> Mark {
///         Mark::Congestion
///     }
/// }
///
/// let in_queue_0 = |_link, queue| (queue == 0).then(|| Box::new(Always) as Box<dyn Switch + Send>);
/// let custom = Custom { switch: Some(&in_queue_0), ..Custom::default() };
/// ```
#[derive(Clone, Copy, Default)]
pub struct Custom<'a> {
    /// What queues of ports do beside queueing.
    pub switch: Option<&'a SwitchFactory<'a>>,
}

impl Custom<'_> {
    /// The switch role of a queue, if it has one from outside.
    pub(crate) fn switch(&self, link: LinkId, queue: u8) -> Option<AnySwitch> {
        self.switch.and_then(|make| make(link, queue)).map(AnySwitch::custom)
    }
}

impl fmt::Debug for Custom<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Custom").field("switch", &self.switch.map(|_| "a factory")).finish()
    }
}
