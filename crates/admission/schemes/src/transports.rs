//! The schemes of the packet path at hosts, one enum for each role: calls are static, and the states of flows and of
//! their paths are stored side by side without boxes. The enums are written from `list.rs`, and so are the enums of a
//! scenario's choices: a scheme with its parameters.
//!
//! A scheme that is not in this repository is the variant `Custom` of each: a trait object, whose calls are dynamic.

use std::fmt;
use std::sync::Arc;

use wayleave_scheme_api::{
    Ack, CongestionSignal, Departure, Described, Descriptor, Flow, FlowStart, IntHop, LocalFlow, Loss, ParamValues,
    Parameter, Parameters, Path, PathProbe, PathReport, RouteFacts, Value,
};
use wayleave_units::{Rate, Time};

/// A transport of the list: congestion control of a flow.
pub trait Transport: Described + Flow + Sized {
    /// `true` if its packets are ECN-capable: switches may mark them.
    const ECN_CAPABLE: bool = false;
    /// `true` if it uses only round trips, or no signal: a tunnel then has no signal to give it (SCC, III-C).
    const MARKS_OPTIONAL: bool = false;

    /// A flow that begins.
    fn begin(start: &FlowStart, params: &Self::Params) -> Self;
}

/// A path scheme of the list: how the packets of a flow are spread over paths.
pub trait PathScheme: Described + Path + Sized {
    /// `true` if packets carry the numbers of flowcells, by which the receiver restores their order.
    const HAS_CELLS: bool = false;
    /// `true` if one value serves all flows of a pair (if there are pairs), since it learns the state of their paths.
    const PER_PAIR: bool = false;

    /// For a flow that begins; flows should not share a seed.
    fn begin(params: &Self::Params, seed: u64) -> Self;

    /// Returns `true` if packets have to collect telemetry for it.
    fn reads_telemetry(_params: &Self::Params) -> bool {
        false
    }

    /// Returns `true` if packets have to be ECN-capable, even if their transport does not understand marks.
    fn reads_marks(_params: &Self::Params) -> bool {
        false
    }

    /// The flowcell of the packet whose path was chosen last; 0 where there are none.
    #[inline]
    fn cell(&self) -> u32 {
        0
    }
}

/// State of a flow of a custom transport.
pub trait CustomFlow: Flow + fmt::Debug + Send {}

impl<T: Flow + fmt::Debug + Send> CustomFlow for T {}

/// A transport that is not in this repository.
pub trait CustomTransport: fmt::Debug + Send + Sync {
    /// Returns the descriptor of the transport.
    fn descriptor(&self) -> &'static Descriptor;

    /// Returns `true` if its packets are ECN-capable: switches may mark them.
    fn receives_marks(&self) -> bool {
        false
    }

    /// A flow that begins.
    fn begin(&self, start: &FlowStart) -> Box<dyn CustomFlow>;
}

/// A path scheme that is not in this repository.
pub trait CustomPaths: fmt::Debug + Send + Sync {
    /// Returns the descriptor of the scheme.
    fn descriptor(&self) -> &'static Descriptor;

    /// For a flow that begins.
    fn begin(&self, seed: u64) -> Box<dyn StoredPath>;
}

/// Path choice of one flow by a custom scheme.
pub trait StoredPath: Path + fmt::Debug + Send {}

impl<T: Path + fmt::Debug + Send> StoredPath for T {}

shared!(SharedTransport, CustomTransport, "Somebody else's transport, which all flows share.");
shared!(SharedPaths, CustomPaths, "Somebody else's path scheme, which all flows share.");

/// Writes [`AnyFlow`], and the dispatch of each call to its scheme.
macro_rules! flows {
    (
        admission { $($admission:tt)* }
        transport { $($(#[$meta:meta])* $module:ident::$scheme:ident,)+ }
        $($others:tt)*
    ) => {
        choice! {
            /// Congestion control, as configured in a scenario.
            Congestion, SharedTransport, TRANSPORTS;
            $($(#[$meta])* transport::$module::$scheme,)+
        }

        impl Congestion {
            /// A flow that begins.
            pub fn flow(&self, start: &FlowStart) -> AnyFlow {
                match self {
                    $($(#[$meta])* Self::$scheme(params) => {
                        AnyFlow::$scheme(<crate::transport::$module::$scheme as Transport>::begin(start, params))
                    })+
                    Self::Custom(custom) => AnyFlow::Custom(custom.0.begin(start)),
                }
            }

            /// Returns the congestion signal that a tunnel has to give to it (SCC, III-C).
            pub fn signal(&self) -> CongestionSignal {
                let needs_none = match self {
                    $($(#[$meta])* Self::$scheme(_) => <crate::transport::$module::$scheme as Transport>::MARKS_OPTIONAL,)+
                    Self::Custom(_) => false,
                };
                match self.hears_marks() {
                    true => CongestionSignal::Marks,
                    false if needs_none => CongestionSignal::RoundTrips,
                    false => CongestionSignal::Losses,
                }
            }

            /// Returns `true` if its packets are ECN-capable: switches may mark them.
            pub fn hears_marks(&self) -> bool {
                match self {
                    $($(#[$meta])* Self::$scheme(_) => <crate::transport::$module::$scheme as Transport>::ECN_CAPABLE,)+
                    Self::Custom(custom) => custom.0.receives_marks(),
                }
            }
        }

        /// Congestion control of one flow, whichever it is.
        ///
        /// ```
        /// use wayleave_scheme_api::{Flow, FlowStart};
        /// use wayleave_schemes::transports::{AnyFlow, Congestion};
        ///
        /// let start = FlowStart {
        ///     segment: 1460, initial_window: 14_600, max_window: 1_460_000, size: None, deadline: None, weight: 1,
        /// };
        /// assert_eq!(AnyFlow::dctcp(&start).window(), 14_600);
        /// assert_eq!(Congestion::fixed_window(20).flow(&start).window(), 29_200);
        /// ```
        #[derive(Debug)]
        pub enum AnyFlow {
            $(
                #[doc = concat!("See [`crate::transport::", stringify!($module), "`].")]
                $(#[$meta])*
                $scheme(crate::transport::$module::$scheme),
            )+
            /// Of a transport that is not in this repository.
            Custom(Box<dyn CustomFlow>),
        }

        impl AnyFlow {
            $(
                #[doc = concat!("See [`crate::transport::", stringify!($module), "`]; with its defaults.")]
                $(#[$meta])*
                pub fn $module(start: &FlowStart) -> Self {
                    Self::$scheme(<crate::transport::$module::$scheme as Transport>::begin(start, &Default::default()))
                }
            )+
        }

        impl Flow for AnyFlow {
            fn on_route(&mut self, now: Time, route: RouteFacts) {
                match self {
                    $($(#[$meta])* Self::$scheme(flow) => flow.on_route(now, route),)+
                    Self::Custom(flow) => flow.on_route(now, route),
                }
            }

            #[inline]
            fn receives_routes(&self) -> bool {
                match self {
                    $($(#[$meta])* Self::$scheme(flow) => flow.receives_routes(),)+
                    Self::Custom(flow) => flow.receives_routes(),
                }
            }

            fn on_weight(&mut self, now: Time, weight: u32) {
                match self {
                    $($(#[$meta])* Self::$scheme(flow) => flow.on_weight(now, weight),)+
                    Self::Custom(flow) => flow.on_weight(now, weight),
                }
            }

            #[inline]
            fn on_send(&mut self, now: Time, bytes: u32) {
                match self {
                    $($(#[$meta])* Self::$scheme(flow) => flow.on_send(now, bytes),)+
                    Self::Custom(flow) => flow.on_send(now, bytes),
                }
            }

            #[inline]
            fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
                match self {
                    $($(#[$meta])* Self::$scheme(flow) => flow.on_ack(now, ack),)+
                    Self::Custom(flow) => flow.on_ack(now, ack),
                }
            }

            fn on_loss(&mut self, now: Time, loss: Loss) {
                match self {
                    $($(#[$meta])* Self::$scheme(flow) => flow.on_loss(now, loss),)+
                    Self::Custom(flow) => flow.on_loss(now, loss),
                }
            }

            #[inline]
            fn window(&self) -> u64 {
                match self {
                    $($(#[$meta])* Self::$scheme(flow) => flow.window(),)+
                    Self::Custom(flow) => flow.window(),
                }
            }

            #[inline]
            fn pacing(&self) -> Option<Rate> {
                match self {
                    $($(#[$meta])* Self::$scheme(flow) => flow.pacing(),)+
                    Self::Custom(flow) => flow.pacing(),
                }
            }

            fn fixed_timeout(&self) -> Option<Time> {
                match self {
                    $($(#[$meta])* Self::$scheme(flow) => flow.fixed_timeout(),)+
                    Self::Custom(flow) => flow.fixed_timeout(),
                }
            }

            #[inline]
            fn payload(&self, segment: u32) -> u32 {
                match self {
                    $($(#[$meta])* Self::$scheme(flow) => flow.payload(segment),)+
                    Self::Custom(flow) => flow.payload(segment),
                }
            }

            #[inline]
            fn urgency(&self, remaining: u64) -> u64 {
                match self {
                    $($(#[$meta])* Self::$scheme(flow) => flow.urgency(remaining),)+
                    Self::Custom(flow) => flow.urgency(remaining),
                }
            }
        }
    };
}

each_scheme!(flows);

/// Writes [`AnyPath`], and the dispatch of each call to its scheme.
macro_rules! paths {
    (
        admission { $($admission:tt)* }
        transport { $($transport:tt)* }
        path { $($(#[$meta:meta])* $module:ident::$scheme:ident,)+ }
        $($others:tt)*
    ) => {
        choice! {
            /// Path scheme of packets, as configured in a scenario.
            Routing, SharedPaths, PATHS;
            $($(#[$meta])* path::$module::$scheme,)+
        }

        impl Routing {
            /// For a flow that begins; flows should not share a seed.
            pub fn path(&self, seed: u64) -> AnyPath {
                match self {
                    $($(#[$meta])* Self::$scheme(params) => {
                        AnyPath::$scheme(<crate::path::$module::$scheme as PathScheme>::begin(params, seed))
                    })+
                    Self::Custom(custom) => AnyPath::Custom(custom.0.begin(seed)),
                }
            }

            /// Returns `true` if one value serves all flows of a pair.
            pub fn knows_a_pair(&self) -> bool {
                match self {
                    $($(#[$meta])* Self::$scheme(_) => <crate::path::$module::$scheme as PathScheme>::PER_PAIR,)+
                    Self::Custom(_) => false,
                }
            }

            /// Returns `true` if packets have to collect telemetry for it.
            pub fn reads_telemetry(&self) -> bool {
                match self {
                    $($(#[$meta])* Self::$scheme(params) => {
                        <crate::path::$module::$scheme as PathScheme>::reads_telemetry(params)
                    })+
                    Self::Custom(_) => false,
                }
            }

            /// Returns `true` if packets have to be ECN-capable: switches may mark them.
            pub fn reads_marks(&self) -> bool {
                match self {
                    $($(#[$meta])* Self::$scheme(params) => {
                        <crate::path::$module::$scheme as PathScheme>::reads_marks(params)
                    })+
                    Self::Custom(_) => false,
                }
            }

            /// Returns `true` if receivers restore the order of packets by the numbers of flowcells.
            pub fn has_cells(&self) -> bool {
                match self {
                    $($(#[$meta])* Self::$scheme(_) => <crate::path::$module::$scheme as PathScheme>::HAS_CELLS,)+
                    Self::Custom(_) => false,
                }
            }
        }

        /// Path choice of one flow, by any scheme.
        #[derive(Debug)]
        pub enum AnyPath {
            $(
                #[doc = concat!("See [`crate::path::", stringify!($module), "`].")]
                $(#[$meta])*
                $scheme(crate::path::$module::$scheme),
            )+
            /// Of a path scheme that is not in this repository.
            Custom(Box<dyn StoredPath>),
        }

        $(
            $(#[$meta])*
            impl From<crate::path::$module::$scheme> for AnyPath {
                fn from(path: crate::path::$module::$scheme) -> Self {
                    Self::$scheme(path)
                }
            }
        )+

        impl AnyPath {
            /// The flowcell of the packet whose path was chosen last; 0 where there are none.
            #[inline]
            pub fn cell(&self) -> u32 {
                match self {
                    $($(#[$meta])* Self::$scheme(path) => path.cell(),)+
                    Self::Custom(_) => 0,
                }
            }
        }

        impl Path for AnyPath {
            #[inline]
            fn choose(&mut self, now: Time, departure: Departure) -> u32 {
                match self {
                    $($(#[$meta])* Self::$scheme(path) => path.choose(now, departure),)+
                    Self::Custom(path) => path.choose(now, departure),
                }
            }

            #[inline]
            fn choose_for(&mut self, now: Time, flow: LocalFlow, departure: Departure) -> u32 {
                match self {
                    $($(#[$meta])* Self::$scheme(path) => path.choose_for(now, flow, departure),)+
                    Self::Custom(path) => path.choose_for(now, flow, departure),
                }
            }

            #[inline]
            fn receives_reports(&self) -> bool {
                match self {
                    $($(#[$meta])* Self::$scheme(path) => path.receives_reports(),)+
                    Self::Custom(path) => path.receives_reports(),
                }
            }

            fn on_report(&mut self, now: Time, report: PathReport) {
                match self {
                    $($(#[$meta])* Self::$scheme(path) => path.on_report(now, report),)+
                    Self::Custom(path) => path.on_report(now, report),
                }
            }

            fn on_telemetry(&mut self, now: Time, path: u32, hops: &[IntHop]) {
                match self {
                    $($(#[$meta])* Self::$scheme(scheme) => scheme.on_telemetry(now, path, hops),)+
                    Self::Custom(scheme) => scheme.on_telemetry(now, path, hops),
                }
            }

            fn probe(&mut self, now: Time, paths: u32) -> Option<PathProbe> {
                match self {
                    $($(#[$meta])* Self::$scheme(path) => path.probe(now, paths),)+
                    Self::Custom(path) => path.probe(now, paths),
                }
            }

            fn on_paths_changed(&mut self, now: Time) {
                match self {
                    $($(#[$meta])* Self::$scheme(path) => path.on_paths_changed(now),)+
                    Self::Custom(path) => path.on_paths_changed(now),
                }
            }
        }
    };
}

each_scheme!(paths);

// The state of a flow is in the simulator's hottest tables: a cache line, and 40 B for each path.
const _: () = assert!(size_of::<AnyFlow>() == 64);
const _: () = assert!(size_of::<AnyPath>() == 40);

#[cfg(test)]
pub(crate) mod testing {
    //! Helpers for the tests of several schemes: flows in segments of 1,000 B.

    use wayleave_scheme_api::{RecoveryPhase, SendLimit};

    use super::*;

    /// Payload of a full packet, in bytes.
    pub(crate) const SEGMENT: u64 = 1000;

    /// A flow without end with this initial window, in segments.
    pub(crate) fn start(initial: u64) -> FlowStart {
        FlowStart {
            segment: SEGMENT as u32,
            initial_window: initial * SEGMENT,
            max_window: 100_000 * SEGMENT,
            size: None,
            deadline: None,
            weight: 1,
        }
    }

    /// Returns an acknowledgement of `segments` segments, to a sender that its window limits. Nothing else is
    /// outstanding.
    pub(crate) fn acked(segments: u64) -> Ack<'static> {
        Ack {
            newly: segments * SEGMENT,
            marked: 0,
            acknowledged: 50 * SEGMENT,
            sent: 50 * SEGMENT,
            in_flight: 0,
            remaining: None,
            round_trip: None,
            host_delay: None,
            limit: SendLimit::Window,
            phase: RecoveryPhase::Open,
            telemetry: &[],
        }
    }
}
