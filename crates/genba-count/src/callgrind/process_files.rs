//! Collects the files that callgrind wrote, process by process.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use genba_model::ProcessCounts;

use super::callgrind_file::CallgrindCounts;
use super::costs_to_executions::convert;
use super::valgrind_command::{COUNTS_PREFIX, LOG_PREFIX};
use super::valgrind_log::{Loaded, Log};
use crate::CountRequest;
use crate::elf_code::ElfCode;
use crate::process_counts_builder::ProcessCountsBuilder;
use crate::run_end::{CountedProcesses, words};

/// Most of valgrind's messages that is read, bytes: a target can make it write without end.
const MAX_LOG_BYTES: u64 = 64 << 20;

/// Files and messages of one process.
#[derive(Default)]
struct Files {
    /// Files of counts by their number; the last one has none.
    counts: BTreeMap<u32, PathBuf>,
    log: Option<PathBuf>,
}

/// Reads the files of all processes; the error says why there are no counts of the target.
pub fn collect(
    directory: &Path,
    pid: i32,
    request: &CountRequest,
) -> Result<CountedProcesses, String> {
    let mut found = list(directory)?;
    let mut notes = Vec::new();
    let logs: BTreeMap<i32, Log> = (found.iter())
        .map(|(pid, files)| (*pid, read_log(files.log.as_deref())))
        .collect();
    let target = found.remove(&pid).unwrap_or_default();
    let mut processes = vec![process(pid, &target, &logs, request, true)?];
    if request.children {
        for (pid, files) in &found {
            match process(*pid, files, &logs, request, false) {
                Ok(process) => processes.push(process),
                Err(reason) => notes.push(format!("no counts of process {pid}: {reason}")),
            }
        }
    } else if !found.is_empty() {
        notes.push(match found.len() {
            1 => "a child process is not counted".to_owned(),
            others => format!("{others} child processes are not counted"),
        });
    }
    Ok(CountedProcesses { processes, notes })
}

fn list(directory: &Path) -> Result<BTreeMap<i32, Files>, String> {
    let mut found: BTreeMap<i32, Files> = BTreeMap::new();
    let entries =
        std::fs::read_dir(directory).map_err(|error| format!("cannot list its files: {error}"))?;
    for entry in entries.flatten() {
        let (name, path) = (entry.file_name(), entry.path());
        if let Some((pid, _)) = pid_and_part(&name, LOG_PREFIX) {
            found.entry(pid).or_default().log = Some(path);
        } else if let Some((pid, part)) = pid_and_part(&name, COUNTS_PREFIX) {
            found.entry(pid).or_default().counts.insert(part, path);
        }
    }
    Ok(found)
}

/// Parses a file name: `counts.12.3` is 12 and 3; `counts.12`, the last one, is 12 and the largest
/// number.
fn pid_and_part(name: &OsStr, prefix: &str) -> Option<(i32, u32)> {
    let rest = name.as_bytes().strip_prefix(prefix.as_bytes())?;
    let rest = std::str::from_utf8(rest).ok()?;
    match rest.split_once('.') {
        Some((pid, part)) => Some((pid.parse().ok()?, part.parse().ok()?)),
        None => Some((rest.parse().ok()?, u32::MAX)),
    }
}

fn process(
    pid: i32,
    files: &Files,
    logs: &BTreeMap<i32, Log>,
    request: &CountRequest,
    target: bool,
) -> Result<ProcessCounts, String> {
    let log = logs.get(&pid).cloned().unwrap_or_default();
    let loaded = loaded(&log, logs);
    let mut dump = CallgrindCounts::default();
    let mut damaged = None;
    for path in files.counts.values() {
        let added = File::open(path)
            .map_err(Into::into)
            .and_then(|file| dump.add(BufReader::with_capacity(1 << 16, file)));
        if let Err(error) = added {
            damaged = Some(format!("{} {error}", path.display()));
        }
    }
    if dump.counts.is_empty() {
        let reason = match (damaged, log.tail.is_empty()) {
            (Some(damaged), _) => damaged,
            (None, true) => "valgrind wrote neither counts nor messages".to_owned(),
            (None, false) => format!("valgrind wrote no counts, but: {}", log.tail.join(" / ")),
        };
        return Err(reason);
    }
    let asked = words(&request.spec.argv);
    let same = dump.command.trim() == asked.join(" ").trim();
    let command = if same && target {
        asked
    } else {
        vec![dump.command.clone()]
    };
    let counts = convert(&dump, &loaded, request.transfers.any());
    let inherited = !log.started && has_entry_point(&counts, &loaded);
    let mut counts = counts.finish(pid, command);
    let last = files.counts.contains_key(&u32::MAX);
    counts.cut_short = match (damaged, &log.signal, last) {
        (Some(damaged), ..) => Some(format!("a callgrind file is damaged: {damaged}")),
        (None, Some(signal), _) => Some(ended_by(signal, log.unknown_instruction)),
        (None, None, false) => Some("valgrind was killed; the last seconds are missing".to_owned()),
        (None, None, true) => None,
    };
    if target && !same && log.started {
        counts.notes.push(
            "another program executed this one in the same process; valgrind loses its counts"
                .to_owned(),
        );
    }
    if inherited {
        counts.notes.push(
            "the process was created otherwise than by fork or vfork: what its parent had \
             executed before is counted here, too"
                .to_owned(),
        );
    }
    Ok(counts)
}

/// Returns the objects of a process; in a fork, also those that its parents loaded.
fn loaded(log: &Log, logs: &BTreeMap<i32, Log>) -> Vec<Loaded> {
    let mut chain = vec![log];
    while let Some(log) = chain.last()
        && !log.started
        && let Some(parent) = log.parent.and_then(|pid| logs.get(&pid))
        && chain.len() <= logs.len()
    {
        chain.push(parent);
    }
    let inherited = chain.into_iter().rev();
    inherited.flat_map(|log| log.loaded.clone()).collect()
}

/// Whether the program's entry point is among what was counted.
fn has_entry_point(builder: &ProcessCountsBuilder, loaded: &[Loaded]) -> bool {
    let program = loaded.first().map(|object| object.path.as_str());
    (builder.modules.iter())
        .filter(|module| Some(module.path.as_str()) == program)
        .any(|module| {
            let entry = module.code.as_ref().map(ElfCode::entry_point);
            entry.is_some_and(|entry| module.counts.contains_key(&entry))
        })
}

fn ended_by(signal: &str, unknown_instruction: bool) -> String {
    if unknown_instruction {
        format!(
            "killed by signal {signal}: valgrind does not know one of its instructions (AVX-512?)"
        )
    } else {
        format!("killed by signal {signal}")
    }
}

fn read_log(path: Option<&Path>) -> Log {
    let mut text = Vec::new();
    if let Some(file) = path.and_then(|path| File::open(path).ok()) {
        // A partial file is used as far as it was read.
        let _ = file.take(MAX_LOG_BYTES).read_to_end(&mut text);
    }
    Log::parse(&String::from_utf8_lossy(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_have_process_and_order() {
        let name = |text: &'static str| pid_and_part(OsStr::new(text), COUNTS_PREFIX);
        assert_eq!(name("counts.12"), Some((12, u32::MAX)));
        assert_eq!(name("counts.12.3"), Some((12, 3)));
        assert_eq!(name("counts.x"), None);
        assert_eq!(name("log.12"), None);
    }
}
