//! `docs/reference/keys.md`, made from the table. `WAYLEAVE_UPDATE=1` writes it.

use std::fmt::Write;
use std::path::Path;

use wayleave_formats::renamed_keys;

use super::DRIVERS;
use super::cell::Cell;
use super::table::{ROWS, SCENARIO};

const HEAD: &str = "\
# Which driver carries out which key

Every key of a contract, a topology, a policy and a scenario, and what each driver does with it. A test holds this page against the JSON Schemas and the
drivers ([decision 132](../decisions/132-every-key-is-accounted-for-in-every-driver.md)).

| cell | |
|---|---|
| **yes** | another value of the key has another effect, and a test shows it |
| **no: named** | the driver does not carry it out, and says so by name: an error, a warning of the command, the reason of a contract's state, or the notes of `export-config` |
| words in brackets | no matter of this driver, but of what the words name |

| driver | |
|---|---|
| simulator | `wayleave sim`; for contracts: a scenario that names them |
| agents | `wayleave agent` on Linux hosts and Linux switches, told by a controller; for policies: `wayleave broker --agent` |
| Open vSwitch | a switch whose agent has `ovs` |
| rendered | `wayleave export-config` for `tc` and SONiC; ports of SONiC have their own `rate`, which `--diff` compares |

A *lab* without a controller drops packets beyond a bucket (`excess: drop`), sends over one route, and knows no `priority`, `starts` and `ends`; every lab has its own `delay`, `processing` and
`jitter`. `lab run` and `lab up` name these keys.
";

const TAIL: &str = "
## Scenarios

`wayleave sim` alone reads a scenario; every other command refuses the file by its kind. Each key changes what comes out, but for these:

| key | |
|---|---|
";

const CONTEXT: &str = "
Some keys mean something beside others only. `sim` prints a warning that begins with the key where they do not:

| key | carried out |
|---|---|
| `hosts.ecn` | a threshold with `discipline: fifo`, or where hosts share: elsewhere a port takes a segment of a flow when its queue is empty |
| `queue` of a traffic | where a `discipline` has several queues |
| `reserved` | where queues with weights are below strict ones |
| `topology.classes` | beside `contracts` |
| `routing.clove.probeInterval` | beside `sharing`, since pairs of hosts send probes |
| `transport.initialWindow` | but for `fixed` and `pfabric`, which have their own; `pfabric` has its own `maxWindow`, `minTimeout` and `firstTimeout`, too |
| `min`, `max`, `weight` of a service | `static-limits` has a use for `transmit.max` alone; `picnic` for all but weights; `elasticswitch` for all but `receive.max` and `receive.weight`; `ufab` for weights of what is sent with `excessSharing: weights` only |
| `sharing.faults` | `probeLoss` with `ufab`; the others where there are brokers |

`discipline` and `ecn` of `switches` and `discipline` of `hosts` are refused beside `contracts`, which determine them.
";

const RENAMED: &str = "
## Renamed keys

The next release refuses the old names. Until then they are read like the new ones, and a mapping with both names of a key is refused. Commands print a
warning for each old key of a file; a controller logs it for the body of a request. The Python package reads old keys without a warning.

| mapping | old | new |
|---|---|---|
";

fn text(cell: Cell) -> String {
    match cell {
        Cell::Changes | Cell::Test(_) => "yes".to_owned(),
        Cell::Named(_) => "no: named".to_owned(),
        Cell::By(what) => format!("({what})"),
    }
}

fn document() -> String {
    let mut page = HEAD.to_owned();
    let mut kind = "";
    for row in ROWS {
        if row.kind != kind {
            kind = row.kind;
            let _ = write!(page, "\n## {kind}\n\n| key | {} |\n|---|---|---|---|---|\n", DRIVERS.join(" | "));
        }
        let keys: Vec<String> = row.keys.iter().map(|key| format!("`{}`", shortened(key))).collect();
        let cells = row.cells.map(text);
        let _ = writeln!(page, "| {} | {} |", keys.join(", "), cells.join(" | "));
    }
    page.push_str(TAIL);
    for (keys, cell) in SCENARIO {
        let keys: Vec<String> = keys.iter().map(|key| format!("`{}`", shortened(key))).collect();
        let _ = writeln!(page, "| {} | {} |", keys.join(", "), text(*cell));
    }
    page.push_str(CONTEXT);
    page.push_str(RENAMED);
    for key in renamed_keys() {
        let _ = writeln!(page, "| {} | `{}` | `{}` |", key.of, key.old, key.new);
    }
    page
}

/// Without what all keys of a kind begin with.
fn shortened(key: &str) -> &str {
    let starts = ["spec.contracts[].", "spec.services[].", "spec."];
    starts.iter().find_map(|start| key.strip_prefix(start)).unwrap_or(key)
}

#[test]
fn the_document_is_generated_from_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/keys.md");
    if std::env::var_os("WAYLEAVE_UPDATE").is_some() {
        std::fs::write(&path, document()).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        written == document(),
        "docs/reference/keys.md is not made from the table: run this test with WAYLEAVE_UPDATE=1"
    );
}
