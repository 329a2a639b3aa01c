//! Filling of a network with one list of requests, and the results.

use std::sync::Arc;

use rayon::ThreadPoolBuilder;
use rayon::prelude::*;
use wayleave_contracts::{Category, Contract};
use wayleave_ledger::{LedgerError, Model};
use wayleave_scheme_api::{Admission, Request, ShareRequest};
use wayleave_topology::Network;
use wayleave_units::Rate;

use crate::admission::chameleon::Chameleon;
use crate::admission::fabric::{Fabric, Settings};
use crate::tune::candidate::Candidate;

/// A request of the list.
#[derive(Clone, Debug, PartialEq)]
pub enum TuneGoal {
    /// By a latency contract.
    Latency(Request),
    /// By one about bandwidth or an objective.
    Share(ShareRequest),
}

impl TuneGoal {
    /// Returns the request of a contract; `None` for best effort.
    pub fn of(contract: &Contract, model: &Model) -> Option<Self> {
        match contract.as_latency() {
            Some(contract) => Some(Self::Latency(crate::request(contract, model))),
            None => crate::share_request(contract).map(Self::Share),
        }
    }

    /// The request of a latency contract.
    pub fn latency(&self) -> Option<&Request> {
        if let Self::Latency(request) = self { Some(request) } else { None }
    }

    /// On the wire: of a flow or a pair, or of each member.
    pub fn rate(&self) -> Rate {
        match self {
            Self::Latency(request) => request.rate,
            Self::Share(request) => request.min,
        }
    }
}

/// One list of requests on one network.
#[derive(Clone, Debug)]
pub struct TuneSample {
    /// The network.
    pub network: Arc<Network>,
    /// Counting of bytes and frames.
    pub model: Model,
    /// Requests, in order; each with its category of Table 1 if it has one.
    pub requests: Vec<(TuneGoal, Option<Category>)>,
}

impl TuneSample {
    /// Returns lists for comparing methods. The length of each is `times` the number of requests that the best method
    /// admits until its first refusal. So all methods are offered equal lists.
    ///
    /// # Errors
    /// If the budgets of a method do not fit the network.
    pub fn cut_to<'a>(
        samples: &[Self],
        methods: impl Iterator<Item = &'a Candidate>,
        times: usize,
        threads: usize,
    ) -> Result<Vec<Self>, LedgerError> {
        let mut most = vec![0; samples.len()];
        for method in methods {
            for (most, score) in most.iter_mut().zip(fill_all(samples, method, ListLength::FirstRefusal, threads)?) {
                *most = score.until_refusal.max(*most);
            }
        }
        let first = |(sample, most): (&Self, usize)| {
            let count = (most + 1).saturating_mul(times).min(sample.requests.len());
            Self { requests: sample.requests[..count].to_vec(), ..sample.clone() }
        };
        Ok(samples.iter().zip(most).map(first).collect())
    }

    /// Of a list of contracts.
    pub fn new(network: Arc<Network>, model: Model, contracts: impl Iterator<Item = Contract>) -> Self {
        let asked =
            |contract: Contract| Some((TuneGoal::of(&contract, &model)?, contract.as_latency().and_then(Category::of)));
        Self { network, model, requests: contracts.filter_map(asked).collect() }
    }
}

/// Number of offered and admitted requests, and their rates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdmittedTotals {
    /// Requests.
    pub offered: usize,
    /// Admitted requests.
    pub admitted: usize,
    /// Sum of the rates admitted, bit/s on the wire.
    pub rate: u128,
}

impl AdmittedTotals {
    fn count(&mut self, ask: &TuneGoal, is_admitted: bool) {
        self.offered += 1;
        if is_admitted {
            self.admitted += 1;
            self.rate += u128::from(ask.rate().bits_per_second());
        }
    }

    /// The share that was admitted; 1 of nothing.
    pub fn share(&self) -> f64 {
        if self.offered == 0 { 1.0 } else { self.admitted as f64 / self.offered as f64 }
    }
}

/// Result of one list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Score {
    /// Flows admitted before the first refusal: what the paper reports, and the fate of the unluckiest request.
    pub until_refusal: usize,
    /// `true` if the list was long enough for a refusal.
    pub was_refused: bool,
    /// The whole list.
    pub all: AdmittedTotals,
    /// By category, in the order of Table 1.
    pub categories: [AdmittedTotals; 4],
}

/// Objective of the tuning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TuneObjective {
    /// Flows until the first refusal.
    #[default]
    UntilRefusal,
    /// Flows out of the whole list.
    Flows,
    /// Bit rate admitted from a long list.
    Rate,
}

impl TuneObjective {
    /// Returns `true` if requests after the first refusal matter.
    pub fn needs_whole_list(self) -> bool {
        self != Self::UntilRefusal
    }

    /// Returns the value of a score.
    pub fn of(self, score: &Score) -> f64 {
        match self {
            Self::UntilRefusal => score.until_refusal as f64,
            Self::Flows => score.all.admitted as f64,
            Self::Rate => score.all.rate as f64,
        }
    }
}

/// Part of a list that is offered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListLength {
    /// Up to the first refusal.
    FirstRefusal,
    /// The whole list.
    Whole,
}

/// Offers a sample's requests in order.
///
/// # Errors
/// If the budgets do not fit the network.
pub fn fill(sample: &TuneSample, candidate: &Candidate, length: ListLength) -> Result<Score, LedgerError> {
    let mut scheme = scheme(sample, candidate)?;
    let mut score =
        Score { until_refusal: 0, was_refused: false, all: AdmittedTotals::default(), categories: Default::default() };
    for (ask, category) in &sample.requests {
        let is_admitted = match ask {
            TuneGoal::Latency(request) => scheme.admit(request).is_ok(),
            TuneGoal::Share(request) => scheme.admit_share(request).is_ok(),
        };
        score.all.count(ask, is_admitted);
        if let Some(category) = category {
            score.categories[*category as usize].count(ask, is_admitted);
        }
        if !is_admitted && !score.was_refused {
            (score.was_refused, score.until_refusal) = (true, score.all.admitted);
            if length == ListLength::FirstRefusal {
                break;
            }
        }
    }
    if !score.was_refused {
        score.until_refusal = score.all.admitted;
    }
    Ok(score)
}

/// The scheme that a candidate is about.
fn scheme(sample: &TuneSample, candidate: &Candidate) -> Result<Box<dyn Admission>, LedgerError> {
    let Candidate { params, division } = candidate;
    let Some(division) = division else {
        return Ok(Box::new(Chameleon::new(sample.network.clone(), sample.model, params.clone())?));
    };
    // The network has these queues already, in other weights.
    let divided = (*sample.network).clone().with_classes(division.classes);
    let network = divided.map_or_else(|_| sample.network.clone(), Arc::new);
    let settings = Settings { guaranteed_budget: division.guaranteed_budget, ..Settings::default() };
    Ok(Box::new(Fabric::new(network, sample.model, params.clone(), &settings)?))
}

/// Fills every sample, several at a time; scores are in the order of the samples for any number of threads.
///
/// # Errors
/// As [`fill`].
pub fn fill_all(
    samples: &[TuneSample],
    candidate: &Candidate,
    length: ListLength,
    threads: usize,
) -> Result<Vec<Score>, LedgerError> {
    let pool = ThreadPoolBuilder::new().num_threads(threads.clamp(1, samples.len().max(1))).build();
    let fill = |sample: &TuneSample| fill(sample, candidate, length);
    let scores: Vec<Result<Score, LedgerError>> = match pool {
        Ok(pool) => pool.install(|| samples.par_iter().with_max_len(1).map(fill).collect()),
        // A machine without another thread has this one.
        Err(_) => samples.iter().map(fill).collect(),
    };
    scores.into_iter().collect()
}
