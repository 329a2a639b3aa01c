//! Labs on this machine: they are made and removed, and leave nothing behind, even after failures.

use std::collections::BTreeSet;
use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

use crate::common::{Down, labs, labs_folder, name};
use crate::guards::among_others;
use wayleave_dataplane::net::Namespace;
use wayleave_lab::{EndpointSpec, Lab, LabError, LabName, ProcessSpec, Stage, UpOptions, scaled};
use wayleave_topology::Network;
use wayleave_topology::builders::{Cabling, FatTree, build};
use wayleave_units::Rate;

fn star() -> Network {
    scaled(&build::star(2, Cabling::default()).unwrap(), Rate::from_mbit(10)).unwrap()
}

fn fat_tree() -> Network {
    scaled(&build::fat_tree(&FatTree::default()).unwrap(), Rate::from_mbit(10)).unwrap()
}

fn up(name: &LabName, network: &Network) -> Result<Lab, LabError> {
    let vm = EndpointSpec { id: "acme:web".to_owned(), host: "h2".to_owned() };
    labs().up(&UpOptions {
        name: name.clone(),
        topology: "test",
        network,
        endpoints: &[vm],
        ovs: BTreeSet::new(),
        services: Default::default(),
    })
}

/// Returns the existing namespaces of a lab.
fn namespaces(name: &LabName) -> Vec<String> {
    Namespace::list().unwrap().into_iter().filter(|one| one.starts_with(&name.prefix())).collect()
}

/// Returns remains of a lab that do not carry its name: links outside of namespaces, mounts.
fn traces(name: &LabName) -> BTreeSet<String> {
    let is_ours = |name: &String| {
        ["p", "up", "e", "in"].iter().any(|stem| {
            name.strip_prefix(stem)
                .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
        })
    };
    let links = fs::read_dir("/sys/class/net").unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let folder = format!("/{name}/");
    let mounts = mounts.lines().filter(|line| line.contains(&folder)).map(str::to_owned);
    // The machine has an eth0 of its own.
    links.filter(is_ours).filter(|name| name != "eth0").chain(mounts).collect()
}

pub(crate) fn a_lab_starts_reports_its_state_and_leaves_nothing() {
    let _others = among_others();
    let name = name();
    let before = traces(&name);
    let _down = Down(name.clone());
    let made = up(&name, &fat_tree()).unwrap();
    assert_eq!(namespaces(&name).len(), 36 + 17);
    let found = labs().open(&name).unwrap();
    assert_eq!(found.plan(), made.plan(), "a lab that is opened is the one that was made");
    let status = labs().status(&name).unwrap();
    assert_eq!((status.stage, status.nodes.len(), status.endpoints.len()), (Stage::Up, 36, 17));
    let ports: usize = status.nodes.iter().map(|node| node.ports.len()).sum();
    assert_eq!(ports, 96, "every port has its queues");

    let removed = labs().down(&name).unwrap();
    assert_eq!((removed.namespaces, removed.programs), (53, 0));
    assert_eq!((namespaces(&name), traces(&name)), (Vec::new(), before));
    let error = labs().down(&name).unwrap_err().to_string();
    assert!(error.starts_with(&format!("no lab {name}")), "{error}");
}

pub(crate) fn concurrent_removals_of_a_lab_succeed_once() {
    let _others = among_others();
    let name = name();
    let _down = Down(name.clone());
    up(&name, &star()).unwrap();
    let down = || labs().down(&name);
    let ended = std::thread::scope(|scope| [0; 4].map(|_| scope.spawn(down)).map(|one| one.join().unwrap()));
    let removed = ended.iter().filter(|one| matches!(one, Ok(removed) if removed.namespaces == 6)).count();
    let unknown = ended.iter().filter(|one| matches!(one, Err(LabError::Unknown { .. }))).count();
    assert_eq!((removed, unknown), (1, 3), "{ended:?}");
}

pub(crate) fn a_second_lab_with_an_existing_name_is_refused() {
    let _others = among_others();
    let (one, two) = (name(), name());
    let _down = [Down(one.clone()), Down(two.clone())];
    up(&one, &star()).unwrap();
    let error = up(&one, &star()).unwrap_err().to_string();
    assert!(
        error.contains(&format!("lab {one} is already up: remove it with `wayleave lab down --name {one}`")),
        "{error}"
    );
    assert_eq!(labs().status(&one).unwrap().missing, [""; 0], "the first is as it was");
    up(&two, &star()).unwrap();
    labs().down(&one).unwrap();
    assert_eq!((namespaces(&one).len(), namespaces(&two).len()), (0, 6));
}

pub(crate) fn endpoints_reach_each_other_and_have_the_planned_mtu() {
    let _others = among_others();
    let name = name();
    let _down = Down(name.clone());
    let lab = up(&name, &star()).unwrap();
    let web = lab.plan().endpoint("acme:web").unwrap();
    let inside = Namespace::open(&web.inside.namespace).unwrap();
    let shown = |arguments: &[&str]| wayleave_dataplane::net::output(&inside, "ip", arguments).unwrap();
    let neighbours = shown(&["neigh", "show"]);
    assert_eq!(neighbours.matches("PERMANENT").count(), 2, "{neighbours}");
    let link = shown(&["link", "show", "eth0"]);
    let mac = web.mac.map(|byte| format!("{byte:02x}")).join(":");
    assert!(link.contains("mtu 1500") && link.contains(&mac) && link.contains("UP"), "{link}");
    let address = shown(&["addr", "show", "eth0"]);
    assert!(address.contains("inet 10.0.0.3/8") && !address.contains("inet6"), "{address}");
}

pub(crate) fn programs_of_a_lab_outlive_their_starter_and_end_with_the_lab() {
    let _others = among_others();
    let name = name();
    let _down = Down(name.clone());
    let lab = up(&name, &star()).unwrap();
    // It does not listen to the polite signal, and has a child.
    let script = "trap '' TERM; sleep 1000 & while :; do sleep 1; done";
    let program = ProcessSpec {
        name: "stubborn".to_owned(),
        file: "/bin/sh".into(),
        arguments: vec!["-c".to_owned(), script.to_owned()],
        environment: Vec::new(),
    };
    let process = lab.start(&program).unwrap();
    let running = labs().status(&name).unwrap().programs;
    assert!(running.contains(&process), "{running:?}");
    // A program is found from the moment it is started on, not only once the kernel has loaded it.
    let environment = fs::read(format!("/proc/{}/environ", lab.start(&program).unwrap().pid)).unwrap();
    assert!(!environment.is_empty());
    let missing = ProcessSpec { name: "nobody".to_owned(), file: "/nonexistent".into(), ..program };
    assert!(lab.start(&missing).unwrap_err().to_string().contains("cannot start nobody"));
    assert!(labs().down(&name).unwrap().programs >= 1);
    let state = fs::read_to_string(format!("/proc/{}/stat", process.pid)).unwrap_or_default();
    assert!(state.is_empty() || state.contains(") Z "), "it runs on: {state}");
}

/// The variable that makes this program one that sets up a lab.
pub(crate) const CHILD: &str = "WAYLEAVE_TEST_LAB";

pub(crate) fn set_up(name: &str) {
    up(&LabName::new(name).unwrap(), &fat_tree()).unwrap();
}

/// Returns `true` if a fat tree's lab is made up to `step`: its folder, then a growing number of its 53 namespaces,
/// then of the pins of its 20 switches.
fn is_made(name: &LabName, step: usize) -> bool {
    match step {
        0 => labs().list().contains(&name.to_string()),
        1..=6 => namespaces(name).len() >= step * 8,
        _ => {
            let pins = labs_folder().join(name.as_str()).join("bpf");
            fs::read_dir(pins).is_ok_and(|pins| pins.count() > (step - 7) * 4)
        }
    }
}

pub(crate) fn a_lab_killed_during_its_creation_can_be_removed_completely() {
    let _others = among_others();
    let mut half_made = 0;
    for round in 0..12 {
        let name = name();
        let before = traces(&name);
        let _down = Down(name.clone());
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.env(CHILD, name.as_str());
        let mut child = child.stdout(Stdio::null()).spawn().unwrap();
        // The first is killed as soon as there is anything, the others when ever more is there: never by the time.
        let mut ended = None;
        while !is_made(&name, round) && ended.is_none() {
            sleep(Duration::from_millis(1));
            ended = child.try_wait().unwrap();
        }
        assert!(ended.is_none_or(|code| code.success()), "round {round}: it could not set up its lab");
        child.kill().unwrap();
        child.wait().unwrap();

        match labs().status(&name) {
            Ok(status) if status.stage == Stage::Building => {
                half_made += 1;
                let error = labs().open(&name).unwrap_err().to_string();
                assert!(error.contains("incomplete: `wayleave lab down"), "{error}");
                let again = up(&name, &star()).unwrap_err().to_string();
                assert!(again.contains("is incomplete"), "{again}");
            }
            _ => {}
        }
        labs().down(&name).unwrap();
        assert_eq!((namespaces(&name), traces(&name)), (Vec::new(), before), "round {round}");
        // The name is free again.
        up(&name, &star()).unwrap();
        labs().down(&name).unwrap();
    }
    assert!(half_made >= 3, "only {half_made} of 12 were killed in the middle");
}

pub(crate) fn a_refusal_of_the_kernel_is_reported_and_leaves_nothing() {
    let _others = among_others();
    let name = name();
    let _down = Down(name.clone());
    let squatter = format!("{}h2", name.prefix());
    Namespace::create([squatter.as_str()]).unwrap();
    let error = up(&name, &star()).unwrap_err().to_string();
    assert!(error.contains(&format!("netns add {squatter}")) && error.contains("File exists"), "{error}");
    assert_eq!((namespaces(&name), labs().list().contains(&name.to_string())), (Vec::new(), false));
}
