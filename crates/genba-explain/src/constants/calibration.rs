//! Factors on modelled gains (speedup − 1). Made by `corpus/calibrate` of `corpus/outcomes.tsv`: not to be edited.

use crate::gain::calibration::Outcomes;

/// Part of outcomes like those of the table that the interval between the lower and the upper factor holds.
#[cfg(test)]
pub(crate) const LEVEL: f64 = 0.8;

/// By causes whose speedup is made in the same way.
pub(crate) const GROUPS: [Outcomes; 2] = [
    // From the loop model, before and after the change.
    Outcomes {
        causes: &[
            "duplicate-division",
            "loop-invariant-divisor",
            "division-as-overflow-check",
            "fp-latency-chain",
            "integer-latency-chain",
            "missed-vectorisation",
            "short-trip-vector-loop",
            "store-forward-stall",
            "needless-atomic",
            "tiny-callee-not-inlined",
            "tls-lookup",
            "indirect-call-one-target",
            "unpredictable-branch",
            "known-operand",
            "loop-invariant-call",
            "false-sharing",
            "bytewise-compare",
        ],
        count: 35,
        low: 0.542,
        middle: 1.05,
        high: 2.61,
    }, // From the time of work that need not be done, of data that need not be waited for.
    Outcomes {
        causes: &[
            "invariant-check",
            "general-case-first",
            "discarded-work",
            "dead-store",
            "redundant-computation",
            "repeated-copy",
            "repeated-search",
            "cold-path-in-hot-function",
            "costly-conversion",
            "malloc-churn",
            "realloc-growth",
            "first-touch",
            "memory-bound-copy",
            "excess-syscalls",
            "lock-contention",
            "bytewise-copy",
            "quadratic",
            "cache-miss",
            "pointer-chase",
            "strided-access",
            "field-order",
        ],
        count: 57,
        low: 0.46,
        middle: 1.91,
        high: 5.39,
    },
];

/// Of all outcomes, for causes of no group.
pub(crate) const OTHERS: Outcomes = Outcomes {
    causes: &[],
    count: 94,
    low: 0.552,
    middle: 1.33,
    high: 4.6,
};
