//! The classes of a topology: `classes: { latency: 5, guaranteed: 6, objective: 3, bestEffort: 1, target: 95%, promise: 85% }`.

use wayleave_topology::{Classes, ClassesError, Network, NetworkError};

use crate::fields::{Fields, Shape};
use crate::messages::quoted;
use crate::problem::{ProblemKind, Problems};
use crate::tree::Node;

pub(crate) const CLASSES: Shape = Shape {
    what: "the classes of a Topology",
    keys: &["latency", "guaranteed", "objective", "bestEffort", "target", "promise", "roundTrip"],
};

/// Divides the queues of a network according to `classes`; without this key the network is unchanged.
pub(super) fn divide(network: Network, spec: &Fields<'_, '_>, problems: &mut Problems<'_>) -> Option<Network> {
    let Some(node) = spec.get("classes") else { return Some(network) };
    let fields = Fields::read(node, &CLASSES, problems)?;
    let classes = read(&fields, problems)?;
    match network.with_classes(classes) {
        Ok(network) => Some(network),
        Err(error) => {
            let key = match &error {
                NetworkError::Classes(error) => ClassesError::key(error),
                _ => None,
            };
            let span = key.map_or(node.span, |key| fields.value_span(key));
            problems.report(ProblemKind::Impossible, span, || error.to_string());
            None
        }
    }
}

/// Reads the classes; absent keys keep their defaults.
fn read(fields: &Fields<'_, '_>, problems: &mut Problems<'_>) -> Option<Classes> {
    let usual = Classes::default();
    let mark = problems.mark();
    let mut count = |key: &'static str, usual: u16| match fields.get(key) {
        None => usual,
        // A count beyond the type's range is too large for any class, and is reported by the class's check.
        Some(node) => node.count(problems).map_or(usual, |count| u16::try_from(count).unwrap_or(u16::MAX)),
    };
    let latency = count("latency", u16::from(usual.latency));
    let (guaranteed, objective) = (count("guaranteed", usual.guaranteed), count("objective", usual.objective));
    let best_effort = count("bestEffort", usual.best_effort);
    let target = fields.get("target").map_or(usual.target, |node| percent(node, problems));
    let promise = fields.get("promise").map_or(usual.promise, |node| percent(node, problems));
    let round_trip = fields.get("roundTrip").and_then(|node| node.quantity(problems));
    let latency = u8::try_from(latency).unwrap_or(u8::MAX);
    let classes = Classes { latency, guaranteed, objective, best_effort, target, promise, round_trip };
    (problems.mark() == mark).then_some(classes)
}

/// A whole number of per cent; 0, which nothing accepts, where it is none.
fn percent(node: &Node<'_>, problems: &mut Problems<'_>) -> u8 {
    let Some(text) = node.expect_text(problems) else { return 0 };
    let number = text.strip_suffix('%').unwrap_or_default().trim();
    let digits = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    match number.parse::<u8>().ok().filter(|_| digits) {
        Some(percent) => percent,
        None => {
            problems.report(ProblemKind::BadValue, node.span, || {
                format!(
                    "{} is not a percentage: expected a whole number with a percent sign, such as 95%",
                    quoted(text)
                )
            });
            0
        }
    }
}

/// As it is read.
pub(crate) fn written(classes: &Classes) -> String {
    let Classes { latency, guaranteed, objective, best_effort, target, promise, round_trip } = classes;
    let time = round_trip.map(|time| format!(", roundTrip: {time}")).unwrap_or_default();
    format!(
        "{{ latency: {latency}, guaranteed: {guaranteed}, objective: {objective}, bestEffort: {best_effort}, \
         target: {target}%, promise: {promise}%{time} }}"
    )
}

#[cfg(test)]
mod tests {
    use wayleave_topology::Classes;
    use wayleave_units::Time;

    use crate::{Source, read_topology, write_topology};

    fn read(classes: &str) -> Result<Option<Classes>, String> {
        let text = format!(
            "apiVersion: wayleave/v1\nkind: Topology\nspec:\n  builder: {{ kind: star, hosts: 2 }}\n  classes: {classes}\n"
        );
        let topology = read_topology(&Source::new("star.yaml", text)).map_err(|errors| errors.to_string())?;
        let again = read_topology(&Source::new("again.yaml", write_topology(&topology.network, "again"))).unwrap();
        assert_eq!(again.network.classes(), topology.network.classes(), "what is written reads as the same");
        Ok(topology.network.classes().copied())
    }

    #[test]
    fn absent_keys_have_their_defaults() {
        assert_eq!(read("{}"), Ok(Some(Classes::default())));
        let given =
            "{ latency: 4, guaranteed: 5, objective: 4, bestEffort: 2, target: 90%, promise: 80%, roundTrip: 20us }";
        let round_trip = Some(Time::from_micros(20));
        let classes =
            Classes { latency: 4, guaranteed: 5, objective: 4, best_effort: 2, target: 90, promise: 80, round_trip };
        assert_eq!(read(given), Ok(Some(classes)));
    }

    #[test]
    fn errors_name_cause_and_place() {
        let stated = |classes: &str, part: &str| {
            let error = read(classes).unwrap_err();
            assert!(error.contains(part), "{classes}: {error}");
            assert!(error.contains("star.yaml:5:"), "{error}");
        };
        stated("{ latency: 7 }", "7 latency queues: expected 1 to 5");
        stated("{ guaranteed: 70000 }", "guaranteed has the weight 65535");
        stated("{ bestEffort: 0 }", "best effort has the weight 0");
        stated("{ target: 95 }", "\"95\" is not a percentage");
        stated("{ target: 300% }", "\"300%\" is not a percentage");
        stated("{ target: 80%, promise: 85% }", "promise is 85 % and target is 80 %");
        stated("{ objektive: 3 }", "did you mean \"objective\"?");
        stated("{ roundTrip: 0s }", "a round trip of 0ns");
    }

    #[test]
    fn a_switch_with_too_few_queues_is_named() {
        let text = "apiVersion: wayleave/v1\nkind: Topology\nspec:\n  builder: { kind: star, hosts: 2, queues: 4 }\n  classes: {}\n";
        let error = read_topology(&Source::new("star.yaml", text)).unwrap_err().to_string();
        assert!(error.contains("has 4 queues, and the classes need 8"), "{error}");
    }
}
