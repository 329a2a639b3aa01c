//! Judging on other seeds, and the recommendation.

use wayleave_ledger::LedgerError;

use crate::tune::candidate::Candidate;
use crate::tune::fill::{ListLength, Score, TuneObjective, TuneSample, fill_all};

/// Results of a method on the judging samples: means, with half the width of their 95 % confidence intervals.
#[derive(Clone, Debug)]
pub struct MethodSummary {
    /// The method.
    pub name: String,
    /// The candidate.
    pub candidate: Candidate,
    /// Flows until the first refusal.
    pub until_refusal: (f64, f64),
    /// Flows out of the long list, and their bit/s.
    pub flows: (f64, f64),
    /// bit/s on the wire.
    pub rate: (f64, f64),
    /// The share of each category of Table 1 that the long list got admitted.
    pub shares: [f64; 4],
    /// `true` if every list was long enough for a refusal.
    pub was_refused: bool,
}

/// All methods on the judging samples.
#[derive(Clone, Debug)]
pub struct MethodScores {
    /// In the order of the candidates.
    pub summaries: Vec<MethodSummary>,
    /// The one with the largest mean of the objective: so never one that the paper's method, which is among them, beats.
    pub choice: usize,
}

/// Judges candidates on samples that have not trained them.
///
/// # Errors
/// If the budgets do not fit the network.
pub fn judge(
    samples: &[TuneSample],
    candidates: Vec<(String, Candidate)>,
    objective: TuneObjective,
    (list, threads): (usize, usize),
    mut seen: impl FnMut(&str),
) -> Result<MethodScores, LedgerError> {
    let samples = TuneSample::cut_to(samples, candidates.iter().map(|(_, candidate)| candidate), list, threads)?;
    let mut summaries = Vec::new();
    let mut values = Vec::new();
    for (name, candidate) in candidates {
        seen(&name);
        let scores = fill_all(&samples, &candidate, ListLength::Whole, threads)?;
        values.push(scores.iter().map(|score| objective.of(score)).sum::<f64>());
        summaries.push(summary(name, candidate, &scores));
    }
    // The first of equals: candidates come simplest first.
    let better = |best: usize, at: usize| if values[at] > values[best] { at } else { best };
    let choice = (0..values.len()).reduce(better).unwrap_or(0);
    Ok(MethodScores { summaries, choice })
}

/// The means of scores.
pub fn summary(name: String, candidate: Candidate, scores: &[Score]) -> MethodSummary {
    let of = |value: &dyn Fn(&Score) -> f64| mean_and_margin(&scores.iter().map(value).collect::<Vec<_>>());
    let share = |category: usize| {
        let (offered, admitted) = scores
            .iter()
            .map(|score| &score.categories[category])
            .fold((0, 0), |sum, tally| (sum.0 + tally.offered, sum.1 + tally.admitted));
        if offered == 0 { 1.0 } else { admitted as f64 / offered as f64 }
    };
    MethodSummary {
        name,
        candidate,
        until_refusal: of(&|score| score.until_refusal as f64),
        flows: of(&|score| score.all.admitted as f64),
        rate: of(&|score| score.all.rate as f64),
        shares: std::array::from_fn(share),
        was_refused: scores.iter().all(|score| score.was_refused),
    }
}

/// The mean, and half the width of its 95 % confidence interval by Student's t.
fn mean_and_margin(values: &[f64]) -> (f64, f64) {
    /// Quantiles of Student's t at 97.5 % for 1 to 30 degrees of freedom; the normal one beyond.
    const T: [f64; 30] = [
        12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131,
        2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
    ];
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count.max(1.0);
    if values.len() < 2 {
        return (mean, f64::NAN);
    }
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean, T.get(values.len() - 2).copied().unwrap_or(1.96) * (variance / count).sqrt())
}
