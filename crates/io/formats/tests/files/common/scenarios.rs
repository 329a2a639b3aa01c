//! Helpers shared by the tests of scenarios.

use wayleave_formats::{InputErrors, ScenarioFile, Source, beside, read_scenario};

/// A valid spec: `topology` is on line 4, `duration` on line 5, `traffic` on line 6.
pub(crate) const SPEC: &str = "  topology: star:hosts=4\n  duration: 10ms\n  traffic: [ { name: a, sizes: 1MB } ]\n";

/// Files that scenarios may name.
const FILES: [(&str, &str); 4] = [
    ("cdf.txt", "1000 0.5\n900 1\n"),
    ("flow.txt", "1\n0 9 3 100 1000 0.001\n"),
    ("t.txt", "3 1 2\n0\n0 1 1Gbps 1us 0\n0 2 10Gxps 1us 0.01\n"),
    ("good.txt", "3 1 2\n0\n0 1 1Gbps 1us 0\n0 2 10Gbps 1us 0\n"),
];

/// Reads a document with this spec, which begins on line 4.
pub(crate) fn read(spec: &str) -> Result<ScenarioFile, InputErrors> {
    read_with(spec, &FILES)
}

/// The same with other files.
pub(crate) fn read_with(spec: &str, files: &[(&str, &str)]) -> Result<ScenarioFile, InputErrors> {
    let source = Source::new("s.yaml", format!("apiVersion: wayleave/v1\nkind: Scenario\nspec:\n{spec}"));
    let open = |name: &str| match files.iter().find(|file| file.0 == name) {
        Some((name, text)) => Ok(Source::new(name, *text)),
        None => beside(&source, name),
    };
    read_scenario(&source, &open)
}

/// Reads a document with one traffic, on line 7 from column 7.
pub(crate) fn with_traffic(traffic: &str) -> Result<ScenarioFile, InputErrors> {
    read(&format!("  topology: star:hosts=4\n  duration: 10ms\n  traffic:\n    - {traffic}\n"))
}

/// Returns the problems: `LINE:COLUMN MESSAGE`, with the name of another file before it.
pub(crate) fn messages<T>(result: Result<T, InputErrors>) -> Vec<String> {
    let Err(errors) = result else { return Vec::new() };
    let message_of = |problem: &wayleave_formats::Problem| {
        let name = problem.source_text().name();
        let name = if name == "s.yaml" { String::new() } else { format!("{name}:") };
        let place = problem.location().map(|at| format!("{}:{} ", at.line, at.column)).unwrap_or_default();
        format!("{name}{place}{}", problem.message())
    };
    errors.problems().iter().map(message_of).collect()
}
