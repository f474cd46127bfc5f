//! Collects the files that the plugin wrote, process by process.

use std::path::Path;

use genba_model::ProcessCounts;

use super::blocks_to_executions::convert;
use super::plugin_file::{Counts, read};
use crate::CountRequest;
use crate::run_end::{CountedProcesses, words};

/// Reads the files of all processes; the error says why there are no counts of the target.
pub fn collect(
    directory: &Path,
    pid: i32,
    request: &CountRequest,
) -> Result<CountedProcesses, String> {
    let mut others = Vec::new();
    let entries =
        std::fs::read_dir(directory).map_err(|error| format!("cannot list its files: {error}"))?;
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
    Ok(CountedProcesses { processes, notes })
}

fn process(directory: &Path, pid: i32, request: &CountRequest) -> Result<ProcessCounts, String> {
    let bytes = std::fs::read(directory.join(pid.to_string())).map_err(|error| {
        format!(
            "the plugin wrote no file ({error}); libraries must be loadable from {}",
            directory.display()
        )
    })?;
    let counts = read(&bytes).map_err(|error| format!("its count file is damaged: {error}"))?;
    let mut process = convert(&counts).finish(pid, words(&request.spec.argv));
    process.cut_short = cut_short(&counts);
    if counts.signals > 0 {
        process.notes.push(format!(
            "{} signals were handled: up to as many jumps are missing",
            counts.signals
        ));
    }
    if counts.forks > 0 {
        process
            .notes
            .push(format!("{} child processes are not counted", counts.forks));
    }
    Ok(process)
}

fn cut_short(counts: &Counts<'_>) -> Option<String> {
    if counts.lost > 0 {
        // A count that is too low must be marked.
        return Some(format!(
            "{} executions of blocks or edges were lost: the temporary directory is full",
            counts.lost
        ));
    }
    if counts.executed {
        return Some("it executed another program, which qemu does not follow".to_owned());
    }
    (!counts.exited).then(|| "it did not exit by itself".to_owned())
}
