//! `false-sharing`: threads write to different variables that lie in one cache line.
//!
//! **Signature.** Several threads work; a loop writes to an address that does not change from
//! round to round, so the line should stay in the first cache; yet a round takes several times
//! what its chain and its instructions explain. Locked instructions on an address that is fixed
//! in the program are a counter that is truly shared, which is another matter.
//!
//! **Confirmation.** One CPU alone, where no other core can take the line: the CPU time falls.
//! Where that run was made and does not fall, nothing is said. Padding to 64 bytes (128 on
//! processors that fetch lines in pairs) is the proof.
//!
//! **Gain.** From the run on one CPU; else from the loop's model.
//!
//! **Source.** W. Bolosky, M. Scott, *False sharing and its effect on shared memory performance*,
//! SEDMS 1993.

use genba_code::STACK_POINTER;

use super::candidate::Candidate;
use super::frame::{Frame, FunctionFrame};
use super::hot_loops::{HotLoop, hot_loops};
use super::user_lines::remains_of;
use super::words::{count, cycles, percent};

/// Identifier.
pub const ID: &str = "false-sharing";

/// Share of the time of the loop from which it is worth a word.
const LEAST_SHARE: f64 = 0.1;

/// CPU time over that on one CPU, from which threads must disturb each other.
const LEAST_FALL: f64 = 1.4;

/// A round must take so many times what the model explains.
const LEAST_EXCESS: f64 = 3.0;

/// Cycles for each write beyond the model; twice that where no run on one CPU was made.
const LEAST_CYCLES: f64 = 10.0;

/// Looks for it.
#[must_use]
pub fn detect(frame: &Frame) -> Vec<Candidate> {
    let program = &frame.program;
    if program.threads < 2 {
        return Vec::new();
    }
    let fall = program
        .one_cpu_seconds
        .map(|alone| program.cpu_seconds / alone.max(1e-9));
    if fall.is_some_and(|fall| fall < LEAST_FALL) {
        return Vec::new();
    }
    suspects(frame)
        .into_iter()
        .filter_map(|one| candidate(frame, &one, fall))
        .collect()
}

/// Whether a run on one CPU would be worth its time.
#[must_use]
pub fn is_suspected(frame: &Frame) -> bool {
    frame.program.threads >= 2 && !suspects(frame).is_empty()
}

struct Suspect<'a> {
    around: HotLoop<'a>,
    writes: Vec<usize>,
    /// What the model explains of a round.
    explained: f64,
    /// Cycles beyond it for each write.
    excess: f64,
}

fn suspects(frame: &Frame) -> Vec<Suspect<'_>> {
    let loops = hot_loops(frame, LEAST_SHARE).into_iter();
    loops
        .filter_map(|around| {
            let function = around.frame;
            if !function.own {
                return None;
            }
            let writes: Vec<usize> = around
                .members
                .iter()
                .copied()
                .filter(|&at| is_fixed_write(function, at, around.index))
                .collect();
            let rounds = around.cost.iterations.max(1) as f64;
            let written: f64 = writes
                .iter()
                .map(|&at| function.counts[at] as f64)
                .sum::<f64>()
                / rounds;
            let parts = [around.cost.chain_cycles, around.cost.throughput_cycles];
            let explained = parts
                .iter()
                .flatten()
                .map(|part| part.value)
                .fold(0.0, f64::max);
            let excess = (around.cycles.value - explained) / written.max(1e-9);
            (!writes.is_empty()
                && written > 0.05
                && explained > 0.0
                && around.cycles.value > LEAST_EXCESS * explained
                && excess > LEAST_CYCLES)
                .then_some(Suspect {
                    around,
                    writes,
                    explained,
                    excess,
                })
        })
        .collect()
}

/// A write to memory, not to the stack, at the same address in each round.
fn is_fixed_write(function: &FunctionFrame, at: usize, index: u32) -> bool {
    let code = &function.code[at];
    if !code.writes_memory || function.counts[at] == 0 || code.is_lock && code.data_target.is_some()
    {
        return false;
    }
    let fixed = |register: Option<genba_code::Location>| match register {
        None => true,
        Some(register) => function
            .values
            .read(at, register)
            .is_some_and(|value| function.values.is_invariant(value, &function.flow, index)),
    };
    function.data[at].memory.iter().any(|access| {
        access.base.is_some()
            && access.base != Some(STACK_POINTER)
            && fixed(access.base)
            && fixed(access.index)
    })
}

fn candidate(frame: &Frame, one: &Suspect<'_>, fall: Option<f64>) -> Option<Candidate> {
    if fall.is_none() && one.excess < 2.0 * LEAST_CYCLES {
        return None;
    }
    let function = one.around.frame;
    let share = one.around.share;
    let by_model = share * (1.0 - one.explained / one.around.cycles.value);
    let mut writes = one.writes.clone();
    writes.sort_by(|&a, &b| function.heat[b].total_cmp(&function.heat[a]));
    let mut found = Candidate::new(ID, Some(one.around.function), writes);
    found.affected = one.around.members.clone();
    found.share = Some(1.0);
    found.remains = match fall {
        Some(fall) => {
            let gone = (1.0 - 1.0 / fall).min(0.98 * share);
            let most = by_model.max(gone) + 0.3 * (1.0 - by_model.max(gone));
            remains_of(1.0, gone, 0.5 * gone, most)
        }
        None => remains_of(1.0, 0.8 * by_model, 0.3 * by_model, by_model),
    };
    found.executions = one.writes.first().map(|&at| function.counts[at]);
    found.fix = "Give each thread's variables a cache line of their own (alignas(64), or 128 where lines are \
                 fetched in pairs), or add up in a local variable and store it once at the end."
        .to_owned();
    found.example = Some((
        "struct tally { uint64_t n; } tallies[THREADS];",
        "struct alignas(64) tally { uint64_t n; } tallies[THREADS];",
    ));
    found.confirm = "genba bench with taskset -c 0 and without: on one CPU the CPU time must fall; then pad and compare".to_owned();
    let writes = function.counts[one.writes[0]];
    found = found
        .counted(format!(
            "{} threads; the loop writes to the same address in every round, here {} times",
            frame.program.threads,
            count(writes)
        ))
        .measured(format!(
            "a round takes {} cycles; {} of the time",
            cycles(one.around.cycles.value),
            percent(share)
        ))
        .model(format!(
            "its instructions and their longest chain explain {}: a line that only one core writes stays in its first cache",
            cycles(one.explained)
        ));
    if let Some(fall) = fall {
        found = found.measured(format!(
            "on one CPU alone the same work takes {fall:.1} times less CPU time"
        ));
    }
    Some(found)
}
