//! Schemes that reserve no queues: the same commands, or a clear word why not.

use crate::command::{contracts, file, requests, wayleave};

const K4: &str = "fat-tree:k=4,queues=8";

fn list() -> String {
    let terms = |name: &str, rate: &str, burst: &str, deadline: &str| {
        format!("name: {name}, from: h1, to: h5, rate: {rate}, burst: {burst}, deadline: {deadline}")
    };
    let items = [
        terms("fits", "2Mbit", "3kB", "5ms"),
        terms("fast", "300Mbit", "1500B", "10ms"),
        terms("soon", "1Mbit", "1500B", "500us"),
        terms("burst", "1Mbit", "9kB", "3ms"),
    ];
    file("qjump.yaml", contracts(&items.each_ref().map(String::as_str)))
}

#[test]
fn qjump_plans_with_its_own_reasons() {
    let plan = wayleave(&format!("plan -t {K4} -f {} --scheme qjump -o json", list())).ends_with(3).json();
    let reasons: Vec<_> =
        plan["requests"].as_array().unwrap().iter().map(|request| request["reason"].clone()).collect();
    assert_eq!(reasons, [None, Some("RATE"), Some("LATENCY"), Some("LATENCY")].map(serde_json::Value::from));
    let [terms, bound] = ["terms", "bound_ns"].map(|key| plan["requests"][0][key].clone());
    let sum: u64 = terms.as_array().unwrap().iter().map(|term| term["delay_ns"].as_u64().unwrap()).sum();
    // Two packets are two epochs of 772 us.
    assert_eq!((sum, bound.as_u64()), (1_544_000, Some(1_544_000)));
    assert_eq!((&plan["epoch"]["unit_bps"], &plan["epoch"]["shares_left"]), (&15_544_041.into(), &31.into()));
    assert!(plan["queues"].as_array().unwrap().is_empty());
    let charged = wayleave(&format!("plan -t {K4} -f {} --scheme qjump --qjump-reading charged -o json", list()));
    // 300 / 15.5 is between 19 and 20.
    assert_eq!(charged.ends_with(3).json()["epoch"]["shares_left"], 11);
}

#[test]
fn qjump_explains_the_epoch_the_shares_and_what_would_fit() {
    let explain =
        |name: &str, more: &str| wayleave(&format!("explain {name} -t {K4} -f {} --scheme qjump {more}", list()));
    let fits = explain("fits", "").ends_with(0).stdout;
    for part in [
        "2 n P / R, with n = 32, P = 1.5 kB, R = 1 Gbit/s  768 us",
        "epsilon",
        "in the shaper",
        "1 for it, 1 of 32 taken",
    ] {
        assert!(fits.contains(part), "{part}: {fits}");
    }
    let fast = explain("fast", "").ends_with(3).stdout;
    for part in ["One packet per epoch is 15.54 Mbit/s", "throughput factor 22", "rate:      15.544041Mbit"] {
        assert!(fast.contains(part), "{part}: {fast}");
    }
    let held = explain("fast", "--qjump-reading flat").ends_with(0).stdout;
    assert!(held.contains("Its shaper passes 15.54 Mbit/s of 300 Mbit/s"), "{held}");
    let burst = explain("burst", "").ends_with(3).stdout;
    assert!(burst.contains("A burst of 6 packets takes 6 epochs") && burst.contains("4.5kB"), "{burst}");
    // Three packets of 1500 B fit the buffer of 9 kB when two of each share count as there.
    let full = explain("fits", "--buffer 2999B").ends_with(3).stdout;
    assert!(full.contains("refused, BUFFER") && !full.contains("Queues of"), "{full}");
}

#[test]
fn qjump_names_its_unsupported_options() {
    let recheck = wayleave(&format!("plan -t {K4} -f {} --scheme qjump --recheck", list())).ends_with(2);
    assert!(recheck.stderr.contains("--scheme qjump reserves none") && recheck.stdout.is_empty(), "{}", recheck.stderr);
    let plan = wayleave(&format!("plan -t {K4} -f {} --scheme qjump -o json", list()));
    let plan = file("qjump-plan.json", plan.stdout);
    let read = wayleave(&format!("verify -t {K4} --plan {plan}")).ends_with(2);
    assert!(read.stderr.contains("a plan of scheme qjump has no queue data"), "{}", read.stderr);
    for (scheme, option) in
        [("silo", "--qjump-n 3"), ("chameleon", "--qjump-reading flat"), ("qjump", "--silo-budget 1ms")]
    {
        let run = wayleave(&format!("plan -t {K4} -f {} --scheme {scheme} {option}", list())).ends_with(2);
        assert!(run.stderr.contains("is an option of --scheme"), "{}", run.stderr);
    }
}

/// Catches: an option of the scheme that decides anyway, refused as one of a scheme that was not chosen.
#[test]
fn lists_of_all_kinds_accept_the_options_of_their_scheme() {
    let [network, all] = ["network-fabric.yaml", "contracts-fabric.yaml"]
        .map(|name| format!("{}/../../docs/examples/{name}", env!("CARGO_MANIFEST_DIR")));
    let plan = |more: &str| wayleave(&format!("plan -t {network} -f {all} -o json {more}"));
    let option = "--fabric-guaranteed-budget 200us";
    // The first line names the scheme with its parameters.
    let scheme = |more: &str| plan(more).ends_with(0).stdout.lines().next().unwrap_or_default().to_owned();
    let implied = scheme(option);
    assert!(implied.contains("\"guaranteed_budget_ns\":200000"), "{implied}");
    assert_eq!(implied, scheme(&format!("--scheme fabric {option}")));
    for (more, owner) in [(format!("{option} --qjump-n 3"), "qjump"), (format!("--scheme silo {option}"), "fabric")] {
        let run = plan(&more).ends_with(2);
        assert!(run.stderr.contains(&format!("is an option of --scheme {owner}")), "{}", run.stderr);
    }
    // Lists of latency contracts are decided without it.
    let run = wayleave(&format!("plan -t {K4} -f {} {option}", list())).ends_with(2);
    assert!(run.stderr.contains("is an option of --scheme fabric"), "{}", run.stderr);
}

#[test]
fn promises_of_qjump_hold_packet_by_packet() {
    let list = requests("qjump-verify.yaml", K4, 8, 60);
    let run = |more: &str| wayleave(&format!("verify -t {K4} -f {list} --scheme qjump --effort quick {more}"));
    let sound = run("--qjump-reading flat").ends_with(0);
    assert!(sound.stderr.contains("28 of 60 contracts refused"), "{}", sound.stderr);
    // Every host sends a full packet to one host.
    let to_one =
        |from: u32| format!("name: c{from}, from: h{from}, to: h16, rate: 10Mbit, burst: 1500B, deadline: 5ms");
    let items: Vec<String> = (1..16).map(to_one).collect();
    let list = file("qjump-fan-in.yaml", contracts(&items.iter().map(String::as_str).collect::<Vec<_>>()));
    let run = |more: &str| wayleave(&format!("verify -t {K4} -f {list} --scheme qjump --effort quick {more}"));
    let sound = run("").ends_with(0);
    assert!(sound.stdout.contains("relative to the guarantee"), "{}", sound.stdout);
    run("--inject buffers-gone").ends_with(4);
}

const LINE: &str = "line:switches=3,hosts=2,rate=100Mbit";

fn small() -> String {
    let item = |name: &str, ends: (u32, u32), rate: &str, burst: &str, deadline: &str| {
        format!("name: {name}, from: h{}, to: h{}, rate: {rate}, burst: {burst}, deadline: {deadline}", ends.0, ends.1)
    };
    let items = [
        item("far", (1, 6), "100kbit", "306B", "10ms"),
        item("near", (3, 4), "1Mbit", "612B", "10ms"),
        item("fast", (4, 1), "11Mbit", "306B", "10ms"),
        item("soon", (2, 5), "100kbit", "306B", "3ms"),
        item("burst", (3, 4), "100kbit", "1530B", "10ms"),
    ];
    file("loko.yaml", contracts(&items.each_ref().map(String::as_str)))
}

#[test]
fn loko_plans_explains_and_verifies() {
    let list = small();
    let plan = wayleave(&format!("plan -t {LINE} -f {list} --scheme loko -o json")).ends_with(3).json();
    let reasons: Vec<_> =
        plan["requests"].as_array().unwrap().iter().map(|request| request["reason"].clone()).collect();
    assert_eq!(reasons, [None, None, Some("RATE"), Some("LATENCY"), Some("BUFFER")].map(serde_json::Value::from));
    for request in &plan["requests"].as_array().unwrap()[..2] {
        let terms = request["terms"].as_array().unwrap();
        let sum: u64 = terms.iter().map(|term| term["delay_ns"].as_u64().unwrap()).sum();
        assert_eq!(Some(sum), request["bound_ns"].as_u64());
    }
    assert_eq!(plan["services"]["in_use"].as_array().unwrap().len(), 3);
    let explain = |name: &str| wayleave(&format!("explain {name} -t {LINE} -f {list} --scheme loko")).stdout;
    for (name, part) in [
        ("far", "service of s2 at full allocation"),
        ("far", "line h1->s1"),
        ("fast", "Switch s2 has"),
        ("burst", "of the burst that its buffer allows"),
        ("soon", "above the deadline 3 ms"),
    ] {
        let text = explain(name);
        assert!(text.contains(part), "{part}: {text}");
    }
    wayleave(&format!("verify -t {LINE} -f {list} --scheme loko --effort quick")).ends_with(0);
    wayleave(&format!("verify -t {LINE} -f {list} --scheme loko --effort quick --inject buffers-gone")).ends_with(4);
}

#[test]
fn a_benchmark_table_is_written_and_read_by_loko() {
    let scenario = "entries=1+17,match=five-tuple,action=output,packet=306B";
    let table = wayleave(&format!("characterize-switch --scenario {scenario} -o csv")).ends_with(0).stdout;
    assert_eq!(table.lines().count(), 1 + 2 * 2 * 2);
    let table = file("loko-table.csv", table);
    let list = small();
    let plan =
        |more: &str| wayleave(&format!("plan -t {LINE} -f {list} --scheme loko --loko-table {table} {more} -o json"));
    let [of_file, simulated] = [plan(""), wayleave(&format!("plan -t {LINE} -f {list} --scheme loko -o json"))];
    let [of_file, simulated] = [of_file, simulated].map(|run| run.ends_with(3).json()["services"].clone());
    assert_eq!(of_file, simulated);
    let missing = plan("--loko-scenario whole").ends_with(2);
    assert!(missing.stderr.contains("lacks 12088 combinations"), "{}", missing.stderr);
    let summary = wayleave("characterize-switch").ends_with(0).stdout;
    for part in ["11.83 Mbit/s", "2.07 kB", "1.861 ms", "2.372 kB", "2.066 ms"] {
        assert!(summary.contains(part), "{part}: {summary}");
    }
    let too_much = plan("--loko-allocation 12Mbit").ends_with(2);
    assert!(too_much.stderr.contains("at most 11.83"), "{}", too_much.stderr);
}
