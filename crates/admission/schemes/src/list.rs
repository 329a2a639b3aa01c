//! Every scheme, one line each: its module, its type, and the role by which it is chosen.
//!
//! A new scheme is a folder and a line here. The line declares the module, and the enums, lists of descriptors and
//! constructors of [`registry`](crate::registry), [`transports`](crate::transports), [`hosts`](crate::hosts) and
//! [`switches`](crate::switches) are written from it.

/// Calls another macro with all schemes.
macro_rules! each_scheme {
    ($callback:ident) => {
        $callback! {
            admission {
                chameleon::Chameleon,
                silo::Silo,
                qjump::Qjump,
                loko::Loko,
                fabric::Fabric,
                #[cfg(feature = "toys")] toy_places::ToyPlaces,
            }
            transport {
                newreno::NewReno,
                cubic::Cubic,
                dctcp::Dctcp,
                d2tcp::D2tcp,
                l2dct::L2dct,
                pfabric::Pfabric,
                swift::Swift,
                fixed::Fixed,
                #[cfg(feature = "toys")] toy_window::ToyWindow,
            }
            path {
                ecmp::PerFlow,
                flowlet::Flowlet,
                clove::Clove,
                presto::Flowcells,
                spraying::PerPacket,
            }
            host {
                static_limits::StaticLimits,
                eyeq::Eyeq,
                picnic::Picnic,
                elasticswitch::ElasticSwitch,
                parley::Parley,
                ufab::Ufab,
                scc::Scc,
                #[cfg(feature = "toys")] toy_cap::ToyCap,
                #[cfg(feature = "toys")] toy_split::ToySplit,
            }
            switch {
                threshold::Threshold,
                red::Red,
                ufab_core::UfabCore,
                #[cfg(feature = "toys")] toy_beat::ToyBeat,
            }
        }
    };
}

/// Declares the modules of all schemes.
macro_rules! modules {
    ($($role:ident { $($(#[$meta:meta])* $module:ident::$scheme:ident,)* })+) => {
        $(
            #[doc = concat!("Schemes of the role `", stringify!($role), "`.")]
            pub mod $role {
                $($(#[$meta])* pub mod $module;)*
            }
        )+
    };
}
