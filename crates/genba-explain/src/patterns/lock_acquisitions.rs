//! Locks that are taken in the user's own code, known by what they do: inlined fast paths of mutexes
//! and spin locks, whatever their library.
//!
//! A lock is taken by an atomic exchange of a constant: `lock cmpxchg` from one constant (free) to
//! another (held), or `xchg` of a constant, with a branch on the outcome. Data structures without
//! locks compare with what they loaded before, and counters add.
//!
//! **Source.** U. Drepper, *Futexes are tricky*, section 5; M. Herlihy, N. Shavit, *The Art of
//! Multiprocessor Programming*, chapter 7 (test-and-set and test-and-test-and-set locks).

use genba_code::Flow;

use crate::constants::counts::MAX_INSTRUCTIONS_OF_SPIN_LOOP;
use crate::constants::registers::{RAX, XMM0};
use crate::constants::search_limits::MAX_INSTRUCTIONS_TO_TEST;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::runtime_services::is_lock;
use crate::input::values::{CONSTANT, Value};

/// A place that takes a lock.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Acquisition {
    /// Index of the function in [`AnalysisInput::functions`].
    pub function: usize,
    /// The atomic instruction.
    pub at: usize,
    /// Executions of it, failed ones among them.
    pub executions: u64,
    /// The instructions that wait for it: of the small loop that repeats it, or it and the next, to
    /// which its samples may skid.
    pub waiting: Vec<usize>,
    /// Share of all time at these.
    pub share: f64,
}

/// Share of all time at places that take locks, each instruction once.
pub(crate) fn share_of(input: &AnalysisInput, list: &[Acquisition]) -> f64 {
    let mut all: Vec<(usize, usize)> = (list.iter())
        .flat_map(|one| one.waiting.iter().map(|&at| (one.function, at)))
        .collect();
    all.sort_unstable();
    all.dedup();
    let heat = |(function, at): (usize, usize)| input.functions[function].heat_of([at]);
    all.into_iter().map(heat).sum()
}

/// All places of the user's own code that take locks, most time first; not those in functions that
/// are known as locks by their names.
pub(crate) fn acquisitions(input: &AnalysisInput) -> Vec<Acquisition> {
    let own = input.functions.iter().enumerate();
    let mut found: Vec<Acquisition> = own
        .filter(|(_, function)| {
            function.own
                && !is_lock(&function.function)
                && function.counts.len() == function.code.len()
        })
        .flat_map(|(index, function)| {
            (0..function.code.len())
                .filter(|&at| function.counts[at] > 0 && takes_lock(function, at))
                .map(move |at| {
                    let waiting = waiting(function, at);
                    Acquisition {
                        function: index,
                        at,
                        executions: function.counts[at],
                        share: function.heat_of(waiting.iter().copied()),
                        waiting,
                    }
                })
        })
        .collect();
    found.sort_by(|a, b| b.share.total_cmp(&a.share));
    found
}

/// Whether an instruction puts a constant into memory atomically and control depends on what was
/// there.
fn takes_lock(function: &FunctionInput, at: usize) -> bool {
    let data = &function.data[at];
    let writes = data
        .memory
        .iter()
        .any(|access| access.writes && !access.stack);
    let mut name = data.form.split(' ').filter(|word| *word != "lock");
    let compares = match name.next() {
        Some("cmpxchg") if function.code[at].is_lock => true,
        Some("xchg") => false,
        _ => return false,
    };
    let is_constant = |&(location, value): &(u8, Value)| {
        data.data_reads >> location & 1 == 0 || location >= XMM0 || value.number == CONSTANT
    };
    let constants = function.values.reads(at).iter().all(is_constant);
    let expected = function.values.read(at, RAX);
    writes
        && constants
        && (!compares || expected.is_some_and(|value| value.number == CONSTANT))
        && is_tested(function, at)
}

/// Whether a branch follows at once.
fn is_tested(function: &FunctionInput, at: usize) -> bool {
    (at + 1..=at + MAX_INSTRUCTIONS_TO_TEST)
        .filter_map(|next| function.code.get(next))
        .any(|next| matches!(next.flow, Flow::CondJump(_)))
}

/// The small loop that repeats an atomic instruction until it succeeds, and changes nothing else;
/// without one the instruction and the next.
fn waiting(function: &FunctionInput, at: usize) -> Vec<usize> {
    let around = function.flow.loop_of_instruction(at);
    let small = around
        .map(|index| function.loop_instructions(index))
        .filter(|members| {
            let changes = |&one: &usize| one != at && function.data[one].stores();
            members.len() <= MAX_INSTRUCTIONS_OF_SPIN_LOOP && !members.iter().any(changes)
        });
    small.unwrap_or_else(|| (at..function.code.len().min(at + 2)).collect())
}
