//! `malloc-churn`: memory is asked for and given back all the time, little at a time.
//!
//! **Signature.** A large share of the time is in the allocator's own functions; allocations
//! and frees are about as many; all that was allocated would be several times the most memory
//! that the program ever had, so what lives at once is small.
//!
//! **Confirmation.** Run with another allocator (`LD_PRELOAD`): if the time changes, it is the
//! allocator's.
//!
//! **Gain.** The allocator's time nearly goes; so may the copying, building and destroying of
//! what was allocated, and its cache misses: that is the upper bound only.
//!
//! **Source.** E. Berger, B. Zorn, K. McKinley, *Reconsidering custom memory allocation*,
//! OOPSLA 2002: regions gain where much is freed together, general custom allocators seldom.

use crate::candidate::Candidate;
use crate::causes::realloc_growth;
use crate::input::analysis_input::{AnalysisInput, UserCall};
use crate::input::runtime_services::is_allocator;
use crate::input::user_lines::{UserLine, lines, residual_fraction_of};
use crate::words::{count, percent};

/// Identifier.
pub const ID: &str = "malloc-churn";

/// The allocator's share of the time from which it is worth a word.
const LEAST_SHARE: f64 = 0.08;

/// Bytes of the smallest allocation, its bookkeeping among them.
const LEAST_BYTES: f64 = 32.0;

/// So many times the peak memory must have been allocated.
const TURNOVER: f64 = 3.0;

/// Allocations a second of CPU time.
const LEAST_RATE: f64 = 1e5;

/// Looks for it.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    find(input).into_iter().collect()
}

/// Whether sizes of allocations would decide it: how often the memory is turned over follows
/// from them.
pub(crate) fn wants_sizes(input: &AnalysisInput) -> bool {
    is_suspected(input) && realloc_growth::detect(input).is_empty()
}

/// Whether the allocator takes time, often, and for what does not stay.
fn is_suspected(input: &AnalysisInput) -> bool {
    let program = &input.program;
    let new = input.service_calls("malloc");
    let calls = new + input.service_calls("realloc");
    input.share_where(|f| is_allocator(&f.function)) >= LEAST_SHARE
        && program.cpu_seconds > 0.0
        && calls as f64 >= LEAST_RATE * program.cpu_seconds
        && input.service_calls("free") as f64 >= 0.5 * new as f64
}

fn find(input: &AnalysisInput) -> Option<Candidate> {
    let program = &input.program;
    let share = input.share_where(|f| is_allocator(&f.function));
    let new = input.service_calls("malloc");
    let calls = new + input.service_calls("realloc");
    let frees = input.service_calls("free");
    let peak = program.max_rss_bytes.unwrap_or(f64::INFINITY);
    let sizes = program.follow_up.sizes.as_ref();
    // What each is at least, where sizes are not known.
    let each = sizes.map_or(LEAST_BYTES, |sizes| sizes.allocated.mean().max(LEAST_BYTES));
    if !is_suspected(input)
        || (new as f64) * each < TURNOVER * peak && (frees as f64) * each < TURNOVER * peak
        || !realloc_growth::detect(input).is_empty()
    {
        return None;
    }
    let users = ["malloc", "realloc"]
        .iter()
        .filter_map(|name| input.service(name));
    let lines = lines(users.flat_map(|one| &one.users));
    let top = lines.first()?;
    let part = (top.calls / calls.max(1) as f64).min(1.0);
    let machinery = machinery(input, &lines);
    let rest = (1.0 - share - machinery).max(0.0);
    // Containers' code that was inlined (moving, initialising, destroying) stands in the user's
    // functions and is no longer told apart.
    let containers = top.users.iter().any(|user| !user.through.is_empty());
    let inlined = if containers { 0.2 } else { 0.0 };
    let mut one = Candidate::new(ID, None, Vec::new());
    one.at = Some(top.site.clone());
    one.share = Some(1.0);
    one.residual_fraction = residual_fraction_of(
        1.0,
        0.9 * share + 0.6 * machinery + inlined * rest,
        // Of one line's allocations only, each replaced by something that costs a third.
        0.65 * share * part.max(0.5),
        share + machinery + 0.6 * rest,
    );
    one.share = Some(1.0);
    one.executions = Some(top.calls as u64);
    one.fix = fix(top);
    one.example = Some(example(top));
    one.confirm =
        "LD_PRELOAD another allocator (libmimalloc.so, libjemalloc.so) and compare: genba bench"
            .to_owned();
    one = one.measured(format!(
        "{} of the time is in the allocator itself",
        percent(share)
    ));
    if machinery > 0.02 {
        one = one.measured(format!(
            "{} more in containers' functions and copies that go with it",
            percent(machinery)
        ));
    }
    one = one.counted(format!(
        "{} allocations and {} frees, {} of the allocations from this line",
        count(calls),
        count(frees),
        percent(part),
    ));
    if let Some(words) = sizes.and_then(|sizes| sizes.allocated.words("allocations")) {
        one = one.counted(words);
    }
    if let Some(peak) = program.max_rss_bytes {
        one = one.measured(format!(
            "never more than {:.1} MB at once: what is allocated is soon given back",
            peak / 1e6
        ));
    }
    for other in lines.iter().skip(1).take(2) {
        let part = other.calls / calls.max(1) as f64;
        if part > 0.15 {
            one = one.counted(format!("{} come from {}", percent(part), other.words()));
        }
    }
    Some(one)
}

/// Share of all time in functions of libraries that allocate on the user's behalf, and in the
/// copies that they make.
fn machinery(input: &AnalysisInput, lines: &[UserLine<'_>]) -> f64 {
    let through = |name: &str| {
        let mut users = lines.iter().flat_map(|line| &line.users);
        users.any(|user: &&UserCall| user.through.iter().any(|one| one == name))
    };
    let functions = input.share_where(|f| !is_allocator(&f.function) && through(&f.function));
    let Some(copies) = input.service("copy") else {
        return functions;
    };
    let of_library: f64 = (copies.users.iter())
        .filter(|user| {
            user.through
                .iter()
                .any(|one| through(one) || is_allocator(one))
                || !user.through.is_empty()
        })
        .map(|user| user.calls)
        .sum();
    functions + input.copy_share() * (of_library / copies.calls.max(1) as f64).min(1.0)
}

fn is_rust(line: &UserLine<'_>) -> bool {
    line.site
        .file
        .as_deref()
        .is_some_and(|file| file.ends_with(".rs"))
}

fn is_c(line: &UserLine<'_>) -> bool {
    line.site
        .file
        .as_deref()
        .is_some_and(|file| file.ends_with(".c"))
}

fn fix(line: &UserLine<'_>) -> String {
    if is_rust(line) {
        "Keep one buffer and clear it for each use, borrow (&str, &[T]) instead of owning, or put \
         what dies together into one arena."
    } else if is_c(line) {
        "Take what dies together from one arena that is reset as a whole, keep a free list of the \
         nodes, or keep one buffer for all rounds."
    } else {
        "Keep one object for all rounds and clear it, pass views (std::string_view, std::span) \
         instead of copies, or take what dies together from one arena (std::pmr)."
    }
    .to_owned()
}

fn example(line: &UserLine<'_>) -> (&'static str, &'static str) {
    if is_rust(line) {
        (
            "for item in items {\n    let mut row = Vec::new();\n    fill(&mut row, item);\n}",
            "let mut row = Vec::new();\nfor item in items {\n    row.clear();\n    fill(&mut row, item);\n}",
        )
    } else if is_c(line) {
        (
            "n = malloc(sizeof *n); … free(n);",
            "n = arena->next++; … arena->next = arena->first;  /* all at once */",
        )
    } else {
        (
            "for (auto &item : items) { std::vector<T> row; fill(row, item); }",
            "std::vector<T> row;\nfor (auto &item : items) { row.clear(); fill(row, item); }",
        )
    }
}
