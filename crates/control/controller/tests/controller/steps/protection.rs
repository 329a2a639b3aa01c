//! Protected contracts of which a failure cuts one route and not all.

use wayleave_controller::{Command, Controller, ElementName, EnforcedBy, EventKind, Id, Outcome};

use super::smoke::{apply, at, order, reload, setup};

fn turn(controller: &mut Controller, link: &str, is_down: bool) {
    let down = is_down.then(|| "a test".to_owned());
    let command = Command::SetElement { element: ElementName::Link(link.to_owned()), down };
    controller.handle(at(5), command).unwrap();
}

fn notices(controller: &mut Controller) -> Vec<(EventKind, String)> {
    let events = controller.take_output().events.into_iter().filter(|event| event.object == "default:a");
    events.map(|event| (event.kind, event.detail)).collect()
}

#[test]
fn a_cut_route_of_several_is_reported_and_so_is_its_repair() {
    let setup = setup(EnforcedBy::Hosts);
    let mut controller = Controller::load(&setup, at(0).wall, []).unwrap();
    let id = Id::new("default", "a");
    let mut protected = order(&setup.network, "a", "h1", "h16");
    let wayleave_contracts::Contract::Latency(terms) = &mut protected.contract else { panic!("a latency contract") };
    terms.protection = 2;
    assert_eq!(apply(&mut controller, at(1), protected).result, Ok(Outcome::Created));
    // A cable of the second route between switches, which the first does not use.
    let routes = controller.routes(controller.grant(&id).unwrap());
    assert_eq!(routes.len(), 2);
    let link = setup.network.link(routes[1].1.hops[2].link).name.clone();
    let other = setup.network.link(routes[0].1.hops[2].link).name.clone();
    notices(&mut controller);

    turn(&mut controller, &link, true);
    assert_eq!(controller.grant(&id).unwrap().cut_routes(), 1);
    let [(kind, detail)] = &notices(&mut controller)[..] else { panic!("one event") };
    assert_eq!(*kind, EventKind::ProtectionLost);
    assert!(detail.starts_with("1 of 2 disjoint routes are down: link"), "{detail}");
    assert_eq!(reload(&controller, &setup).grant(&id).unwrap().cut_routes(), 1, "it is known after a start");

    turn(&mut controller, &link, false);
    assert_eq!(controller.grant(&id).unwrap().cut_routes(), 0);
    assert_eq!(notices(&mut controller)[0].0, EventKind::ProtectionRestored);

    // Both routes are cut: the contract takes another route, or is degraded; none of its present routes is cut then.
    turn(&mut controller, &link, true);
    turn(&mut controller, &other, true);
    let grant = controller.grant(&id).unwrap();
    assert!(grant.cut_routes() == 0 || grant.degraded_reason.is_some(), "{grant:?}");
}
