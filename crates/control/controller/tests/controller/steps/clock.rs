//! A clock that is wrong ends no contract.

use wayleave_controller::{Controller, ControllerConfig, EnforcedBy, Id, Outcome, Timeouts, Timestamps, Uptime};
use wayleave_units::{Time, WallTime};

use super::smoke::{apply, at, order, setup};

const HOUR: u64 = 3_600_000;

/// Returns clocks of which the steady one shows `ms`, and the calendar is ahead by `by`, in ms.
fn ahead(ms: u64, by: u64) -> Timestamps {
    Timestamps { steady: at(ms).steady, wall: at(ms + by).wall }
}

/// A controller with a contract that ends after a day.
fn controller(setup: &ControllerConfig) -> Controller {
    let mut controller = Controller::load(setup, at(0).wall, []).unwrap();
    let mut order = order(&setup.network, "a", "h1", "h16");
    order.ends = Some(at(24 * HOUR).wall);
    assert_eq!(apply(&mut controller, at(1), order).result, Ok(Outcome::Created));
    controller
}

fn is_there(controller: &Controller) -> bool {
    controller.grant(&Id::new("default", "a")).is_some_and(|grant| !grant.is_ended())
}

fn load(controller: &Controller, setup: &ControllerConfig, wall: WallTime) -> Controller {
    let records: Vec<_> = controller.records();
    let records = records.iter().filter_map(|one| Some((one.kind, one.key.as_str(), one.body.as_deref()?)));
    Controller::load(setup, wall, records).unwrap()
}

#[test]
fn a_clock_step_ends_no_contract_and_is_trusted_after_an_hour() {
    let setup = setup(EnforcedBy::Nobody);
    let mut controller = controller(&setup);
    controller.tick(ahead(10_000, 48 * HOUR));
    assert!(is_there(&controller));
    assert_eq!(controller.clock_ahead(), Some(Time::from_millis(48 * HOUR)));
    // Nothing is due before the hour is over, so the driver does not poll.
    assert_eq!(controller.due().0, Some(at(10_000 + HOUR).steady));
    assert!(controller.due().1 > Some(at(48 * HOUR + 10_000).wall));
    controller.tick(ahead(20_000, 0));
    assert_eq!((is_there(&controller), controller.clock_ahead()), (true, None));
    controller.tick(ahead(30_000, 48 * HOUR));
    controller.tick(ahead(30_000 + HOUR, 48 * HOUR));
    assert_eq!((is_there(&controller), controller.clock_ahead()), (false, None));
}

#[test]
fn a_contract_ends_on_time_during_a_clock_hold_down() {
    let setup = setup(EnforcedBy::Nobody);
    let mut controller = controller(&setup);
    controller.tick(at(24 * HOUR - 60_000));
    controller.tick(ahead(24 * HOUR - 30_000, 5 * HOUR));
    assert!(is_there(&controller) && controller.clock_ahead().is_some());
    controller.tick(ahead(24 * HOUR, 5 * HOUR));
    assert!(!is_there(&controller) && controller.clock_ahead().is_some());
}

#[test]
fn a_start_with_a_wrong_clock_ends_nothing_without_confirmation() {
    let setup = setup(EnforcedBy::Nobody);
    let mut first = controller(&setup);
    let wall = at(48 * HOUR).wall;
    let begin = |setup: &ControllerConfig, from: &Controller| {
        let mut controller = load(from, setup, wall);
        controller.tick(Timestamps { steady: Time::ZERO, wall });
        is_there(&controller)
    };
    assert!(begin(&setup, &first));
    let believing =
        ControllerConfig { timing: Timeouts { clock_hold_down: Time::ZERO, ..setup.timing }, ..setup.clone() };
    assert!(!begin(&believing, &first));
    // A server that is ended writes the time down, and is not away for long.
    first.keep_time(at(24 * HOUR - 30_000));
    let mut second = load(&first, &setup, at(24 * HOUR - 10_000).wall);
    assert_eq!(second.clock_ahead(), None);
    second.tick(Timestamps { steady: Time::from_millis(10_000), wall: at(24 * HOUR).wall });
    assert!(!is_there(&second));
}

#[test]
fn a_restart_after_a_long_time_is_no_clock_step_in_the_same_boot() {
    let setup = setup(EnforcedBy::Nobody);
    let uptime = |boot, hours: u64| Uptime { boot: (boot, 7), nanos: hours * HOUR * 1_000_000 };
    let restart = |then: Option<Uptime>, now: Option<Uptime>| {
        let mut controller = Controller::load(&setup, at(0).wall, []).unwrap();
        if let Some(uptime) = then {
            controller.set_uptime(at(0), uptime);
        }
        let mut order = order(&setup.network, "a", "h1", "h16");
        order.ends = Some(at(24 * HOUR).wall);
        assert_eq!(apply(&mut controller, at(1), order).result, Ok(Outcome::Created));
        // The controller was down for 30 hours: its contract has ended since.
        let mut again = load(&controller, &setup, at(30 * HOUR).wall);
        let begin = Timestamps { steady: Time::ZERO, wall: at(30 * HOUR).wall };
        if let Some(uptime) = now {
            again.set_uptime(begin, uptime);
        }
        again.tick(begin);
        (is_there(&again), again.clock_ahead().is_some())
    };
    assert_eq!(restart(Some(uptime(1, 5)), Some(uptime(1, 35))), (false, false));
    assert_eq!(restart(None, None), (true, true), "nothing tells how long it was");
    assert_eq!(restart(Some(uptime(1, 5)), Some(uptime(2, 35))), (true, true), "another boot");
    assert_eq!(restart(Some(uptime(1, 5)), Some(uptime(1, 6))), (true, true), "an hour passed, and the clock says 30");
}
