//! A run that counts allocations and copies of the target by size.
//!
//! A small library (`preload/allocation_sizes.rs`) is loaded with `LD_PRELOAD`; it counts calls by
//! size in a shared file. A call costs about ten cycles more, so the run is hardly slower than
//! others.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Duration;

use genba_explain::input::request_sizes::{SizeClasses, Sizes};
use genba_run::{Cancel, CommandSpec, Launcher, Output, PrivateDirectory};

#[path = "../preload/size_table_layout.rs"]
#[cfg_attr(not(test), expect(dead_code, reason = "the library's side"))]
mod layout;

use layout::{ALLOCATE, CLASSES, COPY, GROWN_BYTES, LOADED, MOVED, MOVED_BYTES, RESIZE, WORDS};

static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libgenba_sizes.so"));

/// The unpacked library and the file of the counts, in a directory that is removed on drop.
struct SizeTable {
    _directory: PrivateDirectory,
    library: PathBuf,
    counts: PathBuf,
}

impl SizeTable {
    fn new() -> io::Result<Self> {
        let directory = PrivateDirectory::new("sizes")?;
        let create = |name: &str, mode: u32| {
            let path = directory.path().join(name);
            let mut options = File::options();
            options.write(true).create_new(true).mode(mode);
            Ok::<_, io::Error>((options.open(&path)?, path))
        };
        let (mut file, library) = create("libgenba_sizes.so", 0o500)?;
        file.write_all(LIBRARY)?;
        let (file, counts) = create("sizes", 0o600)?;
        file.set_len(WORDS as u64 * 8)?;
        Ok(Self {
            _directory: directory,
            library,
            counts,
        })
    }

    fn read(&self) -> io::Result<Option<Sizes>> {
        let mut bytes = vec![0; WORDS * 8];
        File::open(&self.counts)?.read_exact(&mut bytes)?;
        let words: Vec<u64> = bytes
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()))
            .collect();
        Ok(sizes(&words))
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
) -> Option<Sizes> {
    let table = SizeTable::new().ok()?;
    let mut spec = spec.clone();
    spec.environment.add_preload(&table.library).ok()?;
    spec.environment.set("GENBA_SIZES", &table.counts);
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
        assert_eq!(sizes(&[0; WORDS]), None);
        assert_eq!(sizes(&[]), None);
    }

    #[test]
    fn allocations_of_a_run_are_counted() {
        // Linked with the GNU C library on most systems; elsewhere the test is skipped.
        let mut launcher = Launcher::new().unwrap();
        let spec = CommandSpec::direct(["/bin/cat", "/proc/self/maps"]);
        let cancel = Cancel::new().unwrap();
        let limit = Duration::from_secs(60);
        let Some(sizes) = count(&mut launcher, &spec, limit, &cancel) else {
            genba_testing::skip(
                "a_run_is_tallied",
                genba_testing::MACHINE,
                "/bin/cat takes no preloaded library here",
            );
            return;
        };
        assert!(sizes.allocated.total() > 0, "{sizes:?}");
        assert!(sizes.allocated.bytes > 0);
        assert_eq!(sizes.allocated.calls.len(), CLASSES);
        let failing = CommandSpec::direct(["/bin/false"]);
        assert_eq!(count(&mut launcher, &failing, limit, &cancel), None);
    }
}
