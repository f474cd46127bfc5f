//! Limits of resources, set by the target or a child before it executes a program: the run ends, and a
//! program behaves as natively, is refused, or has a note.

use std::time::Duration;

use genba_count::{CountError, CountRequest, Engine, native::Native};
use genba_model::{ExitKind, RawCounts};
use genba_run::{Cancel, CommandSpec, Launcher};

use crate::support::compile;

/// Sets a limit in a process of a kind, then executes `/bin/true` there, or exits. Exits natively with 0.
const PROGRAM: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
static int resource(const char *name) {
    if (!strcmp(name, "as")) return RLIMIT_AS;
    if (!strcmp(name, "data")) return RLIMIT_DATA;
    if (!strcmp(name, "stack")) return RLIMIT_STACK;
    if (!strcmp(name, "nofile")) return RLIMIT_NOFILE;
    if (!strcmp(name, "nproc")) return RLIMIT_NPROC;
    if (!strcmp(name, "fsize")) return RLIMIT_FSIZE;
    if (!strcmp(name, "cpu")) return RLIMIT_CPU;
    exit(90);
}
static void limit(char **argv) {
    struct rlimit now, new;
    getrlimit(resource(argv[2]), &now);
    new.rlim_cur = strtoull(argv[3], 0, 10);
    new.rlim_max = strcmp(argv[4], "hard") ? now.rlim_max : new.rlim_cur;
    if (setrlimit(resource(argv[2]), &new)) exit(91);
}
static void *thread(void *arg) { return arg; }
static void work(void) {
    pthread_t one;
    char *memory = malloc(1 << 20);
    if (!memory) _exit(92);
    memset(memory, 1, 1 << 20);
    if (pthread_create(&one, 0, thread, 0)) _exit(93);
    pthread_join(one, 0);
}
int main(int argc, char **argv) {
    int status = 0;
    char *kind = argv[1];
    if (!strcmp(kind, "full")) {
        /* All descriptors are in use. */
        limit(argv);
        while (open("/dev/null", O_RDONLY) >= 0) {}
        execl("/bin/true", "true", (char *)0);
        return 94;
    }
    if (!strcmp(kind, "self")) { limit(argv); work(); return 0; }
    if (!strcmp(kind, "exec")) { limit(argv); execl("/bin/true", "true", (char *)0); return 94; }
    pid_t child = strcmp(kind, "vfork") ? fork() : vfork();
    if (child == 0) {
        limit(argv);
        if (!strcmp(kind, "fork-work")) { work(); _exit(0); }
        if (!strcmp(kind, "fork-fork")) {
            if ((child = fork()) == 0) { work(); _exit(0); }
            waitpid(child, &status, 0);
            _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 95);
        }
        execl("/bin/true", "true", (char *)0);
        _exit(94);
    }
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 96;
}
"#;

/// Longest time of a run; the programs take some milliseconds.
const LIMIT: Duration = Duration::from_secs(10);

struct Limited {
    directory: tempfile::TempDir,
    launcher: Launcher,
}

impl Limited {
    fn new(test: &str) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a directory");
        let program = compile(directory.path(), test, PROGRAM, &["-pthread"])?;
        let request = request(CommandSpec::direct([program]), false);
        if let Err(error) = Native.check(&request) {
            genba_testing::skip(test, genba_testing::COUNT_ENGINE, &error.to_string());
            return None;
        }
        let launcher = Launcher::new().expect("a launcher");
        Some(Self {
            directory,
            launcher,
        })
    }

    /// Counts the program with these arguments: kind of process, limit, value, `soft` or `hard`.
    fn count(&mut self, arguments: &str, children: bool) -> Result<RawCounts, CountError> {
        let mut spec = CommandSpec::direct([self.directory.path().join("program")]);
        spec.argv
            .extend(arguments.split_whitespace().map(Into::into));
        spec.timeout = Some(LIMIT);
        let cancel = Cancel::new().expect("a token");
        let native = self.launcher.run(&spec, &cancel).expect("it runs");
        assert_eq!(
            native.record.exit,
            ExitKind::Code(0),
            "{arguments}: natively"
        );
        let counted = Native.count(&request(spec, children), &mut self.launcher, &cancel);
        if let Ok(counts) = &counted {
            assert_ne!(counts.exit, 124, "{arguments}: it hangs");
        }
        counted
    }
}

fn request(spec: CommandSpec, children: bool) -> CountRequest {
    CountRequest {
        spec,
        transfers: genba_count::Transfers::None,
        children,
        observe: None,
        native_exit: None,
    }
}

/// All notes of the counts.
fn notes(counts: &RawCounts) -> Vec<&String> {
    let processes = counts.processes.iter().flat_map(|process| &process.notes);
    counts.notes.iter().chain(processes).collect()
}

fn refusal(counted: Result<RawCounts, CountError>) -> String {
    match counted {
        Err(CountError::Unable { reason, .. }) => reason,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn a_program_that_limits_its_memory_is_refused_with_the_reason() {
    let test = "a_program_that_limits_its_memory_is_refused_with_the_reason";
    let Some(mut limited) = Limited::new(test) else {
        return;
    };
    for arguments in [
        "self as 8000000000 hard",
        "exec as 8000000000 soft",
        "self data 200000000 hard",
    ] {
        let reason = refusal(limited.count(arguments, false));
        assert!(
            reason.contains("is limited (RLIMIT_"),
            "{arguments}: {reason}"
        );
    }
    // A counted child, without which its parent would wait.
    let reason = refusal(limited.count("fork-work as 8000000000 hard", true));
    assert!(reason.contains("RLIMIT_AS"), "{reason}");
}

#[test]
fn children_without_room_for_the_engine_run_natively_and_have_a_note() {
    let test = "children_without_room_for_the_engine_run_natively_and_have_a_note";
    let Some(mut limited) = Limited::new(test) else {
        return;
    };
    for arguments in ["vfork as 8000000000 hard", "vfork data 9000000 soft"] {
        let counts = limited.count(arguments, true).expect("counts");
        assert_eq!(counts.exit, 0, "{arguments}");
        let notes = notes(&counts);
        assert!(
            notes
                .iter()
                .any(|note| note.contains("executed true, was not counted: its")),
            "{arguments}: {notes:?}"
        );
        // Not counted from execve on, they are not limited by the engine at all.
        let counts = limited.count(arguments, false).expect("counts");
        assert_eq!(counts.exit, 0, "{arguments}");
    }
}

#[test]
fn generous_limits_of_memory_are_a_note() {
    let test = "generous_limits_of_memory_are_a_note";
    let Some(mut limited) = Limited::new(test) else {
        return;
    };
    for arguments in ["self as 1000000000000 soft", "exec data 100000000000 soft"] {
        let counts = limited.count(arguments, false).expect("counts");
        assert_eq!(counts.exit, 0);
        let notes = notes(&counts);
        let limited = |note: &&String| note.contains("its memory is limited");
        assert!(notes.iter().any(limited), "{arguments}: {notes:?}");
    }
}

#[test]
fn programs_without_descriptors_are_counted() {
    let test = "programs_without_descriptors_are_counted";
    let Some(mut limited) = Limited::new(test) else {
        return;
    };
    // /bin/true opens the C library, so two more must be left.
    for arguments in [
        "exec nofile 4 soft",
        "exec nofile 4 hard",
        "vfork nofile 4 hard",
    ] {
        for children in [false, true] {
            match limited.count(arguments, children) {
                Ok(counts) => assert_eq!(counts.exit, 0, "{arguments}"),
                // Without the privilege to raise a hard limit.
                Err(error) => assert!(error.to_string().contains("count file"), "{error}"),
            }
        }
    }
}

#[test]
fn the_limit_of_file_sizes_does_not_hold_for_counts() {
    let test = "the_limit_of_file_sizes_does_not_hold_for_counts";
    let Some(mut limited) = Limited::new(test) else {
        return;
    };
    for arguments in [
        "self fsize 4096 hard",
        "exec fsize 4096 hard",
        "fork-fork fsize 4096 hard",
        "fork fsize 0 soft",
    ] {
        let counts = limited.count(arguments, true).expect("counts");
        assert_eq!(counts.exit, 0, "{arguments}");
        assert_eq!(notes(&counts), Vec::<&String>::new(), "{arguments}");
    }
}

/// Every limit, set by every kind of process, soft and hard: no run hangs, no program ends otherwise than
/// natively without a reason.
#[test]
fn matrix_of_limits() {
    let Some(mut limited) = Limited::new("matrix_of_limits") else {
        return;
    };
    let values = [
        ("as", "8000000000"),
        ("data", "300000000"),
        ("stack", "1000000"),
        ("nofile", "16"),
        ("nproc", "60000"),
        ("fsize", "1000"),
        ("cpu", "30"),
    ];
    for (resource, value) in values {
        for kind in ["self", "exec", "fork", "vfork", "fork-work", "fork-fork"] {
            for (hard, children) in [("soft", false), ("hard", true)] {
                let arguments = format!("{kind} {resource} {value} {hard}");
                match limited.count(&arguments, children) {
                    Ok(counts) => assert_eq!(counts.exit, 0, "{arguments}: {:?}", notes(&counts)),
                    Err(CountError::Unable { reason, .. }) => assert!(
                        matches!(resource, "as" | "data") && reason.contains("limited"),
                        "{arguments}: {reason}"
                    ),
                    Err(error) => panic!("{arguments}: {error}"),
                }
            }
        }
    }
}
