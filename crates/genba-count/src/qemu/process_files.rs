//! Gathers what the plugin left in its directory, process by process.

use std::path::Path;

use genba_model::ProcessCounts;

use super::blocks_to_executions::builder;
use super::plugin_file::{Counts, read};
use crate::CountRequest;
use crate::run_end::words;

/// What a run left.
pub struct Outcome {
    /// The target first.
    pub processes: Vec<ProcessCounts>,
    /// Remarks.
    pub notes: Vec<String>,
}

/// Reads everything; an error says why there are no counts of the target.
pub fn collect(directory: &Path, pid: i32, request: &CountRequest) -> Result<Outcome, String> {
    let mut others = Vec::new();
    let entries = std::fs::read_dir(directory)
        .map_err(|error| format!("its files cannot be listed: {error}"))?;
    for entry in entries.flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.parse::<i32>().ok());
        others.extend(number.filter(|number| *number != pid));
    }
    others.sort_unstable();
    let mut processes = vec![process(directory, pid, request)?];
    let mut notes = Vec::new();
    for other in others {
        match process(directory, other, request) {
            Ok(process) => processes.push(process),
            Err(reason) => notes.push(format!("no counts of process {other}: {reason}")),
        }
    }
    Ok(Outcome { processes, notes })
}

fn process(directory: &Path, pid: i32, request: &CountRequest) -> Result<ProcessCounts, String> {
    let bytes = std::fs::read(directory.join(pid.to_string())).map_err(|error| {
        format!(
            "the plugin left no file ({error}); it must be possible to load a library from {}",
            directory.display()
        )
    })?;
    let counts = read(&bytes).map_err(|error| format!("its file of counts is damaged: {error}"))?;
    let mut process = builder(&counts).finish(pid, words(&request.spec.argv));
    process.cut_short = cut_short(&counts);
    if counts.signals > 0 {
        process.notes.push(format!(
            "{} signals were handled: as many jumps may be missing",
            counts.signals
        ));
    }
    if counts.forks > 0 {
        process.notes.push(format!(
            "{} processes that it started are not counted",
            counts.forks
        ));
    }
    Ok(process)
}

fn cut_short(counts: &Counts<'_>) -> Option<String> {
    if counts.lost > 0 {
        // Never a wrong count without a mark.
        return Some(format!(
            "{} executions of blocks or passages were lost: no room for them in the temporary \
             directory",
            counts.lost
        ));
    }
    if counts.executed {
        return Some("it executed another program, which qemu does not follow".to_owned());
    }
    (!counts.exited).then(|| "it did not exit by itself".to_owned())
}
