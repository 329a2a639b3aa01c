//! Tunnels and pairs' paths, one enum for each role. Schemes without tunnels
//! have an absent one, which is never made.

use std::fmt;

use wayleave_scheme_api::{
    CongestionSignal, Departure, Entry, FlowStart, IntHop, LocalFlow, Path, PathProbe, PathReport, Slot, Tunnel,
    TunnelAck, TunnelPacket, TunnelQueue, Turn,
};
use wayleave_units::{Rate, Time};

use crate::edges::HostScheme;
use crate::transports::AnyPath;

/// Writes [`AnyTunnel`], and how each call reaches the tunnel that is meant.
macro_rules! tunnels {
    (
        admission { $($admission:tt)* }
        transport { $($transport:tt)* }
        path { $($path:tt)* }
        host { $($(#[$meta:meta])* $module:ident::$scheme:ident,)+ }
        $($others:tt)*
    ) => {
        /// The tunnel of a pair, whichever scheme it belongs to.
        #[allow(clippy::large_enum_variant, reason = "all tunnels of one run are of one variant")]
        pub enum AnyTunnel {
            $(
                #[doc = concat!("See [`crate::host::", stringify!($module), "`].")]
                $(#[$meta])*
                $scheme(<crate::host::$module::$scheme as HostScheme>::Tunnel),
            )+
            /// Of a scheme that is not in this repository.
            Custom(Box<dyn Tunnel + Send>),
        }

        impl fmt::Debug for AnyTunnel {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $($(#[$meta])* Self::$scheme(tunnel) => tunnel.fmt(f),)+
                    Self::Custom(_) => f.write_str("Custom"),
                }
            }
        }

        impl Tunnel for AnyTunnel {
            #[inline]
            fn on_open(&mut self, now: Time, flow: LocalFlow, start: &FlowStart, signal: CongestionSignal) {
                match self {
                    $($(#[$meta])* Self::$scheme(tunnel) => tunnel.on_open(now, flow, start, signal),)+
                    Self::Custom(tunnel) => tunnel.on_open(now, flow, start, signal),
                }
            }

            #[inline]
            fn on_close(&mut self, now: Time, flow: LocalFlow) {
                match self {
                    $($(#[$meta])* Self::$scheme(tunnel) => tunnel.on_close(now, flow),)+
                    Self::Custom(tunnel) => tunnel.on_close(now, flow),
                }
            }

            #[inline]
            fn on_arrival(&mut self, now: Time, packet: TunnelPacket, queue: TunnelQueue) -> Entry {
                match self {
                    $($(#[$meta])* Self::$scheme(tunnel) => tunnel.on_arrival(now, packet, queue),)+
                    Self::Custom(tunnel) => tunnel.on_arrival(now, packet, queue),
                }
            }

            #[inline]
            fn on_queued(&mut self, now: Time, packet: TunnelPacket) {
                match self {
                    $($(#[$meta])* Self::$scheme(tunnel) => tunnel.on_queued(now, packet),)+
                    Self::Custom(tunnel) => tunnel.on_queued(now, packet),
                }
            }

            #[inline]
            fn next(&mut self, now: Time) -> Turn {
                match self {
                    $($(#[$meta])* Self::$scheme(tunnel) => tunnel.next(now),)+
                    Self::Custom(tunnel) => tunnel.next(now),
                }
            }

            #[inline]
            fn on_departure(&mut self, now: Time, packet: TunnelPacket) {
                match self {
                    $($(#[$meta])* Self::$scheme(tunnel) => tunnel.on_departure(now, packet),)+
                    Self::Custom(tunnel) => tunnel.on_departure(now, packet),
                }
            }

            #[inline]
            fn on_ack(&mut self, now: Time, flow: LocalFlow, ack: TunnelAck, queue: TunnelQueue) -> u64 {
                match self {
                    $($(#[$meta])* Self::$scheme(tunnel) => tunnel.on_ack(now, flow, ack, queue),)+
                    Self::Custom(tunnel) => tunnel.on_ack(now, flow, ack, queue),
                }
            }

            #[inline]
            fn on_slot(&mut self, now: Time) -> Option<Slot> {
                match self {
                    $($(#[$meta])* Self::$scheme(tunnel) => tunnel.on_slot(now),)+
                    Self::Custom(tunnel) => tunnel.on_slot(now),
                }
            }

            #[inline]
            fn on_rate(&mut self, now: Time, rate: Option<Rate>) {
                match self {
                    $($(#[$meta])* Self::$scheme(tunnel) => tunnel.on_rate(now, rate),)+
                    Self::Custom(tunnel) => tunnel.on_rate(now, rate),
                }
            }

            #[inline]
            fn on_weight(&mut self, now: Time, weight: u32) {
                match self {
                    $($(#[$meta])* Self::$scheme(tunnel) => tunnel.on_weight(now, weight),)+
                    Self::Custom(tunnel) => tunnel.on_weight(now, weight),
                }
            }
        }
    };
}

each_scheme!(tunnels);

/// What spreads a pair's packets over its paths, where the flows do not choose for themselves.
pub enum AnyPairPath {
    /// Of a scheme of the list.
    Listed(AnyPath),
    /// Of a scheme that is not in this repository.
    Custom(Box<dyn Path + Send>),
}

impl fmt::Debug for AnyPairPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listed(path) => path.fmt(f),
            Self::Custom(_) => f.write_str("Custom"),
        }
    }
}

impl Path for AnyPairPath {
    fn choose(&mut self, now: Time, departure: Departure) -> u32 {
        match self {
            Self::Listed(path) => path.choose(now, departure),
            Self::Custom(path) => path.choose(now, departure),
        }
    }

    fn choose_for(&mut self, now: Time, flow: LocalFlow, departure: Departure) -> u32 {
        match self {
            Self::Listed(path) => path.choose_for(now, flow, departure),
            Self::Custom(path) => path.choose_for(now, flow, departure),
        }
    }

    fn on_report(&mut self, now: Time, report: PathReport) {
        match self {
            Self::Listed(path) => path.on_report(now, report),
            Self::Custom(path) => path.on_report(now, report),
        }
    }

    fn on_telemetry(&mut self, now: Time, path: u32, hops: &[IntHop]) {
        match self {
            Self::Listed(role) => role.on_telemetry(now, path, hops),
            Self::Custom(role) => role.on_telemetry(now, path, hops),
        }
    }

    fn probe(&mut self, now: Time, paths: u32) -> Option<PathProbe> {
        match self {
            Self::Listed(path) => path.probe(now, paths),
            Self::Custom(path) => path.probe(now, paths),
        }
    }

    fn on_paths_changed(&mut self, now: Time) {
        match self {
            Self::Listed(path) => path.on_paths_changed(now),
            Self::Custom(path) => path.on_paths_changed(now),
        }
    }
}
