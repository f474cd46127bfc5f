//! Which jumps the engine is to record, in the form in which it is told: ranges of files.

use std::collections::BTreeSet;
use std::path::Path;

use genba_engine::count_file_layout::{
    CODE_RANGE_CAPACITY, CodeRange, TRANSFERS_ALL, TRANSFERS_ENTRIES, TRANSFERS_NONE,
    TRANSFERS_WITHIN, path_hash,
};
use genba_engine::duet_layout::DuetParameters;
use genba_engine::runtime::bursts::BurstParameters;
use genba_model::CodeSpan;

use super::inject::EngineOptions;
use crate::elf_code::ElfCode;
use crate::{BurstPlan, CountRequest, Transfers};

/// Returns the engine's options for a request.
///
/// # Errors
/// A sentence if there are more ranges of code than the count file has room for.
pub fn engine_options(request: &CountRequest) -> Result<EngineOptions, String> {
    let (transfers, code_ranges) = match &request.transfers {
        Transfers::None => (TRANSFERS_NONE, Vec::new()),
        Transfers::Entries => (TRANSFERS_ENTRIES, Vec::new()),
        Transfers::Within(spans) => (TRANSFERS_WITHIN, code_ranges(spans)),
        Transfers::Everywhere => (TRANSFERS_ALL, Vec::new()),
    };
    if code_ranges.len() > CODE_RANGE_CAPACITY as usize {
        return Err(format!(
            "it cannot record jumps in {} ranges of code, at most in {CODE_RANGE_CAPACITY}; select \
             fewer functions",
            code_ranges.len()
        ));
    }
    Ok(EngineOptions {
        children: request.children,
        transfers,
        code_ranges,
        bursts: request
            .observe
            .as_ref()
            .map(burst_parameters)
            .unwrap_or_default(),
        duet: DuetParameters::default(),
        edits: Vec::new(),
    })
}

fn burst_parameters(plan: &BurstPlan) -> BurstParameters {
    BurstParameters {
        bursts: plan.bursts.into(),
        words: plan.words.into(),
        interval_nanoseconds: u64::try_from(plan.interval.as_nanos()).unwrap_or(u64::MAX >> 8),
        seed: plan.seed,
    }
}

fn code_ranges(spans: &[CodeSpan]) -> Vec<CodeRange> {
    let mut found = BTreeSet::new();
    let paths: BTreeSet<&str> = spans.iter().map(|span| span.path.as_str()).collect();
    for path in paths {
        let Some(code) = ElfCode::read(Path::new(path)) else {
            continue;
        };
        let hash = path_hash(path.as_bytes());
        for span in spans.iter().filter(|span| span.path == path) {
            if let Some(offset) = code.offset_of(span.begin) {
                found.insert(CodeRange {
                    path: hash,
                    begin: offset,
                    end: offset.saturating_add(span.end.saturating_sub(span.begin)),
                });
            }
        }
    }
    found.into_iter().collect()
}
