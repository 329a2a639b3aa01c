//! Messages of brokers outside of a simulator: as bytes between programs, and as counters and limits between a broker and the data
//! plane of its machine. A scheme with brokers implements [`BrokerCodec`]; programs ask [`EdgeScheme`] and [`AnyMessage`] and know no
//! scheme.

use wayleave_topology::NodeId;

use crate::brokers::{BrokerCodec, NoMessage};
use crate::edges::{AnyMessage, EdgeScheme, HostScheme};
use crate::usage_report::{Limited, UsageReport};

macro_rules! codec {
    (
        admission { $($admission:tt)* }
        transport { $($transport:tt)* }
        path { $($path:tt)* }
        host { $($(#[$meta:meta])* $module:ident::$scheme:ident,)+ }
        $($others:tt)*
    ) => {
        impl EdgeScheme {
            /// The message of this scheme's brokers that the bytes are.
            ///
            /// # Errors
            /// If they are none.
            pub fn decode(&self, bytes: &[u8]) -> Result<AnyMessage, NoMessage> {
                match self {
                    $($(#[$meta])* Self::$scheme(_) => {
                        <crate::host::$module::$scheme as HostScheme>::Broker::decode(bytes).map(AnyMessage::$scheme)
                    })+
                    Self::Custom(_) => Err(unknown()),
                }
            }

            /// As [`BrokerCodec::length`].
            ///
            /// # Errors
            /// If no message begins like this.
            pub fn length(&self, begin: &[u8]) -> Result<Option<usize>, NoMessage> {
                match self {
                    $($(#[$meta])* Self::$scheme(_) => <crate::host::$module::$scheme as HostScheme>::Broker::length(begin),)+
                    Self::Custom(_) => Err(unknown()),
                }
            }

            /// What a machine tells its broker of this scheme; `None`: it does not ask for counters.
            pub fn from_report(&self, report: UsageReport) -> Option<AnyMessage> {
                match self {
                    $($(#[$meta])* Self::$scheme(_) => {
                        <crate::host::$module::$scheme as HostScheme>::Broker::from_report(report).map(AnyMessage::$scheme)
                    })+
                    Self::Custom(_) => None,
                }
            }
        }

        impl AnyMessage {
            /// As [`BrokerCodec::encode`].
            pub fn encode(&self) -> Option<Vec<u8>> {
                match self {
                    $($(#[$meta])* Self::$scheme(message) => {
                        <crate::host::$module::$scheme as HostScheme>::Broker::encode(message)
                    })+
                    Self::Custom(_) => None,
                }
            }

            /// As [`BrokerCodec::sender`].
            pub fn sender(&self) -> Option<NodeId> {
                match self {
                    $($(#[$meta])* Self::$scheme(message) => {
                        <crate::host::$module::$scheme as HostScheme>::Broker::sender(message)
                    })+
                    Self::Custom(_) => None,
                }
            }

            /// As [`BrokerCodec::limits`].
            pub fn limits(&self) -> Option<Vec<Limited>> {
                match self {
                    $($(#[$meta])* Self::$scheme(message) => {
                        <crate::host::$module::$scheme as HostScheme>::Broker::limits(message)
                    })+
                    Self::Custom(_) => None,
                }
            }
        }
    };
}

each_scheme!(codec);

fn unknown() -> NoMessage {
    NoMessage("brokers of a scheme that is not in the list have no messages here".to_owned())
}
