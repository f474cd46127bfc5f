//! Bursts: what threads did, recorded for a while, while the counts stay exact.

mod period;
mod single_steps;
mod written_code;

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::time::Duration;

use genba_count::{BurstPlan, CountRequest, Engine};
use genba_model::{Burst, CodePoint, Observation, Observed, RawCounts};

use self::single_steps::Step;
use crate::support;

fn native() -> Box<dyn Engine> {
    let engines = genba_count::engines();
    let native = engines.into_iter().find(|engine| engine.name() == "genba");
    native.expect("genba's own engine")
}

fn plan() -> BurstPlan {
    BurstPlan {
        bursts: 32,
        words: 20_000,
        interval: Duration::from_millis(2),
        seed: 7,
    }
}

/// Counts a program with bursts.
fn observe(request: CountRequest, plan: BurstPlan) -> RawCounts {
    let request = CountRequest {
        observe: Some(plan),
        ..request
    };
    match support::count(&*native(), &request) {
        Ok(counts) => counts,
        Err(error) => panic!("{error}"),
    }
}

fn observation(counts: &RawCounts) -> &Observation {
    counts.processes[0].observation.as_ref().expect("requested")
}

const SUMS: &str = r#"
#include <stdio.h>
unsigned long table[1 << 12];
unsigned long sum(unsigned long *from, long n, unsigned long add) {
    unsigned long s = 0;
    for (long i = 0; i < n; i++) {
        from[i] += add;
        s += from[i];
        if (s & 1) s ^= 12345;
    }
    return s;
}
int main(int argc, char **argv) {
    unsigned long s = 0;
    for (int i = 0; i < 60000; i++) s += sum(table, 1 << 12, i);
    printf("%lu\n", s);
    return 0;
}
"#;

fn compile(
    test: &str,
    directory: &Path,
    source: &str,
    flags: &[&str],
) -> Option<std::path::PathBuf> {
    support::compile(directory, test, source, flags)
}

#[test]
fn counts_with_bursts_are_those_without() {
    let directory = tempfile::tempdir().expect("a directory");
    let test = "counts_with_bursts_are_those_without";
    let Some(program) = compile(test, directory.path(), SUMS, &[]) else {
        return;
    };
    let request = || support::request(&program, Vec::<String>::new());
    let without = support::count(&*native(), &request()).expect("counts");
    let with = observe(request(), plan());
    let seen = observation(&with);
    let of = |counts: &RawCounts| {
        let own = support::module(&counts.processes[0], &program).clone();
        (own.instructions, counts.exit)
    };
    assert_eq!(of(&without), of(&with));
    assert!(!seen.bursts.is_empty());
}

/// What a burst says that one instruction did, comparable with a step: places are addresses in
/// memory, and values that were not recorded are 0.
fn comparable(seen: &Observation, what: &Observed) -> Observed {
    let place = |point: CodePoint| CodePoint {
        module: 0,
        address: point
            .address
            .wrapping_add(seen.modules[point.module as usize].bias),
    };
    match *what {
        Observed::Call { target, arguments } => Observed::Call {
            target: place(target),
            arguments,
        },
        Observed::Jump { target } => Observed::Jump {
            target: place(target),
        },
        other => other,
    }
}

fn is_unrecorded(value: u64) -> bool {
    value >> 48 == 0xE5C0
}

fn is_rest(seen: &Observed) -> bool {
    match *seen {
        Observed::Load { value, .. } | Observed::Store { value, .. } => is_unrecorded(value),
        _ => false,
    }
}

/// Whether an event is what a step did. Below the stack pointer, counting code leaves addresses of
/// the code cache, which is seen as what stood on the `stack` before.
fn same(seen: &Observed, stepped: &Observed, stack: &Range<u64>) -> bool {
    match (*seen, *stepped) {
        (
            Observed::Load {
                address: a,
                size: s,
                value,
            },
            Observed::Load {
                address: b,
                size: t,
                ..
            },
        ) if is_unrecorded(value) => (a, s) == (b, t),
        (
            Observed::Store {
                address: a,
                size: s,
                value,
                ..
            },
            Observed::Store {
                address: b,
                size: t,
                ..
            },
        ) if is_unrecorded(value) => (a, s) == (b, t),
        (Observed::Store { address, .. }, Observed::Store { before, .. })
            if stack.contains(&address) =>
        {
            let mut seen = *seen;
            if let Observed::Store { before: seen, .. } = &mut seen {
                *seen = before;
            }
            seen == *stepped
        }
        (seen, stepped) => seen == stepped,
    }
}

/// The instructions of a burst that agree with steps from one on, and the first that does not.
fn agreement(
    seen: &Observation,
    burst: &Burst,
    steps: &[Step],
    stack: &Range<u64>,
) -> Result<usize, (usize, String)> {
    let address = |point: CodePoint| {
        point
            .address
            .wrapping_add(seen.modules[point.module as usize].bias)
    };
    let mut events = burst.events.iter().peekable();
    let mut done = 0;
    while let Some(event) = events.next() {
        let Observed::Block { instructions } = event.what else {
            return Err((done, format!("an event outside of a block: {event:?}")));
        };
        let Some(block) = steps.get(done..done + instructions as usize) else {
            return Err((done, "no more steps".to_owned()));
        };
        if block[0].pc != address(event.at) {
            return Err((
                done,
                format!("{:#x} but {:#x}", address(event.at), block[0].pc),
            ));
        }
        for step in block {
            let mut expected = step.did.iter();
            while let Some(event) = events.next_if(|event| {
                !matches!(event.what, Observed::Block { .. }) && address(event.at) == step.pc
            }) {
                let found = comparable(seen, &event.what);
                match expected.next() {
                    // The burst began in the middle of a repeated string instruction.
                    Some(_) if done == 0 && is_rest(&found) => {}
                    Some(stepped) if same(&found, stepped, stack) => {}
                    stepped => {
                        return Err((done, format!("{:#x}: {found:x?} but {stepped:x?}", step.pc)));
                    }
                }
            }
            if let Some(missing) = expected.next() {
                return Err((done, format!("{:#x}: missing {missing:x?}", step.pc)));
            }
            done += 1;
        }
    }
    Ok(done)
}

#[test]
fn bursts_are_what_single_steps_see() {
    let test = "bursts_are_what_single_steps_see";
    let directory = tempfile::tempdir().expect("a directory");
    let avx = match std::arch::is_x86_feature_detected!("avx") {
        true => "-DAVX",
        false => "-DNO_AVX",
    };
    let flags = [
        "-O2",
        "-static",
        "-no-pie",
        "-ffixed-r15",
        "-nostdlib",
        "-fno-stack-protector",
        "-fno-tree-loop-distribute-patterns",
        "-DPERIODS=20000",
        avx,
    ];
    let Some(program) = compile(test, directory.path(), period::SOURCE, &flags) else {
        return;
    };
    let (from, size) = support::functions(&program)["stack"];
    let stack = from..from + size;
    let steps = single_steps::steps(&program, 60_000);
    let request = support::request(&program, Vec::<String>::new());
    let counts = observe(
        request,
        BurstPlan {
            words: 4000,
            ..plan()
        },
    );
    let seen = observation(&counts);
    let whole: Vec<&Burst> = seen.bursts.iter().collect();
    assert!(whole.len() >= 3, "{:?}", seen.notes);
    for burst in whole {
        let first = burst.events[0].at;
        let first = first
            .address
            .wrapping_add(seen.modules[first.module as usize].bias);
        let mut best = (0, "no step at its first instruction".to_owned());
        let found = (0..steps.len())
            .filter(|at| steps[*at].pc == first)
            .any(|at| match agreement(seen, burst, &steps[at..], &stack) {
                Ok(_) => true,
                Err(error) => {
                    if error.0 >= best.0 && error.1 != "no more steps" {
                        best = error;
                    }
                    false
                }
            });
        assert!(
            found,
            "burst at {first:#x} of {} instructions: {best:?}",
            burst.instructions
        );
    }
}

const THREADS: &str = r#"
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
__attribute__((noinline)) unsigned long work(unsigned long *table, long rounds) {
    unsigned long s = 1;
    for (long i = 0; i < rounds; i++) {
        s = s * 6364136223846793005ul + 1442695040888963407ul;
        table[s >> 54] += s;
    }
    return s;
}
static void *thread(void *table) { work(table, 30000000); return 0; }
static unsigned long tables[4][1024];
int main(int argc, char **argv) {
    if (argc > 1 && *argv[1] == 'f') {
        if (fork() == 0) { work(tables[1], 30000000); _exit(0); }
        work(tables[0], 30000000);
        wait(0);
        return 0;
    }
    if (argc > 1) { work(tables[0], 30000000); kill(getpid(), 9); }
    pthread_t threads[3];
    for (int i = 0; i < 3; i++) pthread_create(threads + i, 0, thread, tables[i]);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], 0);
    return 0;
}
"#;

#[test]
fn each_thread_has_bursts() {
    let test = "each_thread_has_bursts";
    let directory = tempfile::tempdir().expect("a directory");
    let Some(program) = compile(test, directory.path(), THREADS, &["-pthread"]) else {
        return;
    };
    let counts = observe(support::request(&program, Vec::<String>::new()), plan());
    let seen = observation(&counts);
    let threads: BTreeSet<u32> = seen.bursts.iter().map(|burst| burst.thread).collect();
    assert!(
        threads.is_superset(&BTreeSet::from([1, 2, 3])),
        "{threads:?}"
    );
    // Each writes to its own table only: no two threads store to one address.
    let mut owners: BTreeMap<u64, u32> = BTreeMap::new();
    let (from, size) = support::functions(&program)["tables"];
    let mut stores = 0;
    for burst in seen.bursts.iter().filter(|burst| burst.thread > 0) {
        for event in &burst.events {
            let bias = seen.modules[event.at.module as usize].bias;
            if let Observed::Store {
                address,
                before,
                value,
                ..
            } = event.what
                && (from..from + size).contains(&address.wrapping_sub(bias))
            {
                stores += 1;
                assert_ne!(before, value);
                assert_eq!(*owners.entry(address).or_insert(burst.thread), burst.thread);
            }
        }
    }
    assert!(stores > 1000, "{stores}");
    let (work, _) = support::functions(&program)["work"];
    let own = support::module(&counts.processes[0], &program);
    assert_eq!(support::executions(own, work), 3);
}

#[test]
fn forked_children_have_bursts_of_their_own() {
    let test = "forked_children_have_bursts_of_their_own";
    let directory = tempfile::tempdir().expect("a directory");
    let Some(program) = compile(test, directory.path(), THREADS, &["-pthread"]) else {
        return;
    };
    let mut request = support::request(&program, ["fork"]);
    request.children = true;
    let counts = observe(request, plan());
    assert_eq!(counts.processes.len(), 2);
    for process in &counts.processes {
        let seen = process.observation.as_ref().expect("requested");
        assert!(!seen.bursts.is_empty(), "{:?}", seen.notes);
        assert!(seen.bursts.iter().all(|burst| burst.pid == process.pid));
    }
}

#[test]
fn bursts_of_a_killed_process_are_there() {
    let test = "bursts_of_a_killed_process_are_there";
    let directory = tempfile::tempdir().expect("a directory");
    let Some(program) = compile(test, directory.path(), THREADS, &["-pthread"]) else {
        return;
    };
    let counts = observe(support::request(&program, ["killed"]), plan());
    assert!(counts.processes[0].cut_short.is_some());
    let seen = observation(&counts);
    assert!(!seen.bursts.is_empty(), "{:?}", seen.notes);
    // Where its memory was, by name.
    assert!(seen.regions.iter().any(|region| region.name == "[stack]"));
}

const TAIL_CALLS: &str = r#"
#include <stdlib.h>
void *keep;
__attribute__((noinline)) void *resize(void *data, void *from, size_t bytes) {
    if (bytes) return realloc(from, bytes);
    free(from);
    return 0;
}
int main(void) {
    for (int i = 0; i < 3000000; i++) {
        keep = resize(&keep, 0, 48);
        keep = resize(&keep, keep, 0);
    }
    return 0;
}
"#;

#[test]
fn tail_calls_of_other_modules_are_calls_with_their_arguments() {
    let test = "tail_calls_of_other_modules_are_calls_with_their_arguments";
    let directory = tempfile::tempdir().expect("a directory");
    for flag in ["-fplt", "-fno-plt"] {
        let flags = ["-O2", flag, "-foptimize-sibling-calls"];
        let Some(program) = compile(test, directory.path(), TAIL_CALLS, &flags) else {
            return;
        };
        let counts = observe(support::request(&program, Vec::<String>::new()), plan());
        let seen = observation(&counts);
        let (from, size) = support::functions(&program)["resize"];
        let of_resize = |at: CodePoint| {
            let module = &seen.modules[at.module as usize].path;
            Path::new(module) == program && (from..from + size).contains(&at.address)
        };
        let mut sizes = BTreeMap::new();
        for event in seen.bursts.iter().flat_map(|burst| &burst.events) {
            if let Observed::Call { target, arguments } = event.what
                && of_resize(event.at)
            {
                assert_ne!(
                    target.module, event.at.module,
                    "the function behind the stub"
                );
                *sizes.entry(arguments[1]).or_insert(0u32) += 1;
            }
        }
        assert!(
            sizes.get(&48).is_some_and(|&calls| calls > 100),
            "{flag}: {sizes:?}"
        );
    }
}
