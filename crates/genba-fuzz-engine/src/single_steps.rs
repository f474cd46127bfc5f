//! Single-stepping by the trap flag: executions and branches as the processor makes them.

use std::collections::BTreeMap;

use crate::fault_observer::SequenceRun;
use crate::processor_state::fuzz_end;
use crate::test_memory::CODE_SIZE;

/// Executions and taken branches, by address.
struct Executions {
    /// The instruction that is being executed.
    now: u64,
    executed: BTreeMap<u64, u64>,
    branches: BTreeMap<(u64, u64), u64>,
}

static mut EXECUTIONS: Executions = Executions {
    now: 0,
    executed: BTreeMap::new(),
    branches: BTreeMap::new(),
};

fn executions() -> &'static mut Executions {
    // SAFETY: one thread; the handler runs only while a sequence does.
    unsafe {
        let place = &raw mut EXECUTIONS;
        &mut *place
    }
}

/// Called after each instruction; `rip` is the next. Returns whether it is the end.
pub fn step(run: &SequenceRun, rip: u64) -> bool {
    let executions = executions();
    let inside = |at: u64| (run.base..run.base + CODE_SIZE as u64).contains(&at);
    // A repeated string instruction traps after each iteration.
    if inside(executions.now) && executions.now != rip {
        *executions.executed.entry(executions.now).or_default() += 1;
        let offset = executions.now.wrapping_sub(run.at);
        let index = run
            .starts
            .partition_point(|start| u64::from(*start) <= offset);
        let next = run
            .starts
            .get(index)
            .map_or(run.length, |start| u64::from(*start));
        if offset < run.length && rip != run.at + next {
            *executions
                .branches
                .entry((executions.now, rip))
                .or_default() += 1;
        }
    }
    executions.now = rip;
    rip == fuzz_end as *const () as u64
}

/// Notes that execution resumes at an address after a fault.
pub fn resumed(rip: u64) {
    executions().now = rip;
}

/// Prints executions and branches.
pub fn print(base: u64) {
    for (at, count) in &executions().executed {
        println!("executed {:x} {count}", at - base);
    }
    for ((from, to), count) in &executions().branches {
        println!("branch {:x} {to:x} {count}", from - base);
    }
}
