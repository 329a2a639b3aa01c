//! Keys that no importer uses: each is reported by name and position, and `strict` makes it an error.

use crate::common::graphs::{read, remarks, with_rate, wrong};
use wayleave_formats::{ImportOptions, Source, read_hpcc_topology, read_htsim_topology, read_port_network};
use wayleave_topology::builders::Cabling;

/// A file with one unknown key at every level, and the messages: owner, key and line.
struct Case {
    file: &'static str,
    text: &'static str,
    keys: &'static [(&'static str, &'static str, usize)],
}

/// Every importer of networks. Add a new one here.
const CASES: &[Case] = &[
    Case {
        file: "x.clab.yml",
        text: "name: lab
zz-root: 1
topology:
  zz-topology: 1
  defaults: { zz-defaults: 1 }
  kinds: { linux: { zz-kind: 1 } }
  groups: { servers: { zz-group: 1 } }
  nodes:
    s1: { kind: bridge, zz-node: 1 }
    h1: { kind: linux, exec: [ tc qdisc add dev eth1 root tbf rate 1mbit ] }
  links:
    - type: veth
      zz-link: 1
      vars: { rate: 1Gbit, zz-var: 1 }
      endpoints:
        - { node: h1, interface: eth1, zz-end: 1 }
        - { node: s1, interface: p1, vars: { zz-end-var: 1 } }
",
        keys: &[
            ("the lab", "zz-root", 2),
            ("the topology", "zz-topology", 4),
            ("defaults", "zz-defaults", 5),
            ("kinds", "zz-kind", 6),
            ("groups", "zz-group", 7),
            ("nodes", "zz-node", 9),
            ("nodes", "exec", 10),
            ("links", "zz-link", 13),
            ("links", "zz-var", 14),
            ("ends of links", "zz-end", 16),
            ("ends of links", "zz-end-var", 17),
        ],
    },
    Case {
        file: "x.json",
        text: r#"{"zzRoot": 1, "directed": false,
"graph": {"zzGraph": {"a": 1}},
"nodes": [{"id": "a", "zzNode": 1}, {"id": "b"}],
"edges": [{"source": "a", "target": "b", "zzEdge": [1]}]}"#,
        keys: &[
            ("the graph", "zzRoot", 1),
            ("the graph", "zzGraph", 2),
            ("nodes", "zzNode", 3),
            ("links", "zzEdge", 4),
        ],
    },
    Case {
        file: "x.gml",
        text: "zzRoot 1
graph [ zzGraph 1
node [ id 0 zzNode 1 ]
node [ id 1 ]
edge [ source 0 target 1 zzEdge [ a 1 ] ]
]",
        keys: &[("the file", "zzRoot", 1), ("the graph", "zzGraph", 2), ("nodes", "zzNode", 3), ("links", "zzEdge", 5)],
    },
    Case {
        file: "x.graphml",
        text: "<graphml><zzRoot/>
<key id='d' for='edge' attr.name='zzDefault'><default>1</default></key>
<graph zzGraph='1'><zzElement/>
<node id='a' zzNode='1'><zzChild/></node>
<node id='b'><data key='zzData'>1</data></node>
<edge source='a' target='b' zzEdge='1'><zzPart/></edge>
</graph></graphml>",
        keys: &[
            ("the file", "zzRoot", 1),
            ("links", "zzDefault", 2),
            ("the graph", "zzGraph", 3),
            ("the graph", "zzElement", 3),
            ("nodes", "zzNode", 4),
            ("nodes", "zzChild", 4),
            ("nodes", "zzData", 5),
            ("links", "zzEdge", 6),
            ("links", "zzPart", 6),
        ],
    },
    Case {
        file: "mn.json",
        text: r#"{"version": "2", "zzRoot": 1, "application": {"startCLI": "0"}, "controllers": [],
"hosts": [{"number": "1", "zzHost": 1, "opts": {"hostname": "h1", "nodeNum": 1, "zzHostOpt": 1}, "x": "1"}],
"switches": [{"number": "1", "zzSwitch": 1, "opts": {"hostname": "s1", "zzSwitchOpt": 1}}],
"links": [{"src": "h1", "dest": "s1", "zzLink": 1, "opts": {"bw": 100, "delay": "5ms", "loss": 1}}]}"#,
        keys: &[
            ("the file", "zzRoot", 1),
            ("nodes", "zzHost", 2),
            ("nodes", "zzHostOpt", 2),
            ("nodes", "zzSwitch", 3),
            ("nodes", "zzSwitchOpt", 3),
            ("links", "zzLink", 4),
            ("links", "loss", 4),
        ],
    },
    Case {
        file: "p4.json",
        text: r#"{"zzRoot": 1,
"hosts": {"h1": {"ip": "10.0.1.1/24", "zzHost": 1}},
"switches": {"s1": {"runtime_json": "s1.json", "zzSwitch": 1}},
"links": [["h1", "s1-p1", 1, 10, "zzFifth"]]}"#,
        keys: &[("the file", "zzRoot", 1), ("nodes", "zzHost", 2), ("nodes", "zzSwitch", 3), ("links", "value 5", 4)],
    },
    Case {
        file: "polska.txt",
        text: "?SNDlib native format; type: network; version: 1.0
META ( granularity = month )
NODES (
  A ( 18.60 54.20 )
  B ( 19.10 53.00 )
)
LINKS (
  L ( A B ) 155.00 0.00 0.00 156.00 ( 155.00 0.00 )
)
DEMANDS (
)
",
        keys: &[("the file", "META", 2), ("links", "modules", 8), ("the file", "DEMANDS", 10)],
    },
];

fn with_unit() -> ImportOptions {
    with_rate().with_rate_unit(wayleave_formats::RateUnit::Mbit)
}

fn strict(options: ImportOptions) -> ImportOptions {
    options.with_strict(true)
}

/// The remark about a file that begins so; empty if there is none.
fn remark(file: &str, text: &str, options: &ImportOptions, begin: &str) -> String {
    let all = remarks(&read(file, text, options));
    all.iter().find(|remark| remark.starts_with(begin)).cloned().unwrap_or_default()
}

#[test]
fn every_importer_reports_each_unused_key() {
    for Case { file, text, keys } in CASES {
        let messages = remark(file, text, &with_unit(), "warning: keys not used");
        for (owner, key, line) in *keys {
            let expected = format!("\"{key}\" of {owner} (line {line}");
            assert!(messages.contains(&expected), "{file}: {expected}\n{messages}");
        }
        assert_eq!(messages.matches("(line ").count(), keys.len(), "{file}: {messages}");
    }
}

#[test]
fn strict_refuses_each_unused_key_at_its_place() {
    for Case { file, text, keys } in CASES {
        let messages = wrong(file, text, &strict(with_unit()));
        for (owner, key, line) in *keys {
            let message = format!(" the key \"{key}\" of {owner} is not used");
            let found = messages.iter().find(|one| one.contains(&message));
            assert!(found.is_some_and(|one| one.starts_with(&format!("{line}:"))), "{file}: {message}\n{messages:#?}");
        }
        assert_eq!(messages.len(), keys.len(), "{file}: {messages:#?}");
    }
}

#[test]
fn a_second_rate_or_delay_of_a_link_is_reported() {
    let text = r#"{"nodes": ["a", "b"],
"edges": [{"source": "a", "target": "b", "rate": "1Gbit",
"capacity": "10Gbit", "delay": "1us",
"latency": "1ms"}]}"#;
    let imported = read("x.json", text, &with_rate());
    assert_eq!(crate::common::graphs::links(&imported.topology.network)[0], "a->b 1Gbit 1us");
    let expected = "warning: keys not used: \"capacity\" of links (line 3) and \"latency\" of links (line 4)";
    assert!(remarks(&imported).contains(&expected.to_owned()), "{:#?}", remarks(&imported));
}

#[test]
fn irrelevant_keys_are_counted_and_accepted_by_strict() {
    let text = "name: lab
mgmt: { network: x }
topology:
  nodes:
    s1: { kind: bridge }
    h1: { kind: linux, image: alpine, binds: [\"a:b\"] }
    h2: { kind: linux, image: alpine }
  links:
    - { endpoints: [\"h1:eth1\", \"s1:p1\"], labels: { x: y } }
    - { endpoints: [\"h2:eth1\", \"s1:p2\"] }
";
    let messages = remark("x.clab.yml", text, &strict(with_rate()), "note: keys not used");
    let expected = "note: keys not used for rates or delays: \"binds\", \"image\" (2 times), \"labels\" and \"mgmt\"";
    assert_eq!(messages, expected);
}

#[test]
fn importers_without_optional_words_refuse_unknown_ones() {
    let cabling = Cabling::default();
    let hpcc = read_hpcc_topology(&Source::new("t.txt", "3 1 2\n0\n0 1 1Gbps 1us 0 zz\n0 2 1Gbps 1us 0\n"), &cabling);
    assert!(hpcc.unwrap_err().to_string().contains("6 words"));
    let htsim = read_htsim_topology(&Source::new("t.topo", "Nodes 4\nTiers 2\nPodsize 4\nzz 1\n"), &cabling);
    assert!(htsim.unwrap_err().to_string().contains("unknown key \"zz\""));
    let level = |root: &str, network: &str, server: &str, curve: &str, flow: &str| {
        format!(
            r#"{{ {root} "network": {{ {network} "name": "n" }},
"servers": [{{ {server} "name": "s", "service_curve": {{ {curve} "latencies": ["1us"], "rates": ["1Gbps"] }} }}],
"flows": [{{ {flow} "name": "f", "path": ["s"], "arrival_curve": {{ "bursts": ["1B"], "rates": ["1bps"] }} }}] }}"#
        )
    };
    let zz = "\"zz\": 1,";
    for text in [
        level(zz, "", "", "", ""),
        level("", zz, "", "", ""),
        level("", "", zz, "", ""),
        level("", "", "", zz, ""),
        level("", "", "", "", zz),
    ] {
        let errors = read_port_network(&Source::new("n.json", text.as_str())).unwrap_err();
        assert!(errors.to_string().contains("unknown key \"zz\""), "{errors}");
    }
}
