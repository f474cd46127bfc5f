//! `memory-bound-copy`: large copies take the time, at the speed of memory.
//!
//! **Signature.** A good part of the time is in `memcpy` or `memmove`, and the copies are so large
//! that their number does not matter: thousands of cycles each. Buffers that grow, and moves of the
//! rest of a list for each element, have causes of their own.
//!
//! **Confirmation.** The sizes; the bandwidth of the host's own copies.
//!
//! **Gain.** What is not copied is gained; how much that is, the counts do not tell: from a
//! little to all of it.
//!
//! **Source.** J. McCalpin, STREAM, 1995: a copy is bound by bandwidth, not by its instructions.

use genba_model::Estimate;

use super::candidate::Candidate;
use super::frame::Frame;
use super::services::is_copy_function;
use super::user_lines::lines;
use super::words::{count, percent};
use super::{quadratic, realloc_growth};

/// Identifier.
pub const ID: &str = "memory-bound-copy";

/// Share of the time below which copies are not looked at.
const LEAST: f64 = 0.1;

/// Seconds that a copy must take on average to be a large one: some 20 kB.
const LARGE: f64 = 1e-6;

/// Sizes of as many bits, and more, are large: 8 kB.
const LARGE_CLASS: usize = 14;

/// Looks for it.
#[must_use]
pub fn detect(frame: &Frame) -> Vec<Candidate> {
    find(frame).into_iter().collect()
}

fn find(frame: &Frame) -> Option<Candidate> {
    let share = frame.copy_share();
    let copies = frame.service("copy")?;
    let cpu = frame.program.cpu_seconds;
    if share < LEAST || copies.calls == 0 || cpu <= 0.0 {
        return None;
    }
    let each = share * cpu / copies.calls as f64;
    if each < LARGE {
        return None;
    }
    // Time alone does not tell few large copies from many small ones that miss.
    let sizes = frame.program.tried.sizes.as_ref();
    if sizes.is_some_and(|sizes| sizes.copied.part_of_bytes_from(LARGE_CLASS) < 0.5) {
        return None;
    }
    let others = || {
        let mut all = quadratic::detect(frame);
        all.extend(realloc_growth::detect(frame));
        !all.is_empty()
    };
    if others() {
        return None;
    }
    let line = lines(&copies.users).into_iter().next()?;
    // Those that the runtime makes for itself, to load the program, are small.
    let users: f64 = copies.users.iter().map(|user| user.calls).sum();
    let part = (line.calls / users.max(1.0)).min(1.0);
    if part < 0.5 {
        return None;
    }
    let function = frame
        .functions
        .iter()
        .position(|f| !f.own && is_copy_function(&f.function))?;
    let mut one = Candidate::new(ID, None, Vec::new());
    one.at = Some(line.site.clone());
    // What a copy drives out of the caches costs the rest as well.
    let goes = share * part;
    // Where memory is faulted in for the copies, that goes with them.
    let kernel = part * frame.paging_share().min(1.0 - share);
    one.share = Some(1.0);
    one.remains = Estimate {
        value: 1.0 - 0.75 * (goes + kernel),
        low: 1.0 - goes - kernel - 0.6 * (1.0 - goes - kernel),
        high: 1.0 - 0.15 * goes,
    };
    one.executions = Some(line.calls as u64);
    one.fix = "Copy less: only the part that changes or is read, or two buffers that swap their roles (swap the pointers) instead of one that is copied; pass by reference or move."
        .to_owned();
    one.example = Some((
        "before = now;              /* all of it, each step */",
        "std::swap(before, now);    /* and write all that changes */",
    ));
    one.confirm =
        "leave the copy out of one run, or log its sizes; then: genba bench ./old ./new".to_owned();
    one = one
        .measured(format!(
            "{} of the time is in {}",
            percent(share),
            frame.functions[function].function
        ))
        .counted(format!(
            "{} copies, {} of them from this line",
            count(copies.calls),
            percent(part)
        ));
    if let Some(words) = sizes.and_then(|sizes| sizes.copied.words("copies")) {
        one = one.counted(words);
    }
    let bandwidth = frame.program.costs.table.as_ref().and_then(|table| {
        let entry = table.entry("memcpy [memory]")?;
        entry.bytes_per_second
    });
    let words = match bandwidth {
        Some(speed) => format!(
            "{:.0} µs for each copy: some {:.0} kB at the {:.0} GB/s that copies in memory reach here",
            each * 1e6,
            each * speed.value / 1e3,
            speed.value / 1e9
        ),
        None => format!("{:.0} µs for each copy", each * 1e6),
    };
    Some(one.model(words))
}
