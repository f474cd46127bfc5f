//! Which threads and processes exist, and the accounts of processes.

use super::*;

impl WaitSampler<'_> {
    /// Adds a thread: one whose start was reported, with its time and the thread that created it, or one that exists
    /// already.
    pub(super) fn add_thread(
        &mut self,
        pid: i32,
        tid: i32,
        parent: i32,
        started: Option<(u64, i32)>,
    ) {
        let process = self.processes.entry(pid).or_insert_with(|| WatchedProcess {
            pid,
            parent,
            ..WatchedProcess::default()
        });
        if parent != 0 {
            process.parent = parent;
        }
        if self.live.iter().any(|live| live.tid == tid) {
            return;
        }
        if self.threads.len() >= MAX_THREADS {
            self.unwatched += 1;
            return;
        }
        let began = started.map_or_else(monotonic_ns, |(began, _)| began);
        let index = self.threads.len() as ThreadIndex;
        let ended = self.early_ends.take(tid, began).map(|early| early.0);
        // A thread has its creator's name at first, and may be gone by now.
        let creator = started.and_then(|(_, creator)| self.indices.get(&creator));
        let name = match (self.early_names.take(tid, began), creator) {
            (Some((_, name)), _) => name,
            (None, Some(creator)) => self.threads[*creator as usize].name.clone(),
            (None, None) => std::fs::read_to_string(format!("/proc/{pid}/task/{tid}/comm"))
                .unwrap_or_default()
                .trim_end()
                .to_owned(),
        };
        self.threads.push(WatchedThread {
            pid,
            tid,
            name,
            began,
            ended: ended.unwrap_or(began),
            ..WatchedThread::default()
        });
        self.indices.insert(tid, index);
        if ended.is_some() {
            // What is left of it in /proc is not looked at: its time is known.
            return;
        }
        let Some(files) = ThreadFiles::open(pid, tid) else {
            return;
        };
        self.readable |= files.is_readable();
        let state = self.snapshots.intern(index, None);
        if !self.peers.processes.contains(&pid) {
            self.peers.processes.push(pid);
        }
        self.live.push(Live {
            tid,
            pid,
            index,
            // What a thread did before it was watched is not part of it.
            account: match started {
                Some(_) => SchedStat::default(),
                None => files.account().unwrap_or_default(),
            },
            activity: Activity::default(),
            files,
            waits: None,
            waits_since: 0,
            sleep_time: None,
            ran_until_sleep: 0,
            served: None,
            took: None,
            time_limit: None,
            unsettled: 0,
            state,
        });
        if let Some(io) = ProcessIo::of(pid) {
            self.io_before.entry(pid).or_insert(io);
        }
    }

    /// The thread's last account stays; that of its process ends with the first thread.
    pub(super) fn ended(&mut self, tid: i32, ended: u64) {
        let Some(at) = self.live.iter().position(|live| live.tid == tid) else {
            self.ended_unseen(tid, ended);
            return;
        };
        let live = self.live.swap_remove(at);
        let thread = &mut self.threads[live.index as usize];
        thread.ended = ended.max(thread.began);
        if live.pid == live.tid {
            self.peers.processes.retain(|pid| *pid != live.pid);
            self.code.remove(&live.pid);
            self.read_account(live.pid);
            self.io_before.remove(&live.pid);
        }
    }

    /// A thread ended that had gone before it could be looked at, that a look has found gone before this record of
    /// its end was read, or whose start another CPU's buffer still has.
    fn ended_unseen(&mut self, tid: i32, ended: u64) {
        let index = self.indices.get(&tid);
        match index.map(|index| &mut self.threads[*index as usize]) {
            Some(thread) if thread.ended == thread.began => thread.ended = ended.max(thread.began),
            Some(thread) if (thread.began..=thread.ended).contains(&ended) => thread.ended = ended,
            _ => self.early_ends.keep(tid, ended, ()),
        }
    }

    /// A thread has another name from then on.
    pub(super) fn renamed(&mut self, tid: i32, time: u64, name: String) {
        let lives = self.live.iter().any(|live| live.tid == tid);
        let index = self.indices.get(&tid);
        match index.map(|index| &mut self.threads[*index as usize]) {
            Some(thread) if lives || thread.began <= time && is_or_may_be_there(thread, time) => {
                thread.name = name;
            }
            _ => self.early_names.keep(tid, time, name),
        }
    }

    /// The time of threads that have ended and whose switches were recorded all their life: the last account of
    /// each was read before its end.
    pub(super) fn take_whole_lives(&mut self) {
        let wakes_recorded = self.wakes.as_ref().is_some_and(WakeTrace::is_complete);
        for (tid, ended, life) in self.switches.ended() {
            let thread = self
                .indices
                .get(&tid)
                .map(|at| &mut self.threads[*at as usize]);
            if let Some(thread) = thread.filter(|thread| thread.ended == ended) {
                thread.running = life.running;
                thread.runnable = match wakes_recorded {
                    true => life.runnable,
                    // The account has wake-ups as well, but ends with the last look.
                    false => (thread.runnable + life.late_runnable).max(life.runnable),
                };
                thread.undivided = if wakes_recorded { 0 } else { life.late_blocked };
                (thread.looks, thread.ready_looks) = (life.looks, life.ready_looks);
                thread.slices = thread.slices.max(life.slices);
            }
        }
    }

    pub(super) fn scan_process(&mut self, pid: i32, parent: i32) {
        for tid in initial_records::threads(pid) {
            self.add_thread(pid, tid, parent, None);
        }
    }

    /// Where the kernel reports no new threads: reads the lists of threads and children.
    pub(super) fn find_threads(&mut self) -> io::Result<()> {
        if self.accounted.elapsed() > ACCOUNTS {
            self.accounted = Instant::now();
            self.read_accounts();
        }
        if self.cpu_clock.is_some() || self.rescanned.elapsed() < RESCAN {
            return Ok(());
        }
        self.rescanned = Instant::now();
        let mut known: Vec<i32> = self.peers.processes.clone();
        let mut at = 0;
        while at < known.len() {
            let pid = known[at];
            at += 1;
            let first = self.live.iter().all(|live| live.pid != pid);
            self.scan_process(pid, 0);
            if first || !self.code.contains_key(&pid) {
                for record in initial_records::running_process(pid) {
                    self.writer.append(&record)?;
                }
            }
            for child in process_tree::children(pid) {
                if !known.contains(&child) && known.len() < MAX_THREADS {
                    self.scan_process(child, pid);
                    for record in initial_records::running_process(child) {
                        self.writer.append(&record)?;
                    }
                    known.push(child);
                }
            }
        }
        Ok(())
    }

    pub(super) fn read_accounts(&mut self) {
        for pid in self.io_before.keys().copied().collect::<Vec<_>>() {
            self.read_account(pid);
        }
    }

    pub(super) fn read_account(&mut self, pid: i32) {
        let (Some(before), Some(process)) =
            (self.io_before.get(&pid), self.processes.get_mut(&pid))
        else {
            return;
        };
        if process.file.is_none() {
            process.file = command_file::of_process(pid);
        }
        if let Some(now) = ProcessIo::of(pid) {
            let calls = process.reads + process.writes;
            if (now.reads + now.writes).saturating_sub(before.reads + before.writes)
                >= calls + MIN_CALLS_OF_LOOK
            {
                let (files, sockets) = open_files(pid);
                process.most_sockets = process.most_sockets.max(sockets);
                let seen = self.open_files.entry(pid).or_default();
                process.file_looks += u64::from(!files.is_empty());
                let known = seen.len();
                seen.extend(files);
                process.new_file_looks += u64::from(seen.len() > known);
            }
            process.read_bytes = now.read_bytes.saturating_sub(before.read_bytes);
            process.written_bytes = now.written_bytes.saturating_sub(before.written_bytes);
            process.reads = now.reads.saturating_sub(before.reads);
            process.writes = now.writes.saturating_sub(before.writes);
        }
    }
}

/// Whether a thread that is not watched was there then, or nobody knows when it ended.
fn is_or_may_be_there(thread: &WatchedThread, time: u64) -> bool {
    time <= thread.ended || thread.ended == thread.began
}

/// Calls since the last look at a process's open files from which on these are of interest.
const MIN_CALLS_OF_LOOK: u64 = 50;
/// Most open files that are looked at.
const MAX_FILES: usize = 64;

/// The open files of a process by path, without devices, pipes and sockets; and how many sockets there are.
fn open_files(pid: i32) -> (Vec<std::path::PathBuf>, u64) {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fd"));
    let links = entries.into_iter().flatten().take(MAX_FILES);
    let links: Vec<_> = links
        .filter_map(|entry| std::fs::read_link(entry.ok()?.path()).ok())
        .collect();
    let is_socket = |path: &&std::path::PathBuf| path.to_string_lossy().starts_with("socket:");
    let sockets = links.iter().filter(is_socket).count() as u64;
    let files = links
        .into_iter()
        .filter(|path| path.is_absolute() && !path.starts_with("/dev"));
    (files.collect(), sockets)
}
