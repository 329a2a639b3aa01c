//! Expected output of every command for one contract of each kind.

use Of::{Has, Nothing};

/// Text that an answer shows of a contract.
pub(super) enum Of {
    /// These words: on one line of a list, or anywhere in an answer about this contract alone.
    Has(&'static [&'static str]),
    /// Nothing, for a reason that a reader of this table can check.
    Nothing(&'static str),
}

/// Place where a question is asked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum At {
    /// At the server.
    Server,
    /// With files only.
    Files,
}

/// A question; with `NAME` in it once for each contract.
pub(super) struct Question {
    pub(super) at: At,
    pub(super) line: &'static str,
    pub(super) code: i32,
    pub(super) shows: [Of; 5],
}

pub(super) const fn at_server(line: &'static str, code: i32, shows: [Of; 5]) -> Question {
    Question { at: At::Server, line, code, shows }
}

pub(super) const fn with_files(line: &'static str, code: i32, shows: [Of; 5]) -> Question {
    Question { at: At::Files, line, code, shows }
}

pub(super) const NO_PROMISE: Of = Nothing("no guarantee, so nothing can break, be verified or be proven");
pub(super) const NO_AGENT: &[&str] = &["is not connected: `wayleave status` lists silent agents"];

/// Every command that is about contracts, in the order in which they are asked: what is deleted is asked for no more.
pub(super) const ABOUT_CONTRACTS: &[(&str, &[Question])] = &[
    (
        "plan",
        &[
            with_files(
                "plan -t t.yaml -f c.yaml",
                0,
                [
                    Has(&["lat", "admitted", "804 us / 1 ms"]),
                    Has(&["pair", "proven", "1.12 ms / 9 ms", "1.1 Gbit/s"]),
                    Has(&["hose", "proven", "1.2 Gbit/s to and from each"]),
                    Has(&["obj", "proven", "at least 610 Mbit/s"]),
                    Has(&["best", "best effort", "no guarantee"]),
                ],
            ),
            with_files(
                "plan -t t.yaml -f c.yaml --output json --no-recheck",
                0,
                [
                    Has(&[r#""rate_bps":21000000"#]),
                    Has(&[r#""within_ns":9000000"#]),
                    Has(&[r#""min_bps":1200000000"#]),
                    Has(&[r#""deadline_ns":23000000"#]),
                    Has(&[r#""kind":"best-effort""#]),
                ],
            ),
        ],
    ),
    (
        "verify",
        &[with_files(
            "verify -t t.yaml -f c.yaml --effort quick",
            0,
            [
                Has(&["lat", "804 us"]),
                Has(&["pair", "its minimum"]),
                Has(&["hose", "its minimum"]),
                Has(&["obj", "its weight"]),
                NO_PROMISE,
            ],
        )],
    ),
    (
        "apply",
        &[
            at_server(
                "apply -f tenants.yaml -f c.yaml",
                0,
                [
                    Has(&["shop:lat", "created", "804 us"]),
                    Has(&["shop:pair", "created", "proven"]),
                    Has(&["shop:hose", "created", "proven"]),
                    Has(&["shop:obj", "created", "proven"]),
                    Has(&["shop:best", "created", "admitted"]),
                ],
            ),
            at_server(
                "apply -f other.yaml --dry-run",
                0,
                [
                    Has(&["shop:lat", "changed", "rate: 21Mbit -> 22Mbit"]),
                    Has(&["shop:pair", "changed", "bandwidth.min: 1.1Gbit -> 1.15Gbit"]),
                    Has(&["shop:hose", "changed", "bandwidth.min: 1.2Gbit -> 1.25Gbit"]),
                    Has(&["shop:obj", "changed", "objective.deadline: 23ms -> 24ms"]),
                    Has(&["shop:best", "changed", "bestEffort.members: [h1, h3, h5] -> [h1, h3]"]),
                ],
            ),
        ],
    ),
    (
        "get",
        &[
            at_server(
                "get contracts",
                0,
                [
                    Has(&["shop:lat", "h1 -> h8", "21 Mbit/s", "804 us / 1 ms", "h1 -[1]- leaf1"]),
                    Has(&["shop:pair", "h3 -> h7", "at least 1.1 Gbit/s", "proven within"]),
                    Has(&["shop:hose", "h1, h4, h6, h8", "at least 1.2 Gbit/s", "proven"]),
                    Has(&["shop:obj", "h2, h3, h5, h8", "at least 610 Mbit/s", "proven"]),
                    Has(&["shop:best", "h1, h3, h5", "admitted"]),
                ],
            ),
            at_server(
                "get contracts -o wide",
                0,
                [
                    Has(&["shop:lat", "latency", "rate 21 Mbit/s, burst 3 kB, deadline 1 ms", "h1 -[1]- leaf1"]),
                    Has(&[
                        "shop:pair",
                        "bandwidth",
                        "at least 1.1 Gbit/s, within 9 ms",
                        "NOT_ENFORCED",
                        "h3 -[1]- leaf1",
                    ]),
                    Has(&["shop:hose", "bandwidth", "at least 1.2 Gbit/s", "NOT_ENFORCED"]),
                    Has(&["shop:obj", "objective", "deadline 23 ms, weight 610 Mbit/s", "NOT_ENFORCED"]),
                    Has(&["shop:best", "best-effort", "h1, h3, h5"]),
                ],
            ),
            at_server(
                "get contract NAME -o json",
                0,
                [
                    Has(&[r#""boundNs""#, r#""kind": "latency""#]),
                    Has(&[r#""withinNs""#, r#""certainty": "proven""#, r#""kind": "bandwidth""#, r#""routes": ["#]),
                    Has(&[r#""hosts""#, r#""certainty": "proven""#, r#""kind": "bandwidth""#]),
                    Has(&[r#""hosts""#, r#""certainty": "proven""#, r#""kind": "objective""#]),
                    Has(&[r#""hosts""#, r#""kind": "best-effort""#]),
                ],
            ),
            at_server(
                "get contracts -o yaml",
                0,
                [
                    Has(&["name: lat", "deadline: 1ms"]),
                    Has(&["name: pair", "within: 9ms"]),
                    Has(&["name: hose", "min: 1.2Gbit"]),
                    Has(&["name: obj", "deadline: 23ms"]),
                    Has(&["name: best", "bestEffort: { members: [h1, h3, h5] }"]),
                ],
            ),
            at_server(
                "get decisions",
                0,
                [
                    Has(&["shop:lat", "admitted", "804 us"]),
                    Has(&["shop:pair", "admitted", "proven"]),
                    Has(&["shop:hose", "admitted", "proven"]),
                    Has(&["shop:obj", "admitted", "proven"]),
                    Has(&["shop:best", "admitted"]),
                ],
            ),
            at_server(
                "get links",
                0,
                [
                    Has(&["h1->leaf1", "21 Mbit/s"]),
                    Has(&["h3->leaf1", "1.1 Gbit/s, 4 Gbit/s available", "610 Mbit/s, 1.94 Gbit/s available", "24 %"]),
                    Has(&["h4->leaf1", "1.2 Gbit/s, 3.9 Gbit/s available", "24 %"]),
                    Has(&["h5->leaf2", "610 Mbit/s, 1.94 Gbit/s available", "24 %"]),
                    NO_PROMISE,
                ],
            ),
        ],
    ),
    (
        "describe",
        &[
            at_server(
                "describe contract NAME",
                0,
                [
                    Has(&[
                        "kind          latency",
                        "804 us of 1 ms",
                        "effective",
                        "End-to-end delay bound: 804 us",
                        "admitted   shop:lat",
                    ]),
                    Has(&[
                        "kind             bandwidth",
                        "1.1 Gbit/s",
                        "within           9 ms",
                        "delivery within",
                        "effective        none: no agents",
                        "Fullest links",
                    ]),
                    Has(&[
                        "kind        bandwidth",
                        "1.2 Gbit/s",
                        "effective   none: no agents",
                        "measured    unknown",
                        "Fullest links",
                    ]),
                    Has(&[
                        "kind        objective",
                        "23 ms",
                        "610 Mbit/s on every link",
                        "effective   none: no agents",
                        "Fullest links",
                    ]),
                    Has(&[
                        "kind        best-effort",
                        "no guarantee",
                        "host h1; host h3; host h5",
                        "it gets the capacity",
                    ]),
                ],
            ),
            at_server(
                "describe link leaf2->h8",
                0,
                [
                    Has(&["shop:lat", "21 Mbit/s"]),
                    Nothing("the pair ends elsewhere"),
                    Has(&["shop:hose", "1.2 Gbit/s"]),
                    Has(&["leaf2->h8:6", "objectives"]),
                    NO_PROMISE,
                ],
            ),
            at_server(
                "describe host h3",
                0,
                [
                    Nothing("it is between other hosts"),
                    Has(&["shop:pair", "1.1 Gbit/s"]),
                    Nothing("it has other members"),
                    Has(&["shop:obj", "610 Mbit/s"]),
                    Has(&["shop:best"]),
                ],
            ),
        ],
    ),
    (
        "explain",
        &[
            at_server(
                "explain NAME",
                0,
                [
                    Has(&["End-to-end delay bound: 804 us", "propagation on h1->leaf1"]),
                    Has(&["1.1 Gbit/s", "h3 -[1]- leaf1", "Fullest links"]),
                    Has(&["1.2 Gbit/s to and from each", "Fullest links"]),
                    Has(&["A share of at least 610 Mbit/s", "Fullest links"]),
                    Has(&["No guarantee"]),
                ],
            ),
            at_server(
                "explain NAME -o json",
                0,
                [
                    Has(&[r#""boundNs": 804000"#, r#""delayBoundNs""#]),
                    Has(&[r#""minBps": 1100000000"#, r#""withinNs": 9000000"#, r#""leftBps""#]),
                    Has(&[r#""minBps": 1200000000"#, r#""leftBps""#]),
                    Has(&[r#""deadlineNs": 23000000"#, r#""leftBps""#]),
                    Has(&[r#""kind": "best-effort""#]),
                ],
            ),
            with_files(
                "explain NAME -t t.yaml -f c.yaml -o json",
                0,
                [
                    Has(&[r#""boundNs": 804000"#, r#""delayBoundNs""#]),
                    Has(&[r#""minBps": 1100000000"#, r#""withinNs": 9000000"#, r#""leftBps""#]),
                    Has(&[r#""minBps": 1200000000"#, r#""leftBps""#]),
                    Has(&[r#""deadlineNs": 23000000"#, r#""leftBps""#]),
                    Has(&[r#""kind": "best-effort""#]),
                ],
            ),
            with_files(
                "explain NAME -t t.yaml -f c.yaml",
                0,
                [
                    Has(&["End-to-end delay bound: 804 us"]),
                    Has(&["1.1 Gbit/s", "Fullest links"]),
                    Has(&["1.2 Gbit/s to and from each", "Fullest links"]),
                    Has(&["A share of at least 610 Mbit/s", "Fullest links"]),
                    Has(&["No guarantee"]),
                ],
            ),
        ],
    ),
    (
        "what-if",
        &[
            at_server(
                "what-if --fail node:leaf1",
                3,
                [
                    Has(&["shop:lat", "NO_PATH", "it cannot use node leaf1"]),
                    Has(&["shop:pair", "NO_PATH", "it cannot use node leaf1"]),
                    Has(&["shop:hose", "NO_PATH", "it cannot use node leaf1"]),
                    Has(&["shop:obj", "NO_PATH", "it cannot use node leaf1"]),
                    NO_PROMISE,
                ],
            ),
            at_server(
                "what-if --apply other.yaml",
                0,
                [
                    Has(&["shop:lat", "804 us", "h1 - leaf1"]),
                    Has(&["shop:pair", "proven", "h3 - leaf1"]),
                    Has(&["shop:hose", "proven"]),
                    Has(&["shop:obj", "proven"]),
                    Has(&["shop:best", "-"]),
                ],
            ),
            with_files(
                "what-if -t t.yaml -f c.yaml --fail node:leaf1",
                3,
                [
                    Has(&["shop:lat", "NO_PATH"]),
                    Has(&["shop:pair", "NO_PATH"]),
                    Has(&["shop:hose", "NO_PATH"]),
                    Has(&["shop:obj", "NO_PATH"]),
                    NO_PROMISE,
                ],
            ),
        ],
    ),
    (
        "top",
        &[at_server(
            "top --times 1 --every 1ms",
            0,
            [
                Has(&["shop:lat", "latency", "21 Mbit/s"]),
                Has(&["shop:pair", "bandwidth", "at least 1.1 Gbit/s"]),
                Has(&["shop:hose", "bandwidth", "at least 1.2 Gbit/s"]),
                Has(&["shop:obj", "objective", "at least 610 Mbit/s"]),
                Has(&["shop:best", "best-effort"]),
            ],
        )],
    ),
    (
        "status",
        &[at_server(
            "status",
            0,
            [
                Has(&["contracts", "1 latency"]),
                Has(&["contracts", "2 bandwidth"]),
                Has(&["leaf1->spine1", "2.4 Gbit/s"]),
                Has(&["contracts", "1 objective"]),
                Has(&["contracts", "1 best-effort"]),
            ],
        )],
    ),
    (
        "probe",
        &[
            // Without agents no host can send a probe: the answer names the host that would.
            at_server(
                "probe --contract NAME",
                2,
                [
                    Has(NO_AGENT),
                    Has(NO_AGENT),
                    Has(&["give two of them as from and to: h1, h4, h6, h8"]),
                    Has(&["give two of them as from and to: h2, h3, h5, h8"]),
                    Has(&["give two of them as from and to: h1, h3, h5"]),
                ],
            ),
        ],
    ),
    (
        "diff",
        &[with_files(
            "diff before.json after.json",
            6,
            [
                Has(&["requests lat", "rate", "21 Mbit/s", "22 Mbit/s"]),
                Has(&["requests pair", "min", "1.1 Gbit/s", "1.15 Gbit/s"]),
                Has(&["requests hose", "min", "1.2 Gbit/s", "1.25 Gbit/s"]),
                Has(&["requests obj", "deadline", "23 ms", "24 ms"]),
                Has(&["requests best", "members", "h1, h3, h5", "h1, h3"]),
            ],
        )],
    ),
    (
        "node",
        &[
            at_server(
                "node fail leaf1",
                0,
                [Has(&["shop:lat"]), Has(&["shop:pair"]), Has(&["shop:hose"]), Has(&["shop:obj"]), NO_PROMISE],
            ),
            at_server(
                "node restore leaf1",
                0,
                [Has(&["shop:lat"]), Has(&["shop:pair"]), Has(&["shop:hose"]), Has(&["shop:obj"]), NO_PROMISE],
            ),
        ],
    ),
    (
        "delete",
        &[at_server(
            "delete contract NAME",
            0,
            [
                Has(&["lat: deleted"]),
                Has(&["pair: deleted"]),
                Has(&["hose: deleted"]),
                Has(&["obj: deleted"]),
                Has(&["best: deleted"]),
            ],
        )],
    ),
    (
        "rollback",
        &[at_server(
            "rollback --to 7 --dry-run",
            0,
            [
                Has(&["shop:lat", "created", "21Mbit"]),
                Has(&["shop:pair", "created", "1.1Gbit"]),
                Has(&["shop:hose", "created", "1.2Gbit"]),
                Has(&["shop:obj", "created", "610Mbit"]),
                Has(&["shop:best", "created", "h1, h3, h5"]),
            ],
        )],
    ),
    (
        "events",
        &[at_server(
            "events",
            0,
            [
                Has(&["admitted", "shop:lat", "bound 804 us"]),
                Has(&["degraded", "shop:pair"]),
                Has(&["degraded", "shop:hose"]),
                Has(&["admitted", "shop:obj", "proven"]),
                Has(&["admitted", "shop:best", "no guarantee"]),
            ],
        )],
    ),
    (
        "audit",
        &[at_server(
            "audit",
            0,
            [
                Has(&["deleteContract", "shop:lat"]),
                Has(&["deleteContract", "shop:pair"]),
                Has(&["deleteContract", "shop:hose"]),
                Has(&["deleteContract", "shop:obj"]),
                Has(&["deleteContract", "shop:best"]),
            ],
        )],
    ),
];

/// Every other command, with the reason for which it shows no contract, or the place where it is tested with all
/// kinds.
pub(super) const OTHERS: &[(&str, &str)] = &[
    ("demo", "contracts of its own, of all kinds: `shares` and `client` test them"),
    ("link", "the same as `node`, of one link"),
    ("login", "an address and a token"),
    ("capture", "frames of an interface with their tags"),
    ("backup", "a ledger as a file"),
    ("token", "tokens"),
    ("export-config", "configurations of switches; `export_config` tests them with classes"),
    ("analyze", "bounds of delays, which only latency contracts have"),
    ("topology", "networks"),
    ("policy", "policies of services"),
    ("size", "bandwidth of a link by flow sizes"),
    ("serve", "the server that is asked here"),
    ("agent", "what a node enforces; the tests of `agent` and the lab"),
    ("broker", "services of a rack"),
    ("config", "settings of the server"),
    ("ledger", "records on disk by sort; the tests of crashes"),
    ("generate", "a generator of latency contracts"),
    ("tune", "delay budgets, which only latency contracts have"),
    ("characterize-switch", "a simulated switch"),
    ("bench", "durations"),
    ("sim", "scenarios; `sim` tests those with tenants of all kinds"),
    ("reproduce", "figures of publications"),
    ("trace", "packet events of a run"),
    ("doctor", "this machine"),
    ("lab", "a network in namespaces; the tests of the lab have all kinds"),
    ("schemes", "schemes"),
    ("schema", "JSON Schemas"),
    ("completions", "shells"),
    ("man", "manual pages"),
    ("help", "help"),
];
