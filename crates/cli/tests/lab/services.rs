//! Switches whose ports share a service that is slower than they are: measured as a black box, and promised by the
//! measured figures.

use std::path::{Path, PathBuf};

use wayleave_topology::devices::{Measurement, Table};
use wayleave_units::Bytes;

use super::*;

const LIST: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/examples/lab-contracts-service.yaml");
/// Model of the switch: its rate, in bit/s, and its buffer.
const SERVICE: (&str, u64, u64) = ("s1=12Mbit,16kB", 12_000_000, 16_000);
const SCENARIO: &str = "entries=17,match=five-tuple,action=output,used=last,priorities=decreasing,packet=306B+1516B";

fn up(options: &str) -> Lab {
    Lab::up(format!("star:hosts=3 --scale-rate 100Mbit --no-controller --service {} {options}", SERVICE.0).trim_end())
}

fn table_of(lab: &Lab) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("table-{}.csv", lab.0))
}

/// Measures the switch of a lab with this number of packet sizes; returns the figures that are not as they should be.
fn calibrate(lab: &Lab, file: &Path, scenario: &str, sizes: usize) -> Vec<String> {
    let seen = wayleave(&format!("lab calibrate s1 --name {} -o csv --scenario {scenario}", lab.0));
    assert!(seen.status.success(), "{}", text(&seen.stderr));
    std::fs::write(file, &seen.stdout).unwrap();
    let table: Table =
        wayleave_formats::read_benchmark(&wayleave_formats::Source::read(file.to_str().unwrap()).unwrap()).unwrap();
    let (_, rate, buffer) = SERVICE;
    assert_eq!(table.iter().len(), sizes);
    let wrong = table.iter().flat_map(|(case, &Measurement { throughput, delay, buffer: packets })| {
        let (held, packet) = (case.packet * u64::from(packets), case.packet);
        [
            // The traffic that the service sends at first does not count, and stalls make it slower.
            unless(throughput.bits_per_second() * 100 <= rate * 101, || {
                format!("{case}: {throughput} is more than the rate")
            }),
            unless(throughput.bits_per_second() * 100 >= rate * 80, || {
                format!("{case}: {throughput} is far below the rate")
            }),
            // One packet is being sent, and the bucket lets one more pass.
            unless(held <= Bytes::new(buffer) + packet * 3, || format!("{case}: {held} are more than the buffer")),
            unless(held * 2 >= Bytes::new(buffer), || format!("{case}: {held} are far below the buffer")),
            unless(delay.as_nanos() < 15_000_000, || format!("{case}: {delay}")),
        ]
    });
    wrong.flatten().collect()
}

/// Five contracts of 4 Mbit/s with bursts of 2.5 kB: any port could carry all of them, the switch cannot.
fn keeps_what_was_measured(lab: &Lab) {
    let table = table_of(lab);
    let loko = format!("--scheme loko --loko-table {} --loko-scenario {SCENARIO} --lasts 3s", table.display());
    in_time(|| {
        let measured = calibrate(lab, &table, SCENARIO, 2);
        if !measured.is_empty() {
            return measured;
        }
        let (code, seen) = lab.run_of(LIST, &loko);
        let admitted = seen["contracts"].as_array().unwrap().iter().filter(|one| one["state"] == "enforced").count();
        // All were asked for, and some are too many.
        wrong(
            [
                (code == Some(3), "some are refused, and what is promised holds"),
                (admitted >= 1 && admitted + seen["refused"].as_array().unwrap().len() == 5, "all are decided"),
                (seen["violations"] == 0 && sum(&seen, "lost") == 0, "every packet arrives in time"),
                (sum(&seen, "received") > 300, "packets are sent"),
            ],
            &seen,
        )
    });
    // Silo takes each port for a service of its own.
    let (code, seen) = lab.run_of(LIST, "--scheme silo --lasts 3s");
    let broken = seen["violations"].as_u64().unwrap() + sum(&seen, "lost");
    assert!(code == Some(4) && broken > 100, "{code:?}, {broken}{}", in_short(&seen));
}

pub(crate) fn loko_keeps_guarantees_on_a_measured_switch_that_silo_breaks() {
    let _alone = alone();
    let lab = up("");
    keeps_what_was_measured(&lab);
    // Nothing is left of the contracts of an earlier run.
    let (_, seen) = lab.run_of(LIST, "--without-contracts --lasts 1s");
    assert!(sum(&seen, "shaped") == 0 && sum(&seen, "lost") > 0, "{}", in_short(&seen));
    let refused = |options: &str, expected: &str| {
        let output = wayleave(&format!("lab {options} --name {}", lab.0));
        assert!(output.status.code() == Some(2) && text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    };
    refused("calibrate s9", "the topology has no switch s9");
    refused(&format!("calibrate s1 --scenario {SCENARIO}+60B"), "invalid packet size 60B");
    refused(
        "calibrate s1 --scenario action=output,packet=306B",
        "expected one value for each dimension other than packet",
    );
    refused(&format!("run -f {LIST} --cut"), "--cut requires a controller");
}

/// During the measurement the bridge has a table of 17 entries, of which the last matches, and its own rules
/// afterwards.
pub(crate) fn a_bridge_is_measured_with_the_table_of_each_case() {
    require_program("ovs", "ovs-vsctl");
    let _alone = alone();
    let lab = up("--ovs s1");
    in_time(|| calibrate(&lab, &table_of(&lab), &SCENARIO.replace("306B+", ""), 1));
    let labs = Labs::default().open(&LabName::new(&lab.0).unwrap()).unwrap();
    let bridge = labs.bridge(labs.plan().switches().next().unwrap()).unwrap();
    let rules = Command::new("ovs-ofctl")
        .args(["-O", "OpenFlow13", "dump-flows", &format!("unix:{}", bridge.socket().display())])
        .output()
        .unwrap();
    let rules = text(&rules.stdout);
    assert_eq!(rules.lines().filter(|line| line.contains("cookie=")).count(), 3, "one for each link: {rules}");
    let several = wayleave(&format!(
        "lab calibrate s1 --name {} --scenario entries=1,match=all,action=set-nw-src+set-dl-src,used=first,priorities=increasing,packet=1516B",
        lab.0
    ));
    let printed = text(&several.stdout);
    assert!(
        several.status.success() && printed.contains("set-nw-src") && printed.contains("they share a service"),
        "{printed}{}",
        text(&several.stderr)
    );
}

pub(crate) fn a_switch_as_fast_as_its_ports_has_no_service_to_measure() {
    let _alone = alone();
    let lab = Lab::up("star:hosts=2 --no-controller");
    let output = wayleave(&format!("lab calibrate s1 --name {}", lab.0));
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("the switch forwards at the rate of its ports, 10Mbit"),
        "{}",
        text(&output.stderr)
    );
}
