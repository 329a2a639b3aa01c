//! A scenario with another sweep: the program's parameters replace those of the file.

use serde_json::{Value as Json, json};

use crate::document::{self, API_VERSION, DocumentKind};
use crate::problem::{InputErrors, Problems};
use crate::source::Source;
use crate::tree::{Node, Value};

/// Parameters of a scenario that a program varies.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    /// Paths into `spec`, each with its values, as in `sweep.vary`; the first changes slowest. Empty: what the file varies stays.
    pub vary: Vec<(String, Vec<Json>)>,
    /// The seeds of all runs; empty: those of the file stay.
    pub seeds: Vec<u64>,
}

/// Returns the text of a scenario with the program's parameters, as JSON. Its name marks this, and keeps it in the
/// folder of the source, so that files beside it are found. Other problems of the file are reported when it is read.
///
/// # Errors
/// If the text is no scenario.
pub fn with_grid(source: &Source, grid: &Grid) -> Result<Source, InputErrors> {
    let mut problems = Problems::new(source);
    let document = document::read(source.text(), DocumentKind::Scenario, &mut problems, |_, _| {});
    let document = problems.finish(document)?;
    let spec = members(&document.spec);
    let sweep = spec.iter().find(|(key, _)| *key == "sweep").map_or_else(Vec::new, |(_, node)| members(node));
    let of_file = |key: &str| sweep.iter().find(|(known, _)| *known == key).map(|(_, node)| text(node));
    let vary = match grid.vary.as_slice() {
        [] => of_file("vary"),
        vary => Some(object(vary.iter().map(|(path, values)| (path.as_str(), Json::from(values.clone()).to_string())))),
    };
    let seeds = match grid.seeds.as_slice() {
        [] => of_file("seeds"),
        seeds => Some(json!(seeds).to_string()),
    };
    let is_replaced = |key: &str| key == "sweep" || key == "seed" && !grid.seeds.is_empty();
    let sweep = object([("vary", vary), ("seeds", seeds)].into_iter().filter_map(|(key, value)| Some((key, value?))));
    let kept = spec.iter().filter(|(key, _)| !is_replaced(key)).map(|(key, node)| (*key, text(node)));
    let spec = object(kept.chain([("sweep", sweep)]));
    let text = object(
        [
            ("apiVersion", json!(API_VERSION).to_string()),
            ("kind", json!(DocumentKind::Scenario.name()).to_string()),
            ("metadata", json!({ "name": document.name }).to_string()),
            ("spec", spec),
        ]
        .into_iter(),
    );
    Ok(Source::new(&format!("{} with a grid", source.name()), text))
}

/// Keys and values of a mapping, in its order.
fn members<'n>(node: &'n Node<'_>) -> Vec<(&'n str, &'n Node<'n>)> {
    let Value::Mapping(entries) = &node.value else { return Vec::new() };
    entries.iter().filter_map(|entry| Some((entry.key.text()?, &entry.value))).collect()
}

/// Returns a tree as JSON. Every scalar is a text: its reader determines the type, as in YAML.
fn text(node: &Node<'_>) -> String {
    match &node.value {
        Value::Null | Value::Streamed => "null".to_owned(),
        Value::Scalar(text) => json!(text).to_string(),
        Value::Sequence(items) => format!("[{}]", items.iter().map(text).collect::<Vec<_>>().join(",")),
        Value::Mapping(_) => object(members(node).into_iter().map(|(key, value)| (key, text(value)))),
    }
}

/// Returns a JSON object of keys and JSON texts, in their order: the order of the parameters is that of the runs.
fn object<'k>(members: impl Iterator<Item = (&'k str, String)>) -> String {
    let members: Vec<String> = members.map(|(key, value)| format!("{}:{value}", json!(key))).collect();
    format!("{{{}}}", members.join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_scenario;

    const TEXT: &str = "
apiVersion: wayleave/v1
kind: Scenario
metadata: { name: loads }
spec:
  topology: star:hosts=4
  duration: 2ms
  seed: 9
  traffic: [{ name: \"web\", load: 0.3, sizes: web-search }]
  sweep: { vary: { traffic.web.load: [0.2, 0.4] } }
";

    fn runs(text: &Source) -> Vec<(Vec<(String, String)>, u64)> {
        let nothing = |name: &str| Source::read(format!("no-such-folder/{name}"));
        let read = read_scenario(text, &nothing).unwrap();
        read.runs.into_iter().map(|run| (run.labels, run.seed)).collect()
    }

    #[test]
    fn a_grid_gives_the_runs_of_the_equal_sweep_in_a_file() {
        let grid = Grid {
            vary: vec![
                ("traffic.web.load".into(), vec![json!(0.2), json!("0.8")]),
                ("duration".into(), vec![json!("2ms"), json!("1ms")]),
            ],
            seeds: vec![1, 2],
        };
        let varied = with_grid(&Source::new("loads.yaml", TEXT), &grid).unwrap();
        let in_a_file = TEXT.replace("  seed: 9\n", "").replace(
            "{ vary: { traffic.web.load: [0.2, 0.4] } }",
            "{ seeds: 1..2, vary: { traffic.web.load: [0.2, 0.8], duration: [2ms, 1ms] } }",
        );
        assert_eq!(runs(&varied), runs(&Source::new("loads.yaml", in_a_file)));
        assert_eq!(varied.name(), "loads.yaml with a grid");
    }

    #[test]
    fn keys_outside_a_grid_keep_the_values_of_the_file() {
        let source = Source::new("loads.yaml", TEXT);
        assert_eq!(runs(&with_grid(&source, &Grid::default()).unwrap()), runs(&source));
        let seeds = with_grid(&source, &Grid { seeds: vec![5], ..Grid::default() }).unwrap();
        assert_eq!(runs(&seeds).iter().map(|run| run.1).collect::<Vec<_>>(), [5, 5]);
    }

    #[test]
    fn an_invalid_scenario_is_refused_with_its_place() {
        let errors = with_grid(&Source::new("x.yaml", "kind: Contracts"), &Grid::default()).unwrap_err();
        assert!(errors.to_string().starts_with("x.yaml:1:"), "{errors}");
    }
}
