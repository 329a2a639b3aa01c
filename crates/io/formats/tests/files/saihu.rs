//! Networks in Saihu's JSON and XML: accepted files, and messages about wrong files.

use wayleave_calculus::network::{LineShaping, Multiplexing, Packetizer};
use wayleave_calculus::rational::{ratio, whole};
use wayleave_formats::{
    InputErrors, PortNetworkFile, ProblemKind, Source, read_port_network, write_physical_network, write_port_network,
};

fn read(text: &str) -> Result<PortNetworkFile, InputErrors> {
    read_port_network(&Source::new("n.json", text))
}

/// With these flows on two servers, `a` and `b`.
fn with_flows(flows: &str) -> Result<PortNetworkFile, InputErrors> {
    let server = |name: &str| {
        format!(r#"{{ "name": "{name}", "service_curve": {{ "latencies": ["1us"], "rates": ["1Gbps"] }} }}"#)
    };
    read(&format!("{{ \"servers\": [ {}, {} ],\n\"flows\": [\n{flows}\n] }}", server("a"), server("b")))
}

#[track_caller]
fn assert_messages(result: Result<PortNetworkFile, InputErrors>, kind: ProblemKind, parts: &[&str]) {
    let errors = result.expect_err("the file is wrong");
    assert_eq!(errors.problems()[0].kind(), kind, "{errors}");
    for part in parts {
        assert!(errors.to_string().contains(part), "{part}: {errors}");
    }
}

#[test]
fn units_of_objects_come_before_those_of_the_network() {
    let file = read(
        r#"{
        "network": { "name": "demo", "packetizer": true, "multiplexing": "ARBITRARY", "analysis_option": ["PK"],
                     "time_unit": "us", "data_unit": "B", "rate_unit": "Mbps", "max_packet_length": 60 },
        "adjacency_matrix": [[0]],
        "servers": [
            { "name": "s", "service_curve": { "latencies": [10, "1ms"], "rates": [4, "50Mbps"] }, "capacity": 100 },
            { "name": "t", "service_curve": { "latencies": [2], "rates": [8] }, "time_unit": "ms", "rate_unit": "kBps" }
        ],
        "flows": [
            { "name": "f", "path": ["s", "t"], "arrival_curve": { "bursts": [10, "2kB"], "rates": ["10kbps", 0.5] },
              "rate_unit": "kbps", "max_packet_length": 50 },
            { "name": "g", "paths": [["s"], ["s", "t"]], "arrival_curve": { "bursts": [1.25], "rates": [1] } }
        ] }"#,
    )
    .unwrap();
    assert_eq!(file.name, "demo");
    let options = file.options;
    assert_eq!(
        (options.packetizer, options.multiplexing, options.shaping),
        (Packetizer::On, Multiplexing::Arbitrary, LineShaping::Off)
    );
    let [s, t] = file.network.servers() else { panic!("two servers") };
    assert_eq!(s.service.to_string(), "max(4 Mbit/s * [t - 10 us]+, 50 Mbit/s * [t - 1 ms]+)");
    assert_eq!(s.line.as_ref().unwrap().rate, whole(100_000_000));
    assert_eq!(t.service.to_string(), "64 kbit/s * [t - 2 ms]+");
    assert_eq!(t.line, None);
    let [f, g] = file.network.flows() else { panic!("two flows") };
    assert_eq!(f.arrival.to_string(), "min(10 B + 10 kbit/s * t, 2 kB + 500 bit/s * t)");
    assert_eq!((&f.max_packet, &g.max_packet), (&whole(400_000_000_000), &whole(480_000_000_000)));
    assert_eq!(g.arrival.burst(), whole(10_000_000_000));
    assert_eq!(g.paths, [vec![0], vec![0, 1]]);
}

#[test]
fn without_a_head_units_are_seconds_bits_and_bits_per_second() {
    let file = read(
        r#"{ "servers": [{ "name": "s", "service_curve": { "latencies": [1e-2], "rates": [3] } }],
             "flows": [{ "name": "f", "path": ["s"], "arrival_curve": { "bursts": [7], "rates": ["1bpm"] } }] }"#,
    )
    .unwrap();
    assert_eq!(file.name, "n");
    assert_eq!(file.network.servers()[0].service.latency(), Some(whole(10_000_000)));
    assert_eq!(file.network.flows()[0].arrival.long_term_rate(), ratio(1, 60).unwrap());
    assert_eq!(file.options.shaping, LineShaping::On);
}

#[test]
fn errors_have_their_place_and_the_expected_form() {
    const CURVE: &str = r#""arrival_curve": { "bursts": [1], "rates": [1] }"#;
    let flow = |rest: &str| with_flows(&format!(r#"{{ "name": "f", {rest} }}"#));
    assert_messages(
        flow(&format!(r#""path": ["a", "aa"], {CURVE}"#)),
        ProblemKind::UnknownName,
        &["n.json:3:30: there is no server \"aa\"", "in flow \"f\""],
    );
    assert_messages(
        flow(r#""path": ["a"], "arrival_curve": { "bursts": ["1us"], "rates": [1] }"#),
        ProblemKind::BadValue,
        &["\"1us\" is not accepted: a number such as 1500B", "without a unit it counts in the data_unit"],
    );
    assert_messages(
        flow(r#""path": ["a"], "arrival_curve": { "bursts": [1, 2], "rates": [1] }"#),
        ProblemKind::Impossible,
        &["2 bursts and 1 rates: as many of both"],
    );
    assert_messages(flow(CURVE), ProblemKind::MissingKey, &["a flow needs a path, or paths if it is multicast"]);
    assert_messages(
        flow(&format!(r#""path": ["a"], "paths": [["a"]], {CURVE}"#)),
        ProblemKind::WrongType,
        &["path and paths cannot be combined"],
    );
    assert_messages(
        flow(&format!(r#""path": ["a", "b", "a"], {CURVE}"#)),
        ProblemKind::Impossible,
        &["n.json:3:1: path 1 of flow \"f\" visits server \"a\" twice"],
    );
    assert_messages(
        flow(&format!(r#""path": ["a"], "arival_curve": 3, {CURVE}"#)),
        ProblemKind::UnknownKey,
        &["did you mean \"arrival_curve\"?"],
    );
    let twice = format!(r#"{{ "name": "f", "path": ["a"], {CURVE} }}"#);
    assert_messages(
        with_flows(&format!("{twice},\n{twice}")),
        ProblemKind::Impossible,
        &["n.json:4:1: two flows are called \"f\""],
    );
}

#[test]
fn meaningless_servers_and_heads_are_refused() {
    let server = |server: &str, head: &str| read(&format!(r#"{{ {head} "servers": [{server}], "flows": [] }}"#));
    const CURVE: &str = r#""service_curve": { "latencies": [0], "rates": [1] }"#;
    assert_messages(
        server(r#"{ "name": "s", "service_curve": { "latencies": [0], "rates": [0] } }"#, ""),
        ProblemKind::Impossible,
        &["server \"s\" serves nothing: expected a rate above zero"],
    );
    assert_messages(
        server(&format!(r#"{{ "name": "s", {CURVE}, "capacity": 0 }}"#), ""),
        ProblemKind::Impossible,
        &["a capacity of zero lets nothing through"],
    );
    assert_messages(
        server(&format!(r#"{{ "name": "s", {CURVE} }}, {{ "name": "s", {CURVE} }}"#), ""),
        ProblemKind::DuplicateName,
        &["the name \"s\" is already used on line 1"],
    );
    let head = |head: &str| server("", &format!(r#""network": {{ {head} }},"#));
    assert_messages(head(r#""time_unit": "sec""#), ProblemKind::BadValue, &["\"sec\" is not a time_unit: s, m or h"]);
    assert_messages(head(r#""multiplexing": "FIFA""#), ProblemKind::BadValue, &["did you mean \"FIFO\"?"]);
    assert_messages(head(r#""packetizer": "yes""#), ProblemKind::BadValue, &["true or false is expected"]);
    assert_messages(read("[]"), ProblemKind::WrongType, &["an output-port network is expected here"]);
    assert_messages(read(""), ProblemKind::Empty, &["the file is empty"]);
    assert_messages(read("{ \"servers\": [ }"), ProblemKind::Syntax, &["n.json:1:16"]);
}

#[test]
fn thousandths_of_bits_are_not_mistaken_for_millions() {
    let with = |rate: &str, unit: &str| {
        read(&format!(
            r#"{{ "network": {{ "rate_unit": "{unit}" }},
            "servers": [ {{ "name": "s", "service_curve": {{ "latencies": ["1us"], "rates": [{rate}] }} }} ],
            "flows": [ {{ "name": "f", "path": ["s"], "arrival_curve": {{ "bursts": [1], "rates": [0] }} }} ] }}"#
        ))
    };
    let parts = ["\"mbps\" means thousandths here, and millions to most people", "write Mbps if millions are meant"];
    assert_messages(with("4", "mbps"), ProblemKind::BadValue, &parts);
    assert_messages(with("\"4mbps\"", "Mbps"), ProblemKind::BadValue, &parts);
    assert!(with("\"4Mbps\"", "kbps").is_ok());
}

/// Consequences of an unreadable part are not reported, and never first.
#[test]
fn an_invalid_curve_is_not_reported_to_serve_nothing() {
    let curve = |rates: &str| {
        read(&format!(
            r#"{{ "servers": [ {{ "name": "s", "service_curve": {{ "latencies": [1], "rates": [{rates}] }} }} ],
            "flows": [ {{ "name": "f", "path": ["s"], "arrival_curve": {{ "bursts": [1], "rates": ["1 bogus"] }} }} ] }}"#
        ))
    };
    let errors = curve("\"5 bogus\"").expect_err("the file is wrong").to_string();
    assert!(!errors.contains("serves nothing") && errors.matches("bogus").count() >= 2, "{errors}");
    assert_messages(
        read(
            r#"{ "servers": [ { "name": "s", "service_curve": { "latencies": [1], "rates": [0] } } ],
        "flows": [ { "name": "f", "path": ["s"], "arrival_curve": { "bursts": [1], "rates": [0] } } ] }"#,
        ),
        ProblemKind::Impossible,
        &["serves nothing"],
    );
}

/// Reads a physical network with these elements beside two stations, a switch `s` and their links.
fn physical(elements: &str) -> Result<PortNetworkFile, InputErrors> {
    read(&format!(
        "<elements>\n<station name=\"a\"/><station name=\"b\"/><switch name=\"s\" service-latency=\"1us\" service-rate=\"1Gbps\"/>\n\
         <link from=\"a\" to=\"s\"/><link from=\"s\" to=\"b\"/>\n{elements}\n</elements>"
    ))
}

const FLOW: &str = "<flow name=\"f\" lb-burst=\"1kB\" lb-rate=\"1Mbps\" source=\"a\"><target><path node=\"s\"/><path node=\"b\"/></target></flow>";

#[test]
fn every_output_port_with_a_service_is_a_server() {
    let path = format!("{}/../../../docs/examples/physical-network.xml", env!("CARGO_MANIFEST_DIR"));
    let file = read_port_network(&Source::read(path).unwrap()).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(
        (file.name.as_str(), file.options.shaping, file.options.packetizer),
        ("plant", LineShaping::On, Packetizer::Off)
    );
    let same = read(
        r#"{ "network": { "name": "plant", "max_packet_length": "1500B" },
             "servers": [
               { "name": "cell-o0", "service_curve": { "latencies": ["12us"], "rates": ["100Mbps"] }, "capacity": "100Mbps" },
               { "name": "hall-o0", "service_curve": { "latencies": ["12us"], "rates": ["900Mbps"] }, "capacity": "1Gbps" } ],
             "flows": [
               { "name": "pictures", "path": ["cell-o0", "hall-o0"], "arrival_curve": { "bursts": ["15kB"], "rates": ["20Mbps"] } },
               { "name": "torque", "path": ["cell-o0", "hall-o0"], "arrival_curve": { "bursts": ["200B"], "rates": ["1.6Mbps"] },
                 "max_packet_length": "200B" } ] }"#,
    );
    let same = same.unwrap();
    assert_eq!(file.network.servers(), same.network.servers());
    assert_eq!(file.network.flows(), same.network.flows());
}

#[test]
fn a_flow_with_several_targets_is_several_flows() {
    let two = FLOW.replace(
        "</target></flow>",
        "</target><target name=\"near\"><path node=\"s\"/><path node=\"b\"/></target></flow>",
    );
    let names: Vec<String> = physical(&two).unwrap().network.flows().iter().map(|flow| flow.name.clone()).collect();
    assert_eq!(names, ["f_p0", "f_near"]);
}

#[test]
fn written_xml_is_read_back() {
    let path = format!("{}/../../../docs/examples/port-network.json", env!("CARGO_MANIFEST_DIR"));
    for options in [("FIFO", "true", "[]"), ("ARBITRARY", "false", "[\"IS\"]")] {
        let (multiplexing, packetizer, analysis) = options;
        let text = std::fs::read_to_string(&path).unwrap();
        let first = read(&text).unwrap();
        let again = write_port_network(&first.name, &first.network, &first.options);
        let mut value: serde_json::Value = serde_json::from_str(&again).unwrap();
        value["network"]["multiplexing"] = multiplexing.into();
        value["network"]["packetizer"] = (packetizer == "true").into();
        value["network"]["analysis_option"] = serde_json::from_str(analysis).unwrap();
        let first = read(&value.to_string()).unwrap();
        let written = write_physical_network("a <plant> & \"more\"", &first.network, &first.options);
        let read = read(&written.text).unwrap_or_else(|errors| panic!("{errors}\n{}", written.text));
        assert_eq!(
            (read.name.as_str(), format!("{:?}", read.options)),
            ("a <plant> & \"more\"", format!("{:?}", first.options))
        );
        let single =
            |flow: &&wayleave_calculus::network::ServerFlow| flow.paths.len() == 1 && flow.arrival.pieces().len() == 1;
        let of = |file: &PortNetworkFile, name: &str| {
            file.network.flows().iter().find(|flow| flow.name == name).unwrap().clone()
        };
        let mut compared = 0;
        for flow in first.network.flows().iter().filter(single) {
            let other = of(&read, &flow.name);
            let names = |file: &PortNetworkFile, path: &[usize]| {
                path.iter().map(|&at| file.network.servers()[at].name.clone()).collect::<Vec<_>>()
            };
            let expected: Vec<String> = names(&first, &flow.paths[0]).iter().map(|name| format!("{name}-o0")).collect();
            assert_eq!(
                (&other.arrival, &other.max_packet, names(&read, &other.paths[0])),
                (&flow.arrival, &flow.max_packet, expected)
            );
            compared += 1;
        }
        assert!(compared > 0, "a flow with one path and one token bucket");
    }
}

#[test]
fn errors_of_a_physical_network_are_reported_at_their_place() {
    for (elements, kind, parts) in [
        ("<flw/>", ProblemKind::UnknownKey, ["n.json:4:1", "unknown element \"flw\""]),
        ("<link from=\"a\" to=\"c\"/>", ProblemKind::UnknownName, ["4:20", "no station or switch \"c\""]),
        ("<station name=\"a\"/>", ProblemKind::DuplicateName, ["4:1", "already used on line 2"]),
        ("<station/>", ProblemKind::MissingKey, ["4:1", "this station has no \"name\""]),
        ("<network technology=\"FIFO+SI\"/>", ProblemKind::BadValue, ["4:22", "unknown technology \"SI\""]),
    ] {
        assert_messages(physical(elements), kind, &parts);
    }
    for (from, to, kind, part) in [
        ("1kB", "1000", ProblemKind::BadValue, "write B for bytes or b for bits"),
        ("1Mbps", "1mbps", ProblemKind::BadValue, "\"1mbps\" is not accepted"),
        ("lb-rate=\"1Mbps\"", "", ProblemKind::MissingKey, "this flow has no \"lb-rate\""),
        (
            "name=\"f\"",
            "name=\"f\" arrival-curve=\"periodic\"",
            ProblemKind::BadValue,
            "the arrival curve \"periodic\" is not read",
        ),
        ("<path node=\"s\"/>", "", ProblemKind::Impossible, "there is no link from \"a\" to \"b\""),
        ("source=\"a\"", "source=\"x\"", ProblemKind::UnknownName, "no station or switch \"x\""),
        ("</flow>", "", ProblemKind::Syntax, "invalid XML"),
    ] {
        assert_messages(physical(&FLOW.replacen(from, to, 1)), kind, &[part]);
    }
    assert_messages(
        read("<graphml/>"),
        ProblemKind::WrongKind,
        &["the first element is \"graphml\", and elements is expected"],
    );
    assert!(physical(FLOW).is_ok());
}

#[test]
fn multicast_lists_further_paths_beside_path_as_in_the_saihu_demo() {
    let multicast = r#"{ "name": "f", "path": ["a", "b"], "path_name": "p0", "multicast": [{ "name": "p1", "path": ["b"] }],
        "arrival_curve": { "bursts": ["10B"], "rates": ["10kbps"] } }"#;
    let file = with_flows(&multicast.replace("\"b\"] }]", "\"a\"] }]"));
    assert_eq!(file.unwrap().network.flows()[0].paths, [vec![0, 1], vec![0]]);
    let alone = multicast.replace("\"path\": [\"a\", \"b\"], ", "");
    assert_messages(with_flows(&alone), ProblemKind::MissingKey, &["multicast lists further paths beside path"]);
    let unknown = multicast.replace("\"name\": \"p1\"", "\"nam\": \"p1\"");
    assert_messages(with_flows(&unknown), ProblemKind::UnknownKey, &["\"nam\"", "did you mean \"name\"?"]);
    let missing = multicast.replace("\"path\": [\"b\"] }]", "\"path\": [\"c\"] }]");
    assert_messages(with_flows(&missing), ProblemKind::UnknownName, &["there is no server \"c\""]);
}

#[test]
fn links_of_wopanets_are_taken_in_both_directions() {
    let text = r#"<elements><network service-latency="1us" service-rate="100Mbps" zz="1"/>
<station name="A"/><switch name="S" zz="1"/><station name="B"/>
<link from="S" to="A" fromPort="o1" toPort="o7" transmission-capacity="100Mbps" zz="1"/>
<link from="S" to="B" fromPort="o2" toPort="i0"/>
<flow name="f" source="A" lb-burst="1kB" lb-rate="1Mbps" zz="1"><target name="t" zz="1"><path node="S" zz="1"/><path node="B"/></target></flow>
</elements>"#;
    let file = read_port_network(&Source::new("n.xml", text)).unwrap_or_else(|errors| panic!("{errors}"));
    let names: Vec<&str> = file.network.servers().iter().map(|server| server.name.as_str()).collect();
    let path = &file.network.flows()[0].paths[0];
    assert_eq!(path.iter().map(|&at| names[at]).collect::<Vec<_>>(), ["A-o7", "S-o2"]);
    assert!(file.network.servers()[path[0]].line.is_some());
    let messages = file.remarks[0].to_string();
    for owner in [
        "the network (line 1)",
        "nodes (line 2)",
        "links (line 3)",
        "flows (line 5)",
        "targets (line 5)",
        "paths (line 5)",
    ] {
        assert!(messages.contains(&format!("\"zz\" of {owner}")), "{owner}: {messages}");
    }
}
