//! `first-touch`: memory returned to the kernel and page-faulted in again.
//!
//! **Signature.** Page faults take a good share of the time, and the faulted pages are several
//! times the peak resident set: pages are cleared and mapped again and again. A program that
//! touches all its memory once has to, and is not reported.
//!
//! Who makes the mappings tells what to keep: a program that calls `mmap` itself, about as often as its peak memory
//! is faulted in again or more often, keeps its mapping; else it is the allocator that returns memory.
//!
//! **Confirmation.** Keep the memory: high values of `MALLOC_TRIM_THRESHOLD_` and
//! `MALLOC_MMAP_THRESHOLD_` do so without a change of the program. They change nothing about mappings of its own.
//!
//! **Gain.** The kernel's time for faults, clearing and unmapping, except for the first fault of
//! each page.
//!
//! **Source.** mallopt(3), `M_MMAP_THRESHOLD`, on the cost of mapping and of clearing.

use genba_model::{Cause, Confirmation, FindingSite, Fix, HostOperation, KernelFact};

use crate::candidate::Candidate;
use crate::causes::memory_bound_copy::copying_line;
use crate::constants::counts::{MIN_PAGE_TURNOVER, MIN_PART_OF_FAULTS_AT_LINE};
use crate::constants::gains::{FAULTS_REST_SAVED, FAULTS_SAVED, PAGING_SAVED};
use crate::constants::processor::PAGE_BYTES;
use crate::constants::time_shares::{MIN_SHARE_OF_PAGE_FAULTS, MOST_OF_IT};
use crate::gain::saved_time::SavedTime;
use crate::input::analysis_input::AnalysisInput;
use crate::input::runtime_services::{is_copy_function, plain, service};
use crate::input::user_lines::{lines, site_of};

/// Finds page faults of several times the peak memory, from the run's counters and the time in
/// the kernel.
#[must_use]
pub fn detect(input: &AnalysisInput) -> Vec<Candidate> {
    find(input).into_iter().collect()
}

/// Whether pages are taken again and again, at a cost.
#[must_use]
pub fn is_suspected(input: &AnalysisInput) -> bool {
    turnover(input).is_some_and(|turnover| turnover >= MIN_PAGE_TURNOVER)
        && input.fault_share() >= MIN_SHARE_OF_PAGE_FAULTS
}

/// Bytes of the pages that were faulted in, over the most memory that all processes can have had: the
/// peak is that of the largest.
fn turnover(input: &AnalysisInput) -> Option<f64> {
    let peak = input.program.max_rss_bytes.filter(|&peak| peak > 0.0)?;
    let processes = f64::from(input.program.processes.unwrap_or(1).max(1));
    Some(input.program.minor_faults? * PAGE_BYTES / (peak * processes))
}

fn find(input: &AnalysisInput) -> Option<Candidate> {
    let program = &input.program;
    let (faults, peak) = (program.minor_faults?, program.max_rss_bytes?);
    let (share, turnover) = (input.fault_share(), turnover(input)?);
    if !is_suspected(input) {
        return None;
    }
    let first = (1.0 / turnover).min(1.0);
    let kernel = input.paging_share();
    let mapped = own_mappings(input, turnover);
    let (site, part) = match &mapped {
        Some((site, _)) => (site.clone(), None),
        None => site(input)?,
    };
    let fix = match mapped {
        Some(_) => Fix::KeepMapping,
        None => Fix::KeepMemory,
    };
    let mut one = Candidate::new(Cause::FirstTouch, None, Vec::new(), fix);
    one.at = Some(site);
    // What was just cleared is in the caches, so its user must miss more after the change.
    let again = 1.0 - first;
    one.saves(&[
        SavedTime::of(share, (FAULTS_SAVED.0 * again, FAULTS_SAVED.1 * again, 0.0)),
        SavedTime::of(kernel, (PAGING_SAVED * again, 0.0, 1.0)),
        SavedTime::of(1.0 - kernel, FAULTS_REST_SAVED),
    ]);
    one.executions = Some(faults as u64);
    if mapped.is_none() {
        one.confirmation = Confirmation::KeepMemory;
    }
    one = one
        .fact(KernelFact::PageFaults {
            faults: faults as u64,
            bytes: faults * PAGE_BYTES,
            peak_bytes: peak,
        })
        .fact(KernelFact::MemoryManagement {
            share: kernel,
            faults: (share / kernel.max(1e-9)).min(1.0),
        });
    if let Some((_, calls)) = mapped {
        one = one.fact(KernelFact::Mappings { calls });
    }
    if let Some(share) = part {
        one = one.fact(KernelFact::FaultsHere { share });
    }
    if let Some(seconds) = input.host_seconds("page fault") {
        one = one.fact(KernelFact::HostCost {
            operation: HostOperation::PageFault,
            seconds,
        });
    }
    Some(one)
}

/// The line of the user's code that makes most mappings, with all that it makes: if they are so many that they can
/// have brought the faults, of which each mapping takes those of the peak memory at most.
fn own_mappings(input: &AnalysisInput, turnover: f64) -> Option<(FindingSite, u64)> {
    // What libraries map for themselves: memory to hand out, stacks of threads.
    let maps = |name: &String| {
        let allocates = matches!(service(name), Some(("malloc" | "realloc", _)));
        allocates || matches!(plain(name), "pthread_create" | "thrd_create")
    };
    let users = input.service("mapping")?.users.iter();
    let own: Vec<_> = users
        .filter(|user| !user.through.iter().any(maps))
        .collect();
    let calls: f64 = own.iter().map(|user| user.calls).sum();
    let line = lines(own.iter().copied()).into_iter().next()?;
    (calls + 1.0 >= turnover).then_some((line.site, calls as u64))
}

/// The line that takes most faults, with its part of them. Where faults were not sampled, the line
/// that copies or allocates most; where no line is known to, the function of the library that copies, or the
/// kernel.
fn site(input: &AnalysisInput) -> Option<(FindingSite, Option<f64>)> {
    if let Some(first) = input.program.follow_up.faults.first()
        && first.share >= MIN_PART_OF_FAULTS_AT_LINE
    {
        return Some((
            site_of(&first.function, &first.module, first.address, &first.place),
            Some(first.share),
        ));
    }
    if !input.program.follow_up.faults.is_empty() {
        return None;
    }
    let copying = (input.functions.iter()).find(|f| is_copy_function(&f.function));
    let line = match copying {
        Some(_) => copying_line(input)
            .filter(|line| line.1 >= MOST_OF_IT)
            .map(|line| line.0),
        None => allocating_line(input),
    };
    // Without counts it is not known how many processes there were, each of which touches its own.
    if line.is_none() && input.program.processes.is_none() {
        return None;
    }
    let nobodys = || FindingSite {
        function: copying.map_or("page faults".to_owned(), |one| one.function.clone()),
        module: copying.map_or("[kernel]".to_owned(), |one| one.module.clone()),
        file: None,
        line: None,
        end_line: None,
        addresses: Vec::new(),
        called_from: None,
        inside: None,
    };
    Some((line.unwrap_or_else(nobodys), None))
}

/// The line that makes most allocations: the bytes of each line's are not known.
fn allocating_line(input: &AnalysisInput) -> Option<FindingSite> {
    let users = &input.service("malloc")?.users;
    let all: f64 = users.iter().map(|user| user.calls).sum();
    let line = lines(users).into_iter().next()?;
    (line.calls >= MOST_OF_IT * all).then_some(line.site)
}
