//! How often the conditional jumps of a function are taken, counted in a run of the command.

use std::collections::HashMap;
use std::time::Duration;

use genba_count::{CountError, CountRequest, Engine, Transfers, native::Native};
use genba_model::CodeSpan;
use genba_run::{Cancel, CommandSpec, Launcher, Output};

use crate::DecodedCode;

/// Shares of executions in which jumps are taken, by their addresses.
pub type BranchShares = HashMap<u64, f64>;

/// Counts how often conditional jumps of a function are taken.
///
/// # Errors
/// If the command cannot be run, or the engine cannot count it.
pub fn count(
    spec: &CommandSpec,
    module: &str,
    code: &DecodedCode,
    limit: Duration,
    launcher: &mut Launcher,
    cancel: &Cancel,
) -> Result<BranchShares, CountError> {
    let mut spec = spec.clone();
    spec.stdout = Output::Null;
    spec.timeout = Some(spec.timeout.map_or(limit, |own| own.min(limit)));
    let (begin, end) = code.range();
    let span = CodeSpan {
        path: module.to_owned(),
        begin,
        end,
    };
    let request = CountRequest {
        spec,
        transfers: Transfers::Within(vec![span]),
        children: false,
        observe: None,
        native_exit: None,
    };
    let counted = Native.count(&request, launcher, cancel)?;
    let mut executions: HashMap<u64, u64> = HashMap::new();
    let mut taken: HashMap<u64, u64> = HashMap::new();
    for process in &counted.processes {
        let Some(number) = process.modules.iter().position(|one| one.path == module) else {
            continue;
        };
        for one in &process.modules[number].instructions {
            if (begin..end).contains(&one.address) {
                *executions.entry(one.address).or_default() += one.count;
            }
        }
        for jump in &process.transfers {
            let from = jump.from;
            if from.module as usize == number && (begin..end).contains(&from.address) {
                *taken.entry(from.address).or_default() += jump.count;
            }
        }
    }
    let share = |(at, all): (u64, u64)| {
        let taken = taken.get(&at).copied().unwrap_or(0);
        (at, taken as f64 / all.max(1) as f64)
    };
    Ok(executions.into_iter().map(share).collect())
}
