//! Contracts and their bounds: moved, beside floods and adversaries, of every kind.

use super::*;

pub(crate) fn contracts_keep_bounds_while_moved_during_floods_only_with_rules() {
    let _alone = alone();
    let lab = Lab::up("fat-tree:k=4");
    in_time(|| keep_their_bounds(&lab));
    in_time(|| outlive_an_adversary_and_a_cut(&lab));
    in_time(|| suffer_as_best_effort(&lab));
}

fn keep_their_bounds(lab: &Lab) -> Vec<String> {
    let (code, seen) = lab.run("--lasts 8s --reroutes 5 --flood 12Mbit");
    let contracts = seen["contracts"].as_array().unwrap();
    assert_eq!((contracts.len(), code), (8, Some(if seen["violations"] == 0 { 0 } else { 4 })), "{}", in_short(&seen));
    wrong(
        [
            (seen["violations"] == 0, "a bound was broken"),
            (
                contracts.iter().all(|one| is_kept(one) && one["sent"].as_u64() > Some(100)),
                "not every contract is kept",
            ),
            (sum(&seen, "lost") == 0, "packets were lost behind their shapers"),
            (seen["moves"].as_u64() >= Some(4), "fewer than four contracts were moved"),
        ],
        &seen,
    )
}

/// A sender that ignores its bucket is the only one who suffers from it.
fn outlive_an_adversary_and_a_cut(lab: &Lab) -> Vec<String> {
    let (_, seen) = lab.run("--lasts 4s --flood 12Mbit --adversary camera=9Mbit --cut");
    let of = |id: &str| seen["contracts"].as_array().unwrap().iter().find(|one| one["id"] == id).unwrap();
    let (camera, sensor) = (of("default:camera"), of("default:sensor"));
    let cut = &seen["actions"][0];
    assert_eq!((&cut["action"], &cut["failed"]), (&"cut".into(), &Value::Null), "{cut:#}");
    wrong(
        [
            (cut["degraded"] == 0, "a contract found no other way"),
            (!cut["moved"].as_array().unwrap().is_empty(), "no contract was moved by the cut"),
            (seen["violations"] == 0, "a bound was broken"),
            (
                camera["shaped"].as_u64() > camera["received"].as_u64(),
                "most of what is sent too much was to be dropped",
            ),
            (camera["waitsNs"].as_u64() > Some(100_000_000), "how long what is sent too much waits is not said"),
            // Its packets go over two routes that share no cable between switches.
            (sensor["lost"] == 0 && sensor["duplicates"] == 0, "a contract with two routes lost packets in a cut"),
        ],
        &seen,
    )
}

/// The same packets as best effort: what contracts are good for, and that this test can fail. On a machine that hardly runs, stalls
/// account for late packets, however late they are; lost ones stay lost.
fn suffer_as_best_effort(lab: &Lab) -> Vec<String> {
    let (code, seen) = lab.run("--lasts 4s --flood 12Mbit --without-contracts");
    assert_eq!(code, Some(if seen["violations"] == 0 { 0 } else { 4 }), "{}", in_short(&seen));
    let suffer = sum(&seen, "late") + sum(&seen, "lost");
    wrong([(suffer > 20 && suffer + sum(&seen, "lateInStalls") > 100, "hardly a packet suffered")], &seen)
}

/// The demonstration of one fabric with real packets: every host sends as much as it can, and has its promised rate.
pub(crate) fn contracts_of_every_kind_hold_on_one_network() {
    let _alone = alone();
    let lab = Lab::up(&format!("{EXAMPLES}/lab-network-fabric.yaml"));
    in_time(|| {
        let (_, seen) = lab.run_of(&format!("{EXAMPLES}/lab-contracts-fabric.yaml"), "--lasts 10s --flood 12Mbit");
        let shares = seen["shares"].as_array().unwrap();
        let of = |id: &str| shares.iter().find(|one| one["id"] == id).unwrap();
        let most = of("default:copy")["pairs"][0]["rateBps"].as_u64().unwrap();
        // Best effort with a maximum of 1 Mbit/s, between hosts without any other contract.
        let guests = of("default:guest")["pairs"].as_array().unwrap().iter().map(|pair| pair["rateBps"].as_u64());
        let guest = guests.max().flatten().unwrap();
        assert!(seen["refused"].as_array().unwrap().is_empty() && shares.len() == 6, "{}", in_short(&seen));
        let got: Vec<String> = shares.iter().map(|one| format!("{} short {}", one["id"], one["short"])).collect();
        wrong(
            [
                (seen["violations"] == 0, "a bound was broken"),
                (sum(&seen, "lost") == 0, "packets of latency contracts were lost behind their shapers"),
                (seen["short"] == 0, &format!("a minimum was missed ({})", got.join(", "))),
                (most < 2_200_000, &format!("a pair with a maximum of 2 Mbit/s got {most} bit/s")),
                (guest < 1_050_000, &format!("best effort with a maximum of 1 Mbit/s got {guest} bit/s")),
                (guest > 100_000, &format!("best effort with a maximum of 1 Mbit/s got only {guest} bit/s")),
            ],
            &seen,
        )
    });
}

/// Returns `true` if a contract is kept in the end. Agents call it violated for some time if a packet came late, also
/// where the machine was stalled.
fn is_kept(contract: &Value) -> bool {
    contract["state"] == "enforced" || contract["state"] == "violated" && contract["lateInStalls"].as_u64() > Some(0)
}
