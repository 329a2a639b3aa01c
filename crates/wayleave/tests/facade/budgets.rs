//! Default delay budgets fit the links: a lone contract of one frame is admitted on any network, the published networks
//! keep the published budgets, and advice works when it is pasted.

use proptest::prelude::*;
use wayleave::{
    BudgetAdvice, BudgetPlace, BudgetRemedy, Contracts, Error, Model, Network, PlanInput, PlanOptions, Released,
    SchemeOptions, Session, Sink, Source, TuneMix, TuneOptions, Watch, plan, tune,
};
use wayleave_explain::DecidedContract;
use wayleave_schemes::admission::chameleon::Allocation;
use wayleave_schemes::routing::{RouteQuery, least_possible};
use wayleave_topology::{Link, NodeKind};
use wayleave_units::Time;

/// `tests/data/plant.yaml`: 3 switches and 20 devices at 100 Mbit/s and 1 Gbit/s.
const PLANT: &str = include_str!("../data/plant.yaml");
/// 31 contracts: loops of 1 to 4 ms, cameras, polls, a backup.
const PLANT_CONTRACTS: &str = include_str!("../data/plant-contracts.yaml");

fn plant(defaults: &str) -> Network {
    let text = PLANT.replace("queues: 8 }", &format!("queues: 8{defaults} }}"));
    Network::parse(&Source::new("plant.yaml", text)).unwrap()
}

fn contracts(network: &Network) -> Contracts {
    Contracts::parse_all_kinds(&[Source::new("plant-contracts.yaml", PLANT_CONTRACTS)], network).unwrap()
}

fn fabric() -> PlanOptions {
    PlanOptions::default().with_scheme(SchemeOptions::named("fabric").unwrap())
}

/// Receives decisions and keeps none.
struct Nothing;

impl Sink for Nothing {
    fn decided(&mut self, _: &Session, _: &DecidedContract<'_>) -> Result<(), Error> {
        Ok(())
    }

    fn released(&mut self, _: &Released<'_>) -> Result<(), Error> {
        Ok(())
    }
}

/// Returns the session, and the numbers of admitted contracts and of those that budgets refuse.
fn decide_in(mut session: Session, contracts: &Contracts) -> (Session, u64, u64) {
    let asked = PlanInput::from(contracts);
    let summary = wayleave::decide(&mut session, asked, &mut Nothing, &mut Watch::none()).unwrap().summary;
    (session, summary.admitted, summary.refused_by_budgets)
}

fn decide(network: &Network) -> (Session, u64, u64) {
    decide_in(Session::open(network, &fabric()).unwrap(), &contracts(network))
}

#[test]
fn a_plant_with_slow_devices_is_admitted_without_any_setting() {
    let network = plant("");
    let (session, admitted, by_budgets) = decide(&network);
    assert_eq!((admitted, by_budgets), (31, 0));
    assert!(wayleave::recheck(&session.context(), &mut Watch::none()).unwrap().is_sound());
}

#[test]
fn advice_for_a_refused_list_works_when_it_is_pasted() {
    let published = ", budgets: [100us, 500us, 1ms, 6ms, 24ms], hostQueues: 1, hostBudgets: [500us]";
    let network = plant(published);
    let (session, admitted, by_budgets) = decide(&network);
    assert_eq!((admitted, by_budgets), (21, 10));
    let advice = BudgetAdvice::search(&session, &contracts(&network), admitted).unwrap().unwrap();
    assert_eq!((advice.admitted, advice.refused), (31, 0));
    let (_, admitted, by_budgets) = decide(&plant(&format!(", {}", advice.keys())));
    assert_eq!((admitted, by_budgets), (31, 0), "{}", advice.keys());
}

/// The plant's contracts and one more, of a press.
fn contracts_with_press(network: &Network, deadline: &str) -> Contracts {
    let press = format!("name,from,to,rate,burst,deadline\npress,plc1,drive1,1Mbit,128B,{deadline}\n");
    let sources = [Source::new("plant-contracts.yaml", PLANT_CONTRACTS), Source::new("press.csv", press)];
    Contracts::parse_all_kinds(&sources, network).unwrap()
}

/// Catches: a search that lowers a budget and raises it again, and one that takes steps of a fixed size.
#[test]
fn advice_for_a_deadline_below_the_default_budgets_works_when_it_is_pasted() {
    let network = plant("");
    for deadline in ["800us", "750us", "700us"] {
        let contracts = contracts_with_press(&network, deadline);
        let (session, admitted, by_budgets) = decide_in(Session::open(&network, &fabric()).unwrap(), &contracts);
        assert_eq!((admitted, by_budgets), (31, 1), "{deadline}");
        let advice = BudgetAdvice::search(&session, &contracts, admitted).unwrap().expect(deadline);
        let pasted = plant(&format!(", {}", advice.keys()));
        let contracts = contracts_with_press(&pasted, deadline);
        let (_, admitted, _) = decide_in(Session::open(&pasted, &fabric()).unwrap(), &contracts);
        assert_eq!(admitted, 32, "{deadline}: {}", advice.keys());
    }
}

/// Adds the budgets of a remedy to the links of the plant.
fn pasted(remedy: &BudgetRemedy) -> Network {
    let is_of = |line: &str, link: &str| {
        let (from, to) = link.split_once("->").unwrap();
        line.contains(&format!("[{from}, {to}]")) || line.contains(&format!("[{to}, {from}]"))
    };
    let line = |line: &str| {
        let keys = remedy.ports.iter().filter(|port| is_of(line, &port.link)).map(|port| {
            let budgets: Vec<String> = port.budgets.iter().map(ToString::to_string).collect();
            format!(", {}: [{}]", port.key, budgets.join(", "))
        });
        let keys: String = keys.collect();
        if keys.is_empty() { line.to_owned() } else { line.replacen(" }", &format!("{keys} }}"), 1) }
    };
    let text: Vec<String> = PLANT.lines().map(line).collect();
    assert_ne!(text.join("\n"), PLANT.trim_end());
    Network::parse(&Source::new("plant.yaml", text.join("\n"))).unwrap()
}

/// Catches: a remedy that does not admit the contract, or that costs another one its place; a remedy where there is none.
#[test]
fn an_explanation_names_budgets_that_admit_the_contract_when_they_are_pasted() {
    let network = plant("");
    let explained = |deadline: &str| {
        let contracts = contracts_with_press(&network, deadline);
        let session = Session::open(&network, &fabric()).unwrap();
        let mut explanation = wayleave::explain_in(session, &contracts, "press", &mut Watch::none()).unwrap();
        explanation.search_budgets(&contracts, BudgetPlace::Link).unwrap();
        explanation
    };
    for deadline in ["900us", "750us"] {
        let explanation = explained(deadline);
        assert!(!explanation.is_admitted());
        let (_, remedy) = explanation.remedy.as_ref().expect(deadline);
        let text = explanation.text().unwrap();
        assert!(remedy.lines(BudgetPlace::Link).iter().all(|line| text.contains(line)), "{text}");
        let pasted = pasted(remedy);
        let contracts = contracts_with_press(&pasted, deadline);
        let (_, admitted, _) = decide_in(Session::open(&pasted, &fabric()).unwrap(), &contracts);
        assert_eq!(admitted, 32, "{deadline}: {remedy:?}");
    }
    // Two frames on each link need 500 us.
    let impossible = explained("400us");
    assert!(impossible.remedy.is_none() && impossible.text().unwrap().contains("can never be met"));
}

/// Catches: a search for one contract that gives up because another one has no remedy.
#[test]
fn one_contract_of_a_list_has_budgets_although_the_list_has_none() {
    let line = "star:hosts=3,rate=100Mbit,hostQueues=1,hostBudgets=6ms,queues=2,budgets=10ms";
    // A burst of 10 MB needs 800 ms, which is too long behind the other.
    let text = "name,from,to,rate,burst,deadline\nlong,h1,h2,1Mbit,10MB,500ms\nshort,h1,h2,1Mbit,100kB,50ms\n";
    let network = Network::open(line).unwrap();
    let contracts = Contracts::parse(&[Source::new("list.csv", text)], &network).unwrap();
    let session = Session::open(&network, &PlanOptions::default()).unwrap();
    assert!(BudgetAdvice::search(&session, &contracts, 0).unwrap().is_none());
    let (name, remedy) = BudgetRemedy::of_first(&session, &contracts, BudgetPlace::Builder).unwrap().unwrap();
    assert_eq!((name, remedy.admitted), ("short", 0), "{remedy:?}");
}

/// A burst that does not fit the only budget: the smallest one that admits it is named, to three digits.
#[test]
fn an_explanation_names_the_least_budget_of_a_burst() {
    let line = "star:hosts=3,rate=100Mbit,hostQueues=1,hostBudgets=6ms,queues=2,budgets=10ms";
    let text = "name,from,to,rate,burst,deadline\na,h1,h2,1Mbit,100kB,50ms\n";
    let of = |line: &str| {
        let network = Network::open(line).unwrap();
        let contracts = Contracts::parse(&[Source::new("list.csv", text)], &network).unwrap();
        let mut explanation =
            wayleave::explain(&network, &contracts, "a", &PlanOptions::default(), &mut Watch::none()).unwrap();
        explanation.search_budgets(&contracts, BudgetPlace::Builder).unwrap();
        explanation
    };
    let explanation = of(line);
    let (_, remedy) = explanation.remedy.as_ref().unwrap();
    let lines = remedy.lines(BudgetPlace::Builder);
    let host = lines.iter().find_map(|line| line.strip_prefix("hostBudgets=")).unwrap();
    assert!(of(&line.replace("hostBudgets=6ms", &format!("hostBudgets={host}"))).is_admitted(), "{lines:?}");
    let budget = remedy.ports.iter().find(|port| port.key == "hostBudgets").unwrap().budgets[0];
    let less = Time::from_nanos(budget.as_nanos() * 99 / 100);
    assert!(!of(&line.replace("hostBudgets=6ms", &format!("hostBudgets={less}"))).is_admitted(), "{less}");
}

/// A burst that no frame fits, and a rate below a frame a day, are warnings with their numbers.
#[test]
fn contracts_to_which_no_frame_conforms_are_warnings() {
    let network = Network::open("star:hosts=3").unwrap();
    let warnings = |rows: &str| {
        let text = format!("name,from,to,rate,burst,deadline\n{rows}");
        let contracts = Contracts::parse(&[Source::new("list.csv", text)], &network).unwrap();
        contracts.warnings(Model::default().overhead)
    };
    assert_eq!(warnings("a,h1,h2,1Mbit,84B,9ms\n"), [""; 0]);
    assert_eq!(
        warnings("a,h1,h2,1Mbit,83B,9ms\n"),
        ["the burst of \"a\" is 83B, below the smallest frame, 84B on the wire: none of the packets conforms"]
    );
    let [bursts] = &warnings("a,h1,h2,1Mbit,83B,9ms\nb,h1,h2,1Mbit,70B,9ms\n")[..] else { panic!() };
    assert!(bursts.starts_with("the bursts of 2 contracts (\"a\": 83B, \"b\": 70B) are below"), "{bursts}");
    // 1 bit/s is 10.8 kB a day.
    let of_frame = |frame: &str| {
        let rows = format!("name,from,to,rate,burst,deadline,maxFrame\nc,h1,h2,1bit,20kB,900ms,{frame}\n");
        let contracts = Contracts::parse(&[Source::new("list.csv", rows)], &network).unwrap();
        contracts.warnings(Model::default().overhead)
    };
    assert_eq!(of_frame("10800B"), [""; 0]);
    assert_eq!(of_frame("10801B"), ["the rate of \"c\" is 1bit, below one frame of 10.801kB a day"]);
}

/// Catches: contracts that are admitted without a word, although agents can carry out only one of them.
#[test]
fn contracts_with_the_same_packets_are_named() {
    let network = Network::open("star:hosts=4").unwrap();
    let note = |list: &str| {
        let contracts = Contracts::parse_all_kinds(&[Source::new("list.yaml", list)], &network).unwrap();
        contracts.indistinguishable()
    };
    let latency = |name: &str, from: &str, more: &str| {
        format!("  - {{name: {name}, from: {from}, to: h2, rate: 1Mbit, burst: 2kB, deadline: 9ms{more}}}\n")
    };
    let hose = "  - {name: hose, bandwidth: {hose: [h1, h2, h3], min: 1Mbit}}\n";
    let rest = "  - {name: rest, bestEffort: {members: [h1, h2], max: 1Mbit}}\n";
    let list = |rows: &[&str]| {
        format!(
            "apiVersion: wayleave/v1\nkind: Contracts\nmetadata: {{name: list}}\nspec:\n  contracts:\n{}",
            rows.concat()
        )
    };
    let (a, b, c) = (latency("a", "h1", ""), latency("b", "h1", ""), latency("c", "h4", ""));
    let matched = latency("m", "h1", ", match: {protocol: udp}");
    let others = latency("o", "h1", ", tenant: other");
    assert_eq!(note(&list(&[&a, &c, &matched, &others, rest])), None);
    let one = note(&list(&[hose, &a])).unwrap();
    assert!(one.starts_with("packets of \"hose\" also belong to \"a\": agents carry out one contract"), "{one}");
    let two = note(&list(&[&a, &b, hose])).unwrap();
    assert!(two.starts_with("packets of 2 contracts also belong to another one (\"b\": \"a\", ...)"), "{two}");
}

#[test]
fn tuning_finds_budgets_that_only_two_changes_together_give() {
    let network = plant("");
    let contracts = contracts_with_press(&network, "750us");
    let options = TuneOptions::default().with_train(1).with_judge(2).with_candidates(4);
    let tuned = tune(&network, TuneMix::Contracts(&contracts), &options, &mut Watch::none()).unwrap();
    let session = Session::open(&network, &PlanOptions::default().with_scheme(tuned.scheme().unwrap())).unwrap();
    let (_, admitted, _) = decide_in(session, &contracts);
    assert_eq!(admitted, 32, "{:?}", tuned.options());
    let rates: Vec<_> = tuned.ports.iter().map(|ports| (ports.is_host, ports.rate)).collect();
    assert_eq!(rates.len(), 4, "hosts and switches at 100 Mbit/s and 1 Gbit/s: {:?}", tuned.ports);
}

#[test]
fn advice_for_a_builder_is_in_the_form_of_a_builder() {
    let line = "star:hosts=3,rate=100Mbit,budgets=100us,hostQueues=1,hostBudgets=500us";
    let text = "name,from,to,rate,burst,deadline\na,h1,h2,1Mbit,1500B,2ms\nb,h2,h3,1Mbit,30kB,20ms\n";
    let of = |line: &str| {
        let network = Network::open(line).unwrap();
        let contracts = Contracts::parse(&[Source::new("list.csv", text)], &network).unwrap();
        let session = Session::open(&network, &PlanOptions::default()).unwrap();
        let (session, admitted, _) = decide_in(session, &contracts);
        let advice = BudgetAdvice::search(&session, &contracts, admitted).unwrap();
        (admitted, advice)
    };
    let (admitted, advice) = of(line);
    assert!(admitted < 2, "{admitted}");
    let keys = advice.unwrap().builder_keys();
    let pasted = format!("star:hosts=3,rate=100Mbit,{keys}");
    assert_eq!(of(&pasted).0, 2, "{pasted}");
}

/// Published networks and all links of 1 Gbit/s with an MTU of 1500 B have the budgets of section 4.1.2, bit for bit.
#[test]
fn links_of_the_paper_keep_the_budgets_of_the_paper() {
    let lines = [
        "fat-tree:k=4",
        "fat-tree:k=4,queues=4",
        "leaf-spine:queues=2",
        "line:queues=6",
        "ring:switches=5",
        "star:hosts=3",
        "testbed:chameleon-testbed",
    ];
    for line in lines {
        let network = Network::open(line).unwrap().graph;
        for model in [Model::default(), Model::PUBLISHED] {
            let [by_link, published] =
                [Allocation::default(), Allocation::PUBLISHED].map(|of| of.budgets(&network, &model));
            assert_eq!(by_link, published, "{line} {model:?}");
        }
    }
}

/// A star, a line or a ring, whose switch and host links have rates of 10 Mbit/s to 400 Gbit/s, long delays, jitter and
/// jumbo frames.
fn networks() -> impl Strategy<Value = (Network, u64)> {
    let rate = || {
        prop::sample::select(vec!["10Mbit", "100Mbit", "300Mbit", "1Gbit", "2500Mbit", "10Gbit", "100Gbit", "400Gbit"])
    };
    let shape = (0_usize..3, 2_usize..=8, prop::sample::select(vec![64_u64, 1500, 9000]), 0_u64..2);
    let times = (prop::sample::select(vec!["0ns", "5us", "10ms"]), prop::sample::select(vec!["0ns", "700ns", "40us"]));
    (shape, times, prop::collection::vec(rate(), 8)).prop_map(|((kind, queues, mtu, is_classed), (delay, jitter), rates)| {
        let switches = [1, 3, 4][kind];
        let mut text = format!(
            "apiVersion: wayleave/v1\nkind: Topology\nmetadata: {{ name: any }}\nspec:\n  defaults: {{ delay: {delay}, mtu: {mtu}B, queues: {} }}\n",
            if is_classed == 1 { 8 } else { queues }
        );
        if is_classed == 1 {
            text += "  classes: { latency: 4 }\n";
        }
        text += "  nodes:\n";
        for at in 0..switches {
            text += &format!("    - {{ name: s{at}, kind: switch, processing: 2us, jitter: {jitter} }}\n");
        }
        text += "    - { name: a, kind: host, jitter: 1us }\n    - { name: b, kind: host }\n  links:\n";
        text += &format!("    - {{ between: [a, s0], rate: {} }}\n", rates[0]);
        text += &format!("    - {{ between: [s{}, b], rate: {} }}\n", switches - 1, rates[1]);
        for at in 1..switches {
            text += &format!("    - {{ between: [s{}, s{at}], rate: {} }}\n", at - 1, rates[1 + at]);
        }
        if kind == 2 {
            text += &format!("    - {{ between: [s{}, s0], rate: {} }}\n", switches - 1, rates[6]);
        }
        (Network::parse(&Source::new("any.yaml", text)).unwrap(), mtu)
    })
}

/// Deadline that the defaults promise to a lone contract of one frame, from the text of section 15: 81 frames of the
/// host's link and 8.1 of every other, with processing, jitter and propagation.
fn promised(network: &wayleave_topology::Network, route: &[&Link]) -> u64 {
    let nanos = |link: &&Link| {
        let frame = u128::from(Model::default().largest_frame(link).get()) * 8_000_000_000;
        let node = network.node(link.from);
        let tenths = if node.kind == NodeKind::Host { 810 } else { 81 };
        let frames = (frame * tenths).div_ceil(10 * u128::from(link.rate.bits_per_second()));
        let constant = node.processing + node.jitter + node.jitter + link.propagation;
        u64::try_from(frames).unwrap() + constant.as_nanos() + 10
    };
    route.iter().map(nanos).sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn a_lone_contract_of_one_frame_is_admitted_on_any_network((network, mtu) in networks()) {
        let graph = network.graph.clone();
        let (from, to) = (graph.find_node("a").unwrap(), graph.find_node("b").unwrap());
        // Over the line s0, s1, ...; a ring may have a shorter one.
        let mut route = vec![graph.link(graph.links_from(from)[0])];
        while let Some(last) = route.last().filter(|last| last.to != to) {
            let name = &graph.node(last.to).name;
            let next: usize = name[1..].parse::<usize>().unwrap() + 1;
            let link = graph.find_link(&format!("{name}->s{next}")).or_else(|| graph.find_link(&format!("{name}->b")));
            route.push(graph.link(link.unwrap()));
        }
        let deadline = promised(&graph, &route);
        let burst = mtu + 62;
        let slowest = route.iter().map(|link| link.rate.bits_per_second()).min().unwrap();
        let rate = (slowest / 20_000).clamp(1, 100_000);
        let text = format!("name,from,to,rate,burst,deadline\nalone,a,b,{rate}bit,{burst}B,{deadline}ns\n");
        let contracts = Contracts::parse(&[Source::new("list.csv", text)], &network).unwrap();
        let options = if graph.classes().is_some() { fabric() } else { PlanOptions::default() };
        let plan = plan(&network, &contracts, &options, &mut Watch::none()).unwrap();
        let document = serde_json::to_string(&plan).unwrap();
        let document_value: serde_json::Value = serde_json::from_str(&document).unwrap();
        prop_assert_eq!(document_value["summary"]["admitted"].as_u64(), Some(1), "{} {}", deadline, document);
        // No bound is below what the links alone need.
        let session = Session::open(&network, &options).unwrap();
        let request = session.request(contracts.iter().next().unwrap().1);
        let least = least_possible(session.ledger().unwrap(), &RouteQuery::of(&request)).unwrap();
        let bound = document_value["requests"][0]["bound_ns"].as_u64().unwrap();
        prop_assert!(least.as_nanos() <= bound, "{} {}", least, bound);
    }
}
