//! Claims: the readings of one sentence of a text together.

use super::{Statement, Verdict};

/// Claim of a text, measured under one reading or several.
#[derive(Clone, Debug)]
pub struct Claim<'a> {
    /// Its statements; the first one has the default reading.
    pub readings: Vec<&'a Statement>,
}

/// Groups statements by their text, in the order of their first occurrence.
pub fn claims<'a>(statements: impl IntoIterator<Item = &'a Statement>) -> Vec<Claim<'a>> {
    let mut all: Vec<Claim<'a>> = Vec::new();
    for statement in statements {
        match all.iter_mut().find(|claim| claim.readings[0].claim_text == statement.claim_text) {
            Some(claim) => claim.readings.push(statement),
            None => all.push(Claim { readings: vec![statement] }),
        }
    }
    all
}

impl<'a> Claim<'a> {
    /// Returns its verdict: that of the default reading if it holds; otherwise the best of all readings, except that another reading
    /// that holds is a named one, and that an undecided reading leaves an unexplained claim undecided.
    pub fn verdict(&self) -> Verdict {
        let [first, ..] = self.readings[..] else { return Verdict::NotCompared };
        let has = |verdict: Verdict| self.readings.iter().any(|reading| reading.verdict == verdict);
        match first.verdict {
            Verdict::Holds => Verdict::Holds,
            _ if has(Verdict::Holds) || has(Verdict::HoldsUnderReading) => Verdict::HoldsUnderReading,
            _ if has(Verdict::PartlyExplained) => Verdict::PartlyExplained,
            _ if has(Verdict::Undecided) => Verdict::Undecided,
            other => other,
        }
    }

    /// Returns the statement that decides the verdict. A reading that holds goes before one that holds in an experiment.
    pub fn decisive(&self) -> &'a Statement {
        let verdict = self.verdict();
        let is = |wanted: Verdict| self.readings.iter().find(|reading| reading.verdict == wanted).copied();
        is(Verdict::Holds).or_else(|| is(verdict)).unwrap_or(self.readings[0])
    }

    /// Returns the measurement, with the verdict of each reading if there are several; one text for each reading.
    pub(crate) fn measured(&self) -> Vec<String> {
        match &self.readings[..] {
            [only] if only.reading.is_empty() => vec![only.measured.clone()],
            [only] => vec![format!("{}: {}", only.reading, only.measured)],
            all => all.iter().map(|of| format!("{}: {} ({})", of.reading, of.measured, of.verdict.name())).collect(),
        }
    }

    /// Returns everything that belongs to the verdicts of its readings, each remark once.
    pub(crate) fn remarks(&self) -> Vec<String> {
        let mut all: Vec<String> = Vec::new();
        for remark in self.readings.iter().flat_map(|reading| reading.remarks()) {
            if !all.contains(&remark) {
                all.push(remark);
            }
        }
        all
    }

    /// Returns the reading or the experiment under which the claim holds; none if it holds as it is, or under none.
    pub fn named_reading(&self) -> Option<&'a str> {
        if self.verdict() != Verdict::HoldsUnderReading {
            return None;
        }
        let reading = self.readings.iter().find(|reading| reading.verdict == Verdict::Holds);
        let experiment = || self.decisive().explanation().map(|(experiment, _)| experiment.name.as_str());
        reading.map(|reading| reading.reading.as_str()).or_else(experiment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(claim_text: &str, reading: &str, is_so: bool) -> Statement {
        Statement::claim("1", claim_text, is_so, "").reading(reading)
    }

    #[test]
    fn readings_of_one_sentence_are_one_claim() {
        let all = [statement("fast", "TCP", false), statement("small", "", true), statement("fast", "UDP", true)];
        let claims = claims(&all);
        assert_eq!(claims.iter().map(|claim| claim.readings.len()).collect::<Vec<_>>(), [2, 1]);
        assert_eq!((claims[0].verdict(), claims[0].named_reading()), (Verdict::HoldsUnderReading, Some("UDP")));
        assert_eq!((claims[1].verdict(), claims[1].named_reading()), (Verdict::Holds, None));
    }

    #[test]
    fn readings_are_listed_with_their_verdicts_and_a_common_remark_once() {
        let with = |reading: &str, is_so: bool| {
            Statement::claim("1", "fast", is_so, "3 us").reading(reading).remark("On one machine.")
        };
        let all = [with("TCP", false), with("UDP", true)];
        let claims = claims(&all);
        assert_eq!(claims[0].measured(), ["TCP: 3 us (unexplained)", "UDP: 3 us (holds)"]);
        assert_eq!(claims[0].remarks(), ["On one machine."]);
    }

    #[test]
    fn a_reading_that_holds_decides_before_an_experiment() {
        let tested = statement("fast", "TCP", false).tested("sunshine", &[1.0]);
        let all = [tested.clone(), statement("fast", "UDP", true)];
        assert_eq!(
            (claims(&all)[0].named_reading(), claims(&all)[0].decisive().reading.as_str()),
            (Some("UDP"), "UDP")
        );
        let alone = [tested];
        assert_eq!(claims(&alone)[0].named_reading(), Some("sunshine"));
    }

    #[test]
    fn the_default_reading_decides_if_it_holds() {
        let all = [statement("fast", "TCP", true), statement("fast", "UDP", false)];
        assert_eq!(claims(&all)[0].verdict(), Verdict::Holds);
    }

    #[test]
    fn an_experiment_of_a_reading_may_close_a_claim() {
        let all = [statement("fast", "TCP", false), statement("fast", "UDP", false).tested("a larger window", &[1.0])];
        assert_eq!(claims(&all)[0].named_reading(), Some("a larger window"));
        let none = [statement("fast", "TCP", false), statement("fast", "UDP", false)];
        assert_eq!((claims(&none)[0].verdict(), claims(&none)[0].named_reading()), (Verdict::Unexplained, None));
    }

    #[test]
    fn an_undecided_reading_leaves_the_claim_undecided() {
        let open = Statement::mean_within("1", "fast", 2.0..=10.0, &[1.0, 20.0], "").reading("UDP");
        assert_eq!(claims(&[statement("fast", "TCP", false), open])[0].verdict(), Verdict::Undecided);
    }
}
