//! Messages about wrong scenarios: each with its position and its whole text.

use crate::common::scenarios::{SPEC, messages, read, with_traffic};

#[test]
fn errors_of_traffic_are_reported_at_their_place() {
    for (traffic, expected) in [
        (
            "{ name: a, load: 0.5, sizes: web-serch }",
            &["7:36 there is no distribution of flow sizes \"web-serch\", did you mean \"web-search\"?"],
        ),
        ("{ name: a, load: 0.5 }", &["7:7 a traffic source needs the key \"sizes\""]),
        ("{ name: a }", &["7:7 it does not define what is sent"]),
        (
            "{ name: a, load: 0.5, poisson: 1Mbit }",
            &["7:18 a traffic source has exactly one of these keys, but poisson and load are given"],
        ),
        ("{ name: a, lod: 0.5, sizes: 1MB }", &["7:18 unknown key \"lod\", did you mean \"load\"?"]),
        ("{ name: a, load: -1, sizes: 1MB }", &["7:24 a load of -1: expected above 0 and up to 10"]),
        ("{ name: a, load: 0.5, sizes: endless }", &["7:36 flows without end can only begin once"]),
        (
            "{ name: a, every: -1ms, sizes: 1MB }",
            &["7:25 \"-1ms\" is negative: expected a time such as 500us, 1.5ms or 2s"],
        ),
        ("{ name: a, sizes: 1MB, from: s1 }", &["7:36 s1 is a switch: hosts send and receive"]),
        ("{ name: a, sizes: 1MB, from: h9 }", &["7:36 there is no node \"h9\""]),
        ("{ name: a, sizes: 1MB, from: h1..h9 }", &["7:36 there is no node \"h5\""]),
        ("{ name: a, sizes: 1MB, from: [h1, h1] }", &["7:41 h1 is given twice"]),
        ("{ name: a, sizes: 1MB, from: h1, to: h1 }", &["7:36 no pair has two different hosts"]),
        (
            "{ name: a, sizes: 1MB, pairs: permutation, to: h1 }",
            &["7:50 to does not apply to a permutation, whose hosts are listed in from"],
        ),
        (
            "{ name: a, sizes: 1MB, pairs: circle }",
            &["7:37 unknown pattern \"circle\": expected all-to-all, random or permutation"],
        ),
        ("{ name: a, sizes: 1MB, pairs: [[h1, h1]] }", &["7:37 h1 would send to itself"]),
        ("{ name: a, sizes: 1MB, pairs: [[h1, h2, h3]] }", &["7:38 3 hosts: a pair is [SENDER, RECEIVER]"]),
        ("{ name: a, after: b }", &["7:25 no traffic source b above this one"]),
        (
            "{ name: a, after: { traffic: b, to: back } }",
            &["7:43 unknown choice of receivers \"back\": expected drawn or sender"],
        ),
        ("{ name: a, sizes: 1MB, queue: 8 }", &["7:37 no port has a queue 8: they have up to 8, counted from 0"]),
        ("{ name: a, sizes: 1MB, start: 10ms }", &["7:37 it begins at 10ms, and the run is over at 10ms"]),
        ("{ name: a, sizes: 1MB, start: 2ms, stop: 1ms }", &["7:48 it ends at 1ms, and begins at 2ms"]),
        (
            "{ name: a, sizes: 1MB, transport: dctpc }",
            &["7:41 unknown congestion control \"dctpc\", did you mean \"dctcp\"?"],
        ),
        (
            "{ name: a, sizes: 1MB, transport: fixed }",
            &["7:41 a fixed window needs its length in packets: write `{ fixed: 10 }`"],
        ),
        (
            "{ name: a, sizes: 1MB, transport: { mtu: 9000B } }",
            &["7:41 9.038kB on the wire, and h1->s1 carries up to 1.538kB"],
        ),
        ("{ name: a, sizes: 1MB, transport: { initialWindow: 0 } }", &["7:41 the first window has to be above zero"]),
        (
            "{ name: a, sizes: 1MB, frame: 100B }",
            &["7:30 frame does not apply to flows: their transport sets the packet size"],
        ),
        (
            "{ name: a, sizes: 1MB, deadline: { uniform: [2ms, 1ms] } }",
            &["7:40 deadlines from 2ms to 1ms: the first is the larger one"],
        ),
        ("{ name: a, sizes: 1MB, deadline: { uniform: 2ms } }", &["7:51 a list of two times is expected, not text"]),
        (
            "{ name: a, sizes: 1MB, deadline: { exponential: { mean: 0ms, min: 1ms } } }",
            &["7:40 the mean of deadlines has to be above zero"],
        ),
        (
            "{ name: a, sizes: 1MB, deadline: { exponential: { mean: 1ms } } }",
            &["7:55 an exponential distribution needs the key \"min\""],
        ),
        (
            "{ name: a, sizes: 1MB, deadline: { exponential: { mean: 1ms, min: 0ms } } }",
            &["7:40 the shortest of exponential deadlines has to be above zero"],
        ),
        ("{ name: a, sizes: 1MB, deadline: { values: [] } }", &["7:40 a list of deadlines needs at least one"]),
        ("{ name: a, sizes: 1MB, deadline: { values: [1ms, 0ms] } }", &["7:40 a deadline has to be above zero"]),
        (
            "{ name: a, poisson: 1Mbit, deadline: 1ms }",
            &["7:34 deadline does not apply to packets without acknowledgements"],
        ),
        ("{ name: a, constantRate: { rate: 1Mbit, jitter: 0ms } }", &["7:32 jitter has to be above zero"]),
        ("{ name: a, constantRate: { rate: 1Mbit } }", &["7:32 a constant rate with jitter needs the key \"jitter\""]),
        ("{ name: a, sizes: 1MB, active: { on: 0ms } }", &["7:38 the time of being on has to be above zero"]),
        ("{ name: a, sizes: 1MB, active: [{ on: 1ms }, { on: 2ms }] }", &["7:52 a period needs the key \"from\""]),
        (
            "{ name: a, sizes: 1MB, active: [{ from: 5ms, on: 1ms }, { from: 5ms, on: 1ms }] }",
            &["7:63 it begins at 5ms, before the one above it at 5ms: they must be in order of time"],
        ),
        (
            "{ name: a, sizes: 1MB, active: [] }",
            &["7:38 the traffic would never be active: expected at least one period"],
        ),
        (
            "{ name: a, flows: [{ at: 2ms, from: h1, to: h2, size: 1B }], active: { on: 1ms } }",
            &["7:68 active does not apply to a list of flows"],
        ),
        ("{ name: a, sizes: 1MB, sendSchedule: 0Mbit }", &["7:44 the rate has to be above zero"]),
        ("{ name: a, sizes: 1MB, sendSchedule: { write: 0B, every: 1ms } }", &["7:44 a write has to be above zero"]),
        (
            "{ name: a, sizes: 1MB, sendSchedule: { write: 1B, every: 0ms } }",
            &["7:44 the time between two writes has to be above zero"],
        ),
        ("{ name: a, sizes: 1MB, sendSchedule: { write: 1B } }", &["7:44 a send schedule needs the key \"every\""]),
        (
            "{ name: a, rpc: { answer: 1B }, sizes: 1B, sendSchedule: 1Mbit }",
            &["7:64 requests are sent at once: remove sendSchedule"],
        ),
        (
            "{ name: a, poisson: 1Mbit, sendSchedule: 1Mbit }",
            &["7:34 sendSchedule does not apply to packets without acknowledgements"],
        ),
        (
            "{ name: a, rpc: { answer: 1B, servers: new }, sizes: 1B }",
            &["7:46 unknown choice of servers \"new\": expected kept or drawn"],
        ),
        (
            "{ name: a, rpc: { answer: 1B, servers: kept, chain: 2 }, sizes: 1B }",
            &["7:23 one server answers one request: with chain or fanOut above 1, `servers: drawn` is expected"],
        ),
        ("{ name: a, rpc: { answer: 1B, chain: 0 }, sizes: 1B }", &["7:23 the number of steps has to be above zero"]),
        (
            "{ name: a, rpc: { answer: 1B, fanOut: 0 }, sizes: 1B }",
            &["7:23 the number of requests in a step has to be above zero"],
        ),
        (
            "{ name: a, rpc: { answer: 1B, fanOut: 4 }, sizes: 1B }",
            &["7:23 a fanOut of 4, and h1 has 3 other hosts to send to"],
        ),
        (
            "{ name: a, rpc: { answer: 1B, fanOut: 2 }, sizes: 1B, pairs: permutation }",
            &["7:23 a server is drawn from the hosts in to: expected all-to-all or random pairs"],
        ),
        ("{ name: a, poisson: 0Mbit }", &["7:27 the rate has to be above zero"]),
        ("{ name: a, poisson: 1Mbit, frame: 9000B }", &["7:41 9kB on the wire, and h1->s1 carries up to 1.562kB"]),
        (
            "{ name: a, tokenBucket: { rate: 1Mbit, burst: 100B }, frame: 200B }",
            &["7:31 a burst of 100B lets no frame of 200B through"],
        ),
        (
            "{ name: a, sizes: { points: [[1kB, 0.5], [900B, 1]] } }",
            &["7:48 the sizes do not rise: point 2 has 900 bytes after 1000"],
        ),
        (
            "{ name: a, sizes: { points: [[1kB, 0.5], [1900B, 0.9]] } }",
            &["7:48 the last share is 0.9, and 1 is expected"],
        ),
        (
            "{ name: a, sizes: { uniform: [2kB, 1kB] } }",
            &["7:25 flow sizes from 2kB to 1kB: the first is the larger one"],
        ),
        ("{ name: a, sizes: { cdf: missing.txt } }", &["7:32 \"missing.txt\": no such file"]),
        (
            "{ name: a, sizes: { cdf: cdf.txt } }",
            &["cdf.txt:2:1 the sizes do not rise: point 2 has 900 bytes after 1000"],
        ),
        (
            "{ name: a, rpc: { answer: keyvalue, outstanding: 0 }, sizes: 1B }",
            &["7:33 there is no distribution of flow sizes \"keyvalue\", did you mean \"key-value\"?"],
        ),
        (
            "{ name: a, rpc: { answer: key-value, outstanding: 0 }, sizes: 1B }",
            &["7:23 the number of requests that are outstanding has to be above zero"],
        ),
        ("{ name: a, sizes: 1B, route: [\"h1->s1:0\"] }", &["7:36 a route is for one pair of hosts, and these are 16"]),
        ("{ name: a, sizes: 1B, from: h1, to: h2, route: [\"h1->s1:0\"] }", &["7:54 the route ends at s1, not at h2"]),
        (
            "{ name: a, flows: { hpcc: flow.txt } }",
            &["flow.txt:2:3 there is no node 9: the network has 4, counted from 0"],
        ),
        (
            "{ name: a, flows: [{ at: 2ms, from: h1, to: h2, size: 1B }, { at: 1ms, from: h1, to: h2, size: 1B }] }",
            &["7:73 1ms is before 2ms, the start of the flow above: flows must be in order of time"],
        ),
        (
            "{ name: a, flows: [{ at: 2ms, from: h1, to: h2, size: 1B, queue: 9 }] }",
            &["7:72 no port has a queue 9: they have up to 8, counted from 0"],
        ),
        ("{ name: a, flows: [] }", &["7:25 the list has no flows"]),
        (
            "{ name: a, flows: { cm: x } }",
            &["7:25 a list of flows needs one of the keys hpcc or htsim", "7:27 unknown key \"cm\""],
        ),
    ] as [(&str, &[&str]); 71]
    {
        assert_eq!(messages(with_traffic(traffic)), expected, "{traffic}");
    }
}

#[test]
fn errors_of_a_scenario_are_reported_at_their_place() {
    for (old, new, expected) in [
        (
            "  topology: star:hosts=4",
            "  topology: star:hots=4",
            &["4:18 unknown key \"hots\", did you mean \"hosts\"?"],
        ),
        (
            "  topology: star:hosts=4",
            "  topology: \"star:hots=4\"",
            &["4:13 unknown key \"hots\", did you mean \"hosts\"?"],
        ),
        ("  topology: star:hosts=4", "  topology: network.yaml", &["4:13 \"network.yaml\": no such file"]),
        ("  topology: star:hosts=4", "  topology: network.txt", &["4:13 unknown builder \"network.txt\""]),
        (
            "  topology: star:hosts=4",
            "  topology: { hpcc: t.txt }",
            &[
                "t.txt:4:5 \"10Gxps\" is not a rate: one such as 100Gbps is expected",
                "t.txt:4:16 links that lose packets at random are not simulated: an error rate of 0 is expected",
            ],
        ),
        (
            "  topology: star:hosts=4",
            "  topology: { hpcc: t.txt, htsim: u }",
            &["4:28 a topology has exactly one of these keys, but hpcc and htsim are given"],
        ),
        (
            "  topology: star:hosts=4",
            "  topology: { nodes: [ { name: h1, kind: host }, { name: h2, kind: host }, { name: s1, kind: switch } ], links: [ { from: h1, to: s1 }, { from: s1, to: h2 } ] }",
            &["6:14 no path leads from h2 to h1"],
        ),
        (
            "  topology: star:hosts=4",
            "  topology: star:hosts=4,rate=1kbit",
            &["4:13 a packet takes 12.496s over h1->s1: up to 2s is simulated"],
        ),
        (
            "  topology: star:hosts=4",
            "  topology: star:hosts=100000",
            &["4:13 200000 links, which count twice, and 9999900000 flows: together up to 4194303 are simulated"],
        ),
        ("10ms", "0ms", &["5:13 the duration is 0ns: expected a duration above zero"]),
        ("10ms", "-1ms", &["5:13 \"-1ms\" is negative: expected a time such as 500us, 1.5ms or 2s"]),
        ("10ms", "10ms\n  warmup: 10ms", &["6:11 the warm-up of 10ms does not end before the run of 10ms"]),
        ("10ms", "10ms\n  seed: x", &["6:9 \"x\" is not accepted: expected a whole number such as 4"]),
        (
            "10ms",
            "10ms\n  switches: { discipline: { deficitRoundRobin: [1, 2] } }",
            &["6:27 2 weights, and the port of s1->h1 has 8 queues: expected one for each"],
        ),
        (
            "10ms",
            "10ms\n  switches: { discipline: { deficitRoundRobin: [1, 2, 3, 4, 5, 6, 7, 0] } }",
            &["6:27 queue 7 has a weight of 0: expected at least 1"],
        ),
        (
            "10ms",
            "10ms\n  switches: { discipline: priority }",
            &[
                "6:27 unknown discipline \"priority\": expected fifo, strict-priority, smallest-remaining-first or deficitRoundRobin",
            ],
        ),
        (
            "10ms",
            "10ms\n  switches: { discipline: { strict: 2, weighted: [4, 2] } }",
            &["6:27 2 strict queues, 2 weighted, and the port of s1->h1 has 8 queues: expected as many in total"],
        ),
        (
            "10ms",
            "10ms\n  switches: { discipline: { strict: 2 } }",
            &["6:27 a queueing discipline needs the key \"weighted\""],
        ),
        (
            "10ms",
            "10ms\n  switches: { discipline: { strict: 2, deficitRoundRobin: [1, 1, 1, 1, 1, 1, 1, 1] } }",
            &["6:29 strict does not apply to deficitRoundRobin"],
        ),
        (
            "10ms",
            "10ms\n  switches: { discipline: strict-priority, ecn: [97kB, none] }",
            &["6:49 2 entries, and the port of s1->h1 has 8 queues: expected one for each"],
        ),
        (
            "10ms",
            "10ms\n  switches: { ecn: [never] }",
            &["6:21 \"never\" does not begin with a number: expected a size such as 1500B, 97kB or 64KiB"],
        ),
        (
            "10ms",
            "10ms\n  hosts: { buffer: { shared: 1MB, alpha: 0 } }",
            &["6:20 an alpha of 0: expected a number above 0, such as 1"],
        ),
        (
            "10ms",
            "10ms\n  hosts: { buffer: none }",
            &["6:20 unknown buffer \"none\": expected as-built, unlimited or a size such as 97kB"],
        ),
        (
            "10ms",
            "10ms\n  switches: { ecn: { min: 30kB, max: 30kB, probability: 1 } }",
            &["6:20 min is 30kB and max is 30kB: min must be below max"],
        ),
        (
            "10ms",
            "10ms\n  switches: { ecn: { min: 30kB, max: 40kB, probability: 0 } }",
            &["6:20 a probability of 0: expected above 0 and up to 1"],
        ),
        (
            "10ms",
            "10ms\n  switches: { ecn: threshold }",
            &["6:20 a marking threshold needs a size: write `{ threshold: 97kB }`"],
        ),
        (
            "10ms",
            "10ms\n  switches: { ecn: { min: 30kB } }",
            &["6:20 random early detection needs the keys \"max\" and \"probability\""],
        ),
        ("10ms", "10ms\n  switches: { telemetry: on }", &["6:26 \"on\" is not accepted: expected true or false"]),
        ("10ms", "10ms\n  routing: flowlet", &["6:12 a flowlet needs a value: write `{ flowlet: 50us }`"]),
        (
            "10ms",
            "10ms\n  routing: ecmp",
            &["6:12 unknown routing \"ecmp\": expected flow, flowlet, clove, flowcell or packet"],
        ),
        ("10ms", "10ms\n  routing: { flowlet: 0ns }", &["6:12 flowlets need a gap above zero"]),
        (
            "10ms",
            "10ms\n  sharedServices: [ { switch: h1, rate: 1Gbit, buffer: 1kB } ]",
            &["6:31 h1 is a host: expected a switch"],
        ),
        (
            "10ms",
            "10ms\n  sharedServices: [ { switch: s9, rate: 1Gbit, buffer: 1kB } ]",
            &["6:31 there is no switch \"s9\""],
        ),
        (
            "10ms",
            "10ms\n  sharedServices: [ { switch: all, rate: 1Gbit, buffer: 1kB }, { switch: s1, rate: 1Gbit, buffer: 1kB } ]",
            &["6:64 s1 has two shared services: expected one"],
        ),
        (
            "10ms",
            "10ms\n  outages: [ { at: 2ms, fail: s1 }, { at: 1ms, repair: s1 } ]",
            &["6:43 1ms is before 2ms, the time of the outage above: outages must be in order of time"],
        ),
        (
            "10ms",
            "10ms\n  outages: [ { at: 2ms, fail: h1->s2 } ]",
            &["6:31 there is no link \"h1->s2\", did you mean \"h1->s1\"?"],
        ),
        ("10ms", "10ms\n  outages: [ { at: 2ms } ]", &["6:14 an outage needs one of the keys fail or repair"]),
        (
            "10ms",
            "10ms\n  outages: [ { at: 2ms, repair: s1, undetected: true } ]",
            &["6:37 undetected does not apply to repair"],
        ),
        (
            "10ms",
            "10ms\n  record: { trace: 0 }",
            &["6:20 a trace of zero records nothing: leave it out, or above zero"],
        ),
        (
            "10ms",
            "10ms\n  sweep: { vary: { traffic.b.sizes: [1MB] } }",
            &["6:20 \"traffic.b.sizes\" does not exist: the list has no item \"b\""],
        ),
        (
            "10ms",
            "10ms\n  sweep: { vary: { traffic.a.sizes: [1MB, 2mb] } }",
            &["6:43 \"2mb\" can mean bits or bytes (Linux tc and people differ): write 2MB if bytes are meant"],
        ),
        (
            "10ms",
            "10ms\n  sweep: { vary: { trafic.a.sizes: [1MB] } }",
            &["6:20 unknown key \"trafic\", did you mean \"traffic\"?"],
        ),
        (
            "10ms",
            "10ms\n  sweep: { vary: { traffic.a.sizes.uniform: [[1B, 2B]] } }",
            &["6:20 \"traffic.a.sizes.uniform\" does not exist: \"uniform\" would be a key of a text"],
        ),
        ("10ms", "10ms\n  sweep: { vary: { traffic.a.sizes: [] } }", &["6:37 a list without values makes no run"]),
        ("10ms", "10ms\n  sweep: { vary: { seed: [1] } }", &["6:20 \"seed\" cannot be varied"]),
        ("10ms", "10ms\n  sweep: { seeds: 1..20000 }", &["6:19 this sweep has 20000 runs: expected at most 10000"]),
        (
            "10ms",
            "10ms\n  sweep: { seeds: 5..1 }",
            &["6:19 \"5..1\" are not seeds: expected a list such as [1, 2, 5] or a range such as 1..20"],
        ),
        ("10ms", "10ms\n  sweep: { seeds: [1, 2, 1] }", &["6:26 seed 1 is in the list twice"]),
        (
            "10ms",
            "10ms\n  sweep: { vary: { warmup: [0ms, 1ms, 0ms] } }",
            &["6:39 \"0ms\" is in the values of \"warmup\" twice"],
        ),
        (
            "10ms",
            "10ms\n  seed: 4\n  sweep: { seeds: [1] }",
            &["6:9 seed cannot be combined with the seeds of a sweep"],
        ),
        (
            "10ms",
            "10ms\n  sweep: { seeds: 1..5000, vary: { warmup: [0ms, 1ms, 2ms] } }",
            &["6:10 this sweep has 15000 runs: expected at most 10000"],
        ),
    ] as [(&str, &str, &[&str]); 51]
    {
        assert!(SPEC.contains(old), "{old}");
        assert_eq!(messages(read(&SPEC.replacen(old, new, 1))), expected, "{new}");
    }
}

#[test]
fn a_problem_shows_its_line_its_traffic_and_a_hint() {
    let errors = with_traffic("{ name: a, load: 0.5, sizes: web-serch }").unwrap_err();
    assert_eq!(
        errors.to_string(),
        "s.yaml:7:36: there is no distribution of flow sizes \"web-serch\", did you mean \"web-search\"?
   7 |     - { name: a, load: 0.5, sizes: web-serch }
     |                                    ^^^^^^^^^
  in traffic \"a\"
  hint: expected web-search, data-mining, enterprise, hadoop, mapreduce, key-value, a size such as 20kB, or `{ cdf: FILE }`"
    );
}

#[test]
fn hints_contain_the_correct_form() {
    for (old, new, hint) in [
        (
            "sizes: 1MB",
            "from: all",
            "one of tokenBucket, constantRate, onOff, poisson, load, perSecond, every, uniform, periodic, after, rpc, flows, job; sizes alone are one \
             flow for each pair",
        ),
        (
            "star:hosts=4",
            "network.txt",
            "a file whose name does not end in .yaml, .yml or .json is written `{ file: NAME }`",
        ),
        ("10ms", "10ms\n  sharedServices: [ { switch: s9, rate: 1Gbit, buffer: 1kB } ]", "the switches are s1"),
        (
            "10ms",
            "10ms\n  sweep: { vary: { traffic.b.sizes: [1MB] } }",
            "items of a list are written by their name, or by their number counted from 0",
        ),
        (
            "10ms",
            "10ms\n  sweep: { vary: { traffic.a.sizes.uniform: [[1B, 2B]] } }",
            "write the text in its long form, as a mapping",
        ),
        ("10ms", "10ms\n  sweep: { vary: { seed: [1] } }", "write `seeds: [1, 2]` beside `vary`"),
    ] {
        let errors = read(&SPEC.replacen(old, new, 1)).unwrap_err();
        assert_eq!(errors.problems()[0].hint(), Some(hint), "{new}");
    }
}

#[test]
fn a_wrong_value_of_a_sweep_names_its_run() {
    let sweep = "10ms\n  sweep: { seeds: 1..3, vary: { warmup: [0ms, 1ms, 20ms], routing: [flow, packet] } }";
    let errors = read(&SPEC.replacen("10ms", sweep, 1)).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "s.yaml:6:52: the warm-up of 20ms does not end before the run of 10ms
   6 |   sweep: { seeds: 1..3, vary: { warmup: [0ms, 1ms, 20ms], routing: [flow, packet] } }
     |                                                    ^^^^
  in the run with warmup = 20ms, routing = flow"
    );
}

#[test]
fn problems_of_several_files_are_grouped_by_file() {
    let errors = read(&SPEC.replace("star:hosts=4", "{ hpcc: t.txt }").replace("1MB", "1mb")).unwrap_err();
    let names: Vec<&str> = errors.problems().iter().map(|problem| problem.source_text().name()).collect();
    // Without a network, traffic cannot be checked.
    assert_eq!(names, ["t.txt", "t.txt"]);
    let errors = with_traffic("{ name: a, sizes: { cdf: cdf.txt }, queue: x }").unwrap_err();
    let names: Vec<&str> = errors.problems().iter().map(|problem| problem.source_text().name()).collect();
    assert_eq!(names, ["s.yaml", "cdf.txt"]);
}

#[test]
fn another_kind_of_document_is_refused() {
    let source = wayleave_formats::Source::new("e.yaml", "apiVersion: wayleave/v1\nkind: Events\nspec: {}\n");
    let errors = wayleave_formats::read_scenario(&source, &|_| unreachable!()).unwrap_err();
    assert_eq!(errors.problems()[0].message(), "this is a document of kind Events: expected kind Scenario");
}

#[test]
fn a_list_item_with_several_outages_is_counted_once() {
    let outages = "10ms\n  outages: [ { at: 2ms, fail: [s1, h1->s1, h2->s1] }, { at: 1ms, repair: s1 } ]";
    let expected = "6:61 1ms is before 2ms, the time of the outage above: outages must be in order of time";
    assert_eq!(messages(read(&SPEC.replacen("10ms", outages, 1))), [expected]);
}

/// Sharing is on line 6, traffic on line 7.
#[test]
fn errors_of_sharing_are_reported_at_their_place() {
    let with = |sharing: &str, traffic: &str| {
        let traffic = format!("[ {{ name: a, sizes: 1MB, {traffic} }} ]");
        read(&format!("  topology: star:hosts=4\n  duration: 10ms\n  sharing: {sharing}\n  traffic: {traffic}\n"))
    };
    let machine = "machine: { services: [ { name: a } ] }";
    for (sharing, expected) in [
        ("{ scheme: eyeQ, MACHINE }", "6:22 unknown scheme \"eyeQ\", did you mean \"eyeq\"?"),
        (
            "{ scheme: eyeq, MACHINE, otherSchemes: [{ scheme: eyeq, services: [] }] }",
            "6:83 a further scheme needs the services",
        ),
        (
            "{ scheme: eyeq, MACHINE, otherSchemes: [{ scheme: eyeq, services: [b] }] }",
            "6:83 machines have no service b",
        ),
        (
            "{ scheme: eyeq, MACHINE, otherSchemes: [{ scheme: eyeq, services: [a, a] }] }",
            "6:83 service a has a scheme already",
        ),
        (
            "{ scheme: eyeq, MACHINE, otherSchemes: [{ scheme: parley, services: [a] }] }",
            "6:83 scheme parley has brokers",
        ),
        ("{ scheme: eyeq }", "6:12 sharing needs the key \"machine\""),
        (
            "{ scheme: { eyeq: { alpha: 0.123 } }, MACHINE }",
            "6:39 alpha 0.123 is not accepted: expected a number from 0.01 to 1 in steps of 0.01",
        ),
        (
            "{ scheme: eyeq, MACHINE, rack: { services: [] } }",
            "6:74 scheme eyeq has no brokers to enforce a policy of level rack: leave it out, or use scheme parley",
        ),
        (
            "{ scheme: eyeq, machine: { services: [ { name: a, min: 20Gbit } ] } }",
            "6:37 policy \"machine\" guarantees 20 Gbit/s to transmit at machine h1 (h1->s1), but only 1 Gbit/s is available",
        ),
        ("{ scheme: eyeq, machine: { services: [ { name: a, min: 2Gbit, max: 1Gbit } ] } }", "6:79 "),
        ("{ scheme: eyeq, MACHINE, faults: { loss: 2 } }", "6:84 loss is 2: expected a fraction between 0 and 1"),
        ("{ scheme: eyeq, MACHINE, events: [ { at: 1ms, stop: h1 } ] }", "6:78 scheme eyeq has no brokers"),
        (
            "{ scheme: scc, machine: { services: [ { name: a } ] } }",
            "6:36 service a: scheme scc divides the network by shares: give one, as in share: 300Mbit",
        ),
        (
            "{ scheme: scc, machine: { services: [ { name: a, share: 1Gbit, min: 1Gbit } ] } }",
            "6:36 service a: scheme scc knows share and objective: leave min, max, weight and changes out",
        ),
        ("{ scheme: scc, machine: { services: [ { name: a, share: 0bit } ] } }", "6:36 service a: its share is 0"),
        (
            "{ scheme: eyeq, machine: { services: [ { name: a, share: 1Gbit } ] } }",
            "6:37 service a: scheme eyeq does not support shares: give min, max and weight, or use scheme scc",
        ),
        ("{ scheme: parley, MACHINE, events: [ { at: 1ms, stop: h9 } ] }", "6:97 there is no node \"h9\""),
    ] {
        let messages = messages(with(&sharing.replace("MACHINE", machine), "service: a"));
        assert!(messages.len() == 1 && messages[0].starts_with(expected), "{sharing}: {messages:?}");
    }
    let messages_of = |sharing: &str, traffic| messages(with(sharing, traffic));
    let sharing = format!("{{ scheme: eyeq, {machine} }}");
    assert_eq!(messages_of(&sharing, "service: b"), ["7:46 no policy has a service b: they have a"]);
    let alone = messages(read(&SPEC.replace("1MB }", "1MB, service: b }")));
    assert_eq!(alone, ["6:46 it is of service b, and the hosts do not share: sharing is expected in the scenario"]);
}
