//! `malloc-churn`: many short-lived allocations.
//!
//! **Signature.** A large share of the time is in the allocator; there are about as many frees as
//! allocations; all allocations together would be several times the peak resident set, so what is
//! live at once is small. What a function of the C library allocates for itself and frees again
//! (`regexec`, `qsort`) does not count: its caller cannot keep that memory. The line that is named is not
//! that of a function which only hands the request on (`xmalloc`) or returns what it made, but of its caller.
//!
//! **Confirmation.** Another allocator (`LD_PRELOAD`): if the time changes, it is the allocator's.
//!
//! **Gain.** Nearly all of the allocator's time. Copying, constructing and destroying what was
//! allocated, and its cache misses, may go as well: that is the upper bound only. Copies of what had been copied before are
//! `repeated-copy`'s.
//!
//! **Source.** E. Berger, B. Zorn, K. McKinley, *Reconsidering custom memory allocation*, OOPSLA
//! 2002: regions gain where much is freed together, general custom allocators seldom.

use genba_model::{Cause, Confirmation, Fix, Language, MemoryFact};

use crate::candidate::Candidate;
use crate::causes::{realloc_growth, repeated_copy};
use crate::constants::counts::{
    MIN_ALLOCATION_TURNOVER, MIN_ALLOCATIONS_PER_SECOND, MIN_BYTES_OF_ALLOCATION,
};
use crate::constants::gains::{
    ALLOCATOR_SAVED, CONTAINER_CODE_SAVED, INLINED_CONTAINER_CODE_SAVED, USER_CODE_SAVED_BY_REUSE,
};
use crate::constants::time_shares::{
    MIN_SHARE_OF_ALLOCATOR, MIN_SHARE_OF_ALLOCATOR_FOR_SWAP, MIN_SHARE_OF_REPORTED_PART, MOST_OF_IT,
};
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, RuntimeUse, UserCall};
use crate::input::runtime_services::{is_allocator, is_library, plain, service};
use crate::input::user_lines::{UserLine, lines};
use crate::patterns::allocation_wrappers::{is_same_line, keeper};

/// Finds much time in the allocator for memory that is turned over several times, from counted
/// allocations and frees.
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
    input.share_where(|f| is_allocator(&f.function)) >= MIN_SHARE_OF_ALLOCATOR
        && program.cpu_seconds > 0.0
        && calls as f64 >= MIN_ALLOCATIONS_PER_SECOND * program.cpu_seconds
        && input.service_calls("free") as f64 >= MOST_OF_IT * new as f64
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
    let each = sizes.map_or(MIN_BYTES_OF_ALLOCATION, |sizes| {
        sizes.allocated.mean().max(MIN_BYTES_OF_ALLOCATION)
    });
    if !is_suspected(input)
        || (new as f64) * each < MIN_ALLOCATION_TURNOVER * peak
            && (frees as f64) * each < MIN_ALLOCATION_TURNOVER * peak
        || !realloc_growth::detect(input).is_empty()
    {
        return None;
    }
    let users = ["malloc", "realloc"]
        .iter()
        .filter_map(|name| input.service(name));
    let callers = users.flat_map(RuntimeUse::asked_by);
    let lines = lines(callers.filter(|user| !is_of_library_itself(user)));
    // The allocator's time by allocations of the user's own.
    let reusable: f64 = lines.iter().map(|line| line.calls).sum();
    let share = share * (reusable / calls.max(1) as f64).min(1.0);
    if share < MIN_SHARE_OF_ALLOCATOR {
        return None;
    }
    let top = most_of_one_function(&lines)?;
    let counted = (top.calls / calls.max(1) as f64).min(1.0);
    let keeper = keeper(input, &top.site, &top.users, counted);
    let (here, part) = keeper.unwrap_or_else(|| (top.site.clone(), counted));
    // Bytes that are copied again and again are copied in memory that is kept, too.
    let machinery = (machinery(input, &lines) - repeated_copy::time_of_copies(input)).max(0.0);
    let rest = (1.0 - share - machinery).max(0.0);
    // Inlined code of containers (moves, constructors, destructors) counts as the user's.
    let containers = top.users.iter().any(|user| !user.through.is_empty());
    let inlined = if containers {
        INLINED_CONTAINER_CODE_SAVED
    } else {
        0.0
    };
    let fix = Fix::ReuseAllocations(Language::of_file(here.file.as_deref()));
    let mut one = Candidate::new(Cause::MallocChurn, None, Vec::new(), fix);
    one.at = Some(here.clone());
    // Of one line's allocations only, each replaced by something that costs a third.
    one.saves(&[
        SavedTime::of(
            share,
            (
                ALLOCATOR_SAVED.0,
                ALLOCATOR_SAVED.1 * part.max(MOST_OF_IT),
                ALLOCATOR_SAVED.2,
            ),
        ),
        SavedTime::of(machinery, CONTAINER_CODE_SAVED),
        SavedTime::of(rest, (inlined, 0.0, USER_CODE_SAVED_BY_REUSE)),
    ]);
    one.executions = Some((part * calls as f64) as u64);
    one.confirmation = Confirmation::OtherAllocator;
    one = one.fact(MemoryFact::AllocatorTime { share });
    if machinery > MIN_SHARE_OF_REPORTED_PART {
        one = one.fact(MemoryFact::ContainerTime { share: machinery });
    }
    one = one.fact(MemoryFact::Allocations {
        allocations: calls,
        frees,
        here: part,
    });
    if let Some(usual) = sizes.and_then(|sizes| sizes.allocated.usual()) {
        one = one.fact(usual);
    }
    if let Some(bytes) = program.max_rss_bytes {
        one = one.fact(MemoryFact::PeakMemory { bytes });
    }
    for other in (lines.iter())
        .filter(|line| !is_same_line(&line.site, &here))
        .take(2)
    {
        let share = other.calls / calls.max(1) as f64;
        if share > MIN_SHARE_OF_ALLOCATOR_FOR_SWAP {
            one = one.fact(MemoryFact::OtherLine {
                share,
                file: other.site.file.clone(),
                line: other.site.line,
                function: other.site.function.clone(),
            });
        }
    }
    Some(one)
}

/// The line with most allocations of the function that makes most: they may come of several lines.
fn most_of_one_function<'l, 'u>(lines: &'l [UserLine<'u>]) -> Option<&'l UserLine<'u>> {
    let is_same = |one: &UserLine<'_>, other: &UserLine<'_>| {
        (&one.site.module, &one.site.function) == (&other.site.module, &other.site.function)
    };
    let all_of = |line: &UserLine<'_>| -> f64 {
        let same = lines.iter().filter(|other| is_same(line, other));
        same.map(|other| other.calls).sum()
    };
    let mut most: Option<(&UserLine<'_>, f64)> = None;
    // Lines with most come first.
    for line in lines {
        let calls = all_of(line);
        if most.is_none_or(|(_, before)| calls > before) {
            most = Some((line, calls));
        }
    }
    most.map(|found| found.0)
}

/// Whether a function of the C library allocates for itself: neither a container's, nor one whose result
/// is memory for the caller to free.
fn is_of_library_itself(user: &UserCall) -> bool {
    const HAND_OVER: [&str; 16] = [
        "strdup",
        "strndup",
        "wcsdup",
        "asprintf",
        "vasprintf",
        "getline",
        "getdelim",
        "realpath",
        "getcwd",
        "fopen",
        "fopen64",
        "fdopen",
        "opendir",
        "fdopendir",
        "open_memstream",
        "scandir",
    ];
    user.through.iter().any(|name| {
        let short = plain(name);
        let of_language = name.contains("::") || is_library(name) || name.ends_with("@plt");
        !of_language
            && !is_allocator(name)
            && service(name).is_none()
            && !HAND_OVER.contains(&short)
    })
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
