//! GOAL schedules: accepted files, refused files with positions, and equality of both forms.

use proptest::prelude::*;
use wayleave_formats::{Source, read_goal, write_goal_binary, write_goal_text};
use wayleave_scenarios::{Collective, CollectiveExchange, JobGraph, OperationAction, WaitUntil};
use wayleave_units::{Bytes, Time};

/// The example of LogGOPSim's notation, with comments and indentation, which its own converter does not read.
const PAIR: &str = "// two ranks
num_ranks 2
rank 0 {
  a: calc 1000
  b: send 1024b to 1 tag 7 /* over
  two lines */
  b requires a
}
rank 1 {
  c: recv 1024b from 0 tag 7
  d: calc 200 cpu 1
}
";

fn text(text: &str) -> Result<JobGraph, String> {
    read_goal(&Source::new("x.goal", text)).map_err(|errors| errors.to_string())
}

fn binary(bytes: &[u8]) -> Result<JobGraph, String> {
    let source = Source::from_reader("x.bin", bytes).map_err(|errors| errors.to_string())?;
    read_goal(&source).map_err(|errors| errors.to_string())
}

#[test]
fn the_text_form_has_the_documented_meaning() {
    let graph = text(PAIR).unwrap();
    let actions: Vec<OperationAction> = graph.operations().iter().map(|operation| operation.action).collect();
    let size = Bytes::new(1024);
    assert_eq!(
        actions,
        [
            OperationAction::Compute(Time::from_micros(1)),
            OperationAction::Send { to: 1, size, tag: 7 },
            OperationAction::Receive { from: Some(0), size, tag: Some(7) },
            OperationAction::Compute(Time::from_nanos(200)),
        ]
    );
    assert_eq!((graph.waiting_for(0), graph.waiting_for(1)), (&[(1, WaitUntil::Over)][..], &[][..]));
    assert_eq!(graph.operations()[3].cpu, 1);
}

/// The bytes as LogGOPSim's `Parser.hpp` lays them out, written by hand for one rank with one operation.
#[test]
fn the_binary_form_is_that_of_loggopsim() {
    let graph = text("num_ranks 1\nrank 0 {\ncalc 258 cpu 2 nic 3\n}\n").unwrap();
    let mut expected =
        vec![0x7f, 0x10, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 2, 3, 22, 0, 0, 0, 0, 0, 0, 0, 73, 0, 0, 0, 0, 0, 0, 0];
    expected.extend([1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
    expected.extend([0, 0, 0, 0, 3, 0, 0, 0, 0, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 3]);
    expected.extend([0; 16]);
    assert_eq!(write_goal_binary(&graph), expected);
}

#[test]
fn errors_are_reported_with_their_line() {
    let wrong = [
        ("", "the file is empty: `num_ranks N` is expected"),
        ("rank 0 {\n}\n", "1:1: the schedule begins with `num_ranks N`"),
        ("num_ranks 2\nrank 2 {\n}\n", "2:6: there is no rank 2: num_ranks is 2, counted from 0"),
        ("num_ranks 1\nrank 0 {\nsend 8b to 1\n}\n", "3:1: no rank 1: ranks are 0 to 0"),
        (
            "num_ranks 1\nrank 0 {\na: calc 1\nb: calc 1\na requires b\nb requires a\n}\n",
            "this operation waits for itself",
        ),
        (
            "num_ranks 2\nrank 0 {\nsend 8b to 1 tag 1\n}\nrank 1 {\nrecv 8b from 0 tag 2\n}\n",
            "6:1: this operation never ends",
        ),
        ("num_ranks 2\nrank 0 {\nsend 8b to 1 tag 1\n}\n", "3:1: this message is never received"),
        (
            "num_ranks 1\nrank 0 {\na: calc 1\nb requires a\n}\n",
            "4:1: no operation of this rank above has the label \"b\"",
        ),
        ("num_ranks 1\nrank 0 {\nrecieve 8b from 0\n}\n", "\"recieve\" is not an operation"),
        ("num_ranks 1\nrank 0 {\nsend 8 to 0\n}\n", "\"8\" is not a size: bytes such as 1024b are expected"),
        ("num_ranks 1\nrank 0 {\ncalc 5 cpu 256\n}\n", "256: expected at most 255"),
        ("num_ranks 1\nrank 0 {\ncalc 5 tag 1\n}\n", "\"tag\" is not valid here"),
        ("num_ranks 1\nrank 0 {\ncalc 5\n", "2:1: the block of rank 0 is never closed: `}` is missing"),
        ("num_ranks 4294967295\nrank 0 {\ncalc 5\n}\n", "4294967295 ranks: expected 1 to 1048576"),
    ];
    for (input, expected) in wrong {
        let errors = text(input).unwrap_err();
        assert!(errors.contains(expected), "{input:?}: {errors}");
    }
}

/// Ranks that wait for one another: each receives first.
#[test]
fn ranks_that_wait_for_each_other_are_refused() {
    let one =
        |rank: u32| format!("rank {rank} {{\na: recv 8b from {0}\nb: send 8b to {0}\nb requires a\n}}\n", 1 - rank);
    let errors = text(&format!("num_ranks 2\n{}{}", one(0), one(1))).unwrap_err();
    assert!(errors.contains("3:1: this operation never ends: ranks wait for each other"), "{errors}");
}

#[test]
fn a_receive_from_any_rank_is_kept_in_both_forms() {
    let graph = text("num_ranks 2\nrank 0 {\nsend 8b to 1 tag 4\n}\nrank 1 {\nrecv 8b from -1 tag -1\n}\n").unwrap();
    assert!(write_goal_text(&graph).contains("recv 8b from -1 tag -1"));
    assert_eq!(binary(&write_goal_binary(&graph)).as_ref(), Ok(&graph));
}

/// Catches: lists and parts that overlap, of which a small file could have millions.
#[test]
fn overlapping_lists_are_refused() {
    let graph = text(
        "num_ranks 2\nrank 0 {\na: calc 1\nb: calc 1\nc: calc 1\nb requires a\nc requires b\n}\nrank 1 {\ncalc 1\n}\n",
    )
    .unwrap();
    let bytes = write_goal_binary(&graph);
    // The first operation of rank 0 is behind the header, its table of two, three numbers; two wait for it.
    let first = 14 + 32 + 12;
    let mut lists = bytes.clone();
    lists[first + 23] = 2;
    assert!(binary(&lists).unwrap_err().contains("overlap in the appendix, which has 2"), "{:?}", binary(&lists));
    let mut parts = bytes;
    parts.copy_within(14..22, 30);
    assert!(binary(&parts).unwrap_err().contains("the part of rank 1 begins at byte 46, before the end of another"));
}

fn any_graph() -> impl Strategy<Value = JobGraph> {
    (0_usize..6, 1_u32..4, 1_u64..100_000, 1_u32..4, 0_u64..2_000).prop_map(|(which, bits, data, chunks, compute)| {
        let (_, collective) = Collective::ALL[which];
        let (data, compute) = (Bytes::new(data), Time::from_nanos(compute));
        CollectiveExchange { collective, data, chunks, compute }.graph(1 << bits).unwrap()
    })
}

proptest! {
    /// Operations of collectives are not ordered by rank: written schedules are in order, and keep it.
    #[test]
    fn both_forms_describe_the_same_schedule(graph in any_graph()) {
        let written = write_goal_text(&graph);
        let read = text(&written).unwrap();
        prop_assert_eq!(read.payload(), graph.payload());
        prop_assert_eq!(read.operations().len(), graph.operations().len());
        prop_assert_eq!(&write_goal_text(&read), &written);
        let bytes = write_goal_binary(&graph);
        let again = binary(&bytes).unwrap();
        prop_assert_eq!(&again, &read);
        prop_assert_eq!(write_goal_binary(&again), bytes);
    }

    /// Any changed bytes give an error or another schedule, no panic, and no allocation beyond the size of the file.
    #[test]
    fn changed_bytes_cause_no_panic(graph in any_graph(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6), cut in any::<prop::sample::Index>()) {
        let mut bytes = write_goal_binary(&graph);
        for (at, value) in changes {
            let at = 8 + at.index(bytes.len() - 8);
            bytes[at] = value;
        }
        let _ = binary(&bytes);
        let cut = 8 + cut.index(bytes.len() - 8);
        prop_assert!(binary(&bytes[..cut]).is_err());
    }

    #[test]
    fn no_text_causes_a_panic(lines in prop::collection::vec("(num_ranks|rank|l0:|l1:|l0|send|recv|calc|requires|irequires|\\{|\\}|to|from|tag|cpu|/|//|/\\*|\\*/|-1|[0-9]{1,3}b?)( (num_ranks|rank|l0|send|calc|requires|\\{|to|from|tag|cpu|-1|[0-9]{1,20}b?)){0,5}", 0..12)) {
        let _ = text(&lines.join("\n"));
        let _ = text(&format!("num_ranks 2\nrank 0 {{\n{}\n}}\n", lines.join("\n")));
    }
}

fn scenario(job: &str) -> Result<wayleave_scenarios::Scenario, String> {
    let file = format!(
        "apiVersion: wayleave/v1\nkind: Scenario\nspec:\n  topology: star:hosts=4,rate=10Gbit\n  duration: 10ms\n  traffic:\n    - name: train\n      {job}\n"
    );
    let open = |name: &str| match name {
        "pair.goal" => Ok(Source::new(name, PAIR)),
        "pair.bin" => Source::from_reader(name, &write_goal_binary(&text(PAIR).unwrap())[..]),
        "wrong.goal" => Ok(Source::new(name, "num_ranks 1\nrank 0 {\nsend 8b to 3\n}\n")),
        other => panic!("{other}"),
    };
    let read = wayleave_formats::read_scenario(&Source::new("s.yaml", file), &open);
    read.map(|file| (*file.runs[0].scenario).clone()).map_err(|errors| errors.to_string())
}

#[test]
fn a_job_places_its_ranks_as_the_scenario_defines() {
    let job = |text: &str| match scenario(text).unwrap().traffic.remove(0).workload {
        wayleave_scenarios::Workload::Job(job) => job,
        other => panic!("{other:?}"),
    };
    let all = job("job: { collective: all-to-all, data: 4kB, iterations: 7, compute: 1us, chunks: 2 }");
    assert_eq!((all.ranks().len(), all.iterations(), all.graph().payload()), (4, 7, 12_000));
    let some = job("job: { collective: ring-all-gather, data: 3kB, ranks: [h4, h1..h2, h4] }\n      transport: dctcp");
    let hosts: Vec<u32> = some.ranks().iter().map(|rank| rank.host.0).collect();
    let first = all.ranks()[0].host.0;
    assert_eq!(hosts, [first + 3, first, first + 1, first + 3]);
    assert!(some.transport.is_some());
    for file in ["pair.goal", "pair.bin"] {
        assert_eq!(job(&format!("job: {{ goal: {file}, ranks: [h2, h1] }}")).graph().payload(), 1024, "{file}");
    }
}

#[test]
fn errors_of_a_job_are_reported_at_their_place() {
    for (job, expected) in [
        ("job: { collective: ring, data: 1MB }", "8:26: unknown collective operation \"ring\""),
        ("job: { collective: ring-all-reduce }", "data"),
        ("job: { data: 1MB }", "a job needs one of the keys collective or goal"),
        ("job: { collective: all-to-all, goal: pair.goal, data: 1kB }", "a job has exactly one of these keys"),
        (
            "job: { collective: halving-doubling-all-reduce, data: 1MB, ranks: h1..h3 }",
            "8:73: halving and doubling among 3 ranks",
        ),
        (
            "job: { collective: all-to-all, data: 1MB, ranks: h1 }",
            "a collective operation of 1 ranks: expected at least 2",
        ),
        ("job: { collective: all-to-all, data: 1MB, ranks: [h1, h1] }", "no message of this job crosses the network"),
        ("job: { collective: all-to-all, data: 0B }", "the data is 0B"),
        ("job: { collective: all-to-all, data: 1MB, chunks: 0 }", "0 chunks"),
        ("job: { collective: all-to-all, data: 1MB, chunks: 4000000000 }", "operations: up to 16777216 are simulated"),
        ("job: { collective: all-to-all, data: 1MB, iterations: 0 }", "0 iterations"),
        ("job: { goal: pair.goal }", "4 endpoints for 2 ranks: expected one for each; list them in `ranks`"),
        ("job: { goal: wrong.goal, ranks: h1 }", "wrong.goal:3:1: no rank 3"),
        ("job: { goal: pair.goal, ranks: h1..h2, data: 1MB }", "data does not apply to a job with goal"),
        ("job: { collective: all-to-all, data: 1MB }\n      from: h1", "from does not apply to a job"),
        ("job: { collective: all-to-all, data: 1MB }\n      active: { on: 1ms }", "active does not apply to a job"),
        ("job: { collective: all-to-all, data: 1MB, rank: h1 }", "unknown key \"rank\""),
    ] {
        let errors = scenario(job).unwrap_err();
        assert!(errors.contains(expected), "{job}: {errors}");
    }
}

#[test]
fn a_binary_form_without_the_magic_number_is_refused_with_advice() {
    let old: &[u8] = &[2, 0, 0, 0, 1, 1, 16, 0, 0, 0, 0, 0];
    let read = |bytes: &[u8]| {
        Source::from_reader("pair.bin", bytes).and_then(|source| read_goal(&source)).unwrap_err().to_string()
    };
    for bytes in [old.to_vec(), [old, &[0xff, 0xfe]].concat()] {
        let messages = read(&bytes);
        assert!(
            messages.contains("4223") && messages.contains("name the text that it was made of (.goal)"),
            "{messages}"
        );
    }
}
