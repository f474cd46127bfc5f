//! `memory-bound-copy`: large copies at the speed of memory.
//!
//! **Signature.** A good part of the time is in `memcpy` or `memmove`, and the copies are so large
//! (thousands of cycles each) that their number does not matter. Growing buffers, and shifts of a
//! list for each element, are causes of their own.
//!
//! **Confirmation.** The sizes; the host's own copy bandwidth.
//!
//! **Gain.** Whatever is not copied; the counts do not tell how much that is, from a little to all
//! of it.
//!
//! **Source.** J. McCalpin, STREAM, 1995: a copy is bound by bandwidth, not by its instructions.

use genba_model::{Cause, Confirmation, FindingSite, Fix, MemoryFact};

use crate::candidate::Candidate;
use crate::causes::{quadratic, realloc_growth};
use crate::constants::counts::{LARGE_COPY_SIZE_CLASS, MIN_CALLS_HABITUAL, MIN_LARGE_COPY_SECONDS};
use crate::constants::gains::{COPY_KERNEL_SAVED, COPY_REST_SAVED, COPY_SAVED};
use crate::constants::time_shares::SOLE_CALLER_PART;
use crate::constants::time_shares::{
    MIN_SHARE_OF_COPIES, MIN_SHARE_OF_COPIES_FOR_SIZES_RUN, MOST_OF_IT,
};
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::AnalysisInput;
use crate::input::copied_bytes::{LargeCopies, large_copies};
use crate::input::runtime_services::is_copy_function;
use crate::input::user_lines::{lines, site_of};

/// Finds large copies that take much of the time, from counted copies and their time or sizes.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    find(input).into_iter().collect()
}

/// Whether copies take much of the time, large ones by their average, and no line makes most of
/// the calls: which of them makes the large ones, their number does not tell.
#[must_use]
pub fn is_suspected(input: &AnalysisInput) -> bool {
    each(input).is_some() && copying_line(input).is_none_or(|(_, part)| part < MOST_OF_IT)
}

/// Whether it would help to know the sizes: their average time does not tell few large copies
/// among many small ones.
#[must_use]
pub fn wants_sizes(input: &AnalysisInput) -> bool {
    input.copy_share() >= MIN_SHARE_OF_COPIES_FOR_SIZES_RUN || each(input).is_some()
}

/// Seconds of a large copy, where they take much of the time: of those that are large by their
/// size, or, where that is not known, of all by their average.
fn each(input: &AnalysisInput) -> Option<f64> {
    let share = input.copy_share();
    let copies = input.service("copy")?;
    let cpu = input.program.cpu_seconds;
    if share < MIN_SHARE_OF_COPIES || copies.calls == 0 || cpu <= 0.0 {
        return None;
    }
    let time = share * cpu;
    match &input.program.follow_up.sizes {
        Some(sizes) if sizes.copied.total() > 0 => {
            let most = sizes.copied.part_of_bytes_from(LARGE_COPY_SIZE_CLASS) >= MOST_OF_IT;
            let large = large(input).filter(|&large| large > 0.0 && most)?;
            Some(time / large)
        }
        _ => match observed(input) {
            Some(large) => Some(time * large.part / large.calls),
            None => Some(time / copies.calls as f64).filter(|&each| each >= MIN_LARGE_COPY_SECONDS),
        },
    }
}

/// The large copies that bursts saw, where these are most of the copied bytes.
fn observed(input: &AnalysisInput) -> Option<LargeCopies> {
    let found = large_copies(input, (1u64 << (LARGE_COPY_SIZE_CLASS - 1)) as f64);
    found.filter(|large| large.calls >= MIN_CALLS_HABITUAL as f64)
}

/// Number of large copies, where sizes are known.
fn large(input: &AnalysisInput) -> Option<f64> {
    let copied = &input.program.follow_up.sizes.as_ref()?.copied;
    let large = copied.calls.iter().skip(LARGE_COPY_SIZE_CLASS);
    Some(large.fold(0u64, |sum, &n| sum.saturating_add(n)) as f64)
}

/// The line that the copies are made for, and its part of them: of their time, where that was
/// sampled; of their bytes, where bursts saw them; else of their number.
pub(super) fn copying_line(input: &AnalysisInput) -> Option<(FindingSite, f64)> {
    if let Some(first) = input.program.follow_up.copies.first() {
        let site = site_of(&first.function, &first.module, first.address, &first.place);
        return Some((site, first.share.min(1.0)));
    }
    if let Some(observed) = observed(input) {
        return Some((observed.site, observed.here));
    }
    let copies = input.service("copy")?;
    // Which line makes the large ones, the number of calls does not tell where most are small.
    let mostly_large = large(input).map(|large| large >= MOST_OF_IT * copies.calls as f64);
    if mostly_large == Some(false) {
        return None;
    }
    let line = lines(&copies.users).into_iter().next()?;
    // Those that the runtime makes for itself, to load the program, are small.
    let users: f64 = copies.users.iter().map(|user| user.calls).sum();
    let part = (line.calls / users.max(1.0)).min(1.0);
    // Nor where no size is known, unless nobody else copies.
    let certain = mostly_large == Some(true) || part >= SOLE_CALLER_PART;
    certain.then_some((line.site, part))
}

fn find(input: &AnalysisInput) -> Option<Candidate> {
    let share = input.copy_share();
    let copies = input.service("copy")?;
    let each = each(input)?;
    let sizes = input.program.follow_up.sizes.as_ref();
    let others = || {
        let mut all = quadratic::detect(input);
        all.extend(realloc_growth::detect(input));
        !all.is_empty()
    };
    if others() {
        return None;
    }
    let (site, part) = copying_line(input)?;
    if part < MOST_OF_IT {
        return None;
    }
    let function = input
        .functions
        .iter()
        .position(|f| !f.own && is_copy_function(&f.function))?;
    let mut one = Candidate::new(Cause::MemoryBoundCopy, None, Vec::new(), Fix::CopyLess);
    one.at = Some(site);
    // What a copy drives out of the caches costs the rest as well.
    let goes = share * part;
    // Where memory is faulted in for the copies, that goes with them.
    let kernel = part * input.paging_share().min(1.0 - share);
    one.saves(&[
        SavedTime::of(goes, COPY_SAVED),
        SavedTime::of(kernel, COPY_KERNEL_SAVED),
        SavedTime::of(1.0 - goes - kernel, COPY_REST_SAVED),
    ]);
    one.executions = Some(copies.calls);
    one.confirmation = Confirmation::CopySizes;
    one = one
        .fact(MemoryFact::CopyTime {
            share,
            function: input.functions[function].function.clone(),
        })
        .fact(MemoryFact::Copies {
            copies: copies.calls,
            here: part,
            of_time: !input.program.follow_up.copies.is_empty(),
        });
    if let Some((sizes, large)) = sizes.zip(large(input)) {
        one = one.fact(MemoryFact::LargeCopies {
            large: large as u64,
            copies: sizes.copied.total(),
            from_bytes: 1 << (LARGE_COPY_SIZE_CLASS - 1),
            bytes: sizes.copied.bytes,
        });
    }
    let bandwidth = input.program.costs.table.as_ref().and_then(|table| {
        let entry = table.entry("memcpy [memory]")?;
        entry.bytes_per_second
    });
    Some(one.fact(MemoryFact::CopyCost {
        seconds: each,
        host_bytes_per_second: bandwidth.filter(|_| sizes.is_none()).map(|rate| rate.value),
    }))
}
