//! Who keeps memory that functions of the user's own allocate for their callers: those that return it, hand requests on
//! and also resize and free, or make copies. Which callers ask is in no count, but in the paths that bursts saw
//! ([`genba_observe::AllocationPath`]).

use genba_model::{CodePoint, FindingSite};
use genba_observe::AllocationPath;

use crate::constants::counts::{
    MAX_INSTRUCTIONS_OF_WRAPPER, MAX_PART_OF_OTHER_CALLS, MIN_BURSTS_FOR_EVENTS,
    MIN_PART_OF_MIXED_WRAPPER,
};
use crate::constants::observations::{MIN_ORDERED, MIN_SEEN};
use crate::constants::time_shares::MOST_OF_IT;
use crate::finding_site::site;
use crate::input::analysis_input::{AnalysisInput, FunctionInput, UserCall};
use crate::input::runtime_services::is_allocator;
use crate::patterns::observed_sites::ObservedSites;

/// The line whose function keeps most of what is allocated at `counted`, by these calls, with its part of all allocations, of
/// which `part` are made there: where that only allocates for its callers. `None` where it keeps them itself, where it makes objects of
/// one size for many (a pool of them serves all), or where bursts saw too little.
pub(crate) fn keeper(
    input: &AnalysisInput,
    counted: &FindingSite,
    calls: &[&UserCall],
    part: f64,
) -> Option<(FindingSite, f64)> {
    let sites = ObservedSites::of(input)?;
    let observed = sites.observed;
    let is_counted = |at: &CodePoint| {
        let module = observed.modules.get(at.module as usize);
        let mut calls = calls.iter();
        calls.any(|call| call.address == at.address && Some(&call.module) == module)
    };
    // Of a function that jumps on to the allocator a path has only the call: what was counted is not in it.
    let jumps_on = |at: &CodePoint| {
        let site = sites.site(*at).and_then(|(function, call)| {
            let mut all = input.functions[function].call_sites.iter();
            all.find(|one| one.at == call)
        });
        site.is_some_and(|site| {
            let mut targets = site.targets.iter();
            targets.any(|target| {
                let mut calls = calls.iter();
                calls.any(|call| {
                    (&call.function, &call.module) == (&target.function, &target.module)
                })
            })
        })
    };
    let leads = |path: &&AllocationPath| {
        let mut all = path.through.iter().chain(&path.calls);
        all.clone().any(is_counted) || all.next().is_some_and(jumps_on)
    };
    let paths = || observed.allocation_paths.iter().filter(leads);
    let all: u64 = paths().map(|path| path.allocations).sum();
    if all < MIN_SEEN || observed.bursts < MIN_BURSTS_FOR_EVENTS {
        return None;
    }
    let mut lines: Vec<(FindingSite, u64)> = Vec::new();
    for path in paths() {
        // Functions that are not in the input take hardly any time: they do little but ask.
        let known = path.calls.iter().filter_map(|&at| sites.site(at));
        let keeps = known.into_iter().find(|&(function, call)| {
            let function = &input.functions[function];
            !hands_on(function, call)
                && !function.is_library_template()
                && !makes_copies(&function.function)
        });
        let Some((function, call)) = keeps.filter(|one| input.functions[one.0].own) else {
            continue;
        };
        let here = site(&input.functions[function], &[call]);
        match lines.iter_mut().find(|line| is_same_line(&line.0, &here)) {
            Some(line) => line.1 += path.allocations,
            None => lines.push((here, path.allocations)),
        }
    }
    let of_all = |allocations: u64| allocations as f64 / all as f64;
    let known: u64 = lines.iter().map(|line| line.1).sum();
    let keeps_itself = lines
        .iter()
        .any(|line| is_same_line(&line.0, counted) && of_all(line.1) >= MOST_OF_IT);
    let (line, most) = lines.into_iter().max_by_key(|line| line.1)?;
    let pool = of_all(most) < MOST_OF_IT && allocates_one_size(&sites, counted);
    (of_all(known) >= MOST_OF_IT && !keeps_itself && !pool).then(|| (line, part * of_all(most)))
}

/// Whether the allocator was seen to get nearly always the same size from a call at this site. (`calloc` gets a number first.)
fn allocates_one_size(sites: &ObservedSites<'_>, site: &FindingSite) -> bool {
    let module = sites.observed.module(&site.module);
    let mut values = sites.observed.argument_values.iter();
    values.any(|one| {
        Some(one.at.module) == module
            && site.addresses.contains(&one.at.address)
            && one.argument == 0
            && one.value.value > 1
            && one.value.share.value >= MIN_ORDERED
    })
}

/// Whether two sites are one line; where there are no lines, one function.
pub(crate) fn is_same_line(one: &FindingSite, other: &FindingSite) -> bool {
    let same = match one.line.or(other.line) {
        Some(_) => (&one.file, one.line) == (&other.file, other.line),
        None => one.function == other.function,
    };
    same && one.module == other.module
}

/// Whether a function makes a copy of an object, by the name that Rust's `Clone` gives it. Who wants the copy decides whether
/// there must be one.
fn makes_copies(function: &str) -> bool {
    function.ends_with(" as core::clone::Clone>::clone")
}

/// Whether a function does little but make this call, or one of the allocator's others.
fn hands_on(function: &FunctionInput, call: usize) -> bool {
    let Some(calls) = function.calls.filter(|&calls| calls > 0) else {
        return false;
    };
    let calls = calls as f64;
    let (mut made, mut others) = (0.0, 0.0);
    for one in &function.call_sites {
        for target in &one.targets {
            let count = target.count as f64;
            match one.at == call {
                true => made += count,
                false if is_allocator(&target.function) => {}
                false => others += count,
            }
        }
    }
    let instructions = function.counts.iter().map(|&count| count as f64);
    function.counted
        && made >= MIN_PART_OF_MIXED_WRAPPER * calls
        && others <= MAX_PART_OF_OTHER_CALLS * calls
        && instructions.sum::<f64>() <= MAX_INSTRUCTIONS_OF_WRAPPER * calls
}
