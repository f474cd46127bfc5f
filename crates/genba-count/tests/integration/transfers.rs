//! Recording jumps and calls only within given code: a part of what is recorded everywhere.

use std::collections::BTreeMap;

use genba_count::{Engine, Transfers, native::Native};
use genba_model::{CodeSpan, ProcessCounts, RawCounts, TransferKind};

use crate::support::{compile, count, executions, functions, module, request};

/// Functions that jump back to their first instruction: a loop of two instructions, one too long to
/// be unrolled, one by an unconditional jump. And two that call through pointers.
const PROGRAM: &str = r#"
#include <stdlib.h>
__asm__(".globl tight, large, plain\n"
    ".type tight,@function\n tight: dec %edi\n jnz tight\n ret\n .size tight,.-tight\n"
    ".type large,@function\n large: mov %edi,%eax\n .rept 12\n add $1,%eax\n .endr\n"
    " dec %edi\n jnz large\n ret\n .size large,.-large\n"
    ".type plain,@function\n plain: mov %edi,%eax\n test $1,%al\n jz 1f\n add $1,%eax\n"
    " 1: dec %edi\n jz 2f\n jmp plain\n 2: ret\n .size plain,.-plain\n");
void tight(int), large(int), plain(int);
int one(int x) { return x * 3; }
int two(int x) { return x + 1; }
int asked(int (**f)(int), int n) {
    int s = 0;
    for (int i = 0; i < n; i++) { s += f[i % 3 == 0](i); if (s & 1) s++; }
    return s;
}
int other(int (**f)(int), int n) {
    int s = 0;
    for (int i = 0; i < n; i++) s += f[i % 2](i);
    return s;
}
int main(void) {
    int (*f[])(int) = {one, two};
    for (int i = 0; i < 7; i++) { tight(10); large(11); plain(12); }
    void *volatile p = malloc(10);
    free(p);
    return (asked(f, 1000) + other(f, 1000)) & 0;
}
"#;

struct Counted {
    raw: RawCounts,
    program: std::path::PathBuf,
    functions: BTreeMap<String, (u64, u64)>,
    _directory: tempfile::TempDir,
}

impl Counted {
    fn process(&self) -> &ProcessCounts {
        &self.raw.processes[0]
    }

    /// Returns the transfers that leave a function.
    fn leaving(&self, name: &str) -> Vec<(TransferKind, u64, u64, u64)> {
        let (begin, size) = self.functions[name];
        let process = self.process();
        let path = |module: u32| &process.modules[module as usize].path;
        let own = module(process, &self.program).path.clone();
        (process.transfers.iter())
            .filter(|one| *path(one.from.module) == own)
            .filter(|one| (begin..begin + size).contains(&one.from.address))
            .map(|one| (one.kind, one.from.address, one.to.address, one.count))
            .collect()
    }

    /// Returns the calls of a function: the executions of its first instruction without its own
    /// jumps there.
    fn entered(&self, name: &str) -> u64 {
        let begin = self.functions[name].0;
        let back = self.leaving(name).into_iter();
        let back: u64 = back.filter(|one| one.2 == begin).map(|one| one.3).sum();
        executions(module(self.process(), &self.program), begin) - back
    }
}

fn counted(test: &str, transfers: impl Fn(&str, (u64, u64)) -> Transfers) -> Option<Counted> {
    let directory = tempfile::tempdir().expect("a directory");
    let program = compile(directory.path(), test, PROGRAM, &[])?;
    let functions = functions(&program);
    let mut request = request(&program, [""; 0]);
    request.transfers = transfers(program.to_str().expect("a path"), functions["asked"]);
    if let Err(error) = Native.check(&request) {
        genba_testing::skip(test, genba_testing::COUNT_ENGINE, &error.to_string());
        return None;
    }
    let raw = count(&Native, &request).expect("counts");
    assert_eq!(raw.exit, 0);
    Some(Counted {
        raw,
        program,
        functions,
        _directory: directory,
    })
}

fn within(path: &str, (begin, size): (u64, u64)) -> Transfers {
    Transfers::Within(vec![CodeSpan {
        path: path.to_owned(),
        begin,
        end: begin + size,
    }])
}

#[test]
fn calls_are_exact_when_only_entries_are_recorded() {
    let test = "calls_are_exact_when_only_entries_are_recorded";
    for transfers in [Transfers::Entries, Transfers::Everywhere] {
        let Some(counted) = counted(test, |_, _| transfers.clone()) else {
            return;
        };
        for name in ["tight", "large", "plain"] {
            assert_eq!(counted.entered(name), 7, "{name}, {transfers:?}");
        }
        assert_eq!(
            (counted.entered("one"), counted.entered("two")),
            (1166, 834)
        );
    }
    let Some(counted) = counted(test, within) else {
        return;
    };
    assert_eq!(counted.entered("large"), 7);
}

#[test]
fn transfers_recorded_within_code_ranges_equal_those_recorded_everywhere() {
    let test = "transfers_recorded_within_code_ranges_equal_those_recorded_everywhere";
    let (Some(part), Some(whole)) = (
        counted(test, within),
        counted(test, |_, _| Transfers::Everywhere),
    ) else {
        return;
    };
    assert!(whole.raw.transfers && whole.raw.transfers_within.is_empty());
    assert!(!part.raw.transfers && part.raw.transfers_within.len() == 1);
    assert_eq!(part.leaving("asked"), whole.leaving("asked"));
    let calls = |counted: &Counted, name: &str| {
        let leaving = counted.leaving(name).into_iter();
        leaving.filter(|one| one.0 == TransferKind::Call).count()
    };
    assert_eq!(calls(&whole, "asked"), 2);
    // Calls through pointers in the other function are not recorded; those of main and of the C
    // library are.
    assert_eq!((calls(&part, "other"), calls(&whole, "other")), (0, 2));
    let called = |counted: &Counted| -> Vec<(u64, u64)> {
        let leaving = counted.leaving("main").into_iter();
        (leaving.filter(|one| one.0 == TransferKind::Call))
            .map(|one| (one.1, one.3))
            .collect()
    };
    assert_eq!(called(&part), called(&whole));
    // malloc itself, not its PLT stub.
    let library = |counted: &Counted| -> Vec<(u64, u64)> {
        let process = counted.process();
        let path = |module: u32| &process.modules[module as usize].path;
        let own = &module(process, &counted.program).path;
        (process.transfers.iter())
            .filter(|one| one.kind == TransferKind::Call && path(one.from.module) == own)
            .filter(|one| path(one.to.module).contains("libc.so"))
            .map(|one| (one.from.address, one.count))
            .collect()
    };
    assert_eq!(library(&part), library(&whole));
    assert!(library(&part).len() >= 2);
}
