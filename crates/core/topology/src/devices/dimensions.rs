//! The six dimensions on which the processing of an OpenFlow switch depends, with the values that Loko measures.

use std::fmt;

use wayleave_units::Bytes;

/// Numbers of flow entries that are measured (slides, step 1).
pub const ENTRIES: [u32; 9] = [1, 17, 33, 49, 65, 81, 97, 113, 128];

/// Packet sizes that are measured (slides, step 1).
pub const PACKETS: [Bytes; 7] = [
    Bytes::new(64),
    Bytes::new(306),
    Bytes::new(548),
    Bytes::new(790),
    Bytes::new(1032),
    Bytes::new(1274),
    Bytes::new(1516),
];

/// Declares a dimension whose values are words.
macro_rules! dimension {
    ($(#[$meta:meta])* $name:ident { $($(#[$of:meta])* $value:ident = $word:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name {
            $($(#[$of])* $value,)+
        }

        impl $name {
            /// All values, in the order of the slides.
            pub const ALL: &[Self] = &[$(Self::$value),+];

            /// The words for them, in the same order.
            pub const WORDS: &[&str] = &[$($word),+];

            /// The word for it.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$value => $word),+ }
            }

            /// The value of a word.
            pub fn from_word(word: &str) -> Option<Self> {
                match word { $($word => Some(Self::$value),)+ _ => None }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.word())
            }
        }
    };
}

dimension! {
    /// Fields that entries match.
    MatchType {
        /// The input port.
        Port = "port",
        /// The destination port of the transport.
        TpDst = "tp-dst",
        /// The destination address of the link layer.
        DlDst = "dl-dst",
        /// The destination address of the network layer, under a mask.
        MaskedNwDst = "masked-nw-dst",
        /// Addresses, ports and protocol.
        FiveTuple = "five-tuple",
        /// Every field.
        All = "all",
    }
}

dimension! {
    /// Action on a packet that matches.
    Action {
        /// It is sent on.
        Output = "output",
        /// It gets a VLAN.
        SetVlanId = "set-vlan-id",
        /// It gets a VLAN priority.
        SetVlanPcp = "set-vlan-pcp",
        /// Its VLAN tag is taken off.
        StripVlan = "strip-vlan",
        /// It gets a source address of the link layer.
        SetDlSrc = "set-dl-src",
        /// It gets a source address of the network layer.
        SetNwSrc = "set-nw-src",
        /// It gets a type of service.
        SetNwTos = "set-nw-tos",
        /// It gets a source port of the transport.
        SetTpSrc = "set-tp-src",
    }
}

dimension! {
    /// Entry of the table that packets match.
    UsedEntry {
        /// The first.
        First = "first",
        /// The last.
        Last = "last",
    }
}

dimension! {
    /// Order of priorities in the table.
    Priorities {
        /// Later entries have higher ones.
        Increasing = "increasing",
        /// Later entries have lower ones.
        Decreasing = "decreasing",
    }
}

/// One combination of the six dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Case {
    /// Number of entries in the table.
    pub entries: u32,
    /// Fields that they match.
    pub match_type: MatchType,
    /// Action of the matching entry.
    pub action: Action,
    /// Position of the matching entry.
    pub used: UsedEntry,
    /// Order of priorities.
    pub priorities: Priorities,
    /// Packet size.
    pub packet: Bytes,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { entries, match_type, action, used, priorities, packet } = self;
        write!(f, "{entries} entries, {match_type}, {action}, {used} entry, {priorities}, {} B", packet.get())
    }
}

/// Packet processing that occurs in a network: a subset of each dimension, and every combination of their values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PacketScenario {
    /// Numbers of entries.
    pub entries: Vec<u32>,
    /// Match types.
    pub match_types: Vec<MatchType>,
    /// Actions.
    pub actions: Vec<Action>,
    /// Used entries.
    pub used: Vec<UsedEntry>,
    /// Orders of priorities.
    pub priorities: Vec<Priorities>,
    /// Packet sizes.
    pub packets: Vec<Bytes>,
}

impl PacketScenario {
    /// Everything that is measured: 12,096 combinations.
    pub fn whole() -> Self {
        Self {
            entries: ENTRIES.to_vec(),
            match_types: MatchType::ALL.to_vec(),
            actions: Action::ALL.to_vec(),
            used: UsedEntry::ALL.to_vec(),
            priorities: Priorities::ALL.to_vec(),
            packets: PACKETS.to_vec(),
        }
    }

    /// Returns the scenario of Loko's proof of concept, as far as the circles of the slide can be read from its text:
    /// 17 entries, five-tuple, output, the last entry, decreasing priorities, packets of 306 B.
    pub fn proof_of_concept() -> Self {
        Self {
            entries: vec![17],
            match_types: vec![MatchType::FiveTuple],
            actions: vec![Action::Output],
            used: vec![UsedEntry::Last],
            priorities: vec![Priorities::Decreasing],
            packets: vec![Bytes::new(306)],
        }
    }

    /// Every combination.
    pub fn cases(&self) -> impl Iterator<Item = Case> + '_ {
        self.entries.iter().flat_map(move |&entries| {
            self.match_types.iter().flat_map(move |&match_type| {
                self.actions.iter().flat_map(move |&action| {
                    self.used.iter().flat_map(move |&used| {
                        self.priorities.iter().flat_map(move |&priorities| {
                            let case = move |&packet| Case { entries, match_type, action, used, priorities, packet };
                            self.packets.iter().map(case)
                        })
                    })
                })
            })
        })
    }

    /// The largest packet; zero without one.
    pub fn largest_packet(&self) -> Bytes {
        self.packets.iter().copied().max().unwrap_or(Bytes::ZERO)
    }
}
