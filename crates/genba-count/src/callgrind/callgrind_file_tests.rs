use super::*;
use proptest::prelude::*;

fn parse(text: &str) -> Result<CallgrindCounts, ParseError> {
    let mut dump = CallgrindCounts::default();
    dump.add(text.as_bytes())?;
    Ok(dump)
}

fn count(dump: &CallgrindCounts, object: &str, address: u64) -> Option<u64> {
    let object = dump.objects.iter().position(|name| name == object)? as u32;
    dump.counts.get(&Position { object, address }).copied()
}

const SMALL: &str = "# callgrind format\nversion: 1\npid: 7\ncmd:  ./a b\npart: 2\n\n\
positions: instr line\nevents: Ir\nsummary: 9\n\n\
ob=(1) /bin/a\nfl=(1) a.c\nfn=(1) main\n0x10 3 2\n+5 * 1\n\
cob=(2) /lib/b\ncfi=(2) b.c\ncfn=(2) f\ncalls=4 0x99 1\n* * 700\n+3 +1 1\n\
jcnd=5/6 -8 0\n* *\n+2 -1 6\njump=2 0x10 3\n*\n\
cfn=(3) (below main)\ncalls=1 +1\n* 9\n\
\nob=(2)\nfn=(2)\n0x99 1 8\n\ntotals: 18\n";

#[test]
fn relative_positions_and_name_numbers_are_resolved() {
    let dump = parse(SMALL).expect("a good file");
    assert_eq!(
        (dump.pid, dump.part, dump.command.as_str()),
        (Some(7), 2, "./a b")
    );
    assert_eq!(dump.summary, 18);
    let at = |address| count(&dump, "/bin/a", address);
    assert_eq!(
        (at(0x10), at(0x15), at(0x18), at(0x1a)),
        (Some(2), Some(1), Some(1), Some(6))
    );
    assert_eq!(count(&dump, "/lib/b", 0x99), Some(8));
    // Inclusive costs of calls are not executions.
    assert_eq!(dump.counts.values().sum::<u64>(), 18);
    let object = |name: &str| dump.objects.iter().position(|n| n == name).unwrap() as u32;
    let place = |name: &str, address| Position {
        object: object(name),
        address,
    };
    assert_eq!(
        dump.calls[&(place("/bin/a", 0x15), place("/lib/b", 0x99))],
        4
    );
    // Without `cob=`, the callee is in the caller's object.
    assert_eq!(
        dump.calls[&(place("/bin/a", 0x1a), place("/bin/a", 0x1b))],
        1
    );
    assert_eq!(
        dump.jumps[&(place("/bin/a", 0x18), place("/bin/a", 0x10))],
        5
    );
    assert_eq!(
        dump.jumps[&(place("/bin/a", 0x1a), place("/bin/a", 0x10))],
        2
    );
}

/// As callgrind writes it where the file before ended within a call: the call has inclusive costs,
/// the line that would give its executions is not there.
#[test]
fn positions_are_relative_to_the_last_cost_line() {
    let text = "positions: instr\nevents: Ir\nob=(1) /bin/a\nfn=(1) main\n0x1dde8 1\n+8 1\n\
                jcnd=1/1 +115\n*\ncfn=(2) f\ncalls=0 0xdc20\n+68 368\n+73 1\n\
                jump=1 +9\n+2\n+1 5\ntotals: 8\n";
    let dump = parse(text).expect("a good file");
    let mut places: Vec<(u64, u64)> = (dump.counts.iter())
        .map(|(place, count)| (place.address, *count))
        .collect();
    places.sort_unstable();
    assert_eq!(
        places,
        [(0x1dde8, 1), (0x1ddf0, 1), (0x1de39, 1), (0x1de3a, 5)]
    );
    let call = dump.calls.keys().next().expect("a call").0;
    assert_eq!(call.address, 0x1de34);
}

#[test]
fn files_of_one_process_are_summed() {
    let mut dump = CallgrindCounts::default();
    dump.add(SMALL.as_bytes()).expect("once");
    dump.add(SMALL.as_bytes()).expect("twice");
    assert_eq!(count(&dump, "/bin/a", 0x10), Some(4));
    assert_eq!(dump.summary, 36);
}

#[test]
fn targets_of_stubs_are_known_from_lazy_binding() {
    let text = "positions: instr\nevents: Ir\nob=(1) ???\n\
                fn=(1) 0x0000000000109050 [PLT]\n0x109050 1\n0x109026 1\n\
                cfn=(2) _dl_runtime_resolve_xsave\ncalls=1 0x121c0\n0x109026 600\n\
                cob=(2) /lib/c\ncfn=(3) printf\ncalls=1 0x500\n0x109026 99\n";
    let dump = parse(text).expect("a good file");
    let stubs: Vec<_> = dump.stubs.iter().collect();
    let to = Position {
        object: 1,
        address: 0x500,
    };
    assert_eq!(stubs, [(&(0x10_9050, to), &1)]);
    // ld.so's jump to the function is not one of the stub's.
    assert!(!dump.calls.keys().any(|(_, callee)| *callee == to));
}

#[test]
fn an_invalid_line_is_an_error_that_names_the_line() {
    let error = |text: &str| parse(text).expect_err("nonsense").to_string();
    assert!(error("positions: instr\n0x10 1\nwhat is this\n").starts_with("line 3:"));
    assert!(error("positions: line\n").contains("--dump-instr"));
    assert!(error("events: Dr Ir\n").contains("Ir"));
    assert!(error("positions: instr\n-1 1\n").contains("negative"));
    assert!(error("positions: instr\n0xffffffffffffffff 1\n+1 1\n").contains("overflows"));
    assert!(error("positions: instr\ncalls=1 0x1\n").contains("ends within"));
    assert!(error("positions: instr\ncalls=1 0x1\nfn=f\n").contains("should follow"));
    assert!(error("ob=(3)\n").contains("not named"));
    assert!(error("positions: instr\n0x10 99999999999999999999999\n").contains("not a number"));
}

#[test]
fn an_overlong_line_is_refused() {
    let long = vec![b'x'; 3 << 20];
    let mut dump = CallgrindCounts::default();
    assert!(
        dump.add(long.as_slice())
            .is_err_and(|error| error.to_string().contains("too long"))
    );
}

proptest! {
    #[test]
    fn arbitrary_text_does_not_panic(text in "(fn=|cfn=|ob=|cob=|calls=|jump=|jcnd=|\\(1\\) |\\+|-|\\*| |0x|[0-9a-f]|\n|positions: instr\n|\\PC){0,80}") {
        let _ = parse(&text);
    }

    #[test]
    fn a_damaged_file_does_not_panic(at in 0..SMALL.len(), byte: u8, cut in 0..SMALL.len()) {
        let mut bytes = SMALL.as_bytes().to_vec();
        bytes[at] = byte;
        bytes.truncate(cut.max(1));
        let _ = CallgrindCounts::default().add(bytes.as_slice());
    }

    /// Written absolutely or relatively, the counts are the same.
    #[test]
    fn relative_and_absolute_positions_are_equivalent(lines in prop::collection::vec((0u64..1 << 48, 1u64..1000), 1..50)) {
        let (mut absolute, mut relative) = (String::from("positions: instr\n"), String::from("positions: instr\n"));
        let mut last = 0;
        for (address, count) in &lines {
            absolute += &format!("0x{address:x} {count}\n");
            relative += &match address.cmp(&last) {
                std::cmp::Ordering::Less => format!("-{} {count}\n", last - address),
                std::cmp::Ordering::Equal => format!("* {count}\n"),
                std::cmp::Ordering::Greater => format!("+{} {count}\n", address - last),
            };
            last = *address;
        }
        let (absolute, relative) = (parse(&absolute).unwrap(), parse(&relative).unwrap());
        prop_assert_eq!(&absolute, &relative);
        prop_assert_eq!(absolute.counts.values().sum::<u64>(), lines.iter().map(|(_, count)| count).sum::<u64>());
    }
}
