//! Iterations of a loop that only look: they change nothing but where they are.
//!
//! Loops that test many elements for the few that matter (timers that are due, bits that are set,
//! entries in use) do their work in few iterations. What most iterations pass without any effect an
//! index of the others would spare.

use genba_code::BlockId;

use crate::constants::counts::{MAX_BYTES_PER_SCAN_STEP, MIN_CALLS_IN_HOT_CODE};
use crate::constants::search_limits::{MAX_BLOCKS_OF_SCAN, MAX_VALUES_FOLLOWED};
use crate::constants::time_shares::MIN_PART_OF_IDLE_ITERATIONS;
use crate::input::analysis_input::FunctionInput;
use crate::input::values::{Origin, Value};
use crate::patterns::load_stalls::sources;
use crate::patterns::positions::{Course, Handed, carried};

/// Share of the iterations of an innermost loop that have no effect, at least; `None` if these
/// are not nearly all.
pub(super) fn idle_iterations(function: &FunctionInput, index: u32) -> Option<f64> {
    let cost = function.loops.get(index as usize)?.as_ref()?;
    let body = function.flow.loop_blocks(index);
    if cost.iterations < MIN_CALLS_IN_HOT_CODE
        || !function.is_innermost(index)
        || body.len() > MAX_BLOCKS_OF_SCAN
    {
        return None;
    }
    let count = |at: usize| function.counts.get(at).copied().unwrap_or(0);
    // Of a block its effects come together.
    let of_blocks = body.iter().map(|&block| {
        let range = function.flow.blocks()[block as usize].instructions.clone();
        let at = range.start as usize..range.end as usize;
        let has_effect =
            |at: usize| function.data[at].stores() || function.data[at].opaque.is_some();
        let mut effects = at.filter(|&at| has_effect(at));
        effects.next().map_or(0, count)
    });
    let mut effects: f64 = of_blocks.map(|count| count as f64).sum();
    let idle = |effects: f64| 1.0 - effects / cost.iterations as f64;
    for value in carried(function, body).into_values() {
        if idle(effects) < MIN_PART_OF_IDLE_ITERATIONS {
            return None;
        }
        effects += changes(function, index, body, value);
    }
    Some(idle(effects)).filter(|&idle| idle >= MIN_PART_OF_IDLE_ITERATIONS)
}

/// How often the loop changes what it hands on, positions apart.
fn changes(function: &FunctionInput, index: u32, body: &[BlockId], value: Value) -> f64 {
    let handed = Handed::of(function, body, value);
    let made = |list: &[Value]| -> f64 {
        let at = list.iter().map(|one| match function.values.origin(*one) {
            Origin::Instruction(at) => function.counts[at as usize],
            _ => u64::MAX,
        });
        at.map(|count| count as f64).sum()
    };
    match handed.course(MAX_BYTES_PER_SCAN_STEP) {
        Course::Advances(_) => 0.0,
        Course::Kept => made(&handed.made),
        Course::New => {
            let list = sources(function, index, &handed.made);
            let itself = list.iter().any(|one| one.number == value.number);
            match itself || list.len() >= MAX_VALUES_FOLLOWED {
                true => made(&handed.made),
                false => 0.0,
            }
        }
        Course::Other => handed.steps() + made(&handed.made),
    }
}
