//! All causes that are looked for, and the search.

use genba_model::Finding;

use super::candidate::{Candidate, Limits, findings};
use super::division_as_overflow_check;
use super::duplicate_division;
use super::frame::Frame;
use super::indirect_call_one_target;
use super::loop_invariant_divisor;
use super::plt_call;
use super::tiny_callee_not_inlined;
use super::tls_lookup;
use super::unoptimised_build;

/// A cause: its identifier, and what looks for it.
#[derive(Clone, Copy)]
pub struct Cause {
    /// Identifier, as in output and documents.
    pub id: &'static str,
    /// What it is, in a few words.
    pub title: &'static str,
    /// Looks for it.
    pub detect: fn(&Frame) -> Vec<Candidate>,
}

/// All causes.
pub const CATALOGUE: &[Cause] = &[
    Cause {
        id: duplicate_division::ID,
        title: "the same quotient computed twice",
        detect: duplicate_division::detect,
    },
    Cause {
        id: division_as_overflow_check::ID,
        title: "a division only to foresee an overflow",
        detect: division_as_overflow_check::detect,
    },
    Cause {
        id: loop_invariant_divisor::ID,
        title: "a loop divides by a number that it never changes",
        detect: loop_invariant_divisor::detect,
    },
    Cause {
        id: unoptimised_build::ID,
        title: "hot code compiled without optimisation",
        detect: unoptimised_build::detect,
    },
    Cause {
        id: tiny_callee_not_inlined::ID,
        title: "a tiny function that is called, not inlined",
        detect: tiny_callee_not_inlined::detect,
    },
    Cause {
        id: plt_call::ID,
        title: "a tiny function called through the linkage table",
        detect: plt_call::detect,
    },
    Cause {
        id: indirect_call_one_target::ID,
        title: "an indirect call that goes to one function",
        detect: indirect_call_one_target::detect,
    },
    Cause {
        id: tls_lookup::ID,
        title: "a call to find the thread's own data",
        detect: tls_lookup::detect,
    },
];

/// Looks for all causes; the findings are sorted, most profitable first.
#[must_use]
pub fn explain(frame: &Frame, limits: Limits) -> Vec<Finding> {
    let candidates = CATALOGUE.iter().flat_map(|cause| (cause.detect)(frame));
    findings(frame, candidates.collect(), limits)
}
