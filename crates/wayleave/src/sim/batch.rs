//! Runs of a scenario file, or a selection of them.

use std::sync::Arc;

use wayleave_formats::{InputErrors, Run, ScenarioFile, Source, beside, read_scenario};
use wayleave_scenarios::{FastForward, Scenario};
use wayleave_sim::trace::fnv1a;

use crate::error::Error;
use wayleave_report::sim::page::Runs;
use wayleave_report::sim::result::{ReportedEnd, RunResult, SweepParameter};

/// The runs of a scenario file, at least one.
#[derive(Clone, Debug)]
pub struct Batch {
    pub(super) name: String,
    /// The file, as the caller named it.
    pub(super) file: String,
    pub(super) sources: Vec<Source>,
    pub(super) runs: Vec<PlannedRun>,
    /// Hash of the texts of all sources.
    pub(super) hash: u64,
    pub(super) not_carried_out: Vec<String>,
}

/// One run of a [`Batch`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PlannedRun {
    /// Values of the parameters that the sweep varies.
    pub parameters: Vec<SweepParameter>,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Scenario with these parameters.
    pub scenario: Arc<Scenario>,
    /// Command that simulates this run alone.
    pub replay: String,
}

/// A selection of the runs of a file; by default all of them.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RunSelection {
    seed: Option<u64>,
    only: Vec<SweepParameter>,
}

impl RunSelection {
    /// Replaces the seeds of the file by this one.
    #[must_use]
    pub fn with_seed(self, seed: impl Into<Option<u64>>) -> Self {
        Self { seed: seed.into(), ..self }
    }

    /// Selects the runs whose parameters have these values, compared as they are written.
    #[must_use]
    pub fn with_only(self, only: Vec<SweepParameter>) -> Self {
        Self { only, ..self }
    }
}

impl Batch {
    /// Reads a scenario and chooses its runs.
    ///
    /// # Errors
    /// If the file or one that it names is wrong, or a choice leaves no run.
    pub fn read(file: &str, choice: &RunSelection) -> Result<Self, Error> {
        Self::parse(&Source::read(file)?, file, choice)
    }

    /// Parses a scenario from memory; `file` is its name in the commands that replay runs.
    ///
    /// # Errors
    /// If the text or a file that it names is malformed, or the selection leaves no run.
    pub fn parse(source: &Source, file: &str, choice: &RunSelection) -> Result<Self, Error> {
        Self::parse_with(source, file, choice, &|name| beside(source, name))
    }

    /// The same where the caller opens the files that the text names.
    ///
    /// # Errors
    /// If the text or a file that it names is wrong, or a choice leaves no run.
    pub fn parse_with(
        source: &Source,
        file: &str,
        choice: &RunSelection,
        open: &dyn Fn(&str) -> Result<Source, InputErrors>,
    ) -> Result<Self, Error> {
        let ScenarioFile { name, runs, sources, not_carried_out } = read_scenario(source, open)?;
        let runs = chosen(runs, choice)?;
        let planned = |run: Run| {
            let parameters = parameters(&run);
            let replay = replay(file, &parameters, run.seed);
            PlannedRun { parameters, seed: run.seed, scenario: run.scenario, replay }
        };
        let runs = runs.into_iter().map(planned).collect();
        Ok(Self { name, file: file.to_owned(), hash: hash(&sources), sources, runs, not_carried_out })
    }

    /// Returns the name of the scenario.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the scenario file and the files that it names.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// Returns the runs in the order of the sweep.
    pub fn runs(&self) -> &[PlannedRun] {
        &self.runs
    }

    /// Returns a sentence for each key of the file that the simulator does not carry out.
    pub fn not_carried_out(&self) -> &[String] {
        &self.not_carried_out
    }

    /// The hash of the input as results carry it.
    pub fn input_hash(&self) -> String {
        format!("{:016x}", self.hash)
    }

    /// Returns the part of the batch that a report shows.
    pub(crate) fn reported(&self) -> Runs<'_> {
        let mut parameters: Vec<&str> = Vec::new();
        for parameter in self.runs.iter().flat_map(|run| &run.parameters) {
            if !parameters.contains(&parameter.path.as_str()) {
                parameters.push(&parameter.path);
            }
        }
        Runs {
            scenario: &self.name,
            sources: self.sources.iter().map(|source| (source.name(), source.text())).collect(),
            parameters,
            planned: self.runs.len(),
            is_sweep: self.is_sweep(),
            input_hash: self.input_hash(),
        }
    }

    /// Returns `true` if there are several runs.
    pub fn is_sweep(&self) -> bool {
        self.runs.len() > 1
    }

    /// Gives one seed to every run, and the command that runs it again; runs that differ only in their seed become one.
    pub fn reseed(&mut self, seed: u64) {
        self.runs.dedup_by(|one, other| one.parameters == other.parameters);
        for run in &mut self.runs {
            run.seed = seed;
            run.replay = replay(&self.file, &run.parameters, seed);
        }
    }

    /// Sets the number of last packet events that are recorded in each run; `None` records none.
    pub fn record(&mut self, events: impl Fn(&Scenario) -> Option<u64>) {
        self.edit_scenarios(|scenario| scenario.record.trace = events(scenario));
    }

    /// Skips steady traffic in every run, regardless of the file; the commands that replay the runs contain this
    /// option.
    pub fn fast_forward(&mut self, forward: FastForward) {
        self.edit_scenarios(|scenario| scenario.fast_forward = Some(forward));
        for run in &mut self.runs {
            run.replay += &format!(" --fast-forward={}", forward.max_error);
        }
    }

    /// Edits the scenario of every run. Results keep the hash of the sources, so the caller has to mark results of scenarios that differ from them.
    pub fn edit_scenarios(&mut self, edit: impl Fn(&mut Scenario)) {
        for run in &mut self.runs {
            let mut scenario = Scenario::clone(&run.scenario);
            edit(&mut scenario);
            run.scenario = Arc::new(scenario);
        }
    }

    /// Replaces the command that simulates a run alone, for every run.
    pub fn set_replay(&mut self, command: impl Fn(&PlannedRun) -> String) {
        for run in &mut self.runs {
            run.replay = command(run);
        }
    }

    /// Returns `true` if a result belongs to this run and this version, and a repetition would give the same result.
    pub fn has_result(&self, planned: &PlannedRun, result: &RunResult) -> bool {
        result.wayleave == env!("CARGO_PKG_VERSION")
            && result.input_hash == self.input_hash()
            && result.parameters == planned.parameters
            && result.seed == planned.seed
            && result.forward.as_ref().map(|forward| forward.error)
                == planned.scenario.fast_forward.map(|asked| asked.max_error)
            && result.ending != ReportedEnd::Stopped
    }
}

impl PlannedRun {
    /// Returns the values that distinguish a run from the others of its file: `seed 3, traffic.web.load = 0.8`.
    pub fn title(&self) -> String {
        let parameters = self.parameters.iter().map(|parameter| format!("{} = {}", parameter.path, parameter.value));
        std::iter::once(format!("seed {}", self.seed)).chain(parameters).collect::<Vec<_>>().join(", ")
    }

    /// Returns the name of its file, which depends only on the parameters and the seed, not on other runs.
    pub fn file_name(&self) -> String {
        let mut bytes = Vec::new();
        for text in self.parameters.iter().flat_map(|parameter| [&parameter.path, &parameter.value]) {
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
        let parameters = if bytes.is_empty() { String::new() } else { format!("-{:016x}", fnv1a(&bytes)) };
        format!("seed-{}{parameters}.json", self.seed)
    }
}

fn parameters(run: &Run) -> Vec<SweepParameter> {
    let parameter = |(path, value): &(String, String)| SweepParameter { path: path.clone(), value: value.clone() };
    run.labels.iter().map(parameter).collect()
}

/// The runs that a choice leaves.
fn chosen(runs: Vec<Run>, choice: &RunSelection) -> Result<Vec<Run>, Error> {
    for wanted in &choice.only {
        check(&runs, wanted)?;
    }
    let is_wanted = |run: &Run| choice.only.iter().all(|wanted| parameters(run).contains(wanted));
    let mut left: Vec<Run> = runs.into_iter().filter(is_wanted).collect();
    if let Some(seed) = choice.seed {
        left.dedup_by(|one, other| one.labels == other.labels);
        left.iter_mut().for_each(|run| run.seed = seed);
    }
    if left.is_empty() {
        return Err(Error::Usage("no run of the sweep has this combination of values".into()));
    }
    Ok(left)
}

/// That some run has this value; what there is instead.
fn check(runs: &[Run], wanted: &SweepParameter) -> Result<(), Error> {
    let mut paths: Vec<String> = Vec::new();
    let mut values: Vec<String> = Vec::new();
    for SweepParameter { path, value } in runs.iter().flat_map(parameters) {
        if path == wanted.path && !values.contains(&value) {
            values.push(value);
        }
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    let SweepParameter { path, value } = wanted;
    let wrong = match (paths.is_empty(), values.is_empty()) {
        (true, _) => "--only chooses runs of a sweep, and this scenario has no parameters to vary".to_owned(),
        (_, true) => format!("this sweep does not vary \"{path}\": it varies {}", paths.join(", ")),
        _ if values.contains(value) => return Ok(()),
        _ => format!("no run has {path} = {value}: its values are {}", values.join(", ")),
    };
    Err(Error::Usage(wrong))
}

/// The command that runs one run alone.
fn replay(file: &str, parameters: &[SweepParameter], seed: u64) -> String {
    let mut command = format!("wayleave sim {}", quoted(file));
    for SweepParameter { path, value } in parameters {
        command += &format!(" --only {}", quoted(&format!("{path}={value}")));
    }
    command + &format!(" --seed {seed}")
}

/// A word of a command line as a shell reads it.
pub fn quoted(word: &str) -> String {
    let is_plain = |character: char| character.is_ascii_alphanumeric() || "_-./=:,+@%".contains(character);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// FNV-1a of all texts, each with its length, so that no text can pass into the next.
fn hash(sources: &[Source]) -> u64 {
    let mut bytes = Vec::new();
    for source in sources {
        bytes.extend((source.text().len() as u64).to_le_bytes());
        bytes.extend(source.text().as_bytes());
    }
    fnv1a(&bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_reaches_a_shell_unchanged() {
        let words = ["a.yaml", "my file.yaml", "it's", "", "traffic.web.load=0.8"];
        let expected = ["a.yaml", "'my file.yaml'", "'it'\\''s'", "''", "traffic.web.load=0.8"];
        assert_eq!(words.map(quoted), expected);
    }

    #[test]
    fn moving_text_from_one_source_to_another_changes_the_hash() {
        let of = |texts: [&str; 2]| hash(&texts.map(|text| Source::new("x", text)));
        assert_ne!(of(["ab", "c"]), of(["a", "bc"]));
        assert_eq!(of(["ab", "c"]), of(["ab", "c"]));
    }
}
