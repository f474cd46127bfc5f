//! The thread that saves generated code while a target runs.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::Duration;

use genba_symbols::{open_regular_nofollow, perf_map_path};
use rustix::event::{PollFd, PollFlags, poll};

use super::code_index::{self, directory_of};
use super::elf_image;
use super::generated_functions::generated_functions;
use super::process_code::{self, MemoryRange};
use super::size_limits::{ArtifactBudget, ArtifactLimits};
use super::temp_file_watch::TempFileWatch;

/// Largest file that is copied, bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;
/// Most files that are held open because they are still being written.
const MAX_OPEN_FILES: usize = 256;
/// First interval at which the target's processes are inspected; it doubles up to the longest.
const FIRST_INTERVAL: Duration = Duration::from_millis(10);
/// Longest interval at which the target's processes are inspected.
const MAX_INTERVAL: Duration = Duration::from_millis(500);
/// An interval is at least this many times as long as the inspection before it took.
const MIN_INTERVAL_PER_INSPECTION: u32 = 100;

/// Saves, in a thread of its own, the code that a target generates, until [`Self::finish`].
#[derive(Debug)]
pub struct JitArtifactRecorder {
    stop: io::PipeWriter,
    thread: JoinHandle<Option<String>>,
}

impl JitArtifactRecorder {
    /// Removes the artifacts of an earlier recording of the same name.
    pub fn remove_old(recording: &Path) {
        let directory = directory_of(recording);
        // Only a directory that a recorder created: it always has a list of files.
        if directory.join(code_index::FILE_LIST).is_file() {
            let _ = fs::remove_dir_all(directory);
        }
    }

    /// Watches processes and their descendants. `fresh` means that they do not run yet, so files
    /// that are older than this moment are not their own.
    #[must_use]
    pub fn start(pids: &[i32], recording: &Path, fresh: bool) -> Option<Self> {
        let (reader, stop) = io::pipe().ok()?;
        // Made before this returns and the target may run: its first files may be complete before
        // the thread is scheduled.
        let watch = TempFileWatch::new(std::env::var_os("TMPDIR").map(PathBuf::from)).ok();
        let mut work = Work::new(pids, directory_of(recording), fresh);
        let thread = std::thread::Builder::new()
            .name("genba-jit".to_owned())
            .spawn(move || work.run(&reader, watch.as_ref()))
            .ok()?;
        Some(Self { stop, thread })
    }

    /// Stops watching and writes the artifacts. Returns a note if something could not be saved.
    pub fn finish(self) -> Option<String> {
        drop(self.stop);
        self.thread.join().ok().flatten()
    }
}

/// A process of the target and its generated code.
#[derive(Default)]
struct Process {
    /// The user who owns it, and thus its perf map.
    owner: Option<u32>,
    /// Its perf map, opened when it was first found.
    map: Option<File>,
    /// Its jitdumps.
    dumps: HashMap<PathBuf, File>,
    /// Its generated code as last read.
    code: Vec<MemoryRange>,
}

struct Work {
    roots: Vec<i32>,
    directory: PathBuf,
    fresh: bool,
    since: i64,
    processes: HashMap<i32, Process>,
    /// Temporary files that are being written.
    unfinished: HashMap<PathBuf, File>,
    /// Names in the directory by original path.
    copied: HashMap<PathBuf, String>,
    /// Process and address of deleted libraries that were handled.
    handled_deleted: HashSet<(i32, u64)>,
    budget: ArtifactBudget,
    problem: Option<String>,
}

impl Work {
    fn new(roots: &[i32], directory: PathBuf, fresh: bool) -> Self {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        Self {
            roots: roots.to_vec(),
            budget: ArtifactBudget::of(&directory, ArtifactLimits::DEFAULT),
            directory,
            fresh,
            since: now.map_or(0, |d| d.as_secs() as i64) - 1,
            processes: roots.iter().map(|&pid| (pid, Process::default())).collect(),
            unfinished: HashMap::new(),
            copied: HashMap::new(),
            handled_deleted: HashSet::new(),
            problem: None,
        }
    }

    fn run(&mut self, stop: &io::PipeReader, watch: Option<&TempFileWatch>) -> Option<String> {
        let mut interval = FIRST_INTERVAL;
        let mut next = std::time::Instant::now() + interval;
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
                self.inspect_processes();
                interval = (interval * 2)
                    .min(MAX_INTERVAL)
                    .max(began.elapsed() * MIN_INTERVAL_PER_INSPECTION);
                next = std::time::Instant::now() + interval;
            }
        }
        let result = self.finish();
        if let Err(error) = result {
            let into = self.directory.display();
            self.problem = Some(format!("generated code was not saved in {into}: {error}"));
        }
        self.problem
            .take()
            .or_else(|| self.budget.note(&self.directory))
    }

    /// Finds perf maps, jitdumps, deleted libraries and generated code of the target's processes.
    fn inspect_processes(&mut self) {
        // Processes whose parent has ended stay known as long as they live.
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
            // The roots stay, and processes with something to write at the end.
            let empty = self
                .processes
                .get(&pid)
                .is_some_and(|p| p.map.is_none() && p.dumps.is_empty() && p.code.is_empty());
            if empty && !self.roots.contains(&pid) && !Path::new(&format!("/proc/{pid}")).exists() {
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
        // Any user can create a file of this name in the directory for temporary files.
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

    /// Handles files that appeared in the directory for temporary files.
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
            if self.unfinished.len() < MAX_OPEN_FILES
                && let Some(file) = open_regular_nofollow(path)
            {
                self.unfinished.insert(path.to_owned(), file);
            }
            return;
        }
        // The file opened first may have been replaced; the path leads to the newest one.
        let held = self.unfinished.remove(path);
        if let Some(file) = open_regular_nofollow(path).or(held) {
            self.copy(file, path);
        }
    }

    /// Copies a library that was deleted but is still mapped.
    fn copy_deleted(&mut self, pid: i32, start: u64, end: u64, path: &str) {
        let path = PathBuf::from(path.trim_end_matches(" (deleted)"));
        if self.copied.contains_key(&path) || !self.handled_deleted.insert((pid, start)) {
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
        // One byte more than fits, so that a truncated library is never taken for a whole one.
        let most = MAX_FILE_BYTES.min(self.budget.bytes()) + 1;
        if file.take(most).read_to_end(&mut bytes).is_err() || bytes.is_empty() {
            return;
        }
        if bytes.len() as u64 > MAX_FILE_BYTES {
            self.problem = Some(format!(
                "{name} was not saved: it is larger than {} MiB",
                MAX_FILE_BYTES >> 20
            ));
            return;
        }
        match self.write(&name, &bytes) {
            Ok(true) => {
                self.copied.insert(path.to_owned(), name);
            }
            // The budget counted it for its note.
            Ok(false) => {}
            Err(error) => self.problem = Some(format!("{name} was not saved: {error}")),
        }
    }

    /// Writes a file. Returns false if the budget does not allow it.
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

    /// Writes the generated code of all processes, and the list of copied files.
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
            let functions = generated_functions(dumps, process.map, &process.code);
            if functions.is_empty() {
                continue;
            }
            let (file, placed) = elf_image::write(&functions);
            let (image_name, index_name) = code_index::file_names(pid);
            let entries = code_index::entries(&functions, &placed);
            // The image is of no use without its index.
            if self.write(&image_name, &file)? {
                self.write(&index_name, code_index::write(&entries).as_bytes())?;
            }
        }
        if self.directory.is_dir() && !self.copied.is_empty() {
            // Each run of a recording appends to the list.
            let mut list = File::options()
                .append(true)
                .open(self.directory.join(code_index::FILE_LIST))?;
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

/// The decimal numbers in a file name.
fn numbers(name: &str) -> impl Iterator<Item = i32> + '_ {
    name.split(|c: char| !c.is_ascii_digit())
        .filter_map(|n| n.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The recorder's thread may be scheduled late: files written from the moment at which the
    /// target may run must be saved all the same.
    #[test]
    fn files_written_right_after_the_start_are_saved() {
        let place = tempfile::tempdir().unwrap();
        let recording = place.path().join("x.data");
        let pid = std::process::id();
        for attempt in 0..10 {
            let name = format!("_genba_jit_p{pid}u{attempt}.c");
            let source = Path::new("/tmp").join(&name);
            let recorder = JitArtifactRecorder::start(&[pid as i32], &recording, true).unwrap();
            fs::write(&source, "int n;").unwrap();
            let note = recorder.finish();
            fs::remove_file(&source).unwrap();
            assert_eq!(note, None);
            let saved = directory_of(&recording).join(&name);
            assert!(saved.is_file(), "attempt {attempt}");
        }
    }
}
