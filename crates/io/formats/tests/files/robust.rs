//! Requirements on every reader for every text: a result, and positions inside the file.

use wayleave_formats::{
    Addressed, GraphFormat, HostSelector, ImportOptions, InputErrors, MAX_PROBLEMS, Source, kind_of, parse_builder,
    read_contracts, read_events, read_flow_sizes, read_hpcc_flows, read_hpcc_topology, read_htsim_flows,
    read_htsim_topology, read_network, read_order, read_orders, read_policy, read_port_network, read_scenario,
    read_tenants, read_topology, write_contracts, write_graph, write_order, write_orders, write_topology,
};
use wayleave_topology::builders::Cabling;
use wayleave_topology::{Network, NodeId};

/// Reads a text as everything that it could be.
pub(crate) fn check_everything(text: &str, network: &Network) {
    check(
        text,
        read_topology(&Source::new("x.yaml", text)).map(|read| {
            // A readable file can be written, and read again.
            let again = Source::new("again.yaml", write_topology(&read.network, &read.name));
            read_topology(&again).unwrap_or_else(|errors| panic!("{errors}\n{}", again.text()));
        }),
    );
    for name in ["x.yaml", "x.csv"] {
        check(
            text,
            read_contracts(&Source::new(name, text), network).map(|list| {
                let contracts = list.contracts();
                let again = Source::new("again.yaml", write_contracts(contracts, network, list.name()));
                let read =
                    read_contracts(&again, network).unwrap_or_else(|errors| panic!("{errors}\n{}", again.text()));
                assert_eq!(read.contracts(), contracts);
                for (index, contract) in contracts.iter().enumerate() {
                    assert!(list.locate(index, "name").bytes.end <= text.len());
                    assert!(list.finding(index, "route", "x").to_string().contains('^'), "{contract:?}");
                }
            }),
        );
    }
    check_orders(text, network);
    check(text, read_events(&Source::new("x.yaml", text), network).map(drop));
    check(text, parse_builder(text).map(drop));
    // Every file that it names is the scenario again.
    let scenario = read_scenario(&Source::new("x.yaml", text), &|name| Ok(Source::new(name, text)));
    check(text, scenario.map(|file| assert!(file.runs.iter().all(|run| run.scenario.validate().is_ok()))));
    check_imports(text, network);
    check_graphs(text);
}

/// Reads a text as a controller does; a readable text can be written, and read again.
fn check_orders(text: &str, network: &Network) {
    let given = Addressed { tenant: Some("acme"), name: Some("a") };
    for given in [Addressed::default(), given] {
        let order = read_order(&Source::new("x", text), network, network, given);
        check(
            text,
            order.map(|order| {
                let again = Source::new("again", write_order(&order, network));
                let read = read_order(&again, network, network, Addressed::default());
                assert_eq!(read.unwrap_or_else(|errors| panic!("{errors}\n{}", again.text())), order);
            }),
        );
        for name in ["x.yaml", "x.csv"] {
            let orders = read_orders(&Source::new(name, text), network, network, given);
            check(
                text,
                orders.map(|list| {
                    let again = Source::new("again.yaml", write_orders(list.orders(), network, list.name()));
                    let read = read_orders(&again, network, network, Addressed::default());
                    let read = read.unwrap_or_else(|errors| panic!("{errors}\n{}", again.text()));
                    assert_eq!(read.orders(), list.orders());
                }),
            );
        }
    }
    check(text, read_tenants(&Source::new("x.yaml", text)).map(drop));
    check(text, read_policy(&Source::new("x.yaml", text), network).map(drop));
    let _ = kind_of(&Source::new("x.yaml", text));
}

/// Reads a text as the graph of another tool; what can be read can be written in every format, and read again.
fn check_graphs(text: &str) {
    let bare = ImportOptions::default();
    let rich = bare
        .clone()
        .with_default_rate("1Gbit".parse::<wayleave_units::Rate>().ok())
        .with_delay_from_places(true)
        .with_rate_unit(wayleave_formats::RateUnit::Mbit)
        .with_delay_unit(wayleave_formats::DelayUnit::Ms)
        .with_hosts(HostSelector::Leaves);
    for name in ["x", "x.gml", "x.graphml", "x.clab.yml"] {
        for options in [&bare, &rich] {
            let read = read_network(&Source::new(name, text), options);
            check(
                text,
                read.map(|read| {
                    assert!(read.remarks.iter().all(|remark| !remark.to_string().chars().any(char::is_control)));
                    let network = read.topology.network;
                    let formats = [
                        (GraphFormat::NodeLink, "x.json"),
                        (GraphFormat::Gml, "x.gml"),
                        (GraphFormat::GraphMl, "x.graphml"),
                    ];
                    for (format, name) in formats {
                        let again = Source::new(name, write_graph(&network, "again", format).0);
                        let options = ImportOptions::default().with_hosts(HostSelector::None);
                        // A topology document may have no nodes at all; a graph needs some.
                        if network.nodes().len() > 0 {
                            let read =
                                read_network(&again, &options).unwrap_or_else(|e| panic!("{e}\n{}", again.text()));
                            assert_eq!(read.topology.network.links().len(), network.links().len(), "{}", again.text());
                        }
                    }
                }),
            );
        }
    }
}

/// Reads a text as the files of other simulators.
fn check_imports(text: &str, network: &Network) {
    let source = Source::new("x.txt", text);
    let hosts: Vec<NodeId> = network.hosts().collect();
    let cabling = Cabling::default();
    check(text, read_hpcc_topology(&source, &cabling).map(drop));
    check(text, read_htsim_topology(&source, &cabling).map(drop));
    check(text, read_hpcc_flows(&source, network, &hosts).map(drop));
    check(text, read_htsim_flows(&source, network, &hosts).map(drop));
    check(text, read_port_network(&source).map(drop));
    check(text, read_flow_sizes(&source).map(|sizes| assert!(sizes.validate().is_ok() && sizes.quantile(0.5) > 0)));
}

/// Either it could be read, or every problem has a place in the text and can be shown.
fn check(text: &str, result: Result<(), InputErrors>) {
    let Err(errors) = result else { return };
    assert!((1..=MAX_PROBLEMS).contains(&errors.problems().len()));
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for problem in errors.problems() {
        let location = problem.location().expect("a problem of a text that could be read has a place");
        assert!(text.get(location.bytes.clone()).is_some(), "{location:?} is not in the text: {problem}");
        let line = text.split('\n').nth(location.line - 1).expect("the line exists");
        assert!(location.column <= line.chars().count() + 1, "{location:?}: {problem}");
        assert!(!problem.message().is_empty() && !problem.message().chars().any(char::is_control), "{problem:?}");
        assert!(!problem.to_string().chars().any(|c| c.is_control() && c != '\n'), "{problem:?}");
        assert!(problem.source_text().text().get(location.bytes.clone()).is_some(), "{location:?}: {problem}");
    }
    assert!(errors.to_string().len() < 100_000);
}
