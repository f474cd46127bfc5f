//! `realloc-growth`: a buffer that grows by small steps and is copied each time.
//!
//! **Signature.** A table that is filled anew from the old one ([`super::table_growth`]). Or one of four, with a tenth of
//! the time or more in copies and the allocator:
//! - `realloc` is called far more often per buffer (the calls of `free` tell how many there were)
//!   than doubling would: 20 doublings make a million elements of one;
//! - `realloc` makes blocks larger by an eighth of their size or less each time, for one line, where sizes were
//!   counted: the calls themselves take the time, a twentieth or more, whether blocks move or not;
//! - a container's `reserve` (which allocates exactly what it is asked for) moves the old contents
//!   nearly every time it allocates;
//! - a function of the user's own allocates, copies and frees the old block, equally often, with a
//!   copy that takes long.
//!
//! **Confirmation.** Log the requested sizes: they must grow by a factor, not by a constant.
//!
//! **Gain.** The copies and the allocator's part go, except for what doubling copies.
//!
//! **Source.** Amortised cost of dynamic tables: Cormen et al., *Introduction to Algorithms*, 17.4.

use genba_code::Location;

use genba_model::{Cause, Confirmation, Fix, Language, MemoryFact};

use crate::candidate::Candidate;
use crate::causes::table_growth::table_growth;
use crate::constants::counts::{
    MAX_GROWTHS_BY_DOUBLING, MAX_LINES_OF_GROWTH_BY_HAND, MAX_STEP_OF_BLOCK, MIN_CALLS_HABITUAL,
    MIN_GROWTH_COPY_SECONDS, MIN_PART_OF_REALLOCS_FROM_LINE, MIN_RESERVE_PER_ALLOCATION,
    SAME_CALLS_TOLERANCE,
};
use crate::constants::gains::{
    GROWTH_ALLOCATOR_SAVED, GROWTH_COPIES_SAVED, GROWTH_FAULTS, GROWTH_KERNEL_SAVED, GROWTH_PAGING,
    GROWTH_REST_SAVED,
};
use crate::constants::registers::{RDI, RSI};
use crate::constants::time_shares::{MIN_SHARE_OF_GROWTH, MIN_SHARE_OF_GROWTH_COPIES, MOST_OF_IT};
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::{AnalysisInput, UserCall};
use crate::input::request_sizes::Sizes;
use crate::input::runtime_services::{is_allocator, is_growth};
use crate::input::user_lines::{UserLine, lines};

/// Finds buffers that are copied each time they grow, from counted calls of `realloc`, of
/// `reserve`, or of an allocation, a copy and a free in one function.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    find(input)
        .or_else(|| small_steps(input))
        .or_else(|| table_growth(input))
        .into_iter()
        .collect()
}

/// What grows, and the fact that proves it.
struct Growth<'a> {
    line: UserLine<'a>,
    growths: f64,
    proof: MemoryFact,
    /// Part of all copies that it makes.
    copies: f64,
}

fn find(input: &AnalysisInput) -> Option<Candidate> {
    let program = &input.program;
    let copies = input.copy_share();
    let allocator = input.share_where(|f| is_allocator(&f.function));
    let growth = by_realloc(input)
        .or_else(|| by_reserve(input))
        .or_else(|| by_hand(input))?;
    let copying = copies * growth.copies;
    // Faults of memory that is moved belong to it as well.
    let faults = GROWTH_FAULTS * input.fault_share();
    // Memory that was given back is what comes in anew.
    let kernel = faults.max(GROWTH_PAGING * input.paging_share() * growth.copies);
    if copying < MIN_SHARE_OF_GROWTH_COPIES || copying + allocator < MIN_SHARE_OF_GROWTH {
        return None;
    }
    let gone = copying + allocator + kernel;
    let rest = (1.0 - gone).max(0.0);
    let most = (copying + allocator + input.paging_share())
        .max(gone)
        .min(1.0);
    let fix = Fix::GrowByFactor(Language::of_file(growth.line.site.file.as_deref()));
    let mut one = Candidate::new(Cause::ReallocGrowth, None, Vec::new(), fix);
    one.at = Some(growth.line.site.clone());
    one.saves(&[
        SavedTime::of(copying, GROWTH_COPIES_SAVED),
        SavedTime::of(allocator, GROWTH_ALLOCATOR_SAVED),
        SavedTime::within(
            (kernel, faults, most - copying - allocator),
            GROWTH_KERNEL_SAVED,
        ),
        // Caches and the code around the copies.
        SavedTime::within((rest, 0.0, 1.0 - most), GROWTH_REST_SAVED),
    ]);
    one.executions = Some(growth.growths as u64);
    one.confirmation = Confirmation::GrowthSizes;
    one = one.fact(growth.proof);
    if let Some(moves) = program.follow_up.sizes.as_ref().and_then(realloc_moves) {
        one = one.fact(moves);
    }
    one = one.fact(MemoryFact::CopyAndAllocatorTime {
        copies: copying,
        allocator,
    });
    if program.cpu_seconds > 0.0 && growth.growths > 0.0 {
        one = one.fact(MemoryFact::GrowthCost {
            seconds: (copying + allocator) * program.cpu_seconds / growth.growths,
        });
    }
    Some(one)
}

/// What `realloc` copied for what it gained, where it copied at all.
fn realloc_moves(sizes: &Sizes) -> Option<MemoryFact> {
    (sizes.moved > 0 && sizes.grown_bytes > 0).then_some(MemoryFact::ReallocMoves {
        moves: sizes.moved,
        bytes: sizes.moved_bytes,
        grown_bytes: sizes.grown_bytes,
    })
}

/// Part of all copies that are made by lines, or within functions, that grow.
fn part_of_copies(input: &AnalysisInput, is: impl Fn(&UserCall) -> bool) -> (f64, f64) {
    let Some(copies) = input.service("copy") else {
        return (0.0, 0.0);
    };
    let calls: f64 = copies
        .users
        .iter()
        .filter(|user| is(user))
        .map(|user| user.calls)
        .sum();
    ((calls / copies.calls.max(1) as f64).min(1.0), calls)
}

/// Whether a copy is one that growing makes.
fn is_within_growth(user: &UserCall) -> bool {
    user.through.iter().any(|name| is_growth(name))
}

fn by_realloc(input: &AnalysisInput) -> Option<Growth<'_>> {
    let realloc = input.service("realloc")?;
    // A first `realloc` of nothing is a `malloc`, so buffers that are never freed are counted too.
    let buffers = input
        .service_calls("free")
        .max(input.service_calls("malloc"))
        .max(1) as f64;
    let each = realloc.calls as f64 / buffers;
    let line = lines(&realloc.users).into_iter().next()?;
    // One line must make most of it, or it is many small growths.
    if each < MAX_GROWTHS_BY_DOUBLING
        || realloc.calls < MIN_CALLS_HABITUAL
        || line.calls < MIN_PART_OF_REALLOCS_FROM_LINE * realloc.calls as f64
    {
        return None;
    }
    // `realloc` copies large blocks, whatever else copies: by number of calls that is too little.
    let (part, _) = part_of_copies(input, is_within_growth);
    let growths = line.calls;
    Some(Growth {
        line,
        growths,
        proof: MemoryFact::ReallocCalls {
            calls: realloc.calls,
            buffers: buffers as u64,
        },
        copies: part.max(MOST_OF_IT),
    })
}

/// Blocks of which each call of `realloc` makes little more: what these calls take goes, wherever blocks stay.
fn small_steps(input: &AnalysisInput) -> Option<Candidate> {
    let sizes = input.program.follow_up.sizes.as_ref()?;
    let calls = sizes.resized.total();
    let grown_bytes = sizes.grown_bytes as f64 / calls.max(1) as f64;
    let bytes = sizes.resized.mean();
    let allocator = input.share_where(|f| !f.own && f.function.contains("realloc"));
    let copying = input.copy_share() * part_of_copies(input, is_within_growth).0;
    let share = allocator + copying;
    if calls < MIN_CALLS_HABITUAL
        || grown_bytes < 1.0
        || grown_bytes > MAX_STEP_OF_BLOCK * bytes
        || share < MIN_SHARE_OF_GROWTH_COPIES
    {
        return None;
    }
    let realloc = input.service("realloc")?;
    let line = lines(realloc.asked_by()).into_iter().next()?;
    if line.calls < MIN_PART_OF_REALLOCS_FROM_LINE * realloc.calls as f64 {
        return None;
    }
    let fix = Fix::GrowByFactor(Language::of_file(line.site.file.as_deref()));
    let mut one = Candidate::new(Cause::ReallocGrowth, None, Vec::new(), fix);
    one.saves(&[
        SavedTime::of(copying, GROWTH_COPIES_SAVED),
        SavedTime::of(allocator, GROWTH_ALLOCATOR_SAVED),
        SavedTime::within((1.0 - share, 0.0, 1.0 - share), GROWTH_REST_SAVED),
    ]);
    one.executions = Some(line.calls as u64);
    one.confirmation = Confirmation::GrowthSizes;
    one.at = Some(line.site);
    one = one.fact(MemoryFact::ReallocSteps {
        calls: realloc.calls,
        grown_bytes,
        bytes,
    });
    if let Some(moves) = realloc_moves(sizes) {
        one = one.fact(moves);
    }
    Some(one.fact(MemoryFact::CopyAndAllocatorTime {
        copies: copying,
        allocator,
    }))
}

fn by_reserve(input: &AnalysisInput) -> Option<Growth<'_>> {
    let exact = |user: &&UserCall| {
        user.through.iter().any(|name| {
            name.contains("::reserve")
                || name.contains("reserve_exact")
                || name == "reserve"
                || name.contains("shrink_to_fit")
        }) && !user
            .through
            .iter()
            .any(|name| name.contains("do_reserve_and_handle") || name.contains("grow_amortized"))
    };
    let new = input.service("malloc")?;
    let line = lines(new.users.iter().filter(exact)).into_iter().next()?;
    let same = |user: &UserCall| {
        user.place.line == line.site.line
            && user.place.file == line.site.file
            && user.module == line.site.module
    };
    let (part, calls) = part_of_copies(input, same);
    if line.calls < MIN_CALLS_HABITUAL as f64 || calls < MIN_RESERVE_PER_ALLOCATION * line.calls {
        return None;
    }
    let growths = line.calls;
    let proof = MemoryFact::ReserveMoves {
        allocations: growths as u64,
        moves: calls as u64,
    };
    Some(Growth {
        line,
        growths,
        proof,
        copies: part,
    })
}

/// New memory, a copy of the old, the old freed: all in one function of the user's, as often.
fn by_hand(input: &AnalysisInput) -> Option<Growth<'_>> {
    let new = input.service("malloc")?;
    let direct = |user: &&UserCall| {
        user.through.is_empty()
            || user
                .through
                .iter()
                .all(|name| name.starts_with("operator "))
    };
    for line in lines(new.users.iter().filter(direct)) {
        let near = |user: &UserCall| {
            let lines = user.place.line.zip(line.site.line);
            user.place.file == line.site.file
                && user.place.function.as_deref() == Some(line.site.function.as_str())
                && lines.is_some_and(|(a, b)| (b..b + MAX_LINES_OF_GROWTH_BY_HAND).contains(&a))
        };
        let alike = |calls: f64| (calls - line.calls).abs() <= SAME_CALLS_TOLERANCE * line.calls;
        let users = |name: &str| input.service(name).map_or(&[][..], |one| &one.users);
        let Some(old) = users("copy").iter().find(|copy| {
            let frees = users("free").iter();
            let freed = frees.filter(|free| near(free) && alike(free.calls));
            near(copy)
                && alike(copy.calls)
                && freed.clone().any(|free| same_memory(input, copy, free))
        }) else {
            continue;
        };
        let (part, _) = part_of_copies(input, |user| user.address == old.address);
        // A copy that costs no more than an allocation is of a few bytes: no growth that hurts. With
        // other copies beside it, long ones are told by their time, not by their number.
        let each = input.copy_share() * input.program.cpu_seconds * part.max(MOST_OF_IT)
            / old.calls.max(1.0);
        // Buffers end in a free elsewhere, or begin with nothing to copy.
        let ended = input.service_calls("free") as f64 - old.calls;
        let buffers = ended.max(line.calls - old.calls).max(1.0);
        if line.calls >= MIN_CALLS_HABITUAL as f64
            && each > MIN_GROWTH_COPY_SECONDS
            && old.calls / buffers >= MAX_GROWTHS_BY_DOUBLING
        {
            let growths = line.calls;
            let proof = MemoryFact::CopyAndFree {
                copy_seconds: each,
                times: growths as u64,
            };
            return Some(Growth {
                line,
                growths,
                proof,
                copies: part.max(MOST_OF_IT),
            });
        }
    }
    None
}

/// Whether a `free` gives back what a copy read: then the copy moved a buffer's contents. In a
/// copy that is used and freed itself, the freed memory is what was written.
fn same_memory(input: &AnalysisInput, copy: &UserCall, free: &UserCall) -> bool {
    let function = input.functions.iter().find(|one| {
        one.module == copy.module && one.function == copy.function && free.function == copy.function
    });
    let Some(function) = function else {
        return false;
    };
    // Calls do not say what they read: the register's value is that of its last mention before.
    let argument = |address: u64, register: Location| {
        let at = function
            .code
            .iter()
            .position(|code| code.address == address)?;
        let block = function.flow.block_of(at)?;
        let begin = function.flow.blocks()[block as usize].instructions.start as usize;
        let values = &function.values;
        (begin..at).rev().find_map(|before| {
            values
                .written(before, register)
                .or_else(|| values.read(before, register))
        })
    };
    let from = argument(copy.address, RSI);
    let freed = argument(free.address, RDI);
    let Some((from, freed)) = from.zip(freed) else {
        return false;
    };
    let values = &function.values;
    let loaded = values.loaded_from(from).zip(values.loaded_from(freed));
    from == freed || loaded.is_some_and(|(from, freed)| from == freed)
}
