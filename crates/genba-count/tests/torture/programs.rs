//! The programs and what is expected of them.

/// What is expected of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expect {
    /// Output, exit status and counts are right.
    Same,
    /// The engine refuses it.
    Refused,
    /// Either of these.
    Either,
    /// Right where the user is root; else it may be refused, since limits hold.
    SameAsRoot,
}

/// One program with an argument.
pub struct Program {
    /// Source in `testdata/torture`.
    pub source: &'static str,
    /// Its argument.
    pub argument: Option<&'static str>,
    /// Compiler flags.
    pub flags: &'static [&'static str],
    /// What is expected.
    pub expect: Expect,
    /// Whether it takes more than half a second.
    pub slow: bool,
    /// Stack limit, KiB, or `unlimited`.
    pub stack: Option<&'static str>,
}

impl Program {
    /// Returns its name for messages.
    pub fn label(&self) -> String {
        let argument = self
            .argument
            .map_or(String::new(), |word| format!(" {word}"));
        let flags: String = self.flags.iter().map(|flag| format!(" {flag}")).collect();
        let stack = self
            .stack
            .map_or(String::new(), |size| format!(" stack {size}"));
        format!("{}{argument}{flags}{stack}", self.source)
    }
}

const fn program(source: &'static str) -> Program {
    Program {
        source,
        argument: None,
        flags: &[],
        expect: Expect::Same,
        slow: false,
        stack: None,
    }
}

const fn with(source: &'static str, argument: &'static str) -> Program {
    Program {
        argument: Some(argument),
        ..program(source)
    }
}

const fn expected(expect: Expect, source: &'static str, argument: &'static str) -> Program {
    Program {
        expect,
        ..with(source, argument)
    }
}

const fn flags(flags: &'static [&'static str], source: &'static str) -> Program {
    Program {
        flags,
        ..program(source)
    }
}

const fn slow(program: Program) -> Program {
    Program {
        slow: true,
        ..program
    }
}

const STATIC: &[&str] = &["-static"];
const FIXED: &[&str] = &["-no-pie"];
const STATIC_PIE: &[&str] = &["-static-pie"];

use Expect::{Either, Refused, SameAsRoot};

/// All programs.
pub const PROGRAMS: &[Program] = &[
    program("everywhere.c"),
    slow(flags(FIXED, "everywhere.c")),
    slow(program("storm.cc")),
    program("longjmp.c"),
    slow(flags(STATIC, "longjmp.c")),
    program("repair.c"),
    slow(flags(FIXED, "repair.c")),
    flags(STATIC_PIE, "repair.c"),
    program("nested.c"),
    slow(flags(STATIC, "nested.c")),
    program("waits.c"),
    program("signal63.c"),
    slow(flags(STATIC, "signal63.c")),
    slow(program("shortlived.c")),
    program("contexts.c"),
    slow(flags(FIXED, "contexts.c")),
    program("spawn.c"),
    slow(flags(STATIC, "spawn.c")),
    slow(program("cancel.c")),
    slow(flags(STATIC, "cancel.c")),
    program("redzone.c"),
    slow(flags(STATIC_PIE, "redzone.c")),
    program("hail.c"),
    slow(flags(FIXED, "hail.c")),
    program("rewrite.c"),
    slow(flags(STATIC, "rewrite.c")),
    program("wide.c"),
    flags(&["-fnon-call-exceptions"], "trace.cc"),
    program("odd.c"),
    slow(flags(FIXED, "odd.c")),
    expected(Either, "odd.c", "single-step"),
    expected(Either, "odd.c", "int80"),
    expected(Refused, "odd.c", "gs"),
    expected(Either, "odd.c", "gs-null"),
    expected(Refused, "odd.c", "wrgsbase"),
    expected(Either, "odd.c", "movgs"),
    expected(Either, "odd.c", "far"),
    with("odd.c", "noncanonical"),
    with("exits.c", "return"),
    with("exits.c", "exit"),
    with("exits.c", "_exit"),
    with("exits.c", "quick_exit"),
    with("exits.c", "exit_group"),
    with("exits.c", "raw-exit"),
    with("exits.c", "abort"),
    with("exits.c", "segv"),
    with("exits.c", "jump-null"),
    with("exits.c", "fpe"),
    with("exits.c", "ill"),
    with("exits.c", "trap"),
    with("exits.c", "hlt"),
    with("exits.c", "raise-trap"),
    with("exits.c", "raise-ill"),
    with("exits.c", "raise-sys"),
    with("exits.c", "term"),
    with("exits.c", "kill"),
    with("exits.c", "alarm"),
    with("exits.c", "xcpu"),
    with("exits.c", "blocked-segv"),
    with("exits.c", "ignored-segv"),
    with("exits.c", "thread-exit"),
    with("exits.c", "thread-raw"),
    with("exits.c", "thread-segv"),
    with("exits.c", "main-first"),
    with("exits.c", "stack"),
    with("exits.c", "exec"),
    with("exits.c", "exec-fails"),
    expected(Either, "jit.c", "once"),
    expected(Either, "jit.c", "turns"),
    expected(Either, "jit.c", "protect-twice"),
    expected(Either, "jit.c", "neighbour"),
    with("jit.c", "rwx"),
    with("jit.c", "rwx-late"),
    expected(Either, "jit.c", "threads"),
    expected(Either, "jit.c", "remap"),
    expected(Either, "jit.c", "moved"),
    expected(Either, "jit.c", "dual"),
    expected(Either, "jit.c", "dual-anonymous"),
    expected(Either, "jit.c", "shared-fork"),
    expected(Either, "jit.c", "discarded"),
    with("jit.c", "file"),
    expected(Either, "jit.c", "own-text"),
    expected(Either, "jit.c", "trampoline"),
    with("jit.c", "heap"),
    with("jit.c", "child"),
    with("place.c", "nothing"),
    with("place.c", "close-all"),
    with("place.c", "close-range"),
    with("place.c", "no-stdin"),
    expected(Either, "place.c", "nofile"),
    expected(Either, "place.c", "exhaust"),
    expected(Either, "place.c", "as"),
    expected(Either, "place.c", "data"),
    with("place.c", "fsize"),
    with("place.c", "nproc"),
    with("place.c", "sigpending"),
    expected(Either, "place.c", "chroot"),
    with("place.c", "unshare"),
    with("place.c", "dumpable"),
    with("place.c", "nobody"),
    expected(Either, "place.c", "seccomp"),
    expected(Either, "place.c", "seccomp-child"),
    expected(Either, "place.c", "strict-child"),
    expected(SameAsRoot, "place.c", "mlockall"),
    with("place.c", "maps"),
    with("place.c", "exe"),
    with("place.c", "tasks"),
    with("place.c", "fixed"),
    with("place.c", "low"),
    with("place.c", "big"),
    with("place.c", "personality"),
    expected(Either, "place.c", "memfd"),
    Program {
        stack: Some("1048576"),
        ..with("place.c", "huge-stack")
    },
    Program {
        stack: Some("unlimited"),
        ..with("place.c", "huge-stack")
    },
    with("place.c", "thread-exec"),
    with("place.c", "ptrace"),
    with("place.c", "daemon"),
    expected(Either, "place.c", "threads-3000"),
    expected(Either, "place.c", "shared-memory-process"),
];
