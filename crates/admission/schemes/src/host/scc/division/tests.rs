use super::*;

fn division() -> Division {
    Division::new(1_000, 4, vec![BrokerId(3), BrokerId(5)])
}

#[test]
fn a_weight_is_the_fraction_of_the_sum_of_reference_weights() {
    let (mut division, params) = (division(), Params::default());
    division.change(0, 100);
    // Equation 3: 1000 / 400; equation 4: times 100.
    division.on_scale(BrokerId(3), (1_000, 400, 100));
    assert_eq!(division.weight(100, &params), Some(250));
    // Another tunnel of this host counts at once: 1000 / 500.
    division.change(0, 100);
    assert_eq!(division.weight(100, &params), Some(200));
    assert_eq!(division.weight(0, &params), None, "nothing wanted: nothing new");
    // The tracker sends another share.
    division.on_scale(BrokerId(3), (2_000, 500, 200));
    assert_eq!(division.weight(100, &params), Some(400));
}

/// Catches: hosts that begin together, or lose their tracker together, and take the whole share each.
#[test]
fn a_host_without_known_peers_has_an_equal_part_of_the_share() {
    let (mut division, params) = (division(), Params::default());
    assert_eq!(division.first_weight(), 250);
    division.change(0, 10);
    division.change(0, 30);
    // Also while trackers are given up, one after the other.
    for _ in 0..20 {
        assert_eq!([10, 30].map(|own| division.weight(own, &params).unwrap()), [62, 187]);
        assert_eq!(division.report(&params).count(), 2);
    }
    // The tracker's last answer is valid for three times its patience, 15 reports with two trackers, and then no
    // more.
    division.on_scale(BrokerId(3), (1_000, 400, 40));
    for _ in 0..15 {
        assert_eq!(division.weight(40, &params), Some(100));
        assert_eq!(division.report(&params).count(), 2);
    }
    assert_eq!(division.weight(40, &params), Some(100));
    assert_eq!(division.report(&params).count(), 2);
    assert_eq!(division.weight(40, &params), Some(250));
}

/// Catches: a host that begins with an equal part each time, although it knows what others want: short flows with near deadlines were late.
#[test]
fn a_division_that_resumes_begins_with_its_earlier_state() {
    let (mut division, params) = (division(), Params::default());
    division.change(0, 40);
    assert_eq!(division.report(&params).count(), 2);
    division.on_scale(BrokerId(3), (1_000, 50, 40));
    division.change(40, 0);
    for _ in 0..100 {
        assert_eq!(division.report(&params).count(), 2);
    }
    division.change(0, 40);
    assert_eq!(division.weight(40, &params), Some(800));
}

#[test]
fn sums_of_any_size_give_weights_that_do_not_exceed_the_share() {
    let (mut division, params) = (division(), Params::default());
    division.change(0, u64::MAX);
    division.change(0, u64::MAX);
    assert_eq!(division.own(), u64::MAX);
    assert_eq!(division.weight(u64::MAX, &params), Some(125));
    division.on_scale(BrokerId(3), (u64::MAX, 0, u64::MAX));
    assert!(division.weight(u64::MAX, &params).unwrap() <= u64::MAX / 2 + 1);
    let empty = Division::new(0, 0, Vec::new());
    assert_eq!(empty.first_weight(), 0);
    assert_eq!(empty.weight(1, &params), Some(0));
}

#[test]
fn a_silent_tracker_is_no_longer_followed() {
    let (mut division, params) = (division(), Params::default());
    division.change(0, 1);
    let wanted = |division: &mut Division| {
        let reports: Vec<_> = division.report(&params).collect();
        assert_eq!(reports.len(), 2, "all trackers hear all reports");
        reports.into_iter().find(|(_, answer)| *answer == ReplyRequest::Wanted).unwrap().0
    };
    for _ in 0..5 {
        assert_eq!(wanted(&mut division), BrokerId(3));
    }
    assert_eq!(wanted(&mut division), BrokerId(5));
    for _ in 0..20 {
        division.on_scale(BrokerId(5), (1, 1, 1));
        assert_eq!(wanted(&mut division), BrokerId(5));
    }
    // A last report states that the sum is zero.
    division.change(1, 0);
    assert!(division.has_report());
    wanted(&mut division);
    assert!(!division.has_report());
}
