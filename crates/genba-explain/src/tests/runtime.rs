//! The causes about the runtime and threads, on synthetic programs: what they must find, and what
//! looks like it and must not be reported.

use genba_model::{CodePoint, Fact, Fix, KernelFact};
use genba_observe::{ArgumentValue, ValueShare};
use iced_x86::code_asm::*;

use crate::causes::excess_syscalls;
use crate::causes::false_sharing;
use crate::causes::first_touch;
use crate::causes::malloc_churn;
use crate::causes::no_symbols;
use crate::causes::realloc_growth;
use crate::follow_up_runs;
use crate::input::analysis_input::{
    AnalysisInput, FunctionInput, KernelWork, Place, RuntimeUse, SharedLine, UserCall, UserPlace,
};
use crate::tests::observed_repetition::{observations, share_of};
use crate::tests::synthetic::{function, has_fact, program};

/// A function of the C library with this part of the time.
pub(super) fn library(name: &str, share: f64) -> FunctionInput {
    let mut one = function(name, |a| a.ret(), &[1000], &[share], &[]);
    one.module = "/usr/lib/x86_64-linux-gnu/libc.so.6".to_owned();
    one.own = false;
    one
}

/// A call from line `line` of the user's `build`, through these functions.
pub(super) fn user(line: u32, calls: f64, through: &[&str]) -> UserCall {
    UserCall {
        function: "build".to_owned(),
        module: "/bin/prog".to_owned(),
        address: 0x1000 + u64::from(line),
        place: Place {
            function: Some("build".to_owned()),
            file: Some("/src/main.c".to_owned()),
            line: Some(line),
            inlined: false,
            within: None,
        },
        through: through.iter().map(|name| (*name).to_owned()).collect(),
        through_library: false,
        calls,
        executions: calls as u64,
        caller_calls: None,
    }
}

pub(super) fn service(name: &str, users: Vec<UserCall>) -> RuntimeUse {
    RuntimeUse {
        service: name.to_owned(),
        system_call: matches!(name, "read" | "write" | "sched_yield"),
        calls: users.iter().map(|user| user.calls).sum::<f64>() as u64,
        users,
        ..RuntimeUse::default()
    }
}

/// One second, with these functions and services.
pub(super) fn input(functions: Vec<FunctionInput>, runtime: Vec<RuntimeUse>) -> AnalysisInput {
    let mut input = program(functions);
    input.program.cpu_seconds = 1.0;
    input.program.wall_seconds = 1.0;
    input.program.max_rss_bytes = Some(4e6);
    input.program.minor_faults = Some(1000.0);
    input.program.runtime = runtime;
    input.program.host_seconds = vec![
        ("system call".to_owned(), 50e-9),
        ("page fault [minor]".to_owned(), 500e-9),
    ];
    input
}

fn churn() -> AnalysisInput {
    input(
        vec![library("_int_free", 0.2), library("malloc", 0.2)],
        vec![
            service("malloc", vec![user(7, 9e6, &[]), user(9, 1e6, &[])]),
            service("free", vec![user(30, 1e7, &[])]),
        ],
    )
}

#[test]
fn malloc_churn_is_found_for_short_lived_allocations() {
    let found = malloc_churn::detect(&churn());
    assert_eq!(found.len(), 1);
    let site = found[0].at.as_ref().expect("a site");
    assert_eq!((site.function.as_str(), site.line), ("build", Some(7)));
    // A half goes for certain nearly, and not more than all.
    assert!(found[0].residual_fraction.value < 0.7 && found[0].residual_fraction.high < 0.9);
}

#[test]
fn malloc_churn_names_who_asks_through_a_wrapper() {
    let mut input = churn();
    for one in &mut input.program.runtime {
        one.callers_behind_wrappers = vec![user(31, 6e6, &[]), user(45, 4e6, &[])];
    }
    let found = malloc_churn::detect(&input);
    let site = found[0].at.as_ref().expect("a site");
    assert_eq!(site.line, Some(31));
}

#[test]
fn malloc_churn_is_not_found_for_retained_or_cheap_memory() {
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
fn memory_that_a_library_function_takes_for_itself_is_not_churn_of_its_caller() {
    let through = |through: &[&str]| {
        let mut input = churn();
        for one in &mut input.program.runtime {
            for user in &mut one.users {
                user.through = through.iter().map(|name| (*name).to_owned()).collect();
            }
        }
        malloc_churn::detect(&input).len()
    };
    assert_eq!(through(&["re_search_internal", "__regexec"]), 0);
    assert_eq!(through(&["__strdup"]), 1);
    assert_eq!(through(&["operator new", "std::string::_M_create"]), 1);
    assert_eq!(
        through(&["__rust_alloc", "alloc::vec::Vec<T>::with_capacity"]),
        1
    );
}

#[test]
fn malloc_churn_uses_recorded_sizes_for_turnover() {
    // 10 M small allocations could all be alive in 400 MB; of 4 kB each they cannot.
    let mut large = churn();
    large.program.max_rss_bytes = Some(400e6);
    assert!(malloc_churn::wants_sizes(&large));
    let mut sizes = crate::input::request_sizes::Sizes::default();
    sizes.allocated.calls = vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10_000_000];
    sizes.allocated.bytes = 40_000_000_000;
    large.program.follow_up.sizes = Some(sizes);
    assert_eq!(malloc_churn::detect(&large).len(), 1);
    let mut cheap = churn();
    cheap.functions = vec![library("malloc", 0.05)];
    assert!(!malloc_churn::wants_sizes(&cheap));
}

fn growth(reallocs: f64, buffers: f64) -> AnalysisInput {
    input(
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
fn realloc_growth_is_found_for_growth_by_a_constant() {
    let found = realloc_growth::detect(&growth(1e6, 400.0));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].at.as_ref().and_then(|site| site.line), Some(21));
    // It is not churn as well.
    assert!(malloc_churn::detect(&growth(1e6, 400.0)).is_empty());
}

/// A million calls of `realloc` for many buffers, each of which makes one larger by so many bytes, to 1,000.
fn steps(grown_bytes: u64) -> AnalysisInput {
    let mut input = growth(1e6, 1e6);
    input.functions = vec![library("realloc", 0.05), library("_int_realloc", 0.05)];
    let mut sizes = crate::input::request_sizes::Sizes::default();
    sizes.resized.calls = vec![0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1_000_000];
    sizes.resized.bytes = 1_000_000_000;
    sizes.grown_bytes = grown_bytes * 1_000_000;
    input.program.follow_up.sizes = Some(sizes);
    input
}

#[test]
fn realloc_growth_is_found_for_small_steps_that_move_nothing() {
    let found = realloc_growth::detect(&steps(20));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].at.as_ref().and_then(|site| site.line), Some(21));
    let mut wrapped = steps(20);
    let realloc = &mut wrapped.program.runtime[0];
    realloc.callers_behind_wrappers = vec![user(40, 1e6, &[])];
    let found = realloc_growth::detect(&wrapped);
    assert_eq!(found[0].at.as_ref().and_then(|site| site.line), Some(40));
    assert!(realloc_growth::detect(&steps(300)).is_empty());
    assert!(realloc_growth::detect(&steps(0)).is_empty(), "made smaller");
    let mut cheap = steps(20);
    cheap.functions.pop();
    cheap.functions[0].share.value = 0.02;
    assert!(realloc_growth::detect(&cheap).is_empty());
}

#[test]
fn realloc_growth_is_not_found_for_doubling() {
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
fn realloc_growth_is_found_for_reserve_per_batch_not_for_one_reserve() {
    let through = ["operator new", "std::vector<int>::reserve"];
    let with = |copies: f64| {
        input(
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
fn by_hand(frees_old: bool, buffers: f64) -> AnalysisInput {
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
    input(vec![moved, copies], runtime)
}

#[test]
fn realloc_growth_is_found_for_malloc_copy_free_of_the_old_buffer_only() {
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
fn writes(calls: f64, each: f64, share: f64, copy: f64) -> AnalysisInput {
    let mut one = user(19, calls, &[]);
    one.executions = (calls / each) as u64;
    let mut input = input(Vec::new(), vec![service("write", vec![one])]);
    input.program.kernel_share = share + copy;
    input.program.kernel = vec![kernel(share, "system call"), kernel(copy, "copy")];
    input.program.minor_faults = Some(100.0);
    input
}

#[test]
fn excess_syscalls_is_found_for_one_write_per_line() {
    let found = excess_syscalls::detect(&writes(2e6, 1.0, 0.4, 0.02));
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].at.as_ref().and_then(|site| site.line), Some(19));
}

/// Writes of so many bytes each, as bursts saw them.
fn writes_of(bytes: u64) -> AnalysisInput {
    let mut input = writes(1e6, 1.0, 0.4, 0.02);
    let user = &input.program.runtime[0].users[0];
    let mut observed = observations();
    observed.modules[0].clone_from(&user.module);
    let at = CodePoint {
        module: 0,
        address: user.address,
    };
    observed.argument_values.push(ArgumentValue {
        at,
        target: at,
        argument: 2,
        value: ValueShare {
            value: bytes,
            share: share_of(1.0),
        },
        calls: 100,
        bursts: 20,
    });
    input.observed = Some(observed);
    input
}

#[test]
fn larger_system_calls_do_not_spare_the_work_for_their_bytes() {
    let left = |bytes| {
        let found = excess_syscalls::detect(&writes_of(bytes));
        assert_eq!(found.len(), 1);
        let share = found[0].share.expect("a share");
        (share * found[0].residual_fraction.value, found)
    };
    let (few, found) = left(40);
    assert!(!has_fact(&found, |fact| matches!(
        fact,
        Fact::Kernel(KernelFact::SystemCallBytes { .. })
    )));
    let (page, found) = left(4096);
    let of_page = |share, cpu_seconds| {
        let mut input = writes_of(4096);
        input.program.cpu_seconds = cpu_seconds;
        input.program.kernel_share = share + 0.02;
        input.program.kernel[0].share = share;
        excess_syscalls::detect(&input).len()
    };
    assert_eq!(of_page(0.4, 1.0), 1);
    assert_eq!(of_page(0.12, 5.0), 0, "buffered already");
    assert!(page > few + 0.1, "{page} {few}");
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Kernel(KernelFact::SystemCallBytes { bytes: 4096, stays })
            if (0.3..0.9).contains(stays)
    )));
}

/// Calls of a service from five lines; most of the kernel's time is the scheduler's.
fn spread(name: &str) -> AnalysisInput {
    let users = (0..5).map(|line| {
        let mut one = user(20 + line, 4e5, &[]);
        one.executions = 400_000;
        one
    });
    let mut input = input(Vec::new(), vec![service(name, users.collect())]);
    input.program.kernel_share = 0.5;
    input.program.kernel = vec![kernel(0.1, "system call"), kernel(0.4, "scheduler")];
    input.program.minor_faults = Some(100.0);
    input
}

#[test]
fn yields_from_many_lines_pay_for_the_scheduler() {
    let found = excess_syscalls::detect(&spread("sched_yield"));
    assert_eq!(found.len(), 1);
    assert!(has_fact(&found, |fact| matches!(
        fact,
        Fact::Kernel(KernelFact::SystemCallTime { share, .. }) if *share > 0.4
    )));
    assert!(excess_syscalls::detect(&spread("write")).is_empty());
}

#[test]
fn excess_syscalls_is_not_found_for_long_or_buffered_calls() {
    // Gathered by a library: one in a hundred of the user's calls writes.
    assert!(excess_syscalls::detect(&writes(2e6, 0.01, 0.4, 0.02)).is_empty());
    // Long ones.
    assert!(excess_syscalls::detect(&writes(2e4, 1.0, 0.4, 0.02)).is_empty());
    // They copy.
    assert!(excess_syscalls::detect(&writes(2e5, 1.0, 0.2, 0.3)).is_empty());
    // A few.
    assert!(excess_syscalls::detect(&writes(500.0, 1.0, 0.4, 0.0)).is_empty());
}

fn faulting(faults: f64, rss: f64) -> AnalysisInput {
    let mut input = input(
        Vec::new(),
        vec![service("malloc", vec![user(16, 14.0, &[])])],
    );
    input.program.minor_faults = Some(faults);
    input.program.max_rss_bytes = Some(rss);
    input.program.kernel_share = 0.6;
    input.program.kernel = vec![kernel(0.4, "page fault"), kernel(0.2, "other")];
    input
}

#[test]
fn first_touch_is_found_for_pages_faulted_in_repeatedly() {
    let mut input = faulting(2e5, 40e6);
    assert!(follow_up_runs::fault_places(&input));
    let found = first_touch::detect(&input);
    assert_eq!(found[0].at.as_ref().and_then(|site| site.line), Some(16));
    // Where faults were sampled, the line is theirs.
    input.program.follow_up.faults = vec![UserPlace {
        function: "decode".to_owned(),
        module: "/bin/prog".to_owned(),
        address: 0x1100,
        place: user(32, 1.0, &[]).place,
        share: 0.9,
    }];
    assert!(!follow_up_runs::fault_places(&input));
    let found = first_touch::detect(&input);
    assert_eq!(found[0].at.as_ref().and_then(|site| site.line), Some(32));
    // Faults all over the program are nobody's.
    input.program.follow_up.faults[0].share = 0.05;
    assert!(first_touch::detect(&input).is_empty());
}

#[test]
fn first_touch_of_mappings_that_the_program_makes_itself_is_not_of_the_allocator() {
    let fix = |calls: f64, through: &[&str]| {
        let mut input = faulting(2e5, 40e6);
        let mapping = service("mapping", vec![user(48, calls, through)]);
        input.program.runtime.push(mapping);
        let found = first_touch::detect(&input);
        (
            found[0].fix.clone(),
            found[0].at.as_ref().and_then(|site| site.line),
        )
    };
    assert_eq!(fix(9000.0, &[]), (Fix::KeepMapping, Some(48)));
    assert_eq!(fix(3.0, &[]), (Fix::KeepMemory, Some(16)), "a few files");
    assert_eq!(fix(9000.0, &["malloc"]), (Fix::KeepMemory, Some(16)));
    let stacks = fix(9000.0, &["pthread_create@@GLIBC_2.34"]);
    assert_eq!(stacks, (Fix::KeepMemory, Some(16)));
}

#[test]
fn first_touch_has_no_line_where_faults_were_not_sampled_and_several_lines_allocate() {
    let mut input = faulting(2e5, 40e6);
    let users = [16, 24, 32].map(|line| user(line, 14.0, &[])).to_vec();
    input.program.runtime = vec![service("malloc", users)];
    input.program.processes = Some(1);
    let found = first_touch::detect(&input);
    let site = found[0].at.as_ref().expect("a site");
    assert_eq!((site.line, &*site.module), (None, "[kernel]"));
}

#[test]
fn first_touch_is_not_found_for_many_processes_that_touch_their_memory_once() {
    let mut input = faulting(2e5, 4e6);
    input.program.processes = Some(1500);
    assert!(first_touch::detect(&input).is_empty());
}

#[test]
fn first_touch_is_not_found_for_memory_touched_once() {
    let input = faulting(2e5, 800e6);
    assert!(first_touch::detect(&input).is_empty() && !follow_up_runs::fault_places(&input));
}

/// `do sum[k] += *p++ while (p != end)` of two threads.
fn tallying() -> AnalysisInput {
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
    let mut input = input(vec![loop_], Vec::new());
    input.program.threads = 2;
    input
}

#[test]
fn false_sharing_is_found_for_observed_lines_only() {
    let mut input = tallying();
    assert!(follow_up_runs::shared_lines(&input));
    assert!(false_sharing::detect(&input).is_empty());
    input.program.follow_up.shared_lines = Some(Vec::new());
    assert!(!follow_up_runs::shared_lines(&input) && !follow_up_runs::one_cpu(&input));
    assert!(false_sharing::detect(&input).is_empty());
    input.program.follow_up.shared_lines = Some(vec![SharedLine {
        function: 0,
        at: 2,
        around: 0,
        threads: 2,
        distance: 24,
        samples: 100,
    }]);
    assert!(follow_up_runs::one_cpu(&input));
    let found = false_sharing::detect(&input);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].site, [2]);
    let mut alone = tallying();
    alone.program.threads = 1;
    assert!(!follow_up_runs::shared_lines(&alone));
}

#[test]
fn no_symbols_is_advice_without_gain() {
    let mut nameless = function("[0x1000]", |a| a.ret(), &[10], &[0.5], &[]);
    nameless.places.clear();
    let found = no_symbols::detect(&input(vec![nameless], Vec::new()));
    assert!(found.len() == 1 && found[0].advice);
    let limits = crate::Limits {
        min_gain: 0.02,
        samples: 1000,
    };
    let told = crate::findings::findings(&input(Vec::new(), Vec::new()), found, limits);
    assert_eq!(told[0].predicted_speedup.high, 1.0);
    assert!(no_symbols::detect(&input(vec![library("[0x1000]", 0.5)], Vec::new())).is_empty());
}
