//! The thread that keeps what would be gone.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};

use super::code_index::{self, directory_of};
use super::elf_image;
use super::generated_functions;
use super::process_code::{self, MemoryRange};
use super::size_limits::{ArtifactBudget, ArtifactLimits};
use super::temp_file_watch::TempFileWatch;
use genba_symbols::{open_regular_nofollow, perf_map_path};

/// Bytes of a file that is copied.
const MAX_FILE: u64 = 64 << 20;
/// Files that are held open because they are not complete yet.
const MAX_OPEN: usize = 256;
/// Processes are looked at this often at first, and ever more seldom.
const FIRST_LOOK: Duration = Duration::from_millis(10);
const LAST_LOOK: Duration = Duration::from_millis(500);
/// Looking takes at most this part of the time.
const SHARE: u32 = 100;

/// Keeps, in a thread of its own, what a target generates, until told to stop.
#[derive(Debug)]
pub struct JitArtifactRecorder {
    stop: io::PipeWriter,
    thread: JoinHandle<Option<String>>,
}

impl JitArtifactRecorder {
    /// Removes what was kept with an earlier recording of the same name.
    pub fn remove_old(recording: &Path) {
        let directory = directory_of(recording);
        // Only what a keeper made: it leaves a list, always.
        if directory.join(code_index::FILES).is_file() {
            let _ = fs::remove_dir_all(directory);
        }
    }

    /// Watches a process and all that come of it. `fresh`: it does not run yet, so that files
    /// older than this are not its own.
    #[must_use]
    pub fn start(pid: i32, recording: &Path, fresh: bool) -> Option<Self> {
        let (reader, stop) = io::pipe().ok()?;
        // Before this returns and the target may run: its first files may be complete before the
        // thread has its first turn.
        let watch = TempFileWatch::new(std::env::var_os("TMPDIR").map(PathBuf::from)).ok();
        let mut work = Work::new(pid, directory_of(recording), fresh);
        let thread = std::thread::Builder::new()
            .name("genba-keeper".to_owned())
            .spawn(move || work.run(&reader, watch.as_ref()))
            .ok()?;
        Some(Self { stop, thread })
    }

    /// Ends it, after the target's end or when nothing more is recorded of it. Gives a remark
    /// if something could not be kept.
    pub fn finish(self) -> Option<String> {
        drop(self.stop);
        self.thread.join().ok().flatten()
    }
}

/// What is known of one process.
#[derive(Default)]
struct Process {
    /// Who it belongs to: so do its maps.
    owner: Option<u32>,
    /// Its perf map, open since it was first seen.
    map: Option<File>,
    /// Its jitdumps.
    dumps: HashMap<PathBuf, File>,
    /// Its generated code when it was last read.
    code: Vec<MemoryRange>,
}

struct Work {
    root: i32,
    directory: PathBuf,
    fresh: bool,
    since: i64,
    processes: HashMap<i32, Process>,
    /// Temporary files that are being written.
    unfinished: HashMap<PathBuf, File>,
    /// Names in the directory by original path.
    copied: HashMap<PathBuf, String>,
    /// Deleted libraries that were looked at.
    looked_at: HashSet<(i32, u64)>,
    budget: ArtifactBudget,
    problem: Option<String>,
}

impl Work {
    fn new(root: i32, directory: PathBuf, fresh: bool) -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Self {
            root,
            budget: ArtifactBudget::of(&directory, ArtifactLimits::USUAL),
            directory,
            fresh,
            since: now.map_or(0, |d| d.as_secs() as i64) - 1,
            processes: HashMap::from([(root, Process::default())]),
            unfinished: HashMap::new(),
            copied: HashMap::new(),
            looked_at: HashSet::new(),
            problem: None,
        }
    }

    fn run(&mut self, stop: &io::PipeReader, watch: Option<&TempFileWatch>) -> Option<String> {
        let mut pause = FIRST_LOOK;
        let mut next = std::time::Instant::now() + pause;
        loop {
            let wait = next.saturating_duration_since(std::time::Instant::now());
            let wait = rustix::event::Timespec {
                tv_sec: wait.as_secs() as i64,
                tv_nsec: i64::from(wait.subsec_nanos()),
            };
            let mut fds = vec![PollFd::new(stop, PollFlags::IN)];
            if let Some(watch) = watch {
                fds.push(PollFd::from_borrowed_fd(watch.as_fd(), PollFlags::IN));
            }
            let _ = poll(&mut fds, Some(&wait));
            let stopped = !fds[0].revents().is_empty();
            if let Some(watch) = watch {
                self.take_events(watch);
            }
            if stopped {
                break;
            }
            let began = std::time::Instant::now();
            if began >= next {
                self.look();
                pause = (pause * 2).min(LAST_LOOK).max(began.elapsed() * SHARE);
                next = std::time::Instant::now() + pause;
            }
        }
        let result = self.finish();
        if let Err(error) = result {
            let into = self.directory.display();
            self.problem = Some(format!("generated code was not kept in {into}: {error}"));
        }
        self.problem
            .take()
            .or_else(|| self.budget.remark(&self.directory))
    }

    /// Looks at all processes of the target.
    fn look(&mut self) {
        // Those whose parent has ended stay known as long as they live.
        let known: Vec<i32> = self.processes.keys().copied().collect();
        for pid in process_code::tree(&known) {
            let maps = process_code::code_maps(pid);
            if maps.is_empty() {
                continue;
            }
            self.processes.entry(pid).or_default();
            self.find_map(pid);
            let dumps: Vec<_> = maps.iter().filter(|m| is_dump(&m.path)).collect();
            for map in dumps {
                self.find_dump(pid, &map.path);
            }
            for map in maps.iter().filter(|m| m.path.ends_with(".so (deleted)")) {
                self.copy_deleted(pid, map.start, map.end, &map.path);
            }
            if let Some(process) = self.processes.get_mut(&pid)
                && process.dumps.is_empty()
            {
                let code = process_code::generated(pid, &maps);
                if !code.is_empty() {
                    process.code = code;
                }
            }
        }
        let gone: Vec<i32> = self.processes.keys().copied().collect();
        for pid in gone {
            // Kept are the first, and those that left something to write down.
            let empty = self
                .processes
                .get(&pid)
                .is_some_and(|p| p.map.is_none() && p.dumps.is_empty() && p.code.is_empty());
            if empty && pid != self.root && !Path::new(&format!("/proc/{pid}")).exists() {
                self.processes.remove(&pid);
            }
        }
    }

    fn find_map(&mut self, pid: i32) {
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        if process.map.is_some() {
            return;
        }
        let now = fs::metadata(format!("/proc/{pid}")).map(|m| m.uid());
        process.owner = process.owner.or(now.ok());
        let owner = process.owner;
        // Anybody can put a file of this name into the directory for temporary files.
        let is_its_own = |m: &fs::Metadata| m.uid() == 0 || owner.is_none_or(|o| o == m.uid());
        let inside = process_code::id_in_own_namespace(pid)
            .map(|own| PathBuf::from(format!("/proc/{pid}/root{}", perf_map_path(own).display())));
        let candidates = inside.into_iter().chain([perf_map_path(pid)]);
        let since = if self.fresh { self.since } else { 0 };
        process.map = candidates
            .filter_map(|path| open_regular_nofollow(&path))
            .find(|file| {
                let meta = file.metadata();
                meta.is_ok_and(|m| m.mtime() >= since && is_its_own(&m))
            });
    }

    fn find_dump(&mut self, pid: i32, path: &str) {
        let Some(process) = self.processes.get_mut(&pid) else {
            return;
        };
        let path = PathBuf::from(path);
        if process.dumps.contains_key(&path) || process.dumps.len() >= 16 {
            return;
        }
        let inside = PathBuf::from(format!("/proc/{pid}/root{}", path.display()));
        if let Some(file) = open_regular_nofollow(&inside).or_else(|| open_regular_nofollow(&path))
        {
            process.dumps.insert(path, file);
        }
    }

    /// Takes files that appeared in the directory for temporary files.
    fn take_events(&mut self, watch: &TempFileWatch) {
        for event in watch.events() {
            let name = event.path.file_name().and_then(|n| n.to_str());
            let Some(name) = name else { continue };
            let Some(pid) = numbers(name).find(|pid| self.processes.contains_key(pid)) else {
                continue;
            };
            let text = (name.ends_with(".so"), name.ends_with(".c"));
            match text {
                (true, _) | (_, true) => self.take_file(&event.path, event.complete),
                _ if name == format!("perf-{pid}.map") => self.find_map(pid),
                _ if is_dump(name) => {
                    if let Some(path) = event.path.to_str() {
                        self.find_dump(pid, path);
                    }
                }
                _ => {}
            }
        }
    }

    fn take_file(&mut self, path: &Path, complete: bool) {
        if !complete {
            if self.unfinished.len() < MAX_OPEN
                && let Some(file) = open_regular_nofollow(path)
            {
                self.unfinished.insert(path.to_owned(), file);
            }
            return;
        }
        // What was opened first may have been replaced; by the path it is the newest.
        let held = self.unfinished.remove(path);
        if let Some(file) = open_regular_nofollow(path).or(held) {
            self.copy(file, path);
        }
    }

    /// Copies a library that has no name any more but is still mapped.
    fn copy_deleted(&mut self, pid: i32, start: u64, end: u64, path: &str) {
        let path = PathBuf::from(path.trim_end_matches(" (deleted)"));
        if self.copied.contains_key(&path) || !self.looked_at.insert((pid, start)) {
            return;
        }
        let link = format!("/proc/{pid}/map_files/{start:x}-{end:x}");
        if let Ok(file) = File::open(link) {
            self.copy(file, &path);
        }
    }

    fn copy(&mut self, file: File, path: &Path) {
        let Some(name) = path.file_name().and_then(|n| n.to_str()) else {
            return;
        };
        if name.contains(['\n', '\t']) {
            return;
        }
        let name = name.to_owned();
        let mut bytes = Vec::new();
        // One byte more than there is room for, so that half a library is never taken for a whole.
        let most = MAX_FILE.min(self.budget.bytes()) + 1;
        if file.take(most).read_to_end(&mut bytes).is_err() || bytes.is_empty() {
            return;
        }
        if bytes.len() as u64 > MAX_FILE {
            self.problem = Some(format!(
                "{name} is larger than {} MiB: not kept",
                MAX_FILE >> 20
            ));
            return;
        }
        match self.write(&name, &bytes) {
            Ok(true) => {
                self.copied.insert(path.to_owned(), name);
            }
            // Said at the end.
            Ok(false) => {}
            Err(error) => self.problem = Some(format!("{name} was not kept: {error}")),
        }
    }

    /// Writes a file, if there is room for it.
    fn write(&mut self, name: &str, bytes: &[u8]) -> io::Result<bool> {
        let size = bytes.len() as u64;
        if !self.budget.take(size) {
            return Ok(false);
        }
        super::create_directory(&self.directory)?;
        let mut file = File::options()
            .write(true)
            .create(true)
            .truncate(true)
            .mode(0o600)
            .open(self.directory.join(name))?;
        file.write_all(bytes).map(|()| true)
    }

    /// Writes down what was found.
    fn finish(&mut self) -> io::Result<()> {
        for (path, file) in std::mem::take(&mut self.unfinished) {
            self.copy(open_regular_nofollow(&path).unwrap_or(file), &path);
        }
        let pids: Vec<i32> = self.processes.keys().copied().collect();
        for pid in pids {
            self.find_map(pid);
            let Some(process) = self.processes.remove(&pid) else {
                continue;
            };
            let dumps = process.dumps.into_values();
            let functions = generated_functions::of(dumps, process.map, &process.code);
            if functions.is_empty() {
                continue;
            }
            let (file, placed) = elf_image::write(&functions);
            let (image_name, index_name) = code_index::file_names(pid);
            let entries = code_index::entries(&functions, &placed);
            // One is of no use without the other.
            if self.write(&image_name, &file)? {
                self.write(&index_name, code_index::write(&entries).as_bytes())?;
            }
        }
        if self.directory.is_dir() && !self.copied.is_empty() {
            // Runs of one recording follow one another: each adds to the list.
            let mut list = File::options()
                .append(true)
                .open(self.directory.join(code_index::FILES))?;
            for (path, name) in &self.copied {
                if let Some(path) = path.to_str().filter(|p| !p.contains('\n')) {
                    writeln!(list, "{name}\t{path}")?;
                }
            }
        }
        Ok(())
    }
}

fn is_dump(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let name = name.strip_suffix(" (deleted)").unwrap_or(name);
    name.starts_with("jit-") && name.ends_with(".dump")
}

/// The numbers in a name.
fn numbers(name: &str) -> impl Iterator<Item = i32> + '_ {
    name.split(|c: char| !c.is_ascii_digit())
        .filter_map(|n| n.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keeper's thread may get its turn late: what is written from the moment that the target
    /// may run must be seen all the same.
    #[test]
    fn what_is_written_right_after_the_start_is_kept() {
        let place = tempfile::tempdir().unwrap();
        let recording = place.path().join("x.data");
        let pid = std::process::id();
        for round in 0..10 {
            let name = format!("_genba_keeper_p{pid}u{round}.c");
            let source = Path::new("/tmp").join(&name);
            let keeper = JitArtifactRecorder::start(pid as i32, &recording, true).unwrap();
            fs::write(&source, "int n;").unwrap();
            let remark = keeper.finish();
            fs::remove_file(&source).unwrap();
            assert_eq!(remark, None);
            let kept = directory_of(&recording).join(&name);
            assert!(kept.is_file(), "round {round}");
        }
    }
}
