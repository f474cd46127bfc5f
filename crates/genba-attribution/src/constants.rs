//! All constants of attribution, each with its source.
//!
//! "Chosen" means: neither a publication nor a measurement is behind the value.

/// Most instructions that retire in the cycle of a long one: the retirement width of Zen 3 and Zen
/// 4 (AMD Software Optimization Guides 56665 and 57647: eight macro-ops a cycle).
pub(crate) const RETIREMENT_WIDTH: usize = 8;

/// Nominal cycles of the instructions that samples leak from. Only the order of magnitude matters:
/// it bounds what a one-cycle instruction beside it can have cost by itself.
pub(crate) const LONG_LATENCY_CYCLES: u32 = 20;

/// Larger than any function that a compiler makes; what claims to be larger is damaged.
pub(crate) const MAX_FUNCTION_BYTES: u64 = 16 << 20;

/// Share of the time for which the concentration is computed: "80 % of the time is in N functions".
/// Chosen; the customary Pareto share.
pub(crate) const CONCENTRATION_SHARE: f64 = 0.8;

/// Functions whose source line is looked up; the rest have too little time to be shown with it.
/// Chosen.
pub(crate) const MAX_LOCATED_FUNCTIONS: usize = 2000;

/// Share of the time in a module without symbols from which a note says so. Chosen.
pub(crate) const MIN_NAMELESS_SHARE: f64 = 0.01;

/// Distinct stacks that a flame graph is drawn of; the lightest are put together. Chosen.
pub(crate) const MAX_STACKS: usize = 20_000;

/// Deepest stack that is written out; the outermost frames beyond are put together. Chosen.
pub(crate) const MAX_STACK_DEPTH: usize = 512;

/// Longer names are cut where functions are named.
pub(crate) const MAX_NAME_BYTES: usize = 500;

/// CPU time without the engine from which the slowdown is computed: below, starting and ending the
/// process dominate. Chosen.
pub(crate) const MIN_NATIVE_SECONDS: f64 = 0.002;

/// Similar names that an error lists. Chosen.
pub(crate) const MAX_NAMES_IN_HINT: usize = 5;

/// Sampled lines near one without samples that an error lists. Chosen.
pub(crate) const MAX_NEAREST_LINES: usize = 3;

/// Source files that were not found and are named. Chosen.
pub(crate) const MAX_MISSING_SOURCES: usize = 3;

/// Confidence of all intervals.
pub(crate) const CONFIDENCE: f64 = 0.95;
