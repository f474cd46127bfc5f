//! How the wall time of the threads of a process tree divides between two looks, by the kernel's accounts:
//! one small file per thread and look.

use std::collections::HashMap;
use std::fs;
use std::time::Instant;

use genba_model::ThreadTime;

use super::process_tree;
use super::thread_files::{SchedStat, ThreadFiles};
use crate::sampler::initial_records::threads;

/// Most threads that are looked at.
const MAX_THREADS: usize = 5_000;
/// Name of the processes that start commands.
const LAUNCHER: &str = "genba-launcher";

/// Threads of a process and of those that it has started.
#[derive(Debug)]
pub struct ThreadLoad {
    root: i32,
    /// The program whose processes are not looked at: genba's own, where its children are watched.
    excluded: Option<std::path::PathBuf>,
    began: Instant,
    before: HashMap<i32, (SchedStat, Instant)>,
}

impl ThreadLoad {
    /// Of a running process.
    #[must_use]
    pub fn of_process(pid: i32) -> Self {
        Self {
            root: pid,
            excluded: None,
            began: Instant::now(),
            before: HashMap::new(),
        }
    }

    /// Of the commands that this process has started.
    #[must_use]
    pub fn of_children() -> Self {
        Self {
            excluded: fs::read_link("/proc/self/exe").ok(),
            ..Self::of_process(std::process::id() as i32)
        }
    }

    /// Whether a process is genba's own: itself, or what starts commands, which runs from a copy.
    fn is_own(&self, pid: i32) -> bool {
        let name = fs::read_to_string(format!("/proc/{pid}/comm"));
        name.is_ok_and(|name| name.trim_end() == LAUNCHER)
            || fs::read_link(format!("/proc/{pid}/exe")).ok() == self.excluded
    }

    /// Whether the last look has seen threads.
    #[must_use]
    pub fn has_threads(&self) -> bool {
        !self.before.is_empty()
    }

    /// The time of each thread since the last look, that with most CPU time first. Why one is blocked
    /// is not looked up. Threads that have just been seen for the first time are left out.
    pub fn look(&mut self) -> Vec<ThreadTime> {
        let mut now = HashMap::new();
        let mut times = Vec::new();
        for (pid, _) in process_tree::tree(self.root) {
            if self.excluded.is_some() && self.is_own(pid) {
                continue;
            }
            for tid in threads(pid) {
                if now.len() >= MAX_THREADS {
                    break;
                }
                let Some(account) = ThreadFiles::open(pid, tid).and_then(|file| file.account())
                else {
                    continue;
                };
                let at = Instant::now();
                now.insert(tid, (account, at));
                let Some((before, since)) = self.before.get(&tid) else {
                    continue;
                };
                let name = fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm"));
                let mut time = divided(*before, account, (at - *since).as_secs_f64());
                (time.pid, time.tid) = (pid, tid);
                time.name = name.unwrap_or_default().trim_end().to_owned();
                time.began = (*since - self.began).as_secs_f64();
                times.push(time);
            }
        }
        self.before = now;
        times.sort_by(|a, b| b.running.total_cmp(&a.running).then(a.tid.cmp(&b.tid)));
        times
    }
}

/// Divides `wall` seconds between two accounts. The account of a thread that runs is brought up to date
/// with each tick only, so its figures are clamped to what passed.
fn divided(before: SchedStat, now: SchedStat, wall: f64) -> ThreadTime {
    let seconds = |from: u64, to: u64| to.saturating_sub(from) as f64 / 1e9;
    let running = seconds(before.running, now.running).min(wall);
    let runnable = seconds(before.runnable, now.runnable).min(wall - running);
    ThreadTime {
        pid: 0,
        tid: 0,
        name: String::new(),
        began: 0.0,
        wall,
        running,
        runnable,
        blocked: wall - running - runnable,
        unknown: 0.0,
        switches: now.slices.saturating_sub(before.slices),
        timeline: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn account(running: u64, runnable: u64, slices: u64) -> SchedStat {
        SchedStat {
            running: running * 1_000_000,
            runnable: runnable * 1_000_000,
            slices,
        }
    }

    #[test]
    fn wall_time_divides_by_the_kernels_account() {
        let found = divided(account(100, 10, 5), account(350, 60, 9), 0.5);
        assert!((found.running - 0.25).abs() < 1e-9);
        assert!((found.runnable - 0.05).abs() < 1e-9);
        assert!((found.blocked - 0.2).abs() < 1e-9);
        assert_eq!(found.switches, 4);
        // More than passed, and an account that runs backwards: another thread of the same id.
        let late = divided(account(0, 0, 0), account(600, 600, 1), 0.5);
        assert_eq!((late.running, late.runnable, late.blocked), (0.5, 0.0, 0.0));
        let other = divided(account(600, 600, 9), account(1, 1, 1), 0.5);
        assert_eq!(
            (other.running, other.blocked, other.switches),
            (0.0, 0.5, 0)
        );
    }

    #[test]
    fn threads_are_shown_from_the_second_look_on() {
        let mut child = std::process::Command::new("cat")
            .stdin(std::process::Stdio::piped())
            .spawn()
            .expect("cat exists");
        let mut load = ThreadLoad::of_process(child.id() as i32);
        assert!(load.look().is_empty());
        let found = load.look();
        assert_eq!(found.len(), 1);
        let parts = found[0].running + found[0].runnable + found[0].blocked;
        assert!((parts - found[0].wall).abs() < 1e-9);
        drop(child.stdin.take());
        child.wait().expect("it ends");
        assert!(load.look().is_empty());
    }
}
