//! GML and GraphML: meaning of attributes, and error messages.

use crate::common::graphs::{links, names, options, read, remarks, with_rate, wrong};
use wayleave_formats::HostSelector;
use wayleave_topology::NodeKind;

/// In the style of Topology Zoo, with its quirks.
const ZOO: &str = r#"# converted
graph [
  DateObtained "3/02/11"
  label "Hansa"
  node [
    id 0
    label "L&#252;beck"
    Country "Germany"
    Longitude 10.68729
    Internal 1
    Latitude 53.86893
    type "Completed"
  ]
  node [
    id 3
    label "Visby"
    Longitude 18.29602
    Latitude 57.64089
  ]
  node [
    id 4
    label "Riga"
  ]
  edge [
    source 0
    target 3
    LinkSpeed "2.5"
    LinkLabel "2.5 Gbps"
    LinkSpeedUnits "G"
    LinkSpeedRaw 2500000000.0
  ]
  edge [
    source 3
    target 4
    LinkSpeed "155"
    LinkSpeedUnits "M"
  ]
  edge [
    source 3
    target 4
    id "e2"
  ]
]
"#;

#[test]
fn gml_of_topology_zoo_is_read_with_its_speeds_and_places() {
    let options = with_rate()
        .with_delay_from_places(true)
        .with_default_delay("1ms".parse::<wayleave_units::Time>().ok())
        .with_hosts(HostSelector::None);
    let imported = read("x.gml", ZOO, &options);
    assert_eq!(imported.topology.name, "Hansa");
    // The great circle from Luebeck to Visby is 633.9 km long (law of cosines), 3.1715 ms in a fibre.
    assert_eq!(
        links(&imported.topology.network),
        [
            "Lübeck->Visby 2.5Gbit 3.172ms",
            "Visby->Lübeck 2.5Gbit 3.172ms",
            "Visby->Riga 155Mbit 1ms",
            "Riga->Visby 155Mbit 1ms",
            "Visby->Riga#2 10Gbit 1ms",
            "Riga->Visby#2 10Gbit 1ms"
        ]
    );
    let messages = remarks(&imported);
    assert!(messages.contains(&"note: 1 of 3 links have no rate: 10Gbit (--default-rate)".to_owned()), "{messages:?}");
    assert!(messages.iter().any(|remark| remark.contains("\"type\" of nodes")), "{messages:?}");
}

#[test]
fn links_without_rates_or_places_are_counted_and_the_first_is_shown() {
    let messages = wrong("x.gml", ZOO, &options().with_delay_from_places(true));
    assert_eq!(
        messages,
        [
            "32:3 the ends of 2 links have no longitude and latitude: this is the first",
            "38:3 1 of 3 links have no rate: the first joins \"Visby\" and \"Riga\", and has only id",
        ]
    );
}

#[test]
fn errors_of_gml_are_reported_at_their_place() {
    for (text, expected) in [
        ("", "1:1 there is no graph in this file"),
        ("graph [ node [ id 0 ]", "1:7 this \"[\" is never closed"),
        ("graph [ ] ]", "1:11 this bracket closes nothing"),
        ("graph [ node [ id ] ]", "1:18 the key \"id\" has no value"),
        ("graph [ node [ label \"x ] ]", "1:22 this quotation mark is never closed"),
        ("graph [ [ ] ]", "1:9 a key is expected here: a word such as node or label"),
        ("graph [ node [ label \"x\" ] ]", "1:9 this node needs the key \"id\", a number or a text"),
        ("graph [ node [ id [ ] ] ]", "1:19 this node needs the key \"id\", a number or a text"),
        ("graph [ node [ id 0 ] edge [ source 0 ] ]", "1:23 this edge needs the key \"target\", a number or a text"),
        ("graph [ ]", "1:1 the network has no nodes"),
        ("graph 5", "1:7 a graph is a list in square brackets"),
        ("graph [ node [ id 0 ] ] graph [ ]", "1:25 a second graph begins here"),
    ] {
        assert_eq!(wrong("x.gml", text, &options())[0], expected, "{text}");
    }
    let deep = "a [ ".repeat(100);
    assert!(wrong("x.gml", &deep, &options())[0].ends_with("lists are nested more than 64 deep here"));
}

/// In the style of NetworkX and Topology Zoo: keys with numbers, defaults, a namespace.
const GRAPHML: &str = r#"<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
  <key attr.name="LinkSpeedRaw" attr.type="double" for="edge" id="d32" />
  <key attr.name="delay_us" attr.type="int" for="edge" id="d33"><default>7</default></key>
  <key attr.name="label" attr.type="string" for="node" id="d30" />
  <key attr.name="kind" attr.type="string" for="node" id="d31" />
  <graph edgedefault="undirected">
    <data key="d0">1.0</data>
    <node id="0"><data key="d30">R &amp; D</data><data key="d31">server</data></node>
    <node id="1"><data key="d30">core</data></node>
    <edge source="0" target="1"><data key="d32">1000000000.0</data></edge>
    <edge source="1" target="0" directed="true"><data key="d32">2e9</data><data key="d33">9</data></edge>
  </graph>
</graphml>
"#;

#[test]
fn graphml_is_read_with_its_keys_and_their_defaults() {
    let imported = read("x.graphml", GRAPHML, &options());
    assert_eq!(
        links(&imported.topology.network),
        ["R & D->core 1Gbit 7us", "core->R & D 1Gbit 7us", "core->R & D#2 2Gbit 9us"]
    );
    assert_eq!(names(&imported.topology.network, NodeKind::Host), ["R & D"]);
    // The name of a file does not matter where its content is plain.
    assert_eq!(read("x.xml", GRAPHML, &options()).topology.name, "x");
}

#[test]
fn labels_of_yed_are_read_from_its_drawings() {
    let text = r#"<graphml><key for="node" id="d6" yfiles.type="nodegraphics"/><graph edgedefault="directed">
        <node id="n0"><data key="d6"><y:ShapeNode xmlns:y="y"><y:NodeLabel>plc<y:Model/></y:NodeLabel></y:ShapeNode></data></node>
        <node id="n1"><graph><node id="n1::n0"/></graph></node>
        <edge source="n0" target="n1"/><hyperedge/></graph></graphml>"#;
    let imported = read("x.graphml", text, &with_rate());
    assert_eq!(names(&imported.topology.network, NodeKind::Switch), ["plc", "n1", "n1::n0"]);
    let expected = "warning: 1 hyperedges (edges with more than two ends) were left out";
    assert!(remarks(&imported).contains(&expected.to_owned()));
}

#[test]
fn errors_of_graphml_are_reported_at_their_place() {
    for (text, expected) in [
        ("<graphml>\n  <graph>\n</graphml>", "3:1 invalid XML: expected 'graph' tag, not 'graphml'"),
        ("<svg/>", "1:1 the first element is \"svg\", and graphml is expected"),
        ("<graphml/>", "1:1 there is no <graph> in this file"),
        ("<graphml><graph/><graph/></graphml>", "1:18 a second graph begins here"),
        ("<graphml><graph><node/></graph></graphml>", "1:17 this node needs the attribute id"),
        (
            "<graphml><graph><node id='a'/><edge source='a' target='b'/></graph></graphml>",
            "1:56 there is no node \"b\"",
        ),
        (
            "<graphml><graph><node id='a'/><node id='b'/>\n<edge source='a' target='b'>\n<data key='rate'>x</data></edge></graph></graphml>",
            "3:18 \"x\" does not begin with a number: expected a rate such as 10Gbit, 2.5Mbit/s or 500kbit",
        ),
        ("<!DOCTYPE graphml><graphml/>", "1:1 a document type is not read"),
    ] {
        assert_eq!(wrong("x.graphml", text, &options())[0], expected, "{text}");
    }
    let deep = "<a>".repeat(100_000);
    assert!(wrong("x.graphml", &deep, &options())[0].contains("invalid XML"));
}
