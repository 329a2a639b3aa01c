//! The checker of histories finds what has no order.

#![allow(clippy::unwrap_used, reason = "tests assert by panicking")]

use wayleave_faults::linearizable::{ClientOperation, RegisterOperation, violation};

#[test]
fn linearizations_are_found_and_histories_without_one_refused() {
    let op = |did, called, answered| ClientOperation { key: 0, did, called, answered };
    let (wrote, read) = (|value| RegisterOperation::Wrote(Some(value)), |value| RegisterOperation::Read(Some(value)));
    let fine = [
        vec![op(wrote(1), 0, Some(1)), op(read(1), 2, Some(3))],
        // At once, in either order.
        vec![op(wrote(1), 0, Some(5)), op(wrote(2), 0, Some(5)), op(read(1), 6, Some(7))],
        // Without an answer: never, or late.
        vec![
            op(wrote(1), 0, None),
            op(RegisterOperation::Read(None), 1, Some(2)),
            op(RegisterOperation::Read(None), 8, Some(9)),
        ],
        vec![op(wrote(1), 0, None), op(RegisterOperation::Read(None), 1, Some(2)), op(read(1), 8, Some(9))],
    ];
    for history in fine {
        assert!(violation(&history).is_none(), "{history:?}");
    }
    let wrong = [
        // A stale read, a lost write, a read without a write, and a write that disappears.
        vec![op(wrote(1), 0, Some(1)), op(wrote(2), 2, Some(3)), op(read(1), 4, Some(5))],
        vec![op(wrote(1), 0, Some(1)), op(RegisterOperation::Read(None), 2, Some(3))],
        vec![op(read(1), 0, Some(1))],
        vec![op(wrote(1), 0, None), op(read(1), 1, Some(2)), op(RegisterOperation::Read(None), 3, Some(4))],
    ];
    for history in wrong {
        assert_eq!(violation(&history).unwrap().0, 0, "{history:?}");
    }
}
