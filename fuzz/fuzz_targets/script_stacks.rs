//! The text file of script stacks.
#![no_main]

use genba_runtime::script::script_stacks::Stacks;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let stacks = Stacks::parse(&String::from_utf8_lossy(bytes));
    for sample in &stacks.samples {
        for node in stacks.frames(sample.node) {
            let _ = &stacks.functions[node.function as usize];
        }
    }
    let again = Stacks::parse(&stacks.write());
    assert_eq!(again.samples, stacks.samples);
});
