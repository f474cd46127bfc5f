//! Tests of the launcher's `procstat.rs`, which is compiled here only for them.

use proptest::prelude::*;

use crate::procstat::{Process, bytes_read, mark_descendants, number, parse};

#[test]
fn a_name_may_hold_parentheses() {
    let process = parse(7, b"7 (a) R 1 (b) S 42 7 7 0").expect("a process");
    assert_eq!((process.pid, process.parent, process.alive), (7, 42, true));
    assert!(!parse(8, b"8 (x) Z 42 8").expect("a zombie").alive);
    assert_eq!(parse(9, b"9 (cut off"), None);
    assert_eq!(parse(9, b"9 (cut) "), None);
}

#[test]
fn bytes_of_reading_calls_are_those_of_the_account() {
    let account = b"rchar: 18446744073709551615\nwchar: 9\nsyscr: 3\n";
    assert_eq!(bytes_read(account), Some(u64::MAX));
    for text in [
        &b""[..],
        b"wchar: 1\n",
        b"rchar: \n",
        b"rchar: 1x\n",
        b"rchar: 18446744073709551616\n",
    ] {
        assert_eq!(bytes_read(text), None);
    }
}

#[test]
fn numbers_that_are_none() {
    assert_eq!(number(b"4194304"), Some(4_194_304));
    for text in [&b""[..], b"self", b"1a", b"99999999999"] {
        assert_eq!(number(text), None);
    }
}

#[test]
fn descent_goes_through_parents_with_larger_ids() {
    let process = |pid, parent| Process {
        pid,
        parent,
        alive: true,
        ours: false,
    };
    // 10 is the root; 5 descends from it through 30 and 20.
    let mut table = [
        process(1, 0),
        process(5, 30),
        process(10, 1),
        process(20, 10),
        process(30, 20),
        process(40, 1),
    ];
    mark_descendants(&mut table, 10);
    let ours: Vec<i32> = table.iter().filter(|p| p.ours).map(|p| p.pid).collect();
    assert_eq!(ours, [5, 20, 30]);
}

proptest! {
    #[test]
    fn any_bytes_parse_or_not(line in prop::collection::vec(any::<u8>(), 0..80)) {
        let _ = parse(1, &line);
    }

    #[test]
    fn marking_agrees_with_walking_up(parents in prop::collection::vec(0usize..40, 1..40)) {
        let mut table: Vec<Process> = parents.iter().enumerate()
            .map(|(at, &parent)| Process { pid: at as i32 + 1, parent: parent as i32, alive: true, ours: false })
            .collect();
        mark_descendants(&mut table, 1);
        for process in &table {
            let mut at = process.parent;
            let mut steps = 0;
            while at != 1 && at > 0 && (at as usize) <= parents.len() && steps < 100 {
                at = parents[at as usize - 1] as i32;
                steps += 1;
            }
            prop_assert_eq!(process.ours, at == 1);
        }
    }
}
