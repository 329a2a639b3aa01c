//! Contracts of other kinds than latency at the driver of a host, over a plane that takes notes.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::fake::{Fake, driver};
use wayleave_agent::NodeDriver;
use wayleave_agent::environment::Environment;
use wayleave_agent::machine::Driver;
use wayleave_agent::shares::rules::{contract_of, rule_number};
use wayleave_broker::process::{LimitsLine, ServiceLimit};
use wayleave_packet_format::Tag;
use wayleave_protocol::agent::{Member, Rule, ShareRule, Shares};
use wayleave_protocol::contract::{Hop, Kind};
use wayleave_repo_checks::TempFolder;
use wayleave_topology::builders::{Cabling, build};
use wayleave_topology::{Classes, Network};
use wayleave_units::Time;

const NOW: Time = Time::ZERO;

/// Three hosts at a switch, with queues for every class: five in strict priority, then guaranteed, objective and best effort.
fn network() -> Arc<Network> {
    let star = build::star(3, Cabling::default()).unwrap();
    Arc::new(star.with_classes(Classes::default()).unwrap())
}

fn up() -> Fake {
    Fake::with(&[("up0", 10), ("up1", 11), ("up2", 12), ("up3", 13), ("up4", 14), ("up5", 15), ("veth0", 31)])
}

fn hose(serial: u64, kind: Kind, hosts: &[&str]) -> ShareRule {
    let member = |host: &&str| Member { name: (*host).to_owned(), host: (*host).to_owned() };
    ShareRule {
        serial,
        version: 1,
        id: format!("default:c{serial}"),
        kind,
        members: hosts.iter().map(member).collect(),
        min_bps: 4_000_000,
        max_bps: None,
        weight: 1,
        route: None,
    }
}

fn shares(contracts: Vec<ShareRule>) -> Shares {
    Shares {
        contracts,
        transmit_bps: 10_000_000,
        receive_bps: 10_000_000,
        secret: "0123456789abcdef0123456789abcdef".to_owned(),
        ..Shares::default()
    }
}

#[test]
fn each_pair_of_a_contract_has_a_rule_in_the_queues_of_its_class() {
    let (fake, folder) = (up(), TempFolder::new("agent"));
    let environment = Arc::new(Environment::new(network()));
    let mut host = driver(&fake, &folder, environment, &[("host:h1", "veth0")]);
    let pair = ShareRule {
        route: Some(vec![Hop { link: "h1->s1".to_owned(), queue: 0 }, Hop { link: "s1->h3".to_owned(), queue: 5 }]),
        ..hose(9, Kind::Bandwidth, &["h1", "h3"])
    };
    let back = ShareRule { route: pair.route.clone(), ..hose(10, Kind::Bandwidth, &["h3", "h1"]) };
    let limited = ShareRule { max_bps: Some(2_000_000), ..hose(12, Kind::BestEffort, &["h1", "h2"]) };
    let all = vec![
        hose(7, Kind::Bandwidth, &["h1", "h2", "h3"]),
        hose(8, Kind::Objective, &["h2", "h1"]),
        pair,
        back,
        hose(11, Kind::BestEffort, &["h1", "h2"]),
        limited,
    ];
    host.set_shares(NOW, shares(all.clone()));
    let kernel = fake.kernel();
    let rules: Vec<u64> = kernel.rules.keys().copied().collect();
    // Of the pair from h3 to h1 nothing begins here, and best effort without a maximum needs no rules. The rule with
    // the highest number matches last.
    let wanted =
        [(0, 1), (0, 2), (1, 0), (2, 1), (5, 1)].map(|(contract, member)| rule_number(&all[contract], member).unwrap());
    assert_eq!(rules, wanted);
    assert_eq!(wanted.map(contract_of), [7, 7, 8, 9, 12].map(Some));
    let own = u8::try_from(network().queues(network().find_link("h1->s1").unwrap()).len()).unwrap();
    for (number, class, port) in
        [(wanted[0], 0, 1), (wanted[1], 0, 2), (wanted[2], 1, 1), (wanted[3], 0, 2), (wanted[4], 2, 1)]
    {
        let path = &kernel.rules[&number].1.paths[0];
        assert_eq!((path.queue, path.tags.as_slice()), (own + class, [Tag::new(port, 5 + class).unwrap()].as_slice()));
    }
    // No receiver has answered yet: two pairs of the hose have half of the minimum each, and one pair has its whole
    // minimum.
    let rate = |number: u64| kernel.rules[&number].1.demand.rate.bits_per_second();
    assert_eq!(wanted.map(rate), [2_000_000, 2_000_000, 4_000_000, 4_000_000, 2_000_000]);
    drop(kernel);
    // All rules are reported to the controller as in force, including the pair that only receives here, and best
    // effort.
    assert_eq!(host.rules_in_force(), Some(vec![(7, 1), (8, 1), (9, 1), (10, 1), (11, 1), (12, 1)]));
    assert_eq!(host.contract_problems(), Some(Vec::new()));
}

#[test]
fn contracts_of_an_endpoint_without_interface_are_not_in_force_with_a_reason() {
    let (fake, folder) = (up(), TempFolder::new("agent"));
    let environment = Arc::new(Environment::new(network()));
    let mut host = driver(&fake, &folder, environment, &[]);
    assert_eq!(host.rules_in_force(), None, "the controller has named no contracts yet");
    let back = ShareRule {
        route: Some(vec![Hop { link: "h3->s1".to_owned(), queue: 0 }, Hop { link: "s1->h1".to_owned(), queue: 5 }]),
        ..hose(10, Kind::Bandwidth, &["h3", "h1"])
    };
    host.set_shares(NOW, shares(vec![hose(7, Kind::Bandwidth, &["h1", "h2", "h3"]), back]));
    assert_eq!(host.rules_in_force(), Some(vec![(10, 1)]), "of the pair nothing is sent from here");
    let problems = host.contract_problems().unwrap();
    let [problem] = &problems[..] else { panic!("{problems:?}") };
    assert_eq!((problem.serial, problem.why.as_str()), (7, "the interface of h1 does not exist"));
}

/// Catches: a contract that counts as enforced although all its packets belong to another one.
#[test]
fn contracts_without_packets_of_their_own_are_named() {
    let (fake, folder) = (up(), TempFolder::new("agent"));
    let environment = Arc::new(Environment::new(network()));
    let mut host = driver(&fake, &folder, environment, &[("host:h1", "veth0")]);
    let own = |serial: u64, id: &str| ShareRule { id: id.to_owned(), ..hose(serial, Kind::Bandwidth, &["h1", "h2"]) };
    let rest = ShareRule { kind: Kind::BestEffort, max_bps: Some(1_000_000), ..own(10, "shop:rest") };
    let all = [own(7, "shop:db"), own(8, "shop:copy"), own(9, "web:search"), rest];
    host.set_shares(NOW, shares(all.to_vec()));
    let [db, copy, search, rest] = all.each_ref().map(|rule| rule_number(rule, 1).unwrap());
    // Best effort is what belongs to no other contract.
    fake.kernel().shadowed = BTreeMap::from([(copy, db), (search, db), (rest, db)]);
    let problems: Vec<(u64, String)> =
        host.contract_problems().unwrap().into_iter().map(|one| (one.serial, one.why)).collect();
    let why = |name: &str| {
        format!(
            "some of its packets also belong to {name}, which comes first, and count for that one only: give both VMs of their own"
        )
    };
    assert_eq!(problems, [(7 + 1, why("contract shop:db")), (9, why("another contract"))]);
}

/// Catches: a new contract with the counters of one that the controller has lost, and whose serial number it has given again.
#[test]
fn pairs_of_another_contract_with_the_serial_number_are_removed_first() {
    let (fake, folder) = (up(), TempFolder::new("agent"));
    let own = |id: &str| ShareRule { id: id.to_owned(), ..hose(7, Kind::Bandwidth, &["h1", "h2"]) };
    let mut host = driver(&fake, &folder, Arc::new(Environment::new(network())), &[("host:h1", "veth0")]);
    host.set_shares(NOW, shares(vec![own("shop:db")]));
    let rule = rule_number(&own("shop:db"), 1).unwrap();
    for (restarts, id, removed) in
        [(false, "shop:db", 0), (false, "web:db", 1), (true, "web:db", 1), (true, "shop:db", 2)]
    {
        if restarts {
            drop(host);
            host = driver(&fake, &folder, Arc::new(Environment::new(network())), &[("host:h1", "veth0")]);
            assert_eq!(host.traffic(), Some(Vec::new()), "counters without a contract are not reported");
        }
        host.set_shares(NOW, shares(vec![own(id)]));
        assert_eq!(fake.kernel().removed, vec![rule; removed], "{restarts} {id}");
        let named: Vec<Option<String>> = host.traffic().unwrap().into_iter().map(|one| one.contract).collect();
        assert_eq!(named, [Some(id.to_owned())]);
    }
}

#[test]
fn rules_of_pairs_are_not_reported_as_contracts_and_outlive_the_agent() {
    let (fake, folder) = (up(), TempFolder::new("agent"));
    let environment = Arc::new(Environment::new(network()));
    let mut host = driver(&fake, &folder, environment.clone(), &[("host:h1", "veth0")]);
    host.set_shares(
        NOW,
        shares(vec![hose(7, Kind::Bandwidth, &["h1", "h2"]), hose(8, Kind::Bandwidth, &["h1", "h3"])]),
    );
    let latency = Rule {
        id: "default:ptp".to_owned(),
        from: "h1".to_owned(),
        to: "h2".to_owned(),
        matching: None,
        rate_bps: 1_000_000,
        burst_bytes: 3_000,
        max_frame_bytes: None,
        routes: vec![vec![Hop { link: "h1->s1".to_owned(), queue: 0 }, Hop { link: "s1->h2".to_owned(), queue: 1 }]],
        bound_ns: 1_000_000,
    };
    host.install(NOW, 3, 1, &latency).unwrap();
    assert_eq!(host.installed(NOW).unwrap(), [(3, 1)]);
    // A latency contract between the same ends comes first: its number is lower.
    assert!(fake.kernel().rules.keys().all(|&rule| rule == 3 || rule > 3 && contract_of(rule).is_some()));

    // A new agent leaves them in force until it receives the contracts.
    let mut host = driver(&fake, &folder, environment, &[("host:h1", "veth0")]);
    assert_eq!(host.installed(NOW).unwrap(), [(3, 1)]);
    assert_eq!(fake.kernel().rules.len(), 3);
    host.set_shares(NOW, shares(vec![hose(8, Kind::Bandwidth, &["h1", "h3"])]));
    let rules: Vec<Option<u64>> = fake.kernel().rules.keys().map(|&rule| contract_of(rule)).collect();
    assert_eq!(rules, [None, Some(8)]);
    assert!(host.divide(NOW));
    host.set_shares(NOW, shares(Vec::new()));
    assert_eq!(fake.kernel().rules.keys().copied().collect::<Vec<_>>(), [3]);
    assert!(!host.divide(NOW), "there is nothing to divide any more");
}

#[test]
fn a_rule_refused_by_the_kernel_is_reported_and_retried() {
    let (fake, folder) = (up(), TempFolder::new("agent"));
    let environment = Arc::new(Environment::new(network()));
    let mut host = driver(&fake, &folder, environment, &[("host:h1", "veth0")]);
    fake.kernel().fails.insert("install");
    host.set_shares(NOW, shares(vec![hose(7, Kind::Bandwidth, &["h1", "h2"])]));
    let neighbours = host.problems(NOW);
    assert!(
        neighbours.len() == 1 && neighbours[0].contains("contract default:c7: install: the kernel refuses"),
        "{neighbours:?}"
    );
    host.refresh();
    assert_eq!(host.problems(NOW), Vec::<String>::new());
    assert_eq!(fake.kernel().rules.len(), 1);
    let installs = fake.kernel().installs;
    host.refresh();
    assert_eq!(fake.kernel().installs, installs, "nothing has changed");
}

#[test]
fn a_rack_broker_limits_a_tenant_until_it_falls_silent() {
    let (fake, folder) = (up(), TempFolder::new("agent"));
    let environment = Arc::new(Environment::new(network()));
    let mut host = driver(&fake, &folder, environment, &[("host:h1", "veth0")]);
    assert!(host.moved(NOW).is_none(), "nothing is divided yet");
    let contract =
        ShareRule { id: "acme:db".to_owned(), max_bps: Some(9_000_000), ..hose(7, Kind::Objective, &["h1", "h2"]) };
    host.set_shares(NOW, shares(vec![contract.clone()]));
    let line = host.moved(NOW).unwrap();
    assert_eq!(line.services.keys().collect::<Vec<_>>(), ["acme"]);
    let number = rule_number(&contract, 1).unwrap();
    let rate = || fake.kernel().rules[&number].1.demand.rate.bits_per_second();
    let before = rate();
    let limits_line = |limit: u64| LimitsLine {
        limits: [(
            "acme".to_owned(),
            ServiceLimit { transmit_bits_per_second: Some(limit), ..ServiceLimit::default() },
        )]
        .into(),
        ..LimitsLine::default()
    };
    // The limit is below the sure rates, and no receiver has answered yet; minima are never reduced.
    host.limit(NOW, limits_line(1));
    for round in 1..=10 {
        host.divide(Time::from_millis(round * 100));
    }
    assert_eq!((before, rate()), (4_000_000, 4_000_000));
    assert_eq!(host.moved(NOW).unwrap().limits.unwrap(), limits_line(1).limits);
    host.divide(Time::from_millis(5_001));
    assert_eq!(host.moved(NOW).unwrap().limits.unwrap(), Default::default(), "after 5 s nothing is limited");
}
