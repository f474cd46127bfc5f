//! A run that tallies for which sizes the target asks memory and copies.
//!
//! A small library (`preload/sizes.rs`) is loaded into it with `LD_PRELOAD`; it counts calls by
//! size in a shared file. A call costs some ten cycles more: the run takes little longer than
//! any other.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Duration;

use genba_explain::input::request_sizes::{SizeClasses, Sizes};
use genba_run::{Cancel, CommandSpec, Launcher, Output};
use tempfile::TempDir;

#[path = "../preload/layout.rs"]
#[cfg_attr(not(test), expect(dead_code, reason = "the library's side"))]
mod layout;

use layout::{ALLOCATE, CLASSES, COPY, GROWN_BYTES, LOADED, MOVED, MOVED_BYTES, RESIZE, WORDS};

static LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/libgenba_sizes.so"));

/// The library unpacked beside an empty tally, in a directory that goes with this value.
struct Tally {
    _directory: TempDir,
    library: PathBuf,
    numbers: PathBuf,
}

impl Tally {
    fn new() -> io::Result<Self> {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::Builder::new()
            .prefix("genba-")
            .permissions(std::fs::Permissions::from_mode(0o700))
            .tempdir()?;
        let create = |name: &str, mode: u32| {
            let path = directory.path().join(name);
            let mut options = File::options();
            options.write(true).create_new(true).mode(mode);
            Ok::<_, io::Error>((options.open(&path)?, path))
        };
        let (mut file, library) = create("libgenba_sizes.so", 0o500)?;
        file.write_all(LIBRARY)?;
        let (file, numbers) = create("sizes", 0o600)?;
        file.set_len(WORDS as u64 * 8)?;
        Ok(Self {
            _directory: directory,
            library,
            numbers,
        })
    }

    fn read(&self) -> io::Result<Option<Sizes>> {
        let mut bytes = vec![0; WORDS * 8];
        File::open(&self.numbers)?.read_exact(&mut bytes)?;
        let words: Vec<u64> = bytes
            .chunks_exact(8)
            .map(|word| u64::from_le_bytes(word.try_into().unwrap_or_default()))
            .collect();
        Ok(sizes(&words))
    }
}

/// What the numbers say; nothing where the library was never loaded.
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

/// Tallies one run, which is ended after `limit`; `None` where that cannot be done or the run
/// fails: a static program, another C library.
pub(crate) fn tally(
    launcher: &mut Launcher,
    spec: &CommandSpec,
    limit: Duration,
    cancel: &Cancel,
) -> Option<Sizes> {
    let tally = Tally::new().ok()?;
    let mut spec = spec.clone();
    spec.environment.add_preload(&tally.library).ok()?;
    spec.environment.set("GENBA_SIZES", &tally.numbers);
    spec.stdout = Output::Null;
    spec.stderr = Output::Null;
    spec.timeout = Some(spec.timeout.map_or(limit, |own| own.min(limit)));
    let finished = launcher.run(&spec, cancel).ok()?;
    finished.record.exit.success().then_some(())?;
    tally.read().ok().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_numbers_of_bits() {
        assert_eq!(
            [0, 1, 2, 3, 4, 255, 256].map(layout::class),
            [0, 1, 2, 2, 3, 8, 9]
        );
        assert_eq!(layout::class(usize::MAX), CLASSES - 1);
    }

    #[test]
    fn what_was_never_loaded_says_nothing() {
        assert_eq!(sizes(&[0; WORDS]), None);
        assert_eq!(sizes(&[]), None);
    }

    #[test]
    fn a_run_is_tallied() {
        // The shell of most systems is linked with the GNU C library; where not, nothing is said.
        let mut launcher = Launcher::new().unwrap();
        let spec = CommandSpec::direct(["/bin/cat", "/proc/self/maps"]);
        let cancel = Cancel::new().unwrap();
        let limit = Duration::from_secs(60);
        let Some(sizes) = tally(&mut launcher, &spec, limit, &cancel) else {
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
        assert_eq!(tally(&mut launcher, &failing, limit, &cancel), None);
    }
}
