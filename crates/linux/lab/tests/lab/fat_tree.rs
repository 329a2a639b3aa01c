//! A fat tree at 10 Mbit/s: contracts across all pods keep their bounds beside floods of best effort.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::common::{Down, labs, name};
use crate::guards::{alone, in_time};
use crate::hosts::{CONTRACT_PORT, promise, shaped};
use wayleave_lab::traffic::{HEADERS, LabFlow, LabLoad, RunningTraffic};
use wayleave_lab::{Hosts, Sentinel, UpOptions, scaled};
use wayleave_repo_checks::unless;
use wayleave_topology::builders::{FatTree, build};
use wayleave_units::{Bytes, Rate, Time};

pub(crate) fn contracts_across_a_fat_tree_keep_bounds_and_order_during_floods() {
    let _alone = alone();
    let network = scaled(&build::fat_tree(&FatTree::default()).unwrap(), Rate::from_mbit(10)).unwrap();
    let name = name();
    let _down = Down(name.clone());
    let lab = labs()
        .up(&UpOptions {
            name,
            topology: "fat-tree",
            network: &network,
            endpoints: &[],
            ovs: Default::default(),
            services: Default::default(),
        })
        .unwrap();
    let mut hosts = Hosts::start(&lab).unwrap();
    let mut specs = Vec::new();
    for host in 1..=16 {
        let ends = [format!("host:h{host}"), format!("host:h{}", (host + 7) % 16 + 1)];
        let [from, to] = ends.clone().map(|id| lab.plan().endpoint(&id).unwrap().clone());
        // Two packets of 1000 B and five tags; 800 kbit/s.
        let overhead = 24 + 4 * 6;
        let (rate, burst) = (Rate::from_bits_per_second(800_000), Bytes::new(2 * (1000 + HEADERS + overhead)));
        let bound = Time::from_millis(60);
        promise(&mut hosts, &lab, [&ends[0], &ends[1]], host, (rate, burst, bound));
        let load = LabLoad::Bursts { rate, burst, period: Time::from_millis(100) };
        let flow = |name: String, port, load, bound| LabFlow {
            name,
            from: from.clone(),
            to: to.clone(),
            port,
            source_port: None,
            payload: 1000,
            overhead,
            load,
            bound,
        };
        specs.push(flow(format!("contract {host}"), CONTRACT_PORT, load, Some(bound)));
        if host % 4 == 0 {
            let load = LabLoad::Constant { rate: Rate::from_mbit(12) };
            specs.push(flow(format!("flood {host}"), 9000, load, None));
        }
    }
    in_time(|| {
        let dropped = || (1..=16).map(|serial| shaped(&hosts, serial)).collect();
        let before: Vec<u64> = dropped();
        let sentinel = Sentinel::start().unwrap();
        let traffic = RunningTraffic::start(specs.clone()).unwrap();
        let start = Instant::now();
        sleep(Duration::from_secs(6));
        while traffic.least_sent() < 300 && start.elapsed() < Duration::from_secs(30) {
            sleep(Duration::from_millis(50));
        }
        let reports = traffic.stop();
        let stalls = sentinel.stop();
        let after: Vec<u64> = dropped();
        let contracts = reports.iter().filter(|report| report.bounds.is_some());
        let wrong = contracts.zip(before.iter().zip(after)).flat_map(|(report, (before, after))| {
            let (name, shaped) = (&report.name, after - before);
            let (_, broken) = report.late_by_stalls(&stalls);
            assert_eq!((report.duplicates, report.foreign), (0, 0), "{name}");
            assert!(report.lost() >= shaped, "{name}: {shaped} were shaped, and {} are missing", report.lost());
            [
                unless(broken.is_empty(), || format!("{name} was late: {broken:?}")),
                unless(report.lost() == shaped, || format!("{name} lost {} behind its shaper", report.lost() - shaped)),
                unless(report.reordered == 0, || format!("{name}: {} were reordered", report.reordered)),
                unless(report.sent >= 300 && shaped * 50 < report.sent, || {
                    format!("{name}: {shaped} of {}", report.sent)
                }),
            ]
        });
        wrong.flatten().collect()
    });
}
