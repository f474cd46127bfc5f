//! What the processor itself says was executed: the trap flag stops it after every instruction.

use std::collections::BTreeMap;

use crate::cpu::fuzz_end;
use crate::memory::CODE_SIZE;
use crate::seen::Run;

/// Executions and passages, by addresses.
struct Seen {
    /// The instruction that is being executed.
    now: u64,
    executed: BTreeMap<u64, u64>,
    passages: BTreeMap<(u64, u64), u64>,
}

static mut SEEN: Seen = Seen {
    now: 0,
    executed: BTreeMap::new(),
    passages: BTreeMap::new(),
};

fn seen() -> &'static mut Seen {
    // SAFETY: one thread; the handler runs only while a sequence does.
    unsafe {
        let place = &raw mut SEEN;
        &mut *place
    }
}

/// After an instruction; `rip` is the next. Whether it is the end.
pub fn step(run: &Run, rip: u64) -> bool {
    let seen = seen();
    let inside = |at: u64| (run.base..run.base + CODE_SIZE as u64).contains(&at);
    // A repeated string instruction traps after each time.
    if inside(seen.now) && seen.now != rip {
        *seen.executed.entry(seen.now).or_default() += 1;
        let offset = seen.now.wrapping_sub(run.at);
        let index = run
            .starts
            .partition_point(|start| u64::from(*start) <= offset);
        let next = run
            .starts
            .get(index)
            .map_or(run.length, |start| u64::from(*start));
        if offset < run.length && rip != run.at + next {
            *seen.passages.entry((seen.now, rip)).or_default() += 1;
        }
    }
    seen.now = rip;
    rip == fuzz_end as *const () as u64
}

/// After a fault it goes on there.
pub fn resumed(rip: u64) {
    seen().now = rip;
}

/// Prints all.
pub fn print(base: u64) {
    for (at, count) in &seen().executed {
        println!("executed {:x} {count}", at - base);
    }
    for ((from, to), count) in &seen().passages {
        println!("passage {:x} {to:x} {count}", from - base);
    }
}
