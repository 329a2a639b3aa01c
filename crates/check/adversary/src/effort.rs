//! Effort of tests.

/// Number of attacks, and size of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Effort {
    /// Number of seeds for random phases of the whole set, each once with single and once with repeated bursts.
    pub seeds: u32,
    /// Number of contracts that are attacked individually, with bursts that collide with theirs; those closest to
    /// their limits first.
    pub victims: usize,
    /// Steps of the search for worse phases against one contract.
    pub rounds: u32,
    /// Number of contracts for the search.
    pub searched: usize,
    /// Number of failures for each attacked protected contract; also enables failures while all send. [`u32::MAX`]
    /// tries all failures.
    pub cuts: u32,
    /// The most packets put on links in one run; runs become shorter instead.
    pub packet_hops: u64,
    /// Of all random numbers.
    pub seed: u64,
}

impl Effort {
    /// A first look: about a second for a fat tree with 1,000 contracts.
    pub const QUICK: Self =
        Self { seeds: 2, victims: 16, rounds: 32, searched: 1, cuts: 4, packet_hops: 1_000_000, seed: 1 };
    /// Seconds for a fat tree with 2,000 contracts.
    pub const USUAL: Self =
        Self { seeds: 8, victims: 256, rounds: 256, searched: 1, cuts: 8, packet_hops: 2_000_000, seed: 1 };
    /// Every contract is attacked, and the search is for those that came closest.
    pub const LONG: Self = Self {
        seeds: 64,
        victims: usize::MAX,
        rounds: 512,
        searched: 16,
        cuts: u32::MAX,
        packet_hops: 20_000_000,
        seed: 1,
    };

    /// Sets the number of seeds for random phases of the whole set.
    #[must_use]
    pub const fn with_seeds(self, seeds: u32) -> Self {
        Self { seeds, ..self }
    }

    /// Sets the number of contracts that are attacked individually.
    #[must_use]
    pub const fn with_victims(self, victims: usize) -> Self {
        Self { victims, ..self }
    }

    /// Sets the steps of the search against one contract.
    #[must_use]
    pub const fn with_rounds(self, rounds: u32) -> Self {
        Self { rounds, ..self }
    }

    /// Sets the number of contracts for the search.
    #[must_use]
    pub const fn with_searched(self, searched: usize) -> Self {
        Self { searched, ..self }
    }

    /// Sets the number of failures for each attacked protected contract.
    #[must_use]
    pub const fn with_cuts(self, cuts: u32) -> Self {
        Self { cuts, ..self }
    }

    /// Sets the most packets put on links in one run.
    #[must_use]
    pub const fn with_packet_hops(self, packet_hops: u64) -> Self {
        Self { packet_hops, ..self }
    }

    /// Sets the seed of all random numbers.
    #[must_use]
    pub const fn with_seed(self, seed: u64) -> Self {
        Self { seed, ..self }
    }
}

impl Default for Effort {
    fn default() -> Self {
        Self::USUAL
    }
}
