//! How much of a run was counted, where the count ended before the run did. Pure.
//!
//! Neither run tells the other how far it came: a virtual machine has no counter of instructions. What the engine
//! adds to a run is known roughly, by what it adds to each jump and each call; the rest of the CPU time of the
//! counted part is what that part takes by itself. The counts are multiplied so that they are of the whole run, as if
//! all of it were like its first part.

use std::collections::HashMap;

use genba_model::{CodePoint, RawCounts, Transfer, TransferKind};

/// What counting adds to a jump that is taken, to a call with its return, and to either besides where its target is
/// looked up (another module's, by way of the PLT; one of several, as an interpreter's), seconds. Chosen by 19 programs
/// counted whole on an AMD EPYC, whose own time is right by them within 1.3 times for 13 and within 1.65 for all. For six
/// others (gzip, md5sum, mawk, sort, perl, cc1plus) it is right within 1.0 to 2.0 times.
const SECONDS_ADDED_TO_JUMP: f64 = 0.65e-9;
const SECONDS_ADDED_TO_CALL: f64 = 4.5e-9;
const SECONDS_ADDED_TO_LOOK_UP: f64 = 8.0e-9;

/// The largest factor by which a part takes longer while it is counted; an interpreter of the 19 took 5.3 times as long.
const MAX_SLOWDOWN: f64 = 6.0;

/// Instructions that a program executes a second at most: the fastest of the 19 had as many. What is added to a loop as
/// fast as that runs beside it.
const MAX_INSTRUCTIONS_PER_SECOND: f64 = 1.0e10;

/// What counting the jumps and calls of a process adds to its CPU time, seconds.
fn seconds_added(transfers: &[Transfer]) -> f64 {
    let mut targets: HashMap<(TransferKind, CodePoint), u32> = HashMap::new();
    for one in transfers {
        *targets.entry((one.kind, one.from)).or_default() += 1;
    }
    transfers
        .iter()
        .map(|one| {
            let is_inside = one.from.module == one.to.module;
            let is_one_of_several = targets[&(one.kind, one.from)] > 1;
            // A stub of the PLT is a jump: what it adds counts with the call.
            let (each, is_looked_up) = match one.kind {
                TransferKind::Jump => (SECONDS_ADDED_TO_JUMP, is_inside && is_one_of_several),
                TransferKind::Call => (SECONDS_ADDED_TO_CALL, !is_inside || is_one_of_several),
            };
            let look_up = match is_looked_up {
                true => SECONDS_ADDED_TO_LOOK_UP,
                false => 0.0,
            };
            (each + look_up) * one.count as f64
        })
        .sum()
}

/// The CPU time that the counted part takes without being counted, seconds.
fn native_seconds(raw: &RawCounts) -> f64 {
    let modules = raw.processes.iter().flat_map(|one| &one.modules);
    let counts = modules.flat_map(|one| &one.instructions);
    let instructions: f64 = counts.map(|one| one.count as f64).sum();
    let least = (instructions / MAX_INSTRUCTIONS_PER_SECOND).max(raw.cpu_seconds / MAX_SLOWDOWN);
    let added = raw
        .processes
        .iter()
        .map(|one| seconds_added(&one.transfers));
    (raw.cpu_seconds - added.sum::<f64>())
        .max(least)
        .min(raw.cpu_seconds)
}

/// What the counts of the first part of a run are to be multiplied with to be of all `seconds` of its CPU time; at
/// least 1.
pub(crate) fn whole_by_part(raw: &RawCounts, seconds: f64) -> f64 {
    let whole = seconds / native_seconds(raw);
    if whole.is_finite() {
        whole.max(1.0)
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use genba_model::{CountEngine, ProcessCounts};

    use super::*;

    fn transfer(kind: TransferKind, from: u64, to: (u32, u64), count: u64) -> Transfer {
        let point = |module, address| CodePoint { module, address };
        Transfer {
            kind,
            from: point(0, from),
            to: point(to.0, to.1),
            count,
        }
    }

    fn counted(cpu_seconds: f64, transfers: Vec<Transfer>) -> RawCounts {
        RawCounts {
            engine: CountEngine {
                name: "genba".to_owned(),
                version: "1".to_owned(),
                gaps: Vec::new(),
            },
            command: Vec::new(),
            cpu_seconds,
            wall_seconds: cpu_seconds,
            exit: 124,
            transfers: true,
            transfers_within: Vec::new(),
            processes: vec![ProcessCounts {
                pid: 1,
                command: Vec::new(),
                cut_short: Some("time limit reached".to_owned()),
                modules: Vec::new(),
                transfers,
                generated: Vec::new(),
                notes: Vec::new(),
                observation: None,
            }],
            notes: Vec::new(),
        }
    }

    #[test]
    fn a_part_without_calls_takes_as_long_as_its_count() {
        assert!((whole_by_part(&counted(5.0, Vec::new()), 20.0) - 4.0).abs() < 1e-9);
        // A run is never shorter than its part.
        assert_eq!(whole_by_part(&counted(5.0, Vec::new()), 2.0), 1.0);
    }

    #[test]
    fn what_counting_adds_is_not_a_part_of_the_run() {
        const MANY: u64 = 100_000_000;
        let (call, jump) = (TransferKind::Call, TransferKind::Jump);
        let inside = transfer(call, 1, (0, 10), MANY);
        let outside = transfer(call, 2, (1, 10), MANY);
        // 1.7 of 5 s are added to calls within the module and to as many to others.
        let whole = whole_by_part(&counted(5.0, vec![inside, outside]), 33.0);
        assert!((whole - 10.0).abs() < 1e-6, "{whole}");
        // A jump to one of two places is looked up, one to a place alone and the stub of a call are not.
        let one = transfer(jump, 3, (0, 20), MANY);
        let other = transfer(jump, 3, (0, 30), MANY);
        let stub = [(1, 40), (1, 50)].map(|to| transfer(jump, 4, to, MANY));
        let [alone, of_two, stubs] = [vec![one], vec![one, other], stub.to_vec()]
            .map(|all| 1.0 / whole_by_part(&counted(5.0, all), 1000.0));
        let added = |jumps: f64, look_ups: f64| (5.0 - jumps * 0.065 - look_ups * 0.8) / 1000.0;
        assert!((alone - added(1.0, 0.0)).abs() < 1e-9, "{alone}");
        assert!((of_two - added(2.0, 2.0)).abs() < 1e-9, "{of_two}");
        assert!((stubs - added(2.0, 0.0)).abs() < 1e-9, "{stubs}");
        // However many, some of the time is the program's.
        let all = counted(6.0, vec![transfer(call, 1, (0, 10), u64::MAX)]);
        assert!((whole_by_part(&all, 10.0) - 10.0).abs() < 1e-9);
    }

    #[test]
    fn times_that_say_nothing_leave_the_counts_as_they_are() {
        assert_eq!(whole_by_part(&counted(0.0, Vec::new()), 0.0), 1.0);
        assert_eq!(whole_by_part(&counted(0.0, Vec::new()), 5.0), 1.0);
    }
}
