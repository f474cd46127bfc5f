//! Clears of memory of which a program loads a small part, and near misses.

use genba_model::{CodePoint, Estimate, Fix};
use genba_observe::LongRange;

use crate::causes::dead_store;
use crate::input::analysis_input::{AnalysisInput, CalledFunction, Place, UserCall};
use crate::tests::observed_repetition::{observations, seen};
use crate::tests::synthetic::{function, program};

const FRAMES: u64 = 10_000;
const INSTRUCTIONS_EACH: u64 = 120_000;

/// `memset(tags, 0, 1 << 20)` for each of many frames, of which each loads so many bytes there.
fn cleared(loaded_each: f64, same_place: f64) -> AnalysisInput {
    let name = "__memset_avx512_unaligned_erms";
    let mut memset = function(name, |a| a.ret(), &[FRAMES], &[0.3], &[]);
    memset.own = false;
    memset.user_callers.push(UserCall {
        function: "reset".to_owned(),
        module: "/bin/prog".to_owned(),
        address: 0x4357,
        place: Place::default(),
        through: Vec::new(),
        through_library: false,
        calls: FRAMES as f64,
        executions: FRAMES,
        caller_calls: Some(FRAMES),
    });
    let mut input = program(vec![memset]);
    input.program.instructions = Some(FRAMES * INSTRUCTIONS_EACH);
    let mut observed = observations();
    let rate = loaded_each / INSTRUCTIONS_EACH as f64;
    observed.long_ranges.push(LongRange {
        at: CodePoint {
            module: 0,
            address: 0x4357,
        },
        bytes_per_call: 1_048_576.0,
        same_place: seen(same_place),
        loaded_per_instruction: Estimate {
            value: rate,
            low: 0.8 * rate,
            high: 1.2 * rate,
        },
    });
    input.observed = Some(observed);
    input
}

#[test]
fn clears_of_more_than_loads_bring_are_for_nothing() {
    let found = dead_store::detect(&cleared(150_000.0, 1.0));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].fix, Fix::ClearUsedPart);
    assert!(found[0].residual_fraction.value < 0.9);
}

#[test]
fn clears_of_what_may_be_read_are_not_reported() {
    let count = |input: &AnalysisInput| dead_store::detect(input).len();
    assert_eq!(count(&cleared(700_000.0, 1.0)), 0, "most of it may be read");
    assert_eq!(count(&cleared(150_000.0, 0.1)), 0, "loads may be elsewhere");
    let mut written = cleared(150_000.0, 1.0);
    written.program.called.push(CalledFunction {
        function: "write".to_owned(),
        module: "/lib/libc.so.6".to_owned(),
        calls: FRAMES,
        instructions: 10 * FRAMES,
    });
    assert_eq!(count(&written), 0, "the kernel may read it");
}
