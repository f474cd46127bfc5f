//! Processes and those that they have started.

use std::collections::HashSet;

use crate::sampler::initial_records::threads;

/// Most processes of a tree.
const MAX_PROCESSES: usize = 10_000;

/// The children of a process, those that its threads other than the first have started included
/// (proc(5), `/proc/PID/task/TID/children`).
pub fn children(pid: i32) -> Vec<i32> {
    let mut all = Vec::new();
    for tid in threads(pid) {
        let path = format!("/proc/{pid}/task/{tid}/children");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        all.extend(
            text.split_ascii_whitespace()
                .filter_map(|word| word.parse::<i32>().ok()),
        );
    }
    all
}

/// A process with all that descend from it, each with its parent; 0 for the first.
pub fn tree(pid: i32) -> Vec<(i32, i32)> {
    trees(&[pid])
}

/// The same of several processes. This process and what it started are not part of it: where the user
/// attaches to the shell that started genba, genba would watch itself.
pub fn trees(pids: &[i32]) -> Vec<(i32, i32)> {
    let mut found: Vec<_> = pids.iter().map(|&pid| (pid, 0)).collect();
    let mut known: HashSet<i32> = pids.iter().copied().collect();
    known.insert(std::process::id().cast_signed());
    let mut at = 0;
    while at < found.len() && found.len() < MAX_PROCESSES {
        let parent = found[at].0;
        at += 1;
        for child in children(parent) {
            if known.insert(child) {
                found.push((child, parent));
            }
        }
    }
    found
}

/// All processes of the machine, as far as this user may see them.
pub fn all() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_of_children_are_found() {
        let mut shell = std::process::Command::new("sh")
            .args(["-c", "(cat; true); true"])
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("sh exists");
        let first = shell.id() as i32;
        // The shell has started the others at some time; until then it is alone.
        let found = loop {
            let found = tree(first);
            assert_eq!(found[0], (first, 0));
            if found.len() >= 3 {
                break found;
            }
            std::thread::yield_now();
        };
        assert_eq!(found[2].1, found[1].0);
        drop(shell.stdin.take());
        assert!(shell.wait().expect("it is our child").success());
    }

    #[test]
    fn this_process_is_not_part_of_its_parents_tree() {
        let own = std::process::id().cast_signed();
        let parent = std::os::unix::process::parent_id().cast_signed();
        assert!(trees(&[parent]).iter().all(|&(pid, _)| pid != own));
        assert!(trees(&[own]).iter().any(|&(pid, _)| pid == own));
    }
}
