//! valgrind's command line. Pure.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use genba_run::CommandSpec;

use crate::CountRequest;

/// Basic blocks between two files, some seconds: the most that death by SIGKILL loses.
const BLOCKS_BETWEEN_FILES: u64 = 200_000_000;

/// Functions that create a process.
const FORKS: [&str; 6] = ["fork", "__libc_fork", "_Fork", "vfork", "__vfork", "__fork"];

/// Prefix of the names of callgrind's files; the process id follows.
pub const COUNTS_PREFIX: &str = "counts.";
/// Prefix of the names of valgrind's message files; the process id follows.
pub const LOG_PREFIX: &str = "log.";

/// Returns the command under `valgrind`'s callgrind, which writes into `directory`.
pub fn wrap(
    request: &CountRequest,
    valgrind: &Path,
    directory: &Path,
    version: &str,
) -> CommandSpec {
    let mut spec = request.spec.clone();
    let mut argv: Vec<OsString> = vec![valgrind.into()];
    let mut option = |text: &str| argv.push(text.into());
    // Neither VALGRIND_OPTS nor a .valgrindrc may change what is counted.
    option("--command-line-only=yes");
    option("--tool=callgrind");
    option("--dump-instr=yes");
    option("--dump-line=no");
    option("--compress-pos=no");
    option("--collect-jumps=yes");
    option("--skip-plt=no");
    // The target's own process may execute another program, too: `sh -c`, `env`.
    option("--trace-children=yes");
    option("--vgdb=no");
    option("--run-libc-freeres=no");
    option("--run-cxx-freeres=no");
    option("-v");
    option("-v");
    option(&format!("--dump-every-bb={BLOCKS_BETWEEN_FILES}"));
    if request.children {
        for function in FORKS {
            option(&format!("--dump-before={function}"));
        }
    }
    if at_least(version, (3, 20)) {
        // Counting must not fetch anything from the network.
        option("--enable-debuginfod=no");
    }
    // Pipes that a killed valgrind leaves behind vanish with the directory.
    argv.push(plain_file("--vgdb-prefix=", directory, "vgdb"));
    argv.push(file("--log-file=", directory, LOG_PREFIX));
    argv.push(file("--callgrind-out-file=", directory, COUNTS_PREFIX));
    argv.push("--".into());
    argv.extend(spec.argv);
    spec.argv = argv;
    spec
}

/// Returns `--option=DIRECTORY/NAME%p`; a `%` in the directory is escaped.
fn file(option: &str, directory: &Path, name: &str) -> OsString {
    let mut bytes = option.as_bytes().to_vec();
    for byte in directory.as_os_str().as_bytes() {
        bytes.push(*byte);
        if *byte == b'%' {
            bytes.push(b'%');
        }
    }
    bytes.extend_from_slice(format!("/{name}%p").as_bytes());
    OsString::from_vec(bytes)
}

/// Returns `--option=DIRECTORY/NAME`.
fn plain_file(option: &str, directory: &Path, name: &str) -> OsString {
    let mut word = OsString::from(option);
    word.push(directory.join(name));
    word
}

fn at_least(version: &str, wanted: (u32, u32)) -> bool {
    let mut numbers = version
        .split(|c: char| !c.is_ascii_digit())
        .map(|n| n.parse().ok());
    match (numbers.next().flatten(), numbers.next().flatten()) {
        (Some(major), Some(minor)) => (major, minor) >= wanted,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_follows_a_separator_and_percent_signs_are_escaped() {
        let request = CountRequest {
            spec: CommandSpec::direct(["--odd", "-x"]),
            transfers: crate::Transfers::None,
            children: false,
            observe: None,
            native_exit: None,
        };
        let argv = wrap(
            &request,
            Path::new("/usr/bin/valgrind"),
            Path::new("/tmp/100%"),
            "3.19.0",
        )
        .argv;
        assert!(argv.ends_with(&["--".into(), "--odd".into(), "-x".into()]));
        assert!(argv.contains(&"--log-file=/tmp/100%%/log.%p".into()));
        assert!(
            !argv
                .iter()
                .any(|word| word.to_string_lossy().contains("debuginfod"))
        );
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        assert!(at_least("3.20.0", (3, 20)));
        assert!(at_least("4.1", (3, 20)));
        assert!(!at_least("3.19.0", (3, 20)));
        assert!(!at_least("3.9", (3, 20)));
        assert!(!at_least("git", (3, 20)));
    }
}
