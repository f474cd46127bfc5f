//! The causes about the runtime and threads, on made-up programs: what they must find, and what
//! looks like it and must not be told.

use iced_x86::code_asm::*;

use super::frame::{
    FaultPlace, Frame, FunctionFrame, KernelWork, Place, RuntimeUse, SharedLine, UserCall,
};
use super::made_up::{function, program};
use super::{
    excess_syscalls, false_sharing, first_touch, lock_contention, malloc_churn, no_symbols,
    realloc_growth, wants,
};

/// A function of the C library with this part of the time.
fn library(name: &str, share: f64) -> FunctionFrame {
    let mut one = function(name, |a| a.ret(), &[1000], &[share], &[]);
    one.module = "/usr/lib/x86_64-linux-gnu/libc.so.6".to_owned();
    one.own = false;
    one
}

/// A call from line `line` of the user's `build`, through these functions.
fn user(line: u32, calls: f64, through: &[&str]) -> UserCall {
    UserCall {
        function: "build".to_owned(),
        module: "/bin/prog".to_owned(),
        address: 0x1000 + u64::from(line),
        place: Place {
            function: Some("build".to_owned()),
            file: Some("/src/main.c".to_owned()),
            line: Some(line),
            inlined: false,
        },
        through: through.iter().map(|name| (*name).to_owned()).collect(),
        calls,
        executions: calls as u64,
    }
}

fn service(name: &str, users: Vec<UserCall>) -> RuntimeUse {
    RuntimeUse {
        service: name.to_owned(),
        system_call: matches!(name, "read" | "write"),
        calls: users.iter().map(|user| user.calls).sum::<f64>() as u64,
        users,
    }
}

/// One second, with these functions and services.
fn frame(functions: Vec<FunctionFrame>, runtime: Vec<RuntimeUse>) -> Frame {
    let mut frame = program(functions);
    frame.program.cpu_seconds = 1.0;
    frame.program.wall_seconds = 1.0;
    frame.program.max_rss_bytes = Some(4e6);
    frame.program.minor_faults = Some(1000.0);
    frame.program.runtime = runtime;
    frame.program.host_seconds = vec![
        ("system call".to_owned(), 50e-9),
        ("page fault [minor]".to_owned(), 500e-9),
    ];
    frame
}

fn churn() -> Frame {
    frame(
        vec![library("_int_free", 0.2), library("malloc", 0.2)],
        vec![
            service("malloc", vec![user(7, 9e6, &[]), user(9, 1e6, &[])]),
            service("free", vec![user(30, 1e7, &[])]),
        ],
    )
}

#[test]
fn memory_that_comes_and_goes_is_churn() {
    let found = malloc_churn::detect(&churn());
    assert_eq!(found.len(), 1);
    let site = found[0].at.as_ref().expect("a site");
    assert_eq!((site.function.as_str(), site.line), ("build", Some(7)));
    // A half goes for certain nearly, and not more than all.
    assert!(found[0].remains.value < 0.7 && found[0].remains.high < 0.9);
}

#[test]
fn memory_that_stays_or_costs_little_is_no_churn() {
    // All of it lives at once.
    let mut kept = churn();
    kept.program.max_rss_bytes = Some(400e6);
    assert!(malloc_churn::detect(&kept).is_empty());
    // Never freed.
    let mut leaked = churn();
    leaked.program.runtime.pop();
    assert!(malloc_churn::detect(&leaked).is_empty());
    // Cheap.
    let mut cheap = churn();
    cheap.functions = vec![library("malloc", 0.05)];
    assert!(malloc_churn::detect(&cheap).is_empty());
    // Seldom: few allocations that take long are another matter.
    let mut seldom = churn();
    for one in &mut seldom.program.runtime {
        one.calls /= 1000;
    }
    assert!(malloc_churn::detect(&seldom).is_empty());
}

#[test]
fn the_sizes_decide_whether_much_memory_is_turned_over() {
    // 10 M small allocations could all be alive in 400 MB; of 4 kB each they cannot.
    let mut large = churn();
    large.program.max_rss_bytes = Some(400e6);
    assert!(malloc_churn::wants_sizes(&large));
    let mut sizes = crate::causes::sizes::Sizes::default();
    sizes.allocated.calls = vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10_000_000];
    sizes.allocated.bytes = 40_000_000_000;
    large.program.tried.sizes = Some(sizes);
    assert_eq!(malloc_churn::detect(&large).len(), 1);
    let mut cheap = churn();
    cheap.functions = vec![library("malloc", 0.05)];
    assert!(!malloc_churn::wants_sizes(&cheap));
}

fn growth(reallocs: f64, buffers: f64) -> Frame {
    frame(
        vec![
            library("__memmove_avx_unaligned_erms", 0.4),
            library("_int_realloc", 0.1),
        ],
        vec![
            service("realloc", vec![user(21, reallocs, &[])]),
            service("free", vec![user(60, buffers, &[])]),
            service("copy", vec![user(21, reallocs * 0.9, &["realloc"])]),
        ],
    )
}

#[test]
fn growing_by_a_constant_is_found() {
    let found = realloc_growth::detect(&growth(1e6, 400.0));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].at.as_ref().and_then(|site| site.line), Some(21));
    // It is not churn as well.
    assert!(malloc_churn::detect(&growth(1e6, 400.0)).is_empty());
}

#[test]
fn doubling_is_not_told() {
    // Fourteen growths of each of many buffers.
    assert!(realloc_growth::detect(&growth(1.4e6, 1e5)).is_empty());
    // Buffers that nobody frees are not one buffer.
    let mut leaked = growth(1.4e6, 1.0);
    leaked
        .program
        .runtime
        .push(service("malloc", vec![user(21, 1e5, &["realloc"])]));
    assert!(realloc_growth::detect(&leaked).is_empty());
}

#[test]
fn reserving_for_the_next_batch_is_found_and_reserving_once_is_not() {
    let through = ["operator new", "std::vector<int>::reserve"];
    let with = |copies: f64| {
        frame(
            vec![library("__memmove_avx_unaligned_erms", 0.5)],
            vec![
                service("malloc", vec![user(17, 1e5, &through)]),
                service("free", vec![user(17, 1e5, &through[1..])]),
                service("copy", vec![user(17, copies, &through[1..])]),
            ],
        )
    };
    assert_eq!(realloc_growth::detect(&with(0.99e5)).len(), 1);
    assert!(realloc_growth::detect(&with(10.0)).is_empty());
}

/// `q = malloc(…); memcpy(q, p, n); free(p or q)` in a loop, with the calls at 2, 5 and 7.
fn by_hand(frees_old: bool, buffers: f64) -> Frame {
    let moved = function(
        "build",
        |a| {
            let mut other = a.create_label();
            a.mov(r12, rdi)?;
            a.mov(rdi, rsi)?;
            a.call(other)?;
            a.mov(rsi, r12)?;
            a.mov(rdi, rax)?;
            a.call(other)?;
            a.mov(rdi, if frees_old { r12 } else { r13 })?;
            a.call(other)?;
            a.set_label(&mut other)?;
            a.ret()
        },
        &[100_000; 9],
        &[0.01; 9],
        &[],
    );
    let call = |at: usize, line: u32| {
        let mut one = user(line, 1e5, &[]);
        one.address = moved.code[at].address;
        one
    };
    let runtime = vec![
        service("malloc", vec![call(2, 8)]),
        service("copy", vec![call(5, 10)]),
        service("free", vec![call(7, 12), user(40, buffers, &[])]),
    ];
    let copies = library("__memmove_avx_unaligned_erms", 0.5);
    frame(vec![moved, copies], runtime)
}

#[test]
fn moving_to_new_memory_each_time_is_found_and_a_copy_that_is_freed_is_not() {
    let found = realloc_growth::detect(&by_hand(true, 50.0));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].at.as_ref().and_then(|site| site.line), Some(8));
    assert!(realloc_growth::detect(&by_hand(false, 50.0)).is_empty());
    // Ten growths of each of many buffers.
    assert!(realloc_growth::detect(&by_hand(true, 1e4)).is_empty());
}

fn kernel(share: f64, reason: &'static str) -> KernelWork {
    KernelWork { reason, share }
}

/// So many writes, each of the user's calls making `each`, with this part of the time.
fn writes(calls: f64, each: f64, share: f64, copy: f64) -> Frame {
    let mut one = user(19, calls, &[]);
    one.executions = (calls / each) as u64;
    let mut frame = frame(Vec::new(), vec![service("write", vec![one])]);
    frame.program.kernel_share = share + copy;
    frame.program.kernel = vec![kernel(share, "system call"), kernel(copy, "copy")];
    frame.program.minor_faults = Some(100.0);
    frame
}

#[test]
fn a_write_a_line_is_found() {
    let found = excess_syscalls::detect(&writes(2e6, 1.0, 0.4, 0.02));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].at.as_ref().and_then(|site| site.line), Some(19));
}

#[test]
fn system_calls_that_do_work_or_are_gathered_are_not_told() {
    // Gathered by a library: one in a hundred of the user's calls writes.
    assert!(excess_syscalls::detect(&writes(2e6, 0.01, 0.4, 0.02)).is_empty());
    // Long ones.
    assert!(excess_syscalls::detect(&writes(2e4, 1.0, 0.4, 0.02)).is_empty());
    // They copy.
    assert!(excess_syscalls::detect(&writes(2e5, 1.0, 0.2, 0.3)).is_empty());
    // A few.
    assert!(excess_syscalls::detect(&writes(500.0, 1.0, 0.4, 0.0)).is_empty());
}

fn faulting(faults: f64, rss: f64) -> Frame {
    let mut frame = frame(
        Vec::new(),
        vec![service("malloc", vec![user(16, 14.0, &[])])],
    );
    frame.program.minor_faults = Some(faults);
    frame.program.max_rss_bytes = Some(rss);
    frame.program.kernel_share = 0.6;
    frame.program.kernel = vec![kernel(0.4, "page fault"), kernel(0.2, "other")];
    frame
}

#[test]
fn pages_that_are_taken_again_and_again_are_found() {
    let mut frame = faulting(2e5, 40e6);
    assert!(wants::fault_places(&frame));
    let found = first_touch::detect(&frame);
    assert_eq!(found[0].at.as_ref().and_then(|site| site.line), Some(16));
    // Where faults were sampled, the line is theirs.
    frame.program.tried.faults = vec![FaultPlace {
        function: "decode".to_owned(),
        module: "/bin/prog".to_owned(),
        address: 0x1100,
        place: user(32, 1.0, &[]).place,
        share: 0.9,
    }];
    assert!(!wants::fault_places(&frame));
    let found = first_touch::detect(&frame);
    assert_eq!(found[0].at.as_ref().and_then(|site| site.line), Some(32));
    // Faults all over the program are nobody's.
    frame.program.tried.faults[0].share = 0.05;
    assert!(first_touch::detect(&frame).is_empty());
}

#[test]
fn memory_that_is_touched_once_has_to_be() {
    let frame = faulting(2e5, 800e6);
    assert!(first_touch::detect(&frame).is_empty() && !wants::fault_places(&frame));
}

fn locking(threads: u32, share: f64) -> Frame {
    let mut frame = frame(
        vec![library("pthread_mutex_lock@@GLIBC_2.2.5", share)],
        vec![service("lock", vec![user(25, 1e7, &[])])],
    );
    frame.program.threads = threads;
    frame
}

#[test]
fn a_lock_that_threads_share_is_found_and_a_lock_of_one_thread_is_not() {
    let found = lock_contention::detect(&locking(2, 0.5));
    assert_eq!(found[0].at.as_ref().and_then(|site| site.line), Some(25));
    assert!(wants::one_cpu(&locking(2, 0.5)));
    assert!(lock_contention::detect(&locking(1, 0.5)).is_empty());
    assert!(lock_contention::detect(&locking(4, 0.03)).is_empty());
}

/// `do sum[k] += *p++ while (p != end)` of two threads.
fn tallying() -> Frame {
    let loop_ = function(
        "work",
        |a| {
            let mut head = a.create_label();
            a.set_label(&mut head)?;
            a.mov(rax, ptr(rdi))?;
            a.add(rdi, 8)?;
            a.mov(ptr(rsi + 16), rax)?;
            a.cmp(rdi, rdx)?;
            a.jne(head)?;
            a.ret()
        },
        &[1_000_000, 1_000_000, 1_000_000, 1_000_000, 1_000_000, 10],
        &[0.2, 0.1, 0.4, 0.1, 0.1, 0.0],
        &[(4, 999_990)],
    );
    let mut frame = frame(vec![loop_], Vec::new());
    frame.program.threads = 2;
    frame
}

#[test]
fn a_line_that_threads_were_seen_to_write_to_is_told_and_nothing_is_guessed() {
    let mut frame = tallying();
    assert!(wants::shared_lines(&frame));
    assert!(false_sharing::detect(&frame).is_empty());
    frame.program.tried.shared_lines = Some(Vec::new());
    assert!(!wants::shared_lines(&frame) && !wants::one_cpu(&frame));
    assert!(false_sharing::detect(&frame).is_empty());
    frame.program.tried.shared_lines = Some(vec![SharedLine {
        function: 0,
        at: 2,
        around: 0,
        threads: 2,
        distance: 24,
        samples: 100,
    }]);
    assert!(wants::one_cpu(&frame));
    let found = false_sharing::detect(&frame);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site, [2]);
    let mut alone = tallying();
    alone.program.threads = 1;
    assert!(!wants::shared_lines(&alone));
}

#[test]
fn code_without_names_is_a_note() {
    let mut nameless = function("[0x1000]", |a| a.ret(), &[10], &[0.5], &[]);
    nameless.places.clear();
    let found = no_symbols::detect(&frame(vec![nameless], Vec::new()));
    assert!(found.len() == 1 && found[0].advice);
    let limits = super::Limits {
        least_gain: 0.02,
        samples: 1000,
    };
    let told = super::candidate::findings(&frame(Vec::new(), Vec::new()), found, limits);
    assert_eq!(told[0].predicted_speedup.high, 1.0);
    assert!(no_symbols::detect(&frame(vec![library("[0x1000]", 0.5)], Vec::new())).is_empty());
}
