//! Networks of TopoHub, MiniEdit, the P4 tutorials and SNDlib, and files that are refused by name.

use crate::common::graphs::{links, names, options, read, remarks, with_rate, wrong};
use wayleave_formats::{GraphFormat, HostSelector, RateUnit, Source, read_network, write_graph};
use wayleave_topology::{Network, NodeKind};

#[test]
fn nodes_are_found_by_their_names_if_edges_use_names() {
    let text = r#"{"nodes":[{"name":"s1","type":"switch"},{"name":"h1","type":"host"},{"name":"h2","type":"host"}],
        "links":[{"source":"h1","target":"s1","bw":"100Mbit","delay":"5ms"},{"source":"h2","target":"s1","bw":"1Gbit"}]}"#;
    let network = read("x.json", text, &options()).topology.network;
    assert_eq!(links(&network), ["h1->s1 100Mbit 5ms", "s1->h1 100Mbit 5ms", "h2->s1 1Gbit 0ns", "s1->h2 1Gbit 0ns"]);
    // Numbers are places in the list, as d3 has them.
    let text = r#"{"nodes": [{"name": "a"}, {"name": "b"}], "links": [{"source": 1, "target": 0}]}"#;
    assert_eq!(links(&read("x.json", text, &with_rate()).topology.network)[0], "b->a 10Gbit 0ns");
}

#[test]
fn topohub_gives_places_of_nodes_and_lengths_of_links() {
    let text = r#"{"directed": false, "multigraph": false, "graph": {"name": "t", "demands": {}, "stats": {"nodes": 2}},
"nodes": [{"pos": [10.0, 50.0], "id": 0}, {"pos": [11.0, 50.0], "id": 1}, {"pos": [10.0, 50.0], "id": 2}],
"edges": [{"source": 0, "target": 1, "dist": 100.0}, {"source": 1, "target": 2}]}"#;
    let places = with_rate().with_delay_from_places(true).with_hosts(HostSelector::None);
    let network = read("x.json", text, &places).topology.network;
    // 100 km at two thirds of 299,792.458 km/s are 500.35 us; one degree at 50 degrees north is 71.47 km, 357.6 us.
    assert_eq!(links(&network)[..3], ["0->1 10Gbit 501us", "1->0 10Gbit 501us", "1->2 10Gbit 358us"]);
    let messages = remarks(&read("x.json", text, &with_rate()));
    assert!(messages.iter().any(|remark| remark.contains("\"dist (km)\" of links (line 3)")), "{messages:#?}");
}

#[test]
fn miniedit_is_read_with_its_bandwidths_in_mbit() {
    let text = r#"{"application":{"startCLI":"0"},"controllers":[],
"hosts":[{"number":"1","opts":{"hostname":"h1","nodeNum":1},"x":"1","y":"1"},{"number":"2","opts":{"hostname":"h2"}}],
"switches":[{"number":"1","opts":{"hostname":"s1","nodeNum":1,"switchType":"default"},"x":"3","y":"3"}],
"links":[{"src":"h1","dest":"s1","opts":{"bw":100,"delay":"5ms"}},{"src":"h2","dest":"s1","opts":{"bw":10}}],"version":"2"}"#;
    let imported = read("mn.json", text, &options());
    let forward: Vec<String> = links(&imported.topology.network).into_iter().step_by(2).collect();
    assert_eq!(forward, ["h1->s1 100Mbit 5ms", "h2->s1 10Mbit 0ns"]);
    assert_eq!(names(&imported.topology.network, NodeKind::Host), ["h1", "h2"]);
    let nameless = text.replace("\"hostname\":\"h2\"", "");
    assert_eq!(
        wrong("mn.json", &nameless, &options())[0],
        "2:78 a node needs its name: opts with the key \"hostname\""
    );
}

#[test]
fn topologies_of_the_p4_tutorials_are_read_with_ports() {
    let text = r#"{"hosts":{"h1":{"ip":"10.0.1.1/24"},"h2":{"ip":"10.0.2.2/24"}},
"switches":{"s1":{"runtime_json":"s1.json"},"s2":{"runtime_json":"s2.json"}},
"links":[["h1","s1-p1"],["h2","s2-p1",2],["s1-p2","s2-p2","5us",0.5]]}"#;
    let network = read("p4.json", text, &with_rate()).topology.network;
    let forward: Vec<String> = links(&network).into_iter().step_by(2).collect();
    assert_eq!(forward, ["h1->s1 10Gbit 0ns", "h2->s2 10Gbit 2ms", "s1->s2 500kbit 5us"]);
    let port = network.find_link("s1->s2").unwrap();
    assert_eq!(network.interfaces()[&port], "s1-eth2");
    assert_eq!(wrong("p4.json", &text.replace(r#"["h1","s1-p1"]"#, r#"["h1"]"#), &with_rate()).len(), 1);
}

const POLSKA: &str = "?SNDlib native format; type: network; version: 1.0
# network polska
NODES (
  # <node_id> [(<longitude>, <latitude>)]
  Gdansk ( 18.60 54.20 )
  Lodz ( 19.40 51.70 ) () ()
)
LINKS (
  L0 ( Gdansk Lodz ) 155.00 0.00 0.00 156.00 ( 155.00 156.00 622.00 468.00 )
  L1 ( Gdansk Lodz ) 0.00 0.00 0.00 156.00 ( )
)
";

#[test]
fn sndlib_is_read_with_the_installed_capacity() {
    let options =
        with_rate().with_rate_unit(RateUnit::Mbit).with_delay_from_places(true).with_hosts(HostSelector::None);
    let imported = read("polska.txt", POLSKA, &options);
    let forward: Vec<String> = links(&imported.topology.network).into_iter().step_by(2).collect();
    // 2.5 degrees of latitude and 0.8 of longitude are 283.1 km: 1.4165 ms.
    assert_eq!(forward, ["Gdansk->Lodz 155Mbit 1.417ms", "Gdansk->Lodz#2 10Gbit 1.417ms"]);
    for (old, new, expected) in [
        ("LINKS (", "LINKS", "9:3 \"(\" is expected here, not \"L0\""),
        ("( Gdansk Lodz ) 155", "( Gdansk ) 155", "9:15 the id of a node is expected here"),
        ("( )\n)", "( )\n", "10:47 the file ends here, and the id of a link is expected"),
        ("Lodz ) 155", "Lodz2 ) 155", "9:15 there is no node \"Lodz2\", did you mean \"Lodz\"?"),
    ] {
        assert!(POLSKA.contains(old), "{old}");
        assert_eq!(wrong("polska.txt", &POLSKA.replacen(old, new, 1), &options)[0], expected, "{new}");
    }
}

#[test]
fn known_unsupported_files_are_refused_by_name() {
    for (file, text, expected) in [
        (
            "gns3.json",
            r#"{"name":"x","type":"topology","topology":{"computes":[],"nodes":[{"node_id":"aa"}],"links":[]}}"#,
            "a GNS3 project: not read",
        ),
        ("config_db.json", r#"{"PORT": {"Ethernet0": {"speed": "10000"}}}"#, "a config_db.json of SONiC: not read"),
        ("x.gns3", r#"{"topology": {"computes": [], "nodes": [], "links": []}}"#, "a GNS3 project: not read"),
        ("topology.yml", "nodes: [r1, r2]\nlinks: [r1-r2]\n", "a netlab topology: not read"),
        (
            "topology.yml",
            "provider: clab\nnodes: { r1: , r2: }\nlinks: [ { r1: , r2: , bandwidth: 1000 } ]\n",
            "a netlab topology: not read",
        ),
        (
            "topology.yml",
            "nodes: [r1, r2]\nlinks:\n- interfaces: [ { node: r1 }, { node: r2 } ]\n",
            "a netlab topology: not read",
        ),
        (
            "network.json",
            r#"{"AP_A": {"downloadBandwidthMbps": 500, "uploadBandwidthMbps": 100, "children": {}}}"#,
            "a network.json of LibreQoS: not read",
        ),
        (
            "ShapedDevices.csv",
            "Circuit ID,Circuit Name,Device ID\n1,\"c one\",1\n",
            "a ShapedDevices.csv of LibreQoS: not read",
        ),
        (
            "polska.xml",
            "<?xml version=\"1.0\"?>\n<network xmlns=\"http://sndlib.zib.de/network\" version=\"1.0\"/>",
            "SNDlib's XML form: not read",
        ),
        ("1239.cch", "5041 @Atlanta,+GA + bb (2) -> <5038> <4062> =r1 r0\n", "a Rocketfuel map: not read"),
        (
            "inet.txt",
            "3 2\n0 1.5 2\n1 2 3\n",
            "a list of numbers, such as an Inet or Orbis file of ns-3 or a topology of HPCC: not read here",
        ),
        (
            "topology.txt",
            "3 1 2\n0\n1 0 1Gbps 1us 0\n",
            "a list of numbers, such as an Inet or Orbis file of ns-3 or a topology of HPCC: not read here",
        ),
    ] {
        assert_eq!(wrong(file, text, &options()), [format!("1:1 this is {expected}")], "{file}");
    }
}

#[test]
fn interface_names_survive_graphs() {
    let text = r#"{"nodes": [{"id": "a", "kind": "switch"}, {"id": "b", "kind": "host"}, {"id": "c", "kind": "host"}],
"edges": [{"source": "a", "target": "b", "source_interface": "eth7", "target_interface": "enp1s0", "mtu": 9000},
          {"source": "c", "target": "a", "toInterface": "x", "targetInterface": "eth3"}]}"#;
    let imported = read("x.json", text, &with_rate());
    let ports = |network: &Network| {
        network.interfaces().iter().map(|(&id, name)| format!("{} {name}", network.link(id).name)).collect::<Vec<_>>()
    };
    let expected = ["a->b eth7", "b->a enp1s0", "a->c eth3"];
    assert_eq!(ports(&imported.topology.network), expected);
    assert!(remarks(&imported).iter().any(|remark| remark.contains("\"toInterface\" of links")));
    for (format, file) in
        [(GraphFormat::NodeLink, "x.json"), (GraphFormat::Gml, "x.gml"), (GraphFormat::GraphMl, "x.graphml")]
    {
        let (text, _) = write_graph(&imported.topology.network, "x", format);
        assert_eq!(ports(&read(file, &text, &options()).topology.network), expected, "{text}");
    }
}

#[test]
fn joined_hosts_are_an_error_with_advice() {
    let text = r#"{"hosts": ["a", "b"], "links": [["a", "b"]]}"#;
    let errors = read_network(&Source::new("x.json", text), &with_rate()).unwrap_err();
    assert!(errors.problems()[0].hint().unwrap().contains("put a switch between"), "{errors}");
}
