//! Which runs there are: those of a scenario file, or the ones of them that were asked for.

use std::sync::Arc;

use wayleave_formats::{Run, ScenarioFile, Source, beside, read_scenario};
use wayleave_scenarios::Scenario;
use wayleave_sim::trace::fnv1a;

use super::result::{Ending, Parameter, RunResult};
use crate::failure::Failure;

/// The runs of a scenario file.
#[derive(Clone, Debug)]
pub(crate) struct Batch {
    /// The name of the scenario.
    pub(crate) name: String,
    /// The file, as it was named.
    pub(crate) file: String,
    /// The file and those that it names.
    pub(crate) sources: Vec<Source>,
    /// At least one, in the order of the sweep.
    pub(crate) runs: Vec<Planned>,
    /// Of the texts of all sources.
    pub(crate) hash: u64,
}

/// A run to be done.
#[derive(Clone, Debug)]
pub(crate) struct Planned {
    /// What the sweep gives it.
    pub(crate) parameters: Vec<Parameter>,
    /// Of its random numbers.
    pub(crate) seed: u64,
    /// What is simulated.
    pub(crate) scenario: Arc<Scenario>,
    /// The command that runs it alone.
    pub(crate) replay: String,
}

/// Which runs of a file are wanted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Choice {
    /// This seed instead of those of the file.
    pub(crate) seed: Option<u64>,
    /// Only the runs in which these parameters have these values, as they are written.
    pub(crate) only: Vec<Parameter>,
}

impl Batch {
    /// Reads a scenario and chooses its runs.
    pub(crate) fn read(file: &str, choice: &Choice) -> Result<Self, Failure> {
        let source = Source::read(file)?;
        let ScenarioFile { name, runs, sources } = read_scenario(&source, &|name| beside(&source, name))?;
        let runs = chosen(runs, choice)?;
        let planned = |run: Run| {
            let parameters = parameters(&run);
            let replay = replay(file, &parameters, run.seed);
            Planned { parameters, seed: run.seed, scenario: run.scenario, replay }
        };
        let runs = runs.into_iter().map(planned).collect();
        Ok(Self { name, file: file.to_owned(), hash: hash(&sources), sources, runs })
    }

    /// The hash of the input as results carry it.
    pub(crate) fn input_hash(&self) -> String {
        format!("{:016x}", self.hash)
    }

    /// Whether there are several runs.
    pub(crate) fn is_sweep(&self) -> bool {
        self.runs.len() > 1
    }

    /// Whether a result is that of a run, by this version, and running it again would lead to no other.
    pub(crate) fn has_result(&self, planned: &Planned, result: &RunResult) -> bool {
        result.wayleave == env!("CARGO_PKG_VERSION")
            && result.input_hash == self.input_hash()
            && result.parameters == planned.parameters
            && result.seed == planned.seed
            && result.ending != Ending::Stopped
    }
}

impl Planned {
    /// What tells it from the other runs of its file: `seed 3, traffic.web.load = 0.8`.
    pub(crate) fn title(&self) -> String {
        let parameters = self.parameters.iter().map(|parameter| format!("{} = {}", parameter.path, parameter.value));
        std::iter::once(format!("seed {}", self.seed)).chain(parameters).collect::<Vec<_>>().join(", ")
    }

    /// The name of its file: the same for the same parameters and seed, whatever other runs there are.
    pub(crate) fn file_name(&self) -> String {
        let mut bytes = Vec::new();
        for text in self.parameters.iter().flat_map(|parameter| [&parameter.path, &parameter.value]) {
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(text.as_bytes());
        }
        let parameters = if bytes.is_empty() { String::new() } else { format!("-{:016x}", fnv1a(&bytes)) };
        format!("seed-{}{parameters}.json", self.seed)
    }
}

fn parameters(run: &Run) -> Vec<Parameter> {
    let parameter = |(path, value): &(String, String)| Parameter { path: path.clone(), value: value.clone() };
    run.labels.iter().map(parameter).collect()
}

/// The runs that a choice leaves.
fn chosen(runs: Vec<Run>, choice: &Choice) -> Result<Vec<Run>, Failure> {
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
        return Err(Failure::Usage("no run of the sweep has all of these values at once".into()));
    }
    Ok(left)
}

/// That some run has this value; what there is instead.
fn check(runs: &[Run], wanted: &Parameter) -> Result<(), Failure> {
    let mut paths: Vec<String> = Vec::new();
    let mut values: Vec<String> = Vec::new();
    for Parameter { path, value } in runs.iter().flat_map(parameters) {
        if path == wanted.path && !values.contains(&value) {
            values.push(value);
        }
        if !paths.contains(&path) {
            paths.push(path);
        }
    }
    let Parameter { path, value } = wanted;
    let wrong = match (paths.is_empty(), values.is_empty()) {
        (true, _) => "--only chooses runs of a sweep, and this scenario varies nothing".to_owned(),
        (_, true) => format!("this sweep does not vary \"{path}\": it varies {}", paths.join(", ")),
        _ if values.contains(value) => return Ok(()),
        _ => format!("no run has {path} = {value}: its values are {}", values.join(", ")),
    };
    Err(Failure::Usage(wrong))
}

/// The command that runs one run alone.
fn replay(file: &str, parameters: &[Parameter], seed: u64) -> String {
    let mut command = format!("wayleave sim {}", quoted(file));
    for Parameter { path, value } in parameters {
        command += &format!(" --only {}", quoted(&format!("{path}={value}")));
    }
    command + &format!(" --seed {seed}")
}

/// A word of a command line as a shell reads it.
pub(crate) fn quoted(word: &str) -> String {
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
    fn a_word_reaches_a_shell_as_it_is() {
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
