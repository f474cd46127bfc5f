//! A run that counts allocations and copies of the target by size, and the files that it names.
//!
//! A small library (`preload/library_requests.rs`) is loaded with `LD_PRELOAD`; it counts calls by
//! size and by file in a shared file. A call costs about ten cycles more, so the run is hardly slower than
//! others.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Duration;

use genba_explain::input::named_files::{FileCalls, MostNamed, NamedFiles};
use genba_explain::input::request_sizes::{SizeClasses, Sizes};
use genba_run::{Cancel, CommandSpec, Launcher, Output, PrivateDirectory};

#[path = "../preload/request_table_layout.rs"]
#[cfg_attr(not(test), expect(dead_code, reason = "the library's side"))]
mod layout;

use layout::{
    ALLOCATE, ASKED, CLASSES, COPY, FILE_CALLS, FILES, FILES_DIFFERENT, GROWN_BYTES, LOADED,
    MAX_FILES, MAX_NAMES, MOVED, MOVED_BYTES, NAME_WORDS, NAMES, NAMES_USED, OPENED, RESIZE, WORDS,
};

static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libgenba_requests.so"));

/// The unpacked library and the file of the counts, in a directory that is removed on drop.
struct RequestTable {
    _directory: PrivateDirectory,
    library: PathBuf,
    counts: PathBuf,
}

impl RequestTable {
    fn new() -> io::Result<Self> {
        let directory = PrivateDirectory::new("requests")?;
        let create = |name: &str, mode: u32| {
            let path = directory.path().join(name);
            let mut options = File::options();
            options.write(true).create_new(true).mode(mode);
            Ok::<_, io::Error>((options.open(&path)?, path))
        };
        let (mut file, library) = create("libgenba_requests.so", 0o500)?;
        file.write_all(LIBRARY)?;
        let (file, counts) = create("requests", 0o600)?;
        file.set_len(WORDS as u64 * 8)?;
        Ok(Self {
            _directory: directory,
            library,
            counts,
        })
    }

    fn read(&self) -> io::Result<Option<Requests>> {
        let mut bytes = vec![0; WORDS * 8];
        File::open(&self.counts)?.read_exact(&mut bytes)?;
        let words: Vec<u64> = bytes
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()))
            .collect();
        Ok(requests(&words))
    }
}

/// What a run asked of the C library.
#[derive(Debug, PartialEq)]
pub(crate) struct Requests {
    /// Sizes of allocations and copies.
    pub(crate) sizes: Sizes,
    /// Files.
    pub(crate) files: NamedFiles,
}

/// Returns what a table says; `None` where the library was never loaded.
fn requests(words: &[u64]) -> Option<Requests> {
    Some(Requests {
        sizes: sizes(words)?,
        files: NamedFiles {
            opened: file_calls(&words[OPENED..]),
            asked: file_calls(&words[ASKED..]),
        },
    })
}

/// Reads a kind of calls; its words are the target's, which may have written anything there.
fn file_calls(words: &[u64]) -> FileCalls {
    let name = |start: usize| {
        let slot = words[start] as usize % MAX_FILES;
        let bytes = words[start + 1..start + NAME_WORDS].iter();
        let bytes: Vec<u8> = (bytes.flat_map(|word| word.to_le_bytes()))
            .take_while(|byte| *byte != 0)
            .collect();
        MostNamed {
            name: String::from_utf8_lossy(&bytes).into_owned(),
            calls: words[FILES + 2 * slot + 1],
        }
    };
    let names = (words[NAMES_USED] as usize).min(MAX_NAMES);
    FileCalls {
        calls: words[FILE_CALLS],
        different: words[FILES_DIFFERENT],
        most: (0..names)
            .map(|index| name(NAMES + index * NAME_WORDS))
            .max_by_key(|one| one.calls),
    }
}

/// Returns the sizes of a table; `None` where the library was never loaded.
fn sizes(words: &[u64]) -> Option<Sizes> {
    let of = |service: usize| SizeClasses {
        calls: words[service..service + CLASSES].to_vec(),
        bytes: words[service + CLASSES],
    };
    (words.len() == WORDS && words[LOADED] > 0).then(|| Sizes {
        allocated: of(ALLOCATE),
        resized: of(RESIZE),
        copied: of(COPY),
        moved: words[MOVED],
        moved_bytes: words[MOVED_BYTES],
        grown_bytes: words[GROWN_BYTES],
    })
}

/// Counts one run, which is ended after `limit`; `None` where the library cannot be loaded (a static
/// program, another C library) or the run fails.
pub(crate) fn count(
    launcher: &mut Launcher,
    spec: &CommandSpec,
    limit: Duration,
    cancel: &Cancel,
) -> Option<Requests> {
    let table = RequestTable::new().ok()?;
    let mut spec = spec.clone();
    spec.environment.add_preload(&table.library).ok()?;
    spec.environment.set("GENBA_REQUESTS", &table.counts);
    spec.stdout = Output::Null;
    spec.stderr = Output::Null;
    spec.timeout = Some(spec.timeout.map_or(limit, |own| own.min(limit)));
    let finished = launcher.run(&spec, cancel).ok()?;
    finished.record.exit.success().then_some(())?;
    table.read().ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counted(command: &[&str]) -> Option<Requests> {
        let spec = CommandSpec::direct(command);
        let cancel = Cancel::new().unwrap();
        let mut launcher = Launcher::new().unwrap();
        count(&mut launcher, &spec, Duration::from_secs(60), &cancel)
    }

    fn skipped(test: &str) {
        let why = "/bin/cat takes no preloaded library here";
        genba_testing::skip(test, genba_testing::MACHINE, why);
    }

    #[test]
    fn size_class_is_the_number_of_bits() {
        assert_eq!(
            [0, 1, 2, 3, 4, 255, 256].map(layout::class),
            [0, 1, 2, 2, 3, 8, 9]
        );
        assert_eq!(layout::class(usize::MAX), CLASSES - 1);
    }

    #[test]
    fn table_is_empty_where_the_library_was_never_loaded() {
        assert_eq!(requests(&[0; WORDS]), None);
        assert_eq!(requests(&[]), None);
    }

    #[test]
    fn allocations_of_a_run_are_counted() {
        // Linked with the GNU C library on most systems; elsewhere the test is skipped.
        let Some(found) = counted(&["/bin/cat", "/proc/self/maps"]) else {
            skipped("a_run_is_tallied");
            return;
        };
        let sizes = found.sizes;
        assert!(sizes.allocated.total() > 0, "{sizes:?}");
        assert!(sizes.allocated.bytes > 0);
        assert_eq!(sizes.allocated.calls.len(), CLASSES);
        assert_eq!(counted(&["/bin/false"]), None);
    }

    #[test]
    fn files_are_told_apart_by_their_state() {
        let directory = PrivateDirectory::new("named").unwrap();
        let path = directory.path().join("same");
        std::fs::write(&path, "text").unwrap();
        let absent = directory.path().join("absent");
        // Thirty openings of one file, and of /dev/null, which is not counted.
        let name = path.to_str().unwrap();
        let mut command = vec!["/bin/cat"];
        command.extend([name; 30]);
        command.extend(["/dev/null", "/bin/cat"]);
        let Some(found) = counted(&command) else {
            skipped("named_files_are_tallied");
            return;
        };
        let most = MostNamed {
            name: name.to_owned(),
            calls: 30,
        };
        let opened = found.files.opened;
        assert_eq!((opened.calls, opened.different), (31, 2), "{opened:?}");
        assert_eq!(opened.most, Some(most));
        // A file that is written in between is another one; one that is not there is asked for again.
        let script = format!(
            "for i in 1 2 3 4 5; do [ -e {0} ]; echo $i >> {1}; [ -e {1} ]; done",
            absent.display(),
            path.display()
        );
        let asked = |script: &str| counted(&["/bin/sh", "-c", script]).unwrap().files.asked;
        // The shell asks about its directory first.
        let (before, all) = (asked(":"), asked(&script));
        let [calls, different] = [all.calls - before.calls, all.different - before.different];
        assert_eq!((calls, different), (10, 6), "{before:?}, {all:?}");
    }

    #[test]
    fn words_that_a_target_wrote_are_read_within_their_bounds() {
        let found = requests(&vec![u64::MAX; WORDS]).unwrap().files.opened;
        assert_eq!(found.calls, u64::MAX);
        assert!(
            found
                .most
                .is_some_and(|one| one.name.chars().count() == (NAME_WORDS - 1) * 8)
        );
    }
}
