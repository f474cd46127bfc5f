//! Long runs of bytes that come from beyond the first cache, which wide code does not get faster than memory delivers.

use genba_model::{Estimate, HostTableEntry};

use crate::causes::bytewise_compare;
use crate::input::analysis_input::AnalysisInput;
use crate::tests::loops::compare;
use crate::tests::observed_data::load_site;
use crate::tests::observed_repetition::{observations, point};
use crate::tests::synthetic::program;

/// Loops of 100 cycles a byte over two runs at a core clock of 1 GHz, of whose loads the second cache serves this part,
/// at 1.3 times this rate.
fn residual(missed: Option<f64>, bytes_per_second: f64) -> Estimate {
    let mut input: AnalysisInput = program(vec![compare(5000, false)]);
    input.program.clock_hz = Some(1e9);
    let table = input.program.costs.table.as_mut().expect("a table");
    table.entries.push(HostTableEntry {
        form: "memcpy [L2]".to_owned(),
        bytes_per_second: Some(Estimate::exact(bytes_per_second)),
        ..HostTableEntry::default()
    });
    if let Some(missed) = missed {
        let mut observed = observations();
        for at in [1, 4] {
            let at = point(&input, 0, at);
            observed.loads.push(load_site(at, missed, None));
        }
        input.observed = Some(observed);
    }
    let found = bytewise_compare::detect(&input);
    assert_eq!(found.len(), 1);
    found[0].residual_fraction
}

#[test]
fn wide_code_waits_for_lines_where_bursts_saw_that_they_are_not_in_the_first_cache() {
    let free = residual(None, 1e6);
    assert_eq!(residual(Some(0.0), 1e6), free, "all hits");
    assert_eq!(residual(Some(1.0 / 64.0), 1e12), free, "delivered in time");
    let bound = residual(Some(1.0 / 64.0), 4e7);
    assert_eq!(bound.low, free.low);
    assert!(bound.value > free.value && bound.high > free.high);
}
