//! `unoptimised-build`: hot code that was compiled without optimisation.
//!
//! **Signature.** The compiler's record of its options (`DW_AT_producer`; GNU compilers write
//! them all down) names no `-O` or `-O0`. Compilers without such a record (clang, rustc): most
//! executed instructions of the function read or write a fixed place on its stack, which
//! optimised code does for spilled values only.
//!
//! **Confirmation.** Build with optimisation and compare.
//!
//! **Gain.** Not to be modelled: between a third and a factor of five is usual. Where it holds,
//! nothing else is said of that code, since the compiler would mend most of it.
//!
//! **Source.** DWARF 5, section 3.1.1 (`DW_AT_producer`).

use genba_model::Estimate;

use super::candidate::{Candidate, is_unoptimised};
use super::frame::Frame;
use super::words::percent;

/// Identifier.
pub const ID: &str = "unoptimised-build";

/// What stays: optimised code usually takes a fifth to three quarters of the time.
const REMAINS: Estimate = Estimate {
    value: 0.4,
    low: 0.15,
    high: 0.8,
};

/// Looks for it: one finding for each module.
#[must_use]
pub fn detect(frame: &Frame) -> Vec<Candidate> {
    let mut modules: Vec<&str> = Vec::new();
    let mut found = Vec::new();
    for (index, function) in frame.functions.iter().enumerate() {
        if !is_unoptimised(function) || modules.contains(&function.module.as_str()) {
            continue;
        }
        modules.push(&function.module);
        let of_module = || {
            let mut all = frame.functions.iter();
            std::iter::from_fn(move || {
                all.find(|f| f.module == function.module && is_unoptimised(f))
            })
        };
        let share: f64 = of_module().map(|f| f.share.value).sum();
        let mut one = Candidate::new(ID, Some(index), hottest_line(function));
        one.share = Some(share);
        one.remains = REMAINS;
        one.unoptimised_too = true;
        one.fix = "Build with optimisation: -O2 (cargo build --release; a CMake build type of \
                   Release or RelWithDebInfo). Debug information stays with -g."
            .to_owned();
        one.confirm = "genba bench './as-it-is' './built-with-O2'".to_owned();
        one = one.measured(format!(
            "{} of the time is in {} compiled without optimisation",
            percent(share),
            match of_module().count() {
                1 => "one function".to_owned(),
                number => format!("{number} functions"),
            },
        ));
        if !function
            .producer
            .as_deref()
            .is_some_and(|p| p.starts_with("GNU "))
        {
            one = one.counted(
                "most of the instructions that it executes read or write its stack, which optimised code does not",
            );
        }
        if let Some(producer) = &function.producer {
            let short: String = producer.chars().take(120).collect();
            one = one.counted(format!("compiled by: {short}"));
        }
        found.push(one);
    }
    found
}

/// The instructions of the line that takes most time.
fn hottest_line(function: &super::frame::FunctionFrame) -> Vec<usize> {
    let hottest =
        (0..function.heat.len()).max_by(|&a, &b| function.heat[a].total_cmp(&function.heat[b]));
    let Some(place) = hottest.and_then(|at| function.places.get(at)) else {
        return Vec::new();
    };
    (0..function.places.len())
        .filter(|&at| {
            function.places[at].line == place.line && function.places[at].file == place.file
        })
        .collect()
}
