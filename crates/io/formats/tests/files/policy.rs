//! Policies in files: the example, and messages about wrong ones.

use wayleave_contracts::{Direction, PolicyLevel};
use wayleave_formats::{DocumentKind, PolicyFile, Source, kind_of, parse_builder, read_policy};
use wayleave_units::Rate;

fn read(text: &str) -> Result<PolicyFile, String> {
    let network = parse_builder("leaf-spine:leaves=2,spines=2,hosts=4").unwrap().network;
    read_policy(&Source::new("policy.yaml", text), &network).map_err(|errors| errors.to_string())
}

fn services(lines: &str) -> String {
    let services = lines.replace('\n', "\n    ");
    format!("apiVersion: wayleave/v1\nkind: Policy\nspec:\n  level: rack\n  services:\n    {services}\n")
}

/// Returns the first line of the message.
fn complaint(lines: &str) -> String {
    read(&services(lines)).unwrap_err().lines().next().unwrap().to_owned()
}

#[test]
fn the_example_is_read_with_all_its_parts() {
    let path = format!("{}/../../../schemas/examples/policy.yaml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    assert_eq!(kind_of(&Source::new("policy.yaml", text.as_str())), Some(DocumentKind::Policy));
    let file = read(&text).unwrap();
    let policy = &file.policy;
    assert_eq!((policy.name(), policy.level(), policy.services().len()), ("rack", PolicyLevel::Rack, 4));
    assert_eq!(
        policy.order().iter().map(|&service| policy.path(service)).collect::<Vec<_>>(),
        ["dfs", "dfs:backup", "dfs:hbase", "vms"]
    );
    let dfs = |direction| (policy.terms(direction, None)[0].min, policy.terms(direction, None)[0].max);
    assert_eq!(dfs(Direction::Transmit), (Rate::from_gbit(6), None));
    assert_eq!(dfs(Direction::Receive), (Rate::from_gbit(8), Some(Rate::from_gbit(40))));
    assert_eq!(policy.services()[0].tenant.as_deref(), Some("storage"));
    let max = |now: &str| policy.terms(Direction::Transmit, Some(now.parse().unwrap()))[3].max;
    let hours = ["2027-01-01T19:59:59Z", "2027-01-01T20:00:00Z", "2027-01-02T06:00:00Z"];
    assert_eq!(hours.map(max), [1, 4, 1].map(|gbit| Some(Rate::from_gbit(gbit))));
    assert!(file.finding("no").to_string().starts_with("policy.yaml:"));
}

#[test]
fn every_error_names_its_place() {
    assert_eq!(
        complaint("- { name: a, min: 2Gbit, max: 1Gbit }"),
        "policy.yaml:6:35: the maximum 1Gbit to transmit is below the minimum 2Gbit: raise max or lower min"
    );
    assert_eq!(complaint("- { name: a, parent: b }"), "policy.yaml:6:26: no service \"b\" in this policy");
    assert!(
        complaint("- { name: a, weight: 0 }")
            .contains(":26: the weight 0 is not accepted: expected a whole number from 1")
    );
    assert!(complaint("- { name: a, endpoints: [h1, h99] }").contains(":34: there is no node \"h99\""));
    assert!(complaint("- { name: a, endpoints: [leaf1] }").contains("leaf1 is a switch"));
    assert!(complaint("- { name: a, objective: latency }").contains("has an objective and no share"));
    let unknown = complaint("- { name: a, share: 1Gbit, objective: latencie }");
    assert!(unknown.contains("unknown objective \"latencie\", did you mean \"latency\"?"), "{unknown}");
    let tenant = complaint("- { name: a, tenant: \"->\" }");
    assert_eq!(tenant, "policy.yaml:6:26: this is not a name of a tenant: expected 1 to 63 characters of [a-z0-9-]");
    assert!(complaint("- { name: a, mix: 1Gbit }").contains("\"mix\""));
    assert!(complaint("- { name: a, changes: [ { at: \"2027-01-01T00:00:00Z\" } ] }").contains("this changes nothing"));
    assert!(complaint("- { name: a }\n- { name: b }").starts_with("policy.yaml:7:15: a packet could belong to \"a\""));
    let level = services("- { name: a }").replace("rack", "rak");
    assert!(read(&level).unwrap_err().contains("unknown level \"rak\", did you mean \"rack\"?"), "{:?}", read(&level));
    let context = read(&services("- { name: a, parent: b }")).unwrap_err();
    assert!(context.ends_with("in service \"a\""), "{context}");
}
