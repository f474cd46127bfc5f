//! Functions of the user's own that hand requests for memory on, and also resize and free: which of their
//! callers ask is in no count, but in the paths that bursts saw ([`genba_observe::AllocationPath`]).

use genba_model::{CodePoint, FindingSite};

use crate::constants::counts::{
    MAX_INSTRUCTIONS_OF_WRAPPER, MAX_PART_OF_OTHER_CALLS, MIN_BURSTS_FOR_EVENTS,
    MIN_PART_OF_MIXED_WRAPPER,
};
use crate::constants::observations::MIN_SEEN;
use crate::constants::time_shares::MOST_OF_IT;
use crate::finding_site::site;
use crate::input::analysis_input::{AnalysisInput, FunctionInput};
use crate::input::runtime_services::is_allocator;
use crate::patterns::observed_sites::ObservedSites;

/// The line that asks through a call of the allocator most often, where that call is in a wrapper; with its
/// part of the allocations there. `None` where the call is not in a wrapper, or bursts saw too little.
pub(crate) fn asker(
    input: &AnalysisInput,
    module: &str,
    address: u64,
) -> Option<(FindingSite, f64)> {
    let sites = ObservedSites::of(input)?;
    let observed = sites.observed;
    let at = CodePoint {
        module: observed.module(module)?,
        address,
    };
    let (function, call) = sites.site(at)?;
    let paths =
        || (observed.allocation_paths.iter()).filter(|path| path.calls.first() == Some(&at));
    let all: u64 = paths().map(|path| path.allocations).sum();
    if !hands_on(&input.functions[function], call)
        || all < MIN_SEEN
        || observed.bursts < MIN_BURSTS_FOR_EVENTS
    {
        return None;
    }
    let mut lines: Vec<(FindingSite, u64)> = Vec::new();
    for path in paths() {
        // Functions that are not in the input take hardly any time: they do little but ask.
        let known = path.calls.iter().filter_map(|&at| sites.site(at));
        let asks = known.into_iter().find(|&(function, call)| {
            let function = &input.functions[function];
            !hands_on(function, call)
        });
        let Some((function, call)) = asks.filter(|one| input.functions[one.0].own) else {
            continue;
        };
        let here = site(&input.functions[function], &[call]);
        let same = |line: &&mut (FindingSite, u64)| {
            (&line.0.function, &line.0.file, line.0.line) == (&here.function, &here.file, here.line)
        };
        match lines.iter_mut().find(same) {
            Some(line) => line.1 += path.allocations,
            None => lines.push((here, path.allocations)),
        }
    }
    let known: u64 = lines.iter().map(|line| line.1).sum();
    let (line, most) = lines.into_iter().max_by_key(|line| line.1)?;
    (known as f64 >= MOST_OF_IT * all as f64).then_some((line, most as f64 / all as f64))
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
