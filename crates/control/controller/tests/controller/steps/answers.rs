//! Answers that are remembered: for a day, and at the expense of the account that asked.

use wayleave_controller::{Controller, ControllerConfig, NewAnswer};
use wayleave_units::WallTime;

use super::smoke::setup;

const DAY_NS: u64 = 24 * 3600 * 1_000_000_000;

fn at(ns: u64) -> WallTime {
    WallTime::from_nanos(1_700_000_000_000_000_000 + ns)
}

fn remember(controller: &mut Controller, now: WallTime, account: &str, key: &str, bytes: usize) {
    let (fingerprint, answer) = ("f".to_owned(), "a".repeat(bytes));
    controller.remember(now, key, NewAnswer { account, fingerprint, answer });
}

fn controller(setup: &ControllerConfig) -> Controller {
    Controller::load(setup, at(0), []).unwrap()
}

#[test]
fn no_account_evicts_the_answers_of_another() {
    let setup = setup(wayleave_controller::EnforcedBy::Nobody);
    let mut controller = controller(&setup);
    remember(&mut controller, at(0), "acme", "t-1/mine", 100);
    // More answers than were kept of all tenants together once.
    let mut kept = 0;
    while controller.check_answers(at(1), "noisy", 1 << 20).is_ok() {
        remember(&mut controller, at(1), "noisy", &format!("t-2/{kept}"), 100);
        kept += 1;
    }
    assert!((1_000..20_000).contains(&kept), "{kept} answers in a MiB");
    assert!(controller.answer_bytes() < (1 << 20) + 2_000, "{} B", controller.answer_bytes());
    assert!(controller.recall("t-1/mine").is_some());
    assert!(controller.recall("t-2/0").is_some(), "its own are remembered for a day, too");
    assert!(controller.check_answers(at(1), "acme", 1 << 20).is_ok());

    let full = controller.check_answers(at(DAY_NS), "noisy", 1 << 20).unwrap_err();
    assert_eq!(full.until, at(1 + DAY_NS));
    assert!(controller.check_answers(at(DAY_NS + 2), "noisy", 1 << 20).is_ok(), "a day later they are forgotten");
    assert!(controller.recall("t-2/0").is_none() && controller.recall("t-1/mine").is_none());
    assert_eq!(controller.answer_bytes(), 0);
}

#[test]
fn sizes_of_stored_answers_are_known_after_a_restart() {
    let setup = setup(wayleave_controller::EnforcedBy::Nobody);
    let mut first = controller(&setup);
    for number in 0..10 {
        remember(&mut first, at(0), "acme", &format!("t-1/{number}"), 1_000);
    }
    // Asked again with the same key after it was forgotten: counted once.
    remember(&mut first, at(0), "acme", "t-1/0", 2_000);
    let records = first.records();
    let records = records.iter().filter_map(|one| Some((one.kind, one.key.as_str(), one.body.as_deref()?)));
    let mut second = Controller::load(&setup, at(1), records).unwrap();
    assert_eq!(second.answer_bytes(), first.answer_bytes());
    assert_eq!(second.check_answers(at(1), "acme", 1_000).unwrap_err().used, first.answer_bytes());
}
